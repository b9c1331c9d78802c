/* cuSPARSE's CSR multiply. The matrix is the shared device view; this plan adds the library's preprocessing buffer and, for a
 * pattern, an array of ones, because the library has no matrices without values. */
#include <stdio.h>

#include "spmv/backends/csr_model.h"
#include "spmv/backends/cusparse/cusparse_common.h"

typedef struct cusparse_knobs {
  int alg; /* position in the choices: 0 is algorithm 1 */
} cusparse_knobs;

static const wr_knob knobs[] = {
    {.name = "alg", .type = WR_OPTION_CHOICE, .offset = offsetof(cusparse_knobs, alg), .choices = "1|2", .value = "1",
     .help = "CUSPARSE_SPMV_CSR_ALG1, or ALG2, which gives the same bits every time"},
    {.name = NULL},
};

static int is_deterministic(const void *k) { return ((const cusparse_knobs *)k)->alg == 1; }

static wr_status check(const wr_env *env, const wr_csr *A, const void *k) {
  if (env->deterministic && !is_deterministic(k))
    return wr_fail(WR_EUNAVAILABLE, "cusparse:alg=1 may give different bits in each run; cusparse:alg=2 does not");
  if (A && A->nnz > INT32_MAX)
    return wr_fail(WR_EUNAVAILABLE,
                   "cusparse needs row pointers of 32 bits, like columns, and %lld entries need 64; cpu_csr takes them",
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
           wr_cusparse_sums(env->type), A->val ? "" : "; ones stored as values");
  return WR_OK;
}

/* Creates the library's descriptor of the matrix. */
static wr_status describe(wr_cusparse *s, wr_env *env, wr_csr *A, wr_plan_info *info) {
  wr_csr_view *view = &s->view;
  void *val;
  PASS(wr_csr_borrow(A, env, view, info));
  PASS(wr_cusparse_values(s, env, A, view, &val, info));
  return WR_CUSPARSE(cusparseCreateCsr(&s->matrix, A->nrows, A->ncols, A->nnz, (void *)view->row_ptr, (void *)view->col,
                                       val, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, s->type));
}

static wr_status prepare(void *state, wr_env *env, wr_csr *A, const void *k, wr_plan_info *info) {
  wr_cusparse *s = state;
  info->extra_bytes = info->borrowed_bytes = 0;
  PASS(wr_cusparse_open(s, env, A, is_deterministic(k) ? CUSPARSE_SPMV_CSR_ALG2 : CUSPARSE_SPMV_CSR_ALG1));
  if (s->empty) return WR_OK;
  PASS(describe(s, env, A, info));
  return wr_cusparse_preprocess(s, env, A->nrows, A->ncols, info);
}

static void destroy(void *state, wr_env *env) { wr_cusparse_close(state, env); }

const wr_backend wr_backend_cusparse = {
    .name = "cusparse",
    .summary = "cuSPARSE CSR, preprocessed",
    .source = "NVIDIA cuSPARSE, generic API",
    .place = WR_CUDA,
    .caps = WR_CAP_BETA | WR_CAP_PATTERN | WR_CAP_RECTANGULAR | WR_CAP_F32 | WR_CAP_F64 | WR_CAP_DEVICE_ROWS |
            WR_CAP_PLAIN_ROWS | WR_CAP_VENDOR,
    .knobs = knobs,
    .knobs_size = sizeof(cusparse_knobs),
    .state_size = sizeof(wr_cusparse),
    .check = check,
    .plan = plan,
    .prepare = prepare,
    .apply = wr_cusparse_apply,
    .destroy = destroy,
    .update_values = wr_cusparse_update_view,
};
