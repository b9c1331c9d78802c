/* The merge path cut into tiles, with its steps stored as bits (MERBIT, section 4.1). The path has rows + nnz steps: a step
 * right takes the next entry, a step down ends a row, so an empty row is just one step down. A lane has sigma steps, a tile
 * 32 lanes: tile t begins at step 32*sigma*t. Values and columns are those of the rows and are not copied.
 *
 *   The 6x6 example of csr.h, 16 steps, with sigma = 3, and with 4 lanes a tile, as 32 would not fit here:
 *
 *     a . b . . .     steps    a b | c d | | e f g h | i | j |      (| a step down; 1 in the flags)
 *     . c . . d .
 *     . . . . . .     tile 0, from entry 0, row 0       tile 1, from entry 8, row 4
 *     e . f g . h     lane  steps   flags  y   x        lane  steps   flags  y   x
 *     . . . . i .        0  a b |   0 0 1  0   0           0  i | j   0 1 0  0   0
 *     . . . . . j        1  c d |   0 0 1  1   2           1  | . .   1 0 0  1   2
 *                        2  | e f   1 0 0  2   4           2  . . .   0 0 0  2   4
 *                        3  g h |   0 0 1  3   6           3  . . .   0 0 0  2   7
 *
 *     tile_x  [0 8 10]   entries before the tile        y  rows ended in the tile before the lane: stored
 *     tile_y  [0 4 6]    rows ended before it           x  entries before it, = lane * sigma - y: not stored
 *     lane    flags (bit s: step s is a step down) and y in one word, [flags + (y << sigma)]
 *
 * A word has 32 bits if sigma bits of flags and the bits of 31 * sigma, the largest y, fit (sigma <= 22), else 64.
 *
 * Long row: the topmost bit of tile_y[t] marks a tile in which no row ends. It has 32 * sigma entries, all of one row, row
 * tile_y[t] without the mark; its lanes' words are all 0. tile_x[t] == tile_x[t + 1]: a tile without entries.
 *
 * The last tile is padded to its full length with steps right that take no entry: their flags are 0, and y stays. A kernel
 * recognises them by the entry that they would take, tile_x[t] + x + (right steps of the lane so far) >= tile_x[t + 1]. The
 * path ends with a step down, so padding adds to no row, and the last tile is never marked. */
#ifndef WR_MERBIT_FORMAT_H
#define WR_MERBIT_FORMAT_H

#include <stdint.h>

#ifdef __CUDACC__
#define WR_MERBIT_INLINE static __host__ __device__ __forceinline__
#else
#define WR_MERBIT_INLINE static inline
#endif

enum {
  WR_MERBIT_LANES = 32,
  WR_MERBIT_MAX_SIGMA = 53 /* flags and y in 64 bits: 53 + 11 */
};
#define WR_MERBIT_LONG_ROW 0x80000000u                 /* in tile_y: rows need 31 bits (WR_MAX_INDEX)              */
#define WR_MERBIT_MAX_NNZ ((int64_t)1 << 56)           /* so that steps, and bytes of a format, fit an int64_t     */

typedef struct wr_merbit_format {
  int64_t nrows, ncols, nnz;
  int64_t tiles;    /* (nrows + nnz) / (32 * sigma), rounded up                                          */
  int sigma;        /* 1..WR_MERBIT_MAX_SIGMA                                                            */
  int wide;         /* 0: tile_x is int32_t; 1: int64_t, as needed when nnz >= 2^31                      */
  void *tile_x;     /* [tiles + 1] entries before the tile; the last one is nnz                          */
  uint32_t *tile_y; /* [tiles + 1] rows ended before the tile, WR_MERBIT_LONG_ROW; the last one is nrows */
  void *lane;       /* [tiles][32] words of wr_merbit_lane_bytes(sigma) bytes, unsigned                  */
} wr_merbit_format;

/* ---- Counts ---- */

/* Bits that hold the largest y of a lane, 31 * sigma. */
WR_MERBIT_INLINE int wr_merbit_offset_bits(int sigma) {
  int bits = 0;
  while ((WR_MERBIT_LANES - 1) * sigma >> bits) bits++;
  return bits;
}

WR_MERBIT_INLINE int wr_merbit_lane_bytes(int sigma) { return sigma + wr_merbit_offset_bits(sigma) <= 32 ? 4 : 8; }

/* Tiles of a path of nrows + nnz steps, without overflow for any counts >= 0. */
WR_MERBIT_INLINE int64_t wr_merbit_tiles(int64_t nrows, int64_t nnz, int sigma) {
  uint64_t steps = (uint64_t)nrows + (uint64_t)nnz, tile = (uint64_t)WR_MERBIT_LANES * (uint64_t)sigma;
  return (int64_t)(steps / tile + (steps % tile != 0));
}

/* The step with which a lane begins. */
WR_MERBIT_INLINE int64_t wr_merbit_lane_step(int64_t tile, int lane, int sigma) {
  return (tile * WR_MERBIT_LANES + lane) * sigma;
}

/* A format without its arrays. */
WR_MERBIT_INLINE wr_merbit_format wr_merbit_shape(int64_t nrows, int64_t ncols, int64_t nnz, int sigma) {
  wr_merbit_format shape;
  shape.nrows = nrows, shape.ncols = ncols, shape.nnz = nnz;
  shape.tiles = wr_merbit_tiles(nrows, nnz, sigma);
  shape.sigma = sigma, shape.wide = nnz > INT32_MAX;
  shape.tile_x = 0, shape.tile_y = 0, shape.lane = 0;
  return shape;
}

/* Bytes of the arrays, without padding: for the byte model. */
WR_MERBIT_INLINE int64_t wr_merbit_bytes(const wr_merbit_format *shape) {
  return (shape->tiles + 1) * ((shape->wide ? 8 : 4) + 4) +
         shape->tiles * WR_MERBIT_LANES * wr_merbit_lane_bytes(shape->sigma);
}

/* ---- A lane's word ---- */

WR_MERBIT_INLINE uint64_t wr_merbit_pack(uint64_t flags, int64_t y, int sigma) { return flags | (uint64_t)y << sigma; }
WR_MERBIT_INLINE uint64_t wr_merbit_flags(uint64_t word, int sigma) { return word & (((uint64_t)1 << sigma) - 1); }
WR_MERBIT_INLINE int wr_merbit_y(uint64_t word, int sigma) { return (int)(word >> sigma); }

/* ---- The path ---- */

/* The step down that ends row i. row_ptr: [nrows + 1] of int32_t, or int64_t if wide. */
WR_MERBIT_INLINE int64_t wr_merbit_row_step(const void *row_ptr, int wide, int64_t i) {
  return i + (wide ? ((const int64_t *)row_ptr)[i + 1] : ((const int32_t *)row_ptr)[i + 1]);
}

/* y, the number of rows that have ended before a step, known to be among low..high <= nrows; step - y entries have been taken
 * (merge_search of section 4.1.2). Past the end of the path, y is nrows. */
WR_MERBIT_INLINE int64_t wr_merbit_search(const void *row_ptr, int wide, int64_t low, int64_t high, int64_t step) {
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (wr_merbit_row_step(row_ptr, wide, middle) < step)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

#endif
