/* Small systems iterated by one kernel that stays on the device (spmv/loop/resident_cuda.cu): answers, every way to end, rows
 * of every length, refusals. Backends with neither plain rows nor blocks, and the CPU, have no such loop and are left out. */
#define _DEFAULT_SOURCE
#include "solvers/iteration.h"
#include "tests/solvers/graph_cases.h"
#include "tests/solvers/rank_fixture.h"
#include "tests/solvers/solve_fixture.h"

static int has_rows(const ground *g) {
  return g->env.place == WR_CUDA && (g->backend->rows != NULL || g->backend->side != NULL);
}

/* ---- BiCGSTAB ---- */

static void solve(ground *g, wr_csr *A, wr_bicgstab_options options, wr_outcome outcome) {
  solution s = solution_of(g, A);
  options.method = s.options.method;
  options.tolerance = options.tolerance ? options.tolerance : s.options.tolerance;
  s.options = options;
  solution_run(g, &s);
  check_solution(&s);
  CHECKF(s.result.outcome == outcome, "%s", wr_outcome_title(s.result.outcome));
  if (s.result.iterations > 0 && s.result.restarts == 0)
    CHECKF(s.result.repeats.by == (has_rows(g) ? WR_BY_KERNEL : WR_BY_HOST), "by %d", (int)s.result.repeats.by);
  /* steps that were cut short or changed nothing are multiplies too */
  CHECKF(s.result.multiplies >= 2 * s.result.iterations, "%lld multiplies in %lld iterations",
         (long long)s.result.multiplies, (long long)s.result.iterations);
  solution_free(&s);
}

static void test_solve(ground *g) {
  static const int64_t distances[] = {0, 1, 2, 3, 8};
  wr_csr *A = random_matrix(400, 6, 2.2, 1, 31);
  for (size_t k = 0; k < sizeof distances / sizeof *distances; k++) {
    ground_case(g, "a check every %lld", (long long)distances[k]);
    solve(g, A, (wr_bicgstab_options){.iterations = 1000, .check_every = distances[k]}, WR_CONVERGED);
  }
  wr_csr_free(A);
}

static void test_ends(ground *g) {
  wr_csr *A = random_matrix(300, 5, 10, 1, 77);
  for (int64_t most = 1; most <= 17; most++) {
    ground_case(g, "at most %lld iterations", (long long)most);
    solve(g, A, (wr_bicgstab_options){.tolerance = 1e-30, .iterations = most, .check_every = most % 4 ? 1 : 4},
          WR_MAX_ITERATIONS);
  }
  ground_case(g, "a tolerance below rounding");
  double below = wr_type_unit(WR_F64) / 100;
  solve(g, A, (wr_bicgstab_options){.tolerance = below, .iterations = 20000, .check_every = 1}, WR_STAGNATED);
  wr_csr_free(A);
  A = matrix_of_picture(2, (const double[]){0, 1, -1, 0}); /* (r, A r) = 0 for every r */
  solution s = solution_of(g, A);
  ground_case(g, "a breakdown at once");
  solution_run(g, &s);
  check_solution(&s);
  CHECKF(s.result.restarts > 0, "%s, %d restarts", wr_outcome_title(s.result.outcome), s.result.restarts);
  solution_free(&s);
  wr_csr_free(A);
}

/* ||r|| of the snapshot that the history asks for: taken below a tenth of the last one, 16 iterations after it at the
 * soonest. */
static double kept_of(const wr_history *h) {
  double kept = 1;
  int64_t last = 0;
  for (int64_t k = 0; k < h->count; k++)
    if (h->measure[k] * h->measure[k] < 0.01 * kept * kept && k + 1 > last + 16) kept = h->measure[k], last = k + 1;
  return kept;
}

/* A solve that reaches its limit after the residual has grown again returns the snapshot, the best iterate that was kept. */
static void test_snapshot(ground *g) {
  int worse = 0;
  wr_csr *A = random_matrix(300, 3, 1.3, 1, 8);
  for (int64_t most = 20; most <= 140; most += 5) {
    solution s = solution_of(g, A);
    ground_case(g, "the best of %lld iterations", (long long)most);
    s.options.tolerance = 1e-30, s.options.iterations = most;
    solution_run(g, &s);
    check_solution(&s);
    double last = s.history.measure[s.history.count - 1], kept = kept_of(&s.history);
    if (s.result.restarts == 0)
      CHECKF(s.result.measure <= 1.01 * fmin(kept, last) + (double)s.final_slack, "%g; %g was kept, the last was %g",
             s.result.measure, kept, last);
    worse += kept < last && s.result.restarts == 0;
    solution_free(&s);
  }
  CHECKF(worse > 0, "every solve ended at its best");
  wr_csr_free(A);
}

