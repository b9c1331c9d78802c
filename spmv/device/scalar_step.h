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

/* The steps that give a flag: 0 or 1. */
WR_STEP_INLINE int wr_scalar_is_flag(int code) {
  return code == WR_S_LESS || code == WR_S_NONZERO || code == WR_S_AND || code == WR_S_OR || code == WR_S_NOT ||
         code == WR_S_GO;
}

/* Whether such a step gives 1. is_a, is_b: whether that operand differs from 0, as NaN does. Without a branch, which a card
 * would wait for. */
WR_STEP_INLINE int wr_scalar_flag(int code, double a, double b, int is_a, int is_b) {
  switch (code) {
    case WR_S_LESS: return a < b;
    case WR_S_NONZERO: return (fabs(a) > 0) & (fabs(a) < INFINITY);
    case WR_S_AND: return is_a & is_b;
    case WR_S_OR: return is_a | is_b;
    case WR_S_NOT: return !is_a;
    default: return is_a; /* WR_S_GO */
  }
}

/* What the other steps give. Adding to a log is the caller's. */
WR_STEP_INLINE double wr_scalar_value(int code, double a, double b, double c, int is_a, int is_c) {
  switch (code) {
    case WR_S_COPY: return a;
    case WR_S_ADD: return a + b;
    case WR_S_SUB: return a - b;
    case WR_S_MUL: return a * b;
    case WR_S_DIV: return a / b;
    case WR_S_ABS: return fabs(a);
    case WR_S_SQRT: return sqrt(a);
    case WR_S_PUSH: return is_c ? a + 1 : a;
    default: return is_a ? b : c; /* WR_S_SELECT */
  }
}

/* The values of the step's operands. Adding to a log and ending a loop are the caller's. */
WR_STEP_INLINE double wr_scalar_step(int code, double a, double b, double c) {
  if (wr_scalar_is_flag(code)) return wr_scalar_flag(code, a, b, a != 0, b != 0);
  return wr_scalar_value(code, a, b, c, a != 0, c != 0);
}

#endif
