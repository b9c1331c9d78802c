/* The row of every entry, as the library's COO wants it. The matrices have empty rows, also many together and at both
 * ends, and one long row. */
#include <vector>

#include "spmv/cusparse/cusparse_build.h"
#include "spmv/device/device_memory.h"
#include "tests/kernels/on_device.h"

enum { COLUMNS = 3000, ROOM = 20000 };

static int64_t length_of(int64_t i, int64_t nrows) {
  if (nrows == 1) return 5;
  if (i == 0 || i + 3 >= nrows || (i >= 60 && i < 200)) return 0;
  return i == 41 ? (int64_t)COLUMNS : i % 7;
}

static wr_csr *make_matrix(int64_t nrows, bool pattern) {
  wr_csr *A = nullptr;
  int64_t nnz = 0;
  CHECK_OK(wr_csr_create(nrows, COLUMNS, ROOM, !pattern, &A));
  for (int64_t i = 0; i < nrows; i++) {
    for (int64_t k = 0; k < length_of(i, nrows); k++, nnz++) {
      A->col[nnz] = (int32_t)k;
      if (!pattern) A->val[nnz] = (double)(nnz + 2);
    }
    A->row_ptr[i + 1] = nnz;
  }
  A->nnz = nnz;
  CHECK_OK(wr_csr_check(A));
  return A;
}

static void test_rows(wr_env *env, const wr_csr *A, const wr_csr_view *view) {
  int32_t *row = nullptr;
  std::vector<int32_t> got((size_t)A->nnz);
  int64_t wrong = 0;
  CASE("rows of entries");
  CHECK_OK(wr_device_alloc(env, &row, A->nnz, sizeof *row, "rows"));
  CHECK_OK(wr_coo_fill(env, A->nrows, A->nnz, view, row));
  CHECK_OK(wr_device_download(env, got.data(), row, A->nnz, WR_AS_4_BYTES));
  for (int64_t i = 0; i < A->nrows; i++)
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) wrong += got[(size_t)k] != i;
  CHECKF(wrong == 0, "%lld of %lld rows", (long long)wrong, (long long)A->nnz);
  wr_device_free(env->device, row);
}

static void test_matrix(wr_env *env, int64_t nrows, bool pattern) {
  wr_csr *A = make_matrix(nrows, pattern);
  wr_csr_view view;
  CHECK_OK(wr_csr_device_view(A, env, &view));
  test_rows(env, A, &view);
  wr_csr_free(A);
}

static void test_all(wr_env *env) {
  for (int pattern = 0; pattern < 2; pattern++) {
    test_matrix(env, 1, pattern);
    test_matrix(env, 333, pattern);
    test_matrix(env, 1024, pattern);
  }
}

int main(void) {
  on_device(test_all);
  return wr_test_report("cusparse_build");
}
