/* The multiply with interleaved blocks (bsr_interleaved.h), for one type T of the vectors and V of the stored values. */
#ifndef WR_BSR_INTERLEAVED_KERNEL_CUH
#define WR_BSR_INTERLEAVED_KERNEL_CUH

#include "spmv/backends/bsr/bsr_interleaved.h"
#include "spmv/blocks/bsr_rows.cuh"
#include "spmv/device/check.cuh"
#include "spmv/device/cuda_state.h"
#include "spmv/kernel/async_copy.cuh"
#include "spmv/kernel/epilogue.cuh"
#include "spmv/kernel/launch.cuh"
#include "spmv/kernel/parts.cuh"
#include "spmv/kernel/warp.cuh"

constexpr int IB_WARPS = WR_BSR_WARPS, IB_THREADS = IB_WARPS * WR_WARP;
/* Thread blocks of a multiprocessor. Without this bound the compiler uses so few registers that hardly any loads are in
 * flight at a time. */
constexpr int IB_BLOCKS = 4;

template <typename T>
struct ib_args {
  wr_bsr_interleaved b;
  const T *x; /* [ncols]                    */
  T *y;       /* [nrows]                    */
  T *y_next;  /* [nrows], NULL: not cleared */
  double alpha, beta;
  int plain;   /* beta == 0 and no epilogue                                                   */
  int ordered; /* 1: parts of shared rows are stored in head and tail; 0: they are added to y */
};

/* Row r of inner block row `row`, over inner blocks from..to - 1, without padding. For sums that are NaN, which padding times
 * an infinity may have caused. */
template <typename V, typename T>
static __device__ __noinline__ double ib_exact(const ib_args<T> &a, int64_t row, int r, int64_t from, int64_t to) {
  const wr_bsr_interleaved &b = a.b;
  double sum = 0;
  int64_t begin = b.start[row] > from ? b.start[row] : from, end = b.start[row + 1] < to ? b.start[row + 1] : to;
  for (int64_t g = begin; g < end; g++) {
    int64_t warp = g / (WR_WARP * b.each), lane = g / b.each % WR_WARP, line = warp * b.each + g % b.each;
    for (int c = 0; c < b.c; c++) {
      V v = ((const V *)b.val)[((line * b.c + c) * b.r + r) * WR_WARP + lane];
      if (!wr_is_padding(v)) sum += (double)v * (double)a.x[b.col[line * WR_WARP + lane] + c];
    }
  }
  return sum;
}

/* B blocks of a lane in flight: their first columns, and their values. */
template <typename V, int R, int C, int B>
struct ib_batch {
  int32_t j[B];
  V v[B * R * C];
};

template <typename V, int R, int C, int B, typename T>
static __device__ inline void ib_load_columns(const ib_args<T> &a, int64_t line, ib_batch<V, R, C, B> &next) {
  const int32_t *col = a.b.col + line * WR_WARP + threadIdx.x % WR_WARP;
#pragma unroll
  for (int k = 0; k < B; k++) next.j[k] = wr_load_stream(col + k * WR_WARP);
}

template <typename V, int R, int C, int B, typename T>
static __device__ inline void ib_load_values(const ib_args<T> &a, int64_t line, ib_batch<V, R, C, B> &next) {
  const V *val = (const V *)a.b.val + line * (R * C * WR_WARP) + threadIdx.x % WR_WARP;
#pragma unroll
  for (int e = 0; e < B * R * C; e++) next.v[e] = wr_load_stream(val + e * WR_WARP);
}

/* Multiplies a lane's blocks. sums := the sums of the rows that end in them, one after the other; the first holds only this
 * lane's part. open := the sums after the last row end. B blocks at a time: the loads of all of them, and of the next B
 * columns, are issued before the first is used; `next` has the first B. A few terms of a row are summed as T before they go
 * to f64 (wr_bsr_terms). */
