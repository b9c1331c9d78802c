#include "spmv/matrix/csr.h"

#include <math.h>

#include "config/memory.h"
#include "config/text.h"
#include "spmv/matrix/csr_argument.h"
#include "spmv/matrix/csr_feed.h"
#include "spmv/matrix/csr_device.h"
#include "spmv/device/vec.h"
#include "spmv/parts/halo.h"

enum { PARALLEL_FROM = 1 << 16 }; /* elements from which a parallel loop pays */

wr_status wr_csr_create(int64_t nrows, int64_t ncols, int64_t nnz, int with_values, wr_csr **out) {
  wr_status status;
  wr_csr *A = NULL;
  WR_NEED(out);
  *out = NULL;
  if (nrows < 1 || ncols < 1 || nrows > WR_MAX_INDEX || ncols > WR_MAX_INDEX || nnz < 0)
    return wr_refuse(__func__, "a matrix of %lld x %lld with %lld %s is outside 1..%lld rows and columns",
                     (long long)nrows, (long long)ncols, (long long)nnz, wr_plural(nnz, "entry", "entries"),
                     (long long)WR_MAX_INDEX);
  TRY(wr_alloc_zeroed(&A, 1, sizeof *A, "a matrix"));
  A->nrows = nrows, A->ncols = ncols, A->nnz = nnz;
  TRY(wr_alloc(&A->row_ptr, nrows + 1, sizeof *A->row_ptr, "the row pointers"));
#pragma omp parallel for schedule(static) if (nrows >= PARALLEL_FROM)
  for (int64_t i = 0; i <= nrows; i++) A->row_ptr[i] = 0;
  TRY(wr_alloc(&A->col, nnz, sizeof *A->col, "the column indices"));
  if (with_values) TRY(wr_alloc(&A->val, nnz, sizeof *A->val, "the values"));
  *out = A;
done:
  if (status != WR_OK) wr_csr_free(A);
  return status;
}

wr_status wr_csr_check_host(const wr_csr *A, const char *name, const char *function) {
  if (A == NULL) return wr_refuse(function, "%s is NULL", name);
  if (A->row_ptr == NULL || (A->col == NULL && A->nnz > 0))
    return wr_refuse(function, "%s has no row_ptr or no col; wr_csr_host makes them of a matrix that is on a device",
                     name);
  return WR_OK;
}

wr_status wr_csr_copy(const wr_csr *A, wr_csr **out) {
  WR_NEED(out);
  *out = NULL;
  WR_NEED_HOST(A);
  PASS(wr_csr_create(A->nrows, A->ncols, A->nnz, A->val != NULL, out));
  wr_csr *B = *out;
  B->symmetric = A->symmetric, B->from_zero = A->from_zero;
#pragma omp parallel for schedule(static) if (A->nrows >= PARALLEL_FROM)
  for (int64_t i = 0; i <= A->nrows; i++) B->row_ptr[i] = A->row_ptr[i];
#pragma omp parallel for schedule(static) if (A->nnz >= PARALLEL_FROM)
  for (int64_t k = 0; k < A->nnz; k++) {
    B->col[k] = A->col[k];
    if (A->val) B->val[k] = A->val[k];
  }
  return WR_OK;
}

void wr_csr_forget_device(wr_csr *A) {
  if (A == NULL || A->row_ptr == NULL) return;
  wr_csr_device_free(A->device);
  A->device = NULL;
}

void wr_csr_values_changed(wr_csr *A) {
  if (A == NULL || A->row_ptr == NULL) return; /* A has no values on the host */
  for (struct wr_csr_device *view = A->device; view; view = view->next) view->stale[WR_F32] = view->stale[WR_F64] = 1;
}

int wr_csr_same_pattern(const wr_csr *A, const wr_csr *B) {
  int64_t other = 0;
  if (A == NULL || B == NULL || !A->row_ptr || !A->col || !B->row_ptr || !B->col) return 0;
  if (A->nrows != B->nrows || A->ncols != B->ncols || A->nnz != B->nnz) return 0;
#pragma omp parallel for schedule(static) reduction(+ : other) if (A->nrows >= PARALLEL_FROM)
  for (int64_t i = 0; i <= A->nrows; i++) other += A->row_ptr[i] != B->row_ptr[i];
#pragma omp parallel for schedule(static) reduction(+ : other) if (A->nnz >= PARALLEL_FROM)
  for (int64_t k = 0; k < A->nnz; k++) other += A->col[k] != B->col[k];
  return other == 0;
}

