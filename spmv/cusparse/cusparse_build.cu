#include "spmv/cusparse/cusparse_build.h"
#include "spmv/device/cuda_state.h"
#include "spmv/kernel/launch.cuh"

constexpr int THREADS = 256;

/* The row that entry k lies in: the last one that begins at or before k, so that empty ones are passed over;
 * 0 = offset[0] <= k < offset[count]. The threads of a warp look for neighbours, and so mostly read the same. One giant
 * row costs no more than many small ones. */
static __device__ inline int64_t row_of(const int32_t *offset, int64_t count, int64_t k) {
  int64_t low = 0, high = count; /* offset[low] <= k < offset[high] */
  while (high - low > 1) {
    int64_t middle = (low + high) / 2;
    if (offset[middle] <= k)
      low = middle;
    else
      high = middle;
  }
  return low;
}

__global__ void __launch_bounds__(THREADS) coo_fill(int64_t nrows, int64_t nnz, const int32_t *row_ptr, int32_t *row) {
  int64_t k = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (k < nnz) row[k] = (int32_t)row_of(row_ptr, nrows, k);
}

extern "C" wr_status wr_coo_fill(wr_env *env, int64_t nrows, int64_t nnz, const wr_csr_view *A, int32_t *row) {
  wr_status status = wr_cuda_enter(env);
  if (status != WR_OK) return status;
  return WR_LAUNCH((coo_fill), (unsigned)((nnz + THREADS - 1) / THREADS), THREADS, 0, env->stream, nrows, nnz,
                   (const int32_t *)A->row_ptr, row);
}
