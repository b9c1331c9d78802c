/* cuSPARSE's COO multiply: columns and values are those of the shared device view; this plan adds the row of every entry, the
 * library's buffer and, for a pattern, ones. */
#include <stdio.h>

#include "spmv/backends/csr_model.h"
#include "spmv/backends/cusparse/cusparse_build.h"
#include "spmv/backends/cusparse/cusparse_common.h"
#include "spmv/device/device_memory.h"
#include "spmv/matrix/transpose.h"

typedef struct coo_knobs {
  int alg; /* position in the choices: 0 is algorithm 1 */
} coo_knobs;

typedef struct coo_state {
  wr_cusparse library;
  int32_t *row; /* [nnz] on the device, ascending */
} coo_state;

static const wr_knob knobs[] = {
    {.name = "alg", .type = WR_OPTION_CHOICE, .offset = offsetof(coo_knobs, alg), .choices = "1|2", .value = "1",
     .help = "CUSPARSE_SPMV_COO_ALG1, or ALG2, which gives the same bits every time"},
    {.name = NULL},
};

static int is_deterministic(const void *k) { return ((const coo_knobs *)k)->alg == 1; }

static wr_status check(const wr_env *env, const wr_csr *A, const void *k) {
  if (env->deterministic && !is_deterministic(k))
    return wr_fail(WR_EUNAVAILABLE,
                   "cusparse_coo:alg=1 may give different bits in each run; cusparse_coo:alg=2 does not");
  if (A && A->nnz > INT32_MAX)
    return wr_fail(WR_EUNAVAILABLE,
                   "cusparse_coo counts entries with 32 bits, at most 2147483647, not %lld; csr_warp takes them",
                   (long long)A->nnz);
  return WR_OK;
}

static wr_status plan(const wr_env *env, const wr_csr *A, const void *k, wr_plan_info *info) {
  int64_t type_bytes = wr_type_bytes(env->type), row_bytes = A->nnz * (int64_t)sizeof(int32_t);
  int64_t val_bytes = A->nnz * type_bytes;
  *info = (wr_plan_info){.format_bytes = 2 * row_bytes + val_bytes, /* columns are as wide as rows */
                         .extra_bytes = row_bytes + (A->val ? 0 : val_bytes),
                         .borrowed_bytes = row_bytes + (A->val ? val_bytes : 0),
                         .deterministic = is_deterministic(k),
                         .sum_unit = wr_type_unit(env->type)};
  info->apply_bytes = (double)(info->format_bytes + (A->nrows + A->ncols) * type_bytes);
  snprintf(info->line, sizeof info->line, "COO, algorithm %d, preprocessed%s%s", ((const coo_knobs *)k)->alg + 1,
           wr_cusparse_sums(env->type), A->val ? "" : "; ones stored as values");
  return WR_OK;
}

/* Makes the entries' rows and the library's descriptor of the matrix. */
static wr_status describe(coo_state *s, wr_env *env, wr_csr *A, wr_plan_info *info) {
  wr_csr_view *view = &s->library.view;
  void *val;
  PASS(wr_csr_borrow(A, env, view, info));
  info->borrowed_bytes -= wr_device_bytes(A->nrows + 1, sizeof(int32_t)); /* row pointers are not needed in apply */
  PASS(wr_device_alloc(env, &s->row, A->nnz, sizeof *s->row, "row indices"));
  info->extra_bytes += wr_device_bytes(A->nnz, sizeof *s->row);
  PASS(wr_device_entry_rows(env, A->nrows, view, 0, A->nnz, s->row));
  PASS(wr_cusparse_values(&s->library, env, A, view, &val, info));
  return WR_CUSPARSE(cusparseCreateCoo(&s->library.matrix, A->nrows, A->ncols, A->nnz, s->row, (void *)view->col, val,
                                       CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, s->library.type));
}

static wr_status prepare(void *state, wr_env *env, wr_csr *A, const void *k, wr_plan_info *info) {
  coo_state *s = state;
  info->extra_bytes = info->borrowed_bytes = 0;
  PASS(wr_cusparse_open(&s->library, env, A, is_deterministic(k) ? CUSPARSE_SPMV_COO_ALG2 : CUSPARSE_SPMV_COO_ALG1));
  if (s->library.empty) return WR_OK;
  PASS(describe(s, env, A, info));
  return wr_cusparse_preprocess(&s->library, env, A->nrows, A->ncols, info);
}

static void destroy(void *state, wr_env *env) {
  coo_state *s = state;
  wr_cusparse_close(&s->library, env);
  wr_device_free(env, s->row);
}

const wr_backend wr_backend_cusparse_coo = {
    .name = "cusparse_coo",
    .summary = "cuSPARSE COO",
    .source = "NVIDIA cuSPARSE, generic API",
    .place = WR_CUDA,
    .caps = WR_CAP_BETA | WR_CAP_PATTERN | WR_CAP_RECTANGULAR | WR_CAP_F32 | WR_CAP_F64 | WR_CAP_DEVICE_ROWS |
            WR_CAP_VENDOR,
    .knobs = knobs,
    .knobs_size = sizeof(coo_knobs),
    .state_size = sizeof(coo_state),
    .check = check,
    .plan = plan,
    .prepare = prepare,
    .apply = wr_cusparse_apply,
    .destroy = destroy,
    .update_values = wr_cusparse_update_view,
};
