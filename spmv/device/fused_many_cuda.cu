/* The fused operation of several vectors (vec.h) on a device: a pass over their elements, then its sums and the steps. */
#include <cuda_runtime.h>

#include "spmv/device/check.cuh"
#include "spmv/device/cuda_state.h"
#include "spmv/device/fused_many.h"
#include "spmv/kernel/epilogue.cuh"
#include "spmv/kernel/steps.cuh"
#include "spmv/kernel/stream.cuh"
#include "spmv/kernel/warp.cuh"

constexpr int SLOTS = WR_MANY_INPUTS + WR_MANY_OUTPUTS;
constexpr int TERMS = WR_MANY_OUTPUTS * WR_MANY_INPUTS;

template <typename T>
struct many_args {
  int64_t n;                    /* rows * ld                                         */
  int ld, columns, nin, nout, nsums, times_first;
  const T *in[WR_MANY_INPUTS];
  T *out[WR_MANY_OUTPUTS], *scaled;
  const T *times;               /* [rows] or NULL                                    */
  double factor[TERMS];         /* 0: no such term                                   */
  int scalar[TERMS];            /* index in the bank, 0: there is none               */
  int u[WR_MANY_SUMS], z[WR_MANY_SUMS], is_scaled[WR_MANY_SUMS]; /* vectors by number */
  const double *bank;
  int64_t stride;
  double *partial;              /* [WR_MANY_SUMS][WR_MAX_COLUMNS][blocks]            */
};

/* c[TERMS][ld] := the coefficients of columns, 0 behind the last one. */
template <typename T>
__device__ inline void read_coefficients(const many_args<T> &a, double *c) {
  for (int k = threadIdx.x; k < TERMS * a.ld; k += WR_STREAM_THREADS) {
    int term = k / a.ld, column = k % a.ld;
    double factor = 0;
#pragma unroll
    for (int t = 0; t < TERMS; t++)
      if (t == term && column < a.columns && a.factor[t] != 0)
        factor = a.scalar[t] ? a.factor[t] * a.bank[a.scalar[t] + column * a.stride] : a.factor[t];
    c[k] = factor;
  }
  __syncthreads();
}

/* What the compiler knows of an operation: the number of inputs and outputs, and the slots of its sums. */
constexpr int ANY = -1, NO_SUM = -2;
template <int INPUTS = ANY, int OUTPUTS = ANY, int FIRST = ANY, int SECOND = ANY>
struct many_shape {
  static constexpr int inputs = INPUTS, outputs = OUTPUTS, first = FIRST, second = SECOND;
  static constexpr int blocks = INPUTS == ANY || INPUTS > 3 ? 2 : 4; /* of a multiprocessor: no registers are spilled */
};

/* The slots of a sum as one number. */
constexpr int slots_of(int u, int z) { return u * SLOTS + z; }

/* v[slot][of] as f64, without an index known only at run time. */
template <typename T, int V>
__device__ inline double at_slot(const wr_pack<T, V> (&v)[SLOTS], int slot, int of) {
  double value = 0;
#pragma unroll
  for (int s = 0; s < SLOTS; s++)
    if (s == slot) value = (double)v[s].at[of];
  return value;
}

/* A thread takes V neighbouring elements at a time, always of the same columns, since ld divides V times the number of threads.
 * Threads of a column add their sums, first those of a warp, then the warps in order. */
