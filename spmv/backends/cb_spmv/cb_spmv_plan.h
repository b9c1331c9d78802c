/* What a multiply with blocks of 16 x 16 needs besides the format: which block rows thread blocks share, and room for their
 * parts. */
#ifndef WR_CB_SPMV_PLAN_H
#define WR_CB_SPMV_PLAN_H

#include <stdalign.h>

#include "spmv/backends/cb_spmv/cb_spmv_build.h"
#include "spmv/spmv.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  WR_CB_ROOM_BLOCKS = 16,     /* blocks that a warp has in shared memory, at most                    */
  WR_CB_LEAST_STAGE = 2432,   /* bytes of a full COO block in f64, the largest that there is, and its x */
  WR_CB_MOST_STAGE = 24576,
  WR_CB_F32_TERMS = 17        /* roundings of a term in f32: its product, and 16 entries of a row of a block */
};

typedef enum wr_cb_commit {
  WR_CB_DUAL,   /* parts of shared rows are added to y atomically; who completes the row clears it in y_next */
  WR_CB_ORDERED /* they are left in an array and added up in order                                            */
} wr_cb_commit;

/* Where a list begins, in one place, so that a warp can ask for its first blocks as soon as it has read this. */
typedef struct wr_cb_start {
  alignas(16) int64_t block; /* blocks before the list                                                      */
  int64_t offset;            /* units before its first block's data                                         */
  int32_t blocks;            /* in the list                                                                 */
  int32_t row, last;         /* block rows that end before the list, and before the next one                */
  int16_t units;             /* of data of the blocks that are taken first                                  */
  int8_t first;              /* how many these are: as many as fit, see wr_cb_plan.stage                    */
  int8_t has_head;           /* 1: a block row that has begun before the list ends in it                    */
} wr_cb_start;

/* On a device. Thread block c works on lists 8 * c to 8 * c + 7. */
typedef struct wr_cb_plan {
  wr_cb_format format;
  int64_t grid;        /* thread blocks: lists / WR_CB_TEAM                                                        */
  int64_t shared;      /* block rows that thread blocks share                                                      */
  int64_t longest;     /* most thread blocks, but one, that share a block row                                      */
  int stage;           /* units of shared memory that a warp has for data and x                                    */
  int prefetch;        /* 1: what a warp takes next is asked into L2 while it works                                */
  wr_cb_commit commit;
  int32_t *origin;     /* [grid + 1] thread block where the block row begins that is open where this one begins; itself: none */
  wr_cb_start *start;  /* [8 * grid]                                                                               */
  double *head;        /* [grid][16] ordered: the part of the block row that ends first in the thread block        */
  double *tail;        /* [grid][16] ordered: the part of the block row that is open at its end                    */
} wr_cb_plan;

/* Adds to a plan whose format is on env's device all but commit. stage: bytes. Waits. WR_ENOMEM, WR_EDEVICE. */
wr_status wr_cb_plan_prepare(wr_env *env, int64_t stage, int prefetch, wr_cb_plan *p);
void wr_cb_plan_free(wr_env *env, wr_cb_plan *p); /* the format too; a zeroed one is fine */
int64_t wr_cb_plan_bytes(const wr_cb_plan *p);   /* on the device, the format and padding included */

/* Thread blocks of the launch that completes shared rows. */
unsigned wr_cb_last_grid(const wr_env *env, const wr_cb_plan *p);

/* y = alpha*A*x + beta*y and the epilogue of a checked request, on env's stream; beta != 0 goes by the ordered way.
 * WR_EDEVICE. */
wr_status wr_cb_launch(wr_env *env, const wr_cb_plan *p, const wr_apply_args *args);

/* One type of values: the kernels' settings, once before the first launch; both kernels. */
wr_status wr_cb_ready_f32(void);
wr_status wr_cb_ready_f64(void);
wr_status wr_cb_launch_f32(wr_env *env, const wr_cb_plan *p, const wr_apply *request);
wr_status wr_cb_launch_f64(wr_env *env, const wr_cb_plan *p, const wr_apply *request);

#ifdef __cplusplus
}
#endif
#endif
