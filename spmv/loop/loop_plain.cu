/* A loop as a CUDA graph of all its parts without conditions. The host launches it repeatedly, one launch ahead of the one
 * it waits for, and downloads after each launch a word that says whether the loop has ended. So the device runs some surplus
 * parts. A kernel behind each part saves the bank and, at the end of the loop, the vectors of `left`; after the surplus
 * parts another kernel restores them. Surplus parts write other memory too, which is not read later: the next apply prepares
 * or overwrites its buffers, and the host ignores entries of the log beyond the count in the bank.
 *
 * The recorded operations are the same as in other loops; only the save kernels and the surplus parts take extra time. */
#include "spmv/loop/loop_cuda.h"

#include <cuda_runtime.h>
#include <string.h>

#include "config/memory.h"
#include "spmv/device/check.cuh"
#include "spmv/device/device_memory.h"
#include "spmv/kernel/epilogue.cuh"
#include "spmv/kernel/launch.cuh"
#include "spmv/kernel/stream.cuh"

enum { IN_FLIGHT = 2 }; /* launches at most that the host has not waited for: one runs, one is queued */

/* The state of the loop, on the device. */
typedef struct plain_state {
  int going;        /* set by each deciding step: 0 ends the loop                    */
  int ended;        /* the part, counted from 1, behind which the loop has ended; 0: none */
  unsigned arrived; /* finished blocks of the kernel save; 0 between launches             */
} plain_state;

/* The vectors of wr_loop_request.left of one part, in pieces of 16 bytes, and their copies. */
typedef struct left_vectors {
  char *of[WR_MAX_LEFT], *saved[WR_MAX_LEFT];
  int64_t pieces[WR_MAX_LEFT];
  int count;
  double *bank, *saved_bank; /* [scalars] */
  int scalars;
} left_vectors;

struct wr_loop_plain {
  cudaGraph_t graph;
  cudaGraphExec_t ready;
  int recording, early; /* early: the env's, to be restored after recording */
  int part;             /* number of the part that is recorded */
  plain_state *state;
  left_vectors left[WR_MAX_PARTS];
  int *seen;            /* [IN_FLIGHT], pinned: state->ended after each launch */
  cudaEvent_t done[IN_FLIGHT];
  int64_t launched, finished; /* launches since wr_loop_plain_run; those that the host has waited for */
  int ended;            /* state->ended after the last of these */
};

static wr_cuda_state *state_of(const wr_env *env) { return (wr_cuda_state *)env->state; }

/* ---- Saving and restoring ---- */

__device__ inline void copy_pieces(const left_vectors &v, bool back) {
  for (int k = 0; k < v.count; k++) {
    double *to = reinterpret_cast<double *>(back ? v.of[k] : v.saved[k]);
    const double *from = reinterpret_cast<const double *>(back ? v.saved[k] : v.of[k]);
    for (int64_t i = wr_stream_thread(); i < v.pieces[k]; i += wr_stream_threads())
      wr_store<double, 2>(to, i, wr_load<double, 2>(from, i));
  }
}

/* Launched behind part `part`, counted from 1. Does nothing after the end of the loop; before, saves the bank, and at the
 * end the vectors, too. state->ended is written by the last block alone, after all blocks have read it. */
__global__ void __launch_bounds__(WR_STREAM_THREADS)
    save(WR_KERNEL_PARAMETER left_vectors v, int part, plain_state *state) {
  if (state->ended) return;
  int ends = state->going == 0;
  if (ends) copy_pieces(v, false);
  if (!wr_is_last_block(&state->arrived)) return;
  for (int i = threadIdx.x; i < v.scalars; i += WR_STREAM_THREADS) v.saved_bank[i] = v.bank[i];
  if (threadIdx.x == 0) state->arrived = 0, state->ended = ends ? part : 0;
}

__global__ void __launch_bounds__(WR_STREAM_THREADS) put_back(WR_KERNEL_PARAMETER left_vectors v) {
  copy_pieces(v, true);
  if (blockIdx.x == 0)
    for (int i = threadIdx.x; i < v.scalars; i += WR_STREAM_THREADS) v.bank[i] = v.saved_bank[i];
}

