/* Certificates for PageRank scores: the bound against the true L1 error on random graphs, planted errors, and scores by other
 * definitions, all computed here in long double. */
#define _DEFAULT_SOURCE
#include "solvers/scores.h"

#include "tests/solvers/graph_cases.h"
#include "tests/solvers/rank_fixture.h"

/* ---- PageRank by any definition, by the power method in long double ---- */

typedef enum lot { JUMPS, SPREAD, KEPT, RESCALED, LOST } lot; /* of the rank of dangling nodes */

typedef struct definition {
  long double damping;
  int reversed, unweighted, uniform;
  lot lot;
} definition;

static void scores_by(const definition *f, const ranking *r, double *scores) {
  ranking now = *r;
  wr_csr links = *r->links;
  int64_t n = links.nrows;
  if (f->unweighted) links.val = NULL;
  if (f->uniform) now.teleport = NULL;
  if (f->reversed) now.edges_in = !r->edges_in;
  now.links = &links;
  long double *out = out_weights(&now), *old = room_for(n, sizeof *old), *next = room_for(n, sizeof *next), jumps = 0;
  for (int64_t i = 0; now.teleport && i < n; i++) jumps += (long double)now.teleport[i];
  for (int64_t i = 0; i < n; i++) old[i] = 1.0L / (long double)n;
  for (int step = 0; step < 3000; step++) {
    long double dangling = 0, sum = 0;
    for (int64_t i = 0; i < n; i++) {
      next[i] = f->lot == KEPT && out[i] == 0 ? old[i] : 0;
      if (out[i] == 0) dangling += old[i];
    }
    for (int64_t i = 0; i < n; i++)
      for (int64_t k = links.row_ptr[i]; k < links.row_ptr[i + 1]; k++) {
        int64_t from = now.edges_in ? links.col[k] : i, to = now.edges_in ? i : links.col[k];
        if (out[from] > 0) next[to] += weight_of(&links, k) / out[from] * old[from];
      }
    for (int64_t i = 0; i < n; i++) {
      long double v = jump_to(&now, jumps, i);
      long double back = f->lot == JUMPS ? dangling * v : f->lot == SPREAD ? dangling / (long double)n : 0;
      next[i] = f->damping * (next[i] + back) + (1 - f->damping) * v;
      sum += next[i];
    }
    for (int64_t i = 0; i < n; i++) old[i] = f->lot == RESCALED ? next[i] / sum : next[i];
  }
  for (int64_t i = 0; i < n; i++) scores[i] = (double)old[i];
  free(out), free(old), free(next);
}

static long double distance_of(const double *scores, const exact_ranks *exact) {
  long double distance = 0;
  for (int64_t i = 0; i < exact->n; i++) distance += fabsl((long double)scores[i] - exact->score[i]);
  return distance;
}

/* ---- The bound ---- */

static wr_score_bound certified(const ranking *r, const double *scores) {
  wr_graph graph = {0};
  wr_score_bound found = {0};
  CHECK_OK(wr_graph_build(r->links, r->edges_in, given(r->teleport, r->links->nrows), NULL, &graph));
  CHECK_OK(wr_scores_certify(&graph, r->options.damping, scores, &found));
  wr_graph_free(&graph);
  return found;
}

/* The bound is no smaller than the true error; nor larger than the residual of such an error can be, ||q|| <= (1 + d) ||e||,
 * with what it says of its own rounding. */
static wr_score_bound check_bound(const ranking *r, const double *scores, const exact_ranks *exact) {
  double d = r->options.damping, sum = 0;
  wr_score_bound found = certified(r, scores);
  long double error = distance_of(scores, exact), most = (1 + (long double)d) / (1 - (long double)d);
  CHECKF((long double)found.bound >= error - exact->error, "bound %.17g, error %.17Lg", found.bound, error);
  CHECKF((long double)found.bound <= 1.0001L * (most * (error + exact->error)) + 3 * found.rounding / (1 - d),
         "bound %.3g, error %.3Lg", found.bound, error);
  for (int64_t i = 0; i < exact->n; i++) sum += fabs(scores[i]);
  double weighted = r->links->val ? 2 * (double)r->links->nrows : 0;
  CHECKF(found.rounding <= (40 + weighted) * 0x1p-53 * (sum + 1), "rounding %g", found.rounding);
  CHECKF(fabs(found.sum - sum) <= (double)exact->n * 0x1p-52 * sum, "sum %.17g", found.sum);
  return found;
}

