/* Kernels on plain rows with row pointers of 64 bits, which matrices of fewer than 2^31 entries never have, give the same
 * bits as with 32. The matrix is small; its rows are of all lengths, some with widely spread columns. */
#include <vector>

#include "spmv/backends/csr_rows/csr_rows.h"
#include "spmv/backends/csr_rows/csr_warp_kernel.h"
#include "spmv/device/device_memory.h"
#include "tests/kernels/on_device.h"

enum { ROWS = 300, COLUMNS = 5000, ROOM = 60000 };

typedef wr_status (*launcher)(wr_env *env, const wr_csr_view *A, const wr_apply *request);

/* x and y as several vectors of one column. */
static wr_status launch_many(wr_env *env, const wr_csr_view *A, const wr_apply *request) {
  wr_apply_many many = {};
  many.columns = 1, many.alpha = request->alpha, many.beta = request->beta;
  many.x = request->x, many.y = request->y, many.ldx = many.ldy = 1;
  return wr_csr_warp_many_launch(env, A, &many);
}

static const struct {
  const char *name;
  launcher launch;
} kernels[] = {{"csr_thread", wr_csr_thread_launch},
               {"csr_thread_unrolled", wr_csr_thread_unrolled_launch},
               {"csr_warp", wr_csr_warp_launch},
               {"csr_warp, several vectors", launch_many},
               {"csr_warp_shared", wr_csr_warp_shared_launch}};

static wr_csr *make_matrix(bool pattern) {
  wr_csr *A = nullptr;
  int64_t nnz = 0;
  CHECK_OK(wr_csr_create(ROWS, COLUMNS, ROOM, !pattern, &A));
  for (int64_t i = 0; i < ROWS; i++) {
    int64_t length = i % 7 == 0 ? 0 : i % 11 * 17, step = i % 3 == 0 ? 1 : 1 + i % 25;
    for (int64_t k = 0; k < length; k++, nnz++) {
      A->col[nnz] = (int32_t)(i + k * step);
      if (!pattern) A->val[nnz] = 1.0 / (double)(1 + nnz);
    }
    A->row_ptr[i + 1] = nnz;
  }
  A->nnz = nnz;
  CHECK_OK(wr_csr_check(A));
  return A;
}

/* The result of one launch for given x and y. */
static std::vector<double> product(wr_env *env, launcher launch, const wr_csr_view *view) {
  wr_vec x = {}, y = {};
  std::vector<double> from(COLUMNS), result(ROWS);
  for (int64_t j = 0; j < COLUMNS; j++) from[(size_t)j] = (double)(j % 97) / 13 - 2;
  CHECK_OK(env->ops->alloc(env, COLUMNS, env->type, "x", &x));
  CHECK_OK(env->ops->alloc(env, ROWS, env->type, "y", &y));
  CHECK_OK(env->ops->upload(env, &x, from.data()));
  CHECK_OK(env->ops->upload(env, &y, from.data()));
  wr_apply request = {};
  request.alpha = -1.5, request.beta = 0.5, request.x = &x, request.y = &y;
  CHECK_OK(launch(env, view, &request));
  CHECK_OK(env->ops->download(env, &y, result.data()));
  env->ops->release(env, &x);
  env->ops->release(env, &y);
  return result;
}

static void test_wide(wr_env *env, bool pattern) {
  wr_csr *A = make_matrix(pattern);
  wr_csr_view narrow, wide;
  void *row_ptr = nullptr;
  CHECK_OK(wr_csr_device_view(A, env, &narrow));
  CHECK_OK(wr_device_alloc(env, &row_ptr, ROWS + 1, sizeof(int64_t), "wide row pointers"));
  CHECK_OK(wr_device_upload(env, row_ptr, A->row_ptr, ROWS + 1, WR_AS_8_BYTES));
  wide = narrow;
  wide.wide = 1, wide.row_ptr = row_ptr;
  for (const auto &kernel : kernels) {
    CASE(kernel.name);
    std::vector<double> from_narrow = product(env, kernel.launch, &narrow),
                        from_wide = product(env, kernel.launch, &wide);
    CHECK(from_narrow == from_wide);
    CHECK(from_narrow[1] != 0 && from_narrow[ROWS - 1] != 0);
  }
  wr_device_free(env, row_ptr);
  wr_csr_free(A);
}

static void test_all(wr_env *env) {
  test_wide(env, false);
  test_wide(env, true);
}

int main(void) {
  on_device(test_all);
  return wr_test_report("csr_rows");
}
