/* BCCOO, blocked compressed coordinates (yaSpMV, section 2): the blocks of r x c that hold an entry, in row order, with one bit
 * a block for its row. A lane multiplies `tile` consecutive blocks, a thread block those of all its lanes. As in
 * spmv/backends/bsr/bsr_interleaved.h the j-th blocks of 32 lanes lie together (the offline transpose of section 3.2.2), and
 * each row of a block is a stream of its own.
 *
 *   The 6x6 example of csr.h with r = 2, c = 1, tile = 3, and 3 lanes for 32. Its blocks are (column: values)
 *     row 0: 0: a.  1: .c  2: b.  4: .d     row 1: 0: .e  2: .f  3: .g  5: .h     row 2: 4: i.  5: .j
 *
 *     lane           0         1         2        0     (the second warp)
 *     flags        0 0 0     1 0 0     0 1 0      1       bit j: block j is the last of its block row (the paper's 0)
 *     entry          0         0         1        0       block rows that end in the thread block before the lane
 *     base           0         0         0        4       first column of the block row in which the lane begins
 *     columns      0 1 2     4 0 2     3 5 4      5
 *     differences  0 1 1     4 0 2     3 2 4      1       from the column before; behind a row's end from the first column of
 *                                                         the row that ended, in a lane's first place from base
 *     val          a . . . d g | . . . c e h | b . i . f .      line k: the rows of the k-th blocks of all lanes
 *
 * A difference d is stored as the 16-bit code d - low, where low is chosen for the matrix, and the code 65535 stands for one
 * that is not in low..low + 65534: its column is the next of `escaped`, in the order of a warp's lines and of the lanes in a
 * line. In a mesh a row's columns are the row before shifted by one, so differences behind a row's end are small, and codes
 * that escape rare. In the paper the difference is from the column before everywhere, -1 escapes, and an escaped column is
 * read from the array of all columns (`full`); WR_BCCOO_PAPER is this.
 *
 * BCCOO+ (section 2.3): the matrix is cut into vertical slices, which are stacked: block row i of slice s is block row s * (all
 * block rows) + i of the format, and columns stay those of the matrix. Each slice's products are stored and then combined.
 *
 * Block rows without blocks have no flag. If there are any, `row` numbers those with blocks. A block that would reach beyond
 * the last column begins so much further to the left, with padding on its left side. Padding is the negative zero, as in
 * spmv/blocks/bsr_format.h. */
#ifndef WR_YASPMV_FORMAT_H
#define WR_YASPMV_FORMAT_H

#include "spmv/blocks/block_rows.h"
#include "spmv/device/vec.h"

enum {
  WR_BCCOO_MAX_R = 4,         /* height of a block              */
  WR_BCCOO_MAX_C = 4,         /* width                          */
  WR_BCCOO_MAX_TILE = 128,    /* blocks of a lane               */
  WR_BCCOO_MAX_THREADS = 512, /* threads of a thread block      */
  WR_BCCOO_MAX_SLICES = 32,
  WR_BCCOO_ESCAPE = 65535,
  WR_BCCOO_NARROW_COLUMNS = 65536 /* most block columns for 16-bit columns */
};
#define WR_BCCOO_OPEN 0x80000000u

typedef enum wr_bccoo_columns {
  WR_BCCOO_WIDE,        /* block columns of 32 bits                           */
  WR_BCCOO_NARROW,      /* block columns of 16 bits, at most 65536 of them    */
  WR_BCCOO_DIFFERENCES, /* 16-bit codes of differences, as above              */
  WR_BCCOO_PAPER        /* 16-bit differences with the paper's escape         */
} wr_bccoo_columns;

typedef struct wr_bccoo {
  int64_t nrows, ncols;
  wr_type type;           /* of val and of the vectors                                                                     */
  int r, c;               /* of a block                                                                                    */
  int tile;               /* blocks of a lane                                                                              */
  int threads;            /* of a thread block                                                                             */
  int slices;             /* 1: BCCOO; more: BCCOO+                                                                        */
  int valued;             /* 0: a pattern in blocks of 1 x 1, which needs no values                                         */
  wr_bccoo_columns columns;
  int32_t low;            /* the least difference of the window                                                            */
  int64_t all_rows;       /* block rows of the matrix, nrows / r rounded up                                                */
  int64_t blocks;         /* stored                                                                                        */
  int64_t brows;          /* block rows with blocks, of all slices                                                         */
  int64_t empty;          /* block rows of the matrix without blocks; only counted if slices is 1                          */
  int64_t grid;           /* thread blocks: blocks / (threads * tile), rounded up                                          */
  int64_t escapes;        /* differences outside the window                                                                */
  int shared_rows;        /* most block rows that end in one thread block                                                  */
  void *val;              /* [warps][tile][c][r][32] of type; NULL if not valued                                            */
  void *code;             /* [warps][tile][32] int32_t if columns is WR_BCCOO_WIDE, else uint16_t; 0 past the end          */
  void *flag;             /* [warps][words][32], of wr_bccoo_flag_bytes each; bit k % 32 of word k / 32: block k           */
  uint16_t *entry;        /* [warps][32] block rows that end in the thread block before the lane                           */
  uint32_t *first;        /* [grid + 1] block rows that end before the thread block; WR_BCCOO_OPEN: the next began before it */
  int32_t *base;          /* [warps][32] with differences, the paper's excepted: as above; 0 past the end                  */
  int64_t *escape_from;   /* [warps + 1] with differences, the paper's excepted: escaped columns before the warp           */
  int32_t *escaped;       /* [escapes] their block columns                                                                 */
  int32_t *full;          /* [warps][tile][32] WR_BCCOO_PAPER: block columns                                               */
  int32_t *row;           /* [brows] number of the block row; NULL: all have blocks                                        */
  int32_t *empty_row;     /* [empty] block rows of the matrix without blocks, if slices is 1                               */
} wr_bccoo;

WR_BLOCK_INLINE int64_t wr_bccoo_warps(const wr_bccoo *b) { return b->grid * (b->threads / 32); }

/* Bytes of a word of flags, and words of a lane: the paper's types of the bit flag array, by the blocks of a lane. */
WR_BLOCK_INLINE int wr_bccoo_flag_bytes(int tile) { return tile <= 8 ? 1 : tile <= 16 ? 2 : 4; }
WR_BLOCK_INLINE int wr_bccoo_flag_words(int tile) { return (tile + 31) / 32; }

WR_BLOCK_INLINE int wr_bccoo_has_differences(const wr_bccoo *b) {
  return b->columns == WR_BCCOO_DIFFERENCES || b->columns == WR_BCCOO_PAPER;
}

/* Bytes that a multiply reads of the format; with the paper's escapes at most, as if every sector of `full` had an escape. */
static inline int64_t wr_bccoo_bytes(const wr_bccoo *b) {
  int64_t warps = wr_bccoo_warps(b), lanes = warps * 32, places = lanes * b->tile;
  int64_t bytes =
      (b->valued ? places * b->r * b->c * wr_type_bytes(b->type) : 0) + places * (b->columns == WR_BCCOO_WIDE ? 4 : 2);
  bytes += lanes * (wr_bccoo_flag_bytes(b->tile) * wr_bccoo_flag_words(b->tile) + 2) + (b->grid + 1) * 4;
  if (b->columns == WR_BCCOO_DIFFERENCES) bytes += lanes * 4 + (warps + 1) * 8;
  bytes += b->escapes * 4;
  if (b->columns == WR_BCCOO_PAPER) bytes += places * 4;
  if (b->row) bytes += (b->brows + b->empty) * 4;
  return bytes;
}

#endif
