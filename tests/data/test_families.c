/* What each family of generated matrices promises: sizes, structure, values exactly; random quantities within six
 * standard deviations of its law, which is computed here in another way than there. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "data/generate.h"
#include "tests/check.h"

static wr_csr *make(const char *name) {
  wr_csr *A = NULL;
  CASE(name);
  CHECK_OK(wr_generate(name, 2, &A));
  if (A == NULL) exit(wr_test_report("families"));
  CHECK_OK(wr_csr_check(A));
  CHECK(A->nrows == A->ncols);
  return A;
}

static int64_t length(const wr_csr *A, int64_t i) { return A->row_ptr[i + 1] - A->row_ptr[i]; }

static int64_t longest(const wr_csr *A) {
  int64_t most = 0;
  for (int64_t i = 0; i < A->nrows; i++) most = length(A, i) > most ? length(A, i) : most;
  return most;
}

static int64_t rows_of_length(const wr_csr *A, int64_t from, int64_t to) {
  int64_t rows = 0;
  for (int64_t i = 0; i < A->nrows; i++) rows += length(A, i) >= from && length(A, i) <= to;
  return rows;
}

static wr_csr *transposed(const wr_csr *A) {
  wr_csr *T = NULL;
  CHECK_OK(wr_csr_transpose(A, &T));
  if (T == NULL) exit(wr_test_report("families"));
  return T;
}

static int equals_transpose(const wr_csr *A) {
  wr_csr *T = transposed(A);
  int equal = memcmp(A->row_ptr, T->row_ptr, (size_t)(A->nrows + 1) * sizeof *A->row_ptr) == 0 &&
              memcmp(A->col, T->col, (size_t)A->nnz * sizeof *A->col) == 0 &&
              (A->val == NULL || memcmp(A->val, T->val, (size_t)A->nnz * sizeof *A->val) == 0);
  wr_csr_free(T);
  return equal;
}

/* count against a sum of independent events: its mean, and its variance, which is at most the mean. */
static void check_chance(const char *what, double count, double mean, double variance) {
  CHECKF(fabs(count - mean) <= 6 * sqrt(variance) + 1, "%s: %g, expected %g +- %g", what, count, mean, sqrt(variance));
}

/* ---- road ---- */

/* Bit b of x and of y are bits 2b and 2b + 1 of the code. */
static int64_t morton(int64_t x, int64_t y) {
  int64_t code = 0;
  for (int b = 0; b < 16; b++) code |= (x >> b & 1) << 2 * b | (y >> b & 1) << (2 * b + 1);
  return code;
}

static void test_road_order(int64_t side) {
  char name[64];
  snprintf(name, sizeof name, "gen:road:side=%lld,keep=1", (long long)side);
  wr_csr *A = make(name);
  int64_t *at = malloc((size_t)(4 * side * side) * sizeof *at), points = 0, wrong = 0; /* code -> number, or -1 */
  for (int64_t c = 0; c < 4 * side * side; c++) at[c] = -1;
  for (int64_t p = 0; p < side * side; p++) at[morton(p % side, p / side)] = 0;
  for (int64_t c = 0; c < 4 * side * side; c++)
    if (at[c] == 0) at[c] = points++;
  CHECK(points == A->nrows && A->symmetric && A->val == NULL && equals_transpose(A));
  CHECK(A->nnz == 4 * side * (side - 1));
  for (int64_t p = 0; p < points; p++) {
    int64_t x = p % side, y = p / side, i = at[morton(x, y)], found = 0;
    int left = x > 0, up = y > 0, right = x + 1 < side, down = y + 1 < side;
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++)
      found += (left && A->col[k] == at[morton(x - 1, y)]) + (up && A->col[k] == at[morton(x, y - 1)]) +
               (right && A->col[k] == at[morton(x + 1, y)]) + (down && A->col[k] == at[morton(x, y + 1)]);
    wrong += found != left + up + right + down || found != length(A, i);
  }
  CHECKF(wrong == 0, "%lld points", (long long)wrong);
  free(at);
  wr_csr_free(A);
}

static void test_road(void) {
  static const int64_t sides[] = {1, 2, 3, 4, 5, 7, 16, 33, 100};
  for (size_t s = 0; s < sizeof sides / sizeof sides[0]; s++) test_road_order(sides[s]);
  wr_csr *A = make("gen:road:side=300,keep=0");
  CHECK(A->nrows == 90000 && A->nnz == 0 && A->symmetric);
  wr_csr_free(A);
  A = make("gen:road:side=301");
  double edges = 2.0 * 301 * 300;
  CHECK(A->symmetric && equals_transpose(A) && longest(A) <= 4);
  check_chance("edges", (double)A->nnz / 2, 0.57 * edges, 0.57 * 0.43 * edges);
  wr_csr_free(A);
}

/* ---- web ---- */

