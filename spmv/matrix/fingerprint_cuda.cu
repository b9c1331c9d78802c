#include "spmv/matrix/fingerprint.h"

#include "config/hash.h"
#include "spmv/device/cuda_state.h"
#include "spmv/device/device_memory.h"
#include "spmv/kernel/warp.cuh"

constexpr int THREADS = 256, BLOCKS = 8; /* of a launch, for each multiprocessor */

/* *sum += the hashes. The sum of integers is the same in any order. */
template <typename P>
__global__ void __launch_bounds__(THREADS)
    sum_hashes(int64_t nrows, int64_t nnz, const P *row_ptr, const int32_t *col, unsigned long long *sum) {
  unsigned long long part = 0;
  int64_t stride = (int64_t)gridDim.x * THREADS;
  for (int64_t k = (int64_t)blockIdx.x * THREADS + threadIdx.x; k <= nnz + nrows; k += stride)
    part += wr_hash(k < nnz ? (uint64_t)col[k] : (uint64_t)row_ptr[k - nnz], (uint64_t)k);
  for (int distance = WR_WARP / 2; distance > 0; distance /= 2)
    part += __shfl_xor_sync((unsigned)WR_FULL_MASK, part, distance);
  if (threadIdx.x % WR_WARP == 0) atomicAdd(sum, part);
}

template <typename P>
static wr_status launch(wr_env *env, int64_t nrows, int64_t nnz, const wr_csr_view *view, unsigned long long *sum) {
  unsigned grid = wr_cuda_grid(env, (nnz + nrows) / THREADS + 1, BLOCKS);
  return WR_LAUNCH((sum_hashes<P>), grid, THREADS, 0, env->stream, nrows, nnz, (const P *)view->row_ptr, view->col,
                   sum);
}

extern "C" wr_status wr_csr_fingerprint(wr_env *env, int64_t nrows, int64_t nnz, const wr_csr_view *view,
                                        uint64_t *fingerprint) {
  wr_status status;
  unsigned long long *sum = NULL;
  TRY(wr_cuda_enter_now(env));
  TRY(wr_device_alloc_zeroed(env, &sum, 1, sizeof *sum, "a fingerprint"));
  TRY(view->wide ? launch<int64_t>(env, nrows, nnz, view, sum) : launch<int32_t>(env, nrows, nnz, view, sum));
  TRY(wr_device_download(env, fingerprint, sum, 1, WR_AS_8_BYTES));
done:
  wr_device_free(env, sum);
  return status;
}
