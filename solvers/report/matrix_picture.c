#include "solvers/report/matrix_picture.h"

#include <string.h>

enum { MOST_SINGLE = 24 };

/* The first of n rows (or columns) that belongs to part g of `parts`. */
static int64_t begin_of(int64_t g, int64_t n, int parts) { return (g * n + parts - 1) / parts; }

static void count_row(const wr_csr *A, int64_t i, const int64_t *begin, int cols, int64_t *cells) {
  double scale = cols / (double)A->ncols;
  for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
    int h = (int)(A->col[k] * scale); /* off by one at most, by rounding */
    if (h >= cols || A->col[k] < begin[h])
      h--;
    else if (A->col[k] >= begin[h + 1])
      h++;
    cells[h]++;
  }
}

/* The bars for rows of `least` to `most` entries. */
static void lay_out_bars(int64_t least, int64_t most, wr_matrix_picture *p) {
  int is_single = most - least < MOST_SINGLE;
  for (int64_t from = least, to; from <= most && p->bars < WR_PICTURE_BARS; from = to + 1) {
    to = from;
    if (!is_single && from > 0) {
      int64_t power = 1;
      while (2 * power <= from) power *= 2;
      to = 2 * power - 1;
    }
    p->from[p->bars] = from, p->to[p->bars++] = to < most ? to : most;
  }
}

static int bar_of(const wr_matrix_picture *p, int64_t length) {
  int bar = 0;
  while (bar + 1 < p->bars && length > p->to[bar]) bar++;
  return bar;
}

static void count_lengths(const wr_csr *A, wr_matrix_picture *p) {
  int64_t least = INT64_MAX, most = 0, count[WR_PICTURE_BARS] = {0};
#pragma omp parallel for reduction(min : least) reduction(max : most)
  for (int64_t i = 0; i < A->nrows; i++) {
    int64_t length = A->row_ptr[i + 1] - A->row_ptr[i];
    least = length < least ? length : least;
    most = length > most ? length : most;
  }
  lay_out_bars(least, most, p);
#pragma omp parallel for reduction(+ : count)
  for (int64_t i = 0; i < A->nrows; i++) count[bar_of(p, A->row_ptr[i + 1] - A->row_ptr[i])]++;
  memcpy(p->count, count, sizeof count);
}

void wr_matrix_picture_draw(const wr_csr *A, wr_matrix_picture *p) {
  *p = (wr_matrix_picture){0};
  if (A == NULL || A->row_ptr == NULL || A->nrows < 1 || A->ncols < 1 || (A->nnz > 0 && A->col == NULL)) return;
  p->rows = A->nrows < WR_PICTURE_CELLS ? (int)A->nrows : WR_PICTURE_CELLS;
  p->cols = A->ncols < WR_PICTURE_CELLS ? (int)A->ncols : WR_PICTURE_CELLS;
  int64_t begin[WR_PICTURE_CELLS + 1];
  for (int h = 0; h <= p->cols; h++) begin[h] = begin_of(h, A->ncols, p->cols);
#pragma omp parallel for schedule(dynamic)
  for (int g = 0; g < p->rows; g++) /* a row of cells belongs to one thread */
    for (int64_t i = begin_of(g, A->nrows, p->rows); i < begin_of(g + 1, A->nrows, p->rows); i++)
      count_row(A, i, begin, p->cols, p->cell[g]);
  for (int g = 0; g < p->rows; g++)
    for (int h = 0; h < p->cols; h++) {
      int64_t count = p->cell[g][h];
      if (count == 0) continue;
      p->least = p->filled++ == 0 || count < p->least ? count : p->least;
      p->most = count > p->most ? count : p->most;
    }
  count_lengths(A, p);
}
