/* The builder of blocks of 16 x 16 on a device: the bytes that the host's builder makes, for 32-bit and 64-bit row pointers,
 * values and patterns, every choice on and off, short rows and block rows that many tasks share. */
#include <string.h>

#include <vector>

#include "spmv/cb_spmv/cb_spmv_build.h"
#include "spmv/device/device_memory.h"
#include "tests/kernels/on_device.h"

static uint64_t hash(int64_t i, int64_t j) {
  uint64_t z = ((uint64_t)i * 1000003 + (uint64_t)j + 1) * UINT64_C(0x9e3779b97f4a7c15);
  return (z ^ z >> 31) * UINT64_C(0xbf58476d1ce4e5b9) >> 20;
}

/* Zeros of both signs, what becomes one in f32, and what is no number are among them. */
static double value_at(int64_t i, int64_t j) {
  static const double odd[] = {0.0, -0.0, 1e-300, -1e-300, INFINITY, -INFINITY, NAN, -1e-40};
  uint64_t h = hash(j, i + 5);
  return h % 8 == 0 ? odd[h / 8 % 8] : (double)(h >> 8) / 1e9 - 4;
}

/* The column after `last` in row i, which begins with last = -1; ncols or more: there is none. */
typedef int64_t (*next_column)(int64_t i, int64_t last, int64_t ncols);

static int64_t none(int64_t, int64_t, int64_t ncols) { return ncols; }
static int64_t all(int64_t, int64_t last, int64_t) { return last + 1; }
static int64_t diagonal(int64_t i, int64_t last, int64_t ncols) { return last < 0 ? i % ncols : ncols; }
static int64_t near(int64_t i, int64_t last, int64_t) { return last + 1 + (int64_t)(hash(i, last) % 9); }
static int64_t far(int64_t i, int64_t last, int64_t) { return last + 1 + (int64_t)(hash(i, last) % 3000); }
static int64_t gaps(int64_t i, int64_t last, int64_t ncols) { return i / 40 % 2 ? near(i, last, ncols) : ncols; }
/* Blocks of exactly so many entries, in any order of places. */
static int64_t filled(int64_t i, int64_t last, int64_t ncols) {
  static const int fills[] = {1, 8, 31, 32, 33, 127, 128, 129, 239, 240, 255, 256, 0, 16, 64, 2, 200, 100};
  int64_t j = last + 1;
  while (j < ncols && (i % 16 * 16 + j % 16) * 77 % 256 >= fills[(i / 16 * 5 + j / 16) % 18]) j++;
  return j;
}
/* Rows of a block row in the same columns: full blocks, once aggregated. */
static int64_t alike(int64_t i, int64_t last, int64_t) { return last + 1 + (int64_t)(hash(i / 16, last) % 9); }
static int64_t one_block_row(int64_t i, int64_t last, int64_t ncols) {
  return i / 16 == 1 ? last + 1 + (int64_t)(hash(i, last) % 3) : ncols;
}
/* Rows of one block row that have nothing to do with each other: one begins where the one before it ends, and is longer. */
static int64_t stairs(int64_t i, int64_t last, int64_t ncols) {
  int64_t end = (i + 1) * (i + 2) * 60;
  return last < 0 ? i * (i + 1) * 60 : last + 1 < end ? last + 1 : ncols;
}
static int64_t last_columns(int64_t, int64_t last, int64_t ncols) { return last < ncols - 20 ? ncols - 20 : last + 1; }

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

