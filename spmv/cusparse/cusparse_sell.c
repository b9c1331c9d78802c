/* cuSPARSE's multiply with sliced ELLPACK (picture in cusparse_build.h). The slices are built on the device from the shared
 * view, which apply does not need. */
#include <stdio.h>

#include "spmv/cusparse/cusparse_build.h"
#include "spmv/cusparse/cusparse_common.h"
#include "spmv/device/device_memory.h"
#include "spmv/device/sort.h"

typedef struct sell_knobs {
  int slice; /* position in the choices */
} sell_knobs;

typedef struct sell_state {
  wr_cusparse library;
  wr_sell sell;
} sell_state;

/* Chosen: 32. Fewer rows would pad less, but then the lanes of a warp no longer read one column of one slice. The smallest
 * and the largest stand at the ends, where conformance looks. */
enum { CHOSEN = 1 };
static const int32_t slices[] = {16, [CHOSEN] = 32, 32, 64, 128, 256};
static const wr_knob knobs[] = {
    {.name = "slice", .type = WR_OPTION_CHOICE, .offset = offsetof(sell_knobs, slice), .choices = "16|0|32|64|128|256",
     .value = "0", .help = "rows of a slice, each padded to the longest of them; 0: chosen"},
    {.name = NULL},
};

static int32_t slice_of(const void *k) { return slices[((const sell_knobs *)k)->slice]; }

static int64_t slices_in(int64_t nrows, int64_t slice) { return (nrows + slice - 1) / slice; }

static wr_status check(const wr_env *env, const wr_csr *A, const void *k) {
  (void)env, (void)k;
  if (A && A->nnz > INT32_MAX)
    return wr_fail(WR_EUNAVAILABLE,
                   "cusparse_sell counts entries with 32 bits, at most 2147483647, not %lld; csr_warp takes them",
                   (long long)A->nnz);
  return WR_OK;
}

/* Entries and padding, at most slice times the entries. */
static int64_t count_places(const wr_csr *A, int64_t slice) {
  int64_t places = 0, nslices = slices_in(A->nrows, slice);
#pragma omp parallel for reduction(+ : places)
  for (int64_t s = 0; s < nslices; s++) {
    int64_t end = (s + 1) * slice < A->nrows ? (s + 1) * slice : A->nrows, longest = 0;
    for (int64_t i = s * slice; i < end; i++) {
      int64_t length = A->row_ptr[i + 1] - A->row_ptr[i];
      if (length > longest) longest = length;
    }
    places += longest * slice;
  }
  return places;
}

static wr_status plan(const wr_env *env, const wr_csr *A, const void *k, wr_plan_info *info) {
  int64_t slice = slice_of(k), places = count_places(A, slice), type_bytes = wr_type_bytes(env->type);
  double fill = A->nnz ? (double)places / (double)A->nnz : 1;
  if (places > INT32_MAX)
    return wr_fail(WR_EUNAVAILABLE,
                   "cusparse_sell: slices of %lld rows, padded to their longest, take %lld places, %.1f times the "
                   "entries, and offsets of 32 bits reach 2147483647; cusparse takes the matrix without padding",
                   (long long)slice, (long long)places, fill);
  int64_t offset_bytes = (slices_in(A->nrows, slice) + 1) * (int64_t)sizeof(int32_t);
  int64_t bytes = offset_bytes + places * ((int64_t)sizeof(int32_t) + type_bytes);
  *info = (wr_plan_info){.format_bytes = bytes,
                         .extra_bytes = bytes,
                         .apply_bytes = (double)(bytes + (A->nrows + A->ncols) * type_bytes),
                         .deterministic = 1, /* the library's manual says so of its one algorithm */
                         .sum_unit = wr_type_unit(env->type)};
  snprintf(info->line, sizeof info->line, "SELL, slices of %lld rows%s, %.2f places an entry, preprocessed%s",
           (long long)slice, ((const sell_knobs *)k)->slice == CHOSEN ? " (a warp)" : "", fill,
           wr_cusparse_sums(env->type));
  return WR_OK;
}

