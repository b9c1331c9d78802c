/* Blocks of 16 x 16 (cb_spmv_format.h): the builder of the tests, with which that on a device is compared, against a matrix
 * that is written down place by place, and its lists against a walk along the path; the way back. */
#include <stdlib.h>

#include "tests/spmv/cb_spmv_host.h"

/* ---- Matrices, place by place ---- */

static uint64_t hash(int64_t i, int64_t j) {
  uint64_t z = ((uint64_t)i * 1000003 + (uint64_t)j + 1) * UINT64_C(0x9e3779b97f4a7c15);
  return (z ^ z >> 31) * UINT64_C(0xbf58476d1ce4e5b9) >> 20;
}

/* Blocks with so many entries, in any order of places, for 18 blocks in turn: all three types in a block row. */
static const int fills[] = {1, 8, 31, 32, 33, 127, 128, 129, 239, 240, 255, 256, 0, 16, 64, 2, 200, 100};

static int filled(int64_t i, int64_t j) {
  return (int)(i % 16 * 16 + j % 16) * 77 % 256 < fills[(i / 16 * 5 + j / 16) % 18];
}
static int empty(int64_t i, int64_t j) { return (void)i, (void)j, 0; }
static int dense(int64_t i, int64_t j) { return (void)i, (void)j, 1; }
static int diagonal(int64_t i, int64_t j) { return i == j; }
static int scattered(int64_t i, int64_t j) { return hash(i, j) % 7 == 0; }
static int lonely(int64_t i, int64_t j) { return (i * 1000 + j) % 257 == 5; }
static int one_block_row(int64_t i, int64_t j) { return i / 16 == 1 && hash(i, j) % 3 != 0; }
static int one_column(int64_t i, int64_t j) { return (void)i, j == 13; }
static int columns(int64_t i, int64_t j) { return hash(i / 16, j) % 5 == 0; } /* dense blocks, once aggregated */
static int gaps(int64_t i, int64_t j) { return i / 16 % 2 == 1 && j / 16 % 2 == 0 && hash(i, j) % 5 == 0; }

static const struct {
  const char *name;
  int (*has)(int64_t i, int64_t j);
} kinds[] = {{"every fill", filled},      {"no entries", empty},             {"dense", dense},
             {"diagonal", diagonal},      {"scattered", scattered},          {"mostly empty", lonely},
             {"one block row", one_block_row}, {"one column", one_column},   {"the same columns", columns},
             {"empty block rows", gaps}};
enum { KINDS = sizeof kinds / sizeof *kinds };

static const int64_t extents[][2] = {{1, 1}, {1, 33}, {40, 1}, {16, 288}, {31, 50}, {48, 47}, {65, 300}};
enum { EXTENTS = sizeof extents / sizeof *extents };

/* Values, among them zeros of both signs, one that f32 rounds to zero, infinities and NaN. */
static double value_at(int64_t i, int64_t j) {
  static const double odd[] = {0.0, -0.0, 1e-300, -1e-300, INFINITY, -INFINITY, NAN, -1e-40};
  uint64_t h = hash(j, i + 5);
  return h % 4 == 0 ? odd[h / 4 % 8] : (double)(h >> 8) / 1e9 - 4;
}

static wr_csr *make(int (*has)(int64_t, int64_t), int64_t nrows, int64_t ncols, int with_values) {
  wr_csr *A;
  int64_t nnz = 0;
  for (int64_t at = 0; at < nrows * ncols; at++) nnz += has(at / ncols, at % ncols);
  if (wr_csr_create(nrows, ncols, nnz, with_values, &A) != WR_OK) abort(); /* out of memory */
  nnz = 0;
  for (int64_t i = 0; i < nrows; i++) {
    for (int64_t j = 0; j < ncols; j++) {
      if (!has(i, j)) continue;
      A->col[nnz] = (int32_t)j;
      if (with_values) A->val[nnz] = value_at(i, j);
      nnz++;
    }
    A->row_ptr[i + 1] = nnz;
  }
  return A;
}

/* ---- The stored format, read as its header defines it ---- */

typedef struct expected {
  wr_cb_options options;
  int (*has)(int64_t i, int64_t j);
  int pattern;
  wr_cb_format f;
  int64_t k, unit; /* how far it has been compared */
  int wrong;
} expected;

/* The number of the value at row r, column c of a block's n, or -1. */
static int find(const uint8_t *data, int kind, int n, int r, int c) {
  if (kind == WR_CB_DENSE) return 16 * c + r;
  for (int e = 0; e < n; e++) {
    if (kind == WR_CB_COO && data[e] % 16 == r && data[e] / 16 == c) return e;
    int end = r < 15 ? data[r + 1] : n, nibble = data[16 + e / 2] >> (e % 2 ? 4 : 0) & 15;
    if (kind == WR_CB_CSR && data[r] <= e && e < end && nibble == c) return e;
  }
  return -1;
}