template <typename V, int R, int C, int B, typename T>
static __device__ inline void ib_multiply(const ib_args<T> &a, int64_t warp, uint32_t flags, ib_batch<V, R, C, B> &next,
                                          double *sums, double (&open)[R]) {
  constexpr int FLUSH = wr_bsr_terms(C, B) / C;
  int64_t line = warp * a.b.each, end = line + a.b.each;
#pragma unroll
  for (int r = 0; r < R; r++) open[r] = 0;
  for (;; flags >>= B) {
    T x[B * C], part[R];
#pragma unroll
    for (int e = 0; e < B * C; e++) x[e] = __ldg(a.x + next.j[e / C] + e % C);
    line += B;
    if (line < end) ib_load_columns(a, line, next);
#pragma unroll
    for (int r = 0; r < R; r++) part[r] = 0;
#pragma unroll
    for (int k = 0; k < B; k++) {
#pragma unroll
      for (int e = 0; e < R * C; e++) part[e % R] += (T)next.v[k * R * C + e] * x[k * C + e / R];
      if ((k + 1) % FLUSH == 0 || k + 1 == B)
#pragma unroll
        for (int r = 0; r < R; r++) open[r] += (double)part[r], part[r] = 0;
      if (!(flags >> k & 1)) continue;
#pragma unroll
      for (int r = 0; r < R; r++) sums[r] = open[r] + (double)part[r], open[r] = 0, part[r] = 0;
      sums += R;
    }
    if (line >= end) return;
    ib_load_values(a, line, next);
  }
}

/* Scalar row r of inner block row `row`, counted among those with blocks. */
template <int R, typename T>
static __device__ inline int64_t ib_row(const ib_args<T> &a, int64_t row, int r) {
  return (a.b.row ? (int64_t)a.b.row[row] : row) * R + r;
}

/* Stores, or adds to y, a thread block's part of a row that it shares with others; its inner blocks are from..to - 1. One
 * thread a scalar row. */
template <typename V, int R, typename T>
static __device__ inline void ib_leave(const ib_args<T> &a, int64_t row, int r, double part, int64_t from, int64_t to,
                                       double *place) {
  int64_t i = ib_row<R>(a, row, r);
  if (i >= a.b.nrows) return;
  if (isnan(part)) part = ib_exact<V>(a, row, r, from, to);
  if (a.ordered)
    *place = part;
  else
    atomicAdd(a.y + i, (T)(a.alpha * part));
}

template <typename V, int R, class F, typename T>
static __device__ inline void ib_commit(const ib_args<T> &a, const F &finish, int64_t y0, int rows, int skip,
                                        const double *sums, double (&reduced)[WR_MAX_REDUCTIONS]) {
  wr_finish_scalars scalars = wr_finish_begin(finish);
  for (int q = skip * R + (int)threadIdx.x; q < rows * R; q += IB_THREADS) {
    int64_t row = y0 + q / R, i = ib_row<R>(a, row, q % R);
    double sum = sums[q];
    if (i >= a.b.nrows) continue;
    if (isnan(sum)) sum = ib_exact<V>(a, row, q % R, 0, a.b.blocks);
    if (a.plain)
      a.y[i] = (T)(a.alpha * sum);
    else
      wr_finish_row(finish, scalars, i, wr_finish_beta(a.alpha, a.beta, a.y, i, sum), a.y, reduced);
  }
}

