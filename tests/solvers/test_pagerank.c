/* PageRank on graphs made here, on every backend in both types: each answer is compared with an independent power method
 * in long double and must lie within the bound that it prints. How it ends: test_pagerank_end.c. */
#define _DEFAULT_SOURCE
#include "tests/solvers/graph_cases.h"
#include "tests/solvers/rank_fixture.h"

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
  int held_up = is_held_up(r);
  CHECKF(r->result.outcome == WR_CONVERGED || held_up, "%s", wr_outcome_title(r->result.outcome));
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
      r.reversed = (d ^ variant >> 1) & 1;
      g->testing.poison = !(variant & 1);
      ground_case(g, "%s, damping %g, edges %s, %s%s", graphs[graph].name, dampings[d], r.edges_in ? "in" : "out",
                  r.teleport ? "personalised" : "uniform", r.reversed ? ", reversed" : "");
      test_variant(g, &r, &exact_answers[graph][d][variant]);
    }
  g->testing.poison = 1;
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
  CHECK(far.result.outcome == WR_CONVERGED || is_held_up(&far));
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

static void test_all(ground *g) {
  for (int k = 0; k < GRAPHS; k++) test_graph(g, k);
  test_known_scores(g);
  test_weights_scale(g);
  test_unit_weights(g);
  test_guess(g);
}

int main(void) {
  on_every_ground(test_all);
  for (int k = 0; k < GRAPHS * DAMPINGS * VARIANTS; k++) free((&exact_answers[0][0][0])[k].score);
  return wr_test_report("pagerank");
}
