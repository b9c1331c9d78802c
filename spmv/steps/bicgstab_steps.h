/* BiCGSTAB's scalars, and the steps between its operations (solvers/krylov/bicgstab_step.c), after H. A. van der Vorst,
 * SIAM J. Sci. Stat. Comput. 13 (1992), page 631ff. Flags are 1 or 0. */
#ifndef WR_BICGSTAB_STEPS_H
#define WR_BICGSTAB_STEPS_H

#include "spmv/steps/solve_steps.h"

typedef struct wr_bicgstab_scalars {
  wr_solve_scalars solve;
  /* shadow is the fixed vector that papers write as r0 with a hat or a tilde */
  double rho, sigma;       /* (shadow, r), (shadow, v)            */
  double vv;               /* (v, v)                              */
  double alpha;
  double ss, weighted_ss;  /* (s, s), and its norm squared in the rows as given */
  double ts, tt;           /* (t, s), (t, t)                      */
  double omega;
  double rho_next;         /* (shadow, r) of the new r            */
  double beta, beta_omega;
  double least_cos2;       /* square of the cosine of (s, t) below which (t, s) is only rounding            */
  double noise;            /* (u ||shadow||)^2: rho^2 below it times (r, r) is rounding                     */
} wr_bicgstab_scalars;

/* Breakdowns, in the order of wr_method_bicgstab.breakdowns. */
enum {
  WR_BICGSTAB_OVERFLOWS = 1,
  WR_BICGSTAB_VANISHES,
  WR_BICGSTAB_BAD_SIGMA,
  WR_BICGSTAB_BAD_OMEGA,
  WR_BICGSTAB_BAD_RHO
};

/* alpha = rho / sigma. Breakdown: sigma or v is 0 or not finite, or alpha v would be 1/u^2 times the residual (alpha itself has
 * the unit of 1/A, so a limit on it would depend on scaling). alpha := 0 then, and if the solve had ended before. */
WR_STEP void wr_bicgstab_after_first_product(wr_bicgstab_scalars *s, wr_step_request *request) {
  wr_solve_scalars *a = &s->solve;
  double alpha = wr_quotient(s->rho, s->sigma);
  int is_usable =
      (alpha * alpha * s->vv < a->largest * a->largest * a->rr) & wr_is_usable(s->sigma) & wr_is_usable(s->vv);
  int is_going = a->done == 0, is_active = is_usable & is_going;
  (void)request;
  a->active = wr_flag(is_active);
  wr_solve_break(a, (!is_usable) & is_going,
                 !(s->vv < a->huge) ? WR_BICGSTAB_OVERFLOWS
                 : s->vv == 0       ? WR_BICGSTAB_VANISHES
                                    : WR_BICGSTAB_BAD_SIGMA);
  s->alpha = is_active ? alpha : 0;
}

/* omega = (t, s) / (t, t), or 0: if s is small enough that the half step ends the solve, on a breakdown, or if the solve had
 * ended before. If (t, s) is only rounding, as for a skew-symmetric A, no omega reduces the residual, but the method can go on
 * with any omega except 0: it takes alpha, which has the right unit. */
WR_STEP void wr_bicgstab_after_second_product(wr_bicgstab_scalars *s, wr_step_request *request) {
  wr_solve_scalars *a = &s->solve;
  int is_enough = wr_solve_is_enough(a, a->is_weighted != 0 ? s->weighted_ss : s->ss);
  int goes_on = (!is_enough) & (a->active != 0);
  int is_rounding = s->ts * s->ts < s->ss * s->tt * s->least_cos2;
  double omega = wr_quotient(s->ts, s->tt);
  (void)request;
  omega = is_rounding ? s->alpha : omega;
  int is_usable = wr_is_usable(omega);
  s->omega = goes_on & is_usable ? omega : 0;
  wr_solve_break(a, goes_on & (!is_usable), WR_BICGSTAB_BAD_OMEGA);
}

/* beta = (rho' / rho) (alpha / omega), or 0 if the solve has ended. */
WR_STEP void wr_bicgstab_after_update(wr_bicgstab_scalars *s, wr_step_request *request) {
  wr_solve_scalars *a = &s->solve;
  double ratio, beta;
  int is_over = wr_solve_is_over(a);
  wr_quotients(s->rho_next, s->rho, s->alpha, s->omega, &beta, &ratio);
  beta = beta * ratio;
  int is_bad = (!((fabs(beta) < a->largest) & wr_is_usable(s->rho_next))) & (!is_over);
  is_over = is_over | is_bad;
  wr_solve_break(a, is_bad, WR_BICGSTAB_BAD_RHO);
  s->beta = is_over ? 0 : beta;
  s->beta_omega = s->beta * s->omega;
  s->rho = is_over ? s->rho : s->rho_next;
  wr_solve_end_iteration(a, is_over, s->rho * s->rho < s->noise * a->rr, request);
}

#endif
