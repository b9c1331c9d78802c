/* Option files: lines of `name = value`, and settings in that form. */
#define _DEFAULT_SOURCE /* open_memstream */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#include "config/argument.h"
#include "config/memory.h"
#include "config/option_row.h"

enum {
  WHERE = 4096 + 32,     /* bytes of "path:line": a longer path cannot be opened */
  LONGEST_LINE = 1 << 24 /* bytes                                                */
};

typedef struct line {
  char *text; /* [room] */
  size_t length, room;
  long long number; /* from 1 */
} line;

static wr_status append(line *to, char byte) {
  if (to->length == to->room) {
    size_t room = to->room > 0 ? 2 * to->room : 64;
    char *text;
    PASS(wr_alloc(&text, (int64_t)room, 1, "a line of an option file"));
    if (to->length > 0) memcpy(text, to->text, to->length);
    wr_free(to->text);
    to->text = text;
    to->room = room;
  }
  to->text[to->length++] = byte;
  return WR_OK;
}

/* Reads the next line, without its end (LF, CR LF or the file's). *more is 0 after the last. */
static wr_status next_line(FILE *in, const char *path, line *to, int *more) {
  int byte;
  to->length = 0;
  to->number++;
  errno = 0;
  while ((byte = getc(in)) != EOF && byte != '\n') {
    if (byte == '\0')
      return wr_fail(WR_EINPUT, "%s:%lld: a NUL byte: options are read from text files", path, to->number);
    if (to->length == LONGEST_LINE)
      return wr_fail(WR_EINPUT, "%s:%lld: a line longer than %d bytes", path, to->number, LONGEST_LINE);
    PASS(append(to, (char)byte));
  }
  if (ferror(in)) return wr_fail(WR_EINPUT, "%s:%lld: cannot be read (%s)", path, to->number, strerror(errno));
  *more = byte != EOF || to->length > 0;
  if (to->length > 0 && to->text[to->length - 1] == '\r') to->length--;
  return append(to, '\0');
}

static char *skip_blanks(char *text) { return text + strspn(text, " \t"); }

/* The end of text[length] without the blanks that it ends with. */
static char *trimmed_end(char *text, size_t length) {
  while (length > 0 && (text[length - 1] == ' ' || text[length - 1] == '\t')) length--;
  return text + length;
}

/* The byte of a backslash, an x and two hexadecimal digits at the beginning of text, or 0: it is something else. */
static char hexadecimal(const char *text) {
  char digits[3] = "";
  if (text[1] != 'x' || !isxdigit((unsigned char)text[2]) || !isxdigit((unsigned char)text[3])) return 0;
  memcpy(digits, text + 2, 2);
  return (char)strtol(digits, NULL, 16);
}

/* Replaces the quoted text by what it says; *rest is what follows the closing quote. */
static wr_status unquote(char *text, char **rest, const char *where) {
  char *to = text;
  for (char *from = text + 1; *from != '\0'; from++) {
    if (*from == '"') {
      *to = '\0';
      *rest = from + 1;
      return WR_OK;
    }
    char byte = *from;
    if (byte == '\\') {
      static const char escapes[] = "\"\\nr", meant[] = "\"\\\n\r";
      const char *escape = from[1] != '\0' ? strchr(escapes, from[1]) : NULL;
      byte = escape ? meant[escape - escapes] : hexadecimal(from);
      if (byte == '\0') return wr_fail(WR_EINPUT, "%s: in quotes a backslash is written \\\\", where);
      from += escape ? 1 : 3;
    }
    *to++ = byte;
  }
  return wr_fail(WR_EINPUT, "%s: the closing quote is missing", where);
}

