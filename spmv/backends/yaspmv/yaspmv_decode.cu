/* From BCCOO back to rows, on the host, for the round-trip test. */
#include <string.h>

#include "config/memory.h"
#include "spmv/backends/yaspmv/yaspmv_build.h"
#include "spmv/backends/yaspmv/yaspmv_lanes.cuh"

/* *value := value (r, c) of the k-th block of a lane. Returns 1 unless it is padding. */
static int value_at(const wr_bccoo *b, int64_t lane, int k, int r, int c, double *value) {
  int64_t at = (((lane / 32 * b->tile + k) * b->c + c) * b->r + r) * 32 + lane % 32;
  *value = 1;
  if (!b->valued) return 1;
  if (b->type == WR_F32) {
    float v = ((const float *)b->val)[at];
    *value = (double)v;
    return !wr_is_padding_f32(v);
  }
  *value = ((const double *)b->val)[at];
  return !wr_is_padding_f64(*value);
}

/* Calls use(n, lane, k, j) for every block in order, of block row n among those with blocks, in block column j. Checks counts
 * of rows on the way. */
template <class Use>
static wr_status each_block(const wr_bccoo *b, Use use) {
  int64_t n = 0, before = 0, g = 0;
  bool open = false;
  for (int64_t lane = 0; lane < wr_bccoo_warps(b) * 32; lane++) {
    bccoo_reader reader = bccoo_open(*b, lane / 32, (int)(lane % 32));
    if (lane % b->threads == 0) {
      before = n;
      if (b->first[lane / b->threads] != ((uint32_t)n | (open ? WR_BCCOO_OPEN : 0)))
        return wr_fail(WR_EINTERNAL, "thread block %lld begins in another row than %lld",
                       (long long)(lane / b->threads), (long long)n);
    }
    if (b->entry[lane] != n - before)
      return wr_fail(WR_EINTERNAL, "lane %lld begins in another row than %lld", (long long)lane, (long long)n);
    for (int k = 0; k < b->tile; k++, g++) {
      bool ends;
      int32_t j = bccoo_read(*b, reader, lane / 32, (int)(lane % 32), k, &ends);
      if (g >= b->blocks) {
        if (ends) return wr_fail(WR_EINTERNAL, "a row ends behind the last block");
        continue;
      }
      use(n, lane, k, j);
      n += ends, open = !ends;
    }
  }
  if (n != b->brows || open || b->first[b->grid] != (uint32_t)n)
    return wr_fail(WR_EINTERNAL, "%lld rows end, not %lld", (long long)n, (long long)b->brows);
  return WR_OK;
}

/* Slices come one after the other, so entries are counted by rows first and then put behind those of earlier slices. next:
 * [nrows + 1], zeroed. */
static wr_status decode_rows(const wr_bccoo *b, int64_t *next, int as_pattern, wr_csr **A) {
  wr_status status;
  double value;
  auto row_of = [&](int64_t n, int r) { return ((b->row ? (int64_t)b->row[n] : n) % b->all_rows) * b->r + r; };
  TRY(each_block(b, [&](int64_t n, int64_t lane, int k, int32_t) {
    for (int r = 0; r < b->r; r++)
      for (int c = 0; c < b->c; c++)
        if (row_of(n, r) < b->nrows) next[row_of(n, r) + 1] += value_at(b, lane, k, r, c, &value);
  }));
  for (int64_t i = 0; i < b->nrows; i++) next[i + 1] += next[i];
  TRY(wr_csr_create(b->nrows, b->ncols, next[b->nrows], !as_pattern, A));
  memcpy((*A)->row_ptr, next, (size_t)(b->nrows + 1) * sizeof *next);
  TRY(each_block(b, [&](int64_t n, int64_t lane, int k, int32_t j) {
    for (int r = 0; r < b->r; r++)
      for (int c = 0; c < b->c; c++) {
        if (row_of(n, r) >= b->nrows || !value_at(b, lane, k, r, c, &value)) continue;
        int64_t to = next[row_of(n, r)]++;
        (*A)->col[to] = (int32_t)(bccoo_first_column(b->c, b->ncols, j) + c);
        if ((*A)->val) (*A)->val[to] = value;
      }
  }));
done:
  return status;
}

extern "C" wr_status wr_bccoo_decode(const wr_bccoo *b, int as_pattern, wr_csr **A) {
  wr_status status;
  int64_t *next = NULL;
  *A = NULL;
  TRY(wr_alloc_zeroed(&next, b->nrows + 1, sizeof *next, "row pointers"));
  TRY(decode_rows(b, next, as_pattern, A));
done:
  wr_free(next);
  if (status != WR_OK) wr_csr_free(*A), *A = NULL;
  return status;
}
