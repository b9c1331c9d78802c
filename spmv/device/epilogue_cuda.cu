/* The epilogue as a separate pass over y, for backends without WR_CAP_EPILOGUE: the functions of kernel/epilogue.cuh on 16
 * bytes of every vector at a time. */
#include <cuda_runtime.h>

#include "config/argument.h"
#include "spmv/device/check.cuh"
#include "spmv/device/cuda_state.h"
#include "spmv/kernel/epilogue.cuh"
#include "spmv/kernel/stream.cuh"

template <typename T>
struct epilogue_args {
  int64_t n, groups;
  T *y;
  bool changes_y;
  wr_finish<T> finish;
};

/* One group of a vector's elements; zeros if vector is NULL. */
template <typename T, int V>
__device__ inline void load_if(const T *vector, int64_t group, T (&values)[V]) {
  wr_pack<T, V> loaded;
  for (int e = 0; e < V; e++) loaded.at[e] = 0;
  if (vector) loaded = wr_load<T, V>(vector, group);
  for (int e = 0; e < V; e++) values[e] = loaded.at[e];
}

template <typename T, int V>
__device__ inline void finish_group(const epilogue_args<T> &a, const wr_finish_scalars &scalars, int64_t group,
                                    double (&sum)[WR_MAX_REDUCTIONS]) {
  wr_finish_rows<T, V> row;
  wr_pack<T, V> y = wr_load<T, V>(a.y, group), scaled;
  load_if(a.finish.shift_dir, group, row.shift_dir);
  load_if(a.finish.scale, group, row.scale);
  load_if(a.finish.relax_from, group, row.relax_from);
  for (int e = 0; e < V; e++)
    row.divisor[e] = a.finish.divisors ? wr_divisor(a.finish.divisors, a.finish.divisor_bytes, group * V + e) : 0;
#pragma unroll
  for (int r = 0; r < WR_MAX_REDUCTIONS; r++) load_if(a.finish.z[r], group, row.z[r]);
  for (int e = 0; e < V; e++) row.value[e] = (double)y.at[e];
  wr_finish_values(a.finish, scalars, row, y.at, scaled.at, sum);
  if (a.changes_y) wr_store<T, V>(a.y, group, y);
  if (a.finish.scaled) wr_store<T, V>(a.finish.scaled, group, scaled);
}

template <typename T>
__global__ void __launch_bounds__(WR_STREAM_THREADS, 4) epilogue(const epilogue_args<T> a) {
  constexpr int V = WR_PACK_BYTES / sizeof(T);
  wr_begin_kernel();
  int64_t thread = wr_stream_thread(), threads = wr_stream_threads();
  wr_finish_scalars scalars = wr_finish_begin(a.finish);
  double sum[WR_MAX_REDUCTIONS] = {0, 0, 0};
  for (int64_t g = thread; g < a.groups; g += threads) finish_group<T, V>(a, scalars, g, sum);
  for (int64_t i = a.groups * V + thread; i < a.n; i += threads) finish_group<T, 1>(a, scalars, i, sum);
  wr_sums_finish(a.finish.sums, sum);
}

template <typename T>
static wr_status launch_epilogue(wr_env *env, const wr_apply *apply) {
  epilogue_args<T> a = {};
  a.n = apply->y->n;
  a.y = (T *)apply->y->data;
  a.finish = wr_finish_make<T>(env, apply->epilogue);
  bool aligned = wr_is_aligned(a.y) && wr_is_aligned(a.finish.shift_dir) && wr_is_aligned(a.finish.scale) &&
                 wr_is_aligned(a.finish.scaled) && wr_is_aligned(a.finish.relax_from);
  for (int r = 0; r < WR_MAX_REDUCTIONS; r++) aligned = aligned && wr_is_aligned(a.finish.z[r]);
  a.groups = aligned ? a.n / (int64_t)(WR_PACK_BYTES / sizeof(T)) : 0;
  a.changes_y = a.finish.shift || a.finish.scales_y || a.finish.relax_from;
  if (a.changes_y) apply->y->writes++;
  return WR_LAUNCH_EARLY(env, (epilogue<T>), wr_stream_blocks(env, a.groups ? a.groups : a.n), WR_STREAM_THREADS, 0, a);
}

