/* CB-SpMV: blocks of 16 x 16, each stored in the type that suits its number of entries (cb_spmv_format.h), with the epilogue
 * in the same pass. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "spmv/backends/cb_spmv/cb_spmv_plan.h"
#include "config/text.h"

typedef struct cb_knobs {
  int aggregate, formats, balance, commit, prefetch, offsets;
  int64_t th0, th1, th2, list, stage;
} cb_knobs;

typedef struct cb_state {
  wr_cb_plan plan;
  int pattern; /* the matrix has no values */
} cb_state;

enum { COMMIT_AUTO, COMMIT_DUAL, COMMIT_ORDERED };
enum { PREFETCH_AUTO, PREFETCH_ON };

/* Mean bytes of a block from which prefetching no longer pays: a warp then waits for few blocks, and the requests delay other
 * loads (H200, 2026-11: band 118 us with and 104 without, fem 49 99 and 96, the 7-point stencil 422 and 460). */
enum { LARGE_BLOCK = 512 };

static int prefetches(const cb_knobs *k, const wr_cb_format *f) {
  if (k->prefetch != PREFETCH_AUTO) return k->prefetch == PREFETCH_ON;
  return wr_cb_bytes(f) < (f->blocks ? f->blocks : 1) * LARGE_BLOCK;
}

static const wr_knob knobs[] = {
    {.name = "aggregate", .type = WR_OPTION_CHOICE, .offset = offsetof(cb_knobs, aggregate),
     .choices = "auto|never|always", .value = "auto",
     .help = "leaves out empty columns of block rows; auto: if more than th0 percent of blocks are super-sparse"},
    {.name = "formats", .type = WR_OPTION_CHOICE, .offset = offsetof(cb_knobs, formats), .choices = "on|off",
     .value = "on", .help = "blocks are COO, CSR or dense by th1 and th2; off: all are COO"},
    {.name = "balance", .type = WR_OPTION_CHOICE, .offset = offsetof(cb_knobs, balance), .choices = "on|off",
     .value = "on", .help = "lists of warps move equally many bytes; off: equally many blocks"},
    {.name = "th0", .type = WR_OPTION_INT, .offset = offsetof(cb_knobs, th0), .min = 0, .max = 100, .value = "15",
     .help = "percent of blocks with fewer than 32 entries above which columns are aggregated"},
    {.name = "th1", .type = WR_OPTION_INT, .offset = offsetof(cb_knobs, th1), .min = 0, .max = WR_CB_PLACES + 1,
     .value = "0",
     .help = "entries from which a block is CSR; 0: 1 where blocks have more than 16 on average, else 32"},
    {.name = "th2", .type = WR_OPTION_INT, .offset = offsetof(cb_knobs, th2), .min = 1, .max = WR_CB_PLACES + 1,
     .value = "128", .help = "entries from which a block is dense; th1, if that is more"},
    {.name = "list", .type = WR_OPTION_INT, .offset = offsetof(cb_knobs, list), .min = 0, .max = 1 << 20, .value = "0",
     .help = "bytes that a warp moves, 256 at least; 0: by the matrix's size"},
    {.name = "stage", .type = WR_OPTION_INT, .offset = offsetof(cb_knobs, stage), .min = WR_CB_LEAST_STAGE,
     .max = WR_CB_MOST_STAGE, .value = "5104",
     .help = "bytes of shared memory of a warp, for blocks and their x; the default fits 4 thread blocks"},
    {.name = "prefetch", .type = WR_OPTION_CHOICE, .offset = offsetof(cb_knobs, prefetch), .choices = "auto|on|off",
     .value = "auto", .help = "a warp prefetches its next blocks into L2; auto: if blocks are small"},
    {.name = "commit", .type = WR_OPTION_CHOICE, .offset = offsetof(cb_knobs, commit), .choices = "auto|dual|ordered",
     .value = "auto",
     .help = "rows that thread blocks share are added to y, which the previous multiply cleared (dual), or summed "
             "in order (ordered); auto: dual, but ordered with --deterministic and for long rows in f32"},
    {.name = "offsets", .type = WR_OPTION_CHOICE, .offset = offsetof(cb_knobs, offsets), .choices = "auto|wide",
     .value = "auto", .help = "wide: 64 bits even where 32 suffice"},
    {.name = NULL},
};

static wr_cb_options options_of(const cb_knobs *k) {
  wr_cb_options o = wr_cb_defaults();
  o.aggregate = (wr_cb_choice)(k->aggregate - 1), o.formats = k->formats == 0, o.balance = k->balance == 0;
  o.th0 = (int)k->th0, o.th1 = (int)k->th1, o.th2 = (int)(k->th2 > k->th1 ? k->th2 : k->th1);
  o.list_bytes = k->list > 0 && k->list < 256 ? 256 : k->list, o.wide = k->offsets;
  return o;
}

static wr_status check(const wr_env *env, const wr_csr *A, const void *knob) {
  (void)env;
  wr_cb_options o = options_of(knob);
  return A == NULL ? WR_OK : wr_cb_check(A->nrows, A->ncols, A->nnz, &o);
}

