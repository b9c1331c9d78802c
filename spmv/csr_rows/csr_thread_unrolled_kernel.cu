#include "spmv/kernel/csr_launch.cuh"
#include "spmv/csr_rows/csr_thread_unrolled_kernel.h"
#include "spmv/kernel/finish.cuh"
#include "spmv/kernel/launch.cuh"

constexpr int THREADS = 128; /* as csr_thread, so that the two differ in the loop alone */
constexpr int UNROLL = 4;
constexpr int RESIDENT = 12, BLOCKS = 132 * RESIDENT; /* with an epilogue: what an H200 holds, and so few partial sums */

/* Adds terms k to k + N - 1, in that order. First all columns and values are asked for, then all of x, so that a thread
 * has as many loads under way at a time. __ldg: the read-only path. */
template <int N, typename T, typename P, bool PATTERN>
static __device__ inline void add_terms(const wr_csr_rows<T, P, PATTERN> &a, int64_t k, double &sum) {
  int32_t col[N];
  T val[N], x[N];
#pragma unroll
  for (int u = 0; u < N; u++) col[u] = __ldg(a.col + k + u);
#pragma unroll
  for (int u = 0; u < N; u++) val[u] = PATTERN ? (T)1 : __ldg(a.val + k + u);
#pragma unroll
  for (int u = 0; u < N; u++) x[u] = __ldg(a.x + col[u]);
#pragma unroll
  for (int u = 0; u < N; u++) sum += (double)val[u] * (double)x[u];
}

template <typename T, typename P, bool PATTERN>
static __device__ inline double row_sum(const wr_csr_rows<T, P, PATTERN> &a, int64_t i) {
  int64_t k = __ldg(a.row_ptr + i), end = __ldg(a.row_ptr + i + 1);
  double sum = 0;
#pragma unroll 1
  for (; k + UNROLL <= end; k += UNROLL) add_terms<UNROLL>(a, k, sum);
#pragma unroll 1
  for (; k < end; k++) add_terms<1>(a, k, sum);
  return sum;
}

/* y_i = alpha * sum_k val_k x[col_k] + beta * y_i, entry by entry (Mazzucchi 2025, section IV.A, algorithm 3). The lanes
 * of a warp read col and val of 32 rows at a time, UNROLL neighbours of each. 12 blocks a multiprocessor: with room for
 * fewer registers the compiler would wait for some loads before it starts the others (nvcc 13.0). */
template <typename T, typename P, bool PATTERN>
__global__ void __launch_bounds__(THREADS, 12) csr_thread_unrolled(const wr_csr_rows<T, P, PATTERN> a) {
  wr_begin_kernel();
  int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (i < a.nrows) a.y[i] = (T)wr_csr_result(a, i, row_sum(a, i));
}

/* The same with the epilogue: the blocks that are resident take all rows in turn, as each leaves partial sums. */
template <typename T, typename P, bool PATTERN>
__global__ void __launch_bounds__(THREADS, RESIDENT)
    csr_thread_unrolled_finish(const wr_csr_rows<T, P, PATTERN> a, const wr_finish<T> finish) {
  wr_begin_kernel();
  int64_t stride = (int64_t)gridDim.x * THREADS;
  double shift = wr_finish_shift(finish), reduced[WR_MAX_REDUCTIONS] = {0, 0, 0};
  for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < a.nrows; i += stride) {
    wr_finish_rows<T, 1> row;
    wr_finish_load(finish, i, row);
    wr_finish_loaded(finish, shift, i, wr_csr_result(a, i, row_sum(a, i)), row, a.y, reduced);
  }
  wr_sums_finish(finish.sums, reduced);
}

template <typename T, typename P, bool PATTERN>
static wr_status launch(wr_env *env, const wr_csr_rows<T, P, PATTERN> &a, const wr_epilogue *epilogue) {
  int64_t wanted = (a.nrows + THREADS - 1) / THREADS;
  if (epilogue == NULL)
    return WR_LAUNCH_EARLY(env, (csr_thread_unrolled<T, P, PATTERN>), (unsigned)wanted, THREADS, 0, a);
  wr_finish<T> finish = wr_finish_make<T>(epilogue, &((wr_cuda_state *)env->state)->workspace);
  return WR_LAUNCH_EARLY(env, (csr_thread_unrolled_finish<T, P, PATTERN>), wanted < BLOCKS ? (unsigned)wanted : BLOCKS,
                         THREADS, 0, a, finish);
}

extern "C" wr_status wr_csr_thread_unrolled_reserve(wr_env *env) {
  wr_workspace workspace;
  return wr_workspace_reserve(env, BLOCKS, &workspace);
}

extern "C" wr_status wr_csr_thread_unrolled_launch(wr_env *env, const wr_csr_view *A, const wr_apply *request) {
  return wr_csr_dispatch(env, A, request, [=](const auto &rows) { return launch(env, rows, request->epilogue); });
}
