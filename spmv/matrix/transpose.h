/* Transposing on a device, where the rows are wanted there: a stable sort of the entries by column, which leaves those of a
 * column in the order of their rows. Each function waits until it is done, allocates what it needs for a while, and uses
 * A's device view, which it makes if there is none. WR_ENOMEM, WR_EDEVICE; WR_EUNAVAILABLE without CUDA. */
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

#ifdef __cplusplus
extern "C" {
#endif

/* *out := A transposed, on env's device alone; brought to the host (wr_csr_host) it is what wr_csr_transpose makes, bit for
 * bit. With values env is an f64 one, else WR_EUSAGE: values in f32 could not be brought back as they were. */
wr_status wr_csr_transpose_device(wr_csr *A, wr_env *env, wr_csr **out);

/* Entry (i, j) of A, which has values and is on env's device alone, := entry / by[j], or 0 where by[j] is 0. by[ncols] is on
 * the host. WR_EUSAGE for another matrix. */
wr_status wr_csr_divide_columns_device(wr_csr *A, wr_env *env, const double *by);

/* counts[ncols], on the host, := the entries of each column. */
wr_status wr_csr_count_columns_device(wr_csr *A, wr_env *env, int32_t *counts);

/* ---- What they are made of ---- */

/* row[count] := the rows of entries first, first + 1, ..., which lie below nnz = the last row pointer. Does not wait. */
wr_status wr_device_entry_rows(wr_env *env, int64_t nrows, const wr_csr_view *A, int64_t first, int64_t count,
                               int32_t *row);

/* The transposition itself, of a view with row pointers of either width: row_ptr[ncols + 1] of that width, col[nnz] and, where
 * A has values, val[nnz] of env's type are overwritten. */
wr_status wr_device_transpose(wr_env *env, int64_t nrows, int64_t ncols, int64_t nnz, const wr_csr_view *A,
                              void *row_ptr, int32_t *col, void *val);

/* A run of equal keys begins at place `at`, or ends before it: what that adds to its length. Together they are the length,
 * which fits 31 bits, whatever the places: they are taken modulo 2^32. */
WR_RUN_INLINE uint32_t wr_run_begin(int64_t at) { return 0 - (uint32_t)at; }
WR_RUN_INLINE uint32_t wr_run_end(int64_t at) { return (uint32_t)at; }

#ifdef __cplusplus
}
#endif
#endif
