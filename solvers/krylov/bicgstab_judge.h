/* The true residual of an iterate of BiCGSTAB, for bicgstab.c. */
#ifndef WR_BICGSTAB_JUDGE_H
#define WR_BICGSTAB_JUDGE_H

#include "solvers/bicgstab.h"

/* b := the right-hand side of the system, weight := its weights of rows, which change with it. WR_EDEVICE */
wr_status wr_bicgstab_place_rhs(wr_bicgstab *s);

/* t := b - A x, *norm := its norm, computed by the device; infinity if an element of x is not finite, since the residual does
 * not contain elements of x with an empty column. t need not be the buffer of the next apply. WR_EDEVICE */
wr_status wr_bicgstab_true_residual(wr_bicgstab *s, const wr_vec *x, double *norm);

/* *norm: ||b - A u|| of u = base + x as the device computed it. The host replaces it by its own unless the rounding of the
 * device's cannot matter: it meets bound whatever the rounding, or misses it and is right to three digits. d must be 0.
 * WR_ENOMEM, WR_EDEVICE */
wr_status wr_bicgstab_judge(wr_bicgstab *s, double bound, double *norm);

/* The same, but the host computes it in any case. */
wr_status wr_bicgstab_judge_on_host(wr_bicgstab *s, double *norm);

/* base := u, x := d := snapshot := 0, b := t := the residual of u, which the host has found. WR_ENOMEM, WR_EDEVICE */
wr_status wr_bicgstab_refine(wr_bicgstab *s);

/* Undoes refinements for a new solve: base := 0, and b is the right-hand side of the system. */
wr_status wr_bicgstab_forget_refinement(wr_bicgstab *s);

/* A bound on what rounding adds to the norm of the residual of u, which the host has found. */
double wr_bicgstab_rounded(const wr_bicgstab *s);

/* The outcome if the computed residual of a solve meets the tolerance while the true one of u, norm, which the host computed,
 * does not: stagnated, or non-finite where the answer is beyond f64. The note says why, and what would help. */
void wr_bicgstab_explain_stagnation(const wr_bicgstab *s, double norm, wr_result *result);

/* Replaces the note of a solve that stagnated with a backward error, which the host computed, above the tolerance. */
void wr_bicgstab_explain_backward(const wr_bicgstab *s, int is_residual_met, wr_result *result);

/* Adds to the note that values of the matrix range too widely, or that the guess was replaced by 0. */
void wr_bicgstab_explain(const wr_bicgstab *s, double guess_norm, wr_result *result);

#endif
