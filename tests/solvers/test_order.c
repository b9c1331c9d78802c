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
  static const double score[] = {9, 7.5, 7, 3, 1, 0};
  wr_order found;
  CASE("what is seen");
  found = wr_order_of(score, 6, 2, 1, NULL); /* 9 7.5 7 ... */
  CHECKF(found.ranks == 2 && found.proven == 1 && found.least == 0.5, "%lld, %g", (long long)found.proven, found.least);
  found = wr_order_of(score, 6, 2, 0.4, NULL);
  CHECK(found.proven == 2 && found.least == 0.5);
  found = wr_order_of(score, 6, 1, 1.5, NULL); /* a difference equal to the gap proves nothing */
  CHECK(found.proven == 0 && found.least == 1.5);
  found = wr_order_of(score, 6, 6, 0.4, NULL);
  CHECKF(found.proven == 6 && found.least == 0.5, "%lld", (long long)found.proven);
  found = wr_order_of(score, 6, 5, 0.4, NULL);
  CHECK(found.proven == 5);
  found = wr_order_of(score, 6, 100, 1.2, NULL);
  CHECK(found.ranks == 6 && found.proven == 1);
  found = wr_order_of(score, 6, 0, 0.1, NULL);
  CHECK(found.ranks == 0 && found.proven == 0 && isinf(found.least));
  found = wr_order_of(score, 1, 3, (double)INFINITY, NULL); /* one node alone */
  CHECK(found.ranks == 1 && found.proven == 1);
}

/* A pair that is tied is settled, whatever its scores, and proven if what comes behind is apart. */
static void test_tied(void) {
  static const double score[] = {4, 4, 3, 2.9, 1};
  CASE("what is tied");
  wr_order found = wr_order_of(score, 5, 3, 0.5, (const unsigned char[]){1, 0, 1});
  CHECK(found.proven == 2 && found.settled == 3 && found.ties == 2 && found.least == 1);
  found = wr_order_of(score, 5, 3, 0.5, (const unsigned char[]){1, 0, 0});
  CHECK(found.proven == 2 && found.ties == 1 && fabs(found.least - 0.1) < 1e-12);
  found = wr_order_of(score, 5, 3, 1.5, (const unsigned char[]){1, 0, 0}); /* the third one may exceed both */
  CHECK(found.proven == 0 && found.settled == 1 && found.ties == 1);
  found = wr_order_of(score, 5, 5, 0.05, (const unsigned char[]){1, 0, 0, 0, 0});
  CHECK(found.proven == 5 && found.ties == 1);
}

/* Gaps of twice the asked one for the first `ranks`, and then half of it once. No nodes are alike, as jumps differ. */
static void test_prove(int64_t n, int64_t ranks) {
  double *x = room_for(n, sizeof *x), *jumps = room_for(n, sizeof *jumps), at = 8e6;
  int64_t found = -1, ties = -1;
  wr_graph graph = {0};
  wr_csr *links = pattern_of(n, NULL, 0);
  ground_case(NULL, "%lld of %lld apart", (long long)ranks, (long long)n);
  for (int64_t k = 0; k < n; k++) {
    x[k * 7919 % n] = at;
    at -= k == ranks ? 1 : 4; /* behind the element of rank `ranks`, counted from 0 */
  }
  for (int64_t k = 0; k < n; k++) jumps[k] = (double)(k + 1);
  CHECK_OK(wr_graph_build(links, 0, given(jumps, n), NULL, &graph));
  CHECK_OK(wr_order_prove(&graph, x, 2, &found, &ties));
  CHECKF(found == ranks && ties == 0, "%lld", (long long)found);
  CHECK_OK(wr_order_prove(&graph, x, (double)INFINITY, &found, &ties));
  CHECKF(found == (n == 1), "%lld", (long long)found);
  wr_graph_free(&graph);
  CHECK_OK(wr_graph_build(links, 0, NULL, NULL, &graph)); /* now all are */
  CHECK_OK(wr_order_prove(&graph, x, 2, &found, &ties));
  CHECKF(found == n && ties == (ranks < n - 1), "%lld, %lld ties", (long long)found, (long long)ties);
  wr_graph_free(&graph);
  wr_csr_free(links);
  free(x), free(jumps);
}

