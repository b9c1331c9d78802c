/* The multiply of several vectors with the tiles of MERBIT. The products of one vector fit shared memory, those of eight do
 * not, so here shared memory has the tile's columns and values, and c.each lanes walk a stretch of the path together: each of
 * them has its columns of X, keeps their sums in registers, and loads an element of a row of X when the walk takes an entry. A
 * row that begins and ends in one stretch goes to Y from there. Sums that stretches, tiles and blocks leave open are joined in
 * the order of the path, as in merbit_kernel.cuh with ordered sums, so the bits are the same each time. */
#include "spmv/device/check.cuh"
#include "spmv/device/cuda_state.h"
#include "spmv/kernel/many.cuh"
#include "spmv/kernel/parts.cuh"
#include "spmv/backends/merbit/merbit_tile.cuh"

constexpr int THREADS = WR_MERBIT_WARPS * WR_WARP, WARPS = WR_MERBIT_WARPS;
constexpr int BLOCKS = 4; /* a multiprocessor's, which leave 64 registers to a thread                  */
constexpr int USUAL_SHARED_BYTES = 48 << 10; /* of a block, unless the kernel's attribute allows more */

/* Rows of X that a lane has in flight: as many as leave registers for its sums. */
template <typename T, int V>
constexpr int batch_of = V == 4   ? 4
                         : V == 2 ? 5
                                  : 7;

template <typename T>
struct many_args {
  wr_merbit_format format;
  int64_t blocks;
  const int32_t *col; /* [nnz] */
  const T *val;       /* [nnz] */
  const int32_t *origin, *row;
  double *head, *tail; /* [blocks][columns] as head and tail of wr_merbit_plan */
};

/* What a lane has after its stretch: `open`, the sum since the last row ended in it; `head`, the sum before the first end;
 * first: the row that ended first, counted from the tile's first; -1: none. */
template <int V>
struct stretch {
  double open[V], head[V];
  int first;
};

/* Walks c.each lanes' steps of the tile, from entry k and row r of the tile on. word: the lane's own word. All lanes of the
 * warp call this together. */
template <bool PATTERN, int V, typename T>
static __device__ inline stretch<V> walk_stretch(const many_args<T> &a, const wr_many<T> &c, const path_range &at,
                                                 uint64_t word, int k, int r, const T *values, const int32_t *columns) {
  constexpr int BATCH = batch_of<T, V>;
  int sigma = a.format.sigma, n = (int)(at.x1 - at.x0), lane = threadIdx.x % WR_WARP, column = lane % c.each * V;
  bool used = column < c.columns;
  stretch<V> s = {};
  s.first = -1;
  for (int q = 0; q < c.each; q++) {
    uint64_t flags = __shfl_sync((unsigned)WR_FULL_MASK, wr_merbit_flags(word, sigma), lane / c.each * c.each + q);
    for (int step = 0; step < sigma; step += BATCH) {
      wr_pack<T, V> x[BATCH] = {};
      int ahead = k;
#pragma unroll
      for (int b = 0; b < BATCH; b++) {
        bool takes = step + b < sigma && !(flags >> (step + b) & 1) && ahead < n; /* not padding */
        if (takes && used) x[b] = wr_many_load<V>(c, columns[ahead], column);
        ahead += takes;
      }
#pragma unroll
      for (int b = 0; b < BATCH; b++) {
        if (step + b >= sigma) break;
        if (flags >> (step + b) & 1) {
          if (s.first < 0) {
            s.first = r;
#pragma unroll
            for (int v = 0; v < V; v++) s.head[v] = s.open[v];
          } else if (used) {
            wr_many_store(c, at.y0 + r, column, s.open);
          }
          r++;
#pragma unroll
          for (int v = 0; v < V; v++) s.open[v] = 0;
        } else if (k < n) {
          double value = PATTERN ? 1 : (double)values[k];
          k++;
#pragma unroll
          for (int v = 0; v < V; v++) s.open[v] += value * (double)x[b].at[v];
        }
      }
    }
  }
  return s;
}

