/* cuSPARSE's multiply with square blocks (picture in spmv/blocks/bsr_format.h), stored row by row or column by column. The
 * blocks are built on the device from the shared view, which apply does not need. The library has two calls: SpMV of the
 * generic interface, in 12.6.3 (CUDA 13.0.1) and newer, and bsrmv, which 12.7 deprecates. Both need vectors of complete
 * blocks; if the matrix ends within a block, the plan keeps padded copies. Both multiply padding by x, hence
 * WR_CAP_FINITE_X. */
#include <math.h>
#include <stdio.h>

#include "spmv/blocks/bsr_build.h"
#include "spmv/backends/cusparse/cusparse_build.h"
#include "spmv/backends/cusparse/cusparse_common.h"
#include "spmv/device/device_memory.h"

#define HAVE_SPMV (CUSPARSE_VERSION >= 12603)
#define HAVE_BSRMV (CUSPARSE_VERSION < 12700)

typedef struct bsr_knobs {
  int block, order, call; /* positions in the choices */
} bsr_knobs;

typedef struct bsr_state {
  wr_cusparse library;
  cusparseMatDescr_t general; /* bsrmv's descriptor; NULL: SpMV                                        */
  int by_columns;             /* 1: values of a block are stored column by column                      */
  wr_bsr blocks;              /* on the device; r == c                                                 */
  wr_vec x, y;                /* [bcols * c], [brows * r], each only if the matrix ends within a block */
} bsr_state;

