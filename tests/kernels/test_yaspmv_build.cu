/* The builder of BCCOO on a device: the same bytes as from the host's builder for every block size, slices, 16-bit and 32-bit
 * columns and both kinds of differences, 32-bit and 64-bit row pointers, values and patterns; rows that end exactly where a
 * lane or a thread block does, differences of -1 and at the window's edges. */
#include <string.h>

#include "spmv/device/device_memory.h"
#include "tests/kernels/on_device.h"
#include "tests/kernels/rows_fixture.h"
#include "tests/spmv/yaspmv_host.h"

template <typename T>
static void check_array(const char *name, const T *a, const T *b, int64_t bytes) {
  CHECKF((a == nullptr) == (b == nullptr), "%s: only one builder has made it", name);
  if (a && b) CHECKF(memcmp(a, b, (size_t)bytes) == 0, "%s differs", name);
}

static void check_same(const wr_bccoo *a, const wr_bccoo *b) {
  int64_t warps = wr_bccoo_warps(b), lanes = warps * 32, places = lanes * b->tile;
  CHECK(a->blocks == b->blocks && a->brows == b->brows && a->empty == b->empty && a->grid == b->grid);
  CHECK(a->slices == b->slices && a->shared_rows == b->shared_rows && a->all_rows == b->all_rows);
  CHECKF(a->columns == b->columns && a->low == b->low && a->escapes == b->escapes,
         "columns %d from %d with %lld escapes, not %d from %d with %lld", a->columns, a->low, (long long)a->escapes,
         b->columns, b->low, (long long)b->escapes);
  if (a->blocks != b->blocks || a->columns != b->columns || a->escapes != b->escapes || a->brows != b->brows) return;
  check_array("val", (char *)a->val, (char *)b->val, places * b->r * b->c * wr_type_bytes(b->type));
  check_array("code", (char *)a->code, (char *)b->code, places * (b->columns == WR_BCCOO_WIDE ? 4 : 2));
  check_array("flag", (char *)a->flag, (char *)b->flag,
              lanes * wr_bccoo_flag_words(b->tile) * wr_bccoo_flag_bytes(b->tile));
  check_array("entry", a->entry, b->entry, lanes * 2);
  check_array("first", a->first, b->first, (b->grid + 1) * 4);
  check_array("base", a->base, b->base, lanes * 4);
  check_array("escape_from", a->escape_from, b->escape_from, (warps + 1) * 8);
  if (b->escapes > 0) check_array("escaped", a->escaped, b->escaped, b->escapes * 4);
  check_array("full", a->full, b->full, places * 4);
  check_array("row", a->row, b->row, b->brows * 4);
  check_array("empty_row", a->empty_row, b->empty_row, b->empty * 4);
}

/* Builds in both ways, compares, decodes; returns the escapes. */
static int64_t test_build(wr_env *env, const wr_csr *A, const wr_csr_view *view, const wr_bccoo_options *o) {
  wr_bccoo there, here, expected;
  wr_csr *decoded = nullptr;
  CHECK_OK(wr_bccoo_device_build(env, A->nrows, A->ncols, A->nnz, view, o, &there));
  CHECK_OK(wr_bccoo_download(env, &there, &here));
  bccoo_on_host(A, o, env->type, &expected);
  check_same(&here, &expected);
  CHECK_OK(wr_bccoo_decode(&here, A->val == nullptr, &decoded));
  if (decoded) CHECK(decoded->nnz == A->nnz && (A->nnz == 0 || wr_csr_same_pattern(A, decoded)));
  int64_t escapes = expected.escapes, bytes = wr_bccoo_device_bytes(&there);
  CHECK(bytes >= wr_bccoo_bytes(&here));
  wr_csr_free(decoded);
  wr_bccoo_free(&here);
  wr_bccoo_free(&expected);
  wr_bccoo_device_free(env, &there);
  CHECK(there.val == nullptr && there.code == nullptr && there.first == nullptr);
  return escapes;
}

static const wr_bccoo_compress ways[] = {WR_BCCOO_AUTO, WR_BCCOO_NEVER, WR_BCCOO_ALWAYS, WR_BCCOO_AS_PAPER};

/* A few of all combinations, each value of each option with several of the others. */
static void test_choices(wr_env *env, const wr_csr *A, const wr_csr_view *view) {
  static const int tiles[] = {1, 3, 8, 12, 16, 24, 40, 128}, slices[] = {1, 2, 32};
  int n = 0;
  for (int r = 1; r <= WR_BCCOO_MAX_R; r++)
    for (int c = 1; c <= WR_BCCOO_MAX_C && c <= A->ncols; c++, n++) {
      wr_bccoo_options o = {r, c, tiles[n % 8], n % 3 ? 64 : 128, slices[n % 3], ways[n % 4], 0};
      test_build(env, A, view, &o);
      o.compress = ways[(n + 2) % 4], o.slices = 1, o.tile = tiles[(n + 3) % 8];
      test_build(env, A, view, &o);
    }
}

/* Rows of four entries, so that rows end exactly where a lane of 4 or 8, or a thread block, does. */
static int64_t fours(int64_t i, int64_t last, int64_t ncols) {
  return last < 0 ? i % 3 : last - i % 3 < 9 ? last + 3 : ncols;
}
/* Each row has one entry, left of the row's before it. */
static int64_t backwards(int64_t i, int64_t last, int64_t ncols) { return last < 0 ? ncols - 1 - i : ncols; }
/* Rows with one entry far to the right. */
static int64_t one_far(int64_t i, int64_t last, int64_t ncols) {
  return last < 0 ? i : last == i ? ncols - 1 - i % 7 : ncols;
}

