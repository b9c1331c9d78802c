/* The schedules of the report (section 6.2.2): which thread multiplies which blocks and finishes which rows.
 *
 *   sequential        one thread, row after row (listing 2)
 *   granular_row      block rows are assigned one by one (listing 3)
 *   intra_row         all threads share the blocks of each block row, and wait for each other after it (listing 4)
 *   intra_row_nowait  the same in larger pieces and without waiting (listing 5)
 *   max_task          block rows are assigned, and cut into tasks of a maximum number of blocks (listing 6)
 *   fixed_task        one thread cuts the blocks into tasks of equal size, which all threads run (listing 7)
 *   preprocessed      the same cuts, made once by the plan (listings 9 and 10)
 *
 *   preprocessed, e.g. 3 steps a task on the 6x6 example of bsr_format.h (5 blocks + 3 block rows = 8 steps; a block row
 *   counts like a block, so empty ones are balanced too):
 *     task 0: blocks 0 and 1, end of block row 0        head -        rows 0 1    tail -
 *     task 1: blocks 2 and 3, end of block row 1        head -        rows 2 3    tail -
 *     task 2: block 4, end of block row 2               head -        rows 4 5    tail -
 *
 * The report scales y by beta first and adds to it atomically. Here y is written once, with its epilogue. A block row of one
 * thread is written by that thread; one of several threads is written after all have added their parts to `sums`, atomically
 * and in f64. preprocessed stores the parts in arrays and adds them in the order of the tasks, which makes it deterministic. */
#ifndef WR_CPU_BSR_TASKS_H
#define WR_CPU_BSR_TASKS_H

#include "spmv/backends/cpu_bsr/cpu_bsr_kernel.h"
#include "spmv/device/team.h"
#include "spmv/spmv.h"

typedef enum cpu_bsr_schedule {
  CPU_BSR_SEQUENTIAL,
  CPU_BSR_GRANULAR_ROW,
  CPU_BSR_INTRA_ROW,
  CPU_BSR_INTRA_ROW_NOWAIT,
  CPU_BSR_MAX_TASK,
  CPU_BSR_FIXED_TASK,
  CPU_BSR_PREPROCESSED
} cpu_bsr_schedule;

#define CPU_BSR_SCHEDULES "sequential|granular_row|intra_row|intra_row_nowait|max_task|fixed_task|preprocessed"

typedef struct cpu_bsr_state {
  wr_bsr matrix;
  cpu_bsr_kernel kernel;
  cpu_bsr_schedule schedule;
  int as_pattern;      /* the matrix has no values                                                    */
  wr_team *team;       /* threads of preprocessed; the other schedules use OpenMP, as the report does */
  int threads;         /* number of threads                                                           */
  int64_t task_blocks; /* intra_row_nowait, max_task: blocks of a task                                */
  int64_t ntasks;      /* fixed_task, preprocessed: tasks                                             */
  double *sums;        /* [brows * r] sums that several threads add to, zero between applies; or NULL */
  double *partials;    /* [npartials][WR_MAX_REDUCTIONS]                                              */
  int64_t npartials;
  double x_end[WR_BSR_MAX_SIDE]; /* [c] of the type: x in the last block column, then zeros                 */
  /* preprocessed */
  int64_t *first_row;   /* [ntasks + 1] the block row in which a task begins             */
  int64_t *first_block; /* [ntasks + 1] its first block                                  */
  double *head, *tail;  /* [ntasks][r] its parts of the block rows that its two ends cut */
} cpu_bsr_state;

/* The number of tasks of preprocessed; chunks: for each thread, 0: by the matrix only. Also used by the plan's estimate. */
int64_t wr_cpu_bsr_tasks(int64_t blocks, int64_t brows, int64_t block_bytes, int64_t chunks, int threads);

/* Allocates and fills what the schedule needs; matrix, kernel, schedule, threads are set. chunks 0: the default. *bytes :=
 * the memory that it takes. WR_ENOMEM. */
wr_status wr_cpu_bsr_schedule(cpu_bsr_state *s, int64_t chunks, int64_t *bytes);
void wr_cpu_bsr_unschedule(cpu_bsr_state *s); /* also of a zeroed state */

/* One apply. */
void wr_cpu_bsr_run(cpu_bsr_state *s, const wr_apply *request);

#endif
