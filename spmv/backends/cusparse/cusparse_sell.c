/* cuSPARSE's multiply with sliced ELLPACK (picture in cusparse_build.h). The slices are built on the device from the shared
 * view, which apply does not need. The library multiplies the padding of a row by x, hence WR_CAP_FINITE_X. */
#include <stdio.h>

#include "config/text.h"
#include "spmv/backends/cusparse/cusparse_build.h"
#include "spmv/backends/cusparse/cusparse_common.h"
#include "spmv/device/device_memory.h"
#include "spmv/device/sort.h"

typedef struct sell_knobs {
  int slice; /* position in the choices */
} sell_knobs;

typedef struct sell_state {
  wr_cusparse library;
  wr_sell sell;
} sell_state;

/* Slices of 2, 4, ... LARGEST rows: level 0, 1, ... */
enum { LEVELS = 8, LARGEST = 1 << LEVELS, WARP_LEVEL = 4 };

/* The smallest and the largest are first and last, because conformance tests these. */
enum { CHOSEN = 1 };
static const int levels[] = {0, [CHOSEN] = -1, 1, 2, 3, 4, 5, 6, 7};
static const wr_knob knobs[] = {
    {.name = "slice", .type = WR_OPTION_CHOICE, .offset = offsetof(sell_knobs, slice),
     .choices = "2|0|4|8|16|32|64|128|256", .value = "0",
     .help = "rows of a slice, each padded to the longest of them; 0: 32, or fewer if that saves enough bytes"},
    {.name = NULL},
};

typedef struct sell_size {
  int chosen; /* 1: chosen here, not by the knob */
  int64_t slice, nslices;
  int64_t places; /* entries and padding, at most slice times the entries */
} sell_size;

/* places[LEVELS] := entries and padding for every size of slices, in one pass: the longest row of a slice is the maximum of
 * those of its two halves. */
static void count_places(const wr_csr *A, int64_t places[LEVELS]) {
  int64_t sum[LEVELS] = {0}, groups = (A->nrows + LARGEST - 1) / LARGEST;
#pragma omp parallel for reduction(+ : sum[:LEVELS])
  for (int64_t g = 0; g < groups; g++) {
    int64_t longest[LARGEST], first = g * LARGEST;
    for (int64_t i = 0; i < LARGEST; i++)
      longest[i] = first + i < A->nrows ? A->row_ptr[first + i + 1] - A->row_ptr[first + i] : 0;
    for (int level = 0; level < LEVELS; level++)
      for (int64_t s = 0; s < LARGEST >> (level + 1); s++) {
        longest[s] = longest[2 * s] > longest[2 * s + 1] ? longest[2 * s] : longest[2 * s + 1];
        sum[level] += longest[s] << (level + 1);
      }
  }
  for (int level = 0; level < LEVELS; level++) places[level] = sum[level];
}

static int64_t bytes_of(const wr_env *env, const sell_size *size) {
  return (size->nslices + 1) * (int64_t)sizeof(int32_t) +
         size->places * ((int64_t)sizeof(int32_t) + wr_type_bytes(env->type));
}

static sell_size size_at(const wr_csr *A, const int64_t places[LEVELS], int level) {
  int64_t slice = (int64_t)2 << level;
  return (sell_size){.slice = slice, .nslices = (A->nrows + slice - 1) / slice, .places = places[level]};
}

/* Narrower slices pad less, but the lanes of a warp then read columns of several slices, in shorter pieces. So every halving
 * below 32 rows has to save a twentieth of the bytes. Wider slices gain next to nothing. */
static sell_size choose(const wr_env *env, const wr_csr *A, const void *k) {
  int64_t places[LEVELS];
  int level = levels[((const sell_knobs *)k)->slice];
  count_places(A, places);
  if (level >= 0) return size_at(A, places, level);
  sell_size best = {0};
  double least = 0;
  for (level = WARP_LEVEL; level >= 0; level--) {
    sell_size size = size_at(A, places, level);
    double cost = (double)bytes_of(env, &size) * (20 + WARP_LEVEL - level) / 20;
    if (level < WARP_LEVEL && cost >= least) continue;
    best = size, least = cost;
  }
  best.chosen = 1;
  return best;
}

static wr_status check(const wr_env *env, const wr_csr *A, const void *k) {
  if (A == NULL) return WR_OK;
  if (A->nnz > INT32_MAX)
    return wr_fail(WR_EUNAVAILABLE,
                   "cusparse_sell counts entries with 32 bits, at most 2147483647, not %lld; csr_warp takes them",
                   (long long)A->nnz);
  sell_size size = choose(env, A, k);
  char what[80];
  snprintf(what, sizeof what, "cusparse_sell: slices of %lld %s", (long long)size.slice,
           wr_plural(size.slice, "row", "rows"));
  if (size.places > INT32_MAX)
    return wr_fail(
        WR_EUNAVAILABLE,
        "%s, padded to their longest, take %lld places, %.1f times the entries and %.1f MB, and the library's "
        "32-bit offsets reach 2147483647; cusparse takes the matrix without padding",
        what, (long long)size.places, (double)size.places / (double)A->nnz, (double)bytes_of(env, &size) / 1e6);
  return wr_cusparse_check_padding(env, A, what, (double)bytes_of(env, &size));
}

