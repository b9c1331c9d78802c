#include "io/vector_file.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "config/memory.h"
#include "config/text.h"
#include "io/edge.h"
#include "io/id_text.h"
#include "io/matrix_market.h"
#include "io/named_vector.h"
#include "io/npy.h"
#include "io/number.h"
#include "io/output_file.h"
#include "io/reader.h"

/* ---- reading lines ---- */

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

/* Accepts the usual names of an id and a value alone; columns with other names may hold something else. */
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

/* Takes the number of columns from the first line that is not blank, and allocates the values. */
static wr_status begin_values(vector_reader *r, const wr_input_line *line) {
  wr_edge_cursor c = {.at = line->begin, .end = line->end};
  while (wr_edge_take(&c)) continue;
  if (c.taken > 2)
    return wr_fail(WR_EINPUT, "%s: %d columns, where a vector has a number in each line, or an id and a number",
                   r->where, c.taken);
  if (r->headed && c.taken < 2) return wr_fail(WR_EINPUT, "%s: the value is missing", r->where);
  PASS(wr_alloc_zeroed(&r->values, r->need->n, sizeof *r->values, "a vector"));
  if (c.taken == 2) PASS(wr_alloc_zeroed(&r->given, r->need->n / 64 + 1, sizeof *r->given, "a vector"));
  r->columns = c.taken;
  return WR_OK;
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

/* A line that fails leaves the values as they were, so that it can be parsed again. */
static wr_status parse_line(vector_reader *r, const wr_input_line *line) {
  wr_edge_cursor c = {.at = line->begin, .end = line->end};
  int64_t place = r->count;
  double value = 0;
  PASS(wr_edge_check(line, r->where));
  if (r->columns == 0) PASS(begin_values(r, line));
  if (r->columns == 2) PASS(parse_id(r, &c, &place));
  PASS(parse_value(r, &c, &value));
  if (place >= r->need->n)
    return wr_fail(WR_EINPUT, "%s: more values than the %lld of %s", r->where, (long long)r->need->n, r->need->whose);
  if (r->columns == 2) r->given[place / 64] |= UINT64_C(1) << (place % 64);
  r->values[place] = value;
  r->count++;
  return WR_OK;
}

static wr_status parse_any(vector_reader *r, const wr_input_line *line) {
  if (r->columns > 0 || r->headed || !wr_edge_is_heading(line)) return parse_line(r, line);
  wr_status status = check_heading(r, line);
  r->headed = status == WR_OK;
  return status;
}

/* A line that fails is parsed again for an error with its number: making `where` for every line would take longer than
 * parsing. */
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

static wr_status read_lines(const wr_text *text, const wr_vector_need *need, double **values) {
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

/* ---- reading ---- */

/* By file order, so that entries at the same place are added in it. */
static wr_status gather(const char *name, const wr_triplets *t, int row, double *values) {
  for (int64_t c = 0; c < t->nchunks; c++) {
    const wr_triplet_chunk *chunk = &t->chunks[c];
    for (int64_t k = 0; k < chunk->count; k++) {
      double *at = &values[row ? chunk->col[k] : chunk->row[k] + chunk->col[k] * t->nrows];
      double value = chunk->val != NULL ? chunk->val[k] : 1;
      *at = *at == 0 ? value : *at + value; /* so that -0 stays what it is */
      if (!isfinite(*at))
        return wr_fail(WR_EINPUT, "%s: the sum of values at place %lld overflows", name, (long long)(at - values) + 1);
    }
  }
  return WR_OK;
}

/* WR_EINPUT, naming the first element that has no entry or a second one. */
static wr_status check_each_once(const char *name, const wr_triplets *t, const wr_vector_need *need) {
  uint64_t *given = NULL;
  int64_t missing = 0, count = 0;
  int row = t->nrows == 1 && t->ncols > 1;
  wr_status status = wr_alloc_zeroed(&given, need->n / 64 + 1, sizeof *given, "a vector");
  for (int64_t c = 0; c < t->nchunks && status == WR_OK; c++)
    for (int64_t k = 0; k < t->chunks[c].count && status == WR_OK; k++) {
      int64_t place = row ? t->chunks[c].col[k] : t->chunks[c].row[k];
      if (given[place / 64] >> (place % 64) & 1)
        status = wr_fail(WR_EINPUT, "%s: element %lld has two entries", name, (long long)place + 1);
      given[place / 64] |= UINT64_C(1) << (place % 64), count++;
    }
  while (status == WR_OK && missing < need->n && given[missing / 64] >> (missing % 64) & 1) missing++;
  if (status == WR_OK && missing < need->n)
    status = wr_fail(WR_EINPUT, "%s: element %lld, one of %s, has no entry (%lld of %lld have one)", name,
                     (long long)missing + 1, need->whose, (long long)count, (long long)need->n);
  wr_free(given);
  return status;
}

static wr_status read_matrix_market(wr_text *text, const wr_vector_need *need, double **values) {
  wr_triplets t;
  wr_status status = wr_read_opened(text, NULL, &t, NULL);
  if (status != WR_OK) return status;
  int has_columns = need->columns && t.nrows == need->n, is_row = t.nrows == 1 && t.ncols > 1 && !has_columns;
  int64_t length = is_row ? t.ncols : t.nrows, columns = has_columns ? t.ncols : 1;
  if (t.nrows != 1 && t.ncols != 1 && !has_columns)
    TRY(wr_fail(WR_EINPUT, "%s: a vector has one column, not a matrix of %lld x %lld", text->name, (long long)t.nrows,
                (long long)t.ncols));
  if (length != need->n)
    TRY(wr_fail(WR_EINPUT, "%s: a vector of %lld %s, where %lld %s needed for %s", text->name, (long long)length,
                wr_plural(length, "value", "values"), (long long)need->n, wr_plural(need->n, "is", "are"),
                need->whose));
  if (need->complete) TRY(check_each_once(text->name, &t, need));
  TRY(wr_alloc_zeroed(values, need->n * columns, sizeof **values, "a vector"));
  TRY(gather(text->name, &t, is_row, *values));
  if (need->columns) *need->columns = columns;
done:
  wr_triplets_free(&t);
  return status;
}

static wr_status read_any(wr_text *text, const wr_vector_need *need, double **values) {
  char head[WR_FILE_HEAD];
  int is_named = 0;
  int64_t count = text->size < WR_FILE_HEAD ? text->size : WR_FILE_HEAD;
  wr_status status;
  switch (text->kind) {
    case WR_FILE_NPY: return wr_npy_read(text, need, values);
    case WR_FILE_MATRIX_MARKET: return read_matrix_market(text, need, values);
    case WR_FILE_BINARY:
      return wr_fail(WR_EINPUT, "%s: a matrix saved in binary, where a vector is needed", text->name);
    case WR_FILE_NPZ:
      return wr_fail(WR_EINPUT, "%s: NumPy arrays (.npz), where a vector is needed: numpy.save('vector.npy', x)",
                     text->name);
    case WR_FILE_GAPBS: return wr_fail(WR_EINPUT, "%s: a serialised graph, where a vector is needed", text->name);
    case WR_FILE_FOREIGN:
      status = wr_text_read(text, 0, count, head);
      return status == WR_OK ? wr_file_check_foreign(text->name, head, count) : status;
    default:
      if (need->ids->names != NULL) PASS(wr_named_vector_read(text, need, values, &is_named));
      return is_named ? WR_OK : read_lines(text, need, values);
  }
}

wr_status wr_vector_read(const char *path, const wr_vector_need *need, double **values) {
  wr_vector_need complete = *need;
  wr_ids counted = {.count = need->n, .first = 1};
  wr_text text;
  *values = NULL;
  if (need->columns) *need->columns = 1;
  if (complete.ids == NULL) complete.ids = &counted;
  PASS(wr_text_open(path, NULL, &text));
  wr_status status = read_any(&text, &complete, values);
  wr_text_close(&text);
  if (status == WR_OK) return WR_OK;
  wr_free(*values);
  *values = NULL;
  return status;
}

/* ---- writing ---- */

static const char *const endings[WR_VECTOR_FORMATS] = {".mtx", ".tsv", ".csv", ".txt", ".npy"};

/* From its dot on; NULL: there is none. */
static const char *ending_of(const char *path) {
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *ending = strrchr(name, '.');
  return ending != NULL && ending > name ? ending : NULL;
}

wr_vector_format wr_vector_format_named(const char *path) {
  const char *ending = ending_of(path);
  int named = ending ? WR_VECTOR_MTX : WR_VECTOR_FORMATS;
  while (named < WR_VECTOR_FORMATS && strcasecmp(ending, endings[named]) != 0) named++;
  return (wr_vector_format)named;
}

wr_status wr_vector_format_choose(const char *path, wr_vector_format asked, wr_vector_format *format) {
  const char *ending = ending_of(path);
  wr_vector_format named = wr_vector_format_named(path);
  *format = asked != WR_VECTOR_FORMATS ? asked : ending ? named : WR_VECTOR_MTX;
  if (*format == WR_VECTOR_FORMATS)
    return wr_fail(WR_EUSAGE,
                   "%s: results end in .mtx, .tsv, .csv, .txt or .npy, not in '%s'; --format FORM writes one "
                   "under any other name",
                   path, ending);
  int any_text = named == WR_VECTOR_TXT && *format != WR_VECTOR_NPY;
  if (named == WR_VECTOR_FORMATS || named == *format || any_text) return WR_OK;
  return wr_fail(WR_EUSAGE, "%s: the name ends in '%s', and --format asks for %s; leave one of them out", path, ending,
                 endings[*format] + 1);
}

static void write_comment(FILE *file, const char *comment) {
  while (comment != NULL && *comment != 0) {
    int length = (int)strcspn(comment, "\r\n");
    fprintf(file, "%% %.*s\n", length, comment);
    comment += length;
    comment += strspn(comment, "\r\n");
  }
}

static int put_id(int64_t id, char separator, char *text) {
  char digits[20];
  int count = 0, first = (int)sizeof digits;
  do digits[--first] = (char)('0' + id % 10);
  while ((id /= 10) > 0);
  for (; first < (int)sizeof digits; first++) text[count++] = digits[first];
  text[count++] = separator;
  return count;
}

/* Here and below values are [columns][n], and wr_output_commit reports errors of the stream. */
static void write_named(FILE *file, const wr_ids *ids, char separator, int64_t n, int64_t columns,
                        const double *values) {
  char text[64];
  for (int64_t i = 0; i < n && !ferror(file); i++) {
    wr_id_put_field(file, ids, i, separator);
    for (int64_t c = 0; c < columns; c++) {
      text[wr_number_text(values[c * n + i], text)] = '\0';
      fprintf(file, "%c%s", separator, text);
    }
    fputs("\n", file);
  }
}

/* separator '\0': no ids, and blanks between columns. */
static void write_lines(FILE *file, const wr_ids *ids, char separator, int64_t n, int64_t columns,
                        const double *values) {
  char block[8192];
  size_t used = 0;
  if (separator != '\0' && ids != NULL && ids->names != NULL) {
    write_named(file, ids, separator, n, columns, values);
    return;
  }
  for (int64_t i = 0; i < n; i++) {
    if (separator != '\0') used += (size_t)put_id(ids != NULL ? wr_ids_at(ids, i) : i + 1, separator, block + used);
    for (int64_t c = 0; c < columns; c++) {
      used += (size_t)wr_number_text(values[c * n + i], block + used);
      block[used++] = c + 1 == columns ? '\n' : separator != '\0' ? separator : ' ';
      if (used < sizeof block - 64 && (i + 1 < n || c + 1 < columns)) continue;
      if (fwrite(block, 1, used, file) != used) return;
      used = 0;
    }
  }
}

static void write_matrix_market(FILE *file, int64_t n, int64_t columns, const double *values, const char *comment) {
  MM_typecode kind;
  mm_initialize_typecode(&kind);
  mm_set_matrix(&kind);
  mm_set_array(&kind);
  mm_set_real(&kind);
  mm_write_banner(file, kind);
  write_comment(file, comment);
  mm_write_mtx_array_size(file, n, columns);
  write_lines(file, NULL, '\0', n * columns, 1, values);
}

static wr_status check_values(const char *path, int64_t n, const double *values) {
  if (n < 1) return wr_fail(WR_EUSAGE, "%s: a vector of %lld values cannot be written", path, (long long)n);
  for (int64_t i = 0; i < n; i++)
    if (!isfinite(values[i]))
      return wr_fail(WR_ENUMERIC, "%s: not written: value %lld is not finite (%g)", path, (long long)i + 1, values[i]);
  return WR_OK;
}

/* The names of a table's columns. */
static void write_names(FILE *file, int64_t columns) {
  fputs("id", file);
  for (int64_t c = 0; c < columns; c++) {
    fputs(",value", file);
    if (columns > 1) fprintf(file, "%lld", (long long)c + 1);
  }
  fputs("\n", file);
}

wr_status wr_vector_write(const char *path, wr_vector_format format, const wr_ids *ids, int64_t n, int64_t columns,
                          const double *values, const char *comment) {
  wr_output_file out;
  if (columns < 1) return wr_fail(WR_EUSAGE, "%s: %lld vectors cannot be written", path, (long long)columns);
  PASS(check_values(path, n * columns, values));
  PASS(wr_output_open(path, &out));
  switch (format) {
    case WR_VECTOR_TSV: write_lines(out.file, ids, '\t', n, columns, values); break;
    case WR_VECTOR_CSV:
      write_names(out.file, columns);
      write_lines(out.file, ids, ',', n, columns, values);
      break;
    case WR_VECTOR_TXT: write_lines(out.file, NULL, '\0', n, columns, values); break;
    case WR_VECTOR_NPY: wr_npy_write(out.file, n, columns, values); break;
    default: write_matrix_market(out.file, n, columns, values, comment);
  }
  return wr_output_commit(&out);
}
