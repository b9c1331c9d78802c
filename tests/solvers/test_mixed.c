/* PageRank in f64 by sweeps in f32: every answer lies within the bound that it prints of a dense solve in long double, on
 * graphs of all shapes and scores that are 1e12 apart, up to a damping of 0.9999; few multiplies are in f64; where f32 is of no
 * use the solve goes on in f64 and says so; the same answer however the sweeps are repeated; how a solve ends early. Besides,
 * sums of vectors of two types. */
#define _DEFAULT_SOURCE
#include "solvers/rank/rank.h"
#include "tests/solvers/graph_cases.h"
#include "tests/solvers/rank_fixture.h"
#include "tests/solvers/rank_shapes.h"

typedef struct mixed_run {
  ranking r;
  wr_rank_method method;
  int in_f64; /* 1: without sweeps in f32, to be compared with */
  int solves; /* 0: one; else so many, of which the last is looked at */
} mixed_run;

static mixed_run run_of(const ground *g, wr_csr *links, double damping, wr_rank_method method) {
  mixed_run m = {.r = ranking_of(g, links), .method = method};
  m.r.options.damping = damping, m.r.options.check_every = 0, m.r.options.iterations = 400000;
  m.r.options.tolerance = fmax(1e-9, 1000 * 0x1p-53 / (1 - damping)); /* less may stagnate */
  return m;
}

static void solve(mixed_run *m, wr_ranking *rank, const wr_graph *graph, wr_rounding rounding) {
  ranking *r = &m->r;
  int64_t n = graph->n;
  double change, dangling, *step = room_for(n, sizeof *step), *ranks = room_for(n, sizeof *ranks);
  for (int k = 1; k < m->solves; k++) CHECK_OK(wr_rank_solve(rank, m->method, &r->options, NULL, &r->result));
  CHECK_OK(wr_rank_solve(rank, m->method, &r->options, &r->monitor, &r->result));
  CHECK_OK(wr_pagerank_download(&rank->iterated, ranks));
  memcpy(r->scores, ranks, (size_t)n * sizeof *ranks);
  CHECK_OK(wr_pagerank_normalise(r->scores, n, &r->options, fmax(r->result.rounding, r->result.bound / 25)));
  CHECK_OK(wr_pagerank_step(&rank->iterated, &r->options, step, &change, &dangling));
  CHECK_OK(wr_verify_pagerank(graph, r->options.damping, r->options.tolerance, r->options.stop_on_change, rounding,
                              ranks, step, change, dangling, WR_VERIFY_FULL, n, &r->verdict));
  free(step), free(ranks);
}

static void run(ground *g, mixed_run *m) {
  wr_graph graph = {0};
  wr_ranking rank = {0};
  narrow_plan narrow = {.plan = NULL};
  ranking *r = &m->r;
  int64_t n = r->links->nrows;
  ranking_free(r);
  ground_threads(n);
  r->scores = room_for(n, sizeof *r->scores);
  r->monitor.history = &r->history;
  CHECK_OK(ranking_build(r, &graph));
  wr_plan *plan = ground_plan(g, graph.flow);
  if (plan) {
    r->deterministic = wr_plan_get_info(plan)->deterministic;
    CHECK_OK(wr_rank_open(&rank, &graph, plan, &g->env));
    if (!m->in_f64) narrow_open(g, &narrow, graph.flow, &rank.iterated);
    solve(m, &rank, &graph, wr_rounding_of(&g->env, plan));
    wr_rank_close(&rank);
  }
  wr_plan_destroy(narrow.plan);
  wr_plan_destroy(plan);
  wr_graph_free(&graph);
}

static void run_free(mixed_run *m) { ranking_free(&m->r); }

static int64_t in_f64(const mixed_run *m) { return m->r.result.multiplies - m->r.result.multiplies_f32; }

