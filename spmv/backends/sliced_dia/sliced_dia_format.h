/* Sliced DIA: the diagonal format (DIA), cut into slices of 64 rows, for matrices in which neighbouring rows have their entries
 * at the same distances from the diagonal, as in stencils on a regular grid. A slice has a list of *segments*; a segment is one
 * distance, with a mask of the rows that have an entry there. A lane of a warp multiplies rows r and r + 32 of its slice.
 *
 *   WR_DIA_PAIRS    a segment's entries have one value, which it holds: nothing is stored of an entry but its bit
 *   WR_DIA_VALUES   values are stored, those of a segment one after the other, without padding
 *   WR_DIA_PATTERN  every value is 1
 *
 * Segments of a slice are in the order in which each of its rows has its entries, so a row is summed in the order that it has
 * in the matrix. With WR_DIA_PAIRS there may be several segments of one distance. Values are told apart by their bits, and
 * all of them are finite: an infinity times the 0 of a row without an entry would be a NaN.
 *
 *   A 4x4 example with slices of 4 rows (WR_DIA_VALUES)
 *       a b . .        segments: -1 1110, 0 1111, +1 0111    (masks with row 3 first)
 *       c d e .        val: c f i | a d g j | b e h
 *       . f g h
 *       . . i j                                                                                                        */
#ifndef WR_SLICED_DIA_FORMAT_H
#define WR_SLICED_DIA_FORMAT_H

#include "spmv/device/vec.h"

enum {
  WR_DIA_ROWS = 64,    /* of a slice                                                                */
  WR_DIA_ALIGN = 4,    /* a slice's values begin at a multiple of so many: 16 or 32 bytes           */
  WR_DIA_LEAST = 16,   /* entries that a segment has on average, at least                           */
  WR_DIA_MEAN = 64,    /* distances that a slice has on average, at most                            */
  WR_DIA_MOST = 512,   /* segments of a slice, at most                                              */
  WR_DIA_PAIRS_MOST = 3 /* segments with values, for each one without, with which they are worth it */
};

typedef enum wr_dia_kind { WR_DIA_PAIRS, WR_DIA_VALUES, WR_DIA_PATTERN } wr_dia_kind;

typedef struct wr_sliced_dia {
  int64_t nrows, ncols, nnz;
  wr_type type; /* of val, of value, and of the vectors */
  wr_dia_kind kind;
  int64_t slices;      /* nrows / 64, rounded up                                                            */
  int64_t segments;    /* of all slices                                                                     */
  int64_t values;      /* elements of val, the gaps between slices included                                 */
  int64_t *segment;    /* [slices + 1] segments before the slice                                            */
  int64_t *place;      /* [slices + 1] if kind is WR_DIA_VALUES: elements of val before the slice's         */
  int32_t *difference; /* [segments] column - row                                                           */
  uint64_t *mask;      /* [segments] bit r: row r of the slice has an entry                                 */
  void *value;         /* [segments] of type if kind is WR_DIA_PAIRS                                        */
  void *val;           /* [values] of type if kind is WR_DIA_VALUES; gaps are 0                             */
} wr_sliced_dia;

/* Bytes that a multiply reads of the format. */
static inline int64_t wr_sliced_dia_bytes(const wr_sliced_dia *d) {
  int64_t bytes = d->segments * 12 + (d->slices + 1) * 8, element = wr_type_bytes(d->type);
  if (d->kind == WR_DIA_PAIRS) bytes += d->segments * element;
  if (d->kind == WR_DIA_VALUES) bytes += d->values * element + (d->slices + 1) * 8;
  return bytes;
}

#endif
