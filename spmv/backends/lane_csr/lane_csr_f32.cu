#include "spmv/backends/lane_csr/lane_csr_kernel.cuh"

extern "C" wr_status wr_lane_csr_launch_f32(wr_env *env, const wr_lane_plan *p, const wr_apply *request) {
  return lane_launch<float, false>(env, p, request);
}
