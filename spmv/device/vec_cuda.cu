/* The table of vector operations on a CUDA device: opening, memory, copies, time. Kernels are in the other *_cuda.cu files. */
#include <cuda_runtime.h>
#include <stdio.h>
#include <string.h>

#include "config/argument.h"
#include "config/memory.h"
#include "spmv/device/check.cuh"
#include "spmv/device/cuda_state.h"
#include "spmv/device/device_memory.h"
#include "spmv/loop/loop_cuda.h"

enum { WORKSPACE_BLOCKS = 4096 }; /* of the first workspace */

static wr_cuda_state *state_of(const wr_env *env) { return (wr_cuda_state *)env->state; }

extern "C" wr_status wr_cuda_enter(const wr_env *env) {
  if (env == NULL || env->place != WR_CUDA || env->state == NULL)
    return wr_fail(WR_EUSAGE, "the env is not open on a CUDA device");
  return WR_CUDA(cudaSetDevice(env->device));
}

extern "C" wr_status wr_cuda_enter_now(const wr_env *env) {
  if (env && env->resident) return wr_fail(WR_EUNAVAILABLE, "a resident loop has fused operations and products only");
  return wr_cuda_enter(env);
}

extern "C" wr_status wr_cuda_check_vec(const wr_env *env, const wr_vec *v, const char *role) {
  if (v == NULL || v->id == 0 || v->data == NULL) return wr_fail(WR_EUSAGE, "%s is not an allocated vector", role);
  if (v->place != env->place) return wr_fail(WR_EUSAGE, "%s is not on a CUDA device", role);
  return WR_OK;
}

static wr_status check_driver(void) {
  int count = 0, driver = 0, runtime = 0;
  cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && count > 0) return WR_OK;
  (void)cudaGetLastError();
  if (cudaDriverGetVersion(&driver) != cudaSuccess) (void)cudaGetLastError();
  if (cudaRuntimeGetVersion(&runtime) != cudaSuccess) (void)cudaGetLastError();
  if (driver == 0)
    return wr_fail(WR_EUNAVAILABLE,
                   "no CUDA driver is installed on this machine; install NVIDIA's driver, or compute on "
                   "the CPU (-d cpu)");
  if (error == cudaErrorInsufficientDriver)
    return wr_fail(WR_EUNAVAILABLE,
                   "the CUDA driver supports CUDA %d.%d and this build needs %d.%d; update NVIDIA's driver",
                   driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
  if (error == cudaSuccess || error == cudaErrorNoDevice)
    return wr_fail(WR_EUNAVAILABLE,
                   "no CUDA device on this machine (or CUDA_VISIBLE_DEVICES hides it); compute on the CPU "
                   "(-d cpu)");
  return wr_fail(WR_EUNAVAILABLE, "CUDA does not start: %s (%s)", cudaGetErrorString(error), cudaGetErrorName(error));
}

static wr_status check_device(const wr_env *env) {
  int count = 0;
  wr_status status = WR_CUDA(cudaGetDeviceCount(&count));
  if (status == WR_OK && (env->device < 0 || env->device >= count))
    return wr_fail(WR_EUNAVAILABLE, "there is no CUDA device %d: this machine has %d, numbered from 0", env->device,
                   count);
  return status;
}

extern "C" wr_status wr_workspace_reserve(wr_env *env, int64_t max_blocks, wr_workspace *workspace) {
  wr_workspace *w;
  double *partial = NULL;
  PASS(wr_cuda_enter(env));
  w = &state_of(env)->workspace;
  if (w->arrived == NULL) PASS(wr_device_alloc_zeroed(env, &w->arrived, 1, sizeof *w->arrived, "a count of blocks"));
  if (w->max_blocks < max_blocks) {
    if (max_blocks < 2 * w->max_blocks) max_blocks = 2 * w->max_blocks; /* few, as old ones are kept */
    PASS(wr_device_alloc(env, &partial, max_blocks * WR_FUSED_REDUCTIONS, sizeof *partial, "partial sums"));
    w->partial = partial;
    w->max_blocks = max_blocks;
  }
  *workspace = *w;
  return WR_OK;
}

/* Errors are cleared: the call that failed first has reported its error. */
static void close_cuda(wr_env *env) {
  wr_cuda_state *state = state_of(env);
  if (state == NULL) return;
  (void)cudaSetDevice(env->device);
  if (state->stream) (void)cudaStreamSynchronize(state->stream);
  wr_blocks_drop(state, 1);
  wr_free(state->blocks);
  wr_stages_close(state);
  for (int s = 0; s < WR_STAMPS; s++)
    if (state->stamps[s]) (void)cudaEventDestroy(state->stamps[s]);
  if (state->stream) (void)cudaStreamDestroy(state->stream);
  (void)cudaGetLastError();
  wr_free(state);
  env->state = env->stream = NULL;
}

