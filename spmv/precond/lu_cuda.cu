#include "spmv/precond/lu_cuda.h"

#include "config/memory.h"
#include "spmv/device/check.cuh"
#include "spmv/device/device_memory.h"
#include "spmv/precond/lu_solve.cuh"

struct wr_lu_cuda {
  wr_type type, stored; /* of r and z; of the factors and w */
  int64_t n, stride, slots;
  int32_t lower;
  wr_lu_way way;
  unsigned blocks;
  wr_lu_slice *slice; /* of lu_slices.h, on the device */
  wr_lu_phase *phase;
  int32_t *level_slice, *source, *into, *col;
  void *val, *inverse;
  void *w;
  wr_lu_counts *counts;
  wr_lu_cuda_info info;
};

static const char *const what = "triangular factors by levels";

/* *block := count elements, on the device. */
template <typename T>
static wr_status put(wr_env *env, wr_lu_cuda *s, T **block, const void *from, int64_t count, wr_conversion how) {
  int64_t size = wr_conversion_device_size(how);
  PASS(wr_device_alloc(env, block, count, (size_t)size, what));
  PASS(wr_device_upload(env, *block, from, count, how));
  s->info.bytes += (double)(count * size);
  return WR_OK;
}

static wr_status put_all(wr_env *env, const wr_lu_slices *f, wr_lu_cuda *s) {
  wr_conversion values = s->stored == WR_F32 ? WR_F64_AS_F32 : WR_AS_8_BYTES;
  int64_t levels = f->lower_levels + f->upper_levels, vectors = s->way == WR_LU_VALUES ? 2 : 1;
  PASS(put(env, s, &s->slice, f->slice, 2 * f->slices, WR_AS_8_BYTES));
  PASS(put(env, s, &s->phase, f->phase, 2 * f->phases, WR_AS_8_BYTES));
  PASS(put(env, s, &s->level_slice, f->level_slice, levels + 1, WR_AS_4_BYTES));
  PASS(put(env, s, &s->source, f->source, f->unknowns, WR_AS_4_BYTES));
  PASS(put(env, s, &s->into, f->into, f->unknowns - f->lower, WR_AS_4_BYTES));
  PASS(put(env, s, &s->inverse, f->inverse, f->unknowns - f->lower, values));
  PASS(put(env, s, &s->col, f->col, WR_WARP * f->groups, WR_AS_4_BYTES));
  PASS(put(env, s, &s->val, f->val, WR_WARP * f->groups, values));
  s->stride = (f->unknowns + 31) / 32 * 32;
  PASS(wr_device_alloc(env, &s->w, vectors * s->stride, (size_t)wr_type_bytes(s->stored), what));
  PASS(wr_device_alloc_zeroed(env, &s->counts, 1, sizeof *s->counts, what));
  PASS(WR_CUDA(cudaMemsetAsync(s->w, 0xff, (size_t)(vectors * s->stride * wr_type_bytes(s->stored)),
                               (cudaStream_t)env->stream)));
  s->info.bytes += (double)(vectors * s->stride * wr_type_bytes(s->stored));
  return WR_OK;
}

/* Bytes that put_all allocates. */
static int64_t bytes_of(const wr_lu_slices *f, const wr_lu_cuda *s) {
  int64_t value = wr_type_bytes(s->stored), upper = f->unknowns - f->lower;
  int64_t vectors = (s->way == WR_LU_VALUES ? 2 : 1) * ((f->unknowns + 31) / 32 * 32);
  return 16 * (f->slices + f->phases) + 4 * (f->lower_levels + f->upper_levels + 1) + 4 * f->unknowns +
         (4 + value) * (upper + WR_WARP * f->groups) + value * vectors + (int64_t)sizeof(wr_lu_counts);
}

template <typename T, typename V>
static const void *kernel_as(wr_lu_way way) {
  return way == WR_LU_VALUES     ? (const void *)wr_lu_solve<T, V, true, false>
         : way == WR_LU_BARRIERS ? (const void *)wr_lu_solve<T, V, false, true>
                                 : (const void *)wr_lu_solve<T, V, false, false>;
}

static const void *kernel_of(const wr_lu_cuda *s) {
  if (s->type == WR_F64)
    return s->stored == WR_F64 ? kernel_as<double, double>(s->way) : kernel_as<float, double>(s->way);
  return s->stored == WR_F64 ? kernel_as<double, float>(s->way) : kernel_as<float, float>(s->way);
}

/* s->blocks := as many as run at the same time: one a multiprocessor, or one in all if there are no cooperative launches. */
static wr_status count_blocks(wr_env *env, const wr_lu_cuda_options *options, wr_lu_cuda *s) {
  int together = 0, each = 0;
  size_t shared = (size_t)(s->slots * wr_type_bytes(s->stored));
  const void *kernel = kernel_of(s);
  int64_t processors = wr_cuda_processors(env);
  PASS(wr_cuda_check_image(env));
  PASS(WR_CUDA(cudaDeviceGetAttribute(&together, cudaDevAttrCooperativeLaunch, env->device)));
  PASS(WR_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    (int)(WR_LU_MOST_SLOTS * sizeof(double)))));
  PASS(WR_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, WR_LU_THREADS, shared)));
  if (each == 0) return wr_fail(WR_EUNAVAILABLE, "%s has no room for a triangular solve", env->device_name);
  s->blocks = (unsigned)(options->blocks > 0 && options->blocks < processors ? options->blocks : processors);
  if (s->info.phases == 1 && s->info.runs == 1) s->blocks = 1;
  if (!together && s->way != WR_LU_LAUNCHES) s->blocks = 1;
  s->info.blocks = s->blocks;
  return WR_OK;
}

