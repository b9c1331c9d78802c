#include "spmv/precond/ilu.h"

#include <math.h>

#include "config/defaults.h"
#include "config/memory.h"
#include "spmv/matrix/csr_argument.h"
#include "spmv/matrix/row_sort.h"

double wr_ilu_row_size(const wr_csr *B, int64_t i) {
  double size = 0;
  for (int64_t k = B->row_ptr[i]; k < B->row_ptr[i + 1]; k++) size = fmax(size, B->val ? fabs(B->val[k]) : 1);
  return size;
}

wr_status wr_ilu_refuse_row(const wr_csr *B, const wr_lu *lu, int64_t i) {
  return wr_fail(WR_ENUMERIC,
                 "the incomplete factors are beyond f64 in row %lld; --scale equilibrate or match keeps them smaller, "
                 "and --precond jacobi needs none",
                 (long long)(wr_lu_row(lu, i) + wr_csr_first(B)));
}

wr_status wr_ilu_set_pivot(const wr_csr *B, double least, int64_t i, double *pivot, wr_lu *lu, wr_ilu_shifts *shifts) {
  double size = wr_ilu_row_size(B, i), bound = size > 0 ? least * size : 1;
  if (!(fabs(*pivot) >= bound)) {
    double shifted = size > 0 ? fmax(least, WR_SHIFTED_PIVOT) * size : 1;
    *pivot = isnan(*pivot) ? shifted : copysign(shifted, *pivot);
    if (shifts->count++ == 0) shifts->first_row = wr_lu_row(lu, i);
  }
  lu->inverse[i] = 1 / *pivot;
  return isfinite(lu->inverse[i]) && isfinite(*pivot) ? WR_OK : wr_ilu_refuse_row(B, lu, i);
}

/* Row i of B, of whose rows row_ptr is final: row order[i] of A, sorted. */
static wr_status reorder_row(const wr_csr *A, const int32_t *order, const int32_t *place, int64_t i,
                             wr_row_scratch *scratch, wr_csr *B) {
  int64_t from = order[i], to = B->row_ptr[i], count = A->row_ptr[from + 1] - A->row_ptr[from];
  for (int64_t k = 0; k < count; k++) {
    B->col[to + k] = place[A->col[A->row_ptr[from] + k]];
    if (B->val) B->val[to + k] = A->val[A->row_ptr[from] + k];
  }
  return wr_row_sort(B->col + to, B->val ? B->val + to : NULL, count, scratch);
}

wr_status wr_csr_reorder(const wr_csr *A, const int32_t *order, wr_csr **B) {
  wr_status status;
  int32_t *place = NULL;
  wr_csr *b = NULL;
  wr_row_scratch scratch = {0};
  WR_NEED(B);
  *B = NULL;
  WR_NEED_HOST(A);
  WR_REFUSE_IF(A->nrows != A->ncols, "A is %lld x %lld", (long long)A->nrows, (long long)A->ncols);
  if (order == NULL) return wr_csr_copy(A, B);
  TRY(wr_alloc(&place, A->nrows, sizeof *place, "a reordered matrix"));
  TRY(wr_csr_create(A->nrows, A->ncols, A->nnz, A->val != NULL, &b));
  for (int64_t i = 0; i < A->nrows; i++) {
    place[order[i]] = (int32_t)i;
    b->row_ptr[i + 1] = b->row_ptr[i] + A->row_ptr[order[i] + 1] - A->row_ptr[order[i]];
  }
  for (int64_t i = 0; i < A->nrows; i++) TRY(reorder_row(A, order, place, i, &scratch, b));
  *B = b, b = NULL;
done:
  wr_row_scratch_free(&scratch);
  wr_free(place);
  wr_csr_free(b);
  return status;
}
