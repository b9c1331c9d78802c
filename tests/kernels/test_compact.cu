/* Compact vectors: the given elements, bit for bit, in as few bytes as possible; values that do not fit are refused. */
#include <math.h>
#include <string.h>

#include <vector>

#include "spmv/device/apply.h"
#include "tests/kernels/on_device.h"

typedef std::vector<double> numbers;

/* As values of env's type. */
static double rounded(const wr_env *env, double value) { return env->type == WR_F32 ? (double)(float)value : value; }

static void test_values(wr_env *env, const char *name, const numbers &values, int bytes) {
  CASE(name);
  wr_vec v = {}, wide = {};
  numbers seen(values.size());
  CHECK_OK(env->ops->compact(env, (int64_t)values.size(), values.data(), "a test", &v));
  CHECK_OK(env->ops->alloc(env, (int64_t)values.size(), env->type, "a test", &wide));
  CHECK_OK(env->ops->widen(env, &v, &wide));
  CHECK_OK(env->ops->download(env, &wide, seen.data()));
  CHECKF(v.reciprocal_bytes == bytes, "%d bytes, not %d", v.reciprocal_bytes, bytes);
  size_t wrong = 0;
  for (size_t k = 0; k < values.size(); k++) {
    double expected = rounded(env, values[k]);
    if (memcmp(&seen[k], &expected, sizeof expected) == 0) continue;
    if (wrong++ == 0) fprintf(stderr, "  element %zu: %a, not %a\n", k, seen[k], expected);
  }
  CHECKF(wrong == 0, "%zu of %zu", wrong, values.size());
  env->ops->release(env, &v);
  env->ops->release(env, &wide);
}

static double reciprocal(double number) { return number == 0 ? 0 : 1 / number; }

static numbers reciprocals_up_to(int most) {
  numbers values;
  for (int number = 0; number <= most; number++) values.push_back(reciprocal(number));
  return values;
}

/* Neighbours of powers of two, and pseudo-random numbers, up to 2^32 - 1. */
static numbers large_reciprocals(void) {
  numbers values;
  uint64_t state = 1;
  for (int power = 1; power <= 32; power++)
    for (int by = -3; by <= 3; by++) {
      double number = ldexp(1, power) + by;
      if (number >= 0 && number < 0x1p32) values.push_back(reciprocal(number));
    }
  for (int k = 0; k < 300000; k++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    values.push_back(reciprocal((double)(uint32_t)(state >> 32 >> k % 32)));
  }
  return values;
}

static wr_vec vec_of(wr_env *env, const numbers &values, wr_type type) {
  wr_vec v = {};
  CHECK_OK(env->ops->alloc(env, (int64_t)values.size(), type, "a test", &v));
  CHECK_OK(env->ops->upload(env, &v, values.data()));
  return v;
}

/* PageRank's steps as a pass of their own: y and the sums of an epilogue with a compact scale, for which the kernel has
 * instances, and with the same elements in a wide vector, for which it tests the parts at run time. */
