/* BiCGSTAB's scalars, and the steps between its operations (solvers/bicgstab_step.c), after H. A. van der Vorst,
 * SIAM J. Sci. Stat. Comput. 13 (1992), page 631ff. Flags are 1 or 0. */
#ifndef WR_BICGSTAB_STEPS_H
#define WR_BICGSTAB_STEPS_H

#include "spmv/steps/step_math.h"

typedef struct wr_bicgstab_scalars {
  /* the method; shadow is the fixed vector that papers write as r0 with a hat or a tilde */
  double rho, sigma;       /* (shadow, r), (shadow, v)            */
  double vv;               /* (v, v)                              */
  double alpha;
  double ss, ts, tt;       /* (s, s), (t, s), (t, t)              */
  double omega;
  double rr, rho_next;     /* (r, r), (shadow, r) of the new r    */
  double beta, beta_omega;
  /* convergence and breakdown */
  double bound;            /* on (r, r)                           */
  double largest;          /* 1 / u^2: |beta| above it is a breakdown, and so is ||alpha v|| above it times ||r|| */
  double huge;             /* larger than any finite sum          */
  double one;              /* 1: the coefficient of b in a residual */
  double qq;               /* ||b - A x||^2                       */
  double sum_x;            /* of the elements of an iterate: finite if they all are */
  double active;           /* 1: this iteration counts: the solve had not ended, and alpha is usable         */
  double done;             /* converged or broken down: all later iterations leave d and r as they are       */
  double bad_sigma, bad_omega, bad_rho; /* breakdowns */
  /* counters */
  double steps;            /* iterations with active 1            */
  double rounds, last;     /* all iterations, and the last one allowed */
  double last_part;        /* the last round after which another part of a loop stays within `last` */
  double since, every, look; /* rounds since the last look (docs/glossary.md), and between two; 1: look after this round */
  double logged, log_room;
  /* snapshots of the iterate */
  double snapshot_rr, enough;        /* (r, r) of the last one; another is due if (r, r) is below enough times that, ... */
  double snapshot_round, gap;        /* ... the round is after this one, which is gap after the last one, ...            */
  double phase, period;              /* ... and phase, the rounds since the start modulo period, is 0                    */
  double snap, keep;                 /* 1: a snapshot is due; 1: and the iterate is finite                               */
  double kept, kept_rr;              /* 1: there is a snapshot; its (r, r)                                               */
  /* stagnation */
  double gain_rr, gain_step;         /* (r, r) at the last gain, when it fell below gain times the value before; steps then */
  double gain, patience;             /* 0.81; steps that may pass without a gain                                      */
  double least_cos2;                 /* square of the cosine of (s, t) below which (t, s) is only rounding            */
  double noise;                      /* (u ||shadow||)^2: rho^2 below it times (r, r) is rounding                     */
  double stalled;                    /* 1: no progress, see wr_bicgstab_look_for_stall; used at looks                 */
  double stop, goes_on;              /* 1: the host must act; 1: the loop goes on without the host                    */
} wr_bicgstab_scalars;

/* alpha = rho / sigma. Breakdown: sigma or v is 0 or not finite, or alpha v would be 1/u^2 times the residual (alpha itself has
 * the unit of 1/A, so a limit on it would depend on scaling). alpha := 0 then, and if the solve had ended before. */
WR_STEP void wr_bicgstab_after_first_product(wr_bicgstab_scalars *s, wr_step_request *request) {
  double alpha = wr_quotient(s->rho, s->sigma);
  int is_usable =
      (alpha * alpha * s->vv < s->largest * s->largest * s->rr) & wr_is_usable(s->sigma) & wr_is_usable(s->vv);
  int is_going = s->done == 0, is_active = is_usable & is_going;
  (void)request;
  s->active = wr_flag(is_active);
  s->bad_sigma = wr_flag((s->bad_sigma != 0) | ((!is_usable) & is_going));
  s->alpha = is_active ? alpha : 0;
}

/* omega = (t, s) / (t, t), or 0: if s is small enough that the half step ends the solve, on a breakdown, or if the solve had
 * ended before. If (t, s) is only rounding, as for a skew-symmetric A, no omega reduces the residual, but the method can go on
 * with any omega except 0: it takes alpha, which has the right unit. */
