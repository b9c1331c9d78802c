/* MERBIT: the merge path in tiles of bit fields (merbit_format.h), with the epilogue in the same pass. */
#include <stddef.h>
#include <stdio.h>

#include "config/text.h"
#include "spmv/blocks/bsr_build.h"
#include "spmv/backends/csr_model.h"
#include "spmv/device/cuda_state.h"
#include "spmv/device/device_memory.h"
#include "spmv/backends/merbit/merbit_build.h"
#include "spmv/backends/merbit/merbit_kernel.h"

typedef struct merbit_knobs {
  int64_t sigma;
  int layout, gather, commit;
  int long_rows, segmented; /* 0: on, 1: off */
  int completion;
} merbit_knobs;

typedef struct merbit_state {
  wr_merbit_plan plan;
  const wr_csr *A; /* for decode */
} merbit_state;

enum { GATHER_AUTO, GATHER_LOCAL, GATHER_SCATTERED };
enum { COMPLETION_AUTO, COMPLETION_BLOCK, COMPLETION_KERNEL };
enum { COMMIT_AUTO, COMMIT_DUAL, COMMIT_CLEAR, COMMIT_ORDERED };

static const wr_knob knobs[] = {
    {.name = "sigma", .type = WR_OPTION_INT, .offset = offsetof(merbit_knobs, sigma), .min = 0,
     .max = WR_MERBIT_KERNEL_SIGMA, .value = "0",
     .help = "steps of a lane; 0: 14 in f64 and 19 in f32, 9 and 12 where columns are scattered, 5 if small"},
    {.name = "layout", .type = WR_OPTION_CHOICE, .offset = offsetof(merbit_knobs, layout), .choices = "paper",
     .value = "paper", .help = "order of entries; paper: in rows, as in CSR"},
    {.name = "gather", .type = WR_OPTION_CHOICE, .offset = offsetof(merbit_knobs, gather),
     .choices = "auto|local|scattered", .value = "auto",
     .help = "scattered leaves more first-level cache to x; auto: if few of a sample of columns share lines of x"},
    {.name = "commit", .type = WR_OPTION_CHOICE, .offset = offsetof(merbit_knobs, commit),
     .choices = "auto|dual|clear|ordered", .value = "auto",
     .help = "rows that thread blocks share: dual adds to y, which the previous multiply cleared; clear clears all of "
             "y first; ordered sums in order; auto: dual in f64, ordered in f32 and with --deterministic"},
    {.name = "completion", .type = WR_OPTION_CHOICE, .offset = offsetof(merbit_knobs, completion),
     .choices = "auto|block|kernel", .value = "auto",
     .help = "the last thread block, or a second kernel, completes shared rows and sums; auto: by their number"},
    {.name = "long_rows", .type = WR_OPTION_CHOICE, .offset = offsetof(merbit_knobs, long_rows), .choices = "on|off",
     .value = "on", .help = "tiles within one row do not use shared memory"},
    {.name = "segmented", .type = WR_OPTION_CHOICE, .offset = offsetof(merbit_knobs, segmented), .choices = "on|off",
     .value = "on", .help = "sums of lanes are joined by a segmented scan; off: by atomics in shared memory"},
    {.name = NULL},
};

/* Whether there are fewer thread blocks than multiprocessors; shorter lanes then end sooner. */
static int is_small(const wr_env *env, const wr_csr *A) {
  wr_merbit_format shape = wr_merbit_shape(A->nrows, A->ncols, A->nnz, WR_MERBIT_LOCAL_F64);
  return wr_merbit_blocks(&shape) < wr_cuda_processors(env);
}

static int sigma_of(const wr_env *env, const wr_csr *A, const merbit_knobs *k, int scattered) {
  if (k->sigma) return (int)k->sigma;
  if (!scattered && is_small(env, A)) return WR_MERBIT_SMALL;
  if (env->type == WR_F32) return scattered ? WR_MERBIT_SCATTERED_F32 : WR_MERBIT_LOCAL_F32;
  return scattered ? WR_MERBIT_SCATTERED_F64 : WR_MERBIT_LOCAL_F64;
}

