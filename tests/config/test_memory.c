/* wr_alloc: alignment, padding, sizes that overflow, no room. posix_memalign is this program's own here, so that it
 * sees what is asked for and can refuse it. */
#define _DEFAULT_SOURCE /* posix_memalign */
#include "config/memory.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "tests/check.h"

static size_t seen_alignment, seen_bytes; /* of the last call */
static int calls, refuse_all;

int posix_memalign(void **block, size_t alignment, size_t bytes) {
  calls++;
  seen_alignment = alignment;
  seen_bytes = bytes;
  if (refuse_all || bytes > (size_t)1 << 32) return ENOMEM;
  *block = memalign(alignment, bytes);
  return *block != NULL ? 0 : ENOMEM;
}

static void test_small(void) {
  CASE("alignment and padding");
  static const struct {
    int64_t count;
    size_t size;
  } blocks[] = {{1, 1}, {127, 1}, {128, 1}, {129, 1}, {3, 8}, {16, 8}, {17, 8}, {1000, 24}, {100003, 4}};
  for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++) {
    size_t bytes = (size_t)blocks[i].count * blocks[i].size;
    unsigned char *block = NULL;
    CHECK_OK(wr_alloc(&block, blocks[i].count, blocks[i].size, "a test"));
    if (block == NULL) continue;
    CHECKF((uintptr_t)block % WR_ALIGNMENT == 0, "%zu bytes at %p", bytes, (void *)block);
    CHECKF(seen_bytes % WR_ALIGNMENT == 0 && seen_bytes >= bytes && seen_bytes < bytes + WR_ALIGNMENT,
           "%zu bytes padded to %zu", bytes, seen_bytes);
    memset(block, 0xA5, seen_bytes); /* the padding belongs to the block */
    CHECK(block[0] == 0xA5 && block[seen_bytes - 1] == 0xA5);
    wr_free(block);
  }
}

static void test_nothing(void) {
  CASE("count 0");
  double *block = NULL, *other = NULL;
  CHECK_OK(wr_alloc(&block, 0, sizeof *block, "a test"));
  CHECK_OK(wr_alloc_zeroed(&other, 0, sizeof *other, "a test"));
  CHECK(block != NULL && other != NULL && block != other);
  wr_free(block);
  wr_free(other);
  CHECK_OK(wr_alloc(&block, 1000, 0, "a test")); /* elements of no size */
  CHECK(block != NULL);
  wr_free(block);
  CASE("freeing NULL");
  int before = calls;
  wr_free(NULL);
  CHECK(calls == before);
}

static void test_zeroed(void) {
  CASE("zeroed");
  enum { COUNT = 5001 };
  for (int round = 0; round < 3; round++) { /* after the first, memory may be a block that was written */
    int64_t *block = NULL, sum = 0;
    CHECK_OK(wr_alloc_zeroed(&block, COUNT, sizeof *block, "a test"));
    if (block == NULL) return;
    CHECK((uintptr_t)block % WR_ALIGNMENT == 0);
    for (int i = 0; i < COUNT; i++) sum += block[i] != 0;
    CHECKF(sum == 0, "%lld elements are not 0", (long long)sum);
    memset(block, 0xFF, COUNT * sizeof *block);
    wr_free(block);
  }
}

static void test_large(void) {
  CASE("large blocks are aligned to huge pages");
  enum { MIB = 1 << 20 };
  char *block = NULL;
  CHECK_OK(wr_alloc(&block, 8 * MIB - 1, 1, "a test"));
  CHECKF(seen_alignment == WR_ALIGNMENT, "alignment %zu below 8 MiB", seen_alignment);
  wr_free(block);
  CHECK_OK(wr_alloc(&block, 8 * MIB + 1, 1, "a test"));
  CHECKF((uintptr_t)block % (2 * MIB) == 0, "at %p", (void *)block);
  if (block != NULL) block[0] = block[8 * MIB] = 1;
  wr_free(block);
}

