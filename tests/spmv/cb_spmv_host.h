/* Blocks of 16 x 16 (spmv/backends/cb_spmv/cb_spmv_format.h) built on the host, one after another: what the builder on a device
 * is compared with. */
#ifndef WR_TEST_CB_SPMV_HOST_H
#define WR_TEST_CB_SPMV_HOST_H

#include <string.h>

#include "spmv/backends/cb_spmv/cb_spmv_build.h"
#include "tests/check.h"

/* A block; its row i is entries first[i]..first[i] + n[i] - 1 of A. */
typedef struct cb_block {
  int64_t left; /* its first column, unless aggregated      */
  int columns;  /* aggregated: number of cols, which ascend */
  int32_t cols[WR_CB_SIDE];
  int count;
  int64_t first[WR_CB_SIDE];
  int n[WR_CB_SIDE];
} cb_block;

static inline void read_until(const wr_csr *A, wr_block_rows *s, int64_t limit) {
  for (int i = 0; i < s->rows; i++)
    while (s->at[i] < s->end[i] && A->col[s->at[i]] < limit) s->at[i]++;
}

/* *b := the next block of the rows; 0 if there is none. */
static inline int next_block(const wr_csr *A, int aggregated, wr_block_rows *s, cb_block *b) {
  int64_t j = wr_block_rows_next(A, s);
  if (j == A->ncols) return 0;
  memset(b, 0, sizeof *b);
  b->left = j / WR_CB_SIDE * WR_CB_SIDE;
  for (int i = 0; i < s->rows; i++) b->first[i] = s->at[i];
  if (!aggregated) read_until(A, s, b->left + WR_CB_SIDE);
  while (aggregated && j < A->ncols && b->columns < WR_CB_SIDE) {
    b->cols[b->columns++] = (int32_t)j;
    read_until(A, s, j + 1);
    j = wr_block_rows_next(A, s);
  }
  for (int i = 0; i < s->rows; i++) b->count += b->n[i] = (int)(s->at[i] - b->first[i]);
  return 1;
}

static inline void put(wr_type type, uint8_t *values, int at, double value) {
  if (type == WR_F64)
    ((double *)values)[at] = value;
  else
    ((float *)values)[at] = (float)value;
}

static inline void write_data(const wr_csr *A, const cb_block *b, int kind, wr_type type, uint8_t *to) {
  int value_bytes = (int)wr_type_bytes(type), e = 0;
  uint8_t *values = to + wr_cb_index_bytes(kind, b->count, value_bytes);
  memset(to, 0, (size_t)wr_cb_units(kind, b->count, value_bytes) * WR_CB_UNIT);
  for (int at = 0; kind == WR_CB_DENSE && at < WR_CB_PLACES; at++) put(type, values, at, -0.0);
  for (int i = 0; i < WR_CB_SIDE; i++) {
    if (kind == WR_CB_CSR) to[i] = (uint8_t)e;
    for (int64_t k = b->first[i], j = 0; k < b->first[i] + b->n[i]; k++, e++) {
      double value = A->val != NULL ? A->val[k] : 1;
      if (b->columns == 0) j = A->col[k] - b->left;
      while (b->columns > 0 && b->cols[j] < A->col[k]) j++;
      if (kind == WR_CB_DENSE) { /* also a zero that a value becomes in f32 is positive, because -0 is padding */
        if (type == WR_F32) value = (float)value;
        put(type, values, (int)j * WR_CB_SIDE + i, value == 0 ? 0 : value);
        continue;
      }
      if (kind == WR_CB_COO)
        to[e] = (uint8_t)(i | j << 4);
      else
        to[WR_CB_SIDE + e / 2] |= (uint8_t)(j << 4 * (e % 2));
      put(type, values, e, value);
    }
  }
}

/* Counts f's blocks and units, with the thresholds of o; once f has memory, also writes the blocks. */
static inline void pass_over_blocks(const wr_csr *A, const wr_cb_options *o, wr_cb_format *f) {
  wr_cb_fill fill = {0, 0, 0};
  int64_t units = 0;
  cb_block b;
  for (int64_t ib = 0; ib < f->brows; ib++) {
    wr_block_rows s = wr_block_rows_open(A, ib * WR_CB_SIDE, WR_CB_SIDE);
    for (int64_t col = 0; next_block(A, f->aggregated, &s, &b); col++) {
      int kind = wr_cb_pick(o, b.count);
      if (f->memory) {
        int64_t k = fill.blocks;
        f->block[k] = wr_cb_word(ib, f->aggregated ? col : b.left / WR_CB_SIDE, b.count, kind);
        wr_cb_set(f->offset, f->wide, k, units);
        if (f->aggregated) memcpy(f->restore_cols + k * WR_CB_SIDE, b.cols, sizeof b.cols);
        write_data(A, &b, kind, f->type, f->data + units * WR_CB_UNIT);
      }
      units += wr_cb_units(kind, b.count, (int)wr_type_bytes(f->type));
      fill.blocks++;
      fill.super_sparse += b.count < WR_CB_SUPER_SPARSE;
      fill.heavy += b.count > WR_CB_SUPER_SPARSE ? b.count : 0;
    }
  }
  if (!f->aggregated) f->plain = fill;
  f->blocks = fill.blocks, f->units = units;
}

/* *f := A in blocks, for wr_cb_free. */
static inline void build_on_host(const wr_csr *A, const wr_cb_options *options, wr_type type, wr_cb_format *f) {
  *f = wr_cb_shape(A->nrows, A->ncols, A->nnz, type);
  pass_over_blocks(A, options, f);
  f->aggregated = wr_cb_aggregates(options, &f->plain);
  if (f->aggregated) pass_over_blocks(A, options, f);
  wr_cb_options chosen = wr_cb_with_types(options, A->nnz, f->blocks);
  pass_over_blocks(A, &chosen, f);
  wr_cb_settle(f, options);
  CHECK_OK(wr_cb_alloc(f));
  pass_over_blocks(A, &chosen, f);
  wr_cb_set(f->offset, f->wide, f->blocks, f->units);
  for (int64_t w = 0; w <= f->lists; w++) {
    int64_t first, row;
    wr_cb_cut(f, w, &first, &row);
    wr_cb_set(f->list_block, f->wide, w, first);
    f->list_row[w] = (int32_t)row;
  }
}

#endif
