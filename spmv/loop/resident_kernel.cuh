/* The kernel of a resident loop (resident_cuda.cu): all blocks do each step together, with a grid barrier behind it. Every
 * block has a copy of the bank in shared memory and runs the steps on scalars itself. The matrix stays in shared memory if it
 * is small enough; vectors and sums are exchanged through L2. */
#ifndef WR_RESIDENT_KERNEL_CUH
#define WR_RESIDENT_KERNEL_CUH

#include "spmv/loop/resident_rows.cuh"
#include "spmv/kernel/meet.cuh"

/* Runs the step on scalars behind the sums of an operation: thread 0 of every block; only the first block writes the log. */
__device__ inline void run_scalar_step(const block_state &b, const wr_step_work &of) {
  wr_step_work w = of;
  if (blockIdx.x != 0) w.room = 0;
  w.go.conditions = 0, w.go.sets_going = 1, w.go.going = b.going;
  wr_step_run<WR_AFTER_ANY>(w, b.stop, b.bank);
}

/* sum of all lanes := sums over the warp. Without __syncwarp, shuffles of diverged lanes take ten times as long. */
template <int MOST>
__device__ inline void add_lanes(double (&sum)[MOST]) {
  __syncwarp();
  wr_warp_sums(sum, MOST);
}

/* sum[lane], the lane being of the calling thread; 0 for later lanes. */
template <int MOST>
__device__ inline double sum_of_lane(const double (&sum)[MOST]) {
  int lane = threadIdx.x % WR_WARP;
  double own = 0;
#pragma unroll
  for (int r = 0; r < MOST; r++) own = lane == r ? sum[r] : own;
  return own;
}

/* By the first warp, after a __syncthreads: sum := the sums over the block, from those of its warps in `parts`. */
template <int MOST>
__device__ inline void add_warps(const double *parts, double (&sum)[MOST]) {
  int lane = threadIdx.x % WR_WARP;
#pragma unroll
  for (int r = 0; r < MOST; r++) sum[r] = lane < THREADS / WR_WARP ? parts[lane * MOST + r] : 0;
  add_lanes(sum);
}

/* Where an operation's sums go. */
struct sums_to {
  int count;
  double *const *into; /* [count] in the bank */
};

/* By the first warp: stores the sums over all blocks, added in an order that depends on the number of blocks alone, in the
 * block's copy of the bank. Lane r stores sum r, so the stores are one instruction. */
template <typename T, class ROOM>
__device__ inline void add_blocks(const loop_args<T, ROOM> &loop, const block_state &b, sums_to s,
                                  const double *partial) {
  constexpr int MOST = ROOM::SUMS;
  constexpr int AT_ONCE = 5; /* loads in flight: for 132 blocks (H200), one at a time would take a microsecond more */
  int lane = threadIdx.x % WR_WARP, blocks = (int)gridDim.x;
  int into = lane < s.count ? (int)(s.into[lane] - loop.bank) : -1;
  double total[MOST] = {};
  for (int first = 0; first < blocks; first += AT_ONCE * WR_WARP) {
    double part[MOST][AT_ONCE];
#pragma unroll
    for (int k = 0; k < AT_ONCE; k++)
#pragma unroll
      for (int r = 0; r < MOST; r++) {
        int from = first + k * WR_WARP + lane;
        bool is_there = r < s.count && first + k * WR_WARP < blocks; /* the same for all lanes: no divergence */
        part[r][k] = is_there ? __ldcg(partial + r * blocks + (from < blocks ? from : blocks - 1)) : 0;
        if (from >= blocks) part[r][k] = 0;
      }
#pragma unroll
    for (int k = 0; k < AT_ONCE; k++)
#pragma unroll
      for (int r = 0; r < MOST; r++) total[r] += part[r][k];
  }
  add_lanes(total);
  double own = sum_of_lane(total);
  if (into >= 0) b.bank[into] = own;
  __syncwarp();
}

