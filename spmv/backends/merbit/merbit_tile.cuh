/* A tile by a warp: products of its entries to shared memory, then every lane walks its steps, then the lanes join what
 * they have left open (MERBIT, section 4.2, algorithms 3 and 5). */
#ifndef WR_MERBIT_TILE_CUH
#define WR_MERBIT_TILE_CUH

#include "spmv/kernel/async_copy.cuh"
#include "spmv/kernel/epilogue.cuh"
#include "spmv/kernel/launch.cuh"
#include "spmv/kernel/parts.cuh"
#include "spmv/kernel/warp.cuh"
#include "spmv/backends/merbit/merbit_kernel.h"

/* A multiply's parameters. */
template <typename T>
struct merbit_args {
  wr_merbit_format format;
  int64_t blocks;
  const int32_t *col; /* [nnz]                              */
  const T *val;       /* [nnz], NULL: all ones              */
  const T *x;         /* [ncols]                            */
  T *y;               /* [nrows]                            */
  T *y_next;          /* [nrows], NULL: nobody is to clear  */
  double alpha, beta;
  int plain;             /* beta is 0 and there is no epilogue                               */
  int ordered;           /* parts of shared rows go to head and tail; 0: they are added to y */
  int long_rows, segmented; /* the paper's first and second optimisation; 0: off             */
  const int32_t *origin, *row; /* wr_merbit_plan's, and so are head and tail                 */
  double *head, *tail;
};

enum { SECTOR = 8 }; /* entries whose columns fill 32 bytes */

/* The part of the path that a thread block or a warp has: entries x0..x1, rows that end in it y0..y1. */
struct stretch {
  int64_t x0, x1, y0, y1;
};

static __device__ inline int64_t tile_x(const wr_merbit_format &f, int64_t tile) {
  return f.wide ? ((const int64_t *)f.tile_x)[tile] : ((const int32_t *)f.tile_x)[tile];
}

static __device__ inline int64_t tile_y(const wr_merbit_format &f, int64_t tile) {
  return f.tile_y[tile] & ~WR_MERBIT_LONG_ROW;
}

static __device__ inline stretch stretch_of(const wr_merbit_format &f, int64_t tile, int64_t end) {
  return {tile_x(f, tile), tile_x(f, end), tile_y(f, tile), tile_y(f, end)};
}

template <int SIGMA>
static __device__ inline uint64_t lane_word(const wr_merbit_format &f, int64_t tile, int sigma) {
  int64_t at = tile * WR_WARP + threadIdx.x % WR_WARP;
  if (SIGMA ? SIGMA <= 22 : wr_merbit_lane_bytes(sigma) == 4) return wr_load_stream((const uint32_t *)f.lane + at);
  return wr_load_stream((const uint64_t *)f.lane + at);
}

/* use(k, value, x) for the entries k of x0..x1 that are the lane's, counted from x0: neighbours go to neighbouring lanes,
 * beginning where a sector of columns and of values begins. BATCH loads of each kind are on their way at a time; columns and
 * values pass by the first-level cache, which is x's. */
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

/* A lane's steps: what it adds up before its first step down goes to `head`, what after its last is returned; rows between
 * are whole and go to sums. CHECKED: steps may lie behind the end of the path, where there are no products. */
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

/* The lanes' open sums and heads to the rows they belong to. Returns, to all lanes, the sum of the row that is open at the
 * tile's end; ended: the first row that ends in it. */
template <typename T>
static __device__ inline double join_lanes(double open, double head, bool ends, T *own) {
  open = wr_scan_open(open, __ballot_sync((unsigned)WR_FULL_MASK, ends));
  double before = __shfl_up_sync((unsigned)WR_FULL_MASK, open, 1u);
  if (ends) *own = (T)(threadIdx.x % WR_WARP == 0 ? head : before + head);
  return __shfl_sync((unsigned)WR_FULL_MASK, open, WR_WARP - 1);
}

/* One tile by one warp. Returns, to all lanes, the sum of the row that is open at its end, or what other lanes and tiles
 * have not been told of it. staged: products of the tile; ended: sums of the rows that end in it. */
template <int SIGMA, int BATCH, bool PATTERN, typename T>
static __device__ inline double run_tile(const merbit_args<T> &a, int64_t tile, const stretch &at, T *staged,
                                         T *ended) {
  const wr_merbit_format &f = a.format;
  int lane = threadIdx.x % WR_WARP, n = (int)(at.x1 - at.x0), sigma = SIGMA ? SIGMA : f.sigma;
  if (a.long_rows && (f.tile_y[tile] & WR_MERBIT_LONG_ROW)) { /* one row, that does not end */
    double sum = 0;
    for_products<BATCH, PATTERN>(a, at.x0, n, [&](int, T v, T xj) { sum += (double)v * (double)xj; });
    return wr_warp_sum(sum);
  }
  if (n == 0) { /* rows without entries; with atomics all sums are 0 already, and the tile before may have added to one */
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