/* v: a vector of the epilogue, or NULL. */
static wr_status check_part(const wr_env *env, const wr_vec *y, const wr_vec *v, bool may_be_compact,
                            const char *role) {
  if (v == NULL) return WR_OK;
  PASS(wr_cuda_check_vec(env, v, role));
  if (v->reciprocal_bytes && !may_be_compact) return wr_fail(WR_EUSAGE, "%s is a compact vector", role);
  if (v->n != y->n || v->type != y->type)
    return wr_fail(WR_EUSAGE, "%s has %lld elements of type %d where y has %lld of type %d", role, (long long)v->n,
                   (int)v->type, (long long)y->n, (int)y->type);
  return WR_OK;
}

static wr_status check_scalar(const wr_env *env, wr_scalar s, const char *role) {
  if (s.bank == NULL) return WR_OK;
  PASS(wr_cuda_check_vec(env, s.bank, role));
  if (s.bank->type != WR_F64 || s.index < 0 || s.index >= s.bank->n)
    return wr_fail(WR_EUSAGE, "%s: scalar %d is not in a bank of f64 (which has %lld)", role, s.index,
                   (long long)s.bank->n);
  return WR_OK;
}

static wr_status check_reduction(const wr_env *env, const wr_vec *y, const wr_epilogue *e, const wr_reduction *r) {
  if (r->kind == WR_NO_REDUCTION) return WR_OK;
  if (r->of != NULL && r->of != y) return wr_fail(WR_EUSAGE, "an epilogue's reduction is of y alone");
  if (r->kind != WR_SUM_UNSCALED && wr_reduction_reads_z(r->kind) && r->z == NULL)
    return wr_fail(WR_EUSAGE, "an epilogue's reduction lacks its z");
  if ((r->kind == WR_SUM_UNSCALED || r->kind == WR_L1DIFF_UNSCALED) && e->scale == NULL)
    return wr_fail(WR_EUSAGE, "an epilogue without a scale has no unscaled rows to sum");
  bool is_scale = r->kind == WR_SUM_UNSCALED;
  PASS(check_part(env, y, r->z, is_scale, is_scale ? "an epilogue's scale" : "an epilogue's z"));
  return check_scalar(env, r->into, "an epilogue's result");
}

static wr_status check(const wr_env *env, const wr_apply *apply) {
  const wr_epilogue *e = apply->epilogue;
  PASS(wr_cuda_check_vec(env, apply->y, "an epilogue's y"));
  PASS(check_scalar(env, e->shift, "an epilogue's shift"));
  PASS(check_part(env, apply->y, e->shift_dir, false, "an epilogue's shift direction"));
  PASS(check_part(env, apply->y, e->scale, true, "an epilogue's scale"));
  PASS(check_part(env, apply->y, e->scaled, false, "an epilogue's scaled vector"));
  if ((e->scaled || e->scales_y) && e->scale == NULL)
    return wr_fail(WR_EUSAGE, "an epilogue has a scaled vector and no scale");
  if (e->scaled && e->scales_y) return wr_fail(WR_EUSAGE, "an epilogue scales y and another vector");
  PASS(check_part(env, apply->y, e->relax_from, false, "an epilogue's relax_from"));
  if (e->relax_from && e->relaxation.bank == NULL) return wr_fail(WR_EUSAGE, "an epilogue lacks its relaxation");
  PASS(check_scalar(env, e->relaxation, "an epilogue's relaxation"));
  for (int r = 0; r < WR_MAX_REDUCTIONS; r++) PASS(check_reduction(env, apply->y, e, &e->reduce[r]));
  return WR_OK;
}

extern "C" wr_status wr_cuda_epilogue(wr_env *env, const wr_apply *apply) {
  PASS(wr_cuda_enter_now(env));
  WR_REFUSE_IF(apply == NULL || apply->y == NULL, "the request is NULL or has no y");
  if (apply->epilogue == NULL) return WR_OK;
  PASS(check(env, apply));
  return apply->y->type == WR_F32 ? launch_epilogue<float>(env, apply) : launch_epilogue<double>(env, apply);
}