/* Stores the block's sums, waits at the grid barrier, and adds up the sums of all blocks; every block does so for its own
 * copy of the bank, which thread 0 then sees. stop: *loop.stop, in thread 0 of the first block. */
template <typename T, class ROOM>
__device__ inline void sum_over_grid(const loop_args<T, ROOM> &loop, block_state &b, sums_to s, unsigned stop,
                                     double (&sum)[ROOM::SUMS]) {
  constexpr int MOST = ROOM::SUMS;
  WR_SHARED(double, parts, MOST *THREADS / WR_WARP);
  double *partial = loop.partial + (int64_t)(++b.round % 2) * MOST * gridDim.x;
  WR_MARK(b, 3);
  if (s.count) add_lanes(sum);
  if (threadIdx.x % WR_WARP == 0)
#pragma unroll
    for (int r = 0; r < MOST; r++) parts[threadIdx.x / WR_WARP * MOST + r] = sum[r];
  __syncthreads();
  if (threadIdx.x < WR_WARP) {
    if (s.count) add_warps(parts, sum);
    double own = sum_of_lane(sum);
    if ((int)threadIdx.x < s.count) partial[threadIdx.x * gridDim.x + blockIdx.x] = own;
    __syncwarp();
    if (threadIdx.x == 0) {
      if (blockIdx.x == 0) loop.stops[b.round % 2] = stop;
      WR_MARK(b, 4);
      wr_meet_arrive(loop.arrived);
      wr_meet_wait(loop.arrived, b.round);
      /* this load overlaps those of the sums */
      b.stop = *(const volatile unsigned *)(loop.stops + b.round % 2);
      WR_MARK(b, 5);
    }
    __syncwarp();
    if (s.count) add_blocks(loop, b, s, partial);
    WR_MARK(b, 6);
  }
}

/* Does one step of the loop, with its product if it is joined, and runs the step on scalars behind it. JOINED: all products are
 * joined. Else none is, and the code for joining is not compiled in: it made an iteration of PageRank 0.3 to 0.9 us slower. */
template <bool JOINED, typename T, class ROOM>
__device__ inline void do_step(const loop_args<T, ROOM> &loop, block_state &b, const wr_resident_step<T, ROOM> *step) {
  bool is_rows = step->kind == WR_RESIDENT_ROWS;
  const auto &rows = step->rows.finish.sums;
  const auto &vectors = step->vectors.sums;
  const wr_step_work &then = is_rows ? rows.step : vectors.step;
  double sum[ROOM::SUMS] = {};
  bool left_out =
      step->kind == WR_RESIDENT_VECTORS && step->vectors.when && *scalar_of(loop, b, step->vectors.when) == 0;
  unsigned stop = 0;
  if (!left_out) {
    if (threadIdx.x == 0 && blockIdx.x == 0) stop = *(const volatile unsigned *)loop.stop; /* loaded during the step */
    if (step->kind == WR_RESIDENT_VECTORS)
      do_vectors(loop, b, *step, sum);
    else
      do_rows<JOINED>(loop, b, step[JOINED].rows, *step, sum);
    sum_over_grid(loop, b, is_rows ? sums_to{rows.count, rows.into} : sums_to{vectors.count, vectors.into}, stop, sum);
  }
  if (threadIdx.x == 0 && then.bit) run_scalar_step(b, then);
  __syncthreads();
  WR_MARK(b, 7);
}

/* Copies `bytes` bytes, a multiple of 8, by all threads of the block. */
__device__ inline void copy_words(void *to, const void *from, int bytes) {
  for (int k = threadIdx.x; k < bytes / 8; k += THREADS) ((uint64_t *)to)[k] = ((const uint64_t *)from)[k];
}

