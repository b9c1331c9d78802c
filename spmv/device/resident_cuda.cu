/* Loops over small systems as one kernel (vec.h, loop_open; decisions.md). Its blocks do the steps together, all wait for all
 * behind each, and every block has the scalars and runs their programs for itself: to launch a kernel, to decide in a graph and
 * to tell the next kernel what the last block has found costs several times as much. The matrix stays in the first-level
 * caches if it fits, vectors and sums pass through L2. */
#include <cuda_runtime.h>
#include <string.h>

#include "config/memory.h"
#include "spmv/device/check.cuh"
#include "spmv/device/device_memory.h"
#include "spmv/device/resident.cuh"
#include "spmv/kernel/launch.cuh"
#include "spmv/kernel/meet.cuh"
#include "spmv/kernel/warp.cuh"

enum {
  THREADS = 512,
  MAX_STEPS = 24,    /* shared memory that every card has holds them */
  MAX_BANK = 256,
  MAX_LONG = 512,    /* long rows of a block that are known                           */
  LONG = 8,          /* entries for each lane beyond which a row is long, a warp's    */
  GIANT = 2048,      /* entries beyond which a row is all the block's                 */
  BATCH = 4, LONG_BATCH = 8 /* entries of a lane on their way                         */
};

template <typename T>
struct loop_args {
  const wr_resident_step<T> *steps;
  int count, nbank;
  double *bank;     /* [nbank] */
  double *partial;  /* [2][WR_MAX_REDUCTIONS][blocks]: what blocks leave, by turns                          */
  unsigned *arrived;
  const unsigned *stop;
  unsigned *wish;   /* [2], by turns: stop, as the first block has seen it, so that all blocks see the same */
};

/* What a block knows. All but `round` in shared memory. */
template <typename T>
struct block_state {
  const wr_resident_step<T> *steps;
  double *bank, *c;     /* c[WR_MAX_OUTPUTS][WR_FUSED_SLOTS + 1]: coefficients of this step */
  int *long_rows, *nlong, *ngiant;
  int *going;
  unsigned round;       /* how often it has met the others */
};

/* The block's copy of a scalar of the bank. */
template <typename T>
__device__ inline double *scalar_of(const loop_args<T> &loop, const block_state<T> &b, const double *at) {
  return b.bank + (at - loop.bank);
}

/* ---- Vectors ---- */

template <typename T>
__device__ inline void read_coefficients(const loop_args<T> &loop, const block_state<T> &b, const wr_fused_args<T> &f) {
  int k = threadIdx.x;
  if (k < WR_MAX_OUTPUTS * (WR_FUSED_SLOTS + 1)) {
    wr_device_coefficient from = f.c[k / (WR_FUSED_SLOTS + 1)][k % (WR_FUSED_SLOTS + 1)];
    b.c[k] = from.scalar ? from.factor * *scalar_of(loop, b, from.scalar) : from.factor;
  }
  __syncthreads();
}

/* v[slot]; the slot is the same for all threads. */
__device__ inline double pick(const double (&v)[WR_FUSED_SLOTS + WR_MAX_OUTPUTS], int slot) {
  double value = 0;
#pragma unroll
  for (int s = 0; s < WR_FUSED_SLOTS + WR_MAX_OUTPUTS; s++)
    if (s == slot) value = v[s];
  return value;
}

/* Output o of one element, from inputs and the first output in v. */
template <typename T>
__device__ inline T output_of(const wr_fused_args<T> &f, const double *c, int o,
                              const double (&v)[WR_FUSED_SLOTS + WR_MAX_OUTPUTS]) {
  double sum = 0;
#pragma unroll
  for (int k = 0; k < WR_FUSED_SLOTS + o; k++)
    if (c[o * (WR_FUSED_SLOTS + 1) + k] != 0)
      sum += c[o * (WR_FUSED_SLOTS + 1) + k] * (k == 0 && f.has_times ? v[0] * v[1] : v[k]);
  return (T)sum;
}

