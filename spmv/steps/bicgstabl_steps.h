/* The scalars of BiCGSTAB(l) and the steps between its operations (solvers/krylov/bicgstabl_step.c), after G. L. G. Sleijpen
 * and D. R. Fokkema, Electron. Trans. Numer. Anal. 1 (1993), algorithm 3.1. Flags are 1 or 0. */
#ifndef WR_BICGSTABL_STEPS_H
#define WR_BICGSTABL_STEPS_H

#include "spmv/steps/solve_steps.h"

enum { WR_MOST_L = 4 };

typedef struct wr_bicgstabl_scalars {
  wr_solve_scalars solve;
  double l;                /* residuals in the polynomial part of an iteration             */
  double rho, rho_next;    /* (shadow, r_j) of the last and of this r_j                    */
  double sigma;            /* (shadow, u_j+1)                                              */
  double alpha, beta;
  double bb, weighted_bb;  /* norm squared of r_0 within an iteration, and in the rows as given */
  double enough;           /* 1: it is small enough, so the rest of the iteration changes nothing */
  double gram[WR_MOST_L + 1][WR_MOST_L + 1]; /* (r_i, r_j) for i <= j, without (r_0, r_0)  */
  double gamma[WR_MOST_L + 1]; /* from 1 on: r_0 - sum gamma_j r_j has the least norm      */
  double least_cos2;       /* square of the sine below which r_j is in the span of the earlier ones but for rounding */
} wr_bicgstabl_scalars;

/* Breakdowns, in the order of wr_method_bicgstabl.breakdowns. */
enum { WR_BICGSTABL_BAD_SIGMA = 1, WR_BICGSTABL_BAD_RHO, WR_BICGSTABL_BAD_GAMMA };

/* Whether the rest of the iteration has to do anything. */
WR_STEP int wr_bicgstabl_goes_on(const wr_bicgstabl_scalars *s) {
  return (s->solve.done == 0) & (s->solve.breakdown == 0) & (s->enough == 0);
}

/* After r_0 has changed within the iteration. */
WR_STEP void wr_bicgstabl_look_at_norm(wr_bicgstabl_scalars *s) {
  double norm = s->solve.is_weighted != 0 ? s->weighted_bb : s->bb;
  s->enough = wr_flag((s->enough != 0) | wr_solve_is_enough(&s->solve, norm));
}

/* After u_j+1 = A u_j: alpha = rho / sigma, or 0. */
WR_STEP void wr_bicgstabl_after_search(wr_bicgstabl_scalars *s, wr_step_request *request) {
  double alpha = wr_quotient(s->rho, s->sigma);
  int goes_on = wr_bicgstabl_goes_on(s), is_usable = wr_is_usable(s->sigma) & (fabs(alpha) < s->solve.huge);
  (void)request;
  wr_solve_break(&s->solve, goes_on & (!is_usable), WR_BICGSTABL_BAD_SIGMA);
  s->alpha = goes_on & is_usable ? alpha : 0;
  s->solve.active = wr_flag((s->solve.active != 0) | (goes_on & is_usable));
}

/* rho := rho_next, *beta := alpha rho_next / rho, or 0 where the iteration does not go on. */
WR_STEP void wr_bicgstabl_find_beta(wr_bicgstabl_scalars *s, int goes_on) {
  double beta = wr_product(s->alpha, wr_quotient(s->rho_next, s->rho));
  int is_usable = (fabs(beta) < s->solve.largest) & wr_is_usable(s->rho_next);
  wr_solve_break(&s->solve, goes_on & (!is_usable), WR_BICGSTABL_BAD_RHO);
  s->beta = goes_on & is_usable ? beta : 0;
  s->rho = goes_on ? s->rho_next : s->rho;
}

/* After r_j+1 = A r_j within the first part: beta for the next u. */
WR_STEP void wr_bicgstabl_after_residual(wr_bicgstabl_scalars *s, wr_step_request *request) {
  (void)request;
  wr_bicgstabl_look_at_norm(s);
  wr_bicgstabl_find_beta(s, wr_bicgstabl_goes_on(s));
}

