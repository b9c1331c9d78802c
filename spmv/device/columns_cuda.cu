/* The epilogue of several vectors (apply.h) on a device: jumps, then a pass over Y, then its sums. */
#include <cuda_runtime.h>

#include "spmv/device/check.cuh"
#include "spmv/device/columns.h"
#include "spmv/device/cuda_state.h"
#include "spmv/kernel/many.cuh"
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
  uint8_t *marks;        /* [n] or NULL                         */
  double *partial;       /* [2 * WR_MAX_COLUMNS][blocks]        */
  unsigned blocks;       /* of the pass, or of the multiply     */
};

/* The row of entry k, or -1 if it is none. */
template <typename T>
__device__ inline int64_t row_of_entry(const columns_args<T> &a, int64_t k) {
  double row = a.rows[k];
  return row >= 0 && row < (double)a.n ? (int64_t)row : -1;
}

/* A thread has an entry of a column. */
template <typename T>
__global__ void __launch_bounds__(WR_STREAM_THREADS) add_jumps(const columns_args<T> a) {
  for (int64_t k = wr_stream_thread(); k < a.columns * a.room; k += wr_stream_threads()) {
    int64_t c = k / a.room, row = row_of_entry(a, k);
    if (row < 0) continue;
    T *at = a.y + row * a.ldy + c;
    *at = (T)((double)*at + (a.times * a.mass[c] + a.plus) * a.values[k]);
  }
}

/* The same for a multiply that is still to come: its elements of Y are the jumps alone, and marked. */
template <typename T>
__global__ void __launch_bounds__(WR_STREAM_THREADS) mark_jumps(const columns_args<T> a) {
  for (int64_t k = wr_stream_thread(); k < a.columns * a.room; k += wr_stream_threads()) {
    int64_t c = k / a.room, row = row_of_entry(a, k);
    if (row < 0) continue;
    a.y[row * a.ldy + c] = (T)((a.times * a.mass[c] + a.plus) * a.values[k]);
    atomicOr((uint32_t *)a.marks + row / 4, 1u << (row % 4 * 8 + c)); /* words are little-endian */
  }
}

/* A warp has all entries of column c. */
template <typename T>
__global__ void __launch_bounds__(WR_WARP) start_entries(const columns_args<T> a, int c) {
  double mass = 0;
  for (int64_t k = c * a.room + threadIdx.x; k < (c + 1) * a.room; k += WR_WARP) {
    int64_t row = row_of_entry(a, k);
    if (row < 0) continue;
    wr_rank_scale<T> scale = wr_rank_scale_of<T>(a.scale, a.divisors, a.divisor_bytes, row);
    T y = (T)(a.plus * a.values[k]);
    wr_rank_scale_invert(scale, a.divisor_bytes);
    wr_rank_finish(scale, y, mass);
    a.y[row * a.ldy + c] = y;
  }
  mass = wr_warp_sum(mass);
  if (threadIdx.x == 0) a.mass[c] = mass;
}

/* A thread takes V neighbouring elements of Y at a time, always of the same columns, since ldy divides V times the number of
 * threads. Threads of a column add their sums, first those of a warp, then the warps in order. */
template <typename T, int V>
__global__ void __launch_bounds__(WR_STREAM_THREADS) finish_columns(const columns_args<T> a) {
  int ldy = (int)a.ldy, first = (int)threadIdx.x * V % ldy;
  double sum[2][V] = {};
  int64_t step = wr_stream_threads() * V / ldy;
#pragma unroll 2
  for (int64_t i = wr_stream_thread() * V / ldy; i < a.n; i += step) {
    wr_rank_scale<T> scale = wr_rank_scale_of<T>(a.scale, a.divisors, a.divisor_bytes, i);
    T *at = a.y + i * ldy + first;
    wr_pack<T, V> y = wr_load<T, V>(at, 0), x = {};
    if (a.x) x = wr_load<T, V>(a.x + i * a.ldx + first, 0);
    wr_rank_scale_invert(scale, a.divisor_bytes);
#pragma unroll
    for (int v = 0; v < V; v++) {
      if (first + v >= a.columns) continue;
      wr_rank_finish(scale, y.at[v], sum[0][v]);
      sum[1][v] += wr_rank_change(scale, y.at[v], x.at[v]);
    }
    if (scale.by != 0) wr_store(at, 0, y);
  }
  wr_many_sums_leave<WR_STREAM_THREADS>(ldy / V, sum, a.partial, a.blocks, blockIdx.x);
}