/* A view of our own: wide where wr_csr_device_view would have none. */
static wr_csr_view make_view(wr_env *env, const wr_csr *A, int wide) {
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

static void free_view(wr_env *env, wr_csr_view *view) {
  wr_device_free(env->device, (void *)view->row_ptr);
  wr_device_free(env->device, (void *)view->col);
  wr_device_free(env->device, (void *)view->val);
}

static bool same(const void *a, const void *b, int64_t count, int64_t size) {
  return memcmp(a, b, (size_t)(count * size)) == 0;
}

static void check_same(const wr_cb_format *a, const wr_cb_format *b) {
  int64_t position = a->wide ? 8 : 4;
  CHECK(a->nrows == b->nrows && a->ncols == b->ncols && a->nnz == b->nnz && a->type == b->type);
  CHECK(a->brows == b->brows && a->bcols == b->bcols && a->wide == b->wide && a->lists == b->lists);
  CHECK(a->aggregated == b->aggregated && a->balanced == b->balanced);
  CHECK(a->plain.blocks == b->plain.blocks && a->plain.super_sparse == b->plain.super_sparse);
  CHECK(a->plain.heavy == b->plain.heavy);
  CHECKF(a->blocks == b->blocks && a->units == b->units, "%lld blocks of %lld units, not %lld of %lld",
         (long long)a->blocks, (long long)a->units, (long long)b->blocks, (long long)b->units);
  if (a->blocks != b->blocks || a->units != b->units || a->lists != b->lists || a->wide != b->wide) return;
  CHECK(same(a->block, b->block, a->blocks, 8));
  CHECK(same(a->offset, b->offset, a->blocks + 1, position));
  CHECK(same(a->restore_cols, b->restore_cols, a->aggregated ? a->blocks : 0, 64));
  CHECK(same(a->list_block, b->list_block, a->lists + 1, position));
  CHECK(same(a->list_row, b->list_row, a->lists + 1, 4));
  CHECK(same(a->data, b->data, a->units, 16));
}

static void test_build(wr_env *env, const wr_csr *A, const wr_csr_view *view, const wr_cb_options *options) {
  wr_cb_format there, here, expected;
  CHECK_OK(wr_cb_device_build(env, A->nrows, A->ncols, A->nnz, view, options, &there));
  CHECK_OK(wr_cb_download(env, &there, &here));
  CHECK_OK(wr_cb_build(A, options, env->type, &expected));
  check_same(&here, &expected);
  int64_t padding = wr_cb_device_bytes(&there) - wr_cb_bytes(&there);
  CHECKF(0 <= padding && padding <= 6 * 128, "%lld bytes of padding", (long long)padding);
  wr_cb_free(&here);
  wr_cb_free(&expected);
  wr_cb_device_free(env->device, &there);
  CHECK(there.memory == nullptr && there.block == nullptr && there.data == nullptr);
}

static void test_choices(wr_env *env, const wr_csr *A, const wr_csr_view *view) {
  wr_cb_options o = wr_cb_defaults();
  test_build(env, A, view, &o);
  o.th1 = 33, o.th2 = 240;
  test_build(env, A, view, &o);
  for (int bits = 0; bits < 8; bits++) {
    o = wr_cb_defaults();
    o.aggregate = bits & 1 ? WR_CB_ALWAYS : WR_CB_NEVER;
    o.formats = bits >> 1 & 1, o.balance = bits >> 2 & 1, o.wide = (bits ^ bits >> 1) & 1;
    o.list_bytes = 256 << bits % 3 * 2;
    test_build(env, A, view, &o);
  }
}

static const struct {
  const char *name;
  next_column next;
  int64_t nrows, ncols;
} cases[] = {{"no entries", none, 100, 7},
             {"one place", all, 1, 1},
             {"every fill", filled, 80, 288},
             {"every fill, cut", filled, 75, 281},
             {"dense", all, 37, 50},
             {"diagonal", diagonal, 90, 77},
             {"short rows", near, 131, 20},
             {"full when aggregated", alike, 64, 700},
             {"one block row holds everything", one_block_row, 50, 901},
             {"long rows", near, 20, 4000},
             {"rows that do not overlap", stairs, 13, 20000},
             {"long dense rows", all, 3, 2500},
             {"long rows alike", alike, 16, 6000},
             {"empty block rows", gaps, 130, 200},
             {"columns far apart", far, 12, 600000},
             {"the last columns", last_columns, 40, WR_MAX_INDEX},
             {"many short rows", near, 2000, 9}};

static void test_cases(wr_env *env) {
  for (const auto &c : cases) {
    CASE(c.name);
    for (int with_values = 0; with_values < 2; with_values++) {
      matrix m(c.next, c.nrows, c.ncols, with_values);
      wr_csr_view view = make_view(env, &m.A, with_values == (env->type == WR_F64));
      test_choices(env, &m.A, &view);
      free_view(env, &view);
    }
  }
}

static void test_refusals(wr_env *env) {
  CASE("refusals");
  const int64_t large = WR_MAX_INDEX;
  wr_csr_view view = {};
  wr_cb_options o = wr_cb_defaults();
  wr_cb_format f;
  memset((void *)&f, 1, sizeof f);
  o.th1 = 0;
  CHECK_FAILS(WR_EUSAGE, wr_cb_device_build(env, 6, 6, 10, &view, &o, &f));
  CHECK(f.memory == nullptr && f.block == nullptr && f.data == nullptr);
  o.th1 = 32;
  CHECK_FAILS(WR_EUSAGE, wr_cb_device_build(env, large, large, (int64_t)1 << 31, &view, &o, &f));
  CHECK(f.memory == nullptr && f.block == nullptr && f.data == nullptr);
  view.wide = 1;
  CHECK_FAILS(WR_EUNAVAILABLE, wr_cb_device_build(env, large, large, WR_CB_MAX_NNZ + 1, &view, &o, &f));
  CHECK_FAILS(WR_ENOMEM, wr_cb_device_build(env, large, large, WR_CB_MAX_NNZ, &view, &o, &f));
  CHECK(f.memory == nullptr && f.block == nullptr && f.data == nullptr);
}

static void test_device(wr_env *env) {
  test_cases(env);
  test_refusals(env);
}

int main(void) {
  on_device(test_device);
  return wr_test_report("cb_spmv_build");
}
