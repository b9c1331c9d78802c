#include "tests/conformance/covering.h"

#include <stdlib.h>
#include <string.h>

#include "config/memory.h"

typedef struct pairs {
  const int *levels;
  int parameters, most; /* most: the largest number of values of a parameter */
  unsigned char *seen;  /* [parameters][parameters][most][most]              */
} pairs;

static unsigned char *seen(const pairs *s, int p, int a, int q, int b) {
  return &s->seen[(((size_t)p * (size_t)s->parameters + (size_t)q) * (size_t)s->most + (size_t)a) * (size_t)s->most +
                  (size_t)b];
}

/* The number of new pairs that value a of parameter p makes with the values chosen so far (-1: not chosen). */
static int gain(const pairs *s, const int *row, int p, int a) {
  int pairs_won = 0;
  for (int q = 0; q < s->parameters; q++)
    if (q != p && row[q] >= 0) pairs_won += !*seen(s, p, a, q, row[q]);
  return pairs_won;
}

/* The value that makes most new pairs. The search begins at another value in every row, so that equals are used evenly. */
static int best_value(const pairs *s, const int *row, int p, int turn) {
  int best = turn % s->levels[p];
  for (int k = 1; k < s->levels[p]; k++) {
    int a = (turn + k) % s->levels[p];
    if (gain(s, row, p, a) > gain(s, row, p, best)) best = a;
  }
  return best;
}

static void mark(const pairs *s, const int *row) {
  for (int p = 0; p < s->parameters; p++)
    for (int q = 0; q < s->parameters; q++) *seen(s, p, row[p], q, row[q]) = 1;
}

static wr_status push(covering *c, const int *row) {
  if (c->count == c->capacity) {
    int(*more)[COVERING_PARAMETERS];
    wr_status status = wr_alloc(&more, 2 * c->capacity + 64, sizeof *more, "a covering");
    if (status != WR_OK) return status;
    if (c->count) memcpy(more, c->row, (size_t)c->count * sizeof *more);
    wr_free(c->row);
    c->row = more, c->capacity = 2 * c->capacity + 64;
  }
  memcpy(c->row[c->count++], row, sizeof *c->row);
  return WR_OK;
}

/* Adds a row that begins with a missing pair. */
static wr_status cover(const pairs *s, covering *c, int p, int a, int q, int b) {
  int row[COVERING_PARAMETERS];
  for (int k = 0; k < COVERING_PARAMETERS; k++) row[k] = k < s->parameters ? -1 : 0;
  row[p] = a, row[q] = b;
  for (int k = 0; k < s->parameters; k++)
    if (row[k] < 0) row[k] = best_value(s, row, k, c->count);
  mark(s, row);
  return push(c, row);
}

static int by_values(const void *a, const void *b) {
  const int *x = a, *y = b;
  for (int k = 0; k < COVERING_PARAMETERS; k++)
    if (x[k] != y[k]) return x[k] < y[k] ? -1 : 1;
  return 0;
}

wr_status covering_make(const int *levels, int parameters, covering *c) {
  wr_status status;
  pairs s = {.levels = levels, .parameters = parameters, .most = 1};
  *c = (covering){.count = 0};
  for (int p = 0; p < parameters; p++) s.most = levels[p] > s.most ? levels[p] : s.most;
  TRY(wr_alloc_zeroed(&s.seen, (int64_t)parameters * parameters * s.most * s.most, 1, "a covering"));
  for (int p = 0; p < parameters; p++)
    for (int q = p + 1; q < parameters; q++)
      for (int a = 0; a < levels[p]; a++)
        for (int b = 0; b < levels[q]; b++)
          if (!*seen(&s, p, a, q, b)) TRY(cover(&s, c, p, a, q, b));
  qsort(c->row, (size_t)c->count, sizeof *c->row, by_values);
done:
  wr_free(s.seen);
  if (status != WR_OK) covering_free(c);
  return status;
}

void covering_free(covering *c) {
  wr_free(c->row);
  *c = (covering){.count = 0};
}
