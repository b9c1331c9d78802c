/* yaSpMV: blocks with bit flags for the ends of rows, BCCOO and BCCOO+ (yaspmv_format.h), multiplied by one kernel in which
 * neighbouring thread blocks pass on what they leave open of a row. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>

#include "spmv/backends/yaspmv/yaspmv_build.h"
#include "spmv/backends/yaspmv/yaspmv_kernel.h"
#include "spmv/blocks/bsr_build.h"
#include "spmv/device/cuda_state.h"

typedef struct yaspmv_knobs {
  int64_t width, height, tile;
  int threads, slices, columns, check;
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
     .choices = "64|128|256|512", .value = "128", .help = "threads of a thread block"},
    {.name = "slices", .type = WR_OPTION_CHOICE, .offset = offsetof(yaspmv_knobs, slices),
     .choices = "1|2|4|8|16|32", .value = "1", .help = "vertical slices: 1 is BCCOO, more are BCCOO+"},
    {.name = "columns", .type = WR_OPTION_CHOICE, .offset = offsetof(yaspmv_knobs, columns),
     .choices = "auto|wide|differences|paper", .value = "auto",
     .help = "block columns: 32 bits, 16-bit differences in a window, or the paper's; auto: 16 bits where they "
             "suffice, else what takes fewer bytes"},
    {.name = "check", .type = WR_OPTION_CHOICE, .offset = offsetof(yaspmv_knobs, check), .choices = "on|off",
     .value = "on", .help = "warps in which every lane ends a row skip the scan"},
    {.name = NULL},
};

/* Blocks of a lane by the values of a block; and the fewest warps for each multiprocessor below which it has fewer. */
enum { TILE_OF_ONE = 24, TILE_OF_FEW = 12, TILE_OF_MANY = 6, FEW = 9, ENOUGH_WARPS = 8 };

/* Shared memory for the sums of all rows that may end in a thread block, in bytes. */
enum { MOST_SHARED = 200 << 10 };

static int tile_of(const wr_env *env, const yaspmv_knobs *k, double blocks, int r, int c, int threads) {
  int batch = WR_BCCOO_BATCH(r, c), most = MOST_SHARED / (threads * r * (int)sizeof(double));
  int tile = k->tile ? (int)k->tile : r * c == 1 ? TILE_OF_ONE : r * c <= FEW ? TILE_OF_FEW : TILE_OF_MANY;
  while (!k->tile && tile > 1 && blocks / (32 * tile) < (double)(ENOUGH_WARPS * wr_cuda_processors(env))) tile /= 2;
  if (tile > most) tile = most;
  return tile < batch ? batch : tile / batch * batch;
}

/* Expected bytes that a multiply reads: values, 16-bit columns, flags and what a lane has besides. */
static double bytes_of(const wr_bsr_choice *choice, const wr_csr *A, wr_type type, int tile) {
  int narrow = (A->ncols + choice->c - 1) / choice->c <= WR_BCCOO_NARROW_COLUMNS, side = choice->r * choice->c;
  double lane = wr_bccoo_flag_bytes(tile) * wr_bccoo_flag_words(tile) + (narrow ? 2 : 6);
  double values = A->val == NULL && side == 1 ? 0 : (double)(side * wr_type_bytes(type));
  return choice->blocks * (values + 2 + lane / tile);
}

/* Ratio of bytes below which a sample cannot tell two sizes apart; of these, the one with the least padding is taken. */
static const double as_good = 1.01;

/* *o := the options, with the block size of the least expected bytes among the sizes that the knobs leave open. */
static wr_status choose(const wr_env *env, const wr_csr *A, const yaspmv_knobs *k, wr_bccoo_options *o,
                        wr_bsr_choice *choice) {
  static const int threads[] = {64, 128, 256, 512};
  wr_status status;
  int sides[WR_BCCOO_MAX_R * WR_BCCOO_MAX_C][2], count = 0, best = 0;
  wr_bsr_choice choices[WR_BCCOO_MAX_R * WR_BCCOO_MAX_C];
  double bytes[WR_BCCOO_MAX_R * WR_BCCOO_MAX_C], least = INFINITY;
  int widest = A->ncols < WR_BCCOO_MAX_C ? (int)A->ncols : WR_BCCOO_MAX_C;
  int width = k->width > widest ? widest : (int)k->width;
  for (int r = 1; r <= WR_BCCOO_MAX_R; r++)
    for (int c = 1; c <= widest; c++)
      if ((!k->height || r == k->height) && (!width || c == width)) sides[count][0] = r, sides[count++][1] = c;
  TRY(wr_bsr_weigh(A, env->type, count, (const int(*)[2])sides, choices));
  o->threads = threads[k->threads], o->slices = 1 << k->slices, o->compress = (wr_bccoo_compress)k->columns;
  for (int n = 0; n < count; n++) {
    int r = choices[n].r, c = choices[n].c;
    bytes[n] = bytes_of(&choices[n], A, env->type, tile_of(env, k, choices[n].blocks, r, c, o->threads));
    if (bytes[n] < least) least = bytes[n], best = n;
  }
  for (int n = 0; n < count; n++)
    if (bytes[n] <= as_good * least && choices[n].fill < choices[best].fill - 1e-3) best = n;
  *choice = choices[best];
  o->r = choice->r, o->c = choice->c;
  o->tile = tile_of(env, k, choice->blocks, o->r, o->c, o->threads);
done:
  return status;
}