template <typename T, int V, typename SHAPE>
__global__ void __launch_bounds__(WR_STREAM_THREADS, SHAPE::blocks) compute_many(WR_KERNEL_PARAMETER many_args<T> a) {
  constexpr int WARPS = WR_STREAM_THREADS / WR_WARP;
  WR_SHARED(double, coefficient, TERMS *WR_MAX_COLUMNS);
  WR_SHARED(double, part, WR_MANY_SUMS *WARPS *WR_MAX_COLUMNS); /* [sum][warp][column] */
  const int inputs = SHAPE::inputs == ANY ? a.nin : SHAPE::inputs,
            outputs = SHAPE::outputs == ANY ? a.nout : SHAPE::outputs;
  int lane = threadIdx.x % WR_WARP, warp = threadIdx.x / WR_WARP, ld = a.ld, first = (int)threadIdx.x * V % ld;
  double sum[WR_MANY_SUMS][V] = {};
  wr_begin_kernel();
  read_coefficients(a, coefficient);
  int64_t packs = a.n / V;
  int shift = 31 - __clz(ld);
  for (int64_t p = wr_stream_thread(); p < packs; p += wr_stream_threads()) {
    wr_pack<T, V> v[SLOTS] = {};
    double times[V];
#pragma unroll
    for (int k = 0; k < WR_MANY_INPUTS; k++)
      if (k < inputs) v[k] = wr_load<T, V>(a.in[k], p);
#pragma unroll
    for (int i = 0; i < V; i++) times[i] = a.times ? (double)a.times[(p * V + i) >> shift] : 1;
#pragma unroll
    for (int o = 0; o < WR_MANY_OUTPUTS; o++) {
      if (o >= outputs) continue;
      double value[V] = {};
#pragma unroll
      for (int k = 0; k < WR_MANY_INPUTS; k++) {
        if (k >= inputs || a.factor[o * WR_MANY_INPUTS + k] == 0) continue;
        const double *c = coefficient + (o * WR_MANY_INPUTS + k) * ld;
#pragma unroll
        for (int i = 0; i < V; i++) {
          double input = (double)v[k].at[i];
          if (k == 0 && a.times_first) input *= times[i];
          value[i] += c[(first + i) & (ld - 1)] * input;
        }
      }
#pragma unroll
      for (int i = 0; i < V; i++) v[WR_MANY_INPUTS + o].at[i] = (T)value[i];
      wr_store(a.out[o], p, v[WR_MANY_INPUTS + o]);
    }
    if (a.scaled) {
      wr_pack<T, V> scaled;
#pragma unroll
      for (int i = 0; i < V; i++) scaled.at[i] = (T)((double)v[WR_MANY_INPUTS].at[i] * times[i]);
      wr_store(a.scaled, p, scaled);
    }
#pragma unroll
    for (int s = 0; s < WR_MANY_SUMS; s++) {
      const int known = s == 0 ? SHAPE::first : SHAPE::second;
      if (known == NO_SUM || (known == ANY && s >= a.nsums)) continue;
      int u = known == ANY ? a.u[s] : known / SLOTS, z = known == ANY ? a.z[s] : known % SLOTS;
#pragma unroll
      for (int i = 0; i < V; i++) {
        double left = at_slot(v, u, i), right = at_slot(v, z, i);
        if (a.is_scaled[s] == 2) left *= times[i];
        sum[s][i] += left * (a.is_scaled[s] ? right * times[i] : right);
      }
    }
  }
  if (a.nsums == 0) return;
  int own = min(V, ld), lanes = max(1, ld / V); /* columns of a thread; lanes that have all columns */
#pragma unroll
  for (int s = 0; s < WR_MANY_SUMS; s++) {
#pragma unroll
    for (int half = V / 2; half > 0; half /= 2)
#pragma unroll
      for (int i = 0; i < half; i++)
        if (half >= ld) sum[s][i] += sum[s][i + half];
    for (int distance = WR_WARP / 2; distance >= lanes; distance /= 2)
#pragma unroll
      for (int i = 0; i < V; i++) sum[s][i] += __shfl_xor_sync((unsigned)WR_FULL_MASK, sum[s][i], distance);
#pragma unroll
    for (int i = 0; i < V; i++)
      if (lane < lanes && i < own) part[(s * WARPS + warp) * WR_MAX_COLUMNS + lane * own + i] = sum[s][i];
  }
  __syncthreads();
  int s = (int)threadIdx.x / ld, column = (int)threadIdx.x % ld;
  if (s >= a.nsums) return;
  double total = 0;
  for (int w = 0; w < WARPS; w++) total += part[(s * WARPS + w) * WR_MAX_COLUMNS + column];
  a.partial[(int64_t)(s * WR_MAX_COLUMNS + column) * gridDim.x + blockIdx.x] = total;
}

struct sums_args {
  int nsums, into[WR_MANY_SUMS];
  int64_t stride;
  const double *partial; /* [nsums][WR_MAX_COLUMNS][blocks] */
  unsigned blocks;
  double *bank;
  wr_step_work step;
};

/* A warp adds up the parts of a column's sums and runs the step of that column. */
static __global__ void __launch_bounds__(WR_WARP) finish_many(WR_KERNEL_PARAMETER sums_args a) {
  int lane = threadIdx.x, column = blockIdx.x;
  double *own = a.bank + column * a.stride;
  wr_begin_kernel();
  for (int s = 0; s < a.nsums; s++) {
    double sum = 0;
    for (unsigned b = lane; b < a.blocks; b += WR_WARP)
      sum += a.partial[(int64_t)(s * WR_MAX_COLUMNS + column) * a.blocks + b];
    sum = wr_warp_sum(sum);
    if (lane == 0) own[a.into[s]] = sum;
  }
  if (lane == 0) wr_step_run<WR_AFTER_ANY>(a.step, 0, own);
}

