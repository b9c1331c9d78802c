/* Shapes of matrices for tests: the edge cases of a loop over rows or columns. */
#ifndef WR_ROW_SHAPES_H
#define WR_ROW_SHAPES_H

#include "tests/kernels/rows_fixture.h"

static inline int64_t giant(int64_t i, int64_t last, int64_t ncols) {
  return i == 5 ? last + 1 : i % 3 ? near(i, last, ncols) * 40 : ncols;
}
static inline int64_t one_column(int64_t, int64_t last, int64_t ncols) { return last < 0 ? ncols / 2 : ncols; }
static inline int64_t even_columns(int64_t i, int64_t last, int64_t) {
  return last < 0 ? i % 5 * 2 : last + 2 + 2 * (i % 3);
}

static const struct row_shape {
  const char *name;
  next_column next;
  int64_t nrows, ncols;
} row_shapes[] = {
    {"1 x 1", all, 1, 1},
    {"1 x 1 without entries", none, 1, 1},
    {"no entries", none, 300, 700},
    {"one row", all, 1, 1000},
    {"one column", all, 1000, 1},
    {"dense", all, 70, 70},
    {"diagonal", diagonal, 513, 513},
    {"diagonal of a wide one", diagonal, 300, 1000},
    {"empty rows", gaps, 500, 200},
    {"empty columns", even_columns, 400, 301},
    {"all entries in one column", one_column, 900, 257},
    {"first and last rows empty", one_block_row, 100, 600},
    {"first columns empty", last_columns, 90, 4000},
    {"one giant row", giant, 40, 9000},
    {"tall", near, 3000, 33},
    {"wide", far, 33, 70000},
};

#endif