/* For each tile of a block: the sums that are open at its end, those of the row that ends first in it, from the tile's start
 * on, and this row, counted from the block's first; -1: none. */
struct tile_sums {
  double *open, *head; /* [WARPS][WR_MAX_COLUMNS] */
  int *first;          /* [WARPS]                 */
};

/* Runs one tile by one warp. */
template <bool PATTERN, int V, typename T>
static __device__ inline void run_many(const many_args<T> &a, const wr_many<T> &c, int64_t tile, const path_range &at,
                                       const tile_sums &t, const T *values, const int32_t *columns) {
  int lane = threadIdx.x % WR_WARP, warp = threadIdx.x / WR_WARP, sigma = a.format.sigma;
  int leader = lane / c.each * c.each, column = lane % c.each * V;
  uint64_t word = lane_word<0>(a.format, tile, sigma);
  int r = __shfl_sync((unsigned)WR_FULL_MASK, wr_merbit_y(word, sigma), leader);
  stretch<V> s = walk_stretch<PATTERN, V>(a, c, at, word, leader * sigma - r, r, values, columns);
  unsigned leaders = 0xFFFFFFFFu / ((1u << c.each) - 1); /* the first lane of each stretch */
  unsigned ended = __ballot_sync((unsigned)WR_FULL_MASK, s.first >= 0) & leaders;
#pragma unroll
  for (int v = 0; v < V; v++) {
    double open = wr_scan_open(s.open[v], ended, c.each);
    double before = __shfl_up_sync((unsigned)WR_FULL_MASK, open, (unsigned)c.each);
    if (leader > 0) s.head[v] = before + s.head[v];
    if (leader == WR_WARP - c.each) t.open[warp * WR_MAX_COLUMNS + column + v] = open;
    if (s.first == 0) t.head[warp * WR_MAX_COLUMNS + column + v] = s.head[v];
  }
  if (s.first > 0 && column < c.columns) wr_many_store(c, at.y0 + s.first, column, s.head);
}

/* Joins the tiles of a block, a thread for each tile and column, and in the threads after those for what the block leaves
 * open. */
template <typename T>
static __device__ inline void join_many(const many_args<T> &a, const wr_many<T> &c, const path_range &block,
                                        const tile_sums &t) {
  int64_t b = blockIdx.x;
  int warp = (int)threadIdx.x / c.columns, column = (int)threadIdx.x % c.columns;
  if (warp > WARPS) return;
  double sum[1] = {wr_open_before(t.open + column, WR_MAX_COLUMNS, t.first, warp)};
  if (warp == WARPS) {
    if (a.origin[b + 1] != b + 1) a.tail[b * c.columns + column] = sum[0];
    return;
  }
  if (t.first[warp] < 0) return;
  sum[0] += t.head[warp * WR_MAX_COLUMNS + column];
  if (t.first[warp] == 0 && a.row[b] >= 0) {
    a.head[b * c.columns + column] = sum[0];
    return;
  }
  wr_many<T> one = c;
  one.whole = 0;
  wr_many_store(one, block.y0 + t.first[warp], column, sum);
}

template <typename T, bool PATTERN, int V>
__global__ void __launch_bounds__(THREADS, BLOCKS) merbit_many(const many_args<T> a, const wr_many<T> c) {
  WR_SHARED_DYNAMIC(T, room); /* [entries of a full block] values unless PATTERN, then columns */
  WR_SHARED(double, open, WARPS *WR_MAX_COLUMNS);
  WR_SHARED(double, head, WARPS *WR_MAX_COLUMNS);
  WR_SHARED(int, first, WARPS);
  wr_let_next_begin();
  const wr_merbit_format &f = a.format;
  int warp = threadIdx.x / WR_WARP, lane = threadIdx.x % WR_WARP, tile_entries = WR_WARP * f.sigma;
  T *values = room + warp * tile_entries;
  int32_t *columns = (int32_t *)(room + (PATTERN ? 0 : THREADS * f.sigma)) + warp * tile_entries;
  int64_t tile = (int64_t)blockIdx.x * WARPS, end = tile + WARPS < f.tiles ? tile + WARPS : f.tiles;
  path_range block = range_of(f, tile, end), at = {0, 0, 0, 0};
  tile_sums t = {open, head, first};
  tile += warp;
  if (tile < end) at = range_of(f, tile, tile + 1);
  int n = (int)(at.x1 - at.x0);
#pragma unroll 7
  for (int k = lane; k < n; k += WR_WARP) {
    columns[k] = wr_load_stream(a.col + at.x0 + k);
    if (!PATTERN) values[k] = wr_load_stream(a.val + at.x0 + k);
  }
  if (lane == 0) first[warp] = at.y1 > at.y0 ? (int)(at.y0 - block.y0) : -1;
  if (tile >= end && lane < WR_MAX_COLUMNS) open[warp * WR_MAX_COLUMNS + lane] = 0;
  __syncwarp();
  wr_wait_for_earlier();
  if (tile < end) run_many<PATTERN, V>(a, c, tile, at, t, values, columns);
  __syncthreads();
  join_many(a, c, block, t);
}

