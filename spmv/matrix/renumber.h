/* Renumbers the rows and columns of a square matrix alike. */
#ifndef WR_RENUMBER_H
#define WR_RENUMBER_H

#include <stdint.h>

#include "spmv/matrix/csr.h"

WR_C_BEGIN

/* *out := A with entry (i, j) at (place[i], place[j]); place[nrows] is a permutation of 0..nrows - 1. A has host arrays, and
 * *out then has host arrays. The same on any number of threads. WR_ENOMEM. */
wr_status wr_csr_renumber(const wr_csr *A, const int32_t *place, wr_csr **out);

/* The same matrix, on env's device only; wr_csr_host makes the same arrays of it, bit for bit. place is on the host. Uses A's
 * device view, makes it if there is none, and waits until it is done. With values env must be of f64, else WR_EUSAGE, as f32
 * would round them. WR_ENOMEM, WR_EDEVICE; WR_EUNAVAILABLE without CUDA. */
wr_status wr_csr_renumber_device(wr_csr *A, struct wr_env *env, const int32_t *place, wr_csr **out);

WR_C_END
#endif
