/* Exponents of elements, rows and columns for equilibration by powers of two: compiled for the host and for devices, so that
 * both find the same ones. */
#ifndef WR_EXPONENTS_H
#define WR_EXPONENTS_H

#include <math.h>
#include <stdint.h>

#include "config/defaults.h"

#ifdef __CUDACC__
#define WR_EXPONENT_INLINE static __host__ __device__ inline
#else
#define WR_EXPONENT_INLINE static inline
#endif

/* The largest exponent of a row or column of zeros: below any other, and sums with it fit an int. */
enum { WR_NO_EXPONENT = INT16_MIN };

/* The e with |value| in [2^(e-1), 2^e), once it is rounded to the 24 digits of f32: the same for a value and for its rounding
 * to f32, which a device holds in a solve in f32. The value is finite and not 0; its rounding is a normal number of f32. */
WR_EXPONENT_INLINE int wr_exponent_of(double value) {
  int exponent;
  double fraction = frexp(value, &exponent);
  return exponent + (fabs(fraction) >= 1 - 0x1p-25);
}

/* The square root's exponent is half of it, rounded down; rows and columns together then move the element by all of it, or by
 * one less where it was odd. */
WR_EXPONENT_INLINE int wr_exponent_half(int exponent) { return exponent >= 0 ? exponent / 2 : -((1 - exponent) / 2); }

/* A sweep's next exponent of a row or column, whose largest element, scaled, has the exponent `largest`. An element of
 * [1/2, 2), whose exponent is 0 or 1, stays. */
WR_EXPONENT_INLINE int wr_exponent_next(int exponent, int largest) {
  int next = exponent - (largest == WR_NO_EXPONENT ? 0 : wr_exponent_half(largest));
  return next > WR_SCALING_EXPONENT ? WR_SCALING_EXPONENT : next < -WR_SCALING_EXPONENT ? -WR_SCALING_EXPONENT : next;
}

#endif
