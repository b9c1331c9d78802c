/* The scalars of the conjugate gradient method and the steps between its operations (solvers/krylov/cg_step.c), after
 * M. R. Hestenes and E. Stiefel, J. Res. Natl. Bur. Stand. 49 (1952), with a preconditioner M. Flags are 1 or 0. */
#ifndef WR_CG_STEPS_H
#define WR_CG_STEPS_H

#include "spmv/steps/solve_steps.h"

typedef struct wr_cg_scalars {
  wr_solve_scalars solve;
  double rz, rz_next;     /* (r, M^-1 r) of this and of the next residual; without M these are (r, r) */
  double pq;              /* (p, A p): the curvature along p                                       */
  double alpha, beta;
  double is_preconditioned;
} wr_cg_scalars;

/* Breakdowns, in the order of wr_method_cg.breakdowns. */
enum { WR_CG_CURVATURE = 1, WR_CG_PRECONDITIONER };

/* alpha = (r, z) / (p, A p). Breakdown: the curvature is not positive, so A is not positive definite; alpha := 0 then, and if
 * the solve had ended before. */
WR_STEP void wr_cg_after_product(wr_cg_scalars *s, wr_step_request *request) {
  wr_solve_scalars *a = &s->solve;
  double alpha = wr_quotient(s->rz, s->pq);
  int is_usable = (s->pq > 0) & (s->pq < a->huge) & wr_is_usable(alpha), is_going = a->done == 0;
  (void)request;
  a->active = wr_flag(is_usable & is_going);
  wr_solve_break(a, (!is_usable) & is_going, WR_CG_CURVATURE);
  s->alpha = is_usable & is_going ? alpha : 0;
}

/* beta = (r', z') / (r, z), or 0 if the solve has ended. Breakdown: (r', z') is not positive, so M is not positive definite. */
WR_STEP void wr_cg_after_update(wr_cg_scalars *s, wr_step_request *request) {
  wr_solve_scalars *a = &s->solve;
  double next = s->is_preconditioned != 0 ? s->rz_next : a->rr;
  int is_over = wr_solve_is_over(a), is_bad = (!((next > 0) & (next < a->huge))) & (!is_over);
  is_over = is_over | is_bad;
  wr_solve_break(a, is_bad, WR_CG_PRECONDITIONER);
  s->beta = is_over ? 0 : wr_quotient(next, s->rz);
  s->rz = is_over ? s->rz : next;
  wr_solve_end_iteration(a, is_over, 0, request);
}

#endif
