/* Blocks (spmv/blocks/bsr_format.h): the host's builder against a matrix that is written down place by place, the way back,
 * damaged formats, counts beyond 2^31, threads, no memory. */
#define _GNU_SOURCE /* posix_memalign, memalign */
#include <errno.h>
#include <malloc.h>
#include <omp.h>
#include <stdlib.h>

#include "spmv/blocks/bsr_build.h"
#include "tests/check.h"

static int calls, refused = -1; /* the number of the call of posix_memalign that fails */

int posix_memalign(void **block, size_t alignment, size_t bytes) {
  if (calls++ == refused) return ENOMEM;
  *block = memalign(alignment, bytes);
  return *block != NULL ? 0 : ENOMEM;
}

/* ---- Matrices, place by place ---- */

static uint64_t hash(int64_t i, int64_t j) {
  uint64_t z = ((uint64_t)i * 1000003 + (uint64_t)j + 1) * UINT64_C(0x9e3779b97f4a7c15);
  return (z ^ z >> 31) * UINT64_C(0xbf58476d1ce4e5b9) >> 20;
}

static int empty(int64_t i, int64_t j) { return (void)i, (void)j, 0; }
static int dense(int64_t i, int64_t j) { return (void)i, (void)j, 1; }
static int diagonal(int64_t i, int64_t j) { return i == j; }
static int scattered(int64_t i, int64_t j) { return hash(i, j) % 7 == 0; }
static int lonely(int64_t i, int64_t j) { return (i * 1000 + j) % 257 == 5; }
static int blocky(int64_t i, int64_t j) { return hash(i / 3, j / 3) % 4 == 0; }
static int one_block_row(int64_t i, int64_t j) { return i / 16 == 1 && hash(i, j) % 3 != 0; }
static int one_row(int64_t i, int64_t j) { return (void)j, i == 7; }
static int one_column(int64_t i, int64_t j) { return (void)i, j == 13; }
static int gaps(int64_t i, int64_t j) { return i / 16 % 2 == 1 && j / 16 % 2 == 0 && hash(i, j) % 5 == 0; }

static const struct {
  const char *name;
  int (*has)(int64_t i, int64_t j);
} kinds[] = {{"no entries", empty},         {"dense", dense},           {"diagonal", diagonal},
             {"scattered", scattered},      {"mostly padding", lonely}, {"blocks", blocky},
             {"one block row", one_block_row}, {"one row", one_row},    {"one column", one_column},
             {"empty block rows", gaps}};
enum { KINDS = sizeof kinds / sizeof *kinds };

static const int64_t extents[][2] = {{1, 1}, {1, 33}, {40, 1}, {16, 16}, {31, 50}, {48, 47}, {65, 34}};
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

/* ---- What is stored ---- */

static int64_t ptr_at(const wr_bsr *b, int64_t ib) {
  return b->wide ? ((const int64_t *)b->row_ptr)[ib] : ((const int32_t *)b->row_ptr)[ib];
}

/* Value `at` is that of the matrix, with a zero's sign lost; or padding. */
static int is_value(const wr_bsr *b, int64_t at, double value) {
  double stored = b->type == WR_F64 ? ((const double *)b->val)[at] : ((const float *)b->val)[at];
  double wanted = b->type == WR_F64 ? value : (float)value;
  if (isnan(wanted)) return isnan(stored);
  return stored == wanted && (wanted != 0 || !signbit(stored));
}

static int is_padding(const wr_bsr *b, int64_t at) {
  if (b->type == WR_F64) return wr_is_padding_f64(((const double *)b->val)[at]);
  return wr_is_padding_f32(((const float *)b->val)[at]);
}

/* The entries of a block, and whether the places of block k say the same; k < 0: it is not stored. */
static int64_t compare_block(const wr_bsr *b, int kind, int pattern, int64_t ib, int64_t jb, int64_t k, int *wrong) {
  int64_t entries = 0;
  for (int at = 0; at < b->r * b->c; at++) {
    int64_t i = ib * b->r + at / b->c, j = jb * b->c + at % b->c, place = k * b->r * b->c + at;
    int has = i < b->nrows && j < b->ncols && kinds[kind].has(i, j);
    entries += has;
    if (k >= 0 && has) *wrong += !is_value(b, place, pattern ? 1 : value_at(i, j)) || is_padding(b, place);
    if (k >= 0 && !has) *wrong += !is_padding(b, place);
  }
  return entries;
}

