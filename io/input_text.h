/* The text of an input: a file, standard input, or what either holds compressed with gzip, as one span in memory; and its
 * lines, as all readers of text see them.
 *
 * Files are read, by all threads at once, rather than mapped: a mapping ends the process with SIGBUS when someone else cuts
 * the file short, its pages cannot be huge ones, and each of them is a fault of its own. */
#ifndef WR_INPUT_TEXT_H
#define WR_INPUT_TEXT_H

#include <stdint.h>

#include "config/status.h"

typedef struct wr_text {
  const char *name; /* begins the errors: the path (not copied), or "standard input"     */
  char *begin;      /* [begin, end) is the text, after inflating; wr_text_free frees it  */
  char *end;
  int compressed;   /* 1: it was gzip                                                    */
} wr_text;

/* Reads all of path ("-": standard input from where it stands). A gzip stream, recognised by its first two bytes, must be
 * whole, with nothing but further gzip members behind it, and its checksums right. magic (may be NULL) is what the text
 * must begin with, letter case aside: if it does not, some of the text may be all that is read, as the caller is going to
 * refuse it. WR_EINPUT: cannot be opened or read, a directory, damaged, changed meanwhile; WR_ENOMEM. */
wr_status wr_text_read(const char *path, const char *magic, int threads, wr_text *text);

void wr_text_free(wr_text *text); /* a zeroed one is fine */

/* A line without its end, which is LF or CR LF, or at the very end of the text nothing or CR. */
typedef struct wr_line {
  const char *begin, *end; /* the characters of the line      */
  const char *next;        /* the next line's, or text's end  */
} wr_line;

wr_line wr_line_at(const char *begin, const char *text_end);

/* 1 and the next word [*word, *word_end) of a line between blanks and tabs; *at moves behind it. 0: no more words. */
int wr_line_word(const char **at, const char *line_end, const char **word, const char **word_end);

/* 1 if the word is `name`, letter case aside, in whatever locale. */
int wr_word_is(const char *word, const char *word_end, const char *name);

/* The 1-based number of the line that `at` lies in: one pass over all before it. */
int64_t wr_line_number(const char *text, const char *at);

/* The number of the line that would follow the last: where something is missing. 1 for an empty text. */
int64_t wr_line_after(const char *text, const char *end);

#define WR_WHERE 512

/* "name:line", which begins an error; of a very long name the end. Returns where. */
const char *wr_where(const char *name, int64_t line, char where[WR_WHERE]);

#define WR_QUOTE 64

/* [begin, end) for an error message: at most 40 characters of it, other than printable ASCII as \xNN. Returns text. */
const char *wr_quote(const char *begin, const char *end, char text[WR_QUOTE]);

#endif
