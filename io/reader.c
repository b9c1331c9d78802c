#include "io/reader.h"

#include <omp.h>
#include <stdio.h>
#include <string.h>

#include "config/memory.h"
#include "io/entry.h"
#include "io/input_text.h"
#include "io/matrix_market.h"

/* Text is shared out in chunks: several a thread, so that a slow thread delays nobody; small enough that the room for their
 * triplets is estimated well and comes free bit by bit when they are assembled. */
enum { CHUNK_MIN = 16 << 10, CHUNK_MAX = 8 << 20, CHUNKS_PER_THREAD = 8 };

/* What became of a chunk of text. */
typedef struct part {
  const char *begin, *end; /* whole lines                                       */
  const char *stop;        /* WR_EINPUT: the defective line                     */
  int64_t before;          /* entries in the parts before it                    */
  wr_status status;
} part;

typedef struct reader {
  wr_text text;
  mm_header header;
  const char *body;
  int64_t body_line;
  wr_entry_format format;
  int threads;
  int64_t nparts;
  part *parts; /* [nparts], the text of triplets->chunks */
  wr_triplets *triplets;
} reader;

static wr_status parse_header(reader *r) {
  const mm_header *h = &r->header;
  wr_status status = mm_parse_header(r->text.name, r->text.begin, r->text.end, &r->header, &r->body, &r->body_line);
  if (status != WR_OK) return status;
  char where[WR_WHERE];
  wr_where(r->text.name, r->body_line - 1, where);
  int64_t most = h->nrows > h->ncols ? h->nrows : h->ncols;
  if (most > WR_MAX_INDEX)
    return wr_fail(WR_EINPUT, "%s: more %s than the %lld that a 32-bit index reaches (%lld)", where,
                   most == h->nrows ? "rows" : "columns", (long long)WR_MAX_INDEX, (long long)most);
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

static const char *next_line(const char *at, const char *end) {
  const char *newline = memchr(at, '\n', (size_t)(end - at));
  return newline ? newline + 1 : end;
}

/* Cuts the body at line ends into parts of about equal length. */
static wr_status cut(reader *r) {
  int64_t bytes = r->text.end - r->body;
  int64_t length = bytes / ((int64_t)r->threads * CHUNKS_PER_THREAD);
  if (length > CHUNK_MAX) length = CHUNK_MAX;
  if (length < CHUNK_MIN) length = CHUNK_MIN;
  r->nparts = bytes / length + 1;
  if (r->threads > r->nparts) r->threads = (int)r->nparts;
  wr_status status = wr_alloc_zeroed(&r->parts, r->nparts, sizeof *r->parts, "the chunks of a file");
  if (status == WR_OK)
    status = wr_alloc_zeroed(&r->triplets->chunks, r->nparts, sizeof *r->triplets->chunks, "the chunks of a file");
  if (status != WR_OK) return status;
  r->triplets->nchunks = r->nparts;
  const char *at = r->body;
  for (int64_t k = 0; k < r->nparts; k++) {
    const char *goal = k + 1 < r->nparts ? r->body + (k + 1) * length : r->text.end;
    r->parts[k].begin = at;
    if (goal > at && goal < r->text.end) goal = next_line(goal - 1, r->text.end);
    r->parts[k].end = at = goal > at ? goal : at;
  }
  return WR_OK;
}

static wr_status grow(const wr_entry_format *format, int64_t capacity, wr_triplet_chunk *chunk) {
  wr_triplet_chunk wider = {.count = chunk->count, .capacity = capacity};
  wr_status status = wr_alloc(&wider.row, capacity, sizeof *wider.row, "the entries of a file");
  if (status == WR_OK) status = wr_alloc(&wider.col, capacity, sizeof *wider.col, "the entries of a file");
  if (status == WR_OK && !format->pattern)
    status = wr_alloc(&wider.val, capacity, sizeof *wider.val, "the entries of a file");
  if (status == WR_OK && chunk->count > 0) {
    memcpy(wider.row, chunk->row, (size_t)chunk->count * sizeof *wider.row);
    memcpy(wider.col, chunk->col, (size_t)chunk->count * sizeof *wider.col);
    if (wider.val != NULL) memcpy(wider.val, chunk->val, (size_t)chunk->count * sizeof *wider.val);
  }
  wr_triplet_chunk *unused = status == WR_OK ? chunk : &wider;
  wr_free(unused->row);
  wr_free(unused->col);
  wr_free(unused->val);
  if (status == WR_OK) *chunk = wider;
  return status;
}

/* Room for the share of the declared entries that the part's length suggests, never for more than its text can hold. */
static int64_t expected_entries(const reader *r, const part *p) {
  int64_t bytes = p->end - p->begin;
  int64_t most = bytes / (r->format.coordinate ? 4 : 2) + 1;
  double share = (double)r->header.nnz * (double)bytes / (double)(r->text.end - r->body + 1);
  return share * 1.05 + 64 < (double)most ? (int64_t)(share * 1.05) + 64 : most;
}

static wr_status parse_part(const reader *r, part *p, wr_triplet_chunk *chunk) {
  wr_status status = grow(&r->format, expected_entries(r, p), chunk);
  const char *at = p->begin;
  while (status == WR_OK && at < p->end) {
    if (chunk->count == chunk->capacity) status = grow(&r->format, chunk->capacity + chunk->capacity / 2 + 64, chunk);
    if (status != WR_OK) break;
    at = wr_entries_scan(&r->format, at, p->end, r->text.end, chunk);
    if (at >= p->end || chunk->count == chunk->capacity) continue;
    wr_line line = wr_line_at(at, r->text.end);
    wr_entry entry;
    if (!wr_line_is_blank(&line)) {
      status = wr_entry_parse(&r->format, &line, "", &entry);
      if (status != WR_OK) break;
      wr_entry_append(&r->format, &entry, chunk);
    }
    at = line.next;
  }
  p->stop = at;
  return status;
}

/* Chunks behind one that failed are not begun: a defect on an earlier line is all that counts. */
static void parse_parts(reader *r) {
  int64_t failed = r->nparts;
#pragma omp parallel for num_threads(r->threads) schedule(dynamic, 1)
  for (int64_t k = 0; k < r->nparts; k++) {
    int64_t earliest;
#pragma omp atomic read
    earliest = failed;
    if (k > earliest) continue;
    r->parts[k].status = parse_part(r, &r->parts[k], &r->triplets->chunks[k]);
    if (r->parts[k].status == WR_OK) continue;
#pragma omp critical(wr_reader)
    if (k < failed) {
#pragma omp atomic write
      failed = k;
    }
  }
}

/* The line of the entry that is one too many: the one after `within` entries of the part. */
static wr_status surplus(const reader *r, const part *p, int64_t within) {
  char where[WR_WHERE], quote[WR_QUOTE];
  wr_line line = wr_line_at(p->begin, r->text.end);
  for (int64_t seen = wr_line_is_blank(&line) ? 0 : 1; seen <= within;) {
    line = wr_line_at(line.next, r->text.end);
    seen += !wr_line_is_blank(&line);
  }
  return wr_fail(WR_EINPUT, "%s: more entries than the %lld that are declared ('%s')",
                 wr_where(r->text.name, wr_line_number(r->text.begin, line.begin), where), (long long)r->header.nnz,
                 wr_quote(line.begin, line.end, quote));
}

/* The failure of a part again, now in this thread and with its line number. */
static wr_status defect(const reader *r, const part *p) {
  if (p->status == WR_ENOMEM)
    return wr_fail(WR_ENOMEM, "out of memory: no room for the entries in %.1f MB of the text of %s",
                   (double)(p->end - p->begin) / 1e6, r->text.name);
  char where[WR_WHERE];
  wr_entry entry;
  wr_line line = wr_line_at(p->stop, r->text.end);
  return wr_entry_parse(&r->format, &line, wr_where(r->text.name, wr_line_number(r->text.begin, p->stop), where),
                        &entry);
}

/* The parts in file order: the first defect is the file's. *found := the number of entries. */
static wr_status settle(reader *r, int64_t *found) {
  *found = 0;
  for (int64_t k = 0; k < r->nparts; k++) {
    int64_t count = r->triplets->chunks[k].count;
    if (count > r->header.nnz - *found) return surplus(r, &r->parts[k], r->header.nnz - *found);
    if (r->parts[k].status != WR_OK) return defect(r, &r->parts[k]);
    r->parts[k].before = *found;
    *found += count;
  }
  if (*found == r->header.nnz) return WR_OK;
  char where[WR_WHERE];
  return wr_fail(WR_EINPUT, "%s: the file ends after %lld of %lld entries",
                 wr_where(r->text.name, wr_line_after(r->text.begin, r->text.end), where), (long long)*found,
                 (long long)r->header.nnz);
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
#pragma omp parallel for num_threads(r->threads) schedule(dynamic, 1)
  for (int64_t k = 0; k < r->nparts; k++) place_values(&r->format, r->parts[k].before, &r->triplets->chunks[k]);
}

static void note_facts(const reader *r, int64_t stored, wr_read_facts *facts) {
  char kind[64];
  *facts = (wr_read_facts){
      .bytes = r->text.end - r->text.begin, .stored = stored, .compressed = r->text.compressed};
  mm_typecode_to_str(r->header.matcode, kind, sizeof kind);
  snprintf(facts->kind, sizeof facts->kind, "%s", kind + strlen("matrix "));
}

wr_status wr_read_triplets(const char *path, const wr_read_options *options, wr_triplets *triplets,
                           wr_read_facts *facts) {
  reader r = {.triplets = triplets, .threads = options != NULL ? options->threads : 0};
  if (r.threads <= 0) r.threads = omp_get_max_threads();
  r.format.nonnegative = options != NULL && options->nonnegative;
  *triplets = (wr_triplets){.nrows = 0};
  int64_t stored;
  wr_status status = wr_text_read(path, MM_BANNER, r.threads, &r.text);
  if (status != WR_OK) return status;
  TRY(parse_header(&r));
  TRY(cut(&r));
  parse_parts(&r);
  TRY(settle(&r, &stored));
  if (!r.format.coordinate) place_array(&r);
  triplets->nrows = r.header.nrows;
  triplets->ncols = r.header.ncols;
  triplets->symmetry = r.format.symmetry;
  if (facts != NULL) note_facts(&r, stored, facts);
done:
  if (status != WR_OK) wr_triplets_free(triplets);
  wr_free(r.parts);
  wr_text_free(&r.text);
  return status;
}
