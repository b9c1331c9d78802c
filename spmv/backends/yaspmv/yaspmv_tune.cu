#include "spmv/backends/yaspmv/yaspmv_tune.h"

#include <algorithm>
#include <cinttypes>

#include "config/version.h"
#include "spmv/device/check.cuh"
#include "spmv/device/cuda_state.h"
#include "spmv/kernel/warp.cuh"
#include "spmv/matrix/fingerprint.h"

/* Blocks of a lane by the values of a block (H200, docs/yaspmv.md), and the warps for each multiprocessor below which a lane
 * has fewer. */
constexpr int TILE_OF_ONE = 24, TILE_OF_FEW = 12, TILE_OF_MANY = 6, FEW = 9, ENOUGH_WARPS = 8;
constexpr int DEFAULT_THREADS = 128;

/* Shared memory for the sums of all rows that may end in a thread block, in bytes. */
constexpr int MOST_SHARED = 200 << 10;

/* The tile nearest below that a kernel can multiply; below the least of them that one. */
static int possible_tile(int tile, int r, int c, int threads) {
  int possible = std::min(tile, MOST_SHARED / (threads * r * (int)sizeof(double)));
  while (possible > 0 && !wr_bccoo_batch(r, c, possible)) possible--;
  for (; possible == 0 || !wr_bccoo_batch(r, c, possible); possible++) continue;
  return possible;
}

/* The length of at least half of the rows, from a sample; 0 if there is none. */
static int64_t usual_row(const wr_csr *A) {
  constexpr int64_t SAMPLED = 1024;
  int64_t count = std::min(A->nrows, SAMPLED), lengths[SAMPLED];
  for (int64_t n = 0; n < count; n++) {
    int64_t i = (int64_t)((double)A->nrows * (double)n / (double)count);
    lengths[n] = A->row_ptr[i + 1] - A->row_ptr[i];
  }
  std::nth_element(lengths, lengths + count / 2, lengths + count);
  if (count == 0) return 0;
  int64_t usual = lengths[count / 2];
  return 2 * std::count(lengths, lengths + count, usual) >= count ? usual : 0;
}

/* Lanes that begin with a row, as far as rows are of the usual length: the j-th entries of 32 lanes are then in alike places
 * of their rows, and in a mesh 32 lanes read 7 to 11 cache lines of x at a time for 25 with other tiles. Returns the possible
 * tile with whole rows of `row` entries that is nearest to 7/6 of `tile`, 0 if there is none: on an H200 28 and 30 entries are
 * 6% faster than 21 and 24, and than tiles of the same length without whole rows. */
static int tile_of_rows(int tile, int64_t row) {
  int nearest = 0;
  tile += tile / 6;
  for (int64_t t = row; row > 0 && t <= 32; t += row)
    if (wr_bccoo_batch(1, 1, (int)t) && std::abs(t - tile) <= std::abs(nearest - tile)) nearest = (int)t;
  return nearest;
}

static int default_tile(const wr_env *env, const wr_csr *A, double blocks, const wr_bccoo_options *o) {
  int tile = o->r * o->c == 1 ? TILE_OF_ONE : o->r * o->c <= FEW ? TILE_OF_FEW : TILE_OF_MANY;
  while (tile > 1 && blocks / (WR_WARP * tile) < (double)(ENOUGH_WARPS * wr_cuda_processors(env))) tile /= 2;
  int whole = o->r * o->c == 1 && o->slices == 1 ? tile_of_rows(tile, usual_row(A)) : 0;
  return whole ? whole : tile;
}

/* Values, 16-bit columns, flags and what a lane has besides. */
static double bytes_of(const wr_bsr_choice *sample, const wr_csr *A, wr_type type, int tile) {
  int side = sample->r * sample->c;
  bool narrow = (A->ncols + sample->c - 1) / sample->c <= WR_BCCOO_NARROW_COLUMNS;
  double lane = wr_bccoo_flag_bytes(tile) * wr_bccoo_flag_words(tile) + (narrow ? 2 : 6);
  double values = A->val == NULL && side == 1 ? 0 : (double)(side * wr_type_bytes(type));
  return sample->blocks * (values + 2 + lane / tile);
}

/* Ratio of bytes below which a sample cannot tell two sizes apart; of these, the one with the least padding is taken. */
constexpr double AS_GOOD = 1.01;

