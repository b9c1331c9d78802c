#include "io/reader.h"

#include <omp.h>
#include <stdio.h>
#include <string.h>

#include "config/memory.h"
#include "config/memory_limits.h"
#include "config/text.h"
#include "io/entry.h"
#include "io/gapbs.h"
#include "io/matrix_market.h"
#include "io/npz.h"
#include "io/text_parts.h"

/* A part's share of the entries is estimated well, and its memory is freed as soon as it is assembled. */
enum { LONGEST_PART = 8 << 20, HEADER = 64 << 10 }; /* bytes */

/* Memory for so many times the entries that the length of a part suggests: lines are not equally long. */
#define EXPECTED 1.05

typedef struct reader {
  wr_text *text;
  mm_header header;
  int64_t body; /* where it begins in the text */
  int64_t body_line;
  const wr_read_share *share; /* or NULL */
  wr_entry_format format;
  wr_text_parts parts; /* of the text, one for each of triplets->chunks */
  wr_triplets *triplets;
  int64_t inexact; /* where the first line begins with a value that f64 does not hold; -1: none is known */
} reader;

static wr_status use_header(reader *r) {
  const mm_header *h = &r->header;
  char where[WR_WHERE];
  int64_t most = h->nrows > h->ncols ? h->nrows : h->ncols;
  if (most > WR_MAX_INDEX)
    return wr_fail(WR_EINPUT, "%s: more %s than the %lld that a 32-bit index reaches (%lld)",
                   wr_where(r->text->name, r->body_line - 1, where), most == h->nrows ? "rows" : "columns",
                   (long long)WR_MAX_INDEX, (long long)most);
  r->format.coordinate = mm_is_coordinate(h->matcode);
  r->format.pattern = mm_is_pattern(h->matcode);
  r->format.integer = mm_is_integer(h->matcode);
  r->format.symmetry = mm_is_symmetric(h->matcode) ? WR_SYMMETRIC
                       : mm_is_skew(h->matcode)    ? WR_SKEW_SYMMETRIC
                                                   : WR_GENERAL;
  r->format.nrows = h->nrows;
  r->format.ncols = h->ncols;
  return WR_OK;
}

/* Comments may be long, so twice as much text is read each time until it holds the size line. */
static wr_status read_header(reader *r) {
  wr_lines lines = {.capacity = 0};
  wr_status status = WR_OK;
  for (int64_t length = HEADER;; length *= 2) {
    TRY(wr_text_lines(r->text, 0, length, &lines));
    if (length >= r->text->size || mm_has_header(lines.begin, lines.end)) break;
  }
  const char *body = lines.begin;
  TRY(mm_parse_header(r->text->name, lines.begin, lines.end, &r->header, &body, &r->body_line));
  r->body = body - lines.begin;
  TRY(use_header(r));
done:
  wr_lines_free(&lines);
  return status;
}

/* The least bytes of text that an entry takes. */
static int64_t least_length(const reader *r) { return r->format.coordinate ? 4 : 2; }

/* The parts allocate one by one, none of them much: so their sum is compared here with the memory that is available. */
static wr_status check_room(const reader *r) {
  double most = (double)((r->text->size - r->body) / least_length(r) + 1), declared = (double)r->header.nnz * EXPECTED;
  int64_t entry_bytes = 2 * (int64_t)sizeof(int32_t) + (r->format.pattern ? 0 : (int64_t)sizeof(double));
  double entries = (declared < most ? declared : most) / (r->share ? r->share->count : 1);
  wr_status status = wr_memory_check_block((int64_t)entries * entry_bytes, "its entries");
  return status == WR_OK ? WR_OK : wr_fail(status, "%s: %s", r->text->name, wr_status_message());
}

