/* The kernel that is a loop (resident_cuda.cu): its blocks do the steps together, all wait for all behind each, and every block
 * has the scalars and runs their programs for itself. The matrix stays in the first-level caches if it fits, vectors and sums
 * pass through L2. */
#ifndef WR_RESIDENT_KERNEL_CUH
#define WR_RESIDENT_KERNEL_CUH

#include "spmv/device/resident_rows.cuh"
#include "spmv/kernel/meet.cuh"

/* The program of a step, in every block, by thread 0; the first block keeps the log. */
template <typename T>
__device__ inline void run_program(const loop_args<T> &loop, const block_state<T> &b, const wr_program &of) {
  if (of.which == 0) return;
  wr_program p = of;
  p.bank = b.bank;
  if (blockIdx.x != 0) p.room = 0;
  p.go.conditions = 0, p.go.going = b.going, p.go.stop = loop.wish + b.round % 2;
  wr_program_run<true>(p, p.bank);
}

/* All lanes get the sums; the three at once, as one takes as long. Lanes that have come apart before would exchange one by
 * one, which takes ten times as long. */
__device__ inline void add_lanes(double (&sum)[WR_MAX_REDUCTIONS]) {
  __syncwarp();
#pragma unroll
  for (int distance = WR_WARP / 2; distance > 0; distance /= 2)
#pragma unroll
    for (int r = 0; r < WR_MAX_REDUCTIONS; r++) sum[r] += __shfl_xor_sync((unsigned)WR_FULL_MASK, sum[r], distance);
}

/* By the first warp, behind a __syncthreads: sum := the block's, of what its warps have left in parts. */
__device__ inline void add_warps(const double *parts, double (&sum)[WR_MAX_REDUCTIONS]) {
  int lane = threadIdx.x % WR_WARP;
#pragma unroll
  for (int r = 0; r < WR_MAX_REDUCTIONS; r++)
    sum[r] = lane < THREADS / WR_WARP ? parts[lane * WR_MAX_REDUCTIONS + r] : 0;
  add_lanes(sum);
}

/* By the first warp: the sums of all blocks in the block's own scalars, added up in an order that depends on their number
 * alone. */
template <typename T>
__device__ inline void add_blocks(const loop_args<T> &loop, const block_state<T> &b, const wr_sums &s,
                                  const double *partial) {
  constexpr int AT_ONCE = 5; /* of an H200's 132 blocks, one after the other would cost a microsecond */
  int lane = threadIdx.x % WR_WARP, blocks = (int)gridDim.x;
  double total[WR_MAX_REDUCTIONS] = {0, 0, 0};
  for (int first = 0; first < blocks; first += AT_ONCE * WR_WARP) {
    double part[WR_MAX_REDUCTIONS][AT_ONCE];
#pragma unroll
    for (int k = 0; k < AT_ONCE; k++)
#pragma unroll
      for (int r = 0; r < WR_MAX_REDUCTIONS; r++) {
        int from = first + k * WR_WARP + lane;
        bool is_there = r < s.count && first + k * WR_WARP < blocks; /* the same for all lanes, which stay together */
        part[r][k] = is_there ? __ldcg(partial + r * blocks + (from < blocks ? from : blocks - 1)) : 0;
        if (from >= blocks) part[r][k] = 0;
      }
#pragma unroll
    for (int k = 0; k < AT_ONCE; k++)
#pragma unroll
      for (int r = 0; r < WR_MAX_REDUCTIONS; r++) total[r] += part[r][k];
  }
  add_lanes(total);
#pragma unroll
  for (int r = 0; r < WR_MAX_REDUCTIONS; r++)
    if (r < s.count && lane == 0) *scalar_of(loop, b, s.into[r]) = total[r];
}

