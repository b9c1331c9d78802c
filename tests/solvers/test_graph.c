/* Graphs made ready for PageRank: the flow matrix, which pages dangle, and what is refused. */
#define _DEFAULT_SOURCE
#include "solvers/graph.h"
#include "tests/solvers/ground.h"

/* The share of page `from` that a link to `to` carries, by definition: from the links as they are given. */
static long double share(const wr_csr *links, int edges_in, int64_t from, int64_t to) {
  long double weight = 0, out = 0;
  for (int64_t i = 0; i < links->nrows; i++)
    for (int64_t k = links->row_ptr[i]; k < links->row_ptr[i + 1]; k++) {
      int64_t source = edges_in ? links->col[k] : i, target = edges_in ? i : links->col[k];
      long double w = links->val ? (long double)links->val[k] : 1;
      if (source != from) continue;
      out += w;
      if (target == to) weight += w;
    }
  return out > 0 ? weight / out : 0;
}

static int is_dangling(const wr_csr *links, int edges_in, int64_t page) {
  for (int64_t to = 0; to < links->nrows; to++)
    if (share(links, edges_in, page, to) > 0) return 0;
  return 1;
}

/* Every entry of flow times scale is the share that it stands for, and the shares of a page add up. */
static void check_flow(const wr_graph *g) {
  int64_t wrong = 0, dangling = 0, carried = 0;
  CHECK_OK(wr_csr_check(g->flow));
  for (int64_t i = 0; i < g->n; i++)
    for (int64_t k = g->flow->row_ptr[i]; k < g->flow->row_ptr[i + 1]; k++) {
      int64_t from = g->flow->col[k];
      long double got = (g->flow->val ? (long double)g->flow->val[k] : 1) * (long double)g->scale[from];
      long double exact = share(g->links, g->edges_in, from, i);
      wrong += !(fabsl(got - exact) <= (long double)(g->links->nnz + 3) * 0x1p-53L * exact + 0x1p-1074L);
      carried += exact > 0;
    }
  for (int64_t j = 0; j < g->n; j++) {
    int dangles = is_dangling(g->links, g->edges_in, j);
    dangling += dangles;
    wrong += dangles != (g->scale[j] == 0) || dangles != (wr_graph_out_weight(g, j) == 0);
  }
  CHECKF(wrong == 0, "%lld entries or pages are wrong", (long long)wrong);
  CHECKF(dangling == g->dangling, "%lld dangling pages, not %lld", (long long)g->dangling, (long long)dangling);
  CHECKF(g->flow->nnz == g->links->nnz && carried <= g->flow->nnz, "%lld entries", (long long)g->flow->nnz);
}

static void build_and_check(wr_csr *links, int edges_in) {
  wr_graph g;
  CHECK_OK(wr_graph_build(links, edges_in, NULL, NULL, &g));
  check_flow(&g);
  CHECK(g.teleport == NULL && g.start == NULL && g.n == links->nrows);
  wr_graph_free(&g);
  wr_graph_free(&g);
}

static void test_flow(void) {
  for (int edges_in = 0; edges_in < 2; edges_in++)
    for (int with_values = 0; with_values < 2; with_values++) {
      wr_csr *links = random_matrix(60, 3, 0, with_values, 5);
      ground_case(NULL, "random, values %d, edges in %d", with_values, edges_in);
      for (int64_t k = 0; links->val && k < links->nnz; k++) links->val[k] = k % 4 ? fabs(links->val[k]) : 0;
      build_and_check(links, edges_in);
      wr_csr_free(links);
      links = matrix_of(3, (entry[]){{0, 1, 1e300}, {0, 2, 1e-300}, {1, 0, 5e-324}, {2, 2, 0}}, 4, 1);
      ground_case(NULL, "weights of all sizes, edges in %d", edges_in);
      build_and_check(links, edges_in);
      wr_csr_free(links);
      links = matrix_of(4, NULL, 0, with_values);
      ground_case(NULL, "no links, edges in %d", edges_in);
      build_and_check(links, edges_in);
      wr_csr_free(links);
    }
}

