/* PageRank by the power method:  r <- d (P^T r + (dangling mass) v) + (1 - d) v,  or by Chebyshev's.
 * The vector that is kept is x, what a page gives to each of its links: x = r / out-degree, and with weights, which the flow
 * divides by the out-weight, x = r. A page without links gives to none, so its element is r itself. One apply an iteration:
 * y = d * F x; the epilogue adds the teleport, which makes r, scales it, which makes the next x, measures the change of r and
 * sums the dangling mass.
 *
 * Chebyshev's method is for symmetric links (weights included). There P^T = A D^-1 is similar to the symmetric D^-1/2 A D^-1/2,
 * its eigenvalues are in [-1, 1], and the iteration
 *
 *   y_k+1 = y_k-1 + w_k+1 (c + d P^T y_k - y_k-1),  w_1 = 1, w_2 = 2 / (2 - d^2), w_k+1 = 1 / (1 - d^2 w_k / 4)
 *
 * reduces the error by d / (1 + sqrt(1 - d^2)) each time, 0.557 in place of d = 0.85 (Golub and Varga, Chebyshev semi-iterative
 * methods, Numerische Mathematik 3 (1961)). Pages without links are isolated there, so their mass is known and c constant. The
 * answer is y_k, and its residual c + d P^T y_k - y_k proves it: the L1 error is at most the residual's L1 norm / (1 - d). */
#ifndef WR_PAGERANK_H
#define WR_PAGERANK_H

#include "solvers/graph.h"
#include "solvers/solver.h"
#include "spmv/spmv.h"

/* How the ranks are iterated. WR_PAGERANK_CHEBYSHEV needs a graph whose links are symmetric (wr_graph.symmetric). */
typedef enum wr_pagerank_method { WR_PAGERANK_POWER, WR_PAGERANK_CHEBYSHEV } wr_pagerank_method;

typedef struct wr_pagerank_options {
  wr_pagerank_method method;
  double damping;       /* d, 0 <= d < 1                                                                              */
  double tolerance;     /* > 0: compared with the bound on the L1 error, which is change * d / (1 - d), of Chebyshev's */
                        /* method change / (1 - d), and rounding; ...                                                 */
  int stop_on_change;   /* ... 1: compared with the L1 change of a step                                               */
  int64_t iterations;   /* at most                                                                                    */
  int64_t check_every;  /* iterations between two checks of the change; 0: see wr_iteration_every                     */
  int64_t order;        /* > 0: end as soon as the order of so many ranks is proven, or the tolerance is met          */
  int no_graph;         /* 1: the host requests every iteration, also if the device could repeat them                 */
  int no_resident;      /* 1: a device repeats them as a graph, also if one kernel could                              */
  const wr_vec *start;  /* [n] ranks of the sum 1 in the order of the flow's rows, of the type and at the place of    */
                        /* the solve; NULL: those of the graph. For the power method alone                            */
} wr_pagerank_options;

enum { WR_PAGERANK_VECTORS = 3 };

typedef struct wr_pagerank {
  const wr_graph *graph;
  wr_plan *plan;  /* of graph->flow */
  wr_env *env;
  wr_vec x[WR_PAGERANK_VECTORS]; /* [n] each, take turns (the table in pagerank.c); index `now` has the answer    */
  wr_vec scale, teleport; /* [n] 1 / out-degree, 0 for a page without links; teleport not allocated: uniform      */
  wr_vec degrees;         /* [n] out-degrees, 1 for a page without links; not allocated before wr_pagerank_ranks  */
  const wr_vec *direction; /* by which teleporting is weighted: &teleport, or NULL: uniformly                      */
  int adds_direction;     /* 1: it is added to uniform teleporting instead (mixed.c)                               */
  wr_vec bank;            /* scalars (spmv/steps/pagerank_steps.h)                                                */
  double term_unit, sum_unit; /* as in wr_plan_info: the largest of all parts                                     */
  int now;
  wr_pagerank_method method; /* that iterates in the type of env */
  double damping, unit;   /* d; the unit of changes                                                               */
  double begun;           /* iterations of the solve before those that began with x[0]                             */
  struct wr_iteration *loop;
  struct wr_mixed *mixed; /* sweeps in f32 (mixed.h); NULL: none                                                  */
} wr_pagerank;

/* Allocates the vectors and uploads the constant ones. graph, plan and env must outlive p. WR_ENOMEM, WR_EDEVICE. */
wr_status wr_pagerank_open(wr_pagerank *p, const wr_graph *graph, wr_plan *plan, wr_env *env);
void wr_pagerank_close(wr_pagerank *p); /* a zeroed one is fine */

/* From now on solves in f64 sweep in f32, with this prepared plan of the same flow, in an env of the same place and memory
 * (wr_env_with_type). They end with a step in f64, as the power method does, whose change stops them and bounds the error.
 * Where a correction by sweeps does not halve the change, they go on in f64. Once, after wr_pagerank_open; plan and env must
 * outlive p. WR_ENOMEM, WR_EDEVICE. */
wr_status wr_pagerank_sweep_in(wr_pagerank *p, wr_plan *plan, wr_env *env);

/* Iterates from the graph's start, in which Chebyshev's method gives pages without links their final ranks. Not converging is
 * in the result; WR_EDEVICE and the like are errors. */
wr_status wr_pagerank_solve(wr_pagerank *p, const wr_pagerank_options *options, const wr_monitor *monitor,
                            wr_result *result);

/* ranks[n], of the type and at the place of the solve := the ranks in the order of the flow's rows, not normalised. WR_ENOMEM,
 * at the first time. */
wr_status wr_pagerank_ranks(wr_pagerank *p, wr_vec *ranks);

/* WR_EUSAGE, in the name of this function, for options that wr_pagerank_solve refuses. */
wr_status wr_pagerank_check(const wr_pagerank_options *options, const char *function);

/* The L1 change of a step at which a solve with these options stops. 0 for arguments that wr_pagerank_solve refuses. */
double wr_pagerank_target(const wr_pagerank *p, const wr_pagerank_options *options);

/* The bound without rounding at which to stop, so that with rounding it is in the tolerance. Where rounding takes nearly all
 * of that: the tolerance, which the bound then exceeds. */
static inline double wr_pagerank_target_bound(double tolerance, double rounding) {
  return rounding > 0.9 * tolerance ? tolerance : tolerance - rounding;
}

/* scores[n] := the ranks r by page, x times out-degrees, not normalised. Waits. */
wr_status wr_pagerank_download(wr_pagerank *p, double *scores);

/* One more exact step of the ranks, by the device: scores[n] := its result, by page. The ranks stay. *change := its L1 change,
 * *dangling := the dangling mass of the ranks as the device summed it. Once after a solve. */
wr_status wr_pagerank_step(wr_pagerank *p, const wr_pagerank_options *options, double *scores, double *change,
                           double *dangling);

/* `count` multiplies as in the iterations, in f32 if most of them were, for their times; after a solve, once its answer is not
 * needed. Asynchronous. */
wr_status wr_pagerank_multiply(wr_pagerank *p, int count);

/* Divides by the sum. Before that, scores below 0, which methods other than the power method may leave where ranks are small,
 * become 0: this takes as much off the error as it adds to the sum (docs/ranking.md). rounding: of the result. WR_EINTERNAL
 * when the sum as given is off 1 by more than max(tolerance, 25 rounding). */
wr_status wr_pagerank_normalise(double *scores, int64_t n, const wr_pagerank_options *options, double rounding);

#endif
