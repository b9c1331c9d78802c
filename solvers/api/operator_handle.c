/* Multiplying by windrow.h. */
#include <math.h>

#include "config/argument.h"
#include "config/defaults.h"
#include "config/memory.h"
#include "solvers/api/session.h"

struct wr_operator {
  wr_matrix *A;
  wr_csr rows; /* of A, with device views of its own */
  wr_session session;
  wr_plan *plan;
  wr_vec x, y;
};

static wr_status build(const char *function, const wr_matrix *A, const wr_operator_options *o, wr_operator *op) {
  int precision;
  wr_env *env = &op->session.env;
  PASS(wr_word_choose(function, "options->precision", o->precision, "f64|f32", &precision));
  op->A = wr_matrix_hold(A, &op->rows);
  PASS(wr_csr_check_range(&op->rows, precision == 1));
  const wr_place_options place = {.backend = o->backend, .device = o->device, .type = precision == 1 ? WR_F32 : WR_F64,
                                  .threads = o->threads, .deterministic = o->deterministic, .need_beta = 1};
  PASS(wr_session_open(function, &place, &op->session));
  const wr_plan_use use = {.multiplies = WR_EXPECTED_MULTIPLIES};
  PASS(wr_session_plan(&op->session, &op->rows, &use, NULL, &op->plan));
  PASS(env->ops->alloc(env, op->rows.ncols, env->type, "a vector", &op->x));
  return env->ops->alloc(env, op->rows.nrows, env->type, "a vector", &op->y);
}

wr_status wr_operator_new(const wr_matrix *A, const wr_operator_options *options, wr_operator **op) {
  wr_status status;
  wr_operator_options o;
  wr_operator *made = NULL;
  int before = 0;
  WR_NEED(op);
  *op = NULL;
  WR_NEED_OK(wr_matrix_check(__func__, A));
  TRY(wr_struct_take(__func__, "options", options, &o, sizeof o));
  TRY(wr_threads_enter(__func__, "options->threads", A->csr->nnz, &o.threads, &before));
  TRY(wr_alloc_zeroed(&made, 1, sizeof *made, "an operator"));
  TRY(build(__func__, A, &o, made));
  *op = made, made = NULL;
done:
  wr_threads_leave(before);
  wr_operator_free(made);
  return status;
}

void wr_operator_free(wr_operator *op) {
  if (op == NULL) return;
  wr_env *env = &op->session.env;
  if (env->ops) env->ops->release(env, &op->x), env->ops->release(env, &op->y);
  wr_plan_destroy(op->plan);
  wr_csr_device_free(op->rows.device);
  wr_session_close(&op->session);
  wr_matrix_free(op->A);
  wr_free(op);
}

wr_status wr_operator_apply(wr_operator *op, double alpha, const double *x, double beta, double *y) {
  WR_NEED(op);
  WR_REFUSE_IF(!isfinite(alpha), "alpha is %g", alpha);
  WR_NEED(x);
  WR_REFUSE_IF(!isfinite(beta), "beta is %g", beta);
  WR_NEED(y);
  WR_REFUSE_IF(x == y, "x and y are one array");
  wr_env *env = &op->session.env;
  PASS(env->ops->upload(env, &op->x, x));
  if (beta != 0) PASS(env->ops->upload(env, &op->y, y));
  PASS(wr_plan_apply(op->plan, &(wr_apply){.alpha = alpha, .beta = beta, .x = &op->x, .y = &op->y}));
  return env->ops->download(env, &op->y, y);
}
