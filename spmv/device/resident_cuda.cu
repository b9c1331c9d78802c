/* Loops over small systems as one kernel (vec.h, loop_open; decisions.md). Its blocks do the steps together, all wait for all
 * behind each, and every block has the scalars and runs their programs for itself: to launch a kernel, to decide in a graph and
 * to tell the next kernel what the last block has found costs several times as much. The matrix stays in the first-level
 * caches if it fits, vectors and sums pass through L2. */
#include <cuda_runtime.h>
#include <string.h>

#include "config/memory.h"
#include "spmv/device/check.cuh"
#include "spmv/device/device_memory.h"
#include "spmv/device/resident_rows.cuh"
#include "spmv/kernel/launch.cuh"
#include "spmv/kernel/meet.cuh"
#include "spmv/kernel/warp.cuh"

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

/* Output o of one element, from inputs and the first output in v. A term that is left out or worth nothing has no part. */
template <typename T>
__device__ inline T output_of(const wr_fused_args<T> &f, const double *c, int o,
                              const double (&v)[WR_FUSED_SLOTS + WR_MAX_OUTPUTS]) {
  double sum = 0;
#pragma unroll
  for (int k = 0; k < WR_FUSED_SLOTS + o; k++) {
    double factor = c[o * (WR_FUSED_SLOTS + 1) + k], term = factor * (k == 0 && f.has_times ? v[0] * v[1] : v[k]);
    sum += factor != 0 ? term : 0;
  }
  return (T)sum;
}

template <typename T>
__device__ inline void do_vectors(const loop_args<T> &loop, const block_state<T> &b, const wr_resident_step<T> &step,
                                  double (&sum)[WR_MAX_REDUCTIONS]) {
  const wr_fused_args<T> &f = step.vectors;
  int begin = step.share * (int)blockIdx.x, n = (int)f.n, end = begin + step.share < n ? begin + step.share : n;
  read_coefficients(loop, b, f);
  for (int i = begin + (int)threadIdx.x; i < end; i += THREADS) {
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

/* All lanes get the sums; the three at once, as one takes as long. */
__device__ inline void add_lanes(double (&sum)[WR_MAX_REDUCTIONS]) {
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
  __syncwarp(); /* as in resident_rows.cuh */
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
    if (steps[k].kind == WR_RESIDENT_ROWS) return begin_rows(steps[k].rows, b); /* they are the same for all steps */
}

template <typename T>
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
  int64_t nrows, nnz;     /* of it                                               */
  int64_t longest;        /* of all vectors                                      */
  int most_rows, most_products; /* of a block                                    */
  void *on_device;        /* the steps                                           */
  double *partial;
  unsigned *counts;       /* [3] on the device: arrived, wishes                  */
  unsigned most, blocks;
};

static wr_cuda_state *state_of(const wr_env *env) { return (wr_cuda_state *)env->state; }

/* Where the rest of shared memory is left to the first-level cache. */
static const size_t shared_most = (MOST_PRODUCTS + MOST_ROWS + 2) * sizeof(double) + (2 * MOST_ROWS + 3) * sizeof(int);

/* How many blocks can run at the same time. One always can. */
template <typename T>
static wr_status count_blocks(wr_env *env, wr_resident *r) {
  wr_status status;
  int together = 0, processors = 0, each = 0;
  size_t shared = shared_most + MAX_STEPS * r->step_bytes;
  TRY(WR_CUDA(cudaDeviceGetAttribute(&together, cudaDevAttrCooperativeLaunch, env->device)));
  TRY(WR_CUDA(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, env->device)));
  TRY(WR_CUDA(cudaFuncSetAttribute(resident<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared)));
  TRY(WR_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, resident<T>, THREADS, shared)));
  if (each == 0) TRY(wr_fail(WR_EUNAVAILABLE, "%s has no room for a loop of one kernel", env->device_name));
  r->most = together ? (unsigned)processors : 1;
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
  TRY(env->type == WR_F32 ? count_blocks<float>(env, r) : count_blocks<double>(env, r));
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

