/* Which rows and entries of a matrix the features are taken from, and what is counted of them: the same on the host
 * (matrix_features.c) and on a device (features_cuda.cu). All counts are sums or maxima of integers, so any order of adding
 * gives the same.
 *
 * Rows are cut into at most 8192 blocks of equal length, a multiple of 32 rows, and the blocks into 32 zones. Of each zone the
 * block with the most entries, the first of equal ones, is walked in full; of each other block 32 rows. So a row that
 * is much longer than the others of its zone is found wherever it is, and a matrix of up to 262 144 rows is walked in full. */
#ifndef WR_FEATURE_SAMPLE_H
#define WR_FEATURE_SAMPLE_H

#include "config/hash.h"
#include "spmv/choose/matrix_features.h"

#if defined(__CUDACC__) || defined(WR_SIMT)
#define WR_FEATURE_INLINE static __host__ __device__ inline
#else
#define WR_FEATURE_INLINE static inline
#endif

enum {
  WR_ZONES = 32,
  WR_ZONE_BLOCKS = 256,   /* at most, of a zone                                                            */
  WR_GATHERS = 2048,      /* of 32 consecutive entries that are looked at                                  */
  WR_ROW_GROUPS = 256,    /* of 32 rows, of each of which so many entries are looked at:                   */
  WR_GROUP_STEPS = 32,
  WR_TILES = 64,          /* of consecutive entries that are looked at, of                                 */
  WR_TILE_CHUNKS = 16,    /* chunks each, a chunk being what a warp of lane_csr takes at a time:           */
  WR_TILE_CHUNK = 256,
  WR_TILE = WR_TILE_CHUNKS * WR_TILE_CHUNK,
  WR_TILE_SLOTS = 2 * WR_TILE, /* of the set of a tile's sectors                                      */
  WR_NARROW = 1 << 15,    /* columns of a window                                                          */
  WR_TESTED = 8192,       /* entries that tell the hubs' share                                             */
  WR_HUB_SLOTS = 1 << 17, /* of the set of hubs: more than twice as many as elements of f32 in WR_HUB_BYTES */
  WR_SECTOR_BYTES = 32
};

/* Of rows that are walked in full, and of the others that are looked at. */
enum { WR_ROWS, WR_ENTRIES, WR_SQUARES, WR_SQUARES_HIGH, WR_STEPS, WR_ROW_COUNTS };

enum {
  WR_WALKED = 0,                         /* WR_ROWS of them, their WR_ENTRIES, and so on:                               */
  WR_OTHERS = WR_ROW_COUNTS,             /* WR_SQUARES and WR_SQUARES_HIGH: sums of the lower and upper 32 bits of the  */
  WR_MOST = 2 * WR_ROW_COUNTS,           /* squares of lengths; WR_STEPS: sum of the longest rows of groups of 32       */
  WR_GATHERED, WR_GATHER_SECTORS,        /* entries, and different sectors of x, of WR_GATHERS                          */
  WR_ROW_GATHERED, WR_ROW_SECTORS,       /* and of WR_ROW_GROUPS                                                        */
  WR_TILED, WR_TILE_SECTORS,             /* and of WR_TILES                                                             */
  WR_CHUNKED, WR_NARROW_CHUNKS,          /* chunks of these, and those whose columns lie in two windows                 */
  WR_FOUND,                              /* of WR_TESTED, in columns of the set of hubs                                 */
  WR_FEATURE_COUNTS
};

/* Groups of 32 among so many rows or entries, the last one of the rest. */
WR_FEATURE_INLINE int64_t wr_groups_of(int64_t n) { return (n + WR_FEATURE_ROWS - 1) / WR_FEATURE_ROWS; }

/* The rows of a block; the number of blocks. */
WR_FEATURE_INLINE int64_t wr_sampled_stride(int64_t nrows) {
  int64_t blocks = WR_ZONES * WR_ZONE_BLOCKS, each = (wr_groups_of(nrows) + blocks - 1) / blocks;
  return WR_FEATURE_ROWS * (each > 0 ? each : 1);
}
WR_FEATURE_INLINE int64_t wr_sampled_blocks(int64_t nrows) {
  int64_t stride = wr_sampled_stride(nrows);
  return (nrows + stride - 1) / stride;
}

