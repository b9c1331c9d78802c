/* Loops that a device repeats by itself (vec.h): a CUDA graph whose one node is a WHILE. Its body is the first half of the
 * loop and, behind it, an IF node around the second if there is one; conditions are set by the WR_S_GO at the end of each half.
 * Where CUDA or the driver have no such nodes, loop_open says so. Facts: CUDA Programming Guide, "Conditional Graph Nodes". */
#include <cuda_runtime.h>
#include <string.h>
#include <time.h>

#include "config/memory.h"
#include "spmv/device/check.cuh"
#include "spmv/device/cuda_state.h"
#include "spmv/device/device_memory.h"

struct wr_loop {
  cudaStream_t side; /* looks at the bank and asks the loop to stop, while the loop has the env's own */
  cudaEvent_t ended;
  unsigned *stop;    /* on the device                                                                 */
  double *seen;      /* [256] pinned                                                                  */
  int recording;     /* the env's stream is being captured                                            */
  int conditions;    /* that a WR_S_GO of the half being recorded sets                                */
  double begun;      /* when it was last run                                                          */
#if !defined(WR_SIMT) && CUDART_VERSION >= 12040
  cudaGraph_t graph, body;
  cudaGraphExec_t ready;
#endif
};

#if !defined(WR_SIMT) && CUDART_VERSION >= 12040

static wr_cuda_state *state_of(const wr_env *env) { return (wr_cuda_state *)env->state; }

/* CUDA 13 has one signature where CUDA 12 had two. */
#if CUDART_VERSION >= 13000
static cudaError_t add_node(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count,
                            cudaGraphNodeParams *parameters) {
  return cudaGraphAddNode(node, graph, after, NULL, count, parameters);
}
static cudaError_t last_nodes(cudaStream_t stream, const cudaGraphNode_t **nodes, size_t *count) {
  cudaStreamCaptureStatus status;
  const cudaGraphEdgeData *edges;
  return cudaStreamGetCaptureInfo(stream, &status, NULL, NULL, nodes, &edges, count);
}
#else
static cudaError_t add_node(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count,
                            cudaGraphNodeParams *parameters) {
  return cudaGraphAddNode(node, graph, after, count, parameters);
}
static cudaError_t last_nodes(cudaStream_t stream, const cudaGraphNode_t **nodes, size_t *count) {
  cudaStreamCaptureStatus status;
  return cudaStreamGetCaptureInfo_v2(stream, &status, NULL, NULL, nodes, count);
}
#endif

/* A condition for a node of graph; initially: its value at every launch. */
static wr_status make_condition(cudaGraph_t graph, unsigned initially, unsigned long long *condition) {
  cudaGraphConditionalHandle handle = 0;
  wr_status status = WR_CUDA(cudaGraphConditionalHandleCreate(&handle, graph, initially, cudaGraphCondAssignDefault));
  *condition = handle;
  return status;
}

/* A node behind the `count` nodes at `after` that does its body, *inner, under a condition. */
static wr_status add_conditional(cudaGraph_t graph, const cudaGraphNode_t *after, size_t count,
                                 cudaGraphConditionalNodeType type, unsigned long long condition, cudaGraph_t *inner) {
  wr_status status;
  cudaGraphNode_t node;
  cudaGraphNodeParams parameters = {};
  parameters.type = cudaGraphNodeTypeConditional;
  parameters.conditional.handle = condition;
  parameters.conditional.type = type;
  parameters.conditional.size = 1;
  TRY(WR_CUDA(add_node(&node, graph, after, count, &parameters)));
  *inner = parameters.conditional.phGraph_out[0];
done:
  return status;
}

static wr_status begin_capture(wr_cuda_state *state, wr_loop *loop, cudaGraph_t graph) {
  wr_status status =
      WR_CUDA(cudaStreamBeginCaptureToGraph(state->stream, graph, NULL, NULL, 0, cudaStreamCaptureModeThreadLocal));
  if (status == WR_OK) loop->recording = 1;
  return status;
}

static wr_status end_capture(wr_cuda_state *state, wr_loop *loop) {
  cudaGraph_t graph;
  loop->recording = 0;
  return WR_CUDA(cudaStreamEndCapture(state->stream, &graph));
}

