/* PageRank on the CPU, one strongly connected component after another.
 *
 * With P^T the flow, whose columns have the sum 1 or, for a dangling node, 0, the scores are y / sum(y), where
 *
 *     (I - d P^T) y = v                                                                                            (1)
 *
 * since a dangling node jumps as the teleport does (Del Corso, Gulli and Romani, Fast PageRank computation via a sparse linear
 * system, Internet Mathematics 2, 2005; docs/components.md derives it). In topological order of the components the matrix is
 * block triangular: y of a component follows from (1) for its own rows, with what earlier components give to it on the right.
 * A component of one node is a division, one of few nodes a dense system, and a larger one is solved by Gauss-Seidel sweeps
 * within it, which BiCGSTAB accelerates. Nodes without links in or out, and all links between components, cost one pass. */
#ifndef WR_GAUSS_SEIDEL_H
#define WR_GAUSS_SEIDEL_H

#include "solvers/graph.h"
#include "solvers/scores.h"
#include "solvers/solver.h"
#include "spmv/device/team.h"

typedef struct wr_gauss_seidel_options {
  double damping;       /* d, in [0, 1)                                                                          */
  double change;        /* > 0: to be met by the L1 change of an exact step of the power method from the scores  */
  int64_t multiplies;   /* at most about so many, counted as below                                               */
  double scale, target; /* monitor->progress is called with scale * change and target                            */
} wr_gauss_seidel_options;

typedef struct wr_gauss_seidel_found {
  int met;              /* 1: the change is met                                                                  */
  int interrupted;      /* 0, or the outcome that ended the solve: WR_INTERRUPTED, WR_TIME_LIMIT                 */
  wr_score_bound bound; /* of the scores: bound.residual is the change of a step, bound.bound a bound on the L1 error, */
                        /* rounding included                                                                     */
  double multiplies;    /* links read, divided by the links of the graph                                         */
  double bytes;         /* that the sweeps moved, with their vectors                                             */
  double sweeps;        /* over the largest component                                                            */
  int64_t components;   /* in all, of which ...                                                                  */
  int64_t single;       /* ... have one node, ...                                                                */
  int64_t dense;        /* ... and are solved as dense systems                                                   */
  int64_t largest;      /* nodes of the largest one                                                              */
} wr_gauss_seidel_found;

/* scores[n], of the sum 1. start[n], >= 0: a guess, or NULL. team: the threads, or NULL: the calling one. graph is finished on
 * the host, and not renumbered (wr_graph_order). All bits are the same on any number of threads. Not meeting the change is no
 * error: the scores are then the last ones, and found->bound holds for them, too. The history gets the change at the end.
 * Memory beside the graph: about 40 bytes for each node, and for the largest component 4 bytes for each link within (12 with
 * weights) and 100 for each node. WR_ENOMEM, WR_EUSAGE. */
wr_status wr_gauss_seidel_solve(const wr_graph *graph, const wr_gauss_seidel_options *options, const double *start,
                                wr_team *team, const wr_monitor *monitor, double *scores, wr_gauss_seidel_found *found);

#endif
