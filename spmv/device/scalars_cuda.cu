/* Small programs over a bank of scalars, on a device: interpreted, and those of the solvers compiled (programs.cuh). */
#include <cuda_runtime.h>
#include <string.h>

#include "spmv/device/check.cuh"
#include "spmv/kernel/launch.cuh"
#include "spmv/kernel/programs.cuh"
#include "spmv/kernel/warp.cuh"

typedef struct interpreted {
  int count;
  wr_scalar_op ops[WR_MAX_SCALAR_OPS];
  int64_t n; /* of the bank */
  wr_scalar_program program;
} interpreted;

enum { MAX_BANK = 256 }; /* scalars that a step can name; wr_scalars_check refuses larger banks */

/* One warp: the bank is copied to shared memory, where a step costs tens of cycles instead of hundreds. */
__global__ void __launch_bounds__(WR_WARP) run_interpreted(WR_KERNEL_PARAMETER interpreted program) {
  WR_SHARED(double, s, MAX_BANK);
  wr_begin_kernel();
  for (int64_t i = threadIdx.x; i < program.n; i += WR_WARP) s[i] = program.program.bank[i];
  __syncwarp();
  if (threadIdx.x == 0)
    wr_program_interpret(program.program, program.ops, program.count, wr_program_wish(program.program), s);
  __syncwarp();
  for (int64_t i = threadIdx.x; i < program.n; i += WR_WARP) program.program.bank[i] = s[i];
}

__global__ void __launch_bounds__(WR_WARP) run_compiled(WR_KERNEL_PARAMETER wr_scalar_program program) {
  wr_begin_kernel();
  if (threadIdx.x == 0) wr_program_run(program, wr_program_wish(program));
}

static wr_status launch(wr_env *env, const wr_then &then) {
  interpreted program;
  wr_scalar_program known = wr_program_find(env, then);
  if (known.which) return WR_LAUNCH_EARLY(env, (run_compiled), 1, WR_WARP, 0, known);
  memset(&program, 0, sizeof program);
  program.count = then.count, program.n = then.bank->n, program.program = known;
  if (then.count > 0) memcpy(program.ops, then.ops, (size_t)then.count * sizeof *then.ops);
  return WR_LAUNCH_EARLY(env, (run_interpreted), 1, WR_WARP, 0, program);
}

extern "C" wr_status wr_cuda_scalars(wr_env *env, wr_vec *bank, wr_vec *log, const wr_scalar_op *ops, int count) {
  wr_status status;
  wr_then then = {ops, count, bank, log};
  TRY(wr_cuda_enter_now(env));
  TRY(wr_scalars_check(env, bank, log, ops, count));
  bank->writes++;
  if (log) log->writes++;
  TRY(launch(env, then));
done:
  return status;
}

extern "C" wr_status wr_cuda_check_image(const wr_env *env) {
  cudaFuncAttributes attributes;
  cudaError_t error = cudaFuncGetAttributes(&attributes, run_interpreted);
  /* Code for older cards, translated for this one, does not wait. */
  ((wr_cuda_state *)env->state)->early = error == cudaSuccess && attributes.ptxVersion >= 90;
  if (error != cudaErrorNoKernelImageForDevice && error != cudaErrorInvalidDeviceFunction)
    return wr_cuda_check(error, "cudaFuncGetAttributes");
  (void)cudaGetLastError();
  return wr_fail(WR_EUNAVAILABLE,
                 "this build has no code for %s (CUDA device %d); run make again with CUDA_ARCH set to its "
                 "architecture (such as sm_90)",
                 env->device_name, env->device);
}
