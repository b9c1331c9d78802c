#include "io/entry.h"

#include <string.h>

#include "io/number.h"
#include "io/scan.h"

/* A word that is taken from a line, with all that its error needs. */
typedef struct cursor {
  const char *where, *at, *end; /* the line's rest */
  const char *word, *word_end;  /* the last word   */
  char quote[WR_QUOTE];
} cursor;

static wr_status next_word(cursor *c, const char *what) {
  if (!wr_line_word(&c->at, c->end, &c->word, &c->word_end))
    return wr_fail(WR_EINPUT, "%s: the %s is missing", c->where, what);
  wr_quote(c->word, c->word_end, c->quote);
  return WR_OK;
}

/* *index, 0-based, of `most` rows or columns */
static wr_status parse_index(cursor *c, const char *what, int64_t most, int64_t *index) {
  PASS(next_word(c, what));
  switch (wr_number_integer(c->word, c->word_end, index)) {
    case WR_NUMBER_BAD: return wr_fail(WR_EINPUT, "%s: the %s is not an integer ('%s')", c->where, what, c->quote);
    case WR_NUMBER_OVERFLOW: return wr_fail(WR_EINPUT, "%s: the %s is beyond 64 bits (%s)", c->where, what, c->quote);
    case WR_NUMBER_OK: break;
  }
  if (*index < 0) return wr_fail(WR_EINPUT, "%s: the %s is negative (%s)", c->where, what, c->quote);
  if (*index == 0) return wr_fail(WR_EINPUT, "%s: the %s is zero; the first one is 1 (%s)", c->where, what, c->quote);
  if (*index > most)
    return wr_fail(WR_EINPUT, "%s: the %s is greater than %lld (%s)", c->where, what, (long long)most, c->quote);
  --*index;
  return WR_OK;
}

/* Whether f64 has this integer; the conversion back would overflow at 2^63. */
static int is_exact(int64_t number) {
  double value = (double)number;
  return value < 0x1p63 && (int64_t)value == number;
}

static wr_status parse_integer(cursor *c, wr_entry *entry) {
  int64_t number;
  switch (wr_number_integer(c->word, c->word_end, &number)) {
    case WR_NUMBER_BAD: return wr_fail(WR_EINPUT, "%s: the value is not an integer ('%s')", c->where, c->quote);
    case WR_NUMBER_OVERFLOW: return wr_fail(WR_EINPUT, "%s: the integer is beyond 64 bits (%s)", c->where, c->quote);
    case WR_NUMBER_OK: break;
  }
  entry->value = (double)number, entry->is_inexact = !is_exact(number);
  return WR_OK;
}

static wr_status parse_value(cursor *c, const wr_entry_format *f, wr_entry *entry) {
  double *value = &entry->value;
  PASS(next_word(c, "value"));
  if (f->integer) {
    PASS(parse_integer(c, entry));
  } else {
    switch (wr_number_real(c->word, c->word_end, value)) {
      case WR_NUMBER_BAD: return wr_fail(WR_EINPUT, "%s: the value is not a number ('%s')", c->where, c->quote);
      case WR_NUMBER_OVERFLOW:
        return wr_fail(WR_EINPUT, "%s: the value is too big for a double (%s)", c->where, c->quote);
      case WR_NUMBER_OK: break;
    }
    entry->is_inexact = wr_number_vanished(c->word, c->word_end, *value);
  }
  if (f->nonnegative && *value < 0)
    return wr_fail(WR_EINPUT, "%s: a negative value where none may be (%s)", c->where, c->quote);
  if (f->nonnegative && *value > 0 && f->symmetry == WR_SKEW_SYMMETRIC)
    return wr_fail(WR_EINPUT, "%s: its mirror image is a negative value, where none may be (%s)", c->where, c->quote);
  return WR_OK;
}

static wr_status parse_place(cursor *c, const wr_entry_format *f, wr_entry *entry) {
  PASS(parse_index(c, "row index", f->nrows, &entry->row));
  PASS(parse_index(c, "column index", f->ncols, &entry->col));
  if (f->symmetry == WR_GENERAL) return WR_OK;
  if (entry->row < entry->col)
    return wr_fail(WR_EINPUT, "%s: an entry above the diagonal of a symmetric kind of file (%lld %lld)", c->where,
                   (long long)entry->row + 1, (long long)entry->col + 1);
  if (entry->row == entry->col && f->symmetry == WR_SKEW_SYMMETRIC)
    return wr_fail(WR_EINPUT, "%s: a diagonal entry of a skew-symmetric file (%lld %lld)", c->where,
                   (long long)entry->row + 1, (long long)entry->col + 1);
  return WR_OK;
}

