#include "io/edge.h"

#include <string.h>

#include "config/memory.h"
#include "io/digits.h"
#include "io/number.h"

/* A word that is taken from a line, with all that its error needs. */
typedef struct cursor {
  const char *where, *begin, *at, *end; /* the line, and its rest */
  const char *word, *word_end;          /* the last word          */
  char quote[WR_QUOTE];
} cursor;

static inline int is_blank(char c) { return c == ' ' || c == '\t'; }

static inline const char *skip_blanks(const char *at, const char *end) {
  while (at < end && is_blank(*at)) at++;
  return at;
}

/* Blanks, a comma, or a comma among blanks */
static inline const char *skip_separator(const char *at, const char *end) {
  at = skip_blanks(at, end);
  return at < end && *at == ',' ? skip_blanks(at + 1, end) : at;
}

/* 0: there is no word, or nothing between two commas. */
static int take_word(cursor *c) {
  c->at = c->at == c->begin ? skip_blanks(c->at, c->end) : skip_separator(c->at, c->end);
  c->word = c->at;
  while (c->at < c->end && !is_blank(*c->at) && *c->at != ',') c->at++;
  c->word_end = c->at;
  return c->word_end > c->word;
}

static cursor cursor_at(const wr_input_line *line, const char *where) {
  return (cursor){.where = where, .begin = line->begin, .at = line->begin, .end = line->end};
}

int wr_edge_is_none(const wr_input_line *line) {
  const char *at = skip_blanks(line->begin, line->end);
  return at == line->end || *at == '#' || *at == '%';
}

static int is_letter(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }

int wr_edge_is_heading(const wr_input_line *line) {
  cursor c = cursor_at(line, "");
  int words = 0;
  for (; take_word(&c); words++) {
    const char *first = c.word + (*c.word == '"' || *c.word == '\'');
    if (first == c.word_end || !is_letter(*first)) return 0;
  }
  return words >= 2;
}

int wr_edge_columns(const wr_input_line *line) {
  cursor c = cursor_at(line, "");
  int words = 0;
  while (take_word(&c)) words++;
  return words;
}

static const char *quoted(cursor *c) { return wr_quote(c->word, c->word_end, c->quote); }

static wr_status parse_id(cursor *c, const char *what, int64_t *id) {
  if (!take_word(c)) return wr_fail(WR_EINPUT, "%s: the %s is missing", c->where, what);
  switch (wr_number_integer(c->word, c->word_end, id)) {
    case WR_NUMBER_BAD: return wr_fail(WR_EINPUT, "%s: the %s is not an integer ('%s')", c->where, what, quoted(c));
    case WR_NUMBER_OVERFLOW: return wr_fail(WR_EINPUT, "%s: the %s is beyond 64 bits (%s)", c->where, what, quoted(c));
    case WR_NUMBER_OK: break;
  }
  if (*id < 0) return wr_fail(WR_EINPUT, "%s: the %s is negative (%s)", c->where, what, quoted(c));
  return WR_OK;
}

static wr_status parse_weight(cursor *c, const wr_edge_format *f, double *weight) {
  if (!take_word(c)) return wr_fail(WR_EINPUT, "%s: the weight is missing, which the first edge has", c->where);
  switch (wr_number_real(c->word, c->word_end, weight)) {
    case WR_NUMBER_BAD: return wr_fail(WR_EINPUT, "%s: the weight is not a number ('%s')", c->where, quoted(c));
    case WR_NUMBER_OVERFLOW:
      return wr_fail(WR_EINPUT, "%s: the weight is too big for a double (%s)", c->where, quoted(c));
    case WR_NUMBER_OK: break;
  }
  if (f->nonnegative && *weight < 0)
    return wr_fail(WR_EINPUT, "%s: a negative weight where none may be (%s)", c->where, quoted(c));
  return WR_OK;
}

