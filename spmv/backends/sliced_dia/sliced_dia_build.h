/* From rows to sliced DIA (sliced_dia_format.h) on a device, and back. */
#ifndef WR_SLICED_DIA_BUILD_H
#define WR_SLICED_DIA_BUILD_H

#include "spmv/backends/sliced_dia/sliced_dia_format.h"
#include "spmv/device/env.h"
#include "spmv/matrix/csr.h"

WR_C_BEGIN

/* *d := sizes and kind that A's format in this type is expected to have, from a sample of its slices; segments and values are
 * estimates. with_pairs 0: values are stored even where segments of one value would do. WR_EUNAVAILABLE, with what would help,
 * if segments would have too few entries; WR_ENOMEM. */
wr_status wr_sliced_dia_estimate(const wr_csr *A, wr_type type, int with_pairs, wr_sliced_dia *d);

/* *d := the view's matrix on env's device, in env's type, on env's stream; waits. Errors: as above, for all of the matrix,
 * WR_EDEVICE; *d is then without arrays. */
wr_status wr_sliced_dia_device_build(wr_env *env, int64_t nrows, int64_t ncols, int64_t nnz, const wr_csr_view *view,
                                     int with_pairs, wr_sliced_dia *d);
void wr_sliced_dia_device_free(wr_env *env, wr_sliced_dia *d); /* also of a zeroed one */
int64_t wr_sliced_dia_device_bytes(const wr_sliced_dia *d);    /* bytes of the arrays, padding included */

/* *to := a copy on the host; waits. WR_ENOMEM, WR_EDEVICE; *to is then without arrays. */
wr_status wr_sliced_dia_download(wr_env *env, const wr_sliced_dia *d, wr_sliced_dia *to);
void wr_sliced_dia_free(wr_sliced_dia *d); /* of arrays on the host; zeroed ones are fine */

/* *A := the rows of a format on the host. WR_EINTERNAL where a row, a column or a value is beyond the matrix. WR_ENOMEM. */
wr_status wr_sliced_dia_decode(const wr_sliced_dia *d, wr_csr **A);

WR_C_END
#endif
