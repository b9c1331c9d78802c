/* PageRank on graphs made here, on every backend in both types: each answer is compared with an independent power method
 * in long double and must lie within the bound that it prints. */
#define _DEFAULT_SOURCE
#include "tests/solvers/rank_fixture.h"

enum { NODES = 700, BIG = 20000 }; /* nodes: enough for several threads and for rows that chunks cut through */

static wr_csr *pattern_of(int64_t n, entry *edges, int64_t count) { return matrix_of(n, edges, count, 0); }

/* ---- The graphs ---- */

static wr_csr *one_node(void) { return pattern_of(1, NULL, 0); }
static wr_csr *one_node_to_itself(void) { return pattern_of(1, (entry[]){{0, 0, 1}}, 1); }
static wr_csr *no_links(void) { return pattern_of(1000, NULL, 0); }
static wr_csr *pair(void) { return pattern_of(2, (entry[]){{0, 1, 1}, {1, 0, 1}}, 2); }

/* A star whose leaves dangle: nearly all mass goes through the dangling sum. */
static wr_csr *dangling_leaves(void) {
  entry edges[499];
  for (int k = 0; k < 499; k++) edges[k] = (entry){0, k + 1, 1};
  return pattern_of(500, edges, 499);
}

static wr_csr *self_loops(void) {
  entry edges[40];
  for (int k = 0; k < 20; k++) {
    edges[2 * k] = (entry){k, k, 1};
    edges[2 * k + 1] = (entry){k, (k + 7) % 20, 1};
  }
  return pattern_of(20, edges, 40);
}

/* Two cycles of different lengths and a lonely node: nothing links them. */
static wr_csr *disconnected(void) {
  entry edges[12];
  for (int k = 0; k < 5; k++) edges[k] = (entry){k, (k + 1) % 5, 1};
  for (int k = 0; k < 7; k++) edges[5 + k] = (entry){5 + k, 5 + (k + 1) % 7, 1};
  return pattern_of(13, edges, 12);
}

static wr_csr *random_graph(void) { return random_matrix(NODES, 5, 0, 0, 11); }

/* Half of all edges end in node 7, one row of 10000, and half of all nodes dangle. */
static wr_csr *hub_graph(void) {
  uint64_t seed = 5;
  entry *edges = room_for(BIG, sizeof *edges);
  for (int64_t k = 0; k < BIG / 2; k++) {
    edges[2 * k] = (entry){2 * k, 7, 1};
    edges[2 * k + 1] = (entry){2 * k, (int64_t)(random_in(&seed) * BIG), 1};
  }
  wr_csr *links = pattern_of(BIG, edges, BIG);
  free(edges);
  return links;
}

/* Both directions of every edge, and targets that are not all alike. */
static wr_csr *undirected(void) {
  uint64_t seed = 3;
  entry *edges = room_for(2 * NODES, sizeof *edges);
  for (int64_t k = 0; k < NODES; k++) {
    int64_t i = (int64_t)(random_in(&seed) * 500), j = (int64_t)(random_in(&seed) * random_in(&seed) * 500);
    edges[2 * k] = (entry){i, j, 1}, edges[2 * k + 1] = (entry){j, i, 1};
  }
  wr_csr *links = pattern_of(500, edges, 2 * NODES);
  links->symmetric = 1;
  free(edges);
  return links;
}

static wr_csr *weighted_by(double least, double factor) {
  wr_csr *links = random_matrix(400, 6, 0, 1, 21);
  for (int64_t k = 0; k < links->nnz; k++) links->val[k] = least + factor * fabs(links->val[k]);
  return links;
}

static wr_csr *weighted(void) { return weighted_by(0.01, 1); }
static wr_csr *heavy(void) { return weighted_by(0, 1e300); }
static wr_csr *light(void) { return weighted_by(0, 1e-300); }

