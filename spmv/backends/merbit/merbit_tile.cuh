/* Runs a tile by a warp: stores the products of its entries in shared memory; then every lane walks its steps; then the sums
 * that lanes left open are joined (MERBIT, section 4.2, algorithms 3 and 5). */
#ifndef WR_MERBIT_TILE_CUH
#define WR_MERBIT_TILE_CUH

#include "spmv/kernel/async_copy.cuh"
#include "spmv/kernel/epilogue.cuh"
#include "spmv/kernel/launch.cuh"
#include "spmv/kernel/parts.cuh"
#include "spmv/kernel/warp.cuh"
#include "spmv/backends/merbit/merbit_kernel.h"

/* Parameters of a multiply. */
template <typename T>
struct merbit_args {
  wr_merbit_format format;
  int64_t blocks;
  const int32_t *col; /* [nnz]                      */
  const T *val;       /* [nnz], NULL: all ones      */
  const T *x;         /* [ncols]                    */
  T *y;               /* [nrows]                    */
  T *y_next;          /* [nrows], NULL: not cleared */
  double alpha, beta;
  int plain;                   /* beta == 0 and no epilogue                                                   */
  int ordered;                 /* 1: parts of shared rows are stored in head and tail; 0: they are added to y */
  int long_rows, segmented;    /* 1: as in wr_merbit_plan                                                     */
  const int32_t *origin, *row; /* these, head and tail: see wr_merbit_plan                                    */
  double *head, *tail;
};

enum { SECTOR = 8 }; /* entries with columns that fill 32 bytes */

/* The part of the path of a thread block or a warp: entries x0..x1 - 1, and rows y0..y1 - 1, which end in it. */
struct path_range {
  int64_t x0, x1, y0, y1;
};

static __device__ inline int64_t tile_x(const wr_merbit_format &f, int64_t tile) {
  return f.wide ? ((const int64_t *)f.tile_x)[tile] : ((const int32_t *)f.tile_x)[tile];
}

static __device__ inline int64_t tile_y(const wr_merbit_format &f, int64_t tile) {
  return f.tile_y[tile] & ~WR_MERBIT_LONG_ROW;
}

static __device__ inline path_range range_of(const wr_merbit_format &f, int64_t tile, int64_t end) {
  return {tile_x(f, tile), tile_x(f, end), tile_y(f, tile), tile_y(f, end)};
}

template <int SIGMA>
static __device__ inline uint64_t lane_word(const wr_merbit_format &f, int64_t tile, int sigma) {
  int64_t at = tile * WR_WARP + threadIdx.x % WR_WARP;
  if (SIGMA ? SIGMA <= 22 : wr_merbit_lane_bytes(sigma) == 4) return wr_load_stream((const uint32_t *)f.lane + at);
  return wr_load_stream((const uint64_t *)f.lane + at);
}

/* Calls use(k, value, x) for the lane's entries of x0..x0 + n - 1, k counted from x0. Consecutive lanes take consecutive
 * entries, from the start of a sector of columns on. BATCH loads of each kind are in flight at a time. Columns and values
 * bypass the first-level cache, which is left to x. */
template <int BATCH, bool PATTERN, typename T, class Use>
static __device__ inline void for_products(const merbit_args<T> &a, int64_t x0, int n, Use use) {
  const int32_t *col = a.col + x0;
  const T *val = PATTERN ? nullptr : a.val + x0;
  for (int first = (int)(threadIdx.x % WR_WARP) - (int)(x0 % SECTOR); first < n; first += BATCH * WR_WARP) {
    int32_t j[BATCH];
    T v[BATCH];
#pragma unroll
    for (int b = 0; b < BATCH; b++) {
      int k = first + b * WR_WARP;
      j[b] = k >= 0 && k < n ? wr_load_stream(col + k) : 0;
    }
#pragma unroll
    for (int b = 0; b < BATCH; b++) {
      int k = first + b * WR_WARP;
      v[b] = PATTERN ? (T)1 : k >= 0 && k < n ? wr_load_stream(val + k) : (T)0;
    }
#pragma unroll
    for (int b = 0; b < BATCH; b++) {
      int k = first + b * WR_WARP;
      if (k >= 0 && k < n) use(k, v[b], __ldg(a.x + j[b]));
    }
  }
}

