/* Equilibrates by sweeps in which a thread looks at one entry. The largest exponents of rows and columns are maxima of
 * integers, so the order in which threads raise them does not matter. */
#include "spmv/matrix/scale.h"

#include <cfloat>

#include "config/memory.h"
#include "spmv/device/check.cuh"
#include "spmv/device/cuda_state.h"
#include "spmv/device/device_memory.h"
#include "spmv/kernel/search.cuh"
#include "spmv/matrix/csr_device.h"
#include "spmv/matrix/exponents.h"

constexpr int THREADS = 256;

static unsigned blocks_for(int64_t count) { return (unsigned)((count + THREADS - 1) / THREADS); }

static __device__ inline int64_t this_thread() { return (int64_t)blockIdx.x * THREADS + threadIdx.x; }

/* Most entries of a row find that another one was larger: a load is faster than an atomic operation. */
static __device__ inline void raise_to(int *largest, int exponent) {
  if (exponent > __ldcg(largest)) atomicMax(largest, exponent);
}

/* exponent[nrows + ncols] are those of rows and columns so far; largest[nrows + ncols], initially 0, := those of the largest
 * elements, scaled, less WR_NO_EXPONENT, so that 0 stands for none. val nullptr: every entry is 1. */
template <typename T, typename P>
__global__ void __launch_bounds__(THREADS)
    raise_largest(int64_t nrows, int64_t nnz, const P *row_ptr, const int32_t *col, const T *val, const int *exponent,
                  int *largest) {
  int64_t k = this_thread();
  if (k >= nnz) return;
  double value = val ? (double)val[k] : 1;
  if (value == 0) return;
  int64_t i = wr_find_row(row_ptr, nrows, k), j = nrows + col[k];
  int scaled = wr_exponent_of(value) + exponent[i] + exponent[j] - WR_NO_EXPONENT;
  raise_to(&largest[i], scaled);
  raise_to(&largest[j], scaled);
}

/* A sweep's end: moves exponent[n], and clears largest[n] for the next sweep. *changed := 1 if one has moved. */
__global__ void __launch_bounds__(THREADS) move_exponents(int64_t n, int *exponent, int *largest, int *changed) {
  int64_t k = this_thread();
  if (k >= n) return;
  int next = wr_exponent_next(exponent[k], largest[k] + WR_NO_EXPONENT);
  if (next != exponent[k]) atomicOr(changed, 1);
  exponent[k] = next;
  largest[k] = 0;
}

/* val[nnz] is scaled in place; with is_pattern 1 it is not read, and every entry was 1. *outside := 1 if a value leaves the
 * normal range, in which the result is exact. */
template <typename T, typename P>
__global__ void __launch_bounds__(THREADS)
    scale_entries(int64_t nrows, int64_t nnz, const P *row_ptr, const int32_t *col, const int *exponent, int is_pattern,
                  T *val, int *outside) {
  constexpr double least = sizeof(T) == sizeof(float) ? (double)FLT_MIN : DBL_MIN;
  constexpr double most = sizeof(T) == sizeof(float) ? (double)FLT_MAX : DBL_MAX;
  int64_t k = this_thread();
  if (k >= nnz) return;
  double value = is_pattern ? 1 : (double)val[k];
  double scaled = ldexp(value, exponent[wr_find_row(row_ptr, nrows, k)] + exponent[nrows + col[k]]);
  if (value != 0 && !(fabs(scaled) >= least && fabs(scaled) <= most)) atomicOr(outside, 1);
  val[k] = (T)scaled;
}

/* ---- Launches by type and width of row pointers ---- */

template <typename T, typename P>
static wr_status raise(wr_env *env, const wr_csr *A, const wr_csr_view *view, const int *exponent, int *largest) {
  return WR_LAUNCH((raise_largest<T, P>), blocks_for(A->nnz), THREADS, 0, env->stream, A->nrows, A->nnz,
                   (const P *)view->row_ptr, view->col, (const T *)view->val, exponent, largest);
}

template <typename T, typename P>
static wr_status scale(wr_env *env, const wr_csr *A, const struct wr_csr_device *view, const int *exponent,
                       int *outside) {
  return WR_LAUNCH((scale_entries<T, P>), blocks_for(A->nnz), THREADS, 0, env->stream, A->nrows, A->nnz,
                   (const P *)view->row_ptr, view->col, exponent, A->val == nullptr, (T *)view->val[env->type],
                   outside);
}

/* ---- Exponents ---- */

