/* PageRank by Chebyshev's method on graphs whose links are symmetric, on every backend of the CPU and two of a GPU in both
 * types. Answers are compared with a dense solve in long double and must lie within the bound that they print; multiplies must
 * be as few as theory says. The bounds of both methods are tried on random graphs. */
#define _DEFAULT_SOURCE
#include "tests/solvers/graph_cases.h"
#include "tests/solvers/rank_fixture.h"

/* ---- The graphs ---- */

enum { MOST = 120 };

/* Each edge in both directions; weights by the edge if `weighted`, of which some may be 0. Every sixth page has no edge. */
static wr_csr *symmetric_graph(int64_t n, int64_t edges, int weighted, int zeros, uint64_t seed) {
  entry *both = room_for(2 * edges + 1, sizeof *both);
  int64_t count = 0;
  for (int64_t k = 0; k < edges; k++) {
    int64_t i = (int64_t)(random_in(&seed) * (double)n), j = (int64_t)(random_in(&seed) * random_in(&seed) * (double)n);
    double weight = weighted ? floor(1 + 100 * random_in(&seed)) : 1; /* whole, so that repeated edges add up alike */
    if (zeros && k % 3 == 0) weight = 0;
    if (n > 6 && (i % 6 == 5 || j % 6 == 5)) continue;
    both[count++] = (entry){i, j, weight};
    if (i != j) both[count++] = (entry){j, i, weight};
  }
  wr_csr *links = matrix_of(n, both, count, weighted);
  free(both);
  return links;
}

static wr_csr *one_node(void) { return pattern_of(1, NULL, 0); }
static wr_csr *one_node_to_itself(void) { return pattern_of(1, (entry[]){{0, 0, 1}}, 1); }
static wr_csr *no_links(void) { return pattern_of(MOST, NULL, 0); }
static wr_csr *pair(void) { return pattern_of(2, (entry[]){{0, 1, 1}, {1, 0, 1}}, 2); }
static wr_csr *sparse(void) { return symmetric_graph(MOST, 90, 0, 0, 1); } /* of many components */
static wr_csr *dense(void) { return symmetric_graph(MOST, 1500, 0, 0, 2); }
static wr_csr *weights(void) { return symmetric_graph(MOST, 300, 1, 0, 3); }
static wr_csr *zero_weights(void) { return symmetric_graph(MOST, 120, 1, 1, 4); }

static wr_csr *star(void) {
  entry edges[2 * MOST];
  for (int k = 1; k < MOST; k++) edges[2 * k - 2] = (entry){0, k, 1}, edges[2 * k - 1] = (entry){k, 0, 1};
  return pattern_of(MOST, edges, 2 * MOST - 2);
}

static wr_csr *path(void) {
  entry edges[2 * MOST];
  for (int k = 1; k < MOST; k++) edges[2 * k - 2] = (entry){k - 1, k, 1}, edges[2 * k - 1] = (entry){k, k - 1, 1};
  return pattern_of(MOST, edges, 2 * MOST - 2);
}

static const struct {
  const char *name;
  wr_csr *(*make)(void);
} graphs[] = {{"one node", one_node}, {"one node to itself", one_node_to_itself}, {"no links", no_links},
              {"a pair", pair}, {"sparse", sparse}, {"dense", dense}, {"weights", weights},
              {"zero weights", zero_weights}, {"star", star}, {"path", path}};
enum { GRAPHS = sizeof graphs / sizeof *graphs };

/* ---- The tests ---- */

/* The error's norm in D^-1/2 falls to 2 rho^k of the first, which is 2 / sqrt(least out-weight) at most, and the residual's sum
 * of sizes is at most 1 + d times the root of all out-weights larger. */
static double most_multiplies(const ranking *r) {
  long double *out = out_weights(r), all = 0, least = 0;
  double d = r->options.damping, rho = d / (1 + sqrt(1 - d * d)), target = 0.5 * r->options.tolerance * (1 - d);
  for (int64_t i = 0; i < r->links->nrows; i++) {
    all += out[i];
    if (out[i] > 0 && (least == 0 || out[i] < least)) least = out[i];
  }
  free(out);
  if (d == 0 || all == 0) return 3;
  return ceil(log(8 * sqrt((double)(all / least)) / target) / -log(rho)) + 3;
}

static double *some_targets(int64_t n, int without_links) {
  double *v = room_for(n, sizeof *v);
  for (int64_t i = without_links && n > 6 ? 5 : 0; i < n; i += 6) v[i] = (double)(i % 7 + 1);
  return v;
}

static exact_ranks exact_answers[GRAPHS][5][3];