/* What must hold of every run, however it ended. */
static void check_run(const mixed_run *m, const exact_ranks *exact) {
  const ranking *r = &m->r;
  const wr_result *result = &r->result;
  const wr_history *h = &r->history;
  long double distance = 0, sum = 0;
  int64_t backwards = 0;
  for (int64_t i = 0; i < exact->n; i++)
    distance += fabsl((long double)r->scores[i] - exact->score[i]), sum += (long double)r->scores[i];
  CHECKF(distance <= (long double)result->bound + exact->error, "L1 error %.3Lg, bound %.3g (%s after %lld)", distance,
         result->bound, wr_outcome_title(result->outcome), (long long)result->iterations);
  CHECKF(fabsl(sum - 1) <= (long double)(exact->n + 2) * 0x1p-53L, "the scores have the sum %.18Lg", sum);
  double judged = r->options.stop_on_change ? result->measure : result->bound;
  CHECKF((result->outcome == WR_CONVERGED) == (judged <= r->options.tolerance), "%s with %g of %g",
         wr_outcome_title(result->outcome), judged, r->options.tolerance);
  double d = r->options.damping, least = result->change * d / (1 - d);
  CHECKF(result->bound >= least * (1 - 0x1p-50), "bound %g, at least %g", result->bound, least);
  CHECKF(result->iterations >= 1 && result->iterations <= r->options.iterations, "%lld iterations, at most %lld",
         (long long)result->iterations, (long long)r->options.iterations);
  CHECKF(result->multiplies >= result->iterations && result->multiplies_f32 >= 0 && in_f64(m) >= 1,
         "%lld iterations, %lld multiplies, %lld of them in f32", (long long)result->iterations,
         (long long)result->multiplies, (long long)result->multiplies_f32);
  CHECKF(r->verdict.multiplied_right, "largest error %g of its bound", r->verdict.worst_row);
  CHECKF(result->outcome != WR_CONVERGED || r->verdict.met_tolerance, "a step changes %g of %g", r->verdict.measure,
         r->verdict.limit);
  for (int64_t k = 1; k < h->count; k++) backwards += h->iteration[k] < h->iteration[k - 1];
  CHECKF(backwards == 0, "%lld entries of the history go back", (long long)backwards);
  CHECKF(h->count > 0 && h->iteration[h->count - 1] == result->iterations && h->measure[h->count - 1] == result->change,
         "the history of %lld entries ends with another change", (long long)h->count);
}

static void run_and_check_it(ground *g, mixed_run *m) {
  exact_ranks exact = dense_ranks(&m->r);
  run(g, m);
  check_run(m, &exact);
  free(exact.score);
}

/* ---- Answers ---- */

static wr_rank_method method_of(const wr_csr *links) { return links->symmetric ? WR_RANK_CHEBYSHEV : WR_RANK_POWER; }

static void check_answers(ground *g, wr_csr *links, const char *what, double damping, const double *teleport,
                          const double *start) {
  mixed_run m = run_of(g, links, damping, method_of(links));
  m.r.teleport = teleport, m.r.start = start;
  ground_case(g, "%s, damping %g%s%s", what, damping, teleport ? ", a teleport vector" : "", start ? ", a guess" : "");
  run_and_check_it(g, &m);
  CHECKF(m.r.result.outcome == WR_CONVERGED, "%s", wr_outcome_title(m.r.result.outcome));
  CHECKF(damping > 0.99 || m.r.result.note[0] == '\0', "%s", m.r.result.note);
  CHECKF(damping > 0.99 || in_f64(&m) <= 6, "%lld of %lld multiplies are in f64", (long long)in_f64(&m),
         (long long)m.r.result.multiplies);
  run_free(&m);
}

/* Every damping with each graph, and each of them with a teleport vector, in which half of the nodes have 0, and a guess. The
 * largest takes 200 000 multiplies on directed rings, so it is left to the host, as kernels may run on the CPU. */
static void check_dampings(ground *g, wr_csr *links, const char *what) {
  static const double dampings[] = {0, 0.5, 0.85, 0.99, 0.9999};
  int count = g->env.place == WR_HOST ? 5 : 4;
  int64_t n = links->nrows;
  uint64_t seed = 17;
  double *teleport = room_for(n, sizeof *teleport), *start = room_for(n, sizeof *start);
  for (int64_t i = 0; i < n; i++) teleport[i] = i % 2 ? 0 : random_in(&seed), start[i] = random_in(&seed);
  for (int k = 0; k < count; k++) {
    check_answers(g, links, what, dampings[k], NULL, NULL);
    check_answers(g, links, what, dampings[k], teleport, k % 2 ? start : NULL);
    if (k % 2 == 0) check_answers(g, links, what, dampings[k], NULL, start);
  }
  free(teleport), free(start);
  wr_csr_free(links);
}

