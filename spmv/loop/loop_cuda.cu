/* Loops of a CUDA device (loop.h): a graph with conditional nodes (loop_graph.cu), graphs without them (loop_plain.cu), or one
 * resident kernel (resident_cuda.cu). This file has what is common: the stop word, polling, and the choice of the kind. */
#include <cuda_runtime.h>
#include <string.h>
#include <time.h>

#include "config/clock.h"
#include "config/memory.h"
#include "spmv/device/check.cuh"
#include "spmv/device/device_memory.h"
#include "spmv/device/testing.h"
#include "spmv/loop/loop_cuda.h"
#include "spmv/loop/resident.h"

enum { MAX_BANK = 256 };

/* Pinned memory for copies while the loop runs. Copies from and to pinned memory need no multiprocessor; a loop may occupy
 * all of them. */
typedef struct loop_room {
  double seen[MAX_BANK];
  unsigned one;
} loop_room;

struct wr_loop {
  cudaStream_t side; /* copies the bank and sets *stop, while the loop runs in the env's stream */
  cudaEvent_t cleared; /* recorded when *stop is 0 again: it may be set only after that                 */
  cudaEvent_t ended;
  unsigned *stop;    /* on the device; 1: the next step that decides ends the loop                    */
  loop_room *room;
  double begun;      /* seconds of the clock when it was last run                                     */
  wr_loop_graph *graph;  /* one of these three is not NULL */
  wr_loop_plain *plain;
  wr_resident *resident;
};

static wr_cuda_state *state_of(const wr_env *env) { return (wr_cuda_state *)env->state; }

/* The members that all kinds of loops have. */
static wr_status open_parts(wr_env *env, wr_loop *loop) {
  PASS(WR_CUDA(cudaStreamCreateWithFlags(&loop->side, cudaStreamNonBlocking)));
  PASS(WR_CUDA(cudaEventCreateWithFlags(&loop->cleared, cudaEventDisableTiming)));
  PASS(WR_CUDA(cudaEventCreateWithFlags(&loop->ended, cudaEventDisableTiming)));
  PASS(wr_device_alloc_zeroed(env, &loop->stop, 1, sizeof *loop->stop, "the stop of a loop"));
  PASS(wr_pinned_alloc(&loop->room, sizeof *loop->room, "scalars of a loop"));
  loop->room->one = 1;
  return WR_OK;
}

/* A graph with conditional nodes if the driver has them, else a plain loop. */
static wr_status open_graph(wr_env *env, const wr_loop_request *request, wr_loop *loop) {
  wr_status status = wr_loop_graph_open(env, request->parts, loop->stop, &loop->graph);
  if (status != WR_EUNAVAILABLE || request->needs_conditions) return status;
  return wr_loop_plain_open(env, request, loop->stop, &loop->plain);
}

extern "C" wr_status wr_cuda_loop_open(wr_env *env, const wr_loop_request *request, wr_loop **out) {
  wr_status status;
  wr_loop *loop = NULL;
  *out = NULL;
  TRY(wr_cuda_enter(env));
  TRY(wr_alloc_zeroed(&loop, 1, sizeof *loop, "a loop"));
  TRY(open_parts(env, loop));
  if (request->parts < 1 || request->parts > WR_MAX_PARTS)
    TRY(wr_fail(WR_EUSAGE, "a loop of %d parts; it has 1 to %d", request->parts, WR_MAX_PARTS));
  if (request->bank->n > MAX_BANK) TRY(wr_fail(WR_EUSAGE, "a bank of %lld scalars", (long long)request->bank->n));
  TRY(request->resident ? wr_resident_open(env, request->bank, &loop->resident) : open_graph(env, request, loop));
  *out = loop;
done:
  if (status != WR_OK) wr_cuda_loop_free(env, loop);
  return status;
}

extern "C" wr_status wr_cuda_loop_rows(wr_env *env, const wr_csr_view *A, int64_t nnz, int side,
                                       const wr_apply *request) {
  return wr_resident_rows_add(env, A, nnz, side, request);
}

extern "C" wr_status wr_cuda_loop_decide(wr_env *env, wr_loop *loop, int decides) {
  if (loop->graph) wr_loop_graph_decide(env, loop->graph, decides);
  return wr_cuda_enter(env);
}

extern "C" wr_status wr_cuda_loop_part(wr_env *env, wr_loop *loop) {
  PASS(wr_cuda_enter(env));
  return loop->resident ? wr_resident_part(loop->resident)
         : loop->plain  ? wr_loop_plain_part(env, loop->plain)
                        : wr_loop_graph_part(env, loop->graph);
}

