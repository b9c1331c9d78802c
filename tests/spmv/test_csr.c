/* wr_csr: sizes, the properties that wr_csr_check checks, copies, the range of f32, no memory. */
#define _GNU_SOURCE /* posix_memalign, memalign */
#include "spmv/matrix/csr.h"

#include <errno.h>
#include <float.h>
#include <malloc.h>
#include <stdlib.h>

#include "config/memory.h"
#include "tests/check.h"

static int calls, refused = -1; /* the number of the call of posix_memalign that fails */

int posix_memalign(void **block, size_t alignment, size_t bytes) {
  if (calls++ == refused || bytes > (size_t)1 << 32) return ENOMEM;
  *block = memalign(alignment, bytes);
  return *block != NULL ? 0 : ENOMEM;
}

/* The 6x6 example of spmv/matrix/csr.h, its letters as 1 to 10. */
static wr_csr *example(int with_values) {
  static const int64_t row_ptr[] = {0, 2, 4, 4, 8, 9, 10};
  static const int32_t col[] = {0, 2, 1, 4, 0, 2, 3, 5, 4, 5};
  wr_csr *A;
  CHECK_OK(wr_csr_create(6, 6, 10, with_values, &A));
  if (A == NULL) exit(wr_test_report("csr"));
  memcpy(A->row_ptr, row_ptr, sizeof row_ptr);
  memcpy(A->col, col, sizeof col);
  for (int k = 0; k < 10 && with_values; k++) A->val[k] = k + 1;
  return A;
}

static void test_create(void) {
  static const struct {
    int64_t nrows, ncols, nnz;
    wr_status status;
  } sizes[] = {
      {1, 1, 0, WR_OK},
      {1, WR_MAX_INDEX, 3, WR_OK},
      {1000, 1, 1000, WR_OK},
      {0, 1, 0, WR_EUSAGE},
      {1, 0, 0, WR_EUSAGE},
      {-1, 1, 0, WR_EUSAGE},
      {1, -7, 0, WR_EUSAGE},
      {1, 1, -1, WR_EUSAGE},
      {(int64_t)WR_MAX_INDEX + 1, 1, 0, WR_EUSAGE},
      {1, (int64_t)WR_MAX_INDEX + 1, 0, WR_EUSAGE},
      {INT64_MAX, INT64_MAX, INT64_MAX, WR_EUSAGE},
      {INT64_MIN, 1, 0, WR_EUSAGE},
      {1, 1, INT64_MIN, WR_EUSAGE},
      {WR_MAX_INDEX, WR_MAX_INDEX, 0, WR_ENOMEM}, /* allowed, but not by this program's posix_memalign */
      {1, 1, INT64_C(1) << 40, WR_ENOMEM},
      {1, 1, INT64_MAX, WR_ENOMEM},
  };
  for (size_t s = 0; s < 2 * (sizeof sizes / sizeof *sizes); s++) {
    char name[100];
    wr_csr impossible, *A = &impossible;
    int64_t nrows = sizes[s / 2].nrows, nnz = sizes[s / 2].nnz;
    int values = s % 2;
    snprintf(name, sizeof name, "%lld x %lld, %lld", (long long)nrows, (long long)sizes[s / 2].ncols, (long long)nnz);
    CASE(name);
    wr_status status = wr_csr_create(nrows, sizes[s / 2].ncols, nnz, values, &A);
    CHECKF(status == sizes[s / 2].status, "%s", wr_status_name(status));
    CHECK((A != NULL) == (status == WR_OK));
    if (status == WR_EUSAGE) CHECK_MESSAGE("2147483647");
    if (A == NULL) continue;
    int64_t sum = 0;
    for (int64_t i = 0; i <= nrows; i++) sum += A->row_ptr[i] != 0;
    CHECK(sum == 0 && A->nrows == nrows && A->ncols == sizes[s / 2].ncols && A->nnz == nnz);
    CHECK((A->val != NULL) == values && A->col != NULL && A->symmetric == 0 && A->device == NULL);
    for (int64_t k = 0; k < nnz; k++) A->col[k] = 0; /* there is room */
    wr_csr_free(A);
  }
  wr_csr_free(NULL);
}

