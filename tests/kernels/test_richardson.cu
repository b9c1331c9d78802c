/* A new method in one file, as an example: Richardson's iteration x := x + M^-1 (b - A x) with a preconditioner M, its
 * scalars, its step, and the loop that a device repeats. It is checked against the same iteration on plain arrays. The
 * preconditioner is Jacobi's, then the same as a function of the caller's. */
#include <math.h>

#include "data/generate.h"
#include "solvers/precond.h"
#include "spmv/kernel/steps.cuh"
#include "spmv/loop/loop.h"
#include "spmv/spmv.h"
#include "tests/kernels/on_device.h"

/* ---- The method ---- */

typedef struct richardson_scalars {
  double rr, bound;     /* ||b - A x||^2, and the value at which the solve ends     */
  double one;           /* 1: the coefficient of b in the residual                  */
  double rounds, limit; /* iterations taken and allowed                             */
  double goes_on;       /* 1 or 0                                                   */
} richardson_scalars;

/* The step behind an iteration. */
WR_STEP void wr_richardson(richardson_scalars *s, wr_step_request *request) {
  s->rounds = s->rounds + 1;
  s->goes_on = wr_step_decide(request, (s->bound < s->rr) & (s->rounds < s->limit));
}
WR_STEP_KERNEL(richardson, richardson_scalars);

typedef struct richardson {
  wr_env *env;
  wr_plan *plan;
  wr_precond *precond;
  wr_vec x, r, z, b, bank;
  wr_loop *loop; /* NULL: the host calls every iteration */
} richardson;

/* r := b - A x and its norm; then the step. */
static wr_status find_residual(richardson *m, wr_then then) {
  wr_epilogue e = {};
  wr_apply apply = {};
  e.shift = {&m->bank, WR_SCALAR_INDEX(richardson_scalars, one)}, e.shift_dir = &m->b;
  e.reduce[0] = {WR_NRM2SQ, nullptr, nullptr, {&m->bank, WR_SCALAR_INDEX(richardson_scalars, rr)}};
  e.then = then;
  apply.alpha = -1, apply.x = &m->x, apply.y = &m->r, apply.epilogue = &e;
  return wr_plan_apply(m->plan, &apply);
}

/* z := M^-1 r; x := x + z; r := b - A x. */
static wr_status iterate(richardson *m) {
  wr_status status;
  wr_precond_request precondition = {};
  wr_fused add = {};
  precondition.r = &m->r, precondition.z = &m->z;
  add.in[0] = &m->x, add.in[1] = &m->z, add.out[0] = &m->x;
  add.c[0][0].factor = add.c[0][1].factor = 1;
  TRY(wr_precond_apply(m->precond, &precondition));
  TRY(m->env->ops->fused(m->env, &add));
  TRY(find_residual(m, {&wr_step_richardson, &m->bank, nullptr}));
done:
  return status;
}

static wr_status record(richardson *m) {
  wr_status status;
  const wr_vecops *ops = m->env->ops;
  wr_loop_request request = {};
  request.parts = 1, request.bank = &m->bank, request.left[0][0] = &m->x, request.left[0][1] = &m->r;
  TRY(ops->loop_open(m->env, &request, &m->loop));
  TRY(iterate(m));
  TRY(ops->loop_close(m->env, m->loop));
done:
  wr_plan_forget(m->plan);
  return status;
}

static wr_status solve(richardson *m, double tolerance, double limit, richardson_scalars *s) {
  wr_status status;
  const wr_vecops *ops = m->env->ops;
  int ended = 0;
  *s = {0, 0, 1, 0, limit, 1};
  TRY(ops->fill(m->env, &m->x, 0));
  TRY(ops->upload(m->env, &m->bank, (const double *)s));
  TRY(find_residual(m, {nullptr, nullptr, nullptr}));
  TRY(ops->download(m->env, &m->bank, (double *)s));
  s->bound = tolerance * tolerance * s->rr;
  TRY(ops->upload(m->env, &m->bank, (const double *)s));
  if (m->loop) {
    TRY(ops->loop_run(m->env, m->loop));
    while (!ended) TRY(ops->loop_poll(m->env, m->loop, &m->bank, (double *)s, &ended));
  }
  while (!m->loop && s->goes_on != 0) {
    TRY(iterate(m));
    TRY(ops->download(m->env, &m->bank, (double *)s));
  }
done:
  return status;
}

/* ---- The same on plain arrays. Returns the iterations taken; x := the answer ---- */

static int plain(const wr_csr *A, const double *b, double tolerance, double *x) {
  int64_t n = A->nrows;
  int rounds = 0;
  double first = 0, rr = INFINITY, *next = (double *)calloc((size_t)n, sizeof *next);
  for (int64_t i = 0; i < n; i++) x[i] = 0, first += b[i] * b[i];
  while (rr > tolerance * tolerance * first && rounds < 1000) {
    for (int pass = 0; pass < 2; pass++) { /* a step, then the residual */
      rr = 0;
      for (int64_t i = 0; i < n; i++) {
        double r = b[i], d = 1;
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
          r -= A->val[k] * x[A->col[k]];
          if (A->col[k] == i) d = A->val[k];
        }
        next[i] = x[i] + r / d, rr += r * r;
      }
      if (pass == 0) memcpy(x, next, (size_t)n * sizeof *x);
    }
    rounds++;
  }
  free(next);
  return rounds;
}

