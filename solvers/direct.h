/* A linear system by a direct method, on the host: LU factors of the matrix by KLU, part of SuiteSparse, and iterative
 * refinement. For systems that no iterative method solves. A build without KLU has these functions, too: they answer that it is
 * missing. */
#ifndef WR_DIRECT_H
#define WR_DIRECT_H

#include "solvers/solver.h"
#include "solvers/system.h"

typedef struct wr_direct_options {
  double tolerance; /* x is accepted at ||b - A x|| <= max(tolerance * ||b||, the system's absolute)                     */
  int by_backward;  /* 1: where the componentwise backward error is at most tolerance, or ||b - A x|| at most the system's */
                    /* absolute                                                                                            */
} wr_direct_options;

/* WR_OK, or WR_EUNAVAILABLE with the package that this build lacks. */
wr_status wr_direct_check(void);

/* x[n] := the solution of A x = b, in f64. Factorises the system's matrix, which is A reordered and scaled where the system was
 * built so, and refines x (Wilkinson 1963) with residuals of A as parsed until it is accepted or a step gains less than a
 * factor of two. facts->outcome: WR_CONVERGED: x is accepted. WR_STAGNATED: it is not, and x is the best that was found. Else x
 * is not set: WR_BREAKDOWN: the matrix is singular. WR_NON_FINITE: the factors or x are beyond f64. WR_TIME_LIMIT and
 * WR_INTERRUPTED: the monitor's deadline or interrupt came first. KLU cannot be stopped: it computes in a thread of its own,
 * which is then left to itself and ends at its next allocation, or with the process. The same x on any number of threads.
 * Errors: WR_ENOMEM: the factors need more memory than there is, as estimated before they are computed or found then;
 * WR_EUNAVAILABLE as above; WR_EUSAGE. */
wr_status wr_direct_solve(const wr_system *system, const wr_direct_options *options, const wr_monitor *monitor,
                          double *x, wr_direct_facts *facts);

#endif
