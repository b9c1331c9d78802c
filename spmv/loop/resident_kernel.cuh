/* The kernel of a resident loop (resident_cuda.cu): all blocks do each step together, with a grid barrier behind it. Every
 * block has a copy of the bank in shared memory and runs the steps on scalars itself. The matrix stays in shared memory if it
 * is small enough; vectors and sums are exchanged through L2. */
#ifndef WR_RESIDENT_KERNEL_CUH
#define WR_RESIDENT_KERNEL_CUH

#include "spmv/loop/resident_rows.cuh"

/* Runs the step on scalars with this bit, by one thread of each block; only the first block writes to the log of `then`. */
__device__ inline void run_scalar_step(const block_state &b, const wr_step_work &then, unsigned bit) {
  if (bit == 0) return; /* the same for all threads */
  if (threadIdx.x == 0)
    wr_step_call<WR_AFTER_ANY>(bit, b.bank, [&](const wr_step_request &request) {
      if (blockIdx.x == 0) wr_step_add_to_log(&request, then.log, then.room);
      if (request.decides) *b.going = request.goes_on & (*b.stop == 0);
    });
  __syncthreads();
}

/* Where an operation's sums go. */
struct sums_to {
  int count;
  double *const *into; /* [count] in the bank */
};

/* By a warp: the sum of the numbers that all blocks have posted, once they are there, added in an order that depends on the
 * number of blocks alone. No lane leaves a loop before the others: shuffles of diverged lanes take ten times as long. */
__device__ inline double collect(const wr_record *records, unsigned round) {
  constexpr int AT_ONCE = 5; /* loads in flight: 132 blocks (H200) are read at once */
  int lane = threadIdx.x % WR_WARP, blocks = (int)gridDim.x;
  double total = 0;
  for (int first = 0; first < blocks; first += AT_ONCE * WR_WARP) {
    double part[AT_ONCE];
    bool are_there;
    do {
      are_there = true;
#pragma unroll
      for (int k = 0; k < AT_ONCE; k++) {
        int from = first + k * WR_WARP + lane;
        are_there &= wr_meet_read(records + (from < blocks ? from : blocks - 1), round, &part[k]);
        if (from >= blocks) part[k] = 0;
      }
    } while (!__all_sync((unsigned)WR_FULL_MASK, are_there));
#pragma unroll
    for (int k = 0; k < AT_ONCE; k++) total += part[k];
  }
  return wr_warp_sum(total);
}

/* Adds up the sums of all threads of all blocks into every block's copy of the bank; no block goes on before all have come. A
 * warp for each sum, and one for *b.stop. */
template <typename T, class ROOM>
__device__ inline void sum_over_grid(const loop_args<T, ROOM> &loop, block_state &b, sums_to s,
                                     double (&sum)[ROOM::SUMS]) {
  constexpr int MOST = ROOM::SUMS, WARPS = THREADS / WR_WARP;
  static_assert(MOST < WARPS, "a warp for each sum and one more");
  int lane = threadIdx.x % WR_WARP, warp = threadIdx.x / WR_WARP, blocks = (int)gridDim.x;
  wr_record *records = loop.records + (int64_t)(++b.round % 2) * (MOST + 1) * blocks;
#pragma unroll
  for (int r = 0; r < MOST; r++)
    if (r < s.count) b.x[r * THREADS + (int)threadIdx.x] = sum[r]; /* by now no thread reads x */
  __syncthreads();
  if (warp < (s.count ? s.count : 1)) { /* without sums the first one serves as a barrier */
    double part[WARPS], own = 0;
#pragma unroll
    for (int k = 0; k < WARPS; k++) part[k] = s.count ? b.x[warp * THREADS + k * WR_WARP + lane] : 0;
#pragma unroll
    for (int k = 0; k < WARPS; k++) own += part[k];
    own = wr_warp_sum(own);
    if (lane == 0) wr_meet_post(&records[warp * blocks + (int)blockIdx.x], own, b.round);
    __syncwarp();
    double total = collect(records + warp * blocks, b.round);
    if (lane == 0 && s.count) b.bank[s.into[warp] - loop.bank] = total;
  } else if (warp == MOST && lane == 0) {
    double stop;
    wr_record *record = &records[MOST * blocks];
    if (blockIdx.x == 0) wr_meet_post(record, (double)*(const volatile unsigned *)loop.stop, b.round);
    wr_spin_busily([&] { return wr_meet_read(record, b.round, &stop); });
    *b.stop = stop != 0;
  }
  __syncthreads();
}

/* Does one step of the loop, with its product if it is joined, and runs the step on scalars behind it. JOINED: all products are
 * joined. Else none is, and the code for joining is not compiled in: it made an iteration of PageRank 0.3 to 0.9 us slower. */
