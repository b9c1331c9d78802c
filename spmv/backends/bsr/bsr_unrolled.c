/* BSR with accumulators of several rows in registers: with interleaved blocks (bsr_interleaved.h) where there is a kernel for
 * their size, else as in the report's chapter 8. */
#include <stdio.h>
#include <string.h>

#include "spmv/backends/bsr/bsr_interleaved.h"
#include "spmv/backends/bsr/bsr_plan.h"
#include "spmv/device/cuda_state.h"

typedef struct unrolled_knobs {
  wr_bsr_knobs bsr;
  int64_t each;
  int commit, values;
} unrolled_knobs;

typedef struct unrolled_state {
  int is_interleaved;
  int pattern;                    /* the matrix has no values */
  int r, c, narrow;               /* arguments of wr_bsr_pack */
  wr_bsr_interleaved interleaved; /* if is_interleaved        */
  wr_bsr_plan report;             /* otherwise                */
} unrolled_state;

enum { LAYOUT_AUTO, LAYOUT_INTERLEAVED, LAYOUT_REPORT };
enum { COMMIT_AUTO, COMMIT_DUAL, COMMIT_ORDERED };

static const wr_knob knobs[] = {
    WR_BSR_SIDE_KNOB(r, "rows"),
    WR_BSR_SIDE_KNOB(c, "columns"),
    {.name = "layout", .type = WR_OPTION_CHOICE, .offset = offsetof(wr_bsr_knobs, layout),
     .choices = "auto|interleaved|report", .value = "auto",
     .help = "interleaved: values of 32 blocks interleaved, for 1..6, 8, 16 square, 16x1, 1x16; report: blocks in "
             "rows; auto: interleaved where there is a kernel"},
    {.name = "each", .type = WR_OPTION_INT, .offset = offsetof(unrolled_knobs, each), .min = 0,
     .max = WR_BSR_EACH, .value = "0", .help = "interleaved: about how many blocks a lane has; 0: by size"},
    {.name = "commit", .type = WR_OPTION_CHOICE, .offset = offsetof(unrolled_knobs, commit),
     .choices = "auto|dual|ordered", .value = "auto",
     .help = "interleaved: rows that thread blocks share are added to y, which the previous multiply cleared (dual), "
             "or summed in order (ordered); auto: dual, but ordered with --deterministic and for long rows in f32"},
    {.name = "values", .type = WR_OPTION_CHOICE, .offset = offsetof(unrolled_knobs, values), .choices = "auto|full",
     .value = "auto", .help = "interleaved: auto stores f64 values as f32 if all are exact in f32; sums stay f64"},
    /* The best of table 12 on a P100. */
    WR_BSR_BLOCK_KNOB("32|64|128|256", "64"),
    WR_BSR_OVERSUBSCRIPTION_KNOB("4"),
    {.name = "rows_at_once", .type = WR_OPTION_CHOICE, .offset = offsetof(wr_bsr_knobs, rows_at_once),
     .choices = "1|2|4|8|16", .value = "8", .help = "report: accumulators of a thread"},
    {.name = NULL},
};

static const wr_bsr_kernel kernel = {.fuses = 1, .deterministic_upto = 64, .resident = wr_bsr_unrolled_resident};

static int is_interleaved(const unrolled_knobs *k, const wr_csr *A, const wr_plan_info *info) {
  return k->bsr.layout != LAYOUT_REPORT && wr_bsr_can_pack(info->chosen[0], info->chosen[1], A->ncols);
}

static wr_status check(const wr_env *env, const wr_csr *A, const void *knob) {
  const unrolled_knobs *k = knob;
  int r = (int)k->bsr.r, c = (int)k->bsr.c;
  if (k->bsr.layout == LAYOUT_INTERLEAVED && r && c && !wr_bsr_can_pack(r, c, A->ncols))
    return wr_fail(
        WR_EUNAVAILABLE,
        "bsr_unrolled:layout=interleaved has no kernel for blocks of %d x %d in %lld columns; use layout=report", r, c,
        (long long)A->ncols);
  return wr_bsr_plan_check(env, A, &k->bsr);
}

/* Most thread blocks that may add to a row of y in f32, as each addition rounds. */
static const int few_parts = 4;

static wr_status plan(const wr_env *env, const wr_csr *A, const void *knob, wr_plan_info *info) {
  const unrolled_knobs *k = knob;
  wr_bsr_choice choice;
  PASS(wr_bsr_plan_blocks(env, A, &k->bsr, info, &choice));
  if (is_interleaved(k, A, info)) {
    size_t length = strlen(info->line);
    info->deterministic = k->commit == COMMIT_ORDERED || (k->commit == COMMIT_AUTO && env->deterministic);
    snprintf(info->line + length, sizeof info->line - length, "; interleaved");
  } else {
    wr_bsr_plan_add_tasks(env, &k->bsr, &kernel, &choice, info);
  }
  return WR_OK;
}

