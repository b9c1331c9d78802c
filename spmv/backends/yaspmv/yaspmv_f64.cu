#include "spmv/backends/yaspmv/yaspmv_kernel.cuh"

extern "C" wr_status wr_bccoo_launch_f64(wr_env *env, const wr_bccoo_plan *p, const wr_apply *request) {
  return bccoo_launch_all<double>(env, p, request);
}
