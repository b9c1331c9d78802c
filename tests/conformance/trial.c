#define _GNU_SOURCE /* sigaction, SA_ONSTACK */
#include "tests/conformance/trial.h"

#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/memory.h"
#include "tests/conformance/cases.h"
#include "tests/conformance/exact.h"

enum { BANK = WR_MAX_REDUCTIONS + 3, SHOWN = 50 }; /* most failures of a run that are printed */

const epilogue_kind epilogue_kinds[EPILOGUES] = {
    [EPILOGUE_NONE] = {.name = "none"},
    {.name = "empty"},
    {.name = "shift", .shift = SHIFT_ONES},
    {.name = "residual", .shift = SHIFT_ALONG, .reduce = {{WR_NRM2SQ, Z_OWN}, {WR_NRM2SQ_SCALED, Z_OWN}}},
    {.name = "scale", .scale = SCALE_ANOTHER},
    [EPILOGUE_PAGERANK] = {.name = "pagerank", .shift = SHIFT_ONES, .scale = SCALE_ANOTHER,
                           .reduce = {{WR_L1DIFF, Z_NEXT}, {WR_SUM_UNSCALED, Z_OWN}, {WR_SUM, Z_OWN}}},
    {.name = "bicgstab", .reduce = {{WR_DOT, Z_OWN}, {WR_DOT, Z_X}, {WR_NRM2SQ, Z_OWN}}},
    {.name = "gap", .reduce = {{WR_NO_REDUCTION, Z_OWN}, {WR_DOT, Z_NEXT}, {WR_L1DIFF, Z_OWN}}},
    [EPILOGUE_ALL] = {.name = "all", .shift = SHIFT_ALONG, .scale = SCALE_ANOTHER,
                      .reduce = {{WR_SUM_UNSCALED, Z_OWN}, {WR_L1DIFF, Z_X}, {WR_DOT, Z_NEXT}}},
    /* As in the solvers' loops, for which some kernels are specialised. */
    {.name = "sums", .reduce = {{WR_DOT, Z_OWN}, {WR_NRM2SQ, Z_OWN}}},
    {.name = "ranks", .shift = SHIFT_ONES, .scale = SCALE_Y,
     .reduce = {{WR_L1DIFF_UNSCALED, Z_X}, {WR_SUM_UNSCALED, Z_OWN}}},
    [EPILOGUE_CHEBYSHEV] = {.name = "chebyshev", .shift = SHIFT_ONES, .scale = SCALE_Y, .relaxes = 1,
                            .reduce = {{WR_L1DIFF_UNSCALED, Z_X}, {WR_SUM_UNSCALED, Z_OWN}}},
    {.name = "relaxed", .shift = SHIFT_ALONG, .scale = SCALE_ANOTHER, .relaxes = 1,
     .reduce = {{WR_SUM, Z_OWN}, {WR_L1DIFF_UNSCALED, Z_NEXT}, {WR_DOT, Z_OWN}}},
    {.name = "corrected", .shift = SHIFT_BESIDE, .scale = SCALE_Y,
     .reduce = {{WR_L1DIFF_UNSCALED, Z_X}, {WR_SUM_UNSCALED, Z_OWN}}},
    {.name = "corrected by chebyshev", .shift = SHIFT_BESIDE, .scale = SCALE_Y, .relaxes = 1,
     .reduce = {{WR_L1DIFF_UNSCALED, Z_X}, {WR_SUM_UNSCALED, Z_OWN}}},
};

enum { PLACE = 200 }; /* room for the name of a trial */

static void name_place(const trial *t, char place[PLACE]) {
  snprintf(place, PLACE, "%s%s%s, %s, %s", t->backend->name, t->knobs ? ":" : "", t->knobs ? t->knobs : "",
           t->env.type == WR_F32 ? "f32" : "f64", t->name);
}

void trial_expect(trial *t, int passed, const char *format, ...) {
  findings *f = t->findings;
  char place[PLACE], what[300];
  va_list values;
  if (passed) {
    f->passed++;
    return;
  }
  va_start(values, format);
  vsnprintf(what, sizeof what, format, values);
  va_end(values);
  name_place(t, place);
  if (f->failed++ == 0) snprintf(f->first, sizeof f->first, "[%s] %s", place, what);
  if (!f->quiet && f->failed <= SHOWN) fprintf(stderr, "[%s] %s\n", place, what);
}

/* ---- Crashes ---- */

static const int ends[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTERM};
enum { ENDS = sizeof ends / sizeof *ends };
static struct sigaction before[ENDS]; /* the actions of a sanitizer, or the default ones */
static char last_opened[PLACE];

