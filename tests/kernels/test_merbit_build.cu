/* MERBIT's builder on a device makes the same bytes as the host's, for 32-bit and 64-bit row pointers and words. */
#include <string.h>

#include <vector>

#include "spmv/device/device_memory.h"
#include "tests/kernels/on_device.h"
#include "tests/spmv/merbit_host.h"

static const int sigmas[] = {1, 2, 7, 13, 14, 21, 22, 23, WR_MERBIT_MAX_SIGMA};

typedef int64_t (*row_length)(int64_t i, int64_t nrows);

static int64_t empty(int64_t, int64_t) { return 0; }
static int64_t giant(int64_t i, int64_t nrows) { return i == nrows / 2 ? 20000 : i % 4 == 1; }
static int64_t empty_ends(int64_t i, int64_t nrows) { return i < nrows / 3 || i > nrows / 2 ? 0 : 1 + i % 5; }
static int64_t few(int64_t i, int64_t) { return i % 3; }
static int64_t mixed(int64_t i, int64_t) {
  uint64_t hash = ((uint64_t)i + 1) * 0x9E3779B97F4A7C15u;
  return (int64_t)(hash >> 40) % (hash >> 61 == 0 ? 900 : hash >> 61 < 4 ? 2 : 12);
}

/* Rows without columns, as a builder reads only row_ptr. */
struct rows {
  std::vector<int64_t> row_ptr;
  wr_csr A = {};
  rows(row_length length, int64_t nrows) : row_ptr((size_t)nrows + 1) {
    for (int64_t i = 0; i < nrows; i++) row_ptr[(size_t)i + 1] = row_ptr[(size_t)i] + length(i, nrows);
    A.nrows = nrows, A.ncols = WR_MAX_INDEX, A.nnz = row_ptr[(size_t)nrows], A.row_ptr = row_ptr.data();
  }
};

static wr_csr_view make_view(wr_env *env, const wr_csr *A, int wide) {
  wr_csr_view view = {};
  void *row_ptr = nullptr;
  CHECK_OK(wr_device_alloc(env, &row_ptr, A->nrows + 1, wide ? 8 : 4, "row pointers"));
  CHECK_OK(wr_device_upload(env, row_ptr, A->row_ptr, A->nrows + 1, wide ? WR_AS_8_BYTES : WR_I64_AS_I32));
  view.wide = wide, view.row_ptr = row_ptr;
  return view;
}

static void check_same(const wr_merbit_format *a, const wr_merbit_format *b) {
  CHECK(a->nrows == b->nrows && a->ncols == b->ncols && a->nnz == b->nnz);
  CHECK(a->tiles == b->tiles && a->sigma == b->sigma && a->wide == b->wide);
  size_t words = (size_t)(a->tiles * WR_MERBIT_LANES * wr_merbit_lane_bytes(a->sigma));
  CHECKF(memcmp(a->tile_x, b->tile_x, (size_t)(a->tiles + 1) * (a->wide ? 8 : 4)) == 0, "sigma %d", a->sigma);
  CHECKF(memcmp(a->tile_y, b->tile_y, (size_t)(a->tiles + 1) * sizeof *a->tile_y) == 0, "sigma %d", a->sigma);
  CHECKF(memcmp(a->lane, b->lane, words) == 0, "sigma %d", a->sigma);
}

/* *format := the format in an allocation of its own; without arrays after a failure. */
static wr_status build_there(wr_env *env, int64_t nrows, int64_t ncols, int64_t nnz, const wr_csr_view *view, int sigma,
                             wr_merbit_format *format) {
  wr_status status;
  void *memory = nullptr;
  *format = {};
  TRY(wr_merbit_check(nrows, ncols, nnz, sigma, view->wide));
  *format = wr_merbit_shape(nrows, ncols, nnz, sigma);
  format->wide = view->wide != 0;
  TRY(wr_device_alloc(env, &memory, wr_merbit_device_bytes(format), 1, "tiles"));
  wr_merbit_device_place(format, memory);
  TRY(wr_merbit_device_fill(env, format, view));
done:
  if (status != WR_OK) wr_merbit_device_free(env, format);
  return status;
}

static void test_build(wr_env *env, const rows *rows, int sigma, int wide) {
  wr_csr_view view = make_view(env, &rows->A, wide);
  wr_merbit_format there, here, expected;
  std::vector<int64_t> row_ptr(rows->row_ptr.size());
  CHECK_OK(build_there(env, rows->A.nrows, rows->A.ncols, rows->A.nnz, &view, sigma, &there));
  CHECK_OK(wr_merbit_download(env, &there, &here));
  build_on_host(&rows->A, sigma, wide, &expected);
  check_same(&here, &expected);
  CHECK_OK(wr_merbit_decode_rows(&here, row_ptr.data()));
  CHECK(row_ptr == rows->row_ptr);
  int64_t padding = wr_merbit_device_bytes(&there) - wr_merbit_bytes(&there);
  CHECKF(0 <= padding && padding < 3 * 128, "%lld bytes of padding", (long long)padding);
  wr_merbit_free(&here);
  wr_merbit_free(&expected);
  wr_merbit_device_free(env, &there);
  CHECK(there.tile_x == nullptr && there.tile_y == nullptr && there.lane == nullptr);
  wr_device_free(env, (void *)view.row_ptr);
}

static void test_all(wr_env *env) {
  static const struct {
    const char *name;
    row_length length;
    int64_t nrows;
  } cases[] = {{"one row without entries", empty, 1},  {"empty rows", empty, 1000},
               {"a single giant row", giant, 1},       {"a giant row among short ones", giant, 300},
               {"empty rows first and last", empty_ends, 999}, {"mixed", mixed, 700}};
  for (const auto &c : cases) {
    CASE(c.name);
    rows rows(c.length, c.nrows);
    for (int sigma : sigmas)
      for (int wide = 0; wide < 2; wide++) test_build(env, &rows, sigma, wide);
  }
  CASE("more tiles than warps");
  rows many(few, 150000);
  test_build(env, &many, 1, 0);
}

static void test_refusals(wr_env *env) {
  CASE("refusals");
  wr_csr_view view = {};
  wr_merbit_format f;
  CHECK_FAILS(WR_EUSAGE, build_there(env, 6, 6, 10, &view, WR_MERBIT_MAX_SIGMA + 1, &f));
  CHECK(f.tile_x == nullptr && f.tile_y == nullptr && f.lane == nullptr);
  CHECK_FAILS(WR_EUNAVAILABLE, build_there(env, 6, 6, (int64_t)1 << 31, &view, 14, &f));
  CHECK(f.tile_x == nullptr && f.tile_y == nullptr && f.lane == nullptr);
  view.wide = 1;
  CHECK_FAILS(WR_ENOMEM, build_there(env, 6, 6, WR_MERBIT_MAX_NNZ, &view, 14, &f));
  CHECK(f.tile_x == nullptr && f.tile_y == nullptr && f.lane == nullptr);
}

static void test_device(wr_env *env) {
  test_all(env);
  test_refusals(env);
}

int main(void) {
  on_device(test_device);
  return wr_test_report("merbit_build");
}
