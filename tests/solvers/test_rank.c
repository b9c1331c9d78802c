/* PageRank by the methods of solvers/rank: every answer lies within the bound that it prints of a dense solve in long double,
 * on random directed graphs with dangling nodes, weights and teleport vectors, up to a damping of 0.9999; which method is
 * chosen and said; how a solve ends early; that the solver of the linear system does not promise too much. */
#define _DEFAULT_SOURCE
#include "data/generate.h"
#include "solvers/rank/linear.h"
#include "solvers/rank/rank.h"
#include "tests/solvers/graph_cases.h"
#include "tests/solvers/rank_fixture.h"

/* ---- A run ---- */

typedef struct method_run {
  ranking r;
  wr_rank_method method;
  int again; /* 1: the same problem was solved with another damping before */
} method_run;

static void solve(ground *g, method_run *m, const wr_graph *graph, wr_plan *plan) {
  wr_ranking rank;
  ranking *r = &m->r;
  int64_t n = graph->n;
  double change, dangling, *step = room_for(n, sizeof *step), *ranks = room_for(n, sizeof *ranks);
  wr_pagerank_options before = r->options;
  CHECK_OK(wr_rank_open(&rank, graph, plan, &g->env));
  before.damping = 0.7;
  if (m->again) CHECK_OK(wr_rank_solve(&rank, m->method, &before, NULL, &r->result));
  CHECK_OK(wr_rank_solve(&rank, m->method, &r->options, &r->monitor, &r->result));
  CHECK_OK(wr_pagerank_download(&rank.iterated, ranks));
  memcpy(r->scores, ranks, (size_t)n * sizeof *ranks);
  CHECK_OK(wr_pagerank_normalise(r->scores, n, &r->options, r->result.rounding));
  CHECK_OK(wr_pagerank_step(&rank.iterated, &r->options, step, &change, &dangling));
  CHECK_OK(wr_verify_pagerank(graph, r->options.damping, r->options.tolerance, r->options.stop_on_change,
                              wr_rounding_of(&g->env, plan), ranks, step, change, dangling, WR_VERIFY_FULL, n,
                              &r->verdict));
  wr_rank_close(&rank);
  free(step), free(ranks);
}

static void run(ground *g, method_run *m) {
  wr_graph graph = {0};
  ranking *r = &m->r;
  int64_t n = r->links->nrows;
  ranking_free(r);
  r->history = (wr_history){0};
  ground_threads(n);
  r->scores = room_for(n, sizeof *r->scores);
  r->monitor.history = &r->history;
  CHECK_OK(wr_graph_build(r->links, r->edges_in, given(r->teleport, n), given(r->start, n), &graph));
  if (graph.flow == NULL) return;
  wr_plan *plan = ground_plan(g, graph.flow);
  if (plan) solve(g, m, &graph, plan);
  wr_plan_destroy(plan);
  wr_graph_free(&graph);
}

/* What must hold of every run, however it ended. */
static void check_run(const ground *g, const method_run *m, const exact_ranks *exact) {
  const ranking *r = &m->r;
  const wr_result *result = &r->result;
  const wr_history *h = &r->history;
  long double distance = 0, sum = 0;
  double least = 1;
  int64_t backwards = 0;
  for (int64_t i = 0; i < exact->n; i++) {
    distance += fabsl((long double)r->scores[i] - exact->score[i]), sum += (long double)r->scores[i];
    if (!(r->scores[i] >= least)) least = r->scores[i];
  }
  CHECKF(distance <= (long double)result->bound + exact->error, "L1 error %.3Lg, bound %.3g (%s after %lld)", distance,
         result->bound, wr_outcome_title(result->outcome), (long long)result->iterations);
  CHECKF(fabsl(sum - 1) <= (long double)(exact->n + 2) * 0x1p-53L, "the scores have the sum %.18Lg", sum);
  CHECKF(least >= 0, "a score is %g", least);
  double judged = r->options.stop_on_change ? result->change : result->bound;
  CHECKF((result->outcome == WR_CONVERGED) == (judged <= r->options.tolerance), "%s with %g of %g",
         wr_outcome_title(result->outcome), judged, r->options.tolerance);
  CHECKF(result->iterations >= 1 && result->iterations <= r->options.iterations, "%lld iterations, at most %lld",
         (long long)result->iterations, (long long)r->options.iterations);
  CHECKF(result->multiplies >= result->iterations, "%lld multiplies, %lld iterations", (long long)result->multiplies,
         (long long)result->iterations);
  CHECKF(r->verdict.multiplied_right, "largest error %g of its bound", r->verdict.worst_row);
  CHECKF(result->outcome != WR_CONVERGED || r->verdict.met_tolerance, "a step changes %g of %g", r->verdict.measure,
         r->verdict.limit);
  for (int64_t k = 1; k < h->count; k++) backwards += h->iteration[k] < h->iteration[k - 1];
  CHECKF(backwards == 0, "%lld entries of the history go back", (long long)backwards);
  CHECKF(h->count > 0 && h->iteration[h->count - 1] == result->iterations, "the history has %lld entries",
         (long long)h->count);
  CHECKF(h->count > 0 && h->measure[h->count - 1] == result->change, "the history ends with another change");
  CHECKF(result->method[0] != '\0', "the result names no method");
  CHECKF(m->method != WR_RANK_AUTO || result->changes[0] || result->choice[0], "%s was chosen without a reason",
         result->method);
  (void)g;
}

