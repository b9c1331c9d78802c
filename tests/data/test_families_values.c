/* What the generated families with values promise: stencil, fem, band, density. Every number here follows from the
 * family's definition. */
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
  if (A == NULL) exit(wr_test_report("families_values"));
  CHECK_OK(wr_csr_check(A));
  CHECK(A->nrows == A->ncols && A->val != NULL);
  return A;
}

/* Entry (i, j), or 0 where there is none. */
static double at(const wr_csr *A, int64_t i, int64_t j) {
  for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++)
    if (A->col[k] == j) return A->val[k];
  return 0;
}

static int64_t differing_from_transpose(const wr_csr *A) {
  int64_t differing = 0;
  for (int64_t i = 0; i < A->nrows; i++)
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) differing += A->val[k] != at(A, A->col[k], i);
  return differing;
}

/* Diagonal less the sizes of the others, in units of 2^-53: exact, for values that are multiples of it. */
static int64_t dominance(const wr_csr *A, int64_t i) {
  int64_t excess = 0;
  for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++)
    excess += (int64_t)((A->col[k] == i ? A->val[k] : -fabs(A->val[k])) * 0x1p53);
  return excess;
}

/* ---- stencil ---- */

static int64_t stencil_entries(int64_t n, int points) {
  if (points == 5) return 5 * n * n - 4 * n;
  if (points == 7) return 7 * n * n * n - 6 * n * n;
  return (3 * n - 2) * (3 * n - 2) * (3 * n - 2);
}

/* Entries that do not lead at most one step along each axis, or, with less than 27 points, along one axis alone. */
static int64_t astray(const wr_csr *A, int64_t n, int points) {
  int64_t wrong = 0;
  for (int64_t i = 0; i < A->nrows; i++)
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
      int64_t j = A->col[k];
      int64_t x = llabs(j % n - i % n), y = llabs(j / n % n - i / n % n), z = llabs(j / n / n - i / n / n);
      wrong += x > 1 || y > 1 || z > 1 || (points != 27 && x + y + z > 1);
    }
  return wrong;
}

static void test_stencil(int64_t n, int points, double convection) {
  char name[100];
  snprintf(name, sizeof name, "gen:stencil:n=%lld,points=%d,convection=%g", (long long)n, points, convection);
  wr_csr *A = make(name);
  int64_t rows = points == 5 ? n * n : n * n * n, weak = 0, inner = 0;
  CHECK(A->nrows == rows && A->nnz == stencil_entries(n, points) && astray(A, n, points) == 0);
  for (int64_t i = 0; i < rows; i++) {
    weak += dominance(A, i) < 0 || at(A, i, i) != points - 1;
    inner += dominance(A, i) == 0;
  }
  /* inside the grid the others add up to the diagonal, at its faces to less */
  int64_t inside = n > 2 ? (points == 5 ? (n - 2) * (n - 2) : (n - 2) * (n - 2) * (n - 2)) : 0;
  CHECKF(weak == 0 && inner == inside, "%lld rows not dominant, %lld just so", (long long)weak, (long long)inner);
  int64_t differing = differing_from_transpose(A);
  CHECK(A->symmetric == (convection == 0) && (differing == 0) == (convection == 0 || n == 1));
  if (n > 1) CHECK(at(A, 1, 0) == -(1 + convection) && fabs(at(A, 0, 1) + (1 - convection)) <= 0x1p-52);
  wr_csr_free(A);
}

static void test_stencils(void) {
  static const int points[] = {5, 7, 27};
  static const int64_t sizes[] = {1, 2, 3, 12};
  for (int p = 0; p < 3; p++)
    for (int s = 0; s < 4; s++) {
      test_stencil(sizes[s], points[p], 0);
      test_stencil(sizes[s], points[p], 0.4);
      test_stencil(sizes[s], points[p], 0.999);
    }
}

/* ---- fem ---- */

