/* What the files that pack interleaved blocks (bsr_interleaved.h) share. */
#ifndef WR_BSR_PACK_CUH
#define WR_BSR_PACK_CUH

#include "spmv/backends/bsr/bsr_interleaved.h"
#include "spmv/blocks/bsr_rows.cuh"

/* How blocks are cut into inner blocks: a block row into 2^log2_down inner block rows, each block of it into 2^log2_across
 * inner blocks side by side. */
struct ib_cut {
  const void *row_ptr; /* [brows + 1] of the block rows                                                               */
  const int32_t *col;  /* [blocks] block columns; NULL: columns and words are packed already, only values are written */
  int wide, log2_down, log2_across;
};

/* Inner blocks before the n-th inner block row with blocks. */
static __device__ inline int64_t ib_start(const ib_cut &k, const wr_bsr_interleaved &b, int64_t n) {
  if (n >= b.brows) return b.blocks;
  int64_t i = b.row ? b.row[n] : n, row = i >> k.log2_down;
  int64_t begin = wr_bsr_row_at(k.row_ptr, k.wide, row);
  if (k.log2_down == 0) return begin << k.log2_across;
  int64_t above = i - (row << k.log2_down), blocks = wr_bsr_row_at(k.row_ptr, k.wide, row + 1) - begin;
  return ((begin << k.log2_down) + above * blocks) << k.log2_across;
}

/* Fills b's values, columns and words from the view's rows, which have nnz entries, on env's stream; start and first are
 * filled already. *most becomes the number of rows that end in one thread block, if that is more. Without k.col only values
 * are written, and most is not used. WR_EDEVICE. */
wr_status wr_bsr_pack_values(wr_env *env, const ib_cut &k, const wr_csr_view *view, int64_t nnz,
                             const wr_bsr_interleaved *b, int *most);

#endif