/* From `method` on, the next one that is tested here: the automatic choice, IDR, and on the host Gauss-Seidel; -1: none. */
static int next_method(const ground *g, int method) {
  if (method == WR_RANK_POWER || method == WR_RANK_CHEBYSHEV) return WR_RANK_IDR;
  if (method == WR_RANK_GAUSS_SEIDEL && g->env.place != WR_HOST) return -1;
  return method <= WR_RANK_GAUSS_SEIDEL ? method : -1;
}

static method_run run_of(const ground *g, wr_csr *links, double damping, wr_rank_method method) {
  method_run m = {.r = ranking_of(g, links), .method = method};
  double unit = wr_type_unit(g->env.type);
  m.r.options.damping = damping, m.r.options.check_every = 0;
  m.r.options.tolerance = fmax(m.r.options.tolerance, 1000 * unit / (1 - damping)); /* less may stagnate */
  m.r.options.iterations = 400000;
  return m;
}

static void run_and_check_it(ground *g, method_run *m) {
  exact_ranks exact = dense_ranks(&m->r);
  run(g, m);
  check_run(g, m, &exact);
  free(exact.score);
}

/* ---- Random graphs ---- */

/* Nodes that link to `degree` others on average, a third of them to none, and closed cycles of two and three nodes, which make
 * the power method as slow as the damping. weighted: weights over six decades. */
static wr_csr *directed_graph(int64_t n, double degree, int is_weighted, uint64_t seed) {
  int64_t count = (int64_t)((double)n * degree), room = count + n;
  entry *edges = room_for(room, sizeof *edges);
  random_in(&seed);
  for (int64_t k = 0; k < count; k++) {
    int64_t from = (int64_t)(random_in(&seed) * (double)n), to = (int64_t)(random_in(&seed) * (double)n);
    if (from % 3 == 1) from = (from + 1) % n;
    edges[k] = (entry){from, to, is_weighted ? pow(10, 6 * random_in(&seed) - 3) : 1};
  }
  if (n > 12) /* the last five nodes link to each other alone */
    for (int64_t k = 0; k < count; k++)
      if (edges[k].row >= n - 5) edges[k].row -= 6;
  if (n > 12) {
    edges[count++] = (entry){n - 1, n - 2, 1}, edges[count++] = (entry){n - 2, n - 1, 1};
    for (int k = 0; k < 3; k++) edges[count++] = (entry){n - 3 - k, n - 3 - (k + 1) % 3, 1};
  }
  wr_csr *links = matrix_of(n, edges, count, is_weighted);
  free(edges);
  return links;
}

static const double dampings[] = {0, 0.5, 0.85, 0.99, 0.9999};

/* Each graph with one of the dampings, by both methods. */
static void test_random(ground *g) {
  uint64_t seed = 7;
  for (int k = 0; k < (g->env.place == WR_HOST ? 60 : 6); k++) {
    int64_t n = 1 + (int64_t)(random_in(&seed) * 120);
    wr_csr *links = directed_graph(n, 4 * random_in(&seed), k % 3 == 1, 100 + (uint64_t)k);
    double *targets = room_for(n, sizeof *targets);
    for (int64_t i = 0; i < n; i += 3) targets[i] = 1 + random_in(&seed);
    for (int method = 0; (method = next_method(g, method)) >= 0; method++) {
      method_run m = run_of(g, links, dampings[k % 5], (wr_rank_method)method);
      m.r.edges_in = k / 5 % 2, m.r.teleport = k % 4 == 1 ? targets : NULL, m.r.start = k % 7 == 2 ? targets : NULL;
      m.again = k % 2, m.r.options.stop_on_change = k % 6 == 5;
      ground_case(g, "random graph %d of %lld nodes, damping %g, %s", k, (long long)n, dampings[k % 5],
                  wr_rank_method_name((wr_rank_method)method));
      run_and_check_it(g, &m);
      CHECKF(m.r.result.outcome == WR_CONVERGED, "%s: %s", wr_outcome_title(m.r.result.outcome), m.r.result.changes);
      ranking_free(&m.r);
    }
    free(targets);
    wr_csr_free(links);
  }
}