static void test_fem(int64_t n) {
  char name[64];
  snprintf(name, sizeof name, "gen:fem:n=%lld", (long long)n);
  wr_csr *A = make(name);
  int64_t nodes = n * n * n, along = 3 * n - 2, weak = 0, ragged = 0;
  CHECK(A->nrows == 3 * nodes && A->nnz == 9 * along * along * along && !A->symmetric);
  for (int64_t i = 0; i < A->nrows; i++) weak += dominance(A, i) <= 0 || at(A, i, i) != 100;
  CHECKF(weak == 0, "%lld rows not dominant", (long long)weak);
  for (int64_t i = 0; i < A->nrows; i += 3) { /* three rows have the same columns, in threes */
    int64_t length = A->row_ptr[i + 1] - A->row_ptr[i];
    const int32_t *col = A->col + A->row_ptr[i];
    for (int64_t r = 1; r < 3; r++)
      ragged += A->row_ptr[i + r + 1] - A->row_ptr[i + r] != length ||
                memcmp(col + r * length, col, (size_t)length * sizeof *col) != 0;
    for (int64_t k = 0; k < length; k++) ragged += col[k] % 3 != k % 3 || col[k] / 3 != col[k - k % 3] / 3;
  }
  CHECK(ragged == 0);
  int64_t far = 0;
  for (int64_t i = 0; i < A->nrows; i++)
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
      int64_t p = i / 3, q = A->col[k] / 3;
      far += llabs(q % n - p % n) > 1 || llabs(q / n % n - p / n % n) > 1 || llabs(q / n / n - p / n / n) > 1;
    }
  CHECK(far == 0);
  wr_csr_free(A);
}

/* ---- band ---- */

/* Rows that are not `width` whole blocks in one run, or, away from the sides of the matrix, do not reach as far to the
 * left of the diagonal as to the right, but for one block. */
static int64_t band_astray(const wr_csr *A, int64_t block, int64_t width) {
  int64_t last_block = (A->nrows - 1) / block, wrong = 0;
  for (int64_t i = 0; i < A->nrows; i++) {
    int64_t length = A->row_ptr[i + 1] - A->row_ptr[i], first = A->col[A->row_ptr[i]], last = first + length - 1;
    int64_t left = i / block - first / block, right = last / block - i / block;
    wrong += A->col[A->row_ptr[i + 1] - 1] != last || left + right + 1 != width || left < 0 || right < 0;
    wrong += first % block != 0 || ((last + 1) % block != 0 && last + 1 != A->nrows);
    wrong += first > 0 && last / block < last_block && llabs(left - right) > 1;
  }
  return wrong;
}

static void test_band(const char *name, int64_t n, int64_t block, int64_t width) {
  wr_csr *A = make(name);
  CHECK(A->nrows == n && !A->symmetric);
  CHECKF(band_astray(A, block, width) == 0, "%lld rows", (long long)band_astray(A, block, width));
  double worst = 0; /* each entry is rounded once, and each of the sums here */
  int64_t negative = 0;
  for (int64_t i = 0; i < n; i++) {
    double sum = 0;
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
      negative += A->val[k] <= 0;
      sum += A->val[k];
    }
    worst = fmax(worst, fabs(sum - 1) / ((double)(A->row_ptr[i + 1] - A->row_ptr[i]) * 0x1p-53));
  }
  CHECKF(worst <= 1 && negative == 0, "a sum is 1 within %g roundings an entry, %lld entries <= 0", worst,
         (long long)negative);
  wr_csr_free(A);
}

static void test_bands(void) {
  test_band("gen:band:n=2000,block=5,density=0.05", 2000, 5, 20);
  test_band("gen:band:n=103,block=5,density=0.29", 103, 5, 6); /* 0.29 * 21 = 6.09 */
  test_band("gen:band:n=100,block=1,density=0.29", 100, 1, 29);
  test_band("gen:band:n=100,block=10,density=0", 100, 10, 1);
  test_band("gen:band:n=101,block=10,density=1", 101, 10, 11);
  test_band("gen:band:n=7,block=100", 7, 100, 1);
  test_band("gen:band:n=1", 1, 5, 1);
  wr_csr *A = make("gen:band:n=3200");
  CHECK(A->nnz == 640 * 32 * 25); /* 640 rows of 640 * 0.05 blocks of 5 x 5 */
  wr_csr_free(A);
}

/* ---- density ---- */

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/* Entries of a block of so many places; fill as in the name. */
static int64_t filled(double fill, int64_t area) {
  if (fill > 1) return smaller((int64_t)fill, area);
  int64_t share = (int64_t)(fill * (double)area + 0.5);
  return share > 0 ? share : 1;
}