/* The smallest and the largest are first and last, because conformance tests these. */
enum { CHOSEN = 1, ORDER_ROW = 0, ORDER_AUTO, ORDER_COL };
static const int sides[] = {2, [CHOSEN] = 0, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

#if HAVE_SPMV && HAVE_BSRMV
#define CALLS "spmv|bsrmv"
#define CALL "spmv"
#elif HAVE_SPMV
#define CALLS "spmv"
#define CALL "spmv"
#else
#define CALLS "bsrmv"
#define CALL "bsrmv"
#endif

static const wr_knob knobs[] = {
    {.name = "block", .type = WR_OPTION_CHOICE, .offset = offsetof(bsr_knobs, block),
     .choices = "2|0|3|4|5|6|7|8|9|10|11|12|13|14|15|16", .value = "0",
     .help = "rows and columns of a block; 0: as few bytes as possible, by a sample"},
    {.name = "order", .type = WR_OPTION_CHOICE, .offset = offsetof(bsr_knobs, order), .choices = "row|auto|col",
     .value = "auto", .help = "order of the values of a block: row by row, or column by column; auto: col for 3 and 5"},
    {.name = "call", .type = WR_OPTION_CHOICE, .offset = offsetof(bsr_knobs, call), .choices = CALLS, .value = CALL,
     .help = "the library's function: cusparseSpMV, or cusparse<t>bsrmv"},
    {.name = NULL},
};

/* The library has separate kernels for blocks of 3 and of 5 by columns, as the names in it show. */
static int is_by_columns(const void *k, int side) {
  int order = ((const bsr_knobs *)k)->order;
  return order == ORDER_AUTO ? side == 3 || side == 5 : order == ORDER_COL;
}

static int is_bsrmv(const void *k) { return !HAVE_SPMV || ((const bsr_knobs *)k)->call == 1; }

/* The block size of the knob or, from a sample, the one with the fewest bytes. Deterministic. */
static wr_status choose(const wr_env *env, const wr_csr *A, const void *k, wr_bsr_choice *best) {
  int side = sides[((const bsr_knobs *)k)->block];
  if (side) return wr_bsr_choose(A, env->type, side, side, best);
  for (side = 2; side <= WR_BSR_MAX_SIDE; side++) {
    wr_bsr_choice choice;
    PASS(wr_bsr_choose(A, env->type, side, side, &choice));
    if (side == 2 || choice.bytes < best->bytes) *best = choice;
  }
  return WR_OK;
}

static wr_status check_values(double values, int side) {
  if (values <= INT32_MAX) return WR_OK;
  return wr_fail(
      WR_EUNAVAILABLE,
      "cusparse_bsr: blocks of %d x %d hold %.0f values, padding included, more than the 2147483647 that the "
      "library counts safely; csr_warp takes the matrix",
      side, side, values);
}

/* plan checks what depends on the block size, which it chooses. */
static wr_status check(const wr_env *env, const wr_csr *A, const void *k) {
  int side = sides[((const bsr_knobs *)k)->block];
  (void)env;
  if (A == NULL || A->nnz == 0) return WR_OK;
  return wr_bsr_check(A->nrows, A->ncols, A->nnz, side ? side : 2, side ? side : 2);
}

static wr_status check_size(const wr_env *env, const wr_csr *A, const wr_bsr_choice *choice) {
  char what[80];
  PASS(check_values(fmax(choice->blocks * choice->r * choice->c, (double)A->nnz), choice->r));
  snprintf(what, sizeof what, "cusparse_bsr: blocks of %d x %d", choice->r, choice->c);
  return wr_cusparse_check_padding(env, A, what, choice->bytes);
}

/* Bytes of the copies of x and y for blocks of this size; each apply moves them once. */
static double copy_bytes(const wr_env *env, const wr_csr *A, int side) {
  return (double)((A->ncols % side ? A->ncols : 0) + (A->nrows % side ? A->nrows : 0)) *
         (double)wr_type_bytes(env->type);
}

static wr_status plan(const wr_env *env, const wr_csr *A, const void *k, wr_plan_info *info) {
  wr_bsr_choice choice = {.r = 2, .c = 2, .line = "no entries"};
  if (A->nnz) PASS(choose(env, A, k, &choice));
  if (A->nnz) PASS(check_size(env, A, &choice));
  double copies = A->nnz ? copy_bytes(env, A, choice.r) : 0;
  *info = (wr_plan_info){.format_bytes = (int64_t)choice.bytes,
                         .extra_bytes = (int64_t)(choice.bytes + copies),
                         .deterministic = 1, /* the manual names no exception, and conformance tests compare bits */
                         .sum_unit = wr_type_unit(env->type),
                         .chosen = {choice.r, choice.c}};
  info->apply_bytes = choice.bytes + 2 * copies + (double)((A->nrows + A->ncols) * wr_type_bytes(env->type));
  snprintf(info->line, sizeof info->line, "%s; by %s, %s%s%s", choice.line,
           is_by_columns(k, choice.r) ? "columns" : "rows", is_bsrmv(k) ? "bsrmv" : "SpMV",
           copies > 0 ? ", vectors copied" : "", env->type == WR_F32 ? ", sums in f32" : "");
  if (A->nnz) wr_bsr_advise_rows(&choice, "merbit", info);
  return WR_OK;
}

/* Zeroed vectors of complete blocks, if the matrix ends within one. What lies beyond the matrix is multiplied by padding
 * only. */
static wr_status make_copies(bsr_state *s, wr_env *env, wr_plan_info *info) {
  const wr_bsr *b = &s->blocks;
  int64_t nx = b->bcols * b->c, ny = b->brows * b->r;
  size_t type_bytes = (size_t)wr_type_bytes(env->type);
  if (nx != b->ncols) {
    PASS(env->ops->alloc(env, nx, env->type, "x in whole blocks", &s->x));
    info->extra_bytes += wr_device_bytes(nx, type_bytes);
  }
  if (ny != b->nrows) {
    PASS(env->ops->alloc(env, ny, env->type, "y in whole blocks", &s->y));
    info->extra_bytes += wr_device_bytes(ny, type_bytes);
  }
  return WR_OK;
}

/* Creates the descriptor of the matrix for the library's call. */
static wr_status describe(bsr_state *s, wr_env *env, const void *k, wr_plan_info *info) {
  wr_status status = WR_OK;
#if HAVE_BSRMV
  if (is_bsrmv(k)) return WR_CUSPARSE(cusparseCreateMatDescr(&s->general)); /* general, based on 0 */
#endif
#if HAVE_SPMV
  const wr_bsr *b = &s->blocks;
  s->library.algorithm = CUSPARSE_SPMV_BSR_ALG1;
  TRY(WR_CUSPARSE(cusparseCreateBsr(&s->library.matrix, b->brows, b->bcols, b->blocks, b->r, b->c, b->row_ptr, b->col,
                                    b->val, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO,
                                    s->library.type, s->by_columns ? CUSPARSE_ORDER_COL : CUSPARSE_ORDER_ROW)));
  TRY(wr_cusparse_preprocess(&s->library, env, b->brows * b->r, b->bcols * b->c, info));
done:
#endif
  (void)env, (void)k, (void)info;
  return status;
}

static wr_status prepare(void *state, wr_env *env, wr_csr *A, const void *k, wr_plan_info *info) {
  bsr_state *s = state;
  wr_bsr *b = &s->blocks;
  wr_csr_view view;
  info->extra_bytes = 0;
  PASS(wr_cusparse_open(&s->library, env, A, CUSPARSE_SPMV_ALG_DEFAULT));
  if (s->library.empty) return WR_OK;
  PASS(wr_csr_device_view(A, env, &view));
  PASS(wr_bsr_device_build(env, A->nrows, A->ncols, A->nnz, &view, info->chosen[0], info->chosen[1], b));
  PASS(check_values((double)b->blocks * b->r * b->c, b->r)); /* the sample may have estimated fewer */
  s->by_columns = is_by_columns(k, b->r);
  if (s->by_columns) PASS(wr_blocks_transpose(env, b->blocks, b->r, b->val));
  info->format_bytes = wr_bsr_bytes(b);
  info->extra_bytes = wr_bsr_device_bytes(b);
  PASS(make_copies(s, env, info));
  PASS(describe(s, env, k, info));
  info->apply_bytes = (double)info->format_bytes + 2 * copy_bytes(env, A, b->r) +
                      (double)((A->nrows + A->ncols) * wr_type_bytes(env->type));
  return WR_OK;
}

#if HAVE_BSRMV
static wr_status multiply_by_bsrmv(const bsr_state *s, wr_env *env, const wr_apply *request) {
  const wr_bsr *b = &s->blocks;
  cusparseDirection_t order = s->by_columns ? CUSPARSE_DIRECTION_COLUMN : CUSPARSE_DIRECTION_ROW;
  int brows = (int)b->brows, bcols = (int)b->bcols, blocks = (int)b->blocks;
  const double *alpha = &request->alpha, *beta = &request->beta;
  const float alpha_f32 = (float)*alpha, beta_f32 = (float)*beta;
  PASS(WR_CUDA(cudaSetDevice(env->device)));
  if (b->type == WR_F32)
    PASS(WR_CUSPARSE(cusparseSbsrmv(s->library.handle, order, CUSPARSE_OPERATION_NON_TRANSPOSE, brows, bcols, blocks,
                                    &alpha_f32, s->general, b->val, b->row_ptr, b->col, b->r, request->x->data,
                                    &beta_f32, request->y->data)));
  else
    PASS(WR_CUSPARSE(cusparseDbsrmv(s->library.handle, order, CUSPARSE_OPERATION_NON_TRANSPOSE, brows, bcols, blocks,
                                    alpha, s->general, b->val, b->row_ptr, b->col, b->r, request->x->data, beta,
                                    request->y->data)));
  return WR_OK;
}
#endif

static wr_status multiply(bsr_state *s, wr_env *env, const wr_apply *request) {
#if HAVE_BSRMV
  if (s->general) return multiply_by_bsrmv(s, env, request);
#endif
  return wr_cusparse_apply(s, env, &(wr_apply_args){.request = *request});
}

/* Copies n elements on env's stream. */
static wr_status copy(wr_env *env, wr_vec *to, const wr_vec *from, int64_t n) {
  size_t bytes = (size_t)(n * wr_type_bytes(from->type));
  return WR_CUDA(cudaMemcpyAsync(to->data, from->data, bytes, cudaMemcpyDeviceToDevice, (cudaStream_t)env->stream));
}

static wr_status apply(void *state, wr_env *env, const wr_apply_args *args) {
  bsr_state *s = state;
  wr_apply request = args->request;
  wr_vec *y = request.y;
  if (s->library.empty || request.alpha == 0) return wr_cusparse_apply(s, env, args);
  PASS(WR_CUDA(cudaSetDevice(env->device)));
  if (s->x.id) {
    PASS(copy(env, &s->x, request.x, request.x->n));
    request.x = &s->x;
  }
  if (s->y.id) {
    if (request.beta != 0) PASS(copy(env, &s->y, y, y->n));
    request.y = &s->y;
  }
  PASS(multiply(s, env, &request));
  if (s->y.id) PASS(copy(env, y, &s->y, y->n));
  return WR_OK;
}

static void destroy(void *state, wr_env *env) {
  bsr_state *s = state;
  if (s->general) (void)cusparseDestroyMatDescr(s->general);
  wr_cusparse_close(&s->library, env);
  wr_bsr_device_free(env, &s->blocks);
  if (s->x.id) env->ops->release(env, &s->x);
  if (s->y.id) env->ops->release(env, &s->y);
}

/* Overwrites the old values; a pattern stores none. */
static wr_status update_values(void *state, wr_env *env, wr_csr *A, int *moved) {
  bsr_state *s = state;
  wr_csr_view view;
  (void)moved;
  if (s->library.empty || A->val == NULL) return WR_OK;
  PASS(wr_csr_device_view(A, env, &view));
  PASS(wr_bsr_device_refill(env, &view, &s->blocks));
  if (s->by_columns) PASS(wr_blocks_transpose(env, s->blocks.blocks, s->blocks.r, s->blocks.val));
  return WR_OK;
}

const wr_backend wr_backend_cusparse_bsr = {
    .name = "cusparse_bsr",
    .summary = "cuSPARSE BSR",
    .source = "NVIDIA cuSPARSE, generic API and bsrmv",
    .place = WR_CUDA,
    .caps = WR_CAP_BETA | WR_CAP_PATTERN | WR_CAP_RECTANGULAR | WR_CAP_F32 | WR_CAP_F64 | WR_CAP_FINITE_X |
            WR_CAP_VENDOR,
    .knobs = knobs,
    .knobs_size = sizeof(bsr_knobs),
    .state_size = sizeof(bsr_state),
    .check = check,
    .plan = plan,
    .prepare = prepare,
    .apply = apply,
    .destroy = destroy,
    .update_values = update_values,
};
