/* What the steps of all methods for linear systems share: convergence, counters, snapshots and stagnation. Flags are 1 or 0. */
#ifndef WR_SOLVE_STEPS_H
#define WR_SOLVE_STEPS_H

#include "spmv/steps/step_math.h"

/* The first member of the scalars of every method. */
typedef struct wr_solve_scalars {
  double rr;               /* (r, r), r being the residual as the method updates it                          */
  double weighted_rr;      /* its norm squared in the rows as given, where the system's rows are scaled      */
  double is_weighted;      /* 1: weighted_rr is compared with bound; 0: rr                                   */
  /* convergence and breakdown */
  double bound;            /* on the norm squared                 */
  double largest;          /* 1 / u^2: limit of a method on its own ratios                                   */
  double huge;             /* larger than any finite sum          */
  double one;              /* 1: the coefficient of b in a residual */
  double qq;               /* ||b - A x||^2                       */
  double sum_x;            /* of the elements of an iterate: finite if they all are */
  double active;           /* 1: this iteration counts: the solve had not ended before it, and it changes the iterate */
  double done;             /* converged or broken down: all later iterations leave d and r as they are       */
  double breakdown;        /* 0, or the number of the first breakdown in the method's list (solvers/krylov/method.h) */
  /* counters */
  double steps;            /* iterations with active 1            */
  double rounds, last;     /* all iterations, and the last one allowed */
  double last_part;        /* the last round after which another part of a loop stays within `last` */
  double since, every;     /* rounds since the last check (docs/glossary.md), and between two checks */
  double logged, log_room;
  /* snapshots of the iterate */
  double snapshot_rr, enough;        /* norm squared of the last one; another is due if it is below enough times that, ... */
  double snapshot_round, gap;        /* ... the round is after this one, which is gap after the last one, ...            */
  double phase, period;              /* ... and phase, the rounds since the start modulo period, is 0                    */
  double snap, keep;                 /* 1: a snapshot is due; 1: and the iterate is finite                               */
  double kept, kept_rr;              /* 1: there is a snapshot; its norm squared                                         */
  /* stagnation */
  double gain_rr, gain_step;         /* norm squared at the last gain, when it fell below gain times the value before; steps */
  double gain, patience;             /* 0.81; steps that may pass without a gain                                      */
  double yields;                     /* 1: without a gain the solve is stalled; 0: only if r is rounding noise as well */
  double stalled;                    /* 1: no progress; used at checks                                                */
  double stop, goes_on;              /* 1: the host must act; 1: the loop goes on without the host                    */
} wr_solve_scalars;

/* The norm squared that the tolerance is about. */
WR_STEP double wr_solve_measure(const wr_solve_scalars *s) { return s->is_weighted != 0 ? s->weighted_rr : s->rr; }

/* Whether a norm squared is small enough to end the solve. */
WR_STEP int wr_solve_is_enough(const wr_solve_scalars *s, double measure) {
  return (!(s->bound < measure)) & (measure < s->huge);
}

/* breakdown := number, if it happens and is the first one. */
WR_STEP void wr_solve_break(wr_solve_scalars *s, int happens, double number) {
  s->breakdown = (s->breakdown == 0) & happens ? number : s->breakdown;
}

/* Whether the solve is over after this iteration, apart from breakdowns that are found later in the same step. */
WR_STEP int wr_solve_is_over(const wr_solve_scalars *s) {
  double measure = wr_solve_measure(s);
  int is_finite = (measure < s->huge) & (s->rr < s->huge);
  return (s->done != 0) | (!is_finite) | wr_solve_is_enough(s, measure) | (s->breakdown != 0);
}

/* Whether a snapshot is due after this round. */
WR_STEP void wr_solve_plan_snapshot(wr_solve_scalars *s, double measure) {
  double phase = s->phase + 1;
  int is_in_phase = !(phase < s->period);
  int is_due = (measure < s->enough * s->snapshot_rr) & (s->snapshot_round < s->rounds) & (s->done == 0);
  s->phase = is_in_phase ? 0 : phase;
  s->snap = wr_flag(is_due & is_in_phase);
}

/* Stalled: since the last gain, as many steps have passed as before it, and at least `patience`, and r is only rounding for the
 * method, unless `yields` is 1. */
WR_STEP void wr_solve_find_stall(wr_solve_scalars *s, double measure, int is_check, int is_noise) {
  int is_gain = (measure < s->gain * s->gain_rr) & is_check;
  s->gain_rr = is_gain ? measure : s->gain_rr;
  s->gain_step = is_gain ? s->steps : s->gain_step;
  double without = s->steps - s->gain_step;
  int is_patient = (without < s->gain_step) | (without < s->patience);
  s->stalled = wr_flag((!is_patient) & (is_noise | (s->yields != 0)));
}

/* The end of an iteration: counts it, and finds out whether there is a check, whether the host must act, and whether the loop
 * goes on. is_over: from wr_solve_is_over, or a breakdown. */
WR_STEP void wr_solve_end_iteration(wr_solve_scalars *s, int is_over, int is_noise, wr_step_request *request) {
  double measure = wr_solve_measure(s);
  s->done = wr_flag(is_over);
  s->steps = s->steps + s->active;
  s->rounds = s->rounds + 1;
  double since = s->since + 1;
  int is_within_limit = s->rounds < s->last, is_check = !((since < s->every) & is_within_limit);
  s->since = is_check ? 0 : since;
  wr_solve_plan_snapshot(s, measure);
  wr_solve_find_stall(s, measure, is_check, is_noise);
  int stop = ((!is_within_limit) | is_over | (s->stalled != 0)) & is_check;
  s->stop = wr_flag(stop);
  wr_step_log(request, is_check, &s->logged, s->steps, measure);
  s->goes_on = wr_step_decide(request, (s->logged < s->log_room) & (!((s->last_part < s->rounds) | stop)));
}

/* If a snapshot is due, sum_x is the sum of the iterate. An iterate with an element that is not finite is not kept, and the
 * next snapshot is due `gap` rounds later all the same. */
WR_STEP void wr_solve_after_collect(wr_solve_scalars *s, wr_step_request *request) {
  double measure = wr_solve_measure(s);
  int is_due = s->snap != 0, is_kept = is_due & (fabs(s->sum_x) < s->huge);
  (void)request;
  s->keep = wr_flag(is_kept);
  s->kept = wr_flag((s->kept != 0) | is_kept);
  s->kept_rr = is_kept ? measure : s->kept_rr;
  s->snapshot_rr = is_due ? measure : s->snapshot_rr;
  s->snapshot_round = is_due ? s->rounds + s->gap : s->snapshot_round;
}

#endif