/* Then the action of before is taken: after a fault, because the instruction faults again. */
static void on_end(int number) {
  static const char text[] = "] was under test when the process ended\n";
  ssize_t written = write(STDERR_FILENO, "[", 1);
  written += write(STDERR_FILENO, last_opened, strlen(last_opened));
  written += write(STDERR_FILENO, text, sizeof text - 1);
  for (int k = 0; k < ENDS && written > 0; k++)
    if (ends[k] == number) sigaction(number, &before[k], NULL);
  if (number == SIGTERM) raise(number);
}

void trial_name_crashes(void) {
  struct sigaction action = {.sa_flags = SA_ONSTACK};
  action.sa_handler = on_end;
  for (int k = 0; k < ENDS; k++) sigaction(ends[k], &action, &before[k]);
}

/* ---- Opening ---- */

static int claims_to_take(const trial *t) {
  unsigned caps = t->backend->caps;
  return (caps & (t->env.type == WR_F32 ? WR_CAP_F32 : WR_CAP_F64)) && (t->A->val || (caps & WR_CAP_PATTERN)) &&
         (t->A->nrows == t->A->ncols || (caps & WR_CAP_RECTANGULAR));
}

/* Returns 1 if there is a plan. */
/* A backend that declares not to read host rows gets a matrix without them while its plan is made; returns the rows. */
static wr_csr hide_rows(trial *t) {
  static double no_values = NAN;
  wr_csr rows = *t->A;
  wr_csr_view view;
  if (!(t->backend->caps & WR_CAP_DEVICE_ROWS) || wr_csr_device_view(t->A, &t->env, &view) != WR_OK) return rows;
  t->A->row_ptr = NULL, t->A->col = NULL;
  if (rows.val) t->A->val = &no_values;
  return rows;
}

static void show_rows(trial *t, const wr_csr *rows) {
  t->A->row_ptr = rows->row_ptr, t->A->col = rows->col, t->A->val = rows->val;
}

static int open_plan(trial *t) {
  wr_csr rows = hide_rows(t);
  wr_fail(WR_OK, " "); /* whatever it said before */
  wr_status status = wr_plan_create(t->backend, t->knobs, t->A, &t->env, &t->plan);
  show_rows(t, &rows);
  if (status == WR_OK) {
    trial_expect(t, claims_to_take(t), "accepted what its capabilities exclude");
    return 1;
  }
  trial_expect(t, status == WR_EUNAVAILABLE && t->plan == NULL && wr_status_message()[0] > ' ',
               "refused with %s and '%s'", wr_status_name(status), wr_status_message());
  return 0;
}

