#define _DEFAULT_SOURCE /* gmtime_r */
#include "solvers/report/json.h"

#include <inttypes.h>
#include <math.h>
#include <time.h>

#include "config/text.h"
#include "io/number.h"

static void write_character(FILE *file, const unsigned char *text, int bytes) {
  if (bytes == 0)
    fputs("\\ufffd", file);
  else if (*text == '"' || *text == '\\')
    fprintf(file, "\\%c", *text);
  else if (*text == '\n')
    fputs("\\n", file);
  else if (*text < ' ' || *text == 127)
    fprintf(file, "\\u%04x", *text);
  else
    fwrite(text, 1, (size_t)bytes, file);
}

static void write_string(FILE *file, const char *value) {
  fputc('"', file);
  for (const unsigned char *at = (const unsigned char *)value; *at;) {
    int bytes = wr_text_character((const char *)at, 4); /* the 0 at the end is no part of a character */
    write_character(file, at, bytes);
    at += bytes ? bytes : 1;
  }
  fputc('"', file);
}

void wr_json_begin_value(wr_json *json, const char *name) {
  if (json->in_list) fputc(',', json->file);
  if (json->depth > 0 && !json->one_line) fprintf(json->file, "\n%*s", 2 * json->depth, "");
  if (name) {
    write_string(json->file, name);
    fputs(json->one_line ? ":" : ": ", json->file);
  }
  json->in_list = 1;
}

void wr_json_begin(wr_json *json, const char *name, char bracket) {
  wr_json_begin_value(json, name);
  fputc(bracket, json->file);
  json->depth++;
  json->in_list = 0;
}

int wr_json_begin_if(wr_json *json, const char *name, char bracket, int is_there) {
  if (is_there)
    wr_json_begin(json, name, bracket);
  else
    wr_json_null(json, name);
  return is_there;
}

void wr_json_end(wr_json *json, char bracket) {
  json->depth--;
  if (json->in_list && !json->one_line) fprintf(json->file, "\n%*s", 2 * json->depth, "");
  fputc(bracket, json->file);
  if (json->depth == 0) fputc('\n', json->file);
  json->in_list = json->depth > 0;
}

void wr_json_text(wr_json *json, const char *name, const char *value) {
  if (!value) {
    wr_json_null(json, name);
    return;
  }
  wr_json_begin_value(json, name);
  write_string(json->file, value);
}

void wr_json_integer(wr_json *json, const char *name, int64_t value) {
  wr_json_begin_value(json, name);
  fprintf(json->file, "%" PRId64, value);
}

void wr_json_real(wr_json *json, const char *name, double value) {
  char text[32];
  if (!isfinite(value)) {
    wr_json_null(json, name);
    return;
  }
  wr_json_begin_value(json, name);
  wr_number_text(value, text);
  fputs(text, json->file);
}

void wr_json_boolean(wr_json *json, const char *name, int value) {
  wr_json_begin_value(json, name);
  fputs(value ? "true" : "false", json->file);
}

void wr_json_null(wr_json *json, const char *name) {
  wr_json_begin_value(json, name);
  fputs("null", json->file);
}

void wr_json_positive(wr_json *json, const char *name, double value) {
  wr_json_real(json, name, value > 0 ? value : NAN);
}

void wr_json_count(wr_json *json, const char *name, int64_t value) {
  if (value >= 0)
    wr_json_integer(json, name, value);
  else
    wr_json_null(json, name);
}

void wr_json_now(wr_json *json, const char *name) {
  time_t now = time(NULL);
  struct tm date;
  char text[32] = "";
  if (gmtime_r(&now, &date)) strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &date);
  wr_json_text(json, name, text);
}