/* P(a page has more than d links), dangling pages apart: the product of k / (k + alpha) from dmin to d. */
static double more_links(double dmin, double alpha, double d) {
  return exp(lgamma(d + 1) - lgamma(dmin) - lgamma(d + 1 + alpha) + lgamma(dmin + alpha));
}

/* Links that repeat are drawn again, so short rows have the length of the law. */
static void test_web_degrees(const wr_csr *A) {
  double pages = 0.9 * (double)A->nrows, n = (double)A->nrows;
  static const int64_t above[] = {7, 8, 10, 20, 50, 100};
  check_chance("dangling", (double)rows_of_length(A, 0, 0), 0.1 * n, 0.09 * n);
  CHECKF(rows_of_length(A, 1, 6) <= (int64_t)(1e-3 * n), "%lld rows below dmin", (long long)rows_of_length(A, 1, 6));
  CHECK(longest(A) <= 5000 && longest(A) > 500);
  for (size_t d = 0; d < sizeof above / sizeof above[0]; d++) {
    double mean = pages * more_links(7, 1.6, (double)above[d]);
    check_chance("degree", (double)rows_of_length(A, above[d] + 1, A->nrows), mean, mean);
  }
  double mean = (double)A->nnz / n; /* 0.9 (7 + 7 / 0.6), less what dmax cuts off */
  CHECKF(mean > 16.0 && mean < 16.8, "mean out-degree %g", mean);
}

static void test_web_links(const wr_csr *A) {
  int64_t near = 0, back = 0;
  for (int64_t i = 0; i < A->nrows; i++)
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
      near += llabs(A->col[k] - i) < 1000;
      back += A->col[k] < i && A->col[k] >= i - 1000;
    }
  /* made near: 4 of 5; of these 15 of 16 within 600 pages of one that is in the mean 24.5 * 0.55 / 0.45 = 30 before */
  double share = (double)near / (double)A->nnz;
  CHECKF(share > 0.72 && share < 0.78, "%g of the links within 1000 pages", share);
  CHECKF(back > near / 3 && back < near * 2 / 3, "%lld of %lld near links lead back", (long long)back, (long long)near);
}

/* A link means the most popular page with a chance of (3/n)^(1/4) of the fifth that are not near; a row counts it once.
 * Pages copy links from each other: a branching process with 0.55 children each, in which E(size^2) / E(size) is 5. */
static void test_web_popular(const wr_csr *A) {
  wr_csr *T = transposed(A);
  double mean = 0, chance = 0.2 * pow(3.0 / (double)A->nrows, 0.25);
  for (int64_t i = 0; i < A->nrows; i++) mean -= expm1((double)length(A, i) * log1p(-chance));
  check_chance("greatest in-degree", (double)longest(T), mean, 5 * mean);
  CHECK(rows_of_length(T, 0, 1) < T->nrows / 100);
  wr_csr_free(T);
}

static void test_web(void) {
  wr_csr *A = make("gen:web:n=200000");
  CHECK(A->val == NULL && !A->symmetric);
  test_web_degrees(A);
  test_web_links(A);
  test_web_popular(A);
  wr_csr_free(A);
  A = make("gen:web:n=5000,dangling=0,dmin=4,dmax=4,local=9");
  CHECK(longest(A) == 4 && A->nnz > 4 * 5000 - 100);
  wr_csr_free(A);
  A = make("gen:web:n=1000,dangling=1");
  CHECK(A->nnz == 0);
  wr_csr_free(A);
  A = make("gen:web:n=1,dangling=0");
  CHECK(A->nnz == 1);
  wr_csr_free(A);
  A = make("gen:web:n=2,dangling=0,local=1");
  CHECK(A->nnz >= 2 && A->nnz <= 4);
  wr_csr_free(A);
}

/* ---- rmat, uniform ---- */

static double choose(int n, int k) { return exp(lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)); }

/* Place (i, j) gets a Poisson number of edges with a mean that is a product over bits, so it is taken with chance
 * 1 - e^-mean; places with the same numbers of bit pairs (0,0), (0,1) or (1,0), and (1,1) have the same. */
static void rmat_law(int scale, double edges, double *nnz, double *empty) {
  *nnz = *empty = 0;
  for (int ones = 0; ones <= scale; ones++) {
    double row = edges * pow(0.76, scale - ones) * pow(0.24, ones);
    *empty += choose(scale, ones) * exp(-row);
    for (int both = 0; both <= ones; both++) { /* of the row's ones, columns with a one too; then columns' other ones */
      for (int only = 0; only <= scale - ones; only++) {
        double mean = edges * pow(0.57, scale - ones - only) * pow(0.19, ones - both + only) * pow(0.05, both);
        *nnz -= choose(scale, ones) * choose(ones, both) * choose(scale - ones, only) * expm1(-mean);
      }
    }
  }
}

