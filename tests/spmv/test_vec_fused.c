/* Fused operations and their sums, as every table of vector operations must do them (spmv/device/vec.h). */
#include "tests/counting.h"
#include "tests/spmv/vec_model.h"

/* The shapes that the solvers use. */
static void test_solver_shapes(wr_env *env, int64_t n, wr_type type) {
  CASE("fused operations of the solvers");
  field t = new_field(env, n, type);
  wr_vec *b = &t.bank, *x = &t.v[0], *p = &t.v[1], *s = &t.v[2], *w = &t.v[3], *shadow = &t.v[4];
  wr_fused scale = {.in = {x}, .out = {p}, .c = {{{.factor = 0.3}}}};
  run_fused(env, &scale);
  wr_fused half_step = {.in = {p, w}, .out = {s}, .c = {{{.factor = 1}, times_scalar(-1, b, 3)}},
                        .reduce = {{WR_NRM2SQ, s, NULL, {b, 5}}}};
  run_fused(env, &half_step);
  wr_fused update = {.in = {x, p, s, w, shadow}, .out = {x, s},
                     .c = {{{.factor = 1}, times_scalar(1, b, 1), times_scalar(1, b, 2)},
                           {[2] = {.factor = 1}, [3] = times_scalar(-1, b, 2)}},
                     .reduce = {{WR_NRM2SQ, s, NULL, {b, 6}}, {WR_DOT, s, shadow, {b, 7}}}};
  run_fused(env, &update);
  wr_fused direction = {.in = {s, p, w}, .out = {p},
                        .c = {{{.factor = 1}, times_scalar(1, b, 4), times_scalar(-0.5, b, 4)}}};
  run_fused(env, &direction);
  wr_fused sums = {.in = {s, w},
                   .reduce = {{WR_DOT, s, w, {b, 8}}, {WR_NRM2SQ, w, NULL, {b, 9}}, {WR_L1DIFF, s, w, {b, 0}}}};
  run_fused(env, &sums);
  free_field(env, &t);
}

static void test_corners(wr_env *env, int64_t n, wr_type type) {
  CASE("corners of fused operations");
  field t = new_field(env, n, type);
  wr_vec *b = &t.bank, *u = &t.v[0], *v = &t.v[1], *w = &t.v[2], *mask = &t.v[5];
  wr_fused exchange = {.in = {u, v}, .out = {v, u}, .c = {{{.factor = 2}, {.factor = 0.5}}, {[1] = {.factor = 1}}}};
  run_fused(env, &exchange);
  wr_fused chained = {.in = {u, v}, .out = {w, v}, .c = {{{.factor = 1.5}}, {{.factor = 1}, {.factor = 2}}}};
  chained.c[1][WR_MAX_INPUTS] = times_scalar(-1, b, 2);
  run_fused(env, &chained);
  wr_fused scaled = {.in = {u, v}, .times = mask, .out = {w}, .c = {{times_scalar(2, b, 1), {.factor = 1}}},
                     .reduce = {{WR_DOT, u, v, {b, 0}},
                                {WR_SUM_UNSCALED, w, mask, {b, 3}},
                                {WR_SUM, mask, NULL, {b, 4}}}};
  run_fused(env, &scaled);
  wr_fused jacobi = {.in = {u}, .times = mask, .out = {u}, .c = {{{.factor = 1}}}};
  run_fused(env, &jacobi);
  wr_fused just_sums = {.in = {u, v}, .times = mask,
                        .reduce = {{WR_SUM, u, NULL, {b, 1}},
                                   {WR_SUM_UNSCALED, v, mask, {b, 5}},
                                   {WR_SUM, v, NULL, {b, 2}}}};
  run_fused(env, &just_sums);
  wr_fused squares = {.in = {u}, .out = {u}, .c = {{times_scalar(1, b, 6)}},
                      .reduce = {{WR_DOT, u, u, {b, 6}}, {WR_L1DIFF, u, u, {b, 7}}}};
  run_fused(env, &squares); /* reads and writes scalar 6, and the vector */
  wr_fused nothing = {.out = {w}, .reduce = {{WR_NRM2SQ, w, NULL, {b, 8}}}};
  run_fused(env, &nothing); /* an empty sum is 0 */
  wr_fused twice = {.in = {v, v}, .out = {u}, .c = {{{.factor = 0.25}, {.factor = 0.5}}}};
  run_fused(env, &twice);
  free_field(env, &t);
}

