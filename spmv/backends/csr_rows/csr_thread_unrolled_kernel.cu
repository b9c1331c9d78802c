#include "spmv/kernel/csr_launch.cuh"
#include "spmv/backends/csr_rows/csr_rows.h"
#include "spmv/device/left_sums.cuh"
#include "spmv/kernel/epilogue.cuh"
#include "spmv/kernel/launch.cuh"

constexpr int THREADS = 128; /* as csr_thread, so that the two differ only in the loop */
constexpr int UNROLL = 4;
constexpr unsigned MOST_FUSED = 512; /* most blocks with which the last one finishes the reductions */

/* Consecutive terms of a row, in flight. */
template <typename T>
struct row_terms {
  int32_t col[UNROLL];
  T val[UNROLL], x[UNROLL];
};

/* Loads the first `count` of the terms k to k + UNROLL - 1. The others repeat the last one, so that nothing is read past the
 * row and no load waits for a branch. __ldg: the read-only path. */
template <typename T, typename P, bool PATTERN>
static __device__ inline void load_terms(const wr_csr_rows<T, P, PATTERN> &a, int64_t k, int count, row_terms<T> &t) {
#pragma unroll
  for (int u = 0; u < UNROLL; u++) t.col[u] = __ldg(a.col + k + (u < count ? u : count - 1));
#pragma unroll
  for (int u = 0; u < UNROLL; u++) t.val[u] = PATTERN ? (T)1 : __ldg(a.val + k + (u < count ? u : count - 1));
}

template <typename T, typename P, bool PATTERN>
static __device__ inline void load_x(const wr_csr_rows<T, P, PATTERN> &a, row_terms<T> &t) {
#pragma unroll
  for (int u = 0; u < UNROLL; u++) t.x[u] = __ldg(a.x + t.col[u]);
}

template <typename T>
static __device__ inline double add_terms(const row_terms<T> &t, int count, double sum) {
#pragma unroll
  for (int u = 0; u < UNROLL; u++) sum += u < count ? (double)t.val[u] * (double)t.x[u] : 0;
  return sum;
}

/* A row: its first entry, its number of entries, and its first terms, in flight. */
template <typename T>
struct row_begun {
  int64_t k;
  int left;
  row_terms<T> now;
};

template <typename T, typename P, bool PATTERN>
static __device__ inline row_begun<T> begin_row(const wr_csr_rows<T, P, PATTERN> &a, int64_t i) {
  row_begun<T> row;
  row.k = 0, row.left = 0;
  if (i >= a.nrows) return row;
  row.k = __ldg(a.row_ptr + i), row.left = (int)(__ldg(a.row_ptr + i + 1) - row.k);
  if (row.left > 0) load_terms(a, row.k, row.left, row.now);
  return row;
}

/* The sum of a row, in the order of its entries. Columns and values of the next terms are in flight together with x of the
 * current ones; before_last(), which loads what the epilogue needs, is called before the last terms are added. A short row
 * waits for memory three times, twice of these before wr_wait_for_earlier. */
template <typename T, typename P, bool PATTERN, class Load>
static __device__ inline double row_sum(const wr_csr_rows<T, P, PATTERN> &a, row_begun<T> &row, Load before_last) {
  row_terms<T> next;
  int left = row.left;
  int64_t k = row.k;
  double sum = 0;
#pragma unroll 1
  for (; left > UNROLL; left -= UNROLL) {
    load_x(a, row.now);
    load_terms(a, k += UNROLL, left - UNROLL, next);
    sum = add_terms(row.now, UNROLL, sum);
    row.now = next;
  }
  if (left > 0) load_x(a, row.now);
  before_last();
  return left > 0 ? add_terms(row.now, left, sum) : 0;
}