/* Leaves the block's sums, meets the other blocks, adds up what all have left, each block for itself, and runs the program. */
template <typename T>
__device__ inline void meet(const loop_args<T> &loop, block_state<T> &b, const wr_sums &s,
                            double (&sum)[WR_MAX_REDUCTIONS]) {
  WR_SHARED(double, parts, WR_MAX_REDUCTIONS *THREADS / WR_WARP);
  double *partial = loop.partial + (int64_t)(++b.round % 2) * WR_MAX_REDUCTIONS * gridDim.x;
  if (s.count) add_lanes(sum);
  if (threadIdx.x % WR_WARP == 0)
#pragma unroll
    for (int r = 0; r < WR_MAX_REDUCTIONS; r++) parts[threadIdx.x / WR_WARP * WR_MAX_REDUCTIONS + r] = sum[r];
  __syncthreads();
  if (threadIdx.x < WR_WARP) {
    if (s.count) add_warps(parts, sum);
    if (threadIdx.x == 0) {
#pragma unroll
      for (int r = 0; r < WR_MAX_REDUCTIONS; r++)
        if (r < s.count) partial[r * gridDim.x + blockIdx.x] = sum[r];
      if (blockIdx.x == 0) loop.wish[b.round % 2] = *(const volatile unsigned *)loop.stop;
      wr_meet_arrive(loop.arrived);
      wr_meet_wait(loop.arrived, b.round);
    }
    __syncwarp();
    if (s.count) add_blocks(loop, b, s, partial);
    if (threadIdx.x == 0) run_program(loop, b, s.program);
  }
  __syncthreads();
}

/* A step; a joined one with the product behind it. JOINED: all products are joined; else none is, and what joining takes is not
 * in the code: 0.7 us of an iteration of PageRank. */
template <typename T, bool JOINED>
__device__ inline void do_step(const loop_args<T> &loop, block_state<T> &b, const wr_resident_step<T> *step) {
  const wr_sums &sums = step->kind == WR_RESIDENT_ROWS ? step->rows.finish.sums : step->vectors.sums;
  double sum[WR_MAX_REDUCTIONS] = {0, 0, 0};
  bool left_out =
      step->kind == WR_RESIDENT_VECTORS && step->vectors.when && *scalar_of(loop, b, step->vectors.when) == 0;
  if (!left_out) {
    if (step->kind == WR_RESIDENT_VECTORS)
      do_vectors(loop, b, *step, sum);
    else
      do_rows<T, JOINED>(loop, b, step[JOINED].rows, *step, sum);
    meet(loop, b, sums, sum);
  } else if (sums.program.which) {
    if (threadIdx.x == 0) run_program(loop, b, sums.program);
    __syncthreads();
  }
}

/* Copies 8 bytes at a time. */
__device__ inline void copy_words(void *to, const void *from, int bytes) {
  for (int k = threadIdx.x; k < bytes / 8; k += THREADS) ((uint64_t *)to)[k] = ((const uint64_t *)from)[k];
}

template <typename T>
__device__ inline void begin_loop(const loop_args<T> &loop, block_state<T> &b, wr_resident_step<T> *steps) {
  copy_words(steps, loop.steps, loop.count * (int)sizeof(wr_resident_step<T>));
  copy_words(b.bank, loop.bank, loop.nbank * 8);
  if (threadIdx.x == 0) *b.going = 1, *b.nlong = *b.ngiant = 0;
  __syncthreads();
  for (int k = 0; k < loop.count; k++)
    if (steps[k].kind == WR_RESIDENT_ROWS) return begin_rows(steps[k].rows, b); /* they are the same for all steps */
}

template <typename T, bool JOINED>
__global__ void __launch_bounds__(THREADS, 1) resident(WR_KERNEL_PARAMETER loop_args<T> loop) {
  WR_SHARED_DYNAMIC(double, room);
  WR_SHARED(double, bank, MAX_BANK);
  WR_SHARED(double, c, WR_MAX_OUTPUTS * (WR_FUSED_SLOTS + 1));
  WR_SHARED(int, counts, 3);
  double *row_sums = room + loop.most_products;
  wr_resident_step<T> *steps = (wr_resident_step<T> *)(row_sums + loop.most_rows);
  int *starts = (int *)(steps + loop.count);
  block_state<T> b = {steps, bank, c, room, row_sums, starts, starts + loop.most_rows + 1, counts, counts + 1,
                      counts + 2, 0, 0, 0, 0};
  begin_loop(loop, b, steps);
  while (*b.going)
    for (int k = 0; k < loop.count && (k == 0 || !steps[k - 1].ends_half || *b.going);
         k += JOINED && steps[k].kind == WR_RESIDENT_JOINED ? 2 : 1) {
      do_step<T, JOINED>(loop, b, steps + k);
      if (steps[k].ends_half && blockIdx.x == 0) {
        copy_words(loop.bank, b.bank, loop.nbank * 8);
        __syncthreads();
      }
    }
}

#endif
