#include "io/edge.h"

#include <string.h>

#include "config/memory.h"
#include "io/number.h"
#include "io/scan.h"

static inline int is_blank(char c) { return c == ' ' || c == '\t'; }

/* Blanks, a comma, or a comma among blanks */
static inline const char *skip_separator(const char *at, const char *end) {
  at = wr_skip_blanks(at, end);
  return at < end && *at == ',' ? wr_skip_blanks(at + 1, end) : at;
}

int wr_edge_take(wr_edge_cursor *c) {
  const char *at = wr_skip_blanks(c->at, c->end);
  if (c->taken > 0) {
    if (at == c->end) return 0;
    at = skip_separator(at, c->end);
  }
  c->taken++;
  c->word = at;
  while (at < c->end && !is_blank(*at) && *at != ',') at++;
  c->word_end = c->at = at;
  return 1;
}

int wr_edge_is_none(const wr_input_line *line) {
  const char *at = wr_skip_blanks(line->begin, line->end);
  return at == line->end || *at == '#' || *at == '%';
}

wr_status wr_edge_check(const wr_input_line *line, const char *where) {
  size_t length = (size_t)(line->end - line->begin);
  if (memchr(line->begin, '\r', length) != NULL)
    return wr_fail(WR_EINPUT, "%s: a carriage return inside a line; lines must end with LF or CR LF", where);
  const char *quote = memchr(line->begin, '"', length);
  char text[WR_QUOTE];
  if (quote != NULL)
    return wr_fail(WR_EINPUT,
                   "%s: a quoted column (%s); save the list without quotes, or of an edge list give --separator", where,
                   wr_quote(quote, line->end, text));
  return WR_OK;
}

#define ANY_IDS "; --ids names takes ids of any kind"

static wr_status parse_id(const wr_edge_cursor *c, const char *where, const char *what, int64_t *id) {
  char quote[WR_QUOTE];
  wr_quote(c->word, c->word_end, quote);
  if (c->word == c->word_end) return wr_fail(WR_EINPUT, "%s: the %s is missing", where, what);
  switch (wr_number_integer(c->word, c->word_end, id)) {
    case WR_NUMBER_BAD: return wr_fail(WR_EINPUT, "%s: the %s is not an integer ('%s')" ANY_IDS, where, what, quote);
    case WR_NUMBER_OVERFLOW: return wr_fail(WR_EINPUT, "%s: the %s is beyond 64 bits (%s)" ANY_IDS, where, what, quote);
    case WR_NUMBER_OK: break;
  }
  if (*id < 0) return wr_fail(WR_EINPUT, "%s: the %s is negative (%s)" ANY_IDS, where, what, quote);
  return WR_OK;
}

static wr_status parse_weight(const wr_edge_cursor *c, const char *where, int nonnegative, double *weight) {
  char quote[WR_QUOTE];
  wr_quote(c->word, c->word_end, quote);
  if (c->word == c->word_end) return wr_fail(WR_EINPUT, "%s: the weight is missing", where);
  switch (wr_number_real(c->word, c->word_end, weight)) {
    case WR_NUMBER_BAD: return wr_fail(WR_EINPUT, "%s: the weight is not a number ('%s')", where, quote);
    case WR_NUMBER_OVERFLOW: return wr_fail(WR_EINPUT, "%s: the weight is too big for a double (%s)", where, quote);
    case WR_NUMBER_OK: break;
  }
  if (nonnegative && *weight < 0)
    return wr_fail(WR_EINPUT, "%s: a negative weight where none may be (%s)", where, quote);
  return WR_OK;
}

static wr_status parse_column(const wr_edge_cursor *c, const wr_edge_format *f, int k, const char *where,
                              wr_edge *edge) {
  if (k == f->source) return parse_id(c, where, "source id", &edge->source);
  if (k == f->target) return parse_id(c, where, "target id", &edge->target);
  return k == f->weight ? parse_weight(c, where, f->nonnegative, &edge->weight) : WR_OK;
}

/* Too few columns: an empty word stands for the next one, so that the sentence names what it would have been. */
static wr_status fail_missing(wr_edge_cursor *c, const wr_edge_format *f, const char *where, wr_edge *edge) {
  c->word = c->word_end = c->end;
  for (int k = c->taken; k < f->columns; k++) PASS(parse_column(c, f, k, where, edge));
  return wr_fail(WR_EINPUT, "%s: %d columns, not the %d of the first line", where, c->taken, f->columns);
}

