/* Tiles: the inner blocks of some lanes of a warp, which lie one after the other, and what a thread block that fills them
 * (bsr_pack_values.cu) has of them in shared memory. */
#ifndef WR_BSR_PACK_TILE_CUH
#define WR_BSR_PACK_TILE_CUH

#include "spmv/blocks/bsr_group.cuh"
#include "spmv/backends/bsr/bsr_pack.cuh"
#include "spmv/kernel/launch.cuh"

constexpr int MOST_THREADS = 256;
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
  wr_bsr_divisor by_c, by_r, by_each, by_lane; /* by_lane: columns of a lane's blocks                         */
};

/* A tile, in shared memory and registers. */
template <typename V>
struct ib_tile {
  V *value;         /* [each][c][r][lanes], and one empty after every r * lanes */
  int32_t *inner;   /* [count] columns, in inner blocks; full: in blocks         */
  int32_t *place;   /* [count] where an inner block's first value goes; full: how far apart its rows are */
  int32_t *edge;    /* [rows + 1] inner blocks of the tile before a row          */
  uint32_t *word;   /* [lanes] flags, and rows before                            */
  int64_t *begin;   /* [threads] of the rows' parts: first entry ...; full: [count] (bsr_pack_full.cuh) */
  int32_t *length;  /* [threads] ... and number of entries                       */
  int32_t *skip;    /* [threads] columns of the row's first block in the tile before the first entry's */
  int64_t number;   /* of the tile: the tiles of a warp's lanes follow each other */
  int64_t g0;       /* its first inner block                                     */
  int32_t row;      /* first row with a block in it                              */
  int count, rows;  /* inner blocks, and rows that they are in                   */
};

static __host__ __device__ inline int begins_of(const wr_bsr_interleaved &b, const ib_tiling &s) {
  int inner = s.lanes * b.each;
  return inner > s.threads ? inner : s.threads;
}

/* Where they lie. */
template <typename V>
static __device__ inline ib_tile<V> make_tile(const wr_bsr_interleaved &b, const ib_tiling &s, unsigned char *room) {
  ib_tile<V> t = {};
  int inner = s.lanes * b.each;
  t.begin = (int64_t *)(void *)room;
  t.value = (V *)(void *)(t.begin + begins_of(b, s));
  t.inner = (int32_t *)(void *)(t.value + b.each * b.c * s.pitch);
  t.place = t.inner + inner;
  t.edge = t.place + inner;
  t.length = t.edge + inner + 1;
  t.skip = t.length + s.threads;
  t.word = (uint32_t *)(void *)(t.skip + s.threads);
  return t;
}

static size_t tile_bytes(const wr_bsr_interleaved *b, const ib_tiling &s, size_t value_size) {
  size_t inner = (size_t)s.lanes * (size_t)b->each;
  return 8 * (size_t)begins_of(*b, s) + 8 * (size_t)s.threads +
         (size_t)b->each * (size_t)b->c * (size_t)s.pitch * value_size + 4 * (3 * inner + 1) + 4 * (size_t)s.lanes;
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

/* Which rows have blocks in the tile. */
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
}

/* Where these begin in the tile, and the lanes' words. */
template <typename V>
static __device__ inline void mark_rows(const wr_bsr_interleaved &b, const ib_tiling &s, const ib_tile<V> &t) {
  int32_t first = b.first[warp_of(s, t)];
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
/* The tile's row that its inner block p is in. */
template <typename V>
static __device__ inline int row_of(const ib_tile<V> &t, int p) {
  int low = 0, high = t.rows; /* edge[low] <= p < edge[high] */
  while (high - low > 1) {
    int middle = (low + high) / 2;
    if (t.edge[middle] <= p)
      low = middle;
    else
      high = middle;
  }
  return low;
}

/* How far to the left of its place an inner block begins, so that it does not reach beyond the last column. */
static __device__ inline int shift_of(const wr_bsr_interleaved &b, int32_t inner) {
  int64_t beyond = (int64_t)inner * b.c + b.c - b.ncols;
  return beyond > 0 ? (int)beyond : 0;
}

/* Column, in inner blocks, of the tile's p-th, where b has its columns. Those that would reach beyond the matrix's last column
 * begin further left, all at the same column: which of its block's inner columns one is says its number. */
template <typename V>
static __device__ inline int32_t known_column(const wr_bsr_interleaved &b, const ib_tiling &s, const ib_tile<V> &t,
                                              int p, int log2_across) {
  int lane = (int)wr_bsr_divide((unsigned)p, s.by_each), j = p - lane * b.each, across = 1 << log2_across;
  int32_t left = b.col[(warp_of(s, t) * b.each + j) * WR_WARP + lane_of(s, t) + lane];
  int32_t inner = (int32_t)wr_bsr_divide((unsigned)left + (unsigned)b.c - 1, s.by_c);
  return (inner & -across) | (int32_t)((t.g0 + p) & (across - 1));
}

/* The tile's values to where they are read. */
template <typename V>
static __device__ inline void write_values(const wr_bsr_interleaved &b, const ib_tiling &s, const ib_tile<V> &t) {
  int lines = b.each * b.c * b.r, lane = threadIdx.x % s.lanes, skip = blockDim.x >> s.log2_lanes;
  bool whole = t.count == b.each * s.lanes;
  int64_t warp = warp_of(s, t);
  V *val = (V *)b.val + warp * lines * WR_WARP + lane_of(s, t) + lane;
#pragma unroll 2
  for (int line = threadIdx.x >> s.log2_lanes; line < lines; line += skip) {
    int column = (int)wr_bsr_divide((unsigned)line, s.by_r);
    V value = t.value[line * s.lanes + column + lane]; /* column * pitch + row * lanes + lane */
    if (!whole && lane * b.each + (int)wr_bsr_divide((unsigned)column, s.by_c) >= t.count) value = 0;
    val[line * WR_WARP] = value;
  }
}

/* Its columns and words. across: inner blocks of each of `inner`, a logarithm. */
template <typename V>
static __device__ inline void write_columns(const wr_bsr_interleaved &b, const ib_tiling &s, const ib_tile<V> &t,
                                            int log2_across) {
  int lane = threadIdx.x % s.lanes, skip = blockDim.x >> s.log2_lanes;
  int64_t warp = warp_of(s, t);
  int32_t *col = b.col + warp * b.each * WR_WARP + lane_of(s, t) + lane;
  for (int j = threadIdx.x >> s.log2_lanes; j < b.each; j += skip) {
    int p = lane * b.each + j;
    int32_t inner = p < t.count ? (t.inner[p] << log2_across) + (int)((t.g0 + p) & ((1 << log2_across) - 1)) : 0;
    col[j * WR_WARP] = p < t.count ? (int32_t)((int64_t)inner * b.c - shift_of(b, inner)) : 0;
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
#endif