template <typename T>
__device__ inline void do_vectors(const loop_args<T> &loop, const block_state<T> &b, const wr_resident_step<T> &step,
                                  double (&sum)[WR_MAX_REDUCTIONS]) {
  const wr_fused_args<T> &f = step.vectors;
  int64_t stride = (int64_t)gridDim.x * THREADS;
  read_coefficients(loop, b, f);
  for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < f.n; i += stride) {
    double v[WR_FUSED_SLOTS + WR_MAX_OUTPUTS];
#pragma unroll
    for (int k = 0; k < WR_FUSED_SLOTS; k++) v[k] = k < step.nin ? (double)__ldcg(f.in[k] + i) : 0;
#pragma unroll
    for (int o = 0; o < WR_MAX_OUTPUTS; o++) {
      v[WR_FUSED_SLOTS + o] = 0;
      if (o >= step.nout) continue;
      T value = output_of(f, b.c, o, v);
      f.out[o][i] = value;
      v[WR_FUSED_SLOTS + o] = (double)value;
    }
#pragma unroll
    for (int r = 0; r < WR_MAX_REDUCTIONS; r++)
      if (r < f.sums.count) {
        double u[1] = {pick(v, f.u[r])}, z[1] = {pick(v, f.z[r])};
        wr_sum_terms(f.sums.kind[r], u, z, sum[r]);
      }
  }
}

/* ---- Rows ---- */

/* The place of a row's entries. */
template <typename T>
__device__ inline void row_bounds(const wr_resident_rows<T> &a, int64_t i, int64_t &begin, int64_t &end) {
  if (a.wide) {
    const int64_t *row_ptr = (const int64_t *)a.row_ptr;
    begin = __ldg(row_ptr + i), end = __ldg(row_ptr + i + 1);
  } else {
    const int32_t *row_ptr = (const int32_t *)a.row_ptr;
    begin = __ldg(row_ptr + i), end = __ldg(row_ptr + i + 1);
  }
}

/* What thread `first` of `stride` adds up of the entries from begin to end. An entry beyond the end has no part, whatever
 * stands in x. */
template <int BATCH_SIZE, typename T>
__device__ inline double add_entries(const wr_resident_rows<T> &a, int64_t begin, int64_t end, int first, int stride) {
  double sum = 0;
  for (int64_t k = begin + first; k < end; k += BATCH_SIZE * stride) {
    int32_t col[BATCH_SIZE];
    T val[BATCH_SIZE], x[BATCH_SIZE];
#pragma unroll
    for (int e = 0; e < BATCH_SIZE; e++) {
      bool is_there = k + e * stride < end;
      col[e] = is_there ? __ldg(a.col + k + e * stride) : -1;
      val[e] = is_there && a.val ? __ldg(a.val + k + e * stride) : (T)1;
    }
#pragma unroll
    for (int e = 0; e < BATCH_SIZE; e++) x[e] = col[e] >= 0 ? __ldcg(a.x + col[e]) : (T)0;
#pragma unroll
    for (int e = 0; e < BATCH_SIZE; e++) sum += col[e] >= 0 ? (double)val[e] * (double)x[e] : 0;
  }
  return sum;
}

/* What the epilogue of row i reads; all of it may have been written by another block. */
template <typename T>
__device__ inline void load_finish(const wr_finish<T> &f, int64_t i, wr_finish_rows<T, 1> &row) {
  row.shift_dir[0] = f.shift_dir ? __ldcg(f.shift_dir + i) : (T)0;
  row.scale[0] = f.scale ? __ldcg(f.scale + i) : f.whole ? wr_reciprocal<T>(f.whole, f.whole_bytes, i) : (T)0;
#pragma unroll
  for (int r = 0; r < WR_MAX_REDUCTIONS; r++) row.z[r][0] = f.z[r] ? __ldcg(f.z[r] + i) : (T)0;
}

template <typename T>
__device__ inline void finish_row(const wr_resident_rows<T> &a, double shift, int64_t i, double total,
                                  wr_finish_rows<T, 1> &row, double (&sum)[WR_MAX_REDUCTIONS]) {
  row.value[0] = a.beta == 0 ? a.alpha * total : a.alpha * total + a.beta * (double)__ldcg(a.y + i);
  wr_finish_store(a.finish, shift, i, row, a.y, sum);
}