static wr_status check_rest(cursor *c, const wr_edge_format *f) {
  const char *rest = skip_blanks(c->at, c->end);
  if (rest == c->end) return WR_OK;
  c->word = rest, c->word_end = c->end;
  if (f->weighted) return wr_fail(WR_EINPUT, "%s: more than source, target and weight ('%s')", c->where, quoted(c));
  return wr_fail(WR_EINPUT, "%s: more than the two columns of the first edge ('%s')", c->where, quoted(c));
}

wr_status wr_edge_parse(const wr_edge_format *format, const wr_input_line *line, const char *where, wr_edge *edge) {
  cursor c = cursor_at(line, where);
  *edge = (wr_edge){.weight = 1};
  if (memchr(line->begin, '\r', (size_t)(line->end - line->begin)) != NULL)
    return wr_fail(WR_EINPUT, "%s: a carriage return inside a line; lines must end with LF or CR LF", where);
  wr_status status = parse_id(&c, "source id", &edge->source);
  if (status == WR_OK) status = parse_id(&c, "target id", &edge->target);
  if (status == WR_OK && format->weighted) status = parse_weight(&c, format, &edge->weight);
  return status == WR_OK ? check_rest(&c, format) : status;
}

void wr_edge_append(const wr_edge_format *format, const wr_edge *edge, wr_edge_chunk *chunk) {
  chunk->source[chunk->count] = edge->source;
  chunk->target[chunk->count] = edge->target;
  if (format->weighted) chunk->weight[chunk->count] = edge->weight;
  chunk->count++;
}

void wr_edge_chunk_free(wr_edge_chunk *chunk) {
  wr_free(chunk->source);
  wr_free(chunk->target);
  wr_free(chunk->weight);
  *chunk = (wr_edge_chunk){.count = 0};
}

/* The fast parser. Its functions return where they stopped, or NULL for what they do not understand: signs of ids, more than
 * 19 digits, comments, and whatever is wrong. */

/* The digits at `at`, at most `most` of them, behind those of *id. */
static inline const char *scan_more(const char *at, const char *end, int most, uint64_t *id) {
  uint64_t word = wr_load8(at, end);
  int count = wr_digit_count(word);
  if (count > most) return NULL;
  if (count > 0) *id = *id * wr_small_power[count] + wr_digit_value(word, count);
  return at + count;
}

/* 1 to 19 digits, which fit 64 bits, though perhaps not 63 */
static inline const char *scan_id(const char *at, const char *end, int64_t *id) {
  uint64_t word = wr_load8(at, end), number;
  int count = wr_digit_count(word);
  if (count == 0) return NULL;
  number = wr_digit_value(word, count);
  const char *stop = at + count;
  if (count == 8) stop = scan_more(stop, end, 8, &number);
  if (stop == at + 16) stop = scan_more(stop, end, 3, &number);
  *id = (int64_t)number;
  return *id < 0 ? NULL : stop;
}

static inline const char *scan_line_end(const char *at, const char *end) {
  at = skip_blanks(at, end);
  if (at < end && *at == '\r') at++;
  return at < end && *at == '\n' ? at + 1 : NULL;
}

static inline const char *scan_edge(const wr_edge_format *f, const char *at, const char *end, wr_edge *edge) {
  const char *next = scan_id(skip_blanks(at, end), end, &edge->source);
  if (next == NULL || (at = skip_separator(next, end)) == next) return NULL;
  if ((next = scan_id(at, end, &edge->target)) == NULL) return NULL;
  if (f->weighted) {
    if ((at = skip_separator(next, end)) == next) return NULL;
    if (wr_number_scan(at, end, &edge->weight, &next) != WR_NUMBER_OK || (f->nonnegative && edge->weight < 0))
      return NULL;
  }
  return scan_line_end(next, end);
}

const char *wr_edges_scan(const wr_edge_format *format, const char *at, const char *end, wr_edge_chunk *chunk) {
  const wr_edge_format f = *format; /* a copy that no store through the chunk can change */
  wr_edge_chunk c = *chunk;
  while (at < end && c.count < c.capacity) {
    wr_edge edge;
    const char *next = scan_edge(&f, at, end, &edge);
    if (next == NULL) break;
    wr_edge_append(&f, &edge, &c);
    at = next;
  }
  *chunk = c;
  return at;
}
