#ifndef WR_CSR_ROWS_H
#define WR_CSR_ROWS_H

#include "spmv/spmv.h"

WR_C_BEGIN

/* y = alpha*A*x + beta*y by the kernel of <name>_kernel.cu, on env's stream; csr_thread_unrolled does the epilogue too.
 * WR_EDEVICE when the launch is refused. */
wr_status wr_csr_thread_launch(wr_env *env, const wr_csr_view *A, const wr_apply *request);
wr_status wr_csr_thread_unrolled_launch(wr_env *env, const wr_csr_view *A, const wr_apply *request);
wr_status wr_csr_warp_shared_launch(wr_env *env, const wr_csr_view *A, const wr_apply *request);

/* Reserves the workspace of the sums of csr_thread_unrolled; to be called before its first launch with an epilogue.
 * WR_ENOMEM. */
wr_status wr_csr_thread_unrolled_reserve(wr_env *env, int64_t nrows);

WR_C_END
#endif