/* Walks all places of blocks, and compares the blocks that have entries with those that are stored. */
static int compare(const wr_bsr *b, int kind, int pattern) {
  int64_t k = 0;
  int wrong = ptr_at(b, 0) != 0;
  for (int64_t ib = 0; ib < b->brows; ib++) {
    for (int64_t jb = 0; jb < b->bcols; jb++) {
      int stored = k < b->blocks && k < ptr_at(b, ib + 1) && b->col[k] == jb;
      wrong += (compare_block(b, kind, pattern, ib, jb, stored ? k : -1, &wrong) > 0) != stored;
      k += stored;
    }
    wrong += ptr_at(b, ib + 1) != k;
  }
  return wrong + (k != b->blocks);
}

/* b, decoded into rows, is A with values as stored. */
static void test_way_back(const wr_csr *A, const wr_bsr *b) {
  wr_csr *B;
  int64_t wrong = 0;
  CHECK_OK(wr_bsr_decode(b, A->val == NULL, &B));
  if (B == NULL) return;
  CHECK(B->nrows == A->nrows && B->ncols == A->ncols && B->nnz == A->nnz && (B->val == NULL) == (A->val == NULL));
  CHECK(memcmp(B->row_ptr, A->row_ptr, (size_t)(A->nrows + 1) * sizeof *A->row_ptr) == 0);
  CHECK(memcmp(B->col, A->col, (size_t)A->nnz * sizeof *A->col) == 0);
  for (int64_t k = 0; k < A->nnz && A->val != NULL; k++) {
    double wanted = b->type == WR_F64 ? A->val[k] : (float)A->val[k];
    wrong += isnan(wanted) ? !isnan(B->val[k]) : B->val[k] != wanted;
    wrong += wanted == 0 && signbit(B->val[k]);
  }
  CHECKF(wrong == 0, "%lld values", (long long)wrong);
  wr_csr_free(B);
}

static void test_one(const wr_csr *A, int kind, int r, int c, wr_type type, int wide) {
  wr_bsr b;
  int64_t blocks;
  CHECK_OK(wr_bsr_build(A, r, c, type, wide, &b));
  CHECK(b.nrows == A->nrows && b.ncols == A->ncols && b.nnz == A->nnz && b.type == type && b.wide == wide);
  CHECK((b.brows - 1) * r < b.nrows && b.nrows <= b.brows * r && (b.bcols - 1) * c < b.ncols && b.ncols <= b.bcols * c);
  int wrong = compare(&b, kind, A->val == NULL);
  CHECKF(wrong == 0, "%lld x %lld in %d x %d: %d places differ", (long long)A->nrows, (long long)A->ncols, r, c, wrong);
  CHECK_OK(wr_bsr_count(A, r, c, &blocks));
  CHECKF(blocks == b.blocks, "%lld blocks, not %lld", (long long)blocks, (long long)b.blocks);
  CHECK(wr_bsr_bytes(&b) == (b.brows + 1) * (wide ? 8 : 4) + blocks * (4 + r * c * (type == WR_F64 ? 8 : 4)));
  test_way_back(A, &b);
  wr_bsr_free(&b);
  CHECK(b.row_ptr == NULL && b.col == NULL && b.val == NULL);
}

static void test_sides(const wr_csr *A, int kind) {
  for (int r = 1; r <= 8; r++)
    for (int c = 1; c <= 8; c++) test_one(A, kind, r, c, (r + c) % 2 ? WR_F32 : WR_F64, c % 2);
  test_one(A, kind, 16, 16, WR_F64, 1);
  test_one(A, kind, 16, 1, WR_F32, 0);
  test_one(A, kind, 1, 16, WR_F64, 0);
}

static void test_kinds(void) {
  for (int kind = 0; kind < KINDS; kind++)
    for (int extent = 0; extent < EXTENTS; extent++)
      for (int with_values = 0; with_values < 2; with_values++) {
        CASE(kinds[kind].name);
        wr_csr *A = make(kinds[kind].has, extents[extent][0], extents[extent][1], with_values);
        test_sides(A, kind);
        wr_csr_free(A);
      }
}