static wr_status check(const wr_env *env, const wr_csr *A, const void *knob) {
  const yaspmv_knobs *k = knob;
  (void)env;
  wr_bccoo_options o = {.r = 1, .c = 1, .tile = 1, .threads = 64, .slices = 1 << k->slices};
  return A == NULL ? WR_OK : wr_bccoo_check(A->nrows, A->ncols, A->nnz, &o);
}

/* Sets what a user sees, from a format's shape. */
static void report(const wr_env *env, const wr_csr *A, const wr_bccoo *b, wr_plan_info *info) {
  static const char *const columns[] = {"32-bit columns", "16-bit columns", "16-bit differences",
                                        "16-bit differences as in the paper"};
  int64_t type_bytes = wr_type_bytes(env->type);
  double sliced = b->slices > 1 ? 2.0 * b->slices * (double)(b->all_rows * b->r) * sizeof(double) : 0;
  info->format_bytes = wr_bccoo_bytes(b);
  info->apply_bytes = (double)(info->format_bytes + (A->nrows + A->ncols) * type_bytes) + sliced;
  info->deterministic = 1;
  if (env->type == WR_F32) info->term_unit = wr_bccoo_terms(b->c) * wr_type_unit(WR_F32);
  snprintf(info->line, sizeof info->line, "%s: width=%d:height=%d:tile=%d:threads=%d:slices=%d; fill %.2f, %s",
           b->slices > 1 ? "BCCOO+" : "BCCOO", b->c, b->r, b->tile, b->threads, b->slices,
           A->nnz > 0 ? (double)(b->blocks * b->r * b->c) / (double)A->nnz : 1, columns[b->columns]);
}

static wr_status plan(const wr_env *env, const wr_csr *A, const void *knob, wr_plan_info *info) {
  wr_status status;
  wr_bccoo_options o;
  wr_bsr_choice choice;
  wr_bccoo b = {.nrows = A->nrows, .ncols = A->ncols, .type = env->type};
  TRY(choose(env, A, knob, &o, &choice));
  b.r = o.r, b.c = o.c, b.tile = o.tile, b.threads = o.threads, b.slices = o.slices;
  b.valued = A->val != NULL || o.r * o.c > 1;
  b.columns = o.compress == WR_BCCOO_NEVER      ? WR_BCCOO_WIDE
              : o.compress == WR_BCCOO_AS_PAPER ? WR_BCCOO_PAPER
              : o.compress == WR_BCCOO_AUTO && (A->ncols + o.c - 1) / o.c <= WR_BCCOO_NARROW_COLUMNS
                  ? WR_BCCOO_NARROW
                  : WR_BCCOO_DIFFERENCES;
  b.all_rows = (A->nrows + o.r - 1) / o.r, b.blocks = (int64_t)choice.blocks;
  b.grid = (b.blocks + (int64_t)o.tile * o.threads - 1) / ((int64_t)o.tile * o.threads);
  report(env, A, &b, info);
  info->chosen[0] = o.r, info->chosen[1] = o.c;
  info->extra_bytes = info->format_bytes + (b.slices > 1 ? b.slices * b.all_rows * b.r * 8 : 0);
  wr_bsr_advise_rows(&choice, "merbit", info);
done:
  return status;
}

static wr_status prepare(void *state, wr_env *env, wr_csr *A, const void *knob, wr_plan_info *info) {
  wr_status status;
  yaspmv_state *s = state;
  const yaspmv_knobs *k = knob;
  yaspmv_knobs chosen = *k;
  wr_bccoo_options o;
  wr_bsr_choice choice;
  wr_csr_view view;
  chosen.height = info->chosen[0], chosen.width = info->chosen[1];
  TRY(choose(env, A, &chosen, &o, &choice));
  s->pattern = A->val == NULL;
  s->plan.early_check = k->check == 0;
  TRY(wr_csr_device_view(A, env, &view));
  TRY(wr_bccoo_device_build(env, A->nrows, A->ncols, A->nnz, &view, &o, &s->plan.format));
  TRY(wr_bccoo_plan_open(env, &s->plan));
  report(env, A, &s->plan.format, info);
  info->extra_bytes = wr_bccoo_plan_bytes(&s->plan);
done:
  return status;
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
  wr_status status = WR_OK;
  yaspmv_state *s = state;
  wr_csr_view view;
  (void)moved;
  if (s->pattern) return WR_OK;
  TRY(wr_csr_device_view(A, env, &view));
  TRY(wr_bccoo_device_refill(env, &view, &s->plan.format));
done:
  return status;
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