/* A NaN in a vector or scalar whose factor is 0 does not reach the result. */
static void test_zero_factor(wr_env *env, int64_t n, wr_type type) {
  CASE("factor 0");
  field t = new_field(env, n, type);
  wr_vec nan_vec = constant_vec(env, n, type, NAN), nan_bank = constant_vec(env, 2, WR_F64, NAN);
  wr_fused f = {.in = {&nan_vec, &t.v[1], &nan_vec}, .times = &t.v[5], .out = {&t.v[2], &nan_vec},
                .c = {{{.factor = 0}, {.factor = 3}, times_scalar(0, &nan_bank, 1)}, {[1] = {.factor = 1}}},
                .reduce = {{WR_SUM, &t.v[2], NULL, {&nan_bank, 0}}, {WR_NRM2SQ, &nan_vec, NULL, {&t.bank, 1}}}};
  f.c[1][WR_MAX_INPUTS] = times_scalar(0, &nan_bank, 0);
  CHECK_OK(env->ops->fused(env, &f));
  double *in = contents(env, &t.v[1]), *first = contents(env, &t.v[2]), *second = contents(env, &nan_vec);
  int64_t bad = 0;
  for (int64_t i = 0; i < n; i++) bad += first[i] != as_stored(type, 3 * in[i]) || second[i] != in[i];
  CHECKF(bad == 0, "%lld of %lld elements are not 3 and 1 times their input", (long long)bad, (long long)n);
  double *bank = contents(env, &nan_bank);
  CHECK(isfinite(bank[0]) && isnan(bank[1]));
  free(in), free(first), free(second), free(bank);
  wr_fused poisoned = {.in = {&t.v[1]}, .out = {&t.v[1]}, .c = {{times_scalar(1, &nan_bank, 1)}}};
  CHECK_OK(env->ops->fused(env, &poisoned)); /* and where the factor is not 0, NaN gets through */
  double *all_nan = contents(env, &t.v[1]);
  CHECK(isnan(all_nan[0]) && isnan(all_nan[n - 1]));
  free(all_nan);
  env->ops->release(env, &nan_vec);
  env->ops->release(env, &nan_bank);
  free_field(env, &t);
}

/* If the scalar `when` is 0, an operation runs its step alone. A NaN is not 0. */
static void test_when(wr_env *env, int64_t n, wr_type type) {
  CASE("operations that are left out");
  for (int k = 0; k < 4; k++) {
    static const double conditions[] = {0, -0.0, 1e-300, NAN};
    field t = new_field(env, n, type);
    wr_pagerank_scalars counted = counting_from(41, 100);
    wr_vec counter = new_vec(env, WR_SCALAR_COUNT(wr_pagerank_scalars), WR_F64);
    CHECK_OK(env->ops->upload(env, &counter, (const double *)&counted));
    double *bank = contents(env, &t.bank), *old = contents(env, &t.v[1]), *in = contents(env, &t.v[0]);
    bank[5] = conditions[k];
    CHECK_OK(env->ops->upload(env, &t.bank, bank));
    wr_fused f = {.in = {&t.v[0]}, .out = {&t.v[1]}, .c = {{{.factor = 2}}}, .when = {&t.bank, 5},
                  .reduce = {{WR_NRM2SQ, &t.v[1], NULL, {&t.bank, 3}}},
                  .then = WR_THEN(pagerank_after_iteration, &counter, NULL)};
    CHECK_OK(env->ops->fused(env, &f));
    double *after = contents(env, &t.bank), *out = contents(env, &t.v[1]);
    int64_t bad = 0;
    for (int64_t i = 0; i < n; i++) bad += out[i] != (k < 2 ? old[i] : as_stored(type, 2 * in[i]));
    CHECKF(bad == 0, "condition %g: %lld of %lld elements", conditions[k], (long long)bad, (long long)n);
    CHECKF((after[3] == bank[3]) == (k < 2), "condition %g: the sum is %g, it was %g", conditions[k], after[3],
           bank[3]);
    CHECK_OK(env->ops->download(env, &counter, (double *)&counted));
    CHECKF(counted.steps == 42, "condition %g: the step made %g of 41", conditions[k], counted.steps);
    env->ops->release(env, &counter);
    free(bank), free(old), free(in), free(after), free(out);
    free_field(env, &t);
  }
}

static wr_coefficient random_coefficient(wr_vec *bank) {
  if (random_below(3) == 0) return (wr_coefficient){.factor = 0};
  wr_coefficient c = {.factor = 2 * random_value()};
  if (random_below(2)) c.scalar = (wr_scalar){bank, random_below(BANK / 2)};
  return c;
}

/* Sizes of an operation at most, so that a device runs the kernels for small operations or the one for all others. */
typedef struct most_of {
  int inputs, outputs, sums, vectors;
} most_of;

