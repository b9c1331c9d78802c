/* Builds the library's formats on the device: slices (SELL) from rows, and blocks stored by columns from blocks stored by
 * rows (BSR).
 *
 * Sliced ELLPACK: `slice` consecutive rows, each padded to the longest of them, are stored column by column. The example of
 * csr.h with slices of 2 rows (- is padding: column -1, value 0):
 *
 *   rows 0, 1   a b     rows 2, 3   - - - -     rows 4, 5   i       offset [0 4 12 14]
 *               c d                 e f g h                 j       col    [0 1 2 4 | - 0 - 2 - 3 - 5 | 4 5]
 *                                                                   val    [a c b d | - e - f - g - h | i j]
 * */
#ifndef WR_CUSPARSE_BUILD_H
#define WR_CUSPARSE_BUILD_H

#include "spmv/spmv.h"

WR_C_BEGIN

typedef struct wr_sell {
  int64_t nrows, nslices;
  int64_t size; /* entries and padding, below 2^31; rows of the last slice past nrows are padding */
  int32_t slice;
  int32_t *offset; /* [nslices + 1] on the device */
  int32_t *col;    /* [size] on the device        */
  void *val;       /* [size] of env's type        */
} wr_sell;

/* Launches on env's stream. A view's row pointers must be 32-bit. WR_EDEVICE when a launch is refused. */

/* size[nslices] := places that each slice takes: its longest row, times slice. */
wr_status wr_sell_sizes(wr_env *env, const wr_sell *sell, const wr_csr_view *A, int64_t *size);

/* Fills col and val of the slices from their offsets; size > 0. */
wr_status wr_sell_fill(wr_env *env, const wr_sell *sell, const wr_csr_view *A);

/* Transposes every block of val[blocks][side][side], of env's type, in place; this turns storage by rows into storage by
 * columns, and vice versa. blocks * side * side < 2^31, which also bounds the launch. */
wr_status wr_blocks_transpose(wr_env *env, int64_t blocks, int side, void *val);

WR_C_END
#endif