/* How the block's threads share rows: all groups of lanes of the grid have one each, `stride` together, by turns. Neighbours go
 * to different blocks, since long rows often are neighbours; but if a row has one lane, to one block, whose loads then are
 * neighbours. */
struct row_share {
  int lane, lanes;
  int64_t first, stride;
};

template <typename T>
__device__ inline row_share share_of(const wr_resident_rows<T> &a) {
  int groups = THREADS >> a.log_lanes, group = threadIdx.x >> a.log_lanes;
  row_share s = {(int)threadIdx.x & ((1 << a.log_lanes) - 1), 1 << a.log_lanes, 0, (int64_t)groups * gridDim.x};
  s.first = a.log_lanes == 0 ? (int64_t)blockIdx.x * groups + group : (int64_t)group * gridDim.x + blockIdx.x;
  return s;
}

/* Lists the block's rows that a few lanes would be long busy with, in their order, as far as there is room. Once a launch. */
template <typename T>
__device__ inline void find_long_rows(const block_state<T> &b, const wr_resident_rows<T> &a) {
  WR_SHARED(int, before, THREADS / WR_WARP); /* long rows of the warps before, in this turn */
  row_share share = share_of(a);
  int warp = threadIdx.x / WR_WARP, lane = threadIdx.x % WR_WARP, count = 0, giant = 0;
  for (int64_t turn = 0; turn < a.nrows; turn += share.stride) {
    int64_t i = share.first + turn, begin = 0, end = 0;
    if (i < a.nrows && share.lane == 0) row_bounds(a, i, begin, end);
    bool is_long = end - begin > LONG * share.lanes;
    unsigned among = __ballot_sync((unsigned)WR_FULL_MASK, is_long);
    if (lane == 0) before[warp] = __popc(among);
    __syncthreads();
    int at = count + __popc(among & ((1u << lane) - 1));
    for (int w = 0; w < THREADS / WR_WARP; w++) at += w < warp ? before[w] : 0, count += before[w];
    if (is_long && at < MAX_LONG) b.long_rows[at] = (int)i, giant |= end - begin > GIANT;
    __syncthreads();
  }
  giant = __syncthreads_or(giant);
  if (threadIdx.x == 0) *b.nlong = count < MAX_LONG ? count : MAX_LONG, *b.ngiant = giant;
  __syncthreads();
}

/* A warp a row. */
template <typename T>
__device__ inline void do_long_rows(const block_state<T> &b, const wr_resident_rows<T> &a, double shift,
                                    double (&sum)[WR_MAX_REDUCTIONS]) {
  int lane = threadIdx.x % WR_WARP;
  for (int k = threadIdx.x / WR_WARP; k < *b.nlong; k += THREADS / WR_WARP) {
    int64_t i = b.long_rows[k], begin, end;
    wr_finish_rows<T, 1> row = {};
    row_bounds(a, i, begin, end);
    if (end - begin > GIANT) continue;
    if (lane == 0) load_finish(a.finish, i, row);
    double total = wr_warp_sum(add_entries<LONG_BATCH>(a, begin, end, lane, WR_WARP));
    if (lane == 0) finish_row(a, shift, i, total, row, sum);
  }
}

/* All the block a row. */
template <typename T>
__device__ inline void do_giant_rows(const block_state<T> &b, const wr_resident_rows<T> &a, double shift,
                                     double (&sum)[WR_MAX_REDUCTIONS]) {
  for (int k = 0; *b.ngiant && k < *b.nlong; k++) {
    int64_t i = b.long_rows[k], begin, end;
    wr_finish_rows<T, 1> row = {};
    row_bounds(a, i, begin, end);
    if (end - begin <= GIANT) continue;
    if (threadIdx.x == 0) load_finish(a.finish, i, row);
    double total[1] = {add_entries<BATCH>(a, begin, end, threadIdx.x, THREADS)};
    wr_block_sum(total);
    if (threadIdx.x == 0) finish_row(a, shift, i, total[0], row, sum);
  }
}

