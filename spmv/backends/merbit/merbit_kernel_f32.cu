#include "spmv/backends/merbit/merbit_kernel.cuh"

extern "C" wr_status wr_merbit_ready_f32(const wr_merbit_plan *plan) { return merbit_ready<float>(plan); }

extern "C" wr_status wr_merbit_launch_f32(wr_env *env, const wr_merbit_plan *plan, const wr_apply *request) {
  return merbit_launch_all<float>(env, plan, request);
}
