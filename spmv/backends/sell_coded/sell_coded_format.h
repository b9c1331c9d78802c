/* Sliced ELLPACK (SELL), with coded entries for matrices in which few distances of a column from its row occur, as in stencils
 * on a regular grid. 32 rows are a slice; lane r of a warp multiplies row r of its slice. The slice is padded to its longest
 * row, and entry k of all 32 rows is a line. A coded entry is one byte, its place in a table of at most 255:
 *
 *   WR_CODED_PAIRS    (column - row, value) pairs: there is nothing to be read of an entry but the byte
 *   WR_CODED_VALUES   column - row; values are stored beside the codes
 *   WR_CODED_PATTERN  column - row; every value is 1
 *
 * The bytes of four lines of a row are a word, the first in its lowest bits; code 255 is padding and is not multiplied. Plain
 * entries, in a matrix of any kind with rows of like length, are a word each, their column; all bits are ones in padding:
 *
 *   WR_PLAIN_VALUES   columns; values are stored beside them
 *   WR_PLAIN_PATTERN  columns; every value is 1
 *
 *   A 4x4 example with slices of 2 rows, and table 0: -1  1: 0  2: +1 (WR_CODED_VALUES)
 *       a b . .        slice 0: word of row 0: 1 2 255 255    word of row 1: 0 1 2 255
 *       c d e .          val, line by line: a c | b d | 0 e
 *       . f g h        slice 1: word of row 2: 0 1 2 255      word of row 3: 0 1 255 255
 *       . . i j          val: f i | g j | h 0
 *
 * The table is sorted, by difference and then by the bits of the value, so it does not depend on how the entries were found.
 * Values are told apart by their bits: 0 and -0 are two values, as are two NaNs. */
#ifndef WR_SELL_CODED_FORMAT_H
#define WR_SELL_CODED_FORMAT_H

#include "spmv/device/vec.h"

enum {
  WR_CODED_ROWS = 32,  /* of a slice                                       */
  WR_CODED_MOST = 255, /* entries of the table                             */
  WR_CODED_NONE = 255, /* the code of padding                              */
  WR_CODED_PADDING = 4 /* most stored entries for each one of the matrix   */
};

typedef enum wr_coded_kind {
  WR_CODED_PAIRS,
  WR_CODED_VALUES,
  WR_CODED_PATTERN,
  WR_PLAIN_VALUES,
  WR_PLAIN_PATTERN
} wr_coded_kind;

typedef struct wr_sell_coded {
  int64_t nrows, ncols;
  wr_type type; /* of val, of a table's values, and of the vectors */
  wr_coded_kind kind;
  int count;           /* entries of the table; plain: 0                                  */
  int64_t slices;      /* nrows / 32, rounded up                                          */
  int64_t lines;       /* of all slices                                                   */
  int64_t words;       /* of a lane in all slices: each slice's lines / 4, rounded up; plain: the lines */
  int32_t *line;       /* [slices + 1] lines before the slice if kind is WR_CODED_VALUES  */
  int32_t *word;       /* [slices + 1] words before the slice                             */
  uint32_t *code;      /* [words][32]                                                     */
  void *val;           /* [lines][32] of type if values are stored; padding is 0          */
  int32_t *difference; /* [256] column - row; 0 from count on. Plain: NULL                */
  double *value;       /* [256] if kind is WR_CODED_PAIRS: values as type has them; 0 from count on */
} wr_sell_coded;

#if defined(__CUDACC__)
#define WR_CODED_INLINE static constexpr __host__ __device__ inline
#elif defined(__cplusplus)
#define WR_CODED_INLINE static constexpr inline
#else
#define WR_CODED_INLINE static inline
#endif

WR_CODED_INLINE int wr_coded_is_plain(wr_coded_kind kind) {
  return kind == WR_PLAIN_VALUES || kind == WR_PLAIN_PATTERN;
}
WR_CODED_INLINE int wr_coded_has_values(wr_coded_kind kind) {
  return kind == WR_CODED_VALUES || kind == WR_PLAIN_VALUES;
}

/* [slices + 1] lines before the slice, if values are stored. */
WR_CODED_INLINE const int32_t *wr_coded_lines(const wr_sell_coded *c) {
  return wr_coded_is_plain(c->kind) ? c->word : c->line;
}

/* Entries of a word. */
WR_CODED_INLINE int wr_coded_in_word(wr_coded_kind kind) { return wr_coded_is_plain(kind) ? 1 : 4; }

/* Bytes that a multiply reads of the format, the table once. */
static inline int64_t wr_sell_coded_bytes(const wr_sell_coded *c) {
  int64_t pair = c->kind == WR_CODED_PAIRS ? 4 + 8 : 4;
  int64_t bytes = c->words * WR_CODED_ROWS * 4 + (c->slices + 1) * 4 + c->count * pair;
  if (wr_coded_has_values(c->kind)) bytes += c->lines * WR_CODED_ROWS * wr_type_bytes(c->type);
  if (c->kind == WR_CODED_VALUES) bytes += (c->slices + 1) * 4;
  return bytes;
}

#endif
