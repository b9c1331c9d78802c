/* The multiply of merge_csr.c, as C sees it. */
#ifndef WR_MERGE_CSR_KERNEL_H
#define WR_MERGE_CSR_KERNEL_H

#include "spmv/spmv.h"

WR_C_BEGIN

/* A plan's arrays on the device: of each thread block, the row that ends first in it if that row begins in an earlier block,
 * else -1; the block's part of this row; and its part of the row that is open at its end. */
typedef struct wr_merge_csr {
  wr_csr_view view; /* first: wr_csr_state_view */
  int64_t nnz, blocks;
  int64_t *row;        /* [blocks] */
  double *head, *tail; /* [blocks] */
} wr_merge_csr;

/* How many thread blocks share the path of a matrix, and the bytes of the arrays for them. */
int64_t wr_merge_csr_blocks(int64_t nrows, int64_t nnz);
int64_t wr_merge_csr_bytes(int64_t nrows, int64_t nnz);

/* view is set. Allocates; reserves the workspace of the epilogue's sums. WR_ENOMEM, WR_EDEVICE. */
wr_status wr_merge_csr_open(wr_env *env, int64_t nrows, int64_t nnz, wr_merge_csr *plan);
void wr_merge_csr_close(wr_env *env, wr_merge_csr *plan);

/* Asynchronous: y = alpha*A*x + beta*y and the epilogue. WR_EDEVICE. */
wr_status wr_merge_csr_launch(wr_env *env, const wr_merge_csr *plan, const wr_apply *request);

WR_C_END

#endif
