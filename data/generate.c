/* From a name to rows. Rows are made in pieces of about as many entries each, by whichever thread is free: first their
 * lengths, which place the pieces, then their entries. Where a length is known only once the row is made, the piece is
 * made at once and kept; so no row is ever made twice. */
#include "data/generate.h"

#include <omp.h>
#include <string.h>

#include "config/closest.h"
#include "config/failure.h"
#include "config/memory.h"
#include "config/option.h"
#include "config/text.h"
#include "data/family.h"

static const char prefix[] = "gen:";

static const wr_family *const families[] = {
    &wr_family_road,  &wr_family_web,   &wr_family_rmat,    &wr_family_hubs,    &wr_family_stencil,
    &wr_family_fem,   &wr_family_band,  &wr_family_chain,   &wr_family_uniform, &wr_family_density,
    &wr_family_aniso, &wr_family_jump,  &wr_family_convect, &wr_family_saddle,  &wr_family_circuit,
};

enum { FAMILIES = sizeof families / sizeof *families, WHERE = 64, PIECE_ENTRIES = 1 << 14, PIECE_ROWS = 1 << 12 };

int wr_generate_is_name(const char *name) { return strncmp(name, prefix, sizeof prefix - 1) == 0; }

/* ---- names ---- */

static wr_status unknown_family(const char *word) {
  const char *names[FAMILIES];
  char list[256];
  size_t used = 0;
  for (int f = 0; f < FAMILIES; f++) {
    names[f] = families[f]->name;
    used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", f > 0 ? ", " : "", names[f]);
  }
  const char *close = wr_closest(word, names, FAMILIES);
  if (close != NULL) return wr_fail(WR_EUSAGE, "gen:%.40s: unknown family (did you mean '%s'?)", word, close);
  return wr_fail(WR_EUSAGE, "gen:%.40s: unknown family (there are: %s)", word, list);
}

static wr_status find_family(const char *word, const wr_family **family) {
  for (int f = 0; f < FAMILIES; f++) {
    *family = families[f];
    if (strcmp(word, families[f]->name) == 0) return WR_OK;
  }
  return unknown_family(word);
}

/* Sets one key, and its bit in *seen, by the row's place in the table. */
static wr_status set_key(const wr_family *family, void *settings, char *item, uint64_t *seen) {
  char where[WHERE], *equals = strchr(item, '=');
  snprintf(where, sizeof where, "%s%s", prefix, family->name);
  if (*item == '\0') return wr_fail(WR_EUSAGE, "%s: nothing between two commas, or behind the last", where);
  if (equals != NULL) *equals = '\0';
  const wr_option *row = wr_option_find(family->options, item);
  if (row != NULL) {
    uint64_t bit = UINT64_C(1) << (row - family->options);
    if (equals == NULL) return wr_fail(WR_EUSAGE, "%s: %s needs a value: %s=...", where, item, item);
    if (*seen & bit) return wr_fail(WR_EUSAGE, "%s: %s is given twice", where, item);
    *seen |= bit;
  }
  return wr_option_set(family->options, settings, item, equals != NULL ? equals + 1 : "", where);
}

/* "side=64,keep=0.5": cut up in place. The empty text is an empty list. */
static wr_status set_keys(const wr_family *family, void *settings, char *text) {
  uint64_t seen = 0;
  wr_status status = WR_OK;
  for (char *item = text, *next; item != NULL && *text != '\0' && status == WR_OK; item = next) {
    next = strchr(item, ',');
    if (next != NULL) *next++ = '\0';
    status = set_key(family, settings, item, &seen);
  }
  return status;
}

/* ---- rows ---- */

/* A run of rows made before its place is known. */
typedef struct piece {
  int64_t count;
  int32_t *col;
  double *val;
} piece;

typedef struct build {
  const wr_family *family;
  void *settings;
  wr_family_shape shape;
  int64_t first, rows; /* those that are made, of shape.n                              */
  int64_t piece_rows, npieces;
  int32_t *length; /* [rows]                                                          */
  piece *pieces;   /* [npieces], or NULL: the family knows its lengths beforehand     */
  wr_csr *A;
} build;

typedef wr_status (*piece_step)(build *b, int64_t p, wr_rows *rows);

/* Every piece once, on any thread, each thread with rows of its own to work in. */
static wr_status for_pieces(build *b, int threads, piece_step step) {
  wr_failure failure = WR_NO_FAILURE;
#pragma omp parallel num_threads(threads)
  {
    wr_rows rows = {.with_values = b->family->with_values};
#pragma omp for schedule(dynamic, 1)
    for (int64_t p = 0; p < b->npieces; p++) {
      if (wr_failure_is_below(&failure, p)) continue;
      rows.count = 0;
      wr_failure_note(&failure, p, step(b, p, &rows));
    }
    wr_rows_release(&rows);
  }
  return wr_failure_report(&failure);
}

/* Counted from b->first. */
static int64_t first_row(const build *b, int64_t p) { return p * b->piece_rows; }

static int64_t end_row(const build *b, int64_t p) {
  int64_t end = first_row(b, p + 1);
  return end < b->rows ? end : b->rows;
}

