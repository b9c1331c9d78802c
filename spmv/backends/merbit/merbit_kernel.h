/* The multiply of MERBIT: a kernel for all rows, and one that completes those that thread blocks share. */
#ifndef WR_MERBIT_KERNEL_H
#define WR_MERBIT_KERNEL_H

#include "spmv/backends/merbit/merbit_format.h"
#include "spmv/spmv.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  WR_MERBIT_WARPS = 8,        /* tiles of a thread block                                                   */
  WR_MERBIT_LAST_BLOCKS = 4, /* most blocks of the kernel that completes shared rows, for each multiprocessor */
  WR_MERBIT_ALONE = 512,           /* most blocks of a kernel that completes them itself                   */
  WR_MERBIT_KERNEL_SIGMA = 32 /* largest: products and sums of a block stay within 64 KB of shared memory  */
};

/* Best sigmas (H200, docs/merbit.md). The small one where others would leave most of the card idle. */
enum {
  WR_MERBIT_SMALL = 5,
  WR_MERBIT_LOCAL_F64 = 14,
  WR_MERBIT_LOCAL_F32 = 19,
  WR_MERBIT_SCATTERED_F64 = 9,
  WR_MERBIT_SCATTERED_F32 = 12
};

/* How the parts of a shared row come together. */
typedef enum wr_merbit_commit {
  WR_MERBIT_DUAL,   /* added to y atomically; who completes the row clears it in y_next (section 4.2, dual-buffer commit) */
  WR_MERBIT_CLEAR,  /* added to y atomically, and all of y is cleared before every multiply: what the above saves         */
  WR_MERBIT_ORDERED /* left in an array of the plan and added up in the order of the blocks: the same bits every time     */
} wr_merbit_commit;

/* A row is shared when it begins in one thread block's part of the path and ends in another's. */
typedef struct wr_merbit_plan {
  wr_merbit_format format;
  wr_csr_view view; /* borrowed: row_ptr, columns, values */
  int64_t blocks;   /* of the multiply                    */
  wr_merbit_commit commit;
  int long_rows, segmented; /* the first and the second optimisation of section 4.2: 0 goes without */
  int scattered;            /* columns are far apart: leave the first-level cache to x, with the sigmas above */
  int alone;                /* the last block completes shared rows and sums; 0: a kernel of its own          */
  int32_t *origin; /* [blocks + 1] where the row that is open at a block's begin begins; the block itself: none is open  */
  int32_t *row;    /* [blocks] the shared row that ends in the block, its first; -1: none does                           */
  double *head;    /* [blocks] ordered: the block's part of the shared row that ends in it                               */
  double *tail;    /* [blocks] ordered: its part of the row that is open at its end                                      */
} wr_merbit_plan;

int64_t wr_merbit_blocks(const wr_merbit_format *shape);

/* Allocates and fills the format and what comes beside it, and the workspace that the reductions of the launches need. The view
 * and the switches are there. Errors: wr_merbit_check, WR_ENOMEM, WR_EDEVICE. */
wr_status wr_merbit_plan_open(wr_env *env, int64_t nrows, int64_t ncols, int64_t nnz, int sigma, wr_merbit_plan *plan);
void wr_merbit_plan_close(wr_env *env, wr_merbit_plan *plan); /* the format too; a zeroed one is fine */
int64_t wr_merbit_plan_bytes(const wr_merbit_plan *plan);     /* what it allocated, the format included */

/* *share := in how many of a window of 1024 consecutive entries x is read from a 128-byte line that no other entry of the
 * window reads from before it: 1/32 and less where columns are neighbours, 1 where they have nothing to do with each other;
 * the mean over windows spread evenly over the matrix. 0 where x is small enough for a first-level cache. Waits. WR_ENOMEM,
 * WR_EDEVICE. */
wr_status wr_merbit_scatter(wr_env *env, const wr_csr_view *view, int64_t ncols, int64_t nnz, double *share);

/* y = alpha*A*x + beta*y and the epilogue of a checked request, on env's stream. beta != 0 goes by the ordered way.
 * WR_EDEVICE. */
wr_status wr_merbit_launch(wr_env *env, const wr_merbit_plan *plan, const wr_apply_args *args);

/* For each type. ready: settles how much of a multiprocessor's memory is shared; the device is the current one. launch:
 * wr_merbit_launch with y's shared rows cleared where they have to be. */
wr_status wr_merbit_ready_f32(const wr_merbit_plan *plan);
wr_status wr_merbit_ready_f64(const wr_merbit_plan *plan);
wr_status wr_merbit_launch_f32(wr_env *env, const wr_merbit_plan *plan, const wr_apply *request);
wr_status wr_merbit_launch_f64(wr_env *env, const wr_merbit_plan *plan, const wr_apply *request);

#ifdef __cplusplus
}
#endif
#endif
