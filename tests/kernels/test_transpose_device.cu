/* Transposing on a device, against the host's bit for bit: many shapes, both widths of row pointers, both types; later host
 * arrays; indices beyond 2^31; and failing allocations. */
#include <cuda_runtime.h>

#include <cmath>
#include <cstring>

#include "config/memory.h"
#include "spmv/matrix/transpose.h"
#include "tests/kernels/row_shapes.h"
#ifdef WR_SIMT
#include "tests/simt/simt.h"
#endif

template <typename T>
static int64_t differences(const T *got, const T *expected, int64_t n) {
  int64_t wrong = 0;
  for (int64_t k = 0; k < n; k++) wrong += memcmp(&got[k], &expected[k], sizeof(T)) != 0;
  return wrong;
}

static bool same(const wr_csr *A, const wr_csr *B) {
  if (A->nrows != B->nrows || A->ncols != B->ncols || A->nnz != B->nnz || A->symmetric != B->symmetric) return false;
  if (!A->row_ptr || !B->row_ptr || (A->val == nullptr) != (B->val == nullptr)) return false;
  return differences(A->row_ptr, B->row_ptr, A->nrows + 1) == 0 && differences(A->col, B->col, A->nnz) == 0 &&
         (A->val == nullptr || differences(A->val, B->val, A->nnz) == 0);
}

template <typename T>
static std::vector<T> downloaded(wr_env *env, const void *from, int64_t n, wr_conversion how) {
  std::vector<T> to((size_t)n);
  CHECK_OK(wr_device_download(env, to.data(), from, n, how));
  return to;
}

/* Checks a view against the host's matrix in env's type. */
static void check_view(wr_env *env, const wr_csr_view *view, const wr_csr *expected) {
  bool f64 = env->type == WR_F64;
  auto row_ptr =
      downloaded<int64_t>(env, view->row_ptr, expected->nrows + 1, view->wide ? WR_AS_8_BYTES : WR_I64_AS_I32);
  auto col = downloaded<int32_t>(env, view->col, expected->nnz, WR_AS_4_BYTES);
  CHECK(differences(row_ptr.data(), expected->row_ptr, expected->nrows + 1) == 0);
  CHECK(differences(col.data(), expected->col, expected->nnz) == 0);
  CHECK((view->val == nullptr) == (expected->val == nullptr));
  if (expected->val == nullptr || view->val == nullptr) return;
  auto val = downloaded<double>(env, view->val, expected->nnz, f64 ? WR_AS_8_BYTES : WR_F64_AS_F32);
  int64_t wrong = 0;
  for (int64_t k = 0; k < expected->nnz; k++) {
    double rounded = f64 ? expected->val[k] : (double)(float)expected->val[k];
    wrong += std::isnan(rounded) ? !std::isnan(val[(size_t)k]) : memcmp(&val[(size_t)k], &rounded, sizeof rounded) != 0;
  }
  CHECKF(wrong == 0, "%lld of %lld values", (long long)wrong, (long long)expected->nnz);
}

/* From a view to a view, with row pointers of either width. */
static void check_widths(wr_env *env, const wr_csr *A, const wr_csr *expected) {
  for (int wide = 0; wide < 2; wide++) {
    wr_csr_view from = make_view(env, A, wide), to = {};
    void *row_ptr = nullptr, *col = nullptr, *val = nullptr;
    CHECK_OK(wr_device_alloc_zeroed(env, &row_ptr, A->ncols + 1, wide ? 8 : 4, "row pointers"));
    CHECK_OK(wr_device_alloc_zeroed(env, &col, A->nnz, 4, "columns"));
    if (A->val) CHECK_OK(wr_device_alloc_zeroed(env, &val, A->nnz, (size_t)wr_type_bytes(env->type), "values"));
    CHECK_OK(wr_device_transpose(env, A->nrows, A->ncols, A->nnz, &from, row_ptr, (int32_t *)col, val));
    to.wide = wide, to.row_ptr = row_ptr, to.col = (int32_t *)col, to.val = val;
    check_view(env, &to, expected);
    free_view(env, &from);
    free_view(env, &to);
  }
}