static wr_status count_piece(build *b, int64_t p, wr_rows *rows) {
  (void)rows;
  for (int64_t i = first_row(b, p); i < end_row(b, p); i++)
    b->length[i] = (int32_t)b->family->length(b->settings, b->first + i);
  return WR_OK;
}

static wr_status keep_piece(build *b, int64_t p, wr_rows *rows) {
  piece *kept = &b->pieces[p];
  for (int64_t i = first_row(b, p); i < end_row(b, p); i++) {
    int64_t before = rows->count;
    PASS(b->family->row(b->settings, b->first + i, rows));
    b->length[i] = (int32_t)(rows->count - before);
  }
  kept->count = rows->count;
  PASS(wr_alloc(&kept->col, kept->count, sizeof *kept->col, "columns of generated rows"));
  memcpy(kept->col, rows->col, (size_t)kept->count * sizeof *kept->col);
  if (!rows->with_values) return WR_OK;
  PASS(wr_alloc(&kept->val, kept->count, sizeof *kept->val, "values of generated rows"));
  memcpy(kept->val, rows->val, (size_t)kept->count * sizeof *kept->val);
  return WR_OK;
}

static void place(build *b, int64_t p, int64_t count, const int32_t *col, const double *val) {
  int64_t at = b->A->row_ptr[first_row(b, p)];
  memcpy(b->A->col + at, col, (size_t)count * sizeof *col);
  if (val != NULL) memcpy(b->A->val + at, val, (size_t)count * sizeof *val);
}

static void drop_piece(piece *kept) {
  wr_free(kept->col);
  wr_free(kept->val);
  *kept = (piece){0};
}

static wr_status place_kept(build *b, int64_t p, wr_rows *rows) {
  (void)rows;
  place(b, p, b->pieces[p].count, b->pieces[p].col, b->pieces[p].val);
  drop_piece(&b->pieces[p]);
  return WR_OK;
}

static wr_status fill_piece(build *b, int64_t p, wr_rows *rows) {
  for (int64_t i = first_row(b, p); i < end_row(b, p); i++) {
    int64_t before = rows->count;
    PASS(b->family->row(b->settings, b->first + i, rows));
    if (rows->count - before != b->length[i])
      return wr_fail(WR_EINTERNAL, "gen:%s: row %lld has %lld entries instead of %lld", b->family->name,
                     (long long)(b->first + i), (long long)(rows->count - before), (long long)b->length[i]);
  }
  place(b, p, rows->count, rows->col, rows->val);
  return WR_OK;
}

/* The entries of rows [first, first + rows), about. */
static int64_t expected(const build *b) {
  if (b->shape.expected == INT64_MAX) return INT64_MAX;
  return (int64_t)((double)b->shape.expected * ((double)b->rows / (double)b->shape.n));
}

/* Fails now, rather than in the midst of work, when what is needed at once (of entries, kept ones twice) and row_bytes for
 * each row are more than there can be. Nothing is touched. */
static wr_status check_room(const build *b, int64_t row_bytes) {
  void *room;
  int64_t entry_bytes = sizeof(int32_t) + (b->family->with_values ? sizeof(double) : 0), bytes;
  row_bytes += (int64_t)(sizeof *b->length + sizeof *b->A->row_ptr);
  if (b->family->length == NULL) entry_bytes *= 2;
  bytes = wr_times(expected(b), entry_bytes);
  if (__builtin_add_overflow(bytes, b->rows * row_bytes, &bytes)) bytes = INT64_MAX;
  char what[WHERE];
  snprintf(what, sizeof what, "the entries of gen:%s", b->family->name);
  wr_status status = wr_alloc(&room, bytes, 1, what);
  wr_free(room);
  return status;
}

static wr_status set_up(build *b, int64_t row_bytes) {
  int64_t mean = b->shape.expected / b->shape.n + 1;
  b->piece_rows = PIECE_ENTRIES / mean;
  if (b->piece_rows < 1) b->piece_rows = 1;
  if (b->piece_rows > PIECE_ROWS) b->piece_rows = PIECE_ROWS;
  b->npieces = (b->rows - 1) / b->piece_rows + 1;
  PASS(check_room(b, row_bytes));
  PASS(wr_alloc(&b->length, b->rows, sizeof *b->length, "lengths of generated rows"));
  if (b->family->length == NULL) PASS(wr_alloc_zeroed(&b->pieces, b->npieces, sizeof *b->pieces, "generated pieces"));
  return WR_OK;
}

static wr_status make_room(build *b) {
  int64_t nnz = 0;
  for (int64_t i = 0; i < b->rows; i++) nnz += b->length[i];
  PASS(wr_csr_create(b->rows, b->shape.n, nnz, b->family->with_values, &b->A));
  b->A->symmetric = b->shape.symmetric && b->rows == b->shape.n;
  for (int64_t i = 0; i < b->rows; i++) b->A->row_ptr[i + 1] = b->A->row_ptr[i] + b->length[i];
  return WR_OK;
}

