/* For test_apply_time.c: a clock that only multiplies advance, a log of operations between its stamps, and a backend with time
 * and error set by its knobs. */
#ifndef WR_APPLY_FIXTURE_H
#define WR_APPLY_FIXTURE_H

#include <stddef.h>

#include "solvers/program/apply_time.h"
#include "tests/check.h"

/* ---- a clock, and a log of operations between its stamps ---- */

enum { MOST = 4096 };
typedef struct span {
  char name;         /* name of the backend                  */
  int multiplies;
  int before;       /* multiplies since the span before     */
  int flushed;      /* 1: a cache was overwritten after them */
  double seconds;
} span;

static struct {
  double now, stamps[WR_STAMPS];
  int applies, flushes, count;
  char name;
  span spans[MOST];
  int64_t flush_bytes;
  int prepares, destroys;
} log_of;

static wr_status fake_stamp(wr_env *env, int slot) {
  (void)env;
  log_of.stamps[slot] = log_of.now;
  if (slot == 0) {
    log_of.spans[log_of.count].before = log_of.applies;
    log_of.spans[log_of.count].flushed = log_of.flushes;
  } else if (log_of.applies > 0 && log_of.count < MOST - 1) {
    span *s = &log_of.spans[log_of.count++];
    s->name = log_of.name, s->multiplies = log_of.applies, s->seconds = log_of.stamps[1] - log_of.stamps[0];
  }
  log_of.applies = log_of.flushes = 0;
  return WR_OK;
}

static wr_status fake_elapsed(wr_env *env, int from, int to, double *seconds) {
  (void)env;
  *seconds = log_of.stamps[to] - log_of.stamps[from];
  return WR_OK;
}

static wr_status fake_alloc(wr_env *env, int64_t n, wr_type type, const char *what, wr_vec *v) {
  int flush = strcmp(what, "overwriting a cache") == 0;
  if (flush) log_of.flush_bytes = n * wr_type_bytes(type);
  return wr_vecops_host.alloc(env, flush ? 1 : n, type, what, v);
}

static wr_status fake_fill(wr_env *env, wr_vec *v, double value) {
  if (v->n == 1) log_of.flushes++;
  return wr_vecops_host.fill(env, v, value);
}

/* ---- a backend with time and error set by its knobs ---- */

typedef struct fake_knobs {
  double cost, first, off; /* s a multiply; s more for the first one; error in bounds of a row  */
  int64_t row;             /* the row that is wrong                                             */
  int how;                 /* HOW_...                                                           */
  int64_t from, until;     /* the error occurs in applies from <= number < until of a plan      */
  int unit, name;          /* sum_unit by wr_type; of the log                                   */
  double term;             /* term_unit                                                         */
} fake_knobs;

enum { HOW_OFF, HOW_NAN, HOW_UNWRITTEN, HOW_SECOND, HOW_FAIL, HOW_INTERRUPT, HOW_PREPARE };

#define KNOB(field) offsetof(fake_knobs, field)
static const wr_knob fake_table[] = {
    {.name = "cost", .type = WR_OPTION_REAL, .offset = KNOB(cost), .min = 0, .max = 10, .value = "0.001"},
    {.name = "first", .type = WR_OPTION_REAL, .offset = KNOB(first), .min = 0, .max = 10, .value = "0"},
    {.name = "off", .type = WR_OPTION_REAL, .offset = KNOB(off), .min = -9, .max = 9, .value = "0"},
    {.name = "row", .type = WR_OPTION_INT, .offset = KNOB(row), .min = 0, .max = 100, .value = "0"},
    {.name = "how", .type = WR_OPTION_CHOICE, .offset = KNOB(how),
     .choices = "off|nan|unwritten|second|fail|interrupt|prepare", .value = "off"},
    {.name = "from", .type = WR_OPTION_INT, .offset = KNOB(from), .min = 0, .max = 1e9, .value = "0"},
    {.name = "until", .type = WR_OPTION_INT, .offset = KNOB(until), .min = 0, .max = 1e9, .value = "1000000"},
    {.name = "unit", .type = WR_OPTION_CHOICE, .offset = KNOB(unit), .choices = "f32|f64", .value = "f64"},
    {.name = "term", .type = WR_OPTION_REAL, .offset = KNOB(term), .min = 0, .max = 1, .value = "0"},
    {.name = "name", .type = WR_OPTION_CHOICE, .offset = KNOB(name), .choices = "A|B|C|D", .value = "A"},
    {.name = NULL},
};

