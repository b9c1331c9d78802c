/* Texts compressed with zstd and xz: every length, several streams one behind another, and whatever is cut off or turned. */
#define _DEFAULT_SOURCE
#include <stdlib.h>

#include "config/memory.h"
#include "io/input_text.h"
#include "tests/check.h"
#include "tests/io/input_fixture.h"

#ifdef WR_HAVE_ZSTD
#include <zstd.h>
#endif
#ifdef WR_HAVE_XZ
#include <lzma.h>
#endif

typedef struct packer {
  const char *name, *file;
  size_t (*pack)(char *to, size_t room, const char *from, size_t count); /* with a checksum */
} packer;

#ifdef WR_HAVE_ZSTD
static size_t pack_zstd(char *to, size_t room, const char *from, size_t count) {
  ZSTD_CCtx *context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  size_t size = ZSTD_compress2(context, to, room, from, count);
  ZSTD_freeCCtx(context);
  return ZSTD_isError(size) ? 0 : size;
}
#else
#define pack_zstd NULL
#endif

#ifdef WR_HAVE_XZ
static size_t pack_xz(char *to, size_t room, const char *from, size_t count) {
  size_t size = 0;
  lzma_ret code =
      lzma_easy_buffer_encode(1, LZMA_CHECK_CRC64, NULL, (const uint8_t *)from, count, (uint8_t *)to, &size, room);
  return code == LZMA_OK ? size : 0;
}
#else
#define pack_xz NULL
#endif

/* The file must hold this text. */
static void check_text(const char *path, const char *expected, size_t count) {
  wr_text text;
  wr_status status = wr_text_open(path, "", &text);
  CHECK_OK(status);
  if (status != WR_OK) return;
  CHECKF(text.compressed && text.size == (int64_t)count && text.memory != NULL, "%lld bytes", (long long)text.size);
  CHECK(text.size == (int64_t)count && memcmp(text.memory, expected, count) == 0);
  wr_text_close(&text);
}

static void check_refused(const char *path, const char *why) {
  wr_text text;
  CHECK_FAILS(WR_EINPUT, wr_text_open(path, "", &text));
  CHECK_MESSAGE(why);
  CHECK(text.memory == NULL);
}

static char *make_text(size_t count) {
  char *text = malloc(count + 16);
  for (size_t at = 0, k = 0; at < count; k++) at += (size_t)snprintf(text + at, 12, "%zu %zu\n", k * k % 997, k % 89);
  return text;
}

static void test_lengths(const packer *p) {
  static const size_t counts[] = {0, 1, 5, 1000, (256 << 10) - 1, 256 << 10, (256 << 10) + 1, 3000001};
  for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
    CASE(p->name);
    size_t count = counts[k], room = count + 1024;
    char *text = make_text(count), *packed = malloc(2 * room), *twice = malloc(2 * room);
    size_t size = p->pack(packed, room, text, count);
    CHECK(size > 0);
    check_text(fixture_put(p->file, packed, size), text, count);
    memcpy(packed + size, packed, size); /* twice, as after cat a.zst b.zst */
    memcpy(twice, text, count), memcpy(twice + count, text, count);
    check_text(fixture_put(p->file, packed, 2 * size), twice, 2 * count);
    free(text), free(packed), free(twice);
  }
}

static void test_damage(const packer *p) {
  CASE(p->name);
  enum { COUNT = 3000, ROOM = 8192 };
  char *text = make_text(COUNT), packed[ROOM], bad[ROOM], again[ROOM];
  size_t size = p->pack(packed, ROOM, text, COUNT), same = 0;
  for (size_t cut = 8; cut < size; cut++) check_refused(fixture_put(p->file, packed, cut), "ends early");
  for (size_t at = 0; at < size; at++) {
    memcpy(bad, packed, size);
    bad[at] ^= (char)(1 << at % 8);
    wr_text got;
    wr_status status = wr_text_open(fixture_put(p->file, bad, size), "", &got);
    int packs = at >= 6 && status == WR_OK; /* a magic that is turned makes a plain text */
    CHECKF(status == WR_OK || status == WR_EINPUT || status == WR_ENOMEM, "byte %zu: %s", at, wr_status_message());
    if (packs) CHECK(got.size == COUNT && memcmp(got.memory, text, COUNT) == 0);
    same += packs;
    if (status == WR_OK) wr_text_close(&got);
  }
  CHECKF(same < size / 16, "%zu of %zu bits do not matter", same, size);
  memcpy(packed + size, "1234567890123456", 16);
  check_refused(fixture_put(p->file, packed, size + 16), "damaged");
  check_refused(fixture_put(p->file, again, p->pack(again, ROOM, packed, size)), "compressed more than once");
  free(text);
}

int main(void) {
  static const packer packers[] = {{"zstd", "a.zst", pack_zstd}, {"xz", "a.xz", pack_xz}};
  static const char *const heads[] = {"\x28\xb5\x2f\xfd\4\0", "\xfd"
                                                              "7zXZ\0\0\4"};
  fixture_begin();
  for (int k = 0; k < 2; k++) {
    if (packers[k].pack != NULL) {
      test_lengths(&packers[k]);
      test_damage(&packers[k]);
      continue;
    }
    SKIP("this build has no %s", packers[k].name);
    check_refused(fixture_put(packers[k].file, heads[k], 8), packers[k].name);
    CHECK_MESSAGE("-dc FILE | PROGRAM -");
  }
  fixture_end();
  return wr_test_report("packed");
}
