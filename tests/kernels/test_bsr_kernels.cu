/* The report's four kernels with blocks of every size up to 8 x 8, and the largest, on matrices that no size divides. Values
 * and x are small integers, so every order of the sums gives the same bits. */
#include <math.h>
#include <stdio.h>

#include <vector>

#include "spmv/spmv.h"
#include "tests/kernels/on_device.h"
#include "tests/kernels/rule_matrix.h"

static int scattered(int64_t i, int64_t j) { return hash_of(i, j) % 40 == 0; }
static int one_row(int64_t i, int64_t) { return i == 5; }
static int mostly_empty(int64_t i, int64_t j) { return (i < 3 || i == 70) && j > 8; }
static int blocks_of_four(int64_t i, int64_t j) { return hash_of(i / 4, j / 4) % 5 == 0; }

static const shape shapes[] = {{"scattered entries", 59, 43, scattered},
              {"one row holds everything", 11, 5003, one_row},
              {"rows without entries", 103, 13, mostly_empty},
              {"blocks", 47, 61, blocks_of_four}};

struct vectors {
  wr_env *env;
  wr_vec x = {}, y = {};
  std::vector<double> in, before, expected, got;
  vectors(wr_env *e, const wr_csr *A)
      : env(e), in((size_t)A->ncols), before((size_t)A->nrows), expected((size_t)A->nrows), got((size_t)A->nrows) {
    CHECK_OK(env->ops->alloc(env, A->ncols, env->type, "x", &x));
    CHECK_OK(env->ops->alloc(env, A->nrows, env->type, "y", &y));
  }
  ~vectors() {
    env->ops->release(env, &x);
    env->ops->release(env, &y);
  }
};

/* y = 2 A x - 3 y; x holds an infinity and a NaN if spoiled. */
static void check_apply(wr_plan *plan, const wr_csr *A, vectors &v, bool spoiled) {
  for (int64_t j = 0; j < A->ncols; j++) v.in[(size_t)j] = (double)(j * 5 % 13 - 6);
  if (spoiled) v.in[(size_t)A->ncols / 3] = INFINITY, v.in[(size_t)A->ncols - 1] = NAN;
  int64_t wrong = 0;
  for (int64_t i = 0; i < A->nrows; i++) {
    double sum = 0;
    v.before[(size_t)i] = (double)(i % 7);
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++)
      sum += (A->val ? A->val[k] : 1) * v.in[(size_t)A->col[k]];
    v.expected[(size_t)i] = 2 * sum - 3 * v.before[(size_t)i];
  }
  wr_apply request = {};
  request.alpha = 2, request.beta = -3, request.x = &v.x, request.y = &v.y;
  CHECK_OK(v.env->ops->upload(v.env, &v.x, v.in.data()));
  CHECK_OK(v.env->ops->upload(v.env, &v.y, v.before.data()));
  CHECK_OK(wr_plan_apply(plan, &request));
  CHECK_OK(v.env->ops->download(v.env, &v.y, v.got.data()));
  while (wrong < A->nrows && (v.got[(size_t)wrong] == v.expected[(size_t)wrong] ||
                              (isnan(v.got[(size_t)wrong]) && isnan(v.expected[(size_t)wrong]))))
    wrong++;
  CHECKF(wrong == A->nrows, "%s, spoiled %d: y[%lld] = %g, not %g", wr_plan_knobs(plan), spoiled, (long long)wrong,
         v.got[(size_t)wrong], v.expected[(size_t)wrong]);
}

static void check_size(wr_env *env, const wr_backend *backend, const char *more, wr_csr *A, int r, int c) {
  char knobs[120];
  wr_plan *plan = nullptr;
  vectors v(env, A);
  /* few tasks with one, many with the other */
  snprintf(knobs, sizeof knobs, "r=%d:c=%d:block=%d:oversubscription=%d%s", r, c, r % 2 ? 32 : 128, c % 2 ? 16 : 1,
           more);
  CHECK_OK(wr_plan_create(backend, knobs, A, env, &plan));
  if (plan == nullptr) return;
  CHECK_OK(wr_plan_prepare(plan));
  check_apply(plan, A, v, false);
  check_apply(plan, A, v, true);
  wr_plan_destroy(plan);
}

/* more: further knobs. */
static void test_backend(wr_env *env, const char *name, const char *more) {
  static const int others[][2] = {{16, 16}, {16, 1}, {1, 16}, {13, 3}, {2, 11}};
  const wr_backend *backend = nullptr;
  CHECK_OK(wr_backend_find(name, &backend));
  for (const shape &s : shapes) {
    CASE(s.name);
    wr_csr *A = make_matrix(s, env->type == WR_F32 && s.has == blocks_of_four);
    if (A == nullptr) continue;
    for (int r = 1; r <= 8; r++)
      for (int c = 1; c <= 8; c++) check_size(env, backend, more, A, r, c);
    for (const auto &o : others) check_size(env, backend, more, A, o[0], o[1]);
    wr_csr_free(A);
  }
}

static void test_device(wr_env *env) {
  for (const char *name : {"bsr_row_major", "bsr_private", "bsr_team"}) test_backend(env, name, "");
  for (const char *more : {"", ":layout=report", ":commit=ordered", ":values=full"})
    test_backend(env, "bsr_unrolled", more);
}

int main(void) {
  on_device(test_device);
  return wr_test_report("bsr_kernels");
}
