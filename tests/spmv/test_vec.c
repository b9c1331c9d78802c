/* What every table of vector operations promises but fused operations: the epilogue, steps, memory, copies and
 * time (spmv/device/vec.h). */
#include "tests/spmv/vec_model.h"

/* With the factor 1 it leaves out relax_from, which may have NaN. */
static void test_no_relaxation(wr_env *env, field *t) {
  wr_vec *y = &t->v[0], *from = &t->v[1];
  double *before = contents(env, y), one = 1;
  wr_vec factor = new_vec(env, 1, WR_F64);
  CHECK_OK(env->ops->upload(env, &factor, &one));
  CHECK_OK(env->ops->fill(env, from, NAN));
  wr_epilogue e = {.relax_from = from, .relaxation = {&factor, 0}};
  CHECK_OK(env->ops->epilogue(env, &(wr_apply){.alpha = 1, .y = y, .epilogue = &e}));
  double *after = contents(env, y);
  CHECK(memcmp(before, after, (size_t)y->n * sizeof *before) == 0);
  free(before), free(after);
  env->ops->release(env, &factor);
}

static void test_epilogue(wr_env *env, int64_t n, wr_type type) {
  CASE("epilogue");
  field t = new_field(env, n, type);
  wr_vec *b = &t.bank, *y = &t.v[0], *old = &t.v[1], *direction = &t.v[2], *scaled = &t.v[3], *scale = &t.v[5];
  wr_epilogue teleport = {.shift = {b, 2}, .scale = scale, .scaled = scaled,
                          .reduce = {{WR_L1DIFF, NULL, old, {b, 8}}, {WR_SUM_UNSCALED, NULL, NULL, {b, 9}},
                                     {WR_SUM, NULL, NULL, {b, 10}}}};
  run_epilogue(env, &(wr_apply){.alpha = 1, .x = &t.v[4], .y = y, .y_next = old, .epilogue = &teleport});
  wr_epilogue residual = {.shift = {b, 3}, .shift_dir = direction, .reduce = {{WR_NRM2SQ, NULL, NULL, {b, 8}}}};
  run_epilogue(env, &(wr_apply){.alpha = -1, .x = &t.v[4], .y = y, .epilogue = &residual});
  wr_epilogue dots = {.reduce = {{WR_DOT, NULL, old, {b, 8}}, {WR_DOT, NULL, direction, {b, 9}}}};
  run_epilogue(env, &(wr_apply){.alpha = 1, .x = &t.v[4], .y = y, .y_next = old, .epilogue = &dots});
  wr_epilogue product = {.reduce = {{WR_DOT, NULL, old, {b, 8}}, {WR_NRM2SQ, NULL, NULL, {b, 9}}}};
  run_epilogue(env, &(wr_apply){.alpha = 1, .x = &t.v[4], .y = y, .epilogue = &product});
  wr_epilogue only_scaled = {.scale = scale, .scaled = scaled};
  only_scaled.reduce[0] = (wr_reduction){WR_SUM, NULL, NULL, {b, 8}};
  run_epilogue(env, &(wr_apply){.alpha = 1, .x = &t.v[4], .y = y, .epilogue = &only_scaled});
  wr_epilogue rank = {.shift = {b, 2}, .scale = scale, .scales_y = 1,
                      .reduce = {{WR_L1DIFF_UNSCALED, NULL, direction, {b, 8}}, {WR_SUM_UNSCALED, NULL, NULL, {b, 9}}}};
  run_epilogue(env, &(wr_apply){.alpha = 1, .x = &t.v[4], .y = y, .y_next = old, .epilogue = &rank});
  wr_epilogue correction = rank;
  correction.shift_dir = direction, correction.adds_dir = 1, correction.reduce[0].z = old;
  run_epilogue(env, &(wr_apply){.alpha = 1, .x = &t.v[4], .y = y, .epilogue = &correction});
  rank.relax_from = old, rank.relaxation = (wr_scalar){b, 4};
  run_epilogue(env, &(wr_apply){.alpha = 1, .x = &t.v[4], .y = y, .y_next = old, .epilogue = &rank});
  wr_epilogue relaxed = {.relax_from = old, .relaxation = {b, 5}, .reduce = {{WR_SUM, NULL, NULL, {b, 8}}}};
  run_epilogue(env, &(wr_apply){.alpha = 1, .x = &t.v[4], .y = y, .epilogue = &relaxed});
  test_no_relaxation(env, &t);
  free_field(env, &t);
}

/* ---- Steps ---- */