/* Nodes 0 to 3 link to each other in a way in which no two are alike. */
static wr_graph four_nodes(wr_csr **links) {
  entry edges[] = {{0, 1, 1}, {0, 3, 1}, {1, 2, 1}, {2, 3, 1}, {2, 0, 1}, {3, 1, 1}};
  wr_graph graph = {0};
  *links = pattern_of(4, edges, 6);
  CHECK_OK(wr_graph_build(*links, 0, NULL, NULL, &graph));
  return graph;
}

/* A review of these scores at the place of env. Some of the scales are 0, and x is what an iteration stores. */
typedef struct reviewed {
  wr_env env;
  wr_vec x, scale;
  double score[4];
} reviewed;

static int proves(wr_order_watch *w, reviewed *r, double bound, double steps, double change, double *next) {
  double x[4];
  for (int i = 0; i < 4; i++) {
    x[i] = w->best.graph->scale[i] != 0 ? r->score[i] * w->best.graph->scale[i] : r->score[i];
    CHECK(wr_graph_rank(w->best.graph, i, x[i]) == r->score[i]); /* out-degrees are 1 and 2 */
  }
  CHECK_OK(r->env.ops->upload(&r->env, &r->x, x));
  CHECK_OK(wr_order_review(w, &r->x, &r->scale, bound, steps, change, 0, next));
  CHECK((*next == 0) == (w->found.proven == w->ranks));
  return *next == 0;
}

static void set(reviewed *r, double a, double b, double c, double d) {
  r->score[0] = a, r->score[1] = b, r->score[2] = c, r->score[3] = d;
}

static void test_watch(ground *g) {
  wr_order_watch w;
  wr_csr *links;
  double next;
  reviewed r = {.env = g->env};
  ground_case(g, "reviews");
  wr_graph graph = four_nodes(&links);
  CHECK_OK(r.env.ops->alloc(&r.env, 4, r.env.type, "a test", &r.x));
  CHECK_OK(r.env.ops->compact(&r.env, 4, graph.scale, "a test", &r.scale));
  CHECK_OK(wr_order_watch_open(&w, &graph, &r.env, 2));
  CHECK(wr_order_first_bound(&w) <= 1.0 / 6);
  set(&r, 0.25, 0.125, 0.5, 0.125);
  CHECK(!proves(&w, &r, 0.15, 10, 0.4, &next));
  CHECKF(w.found.proven == 1 && fabs(next - 0.9 * 0.125) < 1e-12, "%g", next);
  CHECK(wr_order_spared(&w, 0.1, 0.5) == 0); /* it is not proven */
  CHECK(proves(&w, &r, 0.1, 14, 0.025, &next));
  CHECKF(w.found.proven == 2 && w.reviews == 2 && fabs(w.rate - 0.5) < 1e-12, "%g", w.rate);
  CHECK(wr_order_spared(&w, 0.025, 0.9) == 0 && wr_order_spared(&w, 0.025 / 17, 0.9) == 5);
  CHECK(proves(&w, &r, 0.1, 14, 0.025, &next) && w.reviews == 2 && fabs(w.rate - 0.5) < 1e-12); /* once more the same */
  r.score[3] = 0.25;
  CHECK(!proves(&w, &r, 0.1, 15, 0.01, &next));
  CHECKF(next == 0.1 / 32, "%g", next);
  set(&r, 0.5 - 0x1p-20, 0, 0.5, 0.5 - 0x1.4p-19); /* together they are 2^-18.4 apart: 1/1024 is enough */
  CHECK(!proves(&w, &r, 0.1, 15, 0.01, &next));
  CHECKF(next == 0.1 / 1024, "%g", next);
  set(&r, 0.5 - 0x1p-11, 0, 0.5, 0.5 - 0x1.4p-10);
  CHECK(!proves(&w, &r, 0.1, 15, 0.01, &next));
  CHECKF(fabs(next - 0x1.4p-10) < 1e-12, "%g", next); /* twice the mean */
  set(&r, 0.25, 0.125, 0.5, 0.25 - 0.09375);
  CHECK(!proves(&w, &r, 0.1, 15, 0.01, &next));
  CHECKF(next <= 0.09, "%g", next);
  wr_order_watch_close(&w);
  CHECK_OK(wr_order_watch_open(&w, &graph, &r.env, 1000));
  CHECK(w.ranks == 4);
  set(&r, 0.25, 0.125, 0.5, 0.0625);
  CHECK(wr_order_spared(&w, 0.1, 0.5) == 0);
  CHECK(proves(&w, &r, 0.01, 1, 1, &next) && w.found.proven == 4 && w.crowded == 0);
  CHECK(wr_order_spared(&w, 0.25, 0.5) == 2); /* the rate is not known: 1, 0.5, 0.25 */
  wr_order_watch_close(&w);
  r.env.ops->release(&r.env, &r.x), r.env.ops->release(&r.env, &r.scale);
  wr_graph_free(&graph);
  wr_csr_free(links);
}

