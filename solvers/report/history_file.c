#include "solvers/report/history_file.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "io/output_file.h"
#include "io/vector_file.h"

/* A field with a comma, a quote or a line end stands in quotes, inner quotes doubled (RFC 4180, section 2). */
static void write_field(FILE *file, const char *text) {
  if (!strpbrk(text, ",\"\r\n")) {
    fputs(text, file);
    return;
  }
  fputc('"', file);
  for (const char *at = text; *at; at++) {
    if (*at == '"') fputc('"', file);
    fputc(*at, file);
  }
  fputc('"', file);
}

static const char *number(double value, char *text) {
  if (isnan(value)) return "nan";
  if (isinf(value)) return value > 0 ? "inf" : "-inf";
  wr_number_text(value, text);
  return text;
}

wr_status wr_history_write(const char *path, const wr_history_series *series, int count) {
  wr_output_file out;
  char text[32];
  PASS(wr_output_open(path, &out));
  fputs("backend,iteration,measure\n", out.file);
  for (int s = 0; s < count; s++) {
    const wr_history *history = series[s].history;
    for (int64_t at = 0; at < history->count; at++) {
      write_field(out.file, series[s].label);
      fprintf(out.file, ",%" PRId64 ",%s\n", history->iteration[at], number(history->measure[at], text));
    }
  }
  return wr_output_commit(&out);
}
