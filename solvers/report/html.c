#include "solvers/report/html.h"

#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include "config/text.h"

enum { MOST_WHOLE = 24 };

static uint32_t code_point(const unsigned char *text, int bytes) {
  if (bytes == 1) return text[0];
  uint32_t code = text[0] & (0xFFu >> (bytes + 1));
  for (int k = 1; k < bytes; k++) code = code << 6 | (text[k] & 0x3Fu);
  return code;
}

/* C1 controls, marks and overrides of the direction of text, line and paragraph separators, and noncharacters. */
static int is_harmful(uint32_t code) {
  if (code >= 0x80 && code < 0xA0) return 1;
  if (code == 0x200E || code == 0x200F || (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069))
    return 1;
  return (code >= 0xFDD0 && code <= 0xFDEF) || (code & 0xFFFE) == 0xFFFE;
}

/* The characters of text[0..length-1], none of which is cut at the end. */
static void write_part(FILE *file, const char *text, size_t length) {
  static const char *const references[] = {
      ['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;", ['"'] = "&quot;", ['\''] = "&#39;"};
  for (const char *at = text; at < text + length;) {
    int bytes = wr_text_character(at, 4); /* the 0 at the end of text is no part of a character */
    uint32_t code = bytes > 0 ? code_point((const unsigned char *)at, bytes) : 0xFFFE;
    if (code < ' ' || code == 127)
      fprintf(file, "&#x%X;", 0x2400 + (code == 127 ? 0x21 : code));
    else if (is_harmful(code))
      fputs("&#xFFFD;", file);
    else if (code < sizeof references / sizeof *references && references[code])
      fputs(references[code], file);
    else
      fwrite(at, 1, (size_t)bytes, file);
    at += bytes > 0 ? bytes : 1;
  }
}

void wr_html_text(FILE *file, const char *text) { write_part(file, text, strlen(text)); }

void wr_html_sentence(FILE *file, const char *text) {
  for (const char *at = text; *at != '\0';) {
    size_t length = strcspn(at, " "), gap = strspn(at + length, " ");
    int is_whole = length <= MOST_WHOLE && memchr(at, '-', length) != NULL;
    if (is_whole) fputs("<span class=\"whole\">", file);
    write_part(file, at, length);
    if (is_whole) fputs("</span>", file);
    fprintf(file, "%*s", (int)gap, "");
    at += length + gap;
  }
}

void wr_html_print(FILE *file, const char *format, ...) {
  char text[4001];
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (length >= (int)sizeof text) text[wr_text_cut(text, sizeof text - 1)] = '\0';
  wr_html_text(file, text);
}
