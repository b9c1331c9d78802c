/* The epilogue of several vectors (apply.h) on a device: jumps, then a pass over Y, then its sums. */
#include <cuda_runtime.h>

#include "spmv/device/check.cuh"
#include "spmv/device/columns.h"
#include "spmv/device/cuda_state.h"
#include "spmv/kernel/epilogue.cuh"
#include "spmv/kernel/stream.cuh"
#include "spmv/kernel/warp.cuh"

template <typename T>
struct columns_args {
  int64_t n;
  int columns;
  T *y;              /* [n * ldy]                               */
  const T *x;        /* [n * ldx] or NULL                       */
  int64_t ldy, ldx;
  const T *scale;    /* [n], NULL: it is compact                */
  const void *divisors; /* [n] of divisor_bytes each            */
  int divisor_bytes;
  int64_t room;
  const double *rows, *values; /* [columns * room]              */
  double times, plus;
  double *change, *mass; /* [columns]                           */
  double *partial;       /* [2 * WR_MAX_COLUMNS][blocks]        */
  unsigned blocks;       /* of the pass                         */
};

/* A thread has an entry of a column. */
template <typename T>
__global__ void __launch_bounds__(WR_STREAM_THREADS) add_jumps(const columns_args<T> a) {
  for (int64_t k = wr_stream_thread(); k < a.columns * a.room; k += wr_stream_threads()) {
    int64_t c = k / a.room;
    double row = a.rows[k];
    if (!(row >= 0 && row < (double)a.n)) continue;
    T *at = a.y + (int64_t)row * a.ldy + c;
    *at = (T)((double)*at + (a.times * a.mass[c] + a.plus) * a.values[k]);
  }
}

/* A thread takes V neighbouring elements of Y at a time, always of the same columns, since ldy divides V times the number of
 * threads. Threads of a column add their sums, first those of a warp, then the warps in order. */
template <typename T, int V>
__global__ void __launch_bounds__(WR_STREAM_THREADS) finish_columns(const columns_args<T> a) {
  constexpr int WARPS = WR_STREAM_THREADS / WR_WARP;
  WR_SHARED(double, part, 2 * WARPS * WR_MAX_COLUMNS); /* [sum][warp][column] */
  int lane = threadIdx.x % WR_WARP, warp = threadIdx.x / WR_WARP, ldy = (int)a.ldy, first = (int)threadIdx.x * V % ldy;
  double change[V] = {}, mass[V] = {};
  int64_t step = wr_stream_threads() * V / ldy;
#pragma unroll 2
  for (int64_t i = wr_stream_thread() * V / ldy; i < a.n; i += step) {
    uint32_t divisor = a.scale ? 0 : wr_divisor(a.divisors, a.divisor_bytes, i);
    T scale = a.scale ? a.scale[i] : wr_reciprocal_of<T>(divisor, a.divisor_bytes);
    T *at = a.y + i * ldy + first;
    wr_pack<T, V> y = wr_load<T, V>(at, 0), x = {};
    if (a.x) x = wr_load<T, V>(a.x + i * a.ldx + first, 0);
#pragma unroll
    for (int v = 0; v < V; v++) {
      if (first + v >= a.columns) continue;
      if (scale != 0)
        y.at[v] = (T)((double)y.at[v] * (double)scale);
      else
        mass[v] += (double)y.at[v];
      double moved = fabs((double)y.at[v] - (double)x.at[v]);
      change[v] += scale == 0 ? moved : a.scale ? moved / (double)scale : moved * (double)divisor;
    }
    if (scale != 0) wr_store(at, 0, y);
  }
  int lanes = ldy / V; /* that have all columns */
#pragma unroll
  for (int v = 0; v < V; v++) {
    for (int distance = WR_WARP / 2; distance >= lanes; distance /= 2) {
      change[v] += __shfl_xor_sync((unsigned)WR_FULL_MASK, change[v], distance);
      mass[v] += __shfl_xor_sync((unsigned)WR_FULL_MASK, mass[v], distance);
    }
    if (lane >= lanes) continue;
    part[warp * WR_MAX_COLUMNS + first + v] = change[v];
    part[(WARPS + warp) * WR_MAX_COLUMNS + first + v] = mass[v];
  }
  __syncthreads();
  int s = (int)threadIdx.x / ldy, c = (int)threadIdx.x % ldy;
  if (s >= 2) return;
  double total = 0;
  for (int w = 0; w < WARPS; w++) total += part[(s * WARPS + w) * WR_MAX_COLUMNS + c];
  a.partial[(int64_t)(s * WR_MAX_COLUMNS + c) * a.blocks + blockIdx.x] = total;
}

/* A warp adds up the parts of a sum. */
template <typename T>
__global__ void __launch_bounds__(2 * WR_MAX_COLUMNS * WR_WARP) add_parts(const columns_args<T> a) {
  int lane = threadIdx.x % WR_WARP, warp = threadIdx.x / WR_WARP, s = warp / WR_MAX_COLUMNS, c = warp % WR_MAX_COLUMNS;
  double sum = 0;
  for (unsigned b = lane; c < a.columns && b < a.blocks; b += WR_WARP) sum += a.partial[(int64_t)warp * a.blocks + b];
  sum = wr_warp_sum(sum);
  if (lane > 0 || c >= a.columns) return;
  if (s == 1) a.mass[c] = sum;
  if (s == 0 && a.x) a.change[c] = sum;
}

template <typename T>
static wr_status launch(wr_env *env, const wr_epilogue_many *e) {
  columns_args<T> a = {};
  wr_workspace workspace;
  a.n = e->scale->n, a.columns = e->columns, a.y = (T *)e->y->data, a.ldy = e->ldy;
  if (e->x) a.x = (const T *)e->x->data, a.ldx = e->ldx;
  if (e->scale->reciprocal_bytes)
    a.divisors = e->scale->data, a.divisor_bytes = e->scale->reciprocal_bytes;
  else
    a.scale = (const T *)e->scale->data;
  a.room = e->room, a.times = e->times, a.plus = e->plus;
  a.rows = (const double *)e->rows->data + e->first * e->room;
  a.values = (const double *)e->values->data + e->first * e->room;
  a.change = (double *)e->sums->data + e->first, a.mass = a.change + WR_MAX_COLUMNS;
  constexpr int V = WR_PACK_BYTES / sizeof(T);
  bool is_wide = a.ldy % V == 0 && (a.x == NULL || a.ldx % V == 0);
  a.blocks = wr_stream_blocks(env, a.n * a.ldy / (is_wide ? V : 1));
  PASS(wr_workspace_reserve(env, (int64_t)a.blocks * WR_COLUMN_SUMS / WR_FUSED_REDUCTIONS + 1, &workspace));
  a.partial = workspace.partial;
  PASS(WR_LAUNCH((add_jumps<T>), wr_stream_blocks(env, a.columns * a.room), WR_STREAM_THREADS, 0, env->stream, a));
  auto finish = is_wide ? finish_columns<T, V> : finish_columns<T, 1>;
  PASS(WR_LAUNCH((finish), a.blocks, WR_STREAM_THREADS, 0, env->stream, a));
  return WR_LAUNCH((add_parts<T>), 1, WR_COLUMN_SUMS * WR_WARP, 0, env->stream, a);
}

extern "C" wr_status wr_cuda_epilogue_many(wr_env *env, const wr_epilogue_many *e) {
  PASS(wr_cuda_enter_now(env));
  PASS(wr_epilogue_many_check(env, e));
  e->y->writes++, e->sums->writes++;
  return e->y->type == WR_F32 ? launch<float>(env, e) : launch<double>(env, e);
}