/* Where the slices begin, and how long they are together. */
static wr_status lay_out(wr_sell *sell, wr_env *env, const wr_csr_view *view) {
  wr_status status;
  int64_t *size = NULL; /* [nslices] */
  TRY(wr_device_alloc(env, &size, sell->nslices, sizeof *size, "sizes of slices"));
  TRY(wr_device_alloc(env, &sell->offset, sell->nslices + 1, sizeof *sell->offset, "offsets of slices"));
  TRY(wr_sell_sizes(env, sell, view, size));
  TRY(wr_device_scan(env, size, sizeof *size, sell->nslices, sell->offset, sizeof *sell->offset, &sell->size));
done:
  wr_device_free(env->device, size);
  return status;
}

/* The slices, and the matrix as the library describes it. */
static wr_status describe(sell_state *s, wr_env *env, wr_csr *A, wr_plan_info *info) {
  wr_status status;
  wr_csr_view view;
  wr_sell *sell = &s->sell;
  size_t type_bytes = (size_t)wr_type_bytes(env->type);
  char what[120];
  TRY(wr_csr_device_view(A, env, &view));
  TRY(lay_out(sell, env, &view));
  snprintf(what, sizeof what, "slices that padding makes %.1f times as large as the entries (cusparse pads nothing)",
           (double)sell->size / (double)A->nnz);
  TRY(wr_device_alloc(env, &sell->col, sell->size, sizeof *sell->col, what));
  TRY(wr_device_alloc(env, &sell->val, sell->size, type_bytes, what));
  TRY(wr_sell_fill(env, sell, &view));
  TRY(WR_CUSPARSE(cusparseCreateSlicedEll(&s->library.matrix, A->nrows, A->ncols, A->nnz, sell->size, sell->slice,
                                          sell->offset, sell->col, sell->val, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                                          CUSPARSE_INDEX_BASE_ZERO, s->library.type)));
  info->extra_bytes = wr_device_bytes(sell->nslices + 1, sizeof *sell->offset) +
                      wr_device_bytes(sell->size, sizeof *sell->col) + wr_device_bytes(sell->size, type_bytes);
done:
  return status;
}

static wr_status prepare(void *state, wr_env *env, wr_csr *A, const void *k, wr_plan_info *info) {
  wr_status status;
  sell_state *s = state;
  s->sell = (wr_sell){.nrows = A->nrows, .nslices = slices_in(A->nrows, slice_of(k)), .slice = slice_of(k)};
  info->extra_bytes = 0;
  TRY(wr_cusparse_open(&s->library, env, A, CUSPARSE_SPMV_SELL_ALG1));
  if (s->library.empty) return WR_OK;
  TRY(describe(s, env, A, info));
  TRY(wr_cusparse_preprocess(&s->library, env, A, info));
done:
  return status;
}

static wr_status apply(void *state, wr_env *env, const wr_apply_args *args) {
  return wr_cusparse_apply(&((sell_state *)state)->library, env, &args->request);
}

static void destroy(void *state, wr_env *env) {
  sell_state *s = state;
  wr_cusparse_close(&s->library, env);
  wr_device_free(s->library.device, s->sell.offset);
  wr_device_free(s->library.device, s->sell.col);
  wr_device_free(s->library.device, s->sell.val);
}

const wr_backend wr_backend_cusparse_sell = {
    .name = "cusparse_sell",
    .summary = "cuSPARSE sliced ELLPACK",
    .source = "NVIDIA cuSPARSE, generic API",
    .place = WR_CUDA,
    .caps = WR_CAP_BETA | WR_CAP_PATTERN | WR_CAP_RECTANGULAR | WR_CAP_F32 | WR_CAP_F64,
    .knobs = knobs,
    .knobs_size = sizeof(sell_knobs),
    .state_size = sizeof(sell_state),
    .check = check,
    .plan = plan,
    .prepare = prepare,
    .apply = apply,
    .destroy = destroy,
};
