#define _GNU_SOURCE /* flock, fchmod, mkstemp, nanosleep, realpath */
#include "spmv/tune_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "config/memory.h"
#include "config/text.h"

#define CACHE "windrow tuning cache "
#define FIRST_LINE CACHE "1"

enum { LOCK_TRIES = 1000, LOCK_PAUSE_NS = 1000000 }; /* a writer holds the lock for far less than this second */

/* A cache in memory. */
typedef struct cache {
  char *text;     /* [length] */
  int64_t length;
  int64_t at;     /* where the next line begins */
} cache;

typedef struct entry {
  const char *key, *knobs; /* within the text, neither ends with a 0 */
  size_t key_length, knobs_length;
} entry;

/* ---- Reading ---- */

static int is_printable(const char *text, size_t length) {
  for (size_t k = 0; k < length; k++)
    if ((unsigned char)text[k] < ' ' || text[k] == 127) return 0;
  return 1;
}

/* Cuts the next line off, without its end: LF, or CR and LF. 0: there is none. *whole := 0 if it has no end. */
static int next_line(cache *c, const char **line, size_t *length, int *whole) {
  if (c->at >= c->length) return 0;
  *line = c->text + c->at;
  const char *end = memchr(*line, '\n', (size_t)(c->length - c->at));
  *whole = end != NULL;
  *length = end ? (size_t)(end - *line) : (size_t)(c->length - c->at);
  c->at += (int64_t)*length + *whole;
  if (*length > 0 && (*line)[*length - 1] == '\r') --*length;
  return 1;
}

/* The next entry. 0: there is none. Counts lines that are neither an entry nor empty; a line without its end was cut off, and
 * its knobs may be others than those written. */
static int next_entry(cache *c, entry *e, int64_t *damaged) {
  const char *line;
  size_t length;
  int whole;
  while (next_line(c, &line, &length, &whole)) {
    const char *tab = memchr(line, '\t', length);
    *e = (entry){.key = line, .knobs = tab ? tab + 1 : line, .key_length = tab ? (size_t)(tab - line) : 0};
    e->knobs_length = tab ? length - e->key_length - 1 : 0;
    int fits = e->key_length > 0 && e->key_length < WR_TUNE_KEY_ROOM && e->knobs_length > 0 &&
               e->knobs_length < WR_TUNE_KNOBS_ROOM;
    if (whole && fits && is_printable(e->key, e->key_length) && is_printable(e->knobs, e->knobs_length)) return 1;
    *damaged += length > 0;
  }
  return 0;
}

static int is_text(const char *part, size_t length, const char *text) {
  return length == strlen(text) && memcmp(part, text, length) == 0;
}

static wr_status check_first_line(cache *c, const char *path) {
  const char *line;
  size_t length;
  int whole;
  if (!next_line(c, &line, &length, &whole) || is_text(line, length, FIRST_LINE)) return WR_OK;
  if (length >= strlen(CACHE) && memcmp(line, CACHE, strlen(CACHE)) == 0)
    return wr_fail(WR_EINPUT,
                   "%.200s is a tuning cache of another version of windrow; remove it to have one begun anew", path);
  return wr_fail(WR_EINPUT, "%.200s is no tuning cache: its first line is not \"" FIRST_LINE "\"; name another file",
                 path);
}

/* *c := what the open file holds, at its first entry. */
static wr_status read_cache(int file, const char *path, cache *c) {
  struct stat facts;
  if (fstat(file, &facts) != 0) return wr_fail(WR_EINPUT, "%.200s cannot be read: %s", path, strerror(errno));
  if (!S_ISREG(facts.st_mode)) return wr_fail(WR_EINPUT, "%.200s is no regular file, so no tuning cache", path);
  if (facts.st_size > WR_TUNE_CACHE_BYTES)
    return wr_fail(WR_EINPUT, "%.200s has %lld bytes, which is too large for a tuning cache; name another file", path,
                   (long long)facts.st_size);
  PASS(wr_alloc(&c->text, facts.st_size, 1, "a tuning cache"));
  while (c->length < facts.st_size) {
    ssize_t got = pread(file, c->text + c->length, (size_t)(facts.st_size - c->length), c->length);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return wr_fail(WR_EINPUT, "%.200s cannot be read: %s", path, strerror(errno));
    if (got == 0) break; /* it was shortened meanwhile */
    c->length += got;
  }
  return check_first_line(c, path);
}

wr_status wr_tune_cache_find(const char *path, const char *key, char knobs[WR_TUNE_KNOBS_ROOM]) {
  wr_status status = WR_OK;
  cache c = {0};
  entry e;
  int64_t damaged = 0;
  knobs[0] = '\0';
  int file = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (file < 0 && errno == ENOENT) return WR_OK;
  if (file < 0) return wr_fail(WR_EINPUT, "%.200s cannot be read: %s", path, strerror(errno));
  TRY(read_cache(file, path, &c));
  while (next_entry(&c, &e, &damaged))
    if (is_text(e.key, e.key_length, key)) snprintf(knobs, WR_TUNE_KNOBS_ROOM, "%.*s", (int)e.knobs_length, e.knobs);
  if (damaged)
    status = wr_fail(WR_EINPUT, "%.200s has %lld damaged %s, left out", path, (long long)damaged,
                     wr_plural(damaged, "line", "lines"));
done:
  close(file);
  wr_free(c.text);
  return status;
}

