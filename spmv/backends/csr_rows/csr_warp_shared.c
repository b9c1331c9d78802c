/* CSR, one warp for each row; the part of x that a row reads is staged in shared memory. Multiplies the matrix's device view
 * directly. */
#include <stdio.h>

#include "spmv/csr_model.h"
#include "spmv/backends/csr_rows/csr_warp_shared_kernel.h"

static wr_status plan(const wr_env *env, const wr_csr *A, const void *knobs, wr_plan_info *info) {
  (void)knobs;
  wr_csr_estimate(env, A, info);
  info->deterministic = 1;
  snprintf(info->line, sizeof info->line, "CSR as it is, a warp a row, x staged for rows within 1024 columns");
  return WR_OK;
}

static wr_status apply(void *state, wr_env *env, const wr_apply_args *args) {
  return wr_csr_warp_shared_launch(env, state, &args->request);
}

const wr_backend wr_backend_csr_warp_shared = {
    .name = "csr_warp_shared",
    .summary = "CSR, a warp a row, x staged in shared memory",
    .source = "Mazzucchi 2025, section IV.B, algorithm 4",
    .place = WR_CUDA,
    .caps = WR_CAP_BETA | WR_CAP_PATTERN | WR_CAP_RECTANGULAR | WR_CAP_F32 | WR_CAP_F64 |
            WR_CAP_DEVICE_ROWS | WR_CAP_PLAIN_ROWS,
    .state_size = sizeof(wr_csr_view),
    .check = wr_csr_check_nothing,
    .plan = plan,
    .prepare = wr_csr_prepare_view,
    .apply = apply,
    .destroy = wr_csr_destroy_nothing,
    .update_values = wr_csr_update_view,
    .rows = wr_csr_state_view,
};