/* ---- Ties ---- */

static double weight_at(const wr_csr *m, int64_t i, int64_t j) {
  for (int64_t k = m->row_ptr[i]; k < m->row_ptr[i + 1]; k++)
    if (m->col[k] == j) return m->val ? m->val[k] : 1;
  return -1; /* no entry */
}

/* Against all entries of both columns, or rows, one by one. 120000 entries are for several threads. */
static void test_find_ties(int64_t n, int64_t degree, int edges_in, int weighted, int jumps) {
  uint64_t seed = 40 + (uint64_t)degree;
  int64_t count = 0, found = 0, wrong = 0, *nodes = room_for(n, sizeof *nodes);
  unsigned char *tied = room_for(n, 1);
  double *teleport = room_for(n, sizeof *teleport);
  entry *edges = room_for(n * degree, sizeof *edges);
  wr_graph graph = {0};
  ground_case(NULL, "ties of %lld nodes, edges %s%s%s", (long long)n, edges_in ? "in" : "out",
              weighted ? ", weights" : "", jumps ? ", jumps" : "");
  for (int64_t i = 0; i < n; i++) /* nodes with equal i / 4 are alike, but for some entries, weights and jumps */
    for (int64_t k = 0; k < degree; k++) {
      int64_t group = (i * 7 + k * k * 13) % (n / 4);
      for (int64_t j = 4 * group; j < 4 * group + 4 && count < n * degree; j++) {
        if (random_in(&seed) < 0.01) continue;
        edges[count] = edges_in ? (entry){j, i, 1} : (entry){i, j, 1};
        edges[count++].value = random_in(&seed) < 0.01 ? 2 : 3;
      }
    }
  for (int64_t i = 0; i < n; i++) teleport[i] = 1 + (double)(i % 17 == 0), nodes[i] = i;
  wr_csr *links = matrix_of(n, edges, count, weighted);
  CHECK_OK(wr_graph_build(links, edges_in, jumps ? given(teleport, n) : NULL, NULL, &graph));
  memset(tied, 1, (size_t)n);
  tied[1] = 0;
  CHECK_OK(wr_order_find_ties(&graph, nodes, n - 1, tied));
  for (int64_t i = 0; i + 1 < n; i++) {
    int same = i != 1 && (!jumps || teleport[i] == teleport[i + 1]);
    for (int64_t j = 0; same && j < n; j++)
      same = edges_in ? weight_at(links, i, j) == weight_at(links, i + 1, j)
                      : weight_at(links, j, i) == weight_at(links, j, i + 1);
    found += same, wrong += same != tied[i];
  }
  CHECKF(wrong == 0 && found > n / 20 && found < 3 * n / 4, "%lld wrong, %lld tied", (long long)wrong,
         (long long)found);
  wr_graph_free(&graph);
  wr_csr_free(links);
  free(nodes), free(tied), free(teleport), free(edges);
}

