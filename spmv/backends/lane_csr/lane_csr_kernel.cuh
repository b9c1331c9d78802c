/* The multiply with interleaved rows (lane_csr_format.h). A source for each type includes it, and one for compact
 * values, so that a solve loads the kernels of its kind alone. */
#ifndef WR_LANE_CSR_KERNEL_CUH
#define WR_LANE_CSR_KERNEL_CUH

#include <string.h>

#include <algorithm>

#include "spmv/backends/lane_csr/lane_csr_chunk.cuh"
#include "spmv/backends/lane_csr/lane_csr_kernel.h"
#include "spmv/backends/lane_csr/lane_csr_turns.cuh"
#include "spmv/device/check.cuh"
#include "spmv/device/cuda_state.h"
#include "spmv/device/device_memory.h"
#include "spmv/kernel/carry.cuh"
#include "spmv/kernel/epilogue.cuh"
#include "spmv/kernel/launch.cuh"
#include "spmv/kernel/parts.cuh"
#include "spmv/kernel/spin.cuh"

constexpr int LAST_THREADS = 256, LAST_BLOCKS = 4; /* of the second kernel; blocks: of a multiprocessor */

/* One thread block on a multiprocessor, as large as can be: it has one copy of the hubs, and its warps take neighbouring
 * shares, which often need the same elements of x. */
constexpr int LANE_THREADS = 1024, LANE_WARPS = LANE_THREADS / WR_WARP;

/* Of the kernel that stages elements of x: two thread blocks a multiprocessor, each with a slab in shared memory. */
constexpr int STAGE_THREADS = 512, STAGE_BLOCKS = 2, STAGE_UNROLL = 8, ALL_SHARED = 100; /* percent */

/* Rows of a chunk that are completed together: with hubs fewer, which leaves them more shared memory. */
template <lane_columns COLUMNS>
constexpr int lane_window = COLUMNS == HUBS ? 64 : 128;

template <typename T>
struct lane_args {
  wr_lane_plan p;
  const T *x;     /* [ncols] */
  const T *far_x; /* so that far_x[ncols + p] is the p-th staged element */
  T *y;       /* [nrows] */
  double alpha, beta;
  lane_shares shares;
};

/* An element of the format's val. */
template <typename T, lane_values VALUES>
struct lane_stored {
  typedef T type;
};
template <typename T>
struct lane_stored<T, NARROW_VALUES> {
  typedef float type;
};
template <typename T>
struct lane_stored<T, CODED_VALUES> {
  typedef uint8_t type;
};

/* v[EACH], x[EACH] := the lane's values and elements of x. Hubs come first, so that no load waits for one from memory. */
template <typename T, lane_values VALUES, lane_columns COLUMNS>
static __device__ inline void lane_gather(const lane_args<T> &a, const T *hubs, const double *table, int w,
                                          const int32_t (&code)[EACH], T (&v)[EACH], T (&x)[EACH]) {
  typename lane_stored<T, VALUES>::type stored[EACH];
  if constexpr (VALUES != NO_VALUES)
    lane_load((const typename lane_stored<T, VALUES>::type *)a.p.format.val, w, stored);
#pragma unroll
  for (int j = 0; j < EACH; j++)
    x[j] = COLUMNS == HUBS && code[j] < 0 && code[j] != WR_LANE_PADDING ? hubs[~code[j]] : (T)0;
#pragma unroll
  for (int j = 0; j < EACH; j++)
    if (code[j] >= 0) {
      const T *from = COLUMNS == STAGED && code[j] >= (int32_t)a.p.format.ncols ? a.far_x : a.x;
      x[j] = __ldg(from + code[j]);
    }
  if constexpr (VALUES != NO_VALUES) {
#pragma unroll
    for (int j = 0; j < EACH; j++) v[j] = VALUES == CODED_VALUES ? (T)table[(int)stored[j]] : (T)stored[j];
  }
}

