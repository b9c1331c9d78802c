#define _DEFAULT_SOURCE /* _SC_LEVEL3_CACHE_SIZE */
#include "solvers/program/apply_time.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "config/hash.h"
#include "config/memory.h"
#include "solvers/report/report_text.h"

enum { MEGABYTE = 1 << 20, MOST_PREPARATIONS = 16 };
static const int64_t most_repeats = 1000000; /* of one multiply in a batch                         */
static const double most_preparing = 1;    /* seconds; a longer preparation is not repeated      */

/* The vectors of one place, shared by all plans there. Of several vectors at once, x and y have the elements of a row side by
 * side. */
typedef struct vectors {
  int open;              /* 1: they are allocated       */
  wr_vec x, y[2], flush; /* flush: twice the last cache */
} vectors;

typedef struct series {
  double *seconds; /* [batches] of a multiply     */
  int64_t count;
  double spent;    /* s, all that it was timed for */
} series;

/* One backend under measurement. */
typedef struct timing {
  wr_run *run;
  wr_apply_times *times;
  wr_plan *plan; /* NULL: it is not timed any more             */
  wr_env *env;
  vectors *vectors;
  int columns;    /* vectors at once                           */
  int dual, turn; /* the next multiply writes y[turn]          */
  series hot, cold;
} timing;

/* The expected y, computed on the host. */
typedef struct reference {
  int64_t count;        /* rows that are checked                        */
  double *value, *size; /* [count * width] sum a x, sum |a x|         */
  double *y;            /* [nrows * width] as a backend computed it   */
} reference;

typedef struct bench {
  wr_csr *A;
  wr_type type;
  const wr_apply_settings *settings;
  wr_apply_place *places;
  int64_t width;       /* vectors at once                               */
  double *x, *seconds; /* [ncols * width]; [count][2][batches], of the timings */
  reference expected;
  vectors vectors[2];
  int count;
  timing timings[WR_MAX_RUNS];
} bench;

/* ---- places ---- */

void wr_apply_place_open(wr_apply_place *place, wr_env env) {
  *place = (wr_apply_place){.env = env};
  if (wr_error_keep(&place->error, wr_env_open(&place->env)) != WR_OK) return;
  if (wr_env_read_bandwidth(&place->env, INFINITY, &place->read_bandwidth) != WR_OK) place->read_bandwidth = 0;
}

void wr_apply_place_close(wr_apply_place *place) { wr_env_close(&place->env); }

/* 256 MB is more than twice the last cache of any GPU so far (126 MB, 2026). */
static int64_t flush_elements(wr_place place) {
  int64_t bytes = 256 * (int64_t)MEGABYTE;
#ifdef _SC_LEVEL3_CACHE_SIZE
  int64_t cache = place == WR_HOST ? sysconf(_SC_LEVEL3_CACHE_SIZE) : 0;
  if (cache > 0) bytes = 2 * cache;
#endif
  return bytes / 8;
}

static void close_vectors(wr_env *env, vectors *v) {
  wr_vec *const all[] = {&v->x, &v->y[0], &v->y[1], &v->flush};
  for (int k = 0; k < 4; k++) env->ops->release(env, all[k]);
}

static wr_status open_vectors(bench *b, wr_place place) {
  wr_status status;
  wr_env *env = &b->places[place].env;
  vectors *v = &b->vectors[place];
  wr_csr_view view;
  if (v->open) return WR_OK;
  env->type = b->type, env->need_columns = b->width > 1 ? (int)b->width : 0;
  if (place == WR_CUDA) TRY(wr_csr_device_view(b->A, env, &view)); /* the upload does not count as preparation */
  TRY(env->ops->alloc(env, b->A->ncols * b->width, b->type, "x", &v->x));
  TRY(env->ops->upload(env, &v->x, b->x));
  for (int k = 0; k < 2; k++) TRY(env->ops->alloc(env, b->A->nrows * b->width, b->type, "y", &v->y[k]));
  if (b->settings->cold) TRY(env->ops->alloc(env, flush_elements(place), WR_F64, "overwriting a cache", &v->flush));
  for (int slot = 0; slot < 2; slot++) TRY(env->ops->stamp(env, slot)); /* a device allocates them at first use */
  TRY(env->ops->wait(env));
  v->open = 1;
done:
  if (status != WR_OK) close_vectors(env, v);
  return status;
}