/* y_i = alpha * sum_k val_k x[col_k] + beta * y_i, entry by entry (Mazzucchi 2025, section IV.A, algorithm 3). The lanes of a
 * warp read col and val of 32 rows at a time, UNROLL neighbours of each. 12 blocks on a multiprocessor: with more, and so
 * fewer registers, the compiler would serialise some loads (nvcc 13.0). Two rows for each thread are no faster: they have
 * more loads in flight but fewer threads. */
template <typename T, typename P, bool PATTERN>
__global__ void __launch_bounds__(THREADS, 12) csr_thread_unrolled(const wr_csr_rows<T, P, PATTERN> a) {
  wr_let_next_begin();
  int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  row_begun<T> row = begin_row(a, i);
  wr_wait_for_earlier();
  if (i < a.nrows) a.y[i] = (T)wr_csr_result(a, i, row_sum(a, row, [] {}));
}

/* The same with the epilogue. FUSED, for few blocks: the last one finishes the sums. Else each warp stores its part: 230 to
 * 240 us where the plain multiply takes 210 (7-point stencil, f64, H200). Slower alternatives, tried on a version that took
 * 245: one part for each block, which waits for its slowest warp, 280; blocks that loop over all rows, 255 to 270. */
template <typename T, typename P, bool PATTERN, bool FUSED, wr_finish_mask MASK>
__global__ void __launch_bounds__(THREADS, FUSED ? 4 : 12)
    csr_thread_unrolled_finish(const wr_csr_rows<T, P, PATTERN> a, const wr_finish<T> given) {
  wr_let_next_begin();
  const auto finish = wr_finish_known<MASK>(given);
  int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  row_begun<T> begun = begin_row(a, i);
  wr_wait_for_earlier();
  wr_finish_scalars scalars = wr_finish_begin(finish);
  double reduced[WR_MAX_REDUCTIONS] = {0, 0, 0};
  if (i < a.nrows) {
    wr_finish_rows<T, 1> row;
    double sum = row_sum(a, begun, [&] { wr_finish_load(finish, i, row); });
    row.value[0] = wr_csr_result(a, i, sum);
    wr_finish_store(finish, scalars, i, row, a.y, reduced);
  }
  if constexpr (FUSED)
    wr_sums_finish(finish.sums, reduced);
  else
    wr_sums_leave_warp(finish.sums, reduced);
}

static int64_t blocks_for(int64_t nrows) { return (nrows + THREADS - 1) / THREADS; }
static int64_t parts_for(int64_t nrows) { return blocks_for(nrows) * (THREADS / WR_WARP); }

template <typename T, typename P, bool PATTERN>
static wr_status launch(wr_env *env, const wr_csr_rows<T, P, PATTERN> &a, const wr_epilogue *epilogue) {
  unsigned blocks = (unsigned)blocks_for(a.nrows);
  if (epilogue == NULL) return WR_LAUNCH_EARLY(env, (csr_thread_unrolled<T, P, PATTERN>), blocks, THREADS, 0, a);
  wr_finish<T> finish = wr_finish_make<T>(env, epilogue);
  return wr_csr_with_mask<T, P, PATTERN>(wr_finish_mask_of(finish), [&](auto known) {
    if (blocks <= MOST_FUSED)
      return WR_LAUNCH_EARLY(env, (csr_thread_unrolled_finish<T, P, PATTERN, true, known.value>), blocks, THREADS, 0, a,
                             finish);
    PASS(WR_LAUNCH_EARLY(env, (csr_thread_unrolled_finish<T, P, PATTERN, false, known.value>), blocks, THREADS, 0, a,
                         finish));
    return wr_left_sums_launch(env, finish.sums, parts_for(a.nrows));
  });
}

extern "C" wr_status wr_csr_thread_unrolled_reserve(wr_env *env, int64_t nrows) {
  return wr_left_sums_reserve(env, parts_for(nrows));
}

extern "C" wr_status wr_csr_thread_unrolled_launch(wr_env *env, const wr_csr_view *A, const wr_apply *request) {
  return wr_csr_dispatch(env, A, request, [=](const auto &rows) { return launch(env, rows, request->epilogue); });
}
