/* Several right-hand sides of one system, iterated together: as many independent solves by one method, each with the scalars
 * and steps that it has alone, which share the matrix, the preconditioner and every launch. Vectors are the columns of
 * row-major arrays, so that a multiply reads the matrix once for all of them (wr_plan_apply_many). Conjugate gradients and
 * BiCGSTAB. Factors on the host are applied to all columns at once, any other M that is not diagonal to one after the other.
 *
 * A column ends when its residual, as it is updated, meets the bound, and when it breaks down, stalls or has used up its
 * iterations. wr_bicgstab_solve then judges it, or finishes it, from where it is (wr_bicgstab.begun). */
#ifndef WR_LOCKSTEP_H
#define WR_LOCKSTEP_H

#include "solvers/bicgstab.h"

/* How a column has ended. */
typedef enum wr_lockstep_end {
  WR_LOCKSTEP_GOING,
  WR_LOCKSTEP_MET,    /* its residual meets the bound, its iterations are used up, or the monitor has ended the work: d is  */
                      /* what was added to its guess                                                                    */
  WR_LOCKSTEP_ALONE   /* it is to be solved from its guess as if alone: it broke down, stalled, or wants another M      */
} wr_lockstep_end;

typedef struct wr_lockstep_column {
  wr_lockstep_end end;
  int64_t iterations, multiplies;
  wr_vec d;           /* [n]; allocated with WR_LOCKSTEP_MET                                */
  wr_history history; /* in units of ||b||, if the monitor keeps one                        */
  /* while it is iterated; norms are in the units of the first column where rows have weights */
  double norm_b, bound, first, review; /* review: multiplies from which the next review is due */
} wr_lockstep_column;

typedef struct wr_lockstep_options {
  const wr_bicgstab_options *solve; /* tolerance, iterations, check_every                                        */
  int may_change, may_change_precond; /* as in wr_method_share                                                   */
  int keeps_history;
  /* OPTIONAL: whether a solve goes on with M as it is; sets at->next to the multiplies until it is asked again. First asked
   * after solve->first_review multiplies */
  int (*goes_on)(void *context, wr_bicgstab_review *at);
  void *context;
} wr_lockstep_options;

typedef struct wr_lockstep wr_lockstep;

/* s->method := options.method, or conjugate gradients where the matrix may be positive definite, else BiCGSTAB. */
void wr_method_choose(wr_bicgstab *s, const wr_bicgstab_options *options);

/* b := that of the system, with its weights of rows, and t := b - A x, of this norm, x being the guess or 0. */
wr_status wr_bicgstab_load(wr_bicgstab *s, double *norm);

/* For `count` columns, 2 to WR_MAX_COLUMNS, by s->method and s->precond, which may be NULL. The plan of s was prepared for as
 * many columns. WR_ENOMEM. */
wr_status wr_lockstep_open(wr_bicgstab *s, int count, const wr_lockstep_options *options, wr_lockstep **out);
void wr_lockstep_close(wr_lockstep *l); /* NULL is fine */

/* column := one that begins with what wr_bicgstab_load has found, or that is to be solved alone, as the note above says, also
 * where nothing is left to iterate. */
wr_status wr_lockstep_add(wr_lockstep *l, double norm, wr_lockstep_column *column);

/* Iterates the columns that were added until each has ended. */
wr_status wr_lockstep_run(wr_lockstep *l, const wr_monitor *monitor);

void wr_lockstep_column_free(wr_env *env, wr_lockstep_column *column);

#endif