static int is_value(double stored, double wanted, int dense_block) {
  if (isnan(wanted)) return isnan(stored);
  if (dense_block && wanted == 0) return stored == 0 && !signbit(stored);
  return stored == wanted && !signbit(stored) == !signbit(wanted);
}

static void compare_place(expected *x, const uint8_t *data, int kind, int n, int64_t i, int64_t j, int c) {
  int v = x->f.type == WR_F64 ? 8 : 4, r = (int)(i % 16), at = find(data, kind, n, r, c);
  int before = kind == WR_CB_COO ? n : kind == WR_CB_CSR ? 16 + n / 2 + n % 2 : 0;
  int has = i < x->f.nrows && j >= 0 && j < x->f.ncols && x->has(i, j);
  const uint8_t *values = data + (before % v ? before + v - before % v : before);
  if (at < 0) {
    x->wrong += has;
    return;
  }
  double value = v == 8 ? ((const double *)values)[at] : ((const float *)values)[at];
  double wanted = has && !x->pattern ? value_at(i, j) : 1;
  if (v == 4) wanted = (float)wanted;
  if (has)
    x->wrong += !is_value(value, wanted, kind == WR_CB_DENSE);
  else
    x->wrong += kind != WR_CB_DENSE || value != 0 || !signbit(value);
}

/* The next block must be at block row ib and have these 16 columns, -1 for none. */
static void compare_block(expected *x, int64_t ib, int64_t jb, const int64_t *cols) {
  int n = 0, v = x->f.type == WR_F64 ? 8 : 4;
  for (int64_t i = 16 * ib; i < 16 * ib + 16 && i < x->f.nrows; i++)
    for (int c = 0; c < 16; c++) n += cols[c] >= 0 && cols[c] < x->f.ncols && x->has(i, cols[c]);
  if (n == 0 || x->k >= x->f.blocks) {
    x->wrong += n > 0;
    return;
  }
  int th1 = x->options.th1 > 0 ? x->options.th1 : x->f.nnz > 16 * x->f.blocks ? 1 : 32; /* th2: 128 if th1 is 0 */
  int kind = !x->options.formats || n < th1 ? WR_CB_COO : n < x->options.th2 ? WR_CB_CSR : WR_CB_DENSE;
  int bytes = kind == WR_CB_COO ? n : kind == WR_CB_CSR ? 16 + n / 2 + n % 2 : 0;
  int units = ((bytes + v - 1) / v * v + (kind == WR_CB_DENSE ? 256 : n) * v + 15) / 16;
  uint64_t word = x->f.block[x->k];
  x->wrong += wr_cb_row(word) != ib || wr_cb_col(word) != jb || wr_cb_count(word) != n || wr_cb_kind_of(word) != kind;
  x->wrong += word != ((uint64_t)ib << 37 | (uint64_t)jb << 10 | (uint64_t)kind << 8 | (uint64_t)(n - 1));
  x->wrong += wr_cb_get(x->f.offset, x->f.wide, x->k) != x->unit;
  for (int64_t i = 16 * ib; i < 16 * ib + 16; i++)
    for (int c = 0; c < 16; c++) compare_place(x, x->f.data + 16 * x->unit, kind, n, i, cols[c], c);
  for (int c = 0; c < 16 && x->f.aggregated; c++)
    x->wrong += x->f.restore_cols[16 * x->k + c] != (cols[c] < 0 ? 0 : cols[c]);
  x->k++, x->unit += units;
}

static int uses(const expected *x, int64_t ib, int64_t j) {
  for (int64_t i = 16 * ib; i < 16 * ib + 16 && i < x->f.nrows; i++)
    if (x->has(i, j)) return 1;
  return 0;
}

static void compare_block_row(expected *x, int64_t ib) {
  int64_t cols[16], jb = 0, found = 0;
  for (int64_t j = 0; j < x->f.bcols * 16; j++) {
    if (!x->f.aggregated || (j < x->f.ncols && uses(x, ib, j))) cols[found++] = j;
    if (found < 16) continue;
    compare_block(x, ib, jb++, cols);
    found = 0;
  }
  for (int64_t c = found; c < 16; c++) cols[c] = -1;
  if (found > 0) compare_block(x, ib, jb, cols);
}

/* The lists, by their definition: a step, a block or the end of a block row, belongs to the list in which it begins. */
static int compare_lists(const wr_cb_format *f) {
  int64_t v = f->type == WR_F64 ? 8 : 4, at = 0, k = 0, row = 0;
  int64_t block_cost = f->balanced ? 12 + 16 * v + (f->aggregated ? 64 : 0) : 1, row_cost = f->balanced ? 16 * v : 1;
  int64_t data = f->balanced ? 16 : 0, total = f->units * data + f->blocks * block_cost + f->brows * row_cost;
  int wrong = f->lists % 8 != 0 || f->lists < 8;
  for (int64_t w = 0; w <= f->lists; w++) {
    while (at < total * w / f->lists) {
      if (k < f->blocks && wr_cb_row(f->block[k]) == row) {
        at += block_cost + data * (wr_cb_get(f->offset, f->wide, k + 1) - wr_cb_get(f->offset, f->wide, k));
        k++;
      } else {
        at += row_cost, row++;
      }
    }
    wrong += wr_cb_get(f->list_block, f->wide, w) != k || f->list_row[w] != row;
  }
  return wrong + (at != total || k != f->blocks || row != f->brows);
}

