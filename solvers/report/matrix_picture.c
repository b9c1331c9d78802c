#include "solvers/report/matrix_picture.h"

#include <string.h>

#include "spmv/parts/halo.h"

enum { MOST_SINGLE = 24 };

/* The first of n rows (or columns) that belongs to part g of `parts`. */
static int64_t begin_of(int64_t g, int64_t n, int parts) { return (g * n + parts - 1) / parts; }

static void count_row(const wr_csr *A, int64_t i, const int64_t *begin, const wr_matrix_picture *p, int64_t *cells) {
  double scale = p->cols / (double)p->ncols;
  for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
    int64_t column = wr_csr_column_number(A, A->col[k]);
    int h = (int)((double)column * scale); /* off by one at most, by rounding */
    if (h >= p->cols || column < begin[h])
      h--;
    else if (column >= begin[h + 1])
      h++;
    cells[h]++;
  }
}

/* The first row of A whose number in the whole is `number` or more. */
static int64_t row_from(const wr_csr *A, int64_t number) {
  int64_t low = 0, high = A->nrows;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (wr_csr_row_number(A, middle) < number)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
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

static wr_status count_lengths(const wr_csr *A, wr_matrix_picture *p) {
  int64_t least = INT64_MAX, most = 0, count[WR_PICTURE_BARS] = {0};
#pragma omp parallel for reduction(min : least) reduction(max : most)
  for (int64_t i = 0; i < A->nrows; i++) {
    int64_t length = A->row_ptr[i + 1] - A->row_ptr[i];
    least = length < least ? length : least;
    most = length > most ? length : most;
  }
  int64_t extremes[] = {-least, most};
  PASS(wr_comm_max_counts(wr_csr_comm(A), extremes, 2));
  lay_out_bars(-extremes[0], extremes[1], p);
#pragma omp parallel for reduction(+ : count)
  for (int64_t i = 0; i < A->nrows; i++) count[bar_of(p, A->row_ptr[i + 1] - A->row_ptr[i])]++;
  memcpy(p->count, count, sizeof count);
  return wr_comm_sum_counts(wr_csr_comm(A), p->count, WR_PICTURE_BARS);
}

_Static_assert((int)WR_PICTURE_CELLS <= 2 * (int)WR_COMM_NUMBERS && (int)WR_PICTURE_BARS <= (int)WR_COMM_NUMBERS,
               "half a row of cells, and the bars, are summed over parts in one call");

static wr_status count_cells(const wr_csr *A, wr_matrix_picture *p) {
  int64_t begin[WR_PICTURE_CELLS + 1];
  for (int h = 0; h <= p->cols; h++) begin[h] = begin_of(h, p->ncols, p->cols);
#pragma omp parallel for schedule(dynamic)
  for (int g = 0; g < p->rows; g++) { /* a row of cells belongs to one thread */
    int64_t end = row_from(A, begin_of(g + 1, p->nrows, p->rows));
    for (int64_t i = row_from(A, begin_of(g, p->nrows, p->rows)); i < end; i++) count_row(A, i, begin, p, p->cell[g]);
  }
  for (int g = 0; g < p->rows; g++)
    for (int h = 0; h < 2; h++)
      PASS(wr_comm_sum_counts(wr_csr_comm(A), p->cell[g] + h * WR_PICTURE_CELLS / 2, WR_PICTURE_CELLS / 2));
  return WR_OK;
}

wr_status wr_matrix_picture_draw(const wr_csr *A, wr_matrix_picture *p) {
  *p = (wr_matrix_picture){0};
  if (A == NULL || A->row_ptr == NULL || A->nrows < 1 || A->ncols < 1 || (A->nnz > 0 && A->col == NULL)) return WR_OK;
  p->nrows = wr_csr_all_rows(A), p->ncols = A->halo ? p->nrows : A->ncols;
  p->rows = p->nrows < WR_PICTURE_CELLS ? (int)p->nrows : WR_PICTURE_CELLS;
  p->cols = p->ncols < WR_PICTURE_CELLS ? (int)p->ncols : WR_PICTURE_CELLS;
  PASS(count_cells(A, p));
  for (int g = 0; g < p->rows; g++)
    for (int h = 0; h < p->cols; h++) {
      int64_t count = p->cell[g][h];
      if (count == 0) continue;
      p->least = p->filled++ == 0 || count < p->least ? count : p->least;
      p->most = count > p->most ? count : p->most;
    }
  return count_lengths(A, p);
}