/* The first row of a block; that of block wr_sampled_blocks is nrows. */
WR_FEATURE_INLINE int64_t wr_block_begin(int64_t nrows, int64_t block) {
  int64_t first = block * wr_sampled_stride(nrows);
  return first < nrows ? first : nrows;
}

/* The first row of the group of 32 that is looked at in a block that is not walked: pseudo-random, as lengths may repeat with
 * powers of 2. */
WR_FEATURE_INLINE int64_t wr_block_sample(int64_t nrows, int64_t block) {
  int64_t first = wr_block_begin(nrows, block), groups = wr_groups_of(wr_block_begin(nrows, block + 1) - first);
  return first + (int64_t)(wr_hash(3, (uint64_t)block) % (uint64_t)groups) * WR_FEATURE_ROWS;
}

/* The first block of a zone; that of zone WR_ZONES is the number of blocks. */
WR_FEATURE_INLINE int64_t wr_zone_begin(int64_t blocks, int zone) { return zone * blocks / WR_ZONES; }

/* How many of `all` groups are looked at. */
WR_FEATURE_INLINE int64_t wr_at_most(int64_t all, int64_t most) { return all < most ? all : most; }

/* The first of the g-th of `count` groups of 32, spread evenly over `all` of them. */
WR_FEATURE_INLINE int64_t wr_sampled_group(int64_t g, int64_t count, int64_t all) {
  return g * all / count * WR_FEATURE_ROWS;
}

/* Tiles of so many entries, the last one of the rest; the first entry of the g-th of those that are looked at. */
WR_FEATURE_INLINE int64_t wr_tiles_of(int64_t nnz) { return (nnz + WR_TILE - 1) / WR_TILE; }
WR_FEATURE_INLINE int64_t wr_tile_begin(int64_t nnz, int64_t g) {
  int64_t all = wr_tiles_of(nnz), count = wr_at_most(all, WR_TILES);
  return g * all / count * WR_TILE;
}

/* Where the search for a sector, plus 1, begins in the set of a tile's. */
WR_FEATURE_INLINE uint32_t wr_tile_slot(uint32_t sector) { return sector * UINT32_C(0x9e3779b1) >> 19; }

/* A pseudo-random entry of the n-th of `count` equal ranges, count <= nnz. */
WR_FEATURE_INLINE int64_t wr_drawn_entry(int64_t nnz, int64_t n, int64_t count) {
  int64_t length = nnz / count;
  uint64_t mixed = (uint64_t)(n + 1) * UINT64_C(0x9e3779b97f4a7c15);
  return n * length + (int64_t)((mixed >> 32) % (uint64_t)length);
}

WR_FEATURE_INLINE int64_t wr_tested_entry(int64_t nnz, int64_t n) {
  return (int64_t)((uint64_t)n * UINT64_C(0xd1342543de82ef95) % (uint64_t)nnz);
}

/* Where the search for a column begins in the set of hubs. */
WR_FEATURE_INLINE uint32_t wr_hub_slot(int32_t column) { return (uint32_t)column * UINT32_C(0x9e3779b1) >> 15; }

/* Entries that are drawn for the set of hubs; 0: all elements of x have room. Called on the host alone. */
static inline int64_t wr_hub_draws(int64_t ncols, int64_t nnz, wr_type type) {
  int64_t most = WR_HUB_BYTES / wr_type_bytes(type);
  return ncols <= most ? 0 : most < nnz ? most : nnz;
}

WR_C_BEGIN

/* *features := those of A by counts[WR_FEATURE_COUNTS]. Of A the sizes are read, and whether there are values. */
void wr_features_of_counts(const wr_csr *A, wr_type type, const int64_t *counts, wr_matrix_features *features);

WR_C_END
#endif