/* Weights over all of f64's range, some of them 0, and nodes that have no other: these dangle. */
static wr_csr *extreme_weights(void) {
  static const double weights[] = {1e300, 1e-300, 0, 1, 5e-324, 1e-40};
  wr_csr *links = random_matrix(300, 4, 0, 1, 8);
  for (int64_t i = 0; i < 300; i++)
    for (int64_t k = links->row_ptr[i]; k < links->row_ptr[i + 1]; k++)
      links->val[k] = i % 10 == 0 ? 0 : weights[(i + k) % 6];
  return links;
}

typedef struct graph_case {
  const char *name;
  wr_csr *(*make)(void);
} graph_case;

static const graph_case graphs[] = {
    {"one node", one_node},
    {"one node to itself", one_node_to_itself},
    {"no links", no_links},
    {"a pair", pair},
    {"dangling leaves", dangling_leaves},
    {"self loops", self_loops},
    {"disconnected", disconnected},
    {"random", random_graph},
    {"hub", hub_graph},
    {"undirected", undirected},
    {"weighted", weighted},
    {"heavy weights", heavy},
    {"light weights", light},
    {"extreme weights", extreme_weights},
};
enum { GRAPHS = sizeof graphs / sizeof *graphs };

/* A few targets, most nodes none; unnormalised. */
static double *some_targets(int64_t n) {
  double *v = room_for(n, sizeof *v);
  for (int64_t i = 0; i < n; i += 1 + n / 5) v[i] = (double)(i % 7 + 1) * 3;
  v[n - 1] += 1e-3;
  return v;
}

/* ---- The tests ---- */

static const double dampings[] = {0, 0.5, 0.85, 0.99};
enum { DAMPINGS = 4, VARIANTS = 4 };

/* The independent answers take longest, so each is made once for all grounds. */
static exact_ranks exact_answers[GRAPHS][DAMPINGS][VARIANTS];

static void test_variant(ground *g, ranking *r, exact_ranks *known) {
  double d = r->options.damping, unit = wr_type_unit(g->env.type);
  if (d > 0.9) r->options.tolerance = fmax(r->options.tolerance, 1000 * unit * d / (1 - d)); /* else stagnation is allowed */
  run_and_compare(g, r, known);
  CHECKF(r->result.outcome == WR_CONVERGED, "%s", wr_outcome_title(r->result.outcome));
  ranking_free(r);
}

static void test_graph(ground *g, int graph) {
  wr_csr *links = graphs[graph].make();
  double *targets = some_targets(links->nrows);
  int few = links->nrows >= BIG;
  for (int d = few ? 2 : 0; d < (few ? 3 : DAMPINGS); d++)
    for (int variant = 0; variant < VARIANTS; variant++) {
      ranking r = ranking_of(g, links);
      r.options.damping = dampings[d], r.edges_in = variant & 1, r.teleport = variant & 2 ? targets : NULL;
      g->env.poison = !(variant & 1);
      ground_case(g, "%s, damping %g, edges %s, %s", graphs[graph].name, dampings[d], r.edges_in ? "in" : "out",
                  r.teleport ? "personalised" : "uniform");
      test_variant(g, &r, &exact_answers[graph][d][variant]);
    }
  g->env.poison = 1;
  free(targets);
  wr_csr_free(links);
}

/* What is known without computing. */
static void test_known_scores(ground *g) {
  wr_csr *links = no_links();
  ranking r = ranking_of(g, links);
  ground_case(g, "known scores");
  ranking_run(g, &r);
  double each = 1e-3;
  for (int64_t i = 0; i < 1000; i++)
    CHECKF(fabs(r.scores[i] - each) <= 2 * wr_type_unit(g->env.type) * each, "score %g", r.scores[i]);
  CHECKF(r.result.iterations <= 2, "%lld iterations", (long long)r.result.iterations);
  double *targets = some_targets(1000); /* without a guess it begins where the surfer jumps to: that is the answer here */
  r.teleport = targets;
  ranking_run(g, &r);
  CHECKF(r.history.measure[0] <= 8 * wr_type_unit(g->env.type), "the first change is %g", r.history.measure[0]);
  free(targets);
  ranking_free(&r);
  wr_csr_free(links);
  double target = 42;
  links = one_node_to_itself();
  r = ranking_of(g, links), r.teleport = &target;
  ranking_run(g, &r);
  CHECKF(r.scores[0] == 1, "%.17g", r.scores[0]);
  ranking_free(&r);
  wr_csr_free(links);
}

