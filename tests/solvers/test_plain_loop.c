/* Loops on a driver whose graphs have no conditional nodes: the host launches ahead, so the device runs iterations past the
 * end, whose effect is undone. What remains must be what a loop of the host leaves, to the bit if the plan is deterministic:
 * for operations of this test, for BiCGSTAB and for PageRank, at every distance of checks, at every end, and when interrupted.
 * In the CPU's copies of kernels (tests/simt) the device always runs past the end. */
#define _DEFAULT_SOURCE
#include "solvers/pagerank.h"
#include "spmv/loop/loop.h"
#include "tests/counting.h"
#include "tests/solvers/solve_fixture.h"
#include "tests/solvers/graph_cases.h"
#include "tests/solvers/three_phases.h"

/* ---- Operations of this test ---- */

typedef struct counting {
  wr_vec bank, ones, kept, lost; /* every part adds 1 to kept and lost; the loop rolls back kept alone */
  wr_loop *loop;
} counting;

static void record_part(ground *g, counting *c) {
  for (int k = 0; k < 2; k++) {
    wr_vec *v = k == 0 ? &c->lost : &c->kept;
    wr_fused add = {.in = {v, &c->ones},
                    .out = {v},
                    .c = {{{.factor = 1}, {.factor = 1}}},
                    .reduce = {{WR_SUM, v, NULL, {&c->bank, WR_SCALAR_INDEX(wr_pagerank_scalars, dangling)}}}};
    if (k == 1) add.then = WR_THEN(pagerank_after_iteration, &c->bank, NULL);
    CHECK_OK(g->env.ops->fused(&g->env, &add));
  }
}

static void open_counting(ground *g, counting *c, int64_t n, int parts) {
  const wr_vecops *ops = g->env.ops;
  wr_vec *const vectors[] = {&c->ones, &c->kept, &c->lost};
  *c = (counting){0};
  CHECK_OK(ops->alloc(&g->env, WR_SCALAR_COUNT(wr_pagerank_scalars), WR_F64, "a bank", &c->bank));
  for (int k = 0; k < 3; k++) CHECK_OK(ops->alloc(&g->env, n, g->env.type, "a vector", vectors[k]));
  CHECK_OK(ops->fill(&g->env, &c->ones, 1));
  wr_loop_request request = {.parts = parts, .bank = &c->bank, .left = {{&c->kept}, {&c->kept}, {&c->kept}}};
  CHECK_OK(ops->loop_open(&g->env, &request, &c->loop));
  record_part(g, c);
  for (int part = 2; part <= parts; part++) {
    CHECK_OK(ops->loop_part(&g->env, c->loop));
    record_part(g, c);
  }
  CHECK_OK(ops->loop_close(&g->env, c->loop));
}

static void close_counting(ground *g, counting *c) {
  g->env.ops->loop_free(&g->env, c->loop);
  wr_vec *const vectors[] = {&c->bank, &c->ones, &c->kept, &c->lost};
  for (int k = 0; k < 4; k++) g->env.ops->release(&g->env, vectors[k]);
}

/* The number of elements that differ from value. */
static int64_t others(ground *g, const wr_vec *v, double value) {
  int64_t count = 0;
  double *values = room_for(v->n, sizeof *values);
  CHECK_OK(g->env.ops->download(&g->env, v, values));
  for (int64_t i = 0; i < v->n; i++) count += values[i] != value;
  free(values);
  return count;
}

/* Runs the loop from round `from` up to `limit`, or with `stop` asks it to end after the first poll. The bank and `kept` must
 * then be as the last part that counted left them. A second call starts with `kept` as the first one left it. */
