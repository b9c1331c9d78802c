/* What the backends on cuSPARSE have in common, whatever the format: the library's handle and vectors, preprocessing, and
 * the call of its multiply. A format's file makes the matrix's description in between:
 *
 *   wr_cusparse_open, then cusparseCreate<Format>(&s->matrix, ...), wr_cusparse_preprocess; wr_cusparse_apply; _close */
#ifndef WR_CUSPARSE_COMMON_H
#define WR_CUSPARSE_COMMON_H

#include <cuda_runtime_api.h>
#include <cusparse.h>

#include "spmv/device/check.cuh"
#include "spmv/spmv.h"

/* The beginning of every state; zeroed is closed. */
typedef struct wr_cusparse {
  cusparseHandle_t handle;
  cusparseSpMatDescr_t matrix;
  cusparseDnVecDescr_t x, y; /* their pointers are set in every apply */
  cusparseSpMVAlg_t algorithm;
  cudaDataType_t type;
  wr_csr_view view; /* what `matrix` describes, in formats that are the matrix's own arrays */
  void *buffer;
  int device, empty; /* empty: no entries; the library is not asked */
  wr_vec ones;       /* [nnz] for a pattern stored with values, else not allocated */
} wr_cusparse;

/* For a plan's line: "" or, in f32, how rows are summed. */
const char *wr_cusparse_sums(wr_type type);

/* The handle, on env's stream; none for a matrix without entries. WR_EDEVICE, WR_ENOMEM. */
wr_status wr_cusparse_open(wr_cusparse *s, wr_env *env, const wr_csr *A, cusparseSpMVAlg_t algorithm);

/* *val := the view's values or, because the library knows no matrix without values, nnz ones in s->ones, which then count
 * in info->extra_bytes. WR_ENOMEM. */
wr_status wr_cusparse_values(wr_cusparse *s, wr_env *env, const wr_csr *A, const wr_csr_view *view, void **val,
                             wr_plan_info *info);

/* The update_values of a format that is the matrix's own arrays, s->view. What the library finds out when it preprocesses holds
 * for any values of these indices; for a matrix with indices of its own it would have to be asked again: WR_EUNAVAILABLE.
 * Errors: wr_csr_device_view, WR_EDEVICE. */
wr_status wr_cusparse_update_view(void *state, wr_env *env, wr_csr *A, int *moved);

/* The library's buffer, which is added to info->extra_bytes, and what it wants to know beforehand, for a matrix that it
 * takes to be nrows x ncols. A format that it has nothing to prepare for is fine. WR_ENOMEM, WR_EDEVICE. */
wr_status wr_cusparse_preprocess(wr_cusparse *s, wr_env *env, int64_t nrows, int64_t ncols, wr_plan_info *info);

/* WR_EUNAVAILABLE, with the sizes and who pads nothing, when a padded format of so many bytes is out of proportion: more
 * than 20 times plain rows (and more than 64 MB, below which nobody cares), or more than env's device has free, if env is
 * open. what names the format: "cusparse_sell: slices of 32 rows". */
wr_status wr_cusparse_check_padding(const wr_env *env, const wr_csr *A, const char *what, double bytes);

/* y = alpha*A*x + beta*y on env's stream. WR_EDEVICE. */
wr_status wr_cusparse_apply(wr_cusparse *s, wr_env *env, const wr_apply *request);

void wr_cusparse_close(wr_cusparse *s, wr_env *env);

#endif