/* A matrix on the device only, its view, and its host arrays once they are requested. */
static void check_alone(wr_env *env, wr_csr *A, const wr_csr *expected) {
  wr_csr *T = nullptr;
  wr_csr_view view;
  CHECK_OK(wr_csr_transpose_device(A, env, &T));
  if (T == nullptr) return;
  CHECK(T->row_ptr == nullptr && T->col == nullptr && (T->val == nullptr) == (A->val == nullptr));
  wr_csr_forget_device(T); /* would lose the matrix */
  CHECK_OK(wr_csr_device_view(T, env, &view));
  check_view(env, &view, expected);
  CHECK(T->row_ptr == nullptr);
  CHECK_OK(wr_csr_host(T, A->nnz % 2 ? env : nullptr));
  CHECK(same(T, expected));
  const int64_t *row_ptr = T->row_ptr;
  CHECK_OK(wr_csr_host(T, nullptr));
  CHECK(T->row_ptr == row_ptr);
  CHECK_OK(wr_csr_check(T));
  wr_csr_free(T);
}

static void check_counts(wr_env *env, wr_csr *A, const wr_csr *expected) {
  std::vector<int32_t> counts((size_t)A->ncols, -1);
  int64_t wrong = 0;
  CHECK_OK(wr_csr_count_columns_device(A, env, counts.data()));
  for (int64_t j = 0; j < A->ncols; j++) wrong += counts[(size_t)j] != expected->row_ptr[j + 1] - expected->row_ptr[j];
  CHECKF(wrong == 0, "%lld of %lld counts", (long long)wrong, (long long)A->ncols);
}

static void test_shapes(wr_env *env) {
  for (const row_shape &s : row_shapes)
    for (int values = 0; values < 2; values++) {
      CASE(s.name);
      matrix m(s.next, s.nrows, s.ncols, values != 0);
      wr_csr *expected = nullptr;
      m.A.symmetric = values;
      CHECK_OK(wr_csr_transpose(&m.A, &expected));
      check_widths(env, &m.A, expected);
      if (!values || env->type == WR_F64) check_alone(env, &m.A, expected);
      if (!values) check_counts(env, &m.A, expected);
      wr_csr_free(expected);
      wr_csr_forget_device(&m.A);
    }
}

/* Row pointers with more entries than any memory holds: indices around 2^31, 2^32 and 2^40. */
static void test_places(wr_env *env) {
  CASE("rows of entries beyond 2^31");
  const int64_t two31 = INT64_C(1) << 31, row_ptr[] = {0, 3, two31 - 2, two31 - 2, two31 + 1, 2 * two31, 512 * two31};
  const struct {
    int64_t first;
    int32_t row[6];
  } looks[] = {{0, {0, 0, 0, 1, 1, 1}},
               {two31 - 4, {1, 1, 3, 3, 3, 4}},
               {2 * two31 - 3, {4, 4, 4, 5, 5, 5}},
               {512 * two31 - 6, {5, 5, 5, 5, 5, 5}}};
  wr_csr_view view = {};
  int64_t *there = nullptr;
  int32_t *rows = nullptr;
  CHECK_OK(wr_device_alloc(env, &there, 7, sizeof *there, "row pointers"));
  CHECK_OK(wr_device_alloc(env, &rows, 6, sizeof *rows, "rows"));
  CHECK_OK(wr_device_upload(env, there, row_ptr, 7, WR_AS_8_BYTES));
  view.wide = 1, view.row_ptr = there;
  for (const auto &look : looks) {
    CHECK_OK(wr_device_entry_rows(env, 6, &view, look.first, 6, rows));
    auto got = downloaded<int32_t>(env, rows, 6, WR_AS_4_BYTES);
    CHECKF(differences(got.data(), look.row, 6) == 0, "from %lld", (long long)look.first);
  }
  wr_device_free(env, there);
  wr_device_free(env, rows);
}

static void test_runs(void) {
  CASE("lengths of runs beyond 2^31");
  const int64_t two31 = INT64_C(1) << 31, begins[] = {0, 1, two31 - 1, two31, two31 + 1, 2 * two31 - 1, 2 * two31,
                                                      2 * two31 + 1, 77 * two31 + 12345};
  const int64_t lengths[] = {1, 2, 1000, two31 - 1};
  for (int64_t begin : begins)
    for (int64_t length : lengths)
      CHECKF((int32_t)(wr_run_begin(begin) + wr_run_end(begin + length)) == length, "%lld from %lld", (long long)length,
             (long long)begin);
}

