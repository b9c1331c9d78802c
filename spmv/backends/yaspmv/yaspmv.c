/* yaSpMV: blocks with bit flags for the ends of rows, BCCOO and BCCOO+ (yaspmv_format.h), multiplied by one kernel in which
 * neighbouring thread blocks pass on what they leave open of a row. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "spmv/backends/yaspmv/yaspmv_tune.h"
#include "spmv/tune_cache.h"

typedef struct yaspmv_knobs {
  int64_t width, height, tile;
  int threads, slices, columns, sums, tune, check;
} yaspmv_knobs;

typedef struct yaspmv_state {
  wr_bccoo_plan plan;
  int pattern; /* the matrix has no values */
} yaspmv_state;

static const wr_knob knobs[] = {
    {.name = "width", .type = WR_OPTION_INT, .offset = offsetof(yaspmv_knobs, width), .min = 0, .max = WR_BCCOO_MAX_C,
     .value = "0", .help = "columns of a block; 0: by the bytes of a sample"},
    {.name = "height", .type = WR_OPTION_INT, .offset = offsetof(yaspmv_knobs, height), .min = 0,
     .max = WR_BCCOO_MAX_R, .value = "0", .help = "rows of a block; 0: by the bytes of a sample"},
    {.name = "tile", .type = WR_OPTION_INT, .offset = offsetof(yaspmv_knobs, tile), .min = 0,
     .max = WR_BCCOO_MAX_TILE, .value = "0",
     .help = "about how many blocks a lane has, as far as shared memory allows; 0: by the blocks' size and number"},
    {.name = "threads", .type = WR_OPTION_CHOICE, .offset = offsetof(yaspmv_knobs, threads),
     .choices = "auto|64|128|256|512", .value = "auto", .help = "threads of a thread block; auto: 128"},
    {.name = "slices", .type = WR_OPTION_CHOICE, .offset = offsetof(yaspmv_knobs, slices),
     .choices = "auto|1|2|4|8|16|32", .value = "auto", .help = "vertical slices: 1 is BCCOO, more are BCCOO+; auto: 1"},
    {.name = "columns", .type = WR_OPTION_CHOICE, .offset = offsetof(yaspmv_knobs, columns),
     .choices = "auto|wide|differences|paper", .value = "auto",
     .help = "block columns: 32 bits, 16-bit differences in a window, or the paper's; auto: 16 bits where they "
             "suffice, else what takes fewer bytes"},
    {.name = "sums", .type = WR_OPTION_CHOICE, .offset = offsetof(yaspmv_knobs, sums), .choices = "auto|ends|all",
     .value = "auto",
     .help = "kept in shared memory: one sum for each row that ends in a lane (the paper's strategy 2), or one for "
             "each of its blocks (strategy 1); auto: ends"},
    {.name = "tune", .type = WR_OPTION_CHOICE, .offset = offsetof(yaspmv_knobs, tune), .choices = "none|quick|full",
     .value = "none",
     .help = "times other values of the knobs that are 0 or auto, and takes the fastest; quick: for at most 60 "
             "multiplies; ignored with --deterministic"},
    {.name = "check", .type = WR_OPTION_CHOICE, .offset = offsetof(yaspmv_knobs, check), .choices = "on|off",
     .value = "on", .help = "warps in which every lane ends a row skip the scan"},
    {.name = NULL},
};

static wr_bccoo_knobs parsed(const wr_env *env, const yaspmv_knobs *k) {
  wr_bccoo_knobs p = {.width = k->width, .height = k->height, .tile = k->tile};
  p.threads = k->threads ? 32 << k->threads : 0, p.slices = k->slices ? 1 << (k->slices - 1) : 0;
  p.columns = (wr_bccoo_compress)k->columns, p.sums = k->sums, p.early_check = k->check == 0;
  p.tune = env->deterministic ? WR_BCCOO_UNTUNED : (wr_bccoo_tune)k->tune;
  return p;
}

