/* A text that all threads parse at once, as the readers of Matrix Market files and of edge lists do: it is cut into parts, the
 * lines of each go to a chunk of triplets, and of several defects the one on the earliest line is reported. Internal to io/. */
#ifndef WR_TEXT_PARTS_H
#define WR_TEXT_PARTS_H

#include "config/failure.h"
#include "io/input_text.h"
#include "spmv/matrix/csr.h"

struct wr_read_share;

typedef struct wr_text_part {
  int64_t begin, end; /* the part's lines are those that begin in [begin, end) of the text */
  int64_t defect;     /* where its first defective line begins; -1: none                  */
  int64_t before;     /* entries in the parts before it, for readers that need them        */
} wr_text_part;

typedef struct wr_text_parts {
  int threads;
  int64_t count;
  wr_text_part *part; /* [count]                */
  int whole;          /* 1: a part is parsed as one run of lines; 0: in runs of WR_TEXT_RUN bytes */
  wr_failure failure; /* of the first such part */
} wr_text_parts;

/* How a reader parses its format. `reader` is what wr_text_parts_parse was given, k the part, `thread` is less than
 * parts->threads. */
typedef struct wr_text_format {
  /* Before the first and after the last line of a part; `end` may be NULL. */
  wr_status (*begin)(void *reader, int64_t k, int thread);
  wr_status (*end)(void *reader, int64_t k, int thread);
  /* Parses the lines from *at on. *at moves to their end; with WR_EINPUT to the defective line. */
  wr_status (*parse)(void *reader, int64_t k, int thread, const wr_lines *lines, const char **at);
  /* Fails for a defective line, with an error that begins with `where`. */
  wr_status (*fail)(const void *reader, const wr_input_line *line, const char *where);
} wr_text_format;

/* *parts := the text from `body` on, or a share of it, cut into parts of equal length, at most `longest` bytes and several
 * for each of parts->threads, which becomes fewer where there are fewer parts. triplets->chunks := a zeroed chunk for each. A
 * share, which may be NULL, is held then (wr_text_hold). WR_EUNAVAILABLE: a share of a text that is no file; WR_EINPUT,
 * WR_ENOMEM. */
wr_status wr_text_parts_cut(wr_text *text, int64_t body, int64_t longest, const struct wr_read_share *share,
                            wr_text_parts *parts, wr_triplets *triplets);

/* Parses all parts. What failed is left for wr_text_part_check. */
void wr_text_parts_parse(const wr_text *text, const wr_text_format *format, void *reader, wr_text_parts *parts);

/* The error of part k, for its defective line with the line's number; WR_OK if the part did not fail. */
wr_status wr_text_part_check(const wr_text *text, const wr_text_format *format, const void *reader,
                             const wr_text_parts *parts, int64_t k);

/* Calls `fail` for the line that begins at an offset of the text. */
wr_status wr_text_fail_at(const wr_text *text, int64_t offset,
                          wr_status (*fail)(const void *reader, const wr_input_line *line, const char *where),
                          const void *reader);

#endif
