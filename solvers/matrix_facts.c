#include "solvers/matrix_facts.h"

#include <math.h>

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

static void find_symmetry(const wr_csr *A, const double *diagonal, wr_matrix_facts *facts) {
  int symmetric = 1, minor = 0;
#pragma omp parallel for schedule(guided) reduction(& : symmetric) reduction(| : minor) if (A->nnz > 1 << 14)
  for (int64_t i = 0; i < A->nrows; i++)
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1] && symmetric; k++) {
      int64_t j = A->col[k];
      double value = value_at(A, k);
      symmetric &= find_value(A, j, i) == value; /* an entry without its mirror image may be 0 */
      if (j != i) minor |= is_negative_minor(diagonal[i], diagonal[j], value) || (value != 0 && diagonal[i] == 0);
    }
  facts->symmetric = symmetric;
  facts->indefinite = symmetric && (minor || (facts->positive_diagonals > 0 && facts->negative_diagonals > 0));
}

wr_status wr_matrix_facts_find(const wr_csr *A, wr_matrix_facts *facts) {
  wr_status status;
  double *norms = NULL;
  int64_t n = A->nrows;
  *facts = (wr_matrix_facts){.n = n, .first_zero_diagonal = -1};
  TRY(wr_alloc_zeroed(&norms, 3 * n, sizeof *norms, "facts about the matrix"));
  double *rows = norms, *columns = norms + n, *diagonal = norms + 2 * n;
  measure(A, rows, columns, diagonal);
  facts->row_spread = spread(rows, n, &facts->empty_rows, &facts->first_empty_row);
  facts->column_spread = spread(columns, n, &facts->empty_columns, &facts->first_empty_column);
  for (int64_t i = 0; i < n; i++) {
    facts->positive_diagonals += diagonal[i] > 0, facts->negative_diagonals += diagonal[i] < 0;
    if (diagonal[i] == 0 && facts->zero_diagonals++ == 0) facts->first_zero_diagonal = i;
  }
  find_symmetry(A, diagonal, facts);
done:
  wr_free(norms);
  return status;
}
