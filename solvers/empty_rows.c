#include "solvers/empty_rows.h"

#include <math.h>
#include <stddef.h>

static int is_empty(const wr_csr *A, int64_t i) {
  for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++)
    if (A->val == NULL || A->val[k] != 0) return 0;
  return 1;
}

/* Squares are of elements divided by the largest one, so that none overflows. */
wr_status wr_check_empty_rows(const wr_csr *A, const double *b, double tolerance, double atol) {
  double largest = 0, all = 0, empty = 0;
  int64_t first = A->nrows;
  for (int64_t i = 0; i < A->nrows; i++) largest = fmax(largest, fabs(b[i]));
  if (largest == 0 || !isfinite(largest)) return WR_OK;
#pragma omp parallel for schedule(static) reduction(+ : all, empty) reduction(min : first) if (A->nrows > 1 << 16)
  for (int64_t i = 0; i < A->nrows; i++) {
    double square = (b[i] / largest) * (b[i] / largest);
    all += square;
    if (b[i] == 0 || !is_empty(A, i)) continue;
    empty += square;
    if (i < first) first = i;
  }
  double least = sqrt(empty / all);
  if (!(least > tolerance && sqrt(empty) > atol / largest)) return WR_OK;
  return wr_fail(
      WR_EINPUT,
      "row %lld has no entries but 0, and the right-hand side is %g there: no x solves the system; ||b - A x|| "
      "is at least %.3g ||b|| for every x, and %.3g ||b|| is asked for",
      (long long)first + 1, b[first], least, tolerance);
}