static wr_status open_parts(wr_env *env) {
  wr_workspace workspace;
  cudaDeviceProp properties;
  PASS(WR_CUDA(cudaSetDevice(env->device)));
  PASS(WR_CUDA(cudaGetDeviceProperties(&properties, env->device)));
  snprintf(env->device_name, sizeof env->device_name, "%.*s", (int)sizeof env->device_name - 1, properties.name);
  state_of(env)->processors = properties.multiProcessorCount;
  PASS(wr_cuda_check_image(env));
  PASS(WR_CUDA(cudaStreamCreateWithFlags(&state_of(env)->stream, cudaStreamNonBlocking)));
  env->stream = state_of(env)->stream;
  PASS(wr_stages_open(state_of(env)));
  return wr_workspace_reserve(env, WORKSPACE_BLOCKS, &workspace);
}

/* Any CUDA error while opening becomes WR_EUNAVAILABLE. */
static wr_status open_cuda(wr_env *env) {
  wr_status status;
  env->state = env->stream = NULL;
  TRY(check_driver());
  TRY(check_device(env));
  TRY(wr_alloc_zeroed(&env->state, 1, sizeof(wr_cuda_state), "the device's vector operations"));
  TRY(open_parts(env));
done:
  if (status == WR_OK) return WR_OK;
  if (status == WR_EDEVICE)
    status = wr_fail(WR_EUNAVAILABLE, "CUDA device %d cannot be used: %s", env->device, wr_status_message());
  close_cuda(env);
  return status;
}

static void release(wr_env *env, wr_vec *v) {
  if (env == NULL || v == NULL) return;
  wr_device_free(env, v->data);
  memset(v, 0, sizeof *v);
}

static wr_status alloc(wr_env *env, int64_t n, wr_type type, const char *what, wr_vec *v) {
  WR_NEED(v);
  memset(v, 0, sizeof *v);
  WR_NEED(what);
  WR_REFUSE_IF((unsigned)type > WR_F64, "type is %d", (int)type);
  if (n < 1) return wr_fail(WR_EUSAGE, "a vector of %lld elements for %s", (long long)n, what);
  PASS(wr_device_alloc_zeroed(env, &v->data, n, (size_t)wr_type_bytes(type), what));
  v->n = n, v->type = type, v->place = WR_CUDA, v->id = wr_vec_new_id(), v->writes = 1;
  return WR_OK;
}

static wr_status upload(wr_env *env, wr_vec *v, const double *values) {
  PASS(wr_cuda_enter(env));
  PASS(wr_cuda_check_vec(env, v, "the target of an upload"));
  WR_NEED(values);
  if (v->reciprocal_bytes) return wr_fail(WR_EUSAGE, "the target of an upload is a compact vector");
  v->writes++;
  return wr_device_upload(env, v->data, values, v->n, v->type == WR_F32 ? WR_F64_AS_F32 : WR_AS_8_BYTES);
}

static wr_status download(wr_env *env, const wr_vec *v, double *values) {
  PASS(wr_cuda_enter(env));
  PASS(wr_cuda_check_vec(env, v, "the source of a download"));
  WR_NEED(values);
  if (v->reciprocal_bytes) return wr_fail(WR_EUSAGE, "the source of a download is a compact vector");
  return wr_device_download(env, values, v->data, v->n, v->type == WR_F32 ? WR_F64_AS_F32 : WR_AS_8_BYTES);
}

/* Streams of this library do not wait for the default stream by themselves. */
static wr_status follow_default_stream(const wr_env *env) {
  cudaEvent_t begun = NULL;
  PASS(WR_CUDA(cudaEventCreateWithFlags(&begun, cudaEventDisableTiming)));
  wr_status status = WR_CUDA(cudaEventRecord(begun, cudaStreamLegacy));
  if (status == WR_OK) status = WR_CUDA(cudaStreamWaitEvent(state_of(env)->stream, begun, 0));
  (void)cudaEventDestroy(begun); /* once it is over */
  return status;
}

static wr_status check_address(wr_env *env, const void *address, const char *role) {
  cudaPointerAttributes of;
  PASS(wr_cuda_enter(env));
  WR_NEED(role);
  if (address == NULL) return wr_fail(WR_EUSAGE, "%s is NULL", role);
  PASS(WR_CUDA(cudaPointerGetAttributes(&of, address)));
  if (of.type == cudaMemoryTypeManaged || (of.type == cudaMemoryTypeDevice && of.device == env->device)) return WR_OK;
  if (of.type == cudaMemoryTypeDevice)
    return wr_fail(WR_EUSAGE, "%s is on CUDA device %d, and device %d computes", role, of.device, env->device);
  return wr_fail(WR_EUSAGE, "%s is in the memory of the host, and not of CUDA device %d", role, env->device);
}

