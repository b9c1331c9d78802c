/* A loop as a CUDA graph of one WHILE node. Its body is the first part of the loop and, behind it, an IF node around each
 * further part; the deciding step at the end of a part sets the conditions of the WHILE node and of the parts that follow. If
 * CUDA or the driver has no such nodes, wr_loop_graph_open returns WR_EUNAVAILABLE and loop_plain.cu is used. Facts: CUDA
 * Programming Guide, "Conditional Graph Nodes". */
#include "spmv/loop/loop_cuda.h"

#include <cuda_runtime.h>
#include <string.h>

#include "config/memory.h"
#include "spmv/device/check.cuh"
#include "spmv/device/testing.h"

#if !defined(WR_SIMT) && CUDART_VERSION >= 12040

struct wr_loop_graph {
  cudaGraph_t graph, body;
  cudaGraphExec_t ready;
  int recording;  /* 1: the env's stream is being captured               */
  int conditions; /* number set by the deciding step of the part that is recorded: its own IF node and earlier ones are not */
                  /* among them, so that of the last part is condition 1, and that of the second part the last            */
  cudaGraphNode_t branch; /* the last IF node; NULL: the first part is recorded */
};

static wr_cuda_state *state_of(const wr_env *env) { return (wr_cuda_state *)env->state; }

/* CUDA 13 changed the signatures of these two functions. */
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

/* *condition := a new condition for a node of graph, with the value `initially` at every launch. */
static wr_status make_condition(cudaGraph_t graph, unsigned initially, unsigned long long *condition) {
  cudaGraphConditionalHandle handle = 0;
  wr_status status = WR_CUDA(cudaGraphConditionalHandleCreate(&handle, graph, initially, cudaGraphCondAssignDefault));
  *condition = handle;
  return status;
}

/* *node := a new conditional node behind the `count` nodes at `after`; *inner := the graph of its body. */
static wr_status add_conditional(cudaGraph_t graph, const cudaGraphNode_t *after, size_t count,
                                 cudaGraphConditionalNodeType type, unsigned long long condition, cudaGraphNode_t *node,
                                 cudaGraph_t *inner) {
  cudaGraphNodeParams parameters = {};
  parameters.type = cudaGraphNodeTypeConditional;
  parameters.conditional.handle = condition;
  parameters.conditional.type = type;
  parameters.conditional.size = 1;
  PASS(WR_CUDA(add_node(node, graph, after, count, &parameters)));
  *inner = parameters.conditional.phGraph_out[0];
  return WR_OK;
}

static wr_status begin_capture(wr_cuda_state *state, wr_loop_graph *loop, cudaGraph_t graph) {
  wr_status status =
      WR_CUDA(cudaStreamBeginCaptureToGraph(state->stream, graph, NULL, NULL, 0, cudaStreamCaptureModeThreadLocal));
  if (status == WR_OK) loop->recording = 1;
  return status;
}

static wr_status end_capture(wr_cuda_state *state, wr_loop_graph *loop) {
  cudaGraph_t graph;
  loop->recording = 0;
  return WR_CUDA(cudaStreamEndCapture(state->stream, &graph));
}

static wr_status check_driver(const wr_env *env) {
  int driver = 0;
  wr_status status = WR_CUDA(cudaDriverGetVersion(&driver));
  if (env->testing && env->testing->no_conditions) driver = 12030;
  if (status == WR_OK && driver < 12040)
    status = wr_fail(WR_EUNAVAILABLE, "the CUDA driver has no loops in graphs: it supports CUDA %d.%d, 12.4 is needed",
                     driver / 1000, driver % 1000 / 10);
  return status;
}

