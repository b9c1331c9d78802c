/* Inputs that come in sequence: pipes, terminals, gzip streams. Part of io/input_text.h's work, internal to io/. */
#ifndef WR_INPUT_STREAM_H
#define WR_INPUT_STREAM_H

#include <stdint.h>

#include "io/input_text.h"

/* Fills text->memory with all that is left in the open file, inflated if it is gzip. size: how many bytes that is, or -1 if
 * it is not known. magic, errors: as wr_text_open. text may hold memory on failure. */
wr_status wr_stream_read(int file, int64_t size, const char *magic, wr_text *text);

/* 0 if a text that begins with [begin, begin + count) begins neither with magic (NULL: anything is right) nor as a saved
 * matrix, or is of a kind that is not read. */
int wr_text_may_begin(const char *begin, int64_t count, const char *magic);

#endif