/* Only proportions of weights matter: a power of two changes no bit of the shares. */
static void test_weights_scale(ground *g) {
  wr_csr *links = weighted();
  ranking plain = ranking_of(g, links), scaled = plain;
  ground_case(g, "weights times 2^900");
  ranking_run(g, &plain);
  for (int64_t k = 0; k < links->nnz; k++) links->val[k] = ldexp(links->val[k], 900);
  ranking_run(g, &scaled);
  double allowed = plain.deterministic ? 0 : plain.result.bound + scaled.result.bound;
  CHECKF(ranking_distance(&plain, &scaled) <= allowed, "distance %g", ranking_distance(&plain, &scaled));
  ranking_free(&plain), ranking_free(&scaled);
  wr_csr_free(links);
}

/* A pattern and the same graph with all weights 1 have the same ranks. */
static void test_unit_weights(ground *g) {
  wr_csr *links = random_graph(), *with_values = random_matrix(NODES, 5, 0, 1, 11);
  for (int64_t k = 0; k < with_values->nnz; k++) with_values->val[k] = 3;
  ranking a = ranking_of(g, links), b = ranking_of(g, with_values);
  ground_case(g, "weights that are all the same");
  ranking_run(g, &a), ranking_run(g, &b);
  CHECKF(ranking_distance(&a, &b) <= a.result.bound + b.result.bound, "%g", ranking_distance(&a, &b));
  ranking_free(&a), ranking_free(&b);
  wr_csr_free(links), wr_csr_free(with_values);
}

/* A good guess saves iterations; a bad one costs some, and the bound holds all the same. */
static void test_guess(ground *g) {
  wr_csr *links = random_graph();
  double *corner = room_for(NODES, sizeof *corner);
  corner[17] = 1e200;
  ranking plain = ranking_of(g, links), again = plain, far = plain;
  ground_case(g, "first guess");
  run_and_check(g, &plain);
  again.start = plain.scores;
  run_and_check(g, &again);
  CHECKF(again.result.iterations * 2 < plain.result.iterations, "%lld, then %lld", (long long)plain.result.iterations,
         (long long)again.result.iterations);
  far.start = corner;
  run_and_check(g, &far);
  CHECK(far.result.outcome == WR_CONVERGED);
  double *targets = some_targets(NODES); /* with both, the guess is where it begins */
  again.teleport = plain.teleport = targets, again.start = NULL;
  run_and_check(g, &plain);
  again.start = plain.scores;
  run_and_check(g, &again);
  CHECKF(again.result.iterations * 2 < plain.result.iterations, "%lld, then %lld", (long long)plain.result.iterations,
         (long long)again.result.iterations);
  ranking_free(&plain), ranking_free(&again), ranking_free(&far);
  free(corner), free(targets);
  wr_csr_free(links);
}

/* The first look at which the tolerance is met ends it, whatever the distance of the looks. */
static void test_check_every(ground *g) {
  wr_csr *links = random_graph();
  int64_t needed = 0;
  for (int64_t every = 1; every <= 7; every++) {
    ranking r = ranking_of(g, links);
    r.options.check_every = every;
    ground_case(g, "a look every %lld iterations", (long long)every);
    run_and_check(g, &r);
    if (every == 1) needed = r.result.iterations;
    CHECKF(r.result.iterations == (needed + every - 1) / every * every, "%lld iterations where %lld do",
           (long long)r.result.iterations, (long long)needed);
    ranking_free(&r);
  }
  wr_csr_free(links);
}

