#include "solvers/report/csv.h"

#include <math.h>
#include <string.h>

#include "io/number.h"

void wr_csv_text(FILE *file, const char *text) {
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

void wr_csv_real(FILE *file, double value) {
  char text[32];
  if (isfinite(value))
    wr_number_text(value, text);
  else
    snprintf(text, sizeof text, "%s", isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
  fputs(text, file);
}
