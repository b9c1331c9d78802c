#include "io/edge_record.h"

#include <string.h>

#include "config/memory.h"
#include "io/number.h"

static int64_t lines_between(const char *at, const char *end) {
  int64_t count = 0;
  for (; at < end && (at = memchr(at, '\n', (size_t)(end - at))) != NULL; at++) count++;
  return count;
}

wr_status wr_edge_fail_quote(wr_field what, const wr_record *r, const char *begin, const char *name, int64_t line) {
  char where[WR_WHERE], quote[WR_QUOTE];
  const char *at = what == WR_FIELD_OPEN ? r->word - 1 : r->at;
  wr_where(name, line + lines_between(begin, at), where);
  if (what == WR_FIELD_OPEN)
    return wr_fail(WR_EINPUT, "%s: a quote that begins here is not closed (%s)", where, wr_quote(at, r->end, quote));
  return wr_fail(WR_EINPUT,
                 "%s: '%s' follows the closing quote of a column; a quotation mark inside quotes is written twice",
                 where, wr_quote(at, r->line_end, quote));
}

wr_status wr_edge_word_number(const wr_edge_word *word, const char *where, const char *what, int64_t *id) {
  char quote[WR_QUOTE];
  switch (wr_number_integer(word->begin, word->end, id)) {
    case WR_NUMBER_BAD:
      return wr_fail(WR_EINPUT, "%s: the %s id is not an integer ('%s'); --ids names takes ids of any kind", where,
                     what, wr_quote(word->begin, word->end, quote));
    case WR_NUMBER_OVERFLOW:
      return wr_fail(WR_EINPUT, "%s: the %s id is beyond 64 bits (%s); --ids names takes ids of any kind", where, what,
                     wr_quote(word->begin, word->end, quote));
    case WR_NUMBER_OK: break;
  }
  if (*id < 0)
    return wr_fail(WR_EINPUT, "%s: the %s id is negative (%s); --ids names takes ids of any kind", where, what,
                   wr_quote(word->begin, word->end, quote));
  return WR_OK;
}

static wr_status parse_weight(const wr_record *r, const char *where, int nonnegative, double *weight) {
  char quote[WR_QUOTE];
  if (r->word == r->word_end) return wr_fail(WR_EINPUT, "%s: the weight is missing", where);
  switch (wr_number_real(r->word, r->word_end, weight)) {
    case WR_NUMBER_BAD:
      return wr_fail(WR_EINPUT, "%s: the weight is not a number ('%s')", where, wr_quote(r->word, r->word_end, quote));
    case WR_NUMBER_OVERFLOW:
      return wr_fail(WR_EINPUT, "%s: the weight is too big for a double (%s)", where,
                     wr_quote(r->word, r->word_end, quote));
    case WR_NUMBER_OK: break;
  }
  if (nonnegative && *weight < 0)
    return wr_fail(WR_EINPUT, "%s: a negative weight where none may be (%s)", where,
                   wr_quote(r->word, r->word_end, quote));
  return WR_OK;
}

static wr_status take_id(const wr_record *r, const char *where, const char *what, wr_edge_word *word) {
  if (r->word == r->word_end) return wr_fail(WR_EINPUT, "%s: the %s id is missing", where, what);
  *word = (wr_edge_word){r->word, r->word_end, r->quoted && r->doubled};
  return WR_OK;
}

static wr_status take_column(const wr_edge_format *f, int k, const wr_record *r, const char *where, wr_edge_names *e) {
  if (!r->quoted && memchr(r->word, '\r', (size_t)(r->word_end - r->word)) != NULL)
    return wr_fail(WR_EINPUT, "%s: a carriage return inside a line; lines must end with LF or CR LF", where);
  if (k == f->source) return take_id(r, where, "source", &e->source);
  if (k == f->target) return take_id(r, where, "target", &e->target);
  return k == f->weight ? parse_weight(r, where, f->nonnegative, &e->weight) : WR_OK;
}