extern "C" wr_status wr_loop_graph_open(wr_env *env, int parts, const unsigned *stop, wr_loop_graph **out) {
  wr_status status;
  wr_cuda_state *state = state_of(env);
  wr_loop_graph *loop = NULL;
  cudaGraphNode_t repeat;
  TRY(check_driver(env));
  TRY(wr_alloc_zeroed(&loop, 1, sizeof *loop, "a loop"));
  TRY(WR_CUDA(cudaStreamSynchronize(state->stream)));
  TRY(WR_CUDA(cudaGraphCreate(&loop->graph, 0)));
  TRY(make_condition(loop->graph, 1, &state->go.condition[0]));
  TRY(add_conditional(loop->graph, NULL, 0, cudaGraphCondTypeWhile, state->go.condition[0], &repeat, &loop->body));
  for (int k = 1; k < parts; k++) TRY(make_condition(loop->body, 0, &state->go.condition[k])); /* of an IF node */
  state->go.conditions = loop->conditions = parts, state->go.stop = stop;
  TRY(begin_capture(state, loop, loop->body));
  *out = loop, loop = NULL;
done:
  wr_loop_graph_free(env, loop);
  return status;
}

extern "C" void wr_loop_graph_decide(wr_env *env, wr_loop_graph *loop, int decides) {
  state_of(env)->go.conditions = decides ? loop->conditions : 0;
}

extern "C" wr_status wr_loop_graph_part(wr_env *env, wr_loop_graph *loop) {
  wr_cuda_state *state = state_of(env);
  const cudaGraphNode_t *nodes;
  cudaGraphNode_t last[8], after;
  cudaGraph_t next;
  size_t count = 0;
  PASS(WR_CUDA(last_nodes(state->stream, &nodes, &count)));
  if (count > 8) return wr_fail(WR_EINTERNAL, "a loop's first part has %zu ends", count);
  memcpy(last, nodes, count * sizeof *last);
  PASS(end_capture(state, loop));
  if (loop->branch) last[0] = loop->branch, count = 1; /* the part just recorded is in this node */
  state->go.conditions = --loop->conditions;
  PASS(add_conditional(loop->body, last, count, cudaGraphCondTypeIf, state->go.condition[loop->conditions], &after,
                       &next));
  loop->branch = after;
  return begin_capture(state, loop, next);
}

extern "C" wr_status wr_loop_graph_close(wr_env *env, wr_loop_graph *loop) {
  wr_cuda_state *state = state_of(env);
  memset(&state->go, 0, sizeof state->go);
  PASS(end_capture(state, loop));
  PASS(WR_CUDA(cudaGraphInstantiate(&loop->ready, loop->graph, 0)));
  return WR_CUDA(cudaGraphUpload(loop->ready, state->stream));
}

extern "C" wr_status wr_loop_graph_run(wr_env *env, wr_loop_graph *loop) {
  return WR_CUDA(cudaGraphLaunch(loop->ready, state_of(env)->stream));
}

/* Errors are cleared: the call that failed first has reported its own. */
extern "C" void wr_loop_graph_free(wr_env *env, wr_loop_graph *loop) {
  cudaGraph_t graph;
  if (loop == NULL) return;
  memset(&state_of(env)->go, 0, sizeof state_of(env)->go);
  if (loop->recording) (void)cudaStreamEndCapture(state_of(env)->stream, &graph);
  if (loop->ready) (void)cudaStreamSynchronize(state_of(env)->stream), (void)cudaGraphExecDestroy(loop->ready);
  if (loop->graph) (void)cudaGraphDestroy(loop->graph);
  (void)cudaGetLastError();
  wr_free(loop);
}

#else

extern "C" wr_status wr_loop_graph_open(wr_env *, int, const unsigned *, wr_loop_graph **) {
  return wr_fail(WR_EUNAVAILABLE, "this build has no loops in graphs: they need CUDA 12.4");
}
extern "C" void wr_loop_graph_decide(wr_env *, wr_loop_graph *, int) {}
extern "C" wr_status wr_loop_graph_part(wr_env *env, wr_loop_graph *) { return wr_cuda_enter(env); }
extern "C" wr_status wr_loop_graph_close(wr_env *env, wr_loop_graph *) { return wr_cuda_enter(env); }
extern "C" wr_status wr_loop_graph_run(wr_env *env, wr_loop_graph *) { return wr_cuda_enter(env); }
extern "C" void wr_loop_graph_free(wr_env *, wr_loop_graph *) {}

#endif
