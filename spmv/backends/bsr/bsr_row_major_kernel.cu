#include "spmv/backends/bsr/bsr_report.cuh"

constexpr int MOST_THREADS = 1024;

/* Listing 14: consecutive threads take consecutive values and add them atomically to the R sums of the thread block. */
template <typename T, typename S>
__global__ void __launch_bounds__(MOST_THREADS, 2) bsr_row_major(const wr_bsr_args<T> a, const S size) {
  WR_SHARED(double, sums, WR_BSR_MAX_SIDE);
  auto add_up = [&](const wr_bsr_piece<T> &p) {
    wr_bsr_clear(size, sums);
    for (unsigned n = p.from + threadIdx.x; n < p.to; n += blockDim.x) {
      unsigned block = size.by_block(n), in = n - block * (unsigned)(size.r() * size.c());
      unsigned row = size.by_c(in), column = in - row * (unsigned)size.c();
      atomicAdd(&sums[row], (double)p.val[n] * wr_bsr_x(a, size, p.col[block], column));
    }
    __syncthreads();
  };
  wr_bsr_run_task(a, size, sums, add_up, [&](int64_t row, double sum) { wr_bsr_store(a, row, sum); });
}

WR_BSR_REPORT_KERNEL(row_major, wr_bsr_with_any_size)
