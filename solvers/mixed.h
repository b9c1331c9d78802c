/* Corrections of ranks in f64 by sweeps in f32. For pagerank.c, which measures every corrected rank in f64.
 *
 * With S = P^T + v (dangling)^T, in which a dangling page links to the teleport, a step of the power method is
 * G(r) = d S r + (1 - d) v. For any r of the sum 1 let rho = G(r) - r be its change. Then the scores are r + z, where
 *
 *     (I - d S) z = rho                                                                                            (1)
 *
 * (1) is solved in f32 for rho / |rho| by the power method: the dangling mass of z counts as that of ranks does, but there is
 * no 1 - d. What f32 rounds is small beside rho. Where the teleport is a vector, or for Chebyshev's method, it is rather
 *
 *     (I - d P^T) z = rho                                                                                          (2)
 *
 * since no sweep adds two vectors. Then r + z is a multiple of the scores: (I - d P^T)(r + z) = (d m(r) + 1 - d) v. The first
 * correction is that of r = 0, so neither a step in f64 nor a vector rho is needed, and its z begins at v. In each case r + z
 * is divided by its sum (docs/ranking.md). */
#ifndef WR_MIXED_H
#define WR_MIXED_H

#include "solvers/pagerank.h"

typedef struct wr_mixed {
  wr_pagerank sweeps;    /* in f32: its x has z, and its direction is rho; of the first correction v   */
  struct wr_iteration *loops[2]; /* of later corrections, of the first one                                */
  int shares_scale;      /* 1: the scale's memory is that of the solver in f64                         */
  /* of the solve so far */
  int64_t multiplies;    /* in f32                                                                     */
  double bytes;          /* that these moved                                                           */
  int64_t most;          /* multiplies of the correction that had the most, ...                        */
  wr_repeats repeats;    /* ... and how they were repeated                                             */
} wr_mixed;

/* wide: in f64, and open. plan and env, of the same flow and place in f32, must outlive it. WR_ENOMEM, WR_EDEVICE. */
wr_status wr_mixed_open(const wr_pagerank *wide, wr_plan *plan, wr_env *env, wr_mixed **mixed);
void wr_mixed_close(wr_mixed *mixed); /* NULL is fine */

/* Before the corrections of a solve. */
void wr_mixed_begin(wr_mixed *mixed);

/* By how much f32 can reduce a change at this damping, with a margin. */
double wr_mixed_floor(double damping);

typedef struct wr_correction {
  const wr_pagerank_options *options; /* damping, method, check_every, no_graph, no_resident, stop_on_change, tolerance */
  const wr_monitor *monitor;
  double change;        /* ||rho||_1; 0: the first one, r = 0                                                  */
  double target;        /* on the change of a step in f64                                                      */
  double steps, limit;  /* multiplies of the solve so far, and allowed before the step that follows             */
} wr_correction;

typedef struct wr_corrected {
  double steps;         /* multiplies of the correction                                                        */
  int is_cut;           /* 1: ended by the limit                                                                */
  int interrupted;      /* 0, or the outcome by which the monitor ended it                                      */
} wr_corrected;

/* The x after wide->now := the ranks before the last step, corrected; with steps 0 it stays as it is. */
wr_status wr_mixed_correct(wr_mixed *mixed, wr_pagerank *wide, const wr_correction *correction, wr_corrected *found);

#endif