static void check_refused(int64_t count, size_t size, int zeroed) {
  int mark = 0;
  void *block = &mark;
  CHECK_FAILS(WR_ENOMEM, zeroed ? wr_alloc_zeroed(&block, count, size, "the values of a test")
                                : wr_alloc(&block, count, size, "the values of a test"));
  CHECKF(block == NULL, "%lld elements of %zu bytes leave a pointer", (long long)count, size);
  CHECK_MESSAGE("the values of a test");
}

static void test_overflow(void) {
  CASE("sizes that overflow");
  static const struct {
    int64_t count;
    size_t size;
  } sizes[] = {{-1, 1},
               {-1, 0},
               {INT64_MIN, 1},
               {INT64_MIN, 16},
               {INT64_MAX, 1},
               {INT64_MAX, 2},
               {INT64_MAX, 8},
               {INT64_C(1) << 61, 8},
               {(INT64_C(1) << 61) + 1, 8},
               {INT64_C(1) << 60, 16},
               {2, SIZE_MAX},
               {1, SIZE_MAX},
               {1, (size_t)PTRDIFF_MAX},
               {3, SIZE_MAX / 2}};
  int before = calls;
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
    for (int zeroed = 0; zeroed < 2; zeroed++) check_refused(sizes[i].count, sizes[i].size, zeroed);
  CHECKF(calls == before, "%d of them were asked for all the same", calls - before);
  wr_alloc(&(void *){NULL}, -7, 24, "a test");
  CHECK_MESSAGE("-7 elements of 24 bytes");
}

static void test_no_room(void) {
  CASE("no room");
  check_refused(INT64_C(1) << 50, 8, 0); /* more than any machine has; the product is fine */
  refuse_all = 1;
  check_refused(250000, 8, 0);
  CHECK_MESSAGE("2.0 MB");
  check_refused(250000, 8, 1);
  refuse_all = 0;
}

/* Block of `from` bytes to one of `to`: contents kept; the same block where nothing is to be had. */
static void check_resized(int64_t from, int64_t to) {
  char *block = NULL;
  CHECK_OK(wr_resize(&block, from, "a test"));
  if (block == NULL) return;
  for (int64_t k = 0; k < from; k++) block[k] = (char)(k * 7 + k / 251);
  CHECK_OK(wr_resize(&block, to, "a test"));
  int64_t wrong = 0, kept = from < to ? from : to;
  for (int64_t k = 0; k < kept; k++) wrong += block[k] != (char)(k * 7 + k / 251);
  CHECKF(wrong == 0, "%lld to %lld bytes: %lld are wrong", (long long)from, (long long)to, (long long)wrong);
  for (int64_t k = kept; k < to; k++) block[k] = 1;
  char *before = block;
  refuse_all = 1;
  CHECK_FAILS(WR_ENOMEM, wr_resize(&block, INT64_C(1) << 50, "far too much"));
  CHECK_MESSAGE("far too much");
  if (to < 60 << 20) CHECK_FAILS(WR_ENOMEM, wr_resize(&block, 63 << 20, "a test"));
  refuse_all = 0;
  CHECK(block == before);
  wr_free(block);
}

static void test_resize(void) {
  CASE("resized");
  enum { MIB = 1 << 20 };
  static const int64_t sizes[] = {0, 1, 127, 5000, 3 * MIB, 64 * MIB - 1, 64 * MIB, 100 * MIB};
  for (int from = 0; from < 8; from++)
    for (int to = 0; to < 8; to++)
      if (from < 5 || to < 5 || (from == 6 && to == 7) || (from == 7 && to == 5)) check_resized(sizes[from], sizes[to]);
}

int main(void) {
  test_small();
  test_nothing();
  test_zeroed();
  test_large();
  test_overflow();
  test_no_room();
  test_resize();
  return wr_test_report("memory");
}
