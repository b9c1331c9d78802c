/* A backend that multiplies, records the arguments of each call, and fails when a test asks for it; and a small matrix with
 * vectors. For test_plan.c and test_plan_apply.c. */
#ifndef WR_RECORDER_H
#define WR_RECORDER_H

#include <stddef.h>
#include <stdlib.h>

#include "spmv/spmv.h"
#include "tests/check.h"

enum { EVERYTHING = WR_CAP_BETA | WR_CAP_Y_NEXT | WR_CAP_EPILOGUE | WR_CAP_PATTERN | WR_CAP_RECTANGULAR | WR_CAP_F32 |
                    WR_CAP_F64 };

static struct {
  int checks, plans, prepares, applies, updates, decodes;
  int destroys, empty_destroys; /* with something in the state; with a zeroed one */
  int dirty_prepares;           /* whose state was not zeroed                     */
  wr_apply request;             /* the last apply's                               */
  int y_prepared;
  int64_t level;                /* of the last prepare's knobs                    */
  int mode, deterministic;      /* deterministic: what plan answers               */
  double term_unit;             /* likewise                                        */
  int moved;                    /* what update_values says                         */
  wr_status check, plan, prepare, apply, update; /* what they return              */
} seen;

typedef struct recorder_knobs {
  int64_t level;
  int mode;
} recorder_knobs;

typedef struct recorder_state {
  wr_csr *A;
  char filler[100];
} recorder_state;

static const wr_knob recorder_knob_table[] = {
    {.name = "level", .type = WR_OPTION_INT, .offset = offsetof(recorder_knobs, level), .min = 0, .max = 9,
     .value = "2", .help = "a number"},
    {.name = "mode", .type = WR_OPTION_CHOICE, .offset = offsetof(recorder_knobs, mode), .choices = "slow|fast",
     .value = "slow", .help = "a word"},
    {.name = NULL},
};

static int is_zero(const void *state) {
  static const recorder_state zero;
  return memcmp(state, &zero, sizeof zero) == 0;
}

static wr_status answer(wr_status status, const char *call) {
  return status == WR_OK ? WR_OK : wr_fail(status, "%s was told to fail", call);
}

static wr_status record_check(const wr_env *env, const wr_csr *A, const void *knobs) {
  (void)env, (void)A, (void)knobs;
  seen.checks++;
  return answer(seen.check, "check");
}

static wr_status record_plan(const wr_env *env, const wr_csr *A, const void *knobs, wr_plan_info *info) {
  (void)env, (void)knobs;
  seen.plans++;
  *info = (wr_plan_info){.extra_bytes = 1000, .deterministic = seen.deterministic, .line = "log",
                         .term_unit = seen.term_unit};
  info->format_bytes = A->nnz;
  return answer(seen.plan, "plan");
}

static wr_status record_prepare(void *state, wr_env *env, wr_csr *A, const void *knobs, wr_plan_info *info) {
  recorder_state *s = state;
  (void)env;
  seen.prepares++;
  seen.dirty_prepares += !is_zero(state);
  seen.level = ((const recorder_knobs *)knobs)->level;
  seen.mode = ((const recorder_knobs *)knobs)->mode;
  memset(s->filler, 7, sizeof s->filler);
  s->A = A;
  info->extra_bytes += 10;
  return answer(seen.prepare, "prepare");
}

static double element(const wr_vec *v, int64_t i) {
  return v->type == WR_F32 ? (double)((float *)v->data)[i] : ((double *)v->data)[i];
}

/* y = alpha*A*x + beta*y, without the epilogue. */
static wr_status record_apply(void *state, wr_env *env, const wr_apply_args *args) {
  const recorder_state *s = state;
  const wr_apply *r = &args->request;
  (void)env;
  seen.applies++;
  seen.request = *r, seen.y_prepared = args->y_prepared;
  for (int64_t i = 0; i < s->A->nrows && seen.apply == WR_OK; i++) {
    double sum = r->beta != 0 ? r->beta * element(r->y, i) : 0;
    for (int64_t k = s->A->row_ptr[i]; k < s->A->row_ptr[i + 1]; k++)
      sum += r->alpha * (s->A->val ? s->A->val[k] : 1) * element(r->x, s->A->col[k]);
    if (r->y->type == WR_F32)
      ((float *)r->y->data)[i] = (float)sum;
    else
      ((double *)r->y->data)[i] = sum;
  }
  return answer(seen.apply, "apply");
}

static void record_destroy(void *state, wr_env *env) {
  (void)env;
  if (is_zero(state))
    seen.empty_destroys++;
  else
    seen.destroys++;
}

static wr_status record_decode(void *state, wr_env *env, wr_csr **A) {
  (void)env;
  seen.decodes++;
  return wr_csr_copy(((recorder_state *)state)->A, A);
}