static wr_csr *symmetric_ring(int64_t n, int64_t alone) {
  entry *edges = room_for(2 * n, sizeof *edges);
  for (int64_t k = 0; k < n; k++)
    edges[2 * k] = (entry){k, (k + 1) % n, 1}, edges[2 * k + 1] = (entry){(k + 1) % n, k, 1};
  wr_csr *links = pattern_of(n + alone, edges, 2 * n);
  links->symmetric = 1;
  free(edges);
  return links;
}

static wr_csr *two_rings(void) {
  entry edges[12];
  for (int k = 0; k < 6; k++)
    edges[2 * k] = (entry){k, (k + 1) % 6, 1}, edges[2 * k + 1] = (entry){6 + k, 6 + (k + 2) % 6, 1};
  return pattern_of(12, edges, 12);
}

static void test_answers(ground *g) {
  uint64_t seed = 29;
  check_dampings(g, pattern_of(1, NULL, 0), "one node");
  check_dampings(g, pattern_of(9, NULL, 0), "no links");
  check_dampings(g, two_rings(), "rings apart");
  check_dampings(g, symmetric_ring(30, 0), "an undirected ring");
  check_dampings(g, symmetric_ring(21, 9), "a ring and single nodes");
  check_dampings(g, random_matrix(80, 2, 0, 0, 7), "random links");
  wr_csr *links = random_matrix(70, 3, 0, 1, 9);
  for (int64_t k = 0; k < links->nnz; k++) links->val[k] = links->val[k] < -0.5 ? 0 : fabs(links->val[k]) * 1e30;
  check_dampings(g, links, "weights, some of them 0");
  for (int k = 0; k < (g->env.place == WR_HOST ? 6 : 2); k++)
    check_dampings(g, random_shape(40, &seed), "a random shape");
}

/* Only one node is jumped to, and from each one a tenth of the rank goes on to the next: scores 1e12 apart. */
static wr_csr *descent(int64_t n) {
  entry *edges = room_for(2 * n, sizeof *edges);
  for (int64_t k = 0; k < n; k++)
    edges[2 * k] = (entry){k, 0, 9}, edges[2 * k + 1] = (entry){k, k + 1 < n ? k + 1 : 0, 1};
  wr_csr *links = matrix_of(n, edges, 2 * n, 1);
  free(edges);
  return links;
}

static void test_spread(ground *g) {
  double teleport[40] = {1};
  mixed_run m = run_of(g, descent(40), 0.85, WR_RANK_POWER);
  ground_case(g, "scores that are far apart");
  m.r.teleport = teleport, m.r.options.tolerance = 1e-13;
  exact_ranks exact = dense_ranks(&m.r);
  run(g, &m);
  check_run(&m, &exact);
  CHECKF(exact.score[0] / exact.score[39] > 1e12L, "%Lg", exact.score[0] / exact.score[39]);
  CHECKF(m.r.result.outcome == WR_CONVERGED && m.r.result.multiplies_f32 > 0, "%s",
         wr_outcome_title(m.r.result.outcome));
  free(exact.score);
  run_free(&m);
  wr_csr_free(m.r.links);
}

/* ---- Multiplies ---- */

/* As many multiplies as in f64, but for those that certify corrections and what sweeps miss their aims by, and few in f64. */
static void check_counts(ground *g, wr_csr *links, const char *what, double damping, int64_t most_f64) {
  mixed_run m = run_of(g, links, damping, method_of(links)), wide = m;
  m.r.options.check_every = wide.r.options.check_every = 1;
  wide.in_f64 = 1;
  ground_case(g, "multiplies, %s, damping %g", what, damping);
  run(g, &m), run(g, &wide);
  CHECKF(m.r.result.outcome == WR_CONVERGED && wide.r.result.outcome == WR_CONVERGED, "%s, in f64 %s",
         wr_outcome_title(m.r.result.outcome), wr_outcome_title(wide.r.result.outcome));
  CHECKF(in_f64(&m) <= most_f64, "%lld of %lld multiplies are in f64", (long long)in_f64(&m),
         (long long)m.r.result.multiplies);
  CHECKF((double)m.r.result.multiplies <= 1.1 * (double)wide.r.result.multiplies + 6, "%lld multiplies, in f64 %lld",
         (long long)m.r.result.multiplies, (long long)wide.r.result.multiplies);
  CHECKF(m.r.result.note[0] == '\0', "%s", m.r.result.note);
  CHECKF(ranking_distance(&m.r, &wide.r) <= m.r.result.bound + wide.r.result.bound, "the answers differ by %g",
         ranking_distance(&m.r, &wide.r));
  CHECKF(m.r.result.iteration_bytes < wide.r.result.iteration_bytes, "%g bytes, in f64 %g", m.r.result.iteration_bytes,
         wide.r.result.iteration_bytes);
  CHECK(wide.r.result.multiplies_f32 == 0);
  run_free(&m), run_free(&wide);
}

