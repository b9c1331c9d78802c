#include "spmv/matrix/renumber.h"

#include "config/memory.h"
#include "spmv/matrix/csr_argument.h"
#include "spmv/matrix/row_sort.h"

/* Copies row i of A to its place in B, with the columns' places, in ascending order. */
static wr_status copy_row(const wr_csr *A, const int32_t *place, int64_t i, wr_csr *B, wr_row_scratch *scratch) {
  int64_t from = A->row_ptr[i], count = A->row_ptr[i + 1] - from, to = B->row_ptr[place[i]];
  for (int64_t k = 0; k < count; k++) B->col[to + k] = place[A->col[from + k]];
  if (A->val)
    for (int64_t k = 0; k < count; k++) B->val[to + k] = A->val[from + k];
  return wr_row_sort(B->col + to, B->val ? B->val + to : NULL, count, scratch);
}

static wr_status copy_rows(const wr_csr *A, const int32_t *place, wr_csr *B) {
  wr_status status = WR_OK;
#pragma omp parallel if (A->nnz > 100000)
  {
    wr_row_scratch scratch = {0};
    wr_status mine = WR_OK;
#pragma omp for schedule(dynamic, 1024)
    for (int64_t i = 0; i < A->nrows; i++)
      if (mine == WR_OK) mine = copy_row(A, place, i, B, &scratch);
    wr_row_scratch_free(&scratch);
    if (mine != WR_OK) {
#pragma omp critical(wr_renumber)
      status = mine;
    }
  }
  return status == WR_OK ? WR_OK : wr_fail(WR_ENOMEM, "out of memory for renumbering a matrix");
}

wr_status wr_csr_renumber(const wr_csr *A, const int32_t *place, wr_csr **out) {
  wr_status status;
  wr_csr *B = NULL;
  WR_NEED(out);
  *out = NULL;
  WR_NEED_HOST(A);
  WR_NEED(place);
  WR_REFUSE_IF(A->nrows != A->ncols, "A is %lld x %lld; rows and columns share their numbers", (long long)A->nrows,
               (long long)A->ncols);
  TRY(wr_csr_create(A->nrows, A->ncols, A->nnz, A->val != NULL, &B));
  for (int64_t i = 0; i < A->nrows; i++) B->row_ptr[place[i] + 1] = A->row_ptr[i + 1] - A->row_ptr[i];
  for (int64_t i = 0; i < A->nrows; i++) B->row_ptr[i + 1] += B->row_ptr[i];
  TRY(copy_rows(A, place, B));
  B->symmetric = A->symmetric, B->from_zero = A->from_zero;
  *out = B, B = NULL;
done:
  wr_csr_free(B);
  return status;
}
