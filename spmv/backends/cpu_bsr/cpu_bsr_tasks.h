/* The schedules of the report (section 6.2.2): who multiplies which blocks, and who finishes which rows.
 *
 *   sequential        one thread, row after row (listing 2)
 *   granular_row      block rows are dealt out one by one (listing 3)
 *   intra_row         all threads share the blocks of each block row, and wait for each other behind it (listing 4)
 *   intra_row_nowait  the same in larger pieces and without waiting (listing 5)
 *   max_task          block rows are dealt out, and cut into tasks of so many blocks at most (listing 6)
 *   fixed_task        one thread cuts the blocks into tasks of equal size, for the others to do (listing 7)
 *   preprocessed      the same cuts, made once by the plan (listings 9 and 10)
 *
 *   preprocessed, e.g. 3 steps a task on the 6x6 example of bsr_format.h (5 blocks + 3 block rows = 8 steps; a block row
 *   counts like a block, so that empty ones are dealt out as well):
 *     task 0: blocks 0 and 1, end of block row 0        head -        rows 0 1    tail -
 *     task 1: blocks 2 and 3, end of block row 1        head -        rows 2 3    tail -
 *     task 2: block 4, end of block row 2               head -        rows 4 5    tail -
 *
 * The report scales y by beta first and adds to it atomically. Here y is written once, with its epilogue: where a block row
 * is one thread's, by that thread; where it is several threads', once all have added their parts (in f64, atomically, to
 * `sums`; those of preprocessed are kept apart and added in the order of the tasks, which makes it deterministic). */
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
  int as_pattern;            /* the matrix came without values                                              */
  wr_team *team;             /* preprocessed; the other schedules are OpenMP's, as the report has them     */
  int threads;               /* of either                                                                   */
  int64_t task_blocks;       /* intra_row_nowait, max_task: blocks of a piece                               */
  int64_t ntasks;            /* fixed_task, preprocessed                                                    */
  double *sums;              /* [brows * r] what several threads add to, zero between applies; or NULL      */
  double *partials;          /* [npartials][WR_MAX_REDUCTIONS]                                              */
  int64_t npartials;
  double x_end[WR_BSR_MAX_SIDE]; /* [c] of the type: x in the last block column, then zeros                 */
  /* preprocessed */
  int64_t *first_row;        /* [ntasks + 1] the block row in which a task begins                           */
  int64_t *first_block;      /* [ntasks + 1] its first block                                                */
  double *head, *tail;       /* [ntasks][r] its part of the block rows that its two ends cut                */
} cpu_bsr_state;

/* Tasks of preprocessed: 0 chunks are cut by the matrix alone, else so many a thread; also what the plan estimates. */
int64_t wr_cpu_bsr_tasks(int64_t blocks, int64_t brows, int64_t block_bytes, int64_t chunks, int threads);

/* Makes what the schedule needs for matrix, kernel, schedule and threads, which are set; chunks 0: the default. *bytes :=
 * what it takes. WR_ENOMEM. */
wr_status wr_cpu_bsr_schedule(cpu_bsr_state *s, int64_t chunks, int64_t *bytes);
void wr_cpu_bsr_unschedule(cpu_bsr_state *s); /* frees it; zeroed is fine */

/* One apply. */
void wr_cpu_bsr_run(cpu_bsr_state *s, const wr_apply *request);

#endif
