/* From the sums of a block's tiles in shared memory to y: rows that are the block's alone in order, coalesced; its parts of
 * rows that it shares with others to where they come together (MERBIT, section 4.2, algorithm 6). */
#ifndef WR_MERBIT_COMMIT_CUH
#define WR_MERBIT_COMMIT_CUH

#include "spmv/merbit/merbit_tile.cuh"

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

template <typename T>
static __device__ inline void commit_rows(const merbit_args<T> &a, const wr_finish<T> &finish, double shift,
                                          const stretch &block, int first, const T *sums,
                                          double (&reduced)[WR_MAX_REDUCTIONS]) {
  int rows = (int)(block.y1 - block.y0);
  if (a.plain) {
    for (int r = first + (int)threadIdx.x; r < rows; r += (int)blockDim.x)
      a.y[block.y0 + r] = (T)(a.alpha * (double)sums[r]);
    return;
  }
  for (int r = first + (int)threadIdx.x; r < rows; r += (int)blockDim.x) {
    int64_t i = block.y0 + r;
    wr_finish_row(finish, shift, i, wr_finish_beta(a.alpha, a.beta, a.y, i, (double)sums[r]), a.y, reduced);
  }
}

#endif
