/* Matrix Market files (and whatever else may be given for one): file, pipe, threads and the careful parser, line by line, must
 * agree on entries or on the defect; what was read can be assembled, saved, written as text and read again. */
#define _DEFAULT_SOURCE /* open_memstream */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/memory.h"
#include "io/entry.h"
#include "io/file_kind.h"
#include "io/input_text.h"
#include "io/matrix_market.h"
#include "io/reader.h"
#include "io/vector_file.h"
#include "tests/fuzz/harness.h"
#include "tests/fuzz/matrices.h"

enum { PARTS = 20000 }; /* bytes: longer texts are read in several parts */

/* What a read came to. */
typedef struct outcome {
  wr_status status;
  char message[1024]; /* without the name of the file */
  wr_read_facts facts;
  wr_triplets triplets;
  wr_entries entries;
  wr_csr *A;
  wr_binary_origin origin;
} outcome;

static void read_as(const char *path, int threads, int nonnegative, outcome *o) {
  *o = (outcome){.status = WR_OK};
  harness_begin();
  o->status = wr_read_matrix(path, &(wr_read_options){.threads = threads, .nonnegative = nonnegative}, &o->triplets,
                             &o->A, &o->origin, &o->facts);
  harness_judge(o->status, 1u << WR_EINPUT, path);
  if (o->status != WR_OK) {
    snprintf(o->message, sizeof o->message, "%s", wr_status_message() + strlen(path));
    REQUIRE(o->A == NULL && o->triplets.nchunks == 0 && o->triplets.chunks == NULL);
  } else if (o->A == NULL) {
    matrices_take(&o->triplets, &o->entries);
    REQUIRE(o->facts.stored == o->entries.count && o->facts.kind[0] != '\0');
  }
}

static void forget(outcome *o) {
  wr_triplets_free(&o->triplets);
  matrices_free(&o->entries);
  wr_csr_free(o->A);
  wr_ids_free(&o->origin.ids);
}

static void must_agree(const outcome *a, const outcome *b, const char *how) {
  REQUIREF(a->status == b->status, "%s: '%s' and '%s'", how, a->message, b->message);
  REQUIREF(strcmp(a->message, b->message) == 0, "%s: '%s' and '%s'", how, a->message, b->message);
  if (a->status == WR_OK) REQUIREF(matrices_equal(&a->entries, &b->entries), "%s: other entries", how);
}

static wr_symmetry symmetry_of(const mm_header *h) {
  if (mm_is_symmetric(h->matcode)) return WR_SYMMETRIC;
  return mm_is_skew(h->matcode) ? WR_SKEW_SYMMETRIC : WR_GENERAL;
}

/* A value against the C library's, which knows no D. */
static void compare_value(const wr_input_line *line, double value) {
  char word[80];
  const char *at = line->begin, *first, *end, *last = NULL;
  size_t length = 0;
  while (wr_line_word(&at, line->end, &first, &end)) last = first, length = (size_t)(end - first);
  if (last == NULL || length >= sizeof word) return;
  for (size_t k = 0; k < length; k++) word[k] = (char)(last[k] == 'd' || last[k] == 'D' ? 'e' : last[k]);
  word[length] = '\0';
  double other = strtod(word, NULL);
  REQUIREF(memcmp(&other, &value, sizeof value) == 0, "%s is %.17g, not %.17g", word, other, value);
}

/* An entry by the careful parser against the next one that was read. */
static void compare_entry(const wr_entry_format *f, const wr_entry *entry, const outcome *o, int64_t k) {
  const wr_entries *e = &o->entries;
  REQUIRE(k < e->count);
  if (k >= e->count) return;
  if (f->coordinate) REQUIRE(e->row[k] == entry->row && e->col[k] == entry->col);
  REQUIRE(f->pattern ? e->val == NULL : memcmp(&e->val[k], &entry->value, sizeof entry->value) == 0);
}

/* The body, a line at a time: the first defect must be what the reader said, or every entry what it gave. */
static void compare_lines(const mm_header *h, const char *at, const char *end, int64_t number, const outcome *o) {
  wr_entry_format f = {.coordinate = mm_is_coordinate(h->matcode), .pattern = mm_is_pattern(h->matcode),
                       .integer = mm_is_integer(h->matcode), .symmetry = symmetry_of(h),
                       .nrows = h->nrows, .ncols = h->ncols};
  char where[64];
  int64_t count = 0;
  for (; at < end; number++) {
    wr_input_line line = wr_line_at(at, end);
    wr_entry entry;
    at = line.next;
    if (wr_line_is_blank(&line)) continue;
    snprintf(where, sizeof where, ":%lld", (long long)number);
    if (wr_entry_parse(&f, &line, where, &entry) != WR_OK) {
      REQUIREF(strcmp(wr_status_message(), o->message) == 0, "'%s' and '%s'", wr_status_message(), o->message);
      return;
    }
    if (!f.pattern && !f.integer) compare_value(&line, entry.value);
    if (++count > h->nnz) {
      REQUIREF(strstr(o->message, where) == o->message && strstr(o->message, "more entries than"), "%s", o->message);
      return;
    }
    if (o->status == WR_OK) compare_entry(&f, &entry, o, count - 1);
  }
  if (count < h->nnz) REQUIREF(strstr(o->message, "the file ends after") != NULL, "'%s'", o->message);
  if (count == h->nnz) REQUIREF(o->status == WR_OK && o->entries.count == count, "'%s'", o->message);
}

