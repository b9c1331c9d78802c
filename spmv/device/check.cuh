/* Checks around every call of CUDA and of its libraries: TRY(WR_CUDA(cudaMemcpyAsync(...))). Plain C, so that backends that
 * only call a library can be C. */
#ifndef WR_CHECK_CUH
#define WR_CHECK_CUH

#include <cuda_runtime_api.h>

#include "config/status.h"

/* WR_OK, WR_ENOMEM, or WR_EDEVICE, with the call's text and the error's name. */
static inline wr_status wr_cuda_check(cudaError_t error, const char *call) {
  if (error == cudaSuccess) return WR_OK;
  (void)cudaGetLastError(); /* clears the error, which the next launch would report */
  return wr_fail(error == cudaErrorMemoryAllocation ? WR_ENOMEM : WR_EDEVICE, "%s: %s (%s)", call,
                 cudaGetErrorString(error), cudaGetErrorName(error));
}
#define WR_CUDA(call) wr_cuda_check((call), #call)

#ifdef CUSPARSE_VER_MAJOR /* <cusparse.h> was included before */
static inline wr_status wr_cusparse_check(cusparseStatus_t error, const char *call) {
  if (error == CUSPARSE_STATUS_SUCCESS) return WR_OK;
  wr_status code = WR_EDEVICE;
  if (error == CUSPARSE_STATUS_ALLOC_FAILED || error == CUSPARSE_STATUS_INSUFFICIENT_RESOURCES) code = WR_ENOMEM;
  if (error == CUSPARSE_STATUS_NOT_SUPPORTED || error == CUSPARSE_STATUS_ARCH_MISMATCH) code = WR_EUNAVAILABLE;
  return wr_fail(code, "%s: %s (%s)", call, cusparseGetErrorString(error), cusparseGetErrorName(error));
}
#define WR_CUSPARSE(call) wr_cusparse_check((call), #call)
#endif

#endif