/* Links to everywhere, and a few nodes without: the power method's rate is far below the damping, as long as dangling mass is
 * counted and the sum of ranks is 1. */
static wr_csr *mixing(void) {
  wr_csr *links = random_matrix(300, 9, 0, 0, 23);
  int64_t kept = 0;
  for (int64_t i = 0; i < links->nrows; i++) {
    int64_t begin = links->row_ptr[i], end = links->row_ptr[i + 1];
    links->row_ptr[i] = kept;
    for (int64_t k = begin; k < end && i % 20 != 7; k++) links->col[kept++] = links->col[k];
  }
  links->nnz = links->row_ptr[links->nrows] = kept;
  return links;
}

/* Large ones on the host alone: elsewhere kernels may run on the CPU. */
static void test_counts(ground *g) {
  wr_csr *const graphs[] = {mixing(),   random_matrix(150, 5, 0, 0, 11), undirected(), weighted(), random_graph(),
                            hub_graph()};
  static const char *const names[] = {"mixing", "random links", "undirected", "weights", "more links", "a hub"};
  for (int k = 0; k < 6; k++) {
    if (k < 4 || g->env.place == WR_HOST) check_counts(g, graphs[k], names[k], 0.85, 3);
    if (k < 2 || g->env.place == WR_HOST) check_counts(g, graphs[k], names[k], 0.99, 4);
    wr_csr_free(graphs[k]);
  }
}

/* ---- Where f32 is of no use ---- */

static void test_fallback(ground *g) {
  wr_csr *links = symmetric_ring(12, 2);
  mixed_run m = run_of(g, links, 1 - 0x1p-20, WR_RANK_CHEBYSHEV);
  ground_case(g, "a damping too close to 1");
  run_and_check_it(g, &m);
  CHECKF(m.r.result.multiplies_f32 == 0 && strstr(m.r.result.note, "in f64, as"), "%lld in f32: %s",
         (long long)m.r.result.multiplies_f32, m.r.result.note);
  CHECKF(m.r.result.outcome == WR_CONVERGED, "%s", wr_outcome_title(m.r.result.outcome));
  run_free(&m);
  for (int is_power = 0; is_power < 2; is_power++) {
    wr_csr *graph = is_power ? random_matrix(150, 5, 0, 0, 11) : undirected();
    m = run_of(g, graph, 0.85, method_of(graph));
    m.r.options.tolerance = 1e-19;
    ground_case(g, "a tolerance below rounding, %s", is_power ? "power" : "chebyshev");
    run_and_check_it(g, &m);
    CHECKF(m.r.result.outcome == WR_STAGNATED && m.r.result.multiplies_f32 > 0 &&
               strstr(m.r.result.note, "on in f64, as a correction in f32 has not halved"),
           "%s, %lld in f32: %s", wr_outcome_title(m.r.result.outcome), (long long)m.r.result.multiplies_f32,
           m.r.result.note);
    CHECKF(m.r.result.change < 1e-15, "change %g", m.r.result.change);
    run_free(&m);
    wr_csr_free(graph);
  }
  wr_csr_free(links);
}

/* ---- Repeated by the host, by a graph, by one kernel ---- */