template <typename T>
__device__ inline void do_rows(const loop_args<T> &loop, const block_state<T> &b, const wr_resident_rows<T> &a,
                               double (&sum)[WR_MAX_REDUCTIONS]) {
  row_share share = share_of(a);
  int64_t last_long = *b.nlong ? b.long_rows[*b.nlong - 1] : -1;
  double shift = a.finish.shift ? *scalar_of(loop, b, a.finish.shift) : 0;
  for (int64_t turn = 0; turn < a.nrows; turn += share.stride) {
    int64_t i = share.first + turn, begin = 0, end = 0;
    wr_finish_rows<T, 1> row = {};
    if (i < a.nrows) row_bounds(a, i, begin, end);
    bool mine = i < a.nrows && (end - begin <= LONG * share.lanes || i > last_long);
    if (mine && share.lane == 0) load_finish(a.finish, i, row);
    double total = mine ? add_entries<BATCH>(a, begin, end, share.lane, share.lanes) : 0;
    for (int distance = share.lanes / 2; distance > 0; distance /= 2)
      total += __shfl_xor_sync((unsigned)WR_FULL_MASK, total, distance);
    if (mine && share.lane == 0) finish_row(a, shift, i, total, row, sum);
  }
  do_long_rows(b, a, shift, sum);
  do_giant_rows(b, a, shift, sum);
}

/* ---- The loop ---- */

/* The program of a step, in every block, by thread 0; the first block keeps the log. */
template <typename T>
__device__ inline void run_program(const loop_args<T> &loop, const block_state<T> &b, const wr_program &of) {
  if (of.which == 0) return;
  wr_program p = of;
  p.bank = b.bank;
  if (blockIdx.x != 0) p.room = 0;
  p.go.conditions = 0, p.go.going = b.going, p.go.stop = loop.wish + b.round % 2;
  wr_program_run<true>(p);
}

/* By one warp: the sums of all blocks in the block's own scalars, added up in an order that depends on their number alone. */
template <typename T>
__device__ inline void add_partials(const loop_args<T> &loop, const block_state<T> &b, const wr_sums &s,
                                    const double *partial) {
  constexpr int AT_ONCE = 5; /* of an H200's 132 blocks, one after the other would cost a microsecond */
  int lane = threadIdx.x % WR_WARP, blocks = (int)gridDim.x;
  double total[WR_MAX_REDUCTIONS] = {0, 0, 0};
  for (int first = lane; first < blocks; first += AT_ONCE * WR_WARP) {
    double part[WR_MAX_REDUCTIONS][AT_ONCE];
#pragma unroll
    for (int r = 0; r < WR_MAX_REDUCTIONS; r++)
#pragma unroll
      for (int k = 0; k < AT_ONCE; k++) {
        int from = first + k * WR_WARP;
        part[r][k] = r < s.count && from < blocks ? __ldcg(partial + r * blocks + from) : 0;
      }
#pragma unroll
    for (int r = 0; r < WR_MAX_REDUCTIONS; r++)
#pragma unroll
      for (int k = 0; k < AT_ONCE; k++) total[r] += part[r][k];
  }
#pragma unroll
  for (int r = 0; r < WR_MAX_REDUCTIONS; r++)
    if (r < s.count) {
      total[r] = wr_warp_sum(total[r]);
      if (lane == 0) *scalar_of(loop, b, s.into[r]) = total[r];
    }
}

/* Leaves the block's sums, meets the other blocks, adds up what all have left, each block for itself, and runs the program. */
template <typename T>
__device__ inline void meet(const loop_args<T> &loop, block_state<T> &b, const wr_sums &s,
                            double (&sum)[WR_MAX_REDUCTIONS]) {
  double *partial = loop.partial + (int64_t)(++b.round % 2) * WR_MAX_REDUCTIONS * gridDim.x;
  if (s.count)
    wr_block_sum(sum, s.count);
  else
    __syncthreads();
  if (threadIdx.x == 0) {
#pragma unroll
    for (int r = 0; r < WR_MAX_REDUCTIONS; r++)
      if (r < s.count) partial[r * gridDim.x + blockIdx.x] = sum[r];
    if (blockIdx.x == 0) loop.wish[b.round % 2] = *(const volatile unsigned *)loop.stop;
    wr_meet_arrive(loop.arrived);
    wr_meet_wait(loop.arrived, b.round);
  }
  if (threadIdx.x < WR_WARP) {
    __syncwarp();
    if (s.count) add_partials(loop, b, s, partial);
    if (threadIdx.x == 0) run_program(loop, b, s.program);
  }
  __syncthreads();
}