static void check_one(ground *g, ranking *r, exact_ranks *known) {
  double unit = wr_type_unit(g->env.type), d = r->options.damping;
  r->options.method = WR_PAGERANK_CHEBYSHEV;
  /* Else stagnation is allowed. What is lost in one step is carried through as many as an error takes to fall. */
  r->options.tolerance = fmax(r->options.tolerance, 1000 * unit / ((1 - d) * sqrt(1 - d * d)));
  if (known->score == NULL) *known = dense_ranks(r);
  ranking_run(g, r);
  check_ranking(g, r, known);
  CHECKF(r->result.outcome == WR_CONVERGED || r->sum_unit > 0, "%s", wr_outcome_title(r->result.outcome));
  if (r->result.outcome == WR_CONVERGED)
    CHECKF((double)r->result.iterations <= most_multiplies(r), "%lld multiplies, %g are enough",
           (long long)r->result.iterations, most_multiplies(r));
}

/* On a device fewer, since these tests run without one, too (tests/simt/README.md). */
static void test_graphs(ground *g) {
  static const double dampings[] = {0, 0.5, 0.85, 0.99, 0.9999};
  int on_device = g->env.place == WR_CUDA;
  for (int graph = 0; graph < GRAPHS; graph++) {
    wr_csr *links = graphs[graph].make();
    double *targets[] = {NULL, some_targets(links->nrows, 0), some_targets(links->nrows, 1)};
    for (int k = 0; k < 5; k++)
      for (int t = 0; t < 3; t++) {
        ranking r = ranking_of(g, links);
        if (on_device && (dampings[k] > 0.9 || (graph + k) % 3 != t)) continue;
        r.options.damping = dampings[k], r.edges_in = (k + t) % 2, r.teleport = targets[t];
        r.options.no_resident = graph % 2;
        g->testing.poison = k % 2;
        ground_case(g, "%s, damping %g, targets %d", graphs[graph].name, dampings[k], t);
        check_one(g, &r, &exact_answers[graph][k][t]);
        ranking_free(&r);
      }
    free(targets[1]), free(targets[2]);
    wr_csr_free(links);
  }
  g->testing.poison = 1;
}

/* With a guess, also one that gives all to pages without links; after few iterations or none, when the sum is 1 all the same,
 * and after which elements may be below 0; and other distances of checks. */
static void test_guesses(ground *g) {
  wr_csr *links = sparse();
  double *lonely = some_targets(MOST, 1), *corner = room_for(MOST, sizeof *corner);
  double *one_page = room_for(MOST, sizeof *one_page);
  exact_ranks exact = {0}, slow = {0};
  corner[0] = 7, corner[5] = 2, one_page[0] = 1;
  for (int k = 0; k < 3; k++) {
    ranking r = ranking_of(g, links);
    ground_case(g, "guess %d", k);
    r.start = k == 0 ? lonely : corner, r.options.check_every = k == 2 ? 7 : 1;
    check_one(g, &r, &exact);
    ranking_free(&r);
  }
  const double *const guesses[] = {NULL, corner, lonely, one_page};
  for (int guess = 0; guess < 4; guess++)
    for (int most = 0; most <= 6; most++) {
      ranking r = ranking_of(g, links);
      ground_case(g, "%d iterations, guess %d", most, guess);
      r.start = guesses[guess];
      if (guess == 3) r.options.damping = 0.999;
      r.options.method = WR_PAGERANK_CHEBYSHEV, r.options.iterations = most, r.options.tolerance = 1e-300;
      if (guess == 3 && slow.score == NULL) slow = dense_ranks(&r);
      ranking_run(g, &r);
      if (most > 0) check_ranking(g, &r, guess == 3 ? &slow : &exact);
      CHECKF(r.result.outcome == WR_MAX_ITERATIONS, "%s", wr_outcome_title(r.result.outcome));
      ranking_free(&r);
    }
  free(lonely), free(corner), free(one_page), free(exact.score), free(slow.score);
  wr_csr_free(links);
}

