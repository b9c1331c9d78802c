/* The values of blocks side by side, from rows. A thread block takes the inner blocks of some lanes of a warp, which lie one
 * after the other: reads the rows' entries in order, puts values where they belong in shared memory, and writes that out line
 * by line. So the matrix is read once and the blocks are written once, all of it coalesced. */
#include "spmv/bsr/bsr_group.cuh"
#include "spmv/bsr/bsr_interleave.cuh"
#include "spmv/device/cuda_state.h"
#include "spmv/kernel/async_copy.cuh"
#include "spmv/kernel/launch.cuh"
#include "spmv/kernel/search.cuh"

constexpr int MOST_THREADS = 256;
constexpr int64_t MOST_BLOCKS = 1 << 20;
/* Of a tile, and of a thread: small tiles have small thread blocks, of which a multiprocessor holds more. */
constexpr int TILE_BYTES = 27 << 10, THREAD_VALUES = 18;

/* P: int32_t or int64_t, of row_ptr; T: of the values. */
template <typename T, typename P>
struct ib_rows {
  const P *row_ptr;   /* [nrows + 1]           */
  const int32_t *col; /* [nnz]                 */
  const T *val;       /* [nnz], NULL: all 1    */
};

/* How a warp's blocks are cut into tiles. */
struct ib_tiling {
  int lanes, log2_lanes; /* of a tile                                                                        */
  int threads;           /* of a thread block                                                                */
  int pitch;             /* values of a column of all its blocks at one place among `each`, and one: no banks meet */
  int group;             /* lanes that read a row                                                            */
  int c;                 /* of an inner block                                                                */
  wr_bsr_divisor by_c, by_r, by_each;
};

/* A tile, in shared memory and registers. */
template <typename V>
struct ib_tile {
  V *value;         /* [each][c][r][lanes], and one empty after every r * lanes */
  int32_t *inner;   /* [count] columns, in inner blocks                         */
  int32_t *place;   /* [count] where an inner block's first value goes           */
  int32_t *edge;    /* [rows + 1] inner blocks of the tile before a row          */
  uint32_t *word;   /* [lanes] flags, and rows before                            */
  int64_t *begin;   /* [threads] of the rows' parts: first entry ...             */
  int32_t *length;  /* [threads] ... and number of entries                       */
  int64_t number;   /* of the tile: the tiles of a warp's lanes follow each other */
  int64_t g0;       /* its first inner block                                     */
  int32_t row;      /* first row with a block in it                              */
  int count, rows;  /* inner blocks, and rows that they are in                   */
};

/* Where they lie. */
template <typename V>
static __device__ inline ib_tile<V> make_tile(const wr_bsr_interleaved &b, const ib_tiling &s, unsigned char *room) {
  ib_tile<V> t = {};
  int inner = s.lanes * b.each;
  t.begin = (int64_t *)(void *)room;
  t.value = (V *)(void *)(t.begin + s.threads);
  t.inner = (int32_t *)(void *)(t.value + b.each * b.c * s.pitch);
  t.place = t.inner + inner;
  t.edge = t.place + inner;
  t.length = t.edge + inner + 1;
  t.word = (uint32_t *)(void *)(t.length + s.threads);
  return t;
}

static size_t tile_bytes(const wr_bsr_interleaved *b, const ib_tiling &s, size_t value_size) {
  size_t inner = (size_t)s.lanes * (size_t)b->each;
  return 12 * (size_t)s.threads + (size_t)b->each * (size_t)b->c * (size_t)s.pitch * value_size + 4 * (3 * inner + 1) +
         4 * (size_t)s.lanes;
}

/* The warp that the tile is part of, and its first lane there. */
template <typename V>
static __device__ inline int64_t warp_of(const ib_tiling &s, const ib_tile<V> &t) {
  return t.number * s.lanes / WR_WARP;
}
template <typename V>
static __device__ inline int lane_of(const ib_tiling &s, const ib_tile<V> &t) {
  return (int)(t.number * s.lanes % WR_WARP);
}