static wr_status check(const wr_env *env, const wr_csr *A, const void *knob) {
  wr_bccoo_knobs k = parsed(env, knob);
  wr_bccoo_options o = {.r = 1, .c = 1, .tile = 1, .threads = 64, .slices = k.slices ? (int)k.slices : 1};
  return A == NULL ? WR_OK : wr_bccoo_check(A->nrows, A->ncols, A->nnz, &o);
}

/* A configuration as knobs, which give an equal one. Where there are fewer block columns than slices were asked for, there is a
 * slice for each, as for the next power of two. */
static void describe(const wr_bccoo_plan *p, char *text, size_t size) {
  static const char *const columns[] = {"wide", "auto", "differences", "paper"};
  const wr_bccoo *b = &p->format;
  int slices = 1;
  while (slices < b->slices) slices *= 2;
  snprintf(text, size, "width=%d:height=%d:tile=%d:threads=%d:slices=%d:columns=%s:sums=%s%s", b->c, b->r, b->tile,
           b->threads, slices, columns[b->columns], p->all_sums ? "all" : "ends", p->early_check ? "" : ":check=off");
}

/* Sets what a user sees, from a format's shape. */
static void report(const wr_env *env, const wr_csr *A, const wr_bccoo_plan *p, wr_plan_info *info) {
  static const char *const columns[] = {"32-bit columns", "16-bit columns", "16-bit differences",
                                        "16-bit differences as in the paper"};
  char configuration[WR_TUNE_KNOBS_ROOM];
  const wr_bccoo *b = &p->format;
  int64_t type_bytes = wr_type_bytes(env->type);
  double sliced = b->slices > 1 ? 2.0 * b->slices * (double)(b->all_rows * b->r) * sizeof(double) : 0;
  info->format_bytes = wr_bccoo_bytes(b);
  info->apply_bytes = (double)(info->format_bytes + (A->nrows + A->ncols) * type_bytes) + sliced;
  info->deterministic = 1;
  if (env->type == WR_F32) info->term_unit = wr_bccoo_terms(b->c) * wr_type_unit(WR_F32);
  describe(p, configuration, sizeof configuration);
  snprintf(info->line, sizeof info->line, "%s: %s; fill %.2f, %s", b->slices > 1 ? "BCCOO+" : "BCCOO", configuration,
           A->nnz > 0 ? (double)(b->blocks * b->r * b->c) / (double)A->nnz : 1, columns[b->columns]);
}

static wr_status plan(const wr_env *env, const wr_csr *A, const void *knob, wr_plan_info *info) {
  wr_bccoo_knobs k = parsed(env, knob);
  wr_bccoo_size sizes[WR_BCCOO_SIZES];
  int count;
  wr_bccoo b = {.nrows = A->nrows, .ncols = A->ncols, .type = env->type};
  PASS(wr_bccoo_choose(env, A, &k, sizes, &count));
  wr_bccoo_options o = sizes[0].options;
  b.r = o.r, b.c = o.c, b.tile = o.tile, b.threads = o.threads, b.slices = o.slices;
  b.valued = A->val != NULL || o.r * o.c > 1;
  b.columns = o.compress == WR_BCCOO_NEVER      ? WR_BCCOO_WIDE
              : o.compress == WR_BCCOO_AS_PAPER ? WR_BCCOO_PAPER
              : o.compress == WR_BCCOO_AUTO && (A->ncols + o.c - 1) / o.c <= WR_BCCOO_NARROW_COLUMNS
                  ? WR_BCCOO_NARROW
                  : WR_BCCOO_DIFFERENCES;
  b.all_rows = (A->nrows + o.r - 1) / o.r, b.blocks = (int64_t)sizes[0].sample.blocks;
  b.grid = (b.blocks + (int64_t)o.tile * o.threads - 1) / ((int64_t)o.tile * o.threads);
  const wr_bccoo_plan like = {.format = b, .early_check = k.early_check, .all_sums = o.all_sums};
  report(env, A, &like, info);
  info->extra_bytes = info->format_bytes + (b.slices > 1 ? b.slices * b.all_rows * b.r * 8 : 0);
  double share = sizes[0].bytes / sizes[0].sample.csr_bytes;
  if (share < 1) return WR_OK;
  info->better = "merbit";
  snprintf(info->advice, sizeof info->advice,
           "merbit reads less: blocks of %d x %d: fill %.2f, %.2f of the bytes of rows", o.r, o.c, sizes[0].sample.fill,
           share);
  return WR_OK;
}