/* ---- the expected y ---- */

/* In (-1, 1), and the same number in f32. */
static double x_element(int64_t j) { return ((double)(wr_hash(1, (uint64_t)j) >> 41) + 0.5) * 0x1p-22 - 1; }

/* Row k of those that are checked: all, or a sample spread evenly with both ends. */
static int64_t checked_row(const bench *b, int64_t k) {
  int64_t count = b->expected.count, n = b->A->nrows;
  return count == n ? k : count < 2 ? 0 : k * (n - 1) / (count - 1); /* both below 2^31 */
}

/* Row i of A x, of vector c. */
static void compute_row(const bench *b, int64_t i, int64_t c, double *value, double *size) {
  const wr_csr *A = b->A;
  long double sum = 0, magnitude = 0;
  for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
    double entry = A->val == NULL ? 1 : b->type == WR_F32 ? (double)(float)A->val[k] : A->val[k];
    long double term = (long double)entry * b->x[A->col[k] * b->width + c];
    sum += term;
    magnitude += fabsl(term);
  }
  *value = (double)sum, *size = (double)magnitude;
}

static wr_status make_reference(bench *b) {
  reference *e = &b->expected;
  const wr_apply_settings *s = b->settings;
  PASS(wr_csr_check_range(b->A, b->type == WR_F32));
  int64_t width = b->width;
  PASS(wr_alloc(&b->x, b->A->ncols * width, sizeof *b->x, "x"));
  for (int64_t j = 0; j < b->A->ncols * width; j++) b->x[j] = x_element(j);
  if (s->verify == WR_VERIFY_OFF) return WR_OK;
  e->count = s->verify == WR_VERIFY_SAMPLE && s->verify_rows < b->A->nrows ? s->verify_rows : b->A->nrows;
  PASS(wr_alloc(&e->y, b->A->nrows * width, sizeof *e->y, "checking a product"));
  PASS(wr_alloc(&e->value, e->count * width, sizeof *e->value, "checking a product"));
  PASS(wr_alloc(&e->size, e->count * width, sizeof *e->size, "checking a product"));
#pragma omp parallel for schedule(guided)
  for (int64_t k = 0; k < e->count; k++)
    for (int64_t c = k * width; c < (k + 1) * width; c++)
      compute_row(b, checked_row(b, k), c % width, &e->value[c], &e->size[c]);
  double most = b->type == WR_F32 ? (double)FLT_MAX : DBL_MAX;
  for (int64_t c = 0; c < e->count * width; c++)
    if (!(e->size[c] <= most))
      return wr_fail(WR_ENUMERIC, "row %lld: its terms add up to %.3g, which is beyond %s; scale the matrix",
                     (long long)checked_row(b, c / width) + 1, e->size[c], b->type == WR_F32 ? "f32" : "f64");
  return WR_OK;
}

/* `length` roundings and three for products, alpha and beta, each at most `unit`, and term_unit of every term; then y
 * is rounded twice, as stored and, for the comparison, the long double. */
static double row_bound(wr_type type, const wr_plan_info *info, int64_t length, double value, double size) {
  double unit = (info->sum_unit > 0 ? info->sum_unit : 0x1p-53) + (double)LDBL_EPSILON, n = (double)(length + 3);
  double summed = n * unit < 1 ? n * unit / (1 - n * unit) * (1 + info->term_unit) + info->term_unit : INFINITY;
  double least = type == WR_F32 ? (double)FLT_TRUE_MIN : DBL_TRUE_MIN;
  summed = size > 0 ? summed * size : 0;
  return summed + wr_type_unit(type) * (fabs(value) + summed) + 0x1p-53 * fabs(value) + (n + 2) * least;
}

