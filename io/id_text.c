#include "io/id_text.h"

#include <string.h>

#include "config/text.h"

static int needs_quotes(const char *name, int64_t length, char separator) {
  char first = name[0], last = name[length - 1];
  if (first == ' ' || first == '\t' || last == ' ' || last == '\t' || first == '#' || first == '%') return 1;
  const char others[] = {separator, '"', '\n', '\r'};
  for (size_t k = 0; k < sizeof others; k++)
    if (memchr(name, others[k], (size_t)length) != NULL) return 1;
  return 0;
}

void wr_id_put_field(FILE *file, const wr_ids *ids, int64_t node, char separator) {
  int64_t length;
  if (ids == NULL || ids->names == NULL) {
    fprintf(file, "%lld", (long long)(ids != NULL ? wr_ids_at(ids, node) : node + 1));
    return;
  }
  const char *name = wr_ids_name(ids, node, &length);
  if (!needs_quotes(name, length, separator)) {
    fwrite(name, 1, (size_t)length, file);
    return;
  }
  fputc('"', file);
  for (int64_t k = 0; k < length; k++) {
    if (name[k] == '"') fputc('"', file);
    fputc(name[k], file);
  }
  fputc('"', file);
}

void wr_id_put_json(FILE *file, const wr_ids *ids, int64_t node) {
  int64_t length, step;
  if (ids == NULL || ids->names == NULL) {
    wr_id_put_field(file, ids, node, ',');
    return;
  }
  const char *name = wr_ids_name(ids, node, &length);
  fputc('"', file);
  for (int64_t k = 0; k < length; k += step) {
    step = wr_text_character(name + k, length - k);
    if (step == 0)
      fputs("\\ufffd", file), step = 1;
    else if (name[k] == '"' || name[k] == '\\')
      fprintf(file, "\\%c", name[k]);
    else if ((unsigned char)name[k] < 0x20)
      fprintf(file, "\\u%04x", (unsigned)name[k]);
    else
      fwrite(name + k, 1, (size_t)step, file);
  }
  fputc('"', file);
}
