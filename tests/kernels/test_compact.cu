/* Compact vectors: the given elements, bit for bit, in as few bytes as possible; values that do not fit are refused. */
#include <math.h>
#include <string.h>

#include <vector>

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
  test_refused(env);
}

int main() {
  on_device(test_device);
  return wr_test_report("compact");
}
