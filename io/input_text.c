#define _DEFAULT_SOURCE /* pread, struct stat's st_mtim */
#include "io/input_text.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/memory.h"
#include "config/text.h"
#include "io/input_stream.h"

enum {
  SLACK = 4 << 10,    /* bytes read behind a run of lines, for the end of its last one       */
  PIECE = 1 << 20,    /* bytes read at a time when lines are counted                         */
  BEGINNING = 1 << 20 /* bytes held of a compressed file that is shared: headers are shorter */
};

static wr_status read_failed(const char *name, int error) {
  return wr_fail(WR_EINPUT, "%s: cannot be read: %s", name, strerror(error));
}

static wr_status was_changed(const wr_text *text) {
  return wr_fail(WR_EINPUT, "%s: was changed while it was being read; read it again", text->name);
}

/* Reads count bytes at an offset of the file, or up to its end; returns how many, or -1 with errno. */
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

/* All that is left in the file into memory, from `at` on, or -1: from where it stands; size: its bytes, or -1. */
static wr_status read_stream(int file, int64_t at, int64_t size, const char *magic, int64_t most, wr_text *text) {
  wr_stream stream = {.to = most};
  wr_status status = wr_stream_read(file, at, text->name, size, magic, &stream);
  text->memory = stream.memory, text->held = stream.held;
  text->size = stream.size;
  text->compressed = stream.compressed;
  return status;
}

static wr_status open_file(int file, const char *magic, int shared, wr_text *text) {
  struct stat facts;
  char head[WR_FILE_HEAD];
  if (fstat(file, &facts) != 0) return read_failed(text->name, errno);
  if (S_ISDIR(facts.st_mode)) return read_failed(text->name, EISDIR);
  text->offset = lseek(file, 0, SEEK_CUR);
  text->size = facts.st_size - text->offset;
  /* Files of /proc say that they are regular and have no bytes: they are read as a pipe is. */
  if (!S_ISREG(facts.st_mode) || text->offset < 0 || text->size <= 0)
    return read_stream(file, -1, -1, magic, INT64_MAX, text);
  int64_t got = read_at(file, head, sizeof head, text->offset);
  if (got < 0) return read_failed(text->name, errno);
  /* A file that begins wrongly may have no line ends at all: as a stream only its first block is read. */
  text->kind = wr_file_kind_of(head, got);
  int packed = wr_file_is_packed(text->kind);
  if (!packed ? !wr_text_may_begin(head, got, magic) : !shared)
    return read_stream(file, text->offset, text->size, magic, INT64_MAX, text);
  text->file = file;
  text->file_bytes = facts.st_size;
  text->seconds = facts.st_mtim.tv_sec;
  text->nanoseconds = facts.st_mtim.tv_nsec;
  return packed ? read_stream(file, 0, text->size, magic, BEGINNING, text) : WR_OK;
}

static wr_status open_text(const char *path, const char *magic, int shared, wr_text *text) {
  int standard = strcmp(path, "-") == 0;
  *text = (wr_text){.name = standard ? "standard input" : path, .file = -1};
  int file = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return wr_fail(WR_EINPUT, "%s: cannot be opened: %s", text->name, strerror(errno));
  wr_status status = open_file(file, magic, shared && !standard, text);
  if (!standard && text->file < 0) close(file);
  if (status == WR_OK && text->memory != NULL) {
    text->kind = wr_file_kind_of(text->memory, text->held);
    int refused = text->kind == WR_FILE_FOREIGN || text->kind == WR_FILE_NPY;
    if (magic != NULL && refused) status = wr_file_check_foreign(text->name, text->memory, text->held);
  }
  if (status != WR_OK) wr_text_close(text);
  return status;
}

wr_status wr_text_open(const char *path, const char *magic, wr_text *text) { return open_text(path, magic, 0, text); }

wr_status wr_text_open_share(const char *path, const char *magic, wr_text *text) {
  return open_text(path, magic, 1, text);
}

/* 1: a compressed file, of which at most a range is in memory. */
static int is_shared(const wr_text *text) { return text->compressed && text->file >= 0; }

/* A range of a compressed file, unpacked from the beginning on. */
static wr_status unpack(const wr_text *text, int64_t from, int64_t to, wr_stream *stream) {
  *stream = (wr_stream){.from = text->offset + from, .to = text->offset + to, .stops = 1};
  wr_status status = wr_stream_read(text->file, 0, text->name, text->file_bytes, NULL, stream);
  if (status == WR_OK && stream->held != to - from) status = was_changed(text);
  if (status == WR_EINPUT) (void)wr_text_unchanged(text); /* all was right before, and this sentence says more */
  if (status != WR_OK) wr_free(stream->memory), stream->memory = NULL;
  return status;
}

static int holds(const wr_text *text, int64_t from, int64_t to) {
  return text->memory != NULL && from >= text->from && to <= text->from + text->held;
}

wr_status wr_text_hold(wr_text *text, int64_t from, int64_t to) {
  wr_stream stream;
  int64_t start = from > 0 ? from - 1 : 0, until = text->size - to > SLACK ? to + SLACK : text->size;
  if (!is_shared(text) || holds(text, start, until)) return WR_OK;
  wr_free(text->memory);
  text->memory = NULL;
  PASS(unpack(text, start, until, &stream));
  text->memory = stream.memory, text->from = start, text->held = stream.held;
  return WR_OK;
}

void wr_text_close(wr_text *text) {
  if (text->file >= 0 && text->file != STDIN_FILENO) close(text->file);
  wr_free(text->memory);
  text->memory = NULL;
  text->file = -1;
}