/* Which rows have blocks in the tile, and the lanes' words. */
template <typename V>
static __device__ inline void find_rows(const wr_bsr_interleaved &b, const ib_tiling &s, ib_tile<V> &t) {
  int32_t first = b.first[warp_of(s, t)], last = b.first[warp_of(s, t) + 1];
  int64_t g1 = t.g0 + t.count;
  int before = 0, upto = 0;
  if (s.lanes == WR_WARP) {
    upto = last - first + (last < b.brows && b.start[last] < g1);
  } else {
    for (int n0 = 0; n0 <= last - first; n0 += blockDim.x) {
      int64_t n = (int64_t)first + n0 + threadIdx.x;
      bool valid = n <= last && n < b.brows;
      before += __syncthreads_count(valid && b.start[n + 1] <= t.g0);
      upto += __syncthreads_count(valid && b.start[n] < g1);
    }
  }
  t.row = first + before, t.rows = t.count > 0 ? upto - before : 0;
  for (int n = threadIdx.x; n <= t.rows; n += blockDim.x) {
    int64_t at = n < t.rows ? b.start[(int64_t)t.row + n] - t.g0 : t.count;
    t.edge[n] = at > 0 ? (int32_t)at : 0;
  }
  if ((int)threadIdx.x < s.lanes) /* behind the end all rows lie before */
    t.word[threadIdx.x] = (int)threadIdx.x * b.each < t.count ? 0 : (uint32_t)(b.brows - first) << b.each;
  __syncthreads();
  for (int n = threadIdx.x; n < t.rows; n += blockDim.x) {
    int64_t end = b.start[(int64_t)t.row + n + 1] - t.g0;
    int lane = (int)wr_bsr_divide((unsigned)(t.edge[n] + b.each - 1), s.by_each);
    if (end <= t.count) {
      int at = (int)end - 1, owner = (int)wr_bsr_divide((unsigned)at, s.by_each);
      atomicOr(t.word + owner, 1u << (at - owner * b.each));
    }
    for (; lane * b.each < t.edge[n + 1]; lane++) atomicOr(t.word + lane, (uint32_t)(t.row - first + n) << b.each);
  }
}

/* Column, in inner blocks, of the tile's p-th. */
template <typename V>
static __device__ inline int32_t inner_column(const ib_cut &k, const wr_bsr_interleaved &b, const ib_tile<V> &t,
                                              int p) {
  int64_t g = t.g0 + p;
  if (k.across == 1) return k.col[g]; /* the sizes that are cut are cut in columns too */
  if (k.down == 1) return k.col[g / k.across] * k.across + (int32_t)(g % k.across);
  int low = 0, high = t.rows; /* edge[low] <= p < edge[high] */
  while (high - low > 1) {
    int middle = (low + high) / 2;
    if (t.edge[middle] <= p)
      low = middle;
    else
      high = middle;
  }
  int64_t n = (int64_t)t.row + low, i = b.row ? b.row[n] : n, at = g - b.start[n];
  int64_t source = wr_bsr_row_at(k.row_ptr, k.wide, i / k.down) + at / k.across;
  return k.col[source] * k.across + (int32_t)(at % k.across);
}

/* How far to the left of its place an inner block begins, so that it does not reach beyond the last column. */
static __device__ inline int shift_of(const wr_bsr_interleaved &b, int32_t inner) {
  int64_t beyond = (int64_t)inner * b.c + b.c - b.ncols;
  return beyond > 0 ? (int)beyond : 0;
}

/* Where the tile's inner blocks go, and padding there. */
template <typename V>
static __device__ inline void place_blocks(const ib_cut &k, const wr_bsr_interleaved &b, const ib_tiling &s,
                                           const ib_tile<V> &t) {
  for (int p = threadIdx.x; p < t.count; p += blockDim.x) {
    int lane = (int)wr_bsr_divide((unsigned)p, s.by_each), j = p - lane * b.each;
    int32_t inner = inner_column(k, b, t, p);
    t.inner[p] = inner;
    t.place[p] = (j * b.c + shift_of(b, inner)) * s.pitch + lane;
  }
  for (int at = threadIdx.x; at < b.each * b.c * s.pitch; at += blockDim.x) t.value[at] = -(V)0;
}