template <bool JOINED, typename T, class ROOM>
__device__ inline void do_any_step(const loop_args<T, ROOM> &loop, block_state &b,
                                   const wr_resident_step<T, ROOM> *step) {
  bool is_rows = step->kind == WR_RESIDENT_ROWS;
  const auto &rows = step->rows.finish.sums;
  const auto &vectors = step->vectors.sums;
  double sum[ROOM::SUMS] = {};
  bool left_out =
      step->kind == WR_RESIDENT_VECTORS && step->vectors.when && *scalar_of(loop, b, step->vectors.when) == 0;
  if (!left_out) {
    if (step->kind == WR_RESIDENT_VECTORS)
      do_vectors(loop, b, step->share, step->vectors, sum);
    else
      do_rows<JOINED>(loop, b, step[JOINED].rows, step->vectors, sum);
    sum_over_grid(loop, b, is_rows ? sums_to{rows.count, rows.into} : sums_to{vectors.count, vectors.into}, sum);
  }
  const wr_step_work &then = is_rows ? rows.step : vectors.step;
  run_scalar_step(b, then, then.bit);
}

/* The same for a step of a form. */
template <int FORM, typename T>
__device__ inline void do_known_step(const loop_args<T, wr_narrow> &loop, block_state &b,
                                     const wr_resident_step<T, wr_narrow> *step) {
  constexpr wr_resident_kind kind = WR_STEP_FORMS[FORM].kind;
  const wr_step_work *then = &step->vectors.sums.step;
  double sum[wr_narrow::SUMS] = {};
  if constexpr (kind == WR_RESIDENT_ROWS) {
    const auto a = wr_rows_known<FORM>(step->rows);
    do_rows<false>(loop, b, a, step->vectors, sum);
    sum_over_grid(loop, b, sums_to{a.finish.sums.count, step->rows.finish.sums.into}, sum);
    then = &step->rows.finish.sums.step;
  } else {
    const auto f = wr_operation_known<FORM>(step->vectors);
    if constexpr (kind == WR_RESIDENT_JOINED)
      do_rows<true>(loop, b, wr_product_known<FORM>(step[1].rows), f, sum);
    else
      do_vectors(loop, b, step->share, f, sum);
    sum_over_grid(loop, b, sums_to{f.sums.count, step->vectors.sums.into}, sum);
  }
  run_scalar_step(b, *then, WR_STEP_FORMS[FORM].bit);
}

/* Looks for the step's form among those up to FORM. */
template <bool JOINED, int FORM, typename T, class ROOM>
__device__ inline void do_step(const loop_args<T, ROOM> &loop, block_state &b, const wr_resident_step<T, ROOM> *step) {
  if constexpr (FORM == 0 || !ROOM::IS_EXACT) {
    do_any_step<JOINED>(loop, b, step);
  } else {
    constexpr wr_resident_kind kind = WR_STEP_FORMS[FORM].kind;
    if constexpr (kind == WR_RESIDENT_VECTORS || JOINED == (kind == WR_RESIDENT_JOINED))
      if (step->form == FORM) return do_known_step<FORM>(loop, b, step);
    do_step<JOINED, FORM - 1>(loop, b, step);
  }
}

/* Copies `bytes` bytes, a multiple of 8, by all threads of the block. */
__device__ inline void copy_words(void *to, const void *from, int bytes) {
  for (int k = threadIdx.x; k < bytes / 8; k += THREADS) ((uint64_t *)to)[k] = ((const uint64_t *)from)[k];
}

template <typename T, class ROOM>
__device__ inline void begin_loop(const loop_args<T, ROOM> &loop, block_state &b, wr_resident_step<T, ROOM> *steps,
                                  char *room) {
  copy_words(steps, loop.steps, loop.count * (int)sizeof *steps);
  copy_words(b.bank, loop.bank, loop.nbank * 8);
  if (threadIdx.x == 0) *b.going = 1, *b.stop = 0;
  __syncthreads();
  for (int k = 0; k < loop.count; k++) /* all products have the same matrix */
    if (steps[k].kind == WR_RESIDENT_ROWS) return begin_rows(loop, b, room, steps[k].rows.nrows);
}

template <typename T, class ROOM, bool JOINED>
__global__ void __launch_bounds__(THREADS, 1) resident(WR_KERNEL_PARAMETER loop_args<T, ROOM> loop) {
  WR_SHARED_DYNAMIC(double, room);
  WR_SHARED(double, bank, MAX_BANK);
  WR_SHARED(double, c, ROOM::OUTPUTS *ROOM::TERMS);
  WR_SHARED(int, counts, 3);
  block_state b = {};
  b.bank = bank, b.c = c, b.nlong = counts, b.going = counts + 1, b.stop = counts + 2, b.x = room;
  wr_resident_step<T, ROOM> *steps = (wr_resident_step<T, ROOM> *)((char *)room + loop.share_bytes);
  begin_loop(loop, b, steps, (char *)room);
  while (*b.going)
    for (int k = 0; k < loop.count && (k == 0 || !steps[k - 1].ends_part || *b.going);
         k += JOINED && steps[k].kind == WR_RESIDENT_JOINED ? 2 : 1) {
      do_step<JOINED, WR_STEP_FORM_COUNT - 1>(loop, b, steps + k);
      if (steps[k].ends_part && blockIdx.x == 0) {
        copy_words(loop.bank, b.bank, loop.nbank * 8);
        __syncthreads();
      }
    }
}

#endif
