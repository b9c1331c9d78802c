/* Edges in records (io/record.h): with names, with quotes, or with one separator throughout. Internal to io/. */
#ifndef WR_EDGE_RECORD_H
#define WR_EDGE_RECORD_H

#include "io/edge.h"
#include "io/record.h"
#include "io/text_parts.h"

/* A column as the text has it: quotation marks in it may be doubled. */
typedef struct wr_edge_word {
  const char *begin, *end;
  int doubled;
} wr_edge_word;

typedef struct wr_edge_names {
  wr_edge_word source, target;
  double weight; /* 1 where there are no weights */
} wr_edge_names;

/* A record that holds an edge; *record is at its beginning, and afterwards at its end. `where` begins the error; WR_EINPUT with
 * the first column that is wrong. *quote := what was wrong with a quote, else WR_FIELD_TAKEN, without a failure for it. */
wr_status wr_edge_record_parse(const wr_edge_format *format, wr_record *record, const char *where, wr_edge_names *edge,
                               wr_field *quote);

/* Fails for the quote of a record that begins at `begin`, on the line with the number: with the line of the quote. */
wr_status wr_edge_fail_quote(wr_field what, const wr_record *record, const char *begin, const char *name, int64_t line);

/* The id that a word is, an integer. */
wr_status wr_edge_word_number(const wr_edge_word *word, const char *where, const char *what, int64_t *id);

/* Moves the beginnings of all parts to those of records, for texts that have quotes with ends of lines inside: one pass over
 * the text, by all threads. WR_EINPUT: cannot be read; WR_ENOMEM. */
wr_status wr_edge_records_align(const wr_text *text, char separator, wr_text_parts *parts);

#endif
