#include "solvers/symmetry.h"

#include <stddef.h>

enum { BLOCK = 1 << 12 }; /* rows of a task */

/* Each entry below the diagonal has its mirror image, and there are as many above it in all rows together. */
static int fits(const wr_csr *A, int64_t i, int64_t *above, int64_t *below) {
  double diagonal = 0;
  for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
    int64_t j = A->col[k];
    double value = A->val ? A->val[k] : 1;
    if (j > i) ++*above;
    if (j == i) diagonal = value;
    if (j >= i) continue;
    ++*below;
    int64_t mirrored = wr_csr_find(A, j, i);
    if (mirrored < 0 || !((A->val ? A->val[mirrored] : 1) == value)) return 0;
  }
  return diagonal > 0;
}

/* Rows [first, end) fit, up to the first that does not. */
static int rows_fit(const wr_csr *A, int64_t first, int64_t end, int64_t *above, int64_t *below) {
  int64_t i = first;
  while (i < end && fits(A, i, above, below)) i++;
  return i == end;
}

/* The first rows are looked at by the calling thread: most matrices that are not symmetric differ there, and starting a team of
 * threads on a busy machine takes longer than a small solve. */
int wr_is_symmetric_positive(const wr_csr *A) {
  int differs = 0;
  int64_t above = 0, below = 0;
  if (A == NULL || A->row_ptr == NULL || A->col == NULL || A->nrows != A->ncols) return 0;
  int64_t begin = A->nrows < BLOCK ? A->nrows : BLOCK;
  if (!rows_fit(A, 0, begin, &above, &below)) return 0;
#pragma omp parallel for schedule(dynamic) reduction(+ : above, below) if (A->nrows > 16 * BLOCK)
  for (int64_t first = begin; first < A->nrows; first += BLOCK) {
    int seen;
#pragma omp atomic read
    seen = differs;
    if (seen || rows_fit(A, first, first + BLOCK < A->nrows ? first + BLOCK : A->nrows, &above, &below)) continue;
#pragma omp atomic write
    differs = 1;
  }
  return !differs && above == below;
}
