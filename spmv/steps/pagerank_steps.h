/* PageRank's scalars and what is computed of them after each step (solvers/pagerank.c), of the power method and of Chebyshev's:
 * for that damping is 0 here and rest the constant teleport, so that the shift stays. Flags are 1 or 0. */
#ifndef WR_PAGERANK_STEPS_H
#define WR_PAGERANK_STEPS_H

#include "spmv/steps/step_math.h"

typedef struct wr_pagerank_scalars {
  /* reductions of an iteration */
  double change;         /* L1 norm of its change of the ranks       */
  double dangling;       /* sum of the ranks of pages without links  */
  /* of the method */
  double shift;          /* the rank that teleporting adds to each page, or to each unit of the teleport vector */
  double damping, rest;  /* d, 1 - d                                 */
  double weight;         /* 1 / n, or 1 with a teleport vector       */
  double relaxation;     /* of the next iteration: w_k of Chebyshev's method; 1 in the power method      */
  double omega, quarter; /* the recurrence of w_k: 2, then w_k; d^2 / 4, or 0 in the power method        */
  /* counters */
  double steps, limit;   /* iterations taken and allowed             */
  double last_part;      /* the last iteration after which another part of a loop stays within the limit      */
  double since, every;   /* iterations since the last check (docs/glossary.md), and between two checks       */
  double logged, log_room;
  /* the end */
  double target;         /* on the change                            */
  double least, window_least, window; /* least change before the present window of iterations; in it; its iterations so far */
  double window_length;
  double hardly, tiny;   /* a window with least change above hardly * least and below tiny has stalled      */
  double stalled;        /* 1: rounding prevents progress            */
  double huge;           /* larger than any finite change            */
  double converged, finite;
  double stop, goes_on;  /* 1: the host must act; 1: the loop goes on without the host */
} wr_pagerank_scalars;

/* shift = (d * dangling + (1 - d)) * weight. */
WR_STEP void wr_pagerank_find_shift(wr_pagerank_scalars *s, wr_step_request *request) {
  (void)request;
  s->shift = (wr_product(s->damping, s->dangling) + s->rest) * s->weight;
}

/* w_1 = 1, w_2 = 1 / (1 - d^2 / 2), w_k+1 = 1 / (1 - d^2 w_k / 4) (Golub and Varga 1961). */
WR_STEP void wr_pagerank_find_relaxation(wr_pagerank_scalars *s) {
  s->omega = 1 / (1 - wr_product(s->quarter, s->omega));
  s->relaxation = s->omega;
}

/* In exact arithmetic an iteration reduces the change at least by the factor d. Stalled: a window of iterations did not
 * reach half of that reduction, and the change is as small as rounding errors. */
WR_STEP void wr_pagerank_find_stall(wr_pagerank_scalars *s) {
  double least = s->change < s->window_least ? s->change : s->window_least, window = s->window + 1;
  int is_over = !(window < s->window_length);
  int is_held_up = (s->hardly * s->least < least) & (least < s->tiny);
  s->stalled = wr_flag((s->stalled != 0) | (is_held_up & is_over));
  s->least = (least < s->least) & is_over ? least : s->least;
  s->window_least = is_over ? s->huge : least;
  s->window = is_over ? 0 : window;
}

WR_STEP void wr_pagerank_after_iteration(wr_pagerank_scalars *s, wr_step_request *request) {
  wr_pagerank_find_shift(s, request);
  wr_pagerank_find_relaxation(s);
  s->steps = s->steps + 1;
  wr_pagerank_find_stall(s);
  double since = s->since + 1;
  int is_within_limit = s->steps < s->limit, is_check = !((since < s->every) & is_within_limit);
  int is_finite = s->change < s->huge, is_converged = (!(s->target < s->change)) & is_finite;
  int is_over = (!is_within_limit) | is_converged | (s->stalled != 0) | (!is_finite);
  int stop = is_over & is_check;
  s->since = is_check ? 0 : since;
  s->finite = wr_flag(is_finite), s->converged = wr_flag(is_converged);
  s->stop = wr_flag(stop);
  wr_step_log(request, is_check, &s->logged, s->steps, s->change);
  s->goes_on = wr_step_decide(request, (s->logged < s->log_room) & (!((s->last_part < s->steps) | stop)));
}

#endif