static void count_to(ground *g, counting *c, double from, double limit, int stop) {
  const wr_vecops *ops = g->env.ops;
  wr_pagerank_scalars seen = counting_from(from, limit), final;
  int ended = 0, asked = 0;
  CHECK_OK(ops->upload(&g->env, &c->bank, (const double *)&seen));
  CHECK_OK(ops->loop_run(&g->env, c->loop));
  for (int polls = 0; !ended && polls < 10000; polls++) {
    CHECK_OK(ops->loop_poll(&g->env, c->loop, &c->bank, (double *)&seen, &ended));
    if (stop && !ended && !asked++) CHECK_OK(ops->loop_stop(&g->env, c->loop));
  }
  CHECK_OK(ops->download(&g->env, &c->bank, (double *)&final));
  CHECK(ended);
  CHECKF(stop ? seen.steps > from && seen.steps < limit : seen.steps == limit, "%g of %g", seen.steps, limit);
  CHECKF(memcmp(&final, &seen, sizeof final) == 0, "%g in the bank, %g were told", final.steps, seen.steps);
  CHECKF(seen.dangling == seen.steps * (double)c->kept.n, "sum %g", seen.dangling);
  CHECKF(others(g, &c->kept, seen.steps) == 0, "elements are not %g", seen.steps);
}

static void test_counting(ground *g) {
  static const int64_t lengths[] = {1, 5, 700, 5000};
  counting c;
  for (int k = 0; k < 4 * WR_MAX_PARTS; k++) {
    int parts = k % WR_MAX_PARTS + 1;
    ground_case(g, "%lld elements, %d parts", (long long)lengths[k / WR_MAX_PARTS], parts);
    open_counting(g, &c, lengths[k / WR_MAX_PARTS], parts);
    double reached = 0;
    for (int more = 1; c.loop && more <= 5; reached += more++) count_to(g, &c, reached, reached + more, 0);
    if (c.loop && k == WR_MAX_PARTS - 1) /* one element is not so many that f32 could not count them */
      count_to(g, &c, reached, 1e9, 1);
    close_counting(g, &c);
  }
}

/* `lost`, which is not rolled back, has been written too often. If it had not, no part ran past the end and the checks above
 * would show nothing. On the CPU streams have always finished, so one part too many always runs. */
static void test_too_many(ground *g) {
  counting c;
  ground_case(g, "iterations past the end");
  open_counting(g, &c, 10, 1);
  count_to(g, &c, 0, 3, 0);
  if (strstr(g->env.device_name, "no card")) CHECK(others(g, &c.lost, 4) == 0);
  close_counting(g, &c);
}

/* ---- BiCGSTAB ---- */

static void check_same_history(const wr_history *plain, const wr_history *host) {
  CHECKF(plain->count == host->count, "%lld checks, %lld by the host", (long long)plain->count, (long long)host->count);
  for (int64_t k = 0; k < plain->count && k < host->count; k++)
    CHECKF(plain->iteration[k] == host->iteration[k] && plain->measure[k] == host->measure[k],
           "check %lld: %lld %.17g; %lld %.17g by the host", (long long)k, (long long)plain->iteration[k],
           plain->measure[k], (long long)host->iteration[k], host->measure[k]);
}

static void solve_both(ground *g, solution *plain, wr_outcome outcome) {
  solution host = *plain;
  plain->options.no_resident = host.options.no_graph = 1;
  solution_run(g, plain), solution_run(g, &host);
  check_solution(plain), check_solution(&host);
  const wr_result *a = &plain->result, *b = &host.result;
  CHECKF(a->outcome == outcome && b->outcome == outcome, "%s, %s by the host", wr_outcome_title(a->outcome),
         wr_outcome_title(b->outcome));
  if (plain->deterministic) {
    check_same_history(&plain->history, &host.history);
    CHECKF(a->iterations == b->iterations && a->restarts == b->restarts && a->refinements == b->refinements &&
               a->measure == b->measure,
           "%lld iterations, %d restarts, %g; %lld, %d, %g by the host", (long long)a->iterations, a->restarts,
           a->measure, (long long)b->iterations, b->restarts, b->measure);
    CHECKF(memcmp(plain->x, host.x, (size_t)plain->A->nrows * sizeof *host.x) == 0, "the answers differ");
  }
  solution_free(&host);
}

