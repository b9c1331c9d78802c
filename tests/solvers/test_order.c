/* The order of the best nodes: the difference that proves it, what is seen of it, and solves that end when it is proven, with
 * every way to repeat iterations. test_certificate.c compares proven orders with true ones. */
#define _DEFAULT_SOURCE
#include "solvers/order.h"

#include "solvers/top.h"
#include "tests/solvers/graph_cases.h"
#include "tests/solvers/rank_fixture.h"

/* The worst errors that a bound allows, for scores of the sum 1 and for others. */
static void test_gap(void) {
  CASE("the gap");
  CHECK(wr_order_gap(0) == 0);
  CHECK(isinf(wr_order_gap(0.5)) && isinf(wr_order_gap((double)INFINITY)) && isinf(wr_order_gap((double)NAN)));
  for (double bound = 0x1p-50; bound < 0.4; bound *= 2) {
    double gap = wr_order_gap(bound);
    /* exact scores 0.5 and 0.5; computed ones are off by bound / 2 upwards and downwards: their difference proves nothing */
    CHECKF((0.5 + bound / 2) - (0.5 - bound / 2) <= gap, "%g", bound);
    /* the computed sum is 1 - bound, all of the error at the second node, and scores are divided by it */
    CHECKF(0.5 / (1 - bound) - (0.5 - bound) / (1 - bound) <= gap, "%g", bound);
    CHECKF(gap <= bound * (1 + 2 * bound / (1 - bound) + 0x1p-19), "%g for %g", gap, bound);
  }
}

static void test_seen(void) {
  static const double x[] = {3, 9, 1, 7, 7.5, 0};
  int64_t best[6];
  wr_order found;
  wr_top(x, 6, 6, best);
  CASE("what is seen");
  found = wr_order_of(x, best, 6, 2, 1); /* 9 7.5 7 ... */
  CHECKF(found.ranks == 2 && found.proven == 1 && found.least == 0.5, "%lld, %g", (long long)found.proven, found.least);
  found = wr_order_of(x, best, 6, 2, 0.4);
  CHECK(found.proven == 2 && found.least == 0.5);
  found = wr_order_of(x, best, 6, 1, 1.5); /* a difference equal to the gap proves nothing */
  CHECK(found.proven == 0 && found.least == 1.5);
  found = wr_order_of(x, best, 6, 6, 0.4);
  CHECKF(found.proven == 6 && found.least == 0.5, "%lld", (long long)found.proven);
  found = wr_order_of(x, best, 6, 5, 0.4);
  CHECK(found.proven == 5);
  found = wr_order_of(x, best, 6, 100, 1.2);
  CHECK(found.ranks == 6 && found.proven == 1);
  found = wr_order_of(x, best, 6, 0, 0.1);
  CHECK(found.ranks == 0 && found.proven == 0 && isinf(found.least));
  found = wr_order_of(x, best, 1, 3, (double)INFINITY); /* one node alone */
  CHECK(found.ranks == 1 && found.proven == 1);
}

static void test_watch(void) {
  wr_order_watch w;
  double next;
  CASE("reviews");
  CHECK_OK(wr_order_watch_open(&w, 4, 2));
  CHECK(wr_order_first_bound(&w) <= 1.0 / 6);
  w.scores[2] = 0.5, w.scores[0] = 0.25, w.scores[3] = 0.125, w.scores[1] = 0.125;
  CHECK(!wr_order_review(&w, 0.15, 10, 0.4, &next));
  CHECKF(w.found.proven == 1 && fabs(next - 0.9 * 0.125) < 1e-12, "%g", next);
  CHECK(wr_order_spared(&w, 0.1, 0.5) == 0); /* it is not proven */
  CHECK(wr_order_review(&w, 0.1, 14, 0.025, &next));
  CHECKF(w.found.proven == 2 && w.reviews == 2 && fabs(w.rate - 0.5) < 1e-12, "%g", w.rate);
  CHECK(wr_order_spared(&w, 0.025, 0.9) == 0 && wr_order_spared(&w, 0.025 / 17, 0.9) == 5);
  w.scores[3] = 0.25;
  CHECK(!wr_order_review(&w, 0.1, 15, 0.01, &next));
  CHECKF(next == 0.1 / 32, "%g", next);
  w.scores[3] = 0.25 - 0.099;
  CHECK(!wr_order_review(&w, 0.1, 15, 0.01, &next));
  CHECKF(next <= 0.09, "%g", next);
  wr_order_watch_close(&w);
  CHECK_OK(wr_order_watch_open(&w, 3, 1000));
  CHECK(w.ranks == 3);
  w.scores[2] = 0.5, w.scores[0] = 0.3, w.scores[1] = 0.2;
  CHECK(wr_order_spared(&w, 0.1, 0.5) == 0);
  CHECK(wr_order_review(&w, 0.01, 1, 1, &next) && w.found.proven == 3);
  CHECK(wr_order_spared(&w, 0.25, 0.5) == 2); /* the rate is not known: 1, 0.5, 0.25 */
  wr_order_watch_close(&w);
}

/* ---- Solves ---- */

/* A ring: all scores are alike. It is not symmetric under a teleport vector, but then nodes that are equally far are alike. */
static wr_csr *ring(int64_t n) {
  entry *edges = room_for(n, sizeof *edges);
  for (int64_t k = 0; k < n; k++) edges[k] = (entry){k, (k + 1) % n, 1};
  wr_csr *links = pattern_of(n, edges, n);
  free(edges);
  return links;
}