static wr_csr *some_graph(uint64_t *seed) {
  int64_t n = 1 + (int64_t)(random_in(seed) * 40), degree = (int64_t)(random_in(seed) * 5);
  int weighted = random_in(seed) < 0.4;
  wr_csr *links = random_matrix(n, degree, 0, weighted, (uint64_t)(1e9 * random_in(seed)));
  for (int64_t k = 0; weighted && k < links->nnz; k++) links->val[k] = pow(10, 6 * links->val[k]);
  for (int64_t i = 0; weighted && i < n; i += 3) /* nodes that dangle though they have links */
    for (int64_t k = links->row_ptr[i]; k < links->row_ptr[i + 1]; k++) links->val[k] = 0;
  return links;
}

/* Exact scores, those with errors of 1e-1 to 1e-17 of each, and some that are no scores at all. */
static void test_random(void) {
  static const double dampings[] = {0, 0.3, 0.5, 0.85, 0.9, 0.99};
  uint64_t seed = 2027;
  CASE("random graphs");
  for (int graph = 0; graph < 500; graph++) {
    wr_csr *links = some_graph(&seed);
    int64_t n = links->nrows;
    double *scores = room_for(n, sizeof *scores), *jumps = room_for(n, sizeof *jumps);
    for (int64_t i = 0; i < n; i++) jumps[i] = random_in(&seed) < 0.5 ? 0 : 100 * random_in(&seed);
    jumps[0] += 1;
    ranking r = {.links = links, .edges_in = graph & 1, .teleport = graph & 2 ? jumps : NULL};
    r.options.damping = dampings[graph % 6];
    exact_ranks exact = exact_ranks_of(&r);
    for (int k = -1; k <= 17; k += 2) {
      double size = k < 0 ? 0 : pow(10, -k);
      for (int64_t i = 0; i < n; i++)
        scores[i] = (double)exact.score[i] * (1 + size * (2 * random_in(&seed) - 1)) + (k == 17 ? random_in(&seed) : 0);
      check_bound(&r, scores, &exact);
    }
    free(scores), free(jumps), free(exact.score);
    wr_csr_free(links);
  }
}

/* windrow's own answers: what it says of their error is what the certificate says. */
static void test_own(ground *g) {
  uint64_t seed = 77;
  ground_case(g, "own scores");
  for (int graph = 0; graph < 40; graph++) {
    wr_csr *links = some_graph(&seed);
    ranking r = ranking_of(g, links);
    r.edges_in = graph & 1;
    exact_ranks exact = exact_ranks_of(&r);
    ranking_run(g, &r);
    wr_score_bound found = check_bound(&r, r.scores, &exact);
    double unit = wr_type_unit(g->env.type), room = 2 * (8 * unit + r.sum_unit * r.longest + found.rounding) / 0.15;
    if (r.result.outcome == WR_CONVERGED) CHECKF(found.bound <= r.options.tolerance + room, "bound %g", found.bound);
    ranking_free(&r);
    free(exact.score);
    wr_csr_free(links);
  }
}

/* ---- Planted errors ---- */

