/* Matrices with entries at few distances from the diagonal, and what tests of formats for them share. */
#ifndef WR_TEST_GRID_MATRIX_H
#define WR_TEST_GRID_MATRIX_H

#include <string.h>

#include <vector>

#include "spmv/device/device_memory.h"
#include "tests/kernels/integer_applies.h"

/* Rows with entries at the given distances, as far as those are columns; value(i, k): of the k-th distance. */
template <typename Value>
static wr_csr *grid_matrix(int64_t nrows, int64_t ncols, const std::vector<int64_t> &distances, bool pattern,
                           Value value) {
  wr_csr *A = nullptr;
  int64_t nnz = 0, at = 0;
  auto is_in = [&](int64_t i, int64_t d) { return 0 <= i + d && i + d < ncols; };
  for (int64_t i = 0; i < nrows; i++)
    for (int64_t d : distances) nnz += is_in(i, d);
  CHECK_OK(wr_csr_create(nrows, ncols, nnz, !pattern, &A));
  for (int64_t i = 0; A && i < nrows; i++) {
    for (size_t k = 0; k < distances.size(); k++) {
      if (!is_in(i, distances[k])) continue;
      if (A->val) A->val[at] = value(i, (int64_t)k);
      A->col[at++] = (int32_t)(i + distances[k]);
    }
    A->row_ptr[i + 1] = at;
  }
  return A;
}

static double constant(int64_t, int64_t k) { return (double)(k % 5) - 2; } /* a zero too */
static double varying(int64_t i, int64_t k) { return (double)((i * 7 + k * 3) % 1999) - 999; }

static bool same_bits(const double *a, const double *b, int64_t count) {
  return memcmp(a, b, (size_t)count * sizeof *a) == 0;
}

static const std::vector<int64_t> three = {-1, 0, 1}, seven = {-40, -8, -1, 0, 1, 8, 40},
                                  nine = {-9, -8, -7, -1, 0, 1, 7, 8, 9};

/* y = A x, with small integers. */
static void check_sums(wr_env *env, wr_plan *plan, const wr_csr *A) {
  vectors v(env, A);
  wr_apply request = {};
  set_x(A, v, false);
  request.alpha = 1, request.x = &v.x, request.y = &v.y[0];
  CHECK_OK(wr_plan_apply(plan, &request));
  check_result(plan, v, &v.y[0], 1, 0);
}

#endif