wr_status wr_edge_parse(const wr_edge_format *format, const wr_input_line *line, const char *where, wr_edge *edge) {
  wr_edge_cursor c = {.at = line->begin, .end = line->end};
  char quote[WR_QUOTE];
  *edge = (wr_edge){.weight = 1};
  wr_status status = wr_edge_check(line, where);
  for (int k = 0; k < format->columns && status == WR_OK; k++)
    status = wr_edge_take(&c) ? parse_column(&c, format, k, where, edge) : fail_missing(&c, format, where, edge);
  const char *rest = wr_skip_blanks(c.at, c.end);
  if (status != WR_OK || rest == c.end) return status;
  return wr_fail(WR_EINPUT, "%s: more than the %d columns of the first line ('%s')", where, format->columns,
                 wr_quote(rest, c.end, quote));
}

void wr_edge_append(const wr_edge_format *format, const wr_edge *edge, wr_edge_chunk *chunk) {
  chunk->source[chunk->count] = edge->source;
  chunk->target[chunk->count] = edge->target;
  if (format->weight >= 0) chunk->weight[chunk->count] = edge->weight;
  chunk->count++;
}

void wr_edge_chunk_free(wr_edge_chunk *chunk) {
  wr_free(chunk->source);
  wr_free(chunk->target);
  wr_free(chunk->weight);
  *chunk = (wr_edge_chunk){.count = 0};
}

/* The fast parser. Its functions return where they stopped, or NULL for lines that the careful one must parse: those with signs
 * of ids or more than 19 digits, comments, and all defects. */

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

/* A column that is left out. An empty one, and quotes, are the careful parser's. */
static inline const char *scan_word(const char *at, const char *end) {
  const char *first = at;
  while (at < end && !is_blank(*at) && *at != ',' && *at != '\n' && *at != '\r' && *at != '"') at++;
  return at > first && (at == end || *at != '"') ? at : NULL;
}

static inline const char *scan_weight(const char *at, const char *end, int nonnegative, double *weight) {
  const char *stop;
  return wr_number_scan(at, end, weight, &stop) != WR_NUMBER_OK || (nonnegative && *weight < 0) ? NULL : stop;
}

static inline __attribute__((always_inline)) const char *scan_edge(const wr_edge_format f, const char *at,
                                                                   const char *end, wr_edge *edge) {
  const char *next = at;
  for (int k = 0; k < f.columns; k++) {
    at = k == 0 ? wr_skip_blanks(next, end) : skip_separator(next, end);
    if (k > 0 && at == next) return NULL;
    next = k == f.source   ? scan_id(at, end, &edge->source)
           : k == f.target ? scan_id(at, end, &edge->target)
           : k == f.weight ? scan_weight(at, end, f.nonnegative, &edge->weight)
                           : scan_word(at, end);
    if (next == NULL) return NULL;
  }
  return wr_scan_line_end(next, end);
}

static inline __attribute__((always_inline)) const char *scan_edges(const wr_edge_format f, const char *at,
                                                                    const char *end, wr_edge_chunk *chunk) {
  wr_edge_chunk c = *chunk; /* a copy that no store through its arrays can change */
  while (at < end && c.count < c.capacity) {
    wr_edge edge;
    const char *next = scan_edge(f, at, end, &edge);
    if (next == NULL) break;
    wr_edge_append(&f, &edge, &c);
    at = next;
  }
  *chunk = c;
  return at;
}

/* The two usual formats are constants, with which the compiler unrolls the loop over columns. */
const char *wr_edges_scan(const wr_edge_format *format, const char *at, const char *end, wr_edge_chunk *chunk) {
  const wr_edge_format f = *format;
  int usual = f.source == 0 && f.target == 1;
  if (usual && f.columns == 2)
    return scan_edges((wr_edge_format){.columns = 2, .target = 1, .weight = -1}, at, end, chunk);
  if (usual && f.columns == 3 && f.weight == 2)
    return scan_edges((wr_edge_format){.columns = 3, .target = 1, .weight = 2, .nonnegative = f.nonnegative}, at, end,
                      chunk);
  return scan_edges(f, at, end, chunk);
}