/* ---- Rows of every length ---- */

/* n rows of 3 entries about the diagonal; the first `many` have `length` more, spread over the columns. */
static wr_csr *with_long_rows(int64_t n, int many, int64_t length) {
  entry *entries = room_for(n * 3 + many * length, sizeof *entries);
  int64_t count = 0;
  for (int64_t i = 0; i < n; i++) {
    int64_t more = i < many ? length : 0;
    for (int64_t k = 0; k < more; k++)
      entries[count++] = (entry){i, (i + 2 + k * ((n - 4) / length)) % n, 1.0 / (double)length};
    for (int64_t j = i - 1; j <= i + 1; j++)
      if (j >= 0 && j < n) entries[count++] = (entry){i, j, j == i ? 8 : -1};
  }
  wr_csr *A = matrix_of(n, entries, count, 1);
  free(entries);
  return A;
}

static void test_long_rows(ground *g) {
  static const struct {
    int64_t n, length;
    int many;
  } shapes[] = {{1, 0, 0}, {2, 0, 0}, {700, 600, 1}, {1500, 1400, 2}, {1500, 200, 20}, {1500, 250, 45}, {40, 30, 40}};
  for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
    wr_csr *A = with_long_rows(shapes[k].n, shapes[k].many, shapes[k].length);
    ground_case(g, "%lld rows, %d of them with %lld entries", (long long)shapes[k].n, shapes[k].many,
                (long long)shapes[k].length);
    solve(g, A, (wr_bicgstab_options){.iterations = 1000, .check_every = 1}, WR_CONVERGED);
    wr_csr_free(A);
  }
}

/* A row that is too long for one kernel: the loop is a graph, which on a small system is checked at every eighth iteration. */
static void test_left_to_graph(ground *g) {
  wr_csr *A = with_long_rows(17000, 1, 16500);
  solution s = solution_of(g, A);
  ground_case(g, "a row of 16500 entries");
  s.options.check_every = 0;
  solution_run(g, &s);
  check_solution(&s);
  CHECKF(s.result.repeats.by != WR_BY_KERNEL, "by %d", (int)s.result.repeats.by);
  CHECKF(s.history.count == (s.result.iterations + 7) / 8, "%lld checks in %lld iterations", (long long)s.history.count,
         (long long)s.result.iterations);
  solution_free(&s);
  wr_csr_free(A);
}

/* ---- PageRank ---- */

static void test_ranks(ground *g) {
  wr_csr *graphs[] = {random_matrix(500, 4, 0, 0, 5), random_matrix(300, 3, 0, 1, 6), with_long_rows(900, 3, 400)};
  for (int k = 0; k < 3; k++) {
    for (int64_t e = 0; graphs[k]->val && e < graphs[k]->nnz; e++) graphs[k]->val[e] = fabs(graphs[k]->val[e]);
    ranking r = ranking_of(g, graphs[k]);
    ground_case(g, "ranks of graph %d", k);
    run_and_check(g, &r);
    CHECKF(r.result.outcome == WR_CONVERGED, "%s", wr_outcome_title(r.result.outcome));
    CHECKF(r.result.repeats.by == (has_rows(g) ? WR_BY_KERNEL : WR_BY_HOST), "by %d", (int)r.result.repeats.by);
    ranking_free(&r);
    wr_csr_free(graphs[k]);
  }
}

