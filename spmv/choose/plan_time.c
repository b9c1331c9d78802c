#include "spmv/choose/plan_time.h"

#include <math.h>

enum { ROUNDS = 5, MOST_REPEATS = 1000 };
static const double batch_seconds = 1e-3; /* the 1 us of a device's stamp does not matter */

/* Seconds of a multiply, the mean of `count`. Writes two vectors in turn, as solvers do where a backend clears y_next. */
static wr_status time_batch(wr_env *env, wr_plan *plan, const wr_vec *x, wr_vec y[2], int count, double *seconds) {
  int clears = (wr_plan_backend(plan)->caps & WR_CAP_Y_NEXT) != 0;
  PASS(env->ops->stamp(env, 0));
  for (int k = 0; k < count; k++)
    PASS(wr_plan_apply(plan, &(wr_apply){.alpha = 1, .x = x, .y = &y[k % 2], .y_next = clears ? &y[1 - k % 2] : NULL}));
  PASS(env->ops->stamp(env, 1));
  wr_plan_forget(plan); /* the other plan writes the same vectors */
  PASS(env->ops->elapsed(env, 0, 1, seconds));
  *seconds /= count;
  return WR_OK;
}

wr_status wr_plans_time(const wr_csr *A, wr_env *env, wr_plan *const plans[2], double seconds[2]) {
  wr_status status;
  wr_vec x = {0}, y[2] = {{0}, {0}};
  int repeats[2];
  double taken;
  TRY(env->ops->alloc(env, A->ncols, env->type, "timing two backends", &x));
  TRY(env->ops->fill(env, &x, 1));
  for (int k = 0; k < 2; k++) TRY(env->ops->alloc(env, A->nrows, env->type, "timing two backends", &y[k]));
  for (int k = 0; k < 2; k++) { /* the first multiply of each also loads its kernel */
    TRY(time_batch(env, plans[k], &x, y, 1, &taken));
    TRY(time_batch(env, plans[k], &x, y, 1, &taken));
    repeats[k] = (int)fmin(MOST_REPEATS, ceil(batch_seconds / fmax(taken, batch_seconds / MOST_REPEATS)));
    seconds[k] = INFINITY;
  }
  for (int round = 0; round < 2 * ROUNDS; round++) {
    int k = round % 2;
    TRY(time_batch(env, plans[k], &x, y, repeats[k], &taken));
    seconds[k] = fmin(seconds[k], taken);
  }
done:
  for (int k = 0; k < 2; k++) env->ops->release(env, &y[k]);
  env->ops->release(env, &x);
  return status;
}
