#define _DEFAULT_SOURCE
#include "tests/conformance/cases.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/memory.h"
#include "data/family.h"
#include "data/generate.h"
#include "io/reader.h"

typedef struct case_entries {
  int64_t nrows, ncols;
  wr_triplet_chunk chunk;
  wr_status status; /* of the first allocation that failed */
} case_entries;

double case_number(uint64_t key, int64_t i) {
  uint64_t bits = wr_hash(wr_hash(77, key), (uint64_t)i);
  double size = (double)((bits >> 12 << 1) + 1) * 0x1p-53;
  return bits & 1 ? size : -size;
}

static wr_status grow(wr_triplet_chunk *c) {
  wr_status status;
  wr_triplet_chunk more = {.count = c->count, .capacity = 2 * c->capacity + 16};
  TRY(wr_alloc(&more.row, more.capacity, sizeof *more.row, "a case"));
  TRY(wr_alloc(&more.col, more.capacity, sizeof *more.col, "a case"));
  TRY(wr_alloc(&more.val, more.capacity, sizeof *more.val, "a case"));
  for (int64_t k = 0; k < c->count; k++) more.row[k] = c->row[k], more.col[k] = c->col[k], more.val[k] = c->val[k];
  wr_free(c->row), wr_free(c->col), wr_free(c->val);
  *c = more;
  return WR_OK;
done:
  wr_free(more.row), wr_free(more.col), wr_free(more.val);
  return status;
}

static void put_value(case_entries *e, int64_t i, int64_t j, double value) {
  wr_triplet_chunk *c = &e->chunk;
  if (e->status == WR_OK && c->count == c->capacity) e->status = grow(c);
  if (e->status != WR_OK) return;
  c->row[c->count] = (int32_t)i, c->col[c->count] = (int32_t)j, c->val[c->count] = value;
  c->count++;
}

static void put(case_entries *e, int64_t i, int64_t j) { put_value(e, i, j, case_number(1, i * e->ncols + j)); }

/* ---- Rules that fill the matrices; entries at the same place are added ---- */

static void nothing(case_entries *e) { (void)e; }

static void diagonal(case_entries *e) {
  for (int64_t i = 0; i < e->nrows && i < e->ncols; i++) put(e, i, i);
}

static void full(case_entries *e) {
  for (int64_t i = 0; i < e->nrows; i++)
    for (int64_t j = 0; j < e->ncols; j++) put(e, i, j);
}

/* `count` pseudo-random columns. */
static void random_row(case_entries *e, int64_t i, int64_t count) {
  for (int64_t k = 0; k < count; k++) put(e, i, wr_below(wr_hash((uint64_t)i, (uint64_t)k), e->ncols));
}

static void random_rows(case_entries *e) {
  for (int64_t i = 0; i < e->nrows; i++) random_row(e, i, 6);
}

static void long_random_rows(case_entries *e) {
  for (int64_t i = 0; i < e->nrows; i++) random_row(e, i, e->ncols / 3);
}

/* The first row and, in a hundred rows, the last are empty. */
static void every_third_row(case_entries *e) {
  for (int64_t i = 1; i < e->nrows; i += 3) random_row(e, i, 5);
}

static void few_rows(case_entries *e) {
  for (int64_t i = 500; i < e->nrows; i += 1000) random_row(e, i, 30);
}

static void one_row_of_many(case_entries *e) {
  for (int64_t j = 0; j < e->ncols; j++) put(e, e->nrows / 2, j);
}

static void giant_row(case_entries *e) {
  for (int64_t j = 0; j < e->ncols; j++) put(e, e->nrows / 3, j);
  for (int64_t i = 0; i < e->nrows; i += 2) put(e, i, i % e->ncols);
}

static void giant_column(case_entries *e) {
  for (int64_t i = 0; i < e->nrows; i++) put(e, i, e->ncols / 3);
  for (int64_t i = 0; i < e->nrows; i += 2) put(e, i, i % e->ncols);
}

static void giant_row_and_column(case_entries *e) {
  giant_row(e);
  giant_column(e);
}

/* Row i has i entries. */
static void triangle(case_entries *e) {
  for (int64_t i = 0; i < e->nrows; i++)
    for (int64_t j = 0; j < i; j++) put(e, i, j);
}

/* Rows of 2^k - 1, 2^k and 2^k + 1 entries, the longest first, so that a backend that cuts rows into pieces of a power of two
 * cuts just before, at and just after the end of a row. */
static void powers_of_two(case_entries *e) {
  int64_t i = 0;
  for (int64_t length = e->ncols - 1; length >= 1; length /= 2)
    for (int64_t more = -1; more <= 1; more++, i++)
      for (int64_t j = 0; j < length + more; j++) put(e, i, j);
}

