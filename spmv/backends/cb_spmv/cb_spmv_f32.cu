#include "spmv/backends/cb_spmv/cb_spmv_kernel.cuh"

extern "C" wr_status wr_cb_ready_f32(void) { return cbm_ready<float>(); }

extern "C" wr_status wr_cb_launch_f32(wr_env *env, const wr_cb_plan *p, const wr_apply *request) {
  return cbm_launch<float>(env, p, request);
}
