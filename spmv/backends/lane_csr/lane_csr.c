/* Rows interleaved over lanes (lane_csr_format.h), with the most used elements of x in shared memory where that pays. */
#include <stddef.h>
#include <stdio.h>

#include "spmv/backends/csr_model.h"
#include "spmv/backends/lane_csr/lane_csr_build.h"
#include "spmv/backends/lane_csr/lane_csr_kernel.h"

typedef struct lane_knobs {
  int64_t hubs;
  int columns, values, shared_rows, order, far;
} lane_knobs;

enum { COLUMNS_AUTO, COLUMNS_FULL, COLUMNS_WINDOWS };
enum { VALUES_AUTO, VALUES_FULL, VALUES_NARROW, VALUES_CODED };
enum { SHARED_AUTO, SHARED_AFTER };
enum { ORDER_AUTO, ORDER_ROWS, ORDER_COLUMNS };
enum { FAR_STAGED, FAR_DIRECT, FAR_AUTO }; /* conformance takes the first and the last */

/* The default keeps hubs if they have such a share of the entries, the first ones left out, which a first-level cache keeps
 * anyway (docs/lane_csr.md). */
static const double least_share = 0.15;
enum { DEFAULT_HUBS = 178, CACHED = 16 }; /* KB */

/* The least entries for hubs by default: to gather and copy them takes some 8 us of each multiply (docs/lane_csr.md). */
enum { LEAST_ENTRIES = 8000000 };

static const wr_lane_values as_values[] = {WR_LANE_COMPACT, WR_LANE_FULL, WR_LANE_NARROW, WR_LANE_CODED};

static const wr_knob knobs[] = {
    {.name = "hubs", .type = WR_OPTION_INT, .offset = offsetof(lane_knobs, hubs), .value = "-1",
     .min = -1, .max = WR_LANE_HUB_BYTES >> 10,
     .help = "KB of shared memory for the columns with the most entries; -1: 178 if those beyond 16 have 15%, "
             "there are 8 million entries and the plan is for one vector, else 0"},
    {.name = "columns", .type = WR_OPTION_CHOICE, .choices = "auto|full|windows", .value = "auto",
     .offset = offsetof(lane_knobs, columns),
     .help = "32 bits a column, or 16 and two windows a chunk, without hubs; auto: windows where 3 of 4 chunks fit and "
             "the entries are so many that it pays, but not for patterns in f32"},
    {.name = "values", .type = WR_OPTION_CHOICE, .choices = "auto|full|narrow|coded", .value = "auto",
     .offset = offsetof(lane_knobs, values),
     .help = "f64 values as they are, as f32 if that is exact, or as a byte each if at most 255 are different; auto: "
             "where the second-level cache does not hold the entries, coded up to 16 different ones, else narrow, "
             "else coded"},
    {.name = "shared_rows", .type = WR_OPTION_CHOICE, .choices = "auto|after", .value = "auto",
     .offset = offsetof(lane_knobs, shared_rows),
     .help = "rows of several chunks are completed by a second kernel; auto: by the first where a warp has seven "
             "chunks at most, without hubs, windows, staged elements, an order and values in fewer bytes"},
    {.name = "order", .type = WR_OPTION_CHOICE, .choices = "auto|rows|columns", .value = "auto",
     .offset = offsetof(lane_knobs, order),
     .help = "whether chunks of long rows are multiplied in the order of their columns; auto: where they are 3 of 10, "
             "x has 1 MB and there are neither hubs nor so few chunks that one kernel does all"},
    {.name = "far", .type = WR_OPTION_CHOICE, .choices = "staged|direct|auto", .value = "auto",
     .offset = offsetof(lane_knobs, far),
     .help = "whether elements of x that no cache keeps are gathered before the multiply, without hubs and windows and "
             "for one vector; auto: where x is 0.9 times the second-level cache and 5% of the entries read such ones"},
    {.name = NULL},
};

/* Sets what a user sees, from a format's shape. */
static void report(const wr_env *env, const wr_lane_csr *c, wr_plan_info *info) {
  char hubs[96] = "";
  const char *values = !wr_lane_is_compact(c) ? "" : c->table ? "; a byte a value" : "; values as f32, exactly";
  info->format_bytes = wr_lane_csr_bytes(c);
  info->apply_bytes = (double)(info->format_bytes + c->chunks * 16 + (c->nrows + c->ncols) * wr_type_bytes(env->type));
  if (c->far) info->apply_bytes += (double)((c->ncols + 2 * c->far) * wr_type_bytes(env->type));
  info->deterministic = 1;
  if (env->type == WR_F32 && c->value_bytes) info->term_unit = wr_type_unit(WR_F32);
  if (c->hubs)
    snprintf(hubs, sizeof hubs, "; %lld hub columns have %.0f%% of the entries", (long long)c->hubs,
             c->nnz ? 100.0 * (double)c->covered / (double)c->nnz : 0.0);
  if (c->low)
    snprintf(hubs, sizeof hubs, "; 16-bit columns, %.0f%% of the chunks without windows",
             c->chunks ? 100.0 * (double)c->wide / (double)c->chunks : 0.0);
  if (c->far)
    snprintf(hubs, sizeof hubs, "; x of %.0f%% of the entries is staged", 100.0 * (double)c->far / (double)c->nnz);
  snprintf(info->line, sizeof info->line, "rows over 32 lanes, %d entries each%s%s%s", (int)WR_LANE_EACH, values, hubs,
           c->order ? "; long rows in the order of columns" : "");
}

