#include "spmv/precond/adjacency.h"

#include <math.h>

#include "config/memory.h"

void wr_adjacency_free(wr_adjacency *g) {
  wr_free(g->ptr);
  wr_free(g->to);
  wr_free(g->strength);
  *g = (wr_adjacency){0};
}

/* largest[i] := the largest |value| of row i beside its diagonal. */
static void find_largest(const wr_csr *A, double *largest) {
#pragma omp parallel for schedule(guided) if (A->nnz > 1 << 16)
  for (int64_t i = 0; i < A->nrows; i++) {
    largest[i] = 0;
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++)
      if (A->col[k] != i) largest[i] = fmax(largest[i], A->val ? fabs(A->val[k]) : 1);
  }
}

/* |value| / largest; 0 for a NaN, and for 0 / 0. */
static double share_of(const wr_csr *M, int64_t k, double largest) {
  double share = (M->val ? fabs(M->val[k]) : 1) / largest;
  return share <= 1 ? share : 0;
}

/* Columns other than i in row i of A or of T, its transpose, ascending and each once; into `to` unless it is NULL, with their
 * strengths unless largest is NULL. Returns how many. */
static int64_t join_rows(const wr_csr *A, const wr_csr *T, int64_t i, const double *largest, int32_t *to,
                         float *strength) {
  int64_t a = A->row_ptr[i], t = T->row_ptr[i], a_end = A->row_ptr[i + 1], t_end = T->row_ptr[i + 1], count = 0;
  while (a < a_end || t < t_end) {
    int64_t from_a = a < a_end ? A->col[a] : INT64_MAX, from_t = t < t_end ? T->col[t] : INT64_MAX;
    int64_t j = from_a < from_t ? from_a : from_t;
    int in_a = from_a == j, in_t = from_t == j;
    a += in_a, t += in_t;
    if (j == i) continue;
    if (to) to[count] = (int32_t)j;
    if (largest)
      strength[count] =
          (float)((in_a ? share_of(A, a - 1, largest[i]) : 0) + (in_t ? share_of(T, t - 1, largest[j]) : 0));
    count++;
  }
  return count;
}

wr_status wr_adjacency_make(const wr_csr *A, int with_strength, const char *what, wr_adjacency *g) {
  wr_status status = WR_OK;
  wr_csr *transposed = NULL;
  double *largest = NULL;
  const wr_csr pattern = {.nrows = A->nrows, .ncols = A->ncols, .nnz = A->nnz, .row_ptr = A->row_ptr, .col = A->col};
  *g = (wr_adjacency){.n = A->nrows};
  if (!A->symmetric) TRY(wr_csr_transpose(with_strength ? A : &pattern, &transposed));
  const wr_csr *T = A->symmetric ? A : transposed;
  if (with_strength) TRY(wr_alloc(&largest, g->n, sizeof *largest, what));
  if (with_strength) find_largest(A, largest);
  TRY(wr_alloc(&g->ptr, g->n + 1, sizeof *g->ptr, what));
  g->ptr[0] = 0;
#pragma omp parallel for schedule(guided) if (A->nnz > 1 << 16)
  for (int64_t i = 0; i < g->n; i++) g->ptr[i + 1] = join_rows(A, T, i, NULL, NULL, NULL);
  for (int64_t i = 0; i < g->n; i++) g->ptr[i + 1] += g->ptr[i];
  TRY(wr_alloc(&g->to, g->ptr[g->n], sizeof *g->to, what));
  if (with_strength) TRY(wr_alloc(&g->strength, g->ptr[g->n], sizeof *g->strength, what));
#pragma omp parallel for schedule(guided) if (A->nnz > 1 << 16)
  for (int64_t i = 0; i < g->n; i++)
    (void)join_rows(A, T, i, largest, g->to + g->ptr[i], with_strength ? g->strength + g->ptr[i] : NULL);
done:
  wr_free(largest);
  wr_csr_free(transposed);
  return status;
}
