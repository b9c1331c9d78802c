/* CSR, one thread for each row, four entries at a time through the read-only path, with the epilogue in the same pass.
 * Multiplies the matrix's device view directly. */
#include <stdio.h>

#include "spmv/csr_model.h"
#include "spmv/backends/csr_rows/csr_thread_unrolled_kernel.h"

static wr_status plan(const wr_env *env, const wr_csr *A, const void *knobs, wr_plan_info *info) {
  (void)knobs;
  wr_csr_estimate(env, A, info);
  info->deterministic = 1;
  snprintf(info->line, sizeof info->line, "CSR as it is, a thread a row, 4 entries at a time");
  return WR_OK;
}

/* The state is the view. Reductions of the epilogue go through the workspace of env. */
static wr_status prepare(void *state, wr_env *env, wr_csr *A, const void *knobs, wr_plan_info *info) {
  wr_status status;
  TRY(wr_csr_prepare_view(state, env, A, knobs, info));
  TRY(wr_csr_thread_unrolled_reserve(env, A->nrows));
done:
  return status;
}

static wr_status apply(void *state, wr_env *env, const wr_apply_args *args) {
  return wr_csr_thread_unrolled_launch(env, state, &args->request);
}

const wr_backend wr_backend_csr_thread_unrolled = {
    .name = "csr_thread_unrolled",
    .summary = "CSR, a thread a row, unrolled by 4",
    .source = "Mazzucchi 2025, section IV.A, algorithm 3",
    .place = WR_CUDA,
    .caps = WR_CAP_BETA | WR_CAP_EPILOGUE | WR_CAP_PATTERN | WR_CAP_RECTANGULAR | WR_CAP_F32 | WR_CAP_F64 |
            WR_CAP_DEVICE_ROWS | WR_CAP_PLAIN_ROWS,
    .state_size = sizeof(wr_csr_view),
    .check = wr_csr_check_nothing,
    .plan = plan,
    .prepare = prepare,
    .apply = apply,
    .destroy = wr_csr_destroy_nothing,
    .update_values = wr_csr_update_view,
    .rows = wr_csr_state_view,
};
