/* The backends bsr_row_major, bsr_private and bsr_team: the kernels of the research report's section 8.3.2 as it has them. */
#include "spmv/backends/bsr/bsr_plan.h"

/* A backend's knobs. sizes, usual: threads of a thread block, and the default; tasks: default of oversubscription. The defaults
 * are the best in the report's tables, on a P100. */
#define KNOBS(sizes, usual, tasks)                                                                                     \
  {                                                                                                                    \
    WR_BSR_SIDE_KNOB(r, "rows"), WR_BSR_SIDE_KNOB(c, "columns"), WR_BSR_BLOCK_KNOB(sizes, usual),                      \
        WR_BSR_OVERSUBSCRIPTION_KNOB(tasks), {                                                                         \
      .name = NULL                                                                                                     \
    }                                                                                                                  \
  }

static const wr_knob row_major_knobs[] = KNOBS("32|64|128|256|512|1024", "32", "1"); /* table 7 */
static const wr_knob private_knobs[] = KNOBS("32|64|128", "32", "0.5");              /* tables 8 and 9 */
static const wr_knob team_knobs[] = KNOBS("32|64|128|256|512|1024", "128", "1");     /* table 10 */

static const wr_bsr_kernel row_major_kernel = {.resident = wr_bsr_row_major_resident};
static const wr_bsr_kernel private_kernel = {.deterministic_upto = 128, .resident = wr_bsr_private_resident};
static const wr_bsr_kernel team_kernel = {.thread_per_value = 1, .resident = wr_bsr_team_resident};

/* plan, prepare and apply of a backend; what they do differs in the kernel alone. */
#define FUNCTIONS(kernel)                                                                                              \
  static wr_status kernel##_plan(const wr_env *env, const wr_csr *A, const void *k, wr_plan_info *info) {              \
    return wr_bsr_plan_estimate(env, A, k, &kernel##_kernel, info);                                                    \
  }                                                                                                                    \
  static wr_status kernel##_prepare(void *state, wr_env *env, wr_csr *A, const void *k, wr_plan_info *info) {          \
    return wr_bsr_plan_prepare(state, env, A, k, &kernel##_kernel, info);                                              \
  }                                                                                                                    \
  static wr_status kernel##_apply(void *state, wr_env *env, const wr_apply_args *args) {                               \
    return wr_bsr_##kernel##_launch(env, state, &args->request);                                                       \
  }
FUNCTIONS(row_major)
FUNCTIONS(private)
FUNCTIONS(team)

/* The members that all three tables share. */
#define COMMON(kernel)                                                                                                 \
  .place = WR_CUDA, .caps = WR_CAP_BETA | WR_CAP_PATTERN | WR_CAP_RECTANGULAR | WR_CAP_F32 | WR_CAP_F64,               \
  .knobs = kernel##_knobs, .knobs_size = sizeof(wr_bsr_knobs), .state_size = sizeof(wr_bsr_plan),                      \
  .check = wr_bsr_plan_check, .plan = kernel##_plan, .prepare = kernel##_prepare, .apply = kernel##_apply,             \
  .destroy = wr_bsr_plan_destroy, .decode = wr_bsr_plan_decode, .update_values = wr_bsr_plan_update_values

const wr_backend wr_backend_bsr_row_major = {
    .name = "bsr_row_major",
    .summary = "BSR, row-major access, shared atomics",
    .source = "research report on BSR, section 8.3.2, listing 14",
    COMMON(row_major),
};

const wr_backend wr_backend_bsr_private = {
    .name = "bsr_private",
    .summary = "BSR, accumulators private to a thread",
    .source = "research report on BSR, section 8.3.2, listing 15",
    COMMON(private),
};

const wr_backend wr_backend_bsr_team = {
    .name = "bsr_team",
    .summary = "BSR, a team of threads a block",
    .source = "research report on BSR, section 8.3.2, listing 17",
    COMMON(team),
};
