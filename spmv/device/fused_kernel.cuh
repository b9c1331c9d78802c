/* The kernels of a fused operation, and their launch. Each type has a source of its own: a device loads all kernels of a source
 * at the first use of one, which takes a millisecond for each megabyte. */
#ifndef WR_FUSED_KERNEL_CUH
#define WR_FUSED_KERNEL_CUH

#include <string.h>

#include "spmv/device/apply.h"
#include "spmv/device/check.cuh"
#include "spmv/device/cuda_state.h"
#include "spmv/device/fused_plan.cuh"
#include "spmv/kernel/launch.cuh"
#include "spmv/kernel/stream.cuh"
#include "spmv/loop/resident.cuh"

/* Whether `when` is 0, so that only the step is run, here. The same for all threads. */
template <typename T, class ROOM>
__device__ inline bool is_left_out(const wr_fused_args<T, ROOM> &f) {
  if (f.when == NULL || *f.when != 0) return false;
  if (blockIdx.x == 0 && threadIdx.x == 0)
    wr_step_run<ROOM::STEPS>(f.sums.step, wr_step_stop(f.sums.step), f.sums.step.bank);
  return true;
}

/* c[OUTPUTS][TERMS] in shared memory := the coefficients' values, read once a block. In registers they would leave too few
 * for the loads in flight. */
template <typename T, class ROOM>
__device__ inline void read_coefficients(const wr_fused_args<T, ROOM> &f, double *c) {
  int k = threadIdx.x;
  if (k < ROOM::OUTPUTS * ROOM::TERMS) {
    wr_device_coefficient from = f.c[k / ROOM::TERMS][k % ROOM::TERMS];
    c[k] = from.scalar ? from.factor * *from.scalar : from.factor;
  }
  __syncthreads();
}

/* values := from[slot], without an index known only at run time, which would put the array in local memory. The slot is the
 * same for all threads. */
template <typename T, int V, int COUNT>
__device__ inline void pick(const wr_pack<T, V> (&from)[COUNT], int slot, double (&values)[V]) {
#pragma unroll
  for (int s = 0; s < COUNT; s++)
    if (s == slot)
#pragma unroll
      for (int e = 0; e < V; e++) values[e] = (double)from[s].at[e];
}

/* The numbers of vectors of an operation, and whether output o has a term k: as the kernel is compiled, or as the operation
 * says, which takes a test of a kernel parameter. */
template <int NIN, typename T, class ROOM>
__device__ inline int inputs_of(const wr_fused_args<T, ROOM> &f) {
  return ROOM::IS_EXACT ? NIN : f.nin;
}
template <int NOUT, typename T, class ROOM>
__device__ inline int outputs_of(const wr_fused_args<T, ROOM> &f) {
  return ROOM::IS_EXACT ? NOUT : f.nout;
}
template <typename T, class ROOM>
__device__ inline bool has_term(const wr_fused_args<T, ROOM> &f, int o, int k) {
  return ROOM::IS_EXACT || (f.terms[o] >> k & 1);
}

/* Output o of one group, from inputs in v[0..NIN-1] and earlier outputs in v[NIN..]. */
template <int NIN, int NOUT, typename T, class ROOM, int V>
__device__ inline void compute_output(const wr_fused_args<T, ROOM> &f, const double *c, int o,
                                      wr_pack<T, V> (&v)[NIN + NOUT]) {
  double sum[V];
  const double *own = c + o * ROOM::TERMS;
  for (int e = 0; e < V; e++) sum[e] = 0;
#pragma unroll
  for (int k = 0; k < NIN; k++)
    if (has_term(f, o, k) && own[k] != 0) /* 0: no term, or a coefficient that is 0; the same for all threads */
#pragma unroll
      for (int e = 0; e < V; e++) {
        double value = (double)v[k].at[e];
        if (k == 0 && NIN > 1 && f.has_times) value *= (double)v[NIN > 1 ? 1 : 0].at[e];
        sum[e] += own[k] * value;
      }
#pragma unroll
  for (int q = 0; q < NOUT - 1; q++)
    if (q < o && has_term(f, o, ROOM::SLOTS + q) && own[ROOM::SLOTS + q] != 0)
#pragma unroll
      for (int e = 0; e < V; e++) sum[e] += own[ROOM::SLOTS + q] * (double)v[NIN + q].at[e];
#pragma unroll
  for (int e = 0; e < V; e++) v[NIN + o].at[e] = (T)sum[e];
}

