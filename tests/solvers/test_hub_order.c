/* The order of a graph's nodes by hubs: where it is chosen, what it is, and graphs whose flow is renumbered by it. */
#define _DEFAULT_SOURCE
#include <string.h>

#include "data/generate.h"
#include "solvers/graph.h"
#include "solvers/hub_order.h"
#include "spmv/matrix/renumber.h"
#include "tests/solvers/ground.h"

static wr_csr *generated(const char *name) {
  wr_csr *A = NULL;
  CHECK_OK(wr_generate(name, 1, &A));
  return A;
}

static int is_permutation(const int32_t *order, int64_t n) {
  char *seen = calloc((size_t)n, 1);
  int64_t count = 0;
  for (int64_t k = 0; k < n; k++)
    if (order[k] >= 0 && order[k] < n && !seen[order[k]]) seen[order[k]] = 1, count++;
  free(seen);
  return count == n;
}

/* Sectors of 32 bytes, 4 elements of f64, that the rows of a matrix gather if a row reads each of its sectors once. */
static int64_t sectors(const wr_csr *A) {
  int64_t count = 0;
  for (int64_t i = 0; i < A->nrows; i++)
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++)
      count += k == A->row_ptr[i] || A->col[k] / 4 != A->col[k - 1] / 4;
  return count;
}

static int32_t *places_of(const int32_t *order, int64_t n) {
  int32_t *place = malloc((size_t)n * sizeof *place);
  for (int64_t k = 0; k < n; k++) place[order[k]] = (int32_t)k;
  return place;
}

/* B is A with entry (i, j) at (place[i], place[j]). */
static void check_renumbered(const wr_csr *A, const int32_t *place, const wr_csr *B) {
  int64_t wrong = 0;
  CHECK_OK(wr_csr_check(B));
  CHECK(B->nrows == A->nrows && B->nnz == A->nnz && B->symmetric == A->symmetric && !B->val == !A->val);
  for (int64_t i = 0; i < A->nrows; i++)
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
      int64_t at = wr_csr_find(B, place[i], place[A->col[k]]);
      wrong += at < 0 || (A->val && B->val[at] != A->val[k]);
    }
  CHECKF(wrong == 0, "%lld of %lld entries", (long long)wrong, (long long)A->nnz);
}

static void test_chosen(void) {
  static const struct {
    const char *name;
    int chosen;
  } graphs[] = {{"gen:hubs:n=60000,hubs=50", 1},   {"gen:hubs:n=60000,hubs=50,seed=5", 1},
                {"gen:hubs:n=200000,hubs=300", 1}, {"gen:web:n=60000", 0},
                {"gen:road:side=300", 0},          {"gen:rmat:scale=14", 0},
                {"gen:uniform:n=60000", 0},        {"gen:stencil:n=40", 0}};
  for (size_t g = 0; g < sizeof graphs / sizeof graphs[0]; g++) {
    CASE(graphs[g].name);
    wr_csr *links = generated(graphs[g].name), *B = NULL;
    int32_t *order = NULL, *again = NULL;
    int64_t n = links->nrows;
    CHECK_OK(wr_hub_order_find(links, n, &order));
    CHECKF((order != NULL) == graphs[g].chosen, "%s", order ? "chosen" : "not chosen");
    CHECK_OK(wr_hub_order_find(links, n + 1, &again));
    CHECK(again == NULL);
    if (order) {
      int threads = omp_get_max_threads();
      omp_set_num_threads(3);
      CHECK_OK(wr_hub_order_find(links, n, &again));
      omp_set_num_threads(threads);
      CHECK(again && memcmp(order, again, (size_t)n * sizeof *order) == 0);
      CHECK(is_permutation(order, n));
      int32_t *place = places_of(order, n);
      CHECK_OK(wr_csr_renumber(links, place, &B));
      check_renumbered(links, place, B);
      CHECKF(10 * sectors(B) < 7 * sectors(links), "%lld sectors, %lld before", (long long)sectors(B),
             (long long)sectors(links));
      wr_free(again), again = NULL;
      CASE("an order by hubs is kept");
      CHECK_OK(wr_hub_order_find(B, n, &again));
      CHECK(again == NULL);
      free(place);
    }
    wr_csr_free(B), wr_csr_free(links);
    wr_free(order), wr_free(again);
  }
}

