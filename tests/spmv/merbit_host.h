/* MERBIT's format (spmv/backends/merbit/merbit_format.h) built on the host, tile by tile: what the builder on a device is
 * compared with. */
#ifndef WR_TEST_MERBIT_HOST_H
#define WR_TEST_MERBIT_HOST_H

#include "spmv/backends/merbit/merbit_build.h"
#include "tests/check.h"

/* The flags of the sigma steps from `step` on. *y: rows that have ended before them, and then after them. */
static inline uint64_t merbit_walk(const void *row_ptr, int wide, int64_t nrows, int64_t step, int sigma, int64_t *y) {
  uint64_t flags = 0;
  for (; *y < nrows; ++*y) {
    int64_t down = wr_merbit_row_step(row_ptr, wide, *y) - step;
    if (down >= sigma) break;
    flags |= (uint64_t)1 << down;
  }
  return flags;
}

static inline void set_tile(wr_merbit_format *f, int64_t tile, int64_t x, uint32_t y) {
  if (f->wide)
    ((int64_t *)f->tile_x)[tile] = x;
  else
    ((int32_t *)f->tile_x)[tile] = (int32_t)x;
  f->tile_y[tile] = y;
}

static inline void build_tile(const wr_csr *A, wr_merbit_format *f, int64_t tile) {
  int sigma = f->sigma, narrow = wr_merbit_lane_bytes(sigma) == 4;
  int64_t begin = wr_merbit_lane_step(tile, 0, sigma), at = tile * WR_MERBIT_LANES;
  int64_t first = wr_merbit_search(A->row_ptr, 1, 0, f->nrows < begin ? f->nrows : begin, begin), y = first;
  for (int lane = 0; lane < WR_MERBIT_LANES; lane++) {
    int64_t before = y - first;
    uint64_t flags = merbit_walk(A->row_ptr, 1, f->nrows, begin + (int64_t)lane * sigma, sigma, &y);
    uint64_t word = wr_merbit_pack(flags, before, sigma);
    if (narrow)
      ((uint32_t *)f->lane)[at + lane] = (uint32_t)word;
    else
      ((uint64_t *)f->lane)[at + lane] = word;
  }
  set_tile(f, tile, begin - first, (uint32_t)first | (y == first ? WR_MERBIT_LONG_ROW : 0));
}

/* *f := the format of A's rows, for wr_merbit_free; reads only A's sizes and row_ptr. */
static inline void build_on_host(const wr_csr *A, int sigma, int wide, wr_merbit_format *f) {
  *f = wr_merbit_shape(A->nrows, A->ncols, A->nnz, sigma);
  f->wide = wide;
  CHECK_OK(wr_merbit_alloc(f));
  for (int64_t tile = 0; tile < f->tiles; tile++) build_tile(A, f, tile);
  set_tile(f, f->tiles, A->nnz, (uint32_t)A->nrows);
}

#endif