/* Whether a kernel is for sums of kinds WR_DOT, WR_NRM2SQ as a product of a vector with itself, and WR_DOT_HASH alone, for
 * which it needs a third of the instructions. */
template <class ROOM, int NOUT>
constexpr bool only_products = !ROOM::IS_EXACT && NOUT == 0;

/* Computes and stores the outputs of a group with inputs in v, and adds its terms of the reductions, of outputs as stored. */
template <int NIN, int NOUT, typename T, class ROOM, int V>
__device__ inline void finish_group(const wr_fused_args<T, ROOM> &f, const double *c, int64_t group,
                                    wr_pack<T, V> (&v)[NIN + NOUT], double (&sum)[ROOM::SUMS]) {
  int nout = outputs_of<NOUT>(f);
#pragma unroll
  for (int o = 0; o < NOUT; o++)
    if (o < nout) compute_output<NIN, NOUT>(f, c, o, v);
#pragma unroll
  for (int o = 0; o < NOUT; o++)
    if (o < nout) wr_store<T, V>(f.out[o], group, v[NIN + o]);
  uint64_t hashes[V] = {};
  if (!ROOM::IS_EXACT && f.hashed)
    for (int e = 0; e < V; e++) hashes[e] = wr_hash(f.hash_key, (uint64_t)(group * V + e));
#pragma unroll
  for (int r = 0; r < ROOM::SUMS; r++)
    if (r < f.sums.count) {
      double u[V], z[V];
      for (int e = 0; e < V; e++) u[e] = z[e] = 0;
      pick(v, f.u[r], u);
      if (!ROOM::IS_EXACT && f.sums.kind[r] == WR_DOT_HASH)
        for (int e = 0; e < V; e++) z[e] = wr_hash_value(hashes[e], f.z[r]);
      else if (f.z[r] >= 0)
        pick(v, f.z[r], z);
      if (only_products<ROOM, NOUT>)
        wr_sum_terms(WR_DOT, u, z, sum[r]);
      else
        wr_sum_terms(f.sums.kind[r], u, z, sum[r]);
    }
}

/* Groups from `first` below `end`, in batches of DEPTH: all loads of a batch are issued before the first use. */
template <int V, int NIN, int NOUT, int DEPTH, typename T, class ROOM>
__device__ inline void walk(const wr_fused_args<T, ROOM> &f, const double *c, int64_t first, int64_t end,
                            double (&sum)[ROOM::SUMS]) {
  int64_t threads = wr_stream_threads();
  int nin = inputs_of<NIN>(f);
  for (int64_t g = first; g < end; g += DEPTH * threads) {
    wr_pack<T, V> v[DEPTH][NIN + NOUT];
#pragma unroll
    for (int d = 0; d < DEPTH; d++)
      if (g + d * threads < end)
#pragma unroll
        for (int k = 0; k < NIN; k++) v[d][k] = k < nin ? wr_load<T, V>(f.in[k], g + d * threads) : wr_pack<T, V>{};
#pragma unroll
    for (int d = 0; d < DEPTH; d++)
      if (g + d * threads < end) finish_group<NIN, NOUT>(f, c, g + d * threads, v[d], sum);
  }
}

/* DEPTH as 64 registers allow: two to six 16-byte loads of a thread are in flight. Operations with room in wr_wide alone take
 * up to 128 registers, for up to 13 loads. */
template <class ROOM, int NIN, int NOUT>
constexpr int depth = !ROOM::IS_EXACT       ? (NIN == 2 ? 2 : 1)
                      : 2 * NIN + NOUT <= 3 ? 4
                      : NIN + NOUT <= 3     ? 2
                                            : 1;

/* Blocks of a multiprocessor, as their registers allow; no more are launched, since each first reads the coefficients. */
template <class ROOM, int NOUT>
constexpr int resident_blocks = ROOM::IS_EXACT ? 4
                                : NOUT == 0    ? 3
                                               : 2;

