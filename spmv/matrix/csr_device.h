/* The device views of a matrix (wr_csr.device) and its holders: for the sources that make views, and for plans. */
#ifndef WR_CSR_DEVICE_H
#define WR_CSR_DEVICE_H

#include <stdint.h>

#include "spmv/matrix/csr.h"

/* One for each device, with values in each type that was requested. Allocations are shared ones: they outlive the env that
 * made them. */
struct wr_csr_device {
  struct wr_csr_device *next;
  int device, wide;
  void *row_ptr;    /* [nrows + 1] of int32_t, or int64_t when wide                     */
  int32_t *col;     /* [nnz]                                                            */
  int64_t *sharers; /* number of matrices that share these indices; NULL: only this one */
  void *val[2];     /* [nnz] by wr_type; NULL: not requested yet                        */
  int stale[2];     /* by wr_type; 1: values on the host have changed since             */
};

WR_C_BEGIN

/* Adds a holder, such as a plan that borrows arrays: one more wr_csr_free is needed until A is freed. */
void wr_csr_hold(wr_csr *A);

/* A's view on env's device, or NULL. */
struct wr_csr_device *wr_csr_find_view(const wr_csr *A, const struct wr_env *env);

/* *out := a matrix without host arrays, and its view on env's device with memory that is not filled: row pointers of either
 * width, columns, and with values those of f64. WR_ENOMEM, WR_EDEVICE. */
wr_status wr_csr_create_on_device(struct wr_env *env, int64_t nrows, int64_t ncols, int64_t nnz, int with_values,
                                  int wide, wr_csr **out);

/* Gives `to`, a matrix of the same pattern without a view on env's device, a view that shares the indices of from's, if from
 * has one; it has no values yet. Either matrix may be freed first. WR_ENOMEM. */
wr_status wr_csr_share_indices(const wr_csr *from, wr_csr *to, struct wr_env *env);

WR_C_END
#endif
