/* Sort, scan, select and runs on a device (spmv/device/sort.h), against what their results must be. */
#include <stdlib.h>

#include "spmv/device/device_memory.h"
#include "spmv/device/sort.h"
#include "tests/check.h"

static const int64_t lengths[] = {0, 1, 2, 31, 32, 33, 1000, 100003};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

static uint64_t chance = 88172645463325252u;
static uint64_t draw(void) {
  chance ^= chance << 13, chance ^= chance >> 7, chance ^= chance << 17;
  return chance * 2685821657736338717u;
}

/* Elements of 4 or 8 bytes, zero-extended on the host. */
static uint64_t *host_words(int64_t n) {
  uint64_t *words = calloc((size_t)n + 1, sizeof *words);
  if (words == NULL) abort(); /* out of memory */
  return words;
}

static void *device_words(wr_env *env, int64_t n, size_t size) {
  void *block = NULL;
  CHECK_OK(wr_device_alloc_zeroed(env, &block, n, size, "test data"));
  return block;
}

static void *to_device(wr_env *env, const uint64_t *words, int64_t n, size_t size) {
  uint32_t *narrow = malloc(((size_t)n + 1) * sizeof *narrow);
  void *block = device_words(env, n, size);
  if (narrow == NULL) abort();
  for (int64_t i = 0; i < n; i++) narrow[i] = (uint32_t)words[i];
  if (size == 4)
    CHECK_OK(wr_device_upload(env, block, narrow, n, WR_AS_4_BYTES));
  else
    CHECK_OK(wr_device_upload(env, block, words, n, WR_AS_8_BYTES));
  free(narrow);
  return block;
}

/* Frees block as well. */
static uint64_t *to_host(wr_env *env, void *block, int64_t n, size_t size) {
  uint32_t *narrow = malloc(((size_t)n + 1) * sizeof *narrow);
  uint64_t *words = host_words(n);
  if (narrow == NULL) abort();
  if (size == 4)
    CHECK_OK(wr_device_download(env, narrow, block, n, WR_AS_4_BYTES));
  else
    CHECK_OK(wr_device_download(env, words, block, n, WR_AS_8_BYTES));
  for (int64_t i = 0; i < n && size == 4; i++) words[i] = narrow[i];
  free(narrow);
  wr_device_free(env, block);
  return words;
}

static int64_t count_differences(const uint64_t *got, const uint64_t *expected, int64_t n) {
  int64_t bad = 0;
  for (int64_t i = 0; i < n; i++) bad += got[i] != expected[i];
  return bad;
}

/* ---- Sort ---- */

typedef enum fill { ANY, FEW, EQUAL, ASCENDING, DESCENDING, EXTREME, FILLS } fill;
static const char *const fill_names[] = {"any keys",   "few different keys", "equal keys",
                                         "sorted keys", "keys sorted backwards", "extreme keys"};

static uint64_t *make_keys(fill how, int64_t n, size_t size) {
  static const uint64_t extremes[] = {
      0, 1, UINT64_MAX, UINT64_MAX - 1, INT64_MAX, (uint64_t)1 << 63, UINT32_MAX >> 1, 1u << 31};
  uint64_t *keys = host_words(n);
  for (int64_t i = 0; i < n; i++) {
    switch (how) {
      case FEW: keys[i] = 0x9e3779b97f4a7c15u * (draw() % 7); break;
      case EQUAL: keys[i] = 0x0123456789abcdefu; break;
      case ASCENDING: keys[i] = (uint64_t)i * 3; break;
      case DESCENDING: keys[i] = (uint64_t)(n - i) * 3; break;
      case EXTREME: keys[i] = extremes[draw() % 8]; break;
      default: keys[i] = draw();
    }
    if (size == 4) keys[i] = (uint32_t)keys[i];
  }
  return keys;
}

static uint64_t bits_of(uint64_t key, int begin, int end) {
  uint64_t below = end == 64 ? key : key & (((uint64_t)1 << end) - 1);
  return begin == 64 ? 0 : below >> begin;
}

/* The values were 0, 1, ... n - 1: where each key came from. So ascending keys, equal ones in the order they came in, each
 * with the key of its place, say that the order is right and that nothing was lost. */
static void check_order(const uint64_t *before, const uint64_t *keys, const uint64_t *values, int64_t n, int begin,
                        int end) {
  int64_t wrong = 0, unstable = 0, strange = 0;
  for (int64_t i = 0; i < n; i++) {
    strange += values[i] >= (uint64_t)n || keys[i] != before[values[i]];
    if (i == 0) continue;
    uint64_t left = bits_of(keys[i - 1], begin, end), right = bits_of(keys[i], begin, end);
    wrong += left > right;
    unstable += left == right && values[i - 1] >= values[i];
  }
  CHECKF(strange == 0, "%lld of %lld keys without their values", (long long)strange, (long long)n);
  CHECKF(wrong == 0 && unstable == 0, "bits %d to %d of %lld keys: %lld out of order, %lld equal ones changed places",
         begin, end, (long long)n, (long long)wrong, (long long)unstable);
}

