/* Texts compressed with zstd and xz: every length, several streams one behind another, and whatever is cut off or turned. And
 * shares of compressed texts, of which a range is held. */
#define _DEFAULT_SOURCE
#include <stdlib.h>

#include "config/memory.h"
#include "io/input_text.h"
#include "io/reader.h"
#include "io/text_parts.h"
#include "tests/check.h"
#include "tests/io/input_fixture.h"

#ifdef WR_HAVE_ZLIB
#include <zlib.h>
#endif
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

#ifdef WR_HAVE_ZLIB
static size_t pack_gzip(char *to, size_t room, const char *from, size_t count) {
  z_stream z = {.next_in = (unsigned char *)(size_t)from, .avail_in = (unsigned)count, .next_out = (unsigned char *)to,
                .avail_out = (unsigned)room};
  int whole =
      deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK && deflate(&z, Z_FINISH) == Z_STREAM_END;
  deflateEnd(&z);
  return whole ? room - z.avail_out : 0;
}
#else
#define pack_gzip NULL
#endif

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

/* ---- shares ---- */

enum { MANY = 3000001, LONG = 20000, BEGINNING = 1 << 20, SLACK = 4 << 10 };

/* Where the first line that begins at or behind an offset begins. */
static size_t line_behind(const char *bytes, size_t count, size_t offset) {
  while (offset > 0 && offset < count && bytes[offset - 1] != '\n') offset++;
  return offset;
}

static int64_t number_of(const char *bytes, size_t offset) {
  int64_t number = 1;
  for (size_t k = 0; k < offset; k++) number += bytes[k] == '\n';
  return number;
}

/* [from, to) is held, and nothing much besides; its lines are those of the bytes, in runs of `run` bytes. */
static void check_held(wr_text *text, const char *bytes, size_t count, size_t from, size_t to, size_t run) {
  wr_lines lines = {.capacity = 0};
  size_t next = line_behind(bytes, count, from), wrong = 0;
  CHECK_OK(wr_text_hold(text, (int64_t)from, (int64_t)to));
  CHECKF(text->from < (int64_t)(from > 0 ? from : 1) && text->from + text->held >= (int64_t)to,
         "%zu to %zu, and the byte before them, are not held", from, to);
  CHECKF(text->held <= BEGINNING || text->held <= (int64_t)(to - from) + SLACK + 1, "%lld bytes are held of %zu to %zu",
         (long long)text->held, from, to);
  for (size_t at = from; at < to; at += run) {
    CHECK_OK(wr_text_lines(text, (int64_t)at, (int64_t)(at + run < to ? at + run : to), &lines));
    size_t length = (size_t)(lines.end - lines.begin);
    wrong += length > 0 && ((size_t)lines.offset != next || memcmp(lines.begin, bytes + next, length) != 0);
    next += length;
  }
  CHECKF(wrong == 0 && next == line_behind(bytes, count, to), "%zu to %zu: %zu runs are wrong, up to %zu", from, to,
         wrong, next);
  wr_lines_free(&lines);
}

/* What is not held is read all the same, and lines have the numbers that they have in the text. */
static void check_elsewhere(const wr_text *text, const char *bytes, size_t count) {
  const size_t offsets[] = {0, 1, 777, count / 2, count - 1, count};
  wr_lines lines = {.capacity = 0};
  for (size_t k = 0; k < sizeof offsets / sizeof *offsets; k++) {
    size_t from = line_behind(bytes, count, offsets[k]), end = line_behind(bytes, count, from + 1);
    int64_t number = 0;
    CHECK_OK(wr_text_lines(text, (int64_t)from, (int64_t)from + 1, &lines));
    CHECKF(from >= count ||
               ((size_t)(lines.end - lines.begin) == end - from && memcmp(lines.begin, bytes + from, end - from) == 0),
           "the line at %zu", from);
    CHECK_OK(wr_text_line_number(text, (int64_t)offsets[k], &number));
    CHECKF(number == number_of(bytes, offsets[k]) + (offsets[k] == count && bytes[count - 1] != '\n'),
           "the line at %zu has number %lld", offsets[k], (long long)number);
  }
  wr_lines_free(&lines);
}

