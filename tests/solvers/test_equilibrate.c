/* Equilibration by powers of two: largest elements of rows and columns near 1, and what needs none left alone. */
#define _DEFAULT_SOURCE
#include "solvers/scaling/equilibrate.h"
#include "tests/solvers/ground.h"

/* Checks that the largest element of each row and column is in [1/2, 2), but for empty ones, which keep 0. */
static void check_largest(const wr_csr *A, const int *row, const int *column) {
  double *rows = room_for(A->nrows, sizeof *rows), *columns = room_for(A->ncols, sizeof *columns);
  int64_t off = 0;
  for (int64_t i = 0; i < A->nrows; i++)
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
      double size = ldexp(fabs(A->val ? A->val[k] : 1), row[i] + column[A->col[k]]);
      rows[i] = fmax(rows[i], size), columns[A->col[k]] = fmax(columns[A->col[k]], size);
    }
  for (int64_t i = 0; i < A->nrows; i++) off += rows[i] == 0 ? row[i] != 0 : !(rows[i] >= 0.5 && rows[i] < 2);
  for (int64_t j = 0; j < A->ncols; j++)
    off += columns[j] == 0 ? column[j] != 0 : !(columns[j] >= 0.5 && columns[j] < 2);
  CHECKF(off == 0, "%lld rows and columns are not about 1", (long long)off);
  free(rows);
  free(columns);
}

/* Rows and columns multiplied by powers of two over this range of exponents. */
static void scale(wr_csr *A, int range, int symmetric, uint64_t seed) {
  uint64_t state = seed;
  int *row = room_for(A->nrows, sizeof *row), *column = room_for(A->ncols, sizeof *column);
  for (int64_t i = 0; i < A->nrows; i++) row[i] = (int)(random_in(&state) * range) - range / 2;
  for (int64_t j = 0; j < A->ncols; j++) column[j] = symmetric ? row[j] : (int)(random_in(&state) * range) - range / 2;
  for (int64_t i = 0; i < A->nrows; i++)
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++)
      A->val[k] = ldexp(A->val[k], row[i] + column[A->col[k]]);
  free(row);
  free(column);
}

static void test_random(void) {
  enum { N = 3000 };
  static const int ranges[] = {2, 20, 200, 900};
  int *one = room_for(4 * N, sizeof *one), *many = one + 2 * N;
  for (int k = 0; k < 8; k++) {
    wr_csr *A = random_matrix(N, 4, 1, 1, 70 + (uint64_t)k);
    int sweeps;
    ground_case(NULL, "rows and columns over 2^%d", ranges[k / 2]);
    scale(A, ranges[k / 2], k % 2, 80 + (uint64_t)k);
    omp_set_num_threads(1);
    CHECK_OK(wr_equilibrate(A, one, one + N, &sweeps));
    check_largest(A, one, one + N);
    CHECKF(sweeps >= 1 && sweeps <= 13, "%d sweeps", sweeps);
    omp_set_num_threads(4);
    CHECK_OK(wr_equilibrate(A, many, many + N, NULL));
    CHECK(memcmp(one, many, 2 * N * sizeof *one) == 0);
    wr_csr_free(A);
  }
  free(one);
}

/* A symmetric matrix stays symmetric. */
static void test_symmetric(void) {
  enum { N = 300 };
  entry entries[4 * N];
  int row[N], column[N];
  uint64_t state = 3;
  int64_t count = 0;
  CASE("a symmetric matrix");
  for (int64_t i = 0; i < N; i++) {
    entries[count++] = (entry){i, i, exp2(60 * (random_in(&state) - 0.5))};
    double value = exp2(60 * (random_in(&state) - 0.5));
    if (i == 0) continue;
    entries[count++] = (entry){i, i - 1, value};
    entries[count++] = (entry){i - 1, i, value};
  }
  wr_csr *A = matrix_of(N, entries, count, 1);
  CHECK_OK(wr_equilibrate(A, row, column, NULL));
  check_largest(A, row, column);
  CHECK(memcmp(row, column, sizeof row) == 0);
  wr_csr_free(A);
}

/* The ends of f64, empty rows and columns, a pattern, a matrix that is not square. */
static void test_special(void) {
  int row[4], column[4], rows, columns;
  CASE("the ends of f64");
  entry ends[] = {{0, 0, 1.7e308}, {1, 1, 5e-324}, {2, 2, 0}, {2, 1, 0}};
  wr_csr *A = matrix_of(4, ends, 4, 1);
  CHECK_OK(wr_equilibrate(A, row, column, NULL));
  check_largest(A, row, column);
  CHECK_OK(wr_exponent_spread(A, &rows, &columns));
  CHECKF(rows == 1024 + 1073 && columns == rows, "rows differ by 2^%d, columns by 2^%d", rows, columns);
  wr_csr_free(A);
  CASE("a pattern");
  A = random_matrix(4, 2, 1, 0, 9);
  CHECK_OK(wr_equilibrate(A, row, column, NULL));
  for (int i = 0; i < 4; i++) CHECKF(row[i] == 0 && column[i] == 0, "row %d, column %d", row[i], column[i]);
  CHECK_OK(wr_exponent_spread(A, &rows, &columns));
  CHECK(rows == 0 && columns == 0);
  wr_csr_free(A);
  CASE("2 x 3");
  if (wr_csr_create(2, 3, 3, 1, &A) != WR_OK) abort();
  memcpy(A->row_ptr, (const int64_t[]){0, 2, 3}, 3 * sizeof *A->row_ptr);
  memcpy(A->col, (const int32_t[]){0, 2, 1}, 3 * sizeof *A->col);
  memcpy(A->val, (const double[]){1e9, 3, -1e-9}, 3 * sizeof *A->val);
  CHECK_OK(wr_equilibrate(A, row, column, NULL));
  check_largest(A, row, column);
  CHECK_OK(wr_exponent_spread(A, &rows, &columns));
  CHECKF(rows == 30 + 29 && columns == 30 + 29, "rows differ by 2^%d, columns by 2^%d", rows, columns);
  CHECK_FAILS(WR_EUSAGE, wr_equilibrate(NULL, row, column, NULL));
  CHECK_FAILS(WR_EUSAGE, wr_equilibrate(A, NULL, column, NULL));
  CHECK_FAILS(WR_EUSAGE, wr_equilibrate(A, row, NULL, NULL));
  CHECK_FAILS(WR_EUSAGE, wr_exponent_spread(NULL, &rows, &columns));
  CHECK_FAILS(WR_EUSAGE, wr_exponent_spread(A, NULL, &columns));
  CHECK_FAILS(WR_EUSAGE, wr_exponent_spread(A, &rows, NULL));
  wr_csr_free(A);
}

int main(void) {
  test_random();
  test_symmetric();
  test_special();
  return wr_test_report("test_equilibrate");
}
