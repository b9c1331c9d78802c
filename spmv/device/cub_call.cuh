/* A call of CUB, for the sources that use it. */
#ifndef WR_CUB_CALL_CUH
#define WR_CUB_CALL_CUH

#include "spmv/device/check.cuh"
#include "spmv/device/cuda_state.h"
#include "spmv/device/device_memory.h"

static inline cudaStream_t stream_of(const wr_env *env) { return (cudaStream_t)env->stream; }

/* call(room, bytes) is a CUB function: with room NULL it sets bytes to the temporary memory it needs, else it runs. */
template <typename Call>
static wr_status with_room(wr_env *env, const char *name, Call call) {
  wr_status status;
  void *room = NULL;
  size_t bytes = 0;
  TRY(wr_cuda_check(call(NULL, bytes), name));
  TRY(wr_device_alloc(env, &room, (int64_t)bytes, 1, name));
  TRY(wr_cuda_check(call(room, bytes), name));
  TRY(wr_cuda_check(cudaStreamSynchronize(stream_of(env)), name));
done:
  wr_device_free(env, room);
  return status;
}

#endif
