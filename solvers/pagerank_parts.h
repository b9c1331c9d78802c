/* What pagerank.c, mixed.c and api/scoring.c share: one step, the loop that repeats it, and scores in parts. */
#ifndef WR_PAGERANK_PARTS_H
#define WR_PAGERANK_PARTS_H

#include "solvers/iteration.h"
#include "solvers/pagerank.h"
#include "spmv/steps/pagerank_steps.h"

/* The index of the vector that the step from x[k] writes. */
static inline int wr_pagerank_after(int k) { return (k + 1) % WR_PAGERANK_VECTORS; }

/* The index of the vector that has the answer after so many steps from x[0]. Of Chebyshev's method it is the last but one, of
 * which the change is the residual; the last one may be much worse where the residual vanishes. */
static inline int wr_pagerank_answer(const wr_pagerank *p, double steps) {
  double behind = p->method == WR_PAGERANK_CHEBYSHEV ? 1 : 0;
  return (int)((int64_t)(steps > behind ? steps - behind : 0) % WR_PAGERANK_VECTORS);
}

/* A scalar of the solver by its name. */
#define WR_PAGERANK_SCALAR(p, member) ((wr_scalar){&(p)->bank, WR_SCALAR_INDEX(wr_pagerank_scalars, member)})

/* x[now] has ranks, or what else is iterated: scales it, and sets its dangling mass in the bank, and the shift for that. */
wr_status wr_pagerank_begin(wr_pagerank *p);

/* Bytes that a step by p->method moves. */
double wr_pagerank_step_bytes(const wr_pagerank *p);

/* Sets what p->loop needs of the solver and these options, and p's method. `unit` is that of changes. */
void wr_pagerank_set_loop(wr_pagerank *p, const wr_pagerank_options *o, const wr_monitor *monitor, double unit);

/* A bound on what rounding adds to the L1 error, but for sums of rows in less than f64. */
double wr_pagerank_rounding(const wr_pagerank *p, const wr_pagerank_options *o);

/* The scalars of a solve that begins, but for those that say what is solved: damping, rest, weight, shift, target. */
wr_pagerank_scalars wr_pagerank_scalars_of(const wr_pagerank *p, const wr_pagerank_options *o);

/* As wr_pagerank_normalise, of the scores[n] that each part of a graph has; the arguments are trusted. Collective; comm NULL:
 * there is one part. */
wr_status wr_pagerank_normalise_part(struct wr_comm *comm, double *scores, int64_t n, const wr_pagerank_options *o,
                                     double rounding);

#endif
