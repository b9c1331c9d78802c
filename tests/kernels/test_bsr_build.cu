/* The builders of blocks on a device: the same bytes as from the host's builder, and interleaved blocks that decode to the
 * rows, for 32-bit and 64-bit row pointers, values and patterns, short rows and rows that many tasks share. */
#include <string.h>

#include "spmv/blocks/bsr_build.h"
#include "spmv/backends/bsr/bsr_interleaved.h"
#include "spmv/device/device_memory.h"
#include "tests/kernels/on_device.h"
#include "tests/kernels/rows_fixture.h"

static int64_t blocks(int64_t i, int64_t last, int64_t ncols) {
  int64_t j = last + 1;
  while (j < ncols && hash(i / 3, j / 3) % 8 != 0) j += 3 - j % 3;
  return j;
}

static void check_same(const wr_bsr *a, const wr_bsr *b) {
  CHECK(a->nrows == b->nrows && a->ncols == b->ncols && a->nnz == b->nnz && a->type == b->type);
  CHECK(a->brows == b->brows && a->bcols == b->bcols && a->r == b->r && a->c == b->c && a->wide == b->wide);
  CHECKF(a->blocks == b->blocks, "%d x %d: %lld blocks, not %lld", a->r, a->c, (long long)a->blocks,
         (long long)b->blocks);
  if (a->blocks != b->blocks) return;
  size_t values = (size_t)(a->blocks * a->r * a->c * wr_type_bytes(a->type));
  CHECKF(memcmp(a->row_ptr, b->row_ptr, (size_t)(a->brows + 1) * (a->wide ? 8 : 4)) == 0, "%d x %d", a->r, a->c);
  CHECKF(memcmp(a->col, b->col, (size_t)a->blocks * sizeof *a->col) == 0, "%d x %d", a->r, a->c);
  CHECKF(memcmp(a->val, b->val, values) == 0, "%d x %d", a->r, a->c);
}

static void test_build(wr_env *env, const wr_csr *A, const wr_csr_view *view, int r, int c) {
  wr_bsr there, here, expected;
  CHECK_OK(wr_bsr_device_build(env, A->nrows, A->ncols, A->nnz, view, r, c, &there));
  CHECK_OK(wr_bsr_download(env, &there, &here));
  CHECK_OK(wr_bsr_build(A, r, c, env->type, 0, &expected));
  check_same(&here, &expected);
  int64_t padding = wr_bsr_device_bytes(&there) - wr_bsr_bytes(&there);
  CHECKF(0 <= padding && padding <= 3 * 128, "%lld bytes of padding", (long long)padding);
  wr_bsr_free(&here);
  wr_bsr_free(&expected);
  wr_bsr_device_free(env, &there);
  CHECK(there.row_ptr == nullptr && there.col == nullptr && there.val == nullptr);
}

/* ---- Interleaved blocks ---- */

/* Checks the rows that thread blocks share against the starts of rows. */
static void check_sharing(wr_env *env, const wr_bsr_interleaved *b) {
  std::vector<int64_t> start = downloaded<int64_t>(env, b->start, b->brows + 1);
  std::vector<int32_t> origin = downloaded<int32_t>(env, b->origin, b->grid + 1);
  int64_t per = (int64_t)WR_BSR_WARPS * 32 * b->each, most = 0, longest = 0, wrong = 0, row = 0;
  CHECK(start[0] == 0 && start[(size_t)b->brows] == b->blocks);
  for (int64_t t = 0; t < b->grid; t++) {
    int64_t before = row;
    wrong += origin[(size_t)t] != start[(size_t)row] / per;
    if (t - origin[(size_t)t] > longest) longest = t - origin[(size_t)t];
    while (row < b->brows && start[(size_t)row + 1] <= (t + 1) * per) row++;
    if (row - before > most) most = row - before;
  }
  CHECK(wrong == 0 && origin[(size_t)b->grid] == b->grid);
  CHECKF(b->shared_rows == most && b->longest == longest, "%d rows, %d blocks; not %lld, %lld", b->shared_rows,
         b->longest, (long long)most, (long long)longest);
}

