/* Facts about matrices: known ones, and random small ones against plain loops over a picture of the matrix. */
#define _DEFAULT_SOURCE
#include "spmv/matrix/matrix_facts.h"

#include "tests/solvers/ground.h"

static wr_matrix_facts facts_of(int64_t n, const double *picture) {
  wr_matrix_facts facts = {0};
  wr_csr *A = matrix_of_picture(n, picture);
  CHECK_OK(wr_matrix_facts_find(A, &facts));
  wr_csr_free(A);
  return facts;
}

static void test_known(void) {
  CASE("a zero diagonal element, an empty row and an empty column");
  wr_matrix_facts f = facts_of(3, (const double[]){0, 2, 0, 0, -1e-3, 0, 0, 0, 0});
  CHECK(f.n == 3 && f.zero_diagonals == 2 && f.first_zero_diagonal == 0);
  CHECK(f.empty_rows == 1 && f.first_empty_row == 2);
  CHECK(f.empty_columns == 2 && f.first_empty_column == 0);
  CHECK(f.positive_diagonals == 0 && f.negative_diagonals == 1 && !f.symmetric && !f.indefinite);
  CHECKF(f.row_spread == 2 / 1e-3 && f.column_spread == 1, "%g %g", f.row_spread, f.column_spread);
  CASE("symmetric ones");
  f = facts_of(2, (const double[]){2, -1, -1, 2});
  CHECK(f.symmetric && !f.indefinite && f.positive_diagonals == 2);
  f = facts_of(2, (const double[]){2, -1, -1, -2});
  CHECK(f.symmetric && f.indefinite && f.positive_diagonals == 1 && f.negative_diagonals == 1);
  f = facts_of(2, (const double[]){1, 2, 2, 1}); /* eigenvalues 3 and -1 */
  CHECK(f.symmetric && f.indefinite && f.positive_diagonals == 2);
  f = facts_of(2, (const double[]){1, 3, 3, 9}); /* eigenvalues 10 and 0 */
  CHECK(f.symmetric && !f.indefinite);
  f = facts_of(2, (const double[]){0, 1, 1, 5});
  CHECK(f.symmetric && f.indefinite);
  f = facts_of(2, (const double[]){1e-300, 1e-100, 1e-100, 1e300}); /* a product that is 1, and a square that underflows */
  CHECK(f.symmetric && !f.indefinite);
  f = facts_of(2, (const double[]){1, 2, 2.0000000000000004, 1});
  CHECK(!f.symmetric && !f.indefinite);
  CASE("sums of rows and of columns");
  f = facts_of(3, (const double[]){1.1, -1.1, 0, -0.3, 0.1 + 0.3, -0.1, 7, 0, -7}); /* 0.1 + 0.3 is rounded */
  CHECK(f.zero_row_sums && !f.zero_column_sums);
  f = facts_of(3, (const double[]){1.1, -0.3, 7, -1.1, 0.1 + 0.3, 0, 0, -0.1, -7});
  CHECK(!f.zero_row_sums && f.zero_column_sums);
  f = facts_of(2, (const double[]){1 + 1e-14, -1, -1, 1});
  CHECK(!f.zero_row_sums && !f.zero_column_sums);
  f = facts_of(2, (const double[]){1, -1, 0, 0}); /* an empty row is named as such */
  CHECK(!f.zero_row_sums && !f.zero_column_sums);
  f = facts_of(2, (const double[]){1e308, -1e308, -1e308, 1e308}); /* the sum of sizes overflows */
  CHECK(!f.zero_row_sums && !f.zero_column_sums);
  CASE("spreads beyond f64, a matrix of zeros, one element, a pattern");
  f = facts_of(2, (const double[]){1e-200, 0, 0, 1e200});
  CHECK(isinf(f.row_spread) && isinf(f.column_spread));
  f = facts_of(2, (const double[]){0, 0, 0, 0});
  CHECK(f.row_spread == 1 && f.column_spread == 1 && f.empty_rows == 2 && f.zero_diagonals == 2 && f.symmetric);
  f = facts_of(1, (const double[]){-3});
  CHECK(f.n == 1 && f.negative_diagonals == 1 && f.symmetric && f.first_empty_row == -1 && f.first_zero_diagonal == -1);
  entry entries[] = {{0, 1, 0}, {1, 0, 0}};
  wr_csr *pattern = matrix_of(2, entries, 2, 0);
  CHECK_OK(wr_matrix_facts_find(pattern, &f));
  CHECK(f.symmetric && f.indefinite && f.zero_diagonals == 2 && f.row_spread == 1);
  wr_csr_free(pattern);
}

static void check_random(uint64_t *seed) {
  double a[49];
  int64_t n = 1 + (int64_t)(7 * random_in(seed)), zeros = 0, rows = 0, columns = 0;
  int make_symmetric = random_in(seed) < 0.5, symmetric = 1, minor = 0, positive = 0, negative = 0;
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++) {
      double value = random_in(seed) < 0.5 ? 0 : floor(9 * random_in(seed)) - 3;
      a[i * n + j] = make_symmetric && j < i ? a[j * n + i] : value;
    }
  double widest[2] = {1, 1};
  for (int by_column = 0; by_column < 2; by_column++) {
    double largest = 0, least = INFINITY;
    for (int64_t i = 0; i < n; i++) {
      double norm = 0;
      for (int64_t j = 0; j < n; j++) norm = fmax(norm, fabs(by_column ? a[j * n + i] : a[i * n + j]));
      if (norm > 0) largest = fmax(largest, norm), least = fmin(least, norm);
      if (by_column) columns += norm == 0;
      if (!by_column) rows += norm == 0;
    }
    if (largest > 0) widest[by_column] = largest / least;
  }
  for (int64_t i = 0; i < n; i++) {
    zeros += a[i * n + i] == 0, positive += a[i * n + i] > 0, negative += a[i * n + i] < 0;
    for (int64_t j = 0; j < n; j++) {
      symmetric &= a[i * n + j] == a[j * n + i];
      minor |= i != j && a[i * n + i] * a[j * n + j] - a[i * n + j] * a[i * n + j] < 0;
    }
  }
  wr_matrix_facts f = facts_of(n, a);
  CHECKF(f.zero_diagonals == zeros && f.empty_rows == rows && f.empty_columns == columns, "%lld %lld %lld",
         (long long)f.zero_diagonals, (long long)f.empty_rows, (long long)f.empty_columns);
  CHECKF(f.positive_diagonals == positive && f.negative_diagonals == negative, "%d %d", positive, negative);
  CHECKF(f.row_spread == widest[0] && f.column_spread == widest[1], "%g %g", f.row_spread, f.column_spread);
  CHECKF(f.symmetric == symmetric && f.indefinite == (symmetric && minor), "%d %d, not %d %d", f.symmetric,
         f.indefinite, symmetric, symmetric && minor);
}

int main(void) {
  uint64_t seed = 3;
  test_known();
  for (int trial = 0; trial < 3000; trial++) {
    ground_case(NULL, "random matrix %d", trial);
    check_random(&seed);
  }
  return wr_test_report("matrix_facts");
}