void wr_text_skip(wr_text *text, int64_t count) {
  text->size -= count, text->offset += count;
  if (text->memory == NULL) return;
  text->held -= count;
  memmove(text->memory, text->memory + count, (size_t)text->held);
}

wr_status wr_text_read(const wr_text *text, int64_t from, int64_t count, void *to) {
  if (from > text->size || count > text->size - from)
    return wr_fail(WR_EINPUT, "%s: ends after %lld %s", text->name, (long long)text->size,
                   wr_plural(text->size, "byte", "bytes"));
  if (text->memory != NULL) {
    memcpy(to, text->memory + from, (size_t)count);
    return WR_OK;
  }
  int64_t got = read_at(text->file, to, count, text->offset + from);
  if (got < 0) return read_failed(text->name, errno);
  return got == count ? WR_OK : wr_fail(WR_EINPUT, "%s: was cut short while it was being read", text->name);
}

void wr_lines_free(wr_lines *lines) {
  wr_free(lines->block);
  *lines = (wr_lines){.capacity = 0};
}

/* *bytes := [from, to) of the text, read into the block if need be. */
static wr_status load(const wr_text *text, int64_t from, int64_t to, wr_lines *lines, const char **bytes) {
  wr_stream stream;
  if (holds(text, from, to)) {
    *bytes = text->memory + (from - text->from);
    return WR_OK;
  }
  if (is_shared(text)) {
    PASS(unpack(text, from, to, &stream));
    wr_free(lines->block);
    *bytes = lines->block = stream.memory, lines->capacity = to - from;
    return WR_OK;
  }
  if (lines->block == NULL || to - from > lines->capacity) {
    wr_lines_free(lines);
    PASS(wr_alloc(&lines->block, to - from, 1, text->name));
    lines->capacity = to - from;
  }
  *bytes = lines->block;
  int64_t got = read_at(text->file, lines->block, to - from, text->offset + from);
  if (got < 0) return read_failed(text->name, errno);
  return got == to - from ? WR_OK : was_changed(text);
}

/* The bytes that hold the lines that begin in [from, to), and the byte before `from` (if there is one): a line begins at
 * from if that byte is a line's end. */
typedef struct span {
  int64_t from, to;     /* of the lines' beginnings */
  int64_t start, until; /* of the bytes             */
  const char *bytes;    /* [until - start]          */
} span;

/* 0: the last line goes on behind the bytes. */
static int find_lines(const span *s, int64_t size, wr_lines *lines) {
  const char *begin = s->bytes, *last_byte = s->bytes + (s->to - 1 - s->start);
  if (s->from > 0) {
    const char *newline = memchr(s->bytes, '\n', (size_t)(s->to - s->from));
    if (newline == NULL) return 1;
    begin = newline + 1;
  }
  const char *last = memchr(last_byte, '\n', (size_t)(s->until - (s->to - 1)));
  if (last == NULL && s->until < size) return 0;
  lines->begin = begin;
  lines->end = last != NULL ? last + 1 : s->bytes + (s->until - s->start);
  lines->offset = s->start + (begin - s->bytes);
  return 1;
}

wr_status wr_text_lines(const wr_text *text, int64_t from, int64_t to, wr_lines *lines) {
  static const char none[1] = "";
  lines->begin = lines->end = none;
  lines->offset = from;
  if (to > text->size) to = text->size;
  if (from >= to) return WR_OK;
  span s = {.from = from, .to = to, .start = from > 0 ? from - 1 : 0, .until = to + SLACK};
  for (;;) {
    if (s.until > text->size) s.until = text->size;
    if (holds(text, s.start, s.until)) s.until = text->from + text->held;
    wr_status status = load(text, s.start, s.until, lines, &s.bytes);
    if (status != WR_OK || find_lines(&s, text->size, lines)) return status;
    s.until += s.until - s.start;
  }
}

wr_status wr_text_unchanged(const wr_text *text) {
  struct stat facts;
  if (text->file < 0) return WR_OK;
  if (fstat(text->file, &facts) != 0) return read_failed(text->name, errno);
  int same = facts.st_size == text->file_bytes && facts.st_mtim.tv_sec == text->seconds &&
             facts.st_mtim.tv_nsec == text->nanoseconds;
  return same ? WR_OK : was_changed(text);
}

static int64_t count_newlines(const char *at, const char *end) {
  int64_t count = 0;
  for (; at < end && (at = memchr(at, '\n', (size_t)(end - at))) != NULL; at++) count++;
  return count;
}

/* Of a shared text, in one pass instead of one for each piece; offset > 0. */
static wr_status number_shared_line(const wr_text *text, int64_t offset, int64_t *number) {
  wr_stream stream;
  PASS(unpack(text, offset - 1, offset, &stream));
  int ends_line = stream.memory[0] == '\n';
  *number = 1 + stream.newlines + (ends_line || offset == text->size);
  wr_free(stream.memory);
  return WR_OK;
}

wr_status wr_text_line_number(const wr_text *text, int64_t offset, int64_t *number) {
  wr_lines lines = {.capacity = 0};
  wr_status status = WR_OK;
  char last = '\n';
  *number = 1;
  if (is_shared(text) && offset > 0) return number_shared_line(text, offset, number);
  for (int64_t from = 0; from < offset; from += PIECE) {
    int64_t to = offset - from < PIECE ? offset : from + PIECE;
    const char *bytes;
    TRY(load(text, from, to, &lines, &bytes));
    *number += count_newlines(bytes, bytes + (to - from));
    last = bytes[to - from - 1];
  }
  if (offset == text->size && last != '\n') ++*number;
done:
  wr_lines_free(&lines);
  return status;
}