/* Checks columns, and values as they are stored: zeros are positive. */
static void check_rows(const wr_csr *A, const wr_csr *B, wr_type type) {
  int64_t wrong = 0;
  CHECK(B->nrows == A->nrows && B->ncols == A->ncols && B->nnz == A->nnz && (B->val == nullptr) == (A->val == nullptr));
  if (B->nnz != A->nnz) return;
  CHECK(memcmp(A->row_ptr, B->row_ptr, (size_t)(A->nrows + 1) * sizeof *A->row_ptr) == 0);
  CHECK(A->nnz == 0 || memcmp(A->col, B->col, (size_t)A->nnz * sizeof *A->col) == 0);
  for (int64_t k = 0; A->val != nullptr && k < A->nnz; k++) {
    double wanted = type == WR_F64 ? A->val[k] : (double)(float)A->val[k];
    wrong += isnan(wanted) ? !isnan(B->val[k]) : B->val[k] != wanted;
    wrong += wanted == 0 && signbit(B->val[k]);
  }
  CHECKF(wrong == 0, "%lld values", (long long)wrong);
}

static void test_pack(wr_env *env, const wr_csr *A, const wr_csr_view *view, int r, int c, int each) {
  wr_bsr_interleaved b;
  wr_bsr shape;
  wr_csr *B = nullptr;
  int64_t blocks;
  if (!wr_bsr_can_pack(r, c, A->ncols)) return;
  CHECK_OK(wr_bsr_pack(env, A, view, r, c, each, 1, &shape, &b));
  CHECK_OK(wr_bsr_count(A, r, c, &blocks));
  CHECKF(shape.blocks == blocks && b.blocks * b.r * b.c == blocks * r * c, "%d x %d: %lld blocks, not %lld", r, c,
         (long long)shape.blocks, (long long)blocks);
  CHECK(shape.row_ptr == nullptr && shape.col == nullptr && shape.val == nullptr);
  if (A->val == nullptr) CHECK(b.stored == WR_F32);
  CHECK_OK(wr_bsr_interleaved_decode(env, &b, A->val == nullptr, &B));
  if (B) check_rows(A, B, env->type);
  check_sharing(env, &b);
  wr_csr_free(B);
  wr_bsr_interleaved_free(env, &b);
}

/* Values that are all exact in f32 are stored in f32; a single inexact one is found at any place. */
static void test_narrow(wr_env *env) {
  CASE("values that are exact in f32");
  matrix m(near, 500, 300, true);
  for (size_t k = 0; k < m.val.size(); k++) m.val[k] = (double)(k % 100) - 50;
  for (int64_t spoilt = -1; spoilt < m.A.nnz; spoilt += m.A.nnz / 7) {
    if (spoilt >= 0) m.val[(size_t)spoilt] += 0x1p-40;
    wr_csr_view view = make_view(env, &m.A, 0);
    for (int narrow = 0; narrow < 2; narrow++) {
      wr_bsr_interleaved b;
      wr_bsr shape;
      CHECK_OK(wr_bsr_pack(env, &m.A, &view, 2, 2, 0, narrow, &shape, &b));
      CHECK((b.stored == WR_F32) == (env->type == WR_F32 || (narrow && spoilt < 0)));
      wr_bsr_interleaved_free(env, &b);
    }
    test_pack(env, &m.A, &view, 2, 2, 0);
    free_view(env, &view);
    if (spoilt >= 0) m.val[(size_t)spoilt] -= 0x1p-40;
  }
}

/* Every second of the sizes that have kernels. */
static void test_packs(wr_env *env, const wr_csr *A, const wr_csr_view *view, int from) {
  static const int sides[][2] = {{1, 1}, {2, 2}, {3, 3}, {4, 4}, {5, 5}, {6, 6}, {8, 8}, {16, 16}, {16, 1}, {1, 16}};
  for (int n = from; n < (int)(sizeof sides / sizeof *sides); n += 2)
    test_pack(env, A, view, sides[n][0], sides[n][1], (n / 2 + from) % 3 * 8);
}

