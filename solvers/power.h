/* Products with a power of two, for scaling: they change no digit of a normal number. */
#ifndef WR_POWER_H
#define WR_POWER_H

#include <math.h>
#include <stdlib.h>

typedef struct wr_scale_factor {
  double unit; /* 2^exponent, or 0 where that is too close to the ends of f64 for a product with it to be ldexp */
  int exponent;
} wr_scale_factor;

static inline wr_scale_factor wr_scale_of(int exponent) {
  return (wr_scale_factor){.unit = abs(exponent) <= 1000 ? ldexp(1, exponent) : 0, .exponent = exponent};
}

static inline double wr_scale_times(wr_scale_factor power, double value) {
  return power.unit != 0 ? value * power.unit : ldexp(value, power.exponent);
}

#endif