typedef struct fake_state {
  fake_knobs knobs;
  const wr_csr *A;
  int64_t applies;
} fake_state;

static volatile sig_atomic_t interrupted;

static wr_status fake_check(const wr_env *env, const wr_csr *A, const void *knobs) {
  (void)env, (void)A, (void)knobs;
  return WR_OK;
}

static wr_status fake_plan(const wr_env *env, const wr_csr *A, const void *knobs, wr_plan_info *info) {
  (void)env;
  *info = (wr_plan_info){.apply_bytes = (double)A->nnz, .deterministic = 1};
  info->sum_unit = ((const fake_knobs *)knobs)->unit == WR_F32 ? 0x1p-24 : 0;
  info->term_unit = ((const fake_knobs *)knobs)->term;
  return WR_OK;
}

static wr_status fake_prepare(void *state, wr_env *env, wr_csr *A, const void *knobs, wr_plan_info *info) {
  fake_state *s = state;
  (void)env, (void)info;
  *s = (fake_state){.knobs = *(const fake_knobs *)knobs, .A = A};
  log_of.prepares++;
  return s->knobs.how == HOW_PREPARE ? wr_fail(WR_ENOMEM, "told to fail") : WR_OK;
}

static double element(const wr_vec *v, int64_t i) {
  return v->type == WR_F32 ? (double)((const float *)v->data)[i] : ((const double *)v->data)[i];
}

static void set_element(wr_vec *v, int64_t i, double value) {
  if (v->type == WR_F32)
    ((float *)v->data)[i] = (float)value;
  else
    ((double *)v->data)[i] = value;
}

/* The right value of a row, plus `off` times the bound that apply_time.h gives. */
static double make_row(const fake_state *s, const wr_apply *request, int64_t i, double off) {
  const wr_csr *A = s->A;
  int f32 = request->x->type == WR_F32;
  long double sum = 0, size = 0, unit = s->knobs.unit == WR_F32 ? 0x1p-24L : 0x1p-53L;
  for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
    double entry = A->val == NULL ? 1 : f32 ? (double)(float)A->val[k] : A->val[k];
    sum += (long double)entry * element(request->x, A->col[k]);
    size += fabsl((long double)entry * element(request->x, A->col[k]));
  }
  long double length = (long double)(A->row_ptr[i + 1] - A->row_ptr[i]);
  long double bound = ((length + 3) * unit + s->knobs.term) * size;
  bound += ((f32 ? 0x1p-24L : 0x1p-53L) + 0x1p-53L) * fabsl(sum);
  return (double)(sum + off * bound);
}

static wr_status fake_apply(void *state, wr_env *env, const wr_apply_args *args) {
  fake_state *s = state;
  const wr_apply *request = &args->request;
  int bad = s->applies >= s->knobs.from && s->applies < s->knobs.until;
  (void)env;
  log_of.applies++, log_of.name = (char)('A' + s->knobs.name);
  log_of.now += s->knobs.cost + (s->applies == 0 ? s->knobs.first : 0);
  s->applies++;
  if (bad && s->knobs.how == HOW_FAIL) return wr_fail(WR_EDEVICE, "told to fail");
  if (bad && s->knobs.how == HOW_INTERRUPT) interrupted = 1;
  for (int64_t i = 0; i < s->A->nrows; i++) {
    int here = bad && i == s->knobs.row;
    int off = here && (s->knobs.how == HOW_OFF || (s->knobs.how == HOW_SECOND && args->y_prepared));
    if (here && s->knobs.how == HOW_UNWRITTEN) continue;
    set_element(request->y, i, here && s->knobs.how == HOW_NAN ? NAN : make_row(s, request, i, off ? s->knobs.off : 0));
  }
  return WR_OK;
}

