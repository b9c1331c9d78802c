/* cuSPARSE's CSR multiply, the vendor's kernels. The matrix is the shared device view; this plan adds the library's
 * preprocessing buffer and, for a pattern, an array of ones, because the library knows no matrix without values. */
#include <cuda_runtime_api.h>
#include <cusparse.h>
#include <stdio.h>

#include "spmv/csr_model.h"
#include "spmv/device/check.cuh"
#include "spmv/device/device_memory.h"

typedef struct cusparse_knobs {
  int alg; /* position in the choices: 0 is algorithm 1 */
} cusparse_knobs;

typedef struct cusparse_state {
  cusparseHandle_t handle;
  cusparseSpMatDescr_t matrix;
  cusparseDnVecDescr_t x, y; /* their pointers are set in every apply */
  cusparseSpMVAlg_t algorithm;
  cudaDataType_t type;
  void *buffer;
  int device, empty; /* empty: no entries; the library is not asked */
  wr_vec ones;       /* [nnz] for a pattern, else not allocated     */
} cusparse_state;

static const wr_knob knobs[] = {
    {.name = "alg", .type = WR_OPTION_CHOICE, .offset = offsetof(cusparse_knobs, alg), .choices = "1|2", .value = "1",
     .help = "CUSPARSE_SPMV_CSR_ALG1, or ALG2, which gives the same bits every time"},
    {.name = NULL},
};

static int is_deterministic(const void *k) { return ((const cusparse_knobs *)k)->alg == 1; }

static wr_status check(const wr_env *env, const wr_csr *A, const void *k) {
  if (env->deterministic && !is_deterministic(k))
    return wr_fail(WR_EUNAVAILABLE, "cusparse:alg=1 may give other bits from run to run; cusparse:alg=2 does not");
  if (A && A->nnz > INT32_MAX)
    return wr_fail(
        WR_EUNAVAILABLE,
        "cusparse wants row pointers as narrow as columns, 32 bits, and %lld entries need 64; cpu_csr takes them",
        (long long)A->nnz);
  return WR_OK;
}

static wr_status plan(const wr_env *env, const wr_csr *A, const void *k, wr_plan_info *info) {
  int64_t ones_bytes = A->val ? 0 : A->nnz * wr_type_bytes(env->type);
  wr_csr_estimate(env, A, info);
  info->format_bytes += ones_bytes;
  info->apply_bytes += (double)ones_bytes;
  info->extra_bytes = ones_bytes;
  info->deterministic = is_deterministic(k);
  info->sum_unit = wr_type_unit(env->type);
  snprintf(info->line, sizeof info->line, "CSR, algorithm %d, preprocessed%s%s", ((const cusparse_knobs *)k)->alg + 1,
           env->type == WR_F32 ? "; row sums in f32: the library has no f64 sums for f32 vectors" : "",
           A->val ? "" : "; ones stored as values");
  return WR_OK;
}

/* A pattern's values, and the matrix as the library describes it. */
static wr_status describe(cusparse_state *s, wr_env *env, wr_csr *A, wr_plan_info *info) {
  wr_status status;
  wr_csr_view view;
  TRY(wr_csr_borrow(A, env, &view, info));
  if (!A->val) {
    TRY(env->ops->alloc(env, A->nnz, env->type, "ones as the values of a pattern", &s->ones));
    TRY(env->ops->fill(env, &s->ones, 1));
  }
  const void *val = A->val ? view.val : s->ones.data;
  TRY(WR_CUSPARSE(cusparseCreateCsr(&s->matrix, A->nrows, A->ncols, A->nnz, (void *)view.row_ptr, (void *)view.col,
                                    (void *)val, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO,
                                    s->type)));
  info->extra_bytes = A->val ? 0 : wr_device_bytes(A->nnz, (size_t)wr_type_bytes(env->type));
done:
  return status;
}