/* An empty word stands for the next column, so that the sentence names what it would have been. */
static wr_status fail_missing(const wr_edge_format *f, wr_record *r, const char *where, wr_edge_names *e) {
  r->word = r->word_end = r->line_end, r->quoted = 0;
  for (int k = r->taken; k < f->columns; k++) PASS(take_column(f, k, r, where, e));
  return wr_fail(WR_EINPUT, "%s: %d columns, not the %d of the first line", where, r->taken, f->columns);
}

wr_status wr_edge_record_parse(const wr_edge_format *f, wr_record *r, const char *where, wr_edge_names *e,
                               wr_field *quote) {
  const char *begin = r->at;
  char text[WR_QUOTE];
  *quote = WR_FIELD_TAKEN;
  e->weight = 1;
  if (f->names && (*begin == '#' || *begin == '%'))
    return wr_fail(WR_EINPUT, "%s: a comment below an edge, or a name that begins with %c: put the name into quotes",
                   where, *begin);
  for (int k = 0; k < f->columns; k++) {
    wr_field got = wr_record_take(r);
    if (got == WR_FIELD_NONE) return fail_missing(f, r, where, e);
    if (got != WR_FIELD_TAKEN) *quote = got;
    if (got != WR_FIELD_TAKEN) return WR_OK;
    PASS(take_column(f, k, r, where, e));
  }
  const char *rest = r->at;
  if (wr_record_take(r) == WR_FIELD_NONE) return WR_OK;
  return wr_fail(WR_EINPUT, "%s: more than the %d columns of the first line ('%s')", where, f->columns,
                 wr_quote(rest, r->line_end, text));
}

/* ---- parts that begin with records ---- */

/* What a part holds if it begins outside of quotes (0), or inside (1). */
typedef struct part_states {
  int64_t begin[2]; /* where its first record begins; -1: none does */
  int inside[2];    /* 1: the next part begins inside quotes        */
} part_states;

static void run_part(const wr_lines *lines, char separator, part_states *s) {
  for (int from = 0; from < 2; from++) {
    const char *at = from == 0 ? lines->begin : wr_record_skip_inside(lines->begin, lines->end, separator);
    s->inside[from] = at == NULL;
    s->begin[from] = at == NULL || at == lines->end ? -1 : lines->offset + (at - lines->begin);
    while (at != NULL && at < lines->end) {
      wr_input_line line = wr_line_at(at, lines->end);
      at = wr_edge_is_none(&line) ? line.next : wr_record_skip(at, lines->end, separator);
    }
    if (at == NULL) s->inside[from] = 1;
  }
}

static wr_status find_states(const wr_text *text, char separator, const wr_text_part *p, wr_lines *lines,
                             part_states *s) {
  PASS(wr_text_lines(text, p->begin, p->end, lines));
  run_part(lines, separator, s);
  return WR_OK;
}

wr_status wr_edge_records_align(const wr_text *text, char separator, wr_text_parts *parts) {
  part_states *states;
  wr_failure failure = WR_NO_FAILURE;
  int inside = 0;
  PASS(wr_alloc(&states, parts->count, sizeof *states, "the parts of a file"));
#pragma omp parallel num_threads(parts->threads)
  {
    wr_lines lines = {.capacity = 0};
#pragma omp for schedule(dynamic, 1)
    for (int64_t k = 0; k < parts->count; k++)
      wr_failure_note(&failure, k, find_states(text, separator, &parts->part[k], &lines, &states[k]));
    wr_lines_free(&lines);
  }
  wr_status status = wr_failure_report(&failure);
  for (int64_t k = 0; k < parts->count && status == WR_OK; k++) {
    parts->part[k].begin = states[k].begin[inside];
    inside = states[k].inside[inside];
  }
  int64_t next = text->size;
  for (int64_t k = parts->count - 1; k >= 0 && status == WR_OK; k--) {
    if (parts->part[k].begin < 0) parts->part[k].begin = next;
    parts->part[k].end = next, next = parts->part[k].begin;
  }
  wr_free(states);
  return status;
}