/* If neither a transpose nor values are needed, flow is the parsed matrix itself and not a copy. */
static void test_borrowed(void) {
  wr_csr *links = matrix_of(3, (entry[]){{0, 1, 1}, {1, 0, 1}, {2, 1, 1}, {1, 2, 1}}, 4, 0);
  wr_graph g;
  ground_case(NULL, "borrowed");
  CHECK_OK(wr_graph_build(links, 1, NULL, NULL, &g));
  CHECK(g.flow == links && !g.owns_flow);
  wr_graph_free(&g);
  links->symmetric = 1;
  CHECK_OK(wr_graph_build(links, 0, NULL, NULL, &g));
  CHECK(g.flow == links && !g.owns_flow);
  check_flow(&g);
  wr_graph_free(&g);
  links->symmetric = 0;
  CHECK_OK(wr_graph_build(links, 0, NULL, NULL, &g));
  CHECK(g.flow != links && g.owns_flow);
  wr_graph_free(&g);
  wr_csr_free(links);
}

/* flow holds weights divided by out-weights; the parsed weights stay unchanged, as verification needs them. */
static void test_links_stay(void) {
  wr_csr *links = matrix_of(2, (entry[]){{0, 1, 3}, {1, 0, 5}, {1, 1, 15}}, 3, 1);
  wr_graph g;
  ground_case(NULL, "links stay");
  for (int symmetric = 0; symmetric < 2; symmetric++) {
    links->symmetric = symmetric; /* a false mark: wr_graph_build trusts it, and so does not transpose */
    CHECK_OK(wr_graph_build(links, !symmetric, NULL, NULL, &g));
    CHECK(links->val[0] == 3 && links->val[1] == 5 && links->val[2] == 15);
    CHECK(g.flow != links && g.owns_flow);
    wr_graph_free(&g);
  }
  wr_csr_free(links);
}

static void test_vectors(void) {
  wr_csr *links = matrix_of(3, NULL, 0, 0);
  wr_graph g;
  ground_case(NULL, "teleport and start are normalised");
  CHECK_OK(wr_graph_build(links, 0, given((const double[]){1e308, 0, 1e308}, 3),
                          given((const double[]){5e-324, 5e-324, 1e-323}, 3), &g));
  CHECK(g.teleport[0] == 0.5 && g.teleport[1] == 0 && g.teleport[2] == 0.5);
  CHECK(g.start[0] == 0.25 && g.start[1] == 0.25 && g.start[2] == 0.5);
  wr_graph_free(&g);
  wr_csr_free(links);
}

/* Against a sum over the links by definition, and the same bits on any number of threads. */
static void test_link_weight(void) {
  static const int threads[] = {1, 2, 5};
  int64_t n = 3000;
  uint64_t seed = 8;
  double *ranks = room_for(n, sizeof *ranks);
  for (int64_t i = 0; i < n; i++) ranks[i] = random_in(&seed) - 0.5;
  for (int variant = 0; variant < 4; variant++) {
    int edges_in = variant & 1;
    wr_csr *links = random_matrix(n, 9, 0, variant >> 1, 5);
    wr_graph g;
    long double exact = 0;
    double first = 0;
    for (int64_t k = 0; links->val && k < links->nnz; k++) links->val[k] = fabs(links->val[k]);
    for (int64_t i = 0; i < n; i++)
      for (int64_t k = links->row_ptr[i]; k < links->row_ptr[i + 1]; k++)
        exact += fabsl((long double)ranks[edges_in ? i : links->col[k]]);
    ground_case(NULL, "weight of links, variant %d", variant);
    CHECK_OK(wr_graph_build(links, edges_in, NULL, NULL, &g));
    for (int t = 0; t < 3; t++) {
      omp_set_num_threads(threads[t]);
      double got = wr_graph_link_weight(&g, ranks);
      if (t == 0) first = got;
      CHECKF(got == first, "%a on %d threads, %a on one", got, threads[t], first);
      CHECKF(fabsl(got - exact) <= (long double)links->nnz * 0x1p-53L * exact, "%g, not %Lg", got, exact);
    }
    ground_threads(n);
    wr_graph_free(&g);
    wr_csr_free(links);
  }
  free(ranks);
}

