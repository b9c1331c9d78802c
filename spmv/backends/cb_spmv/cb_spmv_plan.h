/* What a multiply with blocks of 16 x 16 needs besides the format: which block rows thread blocks share, and memory for their
 * parts. */
#ifndef WR_CB_SPMV_PLAN_H
#define WR_CB_SPMV_PLAN_H

#include <stdalign.h>

#include "spmv/backends/cb_spmv/cb_spmv_build.h"
#include "spmv/spmv.h"

WR_C_BEGIN

enum {
  WR_CB_STAGE_BLOCKS = 16,  /* most blocks that a warp has in shared memory                      */
  WR_CB_LEAST_STAGE = 2432, /* bytes of a full COO block in f64, the largest possible, and its x */
  WR_CB_MOST_STAGE = 24576,
  WR_CB_F32_TERMS = 17        /* roundings of a term in f32: its product, and 16 additions in a row of a block */
};

typedef enum wr_cb_commit {
  WR_CB_DUAL,   /* thread blocks add their parts of shared rows to y atomically; the one in which the row ends clears y_next */
  WR_CB_ORDERED /* parts are stored in arrays and added in order by a second launch                           */
} wr_cb_commit;

/* The start of a list, in one record, so that a warp can load its first blocks after a single read. */
typedef struct wr_cb_start {
  alignas(16) int64_t block; /* blocks before the list                                        */
  int64_t offset;            /* units before its first block's data                           */
  int32_t blocks;            /* blocks in the list                                            */
  int32_t row, last;         /* block rows that end before the list, and before the next one  */
  int16_t units;             /* units of data of the `first` blocks                           */
  int8_t first;              /* blocks that are staged first, as many as fit wr_cb_plan.stage */
  int8_t has_head;           /* 1: a block row that began before the list ends in it          */
} wr_cb_start;

/* On a device. Thread block c works on lists 8 * c to 8 * c + 7. */
typedef struct wr_cb_plan {
  wr_cb_format format;
  int64_t grid;    /* thread blocks: lists / WR_CB_TEAM                     */
  int64_t shared;  /* block rows that thread blocks share                   */
  int64_t longest; /* most thread blocks that share a block row, minus one  */
  int stage;       /* units of shared memory that a warp has for data and x */
  int prefetch;    /* 1: a warp prefetches its next blocks into L2          */
  wr_cb_commit commit;
  int32_t *origin;    /* [grid + 1] thread block where the block row begins that is open at this one's start; itself if none */
  wr_cb_start *start; /* [8 * grid]                                                                                          */
  double *head;       /* [grid][16] WR_CB_ORDERED: part of the block row that ends first in the thread block                 */
  double *tail;       /* [grid][16] WR_CB_ORDERED: part of the block row that is open at its end                             */
} wr_cb_plan;

/* Fills a plan, except commit; its format is on env's device already. stage: bytes. Waits. WR_ENOMEM, WR_EDEVICE. */
wr_status wr_cb_plan_prepare(wr_env *env, int64_t stage, int prefetch, wr_cb_plan *p);
void wr_cb_plan_free(wr_env *env, wr_cb_plan *p); /* frees the format too; also of a zeroed one */
int64_t wr_cb_plan_bytes(const wr_cb_plan *p);   /* bytes on the device, of the format too, padding included */

/* Thread blocks of the second launch, which completes shared rows. */
unsigned wr_cb_last_grid(const wr_env *env, const wr_cb_plan *p);

/* y = alpha*A*x + beta*y and the epilogue of a checked request, on env's stream; beta != 0 always runs as WR_CB_ORDERED.
 * WR_EDEVICE. */
wr_status wr_cb_launch(wr_env *env, const wr_cb_plan *p, const wr_apply_args *args);

/* For one type of values: ready raises the kernels' limits, once before the first launch; launch runs both kernels. */
wr_status wr_cb_ready_f32(void);
wr_status wr_cb_ready_f64(void);
wr_status wr_cb_launch_f32(wr_env *env, const wr_cb_plan *p, const wr_apply *request);
wr_status wr_cb_launch_f64(wr_env *env, const wr_cb_plan *p, const wr_apply *request);

WR_C_END
#endif
