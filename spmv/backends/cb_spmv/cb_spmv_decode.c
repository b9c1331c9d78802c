#include <string.h>

#include "config/memory.h"
#include "spmv/backends/cb_spmv/cb_spmv_build.h"

/* The entries of a block, row by row, columns ascending. */
typedef struct entries {
  int count;
  uint8_t row[WR_CB_PLACES], col[WR_CB_PLACES];
  double value[WR_CB_PLACES];
} entries;

static double get(wr_type type, const uint8_t *values, int at) {
  return type == WR_F64 ? ((const double *)values)[at] : ((const float *)values)[at];
}

static void add(entries *e, int row, int col, double value) {
  e->row[e->count] = (uint8_t)row, e->col[e->count] = (uint8_t)col, e->value[e->count++] = value;
}

/* Returns 0 if row starts do not ascend. */
static int read_csr(const uint8_t *data, const uint8_t *values, int count, wr_type type, entries *e) {
  if (data[0] != 0) return 0;
  for (int row = 0; row < WR_CB_SIDE; row++) {
    int end = row + 1 < WR_CB_SIDE ? data[row + 1] : count;
    if (end < data[row] || end > count) return 0;
    for (int n = data[row]; n < end; n++)
      add(e, row, data[WR_CB_SIDE + n / 2] >> 4 * (n % 2) & 15, get(type, values, n));
  }
  return 1;
}

static void read_dense(const uint8_t *values, wr_type type, entries *e) {
  for (int row = 0; row < WR_CB_SIDE; row++)
    for (int col = 0; col < WR_CB_SIDE; col++) {
      int at = col * WR_CB_SIDE + row;
      int padding = type == WR_F64 ? wr_is_padding_f64(((const double *)values)[at])
                                   : wr_is_padding_f32(((const float *)values)[at]);
      if (!padding) add(e, row, col, get(type, values, at));
    }
}

static int all_zero(const uint8_t *bytes, int from, int to) {
  while (from < to && bytes[from] == 0) from++;
  return from >= to;
}

/* *e := the entries of block k; returns 0 if its data is invalid. */
static int read_block(const wr_cb_format *f, int64_t k, entries *e) {
  int kind = wr_cb_kind_of(f->block[k]), count = wr_cb_count(f->block[k]), value_bytes = (int)wr_type_bytes(f->type);
  int64_t units = wr_cb_units(kind, count, value_bytes), begin = wr_cb_get(f->offset, f->wide, k);
  if (kind > WR_CB_DENSE || wr_cb_get(f->offset, f->wide, k + 1) - begin != units || begin > f->units - units) return 0;
  const uint8_t *data = f->data + begin * WR_CB_UNIT;
  int index = wr_cb_index_bytes(kind, count, value_bytes), used = count;
  const uint8_t *values = data + index;
  int end = index + (kind == WR_CB_DENSE ? WR_CB_PLACES : count) * value_bytes;
  e->count = 0;
  for (int n = 0; kind == WR_CB_COO && n < count; n++) add(e, data[n] & 15, data[n] >> 4, get(f->type, values, n));
  if (kind == WR_CB_CSR && !read_csr(data, values, count, f->type, e)) return 0;
  if (kind == WR_CB_DENSE) read_dense(values, f->type, e);
  if (kind == WR_CB_CSR && count % 2 && data[WR_CB_SIDE + count / 2] >> 4) return 0;
  if (kind == WR_CB_CSR) used = WR_CB_SIDE + (count + 1) / 2;
  if (kind == WR_CB_DENSE) used = 0;
  if (!all_zero(data, used, index) || !all_zero(data, end, (int)units * WR_CB_UNIT) || e->count != count) return 0;
  for (int n = 1; n < count; n++)
    if (e->row[n] * WR_CB_SIDE + e->col[n] <= e->row[n - 1] * WR_CB_SIDE + e->col[n - 1]) return 0;
  return 1;
}

static int64_t column_of(const wr_cb_format *f, int64_t k, int col) {
  return f->aggregated ? f->restore_cols[k * WR_CB_SIDE + col] : wr_cb_col(f->block[k]) * WR_CB_SIDE + col;
}

/* Whether block k's row and column are valid and come after those of block k - 1. */
static int is_in_order(const wr_cb_format *f, int64_t k) {
  int64_t row = wr_cb_row(f->block[k]), col = wr_cb_col(f->block[k]);
  int alone = k == 0 || wr_cb_row(f->block[k - 1]) != row;
  if (row >= f->brows || (k > 0 && row < wr_cb_row(f->block[k - 1]))) return 0;
  if (!f->aggregated) return col < f->bcols && (alone || col > wr_cb_col(f->block[k - 1]));
  return col == (alone ? 0 : wr_cb_col(f->block[k - 1]) + 1);
}

/* Whether the columns of an aggregated block ascend, also from the block before it, and all 16 are used unless it is the last
 * of its block row. */
static int are_columns_valid(const wr_cb_format *f, int64_t k, const entries *e) {
  const int32_t *cols = f->restore_cols + k * WR_CB_SIDE;
  int last = k + 1 == f->blocks || wr_cb_row(f->block[k + 1]) != wr_cb_row(f->block[k]), used = 0;
  unsigned has = 0;
  if (!f->aggregated) return 1;
  for (int n = 0; n < e->count; n++) has |= 1u << e->col[n];
  while (has >> used) used++;
  if (has + 1 != 1u << used || (used < WR_CB_SIDE && !last)) return 0;
  for (int c = 0; c < WR_CB_SIDE; c++) {
    int64_t before = c > 0 ? cols[c - 1] : wr_cb_col(f->block[k]) > 0 ? cols[-1] : -1;
    if (c < used ? cols[c] <= before || cols[c] >= f->ncols : cols[c] != 0) return 0;
  }
  return 1;
}

