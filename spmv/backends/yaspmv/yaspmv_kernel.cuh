/* The multiply with BCCOO (yaspmv_format.h) for one type T. */
#ifndef WR_YASPMV_KERNEL_CUH
#define WR_YASPMV_KERNEL_CUH

#include "spmv/backends/yaspmv/yaspmv_kernel.h"
#include "spmv/backends/yaspmv/yaspmv_lanes.cuh"
#include "spmv/blocks/bsr_rows.cuh"
#include "spmv/device/check.cuh"
#include "spmv/device/cuda_state.h"
#include "spmv/kernel/async_copy.cuh"
#include "spmv/kernel/carry.cuh"
#include "spmv/kernel/epilogue.cuh"
#include "spmv/kernel/launch.cuh"
#include "spmv/kernel/parts.cuh"
#include "spmv/kernel/stream.cuh"
#include "spmv/kernel/warp.cuh"

constexpr int BCCOO_THREADS = WR_BCCOO_MAX_THREADS, BCCOO_WARPS = BCCOO_THREADS / WR_WARP;
constexpr int BCCOO_LAST_BLOCKS = 8; /* most blocks of the second kernel, for each multiprocessor */

template <typename T>
struct bccoo_args {
  wr_bccoo_plan p;
  const T *x; /* [ncols] */
  T *y;       /* [nrows] */
  double alpha, beta;
  int plain;   /* beta == 0 and no epilogue                                   */
  int aligned; /* every block's columns of x begin at a multiple of their size */
};

/* ---- Adjacent synchronisation (yaSpMV, section 3.2.4) ----
 *
 * Thread block t may wait for what thread block t - 1 leaves open of a row. It is safe for blocks in any order, because blocks
 * take their numbers from a ticket: when a block has number t, the block with number t - 1 has begun, so it is resident and,
 * by induction from block 0 which waits for none, ends without waiting for a block that has not begun.
 *
 * carry[t], one word per row of a block (carry.cuh), is written once by block t and read and reset by block t + 1 alone, which
 * happens for exactly those t at whose end a row is open. */

/* The next number; the last block to ask sets the ticket back to 0. */
static __device__ inline unsigned bccoo_take(unsigned *ticket) { return atomicInc(ticket, gridDim.x - 1); }

/* ---- Multiplying ---- */

/* B blocks of a lane in flight: codes of their columns, and their values; VALUES 0: none are stored. */
template <typename T, int VALUES, int B>
struct bccoo_batch {
  uint32_t code[B];
  T v[VALUES ? B * VALUES : 1];
};

template <int VALUES, int B, typename T>
static __device__ inline void bccoo_load(const wr_bccoo &b, int64_t line, bccoo_batch<T, VALUES, B> &next) {
  int64_t at = line * WR_WARP + threadIdx.x % WR_WARP;
  if (b.columns == WR_BCCOO_WIDE) {
#pragma unroll
    for (int k = 0; k < B; k++) next.code[k] = wr_load_stream((const uint32_t *)b.code + at + k * WR_WARP);
  } else {
#pragma unroll
    for (int k = 0; k < B; k++) next.code[k] = wr_load_stream((const uint16_t *)b.code + at + k * WR_WARP);
  }
  const T *val = (const T *)b.val + line * (VALUES * WR_WARP) + threadIdx.x % WR_WARP;
#pragma unroll
  for (int e = 0; e < B * VALUES; e++) next.v[e] = wr_load_stream(val + e * WR_WARP);
}

