/* The multiply with blocks of 16 x 16: every number of entries about a threshold, all types in one block row, matrices that
 * cut blocks, each option on and off, rows that thread blocks share, columns far apart. Values and x are small integers, so
 * every order of the sums gives the same bits. */
#include "tests/kernels/integer_applies.h"

/* Blocks with given numbers of entries, at pseudo-random places: all three types in a block row. */
static int every_fill(int64_t i, int64_t j) {
  static const int fills[] = {1, 8, 31, 32, 33, 127, 128, 129, 239, 240, 255, 256, 0, 16, 64, 2, 200, 100};
  return (i % 16 * 16 + j % 16) * 77 % 256 < fills[(i / 16 * 5 + j / 16) % 18];
}
static int scattered(int64_t i, int64_t j) { return hash_of(i, j) % 40 == 0; }
static int one_row(int64_t i, int64_t j) { return i == 5 || (i == 20 && j == 3); }
static int one_block_row(int64_t i, int64_t j) { return i / 16 == 1 && hash_of(i, j) % 3 != 0; }
static int diagonal(int64_t i, int64_t j) { return i % 60 == j; }
static int mostly_empty(int64_t i, int64_t j) { return (i < 3 || i == 470) && j > 8; }
static int same_columns(int64_t i, int64_t j) { return hash_of(i / 16, j) % 5 == 0; } /* dense after aggregation */
static int full(int64_t, int64_t) { return 1; }
static int nothing(int64_t, int64_t) { return 0; }

static const shape shapes[] = {{"every fill", 96, 288, every_fill},        {"every fill, cut", 75, 281, every_fill},
              {"scattered entries", 159, 143, scattered}, {"one row", 37, 5003, one_row},
              {"one block row", 50, 901, one_block_row},  {"the diagonal again and again", 500, 60, diagonal},
              {"empty block rows", 503, 33, mostly_empty}, {"the same columns", 65, 300, same_columns},
              {"dense", 37, 50, full},                    {"one place", 1, 1, full},
              {"no entries", 40, 7, nothing}};

static const char *const choices[] = {
    "", "aggregate=never", "aggregate=always", "aggregate=always:th2=257", "aggregate=never:th1=1:th2=257",
    "aggregate=never:th1=1:th2=1:list=256", "aggregate=always:th1=1:list=300:offsets=wide",
    "formats=off:aggregate=never:stage=2432:list=600", "formats=off:balance=off:commit=ordered:list=256",
    "th1=33:th2=240:aggregate=never:list=2000:stage=16384", "aggregate=always:balance=off:prefetch=off:list=1000",
    "aggregate=never:list=256:commit=dual:th1=32", "aggregate=always:list=256:commit=dual:th1=32",
    "aggregate=never:list=256:commit=ordered:offsets=wide:th1=32"};

static void test_shapes(wr_env *env) {
  for (const shape &s : shapes)
    for (int pattern = 0; pattern < 2; pattern++) {
      CASE(s.name);
      wr_csr *A = pattern && env->type == WR_F64 ? nullptr : make_matrix(s, pattern);
      for (const char *knobs : choices)
        if (A) check_choice(env, "cb_spmv", knobs, A, true);
      wr_csr_free(A);
    }
}

/* Entries in the corners and around the middle of 62501 x 68751 blocks, 4.3 * 10^9. */
static void test_far(wr_env *env) {
  static const int64_t rows[] = {0, 0, 17, 524288, 524289, 1000004, 1000004, 1000004};
  static const int32_t cols[] = {3, 1100002, 1099999, 0, 550000, 15, 16, 1100002};
  wr_csr *A = nullptr;
  CASE("columns far apart");
  CHECK_OK(wr_csr_create(1000005, 1100003, 8, 1, &A));
  if (A == nullptr) return;
  for (int e = 0; e < 8; e++) A->row_ptr[rows[e] + 1]++, A->col[e] = cols[e], A->val[e] = e + 1;
  for (int64_t i = 0; i < A->nrows; i++) A->row_ptr[i + 1] += A->row_ptr[i];
  if (env->type == WR_F32)
    check_choice(env, "cb_spmv", "aggregate=never:list=1048576", A, false);
  else
    check_choice(env, "cb_spmv", "aggregate=always:list=1048576:offsets=wide", A, false);
  wr_csr_free(A);
}

/* Rows of 30000 entries in hundreds of thread blocks, with parts added to y and in order. */
static void test_long(wr_env *env) {
  const int64_t ncols = 30000;
  wr_csr *A = nullptr;
  CASE("long rows");
  CHECK_OK(wr_csr_create(20, ncols, 3 * ncols, 1, &A));
  if (A == nullptr) return;
  for (int64_t i = 0; i < 20; i++) {
    int64_t begin = A->row_ptr[i], any = i == 2 || i == 9 || i == 18;
    for (int64_t j = 0; j < ncols && any; j++) A->col[begin + j] = (int32_t)j, A->val[begin + j] = (double)(j % 3 - 1);
    A->row_ptr[i + 1] = begin + (any ? ncols : 0);
  }
  for (const char *knobs : {"list=512:commit=dual", "list=512:commit=ordered", "aggregate=always:list=512"})
    check_choice(env, "cb_spmv", knobs, A, true);
  wr_csr_free(A);
}

static void test_device(wr_env *env) {
  test_shapes(env);
  test_far(env);
  test_long(env);
}

int main(void) {
  on_device(test_device);
  return wr_test_report("cb_spmv_kernels");
}