static void test_planted(void) {
  wr_csr *links = random_graph();
  ranking r = {.links = links, .options = {.damping = 0.85}};
  exact_ranks exact = exact_ranks_of(&r);
  double *scores = room_for(NODES, sizeof *scores);
  int64_t high = 0, low = 0;
  CASE("planted errors");
  for (int64_t i = 0; i < NODES; i++) {
    scores[i] = (double)exact.score[i];
    if (scores[i] > scores[high]) high = i;
    if (scores[i] < scores[low]) low = i;
  }
  wr_score_bound found = check_bound(&r, scores, &exact);
  CHECKF(found.bound < 1e-13 && fabs(found.sum - 1) < 1e-15, "%g", found.bound);
  for (int64_t i = 0; i < NODES; i += 101) {
    double right = scores[i];
    scores[i] += 1e-6;
    found = check_bound(&r, scores, &exact);
    CHECKF(found.worst == i && fabs(found.worst_residual + 1e-6) < 1e-6 * 0.85, "node %lld by %g",
           (long long)found.worst, found.worst_residual);
    scores[i] = right;
  }
  double swapped = scores[high];
  scores[high] = scores[low], scores[low] = swapped;
  found = check_bound(&r, scores, &exact);
  CHECKF(found.worst == high || found.worst == low, "node %lld", (long long)found.worst);
  for (int64_t i = 0; i < NODES; i++) scores[i] = 1e308;
  found = certified(&r, scores);
  CHECKF(isinf(found.bound) && isinf(found.residual), "%g", found.bound);
  static const double bad[] = {(double)NAN, (double)INFINITY, -1e-300};
  for (int k = 0; k < 3; k++) {
    wr_graph graph;
    scores[400] = -5, scores[17] = bad[k];
    CHECK_OK(wr_graph_build(links, 0, NULL, NULL, &graph));
    CHECK_FAILS(WR_EINPUT, wr_scores_certify(&graph, 0.85, scores, &found));
    CHECK_MESSAGE("score 18 is");
    wr_graph_free(&graph);
  }
  for (int64_t i = 0; i < NODES; i++) scores[i] = 0;
  check_bound(&r, scores, &exact);
  free(scores), free(exact.score);
  wr_csr_free(links);
}

/* A bound is the same on any number of threads; 100000 nodes are several blocks. */
static void test_threads(void) {
  enum { MANY = 100000 };
  wr_csr *links = random_matrix(MANY, 3, 0, 0, 4);
  double *scores = room_for(MANY, sizeof *scores);
  uint64_t seed = 1;
  wr_score_bound one, three;
  wr_score_reading first, second;
  wr_graph graph;
  CASE("threads");
  for (int64_t i = 0; i < MANY; i++) scores[i] = random_in(&seed);
  CHECK_OK(wr_graph_build(links, 0, NULL, NULL, &graph));
  omp_set_num_threads(1);
  CHECK_OK(wr_scores_certify(&graph, 0.85, scores, &one));
  CHECK_OK(wr_scores_explain(&graph, 0.85, scores, &one, &first));
  omp_set_num_threads(3);
  CHECK_OK(wr_scores_certify(&graph, 0.85, scores, &three));
  CHECK_OK(wr_scores_explain(&graph, 0.85, scores, &three, &second));
  CHECK(memcmp(&one, &three, sizeof one) == 0);
  CHECK(first.bound == second.bound && strcmp(first.text, second.text) == 0);
  CHECK(!first.found);
  omp_set_num_threads(2);
  wr_graph_free(&graph);
  free(scores);
  wr_csr_free(links);
}

/* ---- Other definitions ---- */

static wr_score_reading reading_of(const ranking *r, const double *scores, double factor) {
  wr_graph graph = {0};
  wr_score_bound bound = {0};
  wr_score_reading reading = {0};
  int64_t n = r->links->nrows;
  double *scaled = room_for(n, sizeof *scaled);
  for (int64_t i = 0; i < n; i++) scaled[i] = factor * scores[i];
  CHECK_OK(wr_graph_build(r->links, r->edges_in, given(r->teleport, n), NULL, &graph));
  CHECK_OK(wr_scores_certify(&graph, r->options.damping, scaled, &bound));
  CHECK_OK(wr_scores_explain(&graph, r->options.damping, scaled, &bound, &reading));
  wr_graph_free(&graph);
  free(scaled);
  return reading;
}