/* Dense 4x4 blocks; the matrix ends within one of them. */
static void blocks(case_entries *e) {
  for (int64_t b = 0; b < e->nrows / 4 * 3; b++) {
    int64_t top = b / 3 * 4, left = wr_below(wr_hash(5, (uint64_t)b), e->ncols);
    for (int64_t i = top; i < top + 4; i++)
      for (int64_t j = left; j < left + 4 && j < e->ncols; j++) put(e, i, j);
  }
}

/* Some entries of value 0, and rows with only such entries. */
static void explicit_zeros(case_entries *e) {
  for (int64_t i = 0; i < e->nrows; i++)
    for (int64_t k = 0; k < 5; k++) {
      int64_t j = (i * 7 + k * 11) % e->ncols;
      put_value(e, i, j, i % 4 == 0 || k == 2 ? 0.0 : case_number(2, i * 5 + k));
    }
}

/* Terms near 2^30 of both signs, which cancel. */
static void large_terms(case_entries *e) {
  for (int64_t i = 0; i < e->nrows; i++)
    for (int64_t j = 0; j < e->ncols; j++)
      put_value(e, i, j, (j % 2 ? -0x1p30 : 0x1p30) + case_number(3, i * e->ncols + j));
}

/* Values from subnormal ones in f32 to large ones. */
static void magnitudes(case_entries *e) {
  for (int64_t i = 0; i < e->nrows; i++)
    for (int64_t k = 0; k < 7; k++) {
      int exponent = (int)((i * 31 + k * 17) % 240) - 140;
      put_value(e, i, (i * 13 + k * 5) % e->ncols, ldexp(case_number(4, i * 7 + k), exponent));
    }
}

static void beyond_f32(case_entries *e) {
  diagonal(e);
  put_value(e, 1, 2, -1e39);
}

static const test_case small[] = {
    {"1x1", 1, 1, 0, diagonal},
    {"1x1 without entries", 1, 1, 0, nothing},
    {"5x7 without entries", 5, 7, 0, nothing},
    {"pattern without entries", 40, 40, 1, nothing},
    {"one row", 1, 300, 0, full},
    {"one column", 300, 1, 0, full},
    {"diagonal", 33, 33, 0, diagonal},
    {"identity", 64, 64, 1, diagonal},
    {"empty rows", 100, 100, 0, every_third_row},
    {"one row of many", 90, 90, 0, one_row_of_many},
    {"giant row", 65, 400, 0, giant_row},
    {"giant column", 400, 65, 0, giant_column},
    {"giant row and column, pattern", 200, 200, 1, giant_row_and_column},
    {"tall", 500, 7, 0, random_rows},
    {"wide", 7, 500, 0, long_random_rows},
    {"tall pattern", 130, 3, 1, random_rows},
    {"wide pattern", 3, 130, 1, long_random_rows},
    {"random", 97, 97, 0, random_rows},
    {"random pattern", 100, 100, 1, random_rows},
    {"triangle", 70, 70, 0, triangle},
    {"dense", 32, 32, 0, full},
    {"blocks", 64, 64, 0, blocks},
    {"explicit zeros", 60, 60, 0, explicit_zeros},
    {"large terms", 30, 50, 0, large_terms},
    {"magnitudes", 80, 80, 0, magnitudes},
    {"beyond f32", 3, 3, 0, beyond_f32},
    {.name = "gen:stencil:n=11,points=5"},
    {.name = "gen:stencil:n=5,points=7"},
    {.name = "gen:web:n=70,dmin=3,local=10"},
};

static const test_case large[] = {
    {"rows of powers of two", 48, 32769, 0, powers_of_two},
    {"long giant row and column", 40000, 40000, 0, giant_row_and_column},
    {"long giant row, pattern", 500, 120000, 1, giant_row},
    {"few rows of many", 70000, 2000, 0, few_rows},
    {"many rows without entries", 70000, 70000, 1, nothing},
    {"one long row", 1, 100000, 0, full},
    {"one long column", 70000, 1, 0, full},
    {"very tall", 30000, 3, 1, random_rows},
    {"very wide", 3, 100000, 0, long_random_rows},
    {.name = "gen:stencil:n=150,points=5"},
    {.name = "gen:stencil:n=28,points=7"},
    {.name = "gen:uniform:n=10000,degree=12"},
    {.name = "gen:web:n=15000"},
    {.name = "gen:rmat:scale=11,degree=40"},
    {.name = "gen:hubs:n=20000,hubs=5"},
    {.name = "gen:road:side=160"},
    {.name = "gen:fem:n=8"},
    {.name = "gen:band:n=3000,density=0.02"},
    {.name = "gen:density:n=1000,block=16,density=0.08,fill=0.7"},
};

/* ---- lists ---- */

