#ifndef WR_CSR_WARP_SHARED_KERNEL_H
#define WR_CSR_WARP_SHARED_KERNEL_H

#include "spmv/spmv.h"

WR_C_BEGIN

/* y = alpha*A*x + beta*y by the kernel of csr_warp_shared_kernel.cu, on env's stream. WR_EDEVICE when the launch is
 * refused. */
wr_status wr_csr_warp_shared_launch(wr_env *env, const wr_csr_view *A, const wr_apply *request);

WR_C_END
#endif
