/* Blocks of 16 x 16 (cb_spmv): when columns are aggregated, what is refused, counts and coordinates beyond 2^31, damaged
 * formats, no memory. What is stored is compared in test_cb_spmv_format.c. */
#define _GNU_SOURCE /* posix_memalign, memalign */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

#include "tests/spmv/cb_spmv_host.h"

static int calls, refused = -1; /* the number of the call of posix_memalign that fails */

int posix_memalign(void **block, size_t alignment, size_t bytes) {
  if (calls++ == refused) return ENOMEM;
  *block = memalign(alignment, bytes);
  return *block != NULL ? 0 : ENOMEM;
}

/* Blocks along the diagonal: block b has fill(b) entries, in the order of its rows. Values 1, 2, ... */
static wr_csr *make(int (*fill)(int), int blocks, int with_values) {
  wr_csr *A;
  int64_t nnz = 0;
  for (int b = 0; b < blocks; b++) nnz += fill(b);
  if (wr_csr_create(16 * blocks, 16 * blocks, nnz, with_values, &A) != WR_OK) abort();
  nnz = 0;
  for (int i = 0; i < 16 * blocks; i++) {
    for (int c = 0; c < 16 && i % 16 * 16 + c < fill(i / 16); c++) {
      A->col[nnz] = i / 16 * 16 + c;
      if (with_values) A->val[nnz] = (double)nnz + 1;
      nnz++;
    }
    A->row_ptr[i + 1] = nnz;
  }
  return A;
}

/* ---- The choice to aggregate ---- */

static int three_of_twenty(int b) { return b % 7 == 6 && b < 18 ? 3 : b % 7 == 5 ? 31 : b % 7 == 4 ? 33 : 32; }
static int all_31(int b) { return (void)b, 31; }
static int all_32(int b) { return (void)b, 32; }
static int of_turns(int b) { return 40 + b % 7 * 10; }

/* Blocks 5, 6, 12, 13 and 19 of twenty have less than 32 entries. */
static void test_share(void) {
  wr_csr *A = make(three_of_twenty, 20, 1);
  wr_cb_options o = wr_cb_defaults();
  wr_cb_format f;
  CASE("the share of super-sparse blocks");
  build_on_host(A, &o, WR_F64, &f);
  CHECK(f.plain.blocks == 20 && f.plain.super_sparse == 5 && f.plain.heavy == 3 * 33 && f.aggregated);
  wr_cb_free(&f);
  for (o.th0 = 0; o.th0 <= 100; o.th0 += 5) {
    build_on_host(A, &o, WR_F32, &f);
    CHECKF(f.aggregated == (o.th0 < 25), "th0 %d", o.th0); /* more than th0, and not as many */
    wr_cb_free(&f);
  }
  wr_csr_free(A);
  o = wr_cb_defaults();
  A = make(all_31, 3, 1);
  build_on_host(A, &o, WR_F64, &f);
  CHECK(f.aggregated && f.plain.super_sparse == 3);
  wr_cb_free(&f);
  wr_csr_free(A);
  A = make(all_32, 3, 1);
  build_on_host(A, &o, WR_F64, &f);
  CHECK(!f.aggregated && f.plain.super_sparse == 0 && f.plain.heavy == 0);
  CHECK(wr_cb_bytes(&f) == 3 * 8 + 4 * 4 + (f.lists + 1) * 8 + 3 * (16 + 16 + 32 * 8));
  wr_cb_free(&f);
  wr_csr_free(A);
}