/* Hubs of which the k-th gets links from 20 k nodes; hubs link to each other. */
static wr_csr *hubs(void) {
  enum { HUBS = 12, LEAVES = 20 * HUBS * (HUBS + 1) / 2 };
  entry edges[LEAVES + HUBS];
  int64_t count = 0;
  for (int64_t k = 0; k < HUBS; k++) {
    edges[count++] = (entry){k, (k + 1) % HUBS, 1};
    for (int64_t leaf = 0; leaf < 20 * (k + 1); leaf++, count++) edges[count] = (entry){count, k, 1};
  }
  return pattern_of(LEAVES + HUBS, edges, count);
}

static ranking solved(ground *g, wr_csr *links, int64_t order, int64_t every, int by_host, int no_resident) {
  ranking r = ranking_of(g, links);
  r.options.order = order, r.options.check_every = every;
  r.options.no_graph = by_host, r.options.no_resident = no_resident;
  ranking_run(g, &r);
  return r;
}

/* Ties are never resolved: the tolerance ends the solve as without an order. */
static void test_ties(ground *g) {
  wr_csr *links = ring(40);
  ground_case(g, "a ring with one source");
  double source[40] = {1, 0};
  source[20] = 1; /* so that nodes k and k + 20 are alike */
  ranking plain = ranking_of(g, links), r = plain;
  plain.teleport = r.teleport = source;
  r.options.order = 5;
  ranking_run(g, &plain), ranking_run(g, &r);
  CHECK(r.result.outcome == WR_CONVERGED && r.result.iterations == plain.result.iterations);
  CHECK(r.result.order.asked == 5 && r.result.order.proven == 0 && r.result.order.spared == 0);
  CHECKF(r.result.order.reviews >= 2 && r.result.order.reviews <= 12, "%lld", (long long)r.result.order.reviews);
  CHECK(plain.result.order.asked == 0 && plain.result.order.reviews == 0);
  CHECK(memcmp(r.scores, plain.scores, sizeof source) == 0);
  ranking_free(&plain), ranking_free(&r);
  wr_csr_free(links);
}

/* The same end with each way to repeat iterations, checks at any distance, and a limit before the order is proven. */
static void test_ends(ground *g) {
  wr_csr *links = hubs();
  ranking plain = solved(g, links, 0, 1, 1, 1);
  for (int64_t every = 0; every <= 9; every += every < 3 ? 1 : 3) {
    ground_case(g, "hubs, a check every %lld", (long long)every);
    ranking host = solved(g, links, 10, every, 1, 1), graph = solved(g, links, 10, every, 0, 1);
    ranking kernel = solved(g, links, 10, every, 0, 0);
    const ranking *all[] = {&host, &graph, &kernel};
    for (int k = 0; k < 3; k++) {
      const wr_result *result = &all[k]->result;
      CHECK(result->outcome == WR_CONVERGED && result->order.proven == 10 && result->order.asked == 10);
      if (g->env.type == WR_F64)
        CHECKF(result->iterations < plain.result.iterations && result->measure > plain.options.tolerance,
               "%lld of %lld, %g", (long long)result->iterations, (long long)plain.result.iterations, result->measure);
      CHECK(result->bound < 0.01);
      int64_t spared = result->order.spared, truly = plain.result.iterations - result->iterations;
      CHECKF(spared >= truly / 2 && spared <= 2 * truly + 9, "%lld spared, %lld estimated", (long long)truly,
             (long long)spared);
    }
    CHECK(!host.deterministic || host.result.iterations == graph.result.iterations);
    for (int64_t limit = 1; limit <= 3; limit++) {
      ranking early = ranking_of(g, links);
      early.options.order = 10, early.options.check_every = every, early.options.iterations = limit;
      ranking_run(g, &early);
      CHECKF(early.result.iterations == limit && early.result.outcome == WR_MAX_ITERATIONS, "%lld, %s",
             (long long)early.result.iterations, wr_outcome_title(early.result.outcome));
      ranking_free(&early);
    }
    ranking_free(&host), ranking_free(&graph), ranking_free(&kernel);
  }
  ranking_free(&plain);
  wr_csr_free(links);
}

/* Dampings at which one step is all, and one node. */
static void test_edges(ground *g) {
  wr_csr *links = random_graph(), *one = ring(1);
  ranking r = ranking_of(g, links);
  ground_case(g, "no damping");
  r.options.damping = 0, r.options.order = 3;
  ranking_run(g, &r);
  CHECK(r.result.outcome == WR_CONVERGED && r.result.order.proven == 0 && r.result.order.asked == 3);
  ranking_free(&r);
  ground_case(g, "one node");
  r = solved(g, one, 3, 1, 0, 0);
  CHECK(r.result.outcome == WR_CONVERGED && r.result.order.proven == 1 && r.result.order.asked == 1);
  ranking_free(&r);
  wr_csr_free(links), wr_csr_free(one);
}

static void test_solves(ground *g) {
  test_ties(g);
  test_ends(g);
  test_edges(g);
}

int main(void) {
  test_gap();
  test_seen();
  test_watch();
  on_default_grounds(test_solves);
  return wr_test_report("order");
}
