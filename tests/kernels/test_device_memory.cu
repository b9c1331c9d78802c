/* Memory that an env caches: reused if it fits, but not while tests poison freed memory, and nothing leaks. */
#include <math.h>

#include <initializer_list>
#include <vector>

#include "spmv/device/cuda_state.h"
#include "spmv/device/device_memory.h"
#include "tests/kernels/on_device.h"

enum { SIZE = 3 << 20 };

static char *get(wr_env *env, int64_t bytes) {
  char *block = nullptr;
  CHECK_OK(wr_device_alloc(env, &block, bytes, 1, "a test"));
  CHECK(block != nullptr);
  return block;
}

static void test_kept(wr_env *env) {
  CASE("freed memory is used again");
  int64_t live = wr_device_blocks();
  char *first = get(env, SIZE), *second = get(env, SIZE);
  CHECK(first != second);
  CHECK(wr_device_blocks() == live + 2);
  wr_device_free(env, first);
  CHECK(wr_device_blocks() == live + 1);
  char *larger = get(env, 2 * SIZE), *smaller = get(env, SIZE / 2);
  CHECK(larger != first && smaller != first);
  char *about = get(env, SIZE - SIZE / 8);
  CHECKF(about == first, "%p, not %p", (void *)about, (void *)first);
  char *third = get(env, SIZE);
  CHECK(third != first && third != second);
  for (char *block : {second, larger, smaller, about, third}) wr_device_free(env, block);
  wr_device_free(env, nullptr);
  CHECK(wr_device_blocks() == live);
}

/* The cached allocation that fits best is reused, and its padding is 0. */
static void test_best_fit(wr_env *env) {
  CASE("the best fit of several");
  char *a = get(env, 1000 * 128), *b = get(env, 1100 * 128), *c = get(env, 1050 * 128);
  std::vector<double> ones(1050 * 16, NAN), seen(16);
  CHECK_OK(wr_device_upload(env, c, ones.data(), (int64_t)ones.size(), WR_AS_8_BYTES));
  for (char *block : {a, b, c}) wr_device_free(env, block);
  char *d = get(env, 1049 * 128 + 8);
  CHECK(d == c);
  CHECK_OK(wr_device_download(env, seen.data(), d + 1049 * 128, 16, WR_AS_8_BYTES));
  for (int k = 0; k < 16; k++) CHECKF(seen[k] == 0, "%d: %g", k, seen[k]);
  double *zeroed = nullptr;
  wr_device_free(env, d);
  CHECK_OK(wr_device_alloc_zeroed(env, &zeroed, 1050 * 16, sizeof *zeroed, "a test"));
  CHECK((char *)zeroed == c);
  CHECK_OK(wr_device_download(env, ones.data(), zeroed, (int64_t)ones.size(), WR_AS_8_BYTES));
  int wrong = 0;
  for (double value : ones) wrong += value != 0;
  CHECKF(wrong == 0, "%d of %d are not 0", wrong, (int)ones.size());
  wr_device_free(env, zeroed);
}

static int blocks_of(const wr_env *env) { return ((const wr_cuda_state *)env->state)->nblocks; }

static void test_given_back(wr_env *env) {
  CASE("memory that is given back");
  int before = blocks_of(env);
  env->testing->poison = 1;
  wr_device_free(env, get(env, 5 * SIZE));
  env->testing->poison = 0;
  CHECKF(blocks_of(env) == before, "%d blocks, %d before", blocks_of(env), before);
  wr_device_free(env, get(env, 5 * SIZE));
  CHECK(blocks_of(env) == before + 1);
  int64_t live = wr_device_blocks();
  char *too_much = nullptr;
  CHECK_FAILS(WR_ENOMEM, wr_device_alloc(env, &too_much, (int64_t)1 << 55, 1, "a test"));
  CHECK(too_much == nullptr);
  CHECKF(blocks_of(env) < before, "%d blocks, %d before: spare ones were kept although memory had ended",
         blocks_of(env), before);
  CHECK(wr_device_blocks() == live);
}

/* At most a GiB is cached: the allocation that was freed first is released first. */
static void test_most(wr_env *env) {
  CASE("more than the cache holds");
  const int64_t part = (int64_t)400 << 20;
  char *blocks[3];
  wr_device_free(env, get(env, (int64_t)1 << 20)); /* older than all of them */
  int before = blocks_of(env);
  for (char *&block : blocks) block = get(env, part);
  CHECK(blocks_of(env) == before + 3);
  for (char *block : blocks) wr_device_free(env, block);
  CHECKF(blocks_of(env) == before + 1, "%d blocks, %d before", blocks_of(env), before); /* minus the small one and the first */
  char *again = get(env, part), *once_more = get(env, part);
  CHECK((again == blocks[1] && once_more == blocks[2]) || (again == blocks[2] && once_more == blocks[1]));
  wr_device_free(env, again);
  wr_device_free(env, once_more);
}

/* A shared allocation belongs to no env, and may be freed after the env is closed. */
static void test_shared(wr_env *env) {
  CASE("shared blocks");
  char *shared = nullptr;
  wr_env other = {};
  int before = blocks_of(env);
  int64_t live = wr_device_blocks();
  other.place = WR_CUDA, other.type = WR_F64;
  CHECK_OK(wr_env_open(&other));
  CHECK_OK(wr_device_alloc_shared(&other, &shared, SIZE, 1, "a test"));
  wr_env_close(&other);
  CHECK(wr_device_blocks() == live + 1);
  wr_device_free_shared(env->device, shared);
  CHECK(wr_device_blocks() == live && blocks_of(env) == before);
}

static void test_device(wr_env *env) {
  env->testing->poison = 0;
  test_kept(env);
  test_best_fit(env);
  test_given_back(env);
  test_most(env);
  test_shared(env);
}

int main() {
  on_device(test_device);
  return wr_test_report("device_memory");
}