/* The example in bsr_format.h. */
static void test_example(void) {
  static const int32_t rows[] = {0, 0, 1, 1, 3, 3, 3, 3, 4, 5}, columns[] = {0, 2, 1, 4, 0, 2, 3, 5, 4, 5};
  static const int32_t row_ptr[] = {0, 2, 4, 5}, col[] = {0, 1, 0, 1, 1};
  static const double val[] = {1, 0, 2, 0, 3, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0,
                               5, 0, 6, 0, 0, 0, 7, 0, 8, 0, 9, 0, 0, 0, 10};
  wr_csr *A;
  wr_bsr b;
  int wrong = 0;
  CASE("the example");
  CHECK_OK(wr_csr_create(6, 6, 10, 1, &A));
  for (int k = 0; k < 10; k++) A->row_ptr[rows[k] + 1] = k + 1, A->col[k] = columns[k], A->val[k] = k + 1;
  A->row_ptr[3] = 4; /* row 2 is empty */
  CHECK_OK(wr_bsr_build(A, 2, 3, WR_F64, 0, &b));
  CHECK(b.blocks == 5 && b.brows == 3 && b.bcols == 2);
  CHECK(memcmp(b.row_ptr, row_ptr, sizeof row_ptr) == 0 && memcmp(b.col, col, sizeof col) == 0);
  for (int at = 0; at < 30; at++) wrong += ((double *)b.val)[at] != val[at] || is_padding(&b, at) != (val[at] == 0);
  CHECKF(wrong == 0, "%d of 30 values", wrong);
  wr_bsr_free(&b);
  wr_csr_free(A);
}

/* ---- Threads ---- */

static int many(int64_t i, int64_t j) { return i == 3 || (hash(i, j) % 9 == 0 && i / 50 % 3 != 1); }

static void test_threads(void) {
  CASE("any number of threads");
  wr_csr *A = make(many, 900, 1000, 1);
  CHECK(A->nnz > 5 * 8192); /* enough for several threads to be used */
  for (int side = 1; side <= 16; side += 5) {
    wr_bsr first, b;
    omp_set_num_threads(1);
    CHECK_OK(wr_bsr_build(A, side, side, WR_F32, 0, &first));
    for (int threads = 2; threads <= 4; threads++) {
      omp_set_num_threads(threads);
      CHECK_OK(wr_bsr_build(A, side, side, WR_F32, 0, &b));
      CHECK(b.blocks == first.blocks && memcmp(b.row_ptr, first.row_ptr, (size_t)(b.brows + 1) * 4) == 0);
      CHECK(memcmp(b.col, first.col, (size_t)b.blocks * 4) == 0);
      CHECK(memcmp(b.val, first.val, (size_t)(b.blocks * side * side) * 4) == 0);
      wr_bsr_free(&b);
    }
    wr_bsr_free(&first);
  }
  wr_csr_free(A);
}

/* ---- Refusals ---- */

static void test_range(void) {
  CASE("values beyond f32");
  wr_csr *A = make(diagonal, 20, 20, 1);
  wr_bsr b;
  A->val[11] = 0x1.ffffffp127;
  CHECK_FAILS(WR_ENUMERIC, wr_bsr_build(A, 3, 2, WR_F32, 0, &b));
  CHECK(b.row_ptr == NULL && b.col == NULL && b.val == NULL);
  CHECK_MESSAGE("row 12, column 12");
  CHECK_OK(wr_bsr_build(A, 3, 2, WR_F64, 0, &b));
  wr_bsr_free(&b);
  A->val[11] = 0x1.fffffefffffffp127;
  CHECK_OK(wr_bsr_build(A, 3, 2, WR_F32, 0, &b));
  wr_bsr_free(&b);
  wr_csr_free(A);
}

