/* The functions of lu_cuda.cu and factor_cuda.cu in a build without CUDA. */
#include "spmv/precond/factor_cuda.h"
#include "spmv/precond/lu_cuda.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

static wr_status fail(void) { return wr_fail(WR_EUNAVAILABLE, "this build has no triangular factors on a device"); }

wr_status wr_lu_cuda_create_as(const wr_lu *lu, wr_env *env, const wr_lu_cuda_options *options, wr_lu_cuda **solver) {
  *solver = NULL;
  return fail();
}

wr_status wr_lu_cuda_create(const wr_lu *lu, wr_env *env, wr_lu_cuda **solver) {
  return wr_lu_cuda_create_as(lu, env, NULL, solver);
}

wr_status wr_lu_cuda_apply(wr_lu_cuda *solver, wr_env *env, const wr_vec *r, wr_vec *z) { return fail(); }

const wr_lu_cuda_info *wr_lu_cuda_get_info(const wr_lu_cuda *solver) { return NULL; }

void wr_lu_cuda_destroy(wr_lu_cuda *solver, wr_env *env) {} /* none was made */

wr_status wr_ilu0_cuda(wr_lu *lu, double least, wr_env *env, int64_t *shifted, int64_t *first) {
  *shifted = 0, *first = -1;
  return fail();
}