static wr_status grow(const wr_entry_format *format, int64_t capacity, wr_triplet_chunk *chunk) {
  PASS(wr_resize(&chunk->row, capacity * (int64_t)sizeof *chunk->row, "the entries of a file"));
  PASS(wr_resize(&chunk->col, capacity * (int64_t)sizeof *chunk->col, "the entries of a file"));
  if (!format->pattern) PASS(wr_resize(&chunk->val, capacity * (int64_t)sizeof *chunk->val, "the entries of a file"));
  chunk->capacity = capacity;
  return WR_OK;
}

/* Room for the share of the declared entries that the part's length suggests, never for more than its text can hold. */
static int64_t expected_entries(const reader *r, const wr_text_part *p) {
  int64_t bytes = p->end - p->begin;
  int64_t most = bytes / least_length(r) + 1;
  double share = (double)r->header.nnz * (double)bytes / (double)(r->text->size - r->body + 1);
  return share * EXPECTED + 64 < (double)most ? (int64_t)(share * EXPECTED) + 64 : most;
}

static wr_status begin_part(void *of, int64_t k, int thread) {
  const reader *r = of;
  (void)thread;
  return grow(&r->format, expected_entries(r, &r->parts.part[k]), &r->triplets->chunks[k]);
}

static void note_inexact(reader *r, int64_t offset) {
#pragma omp critical(wr_reader_inexact)
  if (r->inexact < 0 || offset < r->inexact) r->inexact = offset;
}

static wr_status parse_lines(void *of, int64_t k, int thread, const wr_lines *lines, const char **at) {
  reader *r = of;
  wr_triplet_chunk *chunk = &r->triplets->chunks[k];
  (void)thread;
  while (*at < lines->end) {
    if (chunk->count == chunk->capacity) PASS(grow(&r->format, chunk->capacity + chunk->capacity / 2 + 64, chunk));
    *at = wr_entries_scan(&r->format, *at, lines->end, chunk);
    if (*at >= lines->end || chunk->count == chunk->capacity) continue;
    wr_input_line line = wr_line_at(*at, lines->end);
    if (!wr_line_is_blank(&line)) {
      wr_entry entry;
      PASS(wr_entry_parse(&r->format, &line, "", &entry));
      wr_entry_append(&r->format, &entry, chunk);
      if (entry.is_inexact) note_inexact(r, lines->offset + (*at - lines->begin));
    }
    *at = line.next;
  }
  return WR_OK;
}

static wr_status fail_defective(const void *of, const wr_input_line *line, const char *where) {
  const reader *r = of;
  wr_entry entry;
  return wr_entry_parse(&r->format, line, where, &entry);
}

static const wr_text_format entries_format = {.begin = begin_part, .parse = parse_lines, .fail = fail_defective};

static wr_status fail_too_many(const void *of, const wr_input_line *line, const char *where) {
  const reader *r = of;
  char quote[WR_QUOTE];
  return wr_fail(WR_EINPUT, "%s: more entries than the %lld that are declared ('%s')", where, (long long)r->header.nnz,
                 wr_quote(line->begin, line->end, quote));
}

/* The part's entry after `within` others, found by reading the part again. */
static wr_status fail_surplus(const reader *r, const wr_text_part *p, int64_t within) {
  wr_lines lines = {.capacity = 0};
  wr_status status = WR_OK;
  int64_t seen = 0, offset = p->begin;
  for (int64_t from = p->begin; from < p->end && seen <= within && status == WR_OK; from += WR_TEXT_RUN) {
    status = wr_text_lines(r->text, from, p->end - from < WR_TEXT_RUN ? p->end : from + WR_TEXT_RUN, &lines);
    for (const char *at = lines.begin; status == WR_OK && at < lines.end && seen <= within;) {
      wr_input_line line = wr_line_at(at, lines.end);
      offset = lines.offset + (at - lines.begin);
      seen += !wr_line_is_blank(&line);
      at = line.next;
    }
  }
  wr_lines_free(&lines);
  return status != WR_OK ? status : wr_text_fail_at(r->text, offset, fail_too_many, r);
}

