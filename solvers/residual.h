/* The residual of an answer, computed on the host from the matrix as parsed and the x that is returned, and in about twice
 * f64's precision, so that cancellation does not make a residual look small. */
#ifndef WR_RESIDUAL_H
#define WR_RESIDUAL_H

#include "solvers/system.h"

/* All in the units of the system's scaled b. */
typedef struct wr_residual {
  double norm;  /* of b - A x; INFINITY where x or a row is not finite                                          */
  double error; /* a bound on the error of norm                                                                 */
  double size;  /* || |A| |x| + |b| ||: times 2 u, a bound on the effect of rounding A, b and x to a type of unit u */
  double backward; /* largest |b - A x| / (|A| |x| + |b|) of a row; INFINITY where one of the two is not finite */
  int64_t backward_row; /* the first row of which it is                                                        */
} wr_residual;

/* One row: b - A x, a bound on its error besides the last rounding (0 if nothing was rounded), |A| |x| + |b|. */
typedef struct wr_row_residual {
  double value, error, size;
} wr_row_residual;

/* Row i for x[n] of A x = b. Each product and each sum is kept as two numbers (Dot2 of Ogita, Rump and Oishi 2005). Infinite
 * throughout where an argument is NULL or the system has no row i. */
wr_row_residual wr_residual_row(const wr_system *system, const double *x, int64_t i);

/* |b - A x| / (|A| |x| + |b|) of a row, 0 where all of it is 0. */
double wr_residual_backward(const wr_row_residual *row);

/* x[n]: of A x = b. q[n] := b - A x in the units of the scaled b, if it is not NULL. The same on any number of threads.
 * WR_ENOMEM; WR_EUSAGE for an argument that is NULL or a system that is not built. */
wr_status wr_residual_find(const wr_system *system, const double *x, double *q, wr_residual *found);

#endif
