#include "spmv/backends/bsr/bsr_report.cuh"

constexpr int MOST_THREADS = 128, MOST_WARPS = MOST_THREADS / WR_WARP;

/* Listing 16: sums[r] := the sums over all threads, of which the first `active` warps have values; the warps' sums are added
 * in order. The caller needs a barrier before and after. part: [MOST_WARPS][ROWS]. */
template <typename S>
static __device__ inline void reduce(const S &size, unsigned active, double (&own)[S::ROWS], double *part,
                                     double *sums) {
  unsigned lane = threadIdx.x % WR_WARP, warp = threadIdx.x / WR_WARP;
  if (warp < active) {
#pragma unroll
    for (int row = 0; row < S::ROWS; row++) {
      own[row] = wr_warp_sum(own[row]);
      if (lane == 0) part[warp * S::ROWS + row] = own[row];
    }
  }
  __syncthreads();
  if (threadIdx.x < (unsigned)size.r()) {
    double sum = 0;
    for (unsigned w = 0; w < active; w++) sum += part[w * S::ROWS + threadIdx.x];
    sums[threadIdx.x] = sum;
  }
}

/* Listing 15: consecutive threads take consecutive values, as in bsr_row_major, but every thread has R accumulators of its
 * own. The row of a value is known only at run time, so the compiler keeps the accumulators in local memory; the report finds
 * the same. */
template <typename T, typename S>
__global__ void __launch_bounds__(MOST_THREADS, 1) bsr_private(const wr_bsr_args<T> a, const S size) {
  WR_SHARED(double, sums, WR_BSR_MAX_SIDE);
  WR_SHARED(double, part, MOST_WARPS * S::ROWS);
  auto add_up = [&](const wr_bsr_piece<T> &p) {
    double own[S::ROWS] = {0};
    for (unsigned n = p.from + threadIdx.x; n < p.to; n += blockDim.x) {
      unsigned block = size.by_block(n), in = n - block * (unsigned)(size.r() * size.c());
      unsigned row = size.by_c(in), column = in - row * (unsigned)size.c();
      own[row] += (double)p.val[n] * wr_bsr_x(a, size, p.col[block], column);
    }
    unsigned busy = (p.to - p.from + WR_WARP - 1) / WR_WARP, warps = blockDim.x / WR_WARP;
    __syncthreads(); /* every thread is done with the last piece's parts */
    reduce(size, busy < warps ? busy : warps, own, part, sums);
    if (threadIdx.x < WR_WARP) __syncwarp();
  };
  wr_bsr_run_task(a, size, sums, add_up, [&](int64_t row, double sum) { wr_bsr_store(a, row, sum); });
}

WR_BSR_REPORT_KERNEL(private, wr_bsr_with_size)