static wr_status check_own(const wr_env *env, const wr_vec *v, const void *address) {
  PASS(wr_cuda_enter(env));
  PASS(wr_cuda_check_vec(env, v, "v"));
  WR_NEED(address);
  WR_REFUSE_IF(v->type != WR_F64 || v->reciprocal_bytes, "v is not f64");
  return follow_default_stream(env);
}

static wr_status take(wr_env *env, wr_vec *v, const double *address) {
  PASS(check_own(env, v, address));
  v->writes++;
  return WR_CUDA(cudaMemcpyAsync(v->data, address, (size_t)v->n * sizeof(double), cudaMemcpyDeviceToDevice,
                                 state_of(env)->stream));
}

static wr_status give(wr_env *env, const wr_vec *v, double *address) {
  PASS(check_own(env, v, address));
  PASS(WR_CUDA(cudaMemcpyAsync(address, v->data, (size_t)v->n * sizeof(double), cudaMemcpyDeviceToDevice,
                               state_of(env)->stream)));
  return WR_CUDA(cudaStreamSynchronize(state_of(env)->stream));
}

static wr_status wait_cuda(wr_env *env) {
  wr_status status = wr_cuda_enter(env);
  return status == WR_OK ? WR_CUDA(cudaStreamSynchronize(state_of(env)->stream)) : status;
}

static wr_status stamp(wr_env *env, int slot) {
  PASS(wr_cuda_enter(env));
  if (slot < 0 || slot >= WR_STAMPS) return wr_fail(WR_EUSAGE, "stamp %d of %d", slot, WR_STAMPS);
  if (state_of(env)->stamps[slot] == NULL) PASS(WR_CUDA(cudaEventCreate(&state_of(env)->stamps[slot])));
  return WR_CUDA(cudaEventRecord(state_of(env)->stamps[slot], state_of(env)->stream));
}

static wr_status elapsed(wr_env *env, int from, int to, double *seconds) {
  float milliseconds;
  cudaEvent_t *stamps;
  PASS(wr_cuda_enter(env));
  WR_NEED(seconds);
  stamps = state_of(env)->stamps;
  if (from < 0 || from >= WR_STAMPS || to < 0 || to >= WR_STAMPS || !stamps[from] || !stamps[to])
    return wr_fail(WR_EUSAGE, "stamps %d and %d: not both of them were set, or not below %d", from, to, WR_STAMPS);
  PASS(WR_CUDA(cudaEventSynchronize(stamps[from])));
  PASS(WR_CUDA(cudaEventSynchronize(stamps[to])));
  PASS(WR_CUDA(cudaEventElapsedTime(&milliseconds, stamps[from], stamps[to])));
  *seconds = (double)milliseconds * 1e-3;
  return WR_OK;
}

static wr_status memory(wr_env *env, int64_t *free_bytes, int64_t *total_bytes) {
  size_t free_size = 0, total_size = 0;
  PASS(wr_cuda_enter(env));
  WR_NEED(free_bytes);
  WR_NEED(total_bytes);
  PASS(WR_CUDA(cudaMemGetInfo(&free_size, &total_size)));
  *free_bytes = (int64_t)free_size;
  *total_bytes = (int64_t)total_size;
  return WR_OK;
}

extern "C" const wr_vecops wr_vecops_cuda = {
    .name = "cuda",
    .open = open_cuda,
    .close = close_cuda,
    .alloc = alloc,
    .release = release,
    .memory = memory,
    .upload = upload,
    .download = download,
    .fill = wr_cuda_fill,
    .check_address = check_address,
    .take = take,
    .give = give,
    .compact = wr_cuda_compact,
    .widen = wr_cuda_widen,
    .fused = wr_cuda_fused,
    .step = wr_cuda_step,
    .epilogue = wr_cuda_epilogue,
    .recast = wr_cuda_recast,
    .maxima = wr_cuda_maxima,
    .pick = wr_cuda_pick,
    .copy_column = wr_cuda_copy_column,
    .move_column = wr_cuda_move_column,
    .epilogue_many = wr_cuda_epilogue_many,
    .start_column = wr_cuda_start_column,
    .fused_many = wr_cuda_fused_many,
    .wait = wait_cuda,
    .stamp = stamp,
    .elapsed = elapsed,
    .loop_open = wr_cuda_loop_open,
    .loop_rows = wr_cuda_loop_rows,
    .loop_decide = wr_cuda_loop_decide,
    .loop_part = wr_cuda_loop_part,
    .loop_close = wr_cuda_loop_close,
    .loop_run = wr_cuda_loop_run,
    .loop_poll = wr_cuda_loop_poll,
    .loop_stop = wr_cuda_loop_stop,
    .loop_free = wr_cuda_loop_free,
};

extern "C" int wr_cuda_toolkit(void) { return CUDART_VERSION; }
