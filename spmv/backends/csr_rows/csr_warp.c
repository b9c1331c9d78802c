/* CSR, one warp for each row, with the epilogue in the same pass: the backend from which to start a new one. Multiplies the
 * matrix's device view directly. */
#include <stdio.h>

#include "spmv/backends/csr_model.h"
#include "spmv/backends/csr_rows/csr_warp_kernel.h"

static wr_status check(const wr_env *env, const wr_csr *A, const void *knobs) {
  (void)env, (void)A, (void)knobs; /* takes every matrix */
  return WR_OK;
}

static wr_status plan(const wr_env *env, const wr_csr *A, const void *knobs, wr_plan_info *info) {
  (void)knobs;
  wr_csr_estimate(env, A, info);
  info->deterministic = 1;
  snprintf(info->line, sizeof info->line, "CSR as it is, a warp a row; epilogue in the same pass");
  return WR_OK;
}

/* The state is the view. Reductions of the epilogue go through the workspace of env. */
static wr_status prepare(void *state, wr_env *env, wr_csr *A, const void *knobs, wr_plan_info *info) {
  (void)knobs;
  PASS(wr_csr_borrow(A, env, state, info));
  return wr_csr_warp_reserve(env);
}

static wr_status apply(void *state, wr_env *env, const wr_apply_args *args) {
  return wr_csr_warp_launch(env, state, &args->request);
}

static wr_status apply_many(void *state, wr_env *env, const wr_apply_many *request) {
  return wr_csr_warp_many_launch(env, state, request);
}

static void destroy(void *state, wr_env *env) { (void)state, (void)env; /* the arrays are the matrix's */ }

const wr_backend wr_backend_csr_warp = {
    .name = "csr_warp",
    .summary = "CSR, a warp a row",
    .source = "Mazzucchi 2025, section IV, algorithm 2",
    .place = WR_CUDA,
    .caps = WR_CAP_BETA | WR_CAP_EPILOGUE | WR_CAP_PATTERN | WR_CAP_RECTANGULAR | WR_CAP_F32 | WR_CAP_F64 |
            WR_CAP_DEVICE_ROWS | WR_CAP_PLAIN_ROWS,
    .state_size = sizeof(wr_csr_view),
    .check = check,
    .plan = plan,
    .prepare = prepare,
    .apply = apply,
    .destroy = destroy,
    .apply_many = apply_many,
    .update_values = wr_csr_update_view,
    .rows = wr_csr_state_view,
};