static void test_solves(ground *g) {
  static const int64_t distances[] = {1, 2, 3, 4, 7, 8};
  wr_csr *A = random_matrix(400, 5, 2.2, 1, 31);
  for (size_t k = 0; k < sizeof distances / sizeof *distances; k++) {
    solution s = solution_of(g, A);
    s.options.check_every = distances[k];
    ground_case(g, "BiCGSTAB, a check every %lld", (long long)distances[k]);
    solve_both(g, &s, WR_CONVERGED);
    CHECKF(s.result.repeats.by == WR_BY_GRAPH || s.result.iterations <= 2 * distances[k], "by %d after %lld iterations",
           (int)s.result.repeats.by, (long long)s.result.iterations);
    const wr_repeats *repeats = &s.result.repeats;
    CHECKF((repeats->by == WR_BY_HOST) == (repeats->iterations == 0) &&
               (repeats->iterations == 0) == (repeats->seconds == 0) &&
               repeats->iterations <= s.result.iterations + distances[k],
           "%lld iterations of %lld in %g s", (long long)repeats->iterations, (long long)s.result.iterations,
           repeats->seconds);
    solution_free(&s);
  }
  wr_csr_free(A);
}

static void end_after(ground *g, wr_csr *A, int64_t most, int64_t every) {
  solution s = solution_of(g, A);
  s.options.iterations = most, s.options.tolerance = 1e-30, s.options.check_every = every;
  ground_case(g, "BiCGSTAB, at most %lld iterations", (long long)most);
  solve_both(g, &s, WR_MAX_ITERATIONS);
  solution_free(&s);
}

/* The limit in either part, also in iterations after which a snapshot may be taken; a tolerance below rounding; a breakdown. */
static void test_ends(ground *g) {
  wr_csr *A = random_matrix(300, 5, 10, 1, 77), *B = matrix_of_picture(2, (const double[]){0, 1, -1, 0});
  wr_csr *C = random_matrix(400, 5, 2.2, 1, 31);
  for (int64_t most = 3; most <= 9; most++) end_after(g, A, most, most <= 6 ? 1 : 2);
  for (int64_t most = 15; most <= 17; most++) end_after(g, C, most, 1);
  solution s = solution_of(g, A);
  s.options.tolerance = wr_type_unit(WR_F64) / 100; /* x is returned in f64, whatever is stored */
  ground_case(g, "BiCGSTAB, a tolerance below rounding");
  solve_both(g, &s, WR_STAGNATED);
  solution_free(&s);
  s = solution_of(g, B); /* (r, B r) = 0 for every r */
  ground_case(g, "BiCGSTAB, breakdowns");
  solution_run(g, &s);
  check_solution(&s);
  CHECK(s.result.restarts > 0);
  solution_free(&s);
  wr_csr_free(A), wr_csr_free(B), wr_csr_free(C);
}

/* The deadline passes while the device iterates. */
static void expire(void *context, int64_t iteration, double measure, double target) {
  (void)measure, (void)target;
  if (iteration > 0) ((wr_monitor *)context)->deadline = 1e-9;
}

/* The iterate is that of the reported iteration: a solve by the host that is limited to as many has the same one. */
static void test_interrupted(ground *g, int by_deadline) {
  wr_csr *A = random_matrix(300, 5, 4, 1, 31);
  volatile sig_atomic_t interrupted = 1;
  solution s = solution_of(g, A), host;
  s.options.tolerance = 1e-300, s.options.iterations = 100000000;
  s.options.no_resident = 1;
  host = s;
  if (by_deadline)
    s.monitor = (wr_monitor){.progress = expire, .context = &s.monitor, .deadline = 1e300};
  else
    s.monitor.interrupted = &interrupted;
  ground_case(g, "BiCGSTAB, %s", by_deadline ? "a deadline" : "interrupted");
  solution_run(g, &s);
  CHECKF(s.result.outcome == (by_deadline ? WR_TIME_LIMIT : WR_INTERRUPTED) && s.result.iterations > 0, "%s",
         wr_outcome_title(s.result.outcome));
  check_solution(&s);
  host.options.no_graph = 1, host.options.iterations = s.result.iterations;
  solution_run(g, &host);
  if (s.deterministic && host.result.outcome == WR_MAX_ITERATIONS)
    CHECKF(memcmp(s.x, host.x, (size_t)A->nrows * sizeof *host.x) == 0, "the answers differ after %lld iterations",
           (long long)s.result.iterations);
  solution_free(&s), solution_free(&host);
  wr_csr_free(A);
}

