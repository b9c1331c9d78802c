/* Inputs that come in sequence: pipes, terminals, compressed streams. A part of io/input_text.h, internal to io/. */
#ifndef WR_INPUT_STREAM_H
#define WR_INPUT_STREAM_H

#include <stdint.h>

#include "config/status.h"

/* What is left in an open file, unpacked if it is compressed, or a range of that. */
typedef struct wr_stream {
  int64_t from, to; /* the bytes of the text that are kept: [from, to)                       */
  int stops;        /* 1: reading ends with the range; 0: with the text, which is checked so */
  char *memory;     /* [held]                                                                */
  int64_t held;
  int64_t size;     /* bytes of text that were read                                          */
  int64_t newlines; /* ends of lines before `from`                                           */
  int compressed;   /* 1: it was packed                                                      */
} wr_stream;

/* Reads it into memory. from, to and stops are given; the rest is zeroed before. at: where in the file; -1: from where a stream
 * stands. name begins the errors. size: how many bytes are left in the file, or -1 if that is not known. magic, errors: as
 * wr_text_open; with a magic, `from` is 0 and the range is longer than the magic. stream may hold memory on failure. */
wr_status wr_stream_read(int file, int64_t at, const char *name, int64_t size, const char *magic, wr_stream *stream);

/* 0 if a text that begins with [begin, begin + count) begins neither with magic (NULL: anything is right) nor as a saved
 * matrix, or is of a kind that is not read. */
int wr_text_may_begin(const char *begin, int64_t count, const char *magic);

#endif