/* A warp adds up the parts of a sum. */
template <typename T>
__global__ void __launch_bounds__(2 * WR_MAX_COLUMNS * WR_WARP) add_parts(const columns_args<T> a) {
  int lane = threadIdx.x % WR_WARP, warp = threadIdx.x / WR_WARP, s = warp / WR_MAX_COLUMNS, c = warp % WR_MAX_COLUMNS;
  double sum = 0;
  bool is_sum = c < a.columns && (s == 0 || a.x);
  for (unsigned b = lane; is_sum && b < a.blocks; b += WR_WARP) sum += a.partial[(int64_t)warp * a.blocks + b];
  sum = wr_warp_sum(sum);
  if (lane == 0 && is_sum) (s == 0 ? a.mass : a.change)[c] = sum;
  if (a.marks == NULL) return;
  for (int64_t k = threadIdx.x; k < a.columns * a.room; k += blockDim.x) {
    int64_t row = row_of_entry(a, k);
    if (row >= 0) a.marks[row] = 0;
  }
}

template <typename T>
static columns_args<T> make_args(const wr_epilogue_many *e) {
  columns_args<T> a = {};
  a.n = e->scale->n, a.columns = e->columns, a.y = (T *)e->y->data, a.ldy = e->ldy;
  if (e->x) a.x = (const T *)e->x->data, a.ldx = e->ldx;
  if (e->scale->reciprocal_bytes)
    a.divisors = e->scale->data, a.divisor_bytes = e->scale->reciprocal_bytes;
  else
    a.scale = (const T *)e->scale->data;
  a.room = e->room, a.times = e->times, a.plus = e->plus;
  a.rows = (const double *)e->rows->data, a.values = (const double *)e->values->data;
  a.change = (double *)e->sums->data, a.mass = a.change + WR_MAX_COLUMNS;
  return a;
}

template <typename T>
static wr_status launch(wr_env *env, const wr_epilogue_many *e) {
  constexpr int V = WR_PACK_BYTES / sizeof(T);
  columns_args<T> a = make_args<T>(e);
  wr_workspace workspace;
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

template <typename T>
static wr_status launch_start(wr_env *env, const wr_epilogue_many *e, int c) {
  return WR_LAUNCH((start_entries<T>), 1, WR_WARP, 0, env->stream, make_args<T>(e), c);
}

extern "C" wr_status wr_cuda_start_column(wr_env *env, const wr_epilogue_many *e, int c) {
  PASS(wr_cuda_enter_now(env));
  PASS(wr_start_column_check(env, e, c));
  e->y->writes++, e->sums->writes++;
  return e->y->type == WR_F32 ? launch_start<float>(env, e, c) : launch_start<double>(env, e, c);
}

template <typename T>
static wr_status launch_begin(wr_env *env, const wr_epilogue_many *e) {
  columns_args<T> a = make_args<T>(e);
  a.marks = (uint8_t *)e->marks->data;
  return WR_LAUNCH((mark_jumps<T>), wr_stream_blocks(env, a.columns * a.room), WR_STREAM_THREADS, 0, env->stream, a);
}

extern "C" wr_status wr_cuda_ranks_begin(wr_env *env, const wr_epilogue_many *e) {
  e->marks->writes++;
  return e->y->type == WR_F32 ? launch_begin<float>(env, e) : launch_begin<double>(env, e);
}

template <typename T>
static wr_status launch_end(wr_env *env, const wr_epilogue_many *e, double *partial, unsigned parts) {
  columns_args<T> a = make_args<T>(e);
  a.marks = (uint8_t *)e->marks->data, a.partial = partial, a.blocks = parts;
  return WR_LAUNCH((add_parts<T>), 1, WR_COLUMN_SUMS * WR_WARP, 0, env->stream, a);
}

extern "C" wr_status wr_cuda_ranks_end(wr_env *env, const wr_epilogue_many *e, double *partial, unsigned parts) {
  e->sums->writes++;
  return e->y->type == WR_F32 ? launch_end<float>(env, e, partial, parts) : launch_end<double>(env, e, partial, parts);
}