static void test_iterations_end(ground *g) {
  wr_csr *links = random_graph();
  for (int64_t every = 1; every <= 3; every += 2) {
    ranking r = ranking_of(g, links);
    r.options.iterations = 5, r.options.check_every = every;
    ground_case(g, "at most 5 iterations, a look every %lld", (long long)every);
    run_and_check(g, &r);
    CHECKF(r.result.outcome == WR_MAX_ITERATIONS && r.result.iterations == 5, "%s after %lld",
           wr_outcome_title(r.result.outcome), (long long)r.result.iterations);
    CHECK(!r.verdict.met_tolerance);
    ranking_free(&r);
  }
  wr_csr_free(links);
}

/* Another program's way to stop: the change itself is compared. */
static void test_stop_on_change(ground *g) {
  wr_csr *links = random_graph();
  ranking r = ranking_of(g, links), by_bound = r;
  ground_case(g, "stop by change");
  r.options.stop_on_change = 1;
  run_and_check(g, &r);
  ranking_run(g, &by_bound);
  CHECKF(r.result.iterations < by_bound.result.iterations, "%lld, by bound %lld", (long long)r.result.iterations,
         (long long)by_bound.result.iterations);
  ranking_free(&r), ranking_free(&by_bound);
  wr_csr_free(links);
}

typedef struct stopper {
  int64_t at;
  volatile sig_atomic_t flag;
  int64_t calls;
  double target;
} stopper;

static void stop_at(void *context, int64_t iteration, double measure, double target) {
  stopper *s = context;
  s->calls++;
  s->target = target;
  CHECKF(measure > 0, "%g", measure);
  if (iteration >= s->at) s->flag = 1;
}

static void test_interrupted(ground *g) {
  wr_csr *links = random_graph();
  ranking r = ranking_of(g, links);
  stopper s = {.at = 4};
  r.monitor = (wr_monitor){.progress = stop_at, .context = &s, .interrupted = &s.flag};
  ground_case(g, "interrupted");
  run_and_check(g, &r);
  CHECKF(r.result.outcome == WR_INTERRUPTED && r.result.iterations == 5, "%s after %lld",
         wr_outcome_title(r.result.outcome), (long long)r.result.iterations);
  CHECKF(s.calls == 5 && s.target == r.options.tolerance, "%lld calls", (long long)s.calls);
  ranking_free(&r);
  wr_csr_free(links);
}

/* A tolerance below rounding cannot be met for long: the run ends by itself, and its bound is honest. */
static void test_stagnation(ground *g) {
  wr_csr *const all[] = {random_graph(), weighted(), undirected(), hub_graph()};
  for (int k = 0; k < 4; k++) {
    exact_ranks exact = {0};
    int64_t first = 0;
    for (int64_t every = 1; every <= 4; every += 3) {
      ranking r = ranking_of(g, all[k]);
      r.options.tolerance = wr_type_unit(g->env.type) / 1000, r.options.check_every = every;
      ground_case(g, "graph %d, a tolerance below rounding, a look every %lld", k, (long long)every);
      run_and_compare(g, &r, &exact);
      CHECKF(r.result.outcome == WR_STAGNATED || r.result.outcome == WR_CONVERGED, "%s after %lld",
             wr_outcome_title(r.result.outcome), (long long)r.result.iterations);
      CHECKF(r.result.change < 1000 * wr_type_unit(g->env.type), "the change is %g", r.result.change);
      if (every == 1) first = r.result.iterations;
      CHECKF(r.result.iterations <= first + 24, "%lld iterations, %lld with a look at each", /* a window or two later */
             (long long)r.result.iterations, (long long)first);
      ranking_free(&r);
    }
    free(exact.score);
    wr_csr_free(all[k]);
  }
}