/* column[B] := the block columns of a batch. escaped: the warp's next escaped column. All lanes of a warp call this. */
template <int B>
static __device__ inline void bccoo_decode(const wr_bccoo &b, int64_t line, uint32_t flags, const uint32_t (&code)[B],
                                           bccoo_reference &at, const int32_t *&escaped, int32_t (&column)[B]) {
  if (!wr_bccoo_has_differences(&b)) {
#pragma unroll
    for (int k = 0; k < B; k++) column[k] = (int32_t)code[k];
    return;
  }
  bool as_paper = b.columns == WR_BCCOO_PAPER, escapes = as_paper;
#pragma unroll
  for (int k = 0; k < B; k++) escapes = escapes | (code[k] == WR_BCCOO_ESCAPE);
  if (!__any_sync((unsigned)WR_FULL_MASK, escapes)) {
#pragma unroll
    for (int k = 0; k < B; k++) {
      column[k] = at.column + b.low + (int32_t)code[k];
      bccoo_step(at, column[k], flags >> k & 1, false);
    }
    return;
  }
  unsigned escape = bccoo_escape(b.columns), lane = threadIdx.x % WR_WARP;
  int32_t other[B]; /* all loads before the first use */
#pragma unroll
  for (int k = 0; k < B; k++) {
    bool out = code[k] == escape;
    unsigned all = __ballot_sync((unsigned)WR_FULL_MASK, out);
    other[k] = !out ? 0 : as_paper ? b.full[(line + k) * WR_WARP + lane] : escaped[__popc(all & ((1u << lane) - 1))];
    escaped += __popc(all);
  }
#pragma unroll
  for (int k = 0; k < B; k++) {
    column[k] = code[k] == escape ? other[k] : at.column + b.low + (int32_t)code[k];
    bccoo_step(at, column[k], flags >> k & 1, as_paper);
  }
}

/* x[B * C] := the elements of x that a batch needs. */
template <int C, int B, typename T>
static __device__ inline void bccoo_load_x(const bccoo_args<T> &a, const int32_t (&column)[B], T (&x)[B * C]) {
  if constexpr (C == 2 || C == 4) {
    if (a.aligned) {
#pragma unroll
      for (int k = 0; k < B; k++) {
        wr_pack<T, C> pack = wr_load<T, C>(a.x, column[k]);
#pragma unroll
        for (int c = 0; c < C; c++) x[k * C + c] = pack.at[c];
      }
      return;
    }
  }
#pragma unroll
  for (int k = 0; k < B; k++) {
    int32_t last = (int32_t)a.p.format.ncols - C, left = C == 1 || column[k] * C < last ? column[k] * C : last;
#pragma unroll
    for (int c = 0; c < C; c++) x[k * C + c] = __ldg(a.x + left + c);
  }
}

/* Where a lane's sums go. ENDS: one sum for each row that ends in the lane, one after the other (strategy 2). ALL: the sums
 * behind each of its blocks (strategy 1), the k-th ones of all lanes of the thread block side by side. */
enum bccoo_sums { BCCOO_ENDS, BCCOO_ALL };

/* Multiplies a batch. open, sums: as below; returns where the next sums go. */
template <bccoo_sums SUMS, int R, int C, int VALUES, int B, typename T>
static __device__ inline double *bccoo_add(const bccoo_batch<T, VALUES, B> &blocks, uint32_t flags, const T (&x)[B * C],
                                           double *sums, double (&open)[R]) {
#pragma unroll
  for (int k = 0; k < B; k++) {
#pragma unroll
    for (int r = 0; r < R; r++) {
      T part = VALUES ? blocks.v[k * VALUES + r] * x[k * C] : x[k * C];
#pragma unroll
      for (int c = 1; c < C; c++) part += blocks.v[VALUES ? k * VALUES + c * R + r : 0] * x[k * C + c];
      open[r] += (double)part;
    }
    bool ends = flags >> k & 1;
    if (SUMS == BCCOO_ENDS && !ends) continue;
#pragma unroll
    for (int r = 0; r < R; r++) {
      sums[r] = open[r];
      if (ends) open[r] = 0;
    }
    sums += SUMS == BCCOO_ENDS ? R : R * (int)blockDim.x;
  }
  return sums;
}

/* Multiplies a lane's blocks (section 3.2.2). sums := as SUMS says; those of the first row that ends hold only this lane's
 * part. open := the sums behind the last row end. Returns the block with which the first row ends, -1 if none does. AHEAD: the
 * next batch is loaded before x is used, so that both are waited for together; for larger blocks that takes too many
 * registers. */
