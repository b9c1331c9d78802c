#include "io/vector_text.h"

#include <string.h>

#include "config/memory.h"
#include "io/edge.h"
#include "io/number.h"

typedef struct vector_reader {
  const wr_text *text;
  const wr_vector_need *need;
  int columns;          /* 1: values; 2: ids and values; 0: not known yet        */
  int headed;           /* 1: a line of names was seen                           */
  int64_t line;         /* number of the line that is being read                 */
  int64_t count;        /* values so far                                         */
  double *values;       /* [n]                                                   */
  uint64_t *given;      /* [n / 64 + 1] a bit an element: its id was there       */
  char where[WR_WHERE]; /* begins the errors         */
} vector_reader;

static int is_one_of(const wr_edge_cursor *c, const char *const *names) {
  const char *begin = c->word, *end = c->word_end;
  if (end - begin >= 2 && (*begin == '"' || *begin == '\'') && end[-1] == *begin) begin++, end--;
  for (; *names != NULL; names++)
    if (wr_word_is(begin, end, *names)) return 1;
  return 0;
}

/* What tables with an element a line are headed with; else the columns may mean something else. */
static wr_status check_heading(const vector_reader *r, const wr_input_line *line) {
  static const char *const ids[] = {"id", "node", "vertex", "page", "index", "row", "i", NULL};
  static const char *const values[] = {"value", "val", "score", "rank", "pagerank", "weight", "w", "x", "b", NULL};
  wr_edge_cursor c = {.at = line->begin, .end = line->end};
  char quote[WR_QUOTE];
  int right = wr_edge_take(&c) && is_one_of(&c, ids) && wr_edge_take(&c) && is_one_of(&c, values) && !wr_edge_take(&c);
  if (right) return WR_OK;
  return wr_fail(WR_EINPUT,
                 "%s: the names of columns must be id and value, not '%s'; without that line a vector has a "
                 "number in each line, or an id and a number",
                 r->where, wr_quote(line->begin, line->end, quote));
}

/* By the first line that has something: how many columns there are, and room for them. */
static wr_status begin(vector_reader *r, const wr_input_line *line) {
  wr_edge_cursor c = {.at = line->begin, .end = line->end};
  wr_status status;
  while (wr_edge_take(&c)) continue;
  if (c.taken > 2)
    return wr_fail(WR_EINPUT, "%s: %d columns, where a vector has a number in each line, or an id and a number",
                   r->where, c.taken);
  if (r->headed && c.taken < 2) return wr_fail(WR_EINPUT, "%s: the value is missing", r->where);
  TRY(wr_alloc_zeroed(&r->values, r->need->n, sizeof *r->values, "a vector"));
  if (c.taken == 2) TRY(wr_alloc_zeroed(&r->given, r->need->n / 64 + 1, sizeof *r->given, "a vector"));
  r->columns = c.taken;
done:
  return status;
}

static wr_status parse_value(const vector_reader *r, wr_edge_cursor *c, double *value) {
  char quote[WR_QUOTE];
  if (!wr_edge_take(c) || c->word == c->word_end) return wr_fail(WR_EINPUT, "%s: the value is missing", r->where);
  switch (wr_number_real(c->word, c->word_end, value)) {
    case WR_NUMBER_BAD:
      return wr_fail(WR_EINPUT, "%s: the value is not a number ('%s')", r->where,
                     wr_quote(c->word, c->word_end, quote));
    case WR_NUMBER_OVERFLOW:
      return wr_fail(WR_EINPUT, "%s: the value is too big for a double (%s)", r->where,
                     wr_quote(c->word, c->word_end, quote));
    case WR_NUMBER_OK: break;
  }
  const char *rest = c->at;
  if (!wr_edge_take(c)) return WR_OK;
  return wr_fail(WR_EINPUT, "%s: more columns than the %d of the first line ('%s')", r->where, r->columns,
                 wr_quote(rest, c->end, quote));
}