/* b, decoded into rows, is A with values as stored. */
static void test_way_back(const wr_csr *A, const wr_cb_format *f) {
  wr_csr *B;
  int64_t wrong = 0;
  CHECK_OK(wr_cb_decode(f, A->val == NULL, &B));
  if (B == NULL) return;
  CHECK(B->nrows == A->nrows && B->ncols == A->ncols && B->nnz == A->nnz && (B->val == NULL) == (A->val == NULL));
  CHECK(memcmp(B->row_ptr, A->row_ptr, (size_t)(A->nrows + 1) * sizeof *A->row_ptr) == 0);
  CHECK(memcmp(B->col, A->col, (size_t)A->nnz * sizeof *A->col) == 0);
  for (int64_t k = 0; k < A->nnz && A->val != NULL; k++) {
    double wanted = f->type == WR_F64 ? A->val[k] : (float)A->val[k];
    wrong += isnan(wanted) ? !isnan(B->val[k]) : B->val[k] != wanted;
  }
  CHECKF(wrong == 0, "%lld values", (long long)wrong);
  wr_csr_free(B);
}

static void test_one(const wr_csr *A, int kind, const wr_cb_options *options, wr_type type) {
  expected x = {.options = *options, .has = kinds[kind].has, .pattern = A->val == NULL};
  build_on_host(A, options, type, &x.f);
  CHECK(x.f.nrows == A->nrows && x.f.ncols == A->ncols && x.f.nnz == A->nnz && x.f.type == type);
  CHECK(x.f.wide == options->wide && x.f.balanced == options->balance);
  if (options->aggregate != WR_CB_BY_SHARE) CHECK(x.f.aggregated == (int)options->aggregate);
  for (int64_t ib = 0; ib < x.f.brows; ib++) compare_block_row(&x, ib);
  CHECKF(x.wrong == 0 && x.k == x.f.blocks && x.unit == x.f.units && wr_cb_get(x.f.offset, x.f.wide, x.k) == x.unit,
         "%lld x %lld, aggregated %d: %d places differ, %lld of %lld blocks", (long long)A->nrows, (long long)A->ncols,
         x.f.aggregated, x.wrong, (long long)x.k, (long long)x.f.blocks);
  int wrong = compare_lists(&x.f);
  CHECKF(wrong == 0, "%lld x %lld: %d of %lld lists", (long long)A->nrows, (long long)A->ncols, wrong,
         (long long)x.f.lists);
  test_way_back(A, &x.f);
  wr_cb_free(&x.f);
  CHECK(x.f.memory == NULL && x.f.block == NULL && x.f.data == NULL && x.f.list_row == NULL);
}

/* Every option, on and off. */
static void test_choices(const wr_csr *A, int kind) {
  for (int bits = 0; bits < 16; bits++) {
    wr_cb_options o = wr_cb_defaults();
    o.aggregate = bits & 1 ? WR_CB_ALWAYS : WR_CB_NEVER;
    o.formats = bits >> 1 & 1, o.balance = bits >> 2 & 1, o.wide = bits >> 3 & 1;
    o.list_bytes = 256 << bits % 3 * 2;
    test_one(A, kind, &o, (bits ^ bits >> 2) & 1 ? WR_F32 : WR_F64);
  }
  wr_cb_options o = wr_cb_defaults();
  test_one(A, kind, &o, WR_F64);
  o.th1 = 1, o.th2 = 257;
  test_one(A, kind, &o, WR_F32);
  o.th1 = 33, o.th2 = 240;
  test_one(A, kind, &o, WR_F64);
  o.th1 = 0, o.th2 = 128;
  for (int aggregate = 0; aggregate < 2; aggregate++) {
    o.aggregate = aggregate ? WR_CB_ALWAYS : WR_CB_NEVER;
    test_one(A, kind, &o, aggregate ? WR_F32 : WR_F64);
  }
}

static void test_kinds(void) {
  for (int kind = 0; kind < KINDS; kind++)
    for (int extent = 0; extent < EXTENTS; extent++)
      for (int with_values = 0; with_values < 2; with_values++) {
        CASE(kinds[kind].name);
        wr_csr *A = make(kinds[kind].has, extents[extent][0], extents[extent][1], with_values);
        test_choices(A, kind);
        wr_csr_free(A);
      }
}

int main(void) {
  test_kinds();
  return wr_test_report("cb_spmv_format");
}
