/* Verification on the host in f64, from the matrix as parsed and not from what the solver or a device made of it. It checks
 * that the device multiplied right: the last product is repeated, and each row must agree within the rounding of the device's
 * types. And it checks that the tolerance is met, by numbers that the host computed itself. */
#ifndef WR_VERIFY_H
#define WR_VERIFY_H

#include <stdint.h>

#include "solvers/graph.h"
#include "solvers/residual.h"
#include "solvers/system.h"
#include "spmv/spmv.h"

typedef enum wr_verified { WR_VERIFY_OFF, WR_VERIFY_DEVICE, WR_VERIFY_SAMPLE, WR_VERIFY_FULL } wr_verified;

/* What verification found. */
typedef struct wr_verdict {
  wr_verified level;
  int64_t rows;            /* checked on the host                                                     */
  int multiplied_right;    /* 1: every checked row is within the rounding bound                       */
  double worst_row;        /* largest error / bound over the checked rows                             */
  int met_tolerance;       /* 1: the answer meets the tolerance                                       */
  double measure, limit;   /* the true residual (or change of an exact step), and its limit           */
  int on_host;             /* BiCGSTAB: 1: the host computed measure; 0: the device did               */
  double attainable;       /* BiCGSTAB: a bound on what rounding in this precision adds to the residual; 0: not known */
  double backward_error;   /* BiCGSTAB: componentwise, the largest of the rows of which it is known   */
  int64_t backward_row;    /* BiCGSTAB: the first row that has it                                     */
  int64_t backward_rows;   /* BiCGSTAB: rows of which it is known                                     */
} wr_verdict;

/* How the device rounds. */
typedef struct wr_rounding {
  double unit;      /* of the stored type                              */
  double sum_unit;  /* in which it adds up the terms of a row          */
  double term_unit; /* in which it rounds each term besides, or 0      */
} wr_rounding;

wr_rounding wr_rounding_of(const wr_env *env, const wr_plan *plan);

/* ranks[n]: r of the device, not normalised; step[n]: the result of one more step on the device. level: full, or sample (rows:
 * how many, spread evenly), which cannot compute the change of the whole step and takes that of the device.
 * dangling: the mass of the dangling pages as the device summed it; it is checked with the bound of a sum with at
 * most 2048 + n / 512 additions in a chain. Row bound: (4 u + term_unit + 2^-52 + (length + 2) * sum_unit) * value.
 * Tolerance: an exact step changes r by at most (1 - d) t + 8 u + term_unit + sum_unit * sum_i (length of row i) r_i;
 * stop by change: t in place of (1 - d) t. Of a graph in parts each checks its own pages, ranks[n] and step[n], and the verdict
 * is that of all; collective. */
wr_status wr_verify_pagerank(const wr_graph *graph, double damping, double tolerance, int stop_on_change,
                             wr_rounding rounding, const double *ranks, const double *step, double device_change,
                             double dangling, wr_verified level, int64_t rows, wr_verdict *verdict);

/* The largest error of one row of a product that was multiplied right. size: sum of |terms|; x_sum: sum of the |x| in them,
 * since a value that the stored type makes denormal or 0 is off by half of the type's least number, whatever its size. */
double wr_row_bound(wr_rounding rounding, double length, double size, double x_sum);

/* The results of a solve that are checked, on the host. */
typedef struct wr_solved {
  const double *x;          /* [n] the answer, of A x = b                                                     */
  const double *u, *b, *q;  /* [n] the last product: q = b - matrix u as the device computed it, in its rows   */
  double norm;              /* ||b - A x|| in the units of the scaled b, as the solver found it               */
  const wr_residual *found; /* the host's residual of this x; NULL: it is computed here if the level is full */
  int by_backward;          /* 1: the backward error of all rows has to meet the tolerance, not the residual */
} wr_solved;

/* Checks that q was multiplied right, in all rows or a sample of so many, and that ||b - A x|| <= max(t ||b||, atol): by the
 * host's residual of x, or if the level is not full and the solver needed none, by the device's, if the solver has found
 * its rounding too small to matter. The limit is not widened for rounding; verdict->attainable is a bound on it. Row bound:
 * wr_row_bound, (4 u + term_unit + (length + 2) sum_unit) (|A||u| + |b|), and more for terms that underflow. By the backward
 * error: that this is at most t, which takes the host's residual, or ||b - A x|| <= atol. WR_ENOMEM. */
wr_status wr_verify_system(const wr_system *system, double tolerance, wr_rounding rounding, const wr_solved *solved,
                           wr_verified level, int64_t rows, wr_verdict *verdict);

#endif