/* Adds y, of the last multiply, to the verdict. */
static wr_status check_product(bench *b, timing *t) {
  const reference *e = &b->expected;
  wr_verdict *v = &t->run->verdict;
  double worst = v->worst_row;
  v->level = b->settings->verify, v->met_tolerance = 1;
  if (v->level == WR_VERIFY_OFF) return WR_OK;
  PASS(t->env->ops->download(t->env, &t->vectors->y[t->dual ? 1 - t->turn : 0], e->y));
  const wr_plan_info *info = wr_plan_get_info(t->plan);
#pragma omp parallel for schedule(static) reduction(max : worst)
  for (int64_t c = 0; c < e->count * b->width; c++) {
    int64_t i = checked_row(b, c / b->width), length = b->A->row_ptr[i + 1] - b->A->row_ptr[i];
    double y = e->y[i * b->width + c % b->width], error = fabs(y - e->value[c]);
    double ratio = error / row_bound(b->type, info, length, e->value[c], e->size[c]);
    worst = fmax(worst, isfinite(y) && !isnan(ratio) ? ratio : INFINITY);
  }
  v->rows = e->count, v->worst_row = worst;
  v->multiplied_right = worst <= 1;
  return WR_OK;
}

/* ---- one backend ---- */

static wr_status multiply(timing *t) {
  wr_apply_many many = {.columns = t->columns, .alpha = 1, .x = &t->vectors->x, .y = &t->vectors->y[0],
                        .ldx = t->columns, .ldy = t->columns};
  if (t->columns > 1) return wr_plan_apply_many(t->plan, &many);
  wr_apply request = {.alpha = 1, .x = &t->vectors->x, .y = &t->vectors->y[t->turn]};
  if (t->dual) request.y_next = &t->vectors->y[t->turn = 1 - t->turn];
  return wr_plan_apply(t->plan, &request);
}

/* Sets y to NaN, so that the check finds elements that a backend does not write. */
static wr_status fill_with_nan(timing *t) {
  wr_status status = t->env->ops->fill(t->env, &t->vectors->y[0], NAN);
  return status == WR_OK ? t->env->ops->fill(t->env, &t->vectors->y[1], NAN) : status;
}

/* Seconds of count multiplies, by the clock of where they run. */
static wr_status time_multiplies(timing *t, int64_t count, double *seconds) {
  PASS(t->env->ops->stamp(t->env, 0));
  for (int64_t k = 0; k < count; k++) PASS(multiply(t));
  PASS(t->env->ops->stamp(t->env, 1));
  return t->env->ops->elapsed(t->env, 0, 1, seconds);
}

static wr_status prepare_once(bench *b, timing *t, const wr_choice *choice, double *setup, double *first) {
  wr_plan_destroy(t->plan);
  t->plan = NULL, t->turn = 0;
  PASS(t->env->ops->wait(t->env));
  double begin = wr_clock();
  PASS(wr_choice_plan(choice, b->A, t->env, &t->plan));
  PASS(wr_plan_prepare(t->plan));
  *setup = wr_clock() - begin;
  PASS(fill_with_nan(t));
  PASS(t->env->ops->wait(t->env));
  return time_multiplies(t, 1, first);
}

/* 1 if the plan was tuned and another one would find its configuration in the cache: that preparation is of another kind. */
static int fills_cache(const timing *t) { return t->env->tune_cache && wr_plan_get_info(t->plan)->tuning.tried > 0; }

