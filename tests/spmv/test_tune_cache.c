/* The file of tuned configurations: what is stored is found, whatever else is in the file; damaged, foreign and odd files are
 * named and, where they are no cache, left as they are; writers at once lose no entry; memory that ends at each point. */
#define _GNU_SOURCE /* memalign, mkdtemp, fork, flock */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "spmv/tune_cache.h"
#include "tests/check.h"

#define FIRST "windrow tuning cache 1\n"

static int allocations_left = -1; /* those before one fails; -1: none does */

int posix_memalign(void **block, size_t alignment, size_t bytes) {
  if (allocations_left == 0) return ENOMEM;
  if (allocations_left > 0) allocations_left--;
  *block = memalign(alignment, bytes);
  return *block != NULL ? 0 : ENOMEM;
}

static char folder[] = "/tmp/wr_test_tune_cache_XXXXXX", path[64];

static void save(const char *content, size_t length) {
  FILE *out = fopen(path, "w");
  CHECK(out != NULL);
  if (out == NULL) return;
  CHECK(fwrite(content, 1, length, out) == length);
  CHECK(fclose(out) == 0);
}

static void save_text(const char *content) { save(content, strlen(content)); }

/* The file is just this. */
static void check_content(const char *content) {
  static char got[1 << 16];
  FILE *in = fopen(path, "r");
  size_t length = in ? fread(got, 1, sizeof got - 1, in) : 0;
  if (in) fclose(in);
  got[length] = '\0';
  CHECKF(in && strcmp(got, content) == 0, "the file is '%s', not '%s'", got, content);
}

static void check_found(const char *key, const char *expected) {
  char knobs[WR_TUNE_KNOBS_ROOM] = "x";
  CHECK_OK(wr_tune_cache_find(path, key, knobs));
  CHECKF(strcmp(knobs, expected) == 0, "%s: '%s', not '%s'", key, knobs, expected);
}

/* The folder has the cache and nothing else: no file that was to replace it. */
static void check_alone(void) {
  int entries = 0;
  DIR *opened = opendir(folder);
  while (opened && readdir(opened)) entries++;
  if (opened) closedir(opened);
  CHECKF(entries == 3, "the folder has %d entries, . and .. among them", entries);
}

static void test_entries(void) {
  CASE("entries");
  unlink(path);
  check_found("a", "");
  CHECK(access(path, F_OK) != 0);
  CHECK_OK(wr_tune_cache_store(path, "a", "width=1"));
  check_content(FIRST "a\twidth=1\n");
  CHECK_OK(wr_tune_cache_store(path, "b c", "width=2:tile=8"));
  check_found("a", "width=1"), check_found("b c", "width=2:tile=8"), check_found("b", ""), check_found("", "");
  CHECK_OK(wr_tune_cache_store(path, "a", "width=3"));
  check_content(FIRST "b c\twidth=2:tile=8\na\twidth=3\n");
  check_found("a", "width=3");
  save_text(FIRST "a\t1\nb\t2\na\t3\n");
  check_found("a", "3");
  CHECK_OK(wr_tune_cache_store(path, "a", "4"));
  check_content(FIRST "b\t2\na\t4\n");
  check_alone();
  CASE("an empty file");
  save_text("");
  check_found("a", "");
  CHECK_OK(wr_tune_cache_store(path, "a", "1"));
  check_content(FIRST "a\t1\n");
  CASE("lines that end in CR and LF");
  save_text("windrow tuning cache 1\r\na\t1\r\n\r\nb\t2\r\n");
  check_found("a", "1"), check_found("b", "2");
  CHECK_OK(wr_tune_cache_store(path, "b", "3"));
  check_content(FIRST "a\t1\nb\t3\n");
}

static void test_longest(void) {
  CASE("the longest entry");
  char key[WR_TUNE_KEY_ROOM], knobs[WR_TUNE_KNOBS_ROOM], more[WR_TUNE_KEY_ROOM + 1];
  memset(key, 'k', sizeof key - 1), key[sizeof key - 1] = '\0';
  memset(knobs, '\xc3', sizeof knobs - 1), knobs[sizeof knobs - 1] = '\0';
  memset(more, 'k', sizeof more - 1), more[sizeof more - 1] = '\0';
  unlink(path);
  CHECK_OK(wr_tune_cache_store(path, key, knobs));
  check_found(key, knobs);
  const char *const wrong[][2] = {{"", "1"},     {"a", ""},      {more, "1"},   {"a", more},
                                  {"a\tb", "1"}, {"a", "1\n"},   {"a\n", "1"},  {"a", "\t"},
                                  {"a", "1\r"},  {"\x7f", "1"}};
  for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++)
    CHECK_FAILS(WR_EUSAGE, wr_tune_cache_store(path, wrong[k][0], wrong[k][1]));
  check_found(key, knobs);
}