static wr_status fail_missing(const reader *r, int64_t found) {
  char where[WR_WHERE];
  int64_t number;
  PASS(wr_text_line_number(r->text, r->text->size, &number));
  return wr_fail(WR_EINPUT, "%s: the file ends after %lld of %lld %s", wr_where(r->text->name, number, where),
                 (long long)found, (long long)r->header.nnz, wr_plural(r->header.nnz, "entry", "entries"));
}

/* The parts in file order: the first defect is the file's. *found := the number of entries. What is missing is so at the end:
 * the last share says it, if all shares before it are right. */
static wr_status settle(reader *r, int64_t *found) {
  int64_t before = 0, all = 0;
  *found = 0;
  for (int64_t k = 0; k < r->parts.count; k++) all += r->triplets->chunks[k].count;
  if (r->share) PASS(r->share->join(r->share->context, all, &before, &all));
  for (int64_t k = 0; k < r->parts.count; k++) {
    int64_t count = r->triplets->chunks[k].count, rest = r->header.nnz > before ? r->header.nnz - before : 0;
    if (count > rest) return fail_surplus(r, &r->parts.part[k], rest);
    PASS(wr_text_part_check(r->text, &entries_format, r, &r->parts, k));
    r->parts.part[k].before = before;
    before += count, *found += count;
  }
  int is_last = r->share == NULL || r->share->index + 1 == r->share->count;
  return !is_last || all == r->header.nnz ? WR_OK : fail_missing(r, all);
}

/* Where column j of an array file begins among its values: whole columns, or what lies on or below the diagonal (skip 0) or
 * strictly below it (skip 1). */
static int64_t column_begin(const wr_entry_format *f, int64_t j) {
  if (f->symmetry == WR_GENERAL) return j * f->nrows;
  int64_t skip = f->symmetry == WR_SKEW_SYMMETRIC;
  return j * (f->nrows - skip) - j * (j - 1) / 2;
}

/* The places of an array chunk's values, the first of which is number k of the file. */
static void place_values(const wr_entry_format *f, int64_t k, wr_triplet_chunk *chunk) {
  int64_t low = 0, high = f->ncols - 1; /* the last column that begins at or before k */
  while (low < high) {
    int64_t middle = low + (high - low + 1) / 2;
    if (column_begin(f, middle) <= k)
      low = middle;
    else
      high = middle - 1;
  }
  int64_t skip = f->symmetry == WR_SKEW_SYMMETRIC, j = low;
  int64_t i = k - column_begin(f, j) + (f->symmetry == WR_GENERAL ? 0 : j + skip);
  for (int64_t n = 0; n < chunk->count; n++) {
    chunk->row[n] = (int32_t)i;
    chunk->col[n] = (int32_t)j;
    if (++i < f->nrows) continue;
    j++;
    i = f->symmetry == WR_GENERAL ? 0 : j + skip;
  }
}

static void place_array(const reader *r) {
#pragma omp parallel for num_threads(r->parts.threads) schedule(dynamic, 1)
  for (int64_t k = 0; k < r->parts.count; k++)
    place_values(&r->format, r->parts.part[k].before, &r->triplets->chunks[k]);
}

static void note_facts(const reader *r, int64_t stored, wr_read_facts *facts) {
  char kind[64];
  *facts = (wr_read_facts){.bytes = r->text->size, .stored = stored, .compressed = r->text->compressed};
  mm_typecode_to_str(r->header.matcode, kind, sizeof kind);
  snprintf(facts->kind, sizeof facts->kind, "%s", kind + strlen("matrix "));
}