extern "C" wr_status wr_bccoo_choose(const wr_env *env, const wr_csr *A, const wr_bccoo_knobs *k, wr_bccoo_size *sizes,
                                     int *count) {
  int sides[WR_BCCOO_SIZES][2], n = 0, best = 0;
  wr_bsr_choice samples[WR_BCCOO_SIZES];
  int64_t widest = std::min((int64_t)WR_BCCOO_MAX_C, A->ncols), width = std::min(widest, k->width);
  for (int r = 1; r <= WR_BCCOO_MAX_R; r++)
    for (int c = 1; c <= widest; c++)
      if ((!k->height || r == k->height) && (!width || c == width)) sides[n][0] = r, sides[n++][1] = c;
  PASS(wr_bsr_weigh(A, env->type, n, sides, samples));
  for (int s = 0; s < n; s++) {
    wr_bccoo_options *o = &sizes[s].options;
    sizes[s].sample = samples[s];
    o->r = samples[s].r, o->c = samples[s].c, o->compress = k->columns;
    o->threads = k->threads ? (int)k->threads : DEFAULT_THREADS, o->slices = k->slices ? (int)k->slices : 1;
    o->all_sums = k->sums == 2;
    o->tile = k->tile ? (int)k->tile : default_tile(env, A, samples[s].blocks, o);
    o->tile = possible_tile(o->tile, o->r, o->c, o->threads);
    sizes[s].bytes = bytes_of(&samples[s], A, env->type, o->tile);
  }
  std::stable_sort(sizes, sizes + n, [](const wr_bccoo_size &a, const wr_bccoo_size &b) { return a.bytes < b.bytes; });
  for (int s = 1; s < n && sizes[s].bytes <= AS_GOOD * sizes[0].bytes; s++)
    if (sizes[s].sample.fill < sizes[best].sample.fill - 1e-3) best = s;
  std::rotate(sizes, sizes + best, sizes + best + 1);
  *count = n;
  return WR_OK;
}

extern "C" wr_status wr_bccoo_plan_make(wr_env *env, const wr_csr *A, const wr_csr_view *view,
                                        const wr_bccoo_options *o, int early_check, wr_bccoo_plan *p) {
  p->early_check = early_check, p->all_sums = o->all_sums;
  PASS(wr_bccoo_device_build(env, A->nrows, A->ncols, A->nnz, view, o, &p->format));
  return wr_bccoo_plan_open(env, p);
}

extern "C" wr_status wr_bccoo_key(wr_env *env, const wr_csr *A, const wr_csr_view *view, const char *knobs, char *key,
                                  size_t room) {
  uint64_t fingerprint;
  int major, minor;
  PASS(wr_csr_fingerprint(env, A->nrows, A->nnz, view, &fingerprint));
  PASS(WR_CUDA(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, env->device)));
  PASS(WR_CUDA(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, env->device)));
  snprintf(key, room, "windrow %s yaspmv:%s %s %s %" PRId64 " %" PRId64 " %" PRId64 " %016" PRIx64 " %d.%d %d %s",
           wr_version(), knobs, env->type == WR_F32 ? "f32" : "f64", A->val ? "values" : "pattern", A->nrows, A->ncols,
           A->nnz, fingerprint, major, minor, (int)wr_cuda_processors(env), env->device_name);
  for (char *byte = key; *byte; byte++)
    if ((unsigned char)*byte < ' ' || *byte == 127) *byte = ' ';
  return WR_OK;
}

/* ---- Measuring ---- */

constexpr int MULTIPLIES = 5;         /* timed together, behind one that is not */
constexpr double FASTER = 0.98;       /* of the time of the best so far          */
constexpr double QUICK_MULTIPLIES = 60; /* that tune=quick may take in all       */
constexpr double MORE_BYTES = 1.25;     /* than the first size's: tune=quick does not try a block size that reads more */
enum { BEFORE_BUILD, BEFORE_MULTIPLIES, AFTER_MULTIPLIES }; /* stamps */

struct tuning {
  wr_env *env;
  const wr_csr *A;
  const wr_csr_view *view;
  const wr_bccoo_knobs *k;
  wr_vec x, y;
  wr_bccoo_plan *best;
  wr_bccoo_options options; /* of best                                        */
  double seconds;           /* of a multiply by best                          */
  double spent, longest;    /* seconds so far; of the longest try             */
  int tried;
};

/* *seconds := the time of a multiply. */
static wr_status measure(tuning *t, const wr_bccoo_plan *p, double *seconds) {
  wr_apply request = {};
  request.alpha = 1, request.x = &t->x, request.y = &t->y;
  PASS(wr_bccoo_launch(t->env, p, &request));
  PASS(t->env->ops->stamp(t->env, BEFORE_MULTIPLIES));
  for (int n = 0; n < MULTIPLIES; n++) PASS(wr_bccoo_launch(t->env, p, &request));
  PASS(t->env->ops->stamp(t->env, AFTER_MULTIPLIES));
  PASS(t->env->ops->elapsed(t->env, BEFORE_MULTIPLIES, AFTER_MULTIPLIES, seconds));
  *seconds /= MULTIPLIES;
  return WR_OK;
}

/* Makes a plan with these options, as far as the kernel can, and keeps it if it is faster than the best. A plan that does not
 * fit the memory is no error. */