/* Checks block k, and counts its entries by row. */
static wr_status count_block(const wr_cb_format *f, int64_t k, int as_pattern, int64_t *counts) {
  entries e;
  if (!is_in_order(f, k))
    return wr_fail(WR_EINTERNAL, "block %lld says row %lld, column %lld, beyond the matrix or not after the one before",
                   (long long)k, (long long)wr_cb_row(f->block[k]), (long long)wr_cb_col(f->block[k]));
  if (!read_block(f, k, &e) || !are_columns_valid(f, k, &e))
    return wr_fail(WR_EINTERNAL, "block %lld of %lld has no data of type %d with %d entries", (long long)k,
                   (long long)f->blocks, wr_cb_kind_of(f->block[k]), wr_cb_count(f->block[k]));
  for (int n = 0; n < e.count; n++) {
    int64_t i = wr_cb_row(f->block[k]) * WR_CB_SIDE + e.row[n], j = column_of(f, k, e.col[n]);
    if (i >= f->nrows || j >= f->ncols || (as_pattern && e.value[n] != 1))
      return wr_fail(WR_EINTERNAL, "block %lld holds %g at row %lld, column %lld, which cannot be", (long long)k,
                     e.value[n], (long long)i, (long long)j);
    counts[i]++;
  }
  return WR_OK;
}

/* Copies the entries of block k to A; to[i]: the next free entry of row i. */
static void copy_block(const wr_cb_format *f, int64_t k, int64_t *to, wr_csr *A) {
  entries e;
  read_block(f, k, &e);
  for (int n = 0; n < e.count; n++) {
    int64_t at = to[wr_cb_row(f->block[k]) * WR_CB_SIDE + e.row[n]]++;
    A->col[at] = (int32_t)column_of(f, k, e.col[n]);
    if (A->val != NULL) A->val[at] = e.value[n];
  }
}

static wr_status check_shape(const wr_cb_format *f) {
  wr_cb_options o = wr_cb_defaults();
  wr_status status = wr_cb_check(f->nrows, f->ncols, f->nnz, &o);
  if (status != WR_OK) return wr_fail(WR_EINTERNAL, "blocks of no matrix's shape (%s)", wr_status_message());
  wr_cb_format shape = wr_cb_shape(f->nrows, f->ncols, f->nnz, f->type);
  if (f->brows != shape.brows || f->bcols != shape.bcols || (f->type != WR_F32 && f->type != WR_F64))
    return wr_fail(WR_EINTERNAL, "%lld x %lld blocks do not fit a matrix of %lld x %lld", (long long)f->brows,
                   (long long)f->bcols, (long long)f->nrows, (long long)f->ncols);
  if (f->blocks < 0 || f->blocks > f->nnz || f->lists < WR_CB_TEAM || f->lists % WR_CB_TEAM != 0)
    return wr_fail(WR_EINTERNAL, "%lld blocks in %lld lists cannot hold %lld entries", (long long)f->blocks,
                   (long long)f->lists, (long long)f->nnz);
  int64_t begin = wr_cb_get(f->offset, f->wide, 0), end = wr_cb_get(f->offset, f->wide, f->blocks);
  if (begin == 0 && end == f->units) return WR_OK;
  return wr_fail(WR_EINTERNAL, "offsets run from %lld to %lld, not from 0 to %lld", (long long)begin, (long long)end,
                 (long long)f->units);
}

/* Checks the lists; blocks and offsets have been checked. */
static wr_status check_lists(const wr_cb_format *f) {
  for (int64_t w = 0; w <= f->lists; w++) {
    int64_t block, row;
    wr_cb_cut(f, w, &block, &row);
    if (wr_cb_get(f->list_block, f->wide, w) != block || f->list_row[w] != row)
      return wr_fail(WR_EINTERNAL, "list %lld begins at block %lld, block row %d, not at %lld, %lld", (long long)w,
                     (long long)wr_cb_get(f->list_block, f->wide, w), (int)f->list_row[w], (long long)block,
                     (long long)row);
  }
  return WR_OK;
}

wr_status wr_cb_decode(const wr_cb_format *f, int as_pattern, wr_csr **A) {
  wr_status status;
  wr_csr *rows = NULL;
  int64_t *to = NULL;
  *A = NULL;
  TRY(check_shape(f));
  TRY(wr_csr_create(f->nrows, f->ncols, f->nnz, !as_pattern, &rows));
  TRY(wr_alloc(&to, f->nrows, sizeof *to, "next entries of rows"));
  for (int64_t k = 0; k < f->blocks; k++) TRY(count_block(f, k, as_pattern, rows->row_ptr + 1));
  TRY(check_lists(f));
  for (int64_t i = 0; i < f->nrows; i++) rows->row_ptr[i + 1] += rows->row_ptr[i];
  if (rows->row_ptr[f->nrows] != f->nnz)
    TRY(wr_fail(WR_EINTERNAL, "the blocks hold %lld entries, not %lld", (long long)rows->row_ptr[f->nrows],
                (long long)f->nnz));
  memcpy(to, rows->row_ptr, (size_t)f->nrows * sizeof *to);
  for (int64_t k = 0; k < f->blocks; k++) copy_block(f, k, to, rows);
  *A = rows;
  rows = NULL;
done:
  wr_free(to);
  wr_csr_free(rows);
  return status;
}
