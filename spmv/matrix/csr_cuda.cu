/* Device views: one set of index arrays for each device, and values in each type that was requested. */
#include "config/memory.h"
#include "spmv/matrix/csr_feed.h"
#include "spmv/device/check.cuh"
#include "spmv/matrix/csr_device.h"
#include "spmv/matrix/csr_upload.h"
#include "spmv/device/cuda_state.h"
#include "spmv/device/device_memory.h"
#include "spmv/device/vec_argument.h"

/* Several threads may free matrices that share indices. */
static void free_indices(struct wr_csr_device *view) {
  if (view->sharers && __atomic_sub_fetch(view->sharers, 1, __ATOMIC_ACQ_REL) > 0) return;
  wr_device_free_shared(view->device, view->row_ptr);
  wr_device_free_shared(view->device, view->col);
  wr_free(view->sharers);
}

/* Called by wr_csr_free. */
extern "C" void wr_csr_device_free(struct wr_csr_device *views) {
  while (views) {
    struct wr_csr_device *next = views->next;
    free_indices(views);
    wr_device_free_shared(views->device, views->val[WR_F32]);
    wr_device_free_shared(views->device, views->val[WR_F64]);
    wr_free(views);
    views = next;
  }
}

/* ---- Parts of a view: row pointers, columns and values [from, to) ---- */

static wr_status alloc_indices(const wr_csr *A, wr_env *env, struct wr_csr_device *view) {
  view->device = env->device;
  view->wide = A->nnz > INT32_MAX;
  PASS(wr_device_alloc_shared(env, &view->row_ptr, A->nrows + 1, view->wide ? 8 : 4, "row pointers"));
  return wr_device_alloc_shared(env, &view->col, A->nnz, sizeof *view->col, "column indices");
}

static wr_status alloc_values(const wr_csr *A, wr_env *env, void **val) {
  return wr_device_alloc_shared(env, val, A->nnz, (size_t)wr_type_bytes(env->type), "matrix values");
}

static wr_status send_row_ptr(const wr_csr *A, wr_env *env, const struct wr_csr_device *view, int64_t from,
                              int64_t to) {
  char *there = (char *)view->row_ptr + from * (view->wide ? 8 : 4);
  return wr_device_upload(env, there, A->row_ptr + from, to - from, view->wide ? WR_AS_8_BYTES : WR_I64_AS_I32);
}

static wr_status send_col(const wr_csr *A, wr_env *env, const struct wr_csr_device *view, int64_t from, int64_t to) {
  return wr_device_upload(env, view->col + from, A->col + from, to - from, WR_AS_4_BYTES);
}

static wr_status send_val(const wr_csr *A, wr_env *env, void *val, int64_t from, int64_t to) {
  return wr_device_upload(env, (char *)val + from * wr_type_bytes(env->type), A->val + from, to - from,
                          env->type == WR_F32 ? WR_F64_AS_F32 : WR_AS_8_BYTES);
}

/* ---- All at once ---- */

static wr_status upload_indices(wr_csr *A, wr_env *env, struct wr_csr_device *view) {
  PASS(wr_csr_host(A, env)); /* A may be on another device only */
  PASS(alloc_indices(A, env, view));
  PASS(send_row_ptr(A, env, view, 0, A->nrows + 1));
  return send_col(A, env, view, 0, A->nnz);
}

/* On failure the view is unchanged. */
static wr_status upload_values(wr_csr *A, wr_env *env, struct wr_csr_device *view) {
  wr_status status;
  void *val = NULL;
  TRY(wr_csr_host(A, env)); /* A may be on the device only, in the other type */
  TRY(wr_csr_check_range(A, env->type == WR_F32));
  TRY(alloc_values(A, env, &val));
  TRY(send_val(A, env, val, 0, A->nnz));
  /* another env may use it on its own stream */
  TRY(WR_CUDA(cudaStreamSynchronize((cudaStream_t)env->stream)));
  view->val[env->type] = val, view->stale[env->type] = 0;
  val = NULL;
done:
  wr_device_free_shared(env->device, val);
  return status;
}

/* Uploads the host's values to the existing array, as plans keep its address. On failure it keeps the old values, or stays
 * stale. */
static wr_status refresh_values(wr_csr *A, wr_env *env, struct wr_csr_device *view) {
  PASS(wr_csr_check_range(A, env->type == WR_F32));
  PASS(send_val(A, env, view->val[env->type], 0, A->nnz));
  PASS(WR_CUDA(cudaStreamSynchronize((cudaStream_t)env->stream))); /* another env may use it on its own stream */
  view->stale[env->type] = 0;
  return WR_OK;
}

