/* The builder of blocks of 16 x 16 on a device: the same bytes as from the host's builder, for 32-bit and 64-bit row
 * pointers, values and patterns, each option on and off, short rows and block rows that many tasks share. */
#include <string.h>

#include "spmv/device/device_memory.h"
#include "tests/kernels/on_device.h"
#include "tests/kernels/rows_fixture.h"
#include "tests/spmv/cb_spmv_host.h"

/* Blocks with given numbers of entries, at pseudo-random places. */
static int64_t filled(int64_t i, int64_t last, int64_t ncols) {
  static const int fills[] = {1, 8, 31, 32, 33, 127, 128, 129, 239, 240, 255, 256, 0, 16, 64, 2, 200, 100};
  int64_t j = last + 1;
  while (j < ncols && (i % 16 * 16 + j % 16) * 77 % 256 >= fills[(i / 16 * 5 + j / 16) % 18]) j++;
  return j;
}
/* Block rows of rows with the same columns: full blocks after aggregation. */
static int64_t alike(int64_t i, int64_t last, int64_t) { return last + 1 + (int64_t)(hash(i / 16, last) % 9); }

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
  build_on_host(A, options, env->type, &expected);
  check_same(&here, &expected);
  int64_t padding = wr_cb_device_bytes(&there) - wr_cb_bytes(&there);
  CHECKF(0 <= padding && padding <= 6 * 128, "%lld bytes of padding", (long long)padding);
  wr_cb_free(&here);
  wr_cb_free(&expected);
  wr_cb_device_free(env, &there);
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
    if (bits % 3) o.th1 = 0;
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
  o.th1 = -1;
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