/* Fewer rows, but more than the 8448 warps of an H200. */
static void shorten(test_case *c) {
  enum { ROWS = 8750 };
  static const char *const smaller[][2] = {
      {"gen:stencil:n=150,points=5", "gen:stencil:n=95,points=5"},
      {"gen:stencil:n=28,points=7", "gen:stencil:n=21,points=7"},
      {"gen:uniform:n=10000,degree=12", "gen:uniform:n=9000,degree=9"},
      {"gen:web:n=15000", "gen:web:n=9000"},
      {"gen:hubs:n=20000,hubs=5", "gen:hubs:n=9000,hubs=5"},
      {"gen:road:side=160", "gen:road:side=96"},
  };
  for (size_t k = 0; k < sizeof smaller / sizeof *smaller; k++)
    if (strcmp(c->name, smaller[k][0]) == 0) c->name = smaller[k][1];
  if (c->nrows > ROWS && c->ncols > ROWS) c->ncols = ROWS;
  if (c->nrows > ROWS) c->nrows = ROWS;
}

static wr_status start_list(case_list *list, const test_case *rows, int count, int more) {
  wr_status status = wr_alloc(&list->cases, count + more, sizeof *list->cases, "the list of cases");
  if (status != WR_OK) return status;
  for (int c = 0; c < count; c++) {
    list->cases[c] = rows[c];
    if (getenv("WR_SHORT")) shorten(&list->cases[c]);
  }
  list->count = count;
  return WR_OK;
}

/* Every k-th case, as WR_EVERY=k says. */
static void thin_out(case_list *list) {
  const char *text = getenv("WR_EVERY");
  int every = text ? atoi(text) : 1, kept = 0;
  for (int c = 0; c < list->count && every > 1; c += every) list->cases[kept++] = list->cases[c];
  if (every > 1) list->count = kept;
}

wr_status cases_small(case_list *list) {
  *list = (case_list){.count = 0};
  wr_status status = start_list(list, small, sizeof small / sizeof *small, 0);
  if (status == WR_OK) thin_out(list);
  return status;
}

wr_status cases_large(case_list *list) {
  static const char *const kinds[] = {"*.mtx", "*.mtx.gz", "real/*.mtx", "real/*.mtx.gz"};
  const char *folders[] = {"tests/data/real", getenv("WR_MATRICES")};
  int count = WR_CASES_GZIP ? 4 : 3, step = WR_CASES_GZIP ? 1 : 2;
  *list = (case_list){.count = 0};
  for (int f = 0; f < 2; f++)
    for (int k = 0; k < count && folders[f] && folders[f][0]; k += step) {
      char pattern[4096];
      snprintf(pattern, sizeof pattern, "%s/%s", folders[f], kinds[k]);
      if (glob(pattern, list->files.gl_pathc ? GLOB_APPEND : 0, NULL, &list->files) == GLOB_NOSPACE)
        return wr_fail(WR_ENOMEM, "no room for the names of matrices in %s", folders[f]);
    }
  wr_status status = start_list(list, large, sizeof large / sizeof *large, (int)list->files.gl_pathc);
  for (size_t f = 0; status == WR_OK && f < list->files.gl_pathc; f++)
    list->cases[list->count++] = (test_case){.name = list->files.gl_pathv[f]};
  return status;
}

void cases_free(case_list *list) {
  wr_free(list->cases);
  if (list->files.gl_pathc) globfree(&list->files);
  *list = (case_list){.count = 0};
}

/* ---- building ---- */

static wr_status read_matrix(const char *path, wr_csr **A) {
  wr_status status;
  wr_triplets triplets = {0};
  TRY(wr_read_triplets(path, NULL, &triplets, NULL));
  TRY(wr_csr_assemble(&triplets, WR_DUPLICATES_SUM, A, NULL));
done:
  wr_triplets_free(&triplets);
  return status;
}

wr_status case_build(const test_case *c, wr_csr **A) {
  wr_status status;
  wr_triplets triplets = {.nrows = c->nrows, .ncols = c->ncols};
  case_entries entries = {.nrows = c->nrows, .ncols = c->ncols};
  *A = NULL;
  if (c->fill == NULL) return wr_generate_is_name(c->name) ? wr_generate(c->name, 0, A) : read_matrix(c->name, A);
  TRY(grow(&entries.chunk)); /* arrays, even for a matrix without entries */
  TRY(wr_alloc_zeroed(&triplets.chunks, 1, sizeof *triplets.chunks, "a case"));
  c->fill(&entries);
  TRY(entries.status);
  if (c->pattern) wr_free(entries.chunk.val), entries.chunk.val = NULL;
  triplets.nchunks = 1, triplets.chunks[0] = entries.chunk;
  entries.chunk = (wr_triplet_chunk){.count = 0};
  TRY(wr_csr_assemble(&triplets, WR_DUPLICATES_ONCE, A, NULL));
done:
  wr_free(entries.chunk.row), wr_free(entries.chunk.col), wr_free(entries.chunk.val);
  wr_triplets_free(&triplets);
  return status;
}