/* In f32, parts that are added to y would be rounded to f32, while ordered sums stay in f64. */
static wr_merbit_commit commit_of(const wr_env *env, const merbit_knobs *k) {
  switch (k->commit) {
    case COMMIT_DUAL: return WR_MERBIT_DUAL;
    case COMMIT_CLEAR: return WR_MERBIT_CLEAR;
    case COMMIT_ORDERED: return WR_MERBIT_ORDERED;
    default: return env->deterministic || env->type == WR_F32 ? WR_MERBIT_ORDERED : WR_MERBIT_DUAL;
  }
}

static wr_status check(const wr_env *env, const wr_csr *A, const void *k) {
  if (A == NULL) return WR_OK;
  int least = sigma_of(env, A, k, ((const merbit_knobs *)k)->gather != GATHER_LOCAL);
  wr_merbit_format shape = wr_merbit_shape(A->nrows, A->ncols, A->nnz, least);
  PASS(wr_merbit_check(A->nrows, A->ncols, A->nnz, shape.sigma, shape.wide));
  if (wr_merbit_blocks(&shape) > INT32_MAX) /* the most of a launch */
    return wr_fail(WR_EUNAVAILABLE,
                   "merbit:sigma=%d needs %lld thread blocks for this matrix; a larger sigma needs fewer", shape.sigma,
                   (long long)wr_merbit_blocks(&shape));
  return WR_OK;
}

/* Sets what follows from the shape; prepare replaces extra_bytes. */
static void estimate(const wr_env *env, const wr_csr *A, const merbit_knobs *k, int scattered, wr_plan_info *info) {
  static const char *const commits[] = {"are added to y, which the previous multiply cleared",
                                        "are added to a cleared y", "are summed in order"};
  wr_merbit_format shape = wr_merbit_shape(A->nrows, A->ncols, A->nnz, sigma_of(env, A, k, scattered));
  int64_t entries = A->nnz * ((int64_t)sizeof *A->col + (A->val ? wr_type_bytes(env->type) : 0));
  wr_merbit_commit commit = commit_of(env, k);
  int in_f64 = k->segmented == 0 && (commit == WR_MERBIT_ORDERED || env->type == WR_F64);
  info->format_bytes = wr_merbit_bytes(&shape) + entries;
  info->extra_bytes = wr_merbit_bytes(&shape) + wr_merbit_blocks(&shape) * 24;
  info->apply_bytes = (double)(info->format_bytes + (A->nrows + A->ncols) * wr_type_bytes(env->type));
  info->deterministic = k->segmented == 0 && commit == WR_MERBIT_ORDERED;
  info->sum_unit = in_f64 ? 0 : wr_type_unit(env->type);
  /* In f32 three values are rounded: a product, a row's sum in a tile, and that plus the part of earlier tiles. */
  info->term_unit = env->type == WR_F32 ? 3 * wr_type_unit(WR_F32) : 0;
  snprintf(info->line, sizeof info->line, "%lld %s of 32 x %d steps%s; shared rows %s", (long long)shape.tiles,
           wr_plural(shape.tiles, "tile", "tiles"), shape.sigma, scattered ? ", most cache left to x" : "",
           commits[commit]);
}

static wr_status plan(const wr_env *env, const wr_csr *A, const void *k, wr_plan_info *info) {
  wr_csr_estimate(env, A, info);
  estimate(env, A, k, ((const merbit_knobs *)k)->gather == GATHER_SCATTERED, info);
  return WR_OK;
}

/* Share of entries with a line of x of their own (wr_merbit_scatter) above which cache is worth more than parallelism:
 * Kronecker graphs of scale 18 and 20 have 0.67 and 0.77, the web graph 0.27, grids and meshes 0.05 and less. */
static const double scattered_share = 0.5;