/* Copies the knobs that are given, tune excepted, over those of a configuration. */
static wr_status keep_given(const yaspmv_knobs *given, yaspmv_knobs *k) {
  yaspmv_knobs open;
  PASS(wr_options_default(knobs, &open));
  WR_EACH_OPTION(row, knobs) {
    size_t at = row->offset, size = row->type == WR_OPTION_INT ? sizeof(int64_t) : sizeof(int);
    int is_given = memcmp((const char *)given + at, (const char *)&open + at, size) != 0;
    if (is_given && at != offsetof(yaspmv_knobs, tune)) memcpy((char *)k + at, (const char *)given + at, size);
  }
  return WR_OK;
}

/* *o := the options that a line of a cache stands for, by the way that knobs of a user take. WR_EUSAGE: it leaves some open, or
 * the kernel, the matrix or a given knob does not allow them. */
static wr_status options_of(const wr_env *env, const wr_csr *A, const yaspmv_knobs *given, const char *text,
                            wr_bccoo_options *o) {
  yaspmv_knobs k;
  wr_bccoo_size sizes[WR_BCCOO_SIZES];
  int count;
  PASS(wr_options_default(knobs, &k));
  PASS(wr_knobs_parse(knobs, &k, text, "yaspmv"));
  wr_bccoo_knobs found = parsed(env, &k);
  if (!found.width || !found.height || !found.tile || !found.threads || !found.slices || !found.sums || k.tune)
    return wr_fail(WR_EUSAGE, "'%s' is no whole configuration", text);
  PASS(keep_given(given, &k));
  wr_bccoo_knobs all = parsed(env, &k);
  PASS(wr_bccoo_choose(env, A, &all, sizes, &count));
  *o = sizes[0].options;
  int64_t bcols = (A->ncols + o->c - 1) / o->c;
  if (o->c != found.width || o->r != found.height || o->tile != found.tile || o->threads != found.threads ||
      o->all_sums != (found.sums == 2) || (o->slices != found.slices && (o->slices < bcols || found.slices < bcols)))
    return wr_fail(WR_EUSAGE, "'%s' is not possible for this matrix and these knobs", text);
  return WR_OK;
}

/* Keeps the sentence of the last failure, unless there was an earlier one. */
static void warn(wr_plan_info *info, const char *path, const char *begin) {
  if (info->tuning.warning[0]) return;
  snprintf(info->tuning.warning, sizeof info->tuning.warning, "%.200s%s%s", path, begin, wr_status_message());
}

/* Makes the plan of the configuration that the cache has for this key, if it has one that is possible, and then says so in
 * info->tuning.from. */
static wr_status look_up(wr_env *env, const wr_csr *A, const wr_csr_view *view, const yaspmv_knobs *given,
                         const char *key, wr_bccoo_plan *p, wr_plan_info *info) {
  char text[WR_TUNE_KNOBS_ROOM];
  wr_bccoo_options o;
  if (wr_tune_cache_find(env->tune_cache, key, text) != WR_OK) warn(info, "", "");
  if (text[0] == '\0') return WR_OK;
  wr_status status = options_of(env, A, given, text, &o);
  if (status == WR_OK) status = wr_bccoo_plan_make(env, A, view, &o, parsed(env, given).early_check, p);
  if (status == WR_OK) info->tuning.from = env->tune_cache;
  if (status != WR_EUSAGE && status != WR_ENOMEM) return status;
  wr_bccoo_plan_close(env, p);
  warn(info, env->tune_cache, ": what it has for this matrix is left out: ");
  return WR_OK;
}

