#include "spmv/device/device_memory.h"

#include <cuda_runtime.h>
#include <string.h>

#include <atomic>

#include "config/memory.h"
#include "spmv/device/check.cuh"
#include "spmv/device/cuda_state.h"
#include "spmv/device/testing.h"

static std::atomic<int64_t> live_blocks; /* in use in this process; tests check that it returns to its old value */

static int64_t padded(int64_t bytes) {
  int64_t rounded = (bytes + WR_ALIGNMENT - 1) / WR_ALIGNMENT * WR_ALIGNMENT;
  return rounded ? rounded : WR_ALIGNMENT;
}

int64_t wr_device_bytes(int64_t count, size_t size) { return padded(count * (int64_t)size); }

static wr_status fail_memory(double bytes, const char *what) {
  size_t free_bytes = 0, total = 0;
  if (cudaMemGetInfo(&free_bytes, &total) != cudaSuccess) (void)cudaGetLastError();
  return wr_fail(WR_ENOMEM, "out of device memory: %.1f MB asked for %s, %.1f of %.1f MB are free", bytes / 1e6, what,
                 (double)free_bytes / 1e6, (double)total / 1e6);
}

static wr_cuda_state *state_of(wr_env *env) { return (wr_cuda_state *)env->state; }

/* ---- Spare blocks of an env ---- */

constexpr int64_t MOST_SPARE = (int64_t)1 << 30; /* bytes of spare blocks that an env keeps */

/* The smallest spare block of at least `bytes` and at most a quarter more, marked as in use; NULL: there is none. */
static void *take_spare(wr_cuda_state *state, int64_t bytes) {
  wr_block *best = NULL;
  for (wr_block *b = state->blocks; b < state->blocks + state->nblocks; b++)
    if (b->freed && b->bytes >= bytes && b->bytes - bytes <= bytes / 4 && (best == NULL || b->bytes < best->bytes))
      best = b;
  if (best == NULL) return NULL;
  best->freed = 0;
  return best->at;
}

/* Makes room for another block in the list. */
static wr_status make_room(wr_cuda_state *state) {
  wr_block *more = NULL;
  int room = 2 * state->block_room + 64;
  if (state->nblocks < state->block_room) return WR_OK;
  PASS(wr_alloc(&more, room, sizeof *more, "a list of device blocks"));
  if (state->nblocks) memcpy(more, state->blocks, (size_t)state->nblocks * sizeof *more);
  wr_free(state->blocks);
  state->blocks = more, state->block_room = room;
  return WR_OK;
}

/* An error of cudaFree is cleared: after a device error every call fails, and the call that failed first has reported it. */
static void free_on_device(void *at) {
  if (cudaFree(at) != cudaSuccess) (void)cudaGetLastError();
}

/* Frees a block with cudaFree and removes it from the list. A spare block is not counted in live_blocks. */
static void drop(wr_cuda_state *state, wr_block *b) {
  if (b->freed == 0) live_blocks--;
  free_on_device(b->at);
  *b = state->blocks[--state->nblocks];
}

extern "C" void wr_blocks_drop(wr_cuda_state *state, int all) {
  for (int k = state->nblocks - 1; k >= 0; k--)
    if (all || state->blocks[k].freed) drop(state, &state->blocks[k]);
}

/* The spare block that was freed first; NULL if all spare blocks together have no more than MOST_SPARE bytes. */
static wr_block *oldest_excess(const wr_cuda_state *state) {
  wr_block *oldest = NULL;
  int64_t spare = 0;
  for (wr_block *b = state->blocks; b < state->blocks + state->nblocks; b++) {
    if (b->freed == 0) continue;
    spare += b->bytes;
    if (oldest == NULL || b->freed < oldest->freed) oldest = b;
  }
  return spare > MOST_SPARE ? oldest : NULL;
}

/* The place of a block in the list; nblocks: it is not there. */
static int find_block(const wr_cuda_state *state, const void *block) {
  int k = 0;
  while (k < state->nblocks && state->blocks[k].at != block) k++;
  return k;
}

