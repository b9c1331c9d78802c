#include "spmv/device/device_memory.h"

#include <cuda_runtime.h>

#include <atomic>

#include "config/memory.h"
#include "spmv/device/check.cuh"
#include "spmv/device/cuda_state.h"

static std::atomic<int64_t> live_blocks; /* of this process, so that tests can tell whether something is left */

static int64_t padded(int64_t bytes) {
  int64_t whole = (bytes + WR_ALIGNMENT - 1) / WR_ALIGNMENT * WR_ALIGNMENT;
  return whole ? whole : WR_ALIGNMENT;
}

int64_t wr_device_bytes(int64_t count, size_t size) { return padded(count * (int64_t)size); }

static wr_status fail_memory(double bytes, const char *what) {
  size_t free_bytes = 0, total = 0;
  if (cudaMemGetInfo(&free_bytes, &total) != cudaSuccess) (void)cudaGetLastError();
  return wr_fail(WR_ENOMEM, "out of device memory: %.1f MB asked for %s, %.1f of %.1f MB are free", bytes / 1e6, what,
                 (double)free_bytes / 1e6, (double)total / 1e6);
}

/* Zeroes from byte `from` on; a block that cannot be zeroed is given back. */
static wr_status zero_tail(wr_env *env, void **block, int64_t from, int64_t whole) {
  if (from == whole) return WR_OK;
  wr_status status =
      WR_CUDA(cudaMemsetAsync((char *)*block + from, 0, (size_t)(whole - from), (cudaStream_t)env->stream));
  if (status == WR_OK) return WR_OK;
  wr_device_free(env->device, *block);
  *block = NULL;
  return status;
}

/* zero_all false: just the padding. */
static wr_status allocate(wr_env *env, void *block, int64_t count, size_t size, const char *what, bool zero_all) {
  void **out = (void **)block;
  int64_t bytes;
  *out = NULL;
  wr_status status = wr_cuda_enter(env);
  if (status != WR_OK) return status;
  if (count < 0 || __builtin_mul_overflow(count, (int64_t)size, &bytes) || bytes > INT64_MAX - WR_ALIGNMENT)
    return fail_memory((double)count * (double)size, what);
  cudaError_t error = cudaMalloc(out, (size_t)padded(bytes));
  if (error != cudaSuccess) *out = NULL;
  if (error == cudaErrorMemoryAllocation) {
    (void)cudaGetLastError();
    return fail_memory((double)padded(bytes), what);
  }
  status = wr_cuda_check(error, "cudaMalloc");
  if (status != WR_OK) return status;
  live_blocks++;
  return zero_tail(env, out, zero_all ? 0 : bytes / WR_ALIGNMENT * WR_ALIGNMENT, padded(bytes));
}

wr_status wr_device_alloc(wr_env *env, void *block, int64_t count, size_t size, const char *what) {
  return allocate(env, block, count, size, what, false);
}

wr_status wr_device_alloc_zeroed(wr_env *env, void *block, int64_t count, size_t size, const char *what) {
  return allocate(env, block, count, size, what, true);
}

/* Nobody could act on a failure here: after a device error every call fails, and the error was reported where it arose. */
void wr_device_free(int device, void *block) {
  if (block == NULL) return;
  live_blocks--;
  if (cudaSetDevice(device) != cudaSuccess || cudaFree(block) != cudaSuccess) (void)cudaGetLastError();
}

int64_t wr_device_blocks(void) { return live_blocks; }

wr_status wr_pinned_alloc(void *block, int64_t bytes, const char *what) {
  void **out = (void **)block;
  *out = NULL;
  cudaError_t error = cudaHostAlloc(out, (size_t)bytes, cudaHostAllocDefault);
  if (error == cudaSuccess) return WR_OK;
  *out = NULL;
  (void)cudaGetLastError();
  return wr_fail(error == cudaErrorMemoryAllocation ? WR_ENOMEM : WR_EDEVICE,
                 "pinned host memory: %.1f MB asked for %s: %s", (double)bytes / 1e6, what, cudaGetErrorString(error));
}