static void test_epilogues(wr_env *env, int64_t n, int most, int bytes) {
  CASE("epilogues with a compact scale");
  numbers y(n), old(n), other(n), scale(n), scalars = {0.25, 0.75, 0, 0};
  for (int64_t i = 0; i < n; i++) {
    y[i] = 1 + (double)(i % 7), old[i] = (double)(i % 5) / 4, other[i] = (double)(i % 3) / 8;
    scale[i] = reciprocal((double)((i * 37 + most) % (most + 1)));
  }
  wr_vec compact = {}, wide = vec_of(env, scale, env->type), bank = vec_of(env, scalars, WR_F64);
  wr_vec z = vec_of(env, old, env->type), from = vec_of(env, other, env->type);
  CHECK_OK(env->ops->compact(env, n, scale.data(), "a test", &compact));
  CHECKF(compact.reciprocal_bytes == bytes, "%d bytes, not %d", compact.reciprocal_bytes, bytes);
  for (int parts = 0; parts < 4; parts++) {
    numbers rows[2] = {numbers(n), numbers(n)}, sums[2] = {numbers(4), numbers(4)};
    for (int is_wide = 0; is_wide < 2; is_wide++) {
      wr_epilogue e = {};
      wr_vec v = vec_of(env, y, env->type);
      e.shift = {&bank, 0}, e.scale = is_wide ? &wide : &compact, e.scales_y = 1;
      if (parts & 1) e.relax_from = &from, e.relaxation = {&bank, 1};
      if (parts & 2) e.shift_dir = &z, e.adds_dir = 1;
      e.reduce[0].kind = WR_L1DIFF_UNSCALED, e.reduce[0].z = &z, e.reduce[0].into = {&bank, 2};
      e.reduce[1].kind = WR_SUM_UNSCALED, e.reduce[1].into = {&bank, 3};
      wr_apply apply = {};
      apply.alpha = 1, apply.y = &v, apply.epilogue = &e;
      CHECK_OK(env->ops->epilogue(env, &apply));
      CHECK_OK(env->ops->download(env, &v, rows[is_wide].data()));
      CHECK_OK(env->ops->download(env, &bank, sums[is_wide].data()));
      env->ops->release(env, &v);
    }
    CHECKF(rows[0] == rows[1], "parts %d, %lld rows: y differs", parts, (long long)n);
    CHECKF(sums[0][3] == sums[1][3], "parts %d: %g of unscaled rows, not %g", parts, sums[0][3], sums[1][3]);
    /* A wide scale is rounded and inverted again; both add n terms. */
    double bound = (4 * wr_type_unit(env->type) + 2 * (double)(n + 5) * wr_type_unit(WR_F64)) * sums[1][2];
    CHECKF(sums[1][2] > 0 && fabs(sums[0][2] - sums[1][2]) <= bound, "parts %d: a change of %.17g, not %.17g", parts,
           sums[0][2], sums[1][2]);
  }
  for (wr_vec *v : {&compact, &wide, &bank, &z, &from}) env->ops->release(env, v);
}

static void test_refused(wr_env *env) {
  CASE("values that no compact vector holds");
  wr_vec v = {}, other = {};
  numbers values = reciprocals_up_to(200), room(values.size());
  int64_t n = (int64_t)values.size();
  CHECK_OK(env->ops->compact(env, n, values.data(), "a test", &v));
  CHECK_OK(env->ops->alloc(env, n + 1, env->type, "a test", &other));
  CHECK_FAILS(WR_EUSAGE, env->ops->upload(env, &v, values.data()));
  CHECK_FAILS(WR_EUSAGE, env->ops->download(env, &v, room.data()));
  CHECK_FAILS(WR_EUSAGE, env->ops->fill(env, &v, 1));
  CHECK_FAILS(WR_EUSAGE, env->ops->widen(env, &v, &other));
  CHECK_FAILS(WR_EUSAGE, env->ops->widen(env, &v, &v));
  wr_fused f = {};
  f.in[0] = &v, f.out[0] = &v, f.c[0][0].factor = 1;
  CHECK_FAILS(WR_EUSAGE, env->ops->fused(env, &f));
  env->ops->release(env, &v);
  env->ops->release(env, &other);
}

static void test_device(wr_env *env) {
  test_values(env, "one byte", reciprocals_up_to(255), 1);
  test_values(env, "two bytes", reciprocals_up_to(256), 2);
  test_values(env, "all of two bytes", reciprocals_up_to(65535), 2);
  test_values(env, "four bytes", reciprocals_up_to(65536), 4);
  test_values(env, "large numbers", large_reciprocals(), 4);
  test_values(env, "zeros", numbers(77, 0.0), 1);
  test_values(env, "no reciprocals", {0.5, 0.3}, 0);
  test_values(env, "less than a reciprocal", {1, 0x1p-33}, 0);
  test_values(env, "more than one", {0.5, 2}, 0);
  test_values(env, "not finite", {1, INFINITY}, 0);
  for (int64_t n : {1, 6, 1000, 300007}) {
    test_epilogues(env, n, 200, 1);
    test_epilogues(env, n, 60000, 2);
    test_epilogues(env, n, 70000, 4);
  }
  test_refused(env);
}

int main() {
  on_device(test_device);
  return wr_test_report("compact");
}
