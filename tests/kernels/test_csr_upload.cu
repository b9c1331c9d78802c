/* A matrix's view uploaded in pieces, against the one made at once, byte for byte with its padding: many shapes, both types,
 * both widths of row pointers; values beyond f32, missing rows, and failing allocations. */
#include "spmv/matrix/csr_upload.h"

#include <cstring>

#include "spmv/matrix/csr_device.h"
#include "tests/kernels/row_shapes.h"
#ifdef WR_SIMT
#include "tests/simt/simt.h"
#endif

/* All bytes of an allocation of count elements, padding included. */
static std::vector<int32_t> block(wr_env *env, const void *from, int64_t count, size_t size) {
  std::vector<int32_t> to((size_t)wr_device_bytes(count, size) / 4);
  CHECK_OK(wr_device_download(env, to.data(), from, (int64_t)to.size(), WR_AS_4_BYTES));
  return to;
}

static void check_same(wr_env *env, const wr_csr *A, const wr_csr_view *got, const wr_csr_view *expected) {
  size_t width = got->wide ? 8 : 4, bytes = (size_t)wr_type_bytes(env->type);
  CHECK(got->wide == expected->wide && (got->val == nullptr) == (expected->val == nullptr));
  CHECK(block(env, got->row_ptr, A->nrows + 1, width) == block(env, expected->row_ptr, A->nrows + 1, width));
  CHECK(block(env, got->col, A->nnz, 4) == block(env, expected->col, A->nnz, 4));
  if (got->val && expected->val) CHECK(block(env, got->val, A->nnz, bytes) == block(env, expected->val, A->nnz, bytes));
}

/* Uploads one row, then two more, ...; rows that are not final hold garbage. */
static wr_status send(wr_csr_upload *u, const wr_csr *A, int64_t most) {
  std::vector<int32_t> col(A->col, A->col + A->nnz);
  int left = 0;
  wr_status status = WR_OK;
  for (int64_t k = 0; k < A->nnz; k++) A->col[k] = -7;
  for (int64_t rows = 0, step = 0, known = 0; status == WR_OK; rows += ++step) {
    if (rows > A->nrows) rows = A->nrows;
    for (; known < A->row_ptr[rows]; known++) A->col[known] = col[(size_t)known];
    do status = wr_csr_upload_more(u, rows, most, &left);
    while (status == WR_OK && left && rows == A->nrows);
    if (rows == A->nrows) break;
  }
  for (int64_t k = 0; k < A->nnz; k++) A->col[k] = col[(size_t)k];
  return status;
}

static void widen(wr_env *env, wr_csr_upload *u) {
  wr_device_free_shared(env->device, u->view->row_ptr);
  CHECK_OK(wr_device_alloc_shared(env, &u->view->row_ptr, u->A->nrows + 1, 8, "row pointers"));
  u->view->wide = 1;
}

static void check_pieces(wr_env *env, wr_csr *A, int64_t most, int wide) {
  wr_csr_upload *u = nullptr;
  wr_csr_view at_once = {}, got = {};
  CHECK_OK(wr_csr_upload_begin(A, env, &u));
  if (u == nullptr) return;
  const void *row_ptr, *col = u->view->col;
  if (wide) widen(env, u);
  row_ptr = u->view->row_ptr;
  CHECK_OK(send(u, A, most));
  CHECK(A->device == nullptr);
  CHECK_OK(wr_csr_upload_end(u));
  CHECK_OK(wr_csr_device_view(A, env, &got));
  CHECK(got.row_ptr == row_ptr && got.col == col);
  if (wide) {
    at_once = make_view(env, A, 1);
    check_same(env, A, &got, &at_once);
    free_view(env, &at_once);
  } else {
    wr_csr B = *A;
    B.device = nullptr;
    CHECK_OK(wr_csr_device_view(&B, env, &at_once));
    check_same(env, A, &got, &at_once);
    CHECK(got.bytes == at_once.bytes);
    wr_csr_forget_device(&B);
  }
  wr_csr_forget_device(A);
}

static void test_shapes(wr_env *env) {
  int64_t live = wr_device_blocks();
  for (const row_shape &s : row_shapes)
    for (int values = 0; values < 2; values++) {
      CASE(s.name);
      matrix m(s.next, s.nrows, s.ncols, values != 0);
      for (int wide = 0; wide < 2; wide++)
        for (int64_t most : {17, 1000000}) check_pieces(env, &m.A, most, wide);
      CHECKF(wr_device_blocks() == live, "%lld allocations are left", (long long)(wr_device_blocks() - live));
    }
}

/* More than a stage of pinned memory in one call. */
static void test_large(wr_env *env) {
  CASE("several stages");
  matrix m(all, 2, 600000, true);
  check_pieces(env, &m.A, 1000000, 0);
  check_pieces(env, &m.A, 550000, 0);
}

static void test_refused(wr_env *env) {
  CASE("values beyond f32");
  int64_t live = wr_device_blocks();
  matrix m(near, 50, 90, true);
  wr_csr_upload *u = nullptr;
  wr_csr_view view;
  m.val[(size_t)m.row_ptr[7]] = 1e39;
  CHECK_OK(wr_csr_upload_begin(&m.A, env, &u));
  CHECK_FAILS(env->type == WR_F32 ? WR_ENUMERIC : WR_OK, send(u, &m.A, 1000));
  wr_csr_upload_drop(u);
  CHECK(m.A.device == nullptr && wr_device_blocks() == live);
  CHECK_FAILS(env->type == WR_F32 ? WR_ENUMERIC : WR_OK, wr_csr_device_view(&m.A, env, &view));
  if (env->type == WR_F32) CHECK_MESSAGE("in row 8, column 9 is beyond f32");
  wr_csr_forget_device(&m.A);
  CASE("missing rows");
  for (int64_t rows : {0, 1, 49}) {
    int left;
    CHECK_OK(wr_csr_upload_begin(&m.A, env, &u));
    if (rows < 7 || env->type == WR_F64) CHECK_OK(wr_csr_upload_more(u, rows, 1000000, &left));
    CHECK_FAILS(WR_EUSAGE, wr_csr_upload_end(u));
    CHECK(m.A.device == nullptr && wr_device_blocks() == live);
  }
  wr_csr_upload_drop(nullptr);
}

#ifdef WR_SIMT
static void test_no_memory(wr_env *env) {
  CASE("failing allocations");
  int64_t live = wr_device_blocks();
  for (int values = 0; values < 2; values++) {
    matrix m(near, 50, 90, values != 0);
    int failures = 0;
    for (bool refused = true; refused && failures < 100; failures += refused) {
      wr_csr_upload *u = nullptr;
      (void)simt_memory_end(failures);
      wr_status status = wr_csr_upload_begin(&m.A, env, &u);
      refused = simt_memory_end(-1);
      CHECKF(status == (refused ? WR_ENOMEM : WR_OK) && (u == nullptr) == refused, "%s", wr_status_message());
      wr_csr_upload_drop(u);
      CHECKF(wr_device_blocks() == live, "%lld allocations are left", (long long)(wr_device_blocks() - live));
    }
    CHECKF(failures == 2 + values, "%d allocations", failures);
  }
}
#endif

static void test_device(wr_env *env) {
  test_shapes(env);
  test_large(env);
  test_refused(env);
#ifdef WR_SIMT
  test_no_memory(env);
#endif
}

int main() {
  on_device(test_device);
  return wr_test_report("csr_upload");
}
