/* Sliced DIA (sliced_dia_format.h): distances and row masks of 64 rows at a time, for regular grids. */
#include <stddef.h>
#include <stdio.h>

#include "spmv/backends/csr_model.h"
#include "spmv/backends/sliced_dia/sliced_dia_build.h"
#include "spmv/backends/sliced_dia/sliced_dia_kernel.h"

typedef struct dia_knobs {
  int pairs;
} dia_knobs;

/* The state of a plan is the format. It has no update_values: new values may form other segments. */

static const wr_knob knobs[] = {
    {.name = "pairs", .type = WR_OPTION_CHOICE, .choices = "auto|off", .value = "auto",
     .offset = offsetof(dia_knobs, pairs),
     .help = "a value for all rows of a segment, where neighbouring rows have the same values; off: values are stored"},
    {.name = NULL},
};

static int with_pairs(const void *knob) { return ((const dia_knobs *)knob)->pairs == 0; }

/* Sets what a user sees, from a format's shape. */
static void report(const wr_env *env, const wr_sliced_dia *d, wr_plan_info *info) {
  static const char *const what[] = {", a value each", ", values stored", ""};
  info->format_bytes = wr_sliced_dia_bytes(d);
  info->apply_bytes = (double)(info->format_bytes + (d->nrows + d->ncols) * wr_type_bytes(env->type));
  info->deterministic = 1;
  if (env->type == WR_F32 && d->kind == WR_DIA_VALUES) info->term_unit = wr_type_unit(WR_F32);
  snprintf(info->line, sizeof info->line, "DIA in slices of 64 rows: %lld segments%s; %.1f entries a segment",
           (long long)d->segments, what[d->kind], d->segments ? (double)d->nnz / (double)d->segments : 0.0);
}

static wr_status plan(const wr_env *env, const wr_csr *A, const void *knob, wr_plan_info *info) {
  wr_sliced_dia d;
  PASS(wr_sliced_dia_estimate(A, env->type, with_pairs(knob), &d));
  report(env, &d, info);
  info->extra_bytes = info->format_bytes;
  return WR_OK;
}

static wr_status prepare(void *state, wr_env *env, wr_csr *A, const void *knob, wr_plan_info *info) {
  wr_sliced_dia *d = state, expected = {.kind = WR_DIA_VALUES};
  wr_csr_view view;
  if (A->val && with_pairs(knob)) PASS(wr_sliced_dia_estimate(A, env->type, 1, &expected)); /* values may be new */
  PASS(wr_csr_device_view(A, env, &view));
  PASS(wr_sliced_dia_device_build(env, A->nrows, A->ncols, A->nnz, &view, expected.kind == WR_DIA_PAIRS, d));
  report(env, d, info);
  info->extra_bytes = wr_sliced_dia_device_bytes(d);
  return wr_sliced_dia_reserve(env);
}

static wr_status apply(void *state, wr_env *env, const wr_apply_args *args) {
  return wr_sliced_dia_launch(env, state, &args->request);
}

static void destroy(void *state, wr_env *env) { wr_sliced_dia_device_free(env, state); }

static wr_status decode(void *state, wr_env *env, wr_csr **A) {
  wr_status status;
  wr_sliced_dia host = {0};
  *A = NULL;
  TRY(wr_sliced_dia_download(env, state, &host));
  TRY(wr_sliced_dia_decode(&host, A));
done:
  wr_sliced_dia_free(&host);
  return status;
}

const wr_backend wr_backend_sliced_dia = {
    .name = "sliced_dia",
    .summary = "diagonals in slices of rows, for regular grids",
    .source = "DIA: Saad 1990; slices: windrow",
    .place = WR_CUDA,
    .caps = WR_CAP_BETA | WR_CAP_EPILOGUE | WR_CAP_PATTERN | WR_CAP_RECTANGULAR | WR_CAP_F32 | WR_CAP_F64 |
            WR_CAP_FEW_MATRICES,
    .knobs = knobs,
    .knobs_size = sizeof(dia_knobs),
    .state_size = sizeof(wr_sliced_dia),
    .check = wr_csr_check_nothing, /* plan refuses, by the sample from which it estimates */
    .plan = plan,
    .prepare = prepare,
    .apply = apply,
    .destroy = destroy,
    .decode = decode,
};
