/* From rows to MERBIT's format, on a device, and back (merbit_format.h). */
#ifndef WR_MERBIT_BUILD_H
#define WR_MERBIT_BUILD_H

#include "spmv/matrix/csr.h"
#include "spmv/device/env.h"
#include "spmv/backends/merbit/merbit_format.h"

WR_C_BEGIN

/* WR_OK if such a format is possible: sigma in 1..WR_MERBIT_MAX_SIGMA, else WR_EUSAGE; nrows, ncols in 1..WR_MAX_INDEX, nnz
 * in 0..WR_MERBIT_MAX_NNZ, and below 2^31 unless wide, else WR_EUNAVAILABLE. */
wr_status wr_merbit_check(int64_t nrows, int64_t ncols, int64_t nnz, int sigma, int wide);

/* row_ptr[nrows + 1] := the rows of a format on the host, by walking the path. Also checks every tile's start and mark and
 * every lane's y: WR_EINTERNAL with the first tile that is wrong. */
wr_status wr_merbit_decode_rows(const wr_merbit_format *format, int64_t *row_ptr);

/* Allocates the arrays of a shape on the host, not filled. WR_ENOMEM; the shape is then without arrays. */
wr_status wr_merbit_alloc(wr_merbit_format *format);
void wr_merbit_free(wr_merbit_format *format); /* frees the arrays; zeroed ones are fine */

/* ---- In builds with CUDA, and where kernels run on the CPU ---- */

/* The bytes of the arrays on a device, padding included; the arrays placed in so much memory; filled by two kernels on env's
 * stream, asynchronous, tile_x having 64 bits if the view has; and freed: zeroed ones are fine. WR_EDEVICE. */
int64_t wr_merbit_device_bytes(const wr_merbit_format *shape);
void wr_merbit_device_place(wr_merbit_format *shape, void *memory);
wr_status wr_merbit_device_fill(wr_env *env, const wr_merbit_format *format, const wr_csr_view *view);
void wr_merbit_device_free(wr_env *env, wr_merbit_format *format);

/* *to := a copy on the host; waits. WR_ENOMEM, WR_EDEVICE; *to is then without arrays. */
wr_status wr_merbit_download(wr_env *env, const wr_merbit_format *format, wr_merbit_format *to);

WR_C_END
#endif
