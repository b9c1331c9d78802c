/* The text of an input: a file, standard input, or what either holds compressed with gzip, zstd or xz, as readers see it.
 *
 * A plain file is read in pieces, by any number of threads at once; a stream is held in memory whole. Of a compressed file that
 * several processes share, each holds a range of the text. Nothing is mapped: a mapping ends the process with SIGBUS when
 * another process cuts the file short. Nor is a whole file kept: touching new memory costs more time than reading into memory
 * that is used again (several times more where the kernel must clear the pages). */
#ifndef WR_INPUT_TEXT_H
#define WR_INPUT_TEXT_H

#include <stdint.h>

#include "config/status.h"
#include "io/file_kind.h"
#include "io/input_line.h"

typedef struct wr_text {
  const char *name;   /* begins the errors: the path (not copied), or "standard input"                                 */
  int64_t size;       /* bytes of text, after inflating                                                                */
  wr_file_kind kind;  /* of the text, after inflating                                                                  */
  int compressed;     /* 1: it was packed                                                                              */
  char *memory;       /* [held] what is held of the text, from the byte `from` on; NULL: nothing                       */
  int64_t from, held; /* 0 and size: all of it                                                                         */
  int file;           /* the open file from which the rest is read, or -1: there is none                               */
  int64_t file_bytes; /* its length, as seen at the beginning                                                          */
  int64_t offset;     /* where the text begins in the file, of a compressed one in what it unpacks to                  */
  int64_t seconds, nanoseconds; /* when the file was last written, as seen at the beginning                            */
} wr_text;

/* Opens path ("-": standard input from where it stands). A compressed stream, recognised by its first bytes, must be whole,
 * with nothing but further ones of its kind behind it, and its checksums right. magic is what the text must begin
 * with, letter case aside: if it does not, only a part may be read, as the caller is going to refuse it. "": anything
 * but kinds that are not read (io/file_kind.h), which is refused here with any magic; NULL: anything.
 * WR_EINPUT: cannot be opened or read, a directory, damaged, foreign; WR_ENOMEM. */
wr_status wr_text_open(const char *path, const char *magic, wr_text *text);

/* The same for a process that reads a share of the text. A compressed file is unpacked and checked whole, which tells its size,
 * and no more than its beginning is held afterwards. wr_text_lines reads what is not held all the same, and unpacks the file
 * from its beginning each time. */
wr_status wr_text_open_share(const char *path, const char *magic, wr_text *text);

/* Of a compressed file that is open so, holds the lines that begin in [from, to) in place of what is held, and unpacks it up to
 * there for that. Does nothing with any other text. WR_EINPUT: cannot be read, or was changed meanwhile; WR_ENOMEM. */
wr_status wr_text_hold(wr_text *text, int64_t from, int64_t to);

void wr_text_close(wr_text *text);

/* Leaves out the first `count` bytes of a text that has just been opened. Lines of it are no longer valid. */
void wr_text_skip(wr_text *text, int64_t count);

/* Copies count bytes of the text, `from` on; not of a compressed file of which a share is read. WR_EINPUT: cannot be read, or
 * ends early. */
wr_status wr_text_read(const wr_text *text, int64_t from, int64_t count, void *to);

enum { WR_TEXT_RUN = 256 << 10 }; /* bytes that readers take at a time: a core's cache holds them and what they become */

/* A run of whole lines. Zeroed before the first use; a thread's own. */
typedef struct wr_lines {
  const char *begin, *end; /* the lines, the last one perhaps without its end */
  int64_t offset;          /* of begin in the text                            */
  char *block;             /* [capacity] what was read, if it was             */
  int64_t capacity;
} wr_lines;

/* *lines := the lines that begin in [from, to) of the text, the last one to its end wherever that is; none if no line begins
 * there. Valid until the next call. WR_EINPUT: cannot be read, or was cut short meanwhile; WR_ENOMEM. */
wr_status wr_text_lines(const wr_text *text, int64_t from, int64_t to, wr_lines *lines);

void wr_lines_free(wr_lines *lines);

/* WR_EINPUT when the file was written to since it was opened. */
wr_status wr_text_unchanged(const wr_text *text);

/* *number := the 1-based number of the line that holds the character at offset: one pass over all before it. For the text's
 * end it is the line where something is missing: the one after the last. */
wr_status wr_text_line_number(const wr_text *text, int64_t offset, int64_t *number);

#endif
