/* Inputs that come in sequence: pipes, terminals, compressed streams. A part of io/input_text.h, internal to io/. */
#ifndef WR_INPUT_STREAM_H
#define WR_INPUT_STREAM_H

#include <stdint.h>

#include "config/status.h"

/* What is left in an open file, unpacked if it is compressed. */
typedef struct wr_stream {
  char *memory;   /* [size]          */
  int64_t size;
  int compressed; /* 1: it was packed */
} wr_stream;

/* Reads it into memory. name begins the errors. size: how many bytes are left in the file, or -1 if that is not known. magic,
 * errors: as wr_text_open. stream, zeroed before, may hold memory on failure. */
wr_status wr_stream_read(int file, const char *name, int64_t size, const char *magic, wr_stream *stream);

/* 0 if a text that begins with [begin, begin + count) begins neither with magic (NULL: anything is right) nor as a saved
 * matrix, or is of a kind that is not read. */
int wr_text_may_begin(const char *begin, int64_t count, const char *magic);

#endif