/* Walks over the lane's products. sums[n] := the sum of the n-th row that ends in the chunk. Returns the sum behind the last
 * end. All ends must be in the window. */
template <typename T>
static __device__ inline double lane_walk(const T (&product)[EACH], uint32_t end, double *sums) {
  double sum = 0, *at = sums + (end >> 16);
#pragma unroll
  for (int j = 0; j < EACH; j++) {
    sum += (double)product[j];
    if (end >> j & 1) *at++ = sum, sum = 0;
  }
  return sum;
}

/* The same for the window of the rows from <= n < from + WINDOW: sums[n - from]. */
template <int WINDOW, typename T>
static __device__ inline double lane_walk_window(const T (&product)[EACH], uint32_t end, int from, double *sums) {
  int n = (int)(end >> 16) - from;
  double sum = 0;
#pragma unroll
  for (int j = 0; j < EACH; j++) {
    bool ends = end >> j & 1, inside = ends && (unsigned)n < (unsigned)WINDOW;
    sum += (double)product[j];
    if (inside) sums[n] = sum;
    n += ends;
    if (ends) sum = 0;
  }
  return sum;
}

/* Prefetches to L2 what the epilogue of the rows first to first + count - 1 reads, but for z, which is often x. */
template <typename T, class F>
static __device__ inline void lane_prefetch(const F &f, uint32_t first, int count) {
  constexpr int LINE = 128 / (int)sizeof(T);
  int lane = (int)threadIdx.x % WR_WARP;
  if (count == 0) return;
  if (wr_finish_has<WR_HOLDS_RELAXATION>(f, f.relax_from) && lane * LINE < count + LINE)
    wr_prefetch(f.relax_from + first + (uint32_t)min(lane * LINE, count - 1));
  if (wr_finish_has<WR_HOLDS_SCALE>(f, f.divisors) && lane * WR_WARP < count + WR_WARP)
    wr_prefetch((const char *)f.divisors + ((int64_t)first + min(lane * WR_WARP, count - 1)) * f.divisor_bytes);
  if (wr_finish_has<WR_HOLDS_OUTBOX>(f, f.outbox) && lane < 2)
    wr_prefetch(wr_outbox_words(*f.outbox, first + (lane == 0 ? 0 : count - 1)));
}

/* row := what the epilogue reads for row `first` + r, if r < count. */
template <class F, typename T>
static __device__ inline void lane_load_row(const F &finish, uint32_t first, int r, int count,
                                            wr_finish_rows<T, 1> &row) {
  if (r < count) wr_finish_load(finish, first + (uint32_t)r, row);
}

/* y and the epilogue for the rows first + r, skip <= r < count, with their sums of products. row: of lane_load_row for the
 * lane's first row. With an outbox elements of y take the place of the sums. */
template <class F, typename T>
static __device__ inline void lane_finish(const lane_args<T> &a, const F &finish, const wr_finish_scalars &scalars,
                                          uint32_t first, int skip, int count, double *sums, wr_finish_rows<T, 1> &row,
                                          double (&reduced)[WR_MAX_REDUCTIONS]) {
  constexpr bool HAS_BETA = F::HOLDS == WR_HOLDS_NOTHING || F::HOLDS == WR_HOLDS_ANY;
  const double beta = HAS_BETA ? a.beta : 0;
  for (int r = (int)threadIdx.x % WR_WARP; r < count; r += WR_WARP) {
    uint32_t i = first + (uint32_t)r;
    row.value[0] = wr_finish_beta(a.alpha, beta, a.y, i, sums[r]);
    if (r >= skip) {
      T y = wr_finish_store(finish, scalars, i, row, a.y, reduced);
      if (F::HOLDS & WR_HOLDS_OUTBOX) sums[r] = (double)y;
    }
    lane_load_row(finish, first, r + WR_WARP, count, row);
  }
}

/* Sends the rows first + r, skip <= r < count, whose elements of y are in `sums` if these are all. Apart from lane_finish,
 * as no register holds products any more: with them the compiler ran out of registers. */
