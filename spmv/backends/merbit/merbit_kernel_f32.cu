#include "spmv/backends/merbit/merbit_kernel.cuh"

extern "C" wr_status wr_merbit_launch_f32(wr_env *env, const wr_merbit_plan *plan, const wr_apply *request) {
  return merbit_launch_all<float>(env, plan, request);
}