static int prepare(trial *t) {
  int fits = wr_csr_check_range(t->A, t->env.type == WR_F32) == WR_OK;
  wr_csr rows = hide_rows(t);
  wr_status status = wr_plan_prepare(t->plan), expected = fits ? WR_OK : WR_ENUMERIC;
  show_rows(t, &rows);
  int may_refuse = (t->backend->caps & WR_CAP_FEW_MATRICES) != 0; /* what a sample did not show to create */
  if (may_refuse && status == WR_EUNAVAILABLE && wr_status_message()[0] > ' ') return 0;
  trial_expect(t, status == expected, "prepare: %s, not %s (%s)", wr_status_name(status), wr_status_name(expected),
               wr_status_message());
  return status == WR_OK;
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Of a format of A: it holds each different value at least once, in f32 only where that is exact. */
static int64_t least_bytes(const trial *t) {
  enum { SAMPLE = 4096 };
  double value[SAMPLE];
  int64_t n = t->A->nnz < SAMPLE ? t->A->nnz : SAMPLE, different = n > 0, bytes = sizeof(float);
  if (t->A->val == NULL || n == 0) return different;
  for (int64_t k = 0; k < n; k++) {
    value[k] = exact_entry(t->A, t->env.type, k);
    if ((double)(float)value[k] != value[k]) bytes = sizeof(double);
  }
  qsort(value, (size_t)n, sizeof *value, by_value);
  for (int64_t k = 1; k < n; k++) different += value[k] != value[k - 1];
  return different * bytes;
}

static void check_bytes(trial *t, const wr_plan_info *info) {
  int64_t least = least_bytes(t);
  trial_expect(t, info->format_bytes >= least, "a format of %lld bytes, and its values alone have %lld",
               (long long)info->format_bytes, (long long)least);
  trial_expect(t, t->A->nnz == 0 || info->format_bytes <= info->extra_bytes + info->borrowed_bytes,
               "a format of %lld bytes in %lld of the plan and %lld of the matrix", (long long)info->format_bytes,
               (long long)info->extra_bytes, (long long)info->borrowed_bytes);
}

static void check_info(trial *t) {
  const wr_plan_info *info = wr_plan_get_info(t->plan);
  double vectors = (double)((t->A->nrows + t->A->ncols) * wr_type_bytes(t->env.type));
  trial_expect(t, info->format_bytes >= 0 && info->extra_bytes >= 0 && info->borrowed_bytes >= 0,
               "sizes of %lld, %lld and %lld bytes", (long long)info->format_bytes, (long long)info->extra_bytes,
               (long long)info->borrowed_bytes);
  check_bytes(t, info);
  trial_expect(t, info->apply_bytes >= vectors + (double)info->format_bytes,
               "an apply moves %g bytes, less than x, y and the format have (%g and %lld)", info->apply_bytes, vectors,
               (long long)info->format_bytes);
  trial_expect(t, info->sum_unit == 0 || info->sum_unit == 0x1p-53 || info->sum_unit == wr_type_unit(t->env.type),
               "rows are summed with a unit of %g", info->sum_unit);
  trial_expect(t, info->line[0] != '\0', "no line about what was chosen");
}

static wr_status open_vectors(trial *t) {
  wr_status status;
  wr_type type = t->env.type;
  guarded *rows[] = {&t->y[0], &t->y[1], &t->y[2], &t->scaled, &t->scale, &t->direction, &t->z};
  for (int v = 0; v < 2; v++) TRY(guarded_open(&t->env, t->A->ncols, type, NAN, &t->x[v]));
  for (int v = 0; v < 7; v++) TRY(guarded_open(&t->env, t->A->nrows, type, v < 4 ? -7777.25 : NAN, rows[v]));
  TRY(guarded_open(&t->env, BANK, WR_F64, NAN, &t->bank));
done:
  return status;
}

int trial_open(trial *t) {
  wr_status status = wr_env_open(&t->env);
  name_place(t, last_opened);
  TRIAL_OK(t, status);
  if (status != WR_OK || !open_plan(t) || !prepare(t)) return 0;
  check_info(t);
  status = open_vectors(t);
  TRIAL_OK(t, status);
  return status == WR_OK;
}

void trial_close(trial *t) {
  guarded *vectors[] = {&t->x[0], &t->x[1], &t->y[0], &t->y[1], &t->y[2],
                        &t->scaled, &t->scale, &t->direction, &t->z, &t->bank};
  if (t->env.ops == NULL) return;
  for (int v = 0; v < 10; v++) guarded_close(&t->env, vectors[v]);
  t->env.ops->release(&t->env, &t->compact);
  wr_plan_destroy(t->plan);
  wr_env_close(&t->env);
}

void trial_fill_one(trial *t, guarded *g, uint64_t key) {
  double *values;
  wr_status status = wr_alloc(&values, g->vec.n, sizeof *values, "numbers by chance");
  TRIAL_OK(t, status);
  if (status != WR_OK) return;
  for (int64_t i = 0; i < g->vec.n; i++) values[i] = case_number(key, i);
  TRIAL_OK(t, guarded_set(&t->env, g, values, 0));
  wr_free(values);
}

void trial_set(trial *t, guarded *g, double value) { TRIAL_OK(t, guarded_set(&t->env, g, NULL, value)); }

void trial_set_scale(trial *t, const double *values) {
  t->env.ops->release(&t->env, &t->compact);
  TRIAL_OK(t, guarded_set(&t->env, &t->scale, values, 0));
}

static void fill_scale(trial *t, uint64_t key) {
  static const double most[] = {0x1p8 - 1, 0x1p16 - 1, 0x1p32 - 1};
  double *values;
  int by_chance = (t->A->nrows + t->A->nnz) % 2 != 0;
  int64_t n = t->A->nrows;
  wr_status status = wr_alloc(&values, n, sizeof *values, "numbers by chance");
  TRIAL_OK(t, status);
  if (status != WR_OK) return;
  for (int64_t i = 0; i < n; i++) {
    double number = case_number(key, i);
    values[i] = i % 5 == 0  ? 0
                : by_chance ? number
                            : 1 / (1 + floor(fmin(fabs(number), 1) * (most[t->A->nnz % 3] - 1)));
  }
  trial_set_scale(t, values);
  if (!by_chance) TRIAL_OK(t, t->env.ops->compact(&t->env, n, values, "a compact scale", &t->compact));
  wr_free(values);
}

void trial_fill(trial *t, uint64_t key) {
  guarded *vectors[] = {&t->x[0], &t->x[1], &t->y[0], &t->y[1], &t->y[2], &t->scaled, &t->direction, &t->z};
  for (uint64_t v = 0; v < 8; v++) trial_fill_one(t, vectors[v], 100 * key + v);
  fill_scale(t, 100 * key + 9);
}

/* ---- One apply ---- */

static guarded *z_of(trial *t, const step *s, int r) {
  z_source z = epilogue_kinds[s->epilogue].reduce[r].z;
  if (z == Z_X && t->A->nrows == t->A->ncols) return s->x;
  return z == Z_NEXT && s->y_next ? s->y_next : &t->z;
}

static guarded *relax_from(trial *t, const step *s) { return s->y_next ? s->y_next : &t->z; }

static wr_epilogue make_epilogue(trial *t, const step *s) {
  const epilogue_kind *kind = &epilogue_kinds[s->epilogue];
  wr_epilogue e = {.shift = {.bank = NULL}};
  if (kind->shift) e.shift = (wr_scalar){&t->bank.vec, 0};
  if (kind->shift >= SHIFT_ALONG) e.shift_dir = &t->direction.vec, e.adds_dir = kind->shift == SHIFT_BESIDE;
  wr_vec *scale = t->compact.id ? &t->compact : &t->scale.vec;
  if (kind->scale) e.scale = scale, e.scales_y = kind->scale == SCALE_Y;
  if (kind->scale == SCALE_ANOTHER) e.scaled = &s->scaled->vec;
  if (kind->relaxes) e.relax_from = &relax_from(t, s)->vec, e.relaxation = (wr_scalar){&t->bank.vec, BANK - 1};
  for (int r = 0; r < WR_MAX_REDUCTIONS; r++) {
    wr_reduction_kind reduction = kind->reduce[r].kind;
    if (reduction == WR_NO_REDUCTION) continue;
    e.reduce[r] = (wr_reduction){.kind = reduction, .into = {&t->bank.vec, 1 + r}};
    if (reduction != WR_SUM_UNSCALED && wr_reduction_reads_z(reduction)) e.reduce[r].z = &z_of(t, s, r)->vec;
    if (reduction == WR_SUM_UNSCALED) e.reduce[r].z = scale;
  }
  return e;
}

enum { PARTS = 8, OUTPUTS = 4 }; /* of one apply: the first four are written */

static void parts_of(trial *t, const step *s, guarded *part[PARTS]) {
  guarded *all[PARTS] = {s->y, s->y_next, s->scaled, &t->bank, s->x, &t->scale, &t->direction, &t->z};
  for (int p = 0; p < PARTS; p++) part[p] = all[p];
}

static void read_parts(trial *t, const step *s) {
  guarded *part[PARTS];
  parts_of(t, s, part);
  for (int p = 0; p < PARTS; p++)
    if (part[p]) TRIAL_OK(t, guarded_read(&t->env, part[p]));
}

static void check_parts(trial *t, const step *s) {
  static const char *const name[PARTS] = {"y", "y_next", "scaled", "the bank", "x", "scale", "the direction", "z"};
  guarded *part[PARTS];
  int scales = epilogue_kinds[s->epilogue].scale == SCALE_ANOTHER;
  parts_of(t, s, part);
  for (int p = 0; p < PARTS; p++) {
    if (part[p] == NULL) continue;
    int inside = p >= OUTPUTS || (part[p] == s->scaled && !scales);
    int64_t at = guarded_changed(part[p], inside);
    int same = at == GUARDED_SAME;
    trial_expect(t, same, "alpha %g, beta %g, epilogue %s: %s has changed %s %lld: %.17g was %.17g", s->alpha, s->beta,
                 epilogue_kinds[s->epilogue].name, name[p], inside ? "at" : "beside its elements, at", (long long)at,
                 same ? 0 : guarded_now(part[p])[at], same ? 0 : guarded_before(part[p])[at]);
  }
}

static exact_apply exact_of(trial *t, const step *s) {
  const epilogue_kind *kind = &epilogue_kinds[s->epilogue];
  unsigned caps = t->backend->caps;
  int beta_apart = s->beta != 0 && !(caps & WR_CAP_BETA);
  exact_apply e = {.A = t->A, .type = t->env.type, .sum_unit = wr_plan_get_info(t->plan)->sum_unit,
                   .term_unit = wr_plan_get_info(t->plan)->term_unit,
                   .alpha = s->alpha, .beta = s->beta, .shift = kind->shift ? TRIAL_SHIFT : 0,
                   .x = guarded_before(s->x), .y = guarded_before(s->y), .product_stored = beta_apart,
                   .y_stored = (kind->shift || kind->scale == SCALE_Y || kind->relaxes) &&
                               (beta_apart || !(caps & WR_CAP_EPILOGUE))};
  if (kind->shift >= SHIFT_ALONG) e.direction = guarded_before(&t->direction);
  e.adds_direction = kind->shift == SHIFT_BESIDE;
  if (kind->scale == SCALE_Y) e.scale = guarded_before(&t->scale);
  if (kind->relaxes) e.relax_from = guarded_before(relax_from(t, s)), e.relaxation = TRIAL_RELAXATION;
  return e;
}

static void check_rows(trial *t, const step *s) {
  exact_apply e = exact_of(t, s);
  const double *y = guarded_now(s->y);
  int64_t n = t->A->nrows, wrong = n; /* the first wrong row */
#pragma omp parallel for schedule(static) reduction(min : wrong) if (t->A->nnz > 10000)
  for (int64_t i = 0; i < n; i++)
    if (i < wrong && !exact_accepts(exact_row(&e, i), y[i])) wrong = i;
  exact_value expected = wrong < n ? exact_row(&e, wrong) : (exact_value){0, 0};
  trial_expect(t, wrong == n, "alpha %g, beta %g, epilogue %s, y_next %d: y[%lld] = %.17g, not %.17Lg +- %.2Lg",
               s->alpha, s->beta, epilogue_kinds[s->epilogue].name, s->y_next != NULL, (long long)wrong,
               wrong < n ? y[wrong] : 0, expected.value, expected.bound);
}

static void check_scaled(trial *t, const step *s) {
  const double *y = guarded_now(s->y), *scale = guarded_now(&t->scale), *scaled = guarded_now(s->scaled);
  int64_t i = 0;
  if (epilogue_kinds[s->epilogue].scale != SCALE_ANOTHER) return;
  while (i < t->A->nrows && exact_accepts(exact_scaled(t->env.type, scale[i], y[i]), scaled[i])) i++;
  trial_expect(t, i == t->A->nrows, "alpha %g, beta %g, epilogue %s: scaled[%lld] is wrong", s->alpha, s->beta,
               epilogue_kinds[s->epilogue].name, (long long)i);
}

static void check_reductions(trial *t, const step *s, const double *bank) {
  for (int r = 0; r < WR_MAX_REDUCTIONS; r++) {
    wr_reduction_kind kind = epilogue_kinds[s->epilogue].reduce[r].kind;
    double got = guarded_now(&t->bank)[1 + r];
    if (kind == WR_NO_REDUCTION) {
      trial_expect(t, isnan(got) && isnan(bank[1 + r]), "a reduction that was not asked for was stored");
      continue;
    }
    const double *z = kind == WR_SUM_UNSCALED ? guarded_now(&t->scale) : guarded_before(z_of(t, s, r));
    exact_apply apply = exact_of(t, s);
    exact_value expected = kind == WR_L1DIFF_UNSCALED
                               ? exact_change(&apply, guarded_now(&t->scale), t->compact.id != 0, z)
                               : exact_reduction(kind, guarded_now(s->y), z, t->A->nrows);
    trial_expect(t, exact_accepts(expected, got),
                 "alpha %g, beta %g, epilogue %s, y_next %d: reduction %d is %.17g, not %.17Lg +- %.2Lg", s->alpha,
                 s->beta, epilogue_kinds[s->epilogue].name, s->y_next != NULL, r, got, expected.value, expected.bound);
  }
}

void trial_step(trial *t, const step *s) {
  const double bank[BANK] = {TRIAL_SHIFT, NAN, NAN, NAN, 42, TRIAL_RELAXATION};
  TRIAL_OK(t, guarded_set(&t->env, &t->bank, bank, 0));
  wr_epilogue e = make_epilogue(t, s);
  wr_apply request = {.alpha = s->alpha, .beta = s->beta, .x = &s->x->vec, .y = &s->y->vec};
  if (s->y_next) request.y_next = &s->y_next->vec;
  if (s->epilogue != EPILOGUE_NONE) request.epilogue = &e;
  read_parts(t, s);
  wr_status status = wr_plan_apply(t->plan, &request);
  if (status == WR_OK) status = t->env.ops->wait(&t->env);
  trial_expect(t, status == WR_OK, "apply: %s", wr_status_message());
  if (status != WR_OK) return;
  read_parts(t, s);
  check_parts(t, s);
  trial_expect(t,
               guarded_now(&t->bank)[0] == TRIAL_SHIFT && guarded_now(&t->bank)[BANK - 2] == 42 &&
                   guarded_now(&t->bank)[BANK - 1] == TRIAL_RELAXATION,
               "a scalar that is no result was changed");
  check_rows(t, s);
  check_scaled(t, s);
  check_reductions(t, s, bank);
}