/* The first entry of a row's begin..end - 1 in column j or after, when it is likely to be the guess-th. */
template <typename P>
static __device__ inline P find_near(const int32_t *col, P begin, P end, uint32_t j, float share) {
  P guess = begin + (P)(share * (float)(end - begin) + 0.5f);
  if (guess > end) guess = end;
  bool after = guess == begin || (uint32_t)col[guess - 1] < j, before = guess == end || (uint32_t)col[guess] >= j;
  if (after && before) return guess;
  return after ? wr_find_column(col, guess + 1, end, j) : wr_find_column(col, begin, guess - 1, j);
}

/* A thread a row of the matrix, from the tile's row n0 on: its entries in the tile. */
template <typename V, typename T, typename P>
static __device__ inline void find_entries(const ib_rows<T, P> &a, const wr_bsr_interleaved &b, const ib_tiling &s,
                                           const ib_tile<V> &t, int n0, int parts) {
  if ((int)threadIdx.x >= parts) return;
  int down = (int)wr_bsr_divide(threadIdx.x, s.by_r);
  int64_t n = (int64_t)t.row + n0 + down, i = (b.row ? (int64_t)b.row[n] : n) * b.r + (int)threadIdx.x - down * b.r;
  P begin = 0, end = 0;
  if (i < b.nrows) begin = a.row_ptr[i], end = a.row_ptr[i + 1];
  int64_t g0 = b.start[n], g1 = b.start[n + 1];
  P from = begin, to = end;
  if (g0 < t.g0)
    from = find_near(a.col, begin, end, (uint32_t)t.inner[0] * (uint32_t)b.c, (float)(t.g0 - g0) / (float)(g1 - g0));
  if (g1 > t.g0 + t.count)
    to = find_near(a.col, begin, end, ((uint32_t)t.inner[t.count - 1] + 1) * (uint32_t)b.c,
                   (float)(t.g0 + t.count - g0) / (float)(g1 - g0));
  t.begin[threadIdx.x] = from, t.length[threadIdx.x] = (int32_t)(to - from);
}

/* Where column j of a row's first value goes, whose inner blocks are low..high - 1 of the tile's. */
template <typename V>
static __device__ inline V *find_place(const ib_tiling &s, const ib_tile<V> &t, int low, int high, uint32_t j) {
  uint32_t inner = wr_bsr_divide(j, s.by_c);
  int p = wr_find_column(t.inner, low, high, inner);
  return t.value + t.place[p] + (int)(j - inner * (uint32_t)s.c) * s.pitch;
}

/* Entry e of each of the r rows of the matrix that are the tile's row n, whose parts are the threads' first + 0..r - 1; N rows
 * at a time, whose loads are all under way at once: where there is no entry, the matrix's first is read for nothing. If the
 * blocks are full, it is clear where values go, and else that is looked for. A zero loses its sign: negative zeros are
 * padding. */
template <int N, typename V, typename T, typename P>
static __device__ inline void fill_entries(const ib_rows<T, P> &a, int r, const ib_tiling &s, const ib_tile<V> &t,
                                           int n, int first, int e) {
  int low = t.edge[n], high = t.edge[n + 1], p = low + (int)wr_bsr_divide((unsigned)e, s.by_c);
  int across = e - (p - low) * s.c;
  uint32_t likely = WR_BSR_NONE;
  V *to = t.value;
  if (p < high) likely = (uint32_t)t.inner[p] * (uint32_t)s.c + (uint32_t)across, to += t.place[p] + across * s.pitch;
  for (int r0 = 0; r0 < r; r0 += N) {
    uint32_t column[N];
    T value[N];
    bool is_entry[N], as_likely = true;
#pragma unroll
    for (int u = 0; u < N; u++) {
      is_entry[u] = e < t.length[first + r0 + u];
      int64_t k = t.begin[first + r0 + u] + e;
      k = is_entry[u] ? k : 0;
      column[u] = (uint32_t)wr_load_stream(a.col + k);
      value[u] = a.val ? wr_load_stream(a.val + k) : (T)1;
    }
#pragma unroll
    for (int u = 0; u < N; u++) as_likely = as_likely & (!is_entry[u] | (column[u] == likely));
#pragma unroll
    for (int u = 0; u < N; u++) {
      V *place = as_likely || !is_entry[u] ? to : find_place(s, t, low, high, column[u]);
      if (is_entry[u]) place[(r0 + u) * s.lanes] = value[u] == 0 ? (V)0 : (V)value[u];
    }
  }
}