/* Moves the first two scalars to the log, and counts in the third how often. */
static void log_two(double *s, wr_step_request *request) {
  request->logs = 1, request->at = 2 * s[2];
  request->entry[0] = s[0], request->entry[1] = s[1];
  s[2]++;
}

/* Entries beyond the three that the log holds are dropped. test_steps compares all steps with those of a device. */
static void test_log(wr_env *env) {
  static const wr_step step = {.name = "log_two", .scalars = 3, .run = log_two};
  CASE("steps and their log");
  double values[3] = {4, 5, 0}, entries[3] = {0};
  wr_vec bank = new_vec(env, 3, WR_F64), log = new_vec(env, 3, WR_F64);
  CHECK_OK(env->ops->upload(env, &bank, values));
  uint64_t writes = bank.writes, log_writes = log.writes;
  for (int k = 0; k < 3; k++) CHECK_OK(env->ops->step(env, &(wr_then){&step, &bank, &log}));
  CHECK_OK(env->ops->step(env, &(wr_then){&step, &bank, NULL}));
  CHECK(bank.writes > writes && log.writes > log_writes);
  CHECK_OK(env->ops->download(env, &bank, values));
  CHECK_OK(env->ops->download(env, &log, entries));
  CHECK(values[0] == 4 && values[1] == 5 && values[2] == 4);
  CHECK(entries[0] == 4 && entries[1] == 5 && entries[2] == 4);
  env->ops->release(env, &bank), env->ops->release(env, &log);
}

/* ---- Memory, copies, time ---- */

static void test_copies(wr_env *env, int64_t n) {
  CASE("alloc, upload, download, fill");
  wr_vec f32 = new_vec(env, n, WR_F32), f64 = new_vec(env, n, WR_F64);
  CHECK(f32.id != 0 && f64.id != 0 && f32.id != f64.id);
  CHECK(f32.n == n && f64.n == n && f32.type == WR_F32 && f64.type == WR_F64 && f64.place == env->place);
  CHECK((uintptr_t)f32.data % 128 == 0 && (uintptr_t)f64.data % 128 == 0);
  double *values = host_array(n), *got = contents(env, &f64);
  int64_t bad = 0;
  for (int64_t i = 0; i < n; i++) bad += got[i] != 0;
  CHECK(bad == 0);
  for (int64_t i = 0; i < n; i++) values[i] = random_value() * 0x1p10;
  values[0] = 1 + 0x1p-40, values[n / 2] = n > 1 ? 1e300 : values[0], values[n - 1] = n > 2 ? -1e300 : values[n - 1];
  uint64_t writes = f32.writes;
  CHECK_OK(env->ops->upload(env, &f32, values));
  CHECK_OK(env->ops->upload(env, &f64, values));
  CHECK(f32.writes > writes);
  CHECK_OK(env->ops->download(env, &f64, got));
  CHECK(memcmp(got, values, (size_t)n * sizeof *got) == 0);
  CHECK_OK(env->ops->download(env, &f32, got));
  for (int64_t i = 0; i < n; i++) bad += got[i] != (double)(float)values[i];
  CHECK(bad == 0 && (n < 3 || (got[n / 2] == INFINITY && got[n - 1] == -INFINITY)));
  const double fills[] = {0.1, -0.0, 0, NAN, 1e300};
  for (int k = 0; k < 5; k++) {
    writes = f32.writes;
    CHECK_OK(env->ops->fill(env, &f32, fills[k]));
    CHECK(f32.writes > writes);
    CHECK_OK(env->ops->download(env, &f32, got));
    double expected = (double)(float)fills[k];
    for (int64_t i = 0; i < n; i++)
      bad += !(isnan(expected) ? isnan(got[i]) : got[i] == expected && !signbit(got[i]) == !signbit(expected));
    CHECKF(bad == 0, "filled with %g", fills[k]);
  }
  free(values), free(got);
  env->ops->release(env, &f32);
  env->ops->release(env, &f64);
  CHECK(f64.id == 0 && f64.data == NULL);
  env->ops->release(env, &f64); /* a released one is zeroed, and a zeroed one is fine */
}