/* An operation of any shape within these sizes, with vectors named several times. */
static wr_fused random_operation(field *t, most_of most) {
  wr_fused f = {.times = random_below(2) ? &t->v[5] : NULL};
  int nin = 1 + random_below(most.inputs), nout = random_below(most.outputs + 1), is_taken;
  for (int k = 0; k < nin; k++) f.in[k] = &t->v[random_below(most.vectors)];
  for (int o = 0; o < nout; o++) {
    do {
      f.out[o] = &t->v[random_below(most.vectors)], is_taken = 0;
      for (int q = 0; q < o; q++) is_taken |= f.out[q] == f.out[o];
    } while (is_taken);
    for (int k = 0; k < nin; k++) f.c[o][k] = random_coefficient(&t->bank);
    for (int q = 0; q < o; q++) f.c[o][WR_MAX_INPUTS + q] = random_coefficient(&t->bank);
  }
  for (int r = 0; r < most.sums; r++)
    f.reduce[r] = (wr_reduction){(wr_reduction_kind)random_below(WR_DOT_HASH), f.in[random_below(nin)],
                                 f.in[random_below(nin)], {&t->bank, BANK / 2 + r}};
  for (int r = 0; r < nout && r < most.sums; r++) f.reduce[r].of = f.out[nout - 1 - r];
  f.hashes = (uint64_t)random_below(5);
  for (int r = 0, hashed = 0; r < most.sums && hashed < WR_HASH_LANES; r++)
    if (random_below(3) == 0) f.reduce[r].kind = WR_DOT_HASH, hashed++;
  return f;
}

/* Any shape that the contract allows. */
static void test_random_shapes(wr_env *env, int64_t n, wr_type type, int times) {
  static const most_of small = {5, 2, 3, 6}, large = {WR_MAX_INPUTS, WR_MAX_OUTPUTS, WR_FUSED_REDUCTIONS, FIELD};
  CASE("fused operations of random shape");
  for (int run = 0; run < times; run++) {
    most_of most = run % 2 ? large : small;
    field t = new_field_of(env, n, type, most.vectors);
    wr_fused f = random_operation(&t, most);
    run_fused(env, &f);
    free_field(env, &t);
  }
}

/* An operation as large as possible: all inputs, outputs and sums, and a vector `times`. */
static void test_largest_shape(wr_env *env, int64_t n, wr_type type) {
  CASE("the largest fused operation");
  field t = new_field_of(env, n, type, FIELD);
  wr_fused f = {.times = &t.v[WR_MAX_INPUTS]};
  for (int k = 0; k < WR_MAX_INPUTS; k++) f.in[k] = &t.v[k];
  for (int o = 0; o < WR_MAX_OUTPUTS; o++) {
    f.out[o] = o < 2 ? &t.v[o + 3] : &t.v[WR_MAX_INPUTS + o - 1]; /* two of them are inputs */
    for (int k = 0; k < WR_MAX_INPUTS + o; k++) f.c[o][k] = times_scalar(0.5 + k, &t.bank, (o + k) % 8);
  }
  for (int r = 0; r < WR_FUSED_REDUCTIONS; r++)
    f.reduce[r] = (wr_reduction){r % 2 ? WR_DOT : WR_NRM2SQ_SCALED, f.out[r % WR_MAX_OUTPUTS], f.in[2 * r],
                                 {&t.bank, 8 + r}};
  run_fused(env, &f);
  free_field(env, &t);
}

/* Sums are added in one order: a second run gives the same bits. */
static void test_same_bits(wr_env *env) {
  CASE("the same bits");
  field t = new_field(env, 1000007, WR_F32);
  wr_fused f = {.in = {&t.v[0], &t.v[1]},
                .reduce = {{WR_DOT, &t.v[0], &t.v[1], {&t.bank, 0}}, {WR_SUM, &t.v[0], NULL, {&t.bank, 1}},
                           {WR_L1DIFF, &t.v[0], &t.v[1], {&t.bank, 2}}}};
  CHECK_OK(env->ops->fused(env, &f));
  double *first = contents(env, &t.bank);
  for (int k = 0; k < 20; k++) {
    CHECK_OK(env->ops->fused(env, &f));
    double *again = contents(env, &t.bank);
    CHECK(memcmp(first, again, BANK * sizeof *again) == 0);
    free(again);
  }
  free(first);
  free_field(env, &t);
}

static void refuse(wr_env *env, const wr_fused *f, const char *what) {
  wr_status status = env->ops->fused(env, f);
  CHECKF(status == WR_EUSAGE, "%s: %s, not WR_EUSAGE", what, wr_status_name(status));
}