/* Completes the rows that blocks share, a thread for each of their columns: in the block in which the row ends. */
template <typename T>
__global__ void __launch_bounds__(THREADS) merbit_many_last(const many_args<T> a, const wr_many<T> c) {
  wr_begin_kernel();
  int lane = threadIdx.x % WR_WARP;
  int64_t all = a.blocks * c.columns, threads = (int64_t)gridDim.x * THREADS;
  for (int64_t warp = (int64_t)blockIdx.x * THREADS + threadIdx.x - lane; warp < all; warp += threads) {
    int64_t b = (warp + lane) / c.columns;
    int column = (int)((warp + lane) % c.columns);
    int64_t i = b < a.blocks ? a.row[b] : -1, from = i >= 0 ? a.origin[b] : b;
    double sum[1] = {wr_parts_sum(a.tail + column, c.columns, from, b)};
    if (i < 0) continue;
    sum[0] += a.head[b * c.columns + column];
    wr_many<T> one = c;
    one.whole = 0;
    wr_many_store(one, i, column, sum);
  }
}

template <typename T>
static int shared_bytes(const wr_merbit_plan *p, int sigma) {
  return THREADS * sigma * (int)(sizeof(int32_t) + (p->view.val ? sizeof(T) : 0));
}

template <int V, typename T>
static wr_status launch(wr_env *env, const wr_merbit_plan *p, const wr_many<T> &c) {
  many_args<T> a = {p->format, p->blocks, p->view.col, (const T *)p->view.val, p->origin, p->row,
                    p->many_head, p->many_tail};
  auto many = p->view.val ? merbit_many<T, false, V> : merbit_many<T, true, V>;
  int bytes = shared_bytes<T>(p, p->format.sigma), most = shared_bytes<T>(p, WR_MERBIT_KERNEL_SIGMA);
  if (bytes > USUAL_SHARED_BYTES)
    PASS(WR_CUDA(cudaFuncSetAttribute(many, cudaFuncAttributeMaxDynamicSharedMemorySize, most)));
  PASS(WR_LAUNCH_EARLY(env, (many), (unsigned)p->blocks, THREADS, (size_t)bytes, a, c));
  if (p->blocks == 1) return WR_OK; /* no row is shared */
  unsigned grid = wr_cuda_grid(env, (p->blocks * c.columns + THREADS - 1) / THREADS, WR_MERBIT_LAST_BLOCKS);
  return WR_LAUNCH_EARLY(env, (merbit_many_last<T>), grid, THREADS, 0, a, c);
}

template <typename T>
static wr_status choose(wr_env *env, const wr_merbit_plan *p, const wr_apply_many *r) {
  return wr_many_dispatch<T>(r, [=](const auto &c, auto width) { return launch<decltype(width)::value>(env, p, c); });
}

extern "C" wr_status wr_merbit_many_launch(wr_env *env, const wr_merbit_plan *p, const wr_apply_many *r) {
  PASS(wr_cuda_enter(env));
  return env->type == WR_F32 ? choose<float>(env, p, r) : choose<double>(env, p, r);
}
