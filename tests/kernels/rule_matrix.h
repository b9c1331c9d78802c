/* Small matrices with entries by a rule. Values are small integers, so that every order of sums gives the same bits. */
#ifndef WR_RULE_MATRIX_H
#define WR_RULE_MATRIX_H

#include <stdint.h>

#include "spmv/matrix/csr.h"
#include "tests/check.h"

/* Whether there is an entry. */
typedef int (*entry_rule)(int64_t i, int64_t j);

struct shape {
  const char *name;
  int64_t nrows, ncols;
  entry_rule has;
};

/* 12 pseudo-random bits. */
static inline int hash_of(int64_t i, int64_t j) {
  return (int)(((uint64_t)i * 1000003 + (uint64_t)j + 1) * 0x9E3779B97F4A7C15u >> 52);
}

static inline wr_csr *make_matrix(const shape &s, bool pattern) {
  wr_csr *A = nullptr;
  int64_t nnz = 0, k = 0;
  for (int64_t i = 0; i < s.nrows; i++)
    for (int64_t j = 0; j < s.ncols; j++) nnz += s.has(i, j);
  CHECK_OK(wr_csr_create(s.nrows, s.ncols, nnz, !pattern, &A));
  for (int64_t i = 0; A && i < s.nrows; i++) {
    for (int64_t j = 0; j < s.ncols; j++) {
      if (!s.has(i, j)) continue;
      if (!pattern) A->val[k] = hash_of(j, i) % 17 - 8; /* zeros too */
      A->col[k++] = (int32_t)j;
    }
    A->row_ptr[i + 1] = k;
  }
  return A;
}

#endif