template <typename T>
static many_args<T> make_args(const wr_fused_many *f) {
  many_args<T> a = {};
  a.n = f->in[0]->n, a.ld = f->ld, a.columns = f->columns, a.nin = wr_many_inputs(f), a.times_first = f->times_first;
  for (int k = 0; k < a.nin; k++) a.in[k] = (const T *)f->in[k]->data;
  for (int o = 0; o < WR_MANY_OUTPUTS && f->out[o]; o++) {
    a.out[o] = (T *)f->out[o]->data, f->out[o]->writes++, a.nout++;
    for (int k = 0; k < a.nin; k++)
      a.factor[o * WR_MANY_INPUTS + k] = f->c[o][k].factor, a.scalar[o * WR_MANY_INPUTS + k] = f->c[o][k].scalar;
  }
  if (f->scaled) a.scaled = (T *)f->scaled->data, f->scaled->writes++;
  if (f->times) a.times = (const T *)f->times->data;
  for (int s = 0; s < WR_MANY_SUMS && f->sum[s].u; s++, a.nsums++)
    a.u[s] = wr_many_slot(f, f->sum[s].u), a.z[s] = wr_many_slot(f, f->sum[s].z), a.is_scaled[s] = f->sum[s].is_scaled;
  if (f->bank) a.bank = (const double *)f->bank->data;
  a.stride = f->stride;
  return a;
}

template <typename T>
struct many_kernel {
  void (*kernel)(many_args<T>);
  int blocks;
};

template <typename T, int V, typename SHAPE>
static many_kernel<T> kernel_of() {
  return {compute_many<T, V, SHAPE>, SHAPE::blocks};
}

/* The kernel for an operation: those of the solvers (solvers/krylov/lockstep.c) are known to the compiler. */
template <typename T, int V>
static many_kernel<T> kernel_for(const many_args<T> &a) {
  constexpr int OUT = WR_MANY_INPUTS;
  auto has = [&](int inputs, int outputs, int first, int second) {
    auto is = [&](int s, int slots) { return s < a.nsums ? slots == slots_of(a.u[s], a.z[s]) : slots == NO_SUM; };
    return a.nin == inputs && a.nout == outputs && is(0, first) && is(1, second);
  };
#define KNOWN(...) \
  if (has(__VA_ARGS__)) return kernel_of<T, V, many_shape<__VA_ARGS__>>()
  KNOWN(3, 1, NO_SUM, NO_SUM);
  KNOWN(2, 0, slots_of(0, 1), slots_of(1, 1));
  KNOWN(2, 1, slots_of(OUT, OUT), NO_SUM);
  KNOWN(2, 0, slots_of(0, 1), slots_of(0, 0));
  KNOWN(5, 2, slots_of(OUT + 1, OUT + 1), slots_of(OUT + 1, 4));
  KNOWN(6, 2, slots_of(OUT + 1, OUT + 1), slots_of(OUT + 1, 4));
  KNOWN(3, 2, NO_SUM, NO_SUM);
  KNOWN(2, 0, slots_of(0, 1), NO_SUM);
  KNOWN(2, 1, slots_of(OUT, OUT), slots_of(OUT, OUT));
#undef KNOWN
  return kernel_of<T, V, many_shape<>>();
}

template <typename T>
static wr_status launch(wr_env *env, const wr_fused_many *f) {
  constexpr int V = WR_PACK_BYTES / sizeof(T);
  many_args<T> a = make_args<T>(f);
  wr_workspace workspace;
  bool is_whole = a.n % V == 0;
  many_kernel<T> use = is_whole ? kernel_for<T, V>(a) : kernel_of<T, 1, many_shape<>>();
  int64_t packs = a.n / (is_whole ? V : 1);
  unsigned blocks = wr_cuda_grid(env, (packs + WR_STREAM_THREADS - 1) / WR_STREAM_THREADS, use.blocks);
  PASS(
      wr_workspace_reserve(env, (int64_t)blocks * WR_MANY_SUMS * WR_MAX_COLUMNS / WR_FUSED_REDUCTIONS + 1, &workspace));
  a.partial = workspace.partial;
  PASS(WR_LAUNCH_EARLY(env, (use.kernel), blocks, WR_STREAM_THREADS, 0, a));
  if (a.nsums == 0 && f->step == NULL) return WR_OK;
  return wr_cuda_many_sums_end(env, f, workspace.partial, blocks);
}

extern "C" wr_status wr_cuda_many_sums_end(wr_env *env, const wr_fused_many *f, double *partial, unsigned parts) {
  sums_args b = {};
  f->bank->writes++;
  b.stride = f->stride, b.partial = partial, b.blocks = parts;
  b.bank = (double *)f->bank->data;
  for (; b.nsums < WR_MANY_SUMS && f->sum[b.nsums].u; b.nsums++) b.into[b.nsums] = f->sum[b.nsums].into;
  if (f->step) b.step.bit = f->step->bit;
  return WR_LAUNCH_EARLY(env, (finish_many), (unsigned)f->columns, WR_WARP, 0, b);
}

extern "C" wr_status wr_cuda_fused_many(wr_env *env, const wr_fused_many *f) {
  PASS(wr_cuda_enter_now(env));
  PASS(wr_fused_many_check(env, f));
  if (f->step && f->step->bit == 0) return wr_fail(WR_EUNAVAILABLE, "the step %s has no kernel", f->step->name);
  return f->in[0]->type == WR_F32 ? launch<float>(env, f) : launch<double>(env, f);
}