/* merbit reads CSR's entries directly, and is faster where blocks hold few entries. */
static void advise_rows(const wr_csr *A, const wr_cb_format *f, wr_plan_info *info) {
  int64_t entry = 4 + (A->val ? wr_type_bytes(f->type) : 0), rows = A->nnz * entry + A->nrows * 4;
  int more = wr_cb_bytes(f) > rows, few = f->plain.heavy * 4 < A->nnz;
  info->better = more || few ? "merbit" : NULL, info->advice[0] = '\0';
  if (more)
    snprintf(info->advice, sizeof info->advice, "merbit reads less: these blocks take %.2f of the bytes of rows",
             (double)wr_cb_bytes(f) / (double)rows);
  else if (few)
    snprintf(info->advice, sizeof info->advice,
             "merbit may be faster: only %.0f%% of the entries are in blocks of 33 or more, 25%% would pay",
             100 * (double)f->plain.heavy / (double)A->nnz);
}

static void report(const wr_csr *A, const wr_cb_format *f, wr_plan_info *info) {
  double blocks = (double)(f->blocks ? f->blocks : 1), plain = (double)(f->plain.blocks ? f->plain.blocks : 1);
  info->format_bytes = wr_cb_bytes(f);
  info->apply_bytes = (double)wr_cb_apply_bytes(f);
  snprintf(info->line, sizeof info->line, "%.3g %s a block, %s; %.0f%% super-sparse before aggregation; %lld %s",
           (double)f->nnz / blocks, wr_plural(f->nnz == f->blocks ? 1 : f->nnz, "entry", "entries"),
           f->aggregated ? "columns aggregated" : "columns not aggregated", 100 * (double)f->plain.super_sparse / plain,
           (long long)f->lists, wr_plural(f->lists, "list", "lists"));
  advise_rows(A, f, info);
}

static wr_status plan(const wr_env *env, const wr_csr *A, const void *knob, wr_plan_info *info) {
  const cb_knobs *k = knob;
  wr_cb_options o = options_of(k);
  wr_cb_format shape;
  PASS(wr_cb_estimate(A, &o, env->type, &shape));
  report(A, &shape, info);
  info->extra_bytes = wr_cb_layout(&shape);
  info->deterministic = k->commit == COMMIT_ORDERED || (k->commit == COMMIT_AUTO && env->deterministic);
  return WR_OK;
}

/* Most thread blocks that may add to a row of y in f32, as each addition rounds. */
static const int few_parts = 4;

static wr_cb_commit commit_of(const wr_env *env, const cb_knobs *k, const wr_cb_plan *p) {
  int must_order = env->deterministic || (env->type == WR_F32 && p->longest > few_parts);
  return k->commit == COMMIT_ORDERED || (k->commit == COMMIT_AUTO && must_order) ? WR_CB_ORDERED : WR_CB_DUAL;
}

static wr_status prepare(void *state, wr_env *env, wr_csr *A, const void *knob, wr_plan_info *info) {
  cb_state *s = state;
  wr_cb_plan *p = &s->plan;
  const cb_knobs *k = knob;
  wr_cb_options o = options_of(k);
  wr_csr_view view;
  s->pattern = A->val == NULL;
  PASS(wr_csr_device_view(A, env, &view));
  PASS(wr_cb_device_build(env, A->nrows, A->ncols, A->nnz, &view, &o, &p->format));
  PASS(wr_cb_plan_prepare(env, k->stage, prefetches(k, &p->format), p));
  p->commit = commit_of(env, k, p);
  report(A, &p->format, info);
  info->deterministic = p->commit == WR_CB_ORDERED;
  info->extra_bytes = wr_cb_plan_bytes(p);
  if (env->type == WR_F32) { /* roundings: within a block, and of parts added to y */
    double parts = p->commit == WR_CB_DUAL ? (double)p->longest + 2 : 0;
    info->term_unit = (WR_CB_F32_TERMS + parts) * wr_type_unit(WR_F32);
  }
  return WR_OK;
}

static wr_status apply(void *state, wr_env *env, const wr_apply_args *args) {
  cb_state *s = state;
  return wr_cb_launch(env, &s->plan, args);
}

static void destroy(void *state, wr_env *env) {
  cb_state *s = state;
  wr_cb_plan_free(env, &s->plan);
}

static wr_status decode(void *state, wr_env *env, wr_csr **A) {
  wr_status status;
  cb_state *s = state;
  wr_cb_format host = {0};
  *A = NULL;
  TRY(wr_cb_download(env, &s->plan.format, &host));
  TRY(wr_cb_decode(&host, s->pattern, A));
done:
  wr_cb_free(&host);
  return status;
}

/* Blocks keep their types, which depend on numbers of entries, not on values. */
static wr_status update_values(void *state, wr_env *env, wr_csr *A, int *moved) {
  cb_state *s = state;
  wr_csr_view view;
  (void)moved;
  if (s->pattern) return WR_OK;
  PASS(wr_csr_device_view(A, env, &view));
  return wr_cb_device_refill(env, &view, &s->plan.format);
}

const wr_backend wr_backend_cb_spmv = {
    .name = "cb_spmv",
    .summary = "16x16 sub-blocks in one data region",
    .source = "CB-SpMV, sections 3 and 4; in full precision, prepared on the device",
    .place = WR_CUDA,
    .caps = WR_CAP_BETA | WR_CAP_Y_NEXT | WR_CAP_EPILOGUE | WR_CAP_PATTERN | WR_CAP_RECTANGULAR | WR_CAP_F32 |
            WR_CAP_F64,
    .knobs = knobs,
    .knobs_size = sizeof(cb_knobs),
    .state_size = sizeof(cb_state),
    .check = check,
    .plan = plan,
    .prepare = prepare,
    .apply = apply,
    .destroy = destroy,
    .decode = decode,
    .update_values = update_values,
};