/* When the log is full the loop ends, the host takes the log, and the loop goes on: every step is in the history. */
static void test_long_history(ground *g) {
  wr_csr *links = random_matrix(40, 4, 0, 0, 5);
  ranking r = ranking_of(g, links);
  r.options = (wr_pagerank_options){.damping = 0.9999, .tolerance = 1e-14, .iterations = WR_LOG_ROOM / 2 + 77,
                                    .check_every = 1, .stop_on_change = 1};
  ground_case(g, "a history longer than the log");
  ranking_run(g, &r);
  CHECKF(r.history.count == r.result.iterations, "%lld checks in %lld iterations", (long long)r.history.count,
         (long long)r.result.iterations);
  for (int64_t k = 0; k < r.history.count; k++)
    if (r.history.iteration[k] != k + 1) {
      CHECKF(0, "check %lld is of iteration %lld", (long long)k, (long long)r.history.iteration[k]);
      break;
    }
  ranking_free(&r);
  wr_csr_free(links);
}

/* A preconditioner that is applied in each iteration is part of the loop. */
static void test_preconditioned(ground *g) {
  wr_csr *A = random_matrix(600, 5, 4, 1, 77);
  solution s = solution_of(g, A);
  s.applied = 1;
  for (int k = 0; k < 2; k++) {
    ground_case(g, "a preconditioner, check every %d", 1 + 2 * k);
    s.options.check_every = 1 + 2 * k;
    solution_run(g, &s);
    check_solution(&s);
    CHECKF(s.result.outcome == WR_CONVERGED && s.result.repeats.by == (has_rows(g) ? WR_BY_KERNEL : WR_BY_HOST),
           "%s, by %d", wr_outcome_title(s.result.outcome), (int)s.result.repeats.by);
  }
  solution_free(&s);
  wr_csr_free(A);
}

/* ---- Steps that the kernel is compiled for ---- */

/* Of the steps of both parts of a loop, the kernel is compiled for those of BiCGSTAB and CG; it gives the same bits as without
 * them. IDR's operations have more vectors than a form can have. */
static void test_forms(ground *g) {
  wr_csr *matrices[] = {random_matrix(400, 4, 6, 1, 3), with_long_rows(400, 0, 0), with_long_rows(1500, 2, 1400)};
  const struct {
    const char *name;
    const wr_method *method;
    int matrix, known;
  } cases[] = {{"bicgstab", &wr_method_bicgstab, 0, 6}, {"bicgstab, long rows", &wr_method_bicgstab, 2, 6},
               {"cg", &wr_method_cg, 1, 4},             {"idr", &wr_method_idr, 0, 0}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    wr_csr *A = matrices[cases[k].matrix];
    solution found[2] = {solution_of(g, A), solution_of(g, A)};
    for (int without = 0; without < 2; without++) {
      solution *s = &found[without];
      ground_case(g, "%s %s forms of steps", cases[k].name, without ? "without" : "with");
      s->options.method = cases[k].method;
      g->testing.no_forms = without, g->testing.known_steps = 0;
      solution_run(g, s);
      check_solution(s);
      CHECKF(s->result.outcome == WR_CONVERGED && s->result.repeats.by == WR_BY_KERNEL, "%s, by %d",
             wr_outcome_title(s->result.outcome), (int)s->result.repeats.by);
      CHECKF(g->testing.known_steps == (without ? 0 : cases[k].known), "%d steps have a form", g->testing.known_steps);
    }
    g->testing.no_forms = 0;
    CHECKF(found[0].result.iterations == found[1].result.iterations, "%lld iterations, %lld without forms",
           (long long)found[0].result.iterations, (long long)found[1].result.iterations);
    CHECKF(memcmp(found[0].x, found[1].x, (size_t)A->nrows * sizeof *found[0].x) == 0, "x has other bits");
    solution_free(&found[0]), solution_free(&found[1]);
  }
  for (size_t k = 0; k < sizeof matrices / sizeof *matrices; k++) wr_csr_free(matrices[k]);
}

