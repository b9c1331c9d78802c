#include "spmv/kernel/csr_launch.cuh"
#include "spmv/csr_rows/csr_thread_unrolled_kernel.h"
#include "spmv/kernel/finish.cuh"
#include "spmv/kernel/launch.cuh"

constexpr int THREADS = 128; /* as csr_thread, so that the two differ in the loop alone */
constexpr int UNROLL = 4;
constexpr unsigned MOST_ALONE = 512; /* blocks whose sums the last one ends */

/* Adds the first `count` of the terms k to k + UNROLL - 1, in order. First all columns and values are asked for, then all of x,
 * so that a thread has as many loads under way at a time; what is not wanted repeats the last one, so that nothing is read
 * beyond the row and no load waits for a branch. __ldg: the read-only path. */
template <typename T, typename P, bool PATTERN>
static __device__ inline void add_terms(const wr_csr_rows<T, P, PATTERN> &a, int64_t k, int count, double &sum) {
  int32_t col[UNROLL];
  T val[UNROLL], x[UNROLL];
#pragma unroll
  for (int u = 0; u < UNROLL; u++) col[u] = __ldg(a.col + k + (u < count ? u : count - 1));
#pragma unroll
  for (int u = 0; u < UNROLL; u++) val[u] = PATTERN ? (T)1 : __ldg(a.val + k + (u < count ? u : count - 1));
#pragma unroll
  for (int u = 0; u < UNROLL; u++) x[u] = __ldg(a.x + col[u]);
#pragma unroll
  for (int u = 0; u < UNROLL; u++) sum += u < count ? (double)val[u] * (double)x[u] : 0;
}

template <typename T, typename P, bool PATTERN>
static __device__ inline double row_sum(const wr_csr_rows<T, P, PATTERN> &a, int64_t i) {
  int64_t k = __ldg(a.row_ptr + i), end = __ldg(a.row_ptr + i + 1);
  double sum = 0;
#pragma unroll 1
  for (; k < end; k += UNROLL) add_terms(a, k, end - k < UNROLL ? (int)(end - k) : UNROLL, sum);
  return sum;
}

/* y_i = alpha * sum_k val_k x[col_k] + beta * y_i, entry by entry (Mazzucchi 2025, section IV.A, algorithm 3). The lanes
 * of a warp read col and val of 32 rows at a time, UNROLL neighbours of each. 12 blocks a multiprocessor: with room for
 * fewer registers the compiler would wait for some loads before it starts the others (nvcc 13.0). Two rows a thread are no
 * faster: what they gain in loads under way they lose in threads. */
template <typename T, typename P, bool PATTERN>
__global__ void __launch_bounds__(THREADS, 12) csr_thread_unrolled(const wr_csr_rows<T, P, PATTERN> a) {
  wr_begin_kernel();
  int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (i < a.nrows) a.y[i] = (T)wr_csr_result(a, i, row_sum(a, i));
}

/* The same with the epilogue. ALONE, for few blocks: the last one ends the sums. Else each warp leaves its part: 245 us where
 * the plain multiply takes 211 (7-point stencil, f64, H200); blocks that leave one part wait for their slowest warp, 280;
 * blocks that stay and take all rows in turn, 255 to 270. */
template <typename T, typename P, bool PATTERN, bool ALONE>
__global__ void __launch_bounds__(THREADS, ALONE ? 4 : 12)
    csr_thread_unrolled_finish(const wr_csr_rows<T, P, PATTERN> a, const wr_finish<T> finish) {
  wr_begin_kernel();
  int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  double reduced[WR_MAX_REDUCTIONS] = {0, 0, 0};
  if (i < a.nrows) wr_finish_row(finish, wr_finish_shift(finish), i, wr_csr_result(a, i, row_sum(a, i)), a.y, reduced);
  if constexpr (ALONE)
    wr_sums_finish(finish.sums, reduced);
  else
    wr_sums_leave_warp(finish.sums, reduced);
}

/* What all warps have left. */
__global__ void __launch_bounds__(THREADS) csr_thread_unrolled_sums(const wr_sums sums) {
  double none[WR_MAX_REDUCTIONS] = {0, 0, 0};
  wr_begin_kernel();
  wr_sums_finish(sums, none);
}

static int64_t blocks_for(int64_t nrows) { return (nrows + THREADS - 1) / THREADS; }
static int64_t parts_for(int64_t nrows) { return blocks_for(nrows) * (THREADS / WR_WARP); }

static unsigned blocks_for_sums(int64_t parts) {
  int64_t wanted = (parts + THREADS - 1) / THREADS;
  return (unsigned)(wanted < 132 * 4 ? wanted : 132 * 4);
}

template <typename T, typename P, bool PATTERN>
static wr_status launch(wr_env *env, const wr_csr_rows<T, P, PATTERN> &a, const wr_epilogue *epilogue) {
  wr_status status;
  unsigned blocks = (unsigned)blocks_for(a.nrows);
  if (epilogue == NULL) return WR_LAUNCH_EARLY(env, (csr_thread_unrolled<T, P, PATTERN>), blocks, THREADS, 0, a);
  wr_finish<T> finish = wr_finish_make<T>(env, epilogue);
  if (blocks <= MOST_ALONE)
    return WR_LAUNCH_EARLY(env, (csr_thread_unrolled_finish<T, P, PATTERN, true>), blocks, THREADS, 0, a, finish);
  TRY(WR_LAUNCH_EARLY(env, (csr_thread_unrolled_finish<T, P, PATTERN, false>), blocks, THREADS, 0, a, finish));
  finish.sums.before = parts_for(a.nrows);
  if (finish.sums.count)
    TRY(WR_LAUNCH_EARLY(env, (csr_thread_unrolled_sums), blocks_for_sums(finish.sums.before), THREADS, 0, finish.sums));
done:
  return status;
}

extern "C" wr_status wr_csr_thread_unrolled_reserve(wr_env *env, int64_t nrows) {
  wr_workspace workspace;
  int64_t parts = parts_for(nrows);
  return wr_workspace_reserve(env, parts + blocks_for_sums(parts), &workspace);
}

extern "C" wr_status wr_csr_thread_unrolled_launch(wr_env *env, const wr_csr_view *A, const wr_apply *request) {
  return wr_csr_dispatch(env, A, request, [=](const auto &rows) { return launch(env, rows, request->epilogue); });
}