/* With testing->poison no block is kept, so that memory checkers find reads of freed blocks and beyond a block's end. */
void wr_device_free(wr_env *env, void *block) {
  wr_cuda_state *state = state_of(env);
  if (block == NULL || state == NULL) return;
  if (cudaSetDevice(env->device) != cudaSuccess) (void)cudaGetLastError();
  int k = find_block(state, block);
  if (k == state->nblocks) return;
  if ((env->testing && env->testing->poison) || state->blocks[k].bytes > MOST_SPARE) {
    drop(state, &state->blocks[k]);
  } else {
    live_blocks--;
    state->blocks[k].freed = ++state->frees;
    for (wr_block *b; (b = oldest_excess(state)) != NULL;) drop(state, b);
  }
}

void wr_device_free_shared(int device, void *block) {
  if (block == NULL) return;
  if (cudaSetDevice(device) != cudaSuccess) (void)cudaGetLastError();
  live_blocks--;
  free_on_device(block);
}

/* ---- Allocation ---- */

/* cudaMalloc. Out of memory: *out := NULL and WR_OK. */
static wr_status try_malloc(void **out, int64_t bytes) {
  cudaError_t error = cudaMalloc(out, (size_t)bytes);
  if (error == cudaSuccess) live_blocks++;
  if (error != cudaSuccess) *out = NULL;
  if (error != cudaErrorMemoryAllocation) return wr_cuda_check(error, "cudaMalloc");
  (void)cudaGetLastError();
  return WR_OK;
}

/* The same; on out-of-memory it frees the spare blocks and retries once. */
static wr_status malloc_or_drop(wr_env *env, void **out, int64_t bytes) {
  PASS(try_malloc(out, bytes));
  if (*out) return WR_OK;
  wr_blocks_drop(state_of(env), 0);
  return try_malloc(out, bytes);
}

/* A block in env's list: a spare one, or a new one. */
static wr_status get_block(wr_env *env, void **out, int64_t bytes) {
  wr_cuda_state *state = state_of(env);
  PASS(make_room(state));
  *out = take_spare(state, bytes);
  if (*out) live_blocks++;
  if (*out) return WR_OK;
  PASS(malloc_or_drop(env, out, bytes));
  if (*out) state->blocks[state->nblocks++] = {*out, bytes, 0};
  return WR_OK;
}

typedef enum zeroing { PADDING, ALL } zeroing;

/* shared: the block is not in env's list, and is freed by wr_device_free_shared. */
static wr_status allocate(wr_env *env, void *block, int64_t count, size_t size, const char *what, zeroing zeroes,
                          bool shared) {
  wr_status status;
  void **out = (void **)block;
  int64_t bytes = 0, from;
  *out = NULL;
  TRY(wr_cuda_enter(env));
  if (count < 0 || __builtin_mul_overflow(count, (int64_t)size, &bytes) || bytes > INT64_MAX - WR_ALIGNMENT)
    return fail_memory((double)count * (double)size, what);
  TRY(shared ? malloc_or_drop(env, out, padded(bytes)) : get_block(env, out, padded(bytes)));
  if (*out == NULL) return fail_memory((double)padded(bytes), what);
  from = zeroes == ALL ? 0 : bytes / WR_ALIGNMENT * WR_ALIGNMENT;
  if (from < padded(bytes))
    TRY(WR_CUDA(cudaMemsetAsync((char *)*out + from, 0, (size_t)(padded(bytes) - from), (cudaStream_t)env->stream)));
done:
  if (status != WR_OK && *out) {
    shared ? wr_device_free_shared(env->device, *out) : wr_device_free(env, *out);
    *out = NULL;
  }
  return status;
}

wr_status wr_device_alloc(wr_env *env, void *block, int64_t count, size_t size, const char *what) {
  return allocate(env, block, count, size, what, PADDING, false);
}

wr_status wr_device_alloc_zeroed(wr_env *env, void *block, int64_t count, size_t size, const char *what) {
  return allocate(env, block, count, size, what, ALL, false);
}

