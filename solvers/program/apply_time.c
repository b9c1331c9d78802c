#define _DEFAULT_SOURCE /* _SC_LEVEL3_CACHE_SIZE */
#include "solvers/program/apply_time.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "config/memory.h"
#include "data/family.h"
#include "solvers/report/report_text.h"

enum { MEGABYTE = 1 << 20, MOST_PREPARATIONS = 16 };
static const int64_t most_repeats = 1000000; /* of one multiply in a batch                         */
static const double preparing_enough = 1;    /* seconds; a longer preparation is not repeated      */

/* The vectors of one place, shared by all plans there. */
typedef struct room {
  int open;              /* 1: the vectors are there    */
  wr_vec x, y[2], flush; /* flush: twice the last cache */
} room;

typedef struct series {
  double *seconds; /* [batches] of a multiply     */
  int64_t count;
  double spent;    /* s, all that it was timed for */
} series;

/* One backend under measurement. */
typedef struct lane {
  wr_run *run;
  wr_apply_times *times;
  wr_plan *plan; /* NULL: it is not timed any more             */
  wr_env *env;
  room *room;
  int dual, turn; /* the next multiply writes y[turn]          */
  series hot, cold;
} lane;

/* The expected y, computed on the host. */
typedef struct reference {
  int64_t count;        /* rows that are checked               */
  double *value, *size; /* [count] sum a x, sum |a x|          */
  double *y;            /* [nrows] as a backend computed it    */
} reference;