/* The entries of `rows` rows of the tile, from n0 on: some lanes a row; few rows: each by all threads. N: divides r. */
template <int N, typename V, typename T, typename P>
static __device__ inline void fill_rows(const ib_rows<T, P> &a, int r, const ib_tiling &s, const ib_tile<V> &t, int n0,
                                        int rows) {
  int groups = (int)blockDim.x / s.group, own = threadIdx.x / s.group, lane = threadIdx.x % s.group;
  bool alone = rows >= groups;
  for (int n = alone ? own : 0; n < rows; n += alone ? groups : 1) {
    int most = 0;
    for (int k = 0; k < r; k++) most = max(most, t.length[n * r + k]);
    for (int e = (alone ? 0 : (own + n) % groups * s.group) + lane; e < most; e += (alone ? 1 : groups) * s.group)
      fill_entries<N>(a, r, s, t, n0 + n, n * r, e);
  }
}

/* The tile's values, columns and words to where they are read. */
template <typename V>
static __device__ inline void write_tile(const wr_bsr_interleaved &b, const ib_tiling &s, const ib_tile<V> &t) {
  int lines = b.each * b.c * b.r, lane = threadIdx.x % s.lanes, skip = blockDim.x >> s.log2_lanes;
  bool whole = t.count == b.each * s.lanes;
  int64_t warp = warp_of(s, t);
  V *val = (V *)b.val + warp * lines * WR_WARP + lane_of(s, t) + lane;
  for (int line = threadIdx.x >> s.log2_lanes; line < lines; line += skip) {
    int column = (int)wr_bsr_divide((unsigned)line, s.by_r);
    V value = t.value[column * s.pitch + (line - column * b.r) * s.lanes + lane];
    if (!whole && lane * b.each + (int)wr_bsr_divide((unsigned)column, s.by_c) >= t.count) value = 0;
    val[line * WR_WARP] = value;
  }
  int32_t *col = b.col + warp * b.each * WR_WARP + lane_of(s, t) + lane;
  for (int j = threadIdx.x >> s.log2_lanes; j < b.each; j += skip) {
    int p = lane * b.each + j;
    col[j * WR_WARP] = p < t.count ? (int32_t)((int64_t)t.inner[p] * b.c - shift_of(b, t.inner[p])) : 0;
  }
  if ((int)threadIdx.x < s.lanes) b.word[warp * WR_WARP + lane_of(s, t) + lane] = t.word[lane];
}

/* Rows that end in the thread block which begins with the tile. */
template <typename V>
static __device__ inline void count_rows(const wr_bsr_interleaved &b, const ib_tiling &s, const ib_tile<V> &t,
                                         int *most) {
  int64_t warp = warp_of(s, t), end = warp + WR_BSR_WARPS < b.warps ? warp + WR_BSR_WARPS : b.warps;
  if (threadIdx.x != 0 || lane_of(s, t) != 0 || warp % WR_BSR_WARPS != 0) return;
  atomicMax(most, b.first[end] - b.first[warp]);
}

