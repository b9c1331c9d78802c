/* Rows that several thread blocks have parts of: their sums, always in the same order. */
#ifndef WR_PARTS_CUH
#define WR_PARTS_CUH

#include "spmv/kernel/warp.cuh"

/* part[from * stride] + part[(from + 1) * stride] + ... up to `to`, excluded: each lane's own range, which may be empty. A few
 * parts are added up by the lane itself, many by the warp. Every lane of the warp must arrive. */
static __device__ inline double wr_parts_sum(const double *part, int64_t stride, int64_t from, int64_t to) {
  constexpr int64_t FEW = 16;
  int lane = threadIdx.x % WR_WARP;
  double sum = 0;
  if (to - from <= FEW)
    for (int64_t k = from; k < to; k++) sum += part[k * stride];
  for (unsigned many = __ballot_sync((unsigned)WR_FULL_MASK, to - from > FEW); many; many &= many - 1) {
    int owner = __ffs((int)many) - 1;
    int64_t begin = __shfl_sync((unsigned)WR_FULL_MASK, from, owner),
            end = __shfl_sync((unsigned)WR_FULL_MASK, to, owner);
    uint64_t base = __shfl_sync((unsigned)WR_FULL_MASK, (uint64_t)(uintptr_t)part, owner);
    double some = 0;
#pragma unroll 4
    for (int64_t k = begin + lane; k < end; k += WR_WARP) some += ((const double *)(uintptr_t)base)[k * stride];
    some = wr_warp_sum(some);
    if (lane == owner) sum = some;
  }
  return sum;
}

#endif