static wr_status plan(const wr_env *env, const wr_csr *A, const void *knob, wr_plan_info *info) {
  wr_lane_csr c = {.nrows = A->nrows, .ncols = A->ncols, .nnz = A->nnz, .type = env->type};
  (void)knob;
  c.value_bytes = A->val ? (int)wr_type_bytes(env->type) : 0;
  c.places = A->nnz, c.chunks = (c.places + WR_LANE_CHUNK - 1) / WR_LANE_CHUNK;
  report(env, &c, info);
  info->extra_bytes = info->format_bytes + c.chunks * 28; /* parts of rows, and an order */
  return WR_OK;
}

/* Where a user asks for staged elements, tiles of a small matrix are smaller, as one tile would have all entries near. */
static int64_t tile_of(int64_t nnz) {
  const int64_t tile = nnz / WR_LANE_CHUNK / 64;
  return tile < 1 ? 1 : tile < WR_LANE_TILE ? tile : WR_LANE_TILE;
}

static wr_status prepare(void *state, wr_env *env, wr_csr *A, const void *knob, wr_plan_info *info) {
  wr_lane_plan *p = state;
  wr_csr_view view;
  const lane_knobs *chosen = knob;
  int64_t kb = chosen->hubs < 0 ? DEFAULT_HUBS : chosen->hubs, room = wr_lane_hub_bytes(env);
  int64_t size = wr_type_bytes(env->type);
  if (chosen->hubs < 0 && (env->need_columns > 1 || A->nnz < LEAST_ENTRIES))
    kb = 0; /* rows of several vectors are taken from the caches alone */
  const int may_stage = env->need_columns == 0 && chosen->columns != COLUMNS_WINDOWS && chosen->hubs <= 0;
  const int staged = !may_stage || chosen->far == FAR_DIRECT ? 0 : chosen->far == FAR_STAGED ? 1 : -1;
  if (staged > 0) kb = 0;
  wr_lane_choice choice = {
      .most_hubs = (kb << 10 < room ? kb << 10 : room) / size,
      .cached = chosen->hubs < 0 ? (CACHED << 10) / size : 0,
      .least_share = chosen->hubs < 0 ? least_share : 0,
      .windows = chosen->columns == COLUMNS_AUTO && staged <= 0 ? -1 : chosen->columns == COLUMNS_WINDOWS,
      .by_columns = chosen->order == ORDER_AUTO ? -1 : chosen->order == ORDER_COLUMNS,
      .staged = staged,
      .tile = staged > 0 ? tile_of(A->nnz) : 0,
      .values = env->type == WR_F64 ? as_values[chosen->values] : WR_LANE_FULL,
  };
  PASS(wr_csr_device_view(A, env, &view));
  PASS(wr_lane_csr_device_build(env, A->nrows, A->ncols, A->nnz, &view, &choice, &p->format));
  PASS(wr_lane_plan_open(env, chosen->shared_rows == SHARED_AUTO, p));
  report(env, &p->format, info);
  info->extra_bytes = wr_lane_plan_bytes(env, p);
  return WR_OK;
}

static wr_status apply(void *state, wr_env *env, const wr_apply_args *args) {
  return wr_lane_csr_launch(env, state, &args->request);
}

static wr_status apply_many(void *state, wr_env *env, const wr_apply_many *request) {
  return wr_lane_csr_many_launch(env, state, request);
}

static void destroy(void *state, wr_env *env) { wr_lane_plan_close(env, state); }

static wr_status decode(void *state, wr_env *env, wr_csr **A) {
  wr_status status;
  wr_lane_csr host = {0};
  *A = NULL;
  TRY(wr_lane_csr_download(env, &((wr_lane_plan *)state)->format, &host));
  TRY(wr_lane_csr_decode(&host, A));
done:
  wr_lane_csr_free(&host);
  return status;
}

const wr_backend wr_backend_lane_csr = {
    .name = "lane_csr",
    .summary = "rows interleaved over lanes, hub columns in shared memory",
    .source = "yaSpMV, PPoPP 2014 (1 x 1 blocks); hubs: windrow",
    .place = WR_CUDA,
    .caps = WR_CAP_BETA | WR_CAP_EPILOGUE | WR_CAP_PATTERN | WR_CAP_RECTANGULAR | WR_CAP_F32 | WR_CAP_F64 |
            WR_CAP_DEVICE_ROWS,
    .knobs = knobs,
    .knobs_size = sizeof(lane_knobs),
    .state_size = sizeof(wr_lane_plan),
    .check = wr_csr_check_nothing, /* it takes any matrix */
    .plan = plan,
    .prepare = prepare,
    .apply = apply,
    .apply_many = apply_many,
    .destroy = destroy,
    .decode = decode,
};