static void check_loops(ground *g, wr_csr *links, const char *what) {
  mixed_run by[4];
  for (int k = 0; k < 4; k++) {
    by[k] = run_of(g, links, 0.85, method_of(links));
    by[k].r.options.check_every = 1, by[k].r.options.no_graph = k == 0, by[k].r.options.no_resident = k < 2;
    by[k].solves = k == 3 ? 3 : 1;
    g->testing.no_conditions = 0;
    ground_case(g, "%s, loop %d", what, k);
    run(g, &by[k]);
    CHECKF(by[k].r.result.outcome == WR_CONVERGED, "%s", wr_outcome_title(by[k].r.result.outcome));
    CHECKF(in_f64(&by[k]) == in_f64(&by[0]), "%lld multiplies in f64, by the host %lld", (long long)in_f64(&by[k]),
           (long long)in_f64(&by[0]));
  }
  CHECK(by[0].r.result.repeats.by == WR_BY_HOST);
  if (g->env.place == WR_CUDA)
    CHECKF(by[1].r.result.repeats.by == WR_BY_GRAPH, "by %d", (int)by[1].r.result.repeats.by);
  size_t size = (size_t)links->nrows * sizeof(double);
  if (by[0].r.deterministic) {
    ground_case(g, "%s, the same bits", what);
    CHECKF(memcmp(by[0].r.scores, by[1].r.scores, size) == 0, "a graph gives other bits");
    CHECKF(by[0].r.result.iterations == by[1].r.result.iterations, "%lld, by a graph %lld",
           (long long)by[0].r.result.iterations, (long long)by[1].r.result.iterations);
    if (by[2].r.result.repeats.by == by[3].r.result.repeats.by && by[2].r.result.repeats.by != WR_BY_KERNEL)
      CHECKF(memcmp(by[2].r.scores, by[3].r.scores, size) == 0, "the third solve gives other bits");
  }
  for (int k = 0; k < 4; k++) run_free(&by[k]);
}

static void test_loops(ground *g) {
  wr_csr *const graphs[] = {random_matrix(150, 5, 0, 0, 11), undirected(), hub_graph()};
  static const char *const names[] = {"random links", "undirected", "a hub"};
  for (int k = 0; k < 3; k++) {
    if (k < 2 || g->env.place == WR_HOST) check_loops(g, graphs[k], names[k]);
    wr_csr_free(graphs[k]);
  }
}

/* ---- How a solve ends ---- */

static void test_limits(ground *g) {
  wr_csr *const graphs[] = {random_matrix(150, 5, 0, 0, 11), symmetric_ring(40, 3)};
  for (int k = 0; k < 2; k++) {
    exact_ranks exact = {0};
    for (int64_t most = 1; most <= 60; most += most < 14 ? 1 : 9) {
      mixed_run m = run_of(g, graphs[k], 0.85, method_of(graphs[k]));
      ground_case(g, "at most %lld multiplies", (long long)most);
      m.r.options.iterations = most, m.r.options.check_every = most % 3;
      if (exact.score == NULL) exact = dense_ranks(&m.r);
      run(g, &m);
      check_run(&m, &exact);
      CHECKF(m.r.result.outcome == WR_CONVERGED ||
                 (m.r.result.outcome == WR_MAX_ITERATIONS && m.r.result.iterations == most),
             "%s after %lld", wr_outcome_title(m.r.result.outcome), (long long)m.r.result.iterations);
      run_free(&m);
    }
    free(exact.score);
    wr_csr_free(graphs[k]);
  }
}

/* After three sweeps of Chebyshev's method the one rank is negative, as long as it is not divided by itself. */
static void test_negative_sum(ground *g) {
  wr_csr *links = pattern_of(1, NULL, 0);
  for (int64_t most = 4; most <= 9; most++) {
    mixed_run m = run_of(g, links, 0.9999, WR_RANK_CHEBYSHEV);
    ground_case(g, "one node, at most %lld multiplies", (long long)most);
    m.r.options.iterations = most, m.r.options.tolerance = 1e-4, m.r.options.check_every = 3;
    run_and_check_it(g, &m);
    CHECKF(m.r.result.outcome == WR_CONVERGED && m.r.scores[0] == 1, "%s, score %g",
           wr_outcome_title(m.r.result.outcome), m.r.scores[0]);
    run_free(&m);
  }
  wr_csr_free(links);
}

