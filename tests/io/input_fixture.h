/* What the tests of io/ share: a folder of their own for files, and host memory that fails when told. A test program
 * includes it once, after defining _DEFAULT_SOURCE. */
#ifndef WR_INPUT_FIXTURE_H
#define WR_INPUT_FIXTURE_H

#include <dirent.h>
#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/check.h"

static char fixture_home[512];

/* Makes the folder, under TMPDIR. */
static inline void fixture_begin(void) {
  snprintf(fixture_home, sizeof fixture_home, "%.400s/windrow-test-XXXXXX", wr_test_folder());
  CHECKF(mkdtemp(fixture_home) != NULL, "%s: %s", fixture_home, strerror(errno));
}

static inline const char *fixture_folder(void) { return fixture_home; }

/* The path of a file in the folder; valid until the fourth call from now. */
static inline const char *fixture_path(const char *name) {
  static char paths[4][1024];
  static int next;
  next = (next + 1) % 4;
  snprintf(paths[next], sizeof paths[next], "%s/%s", fixture_home, name);
  return paths[next];
}

/* Writes a file in the folder; returns its path. */
static inline const char *fixture_put(const char *name, const char *bytes, size_t count) {
  const char *path = fixture_path(name);
  unlink(path); /* a file that is cut and written anew goes to the disk at once on some file systems, which takes long */
  FILE *file = fopen(path, "w");
  int written = file != NULL && fwrite(bytes, 1, count, file) == count;
  if (file != NULL && fclose(file) != 0) written = 0;
  CHECKF(written, "%s: %s", path, strerror(errno));
  return path;
}

#ifdef WR_HAVE_ZLIB
#include <zlib.h>

/* The same, compressed. */
static inline const char *fixture_put_gzip(const char *name, const char *bytes, size_t count) {
  const char *path = fixture_path(name);
  unlink(path);
  gzFile file = gzopen(path, "wb1");
  int written = file != NULL && (count == 0 || gzwrite(file, bytes, (unsigned)count) == (int)count);
  if (file != NULL && gzclose(file) != Z_OK) written = 0;
  CHECKF(written, "%s: %s", path, strerror(errno));
  return path;
}
#endif

typedef struct fixture_text {
  size_t count;
  char *bytes; /* [count + 1], the last one 0 */
} fixture_text;

/* All of a file; empty if it cannot be read. */
static inline fixture_text fixture_read(const char *path) {
  fixture_text text = {0, calloc(1, 1)};
  FILE *file = fopen(path, "r");
  for (size_t room = 1 << 16; file != NULL && !feof(file) && !ferror(file); room *= 2) {
    text.bytes = realloc(text.bytes, room + 1);
    text.count += fread(text.bytes + text.count, 1, room - text.count, file);
  }
  if (file != NULL) fclose(file);
  text.bytes[text.count] = 0;
  return text;
}

static inline void fixture_free(fixture_text *text) {
  free(text->bytes);
  text->bytes = NULL;
}

static inline void fixture_end(void) {
  DIR *folder = opendir(fixture_home);
  for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;)
    if (entry->d_name[0] != '.') unlink(fixture_path(entry->d_name));
  if (folder != NULL) closedir(folder);
  CHECKF(rmdir(fixture_home) == 0, "%s: %s", fixture_home, strerror(errno));
}

static atomic_long fixture_allowed = -1; /* requests for memory that are still granted; < 0: all */

static inline void fixture_fail_after(long granted) { atomic_store(&fixture_allowed, granted); }
static inline void fixture_fail_never(void) { atomic_store(&fixture_allowed, -1); }

/* wr_alloc's source, in place of the C library's. Once it has failed it goes on failing until told otherwise. */
int posix_memalign(void **block, size_t alignment, size_t bytes) {
  long allowed = atomic_load(&fixture_allowed);
  while (allowed > 0 && !atomic_compare_exchange_weak(&fixture_allowed, &allowed, allowed - 1)) continue;
  if (allowed == 0) return ENOMEM;
  *block = memalign(alignment, bytes);
  return *block != NULL ? 0 : ENOMEM;
}

#endif