static void test_rmat(void) {
  double nnz, empty;
  wr_csr *A = make("gen:rmat:scale=14,degree=40"), *T = transposed(A);
  rmat_law(14, 40 * 16384.0, &nnz, &empty);
  CHECK(A->nrows == 16384 && A->val == NULL && !A->symmetric);
  check_chance("entries", (double)A->nnz, nnz, nnz);
  check_chance("empty rows", (double)rows_of_length(A, 0, 0), empty, empty);
  check_chance("empty columns", (double)rows_of_length(T, 0, 0), empty, empty);
  CHECK(length(A, 0) == longest(A) && length(T, 0) == longest(T));
  wr_csr_free(T);
  wr_csr_free(A);
  A = make("gen:rmat:scale=0,degree=100"); /* no edge: a chance of e^-100 */
  CHECK(A->nrows == 1 && A->nnz == 1);
  wr_csr_free(A);
  A = make("gen:rmat:scale=3,degree=1000"); /* each place has a mean of at least 8000 * 0.05^3 = 1 */
  CHECK(A->nnz > 55 && A->nnz <= 64);
  wr_csr_free(A);
}

static void test_uniform(void) {
  wr_csr *A = make("gen:uniform:n=20000,degree=200");
  double mean = 20000 * -20000 * expm1(200 * log1p(-1.0 / 20000));
  CHECK(A->val == NULL && !A->symmetric && longest(A) <= 200);
  check_chance("entries", (double)A->nnz, mean, 20000 * 200.0 - mean); /* a row loses at most about a Poisson number */
  int64_t low = 0;
  for (int64_t k = 0; k < A->nnz; k++) low += A->col[k] < 5000;
  check_chance("columns of the first quarter", (double)low, (double)A->nnz / 4, (double)A->nnz / 4);
  wr_csr_free(A);
  A = make("gen:uniform:n=100,degree=0");
  CHECK(A->nrows == 100 && A->nnz == 0);
  wr_csr_free(A);
  A = make("gen:uniform:n=1,degree=1000");
  CHECK(A->nnz == 1);
  wr_csr_free(A);
}

/* ---- hubs, chain ---- */

static void test_hubs(void) {
  static const struct {
    const char *name;
    int64_t n, hubs;
  } cases[] = {{"gen:hubs:n=100000,hubs=50", 100000, 50}, {"gen:hubs:n=1000,hubs=1", 1000, 1},
               {"gen:hubs:n=10,hubs=10", 10, 10},         {"gen:hubs:n=1,hubs=1", 1, 1},
               {"gen:hubs:n=1001,hubs=1000", 1001, 1000}, {"gen:hubs:n=4097,hubs=100", 4097, 100}};
  for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
    wr_csr *A = make(cases[c].name);
    int64_t leaves = cases[c].n - cases[c].hubs, others = 0;
    CHECK(A->nrows == cases[c].n && A->nnz == 2 * leaves && A->symmetric && A->val == NULL && equals_transpose(A));
    CHECKF(fabs((double)longest(A) - (double)leaves * pow(1.0 / (double)cases[c].hubs, 0.25)) <= 1, "longest row %lld",
           (long long)longest(A));
    /* a row that is not of length 1 is a hub's; a leaf's one entry leads to a hub: no two leaves are tied */
    for (int64_t i = 0; i < A->nrows; i++) others += length(A, i) != 1;
    CHECK(others <= cases[c].hubs && rows_of_length(A, 1, 1) >= leaves);
    wr_csr_free(A);
  }
}

/* Nodes on the path that begins at an end i; marks them. */
static int64_t walk(const wr_csr *A, int64_t i, char *seen) {
  int64_t nodes = 0, before = -1;
  while (i >= 0) {
    seen[i] = 1;
    nodes++;
    int64_t next = -1;
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++)
      if (A->col[k] != before) next = A->col[k];
    before = i;
    i = next;
  }
  return nodes;
}

static void test_chain(void) {
  for (int scale = 0; scale <= 15; scale += scale == 3 ? 7 : 1) {
    char name[64];
    snprintf(name, sizeof name, "gen:chain:scale=%d", scale);
    wr_csr *A = make(name);
    int64_t n = INT64_C(1) << scale, paths = 0, whole = 0, nodes = 0;
    char *seen = calloc((size_t)n, 1);
    CHECK(A->nrows == n && A->symmetric && A->val == NULL && equals_transpose(A) && longest(A) <= 2);
    CHECK(A->nnz == 2 * (n - 1 - (n - 1) / 1000));
    for (int64_t i = 0; i < n; i++) {
      if (length(A, i) > 1 || seen[i]) continue;
      int64_t on_path = walk(A, i, seen);
      nodes += on_path;
      paths++;
      whole += on_path == 1000;
    }
    CHECKF(nodes == n && paths == (n - 1) / 1000 + 1 && whole == n / 1000,
           "%lld nodes on %lld paths, %lld of them of 1000", (long long)nodes, (long long)paths, (long long)whole);
    free(seen);
    wr_csr_free(A);
  }
}

int main(void) {
  test_road();
  test_web();
  test_rmat();
  test_uniform();
  test_hubs();
  test_chain();
  return wr_test_report("families");
}
