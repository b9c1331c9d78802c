#ifndef WR_CSR_WARP_KERNEL_H
#define WR_CSR_WARP_KERNEL_H

#include "spmv/spmv.h"

WR_C_BEGIN

/* Reserves the sums of a launch in env's workspace; to be called once, before the first launch. WR_ENOMEM. */
wr_status wr_csr_warp_reserve(wr_env *env);

/* y = alpha*A*x + beta*y and the epilogue by the kernel of csr_warp_kernel.cu, on env's stream. WR_EDEVICE when the
 * launch is refused. */
wr_status wr_csr_warp_launch(wr_env *env, const wr_csr_view *A, const wr_apply *request);

/* The same for several vectors, without an epilogue, by csr_warp_many_kernel.cu. */
wr_status wr_csr_warp_many_launch(wr_env *env, const wr_csr_view *A, const wr_apply_many *request);

WR_C_END
#endif