/* The same for PageRank, unless it teleports to given pages. */
static void test_rank_forms(ground *g) {
  double *pages = room_for(NODES, sizeof *pages);
  for (int k = 0; k < NODES; k += 3) pages[k] = 1;
  const struct {
    const char *name;
    wr_csr *links;
    const double *teleport;
  } cases[] = {{"the power method", random_graph(), NULL},
               {"Chebyshev's method", undirected(), NULL},
               {"weights", weighted(), NULL},
               {"a teleport vector", random_graph(), pages}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    ranking found[2] = {ranking_of(g, cases[k].links), ranking_of(g, cases[k].links)};
    for (int without = 0; without < 2; without++) {
      ranking *r = &found[without];
      ground_case(g, "%s %s forms of steps", cases[k].name, without ? "without" : "with");
      r->teleport = cases[k].teleport;
      g->testing.no_forms = without, g->testing.known_steps = 0;
      run_and_check(g, r);
      CHECKF(r->result.repeats.by == WR_BY_KERNEL, "by %d", (int)r->result.repeats.by);
      CHECKF((g->testing.known_steps > 0) == (!cases[k].teleport && !without), "%d steps have a form",
             g->testing.known_steps);
    }
    g->testing.no_forms = 0;
    size_t bytes = (size_t)cases[k].links->nrows * sizeof *found[0].scores;
    CHECKF(memcmp(found[0].scores, found[1].scores, bytes) == 0, "scores have other bits");
    ranking_free(&found[0]), ranking_free(&found[1]);
    wr_csr_free(cases[k].links);
  }
  free(pages);
}

/* ---- Operations that a resident loop refuses ---- */

static void test_refusals(ground *g) {
  const wr_vecops *ops = g->env.ops;
  static const wr_step unknown = {.name = "unknown", .scalars = 4};
  wr_csr *A = random_matrix(100, 3, 4, 1, 9);
  wr_vec x = {0}, bank = {0}, other = {0};
  wr_loop *loop = NULL;
  ground_case(g, "refusals");
  CHECK_OK(ops->alloc(&g->env, 100, g->env.type, "x", &x));
  CHECK_OK(ops->alloc(&g->env, 4, WR_F64, "a bank", &bank));
  CHECK_OK(ops->alloc(&g->env, 4, WR_F64, "a bank", &other));
  CHECK_OK(ops->loop_open(&g->env, &(wr_loop_request){.parts = 1, .resident = 1, .bank = &bank}, &loop));
  if (loop) {
    wr_fused norm = {.in = {&x}, .reduce = {{WR_NRM2SQ, &x, NULL, {&bank, 0}}}};
    CHECK(ops->fill(&g->env, &x, 1) == WR_EUNAVAILABLE);
    CHECK(ops->step(&g->env, &(wr_then){&unknown, &bank, NULL}) == WR_EUNAVAILABLE);
    CHECK_OK(ops->fused(&g->env, &norm));
    norm.then = (wr_then){&unknown, &bank, NULL};
    CHECK(ops->fused(&g->env, &norm) == WR_EUNAVAILABLE);
    wr_fused elsewhere = {.in = {&x}, .reduce = {{WR_NRM2SQ, &x, NULL, {&other, 0}}}};
    CHECK(ops->fused(&g->env, &elsewhere) == WR_EUNAVAILABLE);
    elsewhere = (wr_fused){.in = {&x}, .out = {&x}, .c = {{{1, {&other, 1}}}}};
    CHECK(ops->fused(&g->env, &elsewhere) == WR_EUNAVAILABLE);
    for (int k = 0; k < 100; k++) /* there is room for a few dozen */
      if (ops->fused(&g->env, &(wr_fused){.in = {&x}, .out = {&x}, .c = {{{.factor = 1}}}}) != WR_OK) break;
      else CHECK(k < 99);
  }
  ops->loop_free(&g->env, loop);
  CHECK_OK(ops->fill(&g->env, &x, 1)); /* once the loop is freed, operations run as before */
  ops->release(&g->env, &x), ops->release(&g->env, &bank), ops->release(&g->env, &other);
  wr_csr_free(A);
}

static void test_all(ground *g) {
  if (!has_rows(g)) return;
  test_solve(g);
  test_ends(g);
  test_snapshot(g);
  test_long_rows(g);
  test_left_to_graph(g);
  test_ranks(g);
  test_long_history(g);
  test_preconditioned(g);
  test_forms(g);
  test_rank_forms(g);
  test_refusals(g);
}

/* All tests on the default backends; on others the solve alone, since their loop is the same. */
int main(void) {
  const wr_backend *backend = NULL;
  on_default_grounds(test_all);
  for (int k = 0; k < 3; k++) {
    static const char *const names[] = {"csr_thread", "csr_thread_unrolled", "bsr_unrolled"};
    CHECK_OK(wr_backend_find(names[k], &backend));
    if (backend->plan) on_backend(backend, test_solve);
  }
  return wr_test_report("resident");
}