/* In f32 the answer is as far from our own answer in f64 as the bound says, and that is within the default tolerance. */
static void test_single_precision(ground *g) {
  if (g->env.type != WR_F32) return;
  wr_csr *const all[] = {random_graph(), weighted(), undirected(), hub_graph()};
  ground twin;
  if (!ground_open(&twin, g->backend, WR_F64)) return;
  for (int k = 0; k < 4; k++) {
    ranking single = ranking_of(g, all[k]), fine = ranking_of(&twin, all[k]);
    fine.options.tolerance = 1e-12;
    ground_case(g, "graph %d against f64", k);
    ranking_run(g, &single), ranking_run(&twin, &fine);
    double distance = ranking_distance(&single, &fine);
    CHECKF(distance <= single.result.bound + fine.result.bound, "%g, bound %g", distance, single.result.bound);
    CHECKF(distance <= single.options.tolerance, "%g", distance);
    ranking_free(&single), ranking_free(&fine);
    wr_csr_free(all[k]);
  }
  wr_env_close(&twin.env);
}

/* A second solve of the same opened problem begins anew, and poisoned buffers change nothing. */
static void test_again(ground *g) {
  wr_csr *links = hub_graph();
  wr_graph graph;
  wr_pagerank method;
  double *scores[3];
  wr_result results[3];
  wr_pagerank_options options = ranking_of(g, links).options;
  ground_case(g, "solved again");
  CHECK_OK(wr_graph_build(links, 0, NULL, NULL, &graph));
  wr_plan *plan = ground_plan(g, graph.flow);
  CHECK_OK(wr_pagerank_open(&method, &graph, plan, &g->env));
  for (int k = 0; k < 3; k++) {
    g->env.poison = k == 1;
    scores[k] = room_for(BIG, sizeof **scores);
    CHECK_OK(wr_pagerank_solve(&method, &options, &(wr_monitor){0}, &results[k]));
    CHECK_OK(wr_pagerank_download(&method, scores[k]));
  }
  g->env.poison = 1;
  for (int k = 1; k < 3; k++) {
    CHECKF(results[k].iterations == results[0].iterations, "%lld", (long long)results[k].iterations);
    double distance = 0;
    for (int64_t i = 0; i < BIG; i++) distance += fabs(scores[k][i] - scores[0][i]);
    double allowed = wr_plan_get_info(plan)->deterministic ? 0 : results[0].bound + results[k].bound;
    CHECKF(distance <= allowed, "run %d is off by %g", k, distance);
  }
  for (int k = 0; k < 3; k++) free(scores[k]);
  wr_pagerank_close(&method);
  wr_pagerank_close(&method);
  wr_plan_destroy(plan);
  wr_graph_free(&graph);
  wr_csr_free(links);
}

static void test_normalise(void) {
  wr_pagerank_options options = {.damping = 0.85, .tolerance = 1e-9};
  double good[] = {0.25, 0.25, 0.5 + 1e-10}, bad[] = {0.25, 0.25, 0.5 + 2e-9}, none[] = {0.5, NAN, 0.5};
  ground_case(NULL, "the sum of the scores");
  CHECK_OK(wr_pagerank_normalise(good, 3, &options, 0x1p-53));
  CHECKF(fabs(good[0] + good[1] + good[2] - 1) <= 3 * 0x1p-53, "%.17g", good[0] + good[1] + good[2]);
  CHECK_FAILS(WR_EINTERNAL, wr_pagerank_normalise(bad, 3, &options, 0x1p-53));
  CHECK_MESSAGE("1.000000002");
  CHECK_OK(wr_pagerank_normalise(bad, 3, &options, 0x1p-24)); /* 100 u / (1 - d) is 4e-5 there */
  CHECK_FAILS(WR_EINTERNAL, wr_pagerank_normalise(none, 3, &options, 0x1p-24));
}

static void test_all(ground *g) {
  for (int k = 0; k < GRAPHS; k++) test_graph(g, k);
  test_known_scores(g);
  test_weights_scale(g);
  test_unit_weights(g);
  test_guess(g);
  test_check_every(g);
  test_iterations_end(g);
  test_stop_on_change(g);
  test_interrupted(g);
  test_stagnation(g);
  test_single_precision(g);
  test_again(g);
}

int main(void) {
  on_every_ground(test_all);
  test_normalise();
  for (int k = 0; k < GRAPHS * DAMPINGS * VARIANTS; k++) free((&exact_answers[0][0][0])[k].score);
  return wr_test_report("pagerank");
}
