/* A backend from outside: a const table of functions, and no registry. What it leaves out (here beta) the library does. */
#include <stdio.h>
#include <windrow/deep.h>

static wr_status check(const wr_env *env, const wr_csr *A, const void *knobs) {
  return (void)env, (void)A, (void)knobs, WR_OK; /* it takes what its caps say */
}

static wr_status plan(const wr_env *env, const wr_csr *A, const void *knobs, wr_plan_info *info) {
  *info = (wr_plan_info){.deterministic = 1, .borrowed_bytes = 12 * A->nnz + 8 * (A->nrows + 1)};
  return (void)env, (void)knobs, WR_OK;
}

/* The state is the matrix itself; a format of one's own would be built here. */
static wr_status prepare(void *state, wr_env *env, wr_csr *A, const void *knobs, wr_plan_info *info) {
  *(const wr_csr **)state = A;
  return (void)env, (void)knobs, (void)info, WR_OK;
}

static wr_status apply(void *state, wr_env *env, const wr_apply_args *args) {
  const wr_csr *A = *(const wr_csr **)state;
  const double *x = args->request.x->data;
  double *y = args->request.y->data;
  for (int64_t i = 0; i < A->nrows; i++) {
    double sum = 0;
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) sum += A->val[k] * x[A->col[k]];
    y[i] = args->request.alpha * sum;
  }
  return (void)env, WR_OK;
}

static void destroy(void *state, wr_env *env) { (void)state, (void)env; }

static const wr_backend mine = {
    .name = "mine", .summary = "plain rows", .source = "", .place = WR_HOST, .caps = WR_CAP_F64, .check = check,
    .plan = plan, .prepare = prepare, .apply = apply, .destroy = destroy, .state_size = sizeof(wr_csr *)};

int main(void) { /* y = 2 A x + 10 y with A = [1 2; 3 0], x = [5 6], y = [1 2] */
  double a[] = {1, 2, 3}, start[2][2] = {{5, 6}, {1, 2}}, answer[2];
  wr_csr A = {.nrows = 2, .ncols = 2, .nnz = 3, .row_ptr = (int64_t[]){0, 2, 3}, .col = (int32_t[]){0, 1, 0}, .val = a};
  wr_env env = {.place = WR_HOST, .type = WR_F64, .need_beta = 1};
  wr_vec v[2] = {{0}}; /* x and y */
  wr_status status;
  wr_plan *p = NULL;
  TRY(wr_env_open(&env));
  for (int k = 0; k < 2; k++) TRY(env.ops->alloc(&env, 2, WR_F64, "a vector", &v[k]));
  for (int k = 0; k < 2; k++) TRY(env.ops->upload(&env, &v[k], start[k]));
  TRY(wr_plan_create(&mine, NULL, &A, &env, &p));
  TRY(wr_plan_prepare(p));
  TRY(wr_plan_apply(p, &(wr_apply){.alpha = 2, .beta = 10, .x = &v[0], .y = &v[1]}));
  TRY(env.ops->download(&env, &v[1], answer));
  printf("%s: y = %g %g\n", wr_plan_backend(p)->name, answer[0], answer[1]);
done:
  if (status != WR_OK) fprintf(stderr, "own_backend: %s\n", wr_status_message());
  wr_plan_destroy(p);
  for (int k = 0; k < 2 && env.ops; k++) env.ops->release(&env, &v[k]);
  wr_env_close(&env);
  return wr_status_exit_code(status);
}