static wr_status record_update(void *state, wr_env *env, wr_csr *A, int *moved) {
  (void)env;
  seen.updates++;
  *moved = seen.moved;
  ((recorder_state *)state)->A = A;
  return answer(seen.update, "update_values");
}

static const wr_backend recorder_everything = {
    .name = "recorder",
    .summary = "keeps a log",
    .source = "",
    .place = WR_HOST,
    .caps = EVERYTHING,
    .knobs = recorder_knob_table,
    .knobs_size = sizeof(recorder_knobs),
    .state_size = sizeof(recorder_state),
    .check = record_check,
    .plan = record_plan,
    .prepare = record_prepare,
    .apply = record_apply,
    .destroy = record_destroy,
    .decode = record_decode,
    .update_values = record_update,
};

/* A backend, a matrix, vectors of its length, a bank of scalars; and a plan, which the tests make. */
typedef struct fixture {
  wr_backend backend;
  wr_env env;
  wr_csr *A;
  wr_plan *plan;
  wr_vec x, y[3], scaled, scale, direction, z, bank;
} fixture;

enum { N = 4, BANK = 6 };

/* ( 2 . 1 . )        ( 1 )
 * ( . . . . )    x = ( 2 )     scale = (1 0 4 0.5), direction = (1 1 2 2), z = (1 1 1 1), bank[0] = 10
 * ( . 3 . -1 )       ( 4 )
 * ( 4 . . 5 )        ( 8 )     A x = (6 0 -2 44) */
static inline wr_csr *small_matrix(void) {
  static const int64_t row_ptr[] = {0, 2, 2, 4, 6};
  static const int32_t col[] = {0, 2, 1, 3, 0, 3};
  static const double val[] = {2, 1, 3, -1, 4, 5};
  wr_csr *A = NULL;
  CHECK_OK(wr_csr_create(N, N, 6, 1, &A));
  if (A == NULL) exit(wr_test_report("recorder"));
  memcpy(A->row_ptr, row_ptr, sizeof row_ptr);
  memcpy(A->col, col, sizeof col);
  memcpy(A->val, val, sizeof val);
  return A;
}

static inline void set(fixture *f, wr_vec *v, const double *values) {
  CHECK_OK(f->env.ops->upload(&f->env, v, values));
}

static inline void set_vectors(fixture *f) {
  static const double x[] = {1, 2, 4, 8}, y[] = {100, 200, 300, 400}, scale[] = {1, 0, 4, 0.5};
  static const double direction[] = {1, 1, 2, 2}, z[] = {1, 1, 1, 1}, bank[BANK] = {10, -1, -1, -1, -1, -1};
  set(f, &f->x, x);
  for (int v = 0; v < 3; v++) set(f, &f->y[v], y);
  set(f, &f->scaled, y);
  set(f, &f->scale, scale);
  set(f, &f->direction, direction);
  set(f, &f->z, z);
  set(f, &f->bank, bank);
}

static inline fixture open_fixture(unsigned caps, wr_type type, int need_beta) {
  fixture f = {.backend = recorder_everything, .env = {.place = WR_HOST, .type = type, .need_beta = need_beta}};
  memset(&seen, 0, sizeof seen);
  seen.deterministic = 1;
  f.backend.caps = caps;
  f.A = small_matrix();
  CHECK_OK(wr_env_open(&f.env));
  wr_vec *vectors[] = {&f.x, &f.y[0], &f.y[1], &f.y[2], &f.scaled, &f.scale, &f.direction, &f.z};
  for (int v = 0; v < 8; v++) CHECK_OK(f.env.ops->alloc(&f.env, N, type, "a test", vectors[v]));
  CHECK_OK(f.env.ops->alloc(&f.env, BANK, WR_F64, "a test", &f.bank));
  set_vectors(&f);
  return f;
}

static inline void close_fixture(fixture *f) {
  wr_vec *vectors[] = {&f->x, &f->y[0], &f->y[1], &f->y[2], &f->scaled, &f->scale, &f->direction, &f->z, &f->bank};
  wr_plan_destroy(f->plan);
  for (int v = 0; v < 9; v++) f->env.ops->release(&f->env, vectors[v]);
  wr_env_close(&f->env);
  wr_csr_free(f->A);
}

/* The plan, prepared. f must stay where it is: the plan keeps its address. */
static inline void make_plan(fixture *f) {
  CHECK_OK(wr_plan_create(&f->backend, NULL, f->A, &f->env, &f->plan));
  if (f->plan == NULL) exit(wr_test_report("recorder"));
  CHECK_OK(wr_plan_prepare(f->plan));
}

static inline int holds(const wr_vec *v, double a, double b, double c, double d) {
  return element(v, 0) == a && element(v, 1) == b && element(v, 2) == c && element(v, 3) == d;
}

#endif
