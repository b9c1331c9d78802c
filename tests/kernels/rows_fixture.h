/* Matrices given by a rule for their columns, and their views on a device, for the tests of builders. */
#ifndef WR_TEST_ROWS_FIXTURE_H
#define WR_TEST_ROWS_FIXTURE_H

#include <vector>

#include "spmv/device/device_memory.h"
#include "spmv/matrix/csr.h"
#include "tests/kernels/on_device.h"

static inline uint64_t hash(int64_t i, int64_t j) {
  uint64_t z = ((uint64_t)i * 1000003 + (uint64_t)j + 1) * UINT64_C(0x9e3779b97f4a7c15);
  return (z ^ z >> 31) * UINT64_C(0xbf58476d1ce4e5b9) >> 20;
}

/* Includes zeros of both signs, a value that becomes zero in f32, and NaN and infinity. */
static inline double value_at(int64_t i, int64_t j) {
  static const double odd[] = {0.0, -0.0, 1e-300, -1e-300, INFINITY, -INFINITY, NAN, -1e-40};
  uint64_t h = hash(j, i + 5);
  return h % 8 == 0 ? odd[h / 8 % 8] : (double)(h >> 8) / 1e9 - 4;
}

/* The column after `last` in row i (-1: before the first); ncols or more: none. */
typedef int64_t (*next_column)(int64_t i, int64_t last, int64_t ncols);

static inline int64_t none(int64_t, int64_t, int64_t ncols) { return ncols; }
static inline int64_t all(int64_t, int64_t last, int64_t) { return last + 1; }
static inline int64_t diagonal(int64_t i, int64_t last, int64_t ncols) { return last < 0 ? i % ncols : ncols; }
static inline int64_t near(int64_t i, int64_t last, int64_t) { return last + 1 + (int64_t)(hash(i, last) % 9); }
static inline int64_t far(int64_t i, int64_t last, int64_t) { return last + 1 + (int64_t)(hash(i, last) % 3000); }
static inline int64_t gaps(int64_t i, int64_t last, int64_t ncols) { return i / 40 % 2 ? near(i, last, ncols) : ncols; }
static inline int64_t one_block_row(int64_t i, int64_t last, int64_t ncols) {
  return i / 16 == 1 ? last + 1 + (int64_t)(hash(i, last) % 3) : ncols;
}
/* Rows of one block row that share no columns: each begins where the one before it ends, and is longer. */
static inline int64_t stairs(int64_t i, int64_t last, int64_t ncols) {
  int64_t end = (i + 1) * (i + 2) * 60;
  return last < 0 ? i * (i + 1) * 60 : last + 1 < end ? last + 1 : ncols;
}
static inline int64_t last_columns(int64_t, int64_t last, int64_t ncols) {
  return last < ncols - 20 ? ncols - 20 : last + 1;
}

struct matrix {
  std::vector<int64_t> row_ptr;
  std::vector<int32_t> col;
  std::vector<double> val;
  wr_csr A = {};
  matrix(next_column next, int64_t nrows, int64_t ncols, bool with_values) : row_ptr(1) {
    for (int64_t i = 0; i < nrows; i++) {
      for (int64_t j = next(i, -1, ncols); j < ncols; j = next(i, j, ncols)) {
        col.push_back((int32_t)j);
        val.push_back(value_at(i, j));
      }
      row_ptr.push_back((int64_t)col.size());
    }
    A.nrows = nrows, A.ncols = ncols, A.nnz = (int64_t)col.size();
    A.row_ptr = row_ptr.data(), A.col = col.data(), A.val = with_values ? val.data() : nullptr;
  }
};

/* A view made by the test: wide even where wr_csr_device_view would make a narrow one. */
/* count elements of 4 or 8 bytes from the device. */
template <typename T>
static std::vector<T> downloaded(wr_env *env, const void *from, int64_t count) {
  std::vector<T> to((size_t)count);
  CHECK_OK(wr_device_download(env, to.data(), from, count, sizeof(T) == 8 ? WR_AS_8_BYTES : WR_AS_4_BYTES));
  return to;
}

static inline wr_csr_view make_view(wr_env *env, const wr_csr *A, int wide) {
  wr_csr_view view = {};
  void *row_ptr = nullptr, *val = nullptr;
  int32_t *col = nullptr;
  bool f64 = env->type == WR_F64;
  CHECK_OK(wr_device_alloc(env, &row_ptr, A->nrows + 1, wide ? 8 : 4, "row pointers"));
  CHECK_OK(wr_device_alloc(env, &col, A->nnz, sizeof *col, "columns"));
  CHECK_OK(wr_device_upload(env, row_ptr, A->row_ptr, A->nrows + 1, wide ? WR_AS_8_BYTES : WR_I64_AS_I32));
  CHECK_OK(wr_device_upload(env, col, A->col, A->nnz, WR_AS_4_BYTES));
  if (A->val) CHECK_OK(wr_device_alloc(env, &val, A->nnz, f64 ? 8 : 4, "values"));
  if (A->val) CHECK_OK(wr_device_upload(env, val, A->val, A->nnz, f64 ? WR_AS_8_BYTES : WR_F64_AS_F32));
  view.wide = wide, view.row_ptr = row_ptr, view.col = col, view.val = val;
  return view;
}

static inline void free_view(wr_env *env, wr_csr_view *view) {
  wr_device_free(env, (void *)view->row_ptr);
  wr_device_free(env, (void *)view->col);
  wr_device_free(env, (void *)view->val);
}

#endif