/* What does not depend on the work. */
static wr_status open_parts(wr_env *env, wr_loop *loop) {
  wr_status status;
  int driver = 0;
  TRY(WR_CUDA(cudaDriverGetVersion(&driver)));
  if (driver < 12040)
    TRY(wr_fail(WR_EUNAVAILABLE, "the CUDA driver has no loops in graphs: it serves CUDA %d.%d, 12.4 is needed",
                driver / 1000, driver % 1000 / 10));
  TRY(WR_CUDA(cudaStreamCreateWithFlags(&loop->side, cudaStreamNonBlocking)));
  TRY(WR_CUDA(cudaEventCreateWithFlags(&loop->ended, cudaEventDisableTiming)));
  TRY(wr_device_alloc_zeroed(env, &loop->stop, 1, sizeof *loop->stop, "a wish to stop"));
  TRY(wr_pinned_alloc(&loop->seen, 256 * (int64_t)sizeof *loop->seen, "scalars under way"));
  TRY(WR_CUDA(cudaStreamSynchronize(state_of(env)->stream)));
done:
  return status;
}

extern "C" wr_status wr_cuda_loop_open(wr_env *env, int halves, wr_loop **out) {
  wr_status status;
  wr_cuda_state *state;
  wr_loop *loop = NULL;
  *out = NULL;
  TRY(wr_cuda_enter(env));
  state = state_of(env);
  TRY(wr_alloc_zeroed(&loop, 1, sizeof *loop, "a loop"));
  TRY(open_parts(env, loop));
  TRY(WR_CUDA(cudaGraphCreate(&loop->graph, 0)));
  TRY(make_condition(loop->graph, 1, &state->go.condition[0]));
  TRY(add_conditional(loop->graph, NULL, 0, cudaGraphCondTypeWhile, state->go.condition[0], &loop->body));
  if (halves == 2) TRY(make_condition(loop->body, 0, &state->go.condition[1])); /* of the second, for the first to set */
  state->go.conditions = loop->conditions = halves, state->go.stop = loop->stop;
  TRY(begin_capture(state, loop, loop->body));
  *out = loop;
done:
  if (status != WR_OK) wr_cuda_loop_free(env, loop);
  return status;
}

extern "C" wr_status wr_cuda_loop_decide(wr_env *env, wr_loop *loop, int decides) {
  state_of(env)->go.conditions = decides ? loop->conditions : 0;
  return WR_OK;
}

extern "C" wr_status wr_cuda_loop_half(wr_env *env, wr_loop *loop) {
  wr_status status;
  wr_cuda_state *state = state_of(env);
  const cudaGraphNode_t *nodes;
  cudaGraphNode_t last[8];
  cudaGraph_t second;
  size_t count = 0;
  TRY(wr_cuda_enter(env));
  TRY(WR_CUDA(last_nodes(state->stream, &nodes, &count)));
  if (count > 8) TRY(wr_fail(WR_EINTERNAL, "a loop's first half has %zu ends", count));
  memcpy(last, nodes, count * sizeof *last);
  TRY(end_capture(state, loop));
  TRY(add_conditional(loop->body, last, count, cudaGraphCondTypeIf, state->go.condition[1], &second));
  state->go.conditions = loop->conditions = 1;
  TRY(begin_capture(state, loop, second));
done:
  return status;
}

extern "C" wr_status wr_cuda_loop_close(wr_env *env, wr_loop *loop) {
  wr_status status;
  wr_cuda_state *state = state_of(env);
  TRY(wr_cuda_enter(env));
  memset(&state->go, 0, sizeof state->go);
  TRY(end_capture(state, loop));
  TRY(WR_CUDA(cudaGraphInstantiate(&loop->ready, loop->graph, 0)));
  TRY(WR_CUDA(cudaGraphUpload(loop->ready, state->stream)));
done:
  return status;
}

static double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

extern "C" wr_status wr_cuda_loop_run(wr_env *env, wr_loop *loop) {
  wr_status status;
  cudaStream_t stream = state_of(env)->stream;
  TRY(wr_cuda_enter(env));
  TRY(WR_CUDA(cudaMemsetAsync(loop->stop, 0, sizeof *loop->stop, stream)));
  TRY(WR_CUDA(cudaGraphLaunch(loop->ready, stream)));
  TRY(WR_CUDA(cudaEventRecord(loop->ended, stream)));
  loop->begun = seconds_now();
done:
  return status;
}