void wr_pinned_free(void *block) {
  if (block && cudaFreeHost(block) != cudaSuccess) (void)cudaGetLastError();
}

static wr_cuda_state *state_of(wr_env *env) { return (wr_cuda_state *)env->state; }

/* The room for a copy of this many bytes (on the device) and the most that fits. The ring is made when first wanted: pinning
 * costs 0.5 ms a megabyte. */
static wr_status stage_for(wr_cuda_state *state, int64_t bytes, wr_stage **stage, int64_t *room_bytes) {
  wr_status status = WR_OK;
  *stage = &state->small;
  *room_bytes = WR_SMALL_STAGE_BYTES;
  if (bytes > WR_SMALL_STAGE_BYTES) {
    *stage = &state->ring[state->next_stage];
    *room_bytes = WR_STAGE_BYTES;
    state->next_stage = (state->next_stage + 1) % WR_STAGES;
  }
  if ((*stage)->room == NULL) TRY(wr_pinned_alloc(&(*stage)->room, *room_bytes, "copies to and from the device"));
  if ((*stage)->free == NULL) TRY(WR_CUDA(cudaEventCreateWithFlags(&(*stage)->free, cudaEventDisableTiming)));
  TRY(WR_CUDA(cudaEventSynchronize((*stage)->free)));
done:
  return status;
}

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

wr_status wr_device_upload(wr_env *env, void *to, const void *from, int64_t count, wr_conversion how) {
  wr_status status;
  wr_stage *stage;
  int64_t part = 0, room_bytes, size = wr_conversion_device_size(how);
  TRY(wr_cuda_enter(env));
  for (int64_t i = 0; i < count; i += part) {
    TRY(stage_for(state_of(env), (count - i) * size, &stage, &room_bytes));
    part = smaller(count - i, room_bytes / size);
    wr_pack_elements(stage->room, (const char *)from + i * wr_conversion_host_size(how), part, how);
    TRY(WR_CUDA(cudaMemcpyAsync((char *)to + i * size, stage->room, (size_t)(part * size), cudaMemcpyHostToDevice,
                                state_of(env)->stream)));
    TRY(WR_CUDA(cudaEventRecord(stage->free, state_of(env)->stream)));
  }
done:
  return status;
}

/* Starts the copy of the first elements of count into a room; *part := how many. */
static wr_status start_download(wr_cuda_state *state, const char *from, int64_t count, int64_t size, wr_stage **stage,
                                int64_t *part) {
  wr_status status;
  int64_t room_bytes;
  TRY(stage_for(state, count * size, stage, &room_bytes));
  *part = smaller(count, room_bytes / size);
  TRY(WR_CUDA(cudaMemcpyAsync((*stage)->room, from, (size_t)(*part * size), cudaMemcpyDeviceToHost, state->stream)));
  TRY(WR_CUDA(cudaEventRecord((*stage)->free, state->stream)));
done:
  return status;
}

/* One part is on its way while the part before it is converted. */
wr_status wr_device_download(wr_env *env, void *to, const void *from, int64_t count, wr_conversion how) {
  wr_status status;
  wr_stage *now = NULL, *next = NULL;
  int64_t size = wr_conversion_device_size(how), part = 0, next_part = 0;
  TRY(wr_cuda_enter(env));
  if (count > 0) TRY(start_download(state_of(env), (const char *)from, count, size, &now, &part));
  for (int64_t i = 0; i < count; i += part, part = next_part, now = next) {
    int64_t after = i + part;
    if (after < count)
      TRY(start_download(state_of(env), (const char *)from + after * size, count - after, size, &next, &next_part));
    TRY(WR_CUDA(cudaEventSynchronize(now->free)));
    wr_unpack_elements((char *)to + i * wr_conversion_host_size(how), now->room, part, how);
  }
done:
  return status;
}