/* Files that are no cache: the sentence, and that storing changes nothing. */
static void check_foreign(const char *says) {
  char knobs[WR_TUNE_KNOBS_ROOM] = "x";
  CHECK_FAILS(WR_EINPUT, wr_tune_cache_find(path, "a", knobs));
  CHECK(knobs[0] == '\0');
  CHECK_MESSAGE(says);
  CHECKF(strncmp(wr_status_message(), path, strlen(path)) == 0, "'%s' does not begin with the file",
         wr_status_message());
  CHECK_FAILS(WR_EINPUT, wr_tune_cache_store(path, "a", "1"));
  CHECK_MESSAGE(says);
}

static void test_foreign(void) {
  static const char *const foreign[] = {"%%MatrixMarket matrix array real general\n1 1\n1\n",
                                        "a\t1\n", "\n" FIRST "a\t1\n",
                                        "windrow tuning cach", "\xEF\xBB\xBF" FIRST, "# windrow tuning cache 1\n", "\n",
                                        "Windrow tuning cache 1\na\t1\n"};
  static const char *const other[] = {"windrow tuning cache 2\na\t1\n", "windrow tuning cache 0\na\t1\n",
                                      "windrow tuning cache 10\n", "windrow tuning cache \n",
                                      "windrow tuning cache 1 \n"};
  for (size_t k = 0; k < sizeof foreign / sizeof *foreign; k++) {
    CASE("a foreign file");
    save_text(foreign[k]);
    check_foreign("is no tuning cache");
    check_content(foreign[k]);
  }
  for (size_t k = 0; k < sizeof other / sizeof *other; k++) {
    CASE("another version");
    save_text(other[k]);
    check_foreign("another version of windrow");
    check_content(other[k]);
  }
  CASE("bytes of 0");
  save("\0\0\0", 3);
  check_foreign("is no tuning cache");
}

static void test_large(void) {
  CASE("10 MB of garbage");
  size_t length = 10 << 20;
  char *garbage = malloc(length);
  uint64_t state = 1;
  for (size_t k = 0; k < length; k++) garbage[k] = (char)((state = state * UINT64_C(6364136223846793005) + 1) >> 56);
  save(garbage, length);
  check_foreign("too large");
  struct stat facts;
  CHECK(stat(path, &facts) == 0 && facts.st_size == (off_t)length);
  CASE("garbage behind the first line");
  length = WR_TUNE_CACHE_BYTES;
  memcpy(garbage, FIRST, strlen(FIRST));
  char line[] = "\nthe one\tgood=1\n";
  memcpy(garbage + length - strlen(line), line, strlen(line));
  save(garbage, length);
  char knobs[WR_TUNE_KNOBS_ROOM];
  CHECK_FAILS(WR_EINPUT, wr_tune_cache_find(path, "the one", knobs));
  CHECK_MESSAGE("damaged lines, left out");
  CHECK(strcmp(knobs, "good=1") == 0);
  CHECK_OK(wr_tune_cache_store(path, "another", "2"));
  check_found("the one", "good=1"), check_found("another", "2");
  CASE("too many entries");
  size_t used = strlen(FIRST);
  memcpy(garbage, FIRST, used);
  for (int k = 0; used + 40 < length; k++) used += (size_t)snprintf(garbage + used, 40, "key %d\twidth=%d\n", k, k % 9);
  save(garbage, used);
  check_found("key 0", "width=0");
  memset(garbage, 'x', 400), garbage[400] = '\0';
  CHECK_OK(wr_tune_cache_store(path, garbage, "2"));
  check_found("key 0", ""), check_found("key 50", "width=5"), check_found(garbage, "2"); /* the oldest ones went */
  CHECK(stat(path, &facts) == 0 && facts.st_size <= WR_TUNE_CACHE_BYTES && facts.st_size > WR_TUNE_CACHE_BYTES - 100);
  off_t full = facts.st_size;
  CHECK_OK(wr_tune_cache_store(path, garbage, "3"));
  CHECK(stat(path, &facts) == 0 && facts.st_size == full); /* a replaced entry takes no further room */
  free(garbage);
}