template <int WINDOW, typename T>
static __device__ inline void lane_send(const lane_args<T> &a, const wr_outbox &outbox, uint32_t first, int skip,
                                        int count, const double *sums) {
#pragma unroll 1
  for (int r = (int)threadIdx.x % WR_WARP; r < count; r += WR_WARP) {
    const uint32_t i = first + (uint32_t)r;
    if (r >= skip) wr_outbox_put(outbox, i, count <= WINDOW ? (T)sums[r] : a.y[i]);
  }
  __syncwarp();
}

/* ---- Alone ----
 * Each warp has one share, and the warp of the share in which a row ends completes it, so there is no second kernel. At its
 * end a warp may wait for shares before its own. Thread blocks take their numbers from a ticket, so those with smaller numbers
 * have begun, and no warp waits before it has given what later ones wait for. */

constexpr int LANE_ALONE_CHUNKS = 7; /* the most chunks of a warp */

/* Shares of a multiply alone, all with about as many chunks; fewer chunks than warps are shares by themselves. */
static inline lane_shares lane_even_shares_of(const wr_env *env, const wr_lane_csr &c) {
  return {0, (int)std::min(c.chunks, (int64_t)LANE_WARPS * wr_cuda_processors(env))};
}

/* A share of `all` even ones. number: at least `all`: no chunk has the place. The product has 31 bits (LANE_ALONE_CHUNKS).
 * Shares of one chunk are told apart, as a division before the first load would be noticed. */
static __device__ inline lane_share lane_even_share(const wr_lane_csr &c, int all, int number) {
  const int chunks = (int)c.chunks;
  if (number >= all) return {chunks, 0};
  if (all == chunks) return {number, 1};
  const int p = number * chunks / all;
  return {p, (number + 1) * chunks / all - p};
}

/* The number of the even share that has place p. */
static __device__ inline int lane_even_share_with(const wr_lane_csr &c, int all, int p) {
  return all == (int)c.chunks ? p : ((p + 1) * all - 1) / (int)c.chunks;
}

/* The next number; the last block to ask sets the ticket back to 0. */
static __device__ inline int lane_take(unsigned *ticket) {
  WR_SHARED(unsigned, number, 1);
  if (threadIdx.x == 0) number[0] = atomicInc(ticket, gridDim.x - 1);
  __syncthreads();
  return (int)number[0];
}

/* The sum of what the shares from <= k < to have of the row that is open at the end of each. Every lane of the warp. */
static __device__ inline double lane_receive(uint64_t *carry, int from, int to) {
  return wr_warp_sum(wr_carry_receive_every<8>(carry, from + (int)threadIdx.x % WR_WARP, to, WR_WARP));
}

/* ---- Multiplying ---- */

/* y = alpha*A*x + beta*y and the epilogue, for the rows that lie in one share (lane_csr_turns.cuh); parts of others go to head
 * and tail, or, ALONE, to the warp of the share in which the row ends. The columns of a warp's next chunk are in flight while
 * it waits for x. */
