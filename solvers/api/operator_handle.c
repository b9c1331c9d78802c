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
  wr_vec given_x, given_y; /* f64, where x and y are not and a caller's are on a device; not allocated before */
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
  wr_vec *const vectors[] = {&op->x, &op->y, &op->given_x, &op->given_y};
  for (int k = 0; env->ops && k < 4; k++) env->ops->release(env, vectors[k]);
  wr_plan_destroy(op->plan);
  wr_csr_device_free(op->rows.device);
  wr_session_close(&op->session);
  wr_matrix_free(op->A);
  wr_free(op);
}

static wr_status check_apply(const char *function, const wr_operator *op, double alpha, const double *x, double beta,
                             const double *y) {
  if (op == NULL) return wr_refuse(function, "op is NULL");
  if (!isfinite(alpha)) return wr_refuse(function, "alpha is %g", alpha);
  if (x == NULL) return wr_refuse(function, "x is NULL");
  if (!isfinite(beta)) return wr_refuse(function, "beta is %g", beta);
  if (y == NULL) return wr_refuse(function, "y is NULL");
  return x == y ? wr_refuse(function, "x and y are one array") : WR_OK;
}

static wr_status multiply(wr_operator *op, double alpha, double beta) {
  return wr_plan_apply(op->plan, &(wr_apply){.alpha = alpha, .beta = beta, .x = &op->x, .y = &op->y});
}

wr_status wr_operator_apply(wr_operator *op, double alpha, const double *x, double beta, double *y) {
  PASS(check_apply(__func__, op, alpha, x, beta, y));
  wr_env *env = &op->session.env;
  PASS(env->ops->upload(env, &op->x, x));
  if (beta != 0) PASS(env->ops->upload(env, &op->y, y));
  PASS(multiply(op, alpha, beta));
  return env->ops->download(env, &op->y, y);
}

/* v := a caller's array on the device, through `given` where v is not f64. */
static wr_status take(wr_env *env, const double *address, wr_vec *given, wr_vec *v) {
  if (v->type == WR_F64) return env->ops->take(env, v, address);
  PASS(env->ops->take(env, given, address));
  return env->ops->recast(env, &(wr_recast){.in = {given}, .c = {1}, .out = v});
}

static wr_status give(wr_env *env, const wr_vec *v, wr_vec *given, double *address) {
  if (v->type == WR_F64) return env->ops->give(env, v, address);
  PASS(env->ops->recast(env, &(wr_recast){.in = {v}, .c = {1}, .out = given}));
  return env->ops->give(env, given, address);
}

wr_status wr_operator_apply_device(wr_operator *op, double alpha, const double *x, double beta, double *y) {
  static const char *const names[] = {"x", "y"};
  const double *const arrays[] = {x, y};
  PASS(check_apply(__func__, op, alpha, x, beta, y));
  PASS(wr_session_check_arrays(__func__, &op->session, 2, arrays, names));
  wr_env *env = &op->session.env;
  int is_f64 = env->type == WR_F64;
  if (!is_f64 && op->given_x.id == 0) PASS(env->ops->alloc(env, op->x.n, WR_F64, "a vector", &op->given_x));
  if (!is_f64 && op->given_y.id == 0) PASS(env->ops->alloc(env, op->y.n, WR_F64, "a vector", &op->given_y));
  PASS(take(env, x, &op->given_x, &op->x));
  if (beta != 0) PASS(take(env, y, &op->given_y, &op->y));
  PASS(multiply(op, alpha, beta));
  return give(env, &op->y, &op->given_y, y);
}