static void check_damaged(const char *content, size_t length, const char *says, const char *expected) {
  char knobs[WR_TUNE_KNOBS_ROOM];
  save(content, length);
  CHECK_FAILS(WR_EINPUT, wr_tune_cache_find(path, "a", knobs));
  CHECK_MESSAGE(says);
  CHECKF(strcmp(knobs, expected) == 0, "'%s', not '%s'", knobs, expected);
  CHECK_OK(wr_tune_cache_store(path, "b", "2"));
  check_found("a", expected), check_found("b", "2"); /* damaged lines are gone */
}

static void test_damaged(void) {
  static const char zero[] = FIRST "a\t1\0\nb\t1\n";
  static char longest[2000] = FIRST "a\t1\n";
  CASE("a line cut off");
  check_damaged(FIRST "a\ttile=24", 31, "1 damaged line,", "");
  check_damaged(FIRST "a\t1\nb", 28, "1 damaged line,", "1");
  CASE("no tab");
  check_damaged(FIRST "a\t1\nwidth=4\n", 35, "1 damaged line,", "1");
  CASE("two tabs, an empty key, empty knobs");
  check_damaged(FIRST "a\t1\t2\n\t2\na\t\n", 35, "3 damaged lines,", "");
  CASE("control characters");
  check_damaged(zero, sizeof zero - 1, "1 damaged line,", "");
  check_damaged(FIRST "a\t\x1b[31m\na\t5\n", 35, "1 damaged line,", "5");
  CASE("a line that is too long");
  size_t used = strlen(longest);
  memset(longest + used, 'k', 600), memcpy(longest + used + 600, "\t1\n", 3);
  check_damaged(longest, used + 603, "1 damaged line,", "1");
}

static void test_odd_files(void) {
  char knobs[WR_TUNE_KNOBS_ROOM], other[96];
  struct stat facts;
  CASE("a folder");
  unlink(path);
  CHECK(mkdir(path, 0777) == 0);
  CHECK_FAILS(WR_EINPUT, wr_tune_cache_find(path, "a", knobs));
  CHECK_MESSAGE("no regular file");
  CHECK_FAILS(WR_EOUTPUT, wr_tune_cache_store(path, "a", "1"));
  CHECK(rmdir(path) == 0);
  CASE("a pipe, of which nothing reads or writes the other end");
  CHECK(mkfifo(path, 0666) == 0);
  CHECK_FAILS(WR_EINPUT, wr_tune_cache_find(path, "a", knobs));
  CHECK_FAILS(WR_EINPUT, wr_tune_cache_store(path, "a", "1"));
  CHECK_MESSAGE("no regular file");
  unlink(path);
  CASE("names that lead nowhere");
  static const char *const nowhere[] = {"", "/nonexistent/cache", "/dev/null", "/dev/null/cache", "/"};
  for (size_t k = 0; k < sizeof nowhere / sizeof *nowhere; k++) {
    (void)wr_tune_cache_find(nowhere[k], "a", knobs);
    CHECK(knobs[0] == '\0');
    CHECK(wr_tune_cache_store(nowhere[k], "a", "1") != WR_OK);
  }
  CASE("a symbolic link");
  snprintf(other, sizeof other, "%s.link", path);
  CHECK(symlink("cache", other) == 0);
  CHECK_OK(wr_tune_cache_store(other, "a", "1"));
  check_content(FIRST "a\t1\n");
  CHECK_OK(wr_tune_cache_store(other, "b", "2"));
  CHECK(lstat(other, &facts) == 0 && S_ISLNK(facts.st_mode));
  check_found("b", "2");
  unlink(other);
  CASE("permissions are kept");
  CHECK(chmod(path, 0640) == 0);
  CHECK_OK(wr_tune_cache_store(path, "c", "3"));
  CHECK(stat(path, &facts) == 0 && (facts.st_mode & 07777) == 0640);
  check_alone();
}

static void test_no_room(void) {
  CASE("a file that may not grow");
  save_text(FIRST "a\t1\n");
  signal(SIGXFSZ, SIG_IGN);
  struct rlimit before, none;
  CHECK(getrlimit(RLIMIT_FSIZE, &before) == 0);
  none = before, none.rlim_cur = 10;
  CHECK(setrlimit(RLIMIT_FSIZE, &none) == 0);
  CHECK_FAILS(WR_EOUTPUT, wr_tune_cache_store(path, "b", "2"));
  CHECK(setrlimit(RLIMIT_FSIZE, &before) == 0);
  CHECK_MESSAGE("cannot be written: File too large");
  check_content(FIRST "a\t1\n");
  check_alone();
}