template <typename T, class ROOM>
__device__ inline void begin_loop(const loop_args<T, ROOM> &loop, block_state &b, wr_resident_step<T, ROOM> *steps,
                                  char *image) {
  copy_words(steps, loop.steps, loop.count * (int)sizeof *steps);
  copy_words(b.bank, loop.bank, loop.nbank * 8);
  if (threadIdx.x == 0) *b.going = 1;
  __syncthreads();
  for (int k = 0; k < loop.count; k++) /* all products have the same matrix */
    if (steps[k].kind == WR_RESIDENT_ROWS) return begin_rows(loop, b, image, steps[k].rows.nrows);
}

template <typename T, class ROOM, bool JOINED>
__global__ void __launch_bounds__(THREADS, 1) resident(WR_KERNEL_PARAMETER loop_args<T, ROOM> loop) {
  WR_SHARED_DYNAMIC(double, room);
  WR_SHARED(double, bank, MAX_BANK);
  WR_SHARED(double, c, ROOM::OUTPUTS *ROOM::TERMS);
  WR_SHARED(int, counts, 2);
  char *image = (char *)room; /* first, as it is copied by 16 bytes */
  block_state b = {};
  b.bank = bank, b.c = c, b.nlong = counts, b.going = counts + 1;
  b.x = (double *)(image + loop.image_bytes), b.slots = b.x + loop.columns * loop.side;
  wr_resident_step<T, ROOM> *steps = (wr_resident_step<T, ROOM> *)(b.slots + loop.slots * loop.side);
  b.long_rows = (int *)(steps + loop.count);
#ifdef WR_RESIDENT_CLOCK
  __shared__ phase_clock clock;
  b.clock = &clock;
  if (threadIdx.x == 0) memset(&clock, 0, sizeof clock), clock.begun = clock64();
#endif
  begin_loop(loop, b, steps, image);
#ifdef WR_RESIDENT_CLOCK
  if (threadIdx.x == 0 && blockIdx.x == 0)
    printf("clock begin %lld cycles\n", clock64() - clock.begun);
  if (threadIdx.x == 0) clock.begun = clock64();
  mark(&clock, -1);
#endif
  while (*b.going)
    for (int k = 0; k < loop.count && (k == 0 || !steps[k - 1].ends_part || *b.going);
         k += JOINED && steps[k].kind == WR_RESIDENT_JOINED ? 2 : 1) {
#ifdef WR_RESIDENT_CLOCK
      if (threadIdx.x == 0) clock.step = k, clock.rounds += steps[k].ends_part;
      if (threadIdx.x == 0 && JOINED && steps[k].kind == WR_RESIDENT_JOINED) clock.rounds += 0;
#endif
      do_step<JOINED>(loop, b, steps + k);
      if (steps[k].ends_part && blockIdx.x == 0) {
        copy_words(loop.bank, b.bank, loop.nbank * 8);
        __syncthreads();
      }
    }
#ifdef WR_RESIDENT_CLOCK
  if (threadIdx.x == 0 && (blockIdx.x == 0 || blockIdx.x == gridDim.x / 2)) {
    double rounds = clock.rounds ? clock.rounds : 1;
    printf("clock block %d of %d: %d rounds, %.0f cycles each; rows %d tiles %d columns %d steps %d kept %d width %d slots %d\n",
           (int)blockIdx.x, (int)gridDim.x, clock.rounds, (double)(clock64() - clock.begun) / rounds, b.nrows,
           b.share.tiles, b.share.columns, b.share.steps, b.kept, b.share.width, b.share.slots);
    for (int k = 0; k < loop.count; k++) {
      const long long *c = clock.cycles[k];
      if (c[7])
        printf("clock  step %2d kind %d: begin %5.0f gather %5.0f multiply %5.0f finish %5.0f block %5.0f meet %5.0f sums %5.0f scalars %5.0f\n", k,
               (int)steps[k].kind, c[0] / rounds, c[1] / rounds, c[2] / rounds, c[3] / rounds, c[4] / rounds,
               c[5] / rounds, c[6] / rounds, c[7] / rounds);
    }
  }
#endif
}

#endif