template <typename T>
__device__ inline void do_step(const loop_args<T> &loop, block_state<T> &b, const wr_resident_step<T> &step) {
  const wr_sums &sums = step.kind == WR_RESIDENT_ROWS ? step.rows.finish.sums : step.vectors.sums;
  double sum[WR_MAX_REDUCTIONS] = {0, 0, 0};
  bool left_out = step.kind == WR_RESIDENT_VECTORS && step.vectors.when && *scalar_of(loop, b, step.vectors.when) == 0;
  if (!left_out) {
    if (step.kind == WR_RESIDENT_ROWS)
      do_rows(loop, b, step.rows, sum);
    else
      do_vectors(loop, b, step, sum);
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
    if (steps[k].kind == WR_RESIDENT_ROWS) return find_long_rows(b, steps[k].rows); /* they are the same for all steps */
}

template <typename T>
__global__ void __launch_bounds__(THREADS, 1) resident(WR_KERNEL_PARAMETER loop_args<T> loop) {
  WR_SHARED_DYNAMIC(wr_resident_step<T>, steps);
  WR_SHARED(double, bank, MAX_BANK);
  WR_SHARED(double, c, WR_MAX_OUTPUTS * (WR_FUSED_SLOTS + 1));
  WR_SHARED(int, long_rows, MAX_LONG);
  WR_SHARED(int, counts, 3);
  block_state<T> b = {steps, bank, c, long_rows, counts, counts + 1, counts + 2, 0};
  begin_loop(loop, b, steps);
  while (*b.going)
    for (int k = 0; k < loop.count && (k == 0 || !steps[k - 1].ends_half || *b.going); k++) {
      do_step(loop, b, steps[k]);
      if (steps[k].ends_half && blockIdx.x == 0) {
        copy_words(loop.bank, b.bank, loop.nbank * 8);
        __syncthreads();
      }
    }
}

/* ---- On the host ---- */

struct wr_resident {
  wr_type type;
  double *bank; /* [nbank] on the device */
  int64_t nbank;
  int count;    /* steps */
  size_t step_bytes;
  char *steps;            /* [MAX_STEPS] of step_bytes                           */
  const void *row_ptr;    /* of all products; NULL: there is none                */
  int64_t nrows, threads; /* that the steps want                                 */
  void *on_device;        /* the steps                                           */
  double *partial;
  unsigned *counts;       /* [3] on the device: arrived, wishes                  */
  unsigned most, blocks;
};

static wr_cuda_state *state_of(const wr_env *env) { return (wr_cuda_state *)env->state; }

/* How many blocks can run at the same time. One always can. */
static wr_status count_blocks(wr_env *env, wr_resident *r) {
  wr_status status;
  int together = 0, processors = 0, each = 0;
  size_t shared = MAX_STEPS * r->step_bytes;
  TRY(WR_CUDA(cudaDeviceGetAttribute(&together, cudaDevAttrCooperativeLaunch, env->device)));
  TRY(WR_CUDA(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, env->device)));
  TRY(WR_CUDA(env->type == WR_F32
                  ? cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, resident<float>, THREADS, shared)
                  : cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, resident<double>, THREADS, shared)));
  r->most = together && each > 0 ? (unsigned)processors : 1;
done:
  return status;
}