/* The estimate counts all of a small matrix, and a thousandth of a uniform one. */
static void test_estimate(void) {
  static const struct {
    int (*fill)(int);
    int blocks;
  } cases[] = {{three_of_twenty, 20}, {three_of_twenty, 1000}, {all_31, 5000}, {all_32, 5000}};
  CASE("an estimate");
  for (int n = 0; n < 4; n++)
    for (int aggregate = -1; aggregate < 2; aggregate++) {
      wr_csr *A = make(cases[n].fill, cases[n].blocks, 1);
      wr_cb_options o = wr_cb_defaults();
      wr_cb_format shape, f;
      o.aggregate = (wr_cb_choice)aggregate;
      CHECK_OK(wr_cb_estimate(A, &o, WR_F32, &shape));
      build_on_host(A, &o, WR_F32, &f);
      CHECK(shape.blocks == f.blocks && shape.units == f.units && shape.lists == f.lists);
      CHECK(shape.aggregated == f.aggregated && shape.memory == NULL && wr_cb_bytes(&shape) == wr_cb_bytes(&f));
      CHECK(memcmp(&shape.plain, &f.plain, sizeof f.plain) == 0);
      wr_cb_free(&f);
      wr_csr_free(A);
    }
  wr_csr *A = make(of_turns, 20000, 0); /* seven fills in turn: near what there is, and not all of it looked at */
  wr_cb_options o = wr_cb_defaults();
  wr_cb_format shape, f;
  CHECK_OK(wr_cb_estimate(A, &o, WR_F64, &shape));
  build_on_host(A, &o, WR_F64, &f);
  CHECKF(10 * llabs(shape.plain.blocks - 20000) < 20000, "%lld blocks", (long long)shape.plain.blocks);
  CHECK(shape.units != f.units);
  CHECKF(10 * llabs(shape.units - f.units) < f.units, "%lld, not %lld", (long long)shape.units, (long long)f.units);
  wr_cb_free(&f);
  o.th1 = -1;
  CHECK_FAILS(WR_EUSAGE, wr_cb_estimate(A, &o, WR_F64, &shape));
  CHECK(shape.memory == NULL && shape.block == NULL);
  wr_csr_free(A);
}

/* Blocks of 16 entries each are COO, unless th2 is less; if one block has 17, all are CSR. The estimate says the same, for any
 * number of blocks, aggregated or not. */
static int all_16(int b) { return (void)b, 16; }
static int one_more(int b) { return b == 3 ? 17 : 16; }

static void test_types(void) {
  static const struct {
    int (*fill)(int);
    int th1, th2, kind;
  } cases[] = {{all_16, 0, 128, WR_CB_COO}, {one_more, 0, 128, WR_CB_CSR}, {one_more, 17, 128, WR_CB_COO},
               {all_16, 0, 16, WR_CB_DENSE}, {one_more, 0, 17, WR_CB_CSR}, {all_16, 1, 128, WR_CB_CSR},
               {all_32, 0, 128, WR_CB_CSR}, {all_31, 0, 128, WR_CB_CSR}};
  CASE("types by the entries of a block");
  for (int n = 0; n < (int)(sizeof cases / sizeof *cases); n++)
    for (int aggregate = 0; aggregate < 2; aggregate++) {
      wr_csr *A = make(cases[n].fill, 20, 1);
      wr_cb_options o = wr_cb_defaults();
      wr_cb_format shape, f;
      o.aggregate = aggregate ? WR_CB_ALWAYS : WR_CB_NEVER, o.th1 = cases[n].th1, o.th2 = cases[n].th2;
      CHECK_OK(wr_cb_estimate(A, &o, WR_F64, &shape));
      build_on_host(A, &o, WR_F64, &f);
      CHECKF(wr_cb_kind_of(f.block[0]) == cases[n].kind, "case %d: type %d", n, wr_cb_kind_of(f.block[0]));
      CHECK(shape.units == f.units && shape.lists == f.lists);
      wr_cb_free(&f);
      wr_csr_free(A);
    }
}

/* ---- Large coordinates ---- */

/* Entries in the corners of a matrix of a million rows and 2^31 - 1 columns: 8 * 10^12 blocks could be. */
static void test_far(void) {
  static const int64_t rows[] = {0, 0, 17, 524288, 524289, 1000004, 1000004, 1000004};
  static const int64_t cols[] = {3, 2147483646, 2147483631, 0, 1073741824, 15, 16, 2147483646};
  wr_csr *A, *B;
  wr_cb_format f;
  CASE("entries in the corners of a large matrix");
  CHECK_OK(wr_csr_create(1000005, WR_MAX_INDEX, 8, 0, &A));
  for (int e = 0; e < 8; e++) A->row_ptr[rows[e] + 1]++, A->col[e] = (int32_t)cols[e];
  for (int64_t i = 0; i < A->nrows; i++) A->row_ptr[i + 1] += A->row_ptr[i];
  for (int aggregated = 0; aggregated < 2; aggregated++) {
    wr_cb_options o = wr_cb_defaults();
    o.aggregate = aggregated ? WR_CB_ALWAYS : WR_CB_NEVER;
    build_on_host(A, &o, WR_F64, &f);
    CHECK(f.brows == 62501 && f.bcols == 134217728 && f.blocks == (aggregated ? 4 : 8) && f.plain.blocks == 8);
    uint64_t last = f.block[f.blocks - 1];
    CHECK(wr_cb_row(last) == 62500 && wr_cb_col(last) == (aggregated ? 0 : 134217727) && last > f.block[0]);
    CHECK(wr_cb_get(f.list_block, f.wide, f.lists) == f.blocks && f.list_row[f.lists] == 62501);
    CHECK_OK(wr_cb_decode(&f, 1, &B));
    CHECK(B != NULL && memcmp(B->row_ptr, A->row_ptr, (size_t)(A->nrows + 1) * 8) == 0);
    CHECK(B != NULL && memcmp(B->col, A->col, 8 * sizeof *A->col) == 0);
    wr_csr_free(B);
    wr_cb_free(&f);
  }
  wr_csr_free(A);
}

