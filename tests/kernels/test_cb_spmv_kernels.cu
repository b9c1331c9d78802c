/* The multiply with blocks of 16 x 16: every number of entries about a threshold, all types in one block row, matrices that
 * cut blocks, each option on and off, rows that thread blocks share, columns far apart. Values and x are small integers, so
 * every order of the sums gives the same bits. */
#include <math.h>

#include <vector>

#include "spmv/spmv.h"
#include "tests/kernels/on_device.h"
#include "tests/kernels/rule_matrix.h"

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

struct vectors {
  wr_env *env;
  wr_vec x = {}, y[2] = {};
  std::vector<double> in, before, sums, got;
  vectors(wr_env *e, const wr_csr *A)
      : env(e), in((size_t)A->ncols), before((size_t)A->nrows), sums((size_t)A->nrows), got((size_t)A->nrows) {
    CHECK_OK(env->ops->alloc(env, A->ncols, env->type, "x", &x));
    for (wr_vec &v : y) CHECK_OK(env->ops->alloc(env, A->nrows, env->type, "y", &v));
    for (int64_t i = 0; i < A->nrows; i++) before[(size_t)i] = (double)(i % 7);
  }
  ~vectors() {
    env->ops->release(env, &x);
    for (wr_vec &v : y) env->ops->release(env, &v);
  }
};

/* x, and A x. Spoiled: x holds an infinity and a NaN. */
static void set_x(const wr_csr *A, vectors &v, bool spoiled) {
  for (int64_t j = 0; j < A->ncols; j++) v.in[(size_t)j] = (double)(j * 5 % 13 - 6);
  if (spoiled) v.in[(size_t)A->ncols / 3] = INFINITY, v.in[(size_t)A->ncols - 1] = NAN;
  CHECK_OK(v.env->ops->upload(v.env, &v.x, v.in.data()));
  for (int64_t i = 0; i < A->nrows; i++) {
    double sum = 0;
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++)
      sum += (A->val ? A->val[k] : 1) * v.in[(size_t)A->col[k]];
    v.sums[(size_t)i] = sum;
  }
}

/* Checks y = alpha A x + beta (old y), bit for bit. */
static void check_result(wr_plan *plan, vectors &v, const wr_vec *y, double alpha, double beta) {
  size_t wrong = 0;
  CHECK_OK(v.env->ops->download(v.env, y, v.got.data()));
  for (; wrong < v.got.size(); wrong++) {
    double expected = alpha * v.sums[wrong] + (beta == 0 ? 0 : beta * v.before[wrong]);
    if (v.got[wrong] != expected && !(isnan(v.got[wrong]) && isnan(expected))) break;
  }
  CHECKF(wrong == v.got.size(), "%s, beta %g: y[%zu] = %g for a sum of %g", wr_plan_knobs(plan), beta, wrong,
         v.got[wrong], v.sums[wrong]);
}

/* With beta != 0, then into two buffers in turn, each multiply clearing the next one's. */
static void check_applies(wr_plan *plan, const wr_csr *A, vectors &v, bool spoiled) {
  wr_apply request = {};
  set_x(A, v, spoiled);
  wr_plan_forget(plan); /* the buffer that the last multiply has cleared */
  request.alpha = 2, request.beta = -3, request.x = &v.x, request.y = &v.y[0];
  CHECK_OK(v.env->ops->upload(v.env, &v.y[0], v.before.data()));
  CHECK_OK(wr_plan_apply(plan, &request));
  check_result(plan, v, &v.y[0], 2, -3);
  request.beta = 0;
  for (int n = 0; n < 3; n++) {
    request.y = &v.y[n % 2], request.y_next = &v.y[1 - n % 2];
    CHECK_OK(wr_plan_apply(plan, &request));
    check_result(plan, v, request.y, 2, 0);
  }
}

static const char *const choices[] = {
    "", "aggregate=never", "aggregate=always", "aggregate=always:th2=257", "aggregate=never:th1=1:th2=257",
    "aggregate=never:th1=1:th2=1:list=256", "aggregate=always:th1=1:list=300:offsets=wide",
    "formats=off:aggregate=never:stage=2432:list=600", "formats=off:balance=off:commit=ordered:list=256",
    "th1=33:th2=240:aggregate=never:list=2000:stage=16384", "aggregate=always:balance=off:prefetch=off:list=1000",
    "aggregate=never:list=256:commit=dual:th1=32", "aggregate=always:list=256:commit=dual:th1=32",
    "aggregate=never:list=256:commit=ordered:offsets=wide:th1=32"};

static void test_choice(wr_env *env, const char *knobs, wr_csr *A, bool spoil) {
  const wr_backend *backend = nullptr;
  wr_plan *plan = nullptr;
  CHECK_OK(wr_backend_find("cb_spmv", &backend));
  CHECK_OK(wr_plan_create(backend, knobs, A, env, &plan));
  if (plan == nullptr) return;
  CHECK_OK(wr_plan_prepare(plan));
  vectors v(env, A);
  check_applies(plan, A, v, false);
  if (spoil) check_applies(plan, A, v, true);
  wr_plan_destroy(plan);
}

static void test_shapes(wr_env *env) {
  for (const shape &s : shapes)
    for (int pattern = 0; pattern < 2; pattern++) {
      CASE(s.name);
      wr_csr *A = pattern && env->type == WR_F64 ? nullptr : make_matrix(s, pattern);
      for (const char *knobs : choices)
        if (A) test_choice(env, knobs, A, true);
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
    test_choice(env, "aggregate=never:list=1048576", A, false);
  else
    test_choice(env, "aggregate=always:list=1048576:offsets=wide", A, false);
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
    test_choice(env, knobs, A, true);
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