wr_status wr_read_opened(wr_text *text, const wr_read_options *options, wr_triplets *triplets, wr_read_facts *facts) {
  if (options != NULL && options->share && wr_file_is_matrix(text->kind))
    return wr_fail(WR_EUNAVAILABLE,
                   "%s: is in binary, and no share of it can be read: save it with --save-binary, not compressed, "
                   "or start one process",
                   text->name);
  if (text->kind == WR_FILE_NPZ) return wr_npz_read(text, options, triplets, facts);
  if (text->kind == WR_FILE_GAPBS) return wr_gapbs_read(text, options, triplets, facts);
  reader r = {
      .text = text, .triplets = triplets, .inexact = -1, .parts = {.threads = options != NULL ? options->threads : 0}};
  if (r.parts.threads <= 0) r.parts.threads = omp_get_max_threads();
  r.format.nonnegative = options != NULL && options->nonnegative;
  r.share = options != NULL ? options->share : NULL;
  int64_t stored;
  wr_status status;
  *triplets = (wr_triplets){.nrows = 0};
  TRY(read_header(&r));
  TRY(check_room(&r));
  TRY(wr_text_parts_cut(r.text, r.body, LONGEST_PART, r.share, &r.parts, triplets));
  wr_text_parts_parse(r.text, &entries_format, &r, &r.parts);
  TRY(settle(&r, &stored));
  TRY(wr_text_unchanged(r.text));
  if (!r.format.coordinate) place_array(&r);
  triplets->nrows = r.header.nrows;
  triplets->ncols = r.header.ncols;
  triplets->symmetry = r.format.symmetry;
  if (facts != NULL) {
    note_facts(&r, stored, facts);
    if (r.inexact >= 0) TRY(wr_text_line_number(text, r.inexact, &facts->inexact_line));
  }
done:
  if (status != WR_OK) wr_triplets_free(triplets);
  wr_free(r.parts.part);
  return status;
}

wr_status wr_read_triplets(const char *path, const wr_read_options *options, wr_triplets *triplets,
                           wr_read_facts *facts) {
  wr_text text;
  int shared = options != NULL && options->share != NULL;
  *triplets = (wr_triplets){.nrows = 0};
  PASS(shared ? wr_text_open_share(path, MM_BANNER, &text) : wr_text_open(path, MM_BANNER, &text));
  wr_status status = wr_read_opened(&text, options, triplets, facts);
  wr_text_close(&text);
  return status;
}

static wr_status read_binary(const wr_text *text, const wr_read_options *options, wr_csr **A, wr_binary_origin *origin,
                             wr_read_facts *facts) {
  int threads = options != NULL ? options->threads : 0, nonnegative = options != NULL && options->nonnegative;
  const wr_csr_feed *feed = options != NULL ? options->feed : NULL;
  wr_status status = wr_binary_read(text, threads, nonnegative, feed, A, origin);
  if (status == WR_OK && facts != NULL) {
    *facts = (wr_read_facts){.bytes = text->size, .stored = (*A)->nnz, .compressed = text->compressed};
    snprintf(facts->kind, sizeof facts->kind, "binary %s %s", (*A)->val ? "real" : "pattern",
             (*A)->symmetric ? "symmetric" : "general");
  }
  return status;
}

wr_status wr_read_matrix(const char *path, const wr_read_options *options, wr_triplets *triplets, wr_csr **A,
                         wr_binary_origin *origin, wr_read_facts *facts) {
  wr_text text;
  *triplets = (wr_triplets){.nrows = 0};
  *A = NULL;
  *origin = (wr_binary_origin){0};
  PASS(wr_text_open(path, MM_BANNER, &text));
  wr_status status = text.kind == WR_FILE_BINARY ? read_binary(&text, options, A, origin, facts)
                                                 : wr_read_opened(&text, options, triplets, facts);
  if (status == WR_OK && (text.kind == WR_FILE_NPZ || text.kind == WR_FILE_GAPBS) && triplets->nrows == triplets->ncols)
    origin->ids = (wr_ids){.count = triplets->nrows, .first = 0}; /* rows count from 0 there */
  wr_text_close(&text);
  return status;
}
