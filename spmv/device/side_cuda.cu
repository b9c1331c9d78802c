#include "spmv/device/side.h"

#include <cuda_runtime.h>

#include "config/memory.h"
#include "spmv/device/check.cuh"
#include "spmv/device/cuda_state.h"

struct wr_side {
  wr_env env;
  cudaEvent_t fork, join;
};

extern "C" wr_status wr_side_open(const wr_env *env, wr_side **out) {
  wr_status status;
  wr_side *side = NULL;
  *out = NULL;
  TRY(wr_alloc_zeroed(&side, 1, sizeof *side, "a second stream"));
  side->env = *env;
  side->env.urgent = 1, side->env.comm = NULL, side->env.ops = NULL;
  TRY(wr_env_open(&side->env));
  TRY(WR_CUDA(cudaEventCreateWithFlags(&side->fork, cudaEventDisableTiming)));
  TRY(WR_CUDA(cudaEventCreateWithFlags(&side->join, cudaEventDisableTiming)));
  *out = side, side = NULL;
done:
  wr_side_close(side);
  return status;
}

extern "C" void wr_side_close(wr_side *side) {
  if (side == NULL) return;
  if (side->env.ops) (void)cudaSetDevice(side->env.device);
  if (side->fork) (void)cudaEventDestroy(side->fork);
  if (side->join) (void)cudaEventDestroy(side->join);
  (void)cudaGetLastError();
  wr_env_close(&side->env);
  wr_free(side);
}

extern "C" wr_env *wr_side_env(wr_side *side) { return &side->env; }

/* The next kernel of `to` has to wait for two streams, so it is not launched early. */
static wr_status wait_for(cudaEvent_t event, const wr_env *from, const wr_env *to) {
  PASS(wr_cuda_enter(from));
  PASS(WR_CUDA(cudaEventRecord(event, (cudaStream_t)from->stream)));
  PASS(WR_CUDA(cudaStreamWaitEvent((cudaStream_t)to->stream, event, 0)));
  ((wr_cuda_state *)to->state)->foreign = 1;
  return WR_OK;
}

extern "C" wr_status wr_side_fork(wr_side *side, wr_env *env) { return wait_for(side->fork, env, &side->env); }
extern "C" wr_status wr_side_join(wr_side *side, wr_env *env) { return wait_for(side->join, &side->env, env); }
