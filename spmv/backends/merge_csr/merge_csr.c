/* Merge-based CSR: equal parts of the merge of row ends and entries for all threads, found anew in every multiply. Multiplies
 * the matrix's device view directly, and needs no preparation but a few bytes for each thread block. */
#include <stdio.h>

#include "spmv/backends/csr_model.h"
#include "spmv/backends/merge_csr/merge_csr_kernel.h"

static wr_status plan(const wr_env *env, const wr_csr *A, const void *knobs, wr_plan_info *info) {
  (void)knobs;
  wr_csr_estimate(env, A, info);
  info->extra_bytes = wr_merge_csr_bytes(A->nrows, A->nnz);
  info->deterministic = 1;
  info->term_unit = env->type == WR_F32 ? wr_type_unit(WR_F32) : 0; /* of products in shared memory */
  snprintf(info->line, sizeof info->line,
           "CSR as it is, %lld thread blocks on the merge path; epilogue in the same pass",
           (long long)wr_merge_csr_blocks(A->nrows, A->nnz));
  return WR_OK;
}

static wr_status prepare(void *state, wr_env *env, wr_csr *A, const void *knobs, wr_plan_info *info) {
  wr_merge_csr *p = state;
  (void)knobs;
  PASS(wr_csr_borrow(A, env, &p->view, info));
  return wr_merge_csr_open(env, A->nrows, A->nnz, p);
}

static wr_status apply(void *state, wr_env *env, const wr_apply_args *args) {
  return wr_merge_csr_launch(env, state, &args->request);
}

static void destroy(void *state, wr_env *env) { wr_merge_csr_close(env, state); }

const wr_backend wr_backend_merge_csr = {
    .name = "merge_csr",
    .summary = "merge-based CSR, nothing stored",
    .source = "Merrill and Garland 2016, section 4",
    .place = WR_CUDA,
    .caps = WR_CAP_BETA | WR_CAP_EPILOGUE | WR_CAP_PATTERN | WR_CAP_RECTANGULAR | WR_CAP_F32 | WR_CAP_F64 |
            WR_CAP_DEVICE_ROWS | WR_CAP_PLAIN_ROWS,
    .state_size = sizeof(wr_merge_csr),
    .check = wr_csr_check_nothing,
    .plan = plan,
    .prepare = prepare,
    .apply = apply,
    .destroy = destroy,
    .update_values = wr_csr_update_view,
    .rows = wr_csr_state_view,
};
