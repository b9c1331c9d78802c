/* The report's tasks, cut on a device, against a plain computation on the host: every value is in one task, every block row
 * is completed by one, and shared block rows have the right origin. */
#include <vector>

#include "spmv/blocks/bsr_build.h"
#include "spmv/backends/bsr/bsr_tasks.h"
#include "spmv/device/device_memory.h"
#include "tests/kernels/on_device.h"

typedef std::vector<int64_t> numbers;

typedef int64_t (*row_length)(int64_t i, int64_t brows);

static int64_t none(int64_t, int64_t) { return 0; }
static int64_t even(int64_t, int64_t) { return 4; }
static int64_t giant(int64_t i, int64_t brows) { return i == brows / 2 ? 5000 : i % 4 == 1; }
static int64_t empty_ends(int64_t i, int64_t brows) { return i < brows / 3 || i > brows / 2 ? 0 : 1 + i % 5; }
static int64_t mixed(int64_t i, int64_t) {
  uint64_t hash = ((uint64_t)i + 1) * 0x9E3779B97F4A7C15u;
  return (int64_t)(hash >> 40) % (hash >> 61 == 0 ? 300 : hash >> 61 < 4 ? 2 : 7);
}

/* Blocks without columns and values: tasks depend only on row_ptr. */
struct blocks {
  numbers row_ptr;
  wr_bsr on_device = {};
  wr_env *env;
  blocks(wr_env *e, row_length length, int64_t brows, int r, int c, int wide) : row_ptr((size_t)brows + 1), env(e) {
    for (int64_t i = 0; i < brows; i++) row_ptr[(size_t)i + 1] = row_ptr[(size_t)i] + length(i, brows);
    on_device.nrows = brows * r, on_device.ncols = WR_MAX_INDEX, on_device.brows = brows;
    on_device.blocks = row_ptr.back(), on_device.r = r, on_device.c = c, on_device.wide = wide;
    CHECK_OK(wr_device_alloc(env, &on_device.row_ptr, brows + 1, wide ? 8 : 4, "block rows"));
    CHECK_OK(wr_device_upload(env, on_device.row_ptr, row_ptr.data(), brows + 1, wide ? WR_AS_8_BYTES : WR_I64_AS_I32));
  }
  ~blocks() { wr_device_free(env, on_device.row_ptr); }
};

static numbers read_i32(wr_env *env, const int32_t *from, int64_t count) {
  std::vector<int32_t> values((size_t)count + 1);
  CHECK_OK(wr_device_download(env, values.data(), from, count, WR_AS_4_BYTES));
  return numbers(values.begin(), values.end() - 1);
}

static numbers read_i64(wr_env *env, const int64_t *from, int64_t count) {
  numbers values((size_t)count);
  CHECK_OK(wr_device_download(env, values.data(), from, count, WR_AS_8_BYTES));
  return values;
}

static void check_lists(wr_env *env, const blocks &b, const wr_bsr_tasks &t, numbers &full) {
  numbers empty;
  for (int64_t i = 0; i < b.on_device.brows; i++)
    (b.row_ptr[(size_t)i] < b.row_ptr[(size_t)i + 1] ? full : empty).push_back(i);
  CHECK(t.nfull == (int64_t)full.size() && t.nempty == (int64_t)empty.size());
  CHECK((t.full == nullptr) == empty.empty() && (t.empty == nullptr) == empty.empty());
  if (empty.empty() || t.full == nullptr || t.empty == nullptr) return;
  CHECK(read_i32(env, t.full, t.nfull) == full);
  CHECK(read_i32(env, t.empty, t.nempty) == empty);
}