static const struct {
  definition of;
  double factor;
  const char *text;
} others[] = {
    {{0.5L, 0, 0, 0, JUMPS}, 1, "damping 0.5"},
    {{0.9L, 0, 0, 0, JUMPS}, 1, "damping 0.9"},
    {{0.95L, 0, 0, 0, JUMPS}, 1, "damping 0.95"},
    {{0.99L, 0, 0, 0, JUMPS}, 1, "damping 0.99"},
    {{0.8125L, 0, 0, 0, JUMPS}, 1, "damping 0.8125"},
    {{0.85L, 1, 0, 0, JUMPS}, 1, "edges reversed"},
    {{0.9L, 1, 0, 0, JUMPS}, 1, "damping 0.9; edges reversed"},
    {{0.85L, 0, 1, 0, JUMPS}, 1, "weights ignored"},
    {{0.85L, 0, 0, 1, JUMPS}, 1, "no personalisation"},
    {{0.85L, 0, 0, 0, SPREAD}, 1, "the rank of dangling nodes goes to all nodes alike"},
    {{0.85L, 0, 0, 0, KEPT}, 1, "dangling nodes keep their rank"},
    {{0.85L, 0, 0, 0, RESCALED}, 1, "the rank of dangling nodes is lost, and scores are normalised in each step"},
    {{0.85L, 0, 0, 0, LOST}, 1, "the rank of dangling nodes is lost"},
    {{0.9L, 0, 0, 0, LOST}, 1, "damping 0.9; the rank of dangling nodes is lost"},
    {{0.85L, 0, 0, 0, LOST}, 300, "each node gets 1 - damping by jumps, not its part of that, and the rank of dangling "
                                  "nodes is lost"},
    {{0.85L, 0, 0, 0, JUMPS}, 300, "multiplied by 300"},
    {{0.85L, 1, 1, 1, KEPT}, 2, "edges reversed; weights ignored; no personalisation; dangling nodes keep their rank; "
                                "multiplied by 2"},
};

/* On 300 nodes with weights, a third of which dangle, and a teleport vector. */
static void test_others(void) {
  enum { N = 300 };
  uint64_t seed = 9;
  wr_csr *links = random_matrix(N, 4, 0, 1, 6);
  double jumps[N], scores[N];
  for (int64_t k = 0; k < links->nnz; k++) links->val[k] = 0.1 + fabs(links->val[k]);
  for (int64_t i = 0; i < N; i += 3) /* these lose their links by a weight of 0, so that they dangle if weights count */
    for (int64_t k = links->row_ptr[i]; k < links->row_ptr[i + 1]; k++) links->val[k] = 0;
  for (int i = 0; i < N; i++) jumps[i] = random_in(&seed);
  ranking r = {.links = links, .teleport = jumps, .options = {.damping = 0.85}};
  for (size_t k = 0; k < sizeof others / sizeof *others; k++)
    for (int in = 0; in < 2; in++) {
      r.edges_in = in;
      if (in && strstr(others[k].text, "keep")) continue; /* no node dangles where weights are ignored and edges turn */
      ground_case(NULL, "%s, edges %s", others[k].text, in ? "in" : "out");
      scores_by(&others[k].of, &r, scores);
      wr_score_reading reading = reading_of(&r, scores, others[k].factor);
      CHECKF(reading.found && strcmp(reading.text, others[k].text) == 0, "'%s' (%g)", reading.text, reading.bound);
      CHECKF(reading.damping == (double)others[k].of.damping, "%.17g", reading.damping);
      CHECKF(reading.bound < 1e-10, "%g", reading.bound);
    }
  wr_csr_free(links);
}

/* Scores with few digits, and those of no definition. */
static void test_unclear(void) {
  wr_csr *links = hub_graph();
  double *scores = room_for(BIG, sizeof *scores);
  ranking r = {.links = links, .options = {.damping = 0.85}};
  const definition of = {0.9L, 0, 0, 0, JUMPS};
  CASE("seven digits");
  scores_by(&of, &r, scores);
  for (int64_t i = 0; i < BIG; i++) scores[i] = (double)(float)scores[i];
  wr_score_reading reading = reading_of(&r, scores, 1);
  CHECKF(reading.found && strcmp(reading.text, "damping 0.9") == 0, "'%s'", reading.text);
  CASE("no definition");
  for (int64_t i = 0; i < BIG; i++) scores[i] = 1 + (double)(i * i % 101);
  CHECK(!reading_of(&r, scores, 1e-6).found);
  for (int64_t i = 0; i < BIG; i++) scores[i] = 0;
  CHECK(!reading_of(&r, scores, 1).found);
  free(scores);
  wr_csr_free(links);
}

int main(void) {
  test_random();
  on_default_grounds(test_own);
  test_planted();
  test_threads();
  test_others();
  test_unclear();
  return wr_test_report("scores");
}