template <typename T, lane_values VALUES, lane_columns COLUMNS, wr_finish_mask MASK, bool ALONE>
__global__ void __launch_bounds__(LANE_THREADS, 1)
    lane_csr(WR_KERNEL_PARAMETER lane_args<T> a, WR_KERNEL_PARAMETER wr_finish<T> given) {
  constexpr int WINDOW = lane_window<COLUMNS>;
  constexpr bool HAS_SUMS = MASK != WR_HOLDS_NOTHING;
  WR_SHARED_DYNAMIC(T, hubs); /* [hubs] */
  WR_SHARED(lane_taking, taking, 1);
  WR_SHARED(int, share, LANE_WARPS);     /* the number of each warp's share, from the beginning of its last chunk on */
  WR_SHARED(int, following, LANE_WARPS); /* the number of the share in which the warp's next chunk is                */
  WR_SHARED(double, carried, LANE_WARPS); /* the sum of the row that goes on in the next chunk of the share; else 0  */
  WR_SHARED(double, head, LANE_WARPS);   /* ALONE: the share's part of a row that began before it, ... */
  WR_SHARED(uint32_t, head_row, LANE_WARPS); /* ... and that row                                    */
  WR_SHARED(int, head_from, LANE_WARPS); /* the chunk in which it begins; -1: there is no such row      */
  WR_SHARED(double, all_sums, LANE_WARPS * WINDOW);
  WR_SHARED(double, table, VALUES == CODED_VALUES ? 256 : 1);
  const wr_lane_csr &c = a.p.format;
  int lane = threadIdx.x % WR_WARP, warp = threadIdx.x / WR_WARP, warps = (int)blockDim.x / WR_WARP;
  double *sums = all_sums + warp * WINDOW;
  const bool takes = !ALONE && a.shares.all > (int)gridDim.x * warps;
  const int block = ALONE ? lane_take(a.p.ticket) : (int)blockIdx.x; /* before the next launch may begin to take */
  const int first_share = block * warps + warp; /* the number of the warp's first share, and its only one if ALONE */
  wr_let_next_begin();
  if (takes && threadIdx.x == 0) lane_begin_taking(taking, block, warps);
  if (takes) __syncthreads();
  if (VALUES == CODED_VALUES) {
    for (int k = (int)threadIdx.x; k < 256; k += (int)blockDim.x) table[k] = c.table[k];
    __syncthreads();
  }
  if (lane == 0) following[warp] = first_share, carried[warp] = 0, head_from[warp] = -1;
  lane_share at = ALONE ? lane_even_share(c, a.shares.all, first_share) : lane_share_of(a.shares, first_share);
  bool is_foreign = true; /* the open row, if there is one, began before the share */
  int next = ALONE ? at.p : lane_chunk(c, at.p);
  lane_codes<COLUMNS> codes;
  lane_ahead(c, next, codes);
  wr_wait_for_earlier();
  if (takes && threadIdx.x == 0) lane_take_turn(taking, a.p.turns);
  if (COLUMNS == HUBS) {
    const T *from = (const T *)a.p.hub_x;
    for (int64_t h = threadIdx.x; h < c.hubs; h += LANE_THREADS) hubs[h] = from[h];
    __syncthreads();
  }
  const auto finish = wr_finish_known<MASK>(given);
  wr_finish_scalars scalars = wr_finish_begin(finish);
  double reduced[WR_MAX_REDUCTIONS] = {0, 0, 0};
  while (at.p < c.chunks) {
    const int w = next;
    bool is_last = false; /* of the share */
    T v[EACH], product[EACH];
    int32_t code[EACH];
    const uint32_t begin = __ldg(c.row + w), after = __ldg(c.row + w + 1), end = codes.end;
    lane_columns_of(c, codes, code);
    lane_gather<T, VALUES, COLUMNS>(a, hubs, table, w, code, v, product);
    at.p++;
    if (--at.left == 0) { /* while elements of x are being loaded */
      const int number = takes ? lane_take_share(taking, a.p.turns, warps) : a.shares.all;
      if (!ALONE && lane == 0) share[warp] = following[warp], following[warp] = number;
      at = ALONE ? lane_even_share(c, a.shares.all, number) : lane_share_of(a.shares, number);
      is_last = true;
    }
    next = ALONE ? at.p : lane_chunk(c, at.p);
    lane_ahead(c, next, codes);
    const uint32_t first = begin & ~WR_LANE_OPEN;
    int rows = (int)((after & ~WR_LANE_OPEN) - first), own = (int)(end >> 16);
    const int now = min(rows, WINDOW);
    if (MASK != WR_HOLDS_NOTHING && MASK != WR_HOLDS_ANY) lane_prefetch<T>(finish, first, now);
#pragma unroll
    for (int j = 0; j < EACH; j++) product[j] = VALUES != NO_VALUES ? v[j] * product[j] : product[j];
    is_foreign = is_foreign && (begin & WR_LANE_OPEN);
    const bool ends = end & 0xffff, has_head = is_foreign && rows > 0;
    const int origin = ALONE && has_head ? (int)__ldg(c.origin + w) : 0;
    const double from_before = lane == 0 ? carried[warp] : 0;
    unsigned ended = __ballot_sync((unsigned)WR_FULL_MASK, ends);
    wr_finish_rows<T, 1> row;
    double open;
    if (rows <= WINDOW) { /* the products' registers are free for the row behind the walk, which is why it is in the branch */
      open = lane_walk(product, end, sums);
      lane_load_row(finish, first, lane, now, row);
    } else {
      open = lane_walk_window<WINDOW>(product, end, 0, sums);
      lane_load_row(finish, first, lane, now, row);
    }
    if (lane == 0 && !ends) open += from_before;
    double scanned = wr_scan_open(open, ended), before = __shfl_up_sync((unsigned)WR_FULL_MASK, scanned, 1u);
    if (lane == 0) before = from_before;
    if (ends && own < WINDOW) sums[own] += before; /* the lane's own: no other lane writes it */
    __syncwarp();
    const int part = c.order ? w : is_last ? share[warp] : following[warp];
    if (lane == WR_WARP - 1) {
      if (ALONE && is_last && (after & WR_LANE_OPEN)) wr_carry_give(a.p.carry + following[warp], scanned);
      if (!ALONE && is_last && (after & WR_LANE_OPEN)) a.p.tail[part] = scanned;
      carried[warp] = is_last ? 0 : scanned;
    }
    if (ALONE && has_head && lane == 0) head[warp] = sums[0], head_row[warp] = first, head_from[warp] = origin;
    if (!ALONE && has_head && lane == 0) a.p.head[part] = sums[0];
    lane_finish(a, finish, scalars, first, has_head, now, sums, row, reduced);
    __syncwarp();
    for (int from = WINDOW; from < rows; from += WINDOW) {
      const int count = min(rows - from, WINDOW);
      lane_walk_window<WINDOW>(product, end, from, sums);
      if (ends && from <= own && own < from + WINDOW) sums[own - from] += before;
      __syncwarp();
      lane_load_row(finish, first + from, lane, count, row);
      lane_finish(a, finish, scalars, first + from, 0, count, sums, row, reduced);
      __syncwarp();
    }
    if (MASK & WR_HOLDS_OUTBOX) lane_send<WINDOW>(a, *given.outbox, first, has_head, rows, sums);
    is_foreign = is_last || (is_foreign && rows == 0);
    if (!ALONE && HAS_SUMS && is_last && given.sums.count > 0) { /* of `finish` it would copy the step to local memory */
      wr_warp_sums(reduced, given.sums.count);
      if (lane == 0) wr_sums_store(given.sums, share[warp], reduced);
#pragma unroll
      for (int r = 0; r < WR_MAX_REDUCTIONS; r++) reduced[r] = 0;
    }
  }
  if (!ALONE) return;
  __syncwarp();
  if (head_from[warp] >= 0) {
    const uint32_t i = head_row[warp];
    const int from = lane_even_share_with(c, a.shares.all, head_from[warp]);
    wr_finish_rows<T, 1> row;
    lane_load_row(finish, i, lane, 1, row); /* while it waits */
    const double earlier = lane_receive(a.p.carry, from, following[warp]);
    row.value[0] = wr_finish_beta(a.alpha, a.beta, a.y, i, earlier + head[warp]);
    if (lane == 0) wr_finish_store(finish, scalars, i, row, a.y, reduced);
  }
  if (HAS_SUMS && given.sums.count > 0) {
    wr_warp_sums(reduced, given.sums.count);
    if (lane == 0 && following[warp] < a.shares.all) wr_sums_store(given.sums, following[warp], reduced);
    if (!wr_is_last_block(given.sums.arrived)) return;
#pragma unroll
    for (int r = 0; r < WR_MAX_REDUCTIONS; r++) reduced[r] = 0;
    wr_sums_end(given.sums, 0, a.shares.all, reduced);
  }
}

