#define _DEFAULT_SOURCE /* pread, struct stat's st_mtim */
#include "io/input_text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/memory.h"
#include "io/input_stream.h"

enum {
  PIECE = 4 << 20, /* bytes that one thread reads at a time: enough to keep a disk busy, little enough to share out */
  PROBE = 4 << 10  /* bytes that are looked at before all is read                                                   */
};

static wr_status read_failed(const char *name, int error) {
  return wr_fail(WR_EINPUT, "%s: cannot be read: %s", name, strerror(error));
}

int wr_text_is_gzip(const char *begin, int64_t count) {
  return count >= 2 && (unsigned char)begin[0] == 0x1f && (unsigned char)begin[1] == 0x8b;
}

int wr_text_begins(const char *begin, int64_t count, const char *magic) {
  if (magic == NULL || count < (int64_t)strlen(magic)) return 1;
  return wr_word_is(begin, begin + strlen(magic), magic);
}

/* Reads exactly count bytes at offset, or until the end of the file; returns how many, or -1 with errno. */
static int64_t read_at(int file, char *to, int64_t count, int64_t offset) {
  int64_t done = 0;
  while (done < count) {
    ssize_t got = pread(file, to + done, (size_t)(count - done), (off_t)(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -1;
    if (got == 0) break;
    done += got;
  }
  return done;
}

/* *error := errno of a piece that could not be read; returns the number of bytes read. */
static int64_t read_pieces(int file, char *to, int64_t size, int64_t offset, int threads, int *error) {
  int64_t pieces = (size + PIECE - 1) / PIECE, total = 0;
  int failure = 0;
  if (threads > pieces) threads = pieces > 0 ? (int)pieces : 1;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1) reduction(+ : total) reduction(max : failure)
  for (int64_t k = 0; k < pieces; k++) {
    int64_t begin = k * PIECE, count = size - begin < PIECE ? size - begin : PIECE;
    int64_t got = read_at(file, to + begin, count, offset + begin);
    if (got < 0 && errno > failure) failure = errno;
    if (got > 0) total += got;
  }
  *error = failure;
  return total;
}

/* The rest of a regular file, of which `before` was seen when it was opened. */
static wr_status read_file(int file, const struct stat *before, int64_t offset, const char *magic, int threads,
                           wr_text *text) {
  int64_t size = before->st_size > offset ? before->st_size - offset : 0;
  wr_status status = wr_alloc(&text->begin, size, 1, text->name);
  if (status != WR_OK) return status;
  int64_t probe = size < PROBE ? size : PROBE;
  if (read_at(file, text->begin, probe, offset) == probe && !wr_text_begins(text->begin, probe, magic)) size = probe;
  text->end = text->begin + size;
  int error;
  int64_t got = read_pieces(file, text->begin, size, offset, threads, &error);
  if (error != 0) return read_failed(text->name, error);
  struct stat after;
  if (fstat(file, &after) != 0) return read_failed(text->name, errno);
  if (got != size || after.st_size != before->st_size || after.st_mtim.tv_sec != before->st_mtim.tv_sec ||
      after.st_mtim.tv_nsec != before->st_mtim.tv_nsec)
    return wr_fail(WR_EINPUT, "%s: changed while it was being read (%lld bytes at first, then %lld)", text->name,
                   (long long)before->st_size, (long long)after.st_size);
  return WR_OK;
}

static wr_status read_open(int file, const char *magic, int threads, wr_text *text) {
  struct stat facts;
  if (fstat(file, &facts) != 0) return read_failed(text->name, errno);
  if (S_ISDIR(facts.st_mode)) return read_failed(text->name, EISDIR);
  int64_t offset = lseek(file, 0, SEEK_CUR);
  char head[2];
  /* Files of /proc say that they are regular and have no bytes: they are read as a pipe is. */
  if (!S_ISREG(facts.st_mode) || facts.st_size == 0 || offset < 0) return wr_stream_read(file, -1, magic, text);
  int64_t got = read_at(file, head, 2, offset);
  if (got < 0) return read_failed(text->name, errno);
  if (wr_text_is_gzip(head, got)) return wr_stream_read(file, facts.st_size - offset, magic, text);
  return read_file(file, &facts, offset, magic, threads, text);
}

wr_status wr_text_read(const char *path, const char *magic, int threads, wr_text *text) {
  int standard = strcmp(path, "-") == 0;
  *text = (wr_text){.name = standard ? "standard input" : path};
  int file = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return wr_fail(WR_EINPUT, "%s: cannot be opened: %s", text->name, strerror(errno));
  wr_status status = read_open(file, magic, threads, text);
  if (!standard) close(file);
  if (status != WR_OK) wr_text_free(text);
  return status;
}

void wr_text_free(wr_text *text) {
  wr_free(text->begin);
  text->begin = text->end = NULL;
}

wr_line wr_line_at(const char *begin, const char *text_end) {
  const char *end = memchr(begin, '\n', (size_t)(text_end - begin));
  wr_line line = {.begin = begin, .end = end ? end : text_end, .next = end ? end + 1 : text_end};
  if (line.end > begin && line.end[-1] == '\r') line.end--;
  return line;
}

int wr_line_word(const char **at, const char *line_end, const char **word, const char **word_end) {
  const char *p = *at;
  while (p < line_end && (*p == ' ' || *p == '\t')) p++;
  *word = p;
  while (p < line_end && *p != ' ' && *p != '\t') p++;
  *word_end = *at = p;
  return p > *word;
}

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

int wr_word_is(const char *word, const char *word_end, const char *name) {
  for (; word < word_end && *name != 0; word++, name++)
    if (lower(*word) != lower(*name)) return 0;
  return word == word_end && *name == 0;
}

int64_t wr_line_number(const char *text, const char *at) {
  int64_t number = 1;
  for (const char *p = text; p < at; p++) {
    p = memchr(p, '\n', (size_t)(at - p));
    if (p == NULL) return number;
    number++;
  }
  return number;
}

int64_t wr_line_after(const char *text, const char *end) {
  return wr_line_number(text, end) + (end > text && end[-1] != '\n');
}

const char *wr_where(const char *name, int64_t line, char where[WR_WHERE]) {
  size_t length = strlen(name), most = WR_WHERE - 32;
  if (length > most)
    snprintf(where, WR_WHERE, "...%s:%lld", name + (length - most), (long long)line);
  else
    snprintf(where, WR_WHERE, "%s:%lld", name, (long long)line);
  return where;
}

const char *wr_quote(const char *begin, const char *end, char text[WR_QUOTE]) {
  size_t used = 0;
  for (; begin < end && used <= 40; begin++) {
    if (*begin >= 0x20 && *begin < 0x7f)
      text[used++] = *begin;
    else
      used += (size_t)snprintf(text + used, WR_QUOTE - used, "\\x%02x", (unsigned)(unsigned char)*begin);
  }
  snprintf(text + used, WR_QUOTE - used, "%s", begin < end ? "..." : "");
  return text;
}
