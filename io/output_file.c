#define _GNU_SOURCE /* realpath, fchmod, fdopen, AT_EACCESS, O_TMPFILE */
#include "io/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/memory.h"

_Static_assert((int)WR_PATH_ROOM >= PATH_MAX, "realpath writes up to PATH_MAX bytes");

static wr_status cannot(const wr_output_file *out, const char *what, int error) {
  const char *why = error ? strerror(error) : "it did not take all of it";
  return wr_fail(WR_EOUTPUT, "%s: cannot %s: %s", out->name, what, why);
}

/* /dev/stdout and its like must share the stream of standard output: a second one would overwrite the first one's
 * text. */
static int is_standard_output(const struct stat *facts) {
  struct stat standard;
  return fstat(STDOUT_FILENO, &standard) == 0 && standard.st_dev == facts->st_dev && standard.st_ino == facts->st_ino;
}

static wr_status open_direct(const char *path, wr_output_file *out) {
  int fd = open(path, O_WRONLY | O_TRUNC | O_NOCTTY | O_CLOEXEC); /* a named pipe waits for its reader */
  if (fd < 0 && errno == EINTR) return wr_fail(WR_EOUTPUT, "%s: interrupted while it waited for a reader", out->name);
  if (fd < 0) return cannot(out, "open it for writing", errno);
  out->file = fdopen(fd, "w");
  if (out->file) return WR_OK;
  close(fd);
  return cannot(out, "open it for writing", ENOMEM);
}

/* The partial file's name is short, so that a target with the longest possible name can be written too. 0: the folder's path
 * is too long even for that. */
static int name_partial(wr_output_file *out, int attempt) {
  const char *slash = strrchr(out->target, '/');
  int folder = slash ? (int)(slash - out->target) + 1 : 0;
  int length = snprintf(out->partial, sizeof out->partial, "%.*s.windrow-%ld-%d.partial", folder, out->target,
                        (long)getpid(), attempt);
  if (length < (int)sizeof out->partial) return 1;
  errno = ENAMETOOLONG;
  return 0;
}

enum { ATTEMPTS = 1000 }; /* names to try: killed processes may have left such files */

static int create_partial(wr_output_file *out) {
  for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
    if (!name_partial(out, attempt)) return -1;
    int fd = open(out->partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0 || errno != EEXIST) return fd;
  }
  return -1;
}

/* A file without a name, which the system removes if the process ends before it gets one. -1 where the file system has no such
 * files, or without /proc, by which it gets its name. */
static int create_unnamed(wr_output_file *out) {
  char folder[WR_PATH_ROOM];
  int fits = name_partial(out, 0);
  out->partial[0] = '\0';
  const char *slash = strrchr(out->target, '/');
  int length = slash ? (int)(slash - out->target) + 1 : 0;
  snprintf(folder, sizeof folder, "%.*s.", length, out->target);
  if (!fits || access("/proc/self/fd", X_OK) != 0) return -1;
  return open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
}

/* Gives the unnamed file its name; where there is a file already, which a link cannot replace, the partial one's. Returns
 * errno. */
static int give_name(wr_output_file *out) {
  char self[64];
  snprintf(self, sizeof self, "/proc/self/fd/%d", fileno(out->file));
  if (linkat(AT_FDCWD, self, AT_FDCWD, out->target, AT_SYMLINK_FOLLOW) == 0) return 0;
  for (int attempt = 0; errno == EEXIST && attempt < ATTEMPTS; attempt++)
    if (name_partial(out, attempt) && linkat(AT_FDCWD, self, AT_FDCWD, out->partial, AT_SYMLINK_FOLLOW) == 0) return 0;
  out->partial[0] = '\0';
  return errno;
}

static wr_status open_beside(wr_output_file *out, const struct stat *existing) {
  int fd = create_unnamed(out);
  out->unnamed = fd >= 0;
  if (fd < 0) fd = create_partial(out);
  if (fd < 0) {
    int error = errno;
    out->partial[0] = '\0';
    return cannot(out, "create it", error);
  }
  if (existing) (void)!fchmod(fd, existing->st_mode & 07777); /* refused on some file systems: then the usual mode */
  out->file = fdopen(fd, "w");
  if (out->file) return WR_OK;
  close(fd);
  wr_output_abandon(out);
  return cannot(out, "open it for writing", ENOMEM);
}

/* Refuses at the beginning what is certain to fail at the end: an empty name, a name that ends like a folder's. */
static wr_status find_target(const char *path, int exists, wr_output_file *out) {
  if (path[0] == '\0') return wr_fail(WR_EOUTPUT, "an output has an empty file name");
  if (path[strlen(path) - 1] == '/') return cannot(out, "write it", EISDIR);
  if (exists) {
    int writable = faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0 && realpath(path, out->target);
    return writable ? WR_OK : cannot(out, "write it", errno);
  }
  int error = wr_file_follow(path, out->target);
  if (error == 0 && out->target[strlen(out->target) - 1] == '/') error = EISDIR; /* where a link leads */
  return error == 0 ? WR_OK : cannot(out, "write it", error);
}