/* At most a block a multiprocessor: in nearly all launches the kernel has nothing to do. */
static unsigned blocks_for(const wr_env *env, const left_vectors *v) {
  int64_t most = 0;
  for (int k = 0; k < v->count; k++)
    if (v->pieces[k] > most) most = v->pieces[k];
  return wr_cuda_grid(env, (most + WR_STREAM_THREADS - 1) / WR_STREAM_THREADS, 1);
}

static int64_t bytes_of(const wr_vec *v) { return wr_device_bytes(v->n, (size_t)wr_type_bytes(v->type)); }

/* Allocates one copy for vector k of all parts. */
static wr_status make_room(wr_env *env, const wr_loop_request *request, int k, left_vectors *left) {
  int64_t most = 0;
  char *room;
  for (int h = 0; h < request->parts; h++)
    if (request->left[h][k] && bytes_of(request->left[h][k]) > most) most = bytes_of(request->left[h][k]);
  if (most > 0) PASS(wr_device_alloc(env, &room, most, 1, "vectors of a loop"));
  for (int h = 0; h < WR_MAX_PARTS && most > 0; h++) left[h].saved[k] = room;
  for (int h = 0; h < request->parts && most > 0; h++) {
    const wr_vec *v = request->left[h][k];
    if (v == NULL) continue;
    PASS(wr_cuda_check_vec(env, v, "a vector of a loop"));
    left[h].of[k] = (char *)v->data, left[h].pieces[k] = bytes_of(v) / WR_PACK_BYTES, left[h].count = k + 1;
  }
  return WR_OK;
}

static wr_status make_rooms(wr_env *env, const wr_loop_request *request, left_vectors *left) {
  wr_status status;
  double *saved_bank = NULL;
  TRY(wr_device_alloc(env, &saved_bank, request->bank->n, sizeof *saved_bank, "scalars of a loop"));
  for (int h = 0; h < WR_MAX_PARTS; h++)
    left[h].bank = (double *)request->bank->data, left[h].saved_bank = saved_bank,
    left[h].scalars = (int)request->bank->n;
  for (int k = 0; k < WR_MAX_LEFT; k++) TRY(make_room(env, request, k, left));
done:
  return status == WR_ENOMEM ? wr_fail(WR_EUNAVAILABLE, "a loop without conditions: %s", wr_status_message()) : status;
}

/* ---- Recording ---- */

static wr_status open_parts(wr_env *env, const wr_loop_request *request, wr_loop_plain *loop) {
  PASS(make_rooms(env, request, loop->left));
  PASS(wr_device_alloc_zeroed(env, &loop->state, 1, sizeof *loop->state, "the end of a loop"));
  PASS(wr_pinned_alloc(&loop->seen, IN_FLIGHT * sizeof *loop->seen, "the end of a loop"));
  for (int k = 0; k < IN_FLIGHT; k++) PASS(WR_CUDA(cudaEventCreateWithFlags(&loop->done[k], cudaEventDisableTiming)));
  return WR_OK;
}

/* Drivers before 12.3 have no early launches (kernel/launch.cuh) in graphs. */
static wr_status begin_capture(wr_cuda_state *state, wr_loop_plain *loop) {
  int driver = 0;
  PASS(WR_CUDA(cudaDriverGetVersion(&driver)));
  PASS(WR_CUDA(cudaStreamSynchronize(state->stream)));
  PASS(WR_CUDA(cudaStreamBeginCapture(state->stream, cudaStreamCaptureModeThreadLocal)));
  loop->recording = 1;
  if (driver < 12030) state->early = 0;
  return WR_OK;
}

static wr_status end_capture(wr_cuda_state *state, wr_loop_plain *loop) {
  memset(&state->go, 0, sizeof state->go);
  state->early = loop->early;
  loop->recording = 0;
  return WR_CUDA(cudaStreamEndCapture(state->stream, &loop->graph));
}

