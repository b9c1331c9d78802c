#include "solvers/report/row_statistics.h"

static int64_t distance(int64_t i, int64_t j) { return i < j ? j - i : i - j; }

wr_row_statistics wr_row_statistics_get(const wr_csr *A) {
  int64_t least = A->nrows > 0 ? INT64_MAX : 0, most = 0, empty = 0, bandwidth = 0;
#pragma omp parallel for schedule(static) reduction(min : least) reduction(max : most, bandwidth) reduction(+ : empty)
  for (int64_t i = 0; i < A->nrows; i++) {
    int64_t begin = A->row_ptr[i], end = A->row_ptr[i + 1], length = end - begin;
    if (length < least) least = length;
    if (length > most) most = length;
    empty += length == 0;
    if (length == 0) continue;
    int64_t low = distance(i, A->col[begin]), high = distance(i, A->col[end - 1]); /* columns ascend */
    if (low > bandwidth) bandwidth = low;
    if (high > bandwidth) bandwidth = high;
  }
  return (wr_row_statistics){.least = least,
                             .most = most,
                             .empty = empty,
                             .bandwidth = bandwidth,
                             .mean = A->nrows > 0 ? (double)A->nnz / (double)A->nrows : 0};
}
