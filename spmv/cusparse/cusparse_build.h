/* What the library's COO wants beside columns and values, made on the device. */
#ifndef WR_CUSPARSE_BUILD_H
#define WR_CUSPARSE_BUILD_H

#include "spmv/spmv.h"

#ifdef __cplusplus
extern "C" {
#endif

/* row[nnz] := the row of every entry, on env's stream; nnz > 0, and the view's row pointers are 32-bit. WR_EDEVICE when the
 * launch is refused. */
wr_status wr_coo_fill(wr_env *env, int64_t nrows, int64_t nnz, const wr_csr_view *A, int32_t *row);

#ifdef __cplusplus
}
#endif
#endif