/* One solver, both methods in turn: a loop that was recorded for one is not used for the other. */
static void test_in_turn(ground *g) {
  wr_csr *links = dense();
  wr_graph graph = {0};
  wr_pagerank method = {0};
  double *ranks[2] = {room_for(MOST, sizeof(double)), room_for(MOST, sizeof(double))};
  ground_case(g, "methods in turn");
  CHECK_OK(wr_graph_build(links, 0, NULL, NULL, &graph));
  wr_plan *plan = ground_plan(g, graph.flow);
  if (plan) {
    double tolerance = ranking_of(g, links).options.tolerance;
    CHECK_OK(wr_pagerank_open(&method, &graph, plan, &g->env));
    for (int k = 0; k < 4; k++) {
      wr_result result;
      wr_pagerank_options o = {.method = k % 2 ? WR_PAGERANK_CHEBYSHEV : WR_PAGERANK_POWER, .damping = 0.85,
                               .tolerance = tolerance, .iterations = 1000};
      double distance = 0;
      CHECK_OK(wr_pagerank_solve(&method, &o, NULL, &result));
      CHECK_OK(wr_pagerank_download(&method, ranks[k % 2]));
      for (int i = 0; i < MOST; i++) distance += fabs(ranks[0][i] - ranks[1][i]);
      CHECKF(k == 0 || distance <= 2 * result.bound + tolerance, "turn %d: they differ by %g", k, distance);
      CHECK(result.outcome == WR_CONVERGED);
      CHECK_OK(wr_pagerank_multiply(&method, 3));
    }
    wr_pagerank_close(&method);
  }
  free(ranks[0]), free(ranks[1]);
  wr_plan_destroy(plan);
  wr_graph_free(&graph);
  wr_csr_free(links);
}

static void test_refused(ground *g) {
  wr_csr *links = random_graph();
  wr_graph graph = {0};
  wr_pagerank method = {0};
  wr_result result;
  wr_pagerank_options o = {.method = WR_PAGERANK_CHEBYSHEV, .damping = 0.85, .tolerance = 1e-3, .iterations = 9};
  ground_case(g, "links in one direction");
  CHECK_OK(wr_graph_build(links, 0, NULL, NULL, &graph));
  CHECK(!graph.symmetric);
  wr_plan *plan = ground_plan(g, graph.flow);
  if (plan) {
    CHECK_OK(wr_pagerank_open(&method, &graph, plan, &g->env));
    CHECK_FAILS(WR_EUSAGE, wr_pagerank_solve(&method, &o, NULL, &result));
    wr_pagerank_close(&method);
  }
  wr_plan_destroy(plan);
  wr_graph_free(&graph);
  wr_csr_free(links);
}

static void test_all(ground *g) {
  test_graphs(g);
  test_guesses(g);
  test_in_turn(g);
  test_refused(g);
}

/* ---- The certificate ---- */

enum { RANDOM_GRAPHS = 500 };

/* Whatever the graph, method, damping, guess, tolerance and limit: the error is at most the bound. */
static void test_certificate(ground *g) {
  uint64_t seed = 77;
  for (int k = 0; k < RANDOM_GRAPHS; k++) {
    int64_t n = 1 + (int64_t)(random_in(&seed) * 40), edges = (int64_t)(random_in(&seed) * 3 * (double)n);
    int is_chebyshev = k % 2;
    wr_csr *links = is_chebyshev || k % 4 == 0 ? symmetric_graph(n, edges, k % 3 == 0, k % 5 == 0, seed)
                                               : random_matrix(n, 2, 0, 0, seed);
    ranking r = ranking_of(g, links);
    double *start = room_for(n, sizeof *start);
    for (int64_t i = 0; i < n; i++) start[i] = random_in(&seed);
    r.options.method = is_chebyshev ? WR_PAGERANK_CHEBYSHEV : WR_PAGERANK_POWER;
    r.options.damping = 1 - pow(10, -4 * random_in(&seed)), r.options.tolerance = pow(10, -13 * random_in(&seed));
    r.options.iterations = 1 + (int64_t)(random_in(&seed) * 400), r.start = k % 7 < 3 ? start : NULL;
    r.options.stop_on_change = k % 11 == 0;
    ground_case(g, "random graph %d: %lld pages, damping %g", k, (long long)n, r.options.damping);
    exact_ranks exact = dense_ranks(&r);
    ranking_run(g, &r);
    check_ranking(g, &r, &exact);
    ranking_free(&r);
    free(exact.score), free(start);
    wr_csr_free(links);
  }
}

static void test_on_device(ground *g) {
  if (g->env.place == WR_CUDA) test_all(g);
}

int main(void) {
  for (int k = 0; k < wr_backend_count(); k++) {
    const wr_backend *backend = wr_backend_at(k);
    if (ground_is_wanted(backend) && backend->place == WR_HOST) on_backend(backend, test_all);
  }
  on_default_grounds(test_on_device);
  if (ground_is_wanted(wr_backend_default(WR_HOST))) on_backend(wr_backend_default(WR_HOST), test_certificate);
  for (int k = 0; k < GRAPHS * 5 * 3; k++) free((&exact_answers[0][0][0])[k].score);
  return wr_test_report("chebyshev");
}
