/* What the kernels that build interleaved rows share. */
#ifndef WR_LANE_CSR_BUILD_CUH
#define WR_LANE_CSR_BUILD_CUH

#include "spmv/backends/lane_csr/lane_csr_chunk.cuh"
#include "spmv/device/cuda_state.h"

constexpr int THREADS = 256, BLOCKS = 8; /* of a multiprocessor */

static __device__ inline int64_t build_thread() { return (int64_t)blockIdx.x * THREADS + threadIdx.x; }
static __device__ inline int64_t build_threads() { return (int64_t)gridDim.x * THREADS; }

static inline unsigned grid_for(const wr_env *env, int64_t threads) {
  return wr_cuda_grid(env, (threads + THREADS - 1) / THREADS, BLOCKS);
}

/* The sum of the values of the lanes before this one. Every lane of the warp. */
static __device__ inline int lane_sum_before(int value) {
  const int lane = threadIdx.x % WR_WARP, own = value;
  for (int distance = 1; distance < WR_WARP; distance *= 2) {
    int left = __shfl_up_sync((unsigned)WR_FULL_MASK, value, (unsigned)distance);
    if (lane >= distance) value += left;
  }
  return value - own;
}

#endif
