/* Functions of backends that multiply with the matrix's device view (csr.h) and store no format of their own: estimates for
 * plan, and the arrays to borrow in prepare. */
#ifndef WR_CSR_MODEL_H
#define WR_CSR_MODEL_H

#include "spmv/spmv.h"

/* *info := format_bytes, borrowed_bytes and apply_bytes of A's device view in env's type, without padding; the rest 0.
 * Needs no open device. */
void wr_csr_estimate(const wr_env *env, const wr_csr *A, wr_plan_info *info);

/* *view := the device view; info->borrowed_bytes := its size, padding included. Errors: wr_csr_device_view. */
wr_status wr_csr_borrow(wr_csr *A, wr_env *env, wr_csr_view *view, wr_plan_info *info);

/* update_values of a backend with a wr_csr_view as its state. *view := the device view with A's present values; *moved := 1 if
 * an array of it has another address than before. Errors: wr_csr_device_view. */
wr_status wr_csr_update_view(void *view, wr_env *env, wr_csr *A, int *moved);

/* For the table of a backend that takes every matrix and has a wr_csr_view as its state. */
wr_status wr_csr_check_nothing(const wr_env *env, const wr_csr *A, const void *knobs);
wr_status wr_csr_prepare_view(void *state, wr_env *env, wr_csr *A, const void *knobs, wr_plan_info *info);
void wr_csr_destroy_nothing(void *state, wr_env *env); /* the matrix owns the arrays */
wr_csr_view wr_csr_state_view(const void *state);

#endif