static void fake_destroy(void *state, wr_env *env) {
  (void)env;
  log_of.destroys += ((fake_state *)state)->A != NULL;
}

#define FAKE(...)                                                                                                    \
  {.summary = "a fake", .source = "", .knobs = fake_table, .knobs_size = sizeof(fake_knobs),       \
   .state_size = sizeof(fake_state), .check = fake_check, .plan = fake_plan, .prepare = fake_prepare,                \
   .apply = fake_apply, .destroy = fake_destroy, __VA_ARGS__}
enum { CAPS = WR_CAP_PATTERN | WR_CAP_RECTANGULAR | WR_CAP_F32 | WR_CAP_F64 };
static const wr_backend fake = FAKE(.name = "fake", .place = WR_HOST, .caps = CAPS);
static const wr_backend fake_dual = FAKE(.name = "fake_dual", .place = WR_HOST, .caps = CAPS | WR_CAP_Y_NEXT);

#define CHOICE(which, text) {.backend = &which, .knobs = text}

/* ---- what all tests share ---- */

static wr_vecops fake_ops;
static wr_apply_place places[2];
static wr_run runs[WR_MAX_RUNS];
static wr_apply_times times[WR_MAX_RUNS];

/* Rows of 2, 0, 3 and 1 entries: 4 x 3. */
static wr_csr *small_matrix(int with_values) {
  static const int64_t row_ptr[] = {0, 2, 2, 5, 6};
  static const int32_t col[] = {0, 2, 0, 1, 2, 1};
  static const double val[] = {1.5, -2.25, 0.1, 3, 1e-3, -7};
  wr_csr *A = NULL;
  CHECK_OK(wr_csr_create(4, 3, 6, with_values, &A));
  memcpy(A->row_ptr, row_ptr, sizeof row_ptr);
  memcpy(A->col, col, sizeof col);
  if (with_values) memcpy(A->val, val, sizeof val);
  return A;
}

static void open_places(int faked) {
  places[WR_CUDA] = (wr_apply_place){.error = {WR_EUNAVAILABLE, "no card today"}};
  places[WR_HOST] = (wr_apply_place){.env = {.place = WR_HOST, .type = WR_F64, .threads = 2}, .read_bandwidth = 1e9};
  CHECK_OK(wr_env_open(&places[WR_HOST].env));
  fake_ops = wr_vecops_host;
  fake_ops.stamp = fake_stamp, fake_ops.elapsed = fake_elapsed, fake_ops.alloc = fake_alloc, fake_ops.fill = fake_fill;
  if (faked) places[WR_HOST].env.ops = &fake_ops;
}

static const wr_apply_settings plain = {
    .batches = 7, .batch_seconds = 1e-3, .seconds = 1e9, .preparations = 3, .verify = WR_VERIFY_FULL,
    .interrupted = &interrupted};

static wr_status time_small(wr_type type, const wr_apply_settings *settings, const wr_choice *choices, int count) {
  memset(&log_of, 0, sizeof log_of);
  interrupted = 0;
  open_places(1);
  wr_csr *A = small_matrix(1);
  wr_status status = wr_apply_time(A, type, places, choices, count, settings, runs, times);
  CHECKF(log_of.prepares == log_of.destroys, "%d prepared, %d destroyed", log_of.prepares, log_of.destroys);
  wr_csr_free(A);
  wr_apply_place_close(&places[WR_HOST]);
  return status;
}

#endif