extern "C" wr_status wr_loop_plain_open(wr_env *env, const wr_loop_request *request, const unsigned *stop,
                                        wr_loop_plain **out) {
  wr_status status;
  wr_cuda_state *state = state_of(env);
  wr_loop_plain *loop = NULL;
  TRY(wr_alloc_zeroed(&loop, 1, sizeof *loop, "a loop"));
  loop->early = state->early;
  TRY(open_parts(env, request, loop));
  TRY(begin_capture(state, loop));
  state->go.stop = stop, state->go.going = &loop->state->going, state->go.sets_going = 1;
  *out = loop, loop = NULL;
done:
  wr_loop_plain_free(env, loop);
  return status;
}

extern "C" wr_status wr_loop_plain_part(wr_env *env, wr_loop_plain *loop) {
  const left_vectors *v = &loop->left[loop->part++];
  return WR_LAUNCH((save), blocks_for(env, v), WR_STREAM_THREADS, 0, env->stream, *v, loop->part, loop->state);
}

extern "C" wr_status wr_loop_plain_close(wr_env *env, wr_loop_plain *loop) {
  wr_cuda_state *state = state_of(env);
  PASS(wr_loop_plain_part(env, loop));
  PASS(end_capture(state, loop));
  PASS(WR_CUDA(cudaGraphInstantiate(&loop->ready, loop->graph, 0)));
  return WR_CUDA(cudaGraphUpload(loop->ready, state->stream));
}

/* ---- Running ---- */

extern "C" wr_status wr_loop_plain_run(wr_env *env, wr_loop_plain *loop) {
  loop->launched = loop->finished = loop->ended = 0;
  return WR_CUDA(cudaMemsetAsync(loop->state, 0, sizeof *loop->state, state_of(env)->stream));
}

static wr_status launch_once(cudaStream_t stream, wr_loop_plain *loop) {
  int slot = (int)(loop->launched % IN_FLIGHT);
  PASS(WR_CUDA(cudaGraphLaunch(loop->ready, stream)));
  PASS(WR_CUDA(cudaMemcpyAsync(&loop->seen[slot], &loop->state->ended, sizeof(int), cudaMemcpyDeviceToHost, stream)));
  PASS(WR_CUDA(cudaEventRecord(loop->done[slot], stream)));
  loop->launched++;
  return WR_OK;
}

extern "C" wr_status wr_loop_plain_next(wr_env *env, wr_loop_plain *loop, int *ended) {
  const left_vectors *v;
  int slot = (int)(loop->finished % IN_FLIGHT);
  *ended = 0;
  while (!loop->ended && loop->launched - loop->finished < IN_FLIGHT) PASS(launch_once(state_of(env)->stream, loop));
  PASS(wr_cuda_check(cudaEventSynchronize(loop->done[slot]), "a loop on the device"));
  loop->finished++;
  loop->ended = loop->seen[slot]; /* state->ended stays the same in surplus parts */
  if (!loop->ended || loop->finished < loop->launched) return WR_OK;
  v = &loop->left[loop->ended - 1];
  PASS(WR_LAUNCH((put_back), blocks_for(env, v), WR_STREAM_THREADS, 0, env->stream, *v));
  *ended = 1;
  return WR_OK;
}

extern "C" const double *wr_loop_plain_bank(const wr_loop_plain *loop) { return loop->left[0].saved_bank; }

/* Errors are cleared: the call that failed first has reported its own. */
extern "C" void wr_loop_plain_free(wr_env *env, wr_loop_plain *loop) {
  if (loop == NULL) return;
  if (loop->recording) (void)end_capture(state_of(env), loop);
  if (loop->ready) (void)cudaStreamSynchronize(state_of(env)->stream), (void)cudaGraphExecDestroy(loop->ready);
  if (loop->graph) (void)cudaGraphDestroy(loop->graph);
  for (int k = 0; k < IN_FLIGHT; k++)
    if (loop->done[k]) (void)cudaEventDestroy(loop->done[k]);
  (void)cudaGetLastError();
  for (int k = 0; k < WR_MAX_LEFT; k++) wr_device_free(env, loop->left[0].saved[k]);
  wr_device_free(env, loop->left[0].saved_bank);
  wr_device_free(env, loop->state);
  wr_pinned_free(loop->seen);
  wr_free(loop);
}