/* Several streams, lines on their borders, a line longer than what is read behind a range, and one without its end. */
static void test_shares(const packer *p) {
  CASE(p->name);
  char *bytes = make_text(MANY), *packed = malloc(2 * MANY);
  for (size_t k = MANY / 3 - LONG / 2; k < MANY / 3 + LONG / 2; k++) bytes[k] = 'x';
  bytes[MANY - 1] = 'x';
  const size_t middle = MANY / 2 - 3, first = p->pack(packed, MANY, bytes, middle);
  const size_t size = first + p->pack(packed + first, MANY, bytes + middle, MANY - middle);
  const char *path = fixture_put(p->file, packed, size);
  for (size_t count = 2; count <= 5; count += 3) {
    wr_text text;
    CHECK_OK(wr_text_open_share(path, "", &text));
    CHECKF(text.size == MANY && text.compressed && text.kind == WR_FILE_TEXT && text.held <= BEGINNING,
           "%lld bytes, %lld held", (long long)text.size, (long long)text.held);
    for (size_t share = count; share-- > 0;)
      check_held(&text, bytes, MANY, MANY * share / count, MANY * (share + 1) / count, count % 2 ? 100000 : MANY);
    check_held(&text, bytes, MANY, MANY - 2, MANY - 1, 1);
    check_elsewhere(&text, bytes, MANY);
    CHECK_OK(wr_text_unchanged(&text));
    wr_text_close(&text);
  }
  /* A share that is cut into parts is held. */
  const wr_read_share share = {.index = 1, .count = 3};
  wr_text_parts parts = {.threads = 2};
  wr_triplets triplets = {0};
  wr_text cut;
  CHECK_OK(wr_text_open_share(path, "", &cut));
  CHECK_OK(wr_text_parts_cut(&cut, 100, MANY, &share, &parts, &triplets));
  CHECKF(cut.from < parts.part[0].begin && cut.from + cut.held >= parts.part[parts.count - 1].end &&
             cut.held < MANY / 2,
         "%lld bytes are held from %lld on", (long long)cut.held, (long long)cut.from);
  wr_free(parts.part);
  wr_triplets_free(&triplets);
  wr_text_close(&cut);
  /* The first three bytes are left out, of what is held then, too. */
  wr_text text;
  CHECK_OK(wr_text_open_share(path, "", &text));
  wr_text_skip(&text, 3);
  CHECK(text.size == MANY - 3);
  check_held(&text, bytes + 3, MANY - 3, 0, 5000, 1000);
  check_held(&text, bytes + 3, MANY - 3, 2000000, 2500000, 70000);
  check_elsewhere(&text, bytes + 3, MANY - 3);
  wr_text_close(&text);
  free(bytes), free(packed);
}

static void check_share_refused(const char *path, const char *why) {
  wr_text text;
  CHECK_FAILS(WR_EINPUT, wr_text_open_share(path, "", &text));
  CHECK_MESSAGE(why);
  CHECK(text.memory == NULL && text.file < 0);
}

/* Damage anywhere is found before a share is read, and what is changed behind that is no other text. */
static void test_damaged_shares(const packer *p) {
  CASE(p->name);
  char *bytes = make_text(MANY), *packed = malloc(2 * MANY);
  const size_t size = p->pack(packed, MANY, bytes, MANY);
  check_share_refused(fixture_put(p->file, packed, size - 1), "ends early");
  check_share_refused(fixture_put(p->file, packed, size / 2), "ends early");
  memcpy(packed + size, "1234567890123456", 16);
  check_share_refused(fixture_put(p->file, packed, size + 16), p->pack == pack_zstd ? "damaged" : "follows");
  packed[size / 4 * 3] ^= 0x10;
  check_share_refused(fixture_put(p->file, packed, size), "damaged");
  packed[size / 4 * 3] ^= 0x10;
  for (int shorter = 0; shorter <= 1; shorter++) {
    wr_text text;
    wr_lines lines = {.capacity = 0};
    const char *path = fixture_put(p->file, packed, size);
    int64_t number;
    CHECK_OK(wr_text_open_share(path, "", &text));
    FILE *file = fopen(path, "r+");
    CHECK(file != NULL && fwrite("other", 1, 5, file) == 5 && fclose(file) == 0);
    if (shorter) CHECK(truncate(path, (off_t)size / 2) == 0);
    CHECK_FAILS(WR_EINPUT, wr_text_line_number(&text, MANY, &number));
    CHECK_MESSAGE("was changed");
    CHECK_FAILS(WR_EINPUT, wr_text_lines(&text, MANY - 100, MANY, &lines));
    CHECK_MESSAGE("was changed");
    CHECK_FAILS(WR_EINPUT, wr_text_hold(&text, MANY - 100, MANY));
    CHECK_MESSAGE("was changed");
    CHECK_FAILS(WR_EINPUT, wr_text_unchanged(&text));
    wr_lines_free(&lines);
    wr_text_close(&text);
  }
  free(bytes), free(packed);
}

static void test_share_memory(const packer *p) {
  CASE(p->name);
  char *bytes = make_text(MANY), *packed = malloc(2 * MANY);
  const char *path = fixture_put(p->file, packed, p->pack(packed, MANY, bytes, MANY));
  int failures = 0, done = 0;
  for (int allowed = 0; allowed < 100 && !done; allowed++) {
    wr_text text;
    wr_lines lines = {.capacity = 0};
    int64_t number = 0;
    fixture_fail_after(allowed);
    wr_status status = wr_text_open_share(path, "", &text);
    if (status == WR_OK) status = wr_text_hold(&text, MANY / 2, MANY);
    if (status == WR_OK) status = wr_text_lines(&text, 0, 10, &lines);
    if (status == WR_OK) status = wr_text_line_number(&text, MANY / 3, &number);
    fixture_fail_never();
    CHECKF(status == WR_OK || status == WR_ENOMEM, "%s", wr_status_message());
    done = status == WR_OK, failures += !done;
    wr_lines_free(&lines);
    wr_text_close(&text);
  }
  CHECKF(done && failures >= 8, "%d failures: a block and the text of each of four passes", failures);
  free(bytes), free(packed);
}

int main(void) {
  static const packer packers[] = {{"zstd", "a.zst", pack_zstd}, {"xz", "a.xz", pack_xz}, {"gzip", "a.gz", pack_gzip}};
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
  for (int k = 0; k < 3; k++) {
    if (packers[k].pack == NULL) continue;
    test_shares(&packers[k]);
    test_damaged_shares(&packers[k]);
    test_share_memory(&packers[k]);
  }
  fixture_end();
  return wr_test_report("packed");
}