/* The example with one property of wr_csr violated. */
static void broken(wr_csr *A, int what) {
  switch (what) {
    case 0: A->nrows = 0; break;
    case 1: A->ncols = 0; break;
    case 2: A->nrows = (int64_t)WR_MAX_INDEX + 1; break;
    case 3: A->ncols = (int64_t)WR_MAX_INDEX + 1; break;
    case 4: A->nnz = -1; break;
    case 5: A->row_ptr[0] = 1; break;
    case 6: A->row_ptr[6] = 9; break;
    case 7: A->nnz = 11; break;
    case 8: A->row_ptr[2] = 1; break;
    case 9: A->row_ptr[3] = 11; break;
    case 10: A->row_ptr[1] = -1; break;
    case 11: A->col[7] = 6; break;
    case 12: A->col[0] = -1; break;
    case 13: A->col[9] = INT32_MIN; break;
    case 14: A->col[6] = 2; break;
    case 15: A->col[6] = 1; break;
    case 16: A->row_ptr[5] = INT64_MAX; break;
    default: break;
  }
}

static void test_check(void) {
  static const char *const says[] = {"0 x 6",  "6 x 0",  "2147483648 x 6", "6 x 2147483648", "-1 entries", "from 1",
                                     "to 9",   "to 11",  "row 1",          "row 2",          "row 0",      "column 6",
                                     "column -1", "row 5", "column 2 follows column 2", "column 1 follows column 2",
                                     "row 4"};
  CASE("the example");
  for (int values = 0; values < 2; values++) {
    wr_csr *A = example(values);
    CHECK_OK(wr_csr_check(A));
    wr_csr_free(A);
  }
  for (int what = 0; what < (int)(sizeof says / sizeof *says); what++) {
    CASE(says[what]);
    wr_csr *A = example(what % 2);
    broken(A, what);
    CHECK_FAILS(WR_EINPUT, wr_csr_check(A));
    CHECK_MESSAGE(says[what]);
    wr_csr_free(A);
  }
}

/* Columns must ascend within a row; the first of a row may be less than the last of the row before. */
static void test_check_borders(void) {
  CASE("borders of rows");
  wr_csr *A;
  CHECK_OK(wr_csr_create(3, WR_MAX_INDEX, 4, 0, &A));
  static const int32_t col[] = {5, WR_MAX_INDEX - 1, 0, 0};
  memcpy(A->col, col, sizeof col);
  A->row_ptr[1] = 2, A->row_ptr[2] = 3, A->row_ptr[3] = 4;
  CHECK_OK(wr_csr_check(A));
  A->row_ptr[2] = 4; /* 0 and 0 in one row */
  CHECK_FAILS(WR_EINPUT, wr_csr_check(A));
  wr_csr_free(A);
}

static void test_copy(void) {
  CASE("copy");
  for (int values = 0; values < 2; values++) {
    wr_csr *A = example(values), *B = NULL;
    A->symmetric = values;
    CHECK_OK(wr_csr_copy(A, &B));
    if (B == NULL) return;
    CHECK(B->nrows == 6 && B->ncols == 6 && B->nnz == 10 && B->symmetric == values && B->device == NULL);
    CHECK(B->row_ptr != A->row_ptr && B->col != A->col && (B->val != NULL) == values && (!values || B->val != A->val));
    CHECK(memcmp(A->row_ptr, B->row_ptr, 7 * sizeof *A->row_ptr) == 0);
    CHECK(memcmp(A->col, B->col, 10 * sizeof *A->col) == 0);
    CHECK(!values || memcmp(A->val, B->val, 10 * sizeof *A->val) == 0);
    wr_csr_free(A);
    CHECK_OK(wr_csr_check(B)); /* the copy does not use memory of A */
    wr_csr_free(B);
  }
}

