/* The multiply of MERBIT: a kernel for all rows, and one that completes those that thread blocks share. */
#ifndef WR_MERBIT_KERNEL_H
#define WR_MERBIT_KERNEL_H

#include "spmv/backends/merbit/merbit_format.h"
#include "spmv/spmv.h"

WR_C_BEGIN

enum {
  WR_MERBIT_WARPS = 8,          /* tiles of a thread block                                                       */
  WR_MERBIT_LAST_BLOCKS = 4,    /* most blocks of the kernel that completes shared rows, for each multiprocessor */
  WR_MERBIT_FUSED_BLOCKS = 512, /* most blocks of a multiply that completes shared rows itself                   */
  WR_MERBIT_KERNEL_SIGMA = 32 /* largest sigma for which products and sums of a block fit 64 KB of shared memory */
};

/* The fastest sigmas (H200, docs/merbit.md). SMALL: for matrices with few thread blocks, which would leave most of the device
 * idle. */
enum {
  WR_MERBIT_SMALL = 5,
  WR_MERBIT_LOCAL_F64 = 14,
  WR_MERBIT_LOCAL_F32 = 19,
  WR_MERBIT_SCATTERED_F64 = 9,
  WR_MERBIT_SCATTERED_F32 = 12
};

/* How the parts of a shared row are summed. */
typedef enum wr_merbit_commit {
  WR_MERBIT_DUAL,  /* added to y atomically; the same multiply sets the row to 0 in y_next (section 4.2, dual buffers) */
  WR_MERBIT_CLEAR, /* added to y atomically, after all of y is cleared at the start of every multiply                   */
  WR_MERBIT_ORDERED /* stored in an array and added in the order of the blocks: the same bits every time                  */
} wr_merbit_commit;

/* A row is shared if it begins in one thread block's part of the path and ends in another's. */
typedef struct wr_merbit_plan {
  wr_merbit_format format;
  wr_csr_view view; /* borrowed: row_ptr, columns, values */
  int64_t blocks;   /* of the multiply                    */
  wr_merbit_commit commit;
  int long_rows, segmented; /* 1: tiles within one row skip the walk; a scan joins the lanes (section 4.2, the first two)  */
  int scattered;            /* 1: columns are far apart, so x gets more first-level cache; other default sigmas               */
  int fused;                /* 1: the last block completes shared rows and sums; 0: a second kernel does                      */
  int32_t *origin;          /* [blocks + 1] block in which the row begins that is open at this one's start; itself if none is */
  int32_t *row;             /* [blocks] the shared row that ends in the block; -1: none                                       */
  double *head;             /* [blocks] ordered: the block's part of the shared row that ends in it                           */
  double *tail;             /* [blocks] ordered: its part of the row that is open at its end                                  */
  int columns;              /* the most of several vectors (apply_many); 0: none                                              */
  double *many_head, *many_tail; /* [blocks * columns] the same for several vectors                                           */
} wr_merbit_plan;

int64_t wr_merbit_blocks(const wr_merbit_format *shape);

/* Allocates and fills the plan's arrays and the workspace of the reductions. The caller has set view and the switches.
 * Errors: wr_merbit_check, WR_ENOMEM, WR_EDEVICE. */
wr_status wr_merbit_plan_open(wr_env *env, int64_t nrows, int64_t ncols, int64_t nnz, int sigma, wr_merbit_plan *plan);
void wr_merbit_plan_close(wr_env *env, wr_merbit_plan *plan); /* frees the format too; also of a zeroed one */
int64_t wr_merbit_plan_bytes(const wr_merbit_plan *plan);     /* bytes that it allocated, the format included */

/* *share := how scattered the columns are: the fraction of entries, in windows of 1024 consecutive ones, that are the first
 * in their window to read a 128-byte line of x; the mean over windows spread evenly over the matrix. It is at most 1/32 where
 * columns are neighbours and 1 where they are unrelated. 0 if x fits a first-level cache. Waits. WR_ENOMEM, WR_EDEVICE. */
wr_status wr_merbit_scatter(wr_env *env, const wr_csr_view *view, int64_t ncols, int64_t nnz, double *share);

/* y = alpha*A*x + beta*y and the epilogue of a checked request, on env's stream. beta != 0 always runs as WR_MERBIT_ORDERED.
 * WR_EDEVICE. */
wr_status wr_merbit_launch(wr_env *env, const wr_merbit_plan *plan, const wr_apply_args *args);

/* The same for several vectors (merbit_many_kernel.cu), in order whatever `commit` is. */
wr_status wr_merbit_many_launch(wr_env *env, const wr_merbit_plan *plan, const wr_apply_many *request);

/* For each type: wr_merbit_launch after y's shared rows have been cleared where needed. */
wr_status wr_merbit_launch_f32(wr_env *env, const wr_merbit_plan *plan, const wr_apply *request);
wr_status wr_merbit_launch_f64(wr_env *env, const wr_merbit_plan *plan, const wr_apply *request);

WR_C_END
#endif
