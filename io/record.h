/* Records of a table whose columns have one separator throughout: lines, but for the ends of lines inside quotes. A field that
 * begins with a quotation mark reaches to the closing one and may hold separators, ends of lines, and quotation marks written
 * twice (RFC 4180, section 2). Blanks around a field do not belong to it. Internal to io/. */
#ifndef WR_RECORD_H
#define WR_RECORD_H

#include <stdint.h>

/* Goes through the fields of a record. */
typedef struct wr_record {
  const char *at, *end;        /* the rest of the text                                                     */
  const char *line_end;        /* of the line where `at` is, its end left out                              */
  const char *next;            /* the next record, when all fields were taken                              */
  char separator;              /* ',' ';' or a tab; ' ': any blanks and tabs                               */
  const char *word, *word_end; /* the field taken last, without its quotes                                 */
  int quoted, doubled, spans;  /* 1: it has quotes; quotation marks in it are doubled; it has ends of lines */
  int taken;                   /* fields                                                                   */
} wr_record;

typedef enum wr_field {
  WR_FIELD_TAKEN,
  WR_FIELD_NONE,    /* the record has no further one                                  */
  WR_FIELD_OPEN,    /* its quote is not closed in the text; `word` begins behind it   */
  WR_FIELD_FOLLOWED /* something follows its closing quote, at `at`                   */
} wr_field;

/* The record that begins at `at`. */
wr_record wr_record_at(const char *at, const char *end, char separator);

/* Takes the next field. */
wr_field wr_record_take(wr_record *record);

/* Goes on behind a closing quote whose beginning lies before the text, as if that field had been taken. NULL: the quote is not
 * closed in [at, end); else the beginning of the next record, or NULL if it has a quote that is not closed. */
const char *wr_record_skip_inside(const char *at, const char *end, char separator);

/* The beginning of the record behind the one at `at`; NULL: a quote of it is not closed in the text. */
const char *wr_record_skip(const char *at, const char *end, char separator);

/* The separator of a table by one of its lines: what occurs outside of quotes if it is only one of tab, comma, semicolon and
 * blank; a tab if it is among several; for a name that ends in .csv the one of comma and semicolon that occurs; what all blanks
 * stand beside. A blank if none occurs; 0: several would do. */
char wr_record_separator(const char *at, const char *end, int is_csv);

#endif