static void describe(const wr_lu *lu, const wr_lu_slices *f, wr_lu_cuda_info *info) {
  info->lower_levels = f->lower_levels, info->upper_levels = f->upper_levels;
  info->entries = lu->l_ptr[lu->n] + lu->u_ptr[lu->n];
  info->phases = f->phases;
  for (int64_t p = 0; p < f->phases; p++) info->runs += f->phase[p].levels > 0;
  for (int64_t k = 0; k < WR_WARP * f->groups; k++) info->padding += f->col[k] == WR_LU_NONE;
}

extern "C" wr_status wr_lu_cuda_create_as(const wr_lu *lu, wr_env *env, const wr_lu_cuda_options *options,
                                          wr_lu_cuda **solver) {
  wr_status status;
  const wr_lu_cuda_options usual = {WR_LU_VALUES, 0, WR_LU_GATE_LEVEL, 0};
  wr_lu_slices f = {};
  wr_lu_cuda *s = NULL;
  *solver = NULL;
  if (options == NULL) options = &usual;
  TRY(wr_cuda_enter(env));
  TRY(wr_alloc_zeroed(&s, 1, sizeof *s, what));
  s->type = env->type, s->n = lu->n, s->way = options->way;
  s->stored = (env->type == WR_F32 || options->in_f32) && wr_lu_beyond_f32(lu) < 0 ? WR_F32 : WR_F64;
  TRY(wr_lu_slices_make(lu, s->way == WR_LU_VALUES, options->gates, &f));
  s->slots = f.slots, s->lower = (int32_t)f.lower;
  describe(lu, &f, &s->info);
  TRY(count_blocks(env, options, s));
  TRY(wr_watch_check(env->watch, what));
  status = put_all(env, &f, s);
  if (status == WR_ENOMEM)
    status = wr_fail(status, "%s; %s take %lld bytes in all", wr_status_message(), what, (long long)bytes_of(&f, s));
  TRY(status);
  TRY(env->ops->wait(env));
  *solver = s, s = NULL;
done:
  wr_lu_slices_free(&f);
  wr_lu_cuda_destroy(s, env);
  return status;
}

extern "C" wr_status wr_lu_cuda_create(const wr_lu *lu, wr_env *env, wr_lu_cuda **solver) {
  return wr_lu_cuda_create_as(lu, env, NULL, solver);
}

template <typename T, typename V>
static wr_lu_args<T, V> args_of(const wr_lu_cuda *s, const wr_vec *r, wr_vec *z) {
  wr_lu_args<T, V> a = {};
  a.slice = s->slice, a.phase = s->phase, a.level_slice = s->level_slice;
  a.source = s->source, a.into = s->into, a.col = s->col;
  a.val = (const T *)s->val, a.inverse = (const T *)s->inverse;
  a.lower = s->lower, a.slots = (int)s->slots;
  a.phase_begin = 0, a.phase_end = (int)s->info.phases;
  a.w = (T *)s->w, a.stride = s->stride;
  a.r = (const V *)r->data, a.z = (V *)z->data, a.counts = s->counts;
  return a;
}

/* A kernel for each phase. */
template <typename T, typename V>
static wr_status launch_each(const wr_lu_cuda *s, wr_env *env, wr_lu_args<T, V> a, size_t shared) {
  wr_status status = WR_OK;
  for (int p = 0; p < (int)s->info.phases; p++) {
    a.phase_begin = p, a.phase_end = p + 1;
    TRY(WR_LAUNCH((wr_lu_solve<T, V, false, false>), s->blocks, WR_LU_THREADS, shared, env->stream, a));
  }
done:
  return status;
}

template <typename T, typename V>
static wr_status launch(const wr_lu_cuda *s, wr_env *env, const wr_vec *r, wr_vec *z) {
  wr_lu_args<T, V> a = args_of<T, V>(s, r, z);
  size_t shared = (size_t)s->slots * sizeof(T);
  if (s->way == WR_LU_LAUNCHES) return launch_each(s, env, a, shared);
  if (s->way == WR_LU_BARRIERS)
    return WR_LAUNCH_TOGETHER((wr_lu_solve<T, V, false, true>), s->blocks, WR_LU_THREADS, shared, env->stream, a);
  return WR_LAUNCH_TOGETHER((wr_lu_solve<T, V, true, false>), s->blocks, WR_LU_THREADS, shared, env->stream, a);
}

extern "C" wr_status wr_lu_cuda_apply(wr_lu_cuda *s, wr_env *env, const wr_vec *r, wr_vec *z) {
  wr_status status;
  TRY(wr_cuda_enter_now(env));
  TRY(wr_cuda_check_vec(env, r, "r"));
  TRY(wr_cuda_check_vec(env, z, "z"));
  if (r->n != s->n || z->n != s->n || r->type != s->type || z->type != s->type || r->data == z->data)
    TRY(wr_fail(WR_EUSAGE, "r and z must be two vectors of %lld elements of the solver's type", (long long)s->n));
  z->writes++;
  if (s->n == 0) return WR_OK;
  if (s->type == WR_F64)
    status = s->stored == WR_F64 ? launch<double, double>(s, env, r, z) : launch<float, double>(s, env, r, z);
  else
    status = s->stored == WR_F64 ? launch<double, float>(s, env, r, z) : launch<float, float>(s, env, r, z);
done:
  return status;
}

extern "C" const wr_lu_cuda_info *wr_lu_cuda_get_info(const wr_lu_cuda *s) { return &s->info; }

extern "C" void wr_lu_cuda_destroy(wr_lu_cuda *s, wr_env *env) {
  if (s == NULL) return;
  void *const blocks[] = {s->slice, s->phase, s->level_slice, s->source, s->into,
                          s->col,   s->val,   s->inverse,     s->w,      s->counts};
  for (void *block : blocks) wr_device_free(env, block);
  wr_free(s);
}