static wr_csr *one_node(void) { return pattern_of(1, NULL, 0); }
static wr_csr *one_node_to_itself(void) { return pattern_of(1, (entry[]){{0, 0, 1}}, 1); }
static wr_csr *no_links(void) { return pattern_of(200, NULL, 0); }

/* Two cycles of different lengths and a lonely node. */
static wr_csr *disconnected(void) {
  entry edges[12];
  for (int k = 0; k < 5; k++) edges[k] = (entry){k, (k + 1) % 5, 1};
  for (int k = 0; k < 7; k++) edges[5 + k] = (entry){5 + k, 5 + (k + 1) % 7, 1};
  return pattern_of(13, edges, 12);
}

/* All but one node dangle. */
static wr_csr *star(void) {
  entry edges[199];
  for (int k = 0; k < 199; k++) edges[k] = (entry){0, k + 1, 1};
  return pattern_of(200, edges, 199);
}

/* Weights that leave every node dangling. */
static wr_csr *zero_weights(void) {
  wr_csr *links = random_matrix(50, 3, 0, 1, 4);
  for (int64_t k = 0; k < links->nnz; k++) links->val[k] = 0;
  return links;
}

static void test_special(ground *g) {
  static const struct {
    const char *name;
    wr_csr *(*make)(void);
  } graphs[] = {{"one node", one_node},         {"one node to itself", one_node_to_itself},
                {"no links", no_links},         {"disconnected", disconnected},
                {"a star", star},               {"weights of 0", zero_weights},
                {"undirected", undirected}};
  for (size_t k = 0; k < sizeof graphs / sizeof *graphs; k++)
    for (int d = g->env.place == WR_HOST ? 0 : 3; d < 5; d++)
      for (int method = 0; (method = next_method(g, method)) >= 0; method++) {
        wr_csr *links = graphs[k].make();
        method_run m = run_of(g, links, dampings[d], (wr_rank_method)method);
        ground_case(g, "%s, damping %g, %s", graphs[k].name, dampings[d], wr_rank_method_name((wr_rank_method)method));
        run_and_check_it(g, &m);
        CHECKF(m.r.result.outcome == WR_CONVERGED, "%s: %s", wr_outcome_title(m.r.result.outcome), m.r.result.changes);
        ranking_free(&m.r);
        wr_csr_free(links);
      }
}

/* ---- The choice ---- */

static wr_csr *slow_graph(void) { return directed_graph(300, 3, 0, 5); }

/* The power method is slow where the last nodes are closed off; it takes a multiple of the multiplies that others do. To the
 * tolerances of f32 it does not take long enough. */
static void test_choice(ground *g) {
  if (g->env.type == WR_F32) return;
  wr_csr *links = slow_graph();
  method_run low = run_of(g, links, 0.85, WR_RANK_AUTO), high = run_of(g, links, 0.999, WR_RANK_AUTO),
             power = run_of(g, links, 0.999, WR_RANK_POWER), idr = run_of(g, links, 0.999, WR_RANK_IDR);
  ground_case(g, "the choice by damping and rate");
  run_and_check_it(g, &low), run_and_check_it(g, &high), run_and_check_it(g, &power), run_and_check_it(g, &idr);
  int on_host = g->env.place == WR_HOST;
  const char *other = on_host ? "gauss-seidel" : "idr", *reason = on_host ? "fast enough" : "below 0.95";
  CHECKF(strcmp(low.r.result.method, "power") == 0 && strstr(low.r.result.choice, reason), "%s: '%s'",
         low.r.result.method, low.r.result.choice);
  CHECKF(strcmp(high.r.result.method, other) == 0 && strstr(high.r.result.changes, "power; from iteration ") &&
             strstr(high.r.result.changes, other) && strstr(high.r.result.changes, ", as the change falls by "),
         "%s: '%s'", high.r.result.method, high.r.result.changes);
  CHECKF(strcmp(power.r.result.method, "power") == 0 && !power.r.result.choice[0] && !power.r.result.changes[0],
         "%s: '%s', '%s'", power.r.result.method, power.r.result.choice, power.r.result.changes);
  CHECKF(strcmp(idr.r.result.method, "idr") == 0 && !idr.r.result.changes[0], "%s: '%s'", idr.r.result.method,
         idr.r.result.changes);
  CHECKF(idr.r.result.iterations * 3 < power.r.result.iterations &&
             high.r.result.iterations * 3 < power.r.result.iterations,
         "%lld of IDR, %lld by choice, %lld of the power method", (long long)idr.r.result.iterations,
         (long long)high.r.result.iterations, (long long)power.r.result.iterations);
  CHECKF(idr.r.result.iteration_bytes > power.r.result.iteration_bytes, "IDR moves %g bytes an iteration, power %g",
         idr.r.result.iteration_bytes, power.r.result.iteration_bytes);
  ranking_free(&low.r), ranking_free(&high.r), ranking_free(&power.r), ranking_free(&idr.r);
  wr_csr_free(links);
  ground_case(g, "the choice for an undirected graph, and for a solve of an order");
  links = undirected();
  method_run both = run_of(g, links, 0.85, WR_RANK_AUTO);
  run_and_check_it(g, &both);
  CHECKF(strcmp(both.r.result.method, "chebyshev") == 0 && strstr(both.r.result.choice, "mirror image"), "%s: '%s'",
         both.r.result.method, both.r.result.choice);
  ranking_free(&both.r);
  wr_csr_free(links);
  links = slow_graph();
  method_run order = run_of(g, links, 0.999, WR_RANK_AUTO);
  order.r.options.order = 3;
  run(g, &order);
  CHECKF(strcmp(order.r.result.method, "power") != 0 && order.r.result.order.proven >= 3, "%s: %lld in order",
         order.r.result.method, (long long)order.r.result.order.proven);
  ranking_free(&order.r);
  order = run_of(g, links, 0.85, WR_RANK_AUTO);
  order.r.options.order = 3;
  run(g, &order);
  CHECKF(strcmp(order.r.result.method, "power") == 0 && strstr(order.r.result.choice, "order is proven"), "%s: '%s'",
         order.r.result.method, order.r.result.choice);
  ranking_free(&order.r);
  wr_csr_free(links);
}