static void compare_carefully(const char *text, size_t size, const outcome *o) {
  mm_header h;
  const char *body;
  int64_t line;
  wr_status status = mm_parse_header("", text, text + size, &h, &body, &line);
  if (status != WR_OK)
    REQUIREF(strcmp(wr_status_message(), o->message) == 0, "'%s' and '%s'", wr_status_message(), o->message);
  else if (h.nrows > WR_MAX_INDEX || h.ncols > WR_MAX_INDEX)
    REQUIREF(strstr(o->message, "32-bit index") != NULL, "'%s'", o->message);
  else
    compare_lines(&h, body, text + size, line, o);
}

static int is_no_text(const uint8_t *bytes, size_t count) {
  wr_file_kind kind = wr_file_kind_of((const char *)bytes, (int64_t)count);
  return kind != WR_FILE_TEXT && kind != WR_FILE_MATRIX_MARKET;
}

/* Weights: the same entries, or a sentence about the first that is negative. */
static void read_as_weights(const char *path, const outcome *first) {
  outcome o;
  int64_t negative = 0;
  const wr_entries *e = &first->entries;
  for (int64_t k = 0; e->val != NULL && k < e->count; k++)
    negative += e->symmetry == WR_SKEW_SYMMETRIC ? e->val[k] != 0 : e->val[k] < 0;
  read_as(path, 1, 1, &o);
  if (o.status == WR_OK) must_agree(first, &o, "weights");
  REQUIREF((o.status == WR_OK) == (negative == 0), "%lld negative values, '%s'", (long long)negative, o.message);
  if (negative > 0) REQUIREF(strstr(o.message, "negative value") != NULL, "'%s'", o.message);
  forget(&o);
}

/* The entries as a text, which must give them again. */
static void write_and_read(const outcome *o) {
  static const char *const symmetries[] = {"general", "symmetric", "skew-symmetric"};
  const wr_entries *e = &o->entries;
  char *text = NULL, number[32];
  size_t size;
  outcome again;
  FILE *out = open_memstream(&text, &size);
  fprintf(out, "%%%%MatrixMarket matrix coordinate %s %s\n%lld %lld %lld\n", e->val ? "real" : "pattern",
          symmetries[e->symmetry], (long long)e->nrows, (long long)e->ncols, (long long)e->count);
  for (int64_t k = 0; k < e->count; k++) {
    if (e->val) wr_number_text(e->val[k], number);
    fprintf(out, "%ld %ld %s\n", e->row[k] + 1L, e->col[k] + 1L, e->val ? number : "");
  }
  fclose(out);
  read_as(harness_file(text, size), 1, 0, &again);
  must_agree(o, &again, "written and read");
  forget(&again);
  free(text);
}

/* The file as a vector, if it is one; written and read again. */
static void as_vector(const char *path, const outcome *o) {
  const wr_entries *e = &o->entries;
  int64_t n = e->nrows == 1 ? e->ncols : e->nrows;
  double *x = NULL, *y = NULL;
  if ((e->nrows != 1 && e->ncols != 1) || n > MATRICES_ROWS) return;
  harness_begin();
  wr_status status = wr_vector_read(path, &(wr_vector_need){.n = n, .whose = "a test"}, &x);
  harness_judge(status, 1u << WR_EINPUT, path);
  if (status == WR_OK && HARNESS_ONE_IN(8, (uint64_t)n)) {
    const char *copy = harness_path("vector.mtx");
    REQUIREF(wr_vector_write(copy, WR_VECTOR_MTX, NULL, n, 1, x, "line\nline") == WR_OK, "%s", wr_status_message());
    REQUIREF(wr_vector_read(copy, &(wr_vector_need){.n = n, .whose = "a test"}, &y) == WR_OK, "%s",
             wr_status_message());
    REQUIRE(y != NULL && memcmp(x, y, (size_t)n * sizeof *x) == 0);
  }
  wr_free(x), wr_free(y);
}

static void read_other_ways(const uint8_t *bytes, size_t count, const outcome *first) {
  outcome o;
  const char *path = HARNESS_ONE_IN(8, count) ? harness_pipe(bytes, count) : NULL;
  if (path != NULL) {
    read_as(path, 1, 0, &o);
    must_agree(first, &o, "file and pipe");
    forget(&o);
    harness_pipe(NULL, 0);
  }
  if (count > PARTS) {
    read_as(harness_file(bytes, count), 3, 0, &o);
    must_agree(first, &o, "one thread and three");
    forget(&o);
  }
}

FUZZ_TARGET(mtx) {
  outcome o;
  const char *path = harness_file(bytes, count);
  read_as(path, 1, 0, &o);
  int text = !is_no_text(bytes, count);
  if (text) REQUIREF(harness_asked() <= (INT64_C(1) << 20) + 64 * (int64_t)count, "%lld", (long long)harness_asked());
  if (o.A != NULL) matrices_check_rows(o.A);
  if (text && count > 0) compare_carefully((const char *)bytes, count, &o);
  if (o.status == WR_OK && o.A == NULL) {
    read_as_weights(path, &o);
    as_vector(path, &o);
  }
  if (o.A == NULL) read_other_ways(bytes, count, &o);
  if (o.status == WR_OK && o.A == NULL && o.entries.count <= MATRICES_ENTRIES) {
    write_and_read(&o);
    matrices_assemble(&o.triplets, &o.entries, NULL);
  }
  forget(&o);
  return 0;
}