/* ---- PageRank ---- */

/* The scores, and the change of one more step, which verification needs. */
typedef struct ranks {
  double *scores, *next, change, dangling;
  wr_history history;
  wr_result result;
} ranks;

static ranks rank(ground *g, const wr_graph *graph, wr_plan *plan, wr_pagerank_options o, int by_host) {
  ranks r = {.scores = room_for(graph->n, sizeof(double)), .next = room_for(graph->n, sizeof(double))};
  wr_pagerank method;
  o.no_graph = by_host, o.no_resident = 1;
  CHECK_OK(wr_pagerank_open(&method, graph, plan, &g->env));
  CHECK_OK(wr_pagerank_solve(&method, &o, &(wr_monitor){.history = &r.history}, &r.result));
  CHECK_OK(wr_pagerank_download(&method, r.scores));
  CHECK_OK(wr_pagerank_step(&method, &o, r.next, &r.change, &r.dangling));
  wr_pagerank_close(&method);
  return r;
}

static void rank_both(ground *g, const wr_graph *graph, wr_plan *plan, wr_pagerank_options o, wr_outcome outcome) {
  ranks a = rank(g, graph, plan, o, 0), b = rank(g, graph, plan, o, 1);
  size_t bytes = (size_t)graph->n * sizeof *a.scores;
  CHECKF(a.result.outcome == outcome && b.result.outcome == outcome, "%s, %s by the host",
         wr_outcome_title(a.result.outcome), wr_outcome_title(b.result.outcome));
  CHECK(a.result.repeats.by == WR_BY_GRAPH && b.result.repeats.by == WR_BY_HOST);
  if (wr_plan_get_info(plan)->deterministic) {
    check_same_history(&a.history, &b.history);
    CHECKF(a.result.iterations == b.result.iterations && a.result.change == b.result.change, "%lld, %lld by the host",
           (long long)a.result.iterations, (long long)b.result.iterations);
    CHECK(memcmp(a.scores, b.scores, bytes) == 0 && memcmp(a.next, b.next, bytes) == 0);
    CHECKF(a.change == b.change && a.dangling == b.dangling, "%g and %g, %g and %g by the host", a.change, a.dangling,
           b.change, b.dangling);
  }
  free(a.scores), free(a.next), free(b.scores), free(b.next);
  wr_history_free(&a.history), wr_history_free(&b.history);
}

static void test_ranks(ground *g) {
  static const int64_t distances[] = {1, 2, 3, 8};
  wr_csr *links = random_matrix(500, 4, 0, 0, 5); /* to their rows, so that some columns have none: dangling pages */
  wr_graph graph = {0};
  CHECK_OK(wr_graph_build(links, 1, NULL, NULL, &graph));
  wr_plan *plan = ground_plan(g, graph.flow);
  wr_pagerank_options o = {.damping = 0.85, .tolerance = 1e-3, .iterations = 1000};
  for (size_t k = 0; plan && k < sizeof distances / sizeof *distances; k++) {
    ground_case(g, "PageRank, a check every %lld", (long long)distances[k]);
    o.check_every = distances[k];
    rank_both(g, &graph, plan, o, WR_CONVERGED);
  }
  for (o.iterations = 4; plan && o.iterations <= 9; o.iterations++) {
    ground_case(g, "PageRank, at most %lld iterations", (long long)o.iterations);
    o.check_every = 1, o.tolerance = 1e-300;
    rank_both(g, &graph, plan, o, WR_MAX_ITERATIONS);
  }
  wr_plan_destroy(plan);
  wr_graph_free(&graph);
  wr_csr_free(links);
}