static void test_divide(wr_env *env) {
  CASE("divided columns");
  if (env->type != WR_F64) return;
  matrix m(near, 200, 300, true);
  std::vector<double> by(200);
  wr_csr *T = nullptr, *expected = nullptr;
  for (int64_t j = 0; j < 200; j++) by[(size_t)j] = j % 7 ? value_at(j, j + 1) : 0;
  CHECK_OK(wr_csr_transpose(&m.A, &expected));
  for (int64_t k = 0; k < expected->nnz; k++) {
    double w = by[(size_t)expected->col[k]];
    expected->val[k] = w == 0 ? 0 : expected->val[k] / w;
  }
  CHECK_OK(wr_csr_transpose_device(&m.A, env, &T));
  CHECK_OK(wr_csr_divide_columns_device(T, env, by.data()));
  CHECK_OK(wr_csr_host(T, env));
  int64_t wrong = 0;
  for (int64_t k = 0; k < T->nnz; k++) /* a NaN may have another sign */
    wrong += !(std::isnan(T->val[k]) && std::isnan(expected->val[k])) && differences(&T->val[k], &expected->val[k], 1);
  CHECKF(wrong == 0, "%lld of %lld", (long long)wrong, (long long)T->nnz);
  CHECK_FAILS(WR_EUSAGE, wr_csr_divide_columns_device(T, env, by.data())); /* the host's bits would differ */
  CHECK_FAILS(WR_EUSAGE, wr_csr_divide_columns_device(&m.A, env, by.data()));
  wr_csr_free(T);
  wr_csr_free(expected);
  wr_csr_forget_device(&m.A);
}

/* Values in f32 are made from those in f64 through the host. */
static void test_other_type(wr_env *env) {
  CASE("values in the other type");
  matrix m(near, 200, 300, true);
  wr_csr *T = nullptr, *expected = nullptr;
  wr_env f32 = {};
  wr_csr_view view;
  for (double &v : m.val) v = std::isfinite(v) ? v : 1.1;
  f32.place = WR_CUDA, f32.type = WR_F32;
  if (env->type == WR_F32) {
    CHECK_FAILS(WR_EUSAGE, wr_csr_transpose_device(&m.A, env, &T));
    CHECK(T == nullptr);
    return;
  }
  CHECK_OK(wr_env_open(&f32));
  CHECK_OK(wr_csr_transpose(&m.A, &expected));
  CHECK_OK(wr_csr_transpose_device(&m.A, env, &T));
  CHECK_OK(wr_csr_device_view(T, &f32, &view));
  check_view(&f32, &view, expected);
  CHECK(same(T, expected));
  wr_csr_free(T);
  wr_csr_free(expected);
  wr_csr_forget_device(&m.A);
  wr_env_close(&f32);
}

#ifdef WR_SIMT
/* Every allocation of device memory fails once, with all after it; nothing leaks, and later calls succeed. */
static void test_no_memory(wr_env *env) {
  CASE("failing allocations");
  matrix m(near, 200, 300, env->type == WR_F64);
  int64_t live = wr_device_blocks();
  int failures = 0;
  for (bool refused = true; refused && failures < 100; failures += refused) {
    wr_csr impossible, *T = &impossible;
    (void)simt_memory_end(failures);
    wr_status status = wr_csr_transpose_device(&m.A, env, &T);
    refused = simt_memory_end(-1);
    CHECKF(status == (refused ? WR_ENOMEM : WR_OK) && (T == nullptr) == refused, "block %d: %s", failures,
           wr_status_message());
    if (!refused) wr_csr_free(T);
    wr_csr_forget_device(&m.A);
    CHECKF(wr_device_blocks() == live, "block %d: %lld are left", failures, (long long)(wr_device_blocks() - live));
  }
  CHECKF(failures >= 8, "%d blocks", failures); /* of the view, of the transpose, of sorting and scanning */
  std::vector<int32_t> counts(300);
  (void)simt_memory_end(4); /* the view takes two or three */
  CHECK_FAILS(WR_ENOMEM, wr_csr_count_columns_device(&m.A, env, counts.data()));
  (void)simt_memory_end(-1);
  CHECK_OK(wr_csr_count_columns_device(&m.A, env, counts.data()));
  wr_csr_forget_device(&m.A);
  CHECK(wr_device_blocks() == live);
}
#endif

static void test_device(wr_env *env) {
  env->testing->poison = 1;
  test_shapes(env);
  test_places(env);
  test_divide(env);
  test_other_type(env);
#ifdef WR_SIMT
  test_no_memory(env);
#endif
}

int main() {
  test_runs();
  on_device(test_device);
  return wr_test_report("transpose_device");
}
