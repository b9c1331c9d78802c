/* Steps on a device as separate operations, with a kernel each. */
#include <cuda_runtime.h>

#include "spmv/device/check.cuh"
#include "spmv/kernel/launch.cuh"
#include "spmv/kernel/steps.cuh"

__global__ void __launch_bounds__(WR_WARP) run_step(WR_KERNEL_PARAMETER wr_step_work work) {
  wr_begin_kernel();
  if (threadIdx.x == 0) wr_step_run<WR_AFTER_ANY>(work, wr_step_stop(work), work.bank);
}

extern "C" wr_status wr_cuda_step(wr_env *env, const wr_then *then) {
  PASS(wr_cuda_enter_now(env));
  PASS(wr_step_check(env, then));
  then->bank->writes++;
  if (then->log) then->log->writes++;
  if (then->step->bit)
    PASS(WR_LAUNCH_EARLY(env, (run_step), 1, WR_WARP, 0, wr_step_work_of(env, *then)));
  else if (then->step->launch)
    PASS(then->step->launch(env, then));
  else
    return wr_fail(WR_EUNAVAILABLE, "the step %s has no kernel", then->step->name);
  return WR_OK;
}

extern "C" wr_status wr_cuda_check_image(const wr_env *env) {
  cudaFuncAttributes attributes;
  cudaError_t error = cudaFuncGetAttributes(&attributes, run_step);
  /* Code compiled for cards before sm_90 has no griddepcontrol.wait, so its kernels must not be launched early. */
  ((wr_cuda_state *)env->state)->early = error == cudaSuccess && attributes.ptxVersion >= 90;
  if (error != cudaErrorNoKernelImageForDevice && error != cudaErrorInvalidDeviceFunction)
    return wr_cuda_check(error, "cudaFuncGetAttributes");
  (void)cudaGetLastError();
  return wr_fail(WR_EUNAVAILABLE,
                 "this build has no code for %s (CUDA device %d); run make again with CUDA_ARCH set to its "
                 "architecture (such as sm_90)",
                 env->device_name, env->device);
}