extern "C" struct wr_csr_device *wr_csr_find_view(const wr_csr *A, const wr_env *env) {
  struct wr_csr_device *view = A->device;
  while (view && view->device != env->device) view = view->next;
  return view;
}

extern "C" wr_status wr_csr_create_on_device(wr_env *env, int64_t nrows, int64_t ncols, int64_t nnz, int with_values,
                                             int wide, wr_csr **out) {
  wr_status status;
  wr_csr *A = NULL;
  *out = NULL;
  TRY(wr_alloc_zeroed(&A, 1, sizeof *A, "a matrix"));
  A->nrows = nrows, A->ncols = ncols, A->nnz = nnz;
  if (with_values) TRY(wr_alloc(&A->val, nnz, sizeof *A->val, "the values"));
  TRY(wr_alloc_zeroed(&A->device, 1, sizeof *A->device, "a device view"));
  A->device->device = env->device, A->device->wide = wide;
  TRY(wr_device_alloc_shared(env, &A->device->row_ptr, nrows + 1, wide ? 8 : 4, "row pointers"));
  TRY(wr_device_alloc_shared(env, &A->device->col, nnz, sizeof *A->device->col, "column indices"));
  if (with_values) TRY(wr_device_alloc_shared(env, &A->device->val[WR_F64], nnz, sizeof(double), "matrix values"));
  *out = A, A = NULL;
done:
  wr_csr_free(A);
  return status;
}

extern "C" wr_status wr_csr_share_indices(const wr_csr *from, wr_csr *to, wr_env *env) {
  struct wr_csr_device *first = wr_csr_find_view(from, env), *view = NULL;
  if (first == NULL || wr_csr_find_view(to, env)) return WR_OK;
  if (first->sharers == NULL) {
    PASS(wr_alloc(&first->sharers, 1, sizeof *first->sharers, "a device view"));
    *first->sharers = 1;
  }
  PASS(wr_alloc_zeroed(&view, 1, sizeof *view, "a device view"));
  __atomic_add_fetch(first->sharers, 1, __ATOMIC_RELAXED);
  view->device = first->device, view->wide = first->wide;
  view->row_ptr = first->row_ptr, view->col = first->col, view->sharers = first->sharers;
  view->next = to->device;
  to->device = view;
  return WR_OK;
}

/* *found := the view on env's device, with indices; made if there is none. */
static wr_status find_or_upload(wr_csr *A, wr_env *env, struct wr_csr_device **found) {
  wr_status status;
  struct wr_csr_device *view = wr_csr_find_view(A, env);
  *found = view;
  if (view) return WR_OK;
  TRY(wr_alloc_zeroed(&view, 1, sizeof *view, "a device view"));
  TRY(upload_indices(A, env, view));
  TRY(WR_CUDA(cudaStreamSynchronize((cudaStream_t)env->stream)));
  view->next = A->device;
  A->device = *found = view;
  view = NULL;
done:
  wr_csr_device_free(view);
  return status;
}

extern "C" wr_status wr_csr_device_view(wr_csr *A, wr_env *env, wr_csr_view *view) {
  struct wr_csr_device *made;
  WR_NEED(A);
  WR_NEED(view);
  WR_NEED_OPEN(env);
  PASS(wr_cuda_enter(env));
  PASS(find_or_upload(A, env, &made));
  if (A->val && made->val[env->type] == NULL) PASS(upload_values(A, env, made));
  if (A->val && made->stale[env->type]) PASS(refresh_values(A, env, made));
  view->wide = made->wide;
  view->row_ptr = made->row_ptr;
  view->col = made->col;
  view->val = A->val ? made->val[env->type] : NULL;
  view->bytes = wr_device_bytes(A->nrows + 1, made->wide ? 8 : 4) + wr_device_bytes(A->nnz, sizeof *made->col);
  if (A->val) view->bytes += wr_device_bytes(A->nnz, (size_t)wr_type_bytes(env->type));
  return WR_OK;
}

/* ---- Piece by piece ---- */

extern "C" void wr_csr_upload_drop(wr_csr_upload *upload) {
  if (upload == NULL) return;
  wr_csr_device_free(upload->view);
  wr_free(upload);
}

