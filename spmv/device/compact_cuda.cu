/* Compact vectors (wr_vec) on a device, and sums of vectors of two types. */
#include <cuda_runtime.h>

#include "config/argument.h"
#include "config/memory.h"
#include "spmv/device/check.cuh"
#include "spmv/device/cuda_state.h"
#include "spmv/device/device_memory.h"
#include "spmv/kernel/epilogue.cuh"
#include "spmv/kernel/stream.cuh"

template <typename T>
__global__ void __launch_bounds__(WR_STREAM_THREADS) widen_all(int64_t n, const void *divisors, int bytes, T *out) {
  for (int64_t i = wr_stream_thread(); i < n; i += wr_stream_threads()) out[i] = wr_reciprocal<T>(divisors, bytes, i);
}

/* Uploads the integers in words of four bytes. */
static wr_status upload_divisors(wr_env *env, int64_t n, const double *values, int bytes, const char *what, wr_vec *v) {
  wr_status status;
  char *room = NULL;
  int64_t words = (n * bytes + 3) / 4;
  TRY(wr_alloc_zeroed(&room, words, 4, what));
  wr_reciprocal_pack(values, n, bytes, room);
  TRY(wr_device_alloc_zeroed(env, &v->data, words, 4, what));
  TRY(wr_device_upload(env, v->data, room, words, WR_AS_4_BYTES));
  v->n = n, v->type = env->type, v->place = WR_CUDA, v->id = wr_vec_new_id(), v->writes = 1,
  v->reciprocal_bytes = bytes;
done:
  if (status != WR_OK) wr_device_free(env, v->data), v->data = NULL;
  wr_free(room);
  return status;
}

extern "C" wr_status wr_cuda_compact(wr_env *env, int64_t n, const double *values, const char *what, wr_vec *v) {
  wr_status status;
  int bytes;
  WR_NEED(v);
  *v = {};
  WR_NEED_OK(wr_cuda_enter(env));
  WR_NEED(values);
  bytes = wr_reciprocal_bytes(values, n);
  if (n > 0 && bytes > 0 && bytes <= wr_type_bytes(env->type)) return upload_divisors(env, n, values, bytes, what, v);
  TRY(env->ops->alloc(env, n, env->type, what, v));
  TRY(env->ops->upload(env, v, values));
done:
  if (status != WR_OK) env->ops->release(env, v);
  return status;
}

template <typename T>
static wr_status launch_widen(wr_env *env, const wr_vec *from, wr_vec *to) {
  return WR_LAUNCH((widen_all<T>), wr_stream_blocks(env, to->n), WR_STREAM_THREADS, 0, env->stream, to->n, from->data,
                   from->reciprocal_bytes, (T *)to->data);
}

extern "C" wr_status wr_cuda_widen(wr_env *env, const wr_vec *from, wr_vec *to) {
  wr_fused copy = {};
  PASS(wr_cuda_enter(env));
  PASS(wr_cuda_check_vec(env, from, "the source of widen"));
  PASS(wr_cuda_check_vec(env, to, "the target of widen"));
  if (to->reciprocal_bytes || to->n != from->n || to->type != from->type)
    return wr_fail(WR_EUSAGE, "the target of widen has another length or type than its source, or is compact");
  to->writes++;
  if (from->reciprocal_bytes) {
    PASS(to->type == WR_F32 ? launch_widen<float>(env, from, to) : launch_widen<double>(env, from, to));
    return WR_OK;
  }
  copy.in[0] = from, copy.out[0] = to, copy.c[0][0].factor = 1;
  return wr_cuda_fused(env, &copy);
}

/* A vector whose type a kernel finds out while it runs: all elements are read once, and the test is the same for all. */
typedef struct any_vec {
  const void *data;
  int type;
} any_vec;

static any_vec any(const wr_vec *v) {
  any_vec a = {v ? v->data : nullptr, v ? (int)v->type : 0};
  return a;
}

static __device__ inline double element(any_vec v, int64_t i) {
  return v.type == WR_F32 ? (double)((const float *)v.data)[i] : ((const double *)v.data)[i];
}

/* divisors: over, if it is compact. */
template <typename T>
__global__ void __launch_bounds__(WR_STREAM_THREADS)
    recast_all(int64_t n, double first, any_vec in, double second, any_vec other, any_vec over, const void *divisors,
               int bytes, T *out, const wr_sums sums) {
  double total[WR_MAX_REDUCTIONS] = {0, 0, 0};
  for (int64_t i = wr_stream_thread(); i < n; i += wr_stream_threads()) {
    double sum = first * element(in, i), by;
    if (other.data) sum += second * element(other, i);
    if (divisors) {
      uint32_t times = wr_divisor(divisors, bytes, i);
      sum *= (double)(times ? times : 1u);
    } else if (over.data && (by = element(over, i)) != 0) {
      sum /= by;
    }
    total[0] += sum;
    if (out) out[i] = (T)sum;
  }
  wr_sums_finish<WR_AFTER_VECTORS>(sums, total);
}

template <typename T>
static wr_status launch_recast(wr_env *env, const wr_recast *r) {
  int bytes = r->over ? r->over->reciprocal_bytes : 0;
  wr_reduction sum = {WR_SUM, nullptr, nullptr, r->sum};
  wr_sums sums = wr_sums_make(&((const wr_cuda_state *)env->state)->workspace);
  wr_sums_add(&sums, &sum);
  return WR_LAUNCH((recast_all<T>), wr_stream_blocks(env, r->in[0]->n), WR_STREAM_THREADS, 0, env->stream, r->in[0]->n,
                   r->c[0], any(r->in[0]), r->c[1], any(r->in[1]), any(bytes ? nullptr : r->over),
                   bytes ? (const void *)r->over->data : nullptr, bytes, r->out ? (T *)r->out->data : nullptr, sums);
}

extern "C" wr_status wr_cuda_recast(wr_env *env, const wr_recast *r) {
  PASS(wr_recast_check(env, r));
  PASS(wr_cuda_enter_now(env));
  if (r->out) r->out->writes++;
  return r->out && r->out->type == WR_F32 ? launch_recast<float>(env, r) : launch_recast<double>(env, r);
}
