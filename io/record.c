#include "io/record.h"

#include <string.h>

static int is_blank(char c) { return c == ' ' || c == '\t'; }

/* Sets the end of the line on which `at` is, and where the next one begins. */
static inline void find_line_end(wr_record *r, const char *at) {
  const char *end = memchr(at, '\n', (size_t)(r->end - at));
  r->next = end != NULL ? end + 1 : r->end;
  r->line_end = end != NULL ? end : r->end;
  if (r->line_end > at && r->line_end[-1] == '\r') r->line_end--;
}

wr_record wr_record_at(const char *at, const char *end, char separator) {
  wr_record r = {.at = at, .end = end, .separator = separator};
  find_line_end(&r, at);
  return r;
}

static inline const char *skip_blanks(const wr_record *r, const char *at) {
  while (at < r->line_end && (*at == ' ' || (*at == '\t' && r->separator != '\t'))) at++;
  return at;
}

static wr_field close_field(wr_record *r, const char *at) {
  const char *behind = skip_blanks(r, at);
  r->at = behind;
  int right = behind == r->line_end || (r->separator == ' ' ? behind > at : *behind == r->separator);
  return right ? WR_FIELD_TAKEN : WR_FIELD_FOLLOWED;
}

/* `at` is behind the opening quote. */
static wr_field take_quoted(wr_record *r, const char *at) {
  const char *last = at;
  r->word = at, r->quoted = 1, r->doubled = 0;
  for (;; last += 2) {
    last = memchr(last, '"', (size_t)(r->end - last));
    if (last == NULL) return WR_FIELD_OPEN;
    if (last + 1 == r->end || last[1] != '"') break;
    r->doubled = 1;
  }
  r->word_end = last;
  r->spans = last >= r->line_end;
  if (r->spans) find_line_end(r, last + 1);
  return close_field(r, last + 1);
}

wr_field wr_record_take(wr_record *r) {
  const char *at = skip_blanks(r, r->at), *stop;
  if (at == r->line_end && (r->taken > 0 || r->separator == ' ')) return WR_FIELD_NONE;
  if (r->taken > 0 && r->separator != ' ') at = skip_blanks(r, at + 1); /* behind the separator */
  r->taken++;
  if (at < r->line_end && *at == '"') return take_quoted(r, at + 1);
  r->quoted = r->doubled = r->spans = 0;
  r->word = at;
  if (r->separator == ' ')
    for (stop = at; stop < r->line_end && !is_blank(*stop);) stop++;
  else if ((stop = memchr(at, r->separator, (size_t)(r->line_end - at))) == NULL)
    stop = r->line_end;
  r->at = r->word_end = stop;
  while (r->word_end > r->word && is_blank(r->word_end[-1])) r->word_end--;
  return WR_FIELD_TAKEN;
}

/* A field with something behind its quote is a defect, which its reader finds: here the line is the record's rest. */
static const char *skip_fields(wr_record *r) {
  for (;;) switch (wr_record_take(r)) {
      case WR_FIELD_TAKEN: break;
      case WR_FIELD_OPEN: return NULL;
      default: return r->next;
    }
}

const char *wr_record_skip(const char *at, const char *end, char separator) {
  wr_record r = wr_record_at(at, end, separator);
  if (memchr(at, '"', (size_t)(r.line_end - at)) == NULL) return r.next;
  return skip_fields(&r);
}

const char *wr_record_skip_inside(const char *at, const char *end, char separator) {
  wr_record r = {.at = at, .end = end, .line_end = at, .separator = separator, .taken = 1};
  wr_field field = take_quoted(&r, at);
  if (field == WR_FIELD_OPEN) return NULL;
  return field == WR_FIELD_TAKEN ? skip_fields(&r) : r.next;
}

enum { TAB, COMMA, SEMICOLON, BLANK, SEPARATORS };

static int is_line_end(const char *at, const char *end) { return at == end || *at == '\n' || *at == '\r'; }

char wr_record_separator(const char *at, const char *end, int is_csv) {
  static const char all[SEPARATORS] = {'\t', ',', ';', ' '};
  int64_t count[SEPARATORS] = {0},
          apart = 0;             /* apart: runs of blanks that stand beside neither a comma nor a semicolon */
  char before = ',', told = ' '; /* before: the character before the blanks */
  int inside = 0, kinds = 0;
  while (at < end && is_blank(*at)) at++;
  for (; at < end && (inside || !is_line_end(at, end)); at++) {
    if (*at == '"') inside = !inside;
    if (inside) continue;
    if (*at != ' ') {
      for (int s = 0; s < BLANK; s++) count[s] += *at == all[s];
      before = *at;
      continue;
    }
    while (at + 1 < end && at[1] == ' ') at++;
    if (is_line_end(at + 1, end)) break;
    count[BLANK]++;
    apart += before != ',' && before != ';' && at[1] != ',' && at[1] != ';';
  }
  for (int s = 0; s < SEPARATORS; s++)
    if (count[s] > 0) kinds++, told = all[s];
  if (kinds <= 1) return told;
  if (count[TAB] > 0) return '\t';
  if (count[COMMA] > 0 && count[SEMICOLON] > 0) return 0;
  if (!is_csv && apart > 0) return 0;
  return count[COMMA] > 0 ? ',' : ';';
}