/* Gathers the hubs' elements of x, so that the thread blocks of the multiply can copy them as they lie. */
template <typename T>
__global__ void __launch_bounds__(LAST_THREADS) lane_csr_gather(WR_KERNEL_PARAMETER lane_args<T> a) {
  wr_begin_kernel();
  int64_t stride = (int64_t)gridDim.x * LAST_THREADS;
  for (int64_t h = (int64_t)blockIdx.x * LAST_THREADS + threadIdx.x; h < a.p.format.hubs; h += stride)
    ((T *)a.p.hub_x)[h] = __ldg(a.x + a.p.format.hub[h]);
}

/* Gathers the staged elements of x, a piece at a time. A thread block copies the slab to shared memory, so each element of x is
 * read from memory as often as its slab has pieces, and the random accesses stay in the multiprocessor. x is padded to 128
 * bytes. */
template <typename T>
__global__ void __launch_bounds__(STAGE_THREADS, STAGE_BLOCKS) lane_csr_stage(WR_KERNEL_PARAMETER lane_args<T> a) {
  constexpr int SLAB = WR_LANE_SLAB_BYTES / (int)sizeof(T), TOGETHER = 16 / (int)sizeof(T);
  WR_SHARED_DYNAMIC(T, slab); /* [SLAB] */
  wr_wait_for_earlier(); /* alone: blocks of the multiply that begin beside this kernel keep its small first-level cache */
  const wr_lane_csr &c = a.p.format;
  for (int64_t b = blockIdx.x; b < c.pieces; b += gridDim.x) {
    const wr_lane_piece piece = c.piece[b];
    const int64_t before = (int64_t)piece.slab * SLAB;
    const int columns = (int)min((int64_t)SLAB, c.ncols - before), bundles = (columns + TOGETHER - 1) / TOGETHER;
    const uint4 *from = (const uint4 *)(a.x + before);
#pragma unroll 4
    for (int k = (int)threadIdx.x; k < bundles; k += STAGE_THREADS) ((uint4 *)slab)[k] = __ldg(from + k);
    __syncthreads();
    const uint16_t *in_slab = c.in_slab + piece.first;
    T *to = (T *)a.p.far_x + piece.first;
    for (int k = (int)threadIdx.x; k < piece.count; k += STAGE_THREADS * STAGE_UNROLL) {
      uint16_t at[STAGE_UNROLL];
#pragma unroll
      for (int u = 0; u < STAGE_UNROLL; u++) {
        const int q = k + u * STAGE_THREADS;
        at[u] = q < piece.count ? __ldcs(in_slab + q) : 0;
      }
#pragma unroll
      for (int u = 0; u < STAGE_UNROLL; u++) {
        const int q = k + u * STAGE_THREADS;
        if (q < piece.count) to[q] = slab[at[u]];
      }
    }
    __syncthreads();
  }
}