static void test_sort(wr_env *env, fill how, int64_t n, size_t key_size, size_t value_size, int begin, int end) {
  CASE(fill_names[how]);
  uint64_t *before = make_keys(how, n, key_size), *numbers = host_words(n);
  const uint64_t high = value_size == 8 ? (uint64_t)3 << 40 : 0; /* the high bits of a value move, too */
  for (int64_t i = 0; i < n; i++) numbers[i] = (uint64_t)i + high;
  void *keys = to_device(env, before, n, key_size), *values = to_device(env, numbers, n, value_size);
  void *alone = to_device(env, before, n, key_size);
  CHECK_OK(wr_device_sort_pairs(env, keys, key_size, values, value_size, n, begin, end));
  CHECK_OK(wr_device_sort_pairs(env, alone, key_size, NULL, 0, n, begin, end));
  uint64_t *got_keys = to_host(env, keys, n, key_size), *got_values = to_host(env, values, n, value_size);
  uint64_t *got_alone = to_host(env, alone, n, key_size);
  for (int64_t i = 0; i < n; i++) got_values[i] -= high;
  check_order(before, got_keys, got_values, n, begin, end);
  CHECKF(count_differences(got_alone, got_keys, n) == 0, "%lld keys alone sort otherwise than with values",
         (long long)n);
  free(before), free(numbers), free(got_keys), free(got_values), free(got_alone);
}

static void test_sorts(wr_env *env) {
  for (int l = 0; l < LENGTHS; l++)
    for (int how = 0; how < FILLS; how++)
      for (size_t size = 4; size <= 8; size += 4) {
        int64_t n = lengths[l];
        size_t value_size = (l + how) % 2 ? 4 : 8;
        test_sort(env, how, n, size, value_size, 0, 8 * (int)size);
        if (n > 1000 && how != FEW && how != ANY) continue;
        test_sort(env, how, n, size, 12 - value_size, 0, wr_key_bits((uint64_t)n * 3));
        test_sort(env, how, n, size, value_size, 5, 17);
        test_sort(env, how, n, size, value_size, 8 * (int)size - 1, 8 * (int)size);
        test_sort(env, how, n, size, value_size, 9, 9);
      }
  CASE("bits of keys");
  CHECK(wr_key_bits(0) == 0 && wr_key_bits(1) == 1 && wr_key_bits(2) == 2 && wr_key_bits(255) == 8);
  CHECK(wr_key_bits(256) == 9 && wr_key_bits(UINT32_MAX) == 32 && wr_key_bits(UINT64_MAX) == 64);
}

/* ---- Scan ---- */

static void test_scan(wr_env *env, int64_t n, size_t count_size, size_t offset_size, uint64_t below) {
  CASE("scan");
  uint64_t *counts = host_words(n), *expected = host_words(n + 1);
  for (int64_t i = 0; i < n; i++) counts[i] = draw() % below, expected[i + 1] = expected[i] + counts[i];
  void *from = to_device(env, counts, n, count_size), *to = device_words(env, n + 1, offset_size);
  int64_t total = -1;
  CHECK_OK(wr_device_scan(env, from, count_size, n, to, offset_size, n % 2 ? NULL : &total));
  CHECK(n % 2 || total == (int64_t)expected[n]);
  uint64_t *offsets = to_host(env, to, n + 1, offset_size);
  int64_t bad = count_differences(offsets, expected, n + 1);
  CHECKF(bad == 0, "%lld of %lld offsets are wrong (%zu to %zu bytes)", (long long)bad, (long long)n, count_size,
         offset_size);
  wr_device_free(env, from);
  free(counts), free(expected), free(offsets);
}

static void test_scans(wr_env *env) {
  for (int l = 0; l < LENGTHS; l++)
    for (size_t offset_size = 4; offset_size <= 8; offset_size += 4) {
      test_scan(env, lengths[l], 4, offset_size, 10);
      test_scan(env, lengths[l], 8, offset_size, 10);
      test_scan(env, lengths[l], 4, 8, INT32_MAX);
      test_scan(env, lengths[l], 8, 8, (uint64_t)1 << 45);
    }
  CASE("a total that does not fit");
  const uint64_t most[] = {INT32_MAX - 5, 5, 0}, more[] = {1 << 30, 0, 1 << 30};
  int64_t total = 0;
  void *fits = to_device(env, most, 3, 4), *too_much = to_device(env, more, 3, 4), *offsets = device_words(env, 4, 4);
  CHECK_OK(wr_device_scan(env, fits, 4, 3, offsets, 4, &total));
  CHECK(total == INT32_MAX);
  CHECK_FAILS(WR_EUSAGE, wr_device_scan(env, too_much, 4, 3, offsets, 4, &total));
  CHECK_MESSAGE("2147483648");
  wr_device_free(env, fits), wr_device_free(env, too_much), wr_device_free(env, offsets);
}

/* ---- Select ---- */

