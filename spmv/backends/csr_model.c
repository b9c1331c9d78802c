#include "spmv/backends/csr_model.h"

void wr_csr_estimate(const wr_env *env, const wr_csr *A, wr_plan_info *info) {
  int64_t pointer_bytes = A->nnz > INT32_MAX ? 8 : 4, type_bytes = wr_type_bytes(env->type);
  int64_t bytes = (A->nrows + 1) * pointer_bytes + A->nnz * (int64_t)sizeof *A->col;
  if (A->val) bytes += A->nnz * type_bytes;
  *info = (wr_plan_info){.format_bytes = bytes, .borrowed_bytes = bytes};
  info->apply_bytes = (double)(bytes + (A->nrows + A->ncols) * type_bytes);
}

wr_status wr_csr_borrow(wr_csr *A, wr_env *env, wr_csr_view *view, wr_plan_info *info) {
  wr_status status = wr_csr_device_view(A, env, view);
  if (status == WR_OK) info->borrowed_bytes = view->bytes;
  return status;
}

wr_status wr_csr_update_view(void *view, wr_env *env, wr_csr *A, int *moved) {
  wr_csr_view *now = view, before = *now;
  wr_status status = wr_csr_device_view(A, env, now);
  *moved = now->row_ptr != before.row_ptr || now->col != before.col || now->val != before.val;
  return status;
}

wr_status wr_csr_check_nothing(const wr_env *env, const wr_csr *A, const void *knobs) {
  (void)env, (void)A, (void)knobs;
  return WR_OK;
}

wr_status wr_csr_prepare_view(void *state, wr_env *env, wr_csr *A, const void *knobs, wr_plan_info *info) {
  (void)knobs;
  return wr_csr_borrow(A, env, state, info);
}

void wr_csr_destroy_nothing(void *state, wr_env *env) { (void)state, (void)env; }

wr_csr_view wr_csr_state_view(const void *state) { return *(const wr_csr_view *)state; }
