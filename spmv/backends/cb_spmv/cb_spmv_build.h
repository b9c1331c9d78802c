/* From rows to blocks of 16 x 16, on a device, and back (cb_spmv_format.h). */
#ifndef WR_CB_SPMV_BUILD_H
#define WR_CB_SPMV_BUILD_H

#include "spmv/backends/cb_spmv/cb_spmv_format.h"
#include "spmv/device/env.h"
#include "spmv/matrix/csr.h"

WR_C_BEGIN

/* WR_OK if such a format is possible: th0 in 0..100, th1 in 0..th2, th2 in 1..257 (257: no dense blocks), list_bytes 0 or at
 * least 256, else WR_EUSAGE; nrows, ncols in 1..WR_MAX_INDEX, nnz in 0..WR_CB_MAX_NNZ, else WR_EUNAVAILABLE. */
wr_status wr_cb_check(int64_t nrows, int64_t ncols, int64_t nnz, const wr_cb_options *options);

/* *shape := the counts that A's format will have, without memory: exact for small matrices, else scaled up from a sample of
 * block rows with some ten thousand entries. For plans and the byte model. Errors: wr_cb_check. */
wr_status wr_cb_estimate(const wr_csr *A, const wr_cb_options *options, wr_type type, wr_cb_format *shape);

/* The memory of a format with known counts, on the host, not filled. WR_ENOMEM; *format is then without. */
wr_status wr_cb_alloc(wr_cb_format *format);
void wr_cb_free(wr_cb_format *format); /* frees the memory; without any it is fine */

/* *A := the rows of a format on the host; values in f64, or a pattern if asked for (then all must be 1, else WR_EINTERNAL).
 * What is stored is checked on the way: WR_EINTERNAL with the first block or list that is not as cb_spmv_format.h says. Sizes
 * and wide are trusted. WR_ENOMEM. */
wr_status wr_cb_decode(const wr_cb_format *format, int as_pattern, wr_csr **A);

/* ---- In builds with CUDA, and where kernels run on the CPU ---- */

/* *format := the view's matrix in blocks on env's device, in env's type, all on env's stream; waits for counts. While it runs
 * it needs memory for blocks, offsets and columns twice. Errors: wr_cb_check, WR_EUSAGE for 2^31 entries with a narrow view,
 * WR_ENOMEM, WR_EDEVICE; *format is then without memory. */
wr_status wr_cb_device_build(wr_env *env, int64_t nrows, int64_t ncols, int64_t nnz, const wr_csr_view *view,
                             const wr_cb_options *options, wr_cb_format *format);

/* The values of a format on env's device := those of a view of the same pattern, on env's stream; blocks and lists stay.
 * WR_EDEVICE. */
wr_status wr_cb_device_refill(wr_env *env, const wr_csr_view *view, const wr_cb_format *format);
void wr_cb_device_free(wr_env *env, wr_cb_format *format); /* frees the memory; without any it is fine */
int64_t wr_cb_device_bytes(const wr_cb_format *format);   /* what it takes on a device, padding included */

/* *to := a copy on the host; waits. WR_ENOMEM, WR_EDEVICE; *to is then without memory. */
wr_status wr_cb_download(wr_env *env, const wr_cb_format *format, wr_cb_format *to);

WR_C_END
#endif
