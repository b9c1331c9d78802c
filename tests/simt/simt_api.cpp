/* The host's side of CUDA: one device that answers as an H200 does, streams that have always finished, events that are a
 * clock, graphs that are a list of what was asked for. They have no conditional nodes. */
#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "tests/simt/simt.h"

/* By the number of a stream: how many of its operations are known to have finished. */
typedef std::map<uint64_t, uint64_t> simt_past;

struct simt_stream {
  uint64_t number, works;
  simt_past past; /* what its next operation has waited for */
};

struct simt_graph {
  std::vector<std::function<cudaError_t()>> works;
};

struct simt_graph_ready {
  std::vector<std::function<cudaError_t()>> works;
};

static struct {
  cudaStream_t stream; /* NULL: none is captured */
  cudaGraph_t graph;
} capture;

struct simt_event {
  double seconds;
  simt_past past; /* what has finished when the event is reached */
};

static cudaError_t last_error;

static cudaError_t answer(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

cudaError_t cudaGetLastError(void) {
  cudaError_t error = last_error;
  last_error = cudaSuccess;
  return error;
}

cudaError_t cudaPeekAtLastError(void) { return last_error; }

static const struct {
  cudaError_t error;
  const char *name, *sentence;
} errors[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorIllegalState, "cudaErrorIllegalState", "the operation cannot be performed in the present state"},
    {cudaErrorStreamCaptureUnsupported, "cudaErrorStreamCaptureUnsupported",
     "operation not permitted when stream is capturing"},
    {cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
};

static int row_of(cudaError_t error) {
  int row = 0, count = (int)(sizeof errors / sizeof *errors);
  while (row < count && errors[row].error != error) row++;
  return row < count ? row : 1;
}

const char *cudaGetErrorString(cudaError_t error) { return errors[row_of(error)].sentence; }
const char *cudaGetErrorName(cudaError_t error) { return errors[row_of(error)].name; }

/* ---- The device ---- */

static int current;
static bool is_device(int device) { return device >= 0 && device < simt_get_settings()->devices; }
cudaError_t cudaGetDeviceCount(int *count) {
  static bool is_open = (usleep(1000 * static_cast<useconds_t>(simt_get_settings()->open)), true);
  (void)is_open;
  return *count = simt_get_settings()->devices, cudaSuccess;
}
static bool is_lost;
void simt_lose_device(bool lost) { is_lost = lost; }
cudaError_t cudaSetDevice(int device) {
  if (!is_device(device) || is_lost) return answer(cudaErrorInvalidDevice);
  return current = device, cudaSuccess;
}
cudaError_t cudaGetDevice(int *device) { return *device = current, cudaSuccess; }
cudaError_t cudaDriverGetVersion(int *version) { return *version = CUDART_VERSION, cudaSuccess; }
cudaError_t cudaRuntimeGetVersion(int *version) { return *version = CUDART_VERSION, cudaSuccess; }
cudaError_t cudaDeviceSynchronize(void) { return cudaSuccess; }

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *p, int device) {
  static const char name[] = "no card: the CPU in its place";
  if (!is_device(device)) return answer(cudaErrorInvalidDevice);
  memset(p, 0, sizeof *p);
  memcpy(p->name, name, sizeof name);
  p->totalGlobalMem = simt_memory_total();
  p->sharedMemPerBlock = 48 << 10, p->sharedMemPerBlockOptin = 227 << 10, p->sharedMemPerMultiprocessor = 228 << 10;
  p->regsPerBlock = 65536, p->warpSize = 32, p->maxThreadsPerBlock = 1024,
  p->multiProcessorCount = simt_get_settings()->processors;
  p->l2CacheSize = 50 << 20, p->major = 9, p->minor = 0;
  p->maxThreadsPerMultiProcessor = 2048, p->maxBlocksPerMultiProcessor = 32;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device) {
  cudaDeviceProp p;
  cudaError_t error = cudaGetDeviceProperties(&p, device);
  if (error != cudaSuccess) return error;
  switch (attribute) {
    case cudaDevAttrMaxSharedMemoryPerBlock: *value = (int)p.sharedMemPerBlock; break;
    case cudaDevAttrMultiProcessorCount: *value = p.multiProcessorCount; break;
    case cudaDevAttrL2CacheSize: *value = p.l2CacheSize; break;
    case cudaDevAttrMaxThreadsPerMultiProcessor: *value = p.maxThreadsPerMultiProcessor; break;
    case cudaDevAttrComputeCapabilityMajor: *value = p.major; break;
    case cudaDevAttrComputeCapabilityMinor: *value = p.minor; break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: *value = (int)p.sharedMemPerMultiprocessor; break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = (int)p.sharedMemPerBlockOptin; break;
    case cudaDevAttrKernelExecTimeout: /* and blocks run one after another */
    case cudaDevAttrCooperativeLaunch: *value = 0; break;
    default: return answer(cudaErrorInvalidValue);
  }
  return cudaSuccess;
}

