/* The report's work distribution (listings 10 and 12): the stored values are cut into tasks of equal size, one for each
 * thread block. The cuts are computed once, on the device.
 *
 *   The 6x6 example of bsr_format.h, 5 blocks of 2 x 3, 30 values in block rows of 12, 12 and 6, cut into 4 tasks:
 *
 *     index     [0 7 15 22 30]  values before a task: floor(30 t / 4)
 *     row       [0 0 1 1 3]     the block row of value index[t]
 *     origin    [0 0 2 1]       task 1 completes block row 0, which began in task 0, and task 3 block row 1, which began in
 *                               task 1 and passes through task 2; the others complete nothing that is not all theirs
 *
 * The task in which a block row ends completes it. If the block row began in an earlier task, this task stores its part of
 * the sums in `head`, and each task from its origin to the one before it stores its part in `tail`. The sums are then
 * tail[origin] + ... + tail[t - 1] + head[t].
 *
 * Block rows without blocks are in a list of their own, so that no task spends time skipping them. */
#ifndef WR_BSR_TASKS_H
#define WR_BSR_TASKS_H

#include "spmv/blocks/bsr_format.h"

WR_C_BEGIN

/* Most values of a task, so that counts within a task, and what a kernel adds to them, stay below 2^31. */
#define WR_BSR_TASK_VALUES ((int64_t)1 << 30)

typedef struct wr_bsr_tasks {
  int64_t count;         /* of tasks; 0 without blocks                                                            */
  int64_t nfull, nempty; /* block rows with and without blocks                                                    */
  int r;                 /* of the blocks                                                                         */
  int64_t *index;        /* [count + 1] stored values before the task                                             */
  int32_t *row;          /* [count + 1] the block row of value index[t]: its position in `full`; the last: nfull  */
  int32_t *origin;       /* [count] the task in which the first block row that ends in this one begins            */
  int32_t *full;         /* [nfull] block rows with blocks, ascending; NULL: all                                  */
  int32_t *empty;        /* [nempty] those without; NULL: none                                                    */
  double *head, *tail;   /* [count][r] parts of shared block rows                                                 */
} wr_bsr_tasks;

/* *tasks := about `wanted` tasks for blocks on env's device: at least 1, at most one for each value, none of more than
 * WR_BSR_TASK_VALUES. Waits. WR_ENOMEM, WR_EDEVICE; *tasks is then without arrays. */
wr_status wr_bsr_tasks_build(wr_env *env, const wr_bsr *blocks, int64_t wanted, wr_bsr_tasks *tasks);
void wr_bsr_tasks_free(wr_env *env, wr_bsr_tasks *tasks); /* frees the arrays; also of a zeroed one */
int64_t wr_bsr_tasks_bytes(const wr_bsr_tasks *tasks);   /* bytes of the arrays, padding included */

WR_C_END
#endif