/* Ranks around a circle of links, which takes a jump to page 0 round: the change falls by the damping in each iteration. */
static wr_status circle(wr_csr **links, wr_graph *graph) {
  enum { PAGES = 300 };
  double *teleport;
  PASS(wr_csr_create(PAGES, PAGES, PAGES, 0, links));
  for (int32_t i = 0; i < PAGES; i++) (*links)->col[i] = (i + 1) % PAGES, (*links)->row_ptr[i + 1] = i + 1;
  PASS(wr_alloc_zeroed(&teleport, PAGES, sizeof *teleport, "a teleport vector"));
  teleport[0] = 1;
  return wr_graph_build(*links, 0, teleport, NULL, graph);
}

/* As without tests the host asks for the first iterations: 64 of them, at the next check. */
static void test_late(ground *g) {
  static const int64_t limits[] = {1, 40, 64, 65, 66, 67, 68, 100, 150}, distances[] = {1, 2, 3, 8};
  wr_csr *links = NULL;
  wr_graph graph = {0};
  CHECK_OK(circle(&links, &graph));
  wr_plan *plan = ground_plan(g, graph.flow);
  g->testing.late_loops = 1;
  for (int k = 0; plan && k < 9 * 4; k++) {
    wr_pagerank_options o = {.damping = 0.99, .tolerance = 1e-9, .iterations = limits[k / 4],
                             .check_every = distances[k % 4]};
    ground_case(g, "late, at most %lld iterations, a check every %lld", (long long)o.iterations,
                (long long)o.check_every);
    int64_t before = g->testing.recordings;
    ranks a = rank(g, &graph, plan, o, 0), b = rank(g, &graph, plan, o, 1);
    CHECK(a.result.outcome == WR_MAX_ITERATIONS && a.result.iterations == o.iterations);
    CHECK(o.iterations > 64 || (a.result.repeats.by == WR_BY_HOST && g->testing.recordings == before));
    CHECK(o.iterations < 100 || (a.result.repeats.by == WR_BY_GRAPH && g->testing.recordings == before + 1));
    if (wr_plan_get_info(plan)->deterministic) {
      check_same_history(&a.history, &b.history);
      CHECK(memcmp(a.scores, b.scores, (size_t)graph.n * sizeof *a.scores) == 0);
    }
    free(a.scores), free(a.next), free(b.scores), free(b.next);
    wr_history_free(&a.history), wr_history_free(&b.history);
  }
  g->testing.late_loops = 0;
  wr_plan_destroy(plan);
  wr_graph_free(&graph);
  wr_csr_free(links);
}

/* The answer is the iterate before the last, and its predecessor is read while the next is made. */
static void test_chebyshev(ground *g) {
  static const int64_t distances[] = {1, 2, 3, 8};
  wr_csr *links = undirected();
  wr_graph graph = {0};
  CHECK_OK(wr_graph_build(links, 1, NULL, NULL, &graph));
  wr_plan *plan = ground_plan(g, graph.flow);
  wr_pagerank_options o = {.method = WR_PAGERANK_CHEBYSHEV, .damping = 0.99, .tolerance = 1e-2, .iterations = 1000};
  for (size_t k = 0; plan && k < sizeof distances / sizeof *distances; k++) {
    ground_case(g, "Chebyshev, a check every %lld", (long long)distances[k]);
    o.check_every = distances[k];
    rank_both(g, &graph, plan, o, WR_CONVERGED);
  }
  for (o.iterations = 4; plan && o.iterations <= 9; o.iterations++) {
    ground_case(g, "Chebyshev, at most %lld iterations", (long long)o.iterations);
    o.check_every = 1, o.tolerance = 1e-300;
    rank_both(g, &graph, plan, o, WR_MAX_ITERATIONS);
  }
  wr_plan_destroy(plan);
  wr_graph_free(&graph);
  wr_csr_free(links);
}

static void test_all(ground *g) {
  if (g->env.place != WR_CUDA) return;
  g->testing.no_conditions = 1;
  test_counting(g);
  test_too_many(g);
  test_three_phases(g);
  test_solves(g);
  test_ends(g);
  for (int by_deadline = 0; by_deadline < 2; by_deadline++) test_interrupted(g, by_deadline);
  test_ranks(g);
  test_late(g);
  test_chebyshev(g);
}

int main(void) {
  on_default_grounds(test_all);
  CASE("all");
  CHECK(1);
  return wr_test_report("plain_loop");
}
