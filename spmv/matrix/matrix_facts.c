#include "spmv/matrix/matrix_facts.h"

#include <math.h>
#include <stddef.h>

#include "config/memory.h"

static double value_at(const wr_csr *A, int64_t k) { return A->val ? A->val[k] : 1; }

/* The value in row i and column j, or 0. */
static double find_value(const wr_csr *A, int64_t i, int64_t j) {
  int64_t k = wr_csr_find(A, i, j);
  return k >= 0 ? value_at(A, k) : 0;
}

/* rows[n], columns[n] := the largest |values|; diagonal[n]. */
static void measure(const wr_csr *A, double *rows, double *columns, double *diagonal) {
  for (int64_t i = 0; i < A->nrows; i++) {
    diagonal[i] = find_value(A, i, i);
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
      double size = fabs(value_at(A, k));
      rows[i] = fmax(rows[i], size);
      columns[A->col[k]] = fmax(columns[A->col[k]], size);
    }
  }
}

/* Of the elements of a row or column: their sum, that of their sizes, and how many there are. */
typedef struct element_sum {
  double sum, size;
  int64_t count;
} element_sum;

static void add_element(element_sum *of, double value) { of->sum += value, of->size += fabs(value), of->count++; }

/* 1 if rounding of the elements and of the sum explains that it is not 0. */
static int is_zero_sum(const element_sum *of) {
  return of->size > 0 && isfinite(of->size) && fabs(of->sum) <= (double)of->count * 0x1p-51 * of->size;
}

/* Finds facts->zero_row_sums and zero_column_sums; columns[n] are zeroed. */
static void find_zero_sums(const wr_csr *A, element_sum *columns, wr_matrix_facts *facts) {
  facts->zero_row_sums = facts->zero_column_sums = A->nrows > 0;
  for (int64_t i = 0; i < A->nrows; i++) {
    element_sum row = {0};
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++)
      add_element(&row, value_at(A, k)), add_element(&columns[A->col[k]], value_at(A, k));
    facts->zero_row_sums &= is_zero_sum(&row);
  }
  for (int64_t j = 0; j < A->nrows; j++) facts->zero_column_sums &= is_zero_sum(&columns[j]);
}

/* Largest / smallest of norms[n] that are not 0, and how many are 0. */
static double spread(const double *norms, int64_t n, int64_t *zeros, int64_t *first) {
  double largest = 0, smallest = INFINITY;
  *zeros = 0, *first = -1;
  for (int64_t i = 0; i < n; i++) {
    if (norms[i] > 0) {
      largest = fmax(largest, norms[i]), smallest = fmin(smallest, norms[i]);
    } else if ((*zeros)++ == 0) {
      *first = i;
    }
  }
  return largest > 0 ? largest / smallest : 1;
}

/* Both products may overflow or underflow; their quotients say which is larger. */
static int is_negative_minor(double a, double b, double off) {
  return a != 0 && b != 0 && off != 0 && (a > 0) == (b > 0) && fabs(a / off) < fabs(off / b);
}

enum { BLOCK = 1 << 12 }; /* rows of a task */

/* Entries beside the diagonal of a positive definite matrix are below sqrt(a_ii a_jj). A finite-element program that adds up
 * a_ij and a_ji in another order leaves about 1e-16 to 1e-14 of that between them. */
#define ROUNDING 1e-12

/* Whether a and b, the elements (i, j) and (j, i), differ by rounding alone. */
static int is_rounded(const wr_csr *A, int64_t i, int64_t j, double a, double b) {
  return fabs(a - b) <= ROUNDING * sqrt(fabs(find_value(A, i, i))) * sqrt(fabs(find_value(A, j, j)));
}

/* Whether each entry of row i below the diagonal equals its mirror image, and the diagonal element is any number; or with
 * is_positive, is that but for rounding, and positive. *above, *below += pairs beside the diagonal, counted by the entry on
 * that side. Entries of 0 count as none. */
static int fits(const wr_csr *A, int is_positive, int64_t i, int64_t *above, int64_t *below) {
  double diagonal = 0;
  for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
    int64_t j = A->col[k];
    double value = value_at(A, k);
    if (j == i) diagonal = value;
    if (j == i || value == 0) continue;
    if (j > i) {
      ++*above;
    } else {
      double image = find_value(A, j, i);
      if (image != value && !(is_positive && is_rounded(A, i, j, value, image))) return 0;
      *below += image != 0;
    }
  }
  return is_positive ? diagonal > 0 : !isnan(diagonal);
}

/* Rows [first, end) fit, up to the first that does not. */
static int rows_fit(const wr_csr *A, int is_positive, int64_t first, int64_t end, int64_t *above, int64_t *below) {
  int64_t i = first;
  while (i < end && fits(A, is_positive, i, above, below)) i++;
  return i == end;
}

/* Whether the entries above the diagonal that have no mirror image are 0 but for rounding. */
static int lacks_little(const wr_csr *A) {
  for (int64_t i = 0; i < A->nrows; i++)
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
      int64_t j = A->col[k];
      double value = value_at(A, k);
      if (j > i && value != 0 && find_value(A, j, i) == 0 && !is_rounded(A, i, j, value, 0)) return 0;
    }
  return 1;
}