static void test_small(wr_env *env) {
  static const struct {
    const char *name;
    next_column next;
    int64_t nrows, ncols;
  } cases[] = {{"no entries", none, 100, 7},  {"one place", all, 1, 1},     {"dense", all, 37, 50},
               {"diagonal", diagonal, 90, 77}, {"short rows", near, 131, 20}, {"blocks", blocks, 65, 91}};
  for (const auto &c : cases) {
    CASE(c.name);
    for (int with_values = 0; with_values < 2; with_values++) {
      matrix m(c.next, c.nrows, c.ncols, with_values);
      wr_csr_view view = make_view(env, &m.A, with_values == (env->type == WR_F64));
      for (int side = 1; side <= 8; side++)
        for (int other = 1 + (side + with_values) % 2; other <= 8; other += 2)
          test_build(env, &m.A, &view, side, other);
      test_build(env, &m.A, &view, 16, 16);
      test_build(env, &m.A, &view, 16, 1);
      test_build(env, &m.A, &view, 1, 16);
      test_build(env, &m.A, &view, 11, 13);
      test_packs(env, &m.A, &view, 0);
      test_packs(env, &m.A, &view, 1);
      free_view(env, &view);
    }
  }
}

/* Block rows with more entries than a task has; their rows have the same columns, or different ones. */
static void test_large(wr_env *env) {
  static const int sides[][2] = {{1, 1}, {1, 16}, {2, 3}, {3, 3}, {5, 2}, {16, 1}, {16, 16}};
  constexpr int SIDES = sizeof sides / sizeof *sides;
  static const struct {
    const char *name;
    next_column next;
    int64_t nrows, ncols;
  } cases[] = {{"one block row holds everything", one_block_row, 50, 901}, {"long rows", near, 20, 4000},
               {"rows that do not overlap", stairs, 13, 20000},           {"long dense rows", all, 18, 3000},
               {"empty block rows", gaps, 130, 200},                      {"columns far apart", far, 12, 600000},
               {"the last columns", last_columns, 40, WR_MAX_INDEX},      {"many short rows", near, 2000, 9}};
  for (const auto &c : cases) {
    CASE(c.name);
    matrix m(c.next, c.nrows, c.ncols, true);
    for (int wide = 0; wide < 2; wide++) {
      wr_csr_view view = make_view(env, &m.A, wide);
      for (int n = wide == (env->type == WR_F64); n < SIDES; n += 2)
        test_build(env, &m.A, &view, sides[n][0], sides[n][1]);
      test_packs(env, &m.A, &view, wide);
      free_view(env, &view);
    }
  }
}

static void test_refusals(wr_env *env) {
  CASE("refusals");
  wr_csr_view view = {};
  wr_bsr b;
  memset((void *)&b, 1, sizeof b);
  CHECK_FAILS(WR_EUSAGE, wr_bsr_device_build(env, 6, 6, 10, &view, 17, 1, &b));
  CHECK(b.row_ptr == nullptr && b.col == nullptr && b.val == nullptr);
  CHECK_FAILS(WR_EUSAGE, wr_bsr_device_build(env, WR_MAX_INDEX, WR_MAX_INDEX, (int64_t)1 << 31, &view, 2, 2, &b));
  CHECK(b.row_ptr == nullptr && b.col == nullptr && b.val == nullptr);
  view.wide = 1;
  CHECK_FAILS(WR_EUNAVAILABLE,
              wr_bsr_device_build(env, WR_MAX_INDEX, WR_MAX_INDEX, WR_BSR_MAX_VALUES, &view, 2, 2, &b));
  CHECK_FAILS(WR_ENOMEM, wr_bsr_device_build(env, WR_MAX_INDEX, WR_MAX_INDEX, WR_BSR_MAX_VALUES, &view, 1, 1, &b));
  CHECK(b.row_ptr == nullptr && b.col == nullptr && b.val == nullptr);
}

static void test_device(wr_env *env) {
  test_small(env);
  test_large(env);
  test_narrow(env);
  test_refusals(env);
}

int main(void) {
  on_device(test_device);
  return wr_test_report("bsr_build");
}
