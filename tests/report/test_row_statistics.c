/* Statistics of small patterns, counted by hand. */
#include "solvers/report/row_statistics.h"
#include "tests/check.h"

static void is(wr_row_statistics s, int64_t least, int64_t most, double mean, int64_t empty, int64_t bandwidth) {
  CHECKF(s.least == least && s.most == most, "rows of %lld to %lld", (long long)s.least, (long long)s.most);
  CHECKF(s.mean == mean, "mean %g", s.mean);
  CHECKF(s.empty == empty && s.bandwidth == bandwidth, "%lld empty, bandwidth %lld", (long long)s.empty,
         (long long)s.bandwidth);
}

int main(void) {
  CASE("the example of spmv/matrix/csr.h: row 3 is empty, (1, 4) and (3, 0) are farthest from the diagonal");
  wr_csr example = {.nrows = 6, .ncols = 6, .nnz = 10, .row_ptr = (int64_t[]){0, 2, 4, 4, 8, 9, 10},
                    .col = (int32_t[]){0, 2, 1, 4, 0, 2, 3, 5, 4, 5}};
  is(wr_row_statistics_get(&example), 0, 4, 10.0 / 6, 1, 3);
  CASE("a wide one");
  wr_csr wide = {.nrows = 2, .ncols = 9, .nnz = 3, .row_ptr = (int64_t[]){0, 1, 3}, .col = (int32_t[]){1, 0, 8}};
  is(wr_row_statistics_get(&wide), 1, 2, 1.5, 0, 7);
  CASE("a tall one, below the diagonal");
  wr_csr tall = {.nrows = 4, .ncols = 1, .nnz = 1, .row_ptr = (int64_t[]){0, 0, 0, 0, 1}, .col = (int32_t[]){0}};
  is(wr_row_statistics_get(&tall), 0, 1, 0.25, 3, 3);
  CASE("no entries");
  wr_csr empty = {.nrows = 3, .ncols = 3, .row_ptr = (int64_t[]){0, 0, 0, 0}};
  is(wr_row_statistics_get(&empty), 0, 0, 0, 3, 0);
  CASE("no rows");
  wr_csr none = {.ncols = 3, .row_ptr = (int64_t[]){0}};
  is(wr_row_statistics_get(&none), 0, 0, 0, 0, 0);
  return wr_test_report("row_statistics");
}