void wr_csr_hold(wr_csr *A) { __atomic_add_fetch(&A->holders, 1, __ATOMIC_RELAXED); }

/* The owner is not among the holders, so the last of all finds 0. */
void wr_csr_free(wr_csr *A) {
  if (A == NULL || __atomic_fetch_sub(&A->holders, 1, __ATOMIC_ACQ_REL) > 0) return;
  wr_csr_device_free(A->device);
  wr_halo_free(A->halo);
  wr_free(A->row_ptr);
  wr_free(A->col);
  wr_free(A->val);
  wr_free(A);
}

static wr_status check_row(const wr_csr *A, int64_t i) {
  for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
    if (A->col[k] < 0 || A->col[k] >= A->ncols)
      return wr_fail(WR_EINPUT, "row %lld: column %d is outside 0..%lld", (long long)i, A->col[k],
                     (long long)A->ncols - 1);
    if (k > A->row_ptr[i] && A->col[k] <= A->col[k - 1])
      return wr_fail(WR_EINPUT, "row %lld: column %d follows column %d; columns must ascend", (long long)i, A->col[k],
                     A->col[k - 1]);
  }
  return WR_OK;
}

wr_status wr_csr_check(const wr_csr *A) {
  WR_NEED_HOST(A);
  if (A->nrows < 1 || A->ncols < 1 || A->nrows > WR_MAX_INDEX || A->ncols > WR_MAX_INDEX || A->nnz < 0)
    return wr_fail(WR_EINPUT, "sizes %lld x %lld, %lld %s are out of range", (long long)A->nrows, (long long)A->ncols,
                   (long long)A->nnz, wr_plural(A->nnz, "entry", "entries"));
  if (A->row_ptr[0] != 0 || A->row_ptr[A->nrows] != A->nnz)
    return wr_fail(WR_EINPUT, "row pointers run from %lld to %lld, not from 0 to %lld", (long long)A->row_ptr[0],
                   (long long)A->row_ptr[A->nrows], (long long)A->nnz);
  for (int64_t i = 0; i < A->nrows; i++)
    if (A->row_ptr[i + 1] < A->row_ptr[i] || A->row_ptr[i + 1] > A->nnz)
      return wr_fail(WR_EINPUT, "row %lld ends at %lld, before it begins at %lld or past the last entry", (long long)i,
                     (long long)A->row_ptr[i + 1], (long long)A->row_ptr[i]);
  for (int64_t i = 0; i < A->nrows; i++) PASS(check_row(A, i));
  return WR_OK;
}

/* Values less than half a unit above FLT_MAX (0x1.fffffep127) round to it; from half a unit on they round to infinity. */
static int beyond_f32(double value) { return isfinite(value) && fabs(value) >= 0x1.ffffffp127; }

int64_t wr_first_beyond_f32(const double *values, int64_t count) {
  int64_t beyond = count;
#pragma omp parallel for schedule(static) reduction(min : beyond) if (count >= PARALLEL_FROM)
  for (int64_t k = 0; k < count; k++)
    if (beyond_f32(values[k]) && k < beyond) beyond = k;
  return beyond;
}

wr_status wr_csr_check_range(const wr_csr *A, int f32) {
  WR_NEED(A);
  if (!f32 || A->val == NULL) return WR_OK;
  WR_NEED_HOST(A);
  int64_t beyond = wr_first_beyond_f32(A->val, A->nnz), i = 0;
  if (beyond == A->nnz) return WR_OK;
  while (A->row_ptr[i + 1] <= beyond) i++;
  return wr_fail(WR_ENUMERIC, "the value %g in row %lld, column %lld is beyond f32: use -p f64", A->val[beyond],
                 (long long)(i + wr_csr_first(A)), (long long)(A->col[beyond] + wr_csr_first(A)));
}
