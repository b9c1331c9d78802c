#include "spmv/device/fused_kernel.cuh"

wr_status wr_fused_launch_f64(wr_env *env, const wr_fused_plan *p, const wr_fused *f, int64_t n) {
  return launch_fused<double>(env, p, f, n);
}
