/* Whether a matrix is symmetric, and its diagonal positive: on small pictures, and on a matrix of so many rows that threads
 * share them, with one fault at any place. */
#include "spmv/matrix/matrix_facts.h"
#include "tests/solvers/ground.h"

enum { SIZE = 70000 }; /* rows, more than one thread looks at alone */

static void expect(int expected, int symmetric, int64_t n, const double *picture, const char *what) {
  wr_csr *A = matrix_of_picture(n, picture);
  CASE(what);
  CHECKF(wr_is_symmetric_positive(A) == expected, "not %d", expected);
  CHECKF(wr_is_symmetric(A) == symmetric, "symmetric: not %d", symmetric);
  wr_csr_free(A);
}

/* A chain with 2 on the diagonal and 1 beside it. */
static wr_csr *chain(void) {
  entry *entries = room_for(3 * SIZE, sizeof *entries);
  int64_t count = 0;
  for (int64_t i = 0; i < SIZE; i++) {
    if (i > 0) entries[count++] = (entry){i, i - 1, 1};
    entries[count++] = (entry){i, i, 2};
    if (i + 1 < SIZE) entries[count++] = (entry){i, i + 1, 1};
  }
  wr_csr *A = matrix_of(SIZE, entries, count, 1);
  free(entries);
  return A;
}

static void test_many_rows(void) {
  wr_csr *A = chain();
  CASE("a long chain");
  CHECK(wr_is_symmetric_positive(A) == 1);
  for (int64_t i = 0; i < SIZE; i += SIZE / 7) {
    int64_t diagonal = A->row_ptr[i] + (i > 0), other = A->row_ptr[i + 1] - 1; /* right of it, or itself in the last row */
    A->val[other] = -3;
    CHECKF(wr_is_symmetric_positive(A) == 0, "an entry of row %lld", (long long)i);
    A->val[other] = other == diagonal ? 2 : 1;
    A->val[diagonal] = 0;
    CHECKF(wr_is_symmetric_positive(A) == 0, "the diagonal of row %lld", (long long)i);
    A->val[diagonal] = 2;
  }
  CHECK(wr_is_symmetric_positive(A) == 1);
  wr_csr_free(A);
}

/* Entries of 0 that are stored without a mirror image, or with another value there. */
static void test_zeros(void) {
  entry entries[] = {{0, 0, 2}, {0, 1, 0}, {1, 1, 2}, {1, 2, 3}, {2, 0, 0}, {2, 1, 3}, {2, 2, 5}};
  enum { COUNT = sizeof entries / sizeof *entries };
  CASE("stored zeros");
  wr_csr *A = matrix_of(3, entries, COUNT, 1);
  CHECK(A->nnz == COUNT && wr_is_symmetric_positive(A) == 1);
  wr_matrix_facts facts = {0};
  CHECK_OK(wr_matrix_facts_find(A, &facts));
  CHECK(facts.symmetric);
  A->val[1] = 1; /* row 0, column 1: there is no entry in row 1, column 0 */
  CHECK(wr_is_symmetric_positive(A) == 0);
  A->val[1] = 0, A->val[4] = -1; /* row 2, column 0 */
  CHECK(wr_is_symmetric_positive(A) == 0);
  CHECK_OK(wr_matrix_facts_find(A, &facts));
  CHECK(!facts.symmetric);
  wr_csr_free(A);
}

int main(void) {
  expect(1, 1, 1, (const double[]){3}, "n = 1");
  expect(0, 1, 1, (const double[]){-3}, "n = 1, negative");
  expect(0, 1, 1, (const double[]){0}, "n = 1, empty");
  expect(1, 1, 3, (const double[]){2, -1, 0, -1, 2, 5, 0, 5, 1}, "symmetric, indefinite");
  expect(0, 0, 3, (const double[]){2, -1, 0, 1, 2, 5, 0, 5, 1}, "another value");
  expect(0, 0, 3, (const double[]){2, 1, 0, 0, 2, 5, 0, 5, 1}, "an entry above the diagonal without its image");
  expect(0, 0, 3, (const double[]){2, 0, 0, 1, 2, 5, 0, 5, 1}, "an entry below the diagonal without its image");
  expect(0, 1, 3, (const double[]){2, 1, 0, 1, 0, 5, 0, 5, 1}, "no diagonal element");
  expect(0, 0, 2, (const double[]){1, NAN, NAN, 1}, "NaN");
  expect(0, 0, 2, (const double[]){NAN, 1, 1, 1}, "NaN on the diagonal");
  /* a_01 and a_10 may differ by 1e-12 sqrt(a_00 a_11) = 2e-12 where conjugate gradients are chosen */
  expect(1, 0, 2, (const double[]){1, 1, 1 + 1e-13, 4}, "rounding");
  expect(1, 0, 2, (const double[]){1, 1 + 1e-12, 1, 4}, "rounding above");
  expect(0, 0, 2, (const double[]){1, 1, 1 + 1e-11, 4}, "more than rounding");
  expect(1, 0, 2, (const double[]){1, 1e-13, 0, 4}, "a small entry above without its image");
  expect(1, 0, 2, (const double[]){1, 0, 1e-13, 4}, "a small entry below without its image");
  expect(0, 0, 2, (const double[]){1, 1e-11, 0, 4}, "a larger entry above without its image");
  expect(1, 0, 3, (const double[]){1, 1e-13, 0, 0, 4, 0, 1e-13, 0, 1}, "one on each side");
  expect(1, 0, 2, (const double[]){1e200, 1e200, 1.0000000000001e200, 4e200}, "rounding of large values");
  expect(0, 0, 2, (const double[]){1e-200, 1e-13, 0, 1e-200}, "beside a small diagonal");
  CASE("arguments");
  CHECK(wr_is_symmetric_positive(NULL) == 0);
  wr_csr bare = {.nrows = 2, .ncols = 2};
  CHECK(wr_is_symmetric_positive(&bare) == 0 && wr_is_symmetric(&bare) == 0 && wr_is_symmetric(NULL) == 0);
  test_zeros();
  test_many_rows();
  return wr_test_report("symmetry");
}