/* A row with parts in several shares: the share in which it begins, and the row; nrows: none ends first in the share. */
struct lane_shared {
  int64_t from, i;
};

static __device__ inline lane_shared lane_find_shared(const wr_lane_csr &c, const lane_shares &shares, int64_t k) {
  lane_shared s = {k, c.nrows};
  if (k >= shares.all) return s;
  const lane_share share = lane_share_of(shares, (int)k);
  const uint32_t begin = c.row[share.p], after = c.row[share.p + share.left];
  const int64_t from = c.origin[share.p];
  if ((begin & WR_LANE_OPEN) && (after & ~WR_LANE_OPEN) > (begin & ~WR_LANE_OPEN))
    s.from = lane_share_with(shares, (int)from), s.i = begin & ~WR_LANE_OPEN;
  return s;
}

/* Completes the rows with parts in several shares, a thread for each: that of the share in which the row ends. */
template <typename T, bool SENDS>
__global__ void __launch_bounds__(LAST_THREADS, LAST_BLOCKS)
    lane_csr_last(WR_KERNEL_PARAMETER lane_args<T> a, WR_KERNEL_PARAMETER wr_finish<T> finish) {
  wr_let_next_begin();
  const wr_lane_csr &c = a.p.format;
  const int64_t stride = (int64_t)gridDim.x * LAST_THREADS, lane = threadIdx.x % WR_WARP;
  int64_t k = (int64_t)blockIdx.x * LAST_THREADS + threadIdx.x;
  lane_shared s = lane_find_shared(c, a.shares, k);
  wr_wait_for_earlier();
  if (k == 0) *a.p.turns = 0; /* for the next launch */
  wr_finish_scalars scalars = wr_finish_begin(finish);
  double reduced[WR_MAX_REDUCTIONS] = {0, 0, 0};
  wr_finish_rows<T, 1> row = {};
  for (; k - lane < a.shares.all; k += stride, s = lane_find_shared(c, a.shares, k)) {
    const bool is_row = s.i < c.nrows;
    double old = 0, head = 0, last = 0; /* all loads are in flight at a time */
    if (is_row) {
      wr_finish_load(finish, s.i, row);
      if (a.beta != 0) old = (double)a.y[s.i];
      last = a.p.tail[k - 1], head = a.p.head[k];
    }
    double sum = wr_parts_sum(a.p.tail, 1, s.from, is_row ? k - 1 : s.from);
    if (!is_row) continue;
    row.value[0] = wr_finish_sum(a.alpha, a.beta, old, sum + last + head);
    T y = wr_finish_store(finish, scalars, s.i, row, a.y, reduced);
    if (SENDS) wr_outbox_put(*finish.outbox, s.i, y);
  }
  wr_sums_finish_by_warps<WR_AFTER_PRODUCT, LAST_THREADS>(finish.sums, reduced);
}