/* ---- Ends ---- */

static void test_limits(ground *g) {
  wr_csr *links = slow_graph();
  int64_t step = g->env.place == WR_HOST ? 1 : 9; /* kernels on the CPU take long */
  for (int64_t most = 1; most <= 64; most += most < 34 ? step : 15)
    for (int method = 0; (method = next_method(g, method)) >= 0; method++) {
      method_run m = run_of(g, links, 0.999, (wr_rank_method)method);
      ground_case(g, "at most %lld multiplies, %s", (long long)most, wr_rank_method_name((wr_rank_method)method));
      m.r.options.iterations = most;
      run_and_check_it(g, &m);
      int is_met = m.r.result.outcome == WR_CONVERGED;
      CHECKF(is_met || m.r.result.outcome == WR_MAX_ITERATIONS, "%s", wr_outcome_title(m.r.result.outcome));
      CHECKF(is_met || m.r.result.iterations == most, "%lld iterations", (long long)m.r.result.iterations);
      ranking_free(&m.r);
    }
  wr_csr_free(links);
}

typedef struct stopper {
  int64_t at;
  volatile sig_atomic_t flag;
  int by_clock, leaves; /* as if the deadline had passed; 0: by the flag */
} stopper;

static void stop_at(void *context, int64_t iteration, double measure, double target) {
  stopper *s = context;
  CHECKF(measure >= 0 && target > 0, "%g, target %g", measure, target);
  if (iteration < s->at) return;
  s->leaves = s->by_clock, s->flag = !s->by_clock;
}

/* Wherever a solve is stopped, its bound is finite and true. */
static void test_stopped(ground *g) {
  wr_csr *links = slow_graph();
  for (int64_t at = 1; at < 60; at += g->env.place == WR_HOST ? 7 : 27)
    for (int by_clock = 0; by_clock < 2; by_clock++)
      for (int method = 0; (method = next_method(g, method)) >= 0; method++) {
        method_run m = run_of(g, links, 0.999, (wr_rank_method)method);
        ground_case(g, "%s at %lld, %s", by_clock ? "time limit" : "interrupted", (long long)at,
                    wr_rank_method_name((wr_rank_method)method));
        stopper s = {.at = at, .by_clock = by_clock};
        m.r.monitor = (wr_monitor){.progress = stop_at, .context = &s, .interrupted = &s.flag, .leaves = &s.leaves};
        m.r.options.no_graph = 1;
        run_and_check_it(g, &m);
        wr_outcome outcome = m.r.result.outcome;
        CHECKF(outcome == WR_CONVERGED || outcome == (by_clock ? WR_TIME_LIMIT : WR_INTERRUPTED), "%s",
               wr_outcome_title(outcome));
        CHECKF(isfinite(m.r.result.bound) && m.r.result.iterations <= at + 40, "bound %g after %lld", m.r.result.bound,
               (long long)m.r.result.iterations);
        if (outcome == WR_TIME_LIMIT) CHECKF(strstr(m.r.result.note, "has passed") != NULL, "'%s'", m.r.result.note);
        ranking_free(&m.r);
      }
  wr_csr_free(links);
}

