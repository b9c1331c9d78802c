/* Sums over all threads of a launch: the last block adds up the parts of all blocks and then runs the step that follows. */
#ifndef WR_SUMS_CUH
#define WR_SUMS_CUH

#include "spmv/device/cuda_state.h"
#include "spmv/kernel/launch.cuh"
#include "spmv/kernel/spin.cuh"
#include "spmv/kernel/steps.cuh"
#include "spmv/kernel/warp.cuh"

/* Where the reductions of a launch go, at most MOST of them: a kernel parameter. */
template <int MOST>
struct wr_sums_of {
  int count;
  wr_reduction_kind kind[MOST]; /* [count] */
  double *into[MOST];           /* [count] */
  int64_t before;               /* parts left by earlier launches                             */
  double *partial;              /* [count][stride]: a part for each block, those of earlier launches first */
  int64_t stride;               /* at least the number of parts of all launches               */
  unsigned *arrived;
  wr_step_work step; /* run by the last block after the sums */
};
typedef wr_sums_of<WR_MAX_REDUCTIONS> wr_sums; /* of an apply */

/* sum += the terms of V elements. z is read by the kinds that have one. */
template <int V>
__device__ inline void wr_sum_terms(wr_reduction_kind kind, const double (&u)[V], const double (&z)[V], double &sum) {
  switch (kind) {
    case WR_L1DIFF_UNSCALED: /* of epilogues alone (epilogue.cuh) */
    case WR_NO_REDUCTION: break;
    case WR_DOT:
    case WR_DOT_HASH:
      for (int e = 0; e < V; e++) sum += u[e] * z[e];
      break;
    case WR_NRM2SQ:
      for (int e = 0; e < V; e++) sum += u[e] * u[e];
      break;
    case WR_L1DIFF:
      for (int e = 0; e < V; e++) sum += fabs(u[e] - z[e]);
      break;
    case WR_SUM:
      for (int e = 0; e < V; e++) sum += u[e];
      break;
    case WR_SUM_UNSCALED:
      for (int e = 0; e < V; e++) sum += z[e] == 0 ? u[e] : 0;
      break;
    case WR_NRM2SQ_SCALED:
      for (int e = 0; e < V; e++) sum += (u[e] * z[e]) * (u[e] * z[e]);
      break;
  }
}

/* Stores a part of each sum at `place`. Called by one thread. */
template <int MOST>
__device__ inline void wr_sums_store(const wr_sums_of<MOST> &s, int64_t place, const double (&sum)[MOST]) {
#pragma unroll
  for (int r = 0; r < MOST; r++)
    if (r < s.count) s.partial[r * s.stride + place] = sum[r];
}

/* Leaves a block's part of each sum, to be added up by a later launch with `before` set. Every thread of the block. */
template <int MOST>
__device__ inline void wr_sums_leave(const wr_sums_of<MOST> &s, double (&sum)[MOST]) {
  if (s.count == 0) return;
  wr_block_sum(sum, s.count);
  if (threadIdx.x == 0) wr_sums_store(s, s.before + blockIdx.x, sum);
}

/* The same with a part for each warp, and `before` counting warps: no warp waits for another. Every thread of the block. */
template <int MOST>
__device__ inline void wr_sums_leave_warp(const wr_sums_of<MOST> &s, double (&sum)[MOST]) {
  int64_t warp = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / WR_WARP;
  wr_warp_sums(sum, s.count);
  if (threadIdx.x % WR_WARP == 0) wr_sums_store(s, s.before + warp, sum);
}

/* Whether this block is the last of the grid to call this; it then sees all earlier writes of the other blocks. Called by every
 * thread of the block. __syncthreads and the release in wr_arrive publish the block's writes; the fence keeps reads of the last
 * block behind its arrival. */
__device__ inline bool wr_is_last_block(unsigned *arrived) {
  WR_SHARED(int, is_last, 1);
  __syncthreads();
  if (threadIdx.x == 0) is_last[0] = wr_arrive(arrived) == gridDim.x - 1;
  __syncthreads();
  if (!is_last[0]) return false;
  __threadfence();
  return true;
}

/* sum += the parts first, first + threads, first + 2 * threads, ... before `end`, in this order, with AT_ONCE loads of each
 * sum in flight, since the loop is bound by their latency. */
template <int MOST>
__device__ inline void wr_sums_add(const wr_sums_of<MOST> &s, int64_t first, int64_t end, int64_t threads,
                                   double (&sum)[MOST]) {
  constexpr int AT_ONCE = 4;
  for (int64_t b = first; b < end; b += AT_ONCE * threads) {
    double part[AT_ONCE][MOST];
#pragma unroll
    for (int k = 0; k < AT_ONCE; k++)
#pragma unroll
      for (int r = 0; r < MOST; r++)
        part[k][r] = r < s.count && b + k * threads < end ? __ldcg(s.partial + r * s.stride + b + k * threads) : 0;
#pragma unroll
    for (int k = 0; k < AT_ONCE; k++)
#pragma unroll
      for (int r = 0; r < MOST; r++) sum[r] += part[k][r];
  }
}

/* By the last block: stores sum plus the `blocks` parts from `first` on, added in an order that does not depend on which
 * block is last. Then runs the step, on a copy of the bank that is loaded at the same time as the parts. WHERE: steps.h. */