/* A review of all these scores finds what wr_order_find has found of them. */
static void review_behind(const wr_graph *graph, const double *score, int64_t ranks, wr_order all) {
  wr_env env = {.place = WR_HOST, .type = WR_F64, .threads = 1};
  wr_order_watch w;
  wr_vec x, scale;
  double stored[6], next;
  CHECK_OK(wr_env_open(&env));
  for (int i = 0; i < 6; i++) stored[i] = graph->scale[i] != 0 ? score[i] * graph->scale[i] : score[i];
  CHECK_OK(env.ops->alloc(&env, 6, WR_F64, "a test", &x));
  CHECK_OK(env.ops->upload(&env, &x, stored));
  CHECK_OK(env.ops->compact(&env, 6, graph->scale, "a test", &scale));
  CHECK_OK(wr_order_watch_open(&w, graph, &env, ranks));
  CHECK_OK(wr_order_review(&w, &x, &scale, 0.0099, 1, 1, 1, &next)); /* a gap of 0.0101 */
  CHECKF(w.found.proven == all.proven && w.found.settled == all.settled && w.found.ties == all.ties,
         "%lld proven, not %lld", (long long)w.found.proven, (long long)all.proven);
  CHECKF(fabs(w.found.least - all.least) < 1e-12 || w.found.least == all.least, "%g, not %g", w.found.least, all.least);
  wr_order_watch_close(&w);
  env.ops->release(&env, &x), env.ops->release(&env, &scale);
  wr_env_close(&env);
}

/* Nodes 0, 1 and 3 get links from the same nodes, 2 from one more. Where a rank is tied with the next one, what is proven
 * depends on the nodes behind both. */
