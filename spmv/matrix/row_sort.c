#include "spmv/matrix/row_sort.h"

#include <string.h>

#include "config/memory.h"

enum {
  SHORT_ROW = 40, /* up to here insertion sort is faster than radix sort (random columns, EPYC) */
  DIGIT = 256     /* radix: values of a byte of a column                       */
};

void wr_row_scratch_free(wr_row_scratch *scratch) {
  wr_free(scratch->col);
  wr_free(scratch->val);
  *scratch = (wr_row_scratch){.capacity = 0};
}

wr_status wr_row_scratch_reserve(wr_row_scratch *scratch, int64_t count, int values) {
  if (count <= scratch->capacity) return WR_OK;
  int64_t capacity = count + count / 4;
  wr_row_scratch_free(scratch);
  wr_status status = wr_alloc(&scratch->col, capacity, sizeof *scratch->col, "sorting rows");
  if (status == WR_OK && values) status = wr_alloc(&scratch->val, capacity, sizeof *scratch->val, "sorting rows");
  if (status == WR_OK) scratch->capacity = capacity;
  return status;
}

static void sort_short(int32_t *col, double *val, int64_t count) {
  for (int64_t k = 1; k < count; k++) {
    int32_t c = col[k];
    double v = val != NULL ? val[k] : 0;
    int64_t at = k;
    for (; at > 0 && col[at - 1] > c; at--) {
      col[at] = col[at - 1];
      if (val != NULL) val[at] = val[at - 1];
    }
    col[at] = c;
    if (val != NULL) val[at] = v;
  }
}

/* One stable pass by one byte of the column, from `from` to `to`. Returns 0, and copies nothing, if all have the same byte. */
static int sort_by_byte(const wr_row_scratch *from, const wr_row_scratch *to, int64_t count, int shift) {
  int64_t place[DIGIT] = {0}, sum = 0;
  for (int64_t k = 0; k < count; k++) place[from->col[k] >> shift & (DIGIT - 1)]++;
  if (place[from->col[0] >> shift & (DIGIT - 1)] == count) return 0;
  for (int d = 0; d < DIGIT; d++) {
    int64_t here = place[d];
    place[d] = sum;
    sum += here;
  }
  for (int64_t k = 0; k < count; k++) {
    int64_t at = place[from->col[k] >> shift & (DIGIT - 1)]++;
    to->col[at] = from->col[k];
    if (from->val != NULL) to->val[at] = from->val[k];
  }
  return 1;
}

static wr_status sort_long(int32_t *col, double *val, int64_t count, wr_row_scratch *scratch) {
  PASS(wr_row_scratch_reserve(scratch, count, val != NULL));
  wr_row_scratch here = {.col = col, .val = val}, there = *scratch;
  for (int shift = 0; shift < 32; shift += 8) {
    if (!sort_by_byte(&here, &there, count, shift)) continue;
    wr_row_scratch swap = here;
    here = there, there = swap;
  }
  if (here.col == col) return WR_OK;
  memcpy(col, here.col, (size_t)count * sizeof *col);
  if (val != NULL) memcpy(val, here.val, (size_t)count * sizeof *val);
  return WR_OK;
}

wr_status wr_row_sort_unordered(int32_t *col, double *val, int64_t count, wr_row_scratch *scratch) {
  if (count > SHORT_ROW) return sort_long(col, val, count, scratch);
  sort_short(col, val, count);
  return WR_OK;
}