static void test_check(void) {
  static const int bad[][2] = {{0, 1}, {1, 0}, {-1, 3}, {17, 1}, {1, 17}};
  const int64_t large = WR_MAX_INDEX, most = WR_BSR_MAX_VALUES;
  wr_bsr b;
  int64_t blocks;
  CASE("sizes");
  for (size_t n = 0; n < sizeof bad / sizeof *bad; n++)
    CHECK_FAILS(WR_EUSAGE, wr_bsr_check(9, 9, 9, bad[n][0], bad[n][1]));
  CHECK_FAILS(WR_EUNAVAILABLE, wr_bsr_check(0, 9, 9, 1, 1));
  CHECK_FAILS(WR_EUNAVAILABLE, wr_bsr_check(9, large + 1, 9, 1, 1));
  CHECK_FAILS(WR_EUNAVAILABLE, wr_bsr_check(9, 9, -1, 1, 1));
  CHECK_OK(wr_bsr_check(large, large, (int64_t)1 << 31, 16, 16));
  CHECK_OK(wr_bsr_check(large, large, most, 1, 1));
  CHECK_FAILS(WR_EUNAVAILABLE, wr_bsr_check(large, large, most + 1, 1, 1));
  CHECK_OK(wr_bsr_check(large, large, most / 256, 16, 16));
  CHECK_FAILS(WR_EUNAVAILABLE, wr_bsr_check(large, large, most / 256 + 1, 16, 16));
  CHECK_MESSAGE("16 x 16");
  CHECK_OK(wr_bsr_check(large, large, most / 15, 3, 5));
  CHECK_FAILS(WR_EUNAVAILABLE, wr_bsr_check(large, large, most / 15 + 1, 3, 5));
  CHECK_OK(wr_bsr_check(large, 1, INT64_MAX, 16, 16)); /* of at most 2^27 blocks */
  wr_csr *A = make(diagonal, 20, 20, 1);
  memset(&b, 1, sizeof b);
  CHECK_FAILS(WR_EUSAGE, wr_bsr_build(A, 3, 17, WR_F32, 0, &b));
  CHECK(b.row_ptr == NULL && b.col == NULL && b.val == NULL);
  CHECK_FAILS(WR_EUSAGE, wr_bsr_count(A, 0, 3, &blocks));
  wr_csr_free(A);
}

static void test_bytes(void) {
  CASE("bytes beyond 2^31");
  wr_bsr b = wr_bsr_shape(WR_MAX_INDEX, WR_MAX_INDEX, WR_BSR_MAX_VALUES, 1, 1, WR_F64);
  CHECK(b.brows == WR_MAX_INDEX && b.bcols == WR_MAX_INDEX && b.blocks == 0 && b.val == NULL);
  b.blocks = WR_BSR_MAX_VALUES, b.wide = 1;
  CHECK((uint64_t)wr_bsr_bytes(&b) == 12 * (uint64_t)WR_BSR_MAX_VALUES + ((uint64_t)1 << 31) * 8);
  b = wr_bsr_shape(WR_MAX_INDEX, WR_MAX_INDEX, WR_BSR_MAX_VALUES, 16, 16, WR_F32);
  CHECK(b.brows == 1 << 27 && b.bcols == 1 << 27);
  b.blocks = (int64_t)3 << 30, b.wide = 1;
  CHECK(wr_bsr_bytes(&b) == ((int64_t)3 << 30) * (4 + 1024) + ((1 << 27) + 1) * (int64_t)8);
}

/* ---- Damage ---- */

/* The changed element must be refused; then its old value is restored. */
#define CHECK_DAMAGE(b, place, value)                           \
  do {                                                          \
    wr_csr *none = NULL;                                        \
    wr_bsr whole = *(b);                                        \
    unsigned char kept[sizeof(place)];                          \
    memcpy(kept, &(place), sizeof(place));                      \
    (place) = (value);                                          \
    CHECK_FAILS(WR_EINTERNAL, wr_bsr_decode((b), 1, &none));    \
    CHECK(none == NULL);                                        \
    memcpy(&(place), kept, sizeof(place));                      \
    *(b) = whole;                                               \
    CHECK_OK(wr_bsr_decode((b), 1, &none));                     \
    wr_csr_free(none);                                          \
  } while (0)

static int corner(int64_t i, int64_t j) { return i >= 4 && j >= 6 && i != 9; }

