#include "spmv/backends/cusparse/cusparse_common.h"

#include "spmv/backends/csr_model.h"
#include "spmv/device/cuda_state.h"
#include "spmv/device/device_memory.h"

const char *wr_cusparse_sums(wr_type type) {
  return type == WR_F32 ? "; row sums in f32: the library has no f64 sums for f32 vectors" : "";
}

wr_status wr_cusparse_open(wr_cusparse *s, wr_env *env, const wr_csr *A, cusparseSpMVAlg_t algorithm) {
  *s = (wr_cusparse){.algorithm = algorithm,
                     .type = env->type == WR_F32 ? CUDA_R_32F : CUDA_R_64F,
                     .device = env->device,
                     .empty = A->nnz == 0};
  if (s->empty) return WR_OK;
  PASS(WR_CUDA(cudaSetDevice(env->device)));
  PASS(WR_CUSPARSE(cusparseCreate(&s->handle)));
  return WR_CUSPARSE(cusparseSetStream(s->handle, (cudaStream_t)env->stream));
}

wr_status wr_cusparse_values(wr_cusparse *s, wr_env *env, const wr_csr *A, const wr_csr_view *view, void **val,
                             wr_plan_info *info) {
  *val = (void *)view->val;
  if (view->val) return WR_OK;
  PASS(env->ops->alloc(env, A->nnz, env->type, "ones as the values of a pattern", &s->ones));
  PASS(env->ops->fill(env, &s->ones, 1));
  info->extra_bytes += wr_device_bytes(A->nnz, (size_t)wr_type_bytes(env->type));
  *val = s->ones.data;
  return WR_OK;
}

wr_status wr_cusparse_update_view(void *state, wr_env *env, wr_csr *A, int *moved) {
  wr_cusparse *s = state;
  wr_csr_view before = s->view;
  if (s->empty) return WR_OK;
  PASS(wr_csr_update_view(&s->view, env, A, moved));
  if (s->view.row_ptr != before.row_ptr || s->view.col != before.col)
    return wr_fail(WR_EUNAVAILABLE, "cuSPARSE has preprocessed other indices");
  if (*moved) PASS(WR_CUSPARSE(cusparseSpMatSetValues(s->matrix, (void *)s->view.val)));
  return WR_OK;
}

wr_status wr_cusparse_check_padding(const wr_env *env, const wr_csr *A, const char *what, double bytes) {
  const double most = 20, always_fine = 64e6;
  double entry_bytes = (double)(sizeof *A->col + (size_t)wr_type_bytes(env->type));
  double row_bytes = (double)(A->nrows + 1) * sizeof(int32_t) + (double)A->nnz * entry_bytes; /* of plain rows */
  int64_t free_bytes = 0, total_bytes;
  if (bytes <= always_fine) return WR_OK;
  if (bytes > most * row_bytes)
    return wr_fail(
        WR_EUNAVAILABLE,
        "%s, padding included, take %.1f MB, %.0f times the %.1f MB of plain rows; cusparse takes the matrix "
        "without padding",
        what, bytes / 1e6, bytes / row_bytes, row_bytes / 1e6);
  if (env->ops == NULL) return WR_OK;
  wr_status status = env->ops->memory((wr_env *)env, &free_bytes, &total_bytes); /* which does not change env */
  if (status == WR_OK && bytes > (double)free_bytes)
    return wr_fail(WR_EUNAVAILABLE,
                   "%s, padding included, take %.1f MB, and %.1f MB of device memory are free; cusparse takes the "
                   "matrix without padding, in %.1f MB",
                   what, bytes / 1e6, (double)free_bytes / 1e6, row_bytes / 1e6);
  return status;
}

/* Some formats need no preprocessing and say so by an error; a real one is reported by the multiply itself. */
static wr_status preprocess(wr_cusparse *s, const void *one, const void *zero) {
  cusparseStatus_t answer = cusparseSpMV_preprocess(s->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, one, s->matrix, s->x,
                                                    zero, s->y, s->type, s->algorithm, s->buffer);
  if (answer == CUSPARSE_STATUS_NOT_SUPPORTED || answer == CUSPARSE_STATUS_INVALID_VALUE) return WR_OK;
  return wr_cusparse_check(answer, "cusparseSpMV_preprocess");
}