static void test_lock(void) {
  CASE("a file that another process keeps locked");
  save_text(FIRST "a\t1\n");
  int file = open(path, O_RDONLY);
  CHECK(file >= 0 && flock(file, LOCK_EX) == 0);
  check_found("a", "1");
  CHECK_FAILS(WR_EOUTPUT, wr_tune_cache_store(path, "b", "2"));
  CHECK_MESSAGE("locked for a second");
  close(file);
  CHECK_OK(wr_tune_cache_store(path, "b", "2"));
  check_content(FIRST "a\t1\nb\t2\n");
}

enum { WRITERS = 6, EACH = 40 };

/* On a machine with much other load a lock may be missed for a second. */
static wr_status store_patiently(const char *key, const char *knobs) {
  wr_status status = wr_tune_cache_store(path, key, knobs);
  for (int k = 0; k < 20 && status == WR_EOUTPUT && strstr(wr_status_message(), "locked for a second"); k++)
    status = wr_tune_cache_store(path, key, knobs);
  return status;
}

/* Adds entries of its own, and one that all add. Meanwhile the file is a whole cache at any time. */
static int add_entries(int writer) {
  char key[32], knobs[WR_TUNE_KNOBS_ROOM];
  for (int k = 0; k < EACH; k++) {
    snprintf(key, sizeof key, "%d of %d", k, writer);
    if (store_patiently(key, "width=2") != WR_OK) return 0;
    if (store_patiently("all", "width=1") != WR_OK) return 0;
    if (wr_tune_cache_find(path, "all", knobs) != WR_OK || strcmp(knobs, "width=1") != 0) return 0;
  }
  return 1;
}

static void *add_in_thread(void *writer) { return add_entries(*(int *)writer) ? writer : NULL; }

static void check_all_added(void) {
  char key[32];
  for (int writer = 0; writer < WRITERS; writer++)
    for (int k = 0; k < EACH; k++) {
      snprintf(key, sizeof key, "%d of %d", k, writer);
      check_found(key, "width=2");
    }
  check_alone();
}

static void test_writers_at_once(void) {
  CASE("processes at once");
  unlink(path);
  for (int writer = 0; writer < WRITERS; writer++)
    if (fork() == 0) _exit(add_entries(writer) ? 0 : 1);
  for (int writer = 0, code; writer < WRITERS; writer++)
    CHECK(wait(&code) > 0 && WIFEXITED(code) && WEXITSTATUS(code) == 0);
  check_all_added();
  CASE("threads at once");
  pthread_t threads[WRITERS];
  int numbers[WRITERS];
  unlink(path);
  for (int writer = 0; writer < WRITERS; writer++) {
    numbers[writer] = writer;
    CHECK(pthread_create(&threads[writer], NULL, add_in_thread, &numbers[writer]) == 0);
  }
  for (int writer = 0; writer < WRITERS; writer++) {
    void *done = NULL;
    CHECK(pthread_join(threads[writer], &done) == 0 && done != NULL);
  }
  check_all_added();
}

static void test_memory(void) {
  CASE("without memory");
  char knobs[WR_TUNE_KNOBS_ROOM];
  save_text(FIRST "a\t1\n");
  for (int k = 0; k < 2; k++) {
    allocations_left = k;
    CHECK_FAILS(WR_ENOMEM, wr_tune_cache_store(path, "b", "2"));
    allocations_left = k;
    wr_status status = wr_tune_cache_find(path, "a", knobs);
    CHECK(k == 0 ? status == WR_ENOMEM && knobs[0] == '\0' : status == WR_OK);
  }
  allocations_left = -1;
  check_content(FIRST "a\t1\n");
}

int main(void) {
  if (mkdtemp(folder) == NULL) return 1;
  snprintf(path, sizeof path, "%s/cache", folder);
  test_entries();
  test_longest();
  test_foreign();
  test_large();
  test_damaged();
  test_odd_files();
  test_no_room();
  test_lock();
  test_writers_at_once();
  test_memory();
  unlink(path);
  CASE("the end");
  CHECK(rmdir(folder) == 0);
  return wr_test_report("tune_cache");
}
