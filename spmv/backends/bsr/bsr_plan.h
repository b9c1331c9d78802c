/* What the report's four kernels share on the host: knobs, the format and the tasks, and most of a backend's functions. */
#ifndef WR_BSR_PLAN_H
#define WR_BSR_PLAN_H

#include <stddef.h>

#include "spmv/blocks/bsr_build.h"
#include "spmv/backends/bsr/bsr_tasks.h"
#include "spmv/spmv.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wr_bsr_knobs {
  int64_t r, c;            /* 0: wr_bsr_choose                                         */
  int block;               /* threads of a thread block: 32 << block                   */
  double oversubscription; /* tasks for each thread block that the device holds at once */
  int rows_at_once;        /* bsr_unrolled: 1 << rows_at_once                          */
  int layout;              /* bsr_unrolled: its position among the choices             */
} wr_bsr_knobs;

/* Rows of a table of knobs. */
#define WR_BSR_SIDE_KNOB(side, what)                                                                                   \
  {.name = #side, .type = WR_OPTION_INT, .offset = offsetof(wr_bsr_knobs, side), .min = 0, .max = WR_BSR_MAX_SIDE,     \
   .value = "0", .help = what " of a block; 0: as few bytes as possible"}
#define WR_BSR_BLOCK_KNOB(sizes, usual)                                                                                \
  {.name = "block", .type = WR_OPTION_CHOICE, .offset = offsetof(wr_bsr_knobs, block), .choices = sizes,               \
   .value = usual, .help = "threads of a thread block"}
#define WR_BSR_OVERSUBSCRIPTION_KNOB(usual)                                                                            \
  {.name = "oversubscription", .type = WR_OPTION_REAL, .offset = offsetof(wr_bsr_knobs, oversubscription),             \
   .min = 0.25, .max = 16, .value = usual, .help = "tasks for each thread block that the device holds at once"}

typedef struct wr_bsr_plan {
  wr_bsr format; /* on the device              */
  wr_bsr_tasks tasks;
  int threads;      /* of a thread block          */
  int rows_at_once; /* of bsr_unrolled            */
  int pattern;      /* the matrix has no values   */
} wr_bsr_plan;

/* What tells the kernels apart, as long as nothing is launched. */
typedef struct wr_bsr_kernel {
  int whole_blocks;       /* 1: has a thread for each value of a block, at least                                       */
  int fuses;              /* 1: its epilogue is fused                                                                  */
  int deterministic_upto; /* threads of a thread block up to which every apply gives the same bits                     */
  wr_status (*resident)(const wr_env *env, const wr_bsr_plan *plan, int *blocks); /* format and threads are known       */
} wr_bsr_kernel;

/* The functions of a backend (spmv.h) whose knobs begin with a wr_bsr_knobs, and whose state is a wr_bsr_plan. */
wr_status wr_bsr_plan_check(const wr_env *env, const wr_csr *A, const void *knobs);
void wr_bsr_plan_destroy(void *state, wr_env *env);
wr_status wr_bsr_plan_decode(void *state, wr_env *env, wr_csr **A);
wr_status wr_bsr_plan_update_values(void *state, wr_env *env, wr_csr *A, int *moved);

/* *info := what follows from the size of a block, which is chosen here, and left in info->chosen for prepare. */
wr_status wr_bsr_plan_blocks(const wr_env *env, const wr_csr *A, const wr_bsr_knobs *knobs, wr_plan_info *info,
                             wr_bsr_choice *choice);

/* Adds what follows from the tasks. */
void wr_bsr_plan_add_tasks(const wr_env *env, const wr_bsr_knobs *knobs, const wr_bsr_kernel *kernel,
                           const wr_bsr_choice *choice, wr_plan_info *info);

/* For a backend's plan, both; and its prepare. */
wr_status wr_bsr_plan_estimate(const wr_env *env, const wr_csr *A, const wr_bsr_knobs *knobs,
                               const wr_bsr_kernel *kernel, wr_plan_info *info);
wr_status wr_bsr_plan_prepare(wr_bsr_plan *plan, wr_env *env, wr_csr *A, const wr_bsr_knobs *knobs,
                              const wr_bsr_kernel *kernel, wr_plan_info *info);

/* Thread blocks of the launch that completes what tasks share (bsr_report.cuh). */
unsigned wr_bsr_rest_grid(const wr_env *env, const wr_bsr_tasks *tasks);

/* ---- The kernels ---- */

/* y = alpha*A*x + beta*y of a checked request on env's stream, and bsr_unrolled the epilogue too. WR_EDEVICE. */
wr_status wr_bsr_row_major_launch(wr_env *env, const wr_bsr_plan *plan, const wr_apply *request);
wr_status wr_bsr_private_launch(wr_env *env, const wr_bsr_plan *plan, const wr_apply *request);
wr_status wr_bsr_team_launch(wr_env *env, const wr_bsr_plan *plan, const wr_apply *request);
wr_status wr_bsr_unrolled_launch(wr_env *env, const wr_bsr_plan *plan, const wr_apply *request);

/* *blocks := thread blocks of the plan's instance of the kernel that env's device holds at a time. WR_EDEVICE. */
wr_status wr_bsr_row_major_resident(const wr_env *env, const wr_bsr_plan *plan, int *blocks);
wr_status wr_bsr_private_resident(const wr_env *env, const wr_bsr_plan *plan, int *blocks);
wr_status wr_bsr_team_resident(const wr_env *env, const wr_bsr_plan *plan, int *blocks);
wr_status wr_bsr_unrolled_resident(const wr_env *env, const wr_bsr_plan *plan, int *blocks);

#ifdef __cplusplus
}
#endif
#endif
