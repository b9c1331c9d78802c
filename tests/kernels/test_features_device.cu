/* Features of a matrix by a device (spmv/choose/features_cuda.cu) against the host's bit for bit: many shapes, both types,
 * narrow and wide row pointers, more rows than are looked at, and failing allocations. */
#include <cstring>
#include <vector>

#include "spmv/choose/matrix_features.h"
#include "spmv/device/device_memory.h"
#include "tests/kernels/on_device.h"
#include "tests/kernels/row_shapes.h"
#ifdef WR_SIMT
#include "tests/simt/simt.h"
#endif

static bool same(double a, double b) { return memcmp(&a, &b, sizeof a) == 0; }

static void check_view(wr_env *env, const wr_csr *A, const wr_csr_view *view, const char *what) {
  wr_matrix_features h = {}, d = {};
  CHECK_OK(wr_matrix_features_get(A, env->type, &h));
  CHECK_OK(wr_matrix_features_device(A, env, view, &d));
  CHECKF(h.nrows == d.nrows && h.ncols == d.ncols && h.nnz == d.nnz && h.valued == d.valued, "%s", what);
  CHECKF(h.most == d.most && same(h.mean, d.mean), "%s: %lld and %lld", what, (long long)h.most, (long long)d.most);
  CHECKF(same(h.spread, d.spread), "%s: spread %g and %g", what, h.spread, d.spread);
  CHECKF(same(h.lockstep, d.lockstep), "%s: lockstep %g and %g", what, h.lockstep, d.lockstep);
  CHECKF(same(h.gather, d.gather), "%s: gather %g and %g", what, h.gather, d.gather);
  CHECKF(same(h.row_gather, d.row_gather), "%s: row_gather %g and %g", what, h.row_gather, d.row_gather);
  CHECKF(same(h.tile_gather, d.tile_gather), "%s: tile_gather %g and %g", what, h.tile_gather, d.tile_gather);
  CHECKF(same(h.narrow, d.narrow), "%s: narrow %g and %g", what, h.narrow, d.narrow);
  CHECKF(same(h.hubs, d.hubs), "%s: hubs %g and %g", what, h.hubs, d.hubs);
}

/* With row pointers of 32 bits, as the matrix is so small, and of 64 bits. */
static void check(wr_env *env, wr_csr *A) {
  wr_csr_view view, wide;
  int64_t *row_ptr = nullptr;
  CHECK_OK(wr_csr_device_view(A, env, &view));
  check_view(env, A, &view, "narrow");
  CHECK_OK(wr_device_alloc(env, &row_ptr, A->nrows + 1, sizeof *row_ptr, "row pointers"));
  CHECK_OK(wr_device_upload(env, row_ptr, A->row_ptr, A->nrows + 1, WR_AS_8_BYTES));
  wide = view, wide.wide = 1, wide.row_ptr = row_ptr;
  check_view(env, A, &wide, "wide");
  wr_device_free(env, row_ptr);
}

static void test_shapes(wr_env *env) {
  for (const row_shape &s : row_shapes)
    for (int values = 0; values < 2; values++) {
      CASE(s.name);
      matrix m(s.next, s.nrows, s.ncols, values != 0);
      check(env, &m.A);
      wr_csr_forget_device(&m.A);
    }
}

/* Lengths of rows go round, and some are long; entries are scattered over more columns than hubs may have in f64. */
static void test_many_rows(wr_env *env) {
  const int64_t n = 270001, ncols = 90000; /* 64 rows a block, the last one short */
  CASE("many rows");
  wr_csr *A = nullptr;
  CHECK_OK(wr_csr_create(n, ncols, n * 3 + 600 * 40, 0, &A));
  if (A == nullptr) return;
  for (int64_t i = 0; i < n; i++) {
    int64_t length = i % 1171 == 5 ? 40 : i * i % 4;
    for (int64_t k = 0; k < length; k++)
      A->col[A->row_ptr[i] + k] = (int32_t)((i % 3 == 0 ? k : i * 29 % (ncols - 200)) + k * 3);
    A->row_ptr[i + 1] = A->row_ptr[i] + length;
  }
  A->nnz = A->row_ptr[n];
  check(env, A);
  wr_csr_free(A);
}

#ifdef WR_SIMT
/* Every allocation of device memory fails once, with all after it; nothing leaks. */
static void test_no_memory(wr_env *env) {
  CASE("failing allocations");
  matrix m(near, 300, 300, false);
  wr_csr_view view;
  CHECK_OK(wr_csr_device_view(&m.A, env, &view));
  int64_t live = wr_device_blocks();
  int failures = 0;
  for (bool refused = true; refused && failures < 100; failures += refused) {
    wr_matrix_features f;
    (void)simt_memory_end(failures);
    wr_status status = wr_matrix_features_device(&m.A, env, &view, &f);
    refused = simt_memory_end(-1);
    CHECKF(status == (refused ? WR_ENOMEM : WR_OK), "block %d: %s", failures, wr_status_message());
    CHECKF(wr_device_blocks() == live, "block %d: %lld are left", failures, (long long)(wr_device_blocks() - live));
  }
  CHECKF(failures > 0, "%d blocks", failures);
}
#endif

static void test_device(wr_env *env) {
  env->testing->poison = 1;
#ifdef WR_SIMT
  test_no_memory(env); /* first: blocks that were freed are kept for reuse */
#endif
  test_shapes(env);
  test_many_rows(env);
}

int main(void) {
  on_device(test_device);
  return wr_test_report("features_device");
}
