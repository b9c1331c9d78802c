/* Rows without entries: the least residual that they allow is known from b alone. */
#define _DEFAULT_SOURCE
#include "spmv/matrix/matrix_facts.h"

#include <float.h>
#include <math.h>

#include "tests/solvers/ground.h"

/* The diagonal of `values`; stored: zeros are entries too. */
static wr_csr *diagonal(const double *values, int n, int stored) {
  wr_csr *A = NULL;
  CHECK_OK(wr_csr_create(n, n, n, 1, &A));
  A->nnz = 0;
  for (int i = 0; i < n; i++) {
    if (values[i] != 0 || stored) A->col[A->nnz] = i, A->val[A->nnz++] = values[i];
    A->row_ptr[i + 1] = A->nnz;
  }
  return A;
}

/* b = (3, 4, 0) and row 2 empty: the residual is at least 4/5 of ||b||, and 4. */
static void test_small(void) {
  const double values[] = {2, 0, 1}, b[] = {3, 4, 0};
  for (int stored = 0; stored < 2; stored++) {
    CASE(stored ? "a row of zeros" : "a row without entries");
    wr_csr *A = diagonal(values, 3, stored);
    CHECK_FAILS(WR_EINPUT, wr_check_empty_rows(A, b, 1e-8, 0));
    CHECK_MESSAGE("row 2 has no entries but 0, and the right-hand side is 4 there");
    CHECK_MESSAGE("at least 0.8 ||b||");
    CHECK_FAILS(WR_EINPUT, wr_check_empty_rows(A, b, 0.79, 3.9));
    CHECK_OK(wr_check_empty_rows(A, b, 0.81, 0));
    CHECK_OK(wr_check_empty_rows(A, b, 0, 4.1));
    CHECK_OK(wr_check_empty_rows(A, (const double[]){3, 0, 7}, 0, 0));
    CHECK_OK(wr_check_empty_rows(A, (const double[]){3, 1e-9, 0}, 1e-8, 0));
    CHECK_OK(wr_check_empty_rows(A, (const double[]){0, 0, 0}, 0, 0));
    wr_csr_free(A);
  }
  CASE("no row is empty");
  wr_csr *A = diagonal((const double[]){2, DBL_TRUE_MIN, 1}, 3, 0);
  CHECK_OK(wr_check_empty_rows(A, b, 0, 0));
  wr_free(A->val);
  A->val = NULL; /* entries of a pattern are 1 */
  CHECK_OK(wr_check_empty_rows(A, b, 0, 0));
  wr_csr_free(A);
}

static void test_extreme(void) {
  CASE("squares of b beyond f64, and elements that are not finite");
  wr_csr *A = diagonal((const double[]){2, 0, 1}, 3, 0);
  CHECK_FAILS(WR_EINPUT, wr_check_empty_rows(A, (const double[]){3e300, 4e300, 0}, 0.79, 3.9e300));
  CHECK_FAILS(WR_EINPUT, wr_check_empty_rows(A, (const double[]){3e-300, 4e-300, 0}, 0.79, 3.9e-300));
  CHECK_OK(wr_check_empty_rows(A, (const double[]){3e300, 4e300, 0}, 0, 4.1e300));
  CHECK_OK(wr_check_empty_rows(A, (const double[]){3, INFINITY, 0}, 0, 0)); /* refused with a sentence of its own */
  CHECK_OK(wr_check_empty_rows(A, (const double[]){3, NAN, 0}, 0, 0));
  wr_csr_free(A);
  CASE("many rows, by several threads");
  enum { N = 200000 };
  wr_csr *B = NULL;
  double *ones = room_for(N, sizeof *ones);
  for (int i = 0; i < N; i++) ones[i] = 1;
  CHECK_OK(wr_csr_create(N, N, N, 0, &B));
  for (int i = 0; i < N; i++) {
    int there = i < 150000 || i >= 170000;
    B->row_ptr[i + 1] = B->row_ptr[i] + there;
    if (there) B->col[B->row_ptr[i]] = i;
  }
  B->nnz = B->row_ptr[N];
  omp_set_num_threads(3);
  CHECK_FAILS(WR_EINPUT, wr_check_empty_rows(B, ones, 0.31, 0)); /* sqrt(20000 / 200000) = 0.316... */
  CHECK_MESSAGE("row 150001 ");
  CHECK_OK(wr_check_empty_rows(B, ones, 0.32, 0));
  wr_csr_free(B);
  free(ones);
}

int main(void) {
  test_small();
  test_extreme();
  return wr_test_report("empty_rows");
}
