/* From coded SELL back to rows, on the host, for the round-trip test. */
#include "spmv/backends/sell_coded/sell_coded_build.h"

static int code_at(const wr_sell_coded *c, int64_t i, int64_t k) {
  int64_t word = c->word[i / WR_CODED_ROWS] + k / 4;
  return (int)(c->code[word * WR_CODED_ROWS + i % WR_CODED_ROWS] >> 8 * (k % 4) & 255);
}

static double value_at(const wr_sell_coded *c, int64_t i, int64_t k, int code) {
  if (c->kind == WR_CODED_PAIRS) return c->value[code];
  int64_t place = (c->line[i / WR_CODED_ROWS] + k) * WR_CODED_ROWS + i % WR_CODED_ROWS;
  return c->type == WR_F32 ? (double)((const float *)c->val)[place] : ((const double *)c->val)[place];
}

/* *length := the entries of row i, which come before its padding. */
static wr_status measure_row(const wr_sell_coded *c, int64_t i, int64_t *length) {
  int64_t places = 4 * (int64_t)(c->word[i / WR_CODED_ROWS + 1] - c->word[i / WR_CODED_ROWS]), k = 0;
  while (k < places && code_at(c, i, k) != WR_CODED_NONE) k++;
  *length = k;
  for (; k < places; k++)
    if (code_at(c, i, k) != WR_CODED_NONE)
      return wr_fail(WR_EINTERNAL, "an entry behind padding in row %lld", (long long)i);
  return WR_OK;
}

wr_status wr_sell_coded_decode(const wr_sell_coded *c, wr_csr **A) {
  wr_status status;
  int64_t length, nnz = 0, at = 0;
  *A = NULL;
  for (int64_t i = 0; i < c->nrows; i++, nnz += length) TRY(measure_row(c, i, &length));
  TRY(wr_csr_create(c->nrows, c->ncols, nnz, c->kind != WR_CODED_PATTERN, A));
  for (int64_t i = 0; i < c->nrows; i++) {
    TRY(measure_row(c, i, &length));
    for (int64_t k = 0; k < length; k++, at++) {
      int code = code_at(c, i, k);
      int64_t column = code < c->count ? i + c->difference[code] : -1;
      if (column < 0 || column >= c->ncols) {
        status = wr_fail(WR_EINTERNAL, "entry %lld of row %lld has code %d", (long long)k, (long long)i, code);
        goto done;
      }
      (*A)->col[at] = (int32_t)column;
      if ((*A)->val) (*A)->val[at] = value_at(c, i, k, code);
    }
    (*A)->row_ptr[i + 1] = at;
  }
done:
  if (status != WR_OK) wr_csr_free(*A), *A = NULL;
  return status;
}