/* A vector's memory stands for a caller's. */
static void test_own_arrays(wr_env *env, int64_t n) {
  CASE("arrays of a caller's");
  wr_vec from = new_vec(env, n, WR_F64), v = new_vec(env, n, WR_F64), to = new_vec(env, n + 1, WR_F64);
  wr_vec narrow = new_vec(env, n, WR_F32);
  double *values = host_array(n), *got;
  for (int64_t i = 0; i < n; i++) values[i] = 1 / (double)(i + 3);
  CHECK_OK(env->ops->upload(env, &from, values));
  CHECK_OK(env->ops->fill(env, &to, -1));
  CHECK_OK(env->ops->check_address(env, from.data, "an array"));
  uint64_t writes = v.writes;
  CHECK_OK(env->ops->take(env, &v, from.data));
  CHECK(v.writes > writes);
  CHECK_OK(env->ops->give(env, &v, to.data));
  got = contents(env, &to);
  CHECK(memcmp(got, values, (size_t)n * sizeof *got) == 0 && got[n] == -1);
  CHECK_FAILS(WR_EUSAGE, env->ops->take(env, &narrow, from.data));
  CHECK_FAILS(WR_EUSAGE, env->ops->give(env, &narrow, to.data));
  free(values), free(got);
  env->ops->release(env, &from), env->ops->release(env, &v);
  env->ops->release(env, &to), env->ops->release(env, &narrow);
}

/* Row-major rows of 3, column 1, to rows of 2, column 0: the other column keeps its elements. */
static void test_columns(wr_env *env, int64_t n, wr_type type) {
  CASE("columns");
  wr_vec from = new_vec(env, 3 * n, type), to = new_vec(env, 2 * n, type);
  double *values = host_array(3 * n), *got;
  int64_t bad = 0;
  for (int64_t k = 0; k < 3 * n; k++) values[k] = (double)(k % 100003);
  CHECK_OK(env->ops->upload(env, &from, values));
  CHECK_OK(env->ops->fill(env, &to, -1));
  uint64_t writes = to.writes, read = from.writes;
  CHECK_OK(env->ops->copy_column(env, &from, 3, 1, &to, 2, 0));
  CHECK(to.writes > writes && from.writes == read);
  got = contents(env, &to);
  for (int64_t i = 0; i < n; i++) bad += got[2 * i] != values[3 * i + 1] || got[2 * i + 1] != -1;
  CHECKF(bad == 0, "%lld of %lld rows", (long long)bad, (long long)n);
  free(values), free(got);
  env->ops->release(env, &from), env->ops->release(env, &to);
}

/* An upload has read its values when it returns: the caller may overwrite them at once. */
static void test_upload_order(wr_env *env) {
  CASE("uploads in a row");
  enum { N = 700000, ROUNDS = 5 };
  wr_vec v[ROUNDS];
  double *values = host_array(N);
  for (int k = 0; k < ROUNDS; k++) {
    v[k] = new_vec(env, N, k % 2 ? WR_F32 : WR_F64);
    for (int64_t i = 0; i < N; i++) values[i] = (double)(i % 1000 + 1000 * k);
    CHECK_OK(env->ops->upload(env, &v[k], values));
  }
  int64_t bad = 0;
  for (int k = 0; k < ROUNDS; k++) {
    CHECK_OK(env->ops->download(env, &v[k], values));
    for (int64_t i = 0; i < N; i++) bad += values[i] != (double)(i % 1000 + 1000 * k);
    env->ops->release(env, &v[k]);
  }
  CHECKF(bad == 0, "%lld elements are not what was uploaded", (long long)bad);
  free(values);
}

static void test_time_and_memory(wr_env *env) {
  CASE("time and memory");
  wr_vec v = new_vec(env, 100000, WR_F64);
  double seconds = -1, none = -1;
  CHECK_OK(env->ops->stamp(env, 0));
  for (int k = 0; k < 20; k++) CHECK_OK(env->ops->fill(env, &v, k));
  CHECK_OK(env->ops->stamp(env, WR_STAMPS - 1));
  CHECK_OK(env->ops->elapsed(env, 0, WR_STAMPS - 1, &seconds));
  CHECK(seconds > 0 && seconds < 1000);
  CHECK_OK(env->ops->elapsed(env, 0, 0, &none));
  CHECK(none == 0);
  CHECK_FAILS(WR_EUSAGE, env->ops->stamp(env, -1));
  CHECK_FAILS(WR_EUSAGE, env->ops->stamp(env, WR_STAMPS));
  CHECK_FAILS(WR_EUSAGE, env->ops->elapsed(env, 0, WR_STAMPS, &seconds));
  CHECK_FAILS(WR_EUSAGE, env->ops->elapsed(env, -1, 0, &seconds));
  CHECK_OK(env->ops->wait(env));
  int64_t free_bytes = 0, total_bytes = 0;
  CHECK_OK(env->ops->memory(env, &free_bytes, &total_bytes));
  CHECK(free_bytes > 0 && free_bytes <= total_bytes);
  env->ops->release(env, &v);
}

