/* BSR as the report's chapter 8 has it, row-major access, shared atomics. */
#include "spmv/backends/bsr/bsr_plan.h"

static const wr_knob knobs[] = {
    WR_BSR_SIDE_KNOB(r, "rows"),
    WR_BSR_SIDE_KNOB(c, "columns"),
    /* The best of table 7 on a P100. */
    WR_BSR_BLOCK_KNOB("32|64|128|256|512|1024", "32"),
    WR_BSR_OVERSUBSCRIPTION_KNOB("1"),
    {.name = NULL},
};

static const wr_bsr_kernel kernel = {.resident = wr_bsr_row_major_resident};

static wr_status plan(const wr_env *env, const wr_csr *A, const void *k, wr_plan_info *info) {
  return wr_bsr_plan_estimate(env, A, k, &kernel, info);
}

static wr_status prepare(void *state, wr_env *env, wr_csr *A, const void *k, wr_plan_info *info) {
  return wr_bsr_plan_prepare(state, env, A, k, &kernel, info);
}

static wr_status apply(void *state, wr_env *env, const wr_apply_args *args) {
  return wr_bsr_row_major_launch(env, state, &args->request);
}

const wr_backend wr_backend_bsr_row_major = {
    .name = "bsr_row_major",
    .summary = "BSR, row-major access, shared atomics",
    .source = "research report on BSR, section 8.3.2, listing 14",
    .place = WR_CUDA,
    .caps = WR_CAP_BETA | WR_CAP_PATTERN | WR_CAP_RECTANGULAR | WR_CAP_F32 | WR_CAP_F64,
    .knobs = knobs,
    .knobs_size = sizeof(wr_bsr_knobs),
    .state_size = sizeof(wr_bsr_plan),
    .check = wr_bsr_plan_check,
    .plan = plan,
    .prepare = prepare,
    .apply = apply,
    .destroy = wr_bsr_plan_destroy,
    .decode = wr_bsr_plan_decode,
    .update_values = wr_bsr_plan_update_values,
};