static void test_range_values(void) {
  static const double values[] = {0,
                                  -0.0,
                                  FLT_MAX,
                                  -FLT_MAX,
                                  0x1.fffffdfffffffp127, /* next to FLT_MAX, 0x1.fffffep127               */
                                  0x1.fffffe0000001p127,
                                  0x1.fffffe8p127,
                                  0x1.fffffefffffffp127, /* next to FLT_MAX and half a unit, which rounds up */
                                  0x1.ffffffp127,
                                  0x1.ffffff0000001p127,
                                  0x1p128,
                                  1e39,
                                  DBL_MAX,
                                  FLT_TRUE_MIN,
                                  DBL_TRUE_MIN,
                                  INFINITY,
                                  -INFINITY,
                                  NAN};
  CASE("range of f32");
  wr_csr *A;
  CHECK_OK(wr_csr_create(1, 1, 1, 1, &A));
  A->col[0] = 0, A->row_ptr[1] = 1;
  for (size_t v = 0; v < 2 * (sizeof values / sizeof *values); v++) {
    double value = A->val[0] = v % 2 ? -values[v / 2] : values[v / 2];
    int fits = !isfinite(value) || isfinite((float)value);
    wr_status status = wr_csr_check_range(A, 1);
    CHECKF(status == (fits ? WR_OK : WR_ENUMERIC), "%a (%a in f32): %s", value, (double)(float)value,
           wr_status_name(status));
    CHECK_OK(wr_csr_check_range(A, 0));
  }
  wr_csr_free(A);
}

static void test_range_place(void) {
  CASE("the first value beyond f32");
  wr_csr *A = example(1);
  A->val[8] = 1e300, A->val[9] = -1e39;
  CHECK_FAILS(WR_ENUMERIC, wr_csr_check_range(A, 1));
  CHECK_MESSAGE("1e+300 in row 5, column 5");
  A->val[4] = 1e40; /* behind an empty row; places count from 1, as in the file */
  CHECK_FAILS(WR_ENUMERIC, wr_csr_check_range(A, 1));
  CHECK_MESSAGE("1e+40 in row 4, column 1");
  CHECK_OK(wr_csr_check_range(A, 0));
  wr_csr_free(A);
  A = example(0);
  CHECK_OK(wr_csr_check_range(A, 1));
  wr_csr_free(A);
  CHECK_OK(wr_csr_create(1, 100000, 100000, 1, &A)); /* shared among threads */
  for (int32_t k = 0; k < 100000; k++) A->col[k] = k, A->val[k] = k < 777 ? 1 : -4e38;
  A->row_ptr[1] = 100000;
  CHECK_FAILS(WR_ENUMERIC, wr_csr_check_range(A, 1));
  CHECK_MESSAGE("row 1, column 778");
  wr_csr_free(A);
}

/* Every allocation fails once. */
static void test_no_memory(void) {
  CASE("no memory");
  for (int values = 0; values < 2; values++) {
    wr_csr *A = example(values);
    for (int at = 0; at < 3 + values; at++)
      for (int copy = 0; copy < 2; copy++) {
        wr_csr impossible, *B = &impossible;
        calls = 0, refused = at;
        wr_status status = copy ? wr_csr_copy(A, &B) : wr_csr_create(6, 6, 10, values, &B);
        refused = -1;
        CHECKF(status == WR_ENOMEM && B == NULL, "call %d: %s", at, wr_status_name(status));
        CHECK_MESSAGE("out of memory");
      }
    calls = 0;
    wr_csr *B;
    CHECK_OK(wr_csr_copy(A, &B));
    CHECKF(calls == 3 + values, "%d allocations, of which %d failed above", calls, 3 + values);
    wr_csr_free(B);
    wr_csr_free(A);
  }
}

int main(void) {
  test_create();
  test_check();
  test_check_borders();
  test_copy();
  test_range_values();
  test_range_place();
  test_no_memory();
  return wr_test_report("csr");
}
