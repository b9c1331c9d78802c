/* Arithmetic with the elements of a vector on the host: passes over all of them, in parallel, whose results do not depend on
 * the number of threads, and products with a power of two. */
#ifndef WR_ELEMENTS_H
#define WR_ELEMENTS_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "config/status.h"

/* The first element of x[n] that is not finite; -1: all are. */
int64_t wr_first_not_finite(const double *x, int64_t n);

/* The sum of x[n], compensated (Kahan 1965): for elements of one sign right to some units in the last place, whatever n. */
double wr_compensated_sum(const double *x, int64_t n);

/* *copy := x[n], of wr_alloc; NULL: NULL. what: for the message. WR_ENOMEM. */
wr_status wr_copy_elements(const double *x, int64_t n, const char *what, double **copy);

/* Products with a power of two, for scaling: they change no digit of a normal number. */
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
