/* Block compressed sparse rows: the matrix is cut into blocks of r x c, and those with an entry are stored as dense blocks
 * (report, section 3.3).
 *
 *   The 6x6 example of csr.h with r = 2, c = 3:
 *
 *     a . b | . . .       row_ptr [0 2 4 5]        blocks before a block row
 *     . c . | . d .       col     [0 1 | 0 1 | 1]  block columns, ascending in a block row
 *     ------+------       val     [a . b . c .]  [. . . . d .]  [. . . e . f]  [. . . g . h]  [. i . . . j]
 *     . . . | . . .
 *     e . f | g . h       a block is r rows of c values; a point is padding, WR_BSR_PADDING
 *     ------+------
 *     . . . | . i .       6 = 3 block rows of 2 = 2 block columns of 3. Where r or c does not divide the matrix, the last
 *     . . . | . . j       blocks reach beyond it: padding too, and x and y end before it.
 *
 * Padding is the negative zero; a zero of the matrix is stored as the positive one. So the format tells them apart. A kernel
 * multiplies padding like any value; only if a row's sum is NaN is it computed again without padding, because padding times
 * an infinity or NaN in x must not reach rows that do not use that element of x. */
#ifndef WR_BSR_FORMAT_H
#define WR_BSR_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#include "spmv/blocks/block_rows.h"
#include "spmv/device/vec.h"

enum { WR_BSR_MAX_SIDE = WR_BLOCK_MAX_SIDE };

/* Limit on blocks * r * c, so that sizes in bytes fit 63 bits: 12 bytes for each value (f64 and a column) plus row_ptr. */
#define WR_BSR_MAX_VALUES ((int64_t)1 << 59)

typedef struct wr_bsr {
  int64_t nrows, ncols;  /* of the matrix                                                             */
  int64_t nnz;           /* of the matrix: its own entries, zeros included, padding not               */
  int64_t brows, bcols;  /* nrows / r and ncols / c, rounded up                                       */
  int64_t blocks;        /* stored                                                                    */
  int r, c;              /* 1..WR_BSR_MAX_SIDE each                                                   */
  wr_type type;          /* of val                                                                    */
  int wide;              /* 0: row_ptr is int32_t; 1: int64_t, as needed when blocks >= 2^31          */
  void *row_ptr;         /* [brows + 1] blocks before a block row                                     */
  int32_t *col;          /* [blocks] block columns, strictly ascending within a block row             */
  void *val;             /* [blocks][r][c] of type; a pattern's entries are 1                         */
} wr_bsr;

/* The shape of a matrix in blocks of r x c: no arrays, and blocks is 0. */
static inline wr_bsr wr_bsr_shape(int64_t nrows, int64_t ncols, int64_t nnz, int r, int c, wr_type type) {
  wr_bsr b;
  b.nrows = nrows, b.ncols = ncols, b.nnz = nnz;
  b.brows = (nrows + r - 1) / r, b.bcols = (ncols + c - 1) / c, b.blocks = 0;
  b.r = r, b.c = c, b.type = type, b.wide = 0;
  b.row_ptr = NULL, b.col = NULL, b.val = NULL;
  return b;
}

/* Bytes of the arrays, without padding of allocations: what a kernel reads of them. */
static inline int64_t wr_bsr_bytes(const wr_bsr *b) {
  return (b->brows + 1) * (b->wide ? 8 : 4) + b->blocks * (4 + (int64_t)b->r * b->c * wr_type_bytes(b->type));
}

#endif