/* Takes "value # comment" apart in place. A # inside unquoted text may be meant either way, so it is refused. */
static wr_status parse_value(const wr_option *row, char *value, const char *where) {
  if (value[0] == '"') {
    char *rest = NULL;
    PASS(unquote(value, &rest, where));
    rest = skip_blanks(rest);
    if (*rest == '\0' || *rest == '#') return WR_OK;
    return wr_fail(WR_EINPUT, "%s: something follows the closing quote (a quote in quotes is written \\\")", where);
  }
  size_t length = strcspn(value, "#");
  char *end = trimmed_end(value, length);
  if (end == value) return wr_fail(WR_EINPUT, "%s: %s has no value (the empty text is \"\")", where, row->name);
  if (value[length] == '#' && end == value + length && row->type == WR_OPTION_TEXT)
    return wr_fail(WR_EINPUT, "%s: a # within text: put the text in quotes, or a blank before the comment", where);
  *end = '\0';
  return WR_OK;
}

static wr_status parse_line(const wr_option *table, void *settings, char *name, const char *where) {
  name = skip_blanks(name);
  if (*name == '\0' || *name == '#') return WR_OK;
  size_t length = strcspn(name, "=#");
  char *end = trimmed_end(name, length);
  if (name[length] != '=' || end == name) return wr_fail(WR_EINPUT, "%s: the line is not name = value", where);
  char *value = skip_blanks(name + length + 1);
  *end = '\0';
  const wr_option *row = wr_option_find(table, name);
  if (row != NULL) {
    if (wr_option_is_config(row)) return wr_fail(WR_EUSAGE, "%s: config: an option file cannot name another", where);
    if (row->command) return wr_fail(WR_EUSAGE, "%s: %s: an action is for the command line alone", where, name);
    PASS(parse_value(row, value, where));
  }
  return wr_option_set(table, settings, name, value, where);
}

wr_status wr_options_read(const wr_option *table, void *settings, const char *path) {
  if (table) WR_NEED(settings);
  WR_NEED(path);
  FILE *in = fopen(path, "r");
  if (in == NULL) return wr_fail(WR_EINPUT, "%s: cannot be opened (%s)", path, strerror(errno));
  char where[WHERE];
  line current = {0};
  int more = 0;
  wr_status status;
  for (;;) {
    TRY(next_line(in, path, &current, &more));
    if (!more) break;
    static const char mark[] = "\xEF\xBB\xBF"; /* some editors begin UTF-8 files with it */
    int marked = current.number == 1 && strncmp(current.text, mark, 3) == 0;
    snprintf(where, sizeof where, "%s:%lld", path, current.number);
    TRY(parse_line(table, settings, current.text + (marked ? 3 : 0), where));
  }
done:
  fclose(in);
  wr_free(current.text);
  return status;
}

static void write_quoted(const char *text, FILE *out) {
  fputc('"', out);
  for (; *text != '\0'; text++) {
    int has_letter = strchr("\"\\\n\r", *text) != NULL;
    if (!has_letter && wr_option_is_control(*text)) {
      fprintf(out, "\\x%02x", (unsigned char)*text);
      continue;
    }
    if (has_letter) fputc('\\', out);
    fputc(*text == '\n' ? 'n' : *text == '\r' ? 'r' : *text, out);
  }
  fputc('"', out);
}

/* Rows that a file may not name are left out too: config, and those of parts that this build lacks. */
void wr_options_write(const wr_option *table, const void *settings, FILE *out) {
  WR_EACH_OPTION(row, table) {
    char number[WR_OPTION_WORD];
    size_t length;
    if (settings == NULL || out == NULL) return;
    const char *value = wr_option_value_text(row, settings, number, &length);
    if (value == NULL || row->command || row->missing != NULL || wr_option_is_config(row)) continue;
    fprintf(out, "%s = ", row->name);
    if (row->type == WR_OPTION_TEXT)
      write_quoted(value, out);
    else
      fwrite(value, 1, length, out);
    fputc('\n', out);
  }
}

wr_status wr_options_text(const wr_option *table, const void *settings, char **text) {
  size_t size;
  WR_NEED(text);
  *text = NULL;
  WR_NEED(settings);
  FILE *stream = open_memstream(text, &size);
  if (stream == NULL) return wr_fail(WR_ENOMEM, "out of memory: the text of the options");
  wr_options_write(table, settings, stream);
  return fclose(stream) == 0 ? WR_OK : wr_fail(WR_ENOMEM, "out of memory: the text of the options");
}
