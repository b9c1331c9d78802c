/* The epilogue as a separate pass over y, for backends without WR_CAP_EPILOGUE: the functions of kernel/epilogue.cuh on 16
 * bytes of every vector at a time. */
#include <cuda_runtime.h>

#include "config/argument.h"
#include "spmv/device/check.cuh"
#include "spmv/device/cuda_state.h"
#include "spmv/kernel/epilogue.cuh"
#include "spmv/kernel/stream.cuh"

constexpr int BLOCKS = 4; /* of a multiprocessor; they stay until all elements are done */

template <typename T>
struct epilogue_args {
  int64_t n, groups;
  T *y;
  bool changes_y;
  wr_finish<T> finish;
};

/* to := one group of a vector's elements; zeros if `is_there` is false. */
template <typename T, int V>
__device__ inline void load_if(bool is_there, const T *vector, int64_t group, T (&to)[V]) {
  wr_pack<T, V> loaded = {};
  if (is_there) loaded = wr_load<T, V>(vector, group);
  for (int e = 0; e < V; e++) to[e] = loaded.at[e];
}

/* to := the same of a compact vector's integers. */
template <typename N, int V>
__device__ inline void load_divisors(const void *divisors, int64_t group, uint32_t (&to)[V]) {
  wr_pack<N, V> loaded = wr_load<N, V>((const N *)divisors, group);
  for (int e = 0; e < V; e++) to[e] = loaded.at[e];
}

/* row := what the epilogue reads for one group of rows beside their sums. */
template <class F, typename T, int V>
__device__ inline void load_group(const F &f, int64_t group, wr_finish_rows<T, V> &row) {
  constexpr int SUMS = WR_HOLDS_DOT_AND_NORM | WR_HOLDS_CHANGE_AND_UNSCALED;
  load_if(wr_finish_has<WR_HOLDS_DIRECTION>(f, f.shift_dir), f.shift_dir, group, row.shift_dir);
  load_if(f.scale != nullptr, f.scale, group, row.scale);
  load_if(wr_finish_has<WR_HOLDS_RELAXATION>(f, f.relax_from), f.relax_from, group, row.relax_from);
  load_if(wr_finish_has<SUMS>(f, f.z[0]), f.z[0], group, row.z[0]);
#pragma unroll
  for (int r = 1; r < WR_MAX_REDUCTIONS; r++) load_if(f.z[r] != nullptr, f.z[r], group, row.z[r]);
  for (int e = 0; e < V; e++) row.divisor[e] = 0;
  if (!wr_finish_has<WR_HOLDS_SCALE>(f, f.divisors)) return;
  switch (f.divisor_bytes) {
    case 1: return load_divisors<uint8_t>(f.divisors, group, row.divisor);
    case 2: return load_divisors<uint16_t>(f.divisors, group, row.divisor);
    default: return load_divisors<uint32_t>(f.divisors, group, row.divisor);
  }
}

/* sums: the group's elements of y. */
template <class F, typename T, int V>
__device__ inline void store_group(const F &f, const wr_finish_scalars &scalars, bool changes_y,
                                   const wr_pack<T, V> &sums, T *y, int64_t group, wr_finish_rows<T, V> &row,
                                   double (&sum)[WR_MAX_REDUCTIONS]) {
  wr_pack<T, V> stored, scaled;
  for (int e = 0; e < V; e++) row.value[e] = (double)sums.at[e];
  wr_finish_values(f, scalars, row, stored.at, scaled.at, sum);
  if (changes_y) wr_store<T, V>(y, group, stored);
  if (f.scaled) wr_store<T, V>(f.scaled, group, scaled);
}

