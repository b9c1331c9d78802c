#define _DEFAULT_SOURCE /* pread */
#include "io/input_stream.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "config/memory.h"
#include "config/memory_limits.h"
#include "io/file_kind.h"
#include "io/input_line.h"

#ifdef WR_HAVE_ZLIB
#include <zlib.h>
#endif
#ifdef WR_HAVE_ZSTD
#include <zstd.h>
#endif
#ifdef WR_HAVE_XZ
#include <lzma.h>
#endif

enum { BLOCK = 256 << 10 }; /* bytes: read from the file at a time */

/* A file, a block at a time. */
typedef struct source {
  int file;
  int64_t at; /* in the file, where the next block is read; -1: where the stream stands */
  const char *name;
  char *block;  /* [BLOCK]                                       */
  int64_t have; /* bytes of the block that are filled; 0 at the end */
} source;

/* Text in memory that grows. */
typedef struct store {
  wr_stream *text;
  const char *name;
  int64_t capacity;
} store;

static wr_status next_block(source *s) {
  s->have = 0;
  while (s->have < BLOCK) {
    char *to = s->block + s->have;
    size_t room = (size_t)(BLOCK - s->have);
    ssize_t got = s->at < 0 ? read(s->file, to, room) : pread(s->file, to, room, (off_t)s->at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return wr_fail(WR_EINPUT, "%s: cannot be read: %s", s->name, strerror(errno));
    if (got == 0) break;
    s->have += got;
    if (s->at >= 0) s->at += got;
  }
  return WR_OK;
}

static wr_status resize(store *s, int64_t capacity) {
  wr_status status = wr_resize(&s->text->memory, capacity, "more of its text");
  if (status == WR_OK) s->capacity = capacity;
  return status;
}

/* Room for `more` bytes behind what is held: for half as much again, or where memory ends, for a sixteenth. */
static wr_status reserve(store *s, int64_t more) {
  wr_stream *text = s->text;
  int64_t needed = text->held + more, capacity = text->held + text->held / 2;
  if (text->memory != NULL && s->capacity >= needed) return WR_OK;
  if (wr_memory_check_block(capacity - s->capacity, "half as much again") != WR_OK)
    capacity = text->held + text->held / 16;
  wr_status status = resize(s, capacity > needed ? capacity : needed);
  if (status == WR_OK) return WR_OK;
  return wr_fail(status, "%s: %s; %.1f MB of it are held; %s to a file, which is read piece by piece", s->name,
                 wr_status_message(), (double)text->held / 1e6, text->compressed ? "unpack it" : "write it");
}

static int64_t between(int64_t low, int64_t value, int64_t high) {
  return value < low ? low : value > high ? high : value;
}

/* `count` more bytes of text stand behind what is held: drops those outside of the range. */
static void take(store *s, int64_t count) {
  wr_stream *text = s->text;
  char *bytes = text->memory + text->held;
  int64_t first = between(0, text->from - text->size, count), end = between(first, text->to - text->size, count);
  for (const char *c = bytes; c < bytes + first && (c = memchr(c, '\n', (size_t)(bytes + first - c))) != NULL; c++)
    text->newlines++;
  if (first > 0) memmove(bytes, bytes + first, (size_t)(end - first));
  text->held += end - first, text->size += count;
}

int wr_text_may_begin(const char *begin, int64_t count, const char *magic) {
  if (magic == NULL) return 1;
  wr_file_kind kind = wr_file_kind_of(begin, count);
  if (kind == WR_FILE_FOREIGN || kind == WR_FILE_NPY) return 0;
  int64_t length = (int64_t)strlen(magic);
  return count < length || wr_word_is(begin, begin + length, magic) || wr_file_is_matrix(kind);
}

/* 1: the first block has NUL bytes and no end of a line, as /dev/zero, which never ends. Names of an edge list may have NUL
 * bytes, so these alone are no reason. */
static int is_no_text(const wr_stream *text) {
  return text->from == 0 && text->held >= BLOCK && memchr(text->memory, 0, BLOCK) &&
         !memchr(text->memory, '\n', BLOCK) && wr_file_kind_of(text->memory, text->held) == WR_FILE_TEXT;
}

/* 0: nothing more of the text is of use. */
static int goes_on(const wr_stream *text, const char *magic) {
  if (text->held < 2 * BLOCK && is_no_text(text)) return 0;
  return wr_text_may_begin(text->memory, text->held, magic) && !(text->stops && text->size >= text->to);
}

/* The first block is in the source. */
static wr_status read_plain(source *in, const char *magic, store *out) {
  while (in->have > 0) {
    PASS(reserve(out, in->have));
    memcpy(out->text->memory + out->text->held, in->block, (size_t)in->have);
    take(out, in->have);
    if (!goes_on(out->text, magic)) return WR_OK;
    PASS(next_block(in));
  }
  return WR_OK;
}

#ifdef WR_HAVE_ZLIB

static void *allocate(void *unused, unsigned count, unsigned size) {
  void *block;
  (void)unused;
  return wr_alloc(&block, count, size, "inflating") == WR_OK ? block : NULL;
}

static void release(void *unused, void *block) {
  (void)unused;
  wr_free(block);
}

static wr_status damaged(const char *name, const z_stream *z, int code) {
  if (code == Z_MEM_ERROR) return wr_fail(WR_ENOMEM, "out of memory: inflating %s", name);
  return wr_fail(WR_EINPUT, "%s: damaged gzip stream (%s)", name, z->msg ? z->msg : "no detail");
}

/* Makes sure that there is input; *ended: there is no more. */
static wr_status refill(source *in, z_stream *z, int *ended) {
  *ended = 0;
  if (z->avail_in > 0) return WR_OK;
  wr_status status = next_block(in);
  z->next_in = (unsigned char *)in->block;
  z->avail_in = (unsigned)in->have;
  *ended = in->have == 0;
  return status;
}

/* One step of inflating; *done: a member has ended. */
static wr_status inflate_some(source *in, z_stream *z, store *out, int *done) {
  int ended;
  PASS(refill(in, z, &ended));
  if (ended) return wr_fail(WR_EINPUT, "%s: the gzip stream ends early", in->name);
  PASS(reserve(out, BLOCK));
  z->next_out = (unsigned char *)out->text->memory + out->text->held;
  z->avail_out = BLOCK; /* so little that a wrong beginning is soon refused */
  int code = inflate(z, Z_NO_FLUSH);
  take(out, BLOCK - (int64_t)z->avail_out);
  *done = code == Z_STREAM_END;
  return code == Z_OK || code == Z_STREAM_END ? WR_OK : damaged(in->name, z, code);
}

/* Members may follow one another, as after `cat a.gz b.gz`; nothing else may. */
static wr_status inflate_members(source *in, const char *magic, z_stream *z, store *out) {
  for (;;) {
    int done = 0, ended;
    wr_status status = inflate_some(in, z, out, &done);
    if (status != WR_OK || !goes_on(out->text, magic)) return status;
    if (!done) continue;
    if ((status = refill(in, z, &ended)) != WR_OK || ended) return status;
    if (*z->next_in != 0x1f) return wr_fail(WR_EINPUT, "%s: something follows the end of the gzip stream", in->name);
    int code = inflateReset(z);
    if (code != Z_OK) return damaged(in->name, z, code);
  }
}

/* The length that the end of a gzip file states (modulo 2^32, and any number in a forged file), if deflate can reach it.
 * size: bytes from the beginning of the source's block to the end of the file, or -1. */
static int64_t stated_length(const source *in, int64_t size) {
  unsigned char tail[4];
  if (size < 18 || in->at < 0 || pread(in->file, tail, 4, (off_t)(in->at - in->have + size - 4)) != 4) return 0;
  int64_t length = tail[0] | tail[1] << 8 | tail[2] << 16 | (int64_t)tail[3] << 24;
  return length / 1032 > size ? 0 : length;
}

static wr_status read_gzip(source *in, int64_t size, const char *magic, store *out) {
  z_stream z = {
      .zalloc = allocate, .zfree = release, .next_in = (unsigned char *)in->block, .avail_in = (unsigned)in->have};
  int code = inflateInit2(&z, 15 + 16); /* the largest window; a gzip header and its checksums */
  if (code != Z_OK) return damaged(in->name, &z, code);
  wr_status status = WR_OK;
  int64_t stated = stated_length(in, size), range = out->text->to - out->text->from;
  stated = (stated < range ? stated : range) + BLOCK;
  if (wr_memory_check_block(stated, "the length that is stated") == WR_OK) status = reserve(out, stated);
  if (status == WR_OK) status = inflate_members(in, magic, &z, out); /* without that memory it grows block by block */
  inflateEnd(&z);
  return status;
}

#endif

#ifdef WR_HAVE_ZSTD

/* Unpacks a block. *left := 0 at the end of a frame; *ended := 1: nothing more is of use. */
static wr_status unpack_zstd(source *in, ZSTD_DStream *z, const char *magic, store *out, size_t *left, int *ended) {
  ZSTD_inBuffer from = {in->block, (size_t)in->have, 0};
  ZSTD_outBuffer to = {NULL, 0, 0};
  while (!*ended && (from.pos < from.size || to.pos == to.size)) {
    PASS(reserve(out, BLOCK));
    to = (ZSTD_outBuffer){out->text->memory + out->text->held, BLOCK, 0};
    *left = ZSTD_decompressStream(z, &to, &from);
    if (ZSTD_isError(*left))
      return wr_fail(WR_EINPUT, "%s: damaged zstd stream (%s)", in->name, ZSTD_getErrorName(*left));
    take(out, (int64_t)to.pos);
    *ended = !goes_on(out->text, magic);
    if (*left == 0 && from.pos == from.size) break;
  }
  return WR_OK;
}

static wr_status read_zstd(source *in, const char *magic, store *out) {
  ZSTD_DStream *z = ZSTD_createDStream();
  size_t left = 1;
  int ended = 0;
  wr_status status = z != NULL ? WR_OK : wr_fail(WR_ENOMEM, "out of memory: unpacking %s", in->name);
  while (status == WR_OK && in->have > 0 && !ended) {
    TRY(unpack_zstd(in, z, magic, out, &left, &ended));
    TRY(next_block(in));
  }
  if (status == WR_OK && left != 0 && !ended) status = wr_fail(WR_EINPUT, "%s: the zstd stream ends early", in->name);
done:
  ZSTD_freeDStream(z);
  return status;
}

#endif

#ifdef WR_HAVE_XZ

enum { XZ_MEMORY = 1 << 30 }; /* bytes: 15 times what xz -9 needs */

static wr_status fail_xz(const char *name, lzma_ret code) {
  switch (code) {
    case LZMA_MEM_ERROR: return wr_fail(WR_ENOMEM, "out of memory: unpacking %s", name);
    case LZMA_MEMLIMIT_ERROR:
      return wr_fail(WR_EINPUT, "%s: unpacking xz needs more than 1 GB here; unpack it first: xz -d", name);
    case LZMA_BUF_ERROR: return wr_fail(WR_EINPUT, "%s: the xz stream ends early", name);
    case LZMA_OPTIONS_ERROR: return wr_fail(WR_EINPUT, "%s: an xz stream with filters that liblzma lacks", name);
    default: return wr_fail(WR_EINPUT, "%s: damaged xz stream, or something follows its end", name);
  }
}

static wr_status unpack_xz(source *in, lzma_stream *z, const char *magic, store *out) {
  for (lzma_ret code = LZMA_OK; code != LZMA_STREAM_END;) {
    if (z->avail_in == 0 && in->have > 0) {
      if (z->next_in != NULL) PASS(next_block(in));
      z->next_in = (const uint8_t *)in->block, z->avail_in = (size_t)in->have;
    }
    PASS(reserve(out, BLOCK));
    z->next_out = (uint8_t *)out->text->memory + out->text->held, z->avail_out = BLOCK;
    code = lzma_code(z, in->have > 0 ? LZMA_RUN : LZMA_FINISH);
    take(out, BLOCK - (int64_t)z->avail_out);
    if (code != LZMA_OK && code != LZMA_STREAM_END) return fail_xz(in->name, code);
    if (!goes_on(out->text, magic)) return WR_OK;
  }
  return WR_OK;
}

static wr_status read_xz(source *in, const char *magic, store *out) {
  lzma_stream z = LZMA_STREAM_INIT;
  lzma_ret code = lzma_stream_decoder(&z, XZ_MEMORY, LZMA_CONCATENATED);
  wr_status status = code == LZMA_OK ? unpack_xz(in, &z, magic, out) : fail_xz(in->name, code);
  lzma_end(&z);
  return status;
}

#endif

/* What a build can unpack. */
static wr_status read_packed(wr_file_kind kind, source *in, int64_t size, const char *magic, store *out) {
  (void)size, (void)magic, (void)out;
  switch (kind) {
#ifdef WR_HAVE_ZLIB
    case WR_FILE_GZIP: return read_gzip(in, size, magic, out);
#endif
#ifdef WR_HAVE_ZSTD
    case WR_FILE_ZSTD: return read_zstd(in, magic, out);
#endif
#ifdef WR_HAVE_XZ
    case WR_FILE_XZ: return read_xz(in, magic, out);
#endif
#ifndef WR_HAVE_ZSTD
    case WR_FILE_ZSTD:
      return wr_fail(WR_EINPUT,
                     "%s: compressed with zstd, which this build lacks: install libzstd-dev, then make again; "
                     "or unpack it, or pipe it in: zstd -dc FILE | PROGRAM -",
                     in->name);
#endif
#ifndef WR_HAVE_XZ
    case WR_FILE_XZ:
      return wr_fail(WR_EINPUT,
                     "%s: compressed with xz, which this build lacks: install liblzma-dev, then make again; "
                     "or unpack it, or pipe it in: xz -dc FILE | PROGRAM -",
                     in->name);
#endif
    default:
      return wr_fail(
          WR_EINPUT,
          "%s: compressed with gzip, and this build lacks zlib: install zlib1g-dev, then make again; or unpack "
          "it, or pipe it in: gzip -dc FILE | PROGRAM -",
          in->name);
  }
}

static wr_status read_any(source *in, int64_t size, const char *magic, store *out) {
  wr_file_kind kind = wr_file_kind_of(in->block, in->have);
  if (!wr_file_is_packed(kind)) return read_plain(in, magic, out);
  out->text->compressed = 1;
  PASS(read_packed(kind, in, size, magic, out));
  if (out->text->from > 0 || !wr_file_is_packed(wr_file_kind_of(out->text->memory, out->text->held))) return WR_OK;
  return wr_fail(WR_EINPUT, "%s: compressed more than once; unpack it first", in->name);
}

wr_status wr_stream_read(int file, int64_t at, const char *name, int64_t size, const char *magic, wr_stream *stream) {
  source in = {.file = file, .at = at, .name = name};
  store out = {.text = stream, .name = name};
  wr_status status = wr_alloc(&in.block, BLOCK, 1, "reading");
  if (status != WR_OK) return status;
  TRY(next_block(&in));
  TRY(reserve(&out, stream->stops ? stream->to - stream->from + BLOCK : in.have));
  TRY(read_any(&in, size, magic, &out));
  if (wr_text_may_begin(stream->memory, stream->held, magic) && is_no_text(stream))
    TRY(wr_fail(WR_EINPUT, "%s: no text: its first %d bytes have NUL bytes and no end of a line", name, (int)BLOCK));
  if (out.capacity > stream->held) TRY(resize(&out, stream->held));
done:
  wr_free(in.block);
  return status;
}
