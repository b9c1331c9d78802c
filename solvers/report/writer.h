/* Where the paragraphs of a report go: to a stream as text, wrapped to its width, or into a page as HTML. */
#ifndef WR_WRITER_H
#define WR_WRITER_H

#include <stdio.h>

#include "solvers/report/report_text.h"

typedef struct wr_writer {
  FILE *file;
  int is_html;
  int has_blocks; /* 1: block characters of Unicode may be written, see wr_writer_of_text */
  int in_list;    /* HTML: a list of labelled paragraphs is open                          */
} wr_writer;

/* A writer of text. Block characters go to a terminal alone, where LC_ALL, LC_CTYPE or LANG, the first that is set, names
 * UTF-8: what is written to a file or a pipe is ASCII, whatever the locale is. */
wr_writer wr_writer_of_text(FILE *file);

void wr_writer_paragraph(wr_writer *writer, const wr_line *line);

/* "  times     init 0.31 s, ...". A label "" goes on with the label before. */
void wr_writer_item(wr_writer *writer, const char *label, const wr_line *line);

/* A command that belongs to the item before. */
void wr_writer_command(wr_writer *writer, const char *command);

/* An empty line; pages need none. */
void wr_writer_gap(wr_writer *writer);

/* Closes what is open: due at the end of a page's section. */
void wr_writer_end(wr_writer *writer);

#endif