template <bccoo_sums SUMS, int R, int C, int VALUES, int B, typename T>
static __device__ inline int bccoo_multiply(const bccoo_args<T> &a, int64_t warp, bccoo_batch<T, VALUES, B> &blocks,
                                            const bccoo_reader &reader, double *sums, double (&open)[R]) {
  constexpr bool AHEAD = R * C <= 2;
  const wr_bccoo &b = a.p.format;
  int64_t line = warp * b.tile;
  bccoo_reference at = reader.at;
  uint32_t flags = reader.flags;
  int first_end = __ffs((int)flags) - 1;
  const int32_t *escaped = b.escape_from ? b.escaped + b.escape_from[warp] : nullptr;
#pragma unroll
  for (int r = 0; r < R; r++) open[r] = 0;
#pragma unroll 1
  for (int k0 = 0;; line += B) {
    int32_t column[B];
    T x[B * C];
    bccoo_batch<T, VALUES, B> next;
    bccoo_decode<B>(b, line, flags, blocks.code, at, escaped, column);
    bccoo_load_x<C, B>(a, column, x);
    k0 += B;
    bool more = k0 < b.tile;
    if (AHEAD && more) bccoo_load(b, line + B, next);
    sums = bccoo_add<SUMS, R, C>(blocks, flags, x, sums, open);
    if (!more) return first_end;
    if (AHEAD)
      blocks = next;
    else
      bccoo_load(b, line + B, blocks);
    flags >>= B;
    if (k0 % 32 == 0) { /* a tile of more than 32 blocks, whose words of flags have 32 bits */
      int64_t word = (warp * wr_bccoo_flag_words(b.tile) + k0 / 32) * WR_WARP + threadIdx.x % WR_WARP;
      flags = bccoo_load_flags(b.flag, 4, word);
      if (first_end < 0 && flags) first_end = k0 + __ffs((int)flags) - 1;
    }
  }
}

/* Row r of the q-th block row that ends in thread block t, or of the one that is open at its end: the part of this thread
 * block without padding. For sums that are NaN, which padding times an infinity may have caused. */
template <typename T>
static __device__ __noinline__ double bccoo_exact(const bccoo_args<T> &a, int64_t t, int64_t q, int r) {
  const wr_bccoo &b = a.p.format;
  int64_t lane0 = t * b.threads;
  double sum = 0;
#pragma unroll 1 /* few registers, as those of the function are the kernel's, too */
  for (int64_t lane = lane0; lane < lane0 + b.threads && b.entry[lane] <= q; lane++) {
    int64_t warp = lane / WR_WARP, n = b.entry[lane];
    if (lane + 1 < lane0 + b.threads && b.entry[lane + 1] < q) continue;
    bccoo_reader reader = bccoo_open(b, warp, (int)(lane % WR_WARP));
#pragma unroll 1
    for (int k = 0; k < b.tile && n <= q; k++) {
      bool ends;
      int32_t j = bccoo_read(b, reader, warp, (int)(lane % WR_WARP), k, &ends);
      int64_t from = bccoo_first_column(b.c, b.ncols, j);
#pragma unroll 1
      for (int c = 0; n == q && c < b.c; c++) {
        int64_t place = (((warp * b.tile + k) * b.c + c) * b.r + r) * WR_WARP + lane % WR_WARP;
        T v = b.valued ? ((const T *)b.val)[place] : (T)1;
        if (!wr_is_padding(v)) sum += (double)v * (double)a.x[from + c];
      }
      n += ends;
    }
  }
  return sum;
}

/* The scalar row r of the n-th block row, counted among those with blocks. */
template <int R>
static __device__ inline int64_t bccoo_row(const wr_bccoo &b, int64_t n, int r) {
  return (b.row ? (int64_t)b.row[n] : n) * R + r;
}

/* Completes scalar row i with its sum. */
template <class F, typename T>
static __device__ inline void bccoo_finish(const bccoo_args<T> &a, const F &finish, const wr_finish_scalars &scalars,
                                           int64_t i, double sum, double (&reduced)[WR_MAX_REDUCTIONS]) {
  if (a.p.sliced)
    a.p.sliced[i] = sum;
  else if (i >= a.p.format.nrows)
    return;
  else if (a.plain)
    a.y[i] = (T)(a.alpha * sum);
  else
    wr_finish_row(finish, scalars, i, wr_finish_beta(a.alpha, a.beta, a.y, i, sum), a.y, reduced);
}

