#include "spmv/kernel/csr_launch.cuh"
#include "spmv/backends/csr_rows/csr_rows.h"
#include "spmv/kernel/launch.cuh"
#include "spmv/kernel/warp.cuh"

constexpr int WINDOW = 1024; /* columns of x that a warp stages, as in the paper: 8 KiB of f64 */
/* Shared memory limits the warps of a multiprocessor: 26 in f64, 24 if blocks were twice as large. The grid has several times
 * as many blocks as the device holds at a time, which evens out rows of unequal length. */
constexpr int THREADS = 64, WARPS = THREADS / WR_WARP, BLOCKS = 64;

/* This lane's part, every 32nd entry, of sum_k val_k x[col_k - first] over the entries k of a row. */
template <typename T, typename P, bool PATTERN>
static __device__ inline double lane_sum(const wr_csr_rows<T, P, PATTERN> &a, int64_t begin, int64_t end, const T *x,
                                         int32_t first) {
  double sum = 0;
#pragma unroll 4
  for (int64_t k = begin + threadIdx.x % WR_WARP; k < end; k += WR_WARP)
    sum += wr_csr_value(a, k) * (double)x[a.col[k] - first];
  return sum;
}

/* The same for a row with columns from `first` on that span at most WINDOW: x[first], ..., x[first + span - 1] are copied to
 * the warp's window, coalesced, and read from there. The first barrier waits until all lanes have written, the second until
 * all have read. */
template <typename T, typename P, bool PATTERN>
static __device__ inline double staged_sum(const wr_csr_rows<T, P, PATTERN> &a, int64_t begin, int64_t end, T *window,
                                           int32_t first, int64_t span) {
#pragma unroll 4
  for (int64_t j = threadIdx.x % WR_WARP; j < span; j += WR_WARP) window[j] = a.x[first + j];
  __syncwarp();
  double sum = lane_sum(a, begin, end, window, first);
  __syncwarp();
  return sum;
}

/* y_i = alpha * sum_k val_k x[col_k] + beta * y_i (Mazzucchi 2025, section IV.B, algorithm 4). Columns ascend, so the first
 * and the last entry, which all lanes read, bound the part of x that the row reads; a wider row reads x from memory. The
 * warps of a block take consecutive rows. */
template <typename T, typename P, bool PATTERN>
__global__ void __launch_bounds__(THREADS) csr_warp_shared(const wr_csr_rows<T, P, PATTERN> a) {
  WR_SHARED(T, windows, WARPS * WINDOW); /* one for each warp */
  int lane = threadIdx.x % WR_WARP, in_block = threadIdx.x / WR_WARP;
  int64_t warps = (int64_t)gridDim.x * WARPS;
  for (int64_t i = (int64_t)blockIdx.x * WARPS + in_block; i < a.nrows; i += warps) {
    int64_t begin = a.row_ptr[i], end = a.row_ptr[i + 1];
    int32_t first = begin < end ? a.col[begin] : 0;
    int64_t span = begin < end ? (int64_t)a.col[end - 1] - first + 1 : 0;
    double sum = span <= WINDOW ? staged_sum(a, begin, end, windows + in_block * WINDOW, first, span)
                                : lane_sum(a, begin, end, a.x, 0);
    sum = wr_warp_sum(sum);
    if (lane == 0) a.y[i] = (T)wr_csr_result(a, i, sum);
  }
}

template <typename T, typename P, bool PATTERN>
static wr_status launch(wr_env *env, const wr_csr_rows<T, P, PATTERN> &a) {
  unsigned blocks = wr_cuda_grid(env, (a.nrows + WARPS - 1) / WARPS, BLOCKS);
  return WR_LAUNCH((csr_warp_shared<T, P, PATTERN>), blocks, THREADS, 0, env->stream, a);
}

extern "C" wr_status wr_csr_warp_shared_launch(wr_env *env, const wr_csr_view *A, const wr_apply *request) {
  return wr_csr_dispatch(env, A, request, [=](const auto &rows) { return launch(env, rows); });
}