/* ---- Writing ---- */

static wr_status cannot_write(const char *path, const char *why) {
  return wr_fail(WR_EOUTPUT, "%.200s cannot be written: %s", path, why);
}

/* *file := the file at path, locked; made if there is none. The file that was opened may have been replaced before it was
 * locked; then the lock is of no use. */
static wr_status open_locked(const char *path, int *file) {
  struct stat held, named;
  for (int k = 0; k < LOCK_TRIES; k++) {
    *file = open(path, O_RDWR | O_CREAT | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0666);
    if (*file < 0) return cannot_write(path, strerror(errno));
    int busy = flock(*file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK; /* else: it has no locks, or it is ours */
    if (!busy && fstat(*file, &held) == 0 && stat(path, &named) == 0 && held.st_dev == named.st_dev &&
        held.st_ino == named.st_ino)
      return WR_OK;
    close(*file);
    *file = -1;
    if (busy) nanosleep(&(struct timespec){.tv_nsec = LOCK_PAUSE_NS}, NULL);
  }
  return cannot_write(path, "another process has kept it locked for a second");
}

static int write_whole(int file, const char *text, int64_t length) {
  while (length > 0) {
    ssize_t put = write(file, text, (size_t)length);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return errno;
    text += put, length -= put;
  }
  return 0;
}

/* Gives the place of the open file `old` to a new one with this text and the same permissions. Returns errno. */
static int replace(const char *path, int old, const char *text, int64_t length) {
  char target[PATH_MAX], beside[PATH_MAX + 8];
  struct stat facts;
  if (realpath(path, target) == NULL || fstat(old, &facts) != 0) return errno;
  snprintf(beside, sizeof beside, "%s.XXXXXX", target);
  int file = mkstemp(beside);
  if (file < 0) return errno;
  (void)!fchmod(file, facts.st_mode & 07777); /* refused on some file systems: then the owner alone may read it */
  int error = write_whole(file, text, length);
  if (close(file) != 0 && error == 0) error = errno;
  if (error == 0 && rename(beside, target) != 0) error = errno;
  if (error != 0) unlink(beside);
  return error;
}

/* Appends a line at `to`; returns where the next one begins. */
static char *append(char *to, const entry *e) {
  memcpy(to, e->key, e->key_length);
  to[e->key_length] = '\t';
  memcpy(to + e->key_length + 1, e->knobs, e->knobs_length);
  to[e->key_length + 1 + e->knobs_length] = '\n';
  return to + e->key_length + e->knobs_length + 2;
}

static int64_t line_bytes(const entry *e) { return (int64_t)(e->key_length + e->knobs_length + 2); }

static int has_key(const entry *a, const entry *b) {
  return a->key_length == b->key_length && memcmp(a->key, b->key, a->key_length) == 0;
}

/* text := the cache with a new entry, without the oldest ones where there are too many. Returns its bytes. */
static int64_t compose(cache *c, const entry *added, char *text) {
  entry e;
  char *to = text + sizeof FIRST_LINE;
  int64_t damaged = 0, first = c->at;
  int64_t surplus = (int64_t)sizeof FIRST_LINE + line_bytes(added) - WR_TUNE_CACHE_BYTES;
  while (next_entry(c, &e, &damaged))
    if (!has_key(&e, added)) surplus += line_bytes(&e);
  memcpy(text, FIRST_LINE "\n", sizeof FIRST_LINE);
  c->at = first;
  while (next_entry(c, &e, &damaged)) {
    if (has_key(&e, added)) continue;
    if (surplus > 0)
      surplus -= line_bytes(&e);
    else
      to = append(to, &e);
  }
  return append(to, added) - text;
}

wr_status wr_tune_cache_store(const char *path, const char *key, const char *knobs) {
  wr_status status;
  int file = -1;
  char *text = NULL;
  cache c = {0};
  const entry added = {key, knobs, strlen(key), strlen(knobs)};
  if (added.key_length == 0 || added.key_length >= WR_TUNE_KEY_ROOM || added.knobs_length == 0 ||
      added.knobs_length >= WR_TUNE_KNOBS_ROOM || !is_printable(key, added.key_length) ||
      !is_printable(knobs, added.knobs_length))
    return wr_fail(WR_EUSAGE, "no entry of a tuning cache: key and knobs must be printable, and not too long");
  TRY(open_locked(path, &file));
  TRY(read_cache(file, path, &c));
  TRY(wr_alloc(&text, c.length + (int64_t)sizeof FIRST_LINE + line_bytes(&added), 1, "a tuning cache"));
  int error = replace(path, file, text, compose(&c, &added, text));
  if (error != 0) status = cannot_write(path, strerror(error));
done:
  if (file >= 0) close(file); /* ends the lock, after the rename */
  wr_free(c.text);
  wr_free(text);
  return status;
}