static void test_words(void) {
  const int64_t most = (1 << 27) - 1;
  CASE("a block's fields in a word of 64 bits");
  for (int row = 0; row < 2; row++)
    for (int col = 0; col < 2; col++)
      for (int count = 1; count <= 256; count++)
        for (int kind = 0; kind < 3; kind++) {
          uint64_t word = wr_cb_word(row ? most : 0, col ? most : 0, count, kind);
          CHECK(wr_cb_row(word) == (row ? most : 0) && wr_cb_col(word) == (col ? most : 0));
          CHECK(wr_cb_count(word) == count && wr_cb_kind_of(word) == kind);
        }
}

/* list_bytes 0: lists of 2 to 32 KB, or to 16 for 16 entries a block or fewer; beyond 2 KB, a multiple of 4224 lists. */
static void test_list_bytes(void) {
  const int64_t warps = 4224;
  wr_cb_options o = wr_cb_defaults();
  CASE("bytes of a list by the matrix's size");
  for (int poor = 0; poor < 2; poor++) {
    const int64_t most = poor ? 16384 : 32768;
    CHECK(wr_cb_list_bytes(1, poor) == 2048 && wr_cb_list_bytes(warps * 2048, poor) == 2048);
    CHECK(wr_cb_list_bytes(warps * 5000, poor) == 5000 && wr_cb_list_bytes(warps * 5000 + 1, poor) == 5001);
    CHECK(wr_cb_list_bytes(warps * most, poor) == most && wr_cb_list_bytes(warps * most + 1, poor) == most / 2 + 1);
    CHECK(wr_cb_list_bytes((int64_t)1 << 44, poor) <= most);
    wr_cb_format f = wr_cb_shape(16, 16, 17 - poor, WR_F32); /* 16 entries a block, or one more */
    o.list_bytes = 0, f.blocks = 1;
    for (f.units = 540700; f.units < 30000000; f.units += 997) {
      wr_cb_settle(&f, &o);
      int64_t path = wr_cb_path_bytes(&f), rounds = (path - 1) / (warps * most) + 1;
      CHECKF(f.lists == warps * rounds, "%lld bytes: %lld lists", (long long)path, (long long)f.lists);
    }
  }
  CHECK(wr_cb_list_bytes(warps * 80000, 0) == 26667 && wr_cb_list_bytes(warps * 80000, 1) == 16000);
}

