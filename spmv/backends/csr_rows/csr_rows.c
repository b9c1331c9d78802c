/* The backends csr_thread (the baseline), csr_thread_unrolled and csr_warp_shared, which multiply the matrix's device view
 * directly. csr_warp, from which to start a new backend, has a file of its own. */
#include <stdio.h>

#include "spmv/backends/csr_rows/csr_rows.h"
#include "spmv/backends/csr_model.h"

/* plan and apply of a backend; what they do differs in the kernel and in the line about it. */
#define FUNCTIONS(kernel, what)                                                                                        \
  static wr_status kernel##_plan(const wr_env *env, const wr_csr *A, const void *knobs, wr_plan_info *info) {          \
    (void)knobs;                                                                                                       \
    wr_csr_estimate(env, A, info);                                                                                     \
    info->deterministic = 1;                                                                                           \
    snprintf(info->line, sizeof info->line, "CSR as it is, " what);                                                    \
    return WR_OK;                                                                                                      \
  }                                                                                                                    \
  static wr_status kernel##_apply(void *state, wr_env *env, const wr_apply_args *args) {                               \
    return wr_csr_##kernel##_launch(env, state, &args->request);                                                       \
  }
FUNCTIONS(thread, "a thread a row")
FUNCTIONS(thread_unrolled, "a thread a row, 4 entries at a time")
FUNCTIONS(warp_shared, "a warp a row, x staged for rows within 1024 columns")

/* Reductions of the epilogue go through the workspace of env. */
static wr_status thread_unrolled_prepare(void *state, wr_env *env, wr_csr *A, const void *knobs, wr_plan_info *info) {
  PASS(wr_csr_prepare_view(state, env, A, knobs, info));
  return wr_csr_thread_unrolled_reserve(env, A->nrows);
}

/* The members that all three tables share. The state is the view. */
#define CAPS                                                                                                           \
  (WR_CAP_BETA | WR_CAP_PATTERN | WR_CAP_RECTANGULAR | WR_CAP_F32 | WR_CAP_F64 | WR_CAP_DEVICE_ROWS |                  \
   WR_CAP_PLAIN_ROWS)
#define COMMON(kernel)                                                                                                 \
  .place = WR_CUDA, .state_size = sizeof(wr_csr_view), .check = wr_csr_check_nothing, .plan = kernel##_plan,           \
  .apply = kernel##_apply, .destroy = wr_csr_destroy_nothing, .update_values = wr_csr_update_view,                     \
  .rows = wr_csr_state_view

const wr_backend wr_backend_csr_thread = {
    .name = "csr_thread",
    .summary = "CSR, a thread a row",
    .source = "Mazzucchi 2025, section IV, algorithm 1",
    .caps = CAPS,
    .prepare = wr_csr_prepare_view,
    COMMON(thread),
};

const wr_backend wr_backend_csr_thread_unrolled = {
    .name = "csr_thread_unrolled",
    .summary = "CSR, a thread a row, unrolled by 4",
    .source = "Mazzucchi 2025, section IV.A, algorithm 3",
    .caps = CAPS | WR_CAP_EPILOGUE,
    .prepare = thread_unrolled_prepare,
    COMMON(thread_unrolled),
};

const wr_backend wr_backend_csr_warp_shared = {
    .name = "csr_warp_shared",
    .summary = "CSR, a warp a row, x staged in shared memory",
    .source = "Mazzucchi 2025, section IV.B, algorithm 4",
    .caps = CAPS,
    .prepare = wr_csr_prepare_view,
    COMMON(warp_shared),
};