static void test_behind(void) {
  entry edges[] = {{5, 0, 1}, {5, 1, 1}, {5, 2, 1}, {5, 3, 1}, {4, 2, 1}};
  wr_graph graph = {0};
  wr_csr *links = pattern_of(6, edges, 5);
  CHECK_OK(wr_graph_build(links, 0, NULL, NULL, &graph));
  for (int with_fourth = 0; with_fourth < 2; with_fourth++)
    for (int away = 0; away < 3; away++) {
      unsigned char tied[6] = {0};
      int64_t best[6];
      wr_order found;
      double distance = away == 0 ? 1e-8 : away == 1 ? 1e-3 : 0.02, gap = 0.01;
      double x[] = {0.3, 0.3 - 1e-9, 0.3 - distance, with_fourth ? 0.3 - 2e-9 : 0.1, 1e-3, 1e-3};
      ground_case(NULL, "two or three ties and a node behind them by %g", distance);
      wr_top(x, 6, 6, best);
      for (int64_t ranks = 1; ranks <= 2; ranks++) {
        int is_pair = ranks == 1 || with_fourth; /* else the second node is the last that is tied */
        CHECK_OK(wr_order_find(&graph, x, best, ranks, gap, tied, &found));
        CHECK(best[0] == 0 && tied[0] && found.settled == (is_pair || away == 2 ? ranks : 1));
        CHECKF(found.proven == (away == 2 ? ranks : 0), "%lld of %lld", (long long)found.proven, (long long)ranks);
        if (away < 2) CHECKF(fabs(found.least - distance) < 1e-8, "%g", found.least);
        review_behind(&graph, x, ranks, found);
      }
    }
  wr_graph_free(&graph);
  wr_csr_free(links);
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

/* Ties of nodes with other in-links are never resolved: the tolerance ends the solve as without an order. */
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
  for (int64_t every = 0; every <= 9; every = every < 1 ? 1 : 3 * every) {
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
    for (int64_t limit = 1; limit <= 3 && every < 3; limit++) {
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
/* Twelve hubs of which two each get links from the same leaves: their order is proven with ties. */
static void test_twins(ground *g) {
  enum { PAIRS = 6, LEAVES = 20 * PAIRS * (PAIRS + 1) / 2, ALL = LEAVES + 2 * PAIRS };
  entry edges[2 * LEAVES];
  int64_t leaf = 2 * PAIRS, count = 0;
  for (int64_t k = 0; k < PAIRS; k++)
    for (int64_t i = 0; i < 20 * (k + 1); i++, leaf++)
      edges[count++] = (entry){leaf, 2 * k, 1}, edges[count++] = (entry){leaf, 2 * k + 1, 1};
  wr_csr *links = pattern_of(ALL, edges, count);
  ground_case(g, "pairs of hubs");
  ranking plain = solved(g, links, 0, 1, 0, 0);
  for (int64_t ranks = 1; ranks <= 12; ranks++) {
    ranking r = solved(g, links, ranks, 1, 0, 0);
    CHECKF(r.result.order.proven == ranks && r.result.outcome == WR_CONVERGED, "%lld of %lld",
           (long long)r.result.order.proven, (long long)ranks);
    CHECK(r.result.iterations <= plain.result.iterations && r.result.bound < 0.01);
    ranking_free(&r);
  }
  ranking_free(&plain);
  wr_csr_free(links);
}

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

/* Five nodes with more and more links, and too many without any: where ranks of those are asked for, no review finds the best,
 * and the end proves them, as all are tied. */
static void test_crowd(ground *g) {
  enum { HUBS = 5, ALL = 200000, LEAVES = 20 * HUBS * (HUBS + 1) / 2 };
  entry edges[LEAVES];
  int64_t count = 0;
  if (g->env.place == WR_CUDA) return; /* kernels on the CPU take long */
  for (int64_t k = 0; k < HUBS; k++)
    for (int64_t leaf = 0; leaf < 20 * (k + 1); leaf++, count++) edges[count] = (entry){1000 + count, k, 1};
  wr_csr *links = pattern_of(ALL, edges, count);
  for (int64_t order = 4; order <= 6; order++) {
    ground_case(g, "the best %lld of a crowd", (long long)order);
    ranking r = solved(g, links, order, 1, 0, 0);
    CHECK(r.result.outcome == WR_CONVERGED && r.result.order.asked == order);
    CHECKF((r.result.order.crowded > 0) == (order > 4) && r.result.order.crowded <= r.result.order.reviews,
           "%lld of %lld", (long long)r.result.order.crowded, (long long)r.result.order.reviews);
    CHECKF(g->env.type == WR_F32 || r.result.order.proven == order, "%lld", (long long)r.result.order.proven);
    ranking_free(&r);
  }
  wr_csr_free(links);
}

static void test_solves(ground *g) {
  test_watch(g);
  test_ties(g);
  test_twins(g);
  test_ends(g);
  test_edges(g);
  test_crowd(g);
}

int main(void) {
  test_gap();
  test_seen();
  test_tied();
  test_prove(1, 1);
  test_prove(2, 0);
  test_prove(2, 2);
  for (int64_t ranks = 1021; ranks < 1027; ranks++) test_prove(5000, ranks);
  test_prove(5000, 0);
  test_prove(5000, 5000);
  test_prove(1024, 1024);
  test_prove(1025, 1023);
  test_prove(100000, 32769);
  test_behind();
  for (int k = 0; k < 8; k++) test_find_ties(400, 7, k & 1, k >> 1 & 1, k >> 2);
  test_find_ties(2000, 60, 0, 0, 0);
  test_find_ties(2000, 60, 1, 1, 0);
  on_default_grounds(test_solves);
  return wr_test_report("order");
}