/* The library wants vectors to preprocess with: two of the right lengths for the moment. */
static wr_status preprocess(cusparse_state *s, wr_env *env, const wr_csr *A, wr_plan_info *info) {
  wr_status status;
  wr_vec x = {0}, y = {0};
  const double one_f64 = 1, zero_f64 = 0;
  const float one_f32 = 1, zero_f32 = 0;
  const void *one = s->type == CUDA_R_32F ? (const void *)&one_f32 : &one_f64;
  const void *zero = s->type == CUDA_R_32F ? (const void *)&zero_f32 : &zero_f64;
  size_t bytes = 0;
  TRY(env->ops->alloc(env, A->ncols, env->type, "x of the preprocessing", &x));
  TRY(env->ops->alloc(env, A->nrows, env->type, "y of the preprocessing", &y));
  TRY(WR_CUSPARSE(cusparseCreateDnVec(&s->x, A->ncols, x.data, s->type)));
  TRY(WR_CUSPARSE(cusparseCreateDnVec(&s->y, A->nrows, y.data, s->type)));
  TRY(WR_CUSPARSE(cusparseSpMV_bufferSize(s->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, one, s->matrix, s->x, zero, s->y,
                                          s->type, s->algorithm, &bytes)));
  TRY(wr_device_alloc(env, &s->buffer, (int64_t)bytes, 1, "cuSPARSE's buffer"));
  TRY(WR_CUSPARSE(cusparseSpMV_preprocess(s->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, one, s->matrix, s->x, zero, s->y,
                                          s->type, s->algorithm, s->buffer)));
  info->extra_bytes += wr_device_bytes((int64_t)bytes, 1);
  TRY(env->ops->wait(env)); /* x and y go */
done:
  env->ops->release(env, &x);
  env->ops->release(env, &y);
  return status;
}

static wr_status prepare(void *state, wr_env *env, wr_csr *A, const void *k, wr_plan_info *info) {
  wr_status status;
  cusparse_state *s = state;
  *s = (cusparse_state){
      .algorithm = ((const cusparse_knobs *)k)->alg == 0 ? CUSPARSE_SPMV_CSR_ALG1 : CUSPARSE_SPMV_CSR_ALG2,
      .type = env->type == WR_F32 ? CUDA_R_32F : CUDA_R_64F,
      .device = env->device,
      .empty = A->nnz == 0};
  if (s->empty) {
    info->extra_bytes = info->borrowed_bytes = 0;
    return WR_OK;
  }
  TRY(WR_CUDA(cudaSetDevice(env->device)));
  TRY(WR_CUSPARSE(cusparseCreate(&s->handle)));
  TRY(WR_CUSPARSE(cusparseSetStream(s->handle, (cudaStream_t)env->stream)));
  TRY(describe(s, env, A, info));
  TRY(preprocess(s, env, A, info));
done:
  return status;
}

/* y = beta*y without reading what need not be read. */
static wr_status scale_only(wr_env *env, wr_vec *y, double beta) {
  if (beta == 0) return env->ops->fill(env, y, 0);
  if (beta == 1) return WR_OK;
  wr_fused scale = {.in = {y}, .out = {y}, .c = {{{.factor = beta}}}};
  return env->ops->fused(env, &scale);
}

static wr_status apply(void *state, wr_env *env, const wr_apply_args *args) {
  wr_status status;
  cusparse_state *s = state;
  const wr_apply *request = &args->request;
  const float alpha_f32 = (float)request->alpha, beta_f32 = (float)request->beta;
  const void *alpha = s->type == CUDA_R_32F ? (const void *)&alpha_f32 : &request->alpha;
  const void *beta = s->type == CUDA_R_32F ? (const void *)&beta_f32 : &request->beta;
  if (s->empty || request->alpha == 0) return scale_only(env, request->y, request->beta);
  TRY(WR_CUDA(cudaSetDevice(env->device)));
  TRY(WR_CUSPARSE(cusparseDnVecSetValues(s->x, request->x->data)));
  TRY(WR_CUSPARSE(cusparseDnVecSetValues(s->y, request->y->data)));
  TRY(WR_CUSPARSE(cusparseSpMV(s->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, alpha, s->matrix, s->x, beta, s->y, s->type,
                               s->algorithm, s->buffer)));
done:
  return status;
}

/* What fails here has nobody to tell: a device error was reported by the call that met it. */
static void destroy(void *state, wr_env *env) {
  cusparse_state *s = state;
  if (s->handle) (void)cudaSetDevice(s->device);
  if (s->x) (void)cusparseDestroyDnVec(s->x);
  if (s->y) (void)cusparseDestroyDnVec(s->y);
  if (s->matrix) (void)cusparseDestroySpMat(s->matrix);
  if (s->handle) (void)cusparseDestroy(s->handle);
  wr_device_free(s->device, s->buffer);
  if (s->ones.id) env->ops->release(env, &s->ones);
}

const wr_backend wr_backend_cusparse = {
    .name = "cusparse",
    .summary = "cuSPARSE CSR, preprocessed",
    .source = "NVIDIA cuSPARSE, generic API",
    .place = WR_CUDA,
    .caps = WR_CAP_BETA | WR_CAP_PATTERN | WR_CAP_RECTANGULAR | WR_CAP_F32 | WR_CAP_F64,
    .knobs = knobs,
    .knobs_size = sizeof(cusparse_knobs),
    .state_size = sizeof(cusparse_state),
    .check = check,
    .plan = plan,
    .prepare = prepare,
    .apply = apply,
    .destroy = destroy,
};
