/* A feed that copies rows as soon as they are announced, so that a row which changes later is found. */
#ifndef WR_FEED_RECORDER_H
#define WR_FEED_RECORDER_H

#include <stdlib.h>

#include "spmv/matrix/csr_feed.h"
#include "tests/check.h"

typedef struct recorder {
  const wr_csr *A; /* the matrix that was begun last; NULL: none                     */
  int begun, told; /* matrices, and announcements of the last one                    */
  int symmetric, pattern;
  int64_t rows;
  int64_t *row_ptr; /* [nrows + 1], [nnz], [nnz]: those of the announced rows */
  int32_t *col;
  double *val;
  wr_csr_feed feed;
} recorder;

static inline void recorder_forget(recorder *r) {
  free(r->row_ptr), free(r->col), free(r->val);
  *r = (recorder){.begun = r->begun, .feed = r->feed};
}

static inline void recorder_begin(void *context, wr_csr *A) {
  recorder *r = context;
  recorder_forget(r);
  if (A == NULL) return;
  r->A = A, r->begun++;
  r->symmetric = A->symmetric, r->pattern = A->val == NULL;
  r->row_ptr = calloc((size_t)A->nrows + 1, sizeof *r->row_ptr);
  r->col = calloc((size_t)A->nnz + 1, sizeof *r->col);
  r->val = calloc((size_t)A->nnz + 1, sizeof *r->val);
}

static inline void recorder_ready(void *context, int64_t rows) {
  recorder *r = context;
  const wr_csr *A = r->A;
  CHECKF(A != NULL, "%lld rows of no matrix", (long long)rows);
  if (A == NULL) return;
  CHECKF(rows >= r->rows && rows <= A->nrows, "%lld rows of %lld after %lld", (long long)rows, (long long)A->nrows,
         (long long)r->rows);
  for (int64_t i = r->rows; i < rows; i++) {
    r->row_ptr[i] = A->row_ptr[i], r->row_ptr[i + 1] = A->row_ptr[i + 1];
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
      r->col[k] = A->col[k];
      if (A->val) r->val[k] = A->val[k];
    }
  }
  r->rows = rows, r->told++;
}

static inline void recorder_open(recorder *r) { *r = (recorder){.feed = {r, recorder_begin, recorder_ready}}; }

/* Frees the copy of the rows of A; A NULL: of a matrix that could not be made. */
static inline void recorder_check(recorder *r, const wr_csr *A) {
  CHECK(r->A == A);
  if (A != NULL && r->A == A) {
    size_t nnz = (size_t)A->nnz;
    CHECKF(r->rows == A->nrows && r->told > 0, "%lld of %lld rows", (long long)r->rows, (long long)A->nrows);
    CHECK(r->symmetric == A->symmetric && r->pattern == (A->val == NULL));
    CHECK(memcmp(r->row_ptr, A->row_ptr, ((size_t)A->nrows + 1) * sizeof *A->row_ptr) == 0);
    CHECK(nnz == 0 || memcmp(r->col, A->col, nnz * sizeof *A->col) == 0);
    CHECK(nnz == 0 || A->val == NULL || memcmp(r->val, A->val, nnz * sizeof *A->val) == 0);
  }
  recorder_forget(r);
}

#endif