static wr_status prepare_timing(bench *b, timing *t, const wr_choice *choice) {
  wr_sample sample;
  double setup[MOST_PREPARATIONS], first[MOST_PREPARATIONS], spent = 0;
  int64_t most = b->settings->preparations < MOST_PREPARATIONS ? b->settings->preparations : MOST_PREPARATIONS,
          count = 0;
  do {
    PASS(prepare_once(b, t, choice, &setup[count], &first[count]));
    spent += setup[count++];
  } while (count < most && spent < most_preparing && !fills_cache(t));
  t->times->setup_once = setup[0], t->times->first_once = first[0], t->times->preparations = count;
  PASS(wr_sample_get(setup, count, &sample));
  t->run->setup = sample.median;
  PASS(wr_sample_get(first, count, &sample));
  t->run->apply_first = sample.median;
  return check_product(b, t);
}

static wr_status open_timing(bench *b, timing *t, const wr_choice *choice) {
  wr_place place = choice->backend->place;
  wr_apply_place *p = &b->places[place];
  if (choice->backend->plan == NULL) return choice->backend->check(&p->env, b->A, NULL); /* a stub says why */
  PASS(wr_error_raise(&p->error));
  t->env = &p->env, t->vectors = &b->vectors[place];
  t->columns = (int)b->width;
  t->dual = t->times->dual = b->width == 1 && (choice->backend->caps & WR_CAP_Y_NEXT) != 0;
  PASS(open_vectors(b, place));
  PASS(prepare_timing(b, t, choice));
  snprintf(t->run->knobs, sizeof t->run->knobs, "%s", wr_plan_knobs(t->plan));
  snprintf(t->run->device_name, sizeof t->run->device_name, "%s", p->env.device_name);
  t->run->info = *wr_plan_advise(t->plan);
  if (b->width > 1) t->run->info.apply_bytes = wr_plan_many_bytes(t->plan, t->columns);
  t->run->read_bandwidth = p->read_bandwidth;
  return WR_OK;
}

/* After a failure: ends the timing of a backend and keeps the error. Returns status if it concerns the whole command. */
static wr_status drop_failed(timing *t, wr_status status) {
  if (status == WR_OK) return WR_OK;
  (void)wr_error_keep(&t->run->error, status);
  wr_plan_destroy(t->plan);
  t->plan = NULL;
  return status == WR_EUSAGE ? status : WR_OK;
}

/* ---- all of them in turn ---- */

/* Times another batch, of at least so many seconds. The multiply before it loads the caches again, and keeps a device busy
 * while the batch is launched. */
static wr_status time_hot(timing *t, double least) {
  double seconds;
  int64_t *repeat = &t->times->repeat;
  for (;;) {
    PASS(multiply(t));
    PASS(time_multiplies(t, *repeat, &seconds));
    if (seconds >= least || *repeat >= most_repeats) break;
    double factor = seconds > 0 ? fmin(1.3 * least / seconds, 10) : 10;
    *repeat = (int64_t)fmin(ceil((double)*repeat * factor), (double)most_repeats);
  }
  t->hot.spent += seconds;
  t->hot.seconds[t->hot.count++] = seconds / (double)*repeat;
  return WR_OK;
}

/* Times one multiply with cold caches. The multiply before that prepares y_next, if the backend does so. */
static wr_status time_cold(timing *t) {
  PASS(multiply(t));
  PASS(t->env->ops->fill(t->env, &t->vectors->flush, (double)t->cold.count));
  PASS(time_multiplies(t, 1, &t->cold.seconds[t->cold.count]));
  t->cold.spent += t->cold.seconds[t->cold.count++];
  return WR_OK;
}

