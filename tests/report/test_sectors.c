/* Sectors of small matrices, counted by hand. */
#include "solvers/report/sectors.h"
#include "tests/check.h"

/* The example of spmv/matrix/csr.h. */
static int64_t row_ptr[] = {0, 2, 4, 4, 8, 9, 10};
static int32_t col[] = {0, 2, 1, 4, 0, 2, 3, 5, 4, 5};
static double val[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};

static void test_example(void) {
  CASE("the 6 x 6 example: x[0..3] and x[4..5] in f64, all of x in one sector in f32");
  wr_csr A = {.nrows = 6, .ncols = 6, .nnz = 10, .row_ptr = row_ptr, .col = col, .val = val};
  CHECK(wr_sectors_of_x(&A, WR_F64) == 2);
  CHECK(wr_sectors_of_x(&A, WR_F32) == 1);
  CASE("its streams: 40 bytes of columns, 80 or 40 of values, 28 of row pointers");
  CHECK(wr_sectors_of_streams(&A, WR_F64, &(wr_plan_info){.format_bytes = 40 + 80 + 28}) == 2 + 3 + 1);
  CHECK(wr_sectors_of_streams(&A, WR_F32, &(wr_plan_info){.format_bytes = 40 + 40 + 28}) == 2 + 2 + 1);
  CASE("without values");
  A.val = NULL;
  CHECK(wr_sectors_of_streams(&A, WR_F64, &(wr_plan_info){.format_bytes = 40 + 28}) == 2 + 1);
  CHECK(wr_sectors_of_streams(&A, WR_F64, &(wr_plan_info){.format_bytes = 40 + 32}) == 2 + 1);
  CHECK(wr_sectors_of_streams(&A, WR_F64, &(wr_plan_info){.format_bytes = 40 + 33}) == 2 + 2);
}

/* Entry k of `count` in column (k % period) * stride; rows do not matter to the count. */
static int64_t sectors_of(int32_t count, int32_t period, int32_t stride, wr_type type) {
  int32_t columns[100];
  for (int32_t k = 0; k < count; k++) columns[k] = k % period * stride;
  wr_csr A = {.nrows = 1, .ncols = 4096, .nnz = count, .col = columns};
  return wr_sectors_of_x(&A, type);
}

static void test_gathers(void) {
  CASE("64 entries side by side: two gathers of 256 or 128 bytes");
  CHECK(sectors_of(64, 64, 1, WR_F64) == 2 * 8);
  CHECK(sectors_of(64, 64, 1, WR_F32) == 2 * 4);
  CASE("33 entries side by side: the last one is a second gather");
  CHECK(sectors_of(33, 33, 1, WR_F64) == 8 + 1);
  CHECK(sectors_of(33, 33, 1, WR_F32) == 4 + 1);
  CASE("every fourth, every eighth: a sector each in f64, two share one in f32, then none");
  CHECK(sectors_of(32, 32, 4, WR_F64) == 32);
  CHECK(sectors_of(32, 32, 4, WR_F32) == 16);
  CHECK(sectors_of(32, 32, 8, WR_F32) == 32);
  CASE("one column in all entries: one sector a gather, since no cache keeps it");
  CHECK(sectors_of(100, 1, 1, WR_F64) == 4);
  CASE("a sector counts once in a gather, and again in the next");
  CHECK(sectors_of(32, 2, 8, WR_F64) == 2);
  CHECK(sectors_of(64, 2, 8, WR_F64) == 2 * 2);
  CASE("no entries");
  CHECK(sectors_of(0, 1, 1, WR_F64) == 0);
}

static void test_backends(void) {
  CASE("WR_CAP_PLAIN_ROWS");
  static const char *const yes[] = {"cusparse",            "merbit",   "merge_csr",      "csr_thread",
                                    "csr_thread_unrolled", "csr_warp", "csr_warp_shared"};
  int found = 0, built = 0;
  for (int k = 0; k < wr_backend_count(); k++) found += (wr_backend_at(k)->caps & WR_CAP_PLAIN_ROWS) != 0;
  for (size_t k = 0; k < sizeof yes / sizeof *yes; k++) {
    const wr_backend *backend = NULL;
    CHECK_OK(wr_backend_find(yes[k], &backend));
    if (backend == NULL || backend->plan == NULL) continue; /* a stub has no caps */
    built++;
    CHECKF(backend->place == WR_CUDA && (backend->caps & WR_CAP_PLAIN_ROWS), "%s", yes[k]);
  }
  CHECKF(found == built, "%d backends have it, not %d", found, built);
}

int main(void) {
  test_example();
  test_gathers();
  test_backends();
  return wr_test_report("sectors");
}