extern "C" wr_status wr_cuda_loop_close(wr_env *env, wr_loop *loop) {
  PASS(wr_cuda_enter(env));
  PASS(loop->resident ? wr_resident_close(env, loop->resident)
       : loop->plain  ? wr_loop_plain_close(env, loop->plain)
                      : wr_loop_graph_close(env, loop->graph));
  if (env->testing) env->testing->recordings++;
  return WR_OK;
}

extern "C" wr_status wr_cuda_loop_run(wr_env *env, wr_loop *loop) {
  cudaStream_t stream = state_of(env)->stream;
  PASS(wr_cuda_enter(env));
  PASS(WR_CUDA(cudaMemsetAsync(loop->stop, 0, sizeof *loop->stop, stream)));
  PASS(WR_CUDA(cudaEventRecord(loop->cleared, stream)));
  PASS(loop->resident ? wr_resident_run(env, loop->resident, loop->stop)
       : loop->plain  ? wr_loop_plain_run(env, loop->plain)
                      : wr_loop_graph_run(env, loop->graph));
  PASS(WR_CUDA(cudaEventRecord(loop->ended, stream)));
  loop->begun = wr_clock();
  return WR_OK;
}

static const double most_wait = 0.05; /* seconds that a poll waits at most */

/* A plain loop is launched by the host part by part, so this does not sleep. */
static wr_status launch_for_a_while(wr_env *env, wr_loop *loop, int *ended) {
  double from = wr_clock();
  do PASS(wr_loop_plain_next(env, loop->plain, ended));
  while (!*ended && wr_clock() - from <= most_wait);
  return WR_OK;
}

/* Polls without sleeping for the first 0.02 s of a loop, then every 0.1 ms. */
static wr_status wait_for_a_while(wr_loop *loop, int *ended) {
  const double spin = 0.02;
  double from = wr_clock();
  const struct timespec nap = {0, 100000};
  cudaError_t error;
  *ended = 0;
  while ((error = cudaEventQuery(loop->ended)) == cudaErrorNotReady) {
    double now = wr_clock();
    if (now - from > most_wait) return WR_OK;
    if (now - loop->begun > spin) nanosleep(&nap, NULL);
  }
  *ended = 1;
  return wr_cuda_check(error, "a loop on the device");
}

extern "C" wr_status wr_cuda_loop_poll(wr_env *env, wr_loop *loop, const wr_vec *bank, double *scalars, int *ended) {
  const void *from;
  size_t bytes = (size_t)bank->n * sizeof *scalars;
  PASS(wr_cuda_enter(env));
  if (bank->n > MAX_BANK) return wr_fail(WR_EUSAGE, "a bank of %lld scalars", (long long)bank->n);
  PASS(loop->plain ? launch_for_a_while(env, loop, ended) : wait_for_a_while(loop, ended));
  from = loop->plain ? wr_loop_plain_bank(loop->plain) : bank->data;
  PASS(WR_CUDA(cudaMemcpyAsync(loop->room->seen, from, bytes, cudaMemcpyDeviceToHost, loop->side)));
  PASS(WR_CUDA(cudaStreamSynchronize(loop->side)));
  memcpy(scalars, loop->room->seen, bytes);
  return WR_OK;
}

extern "C" wr_status wr_cuda_loop_stop(wr_env *env, wr_loop *loop) {
  PASS(wr_cuda_enter(env));
  PASS(WR_CUDA(cudaStreamWaitEvent(loop->side, loop->cleared, 0)));
  return WR_CUDA(
      cudaMemcpyAsync(loop->stop, &loop->room->one, sizeof loop->room->one, cudaMemcpyHostToDevice, loop->side));
}

/* Errors are cleared, as the call that failed first has reported its own. Host memory is freed even if all device calls
 * fail. */
extern "C" void wr_cuda_loop_free(wr_env *env, wr_loop *loop) {
  if (loop == NULL || state_of(env) == NULL) return;
  (void)cudaSetDevice(env->device);
  wr_loop_graph_free(env, loop->graph);
  wr_loop_plain_free(env, loop->plain);
  wr_resident_free(env, loop->resident);
  if (loop->side) (void)cudaStreamSynchronize(loop->side), (void)cudaStreamDestroy(loop->side);
  if (loop->cleared) (void)cudaEventDestroy(loop->cleared);
  if (loop->ended) (void)cudaEventDestroy(loop->ended);
  (void)cudaGetLastError();
  wr_device_free(env, loop->stop);
  wr_pinned_free(loop->room);
  wr_free(loop);
}