/* Sizes of formats that are too large to be made. */
static void test_bytes(void) {
  CASE("counts beyond 2^31");
  wr_cb_options o = wr_cb_defaults();
  wr_cb_format f = wr_cb_shape(WR_MAX_INDEX, WR_MAX_INDEX, (int64_t)9 << 31, WR_F64);
  CHECK(f.brows == 1 << 27 && f.bcols == 1 << 27 && f.memory == NULL);
  f.blocks = (int64_t)3 << 30, f.units = (int64_t)1 << 40, f.aggregated = 1;
  wr_cb_settle(&f, &o);
  int64_t path = ((int64_t)1 << 44) + ((int64_t)3 << 30) * (12 + 128 + 64) + ((int64_t)128 << 27);
  CHECK(f.wide && wr_cb_path_bytes(&f) == path && f.lists == WR_CB_MAX_LISTS);
  o.list_bytes = (int64_t)1 << 20;
  wr_cb_settle(&f, &o);
  CHECK(f.lists % 8 == 0 && (f.lists - 8) * o.list_bytes < path && path <= f.lists * o.list_bytes);
  CHECK(wr_cb_bytes(&f) == ((int64_t)3 << 30) * 80 + 8 + (f.lists + 1) * 12 + ((int64_t)1 << 44));
  CHECK(wr_cb_layout(&f) >= wr_cb_bytes(&f) && wr_cb_layout(&f) < wr_cb_bytes(&f) + 6 * 128 && f.data == NULL);
  o.list_bytes = (int64_t)1 << 20;
  f.units = INT32_MAX, f.blocks = 1;
  wr_cb_settle(&f, &o);
  CHECK(!f.wide);
  f.units++;
  wr_cb_settle(&f, &o);
  CHECK(f.wide);
  f = wr_cb_shape(WR_MAX_INDEX, WR_MAX_INDEX, WR_CB_MAX_NNZ, WR_F64); /* the worst that is let in: each its own block */
  f.blocks = f.units = WR_CB_MAX_NNZ, f.aggregated = 1;
  o.list_bytes = 256;
  wr_cb_settle(&f, &o);
  CHECK(wr_cb_bytes(&f) > 0 && wr_cb_bytes(&f) < (int64_t)1 << 60 && wr_cb_layout(&f) < (int64_t)1 << 60);
  CHECK(wr_cb_path_bytes(&f) > 0 && wr_cb_path_bytes(&f) < (int64_t)1 << 60);
}

/* ---- Refusals ---- */

static void test_check(void) {
  const int64_t large = WR_MAX_INDEX, most = WR_CB_MAX_NNZ;
  wr_cb_options good = wr_cb_defaults(), bad;
  CASE("sizes and options");
#define CHECK_BAD(member, value) \
  bad = good, bad.member = (value); \
  CHECK_FAILS(WR_EUSAGE, wr_cb_check(9, 9, 9, &bad))
  CHECK_BAD(th0, -1);
  CHECK_BAD(th0, 101);
  CHECK_BAD(th1, -1);
  CHECK_BAD(th1, 129);
  CHECK_BAD(th2, 31);
  CHECK_BAD(th2, 258);
  CHECK_BAD(list_bytes, 255);
  CHECK_FAILS(WR_EUNAVAILABLE, wr_cb_check(0, 9, 9, &good));
  CHECK_FAILS(WR_EUNAVAILABLE, wr_cb_check(large + 1, 9, 9, &good));
  CHECK_FAILS(WR_EUNAVAILABLE, wr_cb_check(9, large + 1, 9, &good));
  CHECK_FAILS(WR_EUNAVAILABLE, wr_cb_check(9, 9, -1, &good));
  CHECK_FAILS(WR_EUNAVAILABLE, wr_cb_check(large, large, most + 1, &good));
  CHECK_OK(wr_cb_check(large, large, most, &good));
  good.list_bytes = 0;
  CHECK_OK(wr_cb_check(large, large, most, &good));
}

/* ---- Damage ---- */

/* The changed element must be refused; then its old value is restored. */
#define CHECK_DAMAGE(f, place, value)                           \
  do {                                                          \
    wr_csr *none = NULL;                                        \
    wr_cb_format whole = *(f);                                  \
    unsigned char kept[sizeof(place)];                          \
    memcpy(kept, &(place), sizeof(place));                      \
    (place) = (value);                                          \
    CHECK_FAILS(WR_EINTERNAL, wr_cb_decode((f), 1, &none));     \
    CHECK(none == NULL);                                        \
    memcpy(&(place), kept, sizeof(place));                      \
    *(f) = whole;                                               \
    CHECK_OK(wr_cb_decode((f), 1, &none));                      \
    wr_csr_free(none);                                          \
  } while (0)

static int of_each(int b) { return b % 3 == 0 ? 19 : b % 3 == 1 ? 35 : 200; }