/* Enough nodes for several threads: the graph does not depend on their number, and of several faults the first is named. */
static void test_threads(void) {
  static const int threads[] = {1, 2, 5};
  const int64_t n = 50000;
  wr_csr *links = random_matrix(n, 2, 0, 1, 7);
  double *teleport = room_for(n, sizeof *teleport);
  wr_graph one = {0}, g;
  uint64_t seed = 9;
  for (int64_t k = 0; k < links->nnz; k++) links->val[k] = fabs(links->val[k]);
  for (int64_t i = 0; i < n; i++) teleport[i] = random_in(&seed);
  for (int t = 0; t < 3; t++) {
    ground_case(NULL, "%d threads", threads[t]);
    omp_set_num_threads(threads[t]);
    CHECK_OK(wr_graph_build(links, 0, given(teleport, n), NULL, &g));
    if (t == 0) one = g;
    size_t bytes = (size_t)n * sizeof *g.scale;
    CHECK(memcmp(g.teleport, one.teleport, bytes) == 0 && memcmp(g.scale, one.scale, bytes) == 0);
    CHECK(memcmp(g.out_weight, one.out_weight, bytes) == 0 && g.dangling == one.dangling);
    if (t > 0) wr_graph_free(&g);
    double *faulty = given(teleport, n);
    faulty[31000] = -1, faulty[12000] = NAN, faulty[49999] = INFINITY;
    CHECK_FAILS(WR_EINPUT, wr_graph_build(links, 0, faulty, NULL, &g));
    CHECK_MESSAGE("element 12001 is");
    double kept[2] = {links->val[60000], links->val[90000]};
    links->val[60000] = -1, links->val[90000] = -2;
    CHECK_FAILS(WR_EINPUT, wr_graph_build(links, 0, NULL, NULL, &g));
    CHECK_MESSAGE("has the weight -1;");
    links->val[60000] = kept[0], links->val[90000] = kept[1];
  }
  ground_threads(60);
  wr_graph_free(&one);
  wr_csr_free(links);
  free(teleport);
}

/* Refused, with a sentence that names the place; nothing is left to be freed. */
static void refuse(wr_csr *links, const double *teleport, const double *start, const char *message) {
  wr_graph g;
  int64_t n = links->nrows;
  CHECK_FAILS(WR_EINPUT, wr_graph_build(links, 0, given(teleport, n), given(start, n), &g));
  CHECK_MESSAGE(message);
  CHECK(g.flow == NULL && g.scale == NULL && g.teleport == NULL && g.start == NULL);
  wr_graph_free(&g);
}

static void test_refusals(void) {
  static const double bad_weights[] = {-1, NAN, INFINITY};
  wr_csr *links = NULL;
  ground_case(NULL, "refusals");
  CHECK_OK(wr_csr_create(2, 3, 0, 0, &links));
  refuse(links, NULL, NULL, "2 x 3");
  wr_csr_free(links);
  for (int k = 0; k < 3; k++) {
    links = matrix_of(3, (entry[]){{0, 1, 1}, {1, 2, 0}}, 2, 1);
    links->val[1] = bad_weights[k];
    refuse(links, NULL, NULL, "(2, 3)");
    refuse(links, (const double[]){1, 0, 0}, (const double[]){0, 1, 0}, "(2, 3)");
    wr_csr_free(links);
  }
  links = matrix_of(3, (entry[]){{0, 1, 1e308}, {0, 2, 1e308}}, 2, 1);
  refuse(links, NULL, NULL, "node 1");
  wr_csr_free(links);
  links = matrix_of(3, NULL, 0, 0);
  const double negative[] = {1, -1, 2}, zero[] = {0, 0, 0}, good[] = {1, 2, 3};
  const double with_nan[] = {1, 2, NAN}, infinite[] = {1, INFINITY, 0};
  refuse(links, negative, NULL, "the teleport vector: element 2 is -1");
  refuse(links, zero, NULL, "sum must be positive");
  refuse(links, with_nan, good, "element 3");
  refuse(links, infinite, good, "element 2 is inf");
  refuse(links, good, negative, "the first guess: element 2 is -1");
  refuse(links, good, zero, "sum must be positive");
  refuse(links, NULL, with_nan, "element 3");
  wr_csr_free(links);
}

int main(void) {
  ground_threads(60);
  test_flow();
  test_borrowed();
  test_links_stay();
  test_vectors();
  test_link_weight();
  test_threads();
  test_refusals();
  return wr_test_report("graph");
}