static void count_calls(void *context, int64_t iteration, double measure, double target) {
  int64_t *seen = context;
  CHECKF(iteration >= seen[1] && measure >= 0 && target > 0, "iteration %lld after %lld", (long long)iteration,
         (long long)seen[1]);
  seen[0]++, seen[1] = iteration;
}

static void test_interrupted(ground *g) {
  wr_csr *links = random_matrix(150, 5, 0, 0, 11);
  volatile sig_atomic_t flag = 1;
  mixed_run m = run_of(g, links, 0.85, WR_RANK_POWER);
  ground_case(g, "interrupted from the start");
  m.r.options.tolerance = 1e-15, m.r.monitor.interrupted = &flag;
  run_and_check_it(g, &m);
  CHECKF(m.r.result.outcome == WR_INTERRUPTED, "%s", wr_outcome_title(m.r.result.outcome));
  run_free(&m);
  m = run_of(g, links, 0.85, WR_RANK_POWER);
  ground_case(g, "a deadline that has passed");
  m.r.monitor.deadline = 1e-9;
  run(g, &m);
  CHECKF(m.r.result.outcome == WR_TIME_LIMIT && m.r.result.iterations == 0, "%s after %lld",
         wr_outcome_title(m.r.result.outcome), (long long)m.r.result.iterations);
  for (int64_t i = 0; i < links->nrows; i++)
    CHECKF(fabs(m.r.scores[i] * (double)links->nrows - 1) < 1e-12, "score %lld is %g", (long long)i, m.r.scores[i]);
  run_free(&m);
  int64_t seen[2] = {0, 0};
  m = run_of(g, links, 0.85, WR_RANK_POWER);
  ground_case(g, "progress");
  m.r.monitor.progress = count_calls, m.r.monitor.context = seen;
  run_and_check_it(g, &m);
  CHECKF(seen[0] >= 2 && seen[1] == m.r.result.iterations, "%lld calls, the last of iteration %lld", (long long)seen[0],
         (long long)seen[1]);
  run_free(&m);
  wr_csr_free(links);
}

/* A guess that is the answer is certified by one step; the order of some ranks ends a solve early, and is right. */
static void test_guess_and_order(ground *g) {
  wr_csr *links = random_matrix(150, 5, 0, 0, 11);
  mixed_run first = run_of(g, links, 0.85, WR_RANK_AUTO), again = first, ordered = first;
  ground_case(g, "a guess");
  first.r.options.tolerance = 1e-13;
  run_and_check_it(g, &first);
  again.r.start = first.r.scores;
  run_and_check_it(g, &again);
  CHECKF(again.r.result.iterations == 1 && again.r.result.multiplies_f32 == 0, "%lld multiplies, %lld in f32",
         (long long)again.r.result.iterations, (long long)again.r.result.multiplies_f32);
  ground_case(g, "an order");
  ordered.method = WR_RANK_POWER, ordered.r.options.order = 3, ordered.r.options.tolerance = 1e-14;
  exact_ranks exact = dense_ranks(&ordered.r);
  run(g, &ordered);
  CHECKF(ordered.r.result.outcome == WR_CONVERGED && ordered.r.result.order.proven == 3 &&
             ordered.r.result.measure > 1e-14 && ordered.r.result.multiplies_f32 > 0,
         "%s, %lld proven, measure %g", wr_outcome_title(ordered.r.result.outcome),
         (long long)ordered.r.result.order.proven, ordered.r.result.measure);
  long double distance = 0;
  for (int64_t i = 0; i < exact.n; i++) distance += fabsl((long double)ordered.r.scores[i] - exact.score[i]);
  CHECKF(distance <= (long double)ordered.r.result.bound + exact.error, "L1 error %Lg, bound %g", distance,
         ordered.r.result.bound);
  free(exact.score);
  run_free(&first), run_free(&again), run_free(&ordered);
  wr_csr_free(links);
}

/* ---- Sums of vectors of two types ---- */