/* ---- Refusals ---- */

static void test_other_refusals(wr_env *env) {
  CASE("refused steps and copies");
  wr_vec bank = new_vec(env, 4, WR_F64), f32 = new_vec(env, 4, WR_F32), none = {0}, elsewhere = bank;
  wr_vec short_bank = new_vec(env, 3, WR_F64);
  double values[4] = {1, 2, 3, 4};
  elsewhere.place = env->place == WR_HOST ? WR_CUDA : WR_HOST;
  const wr_step four = {.name = "four", .scalars = 4}, *step = &four;
  const wr_step none_of_it = {.name = "empty"}, too_many = {.name = "large", .scalars = WR_MAX_SCALARS + 1};
  const wr_then bad[] = {{NULL, &bank, NULL},        {step, NULL, NULL},         {step, &f32, NULL},
                         {step, &elsewhere, NULL},   {step, &short_bank, NULL},  {step, &bank, &bank},
                         {step, &bank, &f32},        {step, &bank, &elsewhere},  {&none_of_it, &bank, NULL},
                         {&too_many, &bank, NULL}};
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) CHECK_FAILS(WR_EUSAGE, env->ops->step(env, &bad[k]));
  CHECK_FAILS(WR_EUSAGE, env->ops->upload(env, &none, values));
  CHECK_FAILS(WR_EUSAGE, env->ops->upload(env, &elsewhere, values));
  CHECK_FAILS(WR_EUSAGE, env->ops->download(env, &elsewhere, values));
  CHECK_FAILS(WR_EUSAGE, env->ops->fill(env, &elsewhere, 1));
  env->ops->release(env, &bank);
  env->ops->release(env, &f32);
  env->ops->release(env, &short_bank);
}

/* ---- The tables ---- */

/* Faults that only a device can have. */
static void test_device(wr_env *env) {
  CASE("two of them on one device");
  wr_env other = {.place = WR_CUDA, .device = env->device, .type = WR_F64};
  CHECK_OK(wr_env_open(&other));
  if (other.ops == NULL) return;
  CHECK(other.stream != env->stream);
  field mine = new_field(env, 5000, WR_F64), theirs = new_field(&other, 5000, WR_F32);
  for (int k = 0; k < 5; k++) {
    run_fused(env, &(wr_fused){.in = {&mine.v[0]}, .reduce = {{WR_SUM, &mine.v[0], NULL, {&mine.bank, k}}}});
    wr_vec *v = &theirs.v[1];
    run_fused(&other, &(wr_fused){.in = {v}, .reduce = {{WR_NRM2SQ, v, NULL, {&theirs.bank, k}}}});
  }
  free_field(env, &mine);
  free_field(&other, &theirs);
  wr_env_close(&other);
  CASE("more memory than there is");
  wr_vec v;
  CHECK_FAILS(WR_ENOMEM, env->ops->alloc(env, (int64_t)1 << 50, WR_F64, "too much", &v));
  CHECK_MESSAGE("too much");
  CHECK_FAILS(WR_ENOMEM, env->ops->alloc(env, INT64_MAX, WR_F64, "far too much", &v));
  v = new_vec(env, 3, WR_F32); /* the env can still be used */
  env->ops->release(env, &v);
}

static void test_table(wr_env *env) {
  for (int k = 0; k < LENGTHS; k++) {
    test_copies(env, lengths[k]);
    test_epilogue(env, lengths[k], WR_F32);
    test_epilogue(env, lengths[k], WR_F64);
    test_columns(env, lengths[k], k % 2 ? WR_F32 : WR_F64);
    test_own_arrays(env, lengths[k]);
  }
  test_upload_order(env);
  if (env->place == WR_HOST) test_log(env);
  test_time_and_memory(env);
  test_other_refusals(env);
  if (env->place == WR_CUDA) test_device(env);
}

int main(void) {
  with_place((wr_env){.place = WR_HOST, .type = WR_F64, .threads = 2}, "host", test_table);
  with_place((wr_env){.place = WR_CUDA, .type = WR_F64}, "cuda", test_table);
  CASE("no such device");
  CHECK_FAILS(WR_EUNAVAILABLE, wr_env_open(&(wr_env){.place = WR_CUDA, .device = 4096}));
  CHECK_FAILS(WR_EUNAVAILABLE, wr_env_open(&(wr_env){.place = WR_CUDA, .device = -1}));
  return wr_test_report("vec");
}
