#include "spmv/kernel/csr_launch.cuh"
#include "spmv/backends/csr_rows/csr_warp_kernel.h"
#include "spmv/kernel/epilogue.cuh"
#include "spmv/kernel/launch.cuh"
#include "spmv/kernel/warp.cuh"

/* 8 blocks fill a multiprocessor if a thread needs at most 32 registers, as it does with the loop unrolled by 2. The grid has
 * no more blocks than the device holds at a time, so there are few partial sums. */
constexpr int THREADS = 256, WARPS = THREADS / WR_WARP, BLOCKS = 8;

/* y_i = alpha * sum_k val_k x[col_k] + beta * y_i, then the epilogue (Mazzucchi 2025, section IV, algorithm 2). Lane l sums
 * entries l, l + 32, ... of the row, so that col and val are read coalesced; shuffles sum over the lanes, and lane 0 finishes
 * the row. The warps of a block take consecutive rows. */
template <typename T, typename P, bool PATTERN>
__global__ void __launch_bounds__(THREADS, 8) csr_warp(const wr_csr_rows<T, P, PATTERN> a, const wr_finish<T> finish) {
  wr_begin_kernel();
  int lane = threadIdx.x % WR_WARP;
  int64_t warp = (int64_t)blockIdx.x * WARPS + threadIdx.x / WR_WARP, warps = (int64_t)gridDim.x * WARPS;
  wr_finish_scalars scalars = wr_finish_begin(finish);
  double reduced[WR_MAX_REDUCTIONS] = {0, 0, 0};
  for (int64_t i = warp; i < a.nrows; i += warps) {
    int64_t begin = a.row_ptr[i], end = a.row_ptr[i + 1];
    double sum = 0;
#pragma unroll 2
    for (int64_t k = begin + lane; k < end; k += WR_WARP) sum += wr_csr_value(a, k) * (double)a.x[a.col[k]];
    sum = wr_warp_sum(sum);
    if (lane == 0) wr_finish_row(finish, scalars, i, wr_csr_result(a, i, sum), a.y, reduced);
  }
  wr_sums_finish(finish.sums, reduced);
}

template <typename T, typename P, bool PATTERN>
static wr_status launch(wr_env *env, const wr_csr_rows<T, P, PATTERN> &a, const wr_epilogue *epilogue) {
  unsigned blocks = wr_cuda_grid(env, (a.nrows + WARPS - 1) / WARPS, BLOCKS);
  wr_finish<T> finish = wr_finish_make<T>(env, epilogue);
  return WR_LAUNCH_EARLY(env, (csr_warp<T, P, PATTERN>), blocks, THREADS, 0, a, finish);
}

extern "C" wr_status wr_csr_warp_reserve(wr_env *env) {
  wr_workspace workspace;
  return wr_workspace_reserve(env, BLOCKS * wr_cuda_processors(env), &workspace);
}

extern "C" wr_status wr_csr_warp_launch(wr_env *env, const wr_csr_view *A, const wr_apply *request) {
  return wr_csr_dispatch(env, A, request, [=](const auto &rows) { return launch(env, rows, request->epilogue); });
}