/* y = alpha*A*x + beta*y for the rows of one thread block. R x C: of an inner block; B of them at a time. */
template <typename T, typename V, int R, int C, int B, wr_finish_mask MASK>
__global__ void __launch_bounds__(IB_THREADS, IB_BLOCKS)
    bsr_interleaved(WR_KERNEL_PARAMETER ib_args<T> a, WR_KERNEL_PARAMETER wr_finish<T> given) {
  WR_SHARED_DYNAMIC(double, sums); /* [rows that end in the block][R] */
  WR_SHARED(double, opens, IB_WARPS * R);
  WR_SHARED(int, first, IB_WARPS);
  wr_let_next_begin();
  const auto finish = wr_finish_known<MASK>(given);
  const wr_bsr_interleaved &b = a.b;
  int lane = threadIdx.x % WR_WARP, warp = threadIdx.x / WR_WARP, each = b.each;
  int64_t block = blockIdx.x, w0 = block * IB_WARPS, w1 = w0 + IB_WARPS < b.warps ? w0 + IB_WARPS : b.warps,
          w = w0 + warp;
  int64_t y0 = b.first[w0], y1 = b.first[w1], from = b.origin[block], tail_from = b.origin[block + 1];
  bool has_head = from != block && y1 > y0, has_tail = tail_from != block + 1;
  ib_batch<V, R, C, B> blocks;
  uint32_t word = 0;
  int64_t y = y0;
  if (w < w1) {
    word = wr_load_stream(b.word + w * WR_WARP + lane), y = b.first[w];
    ib_load_columns(a, w * each, blocks);
    ib_load_values(a, w * each, blocks);
  }
  wr_wait_for_earlier();
  double open[R];
#pragma unroll
  for (int r = 0; r < R; r++) open[r] = 0;
  int ends_first = -1; /* the row that ends first in the warp, counted from the thread block's first */
  if (w < w1) {
    uint32_t flags = word & ((1u << each) - 1);
    int at = (int)(y - y0) + (int)(word >> each);
    ib_multiply<V, R, C, B>(a, w, flags, blocks, sums + at * R, open);
    unsigned ended = __ballot_sync((unsigned)WR_FULL_MASK, flags != 0);
    wr_join_lanes(flags != 0, ended, sums + at * R, open);
    int row = __shfl_sync((unsigned)WR_FULL_MASK, at, ended ? __ffs((int)ended) - 1 : 0);
    if (ended) ends_first = row;
  }
  if (lane == 0) {
    first[warp] = ends_first;
#pragma unroll
    for (int r = 0; r < R; r++) opens[warp * R + r] = open[r];
  }
  __syncthreads();
  double tail = wr_join_warps<R>(IB_WARPS, opens, first, sums);
  __syncthreads();
  int64_t g0 = w0 * WR_WARP * each, g1 = (w0 + IB_WARPS) * WR_WARP * each;
  int r = (int)threadIdx.x - IB_WARPS * R;
  if (has_tail && r >= 0 && r < R) ib_leave<V, R>(a, y1, r, tail, g0, g1, b.tail + block * R + r);
  if (has_head && threadIdx.x < R) {
    ib_leave<V, R>(a, y0, (int)threadIdx.x, sums[threadIdx.x], g0, g1, b.head + block * R + threadIdx.x);
    int64_t i = ib_row<R>(a, y0, (int)threadIdx.x);
    if (a.plain && a.y_next && i < b.nrows) a.y_next[i] = 0;
  }
  double reduced[WR_MAX_REDUCTIONS] = {0, 0, 0};
  ib_commit<V, R>(a, finish, y0, (int)(y1 - y0), has_head, sums, reduced);
  wr_sums_leave(finish.sums, reduced);
}

/* A scalar row that thread blocks share: the one in which it ends, the one in which it begins, and the row. */
struct ib_shared {
  int64_t block, from, i; /* i: nrows if there is none */
};

/* Shared row q = R * (thread block in which it ends) + (scalar row of the block row). */
template <int R, typename T>
static __device__ inline ib_shared ib_find_shared(const ib_args<T> &a, int64_t q) {
  const wr_bsr_interleaved &b = a.b;
  ib_shared s = {q / R, q / R, b.nrows};
  if (q >= b.grid * R) return s;
  int64_t w1 = (s.block + 1) * IB_WARPS < b.warps ? (s.block + 1) * IB_WARPS : b.warps;
  int64_t y0 = b.first[s.block * IB_WARPS], y1 = b.first[w1], from = b.origin[s.block];
  if (from == s.block || y1 <= y0) return s;
  int64_t i = ib_row<R>(a, y0, (int)(q % R));
  if (i < b.nrows) s.from = from, s.i = i;
  return s;
}