static wr_status plan(const wr_env *env, const wr_csr *A, const void *k, wr_plan_info *info) {
  sell_size size = choose(env, A, k);
  int64_t bytes = bytes_of(env, &size);
  *info = (wr_plan_info){.format_bytes = bytes,
                         .extra_bytes = bytes,
                         .apply_bytes = (double)(bytes + (A->nrows + A->ncols) * wr_type_bytes(env->type)),
                         .deterministic = 1, /* as the manual says of the library's only algorithm */
                         .sum_unit = wr_type_unit(env->type)};
  snprintf(info->line, sizeof info->line, "SELL, slices of %lld %s%s, %.2f places an entry, preprocessed%s",
           (long long)size.slice, wr_plural(size.slice, "row", "rows"), size.chosen ? " (chosen)" : "",
           A->nnz ? (double)size.places / (double)A->nnz : 1, wr_cusparse_sums(env->type));
  return WR_OK;
}

/* Computes the offsets of the slices and their total size. */
static wr_status lay_out(wr_sell *sell, wr_env *env, const wr_csr_view *view) {
  wr_status status;
  int64_t *size = NULL; /* [nslices] */
  TRY(wr_device_alloc(env, &size, sell->nslices, sizeof *size, "sizes of slices"));
  TRY(wr_device_alloc(env, &sell->offset, sell->nslices + 1, sizeof *sell->offset, "offsets of slices"));
  TRY(wr_sell_sizes(env, sell, view, size));
  TRY(wr_device_scan(env, size, sizeof *size, sell->nslices, sell->offset, sizeof *sell->offset, &sell->size));
done:
  wr_device_free(env, size);
  return status;
}

/* Makes the slices and the library's descriptor of the matrix. */
static wr_status describe(sell_state *s, wr_env *env, wr_csr *A, wr_plan_info *info) {
  wr_csr_view view;
  wr_sell *sell = &s->sell;
  size_t type_bytes = (size_t)wr_type_bytes(env->type);
  char what[120];
  PASS(wr_csr_device_view(A, env, &view));
  PASS(lay_out(sell, env, &view));
  snprintf(what, sizeof what, "slices that padding makes %.1f times as large as the entries (cusparse pads nothing)",
           (double)sell->size / (double)A->nnz);
  PASS(wr_device_alloc(env, &sell->col, sell->size, sizeof *sell->col, what));
  PASS(wr_device_alloc(env, &sell->val, sell->size, type_bytes, what));
  PASS(wr_sell_fill(env, sell, &view));
  PASS(WR_CUSPARSE(cusparseCreateSlicedEll(&s->library.matrix, A->nrows, A->ncols, A->nnz, sell->size, sell->slice,
                                           sell->offset, sell->col, sell->val, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                                           CUSPARSE_INDEX_BASE_ZERO, s->library.type)));
  info->extra_bytes = wr_device_bytes(sell->nslices + 1, sizeof *sell->offset) +
                      wr_device_bytes(sell->size, sizeof *sell->col) + wr_device_bytes(sell->size, type_bytes);
  return WR_OK;
}

static wr_status prepare(void *state, wr_env *env, wr_csr *A, const void *k, wr_plan_info *info) {
  sell_state *s = state;
  info->extra_bytes = 0;
  PASS(wr_cusparse_open(&s->library, env, A, CUSPARSE_SPMV_SELL_ALG1));
  if (s->library.empty) return WR_OK;
  sell_size size = choose(env, A, k);
  s->sell = (wr_sell){.nrows = A->nrows, .nslices = size.nslices, .slice = (int32_t)size.slice};
  PASS(describe(s, env, A, info));
  return wr_cusparse_preprocess(&s->library, env, A->nrows, A->ncols, info);
}

static void destroy(void *state, wr_env *env) {
  sell_state *s = state;
  wr_cusparse_close(&s->library, env);
  wr_device_free(env, s->sell.offset);
  wr_device_free(env, s->sell.col);
  wr_device_free(env, s->sell.val);
}

/* Overwrites the old values; a pattern stores none. Columns are written again, unchanged. */
static wr_status update_values(void *state, wr_env *env, wr_csr *A, int *moved) {
  sell_state *s = state;
  wr_csr_view view;
  (void)moved;
  if (s->library.empty || A->val == NULL) return WR_OK;
  PASS(wr_csr_device_view(A, env, &view));
  return wr_sell_fill(env, &s->sell, &view);
}

const wr_backend wr_backend_cusparse_sell = {
    .name = "cusparse_sell",
    .summary = "cuSPARSE sliced ELLPACK",
    .source = "NVIDIA cuSPARSE, generic API",
    .place = WR_CUDA,
    .caps = WR_CAP_BETA | WR_CAP_PATTERN | WR_CAP_RECTANGULAR | WR_CAP_F32 | WR_CAP_F64 | WR_CAP_FINITE_X |
            WR_CAP_VENDOR,
    .knobs = knobs,
    .knobs_size = sizeof(sell_knobs),
    .state_size = sizeof(sell_state),
    .check = check,
    .plan = plan,
    .prepare = prepare,
    .apply = wr_cusparse_apply,
    .destroy = destroy,
    .update_values = update_values,
};
