#include "spmv/backends/bsr/bsr_report.cuh"

constexpr int MOST_THREADS = 1024;

/* Listing 17: teams of R * C threads take the blocks in turn. A thread has the same position in every block of its team,
 * hence one accumulator, which it adds to the thread block's sum at the end. Threads beyond the last complete team are idle.
 * A block in which a cut between two tasks lies is multiplied by the second task. */
template <typename T, typename S>
__global__ void __launch_bounds__(MOST_THREADS, 2) bsr_team(const wr_bsr_args<T> a, const S size) {
  WR_SHARED(double, sums, WR_BSR_MAX_SIDE);
  unsigned side = (unsigned)(size.r() * size.c()), teams = size.by_block(blockDim.x), team = size.by_block(threadIdx.x);
  unsigned worker = threadIdx.x - team * side, row = size.by_c(worker), column = worker - row * (unsigned)size.c();
  auto add_up = [&](const wr_bsr_piece<T> &p) {
    wr_bsr_clear(size, sums);
    unsigned blocks = size.by_block(p.to);
    if (team < teams) {
      double sum = 0;
      for (unsigned block = team; block < blocks; block += teams)
        sum += (double)p.val[block * side + worker] * wr_bsr_x(a, size, p.col[block], column);
      atomicAdd(&sums[row], sum);
    }
    __syncthreads();
  };
  wr_bsr_run_task(a, size, sums, add_up, [&](int64_t i, double sum) { wr_bsr_store(a, i, sum); });
}

WR_BSR_REPORT_KERNEL(team, wr_bsr_with_any_size)