static wr_status pack(unrolled_state *s, wr_env *env, wr_csr *A, const unrolled_knobs *k, wr_plan_info *info) {
  wr_bsr blocks;
  wr_csr_view view;
  wr_workspace workspace;
  wr_bsr_interleaved *b = &s->interleaved;
  PASS(wr_csr_device_view(A, env, &view));
  PASS(wr_bsr_pack(env, A, &view, s->r, s->c, (int)k->each, s->narrow, &blocks, b));
  int must_order = env->deterministic || (env->type == WR_F32 && b->longest > few_parts);
  b->commit = k->commit == COMMIT_ORDERED || (k->commit == COMMIT_AUTO && must_order) ? WR_BSR_ORDERED : WR_BSR_DUAL;
  PASS(wr_workspace_reserve(env, b->grid + wr_bsr_interleaved_last_grid(env, b), &workspace));
  info->deterministic = b->commit == WR_BSR_ORDERED;
  if (env->type == WR_F32) { /* roundings: products, short sums, parts added to y */
    int parts = b->commit == WR_BSR_DUAL ? b->longest + 2 : 0;
    info->term_unit = (b->terms + 1 + parts) * wr_type_unit(WR_F32);
  }
  info->format_bytes = wr_bsr_bytes(&blocks);
  if (b->stored != env->type) info->format_bytes -= blocks.blocks * blocks.r * blocks.c * 4;
  info->extra_bytes = wr_bsr_interleaved_bytes(b);
  info->apply_bytes = (double)(info->format_bytes + (A->nrows + A->ncols) * wr_type_bytes(env->type));
  return WR_OK;
}

static wr_status prepare(void *state, wr_env *env, wr_csr *A, const void *knob, wr_plan_info *info) {
  unrolled_state *s = state;
  const unrolled_knobs *k = knob;
  s->is_interleaved = is_interleaved(k, A, info), s->pattern = A->val == NULL;
  s->r = info->chosen[0], s->c = info->chosen[1], s->narrow = k->values == 0;
  if (s->is_interleaved)
    PASS(pack(s, env, A, k, info));
  else
    PASS(wr_bsr_plan_prepare(&s->report, env, A, &k->bsr, &kernel, info));
  return WR_OK;
}

static wr_status apply(void *state, wr_env *env, const wr_apply_args *args) {
  unrolled_state *s = state;
  if (s->is_interleaved) return wr_bsr_interleaved_launch(env, &s->interleaved, args);
  return wr_bsr_unrolled_launch(env, &s->report, &args->request);
}

static void destroy(void *state, wr_env *env) {
  unrolled_state *s = state;
  wr_bsr_interleaved_free(env, &s->interleaved);
  wr_bsr_plan_destroy(&s->report, env);
}

static wr_status decode(void *state, wr_env *env, wr_csr **A) {
  unrolled_state *s = state;
  if (s->is_interleaved) return wr_bsr_interleaved_decode(env, &s->interleaved, s->pattern, A);
  return wr_bsr_plan_decode(&s->report, env, A);
}

/* The largest blocks of a resident loop of which these consist. */
static int side(const void *state) {
  const unrolled_state *s = state;
  for (int n = 4; n > 1; n--)
    if (s->r % n == 0 && s->c % n == 0) return n;
  return 1;
}

/* Overwrites the old values, unless the new ones have to be stored in another type. */
static wr_status update_values(void *state, wr_env *env, wr_csr *A, int *moved) {
  unrolled_state *s = state;
  wr_csr_view view;
  if (!s->is_interleaved) return wr_bsr_plan_update_values(&s->report, env, A, moved);
  if (s->pattern) return WR_OK;
  PASS(wr_csr_device_view(A, env, &view));
  return wr_bsr_interleaved_refill(env, A, &view, s->r, s->c, s->narrow, &s->interleaved);
}

const wr_backend wr_backend_bsr_unrolled = {
    .name = "bsr_unrolled",
    .summary = "BSR, accumulators unrolled over several rows",
    .source = "research report on BSR, section 8.3.2, listing 18; its default layout goes past it",
    .place = WR_CUDA,
    .caps = WR_CAP_BETA | WR_CAP_Y_NEXT | WR_CAP_EPILOGUE | WR_CAP_PATTERN | WR_CAP_RECTANGULAR | WR_CAP_F32 |
            WR_CAP_F64,
    .knobs = knobs,
    .knobs_size = sizeof(unrolled_knobs),
    .state_size = sizeof(unrolled_state),
    .check = check,
    .plan = plan,
    .prepare = prepare,
    .apply = apply,
    .destroy = destroy,
    .decode = decode,
    .side = side,
    .update_values = update_values,
};
