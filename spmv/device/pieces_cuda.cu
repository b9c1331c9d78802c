/* Pieces of vectors, and columns of them (pieces.h), on a device. */
#include <cuda_runtime.h>
#include <math.h>

#include "spmv/device/check.cuh"
#include "spmv/device/cuda_state.h"
#include "spmv/device/pieces.h"
#include "spmv/kernel/epilogue.cuh"
#include "spmv/kernel/stream.cuh"
#include "spmv/kernel/warp.cuh"

template <typename T>
struct maxima_args {
  int64_t n, length, pieces;
  const T *v, *scale;   /* [n]; scale NULL: it is compact */
  const void *divisors; /* [n] of divisor_bytes each      */
  int divisor_bytes;
  double *to;           /* [pieces]                       */
};

/* Element i divided by the scale, or as it is where that is 0. */
template <typename T>
static __device__ inline double unscaled(const maxima_args<T> &a, int64_t i) {
  double value = (double)a.v[i];
  if (a.scale) return a.scale[i] != 0 ? value / (double)a.scale[i] : value;
  uint32_t divisor = wr_divisor(a.divisors, a.divisor_bytes, i);
  return divisor ? value * (double)divisor : value;
}

/* A warp takes a piece, its lanes neighbouring elements. */
template <typename T>
__global__ void __launch_bounds__(WR_STREAM_THREADS) find_maxima(const maxima_args<T> a) {
  int lane = threadIdx.x % WR_WARP;
  for (int64_t piece = wr_stream_thread() / WR_WARP; piece < a.pieces; piece += wr_stream_threads() / WR_WARP) {
    int64_t first = piece * a.length, end = a.n - first < a.length ? a.n : first + a.length;
    double greatest = -INFINITY;
#pragma unroll 4
    for (int64_t i = first + lane; i < end; i += WR_WARP) {
      double value = unscaled(a, i);
      if (value > greatest) greatest = value;
    }
    for (int distance = WR_WARP / 2; distance > 0; distance /= 2) {
      double other = __shfl_xor_sync((unsigned)WR_FULL_MASK, greatest, distance);
      if (other > greatest) greatest = other;
    }
    if (lane == 0) a.to[piece] = greatest;
  }
}

template <typename T>
__global__ void __launch_bounds__(WR_STREAM_THREADS)
    pick_pieces(int64_t n, const T *v, int64_t length, int64_t count, const double *pieces, T *to) {
  int64_t all = (n + length - 1) / length;
  for (int64_t at = wr_stream_thread(); at < count * length; at += wr_stream_threads()) {
    double piece = pieces[at / length];
    int64_t i = piece >= 0 && piece < (double)all ? (int64_t)piece * length + at % length : n;
    to[at] = i < n ? v[i] : (T)0;
  }
}

template <typename T>
static wr_status launch_maxima(wr_env *env, const wr_vec *v, const wr_vec *scale, int64_t length, wr_vec *to) {
  maxima_args<T> a = {};
  a.n = v->n, a.length = length, a.pieces = to->n, a.v = (const T *)v->data, a.to = (double *)to->data;
  if (scale->reciprocal_bytes)
    a.divisors = scale->data, a.divisor_bytes = scale->reciprocal_bytes;
  else
    a.scale = (const T *)scale->data;
  return WR_LAUNCH((find_maxima<T>), wr_stream_blocks(env, a.pieces * WR_WARP), WR_STREAM_THREADS, 0, env->stream, a);
}

template <typename T>
static wr_status launch_pick(wr_env *env, const wr_vec *v, int64_t length, const wr_vec *pieces, wr_vec *to) {
  return WR_LAUNCH((pick_pieces<T>), wr_stream_blocks(env, pieces->n * length), WR_STREAM_THREADS, 0, env->stream, v->n,
                   (const T *)v->data, length, pieces->n, (const double *)pieces->data, (T *)to->data);
}

extern "C" wr_status wr_cuda_maxima(wr_env *env, const wr_vec *v, const wr_vec *scale, int64_t length, wr_vec *to) {
  PASS(wr_cuda_enter_now(env));
  PASS(wr_maxima_check(env, v, scale, length, to));
  to->writes++;
  return v->type == WR_F32 ? launch_maxima<float>(env, v, scale, length, to)
                           : launch_maxima<double>(env, v, scale, length, to);
}

extern "C" wr_status wr_cuda_pick(wr_env *env, const wr_vec *v, int64_t length, const wr_vec *pieces, wr_vec *to) {
  PASS(wr_cuda_enter_now(env));
  PASS(wr_pick_check(env, v, length, pieces, to));
  to->writes++;
  return v->type == WR_F32 ? launch_pick<float>(env, v, length, pieces, to)
                           : launch_pick<double>(env, v, length, pieces, to);
}

template <typename T>
__global__ void __launch_bounds__(WR_STREAM_THREADS)
    copy_rows_of_column(int64_t rows, const T *from, int64_t from_ld, T *to, int64_t to_ld) {
#pragma unroll 4
  for (int64_t i = wr_stream_thread(); i < rows; i += wr_stream_threads()) to[i * to_ld] = from[i * from_ld];
}

template <typename T>
__global__ void __launch_bounds__(WR_STREAM_THREADS) move_rows_of_column(int64_t rows, T *from, int64_t ld, T *to) {
#pragma unroll 4
  for (int64_t i = wr_stream_thread(); i < rows; i += wr_stream_threads()) {
    to[i] = from[i * ld];
    from[i * ld] = 0;
  }
}

template <typename T>
static wr_status launch_move_column(wr_env *env, wr_vec *from, int64_t ld, int64_t column, wr_vec *to) {
  return WR_LAUNCH((move_rows_of_column<T>), wr_stream_blocks(env, to->n), WR_STREAM_THREADS, 0, env->stream, to->n,
                   (T *)from->data + column, ld, (T *)to->data);
}

extern "C" wr_status wr_cuda_move_column(wr_env *env, wr_vec *from, int64_t ld, int64_t column, wr_vec *to) {
  PASS(wr_cuda_enter_now(env));
  PASS(wr_copy_column_check(env, from, ld, column, to, 1, 0));
  from->writes++, to->writes++;
  return from->type == WR_F32 ? launch_move_column<float>(env, from, ld, column, to)
                              : launch_move_column<double>(env, from, ld, column, to);
}

template <typename T>
static wr_status launch_copy_column(wr_env *env, const wr_vec *from, int64_t from_ld, int64_t from_column, wr_vec *to,
                                    int64_t to_ld, int64_t to_column) {
  int64_t rows = from->n / from_ld;
  return WR_LAUNCH((copy_rows_of_column<T>), wr_stream_blocks(env, rows), WR_STREAM_THREADS, 0, env->stream, rows,
                   (const T *)from->data + from_column, from_ld, (T *)to->data + to_column, to_ld);
}

extern "C" wr_status wr_cuda_copy_column(wr_env *env, const wr_vec *from, int64_t from_ld, int64_t from_column,
                                         wr_vec *to, int64_t to_ld, int64_t to_column) {
  PASS(wr_cuda_enter_now(env));
  PASS(wr_copy_column_check(env, from, from_ld, from_column, to, to_ld, to_column));
  to->writes++;
  return from->type == WR_F32 ? launch_copy_column<float>(env, from, from_ld, from_column, to, to_ld, to_column)
                              : launch_copy_column<double>(env, from, from_ld, from_column, to, to_ld, to_column);
}