/* Two groups a thread at a time, with all loads before the first store, where the epilogue is known when compiling. */
template <typename T, wr_finish_mask MASK>
__global__ void __launch_bounds__(WR_STREAM_THREADS, BLOCKS) epilogue(WR_KERNEL_PARAMETER epilogue_args<T> a) {
  constexpr int V = WR_PACK_BYTES / sizeof(T), TOGETHER = MASK & WR_HOLDS_ANY ? 1 : 2;
  wr_begin_kernel();
  const auto finish = wr_finish_known<MASK>(a.finish);
  int64_t thread = wr_stream_thread(), threads = wr_stream_threads();
  wr_finish_scalars scalars = wr_finish_begin(finish);
  double sum[WR_MAX_REDUCTIONS] = {0, 0, 0};
  for (int64_t g = thread; g < a.groups; g += TOGETHER * threads) {
    wr_finish_rows<T, V> row[TOGETHER];
    wr_pack<T, V> sums[TOGETHER];
#pragma unroll
    for (int t = 0; t < TOGETHER; t++) {
      const int64_t at = g + t * threads;
      if (at < a.groups) sums[t] = wr_load<T, V>(a.y, at), load_group(finish, at, row[t]);
    }
#pragma unroll
    for (int t = 0; t < TOGETHER; t++) {
      const int64_t at = g + t * threads;
      if (at < a.groups) store_group(finish, scalars, a.changes_y, sums[t], a.y, at, row[t], sum);
    }
  }
#pragma unroll 1
  for (int64_t i = a.groups * V + thread; i < a.n; i += threads) {
    wr_finish_rows<T, 1> row;
    load_group(finish, i, row);
    store_group(finish, scalars, a.changes_y, wr_load<T, 1>(a.y, i), a.y, i, row, sum);
  }
  wr_sums_finish(a.finish.sums, sum);
}

template <typename T>
static auto kernel_for(wr_finish_mask mask) {
  if constexpr (sizeof(T) == 4) {
    if (mask == WR_HOLDS_DIRECTED_STEP) return epilogue<T, WR_HOLDS_DIRECTED_STEP>;
    if (mask == WR_HOLDS_DIRECTED_RELAXED_STEP) return epilogue<T, WR_HOLDS_DIRECTED_RELAXED_STEP>;
  }
  if (mask == WR_HOLDS_DOT_AND_NORM) return epilogue<T, WR_HOLDS_DOT_AND_NORM>;
  if (mask == WR_HOLDS_SCALED_STEP) return epilogue<T, WR_HOLDS_SCALED_STEP>;
  if (mask == WR_HOLDS_RELAXED_STEP) return epilogue<T, WR_HOLDS_RELAXED_STEP>;
  return epilogue<T, WR_HOLDS_ANY>;
}

template <typename T>
static wr_status launch_epilogue(wr_env *env, const wr_apply *apply) {
  epilogue_args<T> a = {};
  a.n = apply->y->n;
  a.y = (T *)apply->y->data;
  a.finish = wr_finish_make<T>(env, apply->epilogue);
  const wr_finish<T> &f = a.finish;
  bool aligned = wr_is_aligned(a.y) && wr_is_aligned(f.shift_dir) && wr_is_aligned(f.scale) &&
                 wr_is_aligned(f.divisors) && wr_is_aligned(f.scaled) && wr_is_aligned(f.relax_from);
  for (int r = 0; r < WR_MAX_REDUCTIONS; r++) aligned = aligned && wr_is_aligned(f.z[r]);
  a.groups = aligned ? a.n / (int64_t)(WR_PACK_BYTES / sizeof(T)) : 0;
  a.changes_y = f.shift || f.scales_y || f.relax_from;
  if (a.changes_y) apply->y->writes++;
  int64_t pieces = a.groups ? a.groups : a.n;
  unsigned grid = wr_cuda_grid(env, (pieces + WR_STREAM_THREADS - 1) / WR_STREAM_THREADS, BLOCKS);
  return WR_LAUNCH_EARLY(env, (kernel_for<T>(wr_finish_mask_of(f))), grid, WR_STREAM_THREADS, 0, a);
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