/* ---- Memory ---- */

cudaError_t cudaMalloc(void **block, size_t bytes) {
  if (capture.stream) return answer(cudaErrorStreamCaptureUnsupported);
  *block = simt_memory_take(bytes);
  return answer(*block ? cudaSuccess : cudaErrorMemoryAllocation);
}

cudaError_t cudaFree(void *block) {
  if (block == nullptr) return cudaSuccess;
  if (!simt_memory_give(block)) simt_fail("cudaFree of %p, which is no block of device memory (any more)", block);
  return cudaSuccess;
}

/* Each process has a card of its own. */
cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer) {
  if (!is_device(device) || !is_device(peer)) return answer(cudaErrorInvalidDevice);
  return *can = device != peer && simt_get_settings()->peers, cudaSuccess;
}

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *block) {
  return answer(simt_memory_share(block, handle) ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaIpcOpenMemHandle(void **block, cudaIpcMemHandle_t handle, unsigned) {
  *block = simt_memory_attach(handle);
  return answer(*block ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaIpcCloseMemHandle(void *block) {
  return answer(simt_memory_give(block) ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaHostAlloc(void **block, size_t bytes, unsigned) {
  *block = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  return answer(*block ? cudaSuccess : cudaErrorMemoryAllocation);
}

cudaError_t cudaFreeHost(void *block) { return free(block), cudaSuccess; }

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total) {
  *total = simt_memory_total();
  *free_bytes = *total - simt_memory_used();
  return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes *of, const void *address) {
  bool is_device = simt_memory_is_device(address);
  *of = {is_device ? cudaMemoryTypeDevice : cudaMemoryTypeUnregistered, is_device ? 0 : -1};
  return cudaSuccess;
}

static bool fits(const void *address, size_t bytes, bool device) {
  return device ? simt_memory_holds(address, bytes) : !simt_memory_is_device(address);
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind) {
  bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  if (kind == cudaMemcpyDefault) from_device = simt_memory_is_device(from), to_device = simt_memory_is_device(to);
  if (bytes == 0) return cudaSuccess;
  if (!fits(from, bytes, from_device) || !fits(to, bytes, to_device)) return answer(cudaErrorInvalidValue);
  if (from_device) simt_open_memory(from);
  if (to_device) simt_open_memory(to);
  memmove(to, from, bytes);
  if (from_device) simt_close_memory(from);
  if (to_device) simt_close_memory(to);
  return cudaSuccess;
}

cudaError_t cudaMemset(void *block, int value, size_t bytes) {
  if (bytes == 0) return cudaSuccess;
  if (!simt_memory_holds(block, bytes)) return answer(cudaErrorInvalidValue);
  simt_open_memory(block);
  memset(block, value, bytes);
  simt_close_memory(block);
  return cudaSuccess;
}

/* ---- The order of streams ---- */

/* When two streams write one place without waiting for each other, the result depends on which the card finishes last. Here
 * streams have always finished, so this fault is found by noting what each has waited for; for copies and memsets alone. */
static struct {
  std::mutex lock;
  uint64_t streams;
  simt_past host; /* what the host has waited for */
  std::map<const void *, std::pair<uint64_t, uint64_t>> writer; /* by address: stream and number of the operation */
} order;

static void add_past(simt_past *to, const simt_past &from) {
  for (const auto &[stream, works] : from)
    if ((*to)[stream] < works) (*to)[stream] = works;
}

static void note_write(const void *to, cudaStream_t stream) {
  if (stream == nullptr) return;
  std::lock_guard<std::mutex> guard(order.lock);
  add_past(&stream->past, order.host);
  auto &[writer, work] = order.writer[to];
  if (work > stream->past[writer]) simt_fail("two streams write %p, and neither waits for the other", to);
  writer = stream->number, work = ++stream->works;
  stream->past[writer] = work;
}

static cudaError_t host_waits(const simt_past *past) {
  if (past == nullptr) return answer(cudaErrorInvalidResourceHandle);
  std::lock_guard<std::mutex> guard(order.lock);
  add_past(&order.host, *past);
  return cudaSuccess;
}

/* What the host has waited for whole can be at fault no more. Without this, every copy would go through all streams that ever
 * were. */
static void forget(const simt_stream *stream) {
  std::lock_guard<std::mutex> guard(order.lock);
  if (order.host[stream->number] < stream->works) return;
  order.host.erase(stream->number);
  for (auto at = order.writer.begin(); at != order.writer.end();)
    at = at->second.first == stream->number ? order.writer.erase(at) : std::next(at);
}

/* A launch does not say in which stream it is: while a stream is captured, all launches belong to it. */
cudaError_t simt_do(const std::function<cudaError_t()> &work) {
  if (capture.stream == nullptr) return work();
  capture.graph->works.push_back(work);
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  if (stream != capture.stream) {
    if (simt_memory_is_device(to)) note_write(to, stream);
    return cudaMemcpy(to, from, bytes, kind);
  }
  return simt_do([=] { return cudaMemcpy(to, from, bytes, kind); });
}
cudaError_t cudaMemsetAsync(void *block, int value, size_t bytes, cudaStream_t stream) {
  if (stream != capture.stream) {
    note_write(block, stream);
    return cudaMemset(block, value, bytes);
  }
  return simt_do([=] { return cudaMemset(block, value, bytes); });
}

/* ---- Streams and events ---- */

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned) {
  std::lock_guard<std::mutex> guard(order.lock);
  *stream = new simt_stream{++order.streams, 0, {}};
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  if (stream == nullptr) return answer(cudaErrorInvalidResourceHandle);
  forget(stream);
  return delete stream, cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  if (stream && stream == capture.stream) return answer(cudaErrorStreamCaptureUnsupported);
  return stream ? host_waits(&stream->past) : cudaSuccess;
}
cudaError_t cudaStreamQuery(cudaStream_t stream) { return cudaStreamSynchronize(stream); }
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  if (event == nullptr) return answer(cudaErrorInvalidResourceHandle);
  std::lock_guard<std::mutex> guard(order.lock);
  if (stream) add_past(&stream->past, event->past);
  return cudaSuccess;
}

/* ---- Graphs ---- */

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  if (stream == nullptr) return answer(cudaErrorStreamCaptureUnsupported);
  if (capture.stream) return answer(cudaErrorIllegalState);
  capture = {stream, new simt_graph};
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph) {
  if (stream == nullptr || stream != capture.stream) return answer(cudaErrorIllegalState);
  *graph = capture.graph;
  capture = {};
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *ready, cudaGraph_t graph, unsigned long long) {
  return *ready = new simt_graph_ready{graph->works}, cudaSuccess;
}
cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t) { return cudaSuccess; }
cudaError_t cudaGraphLaunch(cudaGraphExec_t ready, cudaStream_t) {
  cudaError_t error = cudaSuccess;
  for (size_t k = 0; k < ready->works.size() && error == cudaSuccess; k++) error = ready->works[k]();
  return answer(error);
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t ready) { return delete ready, cudaSuccess; }
cudaError_t cudaGraphDestroy(cudaGraph_t graph) { return delete graph, cudaSuccess; }

cudaError_t cudaEventCreate(cudaEvent_t *event) { return *event = new simt_event{0, {}}, cudaSuccess; }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned) { return cudaEventCreate(event); }
cudaError_t cudaEventDestroy(cudaEvent_t event) { return delete event, cudaSuccess; }

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  timespec now;
  if (event == nullptr) return answer(cudaErrorInvalidResourceHandle);
  std::lock_guard<std::mutex> guard(order.lock);
  if (stream) event->past = stream->past;
  clock_gettime(CLOCK_MONOTONIC, &now);
  event->seconds = (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
  return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event) { return host_waits(event ? &event->past : nullptr); }
cudaError_t cudaEventSynchronize(cudaEvent_t event) { return cudaEventQuery(event); }

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t from, cudaEvent_t to) {
  if (from == nullptr || to == nullptr) return answer(cudaErrorInvalidResourceHandle);
  *milliseconds = (float)((to->seconds - from->seconds) * 1e3);
  return cudaSuccess;
}
