#define _GNU_SOURCE /* memfd_create, mkdtemp */
#include "tests/fuzz/harness.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static long held, broken;
static char home[512];
static atomic_llong asked;

void harness_require(int holds, const char *file, int line, const char *format, ...) {
  if (holds) {
    held++;
    return;
  }
  va_list arguments;
  va_start(arguments, format);
  fprintf(stderr, "%s:%d: does not hold: ", file, line);
  vfprintf(stderr, format, arguments);
  fprintf(stderr, "\n");
  va_end(arguments);
  broken++;
#ifdef WR_LIBFUZZER
  abort();
#endif
}

void harness_counts(long *how_many_held, long *how_many_broken) { *how_many_held = held, *how_many_broken = broken; }

#ifndef WR_LIBFUZZER
/* wr_alloc's source, in place of the C library's. */
int posix_memalign(void **block, size_t alignment, size_t size) {
  atomic_fetch_add(&asked, (long long)size);
  *block = aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  return *block != NULL ? 0 : ENOMEM;
}
#endif

int64_t harness_asked(void) { return (int64_t)atomic_load(&asked); }

/* Without a file in memory or a folder nothing can be tried. */
static void need(int there, const char *what) {
  if (there) return;
  fprintf(stderr, "fuzz: %s: %s\n", what, strerror(errno));
  abort();
}

static void put_all(int file, const void *bytes, size_t count) {
  for (size_t done = 0; done < count;) {
    ssize_t put = write(file, (const char *)bytes + done, count - done);
    need(put > 0, "writing");
    done += (size_t)put;
  }
}

const char *harness_file(const void *bytes, size_t count) {
  static int file = -1;
  static char path[64];
  if (file < 0) file = memfd_create("fuzz", MFD_CLOEXEC);
  need(file >= 0 && ftruncate(file, 0) == 0 && lseek(file, 0, SEEK_SET) == 0, "a file in memory");
  put_all(file, bytes, count);
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  return path;
}

const char *harness_pipe(const void *bytes, size_t count) {
  static int ends[2] = {-1, -1};
  static char path[64];
  if (ends[0] >= 0) close(ends[0]);
  ends[0] = -1;
  if (bytes == NULL || count > HARNESS_PIPE) return NULL;
  need(pipe(ends) == 0, "a pipe");
  put_all(ends[1], bytes, count); /* a pipe takes 64 KiB before it is read */
  close(ends[1]);
  snprintf(path, sizeof path, "/proc/self/fd/%d", ends[0]);
  return path;
}

static void remove_home(void) {
  DIR *folder = opendir(home);
  for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;)
    unlinkat(dirfd(folder), entry->d_name, 0);
  if (folder != NULL) closedir(folder);
  rmdir(home);
}

const char *harness_path(const char *name) {
  static char paths[4][1024];
  static int next;
  if (home[0] == '\0') {
    const char *parent = getenv("TMPDIR");
    snprintf(home, sizeof home, "%.400s/windrow-fuzz-XXXXXX", parent != NULL && *parent ? parent : "/tmp");
    need(mkdtemp(home) != NULL, home);
    atexit(remove_home);
  }
  next = (next + 1) % 4;
  snprintf(paths[next], sizeof paths[next], "%s/%s", home, name);
  return paths[next];
}

void harness_begin(void) {
  wr_fail(WR_OK, "%s", "");
  atomic_store(&asked, 0);
}

void harness_judge(wr_status status, unsigned allowed, const char *name) {
  const char *message = wr_status_message();
  if (status == WR_OK) return;
  REQUIREF(allowed >> status & 1, "%s: %s", wr_status_name(status), message);
  REQUIREF(strlen(message) > 8, "%s without a sentence: '%s'", wr_status_name(status), message);
  int strange = 0;
  for (const char *at = message; *at; at++) strange += (unsigned char)*at < ' ' || *at == 127;
  REQUIREF(strange == 0, "a sentence with %d bytes that cannot be printed: %s", strange, message);
  if (status == WR_EINPUT && name != NULL)
    REQUIREF(strncmp(message, name, strlen(name)) == 0 && message[strlen(name)] == ':', "%s: %s", name, message);
}