WR_STEP void wr_bicgstab_after_second_product(wr_bicgstab_scalars *s, wr_step_request *request) {
  int is_enough = (!(s->bound < s->ss)) & (s->ss < s->huge), goes_on = (!is_enough) & (s->active != 0);
  int is_rounding = s->ts * s->ts < s->ss * s->tt * s->least_cos2;
  double omega = wr_quotient(s->ts, s->tt);
  (void)request;
  omega = is_rounding ? s->alpha : omega;
  int is_usable = wr_is_usable(omega);
  s->omega = goes_on & is_usable ? omega : 0;
  s->bad_omega = wr_flag((s->bad_omega != 0) | (goes_on & (!is_usable)));
}

/* Whether a snapshot is due after this round. */
WR_STEP void wr_bicgstab_plan_snapshot(wr_bicgstab_scalars *s) {
  double phase = s->phase + 1;
  int is_in_phase = !(phase < s->period);
  int is_due = (s->rr < s->enough * s->snapshot_rr) & (s->snapshot_round < s->rounds) & (s->done == 0);
  s->phase = is_in_phase ? 0 : phase;
  s->snap = wr_flag(is_due & is_in_phase);
}

/* Stalled: since the last gain, as many steps have passed as before it, and at least `patience`, and the shadow is
 * orthogonal to the residual up to rounding. */
WR_STEP void wr_bicgstab_look_for_stall(wr_bicgstab_scalars *s, int is_look) {
  int is_gain = (s->rr < s->gain * s->gain_rr) & is_look;
  s->gain_rr = is_gain ? s->rr : s->gain_rr;
  s->gain_step = is_gain ? s->steps : s->gain_step;
  double without = s->steps - s->gain_step;
  int is_patient = (without < s->gain_step) | (without < s->patience);
  s->stalled = wr_flag((!is_patient) & (s->rho * s->rho < s->noise * s->rr));
}

/* beta = (rho' / rho) (alpha / omega), or 0 if the solve has ended. Then: is there a look, must the host act, does the loop go
 * on? */
WR_STEP void wr_bicgstab_after_update(wr_bicgstab_scalars *s, wr_step_request *request) {
  double ratio, beta;
  s->steps = s->steps + s->active;
  int is_finite = s->rr < s->huge, is_converged = (!(s->bound < s->rr)) & is_finite;
  int is_done = (s->done != 0) | (!is_finite) | is_converged | (s->bad_sigma != 0) | (s->bad_omega != 0);
  wr_quotients(s->rho_next, s->rho, s->alpha, s->omega, &beta, &ratio);
  beta = beta * ratio;
  int is_bad = (!((fabs(beta) < s->largest) & wr_is_usable(s->rho_next))) & (!is_done);
  is_done = is_done | is_bad;
  s->bad_rho = wr_flag((s->bad_rho != 0) | is_bad);
  s->done = wr_flag(is_done);
  s->beta = is_done ? 0 : beta;
  s->beta_omega = s->beta * s->omega;
  s->rho = is_done ? s->rho : s->rho_next;
  s->rounds = s->rounds + 1;
  double since = s->since + 1;
  int is_within_limit = s->rounds < s->last, is_look = !((since < s->every) & is_within_limit);
  s->since = is_look ? 0 : since;
  s->look = wr_flag(is_look);
  wr_bicgstab_plan_snapshot(s);
  wr_bicgstab_look_for_stall(s, is_look);
  int stop = ((!is_within_limit) | is_done | (s->stalled != 0)) & is_look;
  s->stop = wr_flag(stop);
  wr_step_log(request, is_look, &s->logged, s->steps, s->rr);
  s->goes_on = wr_step_decide(request, (s->logged < s->log_room) & (!((s->last_part < s->rounds) | stop)));
}

/* If a snapshot is due, sum_x is the sum of the iterate. An iterate with an element that is not finite is not kept, and the
 * next snapshot is due `gap` rounds later all the same. */
WR_STEP void wr_bicgstab_after_collect(wr_bicgstab_scalars *s, wr_step_request *request) {
  int is_due = s->snap != 0, is_kept = is_due & (fabs(s->sum_x) < s->huge);
  (void)request;
  s->keep = wr_flag(is_kept);
  s->kept = wr_flag((s->kept != 0) | is_kept);
  s->kept_rr = is_kept ? s->rr : s->kept_rr;
  s->snapshot_rr = is_due ? s->rr : s->snapshot_rr;
  s->snapshot_round = is_due ? s->rounds + s->gap : s->snapshot_round;
}

#endif