extern "C" wr_status wr_resident_open(wr_env *env, const wr_vec *bank, wr_resident **out) {
  wr_status status;
  wr_resident *r = NULL;
  int limited = 0;
  TRY(wr_alloc_zeroed(&r, 1, sizeof *r, "a loop of one kernel"));
  TRY(WR_CUDA(cudaDeviceGetAttribute(&limited, cudaDevAttrKernelExecTimeout, env->device)));
  if (limited) TRY(wr_fail(WR_EUNAVAILABLE, "%s ends kernels that take long", env->device_name));
  if (bank->n > MAX_BANK) TRY(wr_fail(WR_EUNAVAILABLE, "a bank of %lld scalars", (long long)bank->n));
  r->type = env->type, r->bank = (double *)bank->data, r->nbank = bank->n;
  r->step_bytes = env->type == WR_F32 ? sizeof(wr_resident_step<float>) : sizeof(wr_resident_step<double>);
  TRY(wr_alloc(&r->steps, MAX_STEPS, r->step_bytes, "steps of a loop"));
  TRY(count_blocks(env, r));
  TRY(wr_device_alloc(env, &r->on_device, MAX_STEPS, r->step_bytes, "steps of a loop"));
  TRY(wr_device_alloc(env, &r->partial, 2 * WR_MAX_REDUCTIONS * (int64_t)r->most, sizeof *r->partial,
                      "sums of blocks"));
  TRY(wr_device_alloc_zeroed(env, &r->counts, 3, sizeof *r->counts, "a count of blocks"));
  state_of(env)->resident = r;
  *out = r, r = NULL;
done:
  wr_resident_free(env, r);
  return status;
}

static bool is_ours(const wr_resident *r, const double *scalar) {
  return scalar == NULL || (scalar >= r->bank && scalar < r->bank + r->nbank);
}

/* then: what follows the sums, which must be among the programs that are compiled. */
static wr_status check_sums(const wr_resident *r, const wr_sums &s, const wr_then &then) {
  bool fine = (then.ops == NULL || s.program.which) && (s.program.which == 0 || s.program.bank == r->bank);
  for (int k = 0; k < s.count; k++) fine &= is_ours(r, s.into[k]);
  return fine ? WR_OK : wr_fail(WR_EUNAVAILABLE, "a loop of one kernel has one bank and the programs that are known");
}

static wr_status add(wr_resident *r, const void *step, int64_t threads) {
  if (r->count == MAX_STEPS) return wr_fail(WR_EUNAVAILABLE, "a loop of one kernel has %d steps at most", MAX_STEPS);
  memcpy(r->steps + r->count++ * r->step_bytes, step, r->step_bytes);
  if (threads > r->threads) r->threads = threads;
  return WR_OK;
}

template <typename T>
wr_status wr_resident_add_vectors(wr_env *env, const wr_fused_args<T> &args, int nin, int nout, const wr_then &then) {
  wr_status status;
  wr_resident *r = state_of(env)->resident;
  wr_resident_step<T> step;
  memset(&step, 0, sizeof step);
  step.kind = WR_RESIDENT_VECTORS, step.nin = nin, step.nout = nout, step.vectors = args;
  for (int k = 0; k < args.sums.count; k++) {
    int *const slots[] = {&step.vectors.u[k], &step.vectors.z[k]};
    for (int *slot : slots)
      if (*slot >= nin) *slot += WR_FUSED_SLOTS - nin;
  }
  bool fine = is_ours(r, args.when) && !(args.when && args.sums.program.which && args.sums.count == 0);
  for (int k = 0; k < WR_MAX_OUTPUTS * (WR_FUSED_SLOTS + 1); k++)
    fine &= is_ours(r, args.c[k / (WR_FUSED_SLOTS + 1)][k % (WR_FUSED_SLOTS + 1)].scalar);
  if (!fine) TRY(wr_fail(WR_EUNAVAILABLE, "a loop of one kernel has one bank"));
  TRY(check_sums(r, args.sums, then));
  TRY(add(r, &step, args.n));
done:
  return status;
}
template wr_status wr_resident_add_vectors<float>(wr_env *, const wr_fused_args<float> &, int, int, const wr_then &);
template wr_status wr_resident_add_vectors<double>(wr_env *, const wr_fused_args<double> &, int, int, const wr_then &);

/* Lanes for a row, two entries of an average one each: the logarithm of their number. */
static int log_lanes_for(int64_t nrows, int64_t nnz) {
  int log_lanes = 0;
  while (1 << log_lanes < WR_WARP && nrows << (log_lanes + 1) < nnz) log_lanes++;
  return log_lanes;
}