extern "C" wr_status wr_csr_upload_begin(wr_csr *A, wr_env *env, wr_csr_upload **upload) {
  wr_status status;
  wr_csr_upload *u = NULL;
  TRY(wr_cuda_enter(env));
  TRY(wr_alloc_zeroed(&u, 1, sizeof *u, "an upload"));
  u->A = A, u->env = env;
  TRY(wr_alloc_zeroed(&u->view, 1, sizeof *u->view, "a device view"));
  TRY(alloc_indices(A, env, u->view));
  if (A->val) TRY(alloc_values(A, env, &u->view->val[env->type]));
done:
  if (status != WR_OK) wr_csr_upload_drop(u), u = NULL;
  *upload = u;
  return status;
}

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

static wr_status check_values(const double *val, int64_t count) {
  int64_t k = wr_first_beyond_f32(val, count);
  return k == count ? WR_OK : wr_fail(WR_ENUMERIC, "the value %g is beyond f32: use -p f64", val[k]);
}

extern "C" wr_status wr_csr_upload_more(wr_csr_upload *u, int64_t rows, int64_t most, int *left) {
  wr_status status;
  wr_env *env = u->env;
  const wr_csr *A = u->A;
  int64_t last_pointer = rows > 0 ? rows + 1 : 0, last_entry = rows > 0 ? A->row_ptr[rows] : 0;
  int64_t pointers = smaller(last_pointer, u->pointers + most), entries = smaller(last_entry, u->entries + most);
  if (pointers > u->pointers) TRY(send_row_ptr(A, env, u->view, u->pointers, pointers));
  if (pointers > u->pointers) u->pointers = pointers;
  if (entries > u->entries) {
    if (A->val && env->type == WR_F32) TRY(check_values(A->val + u->entries, entries - u->entries));
    TRY(send_col(A, env, u->view, u->entries, entries));
    if (A->val) TRY(send_val(A, env, u->view->val[env->type], u->entries, entries));
    u->entries = entries;
  }
done:
  *left = u->pointers < last_pointer || u->entries < last_entry;
  return status;
}

extern "C" wr_status wr_csr_upload_end(wr_csr_upload *u) {
  wr_status status;
  if (u->pointers <= u->A->nrows || u->entries < u->A->nnz)
    TRY(wr_fail(WR_EUSAGE, "an upload ends before all rows are uploaded"));
  TRY(wr_cuda_enter(u->env));
  TRY(WR_CUDA(cudaStreamSynchronize((cudaStream_t)u->env->stream))); /* another env may use it on its own stream */
  u->view->next = u->A->device;
  u->A->device = u->view;
  u->view = NULL;
done:
  wr_csr_upload_drop(u);
  return status;
}

/* ---- From a device to the host ---- */

static wr_status download(const wr_csr *A, const struct wr_csr_device *view, wr_env *env, int64_t *row_ptr,
                          int32_t *col) {
  PASS(wr_device_download(env, row_ptr, view->row_ptr, A->nrows + 1, view->wide ? WR_AS_8_BYTES : WR_I64_AS_I32));
  PASS(wr_device_download(env, col, view->col, A->nnz, WR_AS_4_BYTES));
  if (A->val) PASS(wr_device_download(env, A->val, view->val[WR_F64], A->nnz, WR_AS_8_BYTES));
  return WR_OK;
}

/* A matrix without host arrays has one view, with values in f64. */
extern "C" wr_status wr_csr_host(wr_csr *A, wr_env *env) {
  wr_status status;
  int64_t *row_ptr = NULL;
  int32_t *col = NULL;
  wr_env own = {};
  WR_NEED(A);
  WR_REFUSE_IF(A->row_ptr == NULL && A->device == NULL, "A has neither host arrays nor a device view");
  own.place = WR_CUDA, own.type = WR_F64;
  if (A->row_ptr) return WR_OK;
  own.device = A->device->device;
  if (env == NULL || env->place != WR_CUDA || env->state == NULL || env->device != own.device) {
    TRY(wr_env_open(&own));
    env = &own;
  }
  TRY(wr_alloc(&row_ptr, A->nrows + 1, sizeof *row_ptr, "the row pointers"));
  TRY(wr_alloc(&col, A->nnz, sizeof *col, "the column indices"));
  TRY(download(A, A->device, env, row_ptr, col));
  A->row_ptr = row_ptr, A->col = col;
  row_ptr = NULL, col = NULL;
done:
  wr_free(row_ptr);
  wr_free(col);
  wr_env_close(&own);
  return status;
}
