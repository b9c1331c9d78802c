#define _DEFAULT_SOURCE /* fileno, strcasecmp */
#include "solvers/report/writer.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "solvers/report/html.h"

enum { INDENT = 12 };

/* "en_GB.UTF-8", "C.utf8": the codeset stands behind the point, before a modifier. */
static int locale_has_utf8(void) {
  static const char *const variables[] = {"LC_ALL", "LC_CTYPE", "LANG"};
  const char *locale = NULL;
  for (size_t k = 0; k < sizeof variables / sizeof *variables && (locale == NULL || locale[0] == '\0'); k++)
    locale = getenv(variables[k]);
  const char *codeset = locale ? strchr(locale, '.') : NULL;
  return codeset && (strncasecmp(codeset + 1, "utf-8", 5) == 0 || strncasecmp(codeset + 1, "utf8", 4) == 0);
}

wr_writer wr_writer_of_text(FILE *file) {
  return (wr_writer){.file = file, .has_blocks = isatty(fileno(file)) && locale_has_utf8()};
}

void wr_writer_paragraph(wr_writer *writer, const wr_line *line) {
  if (!writer->is_html) {
    wr_line_print(writer->file, line, 0, 2);
    return;
  }
  wr_writer_end(writer);
  fputs("<p>", writer->file);
  wr_html_sentence(writer->file, line->text);
  fputs("</p>\n", writer->file);
}

void wr_writer_item(wr_writer *writer, const char *label, const wr_line *line) {
  if (!writer->is_html) {
    fprintf(writer->file, "  %-*s", INDENT - 2, label);
    wr_line_print(writer->file, line, INDENT, INDENT);
    return;
  }
  if (!writer->in_list) fputs("<dl>\n", writer->file);
  writer->in_list = 1;
  if (label[0]) fprintf(writer->file, "<dt>%s</dt>", label);
  fputs("<dd>", writer->file);
  wr_html_sentence(writer->file, line->text);
  fputs("</dd>\n", writer->file);
}

void wr_writer_command(wr_writer *writer, const char *command) {
  if (!writer->is_html) {
    wr_command_print(writer->file, command, INDENT);
    return;
  }
  fputs(writer->in_list ? "<dd><code>" : "<p><code>", writer->file);
  wr_html_text(writer->file, command);
  fputs(writer->in_list ? "</code></dd>\n" : "</code></p>\n", writer->file);
}

void wr_writer_gap(wr_writer *writer) {
  if (!writer->is_html) fputc('\n', writer->file);
}

void wr_writer_end(wr_writer *writer) {
  if (writer->in_list) fputs("</dl>\n", writer->file);
  writer->in_list = 0;
}
