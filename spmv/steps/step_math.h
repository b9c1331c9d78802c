/* Arithmetic for steps, with the same bits on the host and on a device. */
#ifndef WR_STEP_MATH_H
#define WR_STEP_MATH_H

#include <math.h>
#include <stdint.h>

#include "spmv/steps/step.h"

#ifdef __CUDACC__
#define WR_STEP static __host__ __device__ inline
#else
#define WR_STEP static inline
#endif

/* Steps combine conditions by & and |, since && and || compile to branches, which add latency on a device. */

/* A flag as a scalar: 1 or 0. A conversion from int would take ten times as long on a device. */
WR_STEP double wr_flag(int is_set) { return is_set ? 1.0 : 0.0; }

/* Whether x is finite and not 0. */
WR_STEP int wr_is_usable(double x) { return (fabs(x) > 0) & (fabs(x) < INFINITY); }

/* a * b, rounded: never part of a fused multiply-add. Needed where an addition follows. */
WR_STEP double wr_product(double a, double b) {
#ifdef __CUDA_ARCH__
  return __dmul_rn(a, b);
#else
  return a * b;
#endif
}

#if defined(__CUDA_ARCH__) && !defined(WR_SIMT)
/* Whether |x| is in [2^-900, 2^901). */
static __device__ inline bool wr_is_ordinary(double x) {
  unsigned high = (unsigned)(__double_as_longlong(x) >> 32) & 0x7fffffff, least = (1023 - 900) << 20;
  return high - least < 1801u << 20;
}

/* a / b by the steps of div.rn.f64, hence with its bits, but without its branch, so that several divisions overlap. *is_exact
 * := 0 if these steps may round differently, since an operand or the quotient is not ordinary. They are also exact for a = +0
 * with b 0 or ordinary; such quotients occur in surplus iterations after the end of a solve. */
static __device__ inline double wr_quotient_by_steps(double a, double b, bool *is_exact) {
  double r;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(b));
  r = __hiloint2double(__double2hiint(r), 1);
  double e = fma(-b, r, 1.0);
  r = fma(r, fma(e, e, e), r);
  r = fma(r, fma(-b, r, 1.0), r);
  double q = __dmul_rn(a, r);
  q = fma(r, fma(-b, q, a), q);
  bool is_zero = (__double_as_longlong(a) == 0) & ((b == 0) | wr_is_ordinary(b));
  *is_exact &= is_zero | (wr_is_ordinary(a) & wr_is_ordinary(b) & wr_is_ordinary(q));
  return q;
}
#endif

/* *q := a / b and *r := c / d; on a device the two divisions overlap. */
WR_STEP void wr_quotients(double a, double b, double c, double d, double *q, double *r) {
#if defined(__CUDA_ARCH__) && !defined(WR_SIMT)
  bool is_exact = true;
  *q = wr_quotient_by_steps(a, b, &is_exact), *r = wr_quotient_by_steps(c, d, &is_exact);
  if (is_exact) return;
#endif
  *q = a / b, *r = c / d;
}

/* a / b. */
WR_STEP double wr_quotient(double a, double b) {
#if defined(__CUDA_ARCH__) && !defined(WR_SIMT)
  bool is_exact = true;
  double q = wr_quotient_by_steps(a, b, &is_exact);
  if (is_exact) return q;
#endif
  return a / b;
}

/* A scalar that is an index, from `least` to `most`; any other value gives `least`. */
WR_STEP int wr_step_index(double value, int least, int most) {
  return ((value >= least) & (value <= most)) ? (int)value : least;
}

/* If is_due, requests two entries of the log and adds 2 to *logged, the number of entries so far. */
WR_STEP void wr_step_log(wr_step_request *request, int is_due, double *logged, double first, double second) {
  request->logs = is_due, request->at = *logged;
  request->entry[0] = first, request->entry[1] = second;
  *logged = is_due ? *logged + 2 : *logged;
}

/* Stores the requested entries, at the place that runs the step: log[room], or NULL with room 0. */
WR_STEP void wr_step_add_to_log(const wr_step_request *request, double *log, double room) {
  for (int k = 0; k < 2; k++)
    if (request->logs && request->at + k >= 0 && request->at + k < room)
      log[(int64_t)(request->at + k)] = request->entry[k];
}

/* For a step at the end of a part of a loop: whether the loop goes on. Returns it as a flag. */
WR_STEP double wr_step_decide(wr_step_request *request, int goes_on) {
  request->decides = 1, request->goes_on = goes_on;
  return wr_flag(goes_on);
}

#endif