template <typename T, class ROOM, int NIN, int NOUT>
__global__ void __launch_bounds__(WR_STREAM_THREADS, resident_blocks<ROOM, NOUT>)
    fused(WR_KERNEL_PARAMETER wr_fused_args<T, ROOM> f) {
  constexpr int V = WR_PACK_BYTES / sizeof(T);
  int64_t thread = wr_stream_thread();
  double sum[ROOM::SUMS] = {};
  WR_SHARED(double, c, ROOM::OUTPUTS *ROOM::TERMS);
  wr_begin_kernel();
  if (is_left_out(f)) return;
  read_coefficients(f, c);
  walk<V, NIN, NOUT, depth<ROOM, NIN, NOUT>>(f, c, thread, f.groups, sum);
  walk<1, NIN, NOUT, 1>(f, c, f.groups * V + thread, f.n, sum);
  wr_sums_finish_by_warps<ROOM::STEPS, WR_STREAM_THREADS>(f.sums, sum);
}

/* outputs: the slot of the first output. */
static int slot_of_operand(const wr_fused_plan *p, const wr_fused *f, const wr_vec *v, int outputs) {
  for (int o = 0; o < p->nout; o++)
    if (v == f->out[o]) return outputs + o;
  for (int s = 0; s < p->nin; s++)
    if (v == p->in[s]) return s;
  return 0;
}

static wr_device_coefficient coefficient_of(const wr_coefficient *c) {
  wr_device_coefficient d = {c->factor, NULL};
  if (c->scalar.bank && c->factor != 0) d.scalar = (const double *)c->scalar.bank->data + c->scalar.index;
  return d;
}

template <typename T, class ROOM>
static void add_terms(wr_fused_args<T, ROOM> *a, const wr_fused_plan *p, const wr_fused *f, int o) {
  for (int k = 0; k < WR_MAX_INPUTS; k++) {
    if (f->c[o][k].factor == 0 || p->slot_of[k] < 0) continue;
    a->c[o][p->slot_of[k]] = coefficient_of(&f->c[o][k]);
    a->terms[o] |= 1u << p->slot_of[k];
  }
  for (int q = 0; q < o; q++) {
    if (f->c[o][WR_MAX_INPUTS + q].factor == 0) continue;
    a->c[o][ROOM::SLOTS + q] = coefficient_of(&f->c[o][WR_MAX_INPUTS + q]);
    a->terms[o] |= 1u << (ROOM::SLOTS + q);
  }
}

/* outputs: the slot of the first output. */
template <typename T, class ROOM>
static wr_fused_args<T, ROOM> make_args(wr_env *env, const wr_fused_plan *p, const wr_fused *f, int64_t n,
                                        int outputs) {
  wr_fused_args<T, ROOM> a;
  memset(&a, 0, sizeof a);
  bool aligned = true;
  a.n = n;
  a.nin = p->nin, a.nout = p->nout, a.has_times = p->has_times;
  for (int s = 0; s < p->nin; s++) aligned &= wr_is_aligned(a.in[s] = (const T *)p->in[s]->data);
  for (int o = 0; o < p->nout; o++) {
    aligned &= wr_is_aligned(a.out[o] = (T *)f->out[o]->data);
    f->out[o]->writes++;
    add_terms(&a, p, f, o);
  }
  a.groups = aligned ? n / (int64_t)(WR_PACK_BYTES / sizeof(T)) : 0;
  a.sums = wr_sums_make<ROOM::SUMS>(&((wr_cuda_state *)env->state)->workspace);
  for (int r = 0; r < WR_FUSED_REDUCTIONS; r++) {
    int at = wr_sums_add(&a.sums, &f->reduce[r]);
    if (at < 0) continue;
    a.u[at] = slot_of_operand(p, f, f->reduce[r].of, outputs);
    a.z[at] = wr_reduction_reads_z(f->reduce[r].kind) ? slot_of_operand(p, f, f->reduce[r].z, outputs) : -1;
    if (f->reduce[r].kind != WR_DOT_HASH) continue;
    a.z[at] = a.hashed++;
    a.hash_key = wr_hash_key(WR_HASH_LANES * f->hashes);
  }
  if (f->when.bank) a.when = (const double *)f->when.bank->data + f->when.index;
  wr_sums_then(&a.sums, env, f->then, ROOM::STEPS);
  return a;
}