template <typename T>
static wr_status add_rows(wr_env *env, const wr_csr_view *A, int64_t nnz, const wr_apply *request) {
  wr_status status;
  wr_resident *r = state_of(env)->resident;
  const wr_then none = {NULL, 0, NULL, NULL};
  wr_resident_step<T> step;
  memset(&step, 0, sizeof step);
  step.kind = WR_RESIDENT_ROWS;
  wr_resident_rows<T> *a = &step.rows;
  a->nrows = request->y->n, a->row_ptr = A->row_ptr, a->wide = A->wide, a->col = A->col, a->val = (const T *)A->val;
  a->x = (const T *)request->x->data, a->y = (T *)request->y->data, a->alpha = request->alpha, a->beta = request->beta;
  a->log_lanes = log_lanes_for(a->nrows, nnz);
  a->finish = wr_finish_make<T>(env, request->epilogue);
  if (!is_ours(r, a->finish.shift)) TRY(wr_fail(WR_EUNAVAILABLE, "a loop of one kernel has one bank"));
  if (r->row_ptr && (r->row_ptr != A->row_ptr || r->nrows != a->nrows))
    TRY(wr_fail(WR_EUNAVAILABLE, "a loop of one kernel has one matrix"));
  r->row_ptr = A->row_ptr, r->nrows = a->nrows;
  TRY(check_sums(r, a->finish.sums, request->epilogue ? request->epilogue->then : none));
  TRY(add(r, &step, a->nrows << a->log_lanes));
done:
  return status;
}

extern "C" wr_status wr_resident_rows_add(wr_env *env, const wr_csr_view *A, int64_t nnz, const wr_apply *request) {
  return env->type == WR_F32 ? add_rows<float>(env, A, nnz, request) : add_rows<double>(env, A, nnz, request);
}

template <typename T>
static void end_half(wr_resident *r) {
  ((wr_resident_step<T> *)r->steps)[r->count - 1].ends_half = 1;
}

extern "C" wr_status wr_resident_half(wr_resident *r) {
  if (r->count == 0) return wr_fail(WR_EUNAVAILABLE, "a half of a loop is empty");
  r->type == WR_F32 ? end_half<float>(r) : end_half<double>(r);
  return WR_OK;
}

extern "C" wr_status wr_resident_close(wr_env *env, wr_resident *r) {
  wr_status status;
  int64_t wanted = (r->threads + THREADS - 1) / THREADS;
  state_of(env)->resident = NULL;
  TRY(wr_resident_half(r));
  r->blocks = wanted < r->most ? (unsigned)wanted : r->most;
  TRY(wr_device_upload(env, r->on_device, r->steps, r->count * (int64_t)(r->step_bytes / 8), WR_AS_8_BYTES));
done:
  return status;
}

template <typename T>
static wr_status launch(wr_env *env, wr_resident *r, const unsigned *stop) {
  loop_args<T> loop = {(const wr_resident_step<T> *)r->on_device, r->count, (int)r->nbank, r->bank, r->partial,
                       r->counts, stop, r->counts + 1};
  return WR_LAUNCH_TOGETHER((resident<T>), r->blocks, THREADS, r->count * sizeof(wr_resident_step<T>), env->stream,
                            loop);
}

extern "C" wr_status wr_resident_run(wr_env *env, wr_resident *r, const unsigned *stop) {
  wr_status status;
  TRY(WR_CUDA(cudaMemsetAsync(r->counts, 0, sizeof *r->counts, state_of(env)->stream)));
  TRY(r->type == WR_F32 ? launch<float>(env, r, stop) : launch<double>(env, r, stop));
done:
  return status;
}

extern "C" void wr_resident_free(wr_env *env, wr_resident *r) {
  if (r == NULL) return;
  if (state_of(env)->resident == r) state_of(env)->resident = NULL;
  wr_device_free(env, r->on_device);
  wr_device_free(env, r->partial);
  wr_device_free(env, r->counts);
  wr_free(r->steps);
  wr_free(r);
}