/* If the part of r_l that is orthogonal to r_1, ..., r_l-1 has a cosine with r_0 that is only rounding, as for a skew-symmetric
 * A and odd l, no gamma_l reduces the residual, but the method goes on with any except 0. It gets the one that a cosine of
 * this size would give, with which the residual grows by a factor of at most 1.22 (Sleijpen and van der Vorst, Numer.
 * Algorithms 10 (1995), section 3; there for all cosines below this one). */
#define WR_BICGSTABL_COSINE 0.7

/* gamma := the solution of the normal equations, by L D L^T without pivoting; from the first r_j on that depends on earlier
 * ones, 0. Loops have constant bounds, so that a compiler keeps the arrays in registers. */
WR_STEP void wr_bicgstabl_after_gram(wr_bicgstabl_scalars *s, wr_step_request *request) {
  double d[WR_MOST_L + 1], y[WR_MOST_L + 1], q[WR_MOST_L + 1], f[WR_MOST_L + 1][WR_MOST_L + 1];
  double rest = s->bb; /* of r_0 beside r_1, ..., r_j */
  int size = 0, l = wr_step_index(s->l, 1, WR_MOST_L);
  (void)request;
  wr_bicgstabl_look_at_norm(s);
  int goes_on = wr_bicgstabl_goes_on(s);
  for (int j = 1; j <= WR_MOST_L; j++) {
    d[j] = j <= l ? s->gram[j][j] : 1, y[j] = j <= l ? s->gram[0][j] : 0;
    for (int k = 1; k < j; k++) {
      double sum = j <= l ? s->gram[k][j] : 0;
      for (int m = 1; m < k; m++) sum -= wr_product(f[j][m] * f[k][m], d[m]);
      f[j][k] = sum / d[k];
      d[j] -= wr_product(f[j][k] * f[j][k], d[k]);
      y[j] -= wr_product(f[j][k], y[k]);
    }
    int is_new = (j <= l) & (size == j - 1) & (d[j] > s->least_cos2 * s->gram[j][j]) & (d[j] < s->solve.huge);
    size = is_new ? j : size;
    d[j] = is_new ? d[j] : 1;
    q[j] = y[j] / d[j];
    double part = wr_product(y[j], q[j]);
    if ((j == l) & (part < s->least_cos2 * rest))
      q[j] = (y[j] < 0 ? -WR_BICGSTABL_COSINE : WR_BICGSTABL_COSINE) * sqrt(rest / d[j]);
    rest -= j < l ? part : 0;
  }
  for (int j = WR_MOST_L; j >= 1; j--) {
    double g = q[j];
    for (int k = j + 1; k <= WR_MOST_L; k++) g -= k <= size ? wr_product(f[k][j], s->gamma[k]) : 0;
    s->gamma[j] = (goes_on & (j <= size)) ? g : 0;
  }
  int is_usable = (size == l) & wr_is_usable(s->gamma[l]);
  wr_solve_break(&s->solve, goes_on & (!is_usable), WR_BICGSTABL_BAD_GAMMA);
}

/* At the end of an iteration: rho := -gamma_l rho, with which beta for the next one. */
WR_STEP void wr_bicgstabl_after_update(wr_bicgstabl_scalars *s, wr_step_request *request) {
  s->solve.rr = s->enough != 0 ? s->bb : s->solve.rr; /* of the same r_0, perhaps added in another order */
  s->solve.weighted_rr = s->enough != 0 ? s->weighted_bb : s->solve.weighted_rr;
  int is_over = wr_solve_is_over(&s->solve);
  s->rho = is_over ? s->rho : -s->gamma[wr_step_index(s->l, 1, WR_MOST_L)] * s->rho;
  wr_bicgstabl_find_beta(s, !is_over);
  is_over = is_over | (s->solve.breakdown != 0);
  s->enough = 0;
  wr_solve_end_iteration(&s->solve, is_over, 0, request);
  s->solve.active = 0;
}

#endif
