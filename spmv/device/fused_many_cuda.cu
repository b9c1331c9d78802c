/* The fused operation of several vectors (vec.h) on a device: a pass over their elements, then its sums and the steps. */
#include <cuda_runtime.h>

#include "spmv/device/check.cuh"
#include "spmv/device/cuda_state.h"
#include "spmv/device/fused_many.h"
#include "spmv/kernel/epilogue.cuh"
#include "spmv/kernel/steps.cuh"
#include "spmv/kernel/stream.cuh"
#include "spmv/kernel/warp.cuh"

constexpr int SLOTS = WR_MANY_INPUTS + WR_MANY_OUTPUTS, BLOCKS = 6; /* of a multiprocessor */
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

/* v[slot], without an index known only at run time. */
template <typename T>
__device__ inline double at_slot(const T (&v)[SLOTS], int slot) {
  double value = 0;
#pragma unroll
  for (int s = 0; s < SLOTS; s++)
    if (s == slot) value = (double)v[s];
  return value;
}

/* A thread takes every so many elements, all of one column, since ld divides the number of threads. Threads of a column add
 * their sums, first those of a warp, then the warps in order. */
template <typename T>
__global__ void __launch_bounds__(WR_STREAM_THREADS, BLOCKS) compute_many(WR_KERNEL_PARAMETER many_args<T> a) {
  constexpr int WARPS = WR_STREAM_THREADS / WR_WARP;
  WR_SHARED(double, coefficient, TERMS *WR_MAX_COLUMNS);
  WR_SHARED(double, part, WR_MANY_SUMS *WARPS *WR_MAX_COLUMNS); /* [sum][warp][column] */
  int lane = threadIdx.x % WR_WARP, warp = threadIdx.x / WR_WARP, ld = a.ld, column = (int)threadIdx.x % ld;
  double sum[WR_MANY_SUMS] = {};
  wr_begin_kernel();
  read_coefficients(a, coefficient);
  int64_t row = wr_stream_thread() / ld, rows = wr_stream_threads() / ld;
  for (int64_t e = wr_stream_thread(); e < a.n; e += wr_stream_threads(), row += rows) {
    T v[SLOTS];
#pragma unroll
    for (int k = 0; k < WR_MANY_INPUTS; k++) v[k] = k < a.nin ? a.in[k][e] : (T)0;
    double times = a.times ? (double)a.times[row] : 1;
#pragma unroll
    for (int o = 0; o < WR_MANY_OUTPUTS; o++) {
      double value = 0;
      if (o < a.nout) {
#pragma unroll
        for (int k = 0; k < WR_MANY_INPUTS; k++)
          if (a.factor[o * WR_MANY_INPUTS + k] != 0) {
            double input = (double)v[k];
            if (k == 0 && a.times_first) input *= times;
            value += coefficient[(o * WR_MANY_INPUTS + k) * ld + column] * input;
          }
        a.out[o][e] = (T)value;
      }
      v[WR_MANY_INPUTS + o] = (T)value;
    }
    if (a.scaled) a.scaled[e] = (T)((double)v[WR_MANY_INPUTS] * times);
#pragma unroll
    for (int s = 0; s < WR_MANY_SUMS; s++)
      if (s < a.nsums) {
        double product = at_slot(v, a.u[s]) * at_slot(v, a.z[s]);
        sum[s] += a.is_scaled[s] ? product * times : product;
      }
  }
  if (a.nsums == 0) return;
  for (int distance = WR_WARP / 2; distance >= ld; distance /= 2)
    for (int s = 0; s < WR_MANY_SUMS; s++) sum[s] += __shfl_xor_sync((unsigned)WR_FULL_MASK, sum[s], distance);
  if (lane < ld)
    for (int s = 0; s < WR_MANY_SUMS; s++) part[(s * WARPS + warp) * WR_MAX_COLUMNS + lane] = sum[s];
  __syncthreads();
  int s = (int)threadIdx.x / ld;
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
static wr_status launch(wr_env *env, const wr_fused_many *f) {
  many_args<T> a = make_args<T>(f);
  wr_workspace workspace;
  unsigned blocks = wr_cuda_grid(env, (a.n + WR_STREAM_THREADS - 1) / WR_STREAM_THREADS, BLOCKS);
  PASS(
      wr_workspace_reserve(env, (int64_t)blocks * WR_MANY_SUMS * WR_MAX_COLUMNS / WR_FUSED_REDUCTIONS + 1, &workspace));
  a.partial = workspace.partial;
  PASS(WR_LAUNCH_EARLY(env, (compute_many<T>), blocks, WR_STREAM_THREADS, 0, a));
  if (a.nsums == 0 && f->step == NULL) return WR_OK;
  sums_args b = {};
  f->bank->writes++;
  b.nsums = a.nsums, b.stride = f->stride, b.partial = workspace.partial, b.blocks = blocks;
  b.bank = (double *)f->bank->data;
  for (int s = 0; s < a.nsums; s++) b.into[s] = f->sum[s].into;
  if (f->step) b.step.bit = f->step->bit;
  return WR_LAUNCH_EARLY(env, (finish_many), (unsigned)f->columns, WR_WARP, 0, b);
}

extern "C" wr_status wr_cuda_fused_many(wr_env *env, const wr_fused_many *f) {
  PASS(wr_cuda_enter_now(env));
  PASS(wr_fused_many_check(env, f));
  if (f->step && f->step->bit == 0) return wr_fail(WR_EUNAVAILABLE, "the step %s has no kernel", f->step->name);
  return f->in[0]->type == WR_F32 ? launch<float>(env, f) : launch<double>(env, f);
}
