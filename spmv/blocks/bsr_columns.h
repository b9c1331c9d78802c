/* The block columns of a matrix on a device, without values. Both formats of blocks, bsr_format.h and bsr_interleaved.h, are
 * built from them. */
#ifndef WR_BSR_COLUMNS_H
#define WR_BSR_COLUMNS_H

#include "spmv/blocks/bsr_format.h"
#include "spmv/matrix/csr.h"

WR_C_BEGIN

typedef struct wr_bsr_columns {
  wr_bsr shape;     /* with row_ptr and col on the device, and without val                         */
  int64_t empty;    /* block rows without blocks                                                   */
  int borrowed;     /* row_ptr and col are the view's own, which happens for 1 x 1 only; read-only */
  void *workspace;  /* buffers of the build; freed later, as freeing waits for the device          */
  int64_t *numbers; /* [5] on the device, freed with it; the last one is 0 and free for the caller */
} wr_bsr_columns;

/* *columns := those of the view's matrix, on env's stream; waits for their number. may_borrow: blocks of 1 x 1 need no
 * arrays of their own, as long as the view lives. Errors: wr_bsr_check, WR_EUSAGE for 2^31 entries with a narrow view,
 * WR_ENOMEM, WR_EDEVICE; *columns is then without arrays. */
wr_status wr_bsr_columns_build(wr_env *env, int64_t nrows, int64_t ncols, int64_t nnz, const wr_csr_view *view, int r,
                               int c, int may_borrow, wr_bsr_columns *columns);
void wr_bsr_columns_free_workspace(wr_env *env, wr_bsr_columns *columns); /* frees all but shape's arrays */
void wr_bsr_columns_free(wr_env *env, wr_bsr_columns *columns); /* also of a zeroed one */

WR_C_END
#endif
