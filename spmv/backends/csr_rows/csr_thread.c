/* CSR, one thread for each row: the baseline. Multiplies the matrix's device view directly. */
#include <stdio.h>

#include "spmv/csr_model.h"
#include "spmv/backends/csr_rows/csr_thread_kernel.h"

static wr_status plan(const wr_env *env, const wr_csr *A, const void *knobs, wr_plan_info *info) {
  (void)knobs;
  wr_csr_estimate(env, A, info);
  info->deterministic = 1;
  snprintf(info->line, sizeof info->line, "CSR as it is, a thread a row");
  return WR_OK;
}

static wr_status apply(void *state, wr_env *env, const wr_apply_args *args) {
  return wr_csr_thread_launch(env, state, &args->request);
}

const wr_backend wr_backend_csr_thread = {
    .name = "csr_thread",
    .summary = "CSR, a thread a row",
    .source = "Mazzucchi 2025, section IV, algorithm 1",
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
