/* The scalars of IDR(4) and the steps between its operations (solvers/krylov/idr_step.c), after M. B. van Gijzen
 * and P. Sonneveld, ACM Trans. Math. Softw. 38 (2011), the variant with biorthogonality. Indices are from 0. Flags are 1 or
 * 0. */
#ifndef WR_IDR_STEPS_H
#define WR_IDR_STEPS_H

#include "spmv/steps/solve_steps.h"

enum { WR_IDR_S = 4 };

typedef struct wr_idr_scalars {
  wr_solve_scalars solve;
  double k;                  /* directions of this iteration that are complete     */
  double h[WR_IDR_S];        /* (p_i, A M^-1 v) of the last product                */
  double f[WR_IDR_S];        /* (p_i, r)                                           */
  double M[WR_IDR_S][WR_IDR_S]; /* (p_i, g_k), lower triangular: 0 for i < k       */
  double alpha[WR_IDR_S];    /* coefficients that make g_k orthogonal to p_i, i < k */
  double beta[WR_IDR_S];     /* r -= beta_k g_k                                    */
  double c[WR_IDR_S], omega_c[WR_IDR_S]; /* v = r - sum c_i g_i; omega times c     */
  double tr, tt;             /* (t, r), (t, t)                                     */
  double omega;              /* of this iteration's directions                     */
  double enough;             /* 1: r is small enough, so the rest of the iteration changes nothing */
} wr_idr_scalars;

/* Breakdowns, in the order of wr_method_idr.breakdowns. */
enum { WR_IDR_BAD_PIVOT = 1, WR_IDR_BAD_OMEGA };

WR_STEP int wr_idr_goes_on(wr_idr_scalars *s) {
  s->enough = wr_flag((s->enough != 0) | wr_solve_is_enough(&s->solve, wr_solve_measure(&s->solve)));
  return (s->solve.done == 0) & (s->solve.breakdown == 0) & (s->enough == 0);
}

/* c := the solution of M c = f in rows and columns from `first` on, by forward substitution; 0 before, or everywhere if the
 * iteration does not go on. */
WR_STEP void wr_idr_find_c(wr_idr_scalars *s, int first, int goes_on) {
  for (int i = 0; i < WR_IDR_S; i++) {
    double sum = s->f[i];
    for (int j = first; j < i; j++) sum -= wr_product(s->M[i][j], s->c[j]);
    s->c[i] = (goes_on & (i >= first)) ? sum / s->M[i][i] : 0;
    s->omega_c[i] = s->omega * s->c[i];
  }
}

/* After g_k = A M^-1 u_k with h_i = (p_i, g_k): alpha, with which g_k and u_k become orthogonal to p_i for i < k; column k of
 * M; beta_k; the new f; c for direction k + 1. Breakdown: (p_k, g_k) vanishes or is not finite. */
WR_STEP void wr_idr_after_direction(wr_idr_scalars *s, wr_step_request *request) {
  int k = wr_step_index(s->k, 0, WR_IDR_S - 1), goes_on = wr_idr_goes_on(s);
  (void)request;
  for (int i = 0; i < WR_IDR_S; i++) {
    double sum = s->h[i];
    for (int j = 0; j < k && j < i; j++) sum -= wr_product(s->alpha[j], s->M[i][j]);
    if (i < k) s->alpha[i] = goes_on ? sum / s->M[i][i] : 0;
    if (i >= k && goes_on) s->M[i][k] = sum;
  }
  double beta = s->f[k] / s->M[k][k];
  int is_usable = wr_is_usable(s->M[k][k]) & (fabs(beta) < s->solve.huge);
  wr_solve_break(&s->solve, goes_on & (!is_usable), WR_IDR_BAD_PIVOT);
  goes_on = goes_on & is_usable;
  s->beta[k] = goes_on ? beta : 0;
  for (int i = k; i < WR_IDR_S; i++) s->f[i] = i == k ? 0 : s->f[i] - wr_product(s->beta[k], s->M[i][k]);
  s->solve.active = wr_flag((s->solve.active != 0) | goes_on);
  wr_idr_find_c(s, k + 1, goes_on);
  s->k = k + 1;
}

/* After t = A M^-1 r with (t, r), (t, t), h_i = (p_i, t) and f_i = (p_i, r): omega, which minimises the residual unless t and r
 * are nearly orthogonal (Sleijpen and van der Vorst 1995, section 4); f of the next residual; c for direction 0. In exact
 * arithmetic r is orthogonal to all p_i here. In fact f has the rounding of larger residuals before it: what no direction
 * removes, since it is missing in f, would stay in r for good. */
WR_STEP void wr_idr_after_residual(wr_idr_scalars *s, wr_step_request *request) {
  const double least_cos = 0.7;
  int goes_on = wr_idr_goes_on(s);
  (void)request;
  double omega = s->tr / s->tt, cosine = fabs(s->tr) / sqrt(s->tt * s->solve.rr);
  if (!(cosine >= least_cos)) omega = (s->tr < 0 ? -least_cos : least_cos) * sqrt(s->solve.rr / s->tt);
  int is_usable = wr_is_usable(omega);
  wr_solve_break(&s->solve, goes_on & (!is_usable), WR_IDR_BAD_OMEGA);
  goes_on = goes_on & is_usable;
  s->omega = goes_on ? omega : 0;
  for (int i = 0; i < WR_IDR_S; i++) s->f[i] = s->f[i] - wr_product(s->omega, s->h[i]);
  wr_idr_find_c(s, 0, goes_on);
}

/* At the end of an iteration, with the norm of the new residual. */
WR_STEP void wr_idr_after_update(wr_idr_scalars *s, wr_step_request *request) {
  s->k = 0, s->enough = 0;
  for (int k = 0; k < WR_IDR_S; k++) s->beta[k] = 0;
  wr_solve_end_iteration(&s->solve, wr_solve_is_over(&s->solve), 0, request);
  s->solve.active = 0;
}

#endif