wr_status wr_device_alloc_shared(wr_env *env, void *block, int64_t count, size_t size, const char *what) {
  return allocate(env, block, count, size, what, PADDING, true);
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

wr_status wr_stages_open(wr_cuda_state *state) {
  int64_t bytes = WR_SMALL_STAGE_BYTES + (int64_t)WR_STAGES * WR_STAGE_BYTES;
  PASS(wr_pinned_alloc(&state->small.room, bytes, "copies to and from the device"));
  PASS(WR_CUDA(cudaEventCreateWithFlags(&state->small.free, cudaEventDisableTiming)));
  for (int s = 0; s < WR_STAGES; s++) {
    state->ring[s].room = state->small.room + WR_SMALL_STAGE_BYTES + (int64_t)s * WR_STAGE_BYTES;
    PASS(WR_CUDA(cudaEventCreateWithFlags(&state->ring[s].free, cudaEventDisableTiming)));
  }
  return WR_OK;
}

void wr_stages_close(wr_cuda_state *state) {
  if (state->small.free) (void)cudaEventDestroy(state->small.free);
  for (int s = 0; s < WR_STAGES; s++)
    if (state->ring[s].free) (void)cudaEventDestroy(state->ring[s].free);
  wr_pinned_free(state->small.room);
}

/* *stage := a pinned buffer for a copy of `bytes` bytes (on the device), free for use; *room_bytes := its size, which may be
 * less. */
static wr_status stage_for(wr_cuda_state *state, int64_t bytes, wr_stage **stage, int64_t *room_bytes) {
  *stage = &state->small;
  *room_bytes = WR_SMALL_STAGE_BYTES;
  if (bytes > WR_SMALL_STAGE_BYTES) {
    *stage = &state->ring[state->next_stage];
    *room_bytes = WR_STAGE_BYTES;
    state->next_stage = (state->next_stage + 1) % WR_STAGES;
  }
  return WR_CUDA(cudaEventSynchronize((*stage)->free));
}

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

wr_status wr_device_upload(wr_env *env, void *to, const void *from, int64_t count, wr_conversion how) {
  wr_stage *stage;
  int64_t part = 0, room_bytes, size = wr_conversion_device_size(how);
  PASS(wr_cuda_enter(env));
  for (int64_t i = 0; i < count; i += part) {
    PASS(stage_for(state_of(env), (count - i) * size, &stage, &room_bytes));
    part = smaller(count - i, room_bytes / size);
    wr_pack_elements(stage->room, (const char *)from + i * wr_conversion_host_size(how), part, how);
    PASS(WR_CUDA(cudaMemcpyAsync((char *)to + i * size, stage->room, (size_t)(part * size), cudaMemcpyHostToDevice,
                                 state_of(env)->stream)));
    PASS(WR_CUDA(cudaEventRecord(stage->free, state_of(env)->stream)));
  }
  return WR_OK;
}

/* Starts the copy of the first *part of count elements into a pinned buffer. */
static wr_status start_download(wr_cuda_state *state, const char *from, int64_t count, int64_t size, wr_stage **stage,
                                int64_t *part) {
  int64_t room_bytes;
  PASS(stage_for(state, count * size, stage, &room_bytes));
  *part = smaller(count, room_bytes / size);
  PASS(WR_CUDA(cudaMemcpyAsync((*stage)->room, from, (size_t)(*part * size), cudaMemcpyDeviceToHost, state->stream)));
  return WR_CUDA(cudaEventRecord((*stage)->free, state->stream));
}

/* Converts one part while the next one is copied. */
wr_status wr_device_download(wr_env *env, void *to, const void *from, int64_t count, wr_conversion how) {
  wr_stage *now = NULL, *next = NULL;
  int64_t size = wr_conversion_device_size(how), part = 0, next_part = 0;
  PASS(wr_cuda_enter(env));
  if (count > 0) PASS(start_download(state_of(env), (const char *)from, count, size, &now, &part));
  for (int64_t i = 0; i < count; i += part, part = next_part, now = next) {
    int64_t after = i + part;
    if (after < count)
      PASS(start_download(state_of(env), (const char *)from + after * size, count - after, size, &next, &next_part));
    PASS(WR_CUDA(cudaEventSynchronize(now->free)));
    wr_unpack_elements((char *)to + i * wr_conversion_host_size(how), now->room, part, how);
  }
  return WR_OK;
}
