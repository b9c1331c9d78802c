/* Multiplies with small integers, so that every order of the sums gives the same bits: plans of a backend with knobs, checked
 * bit for bit. */
#ifndef WR_INTEGER_APPLIES_H
#define WR_INTEGER_APPLIES_H

#include <math.h>

#include <vector>

#include "spmv/spmv.h"
#include "tests/kernels/on_device.h"
#include "tests/kernels/rule_matrix.h"

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
static inline void set_x(const wr_csr *A, vectors &v, bool spoiled) {
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
static inline void check_result(wr_plan *plan, vectors &v, const wr_vec *y, double alpha, double beta) {
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
static inline void check_applies(wr_plan *plan, const wr_csr *A, vectors &v, bool spoiled) {
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

static inline void check_choice(wr_env *env, const char *name, const char *knobs, wr_csr *A, bool spoil) {
  const wr_backend *backend = nullptr;
  wr_plan *plan = nullptr;
  CHECK_OK(wr_backend_find(name, &backend));
  CHECK_OK(wr_plan_create(backend, knobs, A, env, &plan));
  if (plan == nullptr) return;
  CHECK_OK(wr_plan_prepare(plan));
  vectors v(env, A);
  check_applies(plan, A, v, false);
  if (spoil) check_applies(plan, A, v, true);
  wr_plan_destroy(plan);
}

#endif
