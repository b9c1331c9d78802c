/* What one step of a scalar program gives, on the host and on a device alike (vec.h, wr_scalar_code). */
#ifndef WR_SCALAR_STEP_H
#define WR_SCALAR_STEP_H

#include <math.h>

#include "spmv/device/vec.h"

#ifdef __CUDACC__
#define WR_STEP_INLINE static __host__ __device__ inline
#else
#define WR_STEP_INLINE static inline
#endif

/* The values of the step's operands. Adding to a log and ending a loop are the caller's. */
WR_STEP_INLINE double wr_scalar_step(int code, double a, double b, double c) {
  switch (code) {
    case WR_S_COPY: return a;
    case WR_S_ADD: return a + b;
    case WR_S_SUB: return a - b;
    case WR_S_MUL: return a * b;
    case WR_S_DIV: return a / b;
    case WR_S_ABS: return fabs(a);
    case WR_S_LESS: return a < b;
    case WR_S_NONZERO: return a != 0 && isfinite(a);
    case WR_S_AND: return a != 0 && b != 0;
    case WR_S_OR: return a != 0 || b != 0;
    case WR_S_NOT: return a == 0;
    case WR_S_SQRT: return sqrt(a);
    case WR_S_PUSH: return c != 0 ? a + 1 : a;
    case WR_S_GO: return a != 0;
    default: return a != 0 ? b : c; /* WR_S_SELECT */
  }
}

#endif