/* *place := the element that has the id of the line. */
static wr_status parse_id(const vector_reader *r, wr_edge_cursor *c, int64_t *place) {
  char quote[WR_QUOTE];
  int64_t id;
  wr_edge_take(c); /* a line that is not blank has a column */
  wr_number_status got = wr_number_integer(c->word, c->word_end, &id);
  if (got == WR_NUMBER_BAD)
    return wr_fail(WR_EINPUT, "%s: the id is not an integer ('%s')", r->where, wr_quote(c->word, c->word_end, quote));
  *place = got == WR_NUMBER_OVERFLOW ? -1 : wr_ids_place(r->need->ids, id);
  if (*place < 0 || *place >= r->need->n)
    return wr_fail(WR_EINPUT, "%s: id %s is none of %s", r->where, wr_quote(c->word, c->word_end, quote),
                   r->need->whose);
  if (r->given[*place / 64] >> (*place % 64) & 1)
    return wr_fail(WR_EINPUT, "%s: id %s has a value already", r->where, wr_quote(c->word, c->word_end, quote));
  return WR_OK;
}

/* Changes nothing but room when it fails. */
static wr_status parse_line(vector_reader *r, const wr_input_line *line) {
  wr_edge_cursor c = {.at = line->begin, .end = line->end};
  int64_t place = r->count;
  double value = 0;
  wr_status status;
  TRY(wr_edge_check(line, r->where));
  if (r->columns == 0) TRY(begin(r, line));
  if (r->columns == 2) TRY(parse_id(r, &c, &place));
  TRY(parse_value(r, &c, &value));
  if (place >= r->need->n)
    TRY(wr_fail(WR_EINPUT, "%s: more values than the %lld of %s", r->where, (long long)r->need->n, r->need->whose));
  if (r->columns == 2) r->given[place / 64] |= UINT64_C(1) << (place % 64);
  r->values[place] = value;
  r->count++;
done:
  return status;
}

static wr_status parse_any(vector_reader *r, const wr_input_line *line) {
  if (r->columns > 0 || r->headed || !wr_edge_is_heading(line)) return parse_line(r, line);
  wr_status status = check_heading(r, line);
  r->headed = status == WR_OK;
  return status;
}

/* A line that fails is parsed once more for a sentence with its number, which takes longer to make than the others to parse. */
static wr_status parse_lines(vector_reader *r, const wr_lines *lines) {
  wr_status status = WR_OK;
  for (const char *at = lines->begin; at < lines->end && status == WR_OK; r->line++) {
    wr_input_line line = wr_line_at(at, lines->end);
    at = line.next;
    if (wr_edge_is_none(&line) || (status = parse_any(r, &line)) == WR_OK) continue;
    if (status != WR_EINPUT) return status;
    wr_where(r->text->name, r->line, r->where);
    status = parse_any(r, &line);
  }
  return status;
}

static wr_status check_count(vector_reader *r) {
  int64_t missing = 0;
  if (r->columns > 0 && (r->count == r->need->n || (r->columns == 2 && r->need->subset))) return WR_OK;
  wr_where(r->text->name, r->line, r->where);
  if (r->columns < 2)
    return wr_fail(WR_EINPUT, "%s: the file ends after %lld values, where %lld are needed for %s", r->where,
                   (long long)r->count, (long long)r->need->n, r->need->whose);
  while (r->given[missing / 64] >> (missing % 64) & 1) missing++;
  return wr_fail(WR_EINPUT, "%s: the file ends without a value for id %lld, one of %s (%lld of %lld have one)",
                 r->where, (long long)wr_ids_at(r->need->ids, missing), r->need->whose, (long long)r->count,
                 (long long)r->need->n);
}

wr_status wr_vector_text_read(const wr_text *text, const wr_vector_need *need, double **values) {
  vector_reader r = {.text = text, .need = need, .line = 1};
  wr_lines lines = {.capacity = 0};
  wr_status status = WR_OK;
  for (int64_t from = 0; from < text->size; from += WR_TEXT_RUN) {
    TRY(wr_text_lines(text, from, from + WR_TEXT_RUN, &lines));
    TRY(parse_lines(&r, &lines));
  }
  TRY(check_count(&r));
  TRY(wr_text_unchanged(text));
done:
  wr_lines_free(&lines);
  wr_free(r.given);
  *values = r.values;
  return status;
}
