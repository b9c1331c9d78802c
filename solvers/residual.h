/* The residual of an answer, computed on the host from the matrix as parsed and the x that is returned, and in about twice
 * f64's precision, so that cancellation does not make a residual look small. */
#ifndef WR_RESIDUAL_H
#define WR_RESIDUAL_H

#include "solvers/system.h"

/* All in the units of the system's scaled b. */
typedef struct wr_residual {
  double norm;  /* of b - A x; INFINITY where x or a row is not finite, or the norm beyond f64                  */
  double error; /* a bound on the error of norm                                                                 */
  double size;  /* || |A| |x| + |b| ||: times 2 u, a bound on the effect of rounding A, b and x to a type of unit u */
  double backward; /* largest |b - A x| / (|A| |x| + |b|) of a row; INFINITY where x or a row is not finite */
  int64_t backward_row; /* the first row of which it is                                                        */
} wr_residual;

/* One row. */
typedef struct wr_row_residual {
  double value;    /* b - A x                                                                                */
  double error;    /* a bound on the error of value besides its last rounding; 0 if nothing was rounded      */
  double size;     /* |A| |x| + |b|                                                                          */
  double backward; /* |value| / size, 0 where both are 0. It is right where the others, in the units of b, are */
                   /* below the least number of f64 and 0, or above the largest and infinite                 */
} wr_row_residual;

/* Row i for x[n] of A x = b. Each product and each sum is kept as two numbers (Dot2 of Ogita, Rump and Oishi 2005). Infinite
 * throughout where a number in the row or in the elements of x that it takes is not finite, an argument is NULL, or the system
 * has no row i. */
wr_row_residual wr_residual_row(const wr_system *system, const double *x, int64_t i);

/* 1 if the residual, with its error, is at most tolerance ||b||, or by_backward the backward error at most tolerance; or if the
 * residual is within the system's atol. 0 for one that is not finite, and where an argument is NULL. */
int wr_residual_meets(const wr_system *system, const wr_residual *found, double tolerance, int by_backward);

/* x[n]: of A x = b. q[n] := b - A x in the units of the scaled b, if it is not NULL. The same on any number of threads.
 * WR_ENOMEM; WR_EUSAGE for an argument that is NULL or a system that is not built. */
wr_status wr_residual_find(const wr_system *system, const double *x, double *q, wr_residual *found);

#endif
