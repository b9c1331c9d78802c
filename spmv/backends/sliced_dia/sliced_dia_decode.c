/* From sliced DIA back to rows, on the host, for the round-trip test. */
#include <stdint.h>

#include "spmv/backends/sliced_dia/sliced_dia_build.h"

#include "config/memory.h"

static double element(const wr_sliced_dia *d, const void *array, int64_t k) {
  return d->type == WR_F32 ? (double)((const float *)array)[k] : ((const double *)array)[k];
}

/* Walks over all entries, by slices and segments. A NULL: only counts[i + 1] := the entries of row i. Otherwise row i's next
 * entry goes to place next[i], which becomes the one behind. */
static wr_status walk(const wr_sliced_dia *d, int64_t *counts, int64_t *next, wr_csr *A) {
  for (int64_t s = 0; s < d->slices; s++) {
    int64_t at = d->kind == WR_DIA_VALUES ? d->place[s] : 0,
            end = d->kind == WR_DIA_VALUES ? d->place[s + 1] : INT64_MAX;
    for (int64_t k = d->segment[s]; k < d->segment[s + 1]; k++)
      for (int r = 0; r < WR_DIA_ROWS; r++) {
        int64_t i = s * WR_DIA_ROWS + r, j = i + d->difference[k];
        if (!(d->mask[k] >> r & 1)) continue;
        if (i >= d->nrows || j < 0 || j >= d->ncols || at >= end)
          return wr_fail(WR_EINTERNAL, "segment %lld has an entry beyond the matrix", (long long)k);
        if (!A)
          counts[i + 1]++;
        else {
          A->col[next[i]] = (int32_t)j;
          if (A->val) A->val[next[i]] = d->kind == WR_DIA_PAIRS ? element(d, d->value, k) : element(d, d->val, at);
          next[i]++;
        }
        at++;
      }
  }
  return WR_OK;
}

wr_status wr_sliced_dia_decode(const wr_sliced_dia *d, wr_csr **A) {
  wr_status status;
  int64_t *row_ptr = NULL, *next = NULL;
  *A = NULL;
  TRY(wr_alloc(&row_ptr, d->nrows + 1, sizeof *row_ptr, "row pointers"));
  TRY(wr_alloc(&next, d->nrows + 1, sizeof *next, "row pointers"));
  for (int64_t i = 0; i <= d->nrows; i++) row_ptr[i] = 0;
  TRY(walk(d, row_ptr, NULL, NULL));
  for (int64_t i = 0; i < d->nrows; i++) row_ptr[i + 1] += row_ptr[i];
  TRY(wr_csr_create(d->nrows, d->ncols, row_ptr[d->nrows], d->kind != WR_DIA_PATTERN, A));
  for (int64_t i = 0; i <= d->nrows; i++) (*A)->row_ptr[i] = next[i] = row_ptr[i];
  TRY(walk(d, NULL, next, *A));
done:
  if (status != WR_OK) wr_csr_free(*A), *A = NULL;
  wr_free(row_ptr);
  wr_free(next);
  return status;
}
