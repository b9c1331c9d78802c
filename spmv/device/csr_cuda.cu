/* The matrix on devices: one set of index arrays per device, and the values in each type that was asked for. */
#include "config/memory.h"
#include "spmv/csr.h"
#include "spmv/device/check.cuh"
#include "spmv/device/csr_device.h"
#include "spmv/device/cuda_state.h"
#include "spmv/device/device_memory.h"

/* Called by wr_csr_free. */
extern "C" void wr_csr_device_free(struct wr_csr_device *views) {
  while (views) {
    struct wr_csr_device *next = views->next;
    wr_device_free_shared(views->device, views->row_ptr);
    wr_device_free_shared(views->device, views->col);
    wr_device_free_shared(views->device, views->val[WR_F32]);
    wr_device_free_shared(views->device, views->val[WR_F64]);
    wr_free(views);
    views = next;
  }
}

static wr_status upload_indices(wr_csr *A, wr_env *env, struct wr_csr_device *view) {
  wr_status status;
  TRY(wr_csr_host(A, env)); /* it may be on another device alone */
  view->device = env->device;
  view->wide = A->nnz > INT32_MAX;
  TRY(wr_device_alloc_shared(env, &view->row_ptr, A->nrows + 1, view->wide ? 8 : 4, "row pointers"));
  TRY(wr_device_alloc_shared(env, &view->col, A->nnz, sizeof *view->col, "column indices"));
  TRY(wr_device_upload(env, view->row_ptr, A->row_ptr, A->nrows + 1, view->wide ? WR_AS_8_BYTES : WR_I64_AS_I32));
  TRY(wr_device_upload(env, view->col, A->col, A->nnz, WR_AS_4_BYTES));
done:
  return status;
}

/* On failure the view is as it was. */
static wr_status upload_values(wr_csr *A, wr_env *env, struct wr_csr_device *view) {
  wr_status status;
  void *val = NULL;
  TRY(wr_csr_host(A, env)); /* it may be on the device alone, in the other type */
  TRY(wr_csr_check_range(A, env->type == WR_F32));
  TRY(wr_device_alloc_shared(env, &val, A->nnz, (size_t)wr_type_bytes(env->type), "matrix values"));
  TRY(wr_device_upload(env, val, A->val, A->nnz, env->type == WR_F32 ? WR_F64_AS_F32 : WR_AS_8_BYTES));
  /* Another env may use it on its own stream. */
  TRY(WR_CUDA(cudaStreamSynchronize((cudaStream_t)env->stream)));
  view->val[env->type] = val;
  val = NULL;
done:
  wr_device_free_shared(env->device, val);
  return status;
}

/* The indices on env's device, made when there are none. */
static wr_status find_or_make(wr_csr *A, wr_env *env, struct wr_csr_device **found) {
  wr_status status;
  struct wr_csr_device *view = A->device;
  while (view && view->device != env->device) view = view->next;
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
  wr_status status;
  struct wr_csr_device *made;
  TRY(wr_cuda_enter(env));
  TRY(find_or_make(A, env, &made));
  if (A->val && made->val[env->type] == NULL) TRY(upload_values(A, env, made));
  view->wide = made->wide;
  view->row_ptr = made->row_ptr;
  view->col = made->col;
  view->val = A->val ? made->val[env->type] : NULL;
  view->bytes = wr_device_bytes(A->nrows + 1, made->wide ? 8 : 4) + wr_device_bytes(A->nnz, sizeof *made->col);
  if (A->val) view->bytes += wr_device_bytes(A->nnz, (size_t)wr_type_bytes(env->type));
done:
  return status;
}

/* ---- From a device alone to the host ---- */

static wr_status download(const wr_csr *A, const struct wr_csr_device *view, wr_env *env, int64_t *row_ptr,
                          int32_t *col) {
  wr_status status;
  TRY(wr_device_download(env, row_ptr, view->row_ptr, A->nrows + 1, view->wide ? WR_AS_8_BYTES : WR_I64_AS_I32));
  TRY(wr_device_download(env, col, view->col, A->nnz, WR_AS_4_BYTES));
  if (A->val) TRY(wr_device_download(env, A->val, view->val[WR_F64], A->nnz, WR_AS_8_BYTES));
done:
  return status;
}

/* What is on a device alone has one view, and values in f64. */
extern "C" wr_status wr_csr_host(wr_csr *A, wr_env *env) {
  wr_status status;
  int64_t *row_ptr = NULL;
  int32_t *col = NULL;
  wr_env own = {};
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
