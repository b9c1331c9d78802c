/* Matrices that are assembled with a feed. */
#ifndef WR_FEED_CASES_H
#define WR_FEED_CASES_H

#include "config/memory.h"
#include "spmv/matrix/csr_feed.h"
#include "tests/check.h"

typedef struct feed_case {
  const char *name;
  int64_t nrows, each; /* entries of a row: all, or of every seventh one */
  int values, duplicate, sevenths;
  wr_symmetry symmetry;
} feed_case;

static const feed_case feed_cases[] = {
    {.name = "a pattern", .nrows = 200000, .each = 5},
    {.name = "with values", .nrows = 150000, .each = 4, .values = 1},
    {.name = "with one duplicate", .nrows = 150000, .each = 5, .values = 1, .duplicate = 1},
    {.name = "a pattern that becomes counts", .nrows = 150000, .each = 5, .duplicate = 1},
    {.name = "symmetric", .nrows = 150000, .each = 3, .symmetry = WR_SYMMETRIC},
    {.name = "empty rows", .nrows = 300000, .each = 9, .sevenths = 1},
    {.name = "three rows", .nrows = 3, .each = 2, .values = 1},
    {.name = "no entries", .nrows = 100},
};
enum { FEED_CASES = sizeof feed_cases / sizeof *feed_cases };

/* Entries in the order of columns, so that assembling has to make rows; two chunks. */
static inline wr_triplets feed_triplets(const feed_case *f) {
  wr_triplets t = {.nrows = f->nrows, .ncols = f->nrows, .symmetry = f->symmetry, .nchunks = 2};
  CHECK_OK(wr_alloc_zeroed(&t.chunks, 2, sizeof *t.chunks, "a test"));
  for (int c = 0; c < 2; c++) {
    wr_triplet_chunk *chunk = &t.chunks[c];
    CHECK_OK(wr_alloc(&chunk->row, f->nrows * f->each + 1, sizeof *chunk->row, "a test"));
    CHECK_OK(wr_alloc(&chunk->col, f->nrows * f->each + 1, sizeof *chunk->col, "a test"));
    if (f->values) CHECK_OK(wr_alloc(&chunk->val, f->nrows * f->each + 1, sizeof *chunk->val, "a test"));
  }
  for (int64_t m = f->each; m-- > 0;)
    for (int64_t i = 0; i < f->nrows; i++) {
      if (f->sevenths && i % 7) continue;
      wr_triplet_chunk *chunk = &t.chunks[m % 2];
      int64_t j = f->symmetry == WR_SYMMETRIC ? i - m : (i + m * (f->nrows / f->each)) % f->nrows;
      if (j < 0) continue;
      int64_t n = chunk->count++;
      chunk->row[n] = (int32_t)i, chunk->col[n] = (int32_t)j;
      if (f->values) chunk->val[n] = (double)(i * 31 + m) / 7;
      if (m == 0 && f->duplicate && i == f->nrows / 2) chunk->col[n] = chunk->col[n > 0 ? n - 1 : 0], chunk->row[n]--;
    }
  return t;
}

#endif