static wr_status attempt(tuning *t, wr_bccoo_options o) {
  wr_status status;
  wr_bccoo_plan p = {};
  double seconds, took;
  o.tile = possible_tile(o.tile, o.r, o.c, o.threads);
  if (o.tile == t->options.tile && o.r == t->options.r && o.c == t->options.c && o.threads == t->options.threads &&
      o.slices == t->options.slices && o.compress == t->options.compress && o.all_sums == t->options.all_sums)
    return WR_OK;
  TRY(t->env->ops->stamp(t->env, BEFORE_BUILD));
  status = wr_bccoo_plan_make(t->env, t->A, t->view, &o, t->k->early_check, &p);
  if (status == WR_ENOMEM) {
    wr_bccoo_plan_close(t->env, &p);
    return WR_OK;
  }
  TRY(status);
  TRY(measure(t, &p, &seconds));
  TRY(t->env->ops->elapsed(t->env, BEFORE_BUILD, AFTER_MULTIPLIES, &took));
  t->spent += took, t->longest = std::max(t->longest, took), t->tried++;
  if (seconds < FASTER * t->seconds) {
    std::swap(*t->best, p);
    t->seconds = seconds, t->options = o;
  }
done:
  wr_bccoo_plan_close(t->env, &p);
  return status;
}

/* As many tries as the time allows. With another block size a try may take twice as long as the longest so far. */
static wr_status tune_quick(tuning *t, const wr_bccoo_size *sizes, int count) {
  wr_bccoo_options first = sizes[0].options, tries[3];
  int n = 0;
  if (!t->k->tile) {
    tries[n] = first, tries[n++].tile = first.tile * 4 / 3;
    tries[n] = first, tries[n++].tile = first.tile * 2 / 3;
  }
  if (count > 1 && sizes[1].bytes <= MORE_BYTES * sizes[0].bytes) tries[n++] = sizes[1].options;
  for (int i = 0; i < n; i++) {
    double share = tries[i].r == first.r && tries[i].c == first.c ? 1 : 2;
    if (t->spent + share * t->longest < QUICK_MULTIPLIES * t->seconds) PASS(attempt(t, tries[i]));
  }
  return WR_OK;
}

static wr_status tune_full(tuning *t, const wr_bccoo_size *sizes, int count) {
  static const int tiles[] = {4, 8, 16, 24, 32, 40, 64, 96, 128}, threads[] = {64, 128, 256, 512};
  constexpr int FOOTPRINTS = 4;
  wr_bccoo_options o;
  for (int s = 0; s < std::min(count, FOOTPRINTS); s++)
    for (int tile : tiles)
      for (int block : threads) {
        o = sizes[s].options;
        if ((t->k->tile && tile != tiles[0]) || (t->k->threads && block != threads[0])) continue;
        if (!t->k->tile) o.tile = tile;
        if (!t->k->threads) o.threads = block;
        PASS(attempt(t, o));
      }
  for (int slices = 2; !t->k->slices && slices <= WR_BCCOO_MAX_SLICES; slices *= 2) {
    o = t->options, o.slices = slices;
    PASS(attempt(t, o));
  }
  if (t->k->columns == WR_BCCOO_AUTO) {
    o = t->options, o.compress = WR_BCCOO_NEVER;
    PASS(attempt(t, o));
  }
  if (!t->k->sums) {
    o = t->options, o.all_sums = 1;
    PASS(attempt(t, o));
  }
  return WR_OK;
}

extern "C" wr_status wr_bccoo_tune_plan(wr_env *env, const wr_csr *A, const wr_csr_view *view, const wr_bccoo_knobs *k,
                                        const wr_bccoo_size *sizes, int count, wr_bccoo_plan *p,
                                        wr_bccoo_tuned *tuned) {
  wr_status status;
  tuning t = {};
  t.env = env, t.A = A, t.view = view, t.k = k, t.best = p, t.options = sizes[0].options;
  TRY(env->ops->alloc(env, A->ncols, env->type, "x of the tuner", &t.x));
  TRY(env->ops->alloc(env, A->nrows, env->type, "y of the tuner", &t.y));
  TRY(env->ops->fill(env, &t.x, 1));
  TRY(env->ops->stamp(env, BEFORE_BUILD));
  TRY(wr_bccoo_plan_make(env, A, view, &sizes[0].options, k->early_check, p));
  TRY(measure(&t, p, &t.seconds));
  TRY(env->ops->elapsed(env, BEFORE_BUILD, AFTER_MULTIPLIES, &t.longest));
  t.tried = 1, t.spent = t.longest;
  TRY(k->tune == WR_BCCOO_QUICK ? tune_quick(&t, sizes, count) : tune_full(&t, sizes, count));
  tuned->tried = t.tried, tuned->seconds = t.seconds, tuned->spent = t.spent;
done:
  env->ops->release(env, &t.x);
  env->ops->release(env, &t.y);
  return status;
}