wr_status wr_entry_parse(const wr_entry_format *f, const wr_input_line *line, const char *where, wr_entry *entry) {
  cursor c = {.where = where, .at = line->begin, .end = line->end};
  *entry = (wr_entry){.value = 1};
  if (memchr(line->begin, '\r', (size_t)(line->end - line->begin)) != NULL)
    return wr_fail(WR_EINPUT, "%s: a carriage return inside a line; lines must end with LF or CR LF", where);
  if (line->begin < line->end && *line->begin == '%')
    return wr_fail(WR_EINPUT, "%s: a comment after the size line ('%s')", where,
                   wr_quote(line->begin, line->end, c.quote));
  if (f->coordinate) PASS(parse_place(&c, f, entry));
  if (!f->pattern) PASS(parse_value(&c, f, entry));
  if (wr_line_word(&c.at, c.end, &c.word, &c.word_end))
    return wr_fail(WR_EINPUT, "%s: one word too many ('%s')", where, wr_quote(c.word, c.word_end, c.quote));
  return WR_OK;
}

void wr_entry_append(const wr_entry_format *format, const wr_entry *entry, wr_triplet_chunk *chunk) {
  chunk->row[chunk->count] = (int32_t)entry->row;
  chunk->col[chunk->count] = (int32_t)entry->col;
  if (!format->pattern) chunk->val[chunk->count] = entry->value;
  chunk->count++;
}

/* The fast parser. Its functions return where they stopped, or NULL for lines that the careful one must parse: those with signs
 * of indices or more than 15 digits of an integer, numbers that underflow to 0, and all defects. */

/* 1 to 15 digits */
static inline const char *scan_integer(const char *at, const char *end, uint64_t *number) {
  uint64_t word = wr_load8(at, end);
  int count = wr_digit_count(word);
  if (count == 0) return NULL;
  *number = wr_digit_value(word, count);
  at += count;
  if (count < 8) return at;
  word = wr_load8(at, end);
  count = wr_digit_count(word);
  if (count == 8) return NULL;
  if (count > 0) *number = *number * wr_small_power[count] + wr_digit_value(word, count);
  return at + count;
}

static inline const char *scan_index(const char *at, const char *end, int64_t most, int64_t *index) {
  uint64_t number;
  at = scan_integer(wr_skip_blanks(at, end), end, &number);
  if (at == NULL || number - 1 >= (uint64_t)most) return NULL;
  *index = (int64_t)number - 1;
  return at;
}

static inline const char *scan_value(const wr_entry_format *f, const char *at, const char *end, double *value) {
  const char *begin = at = wr_skip_blanks(at, end);
  if (f->integer) {
    int negative = at < end && *at == '-';
    uint64_t number;
    at = scan_integer(at + negative, end, &number);
    if (at != NULL) *value = (double)(negative ? -(int64_t)number : (int64_t)number);
  } else if (wr_number_scan(at, end, value, &at) != WR_NUMBER_OK || wr_number_vanished(begin, at, *value)) {
    return NULL;
  }
  return at != NULL && f->nonnegative && (*value < 0 || f->symmetry == WR_SKEW_SYMMETRIC) ? NULL : at;
}

static inline const char *scan_place(const wr_entry_format *f, const char *at, const char *end, wr_entry *entry) {
  at = scan_index(at, end, f->nrows, &entry->row);
  if (at == NULL || at == end || (*at != ' ' && *at != '\t')) return NULL;
  at = scan_index(at, end, f->ncols, &entry->col);
  if (at == NULL || f->symmetry == WR_GENERAL) return at;
  return entry->row > entry->col || (entry->row == entry->col && f->symmetry == WR_SYMMETRIC) ? at : NULL;
}

const char *wr_entries_scan(const wr_entry_format *format, const char *at, const char *end, wr_triplet_chunk *chunk) {
  const wr_entry_format f = *format; /* a copy that no store through the chunk can change */
  wr_triplet_chunk c = *chunk;
  while (at < end && c.count < c.capacity) {
    wr_entry entry = {.value = 1};
    const char *p = at;
    if (f.coordinate) {
      p = scan_place(&f, p, end, &entry);
      if (p == NULL || p == end || (!f.pattern && *p != ' ' && *p != '\t')) break;
    }
    if (!f.pattern && (p = scan_value(&f, p, end, &entry.value)) == NULL) break;
    if ((p = wr_scan_line_end(p, end)) == NULL) break;
    wr_entry_append(&f, &entry, &c);
    at = p;
  }
  *chunk = c;
  return at;
}
