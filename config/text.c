#define _DEFAULT_SOURCE /* fileno, ioctl */
#include "config/text.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "config/memory.h"

enum { MOST_COLUMNS = 10000 };

/* The value of COLUMNS, or 0 where it is not set or not a whole number in range. */
static int columns_of_environment(void) {
  const char *text = getenv("COLUMNS");
  int columns = 0;
  for (; text != NULL && isdigit((unsigned char)*text) && columns <= MOST_COLUMNS; text++)
    columns = 10 * columns + (*text - '0');
  return text != NULL && *text == '\0' && columns <= MOST_COLUMNS ? columns : 0;
}

int wr_text_width(FILE *out) {
  struct winsize size = {0};
  int columns = 0;
  if (ioctl(fileno(out), TIOCGWINSZ, &size) == 0) columns = size.ws_col;
  if (columns == 0) columns = columns_of_environment();
  return columns > WR_LEAST_WIDTH ? columns : WR_LEAST_WIDTH;
}

/* Control characters print as blanks. */
static int is_blank(char byte) { return ((unsigned char)byte <= ' ' && byte != '\0') || byte == 127; }

static const char *skip_blanks(const char *text) {
  while (is_blank(*text)) text++;
  return text;
}

static size_t word_bytes(const char *text) {
  size_t bytes = 0;
  while (text[bytes] != '\0' && !is_blank(text[bytes])) bytes++;
  return bytes;
}

static int continues_character(char byte) { return ((unsigned char)byte & 0xC0) == 0x80; }

size_t wr_text_cut(const char *text, size_t at) {
  for (size_t back = 0; back < 4 && back < at; back++)
    if (!continues_character(text[at - back])) return at - back;
  return at;
}

int wr_text_character(const char *text, int64_t length) {
  const unsigned char *byte = (const unsigned char *)text;
  unsigned char lead = length > 0 ? byte[0] : 0, low = 0x80, high = 0xBF; /* bounds of the second byte */
  if (length < 1) return 0;
  if (lead < 0x80) return 1;
  if (lead < 0xC2 || lead > 0xF4) return 0;
  int bytes = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (lead == 0xE0) low = 0xA0;
  if (lead == 0xED) high = 0x9F;
  if (lead == 0xF0) low = 0x90;
  if (lead == 0xF4) high = 0x8F;
  if (length < bytes || byte[1] < low || byte[1] > high) return 0;
  for (int k = 2; k < bytes; k++)
    if ((byte[k] & 0xC0) != 0x80) return 0;
  return bytes;
}

/* Whether text[0..length-1] is a number, perhaps behind an opening bracket or another sign: "15", "(1e-9", "<=3". */
static int is_number(const char *text, size_t length) {
  for (size_t k = 0; k < length; k++)
    if (isalpha((unsigned char)text[k]) && strchr("eE", text[k]) == NULL) return 0;
  return length > 0 && isdigit((unsigned char)text[length - 1]);
}

/* Whether the blank at text[at] stands between a number and its unit or the word before it, within "[0, 1]", or beside the
 * sign of "b = A x". */
static int joins_number(const char *text, size_t at) {
  size_t begin = at;
  while (begin > 0 && !is_blank(text[begin - 1])) begin--;
  unsigned char next = (unsigned char)text[at + 1];
  if (text[at - 1] == '=' || strchr("=<>", next) != NULL) return next != '\0';
  if (text[at - 1] == ',') return strchr("([", text[begin]) != NULL && isdigit(next);
  if (is_number(text + begin, at - begin)) return isalpha(next);
  return isalpha((unsigned char)text[at - 1]) && isdigit(next);
}

/* Bytes of a word wider than `room` that go on this line: up to the last punctuation in the second half of the room. */
static size_t part_of_word(const char *text, size_t room) {
  for (size_t bytes = room; bytes > room / 2; bytes--)
    if (strchr(":,/;=|", text[bytes - 1])) return bytes;
  return wr_text_cut(text, room);
}

/* Bytes of text that go on a line with this much room: up to the last blank that does not join a number and its unit, else
 * up to the last blank. 0: the first word does not fit here, but fits on a line of `full` bytes. */
static size_t bytes_that_fit(const char *text, size_t room, size_t full) {
  size_t length = strlen(text), last = 0;
  if (length <= room) return length;
  for (size_t at = room; at > 0; at--) {
    if (!is_blank(text[at])) continue;
    if (last == 0) last = at;
    if (!joins_number(text, at)) return at;
  }
  if (last > 0) return last;
  return word_bytes(text) <= full ? 0 : part_of_word(text, room);
}

void wr_text_wrap(FILE *out, const char *text, int at, int indent) {
  int width = wr_text_width(out);
  size_t full = (size_t)(width - indent), room = (size_t)(width - at);
  text = skip_blanks(text);
  for (;;) {
    size_t bytes = bytes_that_fit(text, room, full), printed = bytes;
    while (printed > 0 && is_blank(text[printed - 1])) printed--;
    for (size_t k = 0; k < printed; k++) fputc(is_blank(text[k]) ? ' ' : text[k], out);
    fputc('\n', out);
    text = skip_blanks(text + bytes);
    if (*text == '\0') return;
    fprintf(out, "%*s", indent, "");
    room = full;
  }
}

void wr_text_message(FILE *out, const char *format, ...) {
  char text[8000];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  for (char *c = text; *c != '\0'; c++)
    if (is_blank(*c)) *c = ' ';
  if (isatty(fileno(out)))
    wr_text_wrap(out, text, 0, 2);
  else
    fprintf(out, "%s\n", text);
}

int wr_text_is_first(const char *const *texts, int k) {
  for (int m = 0; m < k; m++)
    if (strcmp(texts[m], texts[k]) == 0) return 0;
  return 1;
}

static void write_reason(FILE *to, const char *begin, const char *const *names, const char *const *reasons, int count,
                         int first) {
  for (int k = first; k < count; k++)
    if (strcmp(reasons[k], reasons[first]) == 0) fprintf(to, "%s%s", k == first ? begin : ", ", names[k]);
  fprintf(to, ": %s", reasons[first]);
}

void wr_text_reasons(FILE *out, const char *begin, const char *const *names, const char *const *reasons, int count) {
  for (int k = 0; k < count; k++) {
    char *text = NULL;
    size_t size;
    if (!wr_text_is_first(reasons, k)) continue;
    FILE *line = open_memstream(&text, &size);
    if (line == NULL) continue; /* out of memory: the other paragraphs may have room */
    write_reason(line, begin, names, reasons, count, k);
    if (fclose(line) == 0) wr_text_wrap(out, text, 0, 2);
    wr_free(text);
  }
}