/* A tolerance below rounding: IDR gives up, the power method goes on, and the result says so. */
static void test_beyond_rounding(ground *g) {
  wr_csr *links = slow_graph();
  for (int method = 0; (method = next_method(g, method)) >= 0; method++) {
    method_run m = run_of(g, links, 0.99, (wr_rank_method)method);
    ground_case(g, "a tolerance below rounding, %s", wr_rank_method_name((wr_rank_method)method));
    m.r.options.tolerance = wr_type_unit(g->env.type) / 1000;
    run_and_check_it(g, &m);
    CHECKF(m.r.result.outcome == WR_STAGNATED, "%s", wr_outcome_title(m.r.result.outcome));
    if (m.r.result.measure > m.r.options.tolerance)
      CHECKF(strcmp(m.r.result.method, "power") == 0 && strstr(m.r.result.changes, " on power, as "), "%s: '%s'",
             m.r.result.method, m.r.result.changes);
    CHECKF(m.r.result.bound < 1e4 * wr_type_unit(g->env.type), "bound %g", m.r.result.bound);
    ranking_free(&m.r);
  }
  wr_csr_free(links);
}

/* At a damping near 1 rounding grows in Chebyshev's recurrence: the power method goes on from there, and meets the tolerance
 * where its own rounding leaves room. */
static void test_undirected_near_1(ground *g) {
  if (g->env.type != WR_F64) return;
  wr_csr *links = undirected();
  method_run forced = run_of(g, links, 1 - 1e-7, WR_RANK_CHEBYSHEV), m = run_of(g, links, 1 - 1e-7, WR_RANK_AUTO);
  ground_case(g, "an undirected graph at a damping near 1");
  forced.r.options.tolerance = m.r.options.tolerance = 3e-8;
  forced.r.options.iterations = m.r.options.iterations = 1000000;
  run_and_check_it(g, &forced);
  run_and_check_it(g, &m);
  CHECKF(forced.r.result.outcome == WR_STAGNATED && forced.r.result.iterations < 500000, "%s after %lld",
         wr_outcome_title(forced.r.result.outcome), (long long)forced.r.result.iterations);
  CHECKF(m.r.result.outcome == WR_CONVERGED && strstr(m.r.result.changes, "as rounding keeps it from the tolerance"),
         "%s, bound %g: '%s'", wr_outcome_title(m.r.result.outcome), m.r.result.bound, m.r.result.changes);
  ranking_free(&forced.r), ranking_free(&m.r);
  wr_csr_free(links);
}

/* Where rounding alone exceeds the tolerance Chebyshev's method is left out: a window of its steps has 2.7 * 10^7. */
static void test_out_of_reach(ground *g) {
  wr_csr *links = undirected();
  method_run m = run_of(g, links, 1 - 1e-13, WR_RANK_AUTO);
  ground_case(g, "an undirected graph and a tolerance out of reach");
  m.r.options.tolerance = 1e-9, m.r.options.iterations = 1000000;
  run_and_check_it(g, &m);
  CHECKF(m.r.result.outcome == WR_STAGNATED, "%s after %lld", wr_outcome_title(m.r.result.outcome),
         (long long)m.r.result.iterations);
  CHECKF(strstr(m.r.result.changes, "chebyshev") == NULL, "'%s'", m.r.result.changes);
  if (g->env.type == WR_F64) CHECKF(m.r.result.bound < 0.1, "bound %g", m.r.result.bound);
  ranking_free(&m.r);
  wr_csr_free(links);
}

static void test_deterministic(ground *g) {
  int64_t n = g->env.place == WR_HOST ? BIG : 300;
  wr_csr *links = n == BIG ? hub_graph() : slow_graph();
  ground_case(g, "the same bits for 1 and 2 threads");
  for (int method = 0; (method = next_method(g, method)) >= 0; method++) {
    method_run m[2];
    for (int k = 0; k < 2; k++) {
      ground own = {.backend = g->backend};
      own.env = (wr_env){.place = g->backend->place, .type = g->env.type, .threads = k + 1, .deterministic = 1};
      CHECK_OK(wr_env_open(&own.env));
      m[k] = run_of(&own, links, 0.99, (wr_rank_method)method);
      run(&own, &m[k]);
      wr_env_close(&own.env);
    }
    CHECKF(m[0].r.result.iterations == m[1].r.result.iterations, "%lld and %lld iterations",
           (long long)m[0].r.result.iterations, (long long)m[1].r.result.iterations);
    CHECK(memcmp(m[0].r.scores, m[1].r.scores, (size_t)n * sizeof(double)) == 0);
    CHECKF(m[0].r.result.outcome == WR_CONVERGED, "%s", wr_outcome_title(m[0].r.result.outcome));
    ranking_free(&m[0].r), ranking_free(&m[1].r);
  }
  wr_csr_free(links);
}

