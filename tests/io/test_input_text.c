/* Where text comes from: files, pipes, standard input, gzip streams whole and damaged, and what cannot be read. */
#define _DEFAULT_SOURCE
#include "io/input_text.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#ifdef WR_HAVE_ZLIB
#include <zlib.h>
#endif

#include "tests/check.h"
#include "tests/io/input_fixture.h"

/* All the text of a path: as one run of lines, and as runs of `step` bytes, which must follow one another. */
static void check_text(const char *path, const char *bytes, size_t count, int compressed) {
  wr_text text;
  wr_lines lines = {.capacity = 0};
  wr_status status = wr_text_open(path, NULL, &text);
  CHECKF(status == WR_OK, "%s", wr_status_message());
  if (status != WR_OK) return;
  CHECKF((size_t)text.size == count && text.compressed == compressed, "%s: %lld bytes, not %zu", path,
         (long long)text.size, count);
  CHECK_OK(wr_text_lines(&text, 0, text.size, &lines));
  CHECKF(lines.end - lines.begin == text.size && memcmp(lines.begin, bytes, count) == 0, "%s: %lld bytes", path,
         (long long)(lines.end - lines.begin));
  int64_t next = 0, step = text.size / 37 + 1, wrong = 0;
  for (int64_t from = 0; from < text.size; from += step) {
    CHECK_OK(wr_text_lines(&text, from, from + step, &lines));
    int64_t length = lines.end - lines.begin;
    if (length > 0) wrong += lines.offset != next || memcmp(lines.begin, bytes + next, (size_t)length) != 0;
    next += length;
  }
  CHECKF(wrong == 0 && next == text.size, "%s: %lld runs are wrong", path, (long long)wrong);
  CHECK_OK(wr_text_unchanged(&text));
  wr_lines_free(&lines);
  wr_text_close(&text);
}

static void check_refused(const char *path, const char *why) {
  wr_text text;
  CHECK_FAILS(WR_EINPUT, wr_text_open(path, NULL, &text));
  CHECK_MESSAGE(why);
  CHECKF(strncmp(wr_status_message(), text.name, strlen(text.name)) == 0, "%s", wr_status_message());
  CHECK(text.memory == NULL && text.file < 0);
}

enum { MANY = 9 << 20 }; /* more than two pieces of a file, and dozens of blocks of a stream */

/* Lines that do not repeat, so that nothing can be in the wrong place unseen. */
static char *make_many(void) {
  char *bytes = malloc(MANY + 32);
  size_t used = 0;
  for (unsigned k = 0; used < MANY; k++) used += (size_t)snprintf(bytes + used, 32, "%u %u\n", k, k * 2654435761u);
  return bytes;
}

static void test_files(char *many) {
  CASE("files");
  check_text(fixture_put("small", "abc", 3), "abc", 3, 0);
  check_text(fixture_put("empty", "", 0), "", 0, 0);
  check_text(fixture_put("one", "\x1f", 1), "\x1f", 1, 0);
  check_text(fixture_put("nul", "a\0b", 3), "a\0b", 3, 0);
  check_text(fixture_put("many", many, MANY), many, MANY, 0);
  check_text("/dev/null", "", 0, 0);
  if (access("/proc/self/limits", R_OK) == 0) {
    wr_text text;
    CHECK_OK(wr_text_open("/proc/self/limits", NULL, &text)); /* a file that says that it is empty, and is not */
    CHECK(text.size > 0);
    wr_text_close(&text);
  }
  CASE("no files");
  check_refused(fixture_folder(), "Is a directory");
  check_refused(fixture_path("absent"), "No such file");
  check_refused("", "No such file");
  const char *locked = fixture_put("locked", "abc", 3);
  if (chmod(locked, 0) == 0 && access(locked, R_OK) == 0)
    SKIP("this user may read a file without permission");
  else
    check_refused(locked, "Permission denied");
}

/* A thread that fills a pipe, in portions that end anywhere. */
typedef struct feed {
  int file;
  const char *bytes;
  size_t count;
} feed;

static void *feed_pipe(void *argument) {
  const feed *f = argument;
  size_t portion = 1;
  for (size_t done = 0; done < f->count; portion = portion * 3 % 10007 + 1) {
    size_t count = f->count - done < portion ? f->count - done : portion;
    ssize_t written = write(f->file, f->bytes + done, count);
    if (written < 0) break;
    done += (size_t)written;
  }
  close(f->file);
  return NULL;
}

