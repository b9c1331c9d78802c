/* The residual of a solution, by long double and apart from the library, through windrow.h alone. */
#ifndef WR_TRUE_RESIDUAL_H
#define WR_TRUE_RESIDUAL_H

#include <math.h>
#include <stdint.h>

#include "solvers/api/windrow.h"

/* ||b - A x|| / ||b||, without overflow of the squares; ||A x|| where b is 0. */
static inline double residual(const wr_matrix *A, const double *b, const double *x) {
  const int64_t *ptr = wr_matrix_row_ptr(A);
  long double sum = 0, norm = 0, scale = 0;
  for (int64_t i = 0; i < wr_matrix_rows(A); i++) scale = fmaxl(scale, fabsl((long double)b[i]));
  if (scale == 0) scale = 1;
  for (int64_t i = 0; i < wr_matrix_rows(A); i++) {
    long double r = b[i];
    for (int64_t k = ptr[i]; k < ptr[i + 1]; k++)
      r -= (long double)(wr_matrix_val(A) ? wr_matrix_val(A)[k] : 1) * x[wr_matrix_col(A)[k]];
    sum += r / scale * (r / scale), norm += b[i] / scale * (b[i] / scale);
  }
  return (double)(norm > 0 ? sqrtl(sum / norm) : sqrtl(sum));
}

#endif
