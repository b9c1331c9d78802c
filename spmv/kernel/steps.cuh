/* Steps (spmv/steps/step.h) on a device: run by one thread of the last block of a kernel that adds up sums, or in a separate
 * kernel. */
#ifndef WR_STEPS_CUH
#define WR_STEPS_CUH

#include <cuda_runtime.h>

#include "spmv/device/cuda_state.h"
#include "spmv/kernel/launch.cuh"
#include "spmv/kernel/warp.cuh"
#include "spmv/steps/bicgstab_steps.h"
#include "spmv/steps/bicgstabl_steps.h"
#include "spmv/steps/cg_steps.h"
#include "spmv/steps/idr_steps.h"
#include "spmv/steps/pagerank_steps.h"
#include "spmv/steps/steps.h"

/* A step as a kernel parameter. */
typedef struct wr_step_work {
  unsigned bit;       /* of the step; 0: no step, or one with a separate kernel */
  double *bank, *log; /* [nbank], those of the step; [room] */
  int64_t nbank;
  double room;
  wr_go go;
} wr_step_work;

/* wr_step_bank<WHERE>: the largest number of scalars of a step that is compiled into kernels of WHERE. */
#define WR_STEP_SIZE(name, scalars, where) char name[(WHERE & (where)) ? sizeof(wr_##scalars) : 1];
template <int WHERE>
union wr_step_room {
  WR_STEP_LIST(WR_STEP_SIZE)
};
#undef WR_STEP_SIZE
template <int WHERE>
constexpr int wr_step_bank = sizeof(wr_step_room<WHERE>) / sizeof(double);

static __device__ inline void wr_set_conditions(const wr_go &go, unsigned value) {
#if !defined(WR_SIMT) && CUDART_VERSION >= 12040
  for (int k = 0; k < go.conditions; k++) cudaGraphSetConditional((cudaGraphConditionalHandle)go.condition[k], value);
#else
  (void)go, (void)value;
#endif
}

/* Not 0: the loop is to end (loop_stop). A load from memory, so a kernel issues it well before the step that uses it. */
static __device__ inline unsigned wr_step_stop(const wr_step_work &w) {
  return w.go.stop ? *(const volatile unsigned *)w.go.stop : 0;
}

/* Does what a step has requested: log entries, and the decision about the loop. */
static __device__ inline void wr_step_grant(const wr_step_work &w, unsigned stop, const wr_step_request &request) {
  wr_step_add_to_log(&request, w.log, w.room);
  if (!request.decides) return;
  int goes_on = request.goes_on & (stop == 0);
  if (w.go.conditions) wr_set_conditions(w.go, goes_on);
  if (w.go.sets_going) *w.go.going = goes_on;
}

/* Runs the step with this bit on the bank s, if it is compiled into kernels of WHERE, and grant(what it requests). */
template <int WHERE, class GRANT>
__device__ inline void wr_step_call(unsigned bit, double *s, GRANT grant) {
#define WR_STEP_CASE(name, scalars, where)                     \
  if ((WHERE & (where)) != 0 && (bit & WR_STEP_BIT(name))) {   \
    wr_step_request request = {};                              \
    wr_##name((wr_##scalars *)s, &request);                    \
    grant(request);                                            \
  } else
  WR_STEP_LIST(WR_STEP_CASE) {}
#undef WR_STEP_CASE
}

/* The same for a step of a launch, by one thread. s: the bank, or a copy of it in shared memory, in which stores of other
 * threads must be visible to this thread. stop: from wr_step_stop. */
template <int WHERE>
__device__ inline void wr_step_run(const wr_step_work &w, unsigned stop, double *s) {
  wr_step_call<WHERE>(w.bit, s, [&](const wr_step_request &request) { wr_step_grant(w, stop, request); });
}

/* copy[w.nbank] := the bank, by the threads of a block; complete after the next __syncthreads. */
static __device__ inline void wr_step_fetch(const wr_step_work &w, double *copy) {
  if (w.bit == 0) return;
  for (int k = threadIdx.x; k < (int)w.nbank; k += blockDim.x) copy[k] = __ldcg(w.bank + k);
}

/* The bank := the copy. Called by the first warp of a block alone. */
static __device__ inline void wr_step_store(const wr_step_work &w, const double *copy) {
  if (w.bit == 0) return;
  __syncwarp();
  for (int k = threadIdx.x; k < (int)w.nbank; k += WR_WARP) w.bank[k] = copy[k];
}

/* The kernel parameter for a checked wr_then. */
inline wr_step_work wr_step_work_of(const wr_env *env, const wr_then &then) {
  wr_step_work w = {};
  if (then.step == NULL) return w;
  w.bit = then.step->bit;
  w.bank = (double *)then.bank->data, w.nbank = then.step->scalars;
  if (then.log) w.log = (double *)then.log->data, w.room = (double)then.log->n;
  w.go = ((const wr_cuda_state *)env->state)->go;
  return w;
}

/* ---- Steps that are not in WR_STEP_LIST ----
 * WR_STEP_KERNEL(name, scalars) in a .cu file defines wr_step_name from the function wr_name and the struct of its scalars. */

template <class SCALARS, void RUN(SCALARS *, wr_step_request *)>
__global__ void __launch_bounds__(WR_WARP) wr_run_own_step(WR_KERNEL_PARAMETER wr_step_work work) {
  wr_begin_kernel();
  if (threadIdx.x != 0) return;
  wr_step_request request = {};
  RUN((SCALARS *)work.bank, &request);
  wr_step_grant(work, wr_step_stop(work), request);
}

template <class SCALARS, void RUN(SCALARS *, wr_step_request *)>
static wr_status wr_launch_own_step(wr_env *env, const wr_then *then) {
  return WR_LAUNCH_EARLY(env, (wr_run_own_step<SCALARS, RUN>), 1, WR_WARP, 0, wr_step_work_of(env, *then));
}

#define WR_STEP_KERNEL(name, scalars)                                                                               \
  static void run_##name(double *bank, wr_step_request *request) { wr_##name((scalars *)bank, request); }           \
  static const wr_step wr_step_##name = {#name, WR_SCALAR_COUNT(scalars), run_##name, 0, 0,                          \
                                         wr_launch_own_step<scalars, wr_##name>}

#endif
