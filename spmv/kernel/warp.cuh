/* Sums over a warp and over a block, in an order that depends on the number of threads alone. Every thread of the warp, or
 * block, must call them. */
#ifndef WR_WARP_CUH
#define WR_WARP_CUH

#include "spmv/kernel/launch.cuh"

enum { WR_WARP = 32, WR_FULL_MASK = -1 }; /* lanes of a warp; all of them */

/* The least over the warp, in every lane. */
__device__ inline int32_t wr_warp_min(int32_t value) {
#if defined(WR_SIMT) || (defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800)
  return __reduce_min_sync((unsigned)WR_FULL_MASK, value);
#else
  for (int distance = WR_WARP / 2; distance > 0; distance /= 2)
    value = min(value, __shfl_xor_sync((unsigned)WR_FULL_MASK, value, distance));
  return value;
#endif
}

/* The sum over the warp, in every lane; the butterfly adds the same pairs in every lane, so all lanes get the same bits. */
__device__ inline double wr_warp_sum(double value) {
  for (int distance = WR_WARP / 2; distance > 0; distance /= 2)
    value += __shfl_xor_sync((unsigned)WR_FULL_MASK, value, distance);
  return value;
}

/* The sum of the numbers first, first + step, ... before `end`, with AT_ONCE loads in flight. */
template <int AT_ONCE, class LOAD>
__device__ inline double wr_sum_every(int64_t first, int64_t end, int64_t step, LOAD load) {
  double total = 0;
#pragma unroll 1
  for (int64_t k = first; k < end; k += AT_ONCE * step) {
    double part[AT_ONCE];
#pragma unroll
    for (int a = 0; a < AT_ONCE; a++) part[a] = k + a * step < end ? load(k + a * step) : 0;
#pragma unroll
    for (int a = 0; a < AT_ONCE; a++) total += part[a];
  }
  return total;
}

/* value[count] of every lane := sums over the warp. The five shuffles of each sum depend on each other, so the sums are
 * interleaved. count: as for wr_block_sum. */
template <int R>
__device__ inline void wr_warp_sums(double (&value)[R], int count) {
#pragma unroll
  for (int distance = WR_WARP / 2; distance > 0; distance /= 2)
#pragma unroll
    for (int r = 0; r < R; r++)
      if (r < count) value[r] += __shfl_xor_sync((unsigned)WR_FULL_MASK, value[r], distance);
}

/* value[count] of thread 0 := sums over the block, of at most 1024 threads, a multiple of a warp. count: the same for all
 * threads, at most R; the rest of value is unchanged. */
template <int R>
__device__ inline void wr_block_sum(double (&value)[R], int count = R) {
  WR_SHARED(double, part, R * WR_WARP); /* [R][warps] */
  int lane = threadIdx.x % WR_WARP, warp = threadIdx.x / WR_WARP, warps = blockDim.x / WR_WARP;
  wr_warp_sums(value, count);
  if (lane == 0)
#pragma unroll
    for (int r = 0; r < R; r++)
      if (r < count) part[r * WR_WARP + warp] = value[r];
  __syncthreads();
  if (warp == 0) {
#pragma unroll
    for (int r = 0; r < R; r++)
      if (r < count) value[r] = lane < warps ? part[r * WR_WARP + lane] : 0.0;
    wr_warp_sums(value, count);
  }
  __syncthreads(); /* part may be used again */
}

#endif
