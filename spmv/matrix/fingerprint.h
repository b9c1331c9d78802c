/* A number by which the structure of a matrix on a device is known again. */
#ifndef WR_FINGERPRINT_H
#define WR_FINGERPRINT_H

#include "spmv/device/env.h"
#include "spmv/matrix/csr.h"

WR_C_BEGIN

/* *fingerprint := the sum, modulo 2^64, of wr_hash(col[k], k) over all entries k and of wr_hash(row_ptr[i], nnz + i) over all
 * nrows + 1 row pointers i (config/hash.h). Matrices with as many rows, columns and entries and the same fingerprint have the
 * same entries at the same places, up to a chance of about 2^-64; their values may differ. Reads the indices once and waits.
 * WR_ENOMEM, WR_EDEVICE. */
wr_status wr_csr_fingerprint(wr_env *env, int64_t nrows, int64_t nnz, const wr_csr_view *view, uint64_t *fingerprint);

WR_C_END
#endif