template <int WHERE = WR_AFTER_PRODUCT, int MOST>
__device__ inline void wr_sums_end(const wr_sums_of<MOST> &s, int64_t first, int64_t blocks, double (&sum)[MOST]) {
  WR_SHARED(double, bank, wr_step_bank<WHERE>);
  wr_step_fetch(s.step, bank);
  unsigned stop = threadIdx.x == 0 ? wr_step_stop(s.step) : 0;
  wr_sums_add(s, first + threadIdx.x, first + blocks, blockDim.x, sum);
  wr_block_sum(sum, s.count);
  if (threadIdx.x >= WR_WARP) return;
  if (threadIdx.x == 0) {
#pragma unroll
    for (int r = 0; r < MOST; r++)
      if (r < s.count) {
        bool is_copied = s.step.bit && s.into[r] >= s.step.bank && s.into[r] < s.step.bank + s.step.nbank;
        *(is_copied ? bank + (s.into[r] - s.step.bank) : s.into[r]) = sum[r];
      }
    *s.arrived = 0;
    wr_step_run<WHERE>(s.step, stop, bank);
  }
  wr_step_store(s.step, bank);
}

/* The last block to arrive adds up the parts. Parts of earlier launches, possibly tens of thousands, are added by all
 * threads of the grid before that: one block alone took longer for 18 thousand parts than a small multiply takes. */
template <int WHERE = WR_AFTER_PRODUCT, int MOST>
__device__ inline void wr_sums_finish(const wr_sums_of<MOST> &s, double (&sum)[MOST]) {
  if (s.count == 0) return;
  wr_sums_add(s, (int64_t)blockIdx.x * blockDim.x + threadIdx.x, s.before, (int64_t)gridDim.x * blockDim.x, sum);
  wr_sums_leave(s, sum);
  if (!wr_is_last_block(s.arrived)) return;
#pragma unroll
  for (int r = 0; r < MOST; r++) sum[r] = 0;
  wr_sums_end<WHERE>(s, s.before, gridDim.x, sum);
}

/* wr_sums_finish in little code and more shared memory: one warp a sum. What a kernel runs once has its instructions fetched
 * from memory; unrolled for six sums that took 7 to 11 us on an H200 (docs/decisions.md). THREADS: of the block. */
template <int WHERE, int THREADS, int MOST>
__device__ inline void wr_sums_finish_by_warps(const wr_sums_of<MOST> &s, const double (&sum)[MOST]) {
  static_assert(MOST * WR_WARP <= THREADS, "a warp for each sum");
  WR_SHARED(double, room, MOST *THREADS);
  WR_SHARED(double, bank, wr_step_bank<WHERE>);
  int r = threadIdx.x / WR_WARP, lane = threadIdx.x % WR_WARP;
  double total = 0;
  if (s.count == 0) return;
#pragma unroll
  for (int k = 0; k < MOST; k++)
    if (k < s.count) room[k * THREADS + threadIdx.x] = sum[k];
#pragma unroll 1
  for (int k = 0; s.before > 0 && k < s.count; k++)
    room[k * THREADS + threadIdx.x] +=
        wr_sum_every<4>((int64_t)blockIdx.x * THREADS + threadIdx.x, s.before, (int64_t)gridDim.x * THREADS,
                        [&](int64_t b) { return __ldcg(s.partial + k * s.stride + b); });
  __syncthreads();
  if (r < s.count)
    total = wr_warp_sum(
        wr_sum_every<THREADS / WR_WARP>(lane, THREADS, WR_WARP, [&](int64_t k) { return room[r * THREADS + k]; }));
  if (r < s.count && lane == 0) s.partial[r * s.stride + s.before + blockIdx.x] = total;
  if (!wr_is_last_block(s.arrived)) return;
  wr_step_fetch(s.step, bank);
  unsigned stop = threadIdx.x == 0 ? wr_step_stop(s.step) : 0;
  const double *parts = s.partial + r * s.stride + s.before;
  if (r < s.count)
    total = wr_warp_sum(wr_sum_every<8>(lane, gridDim.x, WR_WARP, [&](int64_t k) { return __ldcg(parts + k); }));
  __syncthreads(); /* the bank is complete */
  if (r < s.count && lane == 0) {
    bool is_copied = s.step.bit && s.into[r] >= s.step.bank && s.into[r] < s.step.bank + s.step.nbank;
    *(is_copied ? bank + (s.into[r] - s.step.bank) : s.into[r]) = total;
  }
  __syncthreads();
  if (r > 0) return;
  if (lane == 0) {
    *s.arrived = 0;
    wr_step_run<WHERE>(s.step, stop, bank);
  }
  wr_step_store(s.step, bank);
}

/* Adds a reduction to the kernel parameter and returns its index; -1: it has no kind or no bank, and is left out. */
template <int MOST>
inline int wr_sums_add(wr_sums_of<MOST> *s, const wr_reduction *r) {
  if (r->kind == WR_NO_REDUCTION || r->into.bank == NULL) return -1;
  s->kind[s->count] = r->kind;
  s->into[s->count] = (double *)r->into.bank->data + r->into.index;
  r->into.bank->writes++;
  return s->count++;
}

template <int MOST = WR_MAX_REDUCTIONS>
inline wr_sums_of<MOST> wr_sums_make(const wr_workspace *workspace) {
  wr_sums_of<MOST> s = {};
  s.partial = workspace->partial;
  s.stride = workspace->max_blocks;
  s.arrived = workspace->arrived;
  return s;
}

/* Lets the last kernel of an operation run the step, if there are sums and the step is compiled into that kernel: one of
 * `where`, or that of a resident loop. */
template <int MOST>
inline void wr_sums_then(wr_sums_of<MOST> *s, wr_env *env, const wr_then &then, unsigned where) {
  if (env->resident) where = WR_AFTER_ANY;
  if (s->count == 0 || then.step == NULL || (then.step->where & where) == 0) return;
  s->step = wr_step_work_of(env, then);
  env->then_done = 1;
  then.bank->writes++;
  if (then.log) then.log->writes++;
}

#endif
