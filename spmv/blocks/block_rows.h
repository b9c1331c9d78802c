/* What the formats of blocks share: the value that stands for padding, and on the host a cursor over the rows of a block
 * row. */
#ifndef WR_BLOCK_ROWS_H
#define WR_BLOCK_ROWS_H

#include <stdint.h>

#include "spmv/matrix/csr.h"

#ifdef __CUDACC__
#define WR_BLOCK_INLINE static __host__ __device__ __forceinline__
#else
#define WR_BLOCK_INLINE static inline
#endif

enum { WR_BLOCK_MAX_SIDE = 16 };

/* Whether a stored value is padding, the negative zero. Compares bits, as -0 == 0. */
WR_BLOCK_INLINE int wr_is_padding_f64(double value) {
  union {
    double value;
    uint64_t bits;
  } u;
  u.value = value;
  return u.bits == (uint64_t)1 << 63;
}
WR_BLOCK_INLINE int wr_is_padding_f32(float value) {
  union {
    float value;
    uint32_t bits;
  } u;
  u.value = value;
  return u.bits == (uint32_t)1 << 31;
}

/* The rows of a block row; entries before at[i] of row i have been read. */
typedef struct wr_block_rows {
  int rows; /* fewer than asked for at the matrix's end */
  int64_t at[WR_BLOCK_MAX_SIDE], end[WR_BLOCK_MAX_SIDE];
} wr_block_rows;

/* Rows i0..i0 + side - 1, from their beginnings. */
static inline wr_block_rows wr_block_rows_open(const wr_csr *A, int64_t i0, int side) {
  wr_block_rows s;
  s.rows = A->nrows - i0 < side ? (int)(A->nrows - i0) : side;
  for (int i = 0; i < s.rows; i++) s.at[i] = A->row_ptr[i0 + i], s.end[i] = A->row_ptr[i0 + i + 1];
  return s;
}

/* The least column that has not been read; ncols at the end. */
static inline int64_t wr_block_rows_next(const wr_csr *A, const wr_block_rows *s) {
  int64_t least = A->ncols;
  for (int i = 0; i < s->rows; i++)
    if (s->at[i] < s->end[i] && A->col[s->at[i]] < least) least = A->col[s->at[i]];
  return least;
}

#endif