wr_status wr_output_open(const char *path, wr_output_file *out) {
  *out = (wr_output_file){.name = path};
  struct stat facts;
  int exists = strcmp(path, "-") != 0 && stat(path, &facts) == 0;
  if (strcmp(path, "-") == 0 || (exists && is_standard_output(&facts))) {
    out->name = "standard output";
    out->file = stdout;
    return WR_OK;
  }
  if (!exists && errno != ENOENT) return cannot(out, "write it", errno);
  if (exists && S_ISDIR(facts.st_mode)) return cannot(out, "write it", EISDIR);
  if (exists && !S_ISREG(facts.st_mode)) return open_direct(path, out);
  wr_status status = find_target(path, exists, out);
  return status == WR_OK ? open_beside(out, exists ? &facts : NULL) : status;
}

/* The errno of an earlier write of this stream that failed, by writing one more byte: the first errno was not kept. The
 * output is lost in any case. */
static int find_reason(FILE *file) {
  clearerr(file);
  errno = 0;
  return fputc('\n', file) == EOF || fflush(file) != 0 ? errno : 0;
}

/* 1 if the file does not end with a line's end. */
static int is_in_line(int fd, int64_t bytes) {
  char last;
  return bytes > 0 && pread(fd, &last, 1, (off_t)bytes - 1) == 1 && last != '\n';
}

wr_status wr_output_append(const char *path, wr_output_file *out) {
  *out = (wr_output_file){.name = path};
  struct stat facts;
  if (path[0] == '\0') return wr_fail(WR_EOUTPUT, "an output has an empty file name");
  if (strcmp(path, "-") == 0 || (stat(path, &facts) == 0 && is_standard_output(&facts))) {
    out->name = "standard output";
    out->file = stdout;
    return WR_OK;
  }
  int fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_NOCTTY | O_CLOEXEC, 0666);
  if (fd < 0 && (errno == EACCES || errno == ENXIO)) fd = open(path, O_WRONLY | O_APPEND | O_NOCTTY | O_CLOEXEC);
  if (fd < 0) return cannot(out, "open it for writing", errno);
  int is_due = fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode) && is_in_line(fd, facts.st_size);
  out->file = open_memstream(&out->text, &out->size);
  if (out->file == NULL) {
    close(fd);
    return cannot(out, "open it for writing", ENOMEM);
  }
  out->is_appended = 1, out->fd = fd;
  if (is_due) fputc('\n', out->file);
  return WR_OK;
}

/* Cuts off the last `count` bytes, which this process has appended, unless another one has written behind them. */
static void take_back(int fd, int64_t count) {
  struct stat facts;
  off_t end = lseek(fd, 0, SEEK_CUR);
  if (count > 0 && fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_size == end)
    (void)!ftruncate(fd, end - (off_t)count);
}

/* All that is in memory or, as far as the system allows, nothing of it; then it stays in memory. Returns errno. */
static int append_text(wr_output_file *out) {
  if (fflush(out->file) != 0 || ferror(out->file)) return ENOMEM;
  int64_t count = ftello(out->file), done = 0;
  while (done < count) {
    ssize_t put = write(out->fd, out->text + done, (size_t)(count - done));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) {
      int error = errno;
      take_back(out->fd, done);
      return error;
    }
    done += put;
  }
  rewind(out->file);
  return 0;
}

wr_status wr_output_flush(wr_output_file *out) {
  int error = out->is_appended ? append_text(out) : 0;
  if (out->is_appended) return error == 0 ? WR_OK : cannot(out, "write it", error);
  errno = 0;
  int failed = fflush(out->file) != 0 || ferror(out->file);
  return failed ? cannot(out, "write it", errno ? errno : find_reason(out->file)) : WR_OK;
}

wr_status wr_output_check(const char *path) {
  wr_output_file out = {.name = path};
  struct stat facts;
  if (stat(path, &facts) == 0 && !S_ISREG(facts.st_mode) && !S_ISDIR(facts.st_mode))
    return faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0 ? WR_OK : cannot(&out, "write it", errno);
  wr_status status = wr_output_open(path, &out);
  wr_output_abandon(&out);
  return status;
}

static wr_status commit_appended(wr_output_file *out) {
  wr_status status = wr_output_flush(out);
  int is_lost = close(out->fd) != 0, error = errno;
  out->fd = -1;
  wr_output_abandon(out);
  return status == WR_OK && is_lost ? cannot(out, "write it", error) : status;
}

/* No fsync: it guards against a crash of the machine, and costs more than the writing. */
wr_status wr_output_commit(wr_output_file *out) {
  if (!out->file) return wr_fail(WR_EINTERNAL, "an output that is not open was committed");
  if (out->is_appended) return commit_appended(out);
  errno = 0;
  int failed = fflush(out->file) != 0 || ferror(out->file);
  int error = failed && errno == 0 ? find_reason(out->file) : errno;
  if (!failed && out->unnamed) failed = (error = give_name(out)) != 0;
  if (out->file != stdout && fclose(out->file) != 0 && !failed) {
    failed = 1;
    error = errno;
  }
  out->file = NULL;
  if (!failed && out->partial[0] && rename(out->partial, out->target) != 0) {
    failed = 1;
    error = errno;
  }
  if (!failed) out->partial[0] = '\0';
  wr_output_abandon(out);
  return failed ? cannot(out, "write it", error) : WR_OK;
}

void wr_output_abandon(wr_output_file *out) {
  if (out->file && out->file != stdout) fclose(out->file);
  if (out->is_appended && out->fd >= 0) close(out->fd);
  wr_free(out->text);
  out->text = NULL, out->is_appended = 0;
  if (out->partial[0]) unlink(out->partial);
  out->file = NULL;
  out->partial[0] = '\0';
}
