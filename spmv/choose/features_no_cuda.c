/* In a build without CUDA. */
#include "spmv/choose/matrix_features.h"

wr_status wr_matrix_features_device(const wr_csr *A, wr_env *env, const wr_csr_view *view,
                                    wr_matrix_features *features) {
  (void)A, (void)env, (void)view, (void)features;
  return wr_fail(WR_EUNAVAILABLE, "this build has no CUDA parts"); /* no env is ever open on a device */
}
