/* What an iterate of BiCGSTAB is worth: its true residual, for bicgstab.c. */
#ifndef WR_BICGSTAB_JUDGE_H
#define WR_BICGSTAB_JUDGE_H

#include "solvers/bicgstab.h"

/* t := b - A x, *norm := its norm by the device, or infinity where x is not finite throughout: an empty column would hide that
 * from the residual. Outside the rotation of the buffers: the plan finds that out by itself. WR_EDEVICE */
wr_status wr_bicgstab_true_residual(wr_bicgstab *s, const wr_vec *x, double *norm);

/* *norm: ||b - A u|| of u = base + x as the device computed it; becomes the true one. d must be 0. The device's is kept only
 * where its rounding is certain not to matter: it meets bound, or misses it and is right to three digits. WR_ENOMEM,
 * WR_EDEVICE */
wr_status wr_bicgstab_judge(wr_bicgstab *s, double bound, double *norm);

/* ... but by the host in any case. */
wr_status wr_bicgstab_judge_on_host(wr_bicgstab *s, double *norm);

/* base := u, x := d := snapshot := 0, b := t := the residual of u, which the host has found. WR_ENOMEM, WR_EDEVICE */
wr_status wr_bicgstab_refine(wr_bicgstab *s);

/* The system is solved from the beginning: b is its own again. */
wr_status wr_bicgstab_forget_refinement(wr_bicgstab *s);

/* The outcome of a solve whose computed residual meets the tolerance while the true one of u, norm, which the host has found,
 * does not and will not: stagnated, or non-finite where the answer is beyond f64. With a note: why, and what would help. */
void wr_bicgstab_explain_stagnation(const wr_bicgstab *s, double norm, wr_result *result);

/* Adds to the note what else a user should know: that values of the matrix range too widely, that the guess was replaced. */
void wr_bicgstab_explain(const wr_bicgstab *s, double guess_norm, wr_result *result);

#endif