static wr_status add(wr_resident *r, const void *step, int64_t n) {
  if (r->count == MAX_STEPS) return wr_fail(WR_EUNAVAILABLE, "a loop of one kernel has %d steps at most", MAX_STEPS);
  memcpy(r->steps + r->count++ * r->step_bytes, step, r->step_bytes);
  if (n > r->longest) r->longest = n;
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
  a->finish = wr_finish_make<T>(env, request->epilogue);
  if (!is_ours(r, a->finish.shift)) TRY(wr_fail(WR_EUNAVAILABLE, "a loop of one kernel has one bank"));
  if (r->row_ptr && (r->row_ptr != A->row_ptr || r->nrows != a->nrows))
    TRY(wr_fail(WR_EUNAVAILABLE, "a loop of one kernel has one matrix"));
  if (nnz > INT32_MAX / 2) TRY(wr_fail(WR_EUNAVAILABLE, "%lld entries are too many for one kernel", (long long)nnz));
  r->row_ptr = A->row_ptr, r->nrows = a->nrows, r->nnz = nnz;
  TRY(check_sums(r, a->finish.sums, request->epilogue ? request->epilogue->then : none));
  TRY(add(r, &step, a->nrows));
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

template <typename T>
static void share_vectors(wr_resident *r) {
  wr_resident_step<T> *steps = (wr_resident_step<T> *)r->steps;
  for (int k = 0; k < r->count; k++)
    if (steps[k].kind == WR_RESIDENT_VECTORS) steps[k].share = (int)((steps[k].vectors.n + r->blocks - 1) / r->blocks);
}

extern "C" wr_status wr_resident_half(wr_resident *r) {
  if (r->count == 0) return wr_fail(WR_EUNAVAILABLE, "a half of a loop is empty");
  r->type == WR_F32 ? end_half<float>(r) : end_half<double>(r);
  return WR_OK;
}

static size_t shared_bytes(const wr_resident *r) {
  return (r->most_products + r->most_rows) * sizeof(double) + r->count * r->step_bytes +
         (2 * r->most_rows + 1) * sizeof(int);
}

/* As many blocks as have enough to do, and what each keeps in shared memory. */
static wr_status share_out(wr_resident *r) {
  int64_t by_length = (r->longest + THREADS - 1) / THREADS, by_entries = r->nnz / (3 * THREADS) + 1;
  int64_t wanted = by_length > by_entries ? by_length : by_entries;
  r->blocks = wanted < r->most ? (unsigned)wanted : r->most;
  int64_t weight = (r->nnz + ROW_WEIGHT * r->nrows) / r->blocks + 1, products = r->nnz / r->blocks * 5 / 4 + THREADS;
  int64_t rows = weight / ROW_WEIGHT + 2 < r->nrows ? weight / ROW_WEIGHT + 2 : r->nrows;
  if (products < LEAST_PRODUCTS) products = LEAST_PRODUCTS;
  if (products > MOST_PRODUCTS) products = MOST_PRODUCTS;
  r->most_products = (int)products;
  r->most_rows = (int)rows;
  r->type == WR_F32 ? share_vectors<float>(r) : share_vectors<double>(r);
  if (rows <= MOST_ROWS && r->longest <= INT32_MAX / 2) return WR_OK;
  return wr_fail(WR_EUNAVAILABLE, "%lld rows are too many for one kernel", (long long)r->nrows);
}

extern "C" wr_status wr_resident_close(wr_env *env, wr_resident *r) {
  wr_status status;
  state_of(env)->resident = NULL;
  TRY(wr_resident_half(r));
  TRY(share_out(r));
  TRY(wr_device_upload(env, r->on_device, r->steps, r->count * (int64_t)(r->step_bytes / 8), WR_AS_8_BYTES));
done:
  return status;
}

template <typename T>
static wr_status launch(wr_env *env, wr_resident *r, const unsigned *stop) {
  loop_args<T> loop = {(const wr_resident_step<T> *)r->on_device, r->count, (int)r->nbank, r->bank, r->partial,
                       r->counts, stop, r->counts + 1, r->most_rows, r->most_products};
  return WR_LAUNCH_TOGETHER((resident<T>), r->blocks, THREADS, shared_bytes(r), env->stream, loop);
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