static void test_density(const char *name, int64_t n, int64_t block, int64_t blocks, double fill) {
  wr_csr *A = make(name);
  int64_t along = (n + block - 1) / block, taken = 0, wrong = 0, uneven = 0, zero = 0;
  int64_t *count = calloc((size_t)(along * along), sizeof *count);
  for (int64_t i = 0; i < n; i++)
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
      count[i / block * along + A->col[k] / block]++;
      zero += A->val[k] == 0 || fabs(A->val[k]) >= 1;
    }
  for (int64_t I = 0; I < along; I++) {
    int64_t in_row = 0;
    for (int64_t J = 0; J < along; J++) {
      int64_t area = smaller(block, n - I * block) * smaller(block, n - J * block);
      in_row += count[I * along + J] > 0;
      wrong += count[I * along + J] != 0 && count[I * along + J] != filled(fill, area);
    }
    taken += in_row;
    uneven += in_row < blocks / along || in_row > blocks / along + 1;
  }
  CHECKF(taken == blocks && uneven == 0, "%lld blocks, %lld rows uneven", (long long)taken, (long long)uneven);
  CHECKF(wrong == 0 && zero == 0, "%lld blocks of another fill, %lld values outside (-1, 1)", (long long)wrong,
         (long long)zero);
  CHECK(!A->symmetric);
  free(count);
  wr_csr_free(A);
}

static void test_densities(void) {
  test_density("gen:density:n=512", 512, 16, 102, 1);                               /* 102.4 of 32 * 32 */
  test_density("gen:density:n=500,density=0.3,fill=0.3", 500, 16, 307, 0.3);        /* 307.2 of 32 * 32, cut off */
  test_density("gen:density:n=500,density=0.3,fill=5", 500, 16, 307, 5);
  test_density("gen:density:n=500,density=0.3,fill=40", 500, 16, 307, 40);
  test_density("gen:density:n=500,density=0.3,fill=0.0001", 500, 16, 307, 0.0001);  /* at least one */
  test_density("gen:density:n=500,density=0.3,fill=1000000", 500, 16, 307, 1000000); /* at most all */
  test_density("gen:density:n=500,density=1,fill=255", 500, 16, 1024, 255);
  test_density("gen:density:n=500,density=0", 500, 16, 0, 1);
  test_density("gen:density:n=300,block=1,density=0.01", 300, 1, 900, 1);
  test_density("gen:density:n=100,block=1000,density=1,fill=0.25", 100, 100, 1, 0.25);
  test_density("gen:density:n=100,block=99,density=0.75,fill=2", 100, 99, 3, 2);
  test_density("gen:density:n=1,block=1,density=1", 1, 1, 1, 1);
}

/* Blocks, and places within them, are random: each is taken about equally often. */
static void test_density_places(void) {
  wr_csr *A = make("gen:density:n=1600,block=8,density=0.5,fill=16");
  double taken[64] = {0}, in_column[200] = {0}, blocks = 20000; /* half of 200 * 200 */
  for (int64_t i = 0; i < A->nrows; i++)
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
      taken[i % 8 * 8 + A->col[k] % 8]++;
      in_column[A->col[k] / 8] += 1.0 / 16;
    }
  CHECK(A->nnz == (int64_t)blocks * 16);
  for (int J = 0; J < 200; J++) /* binomial: each row of blocks takes a column with a chance of 1/2 */
    CHECKF(fabs(in_column[J] - 100) <= 6 * sqrt(200 * 0.25), "%g blocks in column %d", in_column[J], J);
  for (int p = 0; p < 64; p++) /* binomial: each block takes a place with a chance of 16 / 64 */
    CHECKF(fabs(taken[p] - blocks / 4) <= 6 * sqrt(blocks * 3 / 16), "place %d: %g of %g", p, taken[p], blocks / 4);
  wr_csr_free(A);
}

int main(void) {
  test_stencils();
  test_fem(1);
  test_fem(2);
  test_fem(3);
  test_fem(9);
  test_bands();
  test_densities();
  test_density_places();
  return wr_test_report("families_values");
}