/* Standard input := the bytes through a pipe, or a file from an offset on. */
static void check_standard_input(const char *path, size_t offset, const char *bytes, size_t count) {
  int saved = dup(STDIN_FILENO), ends[2] = {-1, -1};
  pthread_t thread;
  feed f = {.bytes = bytes, .count = count};
  if (path != NULL) {
    ends[0] = open(path, O_RDONLY);
    CHECK(lseek(ends[0], (off_t)offset, SEEK_SET) == (off_t)offset);
  } else {
    CHECK(pipe(ends) == 0);
    f.file = ends[1];
    CHECK(pthread_create(&thread, NULL, feed_pipe, &f) == 0);
  }
  dup2(ends[0], STDIN_FILENO);
  close(ends[0]);
  check_text("-", bytes, count, 0);
  if (path == NULL) pthread_join(thread, NULL);
  dup2(saved, STDIN_FILENO);
  close(saved);
}

static void test_standard_input(char *many) {
  CASE("standard input");
  const char *path = fixture_put("many", many, MANY);
  check_standard_input(path, 0, many, MANY);
  check_standard_input(path, 12345, many + 12345, MANY - 12345);
  check_standard_input(path, MANY, "", 0);
  check_standard_input(NULL, 0, many, MANY);
  check_standard_input(NULL, 0, "x", 1);
  check_standard_input(NULL, 0, "", 0);
}

static void test_magic(char *many) {
  CASE("what a text must begin with");
  wr_text text;
  int ends[2];
  pthread_t thread;
  for (int right = 0; right <= 1; right++) {
    CHECK(pipe(ends) == 0);
    feed f = {.bytes = many, .count = MANY, .file = ends[1]};
    char path[32];
    snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    CHECK(pthread_create(&thread, NULL, feed_pipe, &f) == 0);
    CHECK_OK(wr_text_open(path, right ? "0 0\n" : "other", &text));
    CHECKF(right ? text.size == MANY : text.size >= 5 && text.size < MANY / 2, "%lld bytes", (long long)text.size);
    CHECK(text.memory != NULL && memcmp(text.memory, many, (size_t)text.size) == 0);
    wr_text_close(&text);
    close(ends[0]);
    pthread_join(thread, NULL);
  }
  CHECK_OK(wr_text_open(fixture_put("many", many, MANY), "other", &text));
  CHECKF(text.size >= 5 && text.size < MANY / 2, "%lld bytes", (long long)text.size);
  wr_text_close(&text);
  CHECK_OK(wr_text_open(fixture_put("short", "ab", 2), "abc", &text)); /* could still have become one */
  CHECK(text.size == 2);
  wr_text_close(&text);
  if (access("/dev/zero", R_OK) == 0) { /* would never end */
    CHECK_OK(wr_text_open("/dev/zero", "abc", &text));
    CHECK(text.size > 0);
    wr_text_close(&text);
  }
}

/* The file is written to while it is read. */
static void test_changed(char *many) {
  CASE("changed while it is read");
  for (int longer = 0; longer <= 1; longer++) {
    wr_text text;
    wr_lines lines = {.capacity = 0};
    const char *path = fixture_put("changing", many, MANY);
    CHECK_OK(wr_text_open(path, NULL, &text));
    CHECK_OK(wr_text_lines(&text, 0, 1000, &lines));
    CHECK(truncate(path, longer ? MANY + 1 : MANY / 2) == 0);
    CHECK_FAILS(WR_EINPUT, wr_text_unchanged(&text));
    CHECK_MESSAGE("changing: was changed");
    if (!longer) {
      int64_t number;
      CHECK_FAILS(WR_EINPUT, wr_text_lines(&text, MANY / 4, MANY, &lines));
      CHECK_MESSAGE("changing: was changed");
      CHECK_FAILS(WR_EINPUT, wr_text_line_number(&text, MANY, &number));
    }
    wr_lines_free(&lines);
    wr_text_close(&text);
  }
}

#ifdef WR_HAVE_ZLIB

/* Compresses into a block of the caller's; returns the length. */
static size_t compress_to(char *to, size_t room, const char *bytes, size_t count) {
  z_stream z = {.next_in = (unsigned char *)(size_t)bytes, .avail_in = (unsigned)count, .next_out = (unsigned char *)to,
                .avail_out = (unsigned)room};
  CHECK(deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK &&
        deflate(&z, Z_FINISH) == Z_STREAM_END);
  deflateEnd(&z);
  return room - z.avail_out;
}

