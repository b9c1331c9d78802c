/* The shim's graphs: what is asked for while a stream is captured is done when the graph is launched, each time, and what a
 * card refuses meanwhile is refused. */
#include <cuda_runtime.h>

#include "spmv/kernel/launch.cuh"
#include "tests/check.h"

__global__ void add(int *at, int value) {
  if (threadIdx.x == 0) *at += value;
}

static int value_of(const int *device) {
  int value = -1;
  CHECK(cudaMemcpy(&value, device, sizeof value, cudaMemcpyDeviceToHost) == cudaSuccess);
  return value;
}

static void test_capture(cudaStream_t stream, int *device) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t ready = nullptr;
  void *more = nullptr;
  int host = 0;
  CASE("a graph is what was asked for");
  CHECK(cudaMemset(device, 0, sizeof(int)) == cudaSuccess);
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
  CHECK_OK(WR_LAUNCH((add), 1, 32, 0, stream, device, 5));
  CHECK(cudaMemcpyAsync(&host, device, sizeof host, cudaMemcpyDeviceToHost, stream) == cudaSuccess);
  CHECK_OK(WR_LAUNCH((add), 1, 32, 0, stream, device, 2));
  CHECK(cudaStreamSynchronize(stream) == cudaErrorStreamCaptureUnsupported);
  CHECK(cudaMalloc(&more, 64) == cudaErrorStreamCaptureUnsupported);
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaErrorIllegalState);
  CHECK(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
  CHECK(value_of(device) == 0 && host == 0);
  CHECK(cudaGraphInstantiate(&ready, graph, 0) == cudaSuccess && cudaGraphDestroy(graph) == cudaSuccess);
  for (int time = 1; time <= 3; time++) {
    CHECK(cudaGraphLaunch(ready, stream) == cudaSuccess);
    CHECKF(value_of(device) == 7 * time && host == 7 * time - 2, "%d and %d", value_of(device), host);
  }
  CHECK(cudaGraphExecDestroy(ready) == cudaSuccess);
}

static void test_afterwards(cudaStream_t stream, int *device) {
  cudaGraph_t graph = nullptr;
  CASE("nothing is captured any more");
  CHECK(cudaStreamEndCapture(stream, &graph) == cudaErrorIllegalState);
  CHECK(cudaMemsetAsync(device, 0, sizeof(int), stream) == cudaSuccess);
  CHECK_OK(WR_LAUNCH((add), 1, 32, 0, stream, device, 1));
  CHECK(value_of(device) == 1 && cudaStreamSynchronize(stream) == cudaSuccess);
}

int main(void) {
  cudaStream_t stream = nullptr;
  void *device = nullptr;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
  CHECK(cudaMalloc(&device, sizeof(int)) == cudaSuccess);
  test_capture(stream, static_cast<int *>(device));
  test_afterwards(stream, static_cast<int *>(device));
  CHECK(cudaFree(device) == cudaSuccess && cudaStreamDestroy(stream) == cudaSuccess);
  return wr_test_report("simt_graphs");
}