/* AUTO from ranks that the caller has, on a graph for which it takes Chebyshev's method otherwise; and with few iterations. */
static void test_given_start(ground *g) {
  wr_csr *links = pattern_of(3, (entry[]){{0, 1, 1}, {1, 0, 1}, {1, 2, 1}, {2, 1, 1}}, 4);
  wr_graph graph = {0};
  wr_ranking rank = {0};
  wr_vec start = {0};
  ground_case(g, "ranks that are given");
  CHECK_OK(wr_graph_build(links, 0, NULL, NULL, &graph));
  wr_plan *plan = ground_plan(g, graph.flow);
  if (plan) {
    wr_result result = {0};
    wr_pagerank_options o = {.damping = 0.5, .tolerance = 1e-4, .iterations = 100, .start = &start};
    CHECK_OK(wr_rank_open(&rank, &graph, plan, &g->env));
    CHECK_OK(g->env.ops->alloc(&g->env, 3, g->env.type, "ranks", &start));
    CHECK_OK(g->env.ops->fill(&g->env, &start, 1.0 / 3));
    CHECK_OK(wr_rank_solve(&rank, WR_RANK_AUTO, &o, NULL, &result));
    CHECKF(result.outcome == WR_CONVERGED && strcmp(result.method, "power") == 0, "%s", result.method);
    CHECK_FAILS(WR_EUSAGE, wr_rank_solve(&rank, WR_RANK_CHEBYSHEV, &o, NULL, &result));
    o.iterations = 1;
    CHECK_OK(wr_rank_solve(&rank, WR_RANK_AUTO, &o, NULL, &result));
    CHECKF(result.iterations == 1 && strstr(result.choice, "iterations") != NULL, "%s", result.choice);
    o.start = NULL;
    CHECK_OK(wr_rank_solve(&rank, WR_RANK_AUTO, &o, NULL, &result));
    CHECKF(strcmp(result.method, "chebyshev") == 0, "%s", result.method);
    g->env.ops->release(&g->env, &start);
    wr_rank_close(&rank);
  }
  wr_plan_destroy(plan);
  wr_graph_free(&graph);
  wr_csr_free(links);
}

/* ---- The solver of the linear system ---- */

/* The change of a step from the ranks that it gives is no more than it says, with rounding; and its ranks have the sum 1. */
static void test_linear(ground *g) {
  wr_csr *links = slow_graph();
  wr_graph graph;
  wr_pagerank p;
  wr_rank_linear *linear = NULL;
  wr_vec ranks = {0};
  wr_result result;
  double unit = wr_type_unit(g->env.type);
  ground_case(g, "the linear system");
  CHECK_OK(wr_graph_build(links, 0, NULL, NULL, &graph));
  wr_plan *plan = ground_plan(g, graph.flow);
  CHECK_OK(wr_pagerank_open(&p, &graph, plan, &g->env));
  CHECK_OK(wr_rank_linear_open(&graph, plan, &g->env, &linear));
  CHECK_OK(g->env.ops->alloc(&g->env, graph.n, g->env.type, "ranks", &ranks));
  double *values = room_for(graph.n, sizeof *values);
  for (double change = 1e-2; change > 1e-15; change /= 10) {
    wr_rank_linear_found found;
    wr_rank_linear_options options = {.damping = 0.99, .change = change, .multiplies = 2000, .scale = 1, .target = 1};
    wr_pagerank_options step = {.damping = 0.99, .tolerance = 1e-300, .iterations = 1, .start = &ranks};
    CHECK_OK(g->env.ops->fill(&g->env, &ranks, 1 / (double)graph.n));
    CHECK_OK(wr_rank_linear_solve(linear, &options, NULL, &ranks, &found));
    CHECK_OK(wr_pagerank_solve(&p, &step, NULL, &result));
    CHECK_OK(g->env.ops->download(&g->env, &ranks, values));
    double sum = 0, rounding = 64 * unit;
    for (int64_t i = 0; i < graph.n; i++) sum += values[i];
    CHECKF(found.met == (found.change <= change) && found.met == (found.why == NULL), "%d with %g of %g: %s", found.met,
           found.change, change, found.why ? found.why : "");
    CHECKF(found.met || change < rounding, "a change of %g was not met: %s", change, found.why ? found.why : "");
    CHECKF(result.change <= found.change + rounding, "a step changes %g, and %g was said", result.change, found.change);
    CHECKF(fabs(sum - 1) <= rounding, "sum %.17g", sum);
    CHECKF(found.multiplies <= options.multiplies && found.change <= found.first, "%lld multiplies, %g of %g",
           (long long)found.multiplies, found.change, found.first);
  }
  free(values);
  g->env.ops->release(&g->env, &ranks);
  wr_rank_linear_close(linear);
  wr_pagerank_close(&p);
  wr_plan_destroy(plan);
  wr_graph_free(&graph);
  wr_csr_free(links);
}

