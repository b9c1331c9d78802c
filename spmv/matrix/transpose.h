/* Transposes on a device, if the result is needed there: a stable sort of the entries by column, which keeps those of a
 * column in the order of their rows. Each function waits until it is done, allocates temporary memory, and uses A's device
 * view, which it makes if there is none. WR_ENOMEM, WR_EDEVICE; WR_EUNAVAILABLE without CUDA. */
#ifndef WR_DEVICE_TRANSPOSE_H
#define WR_DEVICE_TRANSPOSE_H

#include <stdint.h>

#include "spmv/matrix/csr.h"
#include "spmv/device/env.h"

#ifdef __CUDACC__
#define WR_RUN_INLINE static __host__ __device__ inline
#else
#define WR_RUN_INLINE static inline
#endif

WR_C_BEGIN

/* *out := A transposed, on env's device only; wr_csr_host then makes the same arrays, bit for bit, as wr_csr_transpose. With
 * values env must be of f64, else WR_EUSAGE, as f32 would round them. */
wr_status wr_csr_transpose_device(wr_csr *A, wr_env *env, wr_csr **out);

/* Every entry (i, j) of A := entry / by[j], or 0 where by[j] is 0; A has values and is on env's device only, else WR_EUSAGE.
 * by[ncols] is on the host. */
wr_status wr_csr_divide_columns_device(wr_csr *A, wr_env *env, const double *by);

/* counts[ncols], on the host, := the entries of each column. */
wr_status wr_csr_count_columns_device(wr_csr *A, wr_env *env, int32_t *counts);

/* ---- Their parts, also used elsewhere ---- */

/* row[count] := the rows of entries first, first + 1, ..., which are below nnz. Does not wait. */
wr_status wr_device_entry_rows(wr_env *env, int64_t nrows, const wr_csr_view *A, int64_t first, int64_t count,
                               int32_t *row);

/* Transposes a view with row pointers of either width: writes row_ptr[ncols + 1] of that width, col[nnz] and, if A has
 * values, val[nnz] of env's type. */
wr_status wr_device_transpose(wr_env *env, int64_t nrows, int64_t ncols, int64_t nnz, const wr_csr_view *A,
                              void *row_ptr, int32_t *col, void *val);

/* Contributions to the length of a run of equal keys: one for its first index, one for the index after its last. Their sum is
 * the length, which fits 31 bits, although both are taken modulo 2^32. */
WR_RUN_INLINE uint32_t wr_run_begin(int64_t at) { return 0 - (uint32_t)at; }
WR_RUN_INLINE uint32_t wr_run_end(int64_t at) { return (uint32_t)at; }

WR_C_END
#endif