/* Masks of kernels that send y to other cards, of matrices without values. */
constexpr wr_finish_mask SENT_STEP = (wr_finish_mask)(WR_HOLDS_SCALED_STEP | WR_HOLDS_OUTBOX),
                         SENT_RELAXED_STEP = (wr_finish_mask)(WR_HOLDS_RELAXED_STEP | WR_HOLDS_OUTBOX);

/* Calls use(kernel) with the instance for a plan and an epilogue. */
template <typename T, lane_values VALUES, lane_columns COLUMNS, bool ALONE, class Use>
static wr_status lane_with_mask(wr_finish_mask mask, Use use) {
  if constexpr (VALUES == NO_VALUES && !ALONE) {
    if (mask == SENT_STEP) return use(lane_csr<T, VALUES, COLUMNS, SENT_STEP, false>);
    if (mask == SENT_RELAXED_STEP) return use(lane_csr<T, VALUES, COLUMNS, SENT_RELAXED_STEP, false>);
  }
  return wr_finish_with_mask<T, VALUES == NO_VALUES>(
      mask, [&](auto known) { return use(lane_csr<T, VALUES, COLUMNS, known.value, ALONE>); });
}

template <typename T, lane_values VALUES, class Use>
static wr_status lane_with_columns(const wr_lane_csr &c, wr_finish_mask mask, bool alone, Use use) {
  constexpr bool MAY_BE_ALONE = VALUES == NO_VALUES || VALUES == FULL_VALUES; /* wr_lane_is_alone */
  if (c.low) return lane_with_mask<T, VALUES, WINDOWS, false>(mask, use);
  if (c.far) return lane_with_mask<T, VALUES, STAGED, false>(mask, use);
  if (c.hubs) return lane_with_mask<T, VALUES, HUBS, false>(mask, use);
  return alone ? lane_with_mask<T, VALUES, FULL, MAY_BE_ALONE>(mask, use)
               : lane_with_mask<T, VALUES, FULL, false>(mask, use);
}