static void test_linear_arguments(ground *g) {
  const wr_rank_linear_options fine = {.damping = 0.5, .change = 1e-3, .multiplies = 100};
  const struct {
    wr_rank_linear_options options;
    const char *text;
  } wrong[] = {{{.damping = 0, .change = 1, .multiplies = 9}, "options->damping is 0;"},
               {{.damping = 1, .change = 1, .multiplies = 9}, "options->damping is 1;"},
               {{.damping = (double)NAN, .change = 1, .multiplies = 9}, "options->damping is"},
               {{.damping = 0.5, .change = 0, .multiplies = 9}, "options->change is 0;"},
               {{.damping = 0.5, .change = (double)NAN, .multiplies = 9}, "options->change is"},
               {{.damping = 0.5, .change = 1, .multiplies = -1}, "options->multiplies is -1"}};
  wr_csr *links = slow_graph();
  wr_graph graph, none = {0};
  wr_rank_linear *linear = NULL;
  wr_rank_linear_found found;
  wr_vec ranks = {0};
  ground_case(g, "arguments of the linear system");
  CHECK_OK(wr_graph_build(links, 0, NULL, NULL, &graph));
  wr_plan *plan = ground_plan(g, graph.flow);
  CHECK(wr_rank_linear_bytes(NULL, plan, &g->env) == 0 && wr_rank_linear_bytes(&graph, NULL, &g->env) == 0);
  CHECK(wr_rank_linear_bytes(&graph, plan, NULL) == 0);
  CHECK_FAILS(WR_EUSAGE, wr_rank_linear_open(&graph, plan, &g->env, NULL));
  CHECK_FAILS(WR_EUSAGE, wr_rank_linear_open(NULL, plan, &g->env, &linear));
  CHECK_FAILS(WR_EUSAGE, wr_rank_linear_open(&none, plan, &g->env, &linear));
  CHECK_FAILS(WR_EUSAGE, wr_rank_linear_open(&graph, NULL, &g->env, &linear));
  CHECK_FAILS(WR_EUSAGE, wr_rank_linear_open(&graph, plan, NULL, &linear));
  CHECK(linear == NULL);
  wr_rank_linear_close(NULL);
  CHECK_OK(wr_rank_linear_open(&graph, plan, &g->env, &linear));
  CHECK_OK(g->env.ops->alloc(&g->env, graph.n, g->env.type, "ranks", &ranks));
  CHECK_FAILS(WR_EUSAGE, wr_rank_linear_solve(NULL, &fine, NULL, &ranks, &found));
  CHECK_FAILS(WR_EUSAGE, wr_rank_linear_solve(linear, NULL, NULL, &ranks, &found));
  CHECK_FAILS(WR_EUSAGE, wr_rank_linear_solve(linear, &fine, NULL, NULL, &found));
  CHECK_FAILS(WR_EUSAGE, wr_rank_linear_solve(linear, &fine, NULL, &ranks, NULL));
  for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
    CHECK_FAILS(WR_EUSAGE, wr_rank_linear_solve(linear, &wrong[k].options, NULL, &ranks, &found));
    CHECK_MESSAGE(wrong[k].text);
  }
  CHECK_OK(wr_rank_linear_solve(linear, &fine, NULL, &ranks, &found)); /* ranks of 0 */
  CHECK(found.met || isinf(found.change));
  g->env.ops->release(&g->env, &ranks);
  wr_rank_linear_close(linear);
  wr_plan_destroy(plan);
  wr_graph_free(&graph);
  wr_csr_free(links);
}

/* ---- Graphs in another order ---- */