static wr_status sweep(wr_env *env, const wr_csr *A, const wr_csr_view *view, int *exponent, int *largest,
                       int *changed) {
  int64_t n = A->nrows + A->ncols;
  decltype(&raise<double, int32_t>) launch = view->wide ? raise<double, int64_t> : raise<double, int32_t>;
  if (env->type == WR_F32) launch = view->wide ? raise<float, int64_t> : raise<float, int32_t>;
  if (A->nnz > 0) PASS(launch(env, A, view, exponent, largest));
  return WR_LAUNCH((move_exponents), blocks_for(n), THREADS, 0, env->stream, n, exponent, largest, changed);
}

extern "C" wr_status wr_csr_equilibrate_device(wr_csr *A, wr_env *env, int *row_exponent, int *column_exponent,
                                               int *sweeps) {
  wr_status status;
  wr_csr_view view;
  int *exponent = nullptr, *largest = nullptr, *changed = nullptr, is_changed = 1, zero = 0, passes = 0;
  TRY(wr_csr_device_view(A, env, &view));
  TRY(wr_device_alloc_zeroed(env, &exponent, A->nrows + A->ncols, sizeof *exponent, "exponents of rows and columns"));
  TRY(wr_device_alloc_zeroed(env, &largest, A->nrows + A->ncols, sizeof *largest, "exponents of rows and columns"));
  TRY(wr_device_alloc(env, &changed, 1, sizeof *changed, "a flag"));
  while (is_changed && passes < WR_EQUILIBRATE_SWEEPS) {
    TRY(wr_device_upload(env, changed, &zero, 1, WR_AS_4_BYTES));
    TRY(sweep(env, A, &view, exponent, largest, changed));
    TRY(wr_device_download(env, &is_changed, changed, 1, WR_AS_4_BYTES));
    passes++;
  }
  TRY(wr_device_download(env, row_exponent, exponent, A->nrows, WR_AS_4_BYTES));
  TRY(wr_device_download(env, column_exponent, exponent + A->nrows, A->ncols, WR_AS_4_BYTES));
  if (sweeps) *sweeps = passes;
done:
  wr_device_free(env, exponent);
  wr_device_free(env, largest);
  wr_device_free(env, changed);
  return status;
}

/* ---- Values ---- */

/* view->val of env's type := the scaled values: those that A's view had, in place, or of a pattern new ones. */
static wr_status scale_values(wr_env *env, const wr_csr *A, struct wr_csr_device *view, const int *exponent,
                              int *outside) {
  wr_status status = WR_OK;
  int *flag = nullptr;
  decltype(&scale<double, int32_t>) launch = view->wide ? scale<double, int64_t> : scale<double, int32_t>;
  if (env->type == WR_F32) launch = view->wide ? scale<float, int64_t> : scale<float, int32_t>;
  TRY(wr_device_alloc_zeroed(env, &flag, 1, sizeof *flag, "a flag"));
  if (A->val == nullptr)
    TRY(wr_device_alloc_shared(env, &view->val[env->type], A->nnz, (size_t)wr_type_bytes(env->type), "matrix values"));
  if (A->nnz > 0) TRY(launch(env, A, view, exponent, flag));
  TRY(wr_device_download(env, outside, flag, 1, WR_AS_4_BYTES)); /* waits, so that other envs may use the values */
done:
  wr_device_free(env, flag);
  return status;
}

extern "C" wr_status wr_csr_scale_device(wr_csr *A, wr_env *env, const int *row_exponent, const int *column_exponent,
                                         wr_csr *to) {
  wr_status status;
  wr_csr_view unused;
  struct wr_csr_device *from, *view = nullptr;
  int *exponent = nullptr, outside = 1;
  TRY(wr_csr_device_view(A, env, &unused));
  if (to->val == nullptr || to->nnz != A->nnz || to->nrows != A->nrows || to->ncols != A->ncols ||
      wr_csr_find_view(to, env))
    TRY(wr_fail(WR_EUSAGE, "a matrix that has a view, no values or another pattern cannot get scaled values"));
  TRY(wr_device_alloc(env, &exponent, A->nrows + A->ncols, sizeof *exponent, "exponents of rows and columns"));
  TRY(wr_device_upload(env, exponent, row_exponent, A->nrows, WR_AS_4_BYTES));
  TRY(wr_device_upload(env, exponent + A->nrows, column_exponent, A->ncols, WR_AS_4_BYTES));
  TRY(wr_csr_share_indices(A, to, env));
  from = wr_csr_find_view(A, env), view = wr_csr_find_view(to, env);
  view->val[env->type] = from->val[env->type], from->val[env->type] = nullptr;
  TRY(scale_values(env, A, view, exponent, &outside));
done:
  if (view && outside) { /* also after an error */
    wr_device_free_shared(env->device, view->val[env->type]);
    view->val[env->type] = nullptr;
  }
  wr_device_free(env, exponent);
  return status;
}
