#ifndef WR_CSR_THREAD_UNROLLED_KERNEL_H
#define WR_CSR_THREAD_UNROLLED_KERNEL_H

#include "spmv/spmv.h"

WR_C_BEGIN

/* Reserves the workspace of its sums; to be called before the first launch with an epilogue. WR_ENOMEM. */
wr_status wr_csr_thread_unrolled_reserve(wr_env *env, int64_t nrows);

/* y = alpha*A*x + beta*y with the epilogue, by a kernel of csr_thread_unrolled_kernel.cu, on env's stream. WR_EDEVICE when
 * the launch is refused. */
wr_status wr_csr_thread_unrolled_launch(wr_env *env, const wr_csr_view *A, const wr_apply *request);

WR_C_END
#endif