template <int NIN, int NOUT, typename T, class ROOM>
static wr_status launch_shape(wr_env *env, const wr_fused_args<T, ROOM> &a) {
  int64_t units = a.groups ? (a.groups + depth<ROOM, NIN, NOUT> - 1) / depth<ROOM, NIN, NOUT> : a.n;
  int each = resident_blocks<ROOM, NOUT>;
  unsigned blocks = wr_cuda_grid(env, (units + WR_STREAM_THREADS - 1) / WR_STREAM_THREADS, each);
  return WR_LAUNCH_EARLY(env, (fused<T, ROOM, NIN, NOUT>), blocks, WR_STREAM_THREADS, 0, a);
}

template <int NIN, typename T>
static wr_status launch_inputs(wr_env *env, const wr_fused_args<T, wr_narrow> &a) {
  if (a.nout == 0) return launch_shape<NIN, 0>(env, a);
  return a.nout == 1 ? launch_shape<NIN, 1>(env, a) : launch_shape<NIN, 2>(env, a);
}

template <typename T>
static wr_status launch_narrow(wr_env *env, const wr_fused_plan *p, const wr_fused *f, int64_t n) {
  wr_fused_args<T, wr_narrow> a = make_args<T, wr_narrow>(env, p, f, n, p->nin);
  switch (a.nin) {
    case 0: /* no vector is read: the kernel for one input is launched, and no term uses the input */
      a.in[0] = a.out[0];
      for (int r = 0; r < a.sums.count; r++) a.u[r]++, a.z[r] += a.z[r] >= 0;
      return launch_inputs<1>(env, a);
    case 1: return launch_inputs<1>(env, a);
    case 2: return launch_inputs<2>(env, a);
    case 3: return launch_inputs<3>(env, a);
    case 4: return launch_inputs<4>(env, a);
    case 5: return launch_inputs<5>(env, a);
    default: return launch_inputs<6>(env, a);
  }
}

/* Whether all sums are of products of two vectors. */
static bool is_of_products(const wr_fused *f) {
  for (int r = 0; r < WR_FUSED_REDUCTIONS; r++) {
    wr_reduction_kind kind = f->reduce[r].kind;
    if (kind != WR_NO_REDUCTION && kind != WR_DOT && kind != WR_NRM2SQ && kind != WR_DOT_HASH) return false;
  }
  return true;
}

/* A norm as the product of a vector with itself. */
template <typename T>
static wr_fused_args<T, wr_wide> with_squares(wr_fused_args<T, wr_wide> a) {
  for (int r = 0; r < a.sums.count; r++)
    if (a.sums.kind[r] == WR_NRM2SQ) a.z[r] = a.u[r];
  return a;
}

/* One of four kernels: for sums of products of few vectors, for most updates, and for all. */
template <typename T>
static wr_status launch_wide(wr_env *env, const wr_fused_plan *p, const wr_fused *f, int64_t n) {
  bool is_products = p->nout == 0 && is_of_products(f);
  if (is_products && p->nin <= 2) return launch_shape<2, 0>(env, with_squares(make_args<T, wr_wide>(env, p, f, n, 2)));
  if (is_products && p->nin <= 6) return launch_shape<6, 0>(env, with_squares(make_args<T, wr_wide>(env, p, f, n, 6)));
  if (p->nin <= 9) return launch_shape<9, 4>(env, make_args<T, wr_wide>(env, p, f, n, 9));
  return launch_shape<wr_wide::SLOTS, 4>(env, make_args<T, wr_wide>(env, p, f, n, wr_wide::SLOTS));
}

template <typename T>
static wr_status launch_fused(wr_env *env, const wr_fused_plan *p, const wr_fused *f, int64_t n) {
  bool is_narrow =
      p->nin <= wr_narrow::SLOTS && p->nout <= wr_narrow::OUTPUTS && p->nsums <= wr_narrow::SUMS && !p->has_hashes;
  if (env->resident) return wr_resident_add_vectors(env, make_args<T, wr_wide>(env, p, f, n, wr_wide::SLOTS), f->then);
  return is_narrow ? launch_narrow<T>(env, p, f, n) : launch_wide<T>(env, p, f, n);
}

#endif