/* As positions, and, if item_size is not 0, as items. */
static void test_select(wr_env *env, int64_t n, int kinds, uint8_t kind, size_t size, int with_items) {
  CASE(with_items ? "select items" : "select positions");
  uint8_t *of = malloc((size_t)n + 8);
  uint64_t *items = host_words(n), *expected = host_words(n);
  if (of == NULL) abort();
  int64_t wanted = 0, found = -1, counted = -1;
  for (int64_t i = 0; i < n; i++) {
    of[i] = (uint8_t)(draw() % (uint64_t)kinds + 250);
    items[i] = size == 4 ? (uint32_t)draw() : draw();
    if (of[i] == kind) expected[wanted++] = with_items ? items[i] : (uint64_t)i;
  }
  void *device_kinds = device_words(env, n + 8, 1), *device_items = to_device(env, items, n, size);
  CHECK_OK(wr_device_upload(env, device_kinds, of, (n + 3) / 4, WR_AS_4_BYTES));
  void *selected = device_words(env, n, size);
  CHECK_OK(wr_device_select(env, device_kinds, kind, n, with_items ? device_items : NULL, selected, size, &found));
  CHECK_OK(wr_device_select(env, device_kinds, kind, n, NULL, NULL, 0, &counted));
  uint64_t *got = to_host(env, selected, n, size);
  CHECKF(found == wanted && counted == wanted, "%lld and %lld found, not %lld", (long long)found, (long long)counted,
         (long long)wanted);
  CHECKF(count_differences(got, expected, n) == 0, "%lld of %lld: not the right ones", (long long)wanted, (long long)n);
  wr_device_free(env, device_kinds), wr_device_free(env, device_items);
  free(of), free(items), free(expected), free(got);
}

static void test_selects(wr_env *env) {
  for (int l = 0; l < LENGTHS; l++)
    for (size_t size = 4; size <= 8; size += 4)
      for (int with_items = 0; with_items < 2; with_items++) {
        test_select(env, lengths[l], 3, 251, size, with_items);
        test_select(env, lengths[l], 1, 250, size, with_items); /* all  */
        test_select(env, lengths[l], 3, 0, size, with_items);   /* none */
      }
}

/* ---- Refusals ---- */

static void test_refusals(wr_env *env) {
  CASE("refusals");
  const int64_t many = (int64_t)INT32_MAX + 1, too_many = (int64_t)1 << 55;
  void *a = device_words(env, 8, 8), *b = device_words(env, 8, 8);
  int64_t n = 0;
  wr_env closed = {.place = WR_CUDA};
  CHECK_FAILS(WR_EUSAGE, wr_device_sort_pairs(env, a, 3, b, 4, 8, 0, 24));
  CHECK_FAILS(WR_EUSAGE, wr_device_sort_pairs(env, a, 4, b, 16, 8, 0, 32));
  CHECK_FAILS(WR_EUSAGE, wr_device_sort_pairs(env, a, 4, b, 4, -1, 0, 32));
  CHECK_FAILS(WR_EUSAGE, wr_device_sort_pairs(env, a, 4, b, 4, 8, 0, 33));
  CHECK_FAILS(WR_EUSAGE, wr_device_sort_pairs(env, a, 8, b, 4, 8, -1, 64));
  CHECK_FAILS(WR_EUSAGE, wr_device_sort_pairs(env, a, 8, b, 4, 8, 7, 6));
  CHECK_FAILS(WR_EUSAGE, wr_device_scan(env, a, 2, 4, b, 8, &n));
  CHECK_FAILS(WR_EUSAGE, wr_device_scan(env, a, 4, 4, b, 2, &n));
  CHECK_FAILS(WR_EUSAGE, wr_device_scan(env, a, 4, -4, b, 8, &n));
  CHECK_FAILS(WR_EUSAGE, wr_device_select(env, a, 0, 4, a, b, 1, &n));
  CHECK_FAILS(WR_EUSAGE, wr_device_select(env, a, 0, -4, NULL, b, 4, &n));
  CHECK_FAILS(WR_EUSAGE, wr_device_select(env, a, 0, many + 1, NULL, b, 4, &n));
  CHECK_MESSAGE("2147483648");
  CHECK_FAILS(WR_EUSAGE, wr_device_sort_pairs(&closed, a, 4, b, 4, 8, 0, 32));
  CHECK_FAILS(WR_EUSAGE, wr_device_scan(&closed, a, 4, 4, b, 8, &n));
  CHECK_FAILS(WR_EUSAGE, wr_device_select(&closed, a, 0, 4, NULL, b, 4, &n));
  CHECK_FAILS(WR_ENOMEM, wr_device_sort_pairs(env, a, 8, NULL, 0, too_many, 0, 64));
  CHECK_MESSAGE("sorting");
  wr_device_free(env, a), wr_device_free(env, b);
}

int main(void) {
  wr_env env = {.place = WR_CUDA, .type = WR_F64};
  CASE("cuda");
  wr_status status = wr_env_open(&env);
  if (status == WR_EUNAVAILABLE && getenv("WR_NEED_GPU") == NULL) {
    SKIP("%s", wr_status_message());
    return wr_test_report("sort");
  }
  CHECKF(status == WR_OK, "%s", wr_status_message());
  if (status == WR_OK) {
    test_sorts(&env);
    test_scans(&env);
    test_selects(&env);
    test_refusals(&env);
  }
  wr_env_close(&env);
  return wr_test_report("sort");
}