/* N: rows of which a lane reads an entry at a time. */
template <int N, typename V, typename T, typename P>
__global__ void __launch_bounds__(MOST_THREADS, 4)
    ib_fill(WR_KERNEL_PARAMETER ib_cut k, WR_KERNEL_PARAMETER ib_rows<T, P> a, WR_KERNEL_PARAMETER wr_bsr_interleaved b,
            WR_KERNEL_PARAMETER ib_tiling s, int *most) {
  WR_SHARED_DYNAMIC(unsigned char, room);
  ib_tile<V> t = make_tile<V>(b, s, room);
  int batch = s.threads / b.r;
  for (t.number = blockIdx.x; t.number < b.warps * (WR_WARP / s.lanes); t.number += gridDim.x) {
    t.g0 = t.number * s.lanes * b.each;
    int64_t left = b.blocks - t.g0;
    t.count = left < 0 ? 0 : left < s.lanes * b.each ? (int)left : s.lanes * b.each;
    find_rows(b, s, t);
    place_blocks(k, b, s, t);
    __syncthreads();
    if (b.r * b.c == 1) /* an entry is a block */
      for (int p = threadIdx.x; p < t.count; p += blockDim.x) {
        T value = a.val ? wr_load_stream(a.val + t.g0 + p) : (T)1;
        t.value[t.place[p]] = value == 0 ? (V)0 : (V)value;
      }
    else
      for (int n = 0; n < t.rows; n += batch) {
        int rows = t.rows - n < batch ? t.rows - n : batch;
        find_entries(a, b, s, t, n, rows * b.r);
        __syncthreads();
        fill_rows<N>(a, b.r, s, t, n, rows);
        __syncthreads();
      }
    __syncthreads();
    write_tile(b, s, t);
    count_rows(b, s, t, most);
    __syncthreads();
  }
}

template <typename V, typename T, typename P>
static wr_status fill(wr_env *env, const ib_cut &k, const wr_csr_view *view, int64_t nnz, const wr_bsr_interleaved *b,
                      int *most) {
  ib_rows<T, P> a = {(const P *)view->row_ptr, view->col, (const T *)view->val};
  ib_tiling s = {};
  s.by_c = wr_bsr_divisor_make(b->c), s.by_r = wr_bsr_divisor_make(b->r), s.by_each = wr_bsr_divisor_make(b->each);
  s.c = b->c, s.group = wr_bsr_group_lanes(b->nrows, nnz);
  for (s.lanes = WR_WARP, s.log2_lanes = 5;; s.lanes /= 2, s.log2_lanes--) {
    s.pitch = b->r * s.lanes + 1;
    if (tile_bytes(b, s, sizeof(V)) <= TILE_BYTES || s.lanes == 4) break;
  }
  s.threads = WR_WARP;
  while (s.threads < MOST_THREADS && s.threads * THREAD_VALUES < s.lanes * b->each * b->r * b->c) s.threads *= 2;
  int64_t tiles = b->warps * (WR_WARP / s.lanes);
  if (tiles == 0) return WR_OK;
  unsigned grid = (unsigned)(tiles < MOST_BLOCKS ? tiles : MOST_BLOCKS), threads = (unsigned)s.threads;
  size_t bytes = tile_bytes(b, s, sizeof(V));
#define FILL(N) \
  if (b->r % N == 0) return WR_LAUNCH((ib_fill<N, V, T, P>), grid, threads, bytes, env->stream, k, a, *b, s, most)
  FILL(4);
  FILL(3);
  FILL(2);
  FILL(5);
  FILL(1);
#undef FILL
  return WR_OK;
}

template <typename P>
static wr_status fill_as(wr_env *env, const ib_cut &k, const wr_csr_view *view, int64_t nnz,
                         const wr_bsr_interleaved *b, int *most) {
  if (b->type == WR_F32) return fill<float, float, P>(env, k, view, nnz, b, most);
  if (b->stored == WR_F32) return fill<float, double, P>(env, k, view, nnz, b, most);
  return fill<double, double, P>(env, k, view, nnz, b, most);
}

wr_status wr_bsr_interleave_fill(wr_env *env, const ib_cut &k, const wr_csr_view *view, int64_t nnz,
                                 const wr_bsr_interleaved *b, int *most) {
  if (view->wide) return fill_as<int64_t>(env, k, view, nnz, b, most);
  return fill_as<int32_t>(env, k, view, nnz, b, most);
}