/* A graph of three nodes, all of whose links a sample repeats, and one without links. */
static void test_small(void) {
  int64_t row_ptr[] = {0, 2, 3, 4}, none[] = {0, 0};
  int32_t col[] = {1, 2, 0, 0}, *order = NULL;
  wr_csr tied = {.nrows = 3, .ncols = 3, .nnz = 4, .row_ptr = row_ptr, .col = col, .symmetric = 1};
  wr_csr empty = {.nrows = 1, .ncols = 1, .row_ptr = none, .symmetric = 1};
  wr_csr wide = {.nrows = 1, .ncols = 2, .row_ptr = none};
  CASE("small graphs");
  CHECK_OK(wr_hub_order_find(&tied, 1, &order));
  CHECK(order == NULL || is_permutation(order, 3));
  wr_free(order);
  CHECK_OK(wr_hub_order_find(&empty, 0, &order));
  CHECK(order == NULL);
  CHECK_FAILS(WR_EUSAGE, wr_hub_order_find(&wide, 0, &order));
  CHECK_FAILS(WR_EUSAGE, wr_hub_order_find(&tied, 0, NULL));
  CHECK_FAILS(WR_EUSAGE, wr_hub_order_find(NULL, 0, &order));
}

static wr_csr *with_weights(const char *name) {
  wr_csr *A = generated(name);
  A->val = malloc((size_t)A->nnz * sizeof *A->val);
  for (int64_t k = 0; k < A->nnz; k++) A->val[k] = (double)(k % 11);
  A->symmetric = 0;
  return A;
}

/* The flow of an ordered graph is the other one, renumbered; vectors follow. */
static void test_graphs(void) {
  for (int weighted = 0; weighted < 2; weighted++)
    for (int edges_in = 0; edges_in < 2; edges_in++) {
      ground_case(NULL, "a graph, %s, edges %s", weighted ? "weighted" : "a pattern", edges_in ? "in" : "out");
      wr_csr *links = weighted ? with_weights("gen:hubs:n=60000,hubs=50") : generated("gen:hubs:n=60000,hubs=50");
      wr_graph plain, ordered;
      int64_t n = links->nrows, wrong = 0;
      CHECK_OK(wr_graph_build(links, edges_in, NULL, NULL, &plain));
      CHECK_OK(wr_graph_begin(links, edges_in, NULL, NULL, &ordered));
      CHECK_OK(wr_graph_order(&ordered, 1));
      CHECK((ordered.order != NULL) == !(weighted && edges_in));
      CHECK_OK(wr_graph_finish(&ordered, NULL));
      if (ordered.order) {
        int32_t *place = places_of(ordered.order, n);
        check_renumbered(plain.flow, place, ordered.flow);
        free(place);
      }
      CHECK(memcmp(plain.scale, ordered.scale, (size_t)n * sizeof *plain.scale) == 0 &&
            plain.dangling == ordered.dangling);
      double *by_page = malloc((size_t)n * sizeof *by_page), *by_row = malloc((size_t)n * sizeof *by_row);
      wr_graph_arrange(&ordered, ordered.scale, by_row);
      for (int64_t k = 0; k < n; k++) wrong += by_row[k] != ordered.scale[ordered.order ? ordered.order[k] : k];
      wr_graph_restore(&ordered, by_row, by_page);
      CHECK(wrong == 0 && memcmp(by_page, ordered.scale, (size_t)n * sizeof *by_page) == 0);
      free(by_page), free(by_row);
      CHECK_FAILS(WR_EUSAGE, wr_graph_order(&ordered, 1));
      wr_graph_free(&plain), wr_graph_free(&ordered);
      wr_csr_free(links);
    }
}

int main(void) {
  test_chosen();
  test_small();
  test_graphs();
  return wr_test_report("hub_order");
}