template <typename T, bool COMPACT, class Use>
static wr_status lane_with(const wr_lane_csr &c, wr_finish_mask mask, bool alone, Use use) {
  if constexpr (COMPACT)
    return c.value_bytes == 1 ? lane_with_columns<T, CODED_VALUES>(c, mask, alone, use)
                              : lane_with_columns<T, NARROW_VALUES>(c, mask, alone, use);
  else
    return c.value_bytes ? lane_with_columns<T, FULL_VALUES>(c, mask, alone, use)
                         : lane_with_columns<T, NO_VALUES>(c, mask, alone, use);
}

static inline unsigned lane_last_grid(const wr_env *env, int64_t chunks) {
  return wr_cuda_grid(env, (chunks + LAST_THREADS - 1) / LAST_THREADS, LAST_BLOCKS);
}

/* Warps of a thread block: few chunks are spread over all multiprocessors. Each block copies the hubs, so with hubs all. */
static inline int lane_warps_of(const wr_env *env, const wr_lane_csr &c) {
  const int64_t blocks = wr_cuda_processors(env), each = (c.chunks + blocks - 1) / blocks;
  return (int)(c.hubs ? LANE_WARPS : std::max((int64_t)1, std::min(each, (int64_t)LANE_WARPS)));
}

template <typename T, bool COMPACT>
static wr_status lane_launch(wr_env *env, const wr_lane_plan *p, const wr_apply *request) {
  const wr_lane_csr &c = p->format;
  const T *far_x = (const T *)((uintptr_t)p->far_x - (uintptr_t)c.ncols * sizeof(T));
  wr_finish<T> finish = wr_finish_make<T>(env, request->epilogue);
  const bool alone = p->carry && !finish.outbox;
  lane_args<T> a = {*p, (const T *)request->x->data, far_x, (T *)request->y->data, request->alpha, request->beta,
                    alone ? lane_even_shares_of(env, c) : lane_shares_of(env, c)};
  if (c.hubs) PASS(WR_LAUNCH_EARLY(env, (lane_csr_gather<T>), lane_last_grid(env, c.hubs), LAST_THREADS, 0, a));
  if (c.far) {
    PASS(wr_allow_shared(env, (const void *)lane_csr_stage<T>, WR_LANE_SLAB_BYTES, ALL_SHARED));
    PASS(WR_LAUNCH_EARLY(env, (lane_csr_stage<T>), wr_cuda_grid(env, c.pieces, STAGE_BLOCKS), STAGE_THREADS,
                         (size_t)WR_LANE_SLAB_BYTES, a));
  }
  wr_finish_mask mask = wr_finish_mask_of(finish);
  if (request->beta != 0 && mask != WR_HOLDS_NOTHING) mask = WR_HOLDS_ANY;
  env->sent = finish.outbox && !c.value_bytes && (mask == WR_HOLDS_SCALED_STEP || mask == WR_HOLDS_RELAXED_STEP);
  if (env->sent) mask = (wr_finish_mask)(mask | WR_HOLDS_OUTBOX);
  const int warps = lane_warps_of(env, c);
  const unsigned grid = wr_cuda_grid(env, (c.chunks + warps - 1) / warps, 1);
  PASS((lane_with<T, COMPACT>(c, mask, alone, [&](auto kernel) {
    if (c.hubs) PASS(wr_allow_shared(env, (const void *)kernel, WR_LANE_HUB_BYTES, cudaSharedmemCarveoutDefault));
    return WR_LAUNCH_EARLY(env, (kernel), grid, (unsigned)(warps * WR_WARP), (size_t)c.hubs * sizeof(T), a, finish);
  })));
  if (alone) return WR_OK;
  finish.sums.before = a.shares.all;
  const unsigned last = lane_last_grid(env, a.shares.all);
  if (env->sent) return WR_LAUNCH_EARLY(env, (lane_csr_last<T, true>), last, LAST_THREADS, 0, a, finish);
  return WR_LAUNCH_EARLY(env, (lane_csr_last<T, false>), last, LAST_THREADS, 0, a, finish);
}

#endif
