/* What the backends on cuSPARSE have in common, whatever the format: the library's handle and vectors, preprocessing, and the
 * call of its multiply. A format's file creates the matrix's descriptor in between:
 *
 *   wr_cusparse_open, then cusparseCreate<Format>(&s->matrix, ...), wr_cusparse_preprocess; wr_cusparse_apply; _close */
#ifndef WR_CUSPARSE_COMMON_H
#define WR_CUSPARSE_COMMON_H

#include <cuda_runtime_api.h>
#include <cusparse.h>

#include "spmv/device/check.cuh"
#include "spmv/spmv.h"

/* The first member of every state; closed if zeroed. */
typedef struct wr_cusparse {
  cusparseHandle_t handle;
  cusparseSpMatDescr_t matrix;
  cusparseDnVecDescr_t x, y; /* every apply sets their pointers */
  cusparseSpMVAlg_t algorithm;
  cudaDataType_t type;
  wr_csr_view view; /* the arrays of `matrix`, in formats that use the matrix's own */
  void *buffer;
  int device, empty; /* empty: the matrix has no entries; the library is not called */
  wr_vec ones;       /* [nnz] for a pattern stored with values, else not allocated  */
} wr_cusparse;

/* For a plan's line: "" or, in f32, how rows are summed. */
const char *wr_cusparse_sums(wr_type type);

/* Creates the handle, on env's stream; none for a matrix without entries. WR_EDEVICE, WR_ENOMEM. */
wr_status wr_cusparse_open(wr_cusparse *s, wr_env *env, const wr_csr *A, cusparseSpMVAlg_t algorithm);

/* *val := the view's values or, because the library has no matrices without values, nnz ones in s->ones, with bytes that are
 * added to info->extra_bytes. WR_ENOMEM. */
wr_status wr_cusparse_values(wr_cusparse *s, wr_env *env, const wr_csr *A, const wr_csr_view *view, void **val,
                             wr_plan_info *info);

/* The update_values of a format that uses the matrix's own arrays, s->view. The library's preprocessing holds for any values
 * with the same index arrays; for other index arrays it would have to be repeated: WR_EUNAVAILABLE. Errors:
 * wr_csr_device_view, WR_EDEVICE. */
wr_status wr_cusparse_update_view(void *state, wr_env *env, wr_csr *A, int *moved);

/* Allocates the library's buffer, adds its bytes to info->extra_bytes, and runs its preprocessing, for a matrix of
 * nrows x ncols in the library's view. Succeeds for formats without preprocessing. WR_ENOMEM, WR_EDEVICE. */
wr_status wr_cusparse_preprocess(wr_cusparse *s, wr_env *env, int64_t nrows, int64_t ncols, wr_plan_info *info);

/* WR_EUNAVAILABLE, with the sizes and a backend without padding, if a padded format is out of proportion: more than 20 times
 * the bytes of plain rows (and more than 64 MB), or more than env's device has free, if env is open. what names the format:
 * "cusparse_sell: slices of 32 rows". */
wr_status wr_cusparse_check_padding(const wr_env *env, const wr_csr *A, const char *what, double bytes);

/* y = alpha*A*x + beta*y on env's stream: the apply of a format whose state begins with a wr_cusparse. WR_EDEVICE. */
wr_status wr_cusparse_apply(void *state, wr_env *env, const wr_apply_args *args);

void wr_cusparse_close(wr_cusparse *s, wr_env *env);

#endif