/* Short loops are waited for without sleeping, long ones are looked at about twenty times a second. */
static wr_status wait_a_little(wr_loop *loop, int *ended) {
  const double spin = 0.02, look = 0.05;
  double from = seconds_now();
  const struct timespec nap = {0, 100000};
  cudaError_t error;
  *ended = 0;
  while ((error = cudaEventQuery(loop->ended)) == cudaErrorNotReady) {
    double now = seconds_now();
    if (now - from > look) return WR_OK;
    if (now - loop->begun > spin) nanosleep(&nap, NULL);
  }
  *ended = 1;
  return wr_cuda_check(error, "a loop on the device");
}

extern "C" wr_status wr_cuda_loop_poll(wr_env *env, wr_loop *loop, const wr_vec *bank, double *scalars, int *ended) {
  wr_status status;
  size_t bytes = (size_t)bank->n * sizeof *scalars;
  TRY(wr_cuda_enter(env));
  if (bank->n > 256) TRY(wr_fail(WR_EUSAGE, "a bank of %lld scalars", (long long)bank->n));
  TRY(wait_a_little(loop, ended));
  TRY(WR_CUDA(cudaMemcpyAsync(loop->seen, bank->data, bytes, cudaMemcpyDeviceToHost, loop->side)));
  TRY(WR_CUDA(cudaStreamSynchronize(loop->side)));
  memcpy(scalars, loop->seen, bytes);
done:
  return status;
}

extern "C" wr_status wr_cuda_loop_stop(wr_env *env, wr_loop *loop) {
  wr_status status;
  TRY(wr_cuda_enter(env));
  TRY(WR_CUDA(cudaMemsetAsync(loop->stop, 1, sizeof *loop->stop, loop->side)));
done:
  return status;
}

/* What fails here was reported before. */
extern "C" void wr_cuda_loop_free(wr_env *env, wr_loop *loop) {
  cudaGraph_t graph;
  if (loop == NULL || wr_cuda_enter(env) != WR_OK) return;
  memset(&state_of(env)->go, 0, sizeof state_of(env)->go);
  if (loop->recording) (void)cudaStreamEndCapture(state_of(env)->stream, &graph);
  if (loop->ready) (void)cudaStreamSynchronize(state_of(env)->stream), (void)cudaGraphExecDestroy(loop->ready);
  if (loop->graph) (void)cudaGraphDestroy(loop->graph);
  if (loop->side) (void)cudaStreamDestroy(loop->side);
  if (loop->ended) (void)cudaEventDestroy(loop->ended);
  (void)cudaGetLastError();
  wr_device_free(env, loop->stop);
  wr_pinned_free(loop->seen);
  wr_free(loop);
}

#else

extern "C" wr_status wr_cuda_loop_open(wr_env *env, int, wr_loop **loop) {
  (void)env, *loop = NULL;
  return wr_fail(WR_EUNAVAILABLE, "this build has no loops in graphs: they need CUDA 12.4");
}
extern "C" wr_status wr_cuda_loop_decide(wr_env *env, wr_loop *, int) { return wr_cuda_enter(env); }
extern "C" wr_status wr_cuda_loop_half(wr_env *env, wr_loop *) { return wr_cuda_enter(env); }
extern "C" wr_status wr_cuda_loop_close(wr_env *env, wr_loop *) { return wr_cuda_enter(env); }
extern "C" wr_status wr_cuda_loop_run(wr_env *env, wr_loop *) { return wr_cuda_enter(env); }
extern "C" wr_status wr_cuda_loop_poll(wr_env *env, wr_loop *, const wr_vec *, double *, int *ended) {
  *ended = 1;
  return wr_cuda_enter(env);
}
extern "C" wr_status wr_cuda_loop_stop(wr_env *env, wr_loop *) { return wr_cuda_enter(env); }
extern "C" void wr_cuda_loop_free(wr_env *, wr_loop *) {}

#endif