/* Times all backends in rounds, in alternating order, so that the same backend does not always run before another. */
static wr_status time_rounds(bench *b, int cold) {
  const volatile sig_atomic_t *interrupted = b->settings->interrupted;
  for (int64_t round = 0; round < b->settings->batches; round++)
    for (int k = 0; k < b->count; k++) {
      timing *t = &b->timings[round % 2 ? b->count - 1 - k : k];
      if (interrupted && *interrupted) return WR_OK;
      const series *so_far = cold ? &t->cold : &t->hot;
      int each_too_long = b->settings->seconds > 0 && so_far->spent > (double)so_far->count * b->settings->seconds;
      int enough = so_far->spent > b->settings->seconds && (so_far->count > WR_LEAST_SAMPLE || each_too_long);
      if (t->plan == NULL || enough) continue;
      PASS(drop_failed(t, cold ? time_cold(t) : time_hot(t, b->settings->batch_seconds)));
    }
  return WR_OK;
}

static wr_status finish_timing(bench *b, timing *t) {
  wr_run *run = t->run;
  PASS(wr_sample_get(t->hot.seconds, t->hot.count, &t->times->hot));
  PASS(wr_sample_get(t->cold.seconds, t->cold.count, &t->times->cold));
  if (t->hot.count == 0) return wr_fail(WR_EUNAVAILABLE, "interrupted before it was timed");
  run->applies = t->hot.count + 1; /* and the first one */
  run->apply_total = t->hot.spent;
  run->apply_median = t->times->hot.median, run->apply_low = t->times->hot.low, run->apply_high = t->times->hot.high;
  PASS(fill_with_nan(t));
  for (int k = 0; k < 2; k++) PASS(multiply(t)); /* the second writes the buffer that the first may have prepared */
  PASS(check_product(b, t));
  run->ran = 1;
  return WR_OK;
}

static wr_status open_all(bench *b, const wr_choice *choices, wr_run *runs, wr_apply_times *times) {
  int64_t batches = b->settings->batches;
  PASS(wr_alloc(&b->seconds, 2 * b->count * batches, sizeof *b->seconds, "the times of multiplies"));
  for (int k = 0; k < b->count; k++) {
    runs[k] = (wr_run){.backend = choices[k].backend};
    times[k] = (wr_apply_times){.repeat = 1, .vectors = b->width};
    snprintf(runs[k].knobs, sizeof runs[k].knobs, "%s", choices[k].knobs); /* as given, until a plan knows them all */
    b->timings[k] = (timing){.run = &runs[k], .times = &times[k], .hot.seconds = b->seconds + 2 * k * batches};
    b->timings[k].cold.seconds = b->timings[k].hot.seconds + batches;
  }
  for (int k = 0; k < b->count; k++) PASS(drop_failed(&b->timings[k], open_timing(b, &b->timings[k], &choices[k])));
  return WR_OK;
}

wr_status wr_apply_time(wr_csr *A, wr_type type, wr_apply_place places[2], const wr_choice *choices, int count,
                        const wr_apply_settings *settings, wr_run *runs, wr_apply_times *times) {
  wr_status status;
  bench *b = NULL;
  TRY(wr_alloc_zeroed(&b, 1, sizeof *b, "timing multiplies"));
  b->A = A, b->type = type, b->settings = settings, b->places = places, b->count = count;
  b->width = settings->vectors > 1 ? settings->vectors : 1;
  TRY(make_reference(b));
  TRY(open_all(b, choices, runs, times));
  for (int cold = 0; cold <= (settings->cold != 0); cold++) TRY(time_rounds(b, cold));
  for (int k = 0; k < count; k++)
    if (b->timings[k].plan) TRY(drop_failed(&b->timings[k], finish_timing(b, &b->timings[k])));
done:
  if (b == NULL) return status;
  for (int k = 0; k < count; k++) wr_plan_destroy(b->timings[k].plan);
  for (int place = 0; place < 2; place++)
    if (b->vectors[place].open) close_vectors(&places[place].env, &b->vectors[place]);
  void *const blocks[] = {b->x, b->seconds, b->expected.value, b->expected.size, b->expected.y, b};
  for (int k = 0; k < 6; k++) wr_free(blocks[k]);
  return status;
}
