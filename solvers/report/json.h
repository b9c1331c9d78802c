/* Writes JSON (RFC 8259), indented or as one line, to a stream, with commas, line ends and escapes. The caller pairs begins
 * and ends. Errors of writing are those of the stream: ferror.
 *
 *   wr_json json = {.file = file};
 *   wr_json_begin(&json, NULL, '{');
 *   wr_json_integer(&json, "nnz", 10);
 *   wr_json_end(&json, '}');
 *
 * A name is given inside an object and NULL inside an array or at the top. */
#ifndef WR_JSON_H
#define WR_JSON_H

#include <stdint.h>
#include <stdio.h>

typedef struct wr_json {
  FILE *file;
  int depth;    /* of open objects and arrays           */
  int in_list;  /* 1: a value precedes, so that a comma is due */
  int one_line; /* 1: no line ends but the last one      */
} wr_json;

void wr_json_begin(wr_json *json, const char *name, char bracket); /* '{' or '[' */
void wr_json_end(wr_json *json, char bracket);                     /* '}' or ']' */

/* Begins it if is_there; else its value is null. Returns is_there. */
int wr_json_begin_if(wr_json *json, const char *name, char bracket, int is_there);

/* NULL becomes null; bytes that are no UTF-8 become U+FFFD. */
void wr_json_text(wr_json *json, const char *name, const char *value);
void wr_json_integer(wr_json *json, const char *name, int64_t value); /* every digit */
void wr_json_real(wr_json *json, const char *name, double value); /* reads back to the same bits; not finite: null */
void wr_json_boolean(wr_json *json, const char *name, int value);
void wr_json_null(wr_json *json, const char *name);

/* For quantities that may not have been measured: null unless the value is positive, or not negative. */
void wr_json_positive(wr_json *json, const char *name, double value);
void wr_json_count(wr_json *json, const char *name, int64_t value);

/* Writes what precedes a value: a comma behind the value before, a line end, and the name. The caller writes the value. */
void wr_json_begin_value(wr_json *json, const char *name);

void wr_json_now(wr_json *json, const char *name); /* "2026-11-22T08:15:00Z" */

#endif