/* All rows fit, and there are as many entries above the diagonal as below it: then each above is the image of one below. The
 * calling thread alone takes the first rows: most matrices that are not symmetric differ there, and starting a team of threads
 * on a busy machine takes longer than a small solve. */
static int is_symmetric(const wr_csr *A, int is_positive) {
  int differs = 0;
  int64_t above = 0, below = 0, begin = A->nrows < BLOCK ? A->nrows : BLOCK;
  if (!rows_fit(A, is_positive, 0, begin, &above, &below)) return 0;
#pragma omp parallel for schedule(dynamic) reduction(+ : above, below) if (A->nrows > 16 * BLOCK)
  for (int64_t first = begin; first < A->nrows; first += BLOCK) {
    int seen;
    int64_t end = first + BLOCK < A->nrows ? first + BLOCK : A->nrows;
#pragma omp atomic read
    seen = differs;
    if (seen || rows_fit(A, is_positive, first, end, &above, &below)) continue;
#pragma omp atomic write
    differs = 1;
  }
  return !differs && (above == below || (is_positive && lacks_little(A)));
}

static int is_square(const wr_csr *A) { return A && A->row_ptr && A->col && A->nrows == A->ncols; }

int wr_is_symmetric_positive(const wr_csr *A) { return is_square(A) && is_symmetric(A, 1); }

int wr_is_symmetric(const wr_csr *A) { return is_square(A) && (A->symmetric || is_symmetric(A, 0)); }

/* 1 if two diagonal elements and an entry beside them, A being symmetric, show eigenvalues of both signs. */
static int has_negative_minor(const wr_csr *A, const double *diagonal) {
  int found = 0;
#pragma omp parallel for schedule(guided) reduction(| : found) if (A->nnz > 1 << 14)
  for (int64_t i = 0; i < A->nrows; i++)
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
      int64_t j = A->col[k];
      double value = value_at(A, k);
      if (j != i) found |= is_negative_minor(diagonal[i], diagonal[j], value) || (value != 0 && diagonal[i] == 0);
    }
  return found;
}

wr_status wr_matrix_facts_find(const wr_csr *A, wr_matrix_facts *facts) {
  wr_status status;
  double *norms = NULL;
  element_sum *sums = NULL;
  int64_t n = A->nrows;
  *facts = (wr_matrix_facts){.n = n, .first_zero_diagonal = -1};
  TRY(wr_alloc_zeroed(&norms, 3 * n, sizeof *norms, "facts about the matrix"));
  TRY(wr_alloc_zeroed(&sums, n, sizeof *sums, "facts about the matrix"));
  double *rows = norms, *columns = norms + n, *diagonal = norms + 2 * n;
  measure(A, rows, columns, diagonal);
  find_zero_sums(A, sums, facts);
  facts->row_spread = spread(rows, n, &facts->empty_rows, &facts->first_empty_row);
  facts->column_spread = spread(columns, n, &facts->empty_columns, &facts->first_empty_column);
  for (int64_t i = 0; i < n; i++) {
    facts->positive_diagonals += diagonal[i] > 0, facts->negative_diagonals += diagonal[i] < 0;
    if (diagonal[i] == 0 && facts->zero_diagonals++ == 0) facts->first_zero_diagonal = i;
  }
  facts->symmetric = is_symmetric(A, 0);
  int has_both = facts->positive_diagonals > 0 && facts->negative_diagonals > 0;
  facts->indefinite = facts->symmetric && (has_both || has_negative_minor(A, diagonal));
done:
  wr_free(norms);
  wr_free(sums);
  return status;
}

static int is_empty(const wr_csr *A, int64_t i) {
  for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++)
    if (A->val == NULL || A->val[k] != 0) return 0;
  return 1;
}

/* Squares are of elements divided by the largest one, so that none overflows. */
wr_status wr_check_empty_rows(const wr_csr *A, const double *b, double tolerance, double atol) {
  double largest = 0, all = 0, empty = 0;
  int64_t first = A->nrows;
  for (int64_t i = 0; i < A->nrows; i++) largest = fmax(largest, fabs(b[i]));
  if (largest == 0 || !isfinite(largest)) return WR_OK;
#pragma omp parallel for schedule(static) reduction(+ : all, empty) reduction(min : first) if (A->nrows > 1 << 16)
  for (int64_t i = 0; i < A->nrows; i++) {
    double square = (b[i] / largest) * (b[i] / largest);
    all += square;
    if (b[i] == 0 || !is_empty(A, i)) continue;
    empty += square;
    if (i < first) first = i;
  }
  double least = sqrt(empty / all);
  if (!(least > tolerance && sqrt(empty) > atol / largest)) return WR_OK;
  return wr_fail(
      WR_EINPUT,
      "row %lld has no entries but 0, and the right-hand side is %g there: no x solves the system; ||b - A x|| "
      "is at least %.3g ||b|| for every x, and %.3g ||b|| is asked for",
      (long long)(first + wr_csr_first(A)), b[first], least, tolerance);
}
