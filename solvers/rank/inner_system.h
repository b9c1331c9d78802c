/* The linear system of one component, and its solution by Gauss-Seidel sweeps that BiCGSTAB accelerates. For gauss_seidel.c.
 *
 * The unknowns are x = y / out-degree for links without weights, which then need no values, and x = y for links with weights,
 * which are stored divided by the out-weight. In row k, for nodes in the order of the component's places, with the sum over
 * links from other nodes of the component,
 *
 *     x_k = diagonal_k (right_k + d sum_j w_kj x_j)                                                                 (1)
 *
 * Rows are cut into blocks, by sizes alone. Within a block a sweep uses the x of this sweep for earlier rows; for later rows
 * and for other blocks it uses the x before. So blocks can be swept at the same time, with the same result. */
#ifndef WR_INNER_SYSTEM_H
#define WR_INNER_SYSTEM_H

#include <stdint.h>

#include "solvers/graph.h"
#include "solvers/rank/components.h"
#include "solvers/solver.h"
#include "spmv/device/team.h"

enum { WR_INNER_BLOCKS = 64 }; /* at most */

/* Sums over the rows of a block. */
typedef struct wr_inner_sums {
  double of[4];
} wr_inner_sums;

/* The vectors have m elements, for the component that is solved now, and memory for the largest. */
typedef struct wr_inner_system {
  const wr_graph *graph;
  const wr_components *components;
  wr_team *team;
  double damping;
  int64_t m, links; /* rows; links from other nodes of the component                                        */
  int64_t *row_ptr; /* [m + 1]                                                                              */
  uint32_t *col;    /* [links] j for an x of this sweep, m + j for one before it                            */
  double *val;      /* [links] or NULL: all 1                                                               */
  double *diagonal; /* [m] scale / (1 - d scale w_kk)                                                       */
  double *right;    /* [m] what (1) calls so: the teleport, and d times what earlier components give        */
  double *weight;   /* [m] d times the sum of w over links from this node that use its x before the sweep   */
  double *x;        /* [m] the iterate                                                                      */
  double *kept;     /* [m] a copy of it, to which a solve without success returns                           */
  double *shadow;   /* [m] the first residual of BiCGSTAB                                                   */
  double *v;        /* [2 m] v, and behind it p: a sweep reads both as one array                            */
  double *t;        /* [2 m] t, and behind it r                                                             */
  int blocks;
  int64_t block[WR_INNER_BLOCKS + 1]; /* first rows, and m                                                  */
  wr_inner_sums sums[WR_INNER_BLOCKS];
  double *output;   /* of the apply in progress: v or t                                                     */
  double alpha, omega, beta; /* of the update in progress                                                   */
  int64_t sweeps;   /* since begin                                                                          */
} wr_inner_system;

/* Room for the largest component of the graph that has `least` nodes or more; without one nothing is allocated. WR_ENOMEM */
wr_status wr_inner_open(const wr_graph *graph, const wr_components *components, double damping, int64_t least,
                        wr_team *team, wr_inner_system *s);
void wr_inner_close(wr_inner_system *s); /* a zeroed one is fine */

/* The system of a component. given[n]: x of all nodes of earlier components, by node; 0 for later ones and for this. */
void wr_inner_begin(wr_inner_system *s, int64_t component, const double *given);

/* x := that of guess[n], multiplied so that the residual of the rows has the sum 0. Where that is not possible, x := 0.
 * guess: y by node; NULL: y in proportion to the right-hand side. Returns the sum of y. */
double wr_inner_guess(wr_inner_system *s, int64_t component, const double *guess);

/* How a solve went. */
typedef struct wr_inner_end {
  double residual; /* a bound on the L1 norm of the residual of (1), in units of y, but for rounding    */
  int interrupted; /* 0, or the outcome by which the monitor ended it                                 */
} wr_inner_end;

/* Sweeps until the residual is `target` at most, or cannot become smaller, or so many sweeps have been done. One at least.
 * progress(context, residual, sweeps), if not NULL, is called now and then. */
typedef void wr_inner_progress(void *context, double residual, int64_t sweeps);
wr_inner_end wr_inner_solve(wr_inner_system *s, double target, int64_t most, const wr_monitor *monitor,
                            wr_inner_progress *progress, void *context);

#endif