typedef struct bench {
  wr_csr *A;
  wr_type type;
  const wr_apply_settings *settings;
  wr_apply_place *places;
  double *x, *seconds; /* [ncols]; [count][2][batches], the lanes' */
  reference expected;
  room rooms[2];
  int count;
  lane lanes[WR_MAX_RUNS];
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

static void close_room(wr_env *env, room *r) {
  wr_vec *const all[] = {&r->x, &r->y[0], &r->y[1], &r->flush};
  for (int k = 0; k < 4; k++) env->ops->release(env, all[k]);
}

static wr_status open_room(bench *b, wr_place place) {
  wr_status status;
  wr_env *env = &b->places[place].env;
  room *r = &b->rooms[place];
  wr_csr_view view;
  if (r->open) return WR_OK;
  env->type = b->type;
  if (place == WR_CUDA) TRY(wr_csr_device_view(b->A, env, &view)); /* the upload does not count as preparation */
  TRY(env->ops->alloc(env, b->A->ncols, b->type, "x", &r->x));
  TRY(env->ops->upload(env, &r->x, b->x));
  for (int k = 0; k < 2; k++) TRY(env->ops->alloc(env, b->A->nrows, b->type, "y", &r->y[k]));
  if (b->settings->cold) TRY(env->ops->alloc(env, flush_elements(place), WR_F64, "overwriting a cache", &r->flush));
  for (int slot = 0; slot < 2; slot++) TRY(env->ops->stamp(env, slot)); /* a device allocates them at first use */
  TRY(env->ops->wait(env));
  r->open = 1;
done:
  if (status != WR_OK) close_room(env, r);
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

static void compute_row(const bench *b, int64_t i, double *value, double *size) {
  const wr_csr *A = b->A;
  long double sum = 0, magnitude = 0;
  for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
    double entry = A->val == NULL ? 1 : b->type == WR_F32 ? (double)(float)A->val[k] : A->val[k];
    long double term = (long double)entry * b->x[A->col[k]];
    sum += term;
    magnitude += fabsl(term);
  }
  *value = (double)sum, *size = (double)magnitude;
}

static wr_status make_reference(bench *b) {
  wr_status status;
  reference *e = &b->expected;
  const wr_apply_settings *s = b->settings;
  TRY(wr_csr_check_range(b->A, b->type == WR_F32));
  TRY(wr_alloc(&b->x, b->A->ncols, sizeof *b->x, "x"));
  for (int64_t j = 0; j < b->A->ncols; j++) b->x[j] = x_element(j);
  if (s->verify == WR_VERIFY_OFF) return WR_OK;
  e->count = s->verify == WR_VERIFY_SAMPLE && s->verify_rows < b->A->nrows ? s->verify_rows : b->A->nrows;
  TRY(wr_alloc(&e->y, b->A->nrows, sizeof *e->y, "checking a product"));
  TRY(wr_alloc(&e->value, e->count, sizeof *e->value, "checking a product"));
  TRY(wr_alloc(&e->size, e->count, sizeof *e->size, "checking a product"));
#pragma omp parallel for schedule(guided)
  for (int64_t k = 0; k < e->count; k++) compute_row(b, checked_row(b, k), &e->value[k], &e->size[k]);
  double most = b->type == WR_F32 ? (double)FLT_MAX : DBL_MAX;
  for (int64_t k = 0; k < e->count; k++)
    if (!(e->size[k] <= most))
      TRY(wr_fail(WR_ENUMERIC, "row %lld: its terms add up to %.3g, which is beyond %s; scale the matrix",
                  (long long)checked_row(b, k) + 1, e->size[k], b->type == WR_F32 ? "f32" : "f64"));
done:
  return status;
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

/* Adds y, as the lane's last multiply left it, to its verdict. */
static wr_status check_product(bench *b, lane *l) {
  wr_status status;
  const reference *e = &b->expected;
  wr_verdict *v = &l->run->verdict;
  double worst = v->worst_row;
  v->level = b->settings->verify, v->met_tolerance = 1;
  if (v->level == WR_VERIFY_OFF) return WR_OK;
  TRY(l->env->ops->download(l->env, &l->room->y[l->dual ? 1 - l->turn : 0], e->y));
  const wr_plan_info *info = wr_plan_get_info(l->plan);
#pragma omp parallel for schedule(static) reduction(max : worst)
  for (int64_t k = 0; k < e->count; k++) {
    int64_t i = checked_row(b, k), length = b->A->row_ptr[i + 1] - b->A->row_ptr[i];
    double error = fabs(e->y[i] - e->value[k]);
    double ratio = error / row_bound(b->type, info, length, e->value[k], e->size[k]);
    worst = fmax(worst, isfinite(e->y[i]) && !isnan(ratio) ? ratio : INFINITY);
  }
  v->rows = e->count, v->worst_row = worst;
  v->multiplied_right = worst <= 1;
done:
  return status;
}

/* ---- one backend ---- */

static wr_status multiply(lane *l) {
  wr_apply request = {.alpha = 1, .x = &l->room->x, .y = &l->room->y[l->turn]};
  if (l->dual) request.y_next = &l->room->y[l->turn = 1 - l->turn];
  return wr_plan_apply(l->plan, &request);
}

/* Sets y to NaN, so that the check finds elements that a backend does not write. */
static wr_status spoil(lane *l) {
  wr_status status = l->env->ops->fill(l->env, &l->room->y[0], NAN);
  return status == WR_OK ? l->env->ops->fill(l->env, &l->room->y[1], NAN) : status;
}

/* Seconds of count multiplies, by the clock of where they run. */
static wr_status time_multiplies(lane *l, int64_t count, double *seconds) {
  wr_status status;
  TRY(l->env->ops->stamp(l->env, 0));
  for (int64_t k = 0; k < count; k++) TRY(multiply(l));
  TRY(l->env->ops->stamp(l->env, 1));
  TRY(l->env->ops->elapsed(l->env, 0, 1, seconds));
done:
  return status;
}

static wr_status prepare_once(bench *b, lane *l, const wr_choice *choice, double *setup, double *first) {
  wr_status status;
  wr_plan_destroy(l->plan);
  l->plan = NULL, l->turn = 0;
  TRY(l->env->ops->wait(l->env));
  double begin = wr_clock();
  TRY(wr_choice_plan(choice, b->A, l->env, &l->plan));
  TRY(wr_plan_prepare(l->plan));
  *setup = wr_clock() - begin;
  TRY(spoil(l));
  TRY(l->env->ops->wait(l->env));
  TRY(time_multiplies(l, 1, first));
done:
  return status;
}

static wr_status prepare_lane(bench *b, lane *l, const wr_choice *choice) {
  wr_status status;
  wr_sample sample;
  double setup[MOST_PREPARATIONS], first[MOST_PREPARATIONS], spent = 0;
  int64_t most = b->settings->preparations < MOST_PREPARATIONS ? b->settings->preparations : MOST_PREPARATIONS,
          count = 0;
  do {
    TRY(prepare_once(b, l, choice, &setup[count], &first[count]));
    spent += setup[count++];
  } while (count < most && spent < preparing_enough);
  l->times->setup_once = setup[0], l->times->first_once = first[0], l->times->preparations = count;
  TRY(wr_sample_get(setup, count, &sample));
  l->run->setup = sample.median;
  TRY(wr_sample_get(first, count, &sample));
  l->run->apply_first = sample.median;
  TRY(check_product(b, l));
done:
  return status;
}

static wr_status open_lane(bench *b, lane *l, const wr_choice *choice) {
  wr_status status;
  wr_place place = choice->backend->place;
  wr_apply_place *p = &b->places[place];
  if (choice->backend->plan == NULL) return choice->backend->check(&p->env, b->A, NULL); /* a stub says why */
  TRY(wr_error_raise(&p->error));
  l->env = &p->env, l->room = &b->rooms[place];
  l->dual = l->times->dual = (choice->backend->caps & WR_CAP_Y_NEXT) != 0;
  TRY(open_room(b, place));
  TRY(prepare_lane(b, l, choice));
  snprintf(l->run->knobs, sizeof l->run->knobs, "%s", wr_plan_knobs(l->plan));
  snprintf(l->run->device_name, sizeof l->run->device_name, "%s", p->env.device_name);
  l->run->info = *wr_plan_advise(l->plan);
  l->run->read_bandwidth = p->read_bandwidth;
done:
  return status;
}

/* After a failure: ends the timing of a backend and keeps the error. Returns status if it concerns the whole command. */
static wr_status give_up(lane *l, wr_status status) {
  if (status == WR_OK) return WR_OK;
  (void)wr_error_keep(&l->run->error, status);
  wr_plan_destroy(l->plan);
  l->plan = NULL;
  return status == WR_EUSAGE ? status : WR_OK;
}

/* ---- all of them in turn ---- */

/* Times another batch, of at least so many seconds. The multiply before it loads the caches again, and keeps a device busy
 * while the batch is launched. */
static wr_status time_hot(lane *l, double least) {
  wr_status status;
  double seconds;
  int64_t *repeat = &l->times->repeat;
  for (;;) {
    TRY(multiply(l));
    TRY(time_multiplies(l, *repeat, &seconds));
    if (seconds >= least || *repeat >= most_repeats) break;
    double factor = seconds > 0 ? fmin(1.3 * least / seconds, 10) : 10;
    *repeat = (int64_t)fmin(ceil((double)*repeat * factor), (double)most_repeats);
  }
  l->hot.spent += seconds;
  l->hot.seconds[l->hot.count++] = seconds / (double)*repeat;
done:
  return status;
}

/* Times one multiply with cold caches. The multiply before that prepares y_next, if the backend does so. */
static wr_status time_cold(lane *l) {
  wr_status status;
  TRY(multiply(l));
  TRY(l->env->ops->fill(l->env, &l->room->flush, (double)l->cold.count));
  TRY(time_multiplies(l, 1, &l->cold.seconds[l->cold.count]));
  l->cold.spent += l->cold.seconds[l->cold.count++];
done:
  return status;
}

/* Times all backends in rounds, in alternating order, so that the same backend does not always run before another. */
static wr_status time_rounds(bench *b, int cold) {
  const volatile sig_atomic_t *interrupted = b->settings->interrupted;
  for (int64_t round = 0; round < b->settings->batches; round++)
    for (int k = 0; k < b->count; k++) {
      lane *l = &b->lanes[round % 2 ? b->count - 1 - k : k];
      if (interrupted && *interrupted) return WR_OK;
      const series *so_far = cold ? &l->cold : &l->hot;
      int enough = so_far->count > WR_LEAST_SAMPLE && so_far->spent > b->settings->seconds;
      if (l->plan == NULL || enough) continue;
      wr_status status = give_up(l, cold ? time_cold(l) : time_hot(l, b->settings->batch_seconds));
      if (status != WR_OK) return status;
    }
  return WR_OK;
}

static wr_status finish_lane(bench *b, lane *l) {
  wr_status status;
  wr_run *run = l->run;
  TRY(wr_sample_get(l->hot.seconds, l->hot.count, &l->times->hot));
  TRY(wr_sample_get(l->cold.seconds, l->cold.count, &l->times->cold));
  if (l->hot.count == 0) TRY(wr_fail(WR_EUNAVAILABLE, "interrupted before it was timed"));
  run->applies = l->hot.count + 1; /* and the first one */
  run->apply_total = l->hot.spent;
  run->apply_median = l->times->hot.median, run->apply_low = l->times->hot.low, run->apply_high = l->times->hot.high;
  TRY(spoil(l));
  for (int k = 0; k < 2; k++) TRY(multiply(l)); /* the second writes the buffer that the first may have prepared */
  TRY(check_product(b, l));
  run->ran = 1;
done:
  return status;
}

static wr_status open_lanes(bench *b, const wr_choice *choices, wr_run *runs, wr_apply_times *times) {
  wr_status status = WR_OK;
  int64_t batches = b->settings->batches;
  TRY(wr_alloc(&b->seconds, 2 * b->count * batches, sizeof *b->seconds, "the times of multiplies"));
  for (int k = 0; k < b->count; k++) {
    runs[k] = (wr_run){.backend = choices[k].backend};
    times[k] = (wr_apply_times){.repeat = 1};
    snprintf(runs[k].knobs, sizeof runs[k].knobs, "%s", choices[k].knobs); /* as given, until a plan knows them all */
    b->lanes[k] = (lane){.run = &runs[k], .times = &times[k], .hot.seconds = b->seconds + 2 * k * batches};
    b->lanes[k].cold.seconds = b->lanes[k].hot.seconds + batches;
  }
  for (int k = 0; k < b->count; k++) TRY(give_up(&b->lanes[k], open_lane(b, &b->lanes[k], &choices[k])));
done:
  return status;
}

wr_status wr_apply_time(wr_csr *A, wr_type type, wr_apply_place places[2], const wr_choice *choices, int count,
                        const wr_apply_settings *settings, wr_run *runs, wr_apply_times *times) {
  wr_status status;
  bench *b = NULL;
  TRY(wr_alloc_zeroed(&b, 1, sizeof *b, "timing multiplies"));
  b->A = A, b->type = type, b->settings = settings, b->places = places, b->count = count;
  TRY(make_reference(b));
  TRY(open_lanes(b, choices, runs, times));
  for (int cold = 0; cold <= (settings->cold != 0); cold++) TRY(time_rounds(b, cold));
  for (int k = 0; k < count; k++)
    if (b->lanes[k].plan) TRY(give_up(&b->lanes[k], finish_lane(b, &b->lanes[k])));
done:
  if (b == NULL) return status;
  for (int k = 0; k < count; k++) wr_plan_destroy(b->lanes[k].plan);
  for (int place = 0; place < 2; place++)
    if (b->rooms[place].open) close_room(&places[place].env, &b->rooms[place]);
  void *const blocks[] = {b->x, b->seconds, b->expected.value, b->expected.size, b->expected.y, b};
  for (int k = 0; k < 6; k++) wr_free(blocks[k]);
  return status;
}
