/* From coded SELL back to rows, on the host, for the round-trip test. */
#include "spmv/backends/sell_coded/sell_coded_build.h"

/* The column of entry k of row i; -1: padding. *code := its place in the table, if there is one. WR_EINTERNAL: it has none. */
static wr_status column_at(const wr_sell_coded *c, int64_t i, int64_t k, int64_t *column, int *code) {
  int in_word = wr_coded_in_word(c->kind);
  int64_t place = (c->word[i / WR_CODED_ROWS] + k / in_word) * WR_CODED_ROWS + i % WR_CODED_ROWS;
  uint32_t entry = in_word == 1 ? c->code[place] : c->code[place] >> 8 * (k % 4) & 255;
  *column = -1, *code = in_word == 1 ? 0 : (int)entry;
  if (entry == (in_word == 1 ? UINT32_MAX : WR_CODED_NONE)) return WR_OK;
  if (in_word == 1)
    *column = entry;
  else if (*code < c->count)
    *column = i + c->difference[*code];
  if (*column >= 0 && *column < c->ncols) return WR_OK;
  return wr_fail(WR_EINTERNAL, "entry %lld of row %lld is %lld", (long long)k, (long long)i, (long long)entry);
}

static double value_at(const wr_sell_coded *c, int64_t i, int64_t k, int code) {
  if (c->kind == WR_CODED_PAIRS) return c->value[code];
  int64_t place = (wr_coded_lines(c)[i / WR_CODED_ROWS] + k) * WR_CODED_ROWS + i % WR_CODED_ROWS;
  return c->type == WR_F32 ? (double)((const float *)c->val)[place] : ((const double *)c->val)[place];
}

/* *length := the entries of row i, which come before its padding. */
static wr_status measure_row(const wr_sell_coded *c, int64_t i, int64_t *length) {
  int64_t words = c->word[i / WR_CODED_ROWS + 1] - c->word[i / WR_CODED_ROWS], column;
  int code;
  *length = 0;
  for (int64_t k = 0; k < words * wr_coded_in_word(c->kind); k++) {
    PASS(column_at(c, i, k, &column, &code));
    if (column >= 0 && k > *length) return wr_fail(WR_EINTERNAL, "an entry behind padding in row %lld", (long long)i);
    *length += column >= 0;
  }
  return WR_OK;
}

wr_status wr_sell_coded_decode(const wr_sell_coded *c, wr_csr **A) {
  wr_status status;
  int64_t length, column, nnz = 0, at = 0;
  int code;
  *A = NULL;
  for (int64_t i = 0; i < c->nrows; i++, nnz += length) TRY(measure_row(c, i, &length));
  TRY(wr_csr_create(c->nrows, c->ncols, nnz, c->kind == WR_CODED_PAIRS || wr_coded_has_values(c->kind), A));
  for (int64_t i = 0; i < c->nrows; i++) {
    TRY(measure_row(c, i, &length));
    for (int64_t k = 0; k < length; k++, at++) {
      TRY(column_at(c, i, k, &column, &code));
      (*A)->col[at] = (int32_t)column;
      if ((*A)->val) (*A)->val[at] = value_at(c, i, k, code);
    }
    (*A)->row_ptr[i + 1] = at;
  }
done:
  if (status != WR_OK) wr_csr_free(*A), *A = NULL;
  return status;
}
