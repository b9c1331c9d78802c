/* PageRank as a linear system, by IDR(4).
 *
 * With P^T the flow, whose columns have the sum 1 or, for a dangling page, 0, and with m the rank of all dangling pages, the
 * scores r satisfy r = d (P^T r + m v) + (1 - d) v, that is (I - d P^T) r = (d m + 1 - d) v. So r is y / sum(y), where
 *
 *     (I - d P^T) y = v
 *
 * Let q = v - (I - d P^T) y for any y with sum s > 0. A step of the power method changes y / s by (q - sum(q) v) / s, which is
 * at most (||q||_1 + |sum(q)|) / s: the change of a step, by which this solver is stopped (docs/ranking.md). */
#ifndef WR_RANK_LINEAR_H
#define WR_RANK_LINEAR_H

#include "solvers/graph.h"
#include "solvers/solver.h"
#include "spmv/spmv.h"

typedef struct wr_rank_linear wr_rank_linear;

typedef struct wr_rank_linear_options {
  double damping;      /* d, 0 < d < 1                                                  */
  double change;       /* > 0: to be met by the L1 change of a step                      */
  int64_t multiplies;  /* at most so many                                              */
  int no_graph, no_resident; /* as in wr_pagerank_options                                */
  double scale, target; /* monitor->progress is called with scale * change and target    */
} wr_rank_linear_options;

typedef struct wr_rank_linear_found {
  int met;             /* 1: the change is met                                            */
  int interrupted;     /* 0, or the outcome that ended the solve: WR_INTERRUPTED, WR_TIME_LIMIT */
  double change;       /* of a step from ranks, as the device computed it; INFINITY: there are none, the sum is not positive */
  double first;        /* of a step from the start                                        */
  int64_t multiplies;  /* all that were requested                                         */
  int restarts;
  double bytes;        /* that these multiplies and their vectors moved                   */
  wr_repeats repeats;
  const char *why;     /* why the change is not met: a clause; NULL if it is, or after an interruption */
} wr_rank_linear_found;

/* Vectors that a solver allocates, of the type and at the place of env. */
enum { WR_RANK_LINEAR_VECTORS = 18 };

/* Bytes that a multiply of it moves, with its share of the vectors. */
double wr_rank_linear_bytes(const wr_graph *graph, const wr_plan *plan, const wr_env *env);

/* Allocates the vectors. graph, plan and env must outlive it. WR_ENOMEM. */
wr_status wr_rank_linear_open(const wr_graph *graph, wr_plan *plan, wr_env *env, wr_rank_linear **linear);
void wr_rank_linear_close(wr_rank_linear *linear); /* NULL is fine */

/* ranks[n], in the order of the flow, at the place of env: in: where to begin, of the sum 1; out: y / sum(y), where
 * found->change is finite, or as they were. Elements may be slightly negative. The history gets the change of a step at each
 * iteration by its number of multiplies, estimated from ||q||_2 and the ratio of the norms when both were last known. A
 * breakdown restarts. Not meeting the change is no error. WR_EUSAGE, WR_EDEVICE and the like. */
wr_status wr_rank_linear_solve(wr_rank_linear *linear, const wr_rank_linear_options *options, const wr_monitor *monitor,
                               wr_vec *ranks, wr_rank_linear_found *found);

#endif
