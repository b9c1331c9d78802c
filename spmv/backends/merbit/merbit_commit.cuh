/* From the sums of a block's tiles in shared memory to y: rows that are the block's alone in order, coalesced; its parts of
 * rows that it shares with others to where they come together (MERBIT, section 4.2, algorithm 6). */
#ifndef WR_MERBIT_COMMIT_CUH
#define WR_MERBIT_COMMIT_CUH

#include "spmv/backends/merbit/merbit_tile.cuh"

/* What the warps tell each other of their tiles: the sum of the row that is open at its end, and the first row that ends in
 * it, counted from the block's first; -1: none does. */
struct tile_ends {
  double *open;
  int *first;
};

/* Adds what the tiles have left open to the rows that end in the block; returns, to thread WARPS, what the block leaves
 * open. */
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

/* A part of row i, which other blocks have parts of, too. One thread. */
template <typename T>
static __device__ inline void leave_part(const merbit_args<T> &a, int64_t i, double part, double *place) {
  if (a.ordered)
    *place = part;
  else
    atomicAdd(a.y + i, (T)(a.alpha * part));
}

/* The epilogue of the block's rows, EACH of a thread at a time: what it reads comes from memory. */
template <int EACH, typename T>
static __device__ inline void finish_rows(const merbit_args<T> &a, const wr_finish<T> &finish, double shift,
                                          const stretch &block, int first, const T *sums,
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
      wr_finish_store(finish, shift, i, row[e], a.y, reduced);
    }
  }
}

template <int EACH, typename T>
static __device__ inline void commit_rows(const merbit_args<T> &a, const wr_finish<T> &finish, double shift,
                                          const stretch &block, int first, const T *sums,
                                          double (&reduced)[WR_MAX_REDUCTIONS]) {
  if (!a.plain) return finish_rows<EACH>(a, finish, shift, block, first, sums, reduced);
  for (int r = first + (int)threadIdx.x; r < (int)(block.y1 - block.y0); r += (int)blockDim.x)
    a.y[block.y0 + r] = (T)(a.alpha * (double)sums[r]);
}

/* A shared row: the thread block in which it ends, that in which it begins, and the row; -1: there is none. */
struct merbit_shared {
  int64_t block, from, i;
};

template <typename T>
static __device__ inline merbit_shared find_shared(const merbit_args<T> &a, int64_t block) {
  int64_t i = block < a.blocks ? a.row[block] : -1;
  return {block, i >= 0 ? a.origin[block] : block, i};
}

/* Shared rows that end in the blocks `first` and so on, `stride` at a time: all parts are there. Warps at a time; s: what
 * find_shared says of the thread's first block. */
template <typename T>
static __device__ inline void complete_rows(const merbit_args<T> &a, const wr_finish<T> &finish, double shift,
                                            merbit_shared s, int64_t stride, double (&reduced)[WR_MAX_REDUCTIONS]) {
  int lane = threadIdx.x % WR_WARP;
  wr_finish_rows<T, 1> row = {}; /* once: a lane without a row goes as far as the warp's sum, and then leaves it as it is */
  for (int64_t warp = s.block - lane; warp < a.blocks; warp += stride, s = find_shared(a, warp + lane)) {
    double old = 0, head = 0; /* all that is read on its way at once */
    if (s.i >= 0) {
      wr_finish_load(finish, s.i, row);
      if (!a.ordered || a.beta != 0) old = (double)a.y[s.i];
      if (a.ordered) head = a.head[s.block];
    }
    double sum = a.ordered ? wr_parts_sum(a.tail, 1, s.from, s.block) : 0;
    if (s.i < 0) continue;
    row.value[0] = a.ordered ? wr_finish_sum(a.alpha, a.beta, old, sum + head) : old;
    wr_finish_store(finish, shift, s.i, row, a.y, reduced);
    if (a.y_next) a.y_next[s.i] = 0;
  }
}

#endif
