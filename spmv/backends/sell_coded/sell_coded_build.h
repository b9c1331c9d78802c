/* From rows to coded SELL (sell_coded_format.h) on a device, and back. */
#ifndef WR_SELL_CODED_BUILD_H
#define WR_SELL_CODED_BUILD_H

#include "spmv/backends/sell_coded/sell_coded_format.h"
#include "spmv/device/env.h"
#include "spmv/matrix/csr.h"

WR_C_BEGIN

/* What a table may have: pairs where they fit, distances alone, or nothing, with plain entries. */
typedef enum wr_coded_table { WR_TABLE_OF_PAIRS, WR_TABLE_OF_DISTANCES, WR_TABLE_OF_NOTHING } wr_coded_table;

/* *c := sizes and kind that A's format in this type is expected to have, from a sample of its rows; lines and words are
 * estimates. WR_EUNAVAILABLE, with what would help, if the table would have more than 255 entries or the slices too much
 * padding; WR_ENOMEM. */
wr_status wr_sell_coded_estimate(const wr_csr *A, wr_type type, wr_coded_table table, wr_sell_coded *c);

/* *c := the view's matrix on env's device, in env's type, on env's stream; waits. Errors: as above, for all of the matrix,
 * WR_EDEVICE; *c is then without arrays. */
wr_status wr_sell_coded_device_build(wr_env *env, int64_t nrows, int64_t ncols, int64_t nnz, const wr_csr_view *view,
                                     wr_coded_table table, wr_sell_coded *c);

/* c's values := those of a view of the same pattern, in the arrays that c has; waits. WR_EUNAVAILABLE: a new format of this
 * matrix would be of another kind, and c must be built again. WR_ENOMEM, WR_EDEVICE. */
wr_status wr_sell_coded_device_update(wr_env *env, const wr_csr_view *view, wr_coded_table table, wr_sell_coded *c);
void wr_sell_coded_device_free(wr_env *env, wr_sell_coded *c); /* also of a zeroed one */
int64_t wr_sell_coded_device_bytes(const wr_sell_coded *c);    /* bytes of the arrays, padding included */

/* *to := a copy on the host; waits. WR_ENOMEM, WR_EDEVICE; *to is then without arrays. */
wr_status wr_sell_coded_download(wr_env *env, const wr_sell_coded *c, wr_sell_coded *to);
void wr_sell_coded_free(wr_sell_coded *c); /* of arrays on the host; zeroed ones are fine */

/* *A := the rows of a format on the host. WR_EINTERNAL where a code is beyond the table, a column beyond the matrix, or an
 * entry behind padding. WR_ENOMEM. */
wr_status wr_sell_coded_decode(const wr_sell_coded *c, wr_csr **A);

WR_C_END
#endif