static void test_damage(int aggregate) {
  wr_csr *A = make(of_each, 3, 0);
  wr_cb_options o = wr_cb_defaults();
  wr_cb_format f;
  CASE("damage");
  o.aggregate = aggregate ? WR_CB_ALWAYS : WR_CB_NEVER;
  build_on_host(A, &o, WR_F64, &f);
  int32_t *offset = f.offset, *list_block = f.list_block;
  uint8_t *coo = f.data, *csr = f.data + 16 * offset[1];
  double *dense = (double *)(f.data + 16 * offset[2]);
  CHECK(f.blocks == 3 && wr_cb_kind_of(f.block[0]) == WR_CB_COO && wr_cb_kind_of(f.block[1]) == WR_CB_CSR);
  CHECK_DAMAGE(&f, f.block[0], f.block[0] + 1);                          /* entries */
  CHECK_DAMAGE(&f, f.block[0], f.block[0] + (1 << 8));                   /* type */
  CHECK_DAMAGE(&f, f.block[2], f.block[2] + (1 << 8));                   /* no type at all */
  CHECK_DAMAGE(&f, f.block[1], f.block[1] + (1 << 10) * 3);              /* column */
  CHECK_DAMAGE(&f, f.block[1], f.block[2] + ((uint64_t)1 << 37));        /* row */
  CHECK_DAMAGE(&f, f.block[2], f.block[0]);
  CHECK_DAMAGE(&f, offset[0], 1);
  CHECK_DAMAGE(&f, offset[1], offset[1] + 1);
  CHECK_DAMAGE(&f, offset[1], -1);
  CHECK_DAMAGE(&f, offset[3], INT32_MAX);
  CHECK_DAMAGE(&f, coo[3], coo[2]);                                      /* twice the same place */
  CHECK_DAMAGE(&f, coo[20], 1);                                          /* padding before the values */
  CHECK_DAMAGE(&f, coo[24 + 8 * 19], 1);                                 /* and after them */
  CHECK_DAMAGE(&f, csr[0], 1);
  CHECK_DAMAGE(&f, csr[1], 200);
  CHECK_DAMAGE(&f, csr[2], 0);
  CHECK_DAMAGE(&f, csr[16 + 17], 0xf2);                                  /* the half byte that is not used */
  CHECK_DAMAGE(&f, dense[0], -0.0);                                      /* one entry less */
  CHECK_DAMAGE(&f, dense[255], 0.0);                                     /* one more */
  CHECK_DAMAGE(&f, dense[3], 2.0);                                       /* no pattern */
  CHECK_DAMAGE(&f, list_block[1], 3);
  CHECK_DAMAGE(&f, f.list_row[f.lists], 2);
  CHECK_DAMAGE(&f, f.nnz, f.nnz + 1);
  CHECK_DAMAGE(&f, f.nnz, 2);
  CHECK_DAMAGE(&f, f.brows, 4);
  CHECK_DAMAGE(&f, f.nrows, 47 - 16);
  CHECK_DAMAGE(&f, f.lists, f.lists + 1);
  CHECK_DAMAGE(&f, f.units, f.units - 1);
  CHECK_DAMAGE(&f, f.type, (wr_type)7);
  if (aggregate) {
    CHECK_DAMAGE(&f, f.restore_cols[3], f.restore_cols[2]);
    CHECK_DAMAGE(&f, f.restore_cols[47], 48);
    CHECK_DAMAGE(&f, f.restore_cols[0], -1);
  }
  wr_cb_free(&f);
  wr_csr_free(A);
}

/* Every allocation fails once. */
static void test_no_memory(void) {
  CASE("no memory");
  wr_csr *A = make(of_each, 4, 1), *B;
  wr_cb_options o = wr_cb_defaults();
  wr_cb_format f;
  build_on_host(A, &o, WR_F64, &f);
  wr_cb_format another = f;
  calls = 0, refused = 0;
  CHECK_FAILS(WR_ENOMEM, wr_cb_alloc(&another));
  CHECK(another.memory == NULL && another.block == NULL && another.data == NULL);
  calls = 0, refused = -1;
  CHECK_OK(wr_cb_alloc(&another));
  CHECKF(calls == 1, "%d allocations, of which 1 failed above", calls);
  wr_cb_free(&another);
  for (refused = 0; refused < 5; refused++) {
    calls = 0;
    CHECK_FAILS(WR_ENOMEM, wr_cb_decode(&f, 0, &B));
    CHECK(B == NULL);
  }
  calls = 0, refused = -1;
  CHECK_OK(wr_cb_decode(&f, 0, &B));
  CHECKF(calls == 5, "%d allocations, of which 5 failed above", calls);
  wr_csr_free(B);
  wr_cb_free(&f);
  wr_csr_free(A);
}

int main(void) {
  test_share();
  test_estimate();
  test_types();
  test_far();
  test_words();
  test_list_bytes();
  test_bytes();
  test_check();
  test_damage(0);
  test_damage(1);
  test_no_memory();
  return wr_test_report("cb_spmv_limits");
}