/* Walks a lane's steps. *head := the sum before its first step down; sums := those of the rows that begin and end in the
 * lane; returns the sum after its last step down. CHECKED: the tile may contain padding, for which there are no products. */
template <int SIGMA, bool CHECKED, typename T>
static __device__ inline double walk(uint64_t flags, int sigma, const T *product, const T *end, T *sums, double *head) {
  double sum = 0;
  bool first = true;
#pragma unroll
  for (int s = 0; s < (SIGMA ? SIGMA : sigma); s++) {
    if (flags >> s & 1) {
      if (first)
        *head = sum;
      else
        *sums = (T)sum;
      first = false;
      sums++;
      sum = 0;
    } else if (!CHECKED || product < end) {
      sum += (double)*product++;
    }
  }
  return sum;
}

/* Adds the lanes' open sums and heads to their rows. Returns, to all lanes, the sum of the row that is open at the tile's
 * end. ends: a row ends in the lane; own: the first that does. */
template <typename T>
static __device__ inline double join_lanes(double open, double head, bool ends, T *own) {
  open = wr_scan_open(open, __ballot_sync((unsigned)WR_FULL_MASK, ends));
  double before = __shfl_up_sync((unsigned)WR_FULL_MASK, open, 1u);
  if (ends) *own = (T)(threadIdx.x % WR_WARP == 0 ? head : before + head);
  return __shfl_sync((unsigned)WR_FULL_MASK, open, WR_WARP - 1);
}

/* Runs one tile by one warp. Returns, to all lanes, the part of the row that is open at its end that is not yet in `ended`.
 * staged: products of the tile; ended: sums of the rows that end in it. */
template <int SIGMA, int BATCH, bool PATTERN, typename T>
static __device__ inline double run_tile(const merbit_args<T> &a, int64_t tile, const path_range &at, T *staged,
                                         T *ended) {
  const wr_merbit_format &f = a.format;
  int lane = threadIdx.x % WR_WARP, n = (int)(at.x1 - at.x0), sigma = SIGMA ? SIGMA : f.sigma;
  if (a.long_rows && (f.tile_y[tile] & WR_MERBIT_LONG_ROW)) { /* all of one row, which does not end here */
    double sum = 0;
    for_products<BATCH, PATTERN>(a, at.x0, n, [&](int, T v, T xj) { sum += (double)v * (double)xj; });
    return wr_warp_sum(sum);
  }
  if (n == 0) { /* only empty rows; with atomics all sums are 0 already, and the tile before may have added to one */
    for (int r = lane; a.segmented && r < (int)(at.y1 - at.y0); r += WR_WARP) ended[r] = 0;
    return 0;
  }
  uint64_t word = lane_word<SIGMA>(f, tile, sigma), flags = wr_merbit_flags(word, sigma);
  for_products<BATCH, PATTERN>(a, at.x0, n, [=](int k, T v, T xj) { staged[k] = v * xj; });
  __syncwarp();
  int row = wr_merbit_y(word, sigma);
  double head = 0, open;
  T *own = ended + row, *first = staged + (lane * sigma - row);
  if (tile + 1 < f.tiles)
    open = walk<SIGMA, false>(flags, sigma, first, staged + n, own, &head);
  else
    open = walk<SIGMA, true>(flags, sigma, first, staged + n, own, &head);
  if (a.segmented) return join_lanes(open, head, flags != 0, own);
  if (flags != 0) atomicAdd(own, (T)head);
  atomicAdd(own + (SIGMA <= 32 && SIGMA > 0 ? __popc((unsigned)flags) : __popcll(flags)), (T)open);
  return 0;
}

#endif