/* Computes each value's task and block row one by one. */
static void check_cuts(wr_env *env, const blocks &b, const wr_bsr_tasks &t, const numbers &full) {
  int64_t side = b.on_device.r * b.on_device.c, values = b.on_device.blocks * side;
  numbers index = read_i64(env, t.index, t.count + 1), row = read_i32(env, t.row, t.count + 1);
  numbers origin = read_i32(env, t.origin, t.count), task_of((size_t)values);
  for (int64_t k = 0; k <= t.count; k++)
    CHECKF(index[(size_t)k] == (int64_t)((__int128)values * k / t.count), "cut %lld", (long long)k);
  for (int64_t k = 0; k < t.count; k++) {
    CHECKF(index[(size_t)k] < index[(size_t)k + 1], "task %lld is empty", (long long)k);
    for (int64_t v = index[(size_t)k]; v < index[(size_t)k + 1]; v++) task_of[(size_t)v] = k;
  }
  CHECK(row[(size_t)t.count] == t.nfull);
  size_t position = 0;
  for (int64_t k = 0; k < t.count; k++) {
    while (b.row_ptr[(size_t)full[position] + 1] * side <= index[(size_t)k]) position++;
    int64_t begin = b.row_ptr[(size_t)full[position]] * side, end = b.row_ptr[(size_t)full[position] + 1] * side;
    int ends = end <= index[(size_t)k + 1];
    CHECKF(row[(size_t)k] == (int64_t)position, "task %lld begins in row %lld", (long long)k,
           (long long)row[(size_t)k]);
    CHECKF(origin[(size_t)k] == (ends ? task_of[(size_t)begin] : k), "task %lld has origin %lld", (long long)k,
           (long long)origin[(size_t)k]);
  }
}

static void check_tasks(wr_env *env, const blocks &b, int64_t wanted) {
  wr_bsr_tasks t;
  numbers full;
  int64_t values = b.on_device.blocks * b.on_device.r * b.on_device.c;
  CHECK_OK(wr_bsr_tasks_build(env, &b.on_device, wanted, &t));
  CHECKF(t.count == (wanted < values ? wanted : values), "%lld tasks", (long long)t.count);
  check_lists(env, b, t, full);
  if (t.count && t.index && t.row && t.origin) check_cuts(env, b, t, full);
  int64_t bytes = wr_bsr_tasks_bytes(&t), least = t.count * (16 + 16 * t.r) + (t.nempty ? 4 * b.on_device.brows : 0);
  CHECKF(least <= bytes && bytes < least + 7 * 128 + 12, "%lld bytes, not %lld", (long long)bytes, (long long)least);
  wr_bsr_tasks_free(env, &t);
  CHECK(t.index == nullptr && t.full == nullptr && t.tail == nullptr);
}

static void test_all(wr_env *env) {
  static const struct {
    const char *name;
    row_length length;
    int64_t brows;
  } cases[] = {{"no blocks", none, 40},           {"even rows", even, 64},         {"one giant row", giant, 50},
               {"nothing but one row", giant, 1}, {"empty ends", empty_ends, 300}, {"mixed", mixed, 700}};
  static const int sides[][2] = {{1, 1}, {3, 2}, {1, 16}, {5, 5}};
  static const int64_t wanted[] = {1, 2, 7, 64, 1000, 100000};
  for (const auto &c : cases) {
    CASE(c.name);
    for (size_t s = 0; s < sizeof sides / sizeof *sides; s++) {
      blocks b(env, c.length, c.brows, sides[s][0], sides[s][1], s % 2);
      for (int64_t w : wanted) check_tasks(env, b, w);
    }
  }
}

/* Row pointers with more blocks than any memory holds. */
static void test_large(wr_env *env) {
  CASE("tasks have at most 2^30 values");
  blocks b(env, even, 3, 16, 16, 1);
  int64_t many[] = {0, (int64_t)1 << 31, ((int64_t)1 << 31) + 5, (int64_t)1 << 33};
  CHECK_OK(wr_device_upload(env, b.on_device.row_ptr, many, 4, WR_AS_8_BYTES));
  b.on_device.blocks = many[3];
  wr_bsr_tasks t;
  CHECK_OK(wr_bsr_tasks_build(env, &b.on_device, 1, &t));
  CHECKF(t.count == 1 << 11, "%lld tasks", (long long)t.count);
  if (t.count == 1 << 11) {
    numbers row = read_i32(env, t.row, t.count + 1), origin = read_i32(env, t.origin, t.count);
    numbers index = read_i64(env, t.index, t.count + 1);
    for (int64_t k = 0; k <= t.count; k++) CHECK(index[(size_t)k] == k << 30);
    CHECK(row[511] == 0 && row[512] == 1 && row[513] == 2 && row[2047] == 2 && row[2048] == 3);
    CHECK(origin[510] == 510 && origin[511] == 0 && origin[512] == 512 && origin[2047] == 512);
  }
  wr_bsr_tasks_free(env, &t);
}

static void test_device(wr_env *env) {
  test_all(env);
  test_large(env);
}

int main(void) {
  on_device(test_device);
  return wr_test_report("bsr_tasks");
}
