/* Writes the sums of a block's tiles from shared memory to y: rows that lie in this block alone in order, coalesced; its
 * parts of rows that it shares with others to y or an array (MERBIT, section 4.2, algorithm 6). */
#ifndef WR_MERBIT_COMMIT_CUH
#define WR_MERBIT_COMMIT_CUH

#include "spmv/backends/merbit/merbit_tile.cuh"

/* For each tile of the block: the sum of the row that is open at its end, and the first row that ends in it, counted from the
 * block's first; -1: none. */
struct tile_ends {
  double *open;
  int *first;
};

/* Adds the sums that tiles left open to the rows that end in the block; returns, in thread WARPS, the sum that the block
 * leaves open. */
template <int WARPS, typename T>
static __device__ inline double join_tiles(const tile_ends &t, int tiles, T *sums) {
  int tile = threadIdx.x;
  if (tile > WARPS) return 0;
  double sum = wr_open_before(t.open, 1, t.first, tile < tiles ? tile : tiles);
  if (tile < tiles && t.first[tile] >= 0) {
    T *row = sums + t.first[tile];
    *row = (T)(sum + (double)*row);
  }
  return sum;
}

/* Stores, or adds to y, the block's part of row i, of which other blocks have parts too. Called by one thread. */
template <typename T>
static __device__ inline void store_part(const merbit_args<T> &a, int64_t i, double part, double *place) {
  if (a.ordered)
    *place = part;
  else
    atomicAdd(a.y + i, (T)(a.alpha * part));
}

/* The epilogue of the block's rows. A thread does EACH rows at a time, with all their loads in flight. */
template <int EACH, class F, typename T>
static __device__ inline void finish_rows(const merbit_args<T> &a, const F &finish, const wr_finish_scalars &scalars,
                                          const path_range &block, int first, const T *sums,
                                          double (&reduced)[WR_MAX_REDUCTIONS]) {
  int rows = (int)(block.y1 - block.y0), stride = (int)blockDim.x;
  for (int r0 = first + (int)threadIdx.x; r0 < rows; r0 += EACH * stride) {
    wr_finish_rows<T, 1> row[EACH];
#pragma unroll
    for (int e = 0; e < EACH; e++)
      if (r0 + e * stride < rows) wr_finish_load(finish, block.y0 + r0 + e * stride, row[e]);
#pragma unroll
    for (int e = 0; e < EACH; e++) {
      int r = r0 + e * stride;
      int64_t i = block.y0 + r;
      if (r >= rows) break;
      row[e].value[0] = wr_finish_beta(a.alpha, a.beta, a.y, i, (double)sums[r]);
      wr_finish_store(finish, scalars, i, row[e], a.y, reduced);
    }
  }
}

template <int EACH, class F, typename T>
static __device__ inline void commit_rows(const merbit_args<T> &a, const F &finish, const wr_finish_scalars &scalars,
                                          const path_range &block, int first, const T *sums,
                                          double (&reduced)[WR_MAX_REDUCTIONS]) {
  if (!a.plain) return finish_rows<EACH>(a, finish, scalars, block, first, sums, reduced);
  for (int r = first + (int)threadIdx.x; r < (int)(block.y1 - block.y0); r += (int)blockDim.x)
    a.y[block.y0 + r] = (T)(a.alpha * (double)sums[r]);
}

/* A shared row: the thread block in which it ends, the one in which it begins, and the row; -1: there is none. */
struct merbit_shared {
  int64_t block, from, i;
};

template <typename T>
static __device__ inline merbit_shared find_shared(const merbit_args<T> &a, int64_t block) {
  int64_t i = block < a.blocks ? a.row[block] : -1;
  return {block, i >= 0 ? a.origin[block] : block, i};
}

/* Completes the shared rows that end in blocks s.block, s.block + stride, ...; all parts are stored. All lanes of a warp call
 * this together. s: the thread's first shared row. */
template <typename T>
static __device__ inline void complete_rows(const merbit_args<T> &a, const wr_finish<T> &finish,
                                            const wr_finish_scalars &scalars, merbit_shared s, int64_t stride,
                                            double (&reduced)[WR_MAX_REDUCTIONS]) {
  int lane = threadIdx.x % WR_WARP;
  wr_finish_rows<T, 1> row = {}; /* initialised once: lanes without a row take part in the warp's sum and leave it unused */
  for (int64_t warp = s.block - lane; warp < a.blocks; warp += stride, s = find_shared(a, warp + lane)) {
    double old = 0, head = 0; /* all loads are in flight at a time */
    if (s.i >= 0) {
      wr_finish_load(finish, s.i, row);
      if (!a.ordered || a.beta != 0) old = (double)a.y[s.i];
      if (a.ordered) head = a.head[s.block];
    }
    double sum = a.ordered ? wr_parts_sum(a.tail, 1, s.from, s.block) : 0;
    if (s.i < 0) continue;
    row.value[0] = a.ordered ? wr_finish_sum(a.alpha, a.beta, old, sum + head) : old;
    wr_finish_store(finish, scalars, s.i, row, a.y, reduced);
    if (a.y_next) a.y_next[s.i] = 0;
  }
}

#endif