/* 11 x 13 in blocks of 3 x 4: block rows 1 to 3 of 4, block columns 1 to 3 of 4. */
static void test_damage(void) {
  CASE("damage");
  wr_csr *A = make(corner, 11, 13, 0);
  wr_bsr b;
  CHECK_OK(wr_bsr_build(A, 3, 4, WR_F32, 0, &b));
  CHECK(b.blocks == 9);
  int32_t *ptr = b.row_ptr;
  float *val = b.val;
  CHECK_DAMAGE(&b, ptr[0], 1);
  CHECK_DAMAGE(&b, ptr[1], -1);
  CHECK_DAMAGE(&b, ptr[2], 7);
  CHECK_DAMAGE(&b, ptr[2], INT32_MAX);
  CHECK_DAMAGE(&b, ptr[4], 10);
  CHECK_DAMAGE(&b, b.col[0], -1);
  CHECK_DAMAGE(&b, b.col[2], 4);
  CHECK_DAMAGE(&b, b.col[4], 1);
  CHECK_DAMAGE(&b, b.col[4], 3);
  CHECK_DAMAGE(&b, val[8 * 12 + 1], 1.0f);        /* column 13 */
  CHECK_DAMAGE(&b, val[8 * 12 + 8], 0.0f);        /* row 11    */
  CHECK_DAMAGE(&b, val[4 * 12], 2.0f);            /* no pattern */
  CHECK_DAMAGE(&b, val[4 * 12], -0.0f);           /* one entry less than nnz */
  CHECK_DAMAGE(&b, b.nnz, b.nnz + 1);
  CHECK_DAMAGE(&b, b.nnz, b.nnz - 1);
  CHECK_DAMAGE(&b, b.nnz, 8);
  CHECK_DAMAGE(&b, b.nnz, 109);
  CHECK_DAMAGE(&b, b.blocks, -1);
  CHECK_DAMAGE(&b, b.blocks, 17);
  CHECK_DAMAGE(&b, b.brows, 3);
  CHECK_DAMAGE(&b, b.bcols, 5);
  CHECK_DAMAGE(&b, b.nrows, 13);
  CHECK_DAMAGE(&b, b.ncols, 0);
  CHECK_DAMAGE(&b, b.r, 0);
  CHECK_DAMAGE(&b, b.c, 17);
  CHECK_DAMAGE(&b, b.type, (wr_type)7);
  wr_bsr_free(&b);
  wr_csr_free(A);
}

/* Both entries of a block become padding, and two places of padding in another block become entries. */
static void test_empty_block(void) {
  CASE("a block of padding");
  wr_csr *A = make(diagonal, 4, 4, 0), *B;
  wr_bsr b;
  CHECK_OK(wr_bsr_build(A, 2, 2, WR_F64, 1, &b));
  double *val = b.val;
  val[0] = val[3] = -0.0;
  val[5] = val[6] = 1; /* the counts are right */
  CHECK_FAILS(WR_EINTERNAL, wr_bsr_decode(&b, 1, &B));
  CHECK_MESSAGE("nothing but padding");
  val[0] = 2;
  val[5] = -0.0;
  CHECK_OK(wr_bsr_decode(&b, 0, &B)); /* another matrix, but one */
  wr_csr_free(B);
  wr_bsr_free(&b);
  wr_csr_free(A);
}

/* Every allocation fails once. */
static void test_no_memory(void) {
  CASE("no memory");
  wr_csr *A = make(scattered, 30, 30, 1), *B;
  wr_bsr b;
  int64_t blocks;
  for (refused = 0; refused < 4; refused++) {
    calls = 0;
    CHECK_FAILS(WR_ENOMEM, wr_bsr_build(A, 3, 2, WR_F64, 0, &b));
    CHECK(b.row_ptr == NULL && b.col == NULL && b.val == NULL);
  }
  calls = refused = 0;
  CHECK_FAILS(WR_ENOMEM, wr_bsr_count(A, 3, 2, &blocks));
  calls = 0, refused = -1;
  CHECK_OK(wr_bsr_build(A, 3, 2, WR_F64, 0, &b));
  CHECKF(calls == 4, "%d allocations, of which 4 failed above", calls);
  for (refused = 0; refused < 4; refused++) {
    calls = 0;
    CHECK_FAILS(WR_ENOMEM, wr_bsr_decode(&b, 0, &B));
    CHECK(B == NULL);
  }
  calls = 0, refused = -1;
  CHECK_OK(wr_bsr_decode(&b, 0, &B));
  CHECKF(calls == 4, "%d allocations, of which 4 failed above", calls);
  wr_csr_free(B);
  wr_bsr_free(&b);
  wr_csr_free(A);
}

int main(void) {
  omp_set_num_threads(1); /* small matrices, many of them */
  test_kinds();
  test_example();
  test_threads();
  test_range();
  test_check();
  test_bytes();
  test_damage();
  test_empty_block();
  test_no_memory();
  return wr_test_report("bsr_format");
}