/* y = alpha*A*x + beta*y for the rows of one thread block. R x C: of a block, with so many VALUES; B of them at a time. Without
 * values 64 registers do, so that a third more warps are resident; with values they would not. */
template <typename T, bccoo_sums SUMS, int R, int C, int VALUES, int B, wr_finish_mask MASK>
__global__ void __launch_bounds__(BCCOO_THREADS, (VALUES == 0 && MASK == WR_HOLDS_NOTHING ? 2 : 1))
    bccoo(WR_KERNEL_PARAMETER bccoo_args<T> a, WR_KERNEL_PARAMETER wr_finish<T> given) {
  WR_SHARED_DYNAMIC(double, sums); /* ENDS: [rows that end in the block][R]; ALL: [tile][threads][R] */
  WR_SHARED(double, opens, BCCOO_WARPS * R);
  WR_SHARED(int, first, BCCOO_WARPS);
  WR_SHARED(unsigned, number, 1);
  wr_begin_kernel();
  const wr_bccoo &b = a.p.format;
  if (threadIdx.x == 0) number[0] = bccoo_take(a.p.ticket);
  __syncthreads();
  int lane = threadIdx.x % WR_WARP, warp = threadIdx.x / WR_WARP, warps = b.threads / WR_WARP;
  int64_t t = number[0], w = t * warps + warp;
  bccoo_batch<T, VALUES, B> blocks;
  bccoo_load(b, w * b.tile, blocks);
  bccoo_reader reader = bccoo_open(b, w, lane);
  int64_t word = w * wr_bccoo_flag_words(b.tile) * WR_WARP + lane;
  reader.flags = bccoo_load_flags(b.flag, wr_bccoo_flag_bytes(b.tile), word);
  uint32_t begin = b.first[t], end = b.first[t + 1];
  int64_t y0 = begin & ~WR_BCCOO_OPEN;
  int entry = b.entry[w * WR_WARP + lane], rows = (int)((int64_t)(end & ~WR_BCCOO_OPEN) - y0);
  bool has_head = begin & WR_BCCOO_OPEN, has_tail = end & WR_BCCOO_OPEN;
  double open[R];
  int own = SUMS == BCCOO_ENDS ? entry : (int)threadIdx.x; /* place of the sums of the first row that ends in the lane */
  int first_end = bccoo_multiply<SUMS, R, C>(a, w, blocks, reader, sums + own * R, open);
  bool ends = first_end >= 0;
  if (SUMS == BCCOO_ALL && ends) own += first_end * b.threads;
  unsigned ended = __ballot_sync((unsigned)WR_FULL_MASK, ends);
  wr_join_lanes(ends, ended, sums + own * R, open, a.p.early_check && ended == (unsigned)WR_FULL_MASK);
  int row = __shfl_sync((unsigned)WR_FULL_MASK, own, ended ? __ffs((int)ended) - 1 : 0);
  if (lane == 0) {
    first[warp] = ended ? row : -1;
#pragma unroll
    for (int r = 0; r < R; r++) opens[warp * R + r] = open[r];
  }
  __syncthreads();
  double tail = wr_join_warps<R>(warps, opens, first, sums);
  __syncthreads();
  int r = (int)threadIdx.x - warps * R;
  uint64_t *before = a.p.carry + (t - 1) * R, *after = a.p.carry + t * R;
  if (has_tail && 0 <= r && r < R) {
    if (isnan(tail)) tail = bccoo_exact(a, t, rows, r);
    if (has_head && rows == 0) tail = wr_carry_receive(before + r) + tail;
    wr_carry_give(after + r, tail);
  }
  const auto finish = wr_finish_known<MASK>(given);
  wr_finish_scalars scalars = wr_finish_begin(finish);
  double reduced[WR_MAX_REDUCTIONS] = {0, 0, 0};
  /* Row `scalar` of the n-th block row that ends in the thread block. A row that began before it may wait, so it comes last. */
  auto complete = [&](int n, int scalar, double sum, bool began_before) {
    if (isnan(sum)) sum = bccoo_exact(a, t, n, scalar);
    if (began_before) sum = wr_carry_receive(before + scalar) + sum;
    bccoo_finish(a, finish, scalars, bccoo_row<R>(b, y0 + n, scalar), sum, reduced);
  };
  has_head = has_head && rows > 0;
  if constexpr (SUMS == BCCOO_ENDS) {
    for (int q = (has_head ? R : 0) + (int)threadIdx.x; q < rows * R; q += b.threads)
      complete(q / R, q % R, sums[q], false);
    if (has_head && threadIdx.x < R) complete(0, (int)threadIdx.x, sums[threadIdx.x], true);
  } else {
    int n = entry;
    uint32_t flags = reader.flags;
    for (int k = 0; k < b.tile; k++, flags >>= 1) {
      if (k % 32 == 0 && k > 0) flags = bccoo_load_flags(b.flag, 4, word + k);
      if (!(flags & 1)) continue;
      for (int i = 0; i < R && !(has_head && n == 0); i++)
        complete(n, i, sums[(k * b.threads + (int)threadIdx.x) * R + i], false);
      n++;
    }
    for (int i = 0; i < R && has_head && ends && entry == 0; i++) complete(0, i, sums[own * R + i], true);
  }
  if (finish.sums.count == 0) return;
  wr_block_sum(reduced, finish.sums.count);
  if (threadIdx.x == 0) wr_sums_store(finish.sums, t, reduced); /* by number: the order of the sums is always the same */
}