static void free_pieces(build *b) {
  for (int64_t p = 0; b->pieces != NULL && p < b->npieces; p++) drop_piece(&b->pieces[p]);
  wr_free(b->pieces);
  wr_free(b->length);
}

static wr_status build_matrix(build *b, int threads, int64_t row_bytes) {
  wr_status status;
  TRY(set_up(b, row_bytes));
  TRY(for_pieces(b, threads, b->pieces == NULL ? count_piece : keep_piece));
  TRY(make_room(b));
  TRY(for_pieces(b, threads, b->pieces == NULL ? fill_piece : place_kept));
done:
  free_pieces(b);
  if (status == WR_OK) return WR_OK;
  wr_csr_free(b->A);
  return status;
}

/* Of a name: the family with its keys, prepared, in b. */
static wr_status begin(const char *name, build *b) {
  if (!wr_generate_is_name(name)) return wr_fail(WR_EUSAGE, "%.60s: not the name of a generated matrix", name);
  char *word = NULL;
  wr_status status;
  size_t size = strlen(name + sizeof prefix - 1) + 1;
  TRY(wr_alloc(&word, (int64_t)size, 1, "the name of a generated matrix"));
  memcpy(word, name + sizeof prefix - 1, size);
  char *colon = strchr(word, ':');
  if (colon != NULL) *colon = '\0';
  TRY(find_family(word, &b->family));
  TRY(wr_alloc_zeroed(&b->settings, 1, b->family->settings_size, "the settings of a generated matrix"));
  TRY(wr_options_default(b->family->options, b->settings));
  if (colon != NULL) TRY(set_keys(b->family, b->settings, colon + 1));
  TRY(b->family->prepare(b->settings, &b->shape));
  b->rows = b->shape.n;
done:
  wr_free(word);
  return status;
}

static void end(build *b) {
  if (b->settings != NULL && b->family->release != NULL) b->family->release(b->settings);
  wr_free(b->settings);
}

wr_status wr_generate_beside(const char *name, int threads, int64_t row_bytes, wr_csr **out) {
  wr_status status;
  build b = {0};
  *out = NULL;
  TRY(begin(name, &b));
  TRY(build_matrix(&b, threads > 0 ? threads : omp_get_max_threads(), row_bytes));
  *out = b.A;
done:
  end(&b);
  return status;
}

static wr_status check_rows(const build *b, int64_t first, int64_t end) {
  if (first >= 0 && first < end && end <= b->shape.n) return WR_OK;
  return wr_fail(WR_EUSAGE, "gen:%s: there are no rows %lld to %lld of %lld", b->family->name, (long long)first + 1,
                 (long long)end, (long long)b->shape.n);
}

wr_status wr_generate_rows(const char *name, int threads, int64_t first, int64_t end_at, wr_csr **out) {
  wr_status status;
  build b = {0};
  *out = NULL;
  TRY(begin(name, &b));
  TRY(check_rows(&b, first, end_at));
  b.first = first, b.rows = end_at - first;
  TRY(build_matrix(&b, threads > 0 ? threads : omp_get_max_threads(), 0));
  *out = b.A;
done:
  end(&b);
  return status;
}

wr_status wr_generate_lengths(const char *name, int threads, int64_t first, int64_t end_at, int64_t *row_ptr) {
  wr_status status;
  build b = {0};
  TRY(begin(name, &b));
  TRY(check_rows(&b, first, end_at));
  b.first = first, b.rows = end_at - first;
  TRY(set_up(&b, 0));
  TRY(for_pieces(&b, threads > 0 ? threads : omp_get_max_threads(), b.pieces == NULL ? count_piece : keep_piece));
  row_ptr[0] = 0;
  for (int64_t i = 0; i < b.rows; i++) row_ptr[i + 1] = row_ptr[i] + b.length[i];
done:
  free_pieces(&b);
  end(&b);
  return status;
}

wr_status wr_generate_extent(const char *name, int64_t *nrows, int64_t *nnz) {
  build b = {0};
  wr_status status = begin(name, &b);
  *nrows = b.shape.n, *nnz = b.shape.expected;
  end(&b);
  return status;
}

wr_status wr_generate(const char *name, int threads, wr_csr **out) { return wr_generate_beside(name, threads, 0, out); }

/* ---- help ---- */

static void print_key(FILE *out, const wr_option *row) {
  char range[64], text[512];
  wr_option_range(row, range, sizeof range);
  int length = fprintf(out, "      %-11s ", row->name);
  snprintf(text, sizeof text, "%s (%s)", row->help, range);
  wr_text_wrap(out, text, length, 18);
}

void wr_generate_help(FILE *out) {
  for (int f = 0; f < FAMILIES; f++) {
    const wr_option *options = families[f]->options;
    fprintf(out, "gen:%s", families[f]->name);
    for (int k = 0; options[k].name != NULL; k++)
      fprintf(out, "%c%s=%s", k > 0 ? ',' : ':', options[k].name, options[k].value);
    fprintf(out, "\n    ");
    wr_text_wrap(out, families[f]->summary, 4, 4);
    WR_EACH_OPTION(row, options) print_key(out, row);
  }
}