static wr_status prepare(void *state, wr_env *env, wr_csr *A, const void *k, wr_plan_info *info) {
  merbit_state *s = state;
  wr_merbit_plan *p = &s->plan;
  const merbit_knobs *knob = k;
  double share = 0;
  s->A = A;
  PASS(wr_csr_borrow(A, env, &p->view, info));
  if (knob->gather == GATHER_AUTO) PASS(wr_merbit_scatter(env, &p->view, A->ncols, A->nnz, &share));
  p->scattered = knob->gather == GATHER_SCATTERED || share > scattered_share;
  p->commit = commit_of(env, k), p->long_rows = knob->long_rows == 0, p->segmented = knob->segmented == 0;
  estimate(env, A, k, p->scattered, info);
  wr_merbit_format shape = wr_merbit_shape(A->nrows, A->ncols, A->nnz, sigma_of(env, A, k, p->scattered));
  p->fused = knob->completion == COMPLETION_BLOCK ||
             (knob->completion == COMPLETION_AUTO && wr_merbit_blocks(&shape) <= WR_MERBIT_FUSED_BLOCKS);
  PASS(wr_merbit_plan_open(env, A->nrows, A->ncols, A->nnz, shape.sigma, p));
  info->extra_bytes = wr_merbit_plan_bytes(p);
  return WR_OK;
}

static wr_status apply(void *state, wr_env *env, const wr_apply_args *args) {
  const merbit_state *s = state;
  return wr_merbit_launch(env, &s->plan, args);
}

static wr_status apply_many(void *state, wr_env *env, const wr_apply_many *request) {
  const merbit_state *s = state;
  return wr_merbit_many_launch(env, &s->plan, request);
}

/* The format stores no values. */
static wr_status update_values(void *state, wr_env *env, wr_csr *A, int *moved) {
  merbit_state *s = state;
  s->A = A;
  return wr_csr_update_view(&s->plan.view, env, A, moved);
}

/* For a small matrix, plain rows serve as well: it has few tiles, and balance gains nothing. */
static wr_csr_view rows(const void *state) { return ((const merbit_state *)state)->plan.view; }

static void destroy(void *state, wr_env *env) {
  merbit_state *s = state;
  wr_merbit_plan_close(env, &s->plan);
}

/* Rows are decoded from the path on the device; columns and values are the matrix's own, in env's type. */
static wr_status decode(void *state, wr_env *env, wr_csr **A) {
  wr_status status;
  const merbit_state *s = state;
  wr_merbit_format host = {0};
  *A = NULL;
  TRY(wr_csr_copy(s->A, A));
  TRY(wr_merbit_download(env, &s->plan.format, &host));
  TRY(wr_merbit_decode_rows(&host, (*A)->row_ptr));
  for (int64_t e = 0; (*A)->val && env->type == WR_F32 && e < (*A)->nnz; e++)
    (*A)->val[e] = (double)(float)(*A)->val[e];
done:
  wr_merbit_free(&host);
  if (status != WR_OK) wr_csr_free(*A), *A = NULL;
  return status;
}

static void advise(const wr_env *env, const wr_csr *A, wr_plan_info *info) {
  wr_bsr_advise_blocks(A, env->type, "bsr_unrolled", info);
}

const wr_backend wr_backend_merbit = {
    .name = "merbit",
    .summary = "merge-path bit-field tiles",
    .source = "MERBIT: A GPU-Based SpMV Method for Iterative Workloads",
    .place = WR_CUDA,
    .caps = WR_CAP_BETA | WR_CAP_Y_NEXT | WR_CAP_EPILOGUE | WR_CAP_PATTERN | WR_CAP_RECTANGULAR | WR_CAP_F32 |
            WR_CAP_F64 | WR_CAP_DEVICE_ROWS | WR_CAP_PLAIN_ROWS,
    .knobs = knobs,
    .knobs_size = sizeof(merbit_knobs),
    .state_size = sizeof(merbit_state),
    .check = check,
    .plan = plan,
    .prepare = prepare,
    .apply = apply,
    .destroy = destroy,
    .apply_many = apply_many,
    .decode = decode,
    .update_values = update_values,
    .rows = rows,
    .advise = advise,
};