/* ---- Tests ---- */

static wr_status scale_by(void *context, wr_env *env, const wr_precond_request *request) {
  return wr_precond_scale(env, (const wr_vec *)context, request);
}

/* Both iterations converge linearly, so rounding changes their number by one at most. With relative residual t, the error of
 * x is at most t times the condition number, which is below 10 for this diagonally dominant A (the sum of the other |a_ij|
 * of a row is at most 0.75 of its diagonal). */
static void compare(richardson *m, const wr_csr *A, const double *b, double tolerance) {
  richardson_scalars s;
  double *x = (double *)calloc((size_t)A->nrows, sizeof *x), *expected = (double *)calloc((size_t)A->nrows, sizeof *x);
  double error = 0, size = 0;
  int rounds = plain(A, b, tolerance, expected);
  CHECK_OK(solve(m, tolerance, 1000, &s));
  CHECKF(fabs(s.rounds - rounds) <= 1 && rounds > 5 && rounds < 1000, "%g iterations, %d on plain arrays", s.rounds,
         rounds);
  CHECK(s.rr <= s.bound && s.goes_on == 0);
  CHECK_OK(m->env->ops->download(m->env, &m->x, x));
  for (int64_t i = 0; i < A->nrows; i++)
    error += (x[i] - expected[i]) * (x[i] - expected[i]), size += expected[i] * expected[i];
  CHECKF(sqrt(error) <= 2 * 10 * tolerance * sqrt(size), "||x - expected|| is %g ||expected||", sqrt(error / size));
  free(x), free(expected);
}

/* A stencil matrix with diagonal elements of 4/3, 5/3 or 2 times the sum of the other |a_ij| of the row. */
static wr_csr *dominant(int64_t n) {
  wr_csr *A = nullptr;
  char name[64];
  snprintf(name, sizeof name, "gen:stencil:n=%lld,points=5", (long long)n);
  CHECK_OK(wr_generate(name, 1, &A));
  for (int64_t i = 0; i < A->nrows; i++) {
    double others = 0;
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) others += A->col[k] == i ? 0 : fabs(A->val[k]);
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++)
      if (A->col[k] == i) A->val[k] = (4 + (double)(i % 3)) / 3 * others;
  }
  return A;
}

static void test_with(wr_env *env, const char *backend, wr_csr *A, const double *b) {
  const wr_backend *of = nullptr;
  richardson m = {};
  double tolerance = env->type == WR_F32 ? 1e-4 : 1e-9;
  int64_t n = A->nrows;
  m.env = env;
  wr_vec *const vectors[] = {&m.x, &m.r, &m.z, &m.b};
  for (wr_vec *v : vectors) CHECK_OK(env->ops->alloc(env, n, env->type, "a vector", v));
  CHECK_OK(env->ops->alloc(env, WR_SCALAR_COUNT(richardson_scalars), WR_F64, "a bank", &m.bank));
  CHECK_OK(env->ops->upload(env, &m.b, b));
  CHECK_OK(wr_backend_find(backend, &of));
  CHECK_OK(wr_plan_create(of, nullptr, A, env, &m.plan));
  CHECK_OK(wr_plan_prepare(m.plan));
  CHECK_OK(wr_precond_create(&wr_precond_jacobi, nullptr, A, env, &m.precond));
  CASE("the host calls every iteration");
  compare(&m, A, b, tolerance);
  CASE("the device repeats the iterations");
  if (env->ops->loop_open) CHECK_OK(record(&m));
  for (int time = 0; time < 2 && m.loop; time++) compare(&m, A, b, tolerance);
  if (m.loop) env->ops->loop_free(env, m.loop);
  m.loop = nullptr;
  CASE("a preconditioner of the caller's");
  wr_precond_destroy(m.precond);
  wr_vec inverse = {};
  double *values = (double *)calloc((size_t)n, sizeof *values);
  CHECK_OK(env->ops->alloc(env, n, env->type, "a diagonal", &inverse));
  CHECK_OK(wr_precond_jacobi.diagonal(A, nullptr, values));
  CHECK_OK(env->ops->upload(env, &inverse, values));
  CHECK_OK(wr_precond_of_function(scale_by, &inverse, n, env, &m.precond));
  compare(&m, A, b, tolerance);
  wr_precond_destroy(m.precond);
  wr_plan_destroy(m.plan);
  for (wr_vec *v : vectors) env->ops->release(env, v);
  env->ops->release(env, &m.bank), env->ops->release(env, &inverse);
  free(values);
}

static void test_richardson(wr_env *env) {
  static const int64_t sides[] = {3, 40};
  wr_env host = {};
  host.place = WR_HOST, host.type = env->type, host.threads = 1;
  CHECK_OK(wr_env_open(&host));
  for (int64_t side : sides) {
    wr_csr *A = dominant(side);
    double *b = (double *)calloc((size_t)A->nrows, sizeof *b);
    for (int64_t i = 0; i < A->nrows; i++) b[i] = 1 + (double)(i * 7 % 11) / 10;
    test_with(env, "csr_warp", A, b);
    test_with(env, "merbit", A, b);
    test_with(&host, "cpu_csr", A, b);
    wr_csr_free(A);
    free(b);
  }
  wr_env_close(&host);
}

int main(void) {
  on_device(test_richardson);
  return wr_test_report("richardson");
}
