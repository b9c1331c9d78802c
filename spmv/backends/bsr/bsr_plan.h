/* What the report's four kernels share on the host: knobs, the format, the tasks, and most of a backend's functions. */
#ifndef WR_BSR_PLAN_H
#define WR_BSR_PLAN_H

#include <stddef.h>

#include "spmv/blocks/bsr_build.h"
#include "spmv/backends/bsr/bsr_tasks.h"

WR_C_BEGIN

typedef struct wr_bsr_knobs {
  int64_t r, c;            /* 0: wr_bsr_choose                                         */
  int block;               /* threads of a thread block: 32 << block                   */
  double oversubscription; /* tasks for each thread block that the device holds at once */
  int rows_at_once;        /* bsr_unrolled: 1 << rows_at_once                          */
  int layout;              /* bsr_unrolled: its position among the choices             */
} wr_bsr_knobs;

/* Entries of a table of knobs. */
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

/* What the host code below needs to know of a kernel. */
typedef struct wr_bsr_kernel {
  int thread_per_value;   /* 1: needs at least as many threads as a block has values                    */
  int fuses;              /* 1: computes the epilogue itself                                            */
  int deterministic_upto; /* most threads of a thread block with which every apply gives the same bits  */
  wr_status (*resident)(const wr_env *env, const wr_bsr_plan *plan, int *blocks); /* reads plan->format and plan->threads */
} wr_bsr_kernel;

/* Functions of a backend's table (spmv.h); its knobs begin with a wr_bsr_knobs, and its state is a wr_bsr_plan. */
wr_status wr_bsr_plan_check(const wr_env *env, const wr_csr *A, const void *knobs);
void wr_bsr_plan_destroy(void *state, wr_env *env);
wr_status wr_bsr_plan_decode(void *state, wr_env *env, wr_csr **A);
wr_status wr_bsr_plan_update_values(void *state, wr_env *env, wr_csr *A, int *moved);

/* Chooses the size of a block, which is left in info->chosen for prepare. *info := the estimates that follow from it. */
wr_status wr_bsr_plan_blocks(const wr_env *env, const wr_csr *A, const wr_bsr_knobs *knobs, wr_plan_info *info,
                             wr_bsr_choice *choice);

/* Adds to *info the estimates that follow from the tasks. */
void wr_bsr_plan_add_tasks(const wr_env *env, const wr_bsr_knobs *knobs, const wr_bsr_kernel *kernel,
                           const wr_bsr_choice *choice, wr_plan_info *info);

/* A backend's plan, which does both of the above, and its prepare. */
wr_status wr_bsr_plan_estimate(const wr_env *env, const wr_csr *A, const wr_bsr_knobs *knobs,
                               const wr_bsr_kernel *kernel, wr_plan_info *info);
wr_status wr_bsr_plan_prepare(wr_bsr_plan *plan, wr_env *env, wr_csr *A, const wr_bsr_knobs *knobs,
                              const wr_bsr_kernel *kernel, wr_plan_info *info);

/* Thread blocks of the second launch, which completes the rows that tasks share (bsr_report.cuh). */
unsigned wr_bsr_rest_grid(const wr_env *env, const wr_bsr_tasks *tasks);

/* ---- The kernels ---- */

/* y = alpha*A*x + beta*y of a checked request, on env's stream; bsr_unrolled computes the epilogue too. WR_EDEVICE. */
wr_status wr_bsr_row_major_launch(wr_env *env, const wr_bsr_plan *plan, const wr_apply *request);
wr_status wr_bsr_private_launch(wr_env *env, const wr_bsr_plan *plan, const wr_apply *request);
wr_status wr_bsr_team_launch(wr_env *env, const wr_bsr_plan *plan, const wr_apply *request);
wr_status wr_bsr_unrolled_launch(wr_env *env, const wr_bsr_plan *plan, const wr_apply *request);

/* *blocks := thread blocks of the plan's kernel that env's device holds at a time. WR_EDEVICE. */
wr_status wr_bsr_row_major_resident(const wr_env *env, const wr_bsr_plan *plan, int *blocks);
wr_status wr_bsr_private_resident(const wr_env *env, const wr_bsr_plan *plan, int *blocks);
wr_status wr_bsr_team_resident(const wr_env *env, const wr_bsr_plan *plan, int *blocks);
wr_status wr_bsr_unrolled_resident(const wr_env *env, const wr_bsr_plan *plan, int *blocks);

WR_C_END
#endif
