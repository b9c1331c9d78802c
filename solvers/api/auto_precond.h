/* --precond auto: the solve begins without a preconditioner, or with the diagonal's, and goes on with incomplete factors where
 * its residuals promise that they pay. All decisions are by counts and residuals, never by clocks. In parts they are the same
 * in all, by the costs of the part that has the highest, and what fails in one part fails in all; wr_auto_begin, wr_auto_solve
 * and reviews are collective. */
#ifndef WR_AUTO_PRECOND_H
#define WR_AUTO_PRECOND_H

#include "solvers/bicgstab.h"
#include "solvers/report/run.h"

/* What goes on now: the preconditioner of the start; ILU(0); that of the start again; ILU(0), and then ILUT, where all else
 * has failed. */
typedef enum wr_auto_state { WR_AUTO_START, WR_AUTO_ILU, WR_AUTO_BACK, WR_AUTO_LAST, WR_AUTO_ILUT } wr_auto_state;

typedef struct wr_auto_precond {
  const wr_system *system;
  wr_env *env;
  const wr_monitor *monitor; /* that ends a factorisation, too                          */
  wr_run_precond *report;    /* what was chosen and why                                 */
  wr_precond *jacobi, *ilu, *ilut; /* jacobi: from the start on; NULL: M = 1 there. The others as far as made */
  double spread;             /* with jacobi: the largest of the diagonal's sizes / the smallest */
  int is_positive;           /* the matrix is symmetric with a positive diagonal        */
  int is_cg;                 /* conjugate gradients were asked for                      */
  int is_refused;            /* 1: there is no ILU(0) to go on with                     */
  int has_no_ilut;           /* 1: nor ILUT                                             */
  int is_unstable;           /* 1: ILU(0) was made and is not worth a trial             */
  double worth;              /* multiplies that a factorisation costs                   */
  double share;              /* the time of a multiply without M as a share of one with */
  wr_auto_state state;
  int64_t since;             /* multiplies before ILU(0)                                */
  double least;              /* residual at that moment                                 */
  double promised;           /* multiplies without ILU(0), at the last review before */
} wr_auto_precond;

/* Chooses what the solve begins with, and finds out system->positive. `a` keeps system, env and report. WR_ENOMEM, and errors
 * of env. */
wr_status wr_auto_begin(wr_auto_precond *a, wr_system *system, wr_env *env, wr_run_precond *report);

/* Before each solve: the choice of the start for it, and options.review. monitor: that of the solve. */
wr_status wr_auto_solve(wr_auto_precond *a, const wr_monitor *monitor, wr_bicgstab_options *options,
                        wr_bicgstab *method);

/* Whether a solve that began as chosen goes on so, or factors are to be tried; at->next := the multiplies until this is asked
 * again. context: the wr_auto_precond, after wr_auto_solve. */
int wr_auto_goes_on(void *context, wr_bicgstab_review *at);

void wr_auto_end(wr_auto_precond *a); /* a zeroed one is fine */

#endif