/* The library needs vectors for preprocessing: temporary ones of the right lengths. */
wr_status wr_cusparse_preprocess(wr_cusparse *s, wr_env *env, int64_t nrows, int64_t ncols, wr_plan_info *info) {
  wr_status status;
  wr_vec x = {0}, y = {0};
  const double one_f64 = 1, zero_f64 = 0;
  const float one_f32 = 1, zero_f32 = 0;
  const void *one = s->type == CUDA_R_32F ? (const void *)&one_f32 : &one_f64;
  const void *zero = s->type == CUDA_R_32F ? (const void *)&zero_f32 : &zero_f64;
  size_t bytes = 0;
  TRY(env->ops->alloc(env, ncols, env->type, "x of the preprocessing", &x));
  TRY(env->ops->alloc(env, nrows, env->type, "y of the preprocessing", &y));
  TRY(WR_CUSPARSE(cusparseCreateDnVec(&s->x, ncols, x.data, s->type)));
  TRY(WR_CUSPARSE(cusparseCreateDnVec(&s->y, nrows, y.data, s->type)));
  TRY(WR_CUSPARSE(cusparseSpMV_bufferSize(s->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, one, s->matrix, s->x, zero, s->y,
                                          s->type, s->algorithm, &bytes)));
  TRY(wr_device_alloc(env, &s->buffer, (int64_t)bytes, 1, "cuSPARSE's buffer"));
  TRY(preprocess(s, one, zero));
  info->extra_bytes += wr_device_bytes((int64_t)bytes, 1);
  TRY(env->ops->wait(env)); /* before x and y are freed */
done:
  env->ops->release(env, &x);
  env->ops->release(env, &y);
  return status;
}

/* y = beta*y, without reading y for beta 0, and without any work for beta 1. */
static wr_status scale_only(wr_env *env, wr_vec *y, double beta) {
  if (beta == 0) return env->ops->fill(env, y, 0);
  if (beta == 1) return WR_OK;
  wr_fused scale = {.in = {y}, .out = {y}, .c = {{{.factor = beta}}}};
  return env->ops->fused(env, &scale);
}

wr_status wr_cusparse_apply(void *state, wr_env *env, const wr_apply_args *args) {
  wr_cusparse *s = state;
  const wr_apply *request = &args->request;
  const float alpha_f32 = (float)request->alpha, beta_f32 = (float)request->beta;
  const void *alpha = s->type == CUDA_R_32F ? (const void *)&alpha_f32 : &request->alpha;
  const void *beta = s->type == CUDA_R_32F ? (const void *)&beta_f32 : &request->beta;
  if (s->empty || request->alpha == 0) return scale_only(env, request->y, request->beta);
  PASS(WR_CUDA(cudaSetDevice(env->device)));
  PASS(WR_CUSPARSE(cusparseDnVecSetValues(s->x, request->x->data)));
  PASS(WR_CUSPARSE(cusparseDnVecSetValues(s->y, request->y->data)));
  PASS(WR_CUSPARSE(cusparseSpMV(s->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, alpha, s->matrix, s->x, beta, s->y,
                                s->type, s->algorithm, s->buffer)));
  ((wr_cuda_state *)env->state)->foreign = 1;
  return WR_OK;
}

/* Errors are ignored: a device error was reported by the call that met it. */
void wr_cusparse_close(wr_cusparse *s, wr_env *env) {
  if (s->handle) (void)cudaSetDevice(s->device);
  if (s->x) (void)cusparseDestroyDnVec(s->x);
  if (s->y) (void)cusparseDestroyDnVec(s->y);
  if (s->matrix) (void)cusparseDestroySpMat(s->matrix);
  if (s->handle) (void)cusparseDestroy(s->handle);
  wr_device_free(env, s->buffer);
  if (s->ones.id) env->ops->release(env, &s->ones);
}