static void test_gzip(char *many) {
  CASE("gzip");
  char *packed = malloc(MANY + 1000);
  size_t length = compress_to(packed, MANY, many, MANY);
  check_text(fixture_put("many.gz", packed, length), many, MANY, 1);
  check_text(fixture_put("any-name", packed, length), many, MANY, 1);
  check_refused(fixture_put("many.gz", packed, length / 2), "many.gz: the gzip stream ends early");
  memcpy(packed + length, "\0\0\0\0", 4); /* what comes behind a whole stream must be a stream */
  check_refused(fixture_put("many.gz", packed, length + 4), "many.gz: something follows the end");
  memcpy(packed + length, "\x1fxyz", 4);
  check_refused(fixture_put("many.gz", packed, length + 4), "many.gz: damaged");
  packed[length / 3] ^= 0x10;
  check_refused(fixture_put("many.gz", packed, length), "many.gz: damaged");
  free(packed);
}

static void test_small_gzip(void) {
  CASE("small gzip streams");
  char packed[512], twice[512];
  size_t first = compress_to(packed, sizeof packed, "abc\n", 4);
  check_text(fixture_put("a.gz", packed, first), "abc\n", 4, 1);
  size_t both = first + compress_to(packed + first, sizeof packed - first, "defg", 4);
  check_text(fixture_put("b.gz", packed, both), "abc\ndefg", 8, 1);
  size_t empty = compress_to(packed + both, sizeof packed - both, "", 0);
  check_text(fixture_put("c.gz", packed, both + empty), "abc\ndefg", 8, 1);
  check_text(fixture_put("d.gz", packed + both, empty), "", 0, 1);
  check_refused(fixture_put("e.gz", twice, compress_to(twice, sizeof twice, packed, first)), "more than once");
  for (size_t count = 2; count < both; count++) {
    if (count == first) continue;
    check_refused(fixture_put("f.gz", packed, count), "f.gz: the gzip stream ends early");
  }
  for (size_t bit = 0; bit < 8 * 8; bit++) { /* checksum and length, at the end */
    packed[first - 8 + bit / 8] ^= (char)(1 << bit % 8);
    check_refused(fixture_put("g.gz", packed, first), "g.gz: damaged");
    packed[first - 8 + bit / 8] ^= (char)(1 << bit % 8);
  }
}

/* A few bytes that inflate to very many digits: reading ends when the beginning is wrong. */
static void test_bomb(void) {
  CASE("a small stream that inflates to much");
  enum { ZEROS = 64 << 20 };
  char *zeros = memset(malloc(ZEROS), '0', ZEROS), *packed = malloc(1 << 20);
  size_t length = compress_to(packed, 1 << 20, zeros, ZEROS);
  wr_text text;
  CHECK_OK(wr_text_open(fixture_put("bomb.gz", packed, length), "%%MatrixMarket", &text));
  CHECKF(text.size < ZEROS / 2, "%lld bytes", (long long)text.size);
  wr_text_close(&text);
  check_text(fixture_put("bomb.gz", packed, length), zeros, ZEROS, 1);
  free(zeros);
  free(packed);
}

static void test_gzip_memory(void) {
  CASE("no memory");
  char packed[512];
  const char *path = fixture_put("a.gz", packed, compress_to(packed, sizeof packed, "abc\n", 4));
  int failures = 0;
  for (int allowed = 0; allowed < 100; allowed++) {
    wr_text text;
    fixture_fail_after(allowed);
    wr_status status = wr_text_open(path, NULL, &text);
    fixture_fail_never();
    wr_text_close(&text);
    if (status == WR_OK) break;
    failures++;
    CHECKF(status == WR_ENOMEM, "%s", wr_status_message());
  }
  CHECKF(failures >= 4, "%d failures", failures);
}

#else

static void test_gzip(char *many) {
  CASE("gzip without zlib");
  (void)many;
  check_refused(fixture_put("a.gz", "\x1f\x8b\x08", 3), "zlib1g-dev");
}

static void test_small_gzip(void) {}
static void test_bomb(void) {}
static void test_gzip_memory(void) {}

#endif

int main(void) {
  char *many = make_many();
  signal(SIGPIPE, SIG_IGN); /* a pipe that is not read to its end */
  fixture_begin();
  test_files(many);
  test_standard_input(many);
  test_magic(many);
  test_changed(many);
  test_gzip(many);
  test_small_gzip();
  test_bomb();
  test_gzip_memory();
  fixture_end();
  free(many);
  return wr_test_report("input_text");
}
