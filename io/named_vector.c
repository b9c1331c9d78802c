#include "io/named_vector.h"

#include <string.h>

#include "config/memory.h"
#include "io/edge_record.h"
#include "io/number.h"

typedef struct named_reader {
  const wr_text *text;
  const wr_vector_need *need;
  char separator;
  int64_t line, count; /* the number of the record's first line; values so far */
  double *values;      /* [n]                                                  */
  uint64_t *given;     /* [n / 64 + 1] a bit an element                        */
  char *plain;         /* [room] a name without doubled quotation marks        */
  int64_t room;
} named_reader;

/* *length := of the name without doubled quotation marks. */
static wr_status take_name(named_reader *r, const wr_record *record, const char **name, int64_t *length) {
  *name = record->word, *length = record->word_end - record->word;
  if (!record->quoted || !record->doubled) return WR_OK;
  if (*length > r->room) PASS(wr_resize(&r->plain, *length, "a name"));
  if (*length > r->room) r->room = *length;
  *name = r->plain, *length = 0;
  for (const char *c = record->word; c < record->word_end; c++) {
    r->plain[(*length)++] = *c;
    c += *c == '"';
  }
  return WR_OK;
}

static wr_status take_value(const wr_record *record, const char *where, double *value) {
  char quote[WR_QUOTE];
  wr_quote(record->word, record->word_end, quote);
  if (record->word == record->word_end) return wr_fail(WR_EINPUT, "%s: the value is missing", where);
  switch (wr_number_real(record->word, record->word_end, value)) {
    case WR_NUMBER_BAD: return wr_fail(WR_EINPUT, "%s: the value is not a number ('%s')", where, quote);
    case WR_NUMBER_OVERFLOW: return wr_fail(WR_EINPUT, "%s: the value is too big for a double (%s)", where, quote);
    case WR_NUMBER_OK: break;
  }
  return WR_OK;
}

static wr_status take_element(named_reader *r, const wr_record *record, const char *where, int64_t *place) {
  const char *name;
  int64_t length;
  char quote[WR_QUOTE];
  PASS(take_name(r, record, &name, &length));
  *place = wr_ids_find(r->need->ids, name, length);
  if (*place < 0)
    return wr_fail(WR_EINPUT, "%s: id '%s' is none of %s", where, wr_quote(name, name + length, quote), r->need->whose);
  if (r->given[*place / 64] >> (*place % 64) & 1)
    return wr_fail(WR_EINPUT, "%s: id '%s' has a value already", where, wr_quote(name, name + length, quote));
  return WR_OK;
}

static wr_status read_record(named_reader *r, wr_record *record, const char *where) {
  const char *begin = record->at;
  double value = 0;
  int64_t place = 0;
  for (int k = 0;; k++) {
    wr_field got = wr_record_take(record);
    if (got == WR_FIELD_NONE && k == 2) break;
    if (got == WR_FIELD_NONE) return wr_fail(WR_EINPUT, "%s: the value is missing", where);
    if (got != WR_FIELD_TAKEN) return wr_edge_fail_quote(got, record, begin, r->text->name, r->line);
    if (k == 0) PASS(take_element(r, record, where, &place));
    if (k == 1) PASS(take_value(record, where, &value));
    if (k == 2)
      return wr_fail(WR_EINPUT, "%s: more than a name and a value; a name with blanks, commas or tabs stands in quotes",
                     where);
  }
  r->given[place / 64] |= UINT64_C(1) << (place % 64);
  r->values[place] = value, r->count++;
  return WR_OK;
}

/* Fields of the record, up to 3; *is_value := whether the second one is a number. */
static int look_at(const char *at, const char *end, char separator, int *is_value) {
  wr_record record = wr_record_at(at, end, separator);
  double value;
  int count = 0;
  *is_value = 0;
  while (count < 3 && wr_record_take(&record) == WR_FIELD_TAKEN)
    if (++count == 2) *is_value = wr_number_real(record.word, record.word_end, &value) != WR_NUMBER_BAD;
  return count;
}

static wr_status read_records(named_reader *r, const char *at, const char *end, int *is_named) {
  char where[WR_WHERE] = "";
  int is_value, begun = 0;
  for (; at < end; r->line++) {
    wr_input_line line = wr_line_at(at, end);
    if (wr_edge_is_none(&line)) {
      at = line.next;
      continue;
    }
    if (!begun && (r->separator = wr_record_separator(at, end, 1)) == 0) r->separator = ',';
    int heading = !begun && look_at(at, end, r->separator, &is_value) == 2 && !is_value;
    if (!begun && look_at(at, end, r->separator, &is_value) == 1) return WR_OK;
    *is_named = begun = 1;
    wr_record record = wr_record_at(at, end, r->separator);
    wr_status status = heading ? WR_OK : read_record(r, &record, where);
    if (status == WR_EINPUT && where[0] == '\0') { /* again, for an error with the number of the line */
      record = wr_record_at(at, end, r->separator);
      wr_where(r->text->name, r->line, where);
      status = read_record(r, &record, where);
    }
    if (status != WR_OK) return status;
    const char *next = heading ? line.next : record.next;
    for (const char *c = line.next; c < next; c = wr_line_at(c, end).next) r->line++;
    at = next;
  }
  return WR_OK;
}

static wr_status check_count(const named_reader *r) {
  char where[WR_WHERE], text[WR_ID_TEXT];
  int64_t missing = 0;
  if (r->count == r->need->n || (r->need->subset && r->count > 0)) return WR_OK;
  wr_where(r->text->name, r->line, where);
  while (missing < r->need->n && r->given[missing / 64] >> (missing % 64) & 1) missing++;
  return wr_fail(WR_EINPUT, "%s: the file ends without a value for id '%s', one of %s (%lld of %lld have one)", where,
                 wr_ids_text(r->need->ids, missing, text), r->need->whose, (long long)r->count, (long long)r->need->n);
}

wr_status wr_named_vector_read(const wr_text *text, const wr_vector_need *need, double **values, int *is_named) {
  named_reader r = {.text = text, .need = need, .line = 1};
  wr_lines lines = {.capacity = 0};
  wr_status status;
  *is_named = 0;
  TRY(wr_alloc_zeroed(&r.values, need->n, sizeof *r.values, "a vector"));
  TRY(wr_alloc_zeroed(&r.given, need->n / 64 + 1, sizeof *r.given, "a vector"));
  TRY(wr_text_lines(text, 0, text->size, &lines));
  TRY(read_records(&r, lines.begin, lines.end, is_named));
  if (*is_named) TRY(check_count(&r));
  TRY(wr_text_unchanged(text));
done:
  wr_lines_free(&lines);
  wr_free(r.given);
  wr_free(r.plain);
  *values = status == WR_OK && *is_named ? r.values : NULL;
  if (*values == NULL) wr_free(r.values);
  return status;
}
