/* A certificate for the PageRank scores of any tool: a bound on their L1 error, and where it is large, the definition of
 * PageRank that the scores do satisfy. On the host in f64; the same on any number of threads.
 *
 * With S = P^T + v (dangling)^T, whose columns have the sum 1, the scores r of a graph solve (I - d S) r = (1 - d) v. For any
 * vector y, with q = (1 - d) v - (I - d S) y, the error is r - y = (I - d S)^-1 q = sum_k (d S)^k q, and so
 * ||r - y||_1 <= ||q||_1 / (1 - d). No property of y is needed, not even that its sum is 1. */
#ifndef WR_SCORES_H
#define WR_SCORES_H

#include <stdint.h>

#include "solvers/graph.h"

typedef struct wr_score_bound {
  double sum;                /* of the scores                                                                 */
  double residual, rounding; /* ||q||_1, and a bound on the error of computing it; INFINITY where it overflows */
  double bound;              /* (residual + rounding) / (1 - d), a bound on the L1 error                       */
  int64_t worst;             /* the first node that has the largest |q|, from 0                                */
  double worst_score;
  double worst_residual;     /* its q: by so much a step changes its score                                     */
} wr_score_bound;

/* scores[n], finite and not negative; graph finished on the host; damping in [0, 1). Two scores of which one is above the other
 * by more than bound are in the order of the exact ones: their errors together are at most the L1 error. WR_EINPUT names the
 * first score, from 1, that is not as said; WR_EUSAGE, WR_ENOMEM. Of a part the scores are those of its nodes; what is found is
 * of all parts, nodes having the numbers of the file. Collective then. */
wr_status wr_scores_certify(const wr_graph *graph, double damping, const double *scores, wr_score_bound *found);

/* Another definition of PageRank. */
typedef struct wr_score_reading {
  int found;            /* 1: bound is at most 0.01, and a hundredth of that for the definition that was asked for  */
  double damping;       /* its d                                                                                    */
  double factor;        /* by which the scores are multiplied, 1 if their sum is what this definition makes it      */
  double bound;         /* on the relative L1 error of the scores under this definition, without rounding           */
  char text[256];       /* "damping 0.9; edges reversed": in what it differs                                        */
} wr_score_reading;

/* Looks for a definition that the scores satisfy, over: their scale, the damping, edges reversed, weights ignored, the teleport
 * vector ignored, and what becomes of the rank of dangling nodes. asked: what wr_scores_certify found. Only scores >= 0 with a
 * finite sum above 0 can satisfy one; others are not found. Of a part, and collective, as wr_scores_certify. WR_EUSAGE,
 * WR_ENOMEM. */
wr_status wr_scores_explain(const wr_graph *graph, double damping, const double *scores, const wr_score_bound *asked,
                            wr_score_reading *reading);

#endif
