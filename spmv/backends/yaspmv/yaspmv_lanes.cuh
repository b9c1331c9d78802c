/* Reading a lane of BCCOO (yaspmv_format.h) block by block: for the builder, for decoding and for exact sums. The kernel of the
 * multiply has the same in batches. */
#ifndef WR_YASPMV_LANES_CUH
#define WR_YASPMV_LANES_CUH

#include "spmv/backends/yaspmv/yaspmv_format.h"
#include "spmv/kernel/launch.cuh"

#define BCCOO_INLINE static __host__ __device__ inline

BCCOO_INLINE uint32_t bccoo_load_flags(const void *flag, int bytes, int64_t at) {
  return bytes == 1   ? ((const uint8_t *)flag)[at]
         : bytes == 2 ? ((const uint16_t *)flag)[at]
                      : ((const uint32_t *)flag)[at];
}

BCCOO_INLINE void bccoo_store_flags(void *flag, int bytes, int64_t at, uint32_t flags) {
  if (bytes == 1)
    ((uint8_t *)flag)[at] = (uint8_t)flags;
  else if (bytes == 2)
    ((uint16_t *)flag)[at] = (uint16_t)flags;
  else
    ((uint32_t *)flag)[at] = flags;
}

/* The column from which the next difference is taken, and the first one of the block row, if the lane has begun in it. */
struct bccoo_reference {
  int32_t column, row_first;
  bool fresh; /* the last block ended a row */
};

BCCOO_INLINE bccoo_reference bccoo_begin(int32_t base) { return {base, base, false}; }

/* at := the reference behind a block in `column`, which ends its row if `ends`. */
BCCOO_INLINE void bccoo_step(bccoo_reference &at, int32_t column, bool ends, bool as_paper) {
  if (at.fresh) at.row_first = column;
  at.column = ends && !as_paper ? at.row_first : column;
  at.fresh = ends;
}

/* The code that escapes; with the paper's, that of -1. */
BCCOO_INLINE uint16_t bccoo_escape(wr_bccoo_columns columns) {
  return columns == WR_BCCOO_PAPER ? (uint16_t)((1 << 15) - 1) : (uint16_t)WR_BCCOO_ESCAPE;
}

BCCOO_INLINE uint16_t bccoo_code(wr_bccoo_columns columns, int32_t low, int32_t difference) {
  int64_t code = (int64_t)difference - low, most = columns == WR_BCCOO_PAPER ? 65535 : WR_BCCOO_ESCAPE - 1;
  return code < 0 || code > most ? bccoo_escape(columns) : (uint16_t)code;
}

/* First column of a block in block column j. */
BCCOO_INLINE int64_t bccoo_first_column(int c, int64_t ncols, int64_t j) {
  return j * c + c <= ncols ? j * c : ncols - c;
}

/* A lane that is being read. */
struct bccoo_reader {
  bccoo_reference at;
  uint32_t flags; /* of the blocks k / 32 * 32 on */
};

BCCOO_INLINE bccoo_reader bccoo_open(const wr_bccoo &b, int64_t warp, int lane) {
  return {bccoo_begin(b.base ? b.base[warp * 32 + lane] : 0), 0};
}

/* Escapes of the warp before the k-th block of `lane`. */
BCCOO_INLINE int64_t bccoo_escapes_before(const wr_bccoo &b, int64_t warp, int lane, int k) {
  const uint16_t *code = (const uint16_t *)b.code + warp * b.tile * 32;
  int64_t count = 0;
  for (int n = 0; n < k * 32 + lane; n++) count += code[n] == WR_BCCOO_ESCAPE;
  return count;
}

/* The block column of the k-th block; every k from 0 on must be read in turn. *ends: whether it ends a block row. */
BCCOO_INLINE int32_t bccoo_read(const wr_bccoo &b, bccoo_reader &reader, int64_t warp, int lane, int k, bool *ends) {
  int64_t place = (warp * b.tile + k) * 32 + lane;
  if (k % 32 == 0)
    reader.flags = bccoo_load_flags(b.flag, wr_bccoo_flag_bytes(b.tile),
                                    (warp * wr_bccoo_flag_words(b.tile) + k / 32) * 32 + lane);
  *ends = reader.flags >> k % 32 & 1;
  if (b.columns == WR_BCCOO_WIDE) return ((const int32_t *)b.code)[place];
  uint16_t code = ((const uint16_t *)b.code)[place];
  if (b.columns == WR_BCCOO_NARROW) return code;
  int32_t column = reader.at.column + b.low + code;
  if (code == bccoo_escape(b.columns))
    column = b.full ? b.full[place] : b.escaped[b.escape_from[warp] + bccoo_escapes_before(b, warp, lane, k)];
  bccoo_step(reader.at, column, *ends, b.columns == WR_BCCOO_PAPER);
  return column;
}

#endif
