/* A tile is the inner blocks of some consecutive lanes of a warp. The thread block that packs it (bsr_pack_values.cu) keeps
 * it in shared memory. */
#ifndef WR_BSR_PACK_TILE_CUH
#define WR_BSR_PACK_TILE_CUH

#include "spmv/blocks/bsr_group.cuh"
#include "spmv/backends/bsr/bsr_pack.cuh"
#include "spmv/kernel/launch.cuh"

constexpr int MOST_THREADS = 256;
/* Bytes of a tile, and values of a thread: small tiles get small thread blocks, of which more fit a multiprocessor. */
constexpr int TILE_BYTES = 27 << 10, THREAD_VALUES = 18;

/* P: int32_t or int64_t, of row_ptr; T: of the values. */
template <typename T, typename P>
struct ib_rows {
  const P *row_ptr;   /* [nrows + 1]        */
  const int32_t *col; /* [nnz]              */
  const T *val;       /* [nnz], NULL: all 1 */
};

/* How a warp's blocks are cut into tiles. */
struct ib_tiling {
  int lanes, log2_lanes; /* of a tile                                              */
  int threads;           /* of a thread block                                      */
  int pitch; /* values of one column of the tile's j-th inner blocks, plus one so that columns begin in different banks */
  int group; /* lanes that read a row together */
  int c;     /* of an inner block              */
  wr_bsr_divisor by_c, by_r, by_each, by_lane; /* by_lane: columns of a lane's blocks */
};

/* A tile, in shared memory and registers. */
template <typename V>
struct ib_tile {
  V *value;        /* [each][c][r][lanes], with an empty place after each r * lanes                    */
  int32_t *inner;  /* [count] columns, in inner blocks; if full: in blocks                             */
  int32_t *place;  /* [count] place of an inner block's first value; if full: distance of its rows     */
  int32_t *edge;   /* [rows + 1] inner blocks of the tile before the row                               */
  uint32_t *word;  /* [lanes] as wr_bsr_interleaved.word                                               */
  int64_t *begin;  /* [threads] first entry of a row's part, ...; if full: [count] (bsr_pack_full.cuh) */
  int32_t *length; /* [threads] ... its number of entries                                              */
  int32_t *skip;   /* [threads] ... columns from its first block's left edge to its first entry        */
  int64_t number;  /* of the tile; the tiles of a warp are consecutive                                 */
  int64_t g0;      /* its first inner block                                                            */
  int32_t row;     /* first row with a block in the tile                                               */
  int count, rows; /* inner blocks, and rows that have them                                            */
};

static __host__ __device__ inline int begins_of(const wr_bsr_interleaved &b, const ib_tiling &s) {
  int inner = s.lanes * b.each;
  return inner > s.threads ? inner : s.threads;
}

/* Places the arrays in shared memory. */
template <typename V>
static __device__ inline ib_tile<V> make_tile(const wr_bsr_interleaved &b, const ib_tiling &s, unsigned char *buffer) {
  ib_tile<V> t = {};
  int inner = s.lanes * b.each;
  t.begin = (int64_t *)(void *)buffer;
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

/* The warp that the tile belongs to, and the tile's first lane in it. */
template <typename V>
static __device__ inline int64_t warp_of(const ib_tiling &s, const ib_tile<V> &t) {
  return t.number * s.lanes / WR_WARP;
}
template <typename V>
static __device__ inline int lane_of(const ib_tiling &s, const ib_tile<V> &t) {
  return (int)(t.number * s.lanes % WR_WARP);
}

/* Finds the rows with blocks in the tile. */
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

/* Fills edge and word. */
template <typename V>
static __device__ inline void mark_rows(const wr_bsr_interleaved &b, const ib_tiling &s, const ib_tile<V> &t) {
  int32_t first = b.first[warp_of(s, t)];
  for (int n = threadIdx.x; n <= t.rows; n += blockDim.x) {
    int64_t at = n < t.rows ? b.start[(int64_t)t.row + n] - t.g0 : t.count;
    t.edge[n] = at > 0 ? (int32_t)at : 0;
  }
  if ((int)threadIdx.x < s.lanes) /* for lanes past the last block all rows are before */
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

/* Columns by which an inner block is shifted left so that it ends at the last column. */
static __device__ inline int shift_of(const wr_bsr_interleaved &b, int32_t inner) {
  int64_t beyond = (int64_t)inner * b.c + b.c - b.ncols;
  return beyond > 0 ? (int)beyond : 0;
}

/* Column, in inner blocks, of the tile's p-th inner block, from b's packed columns. Shifted inner blocks of a block all begin
 * at the same column; the low bits of the inner block's number tell them apart. */
template <typename V>
static __device__ inline int32_t known_column(const wr_bsr_interleaved &b, const ib_tiling &s, const ib_tile<V> &t,
                                              int p, int log2_across) {
  int lane = (int)wr_bsr_divide((unsigned)p, s.by_each), j = p - lane * b.each, across = 1 << log2_across;
  int32_t left = b.col[(warp_of(s, t) * b.each + j) * WR_WARP + lane_of(s, t) + lane];
  int32_t inner = (int32_t)wr_bsr_divide((unsigned)left + (unsigned)b.c - 1, s.by_c);
  return (inner & -across) | (int32_t)((t.g0 + p) & (across - 1));
}

/* Writes the tile's values to b. */
template <typename V>
static __device__ inline void write_values(const wr_bsr_interleaved &b, const ib_tiling &s, const ib_tile<V> &t) {
  int lines = b.each * b.c * b.r, lane = threadIdx.x % s.lanes, skip = blockDim.x >> s.log2_lanes;
  bool is_full = t.count == b.each * s.lanes;
  int64_t warp = warp_of(s, t);
  V *val = (V *)b.val + warp * lines * WR_WARP + lane_of(s, t) + lane;
#pragma unroll 2
  for (int line = threadIdx.x >> s.log2_lanes; line < lines; line += skip) {
    int column = (int)wr_bsr_divide((unsigned)line, s.by_r);
    V value = t.value[line * s.lanes + column + lane]; /* column * pitch + row * lanes + lane */
    if (!is_full && lane * b.each + (int)wr_bsr_divide((unsigned)column, s.by_c) >= t.count) value = 0;
    val[line * WR_WARP] = value;
  }
}

/* Writes the tile's columns and words to b. log2_across: inner blocks for each element of `inner`. */
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

/* The tile that starts a thread block of the multiply updates *most with the rows that end in that thread block. */
template <typename V>
static __device__ inline void count_rows(const wr_bsr_interleaved &b, const ib_tiling &s, const ib_tile<V> &t,
                                         int *most) {
  int64_t warp = warp_of(s, t), end = warp + WR_BSR_WARPS < b.warps ? warp + WR_BSR_WARPS : b.warps;
  if (threadIdx.x != 0 || lane_of(s, t) != 0 || warp % WR_BSR_WARPS != 0) return;
  atomicMax(most, b.first[end] - b.first[warp]);
}
#endif
