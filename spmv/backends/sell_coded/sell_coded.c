/* Sliced ELLPACK (sell_coded_format.h), a thread a row: sell, with plain columns, and sell_coded, with a byte an entry on
 * regular grids. */
#include <stddef.h>
#include <stdio.h>

#include "spmv/backends/csr_model.h"
#include "spmv/backends/sell_coded/sell_coded_build.h"
#include "spmv/backends/sell_coded/sell_coded_kernel.h"

typedef struct coded_knobs {
  int pairs;
} coded_knobs;

typedef struct coded_state {
  wr_sell_coded format;
  wr_coded_table table;
} coded_state;

static const wr_knob knobs[] = {
    {.name = "pairs", .type = WR_OPTION_CHOICE, .offset = offsetof(coded_knobs, pairs), .choices = "auto|off",
     .value = "auto",
     .help = "values in the table, with the distances of columns, where there are at most 255 different pairs; "
             "off: values are stored"},
    {.name = NULL},
};

static wr_coded_table table_of(const void *knob) {
  return ((const coded_knobs *)knob)->pairs ? WR_TABLE_OF_DISTANCES : WR_TABLE_OF_PAIRS;
}

/* Sets what a user sees, from a format's shape. */
static void report(const wr_env *env, const wr_csr *A, const wr_sell_coded *c, wr_plan_info *info) {
  static const char *const what[] = {"pairs of distance and value", "distances, values stored", "distances"};
  double places = A->nnz > 0 ? (double)(c->lines * WR_CODED_ROWS) / (double)A->nnz : 1;
  info->format_bytes = wr_sell_coded_bytes(c);
  info->apply_bytes = (double)(info->format_bytes + (A->nrows + A->ncols) * wr_type_bytes(env->type));
  info->deterministic = 1;
  if (env->type == WR_F32 && wr_coded_has_values(c->kind)) info->term_unit = wr_type_unit(WR_F32);
  if (wr_coded_is_plain(c->kind))
    snprintf(info->line, sizeof info->line, "SELL of 32 rows, columns as they are; %.2f places an entry", places);
  else
    snprintf(info->line, sizeof info->line, "SELL of 32 rows, a byte an entry: %d %s; %.2f places an entry", c->count,
             what[c->kind], places);
}

static wr_status plan_with(const wr_env *env, const wr_csr *A, wr_coded_table table, wr_plan_info *info) {
  wr_sell_coded c;
  PASS(wr_sell_coded_estimate(A, env->type, table, &c));
  report(env, A, &c, info);
  info->extra_bytes = info->format_bytes;
  return WR_OK;
}

static wr_status prepare_with(coded_state *s, wr_env *env, wr_csr *A, wr_coded_table table, wr_plan_info *info) {
  wr_csr_view view;
  s->table = table;
  PASS(wr_csr_device_view(A, env, &view));
  PASS(wr_sell_coded_device_build(env, A->nrows, A->ncols, A->nnz, &view, table, &s->format));
  report(env, A, &s->format, info);
  info->extra_bytes = wr_sell_coded_device_bytes(&s->format);
  return wr_sell_coded_reserve(env);
}

static wr_status plan(const wr_env *env, const wr_csr *A, const void *knob, wr_plan_info *info) {
  return plan_with(env, A, table_of(knob), info);
}

static wr_status prepare(void *state, wr_env *env, wr_csr *A, const void *knob, wr_plan_info *info) {
  return prepare_with(state, env, A, table_of(knob), info);
}

static wr_status plan_plain(const wr_env *env, const wr_csr *A, const void *knob, wr_plan_info *info) {
  (void)knob;
  return plan_with(env, A, WR_TABLE_OF_NOTHING, info);
}

static wr_status prepare_plain(void *state, wr_env *env, wr_csr *A, const void *knob, wr_plan_info *info) {
  (void)knob;
  return prepare_with(state, env, A, WR_TABLE_OF_NOTHING, info);
}

static wr_status apply(void *state, wr_env *env, const wr_apply_args *args) {
  return wr_sell_coded_launch(env, &((coded_state *)state)->format, &args->request);
}

static void destroy(void *state, wr_env *env) { wr_sell_coded_device_free(env, &((coded_state *)state)->format); }

static wr_status decode(void *state, wr_env *env, wr_csr **A) {
  wr_status status;
  wr_sell_coded host = {0};
  *A = NULL;
  TRY(wr_sell_coded_download(env, &((coded_state *)state)->format, &host));
  TRY(wr_sell_coded_decode(&host, A));
done:
  wr_sell_coded_free(&host);
  return status;
}

static wr_status update_values(void *state, wr_env *env, wr_csr *A, int *moved) {
  coded_state *s = state;
  wr_csr_view view;
  (void)moved;
  PASS(wr_csr_device_view(A, env, &view));
  return wr_sell_coded_device_update(env, &view, s->table, &s->format);
}

/* plan refuses, by the sample from which it estimates */
#define CAPS                                                                                                           \
  (WR_CAP_BETA | WR_CAP_EPILOGUE | WR_CAP_PATTERN | WR_CAP_RECTANGULAR | WR_CAP_F32 | WR_CAP_F64 | WR_CAP_FEW_MATRICES)

const wr_backend wr_backend_sell = {
    .name = "sell",
    .summary = "SELL (sliced ELLPACK), for rows of like length",
    .source = "SELL: Kreutzer et al. 2014",
    .place = WR_CUDA,
    .caps = CAPS,
    .state_size = sizeof(coded_state),
    .check = wr_csr_check_nothing,
    .plan = plan_plain,
    .prepare = prepare_plain,
    .apply = apply,
    .destroy = destroy,
    .decode = decode,
    .update_values = update_values,
};

const wr_backend wr_backend_sell_coded = {
    .name = "sell_coded",
    .summary = "SELL with a byte an entry, for regular grids",
    .source = "SELL: Kreutzer et al. 2014; codes: windrow",
    .place = WR_CUDA,
    .caps = CAPS,
    .knobs = knobs,
    .knobs_size = sizeof(coded_knobs),
    .state_size = sizeof(coded_state),
    .check = wr_csr_check_nothing,
    .plan = plan,
    .prepare = prepare,
    .apply = apply,
    .destroy = destroy,
    .decode = decode,
    .update_values = update_values,
};