static void check_recast(ground *g, wr_env *narrow, int types, int with_second, int over) {
  enum { N = 3001 };
  wr_env *const envs[] = {narrow, &g->env};
  const wr_vecops *ops = g->env.ops;
  wr_vec in = {0}, second = {0}, scale = {0}, out = {0}, bank = {0};
  double sums[2] = {7, 7};
  long double sum = 0, size = 0;
  double *numbers = room_for(N, sizeof *numbers), *reciprocal = room_for(N, sizeof *reciprocal),
         *found = room_for(N, sizeof *found);
  uint64_t seed = 5;
  for (int i = 0; i < N; i++) {
    numbers[i] = (double)(float)(random_in(&seed) - 0.5);
    reciprocal[i] = i % 5 == 0 ? 0 : 1 / (double)(1 + i % 300);
  }
  ground_case(g, "recast, types %d, %s, %s", types, with_second ? "two inputs" : "one",
              over ? "divided" : "not divided");
  CHECK_OK(ops->alloc(envs[types & 1], N, envs[types & 1]->type, "in", &in));
  CHECK_OK(ops->alloc(envs[types >> 1 & 1], N, envs[types >> 1 & 1]->type, "in", &second));
  CHECK_OK(ops->alloc(envs[types >> 2 & 1], N, envs[types >> 2 & 1]->type, "out", &out));
  CHECK_OK(over == 1 ? ops->compact(&g->env, N, reciprocal, "scale", &scale)
                     : ops->alloc(&g->env, N, WR_F64, "scale", &scale));
  if (over == 2) CHECK_OK(ops->upload(&g->env, &scale, reciprocal));
  CHECK_OK(ops->upload(&g->env, &in, numbers));
  CHECK_OK(ops->upload(&g->env, &second, numbers));
  CHECK_OK(ops->alloc(&g->env, 2, WR_F64, "a bank", &bank));
  CHECK_OK(ops->upload(&g->env, &bank, sums));
  wr_recast r = {.in = {&in, with_second ? &second : NULL}, .c = {3, -0.25}, .over = over ? &scale : NULL, .out = &out};
  if (over != 1) r.sum = (wr_scalar){&bank, 1};
  CHECK_OK(ops->recast(&g->env, &r));
  CHECK_OK(ops->download(&g->env, &out, found));
  if (over == 1) r.out = NULL, r.sum = (wr_scalar){&bank, 1};
  if (over == 1) CHECK_OK(ops->recast(&g->env, &r));
  CHECK_OK(ops->download(&g->env, &bank, sums));
  int64_t wrong = 0;
  for (int i = 0; i < N; i++) {
    double exact = (with_second ? 2.75 : 3) * numbers[i];
    if (over && reciprocal[i] != 0) exact *= (double)(1 + i % 300);
    sum += (long double)exact, size += fabsl((long double)exact);
    wrong += !(fabs(found[i] - exact) <= 4 * wr_type_unit(out.type) * fabs(exact));
  }
  CHECKF(wrong == 0, "%lld wrong elements", (long long)wrong);
  CHECKF(sums[0] == 7 && fabsl((long double)sums[1] - sum) <= (N + 4) * 0x1p-53L * size, "the sum is %g, not %Lg",
         sums[1], sum);
  wr_recast bad[] = {{.out = &out}, {.in = {&in}}, {.in = {&in}, .c = {1}, .out = &out, .over = &out}};
  for (int k = 0; k < 3; k++) CHECK(ops->recast(&g->env, &bad[k]) == WR_EUSAGE);
  ops->release(&g->env, &bank), ops->release(&g->env, &in), ops->release(&g->env, &second),
      ops->release(&g->env, &scale), ops->release(&g->env, &out);
  free(numbers), free(reciprocal), free(found);
}

static void test_recast(ground *g) {
  wr_env narrow;
  CHECK_OK(wr_env_with_type(&g->env, WR_F32, &narrow));
  for (int types = 0; types < 8; types++)
    for (int over = 0; over < 3; over++) check_recast(g, &narrow, types, types % 3 != 0, over);
}

static void test_all(ground *g) {
  if (g->env.type != WR_F64) return;
  test_counts(g);
  test_loops(g);
}

static void test_few(ground *g) {
  if (g->env.type != WR_F64) return;
  test_recast(g);
  test_answers(g);
  test_spread(g);
  test_fallback(g);
  test_limits(g);
  test_negative_sum(g);
  test_interrupted(g);
  test_guess_and_order(g);
}

int main(void) {
  on_default_grounds(test_few);
  on_every_ground(test_all);
  return wr_test_report("mixed");
}
