#include "spmv/backends/merbit/merbit_kernel.cuh"

extern "C" wr_status wr_merbit_launch_f64(wr_env *env, const wr_merbit_plan *plan, const wr_apply *request) {
  return merbit_launch_all<double>(env, plan, request);
}