/* Completes the rows without blocks, and the sums of the epilogue. */
template <typename T>
__global__ void __launch_bounds__(WR_STREAM_THREADS)
    bccoo_last(WR_KERNEL_PARAMETER bccoo_args<T> a, WR_KERNEL_PARAMETER wr_finish<T> finish) {
  wr_begin_kernel();
  const wr_bccoo &b = a.p.format;
  wr_finish_scalars scalars = wr_finish_begin(finish);
  double reduced[WR_MAX_REDUCTIONS] = {0, 0, 0};
  for (int64_t q = wr_stream_thread(); q < b.empty * b.r; q += wr_stream_threads())
    bccoo_finish(a, finish, scalars, (int64_t)b.empty_row[q / b.r] * b.r + q % b.r, 0, reduced);
  wr_sums_finish(finish.sums, reduced);
}

/* Adds up the slices (section 2.3) and completes all rows. */
template <typename T>
__global__ void __launch_bounds__(WR_STREAM_THREADS)
    bccoo_combine(WR_KERNEL_PARAMETER bccoo_args<T> a, WR_KERNEL_PARAMETER wr_finish<T> finish) {
  wr_begin_kernel();
  const wr_bccoo &b = a.p.format;
  int64_t rows = b.all_rows * b.r;
  wr_finish_scalars scalars = wr_finish_begin(finish);
  double reduced[WR_MAX_REDUCTIONS] = {0, 0, 0};
  for (int64_t i = wr_stream_thread(); i < b.nrows; i += wr_stream_threads()) {
    double sum = 0;
#pragma unroll 4
    for (int s = 0; s < b.slices; s++) sum += a.p.sliced[s * rows + i];
    wr_finish_row(finish, scalars, i, wr_finish_beta(a.alpha, a.beta, a.y, i, sum), a.y, reduced);
  }
  wr_sums_finish(finish.sums, reduced);
}