static const struct {
  const char *name;
  next_column next;
  int64_t nrows, ncols;
} cases[] = {{"no entries", none, 100, 7},
             {"one place", all, 1, 1},
             {"dense", all, 37, 50},
             {"diagonal", diagonal, 90, 77},
             {"short rows", near, 131, 20},
             {"one row over several thread blocks", all, 2, 5000},
             {"rows that end where lanes do", fours, 300, 40},
             {"differences of -1", backwards, 300, 300},
             {"empty rows", gaps, 130, 200},
             {"columns far apart", far, 12, 600000},
             {"both ends", one_far, 150, 300000},
             {"the last columns", last_columns, 40, WR_MAX_INDEX}};

static void test_cases(wr_env *env) {
  for (const auto &c : cases) {
    CASE(c.name);
    bool with_values = (&c - cases) % 2 == (env->type == WR_F64);
    matrix m(c.next, c.nrows, c.ncols, with_values);
    wr_csr_view view = make_view(env, &m.A, with_values);
    test_choices(env, &m.A, &view);
    free_view(env, &view);
  }
}

/* Rows of two entries, 65527 apart in most of them, so that the window, whose edges are multiples of 8 for this width, begins
 * at 0. Two rows a lane. */
static void test_edges(wr_env *env) {
  CASE("the window's edges");
  std::vector<int64_t> row_ptr(1);
  std::vector<int32_t> col;
  auto add = [&](int32_t first, int32_t distance) {
    col.push_back(first), col.push_back(first + distance);
    row_ptr.push_back((int64_t)col.size());
  };
  for (int i = 0; i < 20; i++) add(5, 65527);
  add(5, 65533), add(5, 65534);
  add(5, 65535), add(5, 65536); /* these escape */
  add(5, 65527), add(4, 65527); /* so does -1 behind the end of a row */
  wr_csr A = {};
  A.nrows = (int64_t)row_ptr.size() - 1, A.ncols = 200000, A.nnz = (int64_t)col.size();
  A.row_ptr = row_ptr.data(), A.col = col.data();
  wr_csr_view view = make_view(env, &A, 0);
  wr_bccoo_options o = {1, 1, 4, 64, 1, WR_BCCOO_ALWAYS, 0};
  int64_t escapes = test_build(env, &A, &view, &o);
  CHECKF(escapes == 3, "%lld escapes", (long long)escapes);
  free_view(env, &view);
}

static void test_window(wr_env *) {
  CASE("windows");
  std::vector<uint32_t> histogram(65536);
  CHECK(wr_bccoo_window(histogram.data(), 65536, 16, 1 << 30) == -32768); /* buckets wider than a window */
  int64_t limit = 30000; /* 0 is bucket 30000; every window of 65535 that contains it has all differences */
  CHECK(wr_bccoo_window(histogram.data(), 2 * limit + 1, 0, limit) == -65534);
  histogram.assign(200001, 0);
  limit = 100000, histogram[100000 - 7] = 3, histogram[100000 + 65527] = 3, histogram[100000 + 65528] = 5;
  CHECK(wr_bccoo_window(histogram.data(), 200001, 0, limit) == -6); /* 65528 and 65527, but not -7 */
  histogram[100000 + 65528] = 0;
  CHECK(wr_bccoo_window(histogram.data(), 200001, 0, limit) == -7); /* both edges */
}

static void test_refusals(wr_env *env) {
  CASE("refusals");
  wr_csr_view view = {};
  const wr_bccoo_options good = {1, 1, 8, 128, 1, WR_BCCOO_AUTO, 0};
  const wr_bccoo_options bad[] = {{0, 1, 8, 128, 1, WR_BCCOO_AUTO, 0}, {1, 5, 8, 128, 1, WR_BCCOO_AUTO, 0},
                                  {1, 1, 0, 128, 1, WR_BCCOO_AUTO, 0}, {1, 1, 129, 128, 1, WR_BCCOO_AUTO, 0},
                                  {1, 1, 8, 96, 1, WR_BCCOO_AUTO, 0},  {1, 1, 8, 128, 33, WR_BCCOO_AUTO, 0}};
  wr_bccoo b;
  for (const wr_bccoo_options &o : bad) {
    CHECK_FAILS(WR_EUSAGE, wr_bccoo_device_build(env, 6, 6, 10, &view, &o, &b));
    CHECK(b.val == nullptr && b.code == nullptr);
  }
  wr_bccoo_options wide = good;
  wide.c = 4;
  CHECK_FAILS(WR_EUSAGE, wr_bccoo_device_build(env, 6, 3, 10, &view, &wide, &b));
  CHECK_FAILS(WR_EUSAGE, wr_bccoo_device_build(env, WR_MAX_INDEX, 6, (int64_t)1 << 31, &view, &good, &b));
  wide.c = 1, wide.slices = 2;
  CHECK_FAILS(WR_EUNAVAILABLE, wr_bccoo_device_build(env, WR_MAX_INDEX, 6, 10, &view, &wide, &b));
}

static void test_device(wr_env *env) {
  test_cases(env);
  test_edges(env);
  test_window(env);
  test_refusals(env);
}

int main(void) {
  on_device(test_device);
  return wr_test_report("yaspmv_build");
}
