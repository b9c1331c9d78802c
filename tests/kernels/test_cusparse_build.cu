/* The formats that are built for the library, entry by entry: the row of every entry, slices, and transposed blocks. The
 * matrices have empty rows, also at both ends and whole slices of them, and one long row; slices do not divide the rows. */
#include <algorithm>
#include <vector>

#include "spmv/backends/cusparse/cusparse_build.h"
#include "spmv/device/device_memory.h"
#include "spmv/device/sort.h"
#include "spmv/matrix/transpose.h"
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
  CHECK_OK(wr_device_entry_rows(env, A->nrows, view, 0, A->nnz, row));
  CHECK_OK(wr_device_download(env, got.data(), row, A->nnz, WR_AS_4_BYTES));
  for (int64_t i = 0; i < A->nrows; i++)
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) wrong += got[(size_t)k] != i;
  CHECKF(wrong == 0, "%lld of %lld rows", (long long)wrong, (long long)A->nnz);
  wr_device_free(env, row);
}

/* Each place must hold the entry of that row and column, or padding after the row's end. */
static void check_slices(wr_env *env, const wr_csr *A, const wr_sell *sell) {
  std::vector<int32_t> offset((size_t)sell->nslices + 1), col((size_t)sell->size);
  std::vector<double> val((size_t)sell->size);
  CHECK_OK(wr_device_download(env, offset.data(), sell->offset, sell->nslices + 1, WR_AS_4_BYTES));
  CHECK_OK(wr_device_download(env, col.data(), sell->col, sell->size, WR_AS_4_BYTES));
  CHECK_OK(
      wr_device_download(env, val.data(), sell->val, sell->size, env->type == WR_F32 ? WR_F64_AS_F32 : WR_AS_8_BYTES));
  int64_t place = 0, wrong = 0;
  for (int64_t s = 0; s < sell->nslices; s++) {
    int64_t longest = 0;
    for (int64_t i = s * sell->slice; i < std::min((s + 1) * sell->slice, A->nrows); i++)
      longest = std::max(longest, A->row_ptr[i + 1] - A->row_ptr[i]);
    CHECK(offset[(size_t)s] == place);
    for (int64_t j = 0; j < longest; j++)
      for (int64_t i = s * sell->slice; i < (s + 1) * sell->slice; i++, place++) {
        int64_t k = i < A->nrows ? A->row_ptr[i] + j : 0;
        bool is_entry = i < A->nrows && k < A->row_ptr[i + 1];
        wrong += col[(size_t)place] != (is_entry ? A->col[k] : -1);
        wrong += val[(size_t)place] != (!is_entry ? 0 : A->val ? A->val[k] : 1);
      }
  }
  CHECK(place == sell->size && offset[(size_t)sell->nslices] == place);
  CHECKF(wrong == 0, "slices of %d: %lld wrong", sell->slice, (long long)wrong);
}

static void test_slices(wr_env *env, const wr_csr *A, const wr_csr_view *view, int32_t slice) {
  wr_sell sell = {};
  int64_t *size = nullptr;
  sell.nrows = A->nrows, sell.slice = slice, sell.nslices = (A->nrows + slice - 1) / slice;
  CASE("slices");
  CHECK_OK(wr_device_alloc(env, &size, sell.nslices, sizeof *size, "sizes"));
  CHECK_OK(wr_device_alloc(env, &sell.offset, sell.nslices + 1, sizeof *sell.offset, "offsets"));
  CHECK_OK(wr_sell_sizes(env, &sell, view, size));
  CHECK_OK(wr_device_scan(env, size, sizeof *size, sell.nslices, sell.offset, sizeof *sell.offset, &sell.size));
  CHECK_OK(wr_device_alloc(env, &sell.col, sell.size, sizeof *sell.col, "columns"));
  CHECK_OK(wr_device_alloc(env, &sell.val, sell.size, (size_t)wr_type_bytes(env->type), "values"));
  CHECK_OK(wr_sell_fill(env, &sell, view));
  check_slices(env, A, &sell);
  wr_device_free(env, size);
  wr_device_free(env, sell.offset);
  wr_device_free(env, sell.col);
  wr_device_free(env, sell.val);
}

static void test_matrix(wr_env *env, int64_t nrows, bool pattern) {
  static const int32_t slices[] = {1, 2, 16, 32, 64, 256};
  wr_csr *A = make_matrix(nrows, pattern);
  wr_csr_view view;
  CHECK_OK(wr_csr_device_view(A, env, &view));
  test_rows(env, A, &view);
  for (int32_t slice : slices) test_slices(env, A, &view, slice);
  wr_csr_free(A);
}

/* The number of values, initially their index plus 1, that are not where a transposition puts them. */
static int64_t count_untransposed(const std::vector<double> &got, int side) {
  int64_t wrong = 0, place = 0;
  for (int64_t first = 0; first < (int64_t)got.size(); first += side * side)
    for (int i = 0; i < side; i++)
      for (int j = 0; j < side; j++) wrong += got[(size_t)place++] != (double)(first + j * side + i + 1);
  return wrong;
}

static void test_transposed(wr_env *env, int64_t blocks, int side) {
  int64_t values = blocks * side * side;
  std::vector<double> before((size_t)values), got((size_t)values);
  void *val = nullptr;
  wr_conversion how = env->type == WR_F32 ? WR_F64_AS_F32 : WR_AS_8_BYTES;
  for (int64_t k = 0; k < values; k++) before[(size_t)k] = (double)(k + 1);
  CASE("transposed blocks");
  CHECK_OK(wr_device_alloc(env, &val, values, (size_t)wr_type_bytes(env->type), "blocks"));
  CHECK_OK(wr_device_upload(env, val, before.data(), values, how));
  CHECK_OK(wr_blocks_transpose(env, blocks, side, val));
  CHECK_OK(wr_device_download(env, got.data(), val, values, how));
  int64_t wrong = count_untransposed(got, side);
  CHECKF(wrong == 0, "%lld blocks of %d: %lld values wrong", (long long)blocks, side, (long long)wrong);
  CHECK_OK(wr_blocks_transpose(env, blocks, side, val));
  CHECK_OK(wr_device_download(env, got.data(), val, values, how));
  CHECKF(got == before, "%lld blocks of %d: twice is not as before", (long long)blocks, side);
  wr_device_free(env, val);
}

static void test_all(wr_env *env) {
  for (int pattern = 0; pattern < 2; pattern++) {
    test_matrix(env, 1, pattern);
    test_matrix(env, 333, pattern);
    test_matrix(env, 1024, pattern);
  }
  for (int side = 1; side <= 16; side++)
    for (int64_t blocks : {0, 1, 77}) test_transposed(env, blocks, side);
}

int main(void) {
  on_device(test_all);
  return wr_test_report("cusparse_build");
}