/* The scores by a method of a graph whose flow is renumbered by hubs, or not. */
static wr_result rank_in_order(ground *g, wr_csr *links, const double *targets, int is_ordered, wr_rank_method method,
                               double *scores) {
  wr_graph graph;
  wr_ranking rank;
  wr_result result;
  wr_pagerank_options options = {.damping = 0.95, .iterations = 2000};
  options.tolerance = g->env.type == WR_F32 ? 1e-4 : 1e-9;
  CHECK_OK(wr_graph_begin(links, 0, given(targets, links->nrows), NULL, &graph));
  if (is_ordered) CHECK_OK(wr_graph_order(&graph, 1));
  CHECK((graph.order != NULL) == is_ordered);
  CHECK_OK(wr_graph_finish(&graph, NULL));
  wr_plan *plan = ground_plan(g, graph.flow);
  CHECK_OK(wr_rank_open(&rank, &graph, plan, &g->env));
  CHECK_OK(wr_rank_solve(&rank, method, &options, NULL, &result));
  CHECK_OK(wr_pagerank_download(&rank.iterated, scores));
  CHECKF(result.outcome == WR_CONVERGED, "%s", wr_outcome_title(result.outcome));
  wr_rank_close(&rank);
  wr_plan_destroy(plan);
  wr_graph_free(&graph);
  return result;
}

/* Vectors that one method hands to another have the order of the flow. */
static void test_ordered(ground *g) {
  wr_csr *links = NULL;
  CHECK_OK(wr_generate("gen:hubs:n=60000,hubs=50", 1, &links));
  int64_t n = links->nrows;
  ground_threads(n);
  double *plain = room_for(n, sizeof *plain), *ordered = room_for(n, sizeof *ordered);
  double *targets = room_for(n, sizeof *targets);
  for (int64_t i = 0; i < n; i += 1 + i % 9) targets[i] = (double)(1 + i % 5);
  for (int weighted = 0; weighted < 2; weighted++) {
    if (weighted) CHECK_OK(wr_alloc(&links->val, links->nnz, sizeof *links->val, "weights"));
    for (int64_t k = 0; weighted && k < links->nnz; k++) links->val[k] = (double)(k % 11); /* some nodes dangle */
    if (weighted) links->symmetric = 0;
    for (int method = WR_RANK_AUTO; method <= WR_RANK_IDR; method += WR_RANK_IDR) {
      ground_case(g, "hubs, %s, %s", weighted ? "weighted" : "a pattern", wr_rank_method_name((wr_rank_method)method));
      wr_result a = rank_in_order(g, links, targets, 0, WR_RANK_POWER, plain);
      wr_result b = rank_in_order(g, links, targets, 1, (wr_rank_method)method, ordered);
      double distance = 0;
      for (int64_t i = 0; i < n; i++) distance += fabs(plain[i] - ordered[i]);
      CHECKF(distance <= a.bound + b.bound, "distance %g, bounds %g and %g", distance, a.bound, b.bound);
    }
  }
  free(plain), free(ordered), free(targets);
  wr_csr_free(links);
}

/* ---- Real graphs ---- */

/* polblogs has closed components of few nodes: other methods need a small part of the power method's multiplies. */
static void test_real(ground *g) {
  if (g->env.type == WR_F32) return;
  wr_csr *links = real_matrix("polblogs", 0);
  if (links == NULL) return;
  for (double d = 0.99; d < (g->env.place == WR_HOST ? 0.9995 : 0.995); d += 0.009) {
    method_run power = run_of(g, links, d, WR_RANK_POWER), chosen = run_of(g, links, d, WR_RANK_AUTO);
    ground_case(g, "polblogs, damping %g", d);
    run(g, &power), run(g, &chosen);
    double distance = ranking_distance(&power.r, &chosen.r);
    CHECKF(distance <= power.r.result.bound + chosen.r.result.bound, "%g, bounds %g and %g", distance,
           power.r.result.bound, chosen.r.result.bound);
    CHECKF(chosen.r.result.outcome == WR_CONVERGED && strcmp(chosen.r.result.method, "power") != 0, "%s by %s",
           wr_outcome_title(chosen.r.result.outcome), chosen.r.result.method);
    CHECKF(chosen.r.result.iterations * 5 < power.r.result.iterations, "%lld for %lld",
           (long long)chosen.r.result.iterations, (long long)power.r.result.iterations);
    ranking_free(&power.r), ranking_free(&chosen.r);
  }
  wr_csr_free(links);
}

static void test_all(ground *g) {
  test_random(g);
  test_special(g);
  test_choice(g);
  test_limits(g);
  test_stopped(g);
  test_beyond_rounding(g);
  if (g->env.place == WR_HOST) test_undirected_near_1(g);
  if (g->env.place == WR_HOST) test_out_of_reach(g);
  test_deterministic(g);
  test_given_start(g);
  test_linear(g);
  test_linear_arguments(g);
  if (g->env.place == WR_HOST) test_ordered(g); /* kernels on the CPU take long */
  test_real(g);
}

int main(void) {
  on_default_grounds(test_all);
  return wr_test_report("rank");
}