template <typename T, bccoo_sums SUMS, int R, int C, int VALUES, int B = WR_BCCOO_BATCH(R, C)>
static wr_status bccoo_launch_size(wr_env *env, const bccoo_args<T> &a, const wr_finish<T> &finish) {
  const wr_bccoo &b = a.p.format;
  size_t shared = (size_t)(SUMS == BCCOO_ENDS ? b.shared_rows : b.tile * b.threads) * R * sizeof(double);
  bool any = wr_finish_mask_of(finish) != WR_HOLDS_NOTHING && !a.p.sliced;
  auto kernel = any ? bccoo<T, SUMS, R, C, VALUES, B, WR_HOLDS_ANY> : bccoo<T, SUMS, R, C, VALUES, B, WR_HOLDS_NOTHING>;
  if (shared > 32 << 10) /* together with the static arrays it may pass the limit of a kernel that has not raised it */
    PASS(WR_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared)));
  return WR_LAUNCH_EARLY(env, (kernel), (unsigned)b.grid, (unsigned)b.threads, shared, a, finish);
}

/* Blocks of one value, or of none. */
template <typename T, bccoo_sums SUMS, int VALUES>
static wr_status bccoo_launch_ones(wr_env *env, const bccoo_args<T> &a, const wr_finish<T> &finish) {
  switch (wr_bccoo_batch(1, 1, a.p.format.tile)) {
    case 6: return bccoo_launch_size<T, SUMS, 1, 1, VALUES, 6>(env, a, finish);
    case 7: return bccoo_launch_size<T, SUMS, 1, 1, VALUES, 7>(env, a, finish);
    case 9: return bccoo_launch_size<T, SUMS, 1, 1, VALUES, 9>(env, a, finish);
    default: return bccoo_launch_size<T, SUMS, 1, 1, VALUES>(env, a, finish);
  }
}

template <typename T, bccoo_sums SUMS>
static wr_status bccoo_launch_multiply(wr_env *env, const bccoo_args<T> &a, const wr_finish<T> &finish) {
  const wr_bccoo &b = a.p.format;
#define SIZE(R, C) \
  if (b.r == R && b.c == C) return bccoo_launch_size<T, SUMS, R, C, R * C>(env, a, finish)
#define SIZES(R) \
  SIZE(R, 1);    \
  SIZE(R, 2);    \
  SIZE(R, 3);    \
  SIZE(R, 4)
  if (!b.valued) return bccoo_launch_ones<T, SUMS, 0>(env, a, finish);
  if (b.r * b.c == 1) return bccoo_launch_ones<T, SUMS, 1>(env, a, finish);
  SIZE(1, 2);
  SIZE(1, 3);
  SIZE(1, 4);
  SIZES(2);
  SIZES(3);
  SIZES(4);
#undef SIZES
#undef SIZE
  return wr_fail(WR_EINTERNAL, "no kernel for blocks of %d x %d", b.r, b.c);
}

template <typename T>
static wr_status bccoo_launch_all(wr_env *env, const wr_bccoo_plan *p, const wr_apply *request) {
  const wr_bccoo &b = p->format;
  bccoo_args<T> a = {};
  a.p = *p, a.x = (const T *)request->x->data, a.y = (T *)request->y->data;
  a.alpha = request->alpha, a.beta = request->beta;
  a.plain = request->beta == 0 && request->epilogue == NULL;
  a.aligned = b.ncols % b.c == 0 && (uintptr_t)a.x % (sizeof(T) * (size_t)b.c) == 0;
  wr_finish<T> finish = wr_finish_make<T>(env, request->epilogue), none = {};
  int64_t rows = p->sliced ? b.nrows : b.empty * b.r;
  unsigned grid = wr_cuda_grid(env, (rows + WR_STREAM_THREADS - 1) / WR_STREAM_THREADS, BCCOO_LAST_BLOCKS);
  auto multiply = p->all_sums ? bccoo_launch_multiply<T, BCCOO_ALL> : bccoo_launch_multiply<T, BCCOO_ENDS>;
  if (b.grid > 0) PASS(multiply(env, a, p->sliced ? none : finish));
  if (p->sliced) PASS(WR_LAUNCH_EARLY(env, (bccoo_combine<T>), grid, WR_STREAM_THREADS, 0, a, finish));
  finish.sums.before = b.grid;
  if (!p->sliced && (finish.sums.count > 0 || b.empty > 0))
    PASS(WR_LAUNCH_EARLY(env, (bccoo_last<T>), grid, WR_STREAM_THREADS, 0, a, finish));
  return WR_OK;
}

#endif