static void test_fused_refusals(wr_env *env) {
  CASE("refused fused operations");
  field t = new_field(env, 100, WR_F64);
  wr_vec *b = &t.bank, *u = &t.v[0], *v = &t.v[1], none = {0};
  wr_vec shorter = new_vec(env, 99, WR_F64), f32 = new_vec(env, 100, WR_F32), f32_bank = new_vec(env, 8, WR_F32);
  wr_vec elsewhere = *v;
  elsewhere.place = env->place == WR_HOST ? WR_CUDA : WR_HOST;
  const wr_fused good = {.in = {u, v}, .out = {v}, .c = {{{.factor = 1}, times_scalar(1, b, 0)}},
                         .reduce = {{WR_DOT, u, v, {b, 1}}}};
  wr_vec *const strangers[] = {&shorter, &f32, &elsewhere, &none};
  double *before = contents(env, v);
  for (int k = 0; k < 4; k++) {
    wr_fused f = good;
    f.in[1] = f.reduce[0].z = strangers[k], refuse(env, &f, "a strange input");
    f = good, f.out[0] = strangers[k], f.reduce[0].z = u, refuse(env, &f, "a strange output");
    f = good, f.times = strangers[k], refuse(env, &f, "strange times");
  }
  const wr_scalar outside[] = {{b, BANK}, {b, -1}, {&f32_bank, 0}, {&none, 0}};
  for (int k = 0; k < 4; k++) {
    wr_fused f = good;
    f.c[0][1].scalar = outside[k], refuse(env, &f, "a coefficient outside its bank");
    f = good, f.reduce[0].into = outside[k], refuse(env, &f, "a result outside its bank");
    f = good, f.when = outside[k], refuse(env, &f, "a condition outside its bank");
  }
  wr_fused f = good;
  f.in[1] = NULL, f.in[2] = v, refuse(env, &f, "a gap between inputs");
  f = good, f.out[1] = v, refuse(env, &f, "one vector as both outputs");
  f = good, f.out[2] = u, refuse(env, &f, "outputs with a gap");
  f = good, f.out[1] = u, f.c[1][WR_MAX_INPUTS + 1].factor = 1, refuse(env, &f, "an output that depends on itself");
  f = good, f.reduce[0].z = &t.v[2], refuse(env, &f, "a reduction of a vector that has no part");
  f = good, f.reduce[0].z = NULL, refuse(env, &f, "a dot product of one vector");
  f = good;
  for (int r = 0; r <= WR_HASH_LANES; r++) f.reduce[r] = (wr_reduction){WR_DOT_HASH, u, NULL, {b, r}};
  refuse(env, &f, "more hashed vectors than share their bits");
  f = good, f.reduce[0].kind = (wr_reduction_kind)(WR_DOT_HASH + 1), refuse(env, &f, "a kind that there is not");
  f = good, f.then = WR_THEN(bicgstab_after_update, b, NULL), refuse(env, &f, "a step with a bank that is too short");
  f = good, f.then = WR_THEN(bicgstab_after_update, &f32_bank, NULL), refuse(env, &f, "a step with a bank of f32");
  f = (wr_fused){.in = {NULL}}, refuse(env, &f, "nothing");
  double *after = contents(env, v);
  CHECK(memcmp(before, after, 100 * sizeof *after) == 0);
  run_fused(env, &good);
  wr_vec counter = new_vec(env, WR_SCALAR_COUNT(wr_pagerank_scalars), WR_F64);
  f = good, f.then = WR_THEN(pagerank_after_iteration, &counter, NULL);
  f.when = (wr_scalar){&counter, WR_SCALAR_INDEX(wr_pagerank_scalars, steps)};
  if (env->place == WR_HOST) CHECK_FAILS(WR_EUSAGE, env->ops->fused(env, &f)); /* the step changes the condition */
  env->ops->release(env, &counter);
  free(before), free(after);
  env->ops->release(env, &shorter), env->ops->release(env, &f32), env->ops->release(env, &f32_bank);
  free_field(env, &t);
}

static void test_table(wr_env *env) {
  for (int k = 0; k < LENGTHS; k++)
    for (int type = WR_F32; type <= WR_F64; type++) {
      test_solver_shapes(env, lengths[k], (wr_type)type);
      test_corners(env, lengths[k], (wr_type)type);
      test_zero_factor(env, lengths[k], (wr_type)type);
      test_when(env, lengths[k], (wr_type)type);
      test_random_shapes(env, lengths[k], (wr_type)type, lengths[k] > 1000 ? 2 : 80);
      if (lengths[k] <= 1000 || type == WR_F64) test_largest_shape(env, lengths[k], (wr_type)type);
    }
  test_same_bits(env);
  test_fused_refusals(env);
}

int main(void) {
  with_place((wr_env){.place = WR_HOST, .type = WR_F64, .threads = 2}, "host", test_table);
  with_place((wr_env){.place = WR_CUDA, .type = WR_F64}, "cuda", test_table);
  return wr_test_report("vec_fused");
}