/* Completes the shared rows and the empty ones, a thread each. */
template <typename T, int R>
__global__ void __launch_bounds__(IB_THREADS)
    bsr_interleaved_last(WR_KERNEL_PARAMETER ib_args<T> a, WR_KERNEL_PARAMETER wr_finish<T> finish) {
  wr_let_next_begin();
  const wr_bsr_interleaved &b = a.b;
  int64_t stride = (int64_t)gridDim.x * IB_THREADS, lane = threadIdx.x % WR_WARP;
  int64_t begin = (int64_t)blockIdx.x * IB_THREADS + threadIdx.x - lane;
  ib_shared s = ib_find_shared<R>(a, begin + lane);
  wr_wait_for_earlier();
  wr_finish_scalars scalars = wr_finish_begin(finish);
  double reduced[WR_MAX_REDUCTIONS] = {0, 0, 0};
  wr_finish_rows<T, 1> row = {}; /* initialised once: lanes without a row take part in the warp's sum and leave it unused */
  for (int64_t base = begin; base < b.grid * R; base += stride, s = ib_find_shared<R>(a, base + lane)) {
    bool is_row = s.i < b.nrows;
    double old = 0, head = 0; /* all loads are in flight at a time */
    if (is_row) {
      wr_finish_load(finish, s.i, row);
      if (!a.ordered || a.beta != 0) old = (double)a.y[s.i];
      if (a.ordered) head = b.head[base + lane];
    }
    double sum = a.ordered ? wr_parts_sum(b.tail + (base + lane) % R, R, s.from, s.block) : 0;
    if (!is_row) continue;
    row.value[0] = a.ordered ? wr_finish_sum(a.alpha, a.beta, old, sum + head) : old;
    wr_finish_store(finish, scalars, s.i, row, a.y, reduced);
    if (a.y_next) a.y_next[s.i] = 0;
  }
  for (int64_t q = begin + lane; q < b.empty * R; q += stride) {
    int64_t i = (int64_t)b.empty_row[q / R] * R + q % R;
    if (i < b.nrows) wr_finish_row(finish, scalars, i, wr_finish_beta(a.alpha, a.beta, a.y, i, 0), a.y, reduced);
  }
  wr_sums_finish(finish.sums, reduced);
}

template <typename T, typename V, int R, int C, int B>
static wr_status ib_launch(wr_env *env, const ib_args<T> &a, wr_finish<T> finish) {
  wr_status status = WR_OK;
  size_t shared = (size_t)a.b.shared_rows * R * sizeof(double);
  wr_finish_mask mask = wr_finish_mask_of(finish);
  auto bsr_interleaved_kernel = mask == WR_HOLDS_NOTHING        ? bsr_interleaved<T, V, R, C, B, WR_HOLDS_NOTHING>
                                : mask == WR_HOLDS_DOT_AND_NORM ? bsr_interleaved<T, V, R, C, B, WR_HOLDS_DOT_AND_NORM>
                                                                : bsr_interleaved<T, V, R, C, B, WR_HOLDS_ANY>;
  if (shared > 32 << 10) /* together with the static arrays it may pass the limit of a kernel that has not raised it */
    TRY(WR_CUDA(
        cudaFuncSetAttribute(bsr_interleaved_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared)));
  if (a.b.grid > 0)
    TRY(WR_LAUNCH_EARLY(env, (bsr_interleaved_kernel), (unsigned)a.b.grid, IB_THREADS, shared, a, finish));
  finish.sums.before = a.b.grid;
  if (a.ordered || !a.plain || a.b.empty)
    TRY(WR_LAUNCH_EARLY(env, (bsr_interleaved_last<T, R>), wr_bsr_interleaved_last_grid(env, &a.b), IB_THREADS, 0, a,
                        finish));
done:
  return status;
}

/* The instances: sizes of inner blocks (the table in bsr_pack.cu), and how many a lane multiplies at a time. */
template <typename T, typename V>
static wr_status ib_launch_size(wr_env *env, const ib_args<T> &a, const wr_finish<T> &finish) {
#define SIZE(R, C) \
  if (a.b.r == R && a.b.c == C) return ib_launch<T, V, R, C, wr_bsr_at_a_time(R, C, sizeof(V))>(env, a, finish)
  SIZE(1, 1);
  SIZE(2, 2);
  SIZE(3, 3);
  SIZE(4, 4);
  SIZE(5, 5);
  SIZE(6, 6);
  SIZE(8, 4);
  SIZE(16, 1);
  SIZE(1, 8);
#undef SIZE
  return wr_fail(WR_EINTERNAL, "no kernel for inner blocks of %d x %d", a.b.r, a.b.c);
}

template <typename T, typename V>
static wr_status ib_launch_all(wr_env *env, const wr_bsr_interleaved *b, const wr_apply *request) {
  ib_args<T> a = {};
  a.b = *b, a.x = (const T *)request->x->data, a.y = (T *)request->y->data;
  a.alpha = request->alpha, a.beta = request->beta;
  a.plain = request->beta == 0 && request->epilogue == NULL;
  a.ordered = request->beta != 0 || b->commit == WR_BSR_ORDERED;
  if (request->y_next && b->commit == WR_BSR_DUAL) a.y_next = (T *)request->y_next->data;
  return ib_launch_size<T, V>(env, a, wr_finish_make<T>(env, request->epilogue));
}

#endif
