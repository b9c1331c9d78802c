/* What a matrix has on devices (wr_csr.device): for the sources that make it. */
#ifndef WR_CSR_DEVICE_H
#define WR_CSR_DEVICE_H

#include <stdint.h>

#include "spmv/matrix/csr.h"

/* One for each device, with the values in each type that was asked for. Blocks are shared ones: they outlive the env that made
 * them. */
struct wr_csr_device {
  struct wr_csr_device *next;
  int device, wide;
  void *row_ptr; /* [nrows + 1] of int32_t, or int64_t when wide */
  int32_t *col;  /* [nnz]                                        */
  int64_t *sharers; /* how many matrices have these indices; NULL: this one alone */
  void *val[2];  /* [nnz] by wr_type; NULL: not asked for yet    */
  int stale[2];  /* by wr_type; 1: the host has other values     */
};

#ifdef __cplusplus
extern "C" {
#endif

/* For a matrix of the same pattern, which has no device view where env is: one that shares the indices of `from`, if there are
 * any, and has no values yet. Either matrix may be freed first. WR_ENOMEM. */
wr_status wr_csr_share_indices(const wr_csr *from, wr_csr *to, struct wr_env *env);

#ifdef __cplusplus
}
#endif
#endif
