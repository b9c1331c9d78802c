#include "io/input_line.h"

#include <stdio.h>
#include <string.h>

wr_input_line wr_line_at(const char *begin, const char *text_end) {
  const char *end = memchr(begin, '\n', (size_t)(text_end - begin));
  wr_input_line line = {.begin = begin, .end = end ? end : text_end, .next = end ? end + 1 : text_end};
  if (line.end > begin && line.end[-1] == '\r') line.end--;
  return line;
}

int wr_line_word(const char **at, const char *line_end, const char **word, const char **word_end) {
  const char *p = *at;
  while (p < line_end && (*p == ' ' || *p == '\t')) p++;
  *word = p;
  while (p < line_end && *p != ' ' && *p != '\t') p++;
  *word_end = *at = p;
  return p > *word;
}

int wr_line_is_blank(const wr_input_line *line) {
  const char *at = line->begin, *word, *word_end;
  return !wr_line_word(&at, line->end, &word, &word_end);
}

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

int wr_word_is(const char *word, const char *word_end, const char *name) {
  for (; word < word_end && *name != 0; word++, name++)
    if (lower(*word) != lower(*name)) return 0;
  return word == word_end && *name == 0;
}

const char *wr_where(const char *name, int64_t line, char where[WR_WHERE]) {
  size_t length = strlen(name), most = WR_WHERE - 32;
  if (length > most)
    snprintf(where, WR_WHERE, "...%s:%lld", name + (length - most), (long long)line);
  else
    snprintf(where, WR_WHERE, "%s:%lld", name, (long long)line);
  return where;
}

const char *wr_quote(const char *begin, const char *end, char text[WR_QUOTE]) {
  size_t used = 0;
  for (; begin < end && used <= 40; begin++) {
    if (*begin >= 0x20 && *begin < 0x7f)
      text[used++] = *begin;
    else
      used += (size_t)snprintf(text + used, WR_QUOTE - used, "\\x%02x", (unsigned)(unsigned char)*begin);
  }
  snprintf(text + used, WR_QUOTE - used, "%s", begin < end ? "..." : "");
  return text;
}