/* A plan of the configuration that the cache has, or else of the fastest one, which is then added to it. */
static wr_status tune(wr_env *env, const wr_csr *A, const wr_csr_view *view, const yaspmv_knobs *given,
                      wr_bccoo_plan *p, wr_plan_info *info) {
  char key[WR_TUNE_KEY_ROOM], text[256];
  wr_bccoo_knobs k = parsed(env, given);
  wr_bccoo_size sizes[WR_BCCOO_SIZES];
  wr_bccoo_tuned tuned;
  wr_tuning *t = &info->tuning;
  int count;
  if (env->tune_cache) {
    wr_knobs_text(knobs, given, text, sizeof text);
    PASS(wr_bccoo_key(env, A, view, text, key, sizeof key));
    PASS(look_up(env, A, view, given, key, p, info));
  }
  if (t->from == NULL) {
    PASS(wr_bccoo_choose(env, A, &k, sizes, &count));
    PASS(wr_bccoo_tune_plan(env, A, view, &k, sizes, count, p, &tuned));
    t->tried = tuned.tried, t->seconds = tuned.spent, t->multiply_seconds = tuned.seconds;
  }
  describe(p, t->knobs, sizeof t->knobs);
  if (env->tune_cache && t->from == NULL && wr_tune_cache_store(env->tune_cache, key, t->knobs) != WR_OK)
    warn(info, "", "");
  return WR_OK;
}

static wr_status prepare(void *state, wr_env *env, wr_csr *A, const void *knob, wr_plan_info *info) {
  yaspmv_state *s = state;
  wr_bccoo_knobs k = parsed(env, knob);
  wr_bccoo_size sizes[WR_BCCOO_SIZES];
  int count;
  wr_csr_view view;
  s->pattern = A->val == NULL;
  PASS(wr_csr_device_view(A, env, &view));
  if (k.tune == WR_BCCOO_UNTUNED) {
    PASS(wr_bccoo_choose(env, A, &k, sizes, &count));
    PASS(wr_bccoo_plan_make(env, A, &view, &sizes[0].options, k.early_check, &s->plan));
  } else {
    PASS(tune(env, A, &view, knob, &s->plan, info));
  }
  report(env, A, &s->plan, info);
  info->extra_bytes = wr_bccoo_plan_bytes(&s->plan);
  return WR_OK;
}

static wr_status apply(void *state, wr_env *env, const wr_apply_args *args) {
  yaspmv_state *s = state;
  return wr_bccoo_launch(env, &s->plan, &args->request);
}

static void destroy(void *state, wr_env *env) {
  yaspmv_state *s = state;
  wr_bccoo_plan_close(env, &s->plan);
}

static wr_status decode(void *state, wr_env *env, wr_csr **A) {
  wr_status status;
  yaspmv_state *s = state;
  wr_bccoo host = {0};
  *A = NULL;
  TRY(wr_bccoo_download(env, &s->plan.format, &host));
  TRY(wr_bccoo_decode(&host, s->pattern, A));
done:
  wr_bccoo_free(&host);
  return status;
}

static wr_status update_values(void *state, wr_env *env, wr_csr *A, int *moved) {
  yaspmv_state *s = state;
  wr_csr_view view;
  (void)moved;
  if (s->pattern) return WR_OK;
  PASS(wr_csr_device_view(A, env, &view));
  return wr_bccoo_device_refill(env, &view, &s->plan.format);
}

const wr_backend wr_backend_yaspmv = {
    .name = "yaspmv",
    .summary = "BCCOO and BCCOO+: blocks with bit flags for rows",
    .source = "yaSpMV: Yet Another SpMV Framework on GPUs, PPoPP 2014",
    .place = WR_CUDA,
    .caps = WR_CAP_BETA | WR_CAP_EPILOGUE | WR_CAP_PATTERN | WR_CAP_RECTANGULAR | WR_CAP_F32 | WR_CAP_F64,
    .knobs = knobs,
    .knobs_size = sizeof(yaspmv_knobs),
    .state_size = sizeof(yaspmv_state),
    .check = check,
    .plan = plan,
    .prepare = prepare,
    .apply = apply,
    .destroy = destroy,
    .decode = decode,
    .update_values = update_values,
};
