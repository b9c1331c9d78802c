/* Solves with one plan, one pattern and changing values:  new_values [cuda]
 * Heat in a rod of N cells, by implicit steps of growing length c: (1 + 2c) u[i] - c u[i-1] - c u[i+1] = u[i] before. */
#include <math.h>
#include <stdio.h>
#include <windrow/deep.h>

enum { N = 199, STEPS = 4 };
static void fill(wr_csr *A, double c) {
  int64_t k = 0;
  for (int i = 0; i < N; i++) {
    for (int j = i > 0 ? i - 1 : 0; j < N && j <= i + 1; j++, k++) A->col[k] = j, A->val[k] = i == j ? 1 + 2 * c : -c;
    A->row_ptr[i + 1] = k;
  }
}

static wr_status step(wr_csr *A, wr_plan *plan, wr_env *env, double *u, wr_result *result) { /* u := one step on */
  wr_bicgstab_options options = {.tolerance = 1e-12, .iterations = 10000, .check_every = 1};
  wr_system system = {0};
  wr_bicgstab solver = {0};
  double *b;
  wr_status status = wr_alloc(&b, N, sizeof *b, "the right-hand side");
  if (status != WR_OK) return status;
  for (int i = 0; i < N; i++) b[i] = u[i];
  TRY(wr_system_build(A, b, NULL, 0, 0, WR_SCALE_NONE, 0, 0, &system)); /* system.matrix is A, the plan's */
  TRY(wr_bicgstab_open(&solver, &system, plan, env));
  TRY(wr_bicgstab_solve(&solver, &options, &(wr_monitor){0}, result));
  TRY(wr_bicgstab_download(&solver, u, NULL));
  wr_system_unscale(&system, u);
done:
  wr_bicgstab_close(&solver);
  wr_system_free(&system);
  return status;
}

int main(int argc, char **argv) {
  wr_env env = {.place = argc > 1 && argv[1][0] == 'c' ? WR_CUDA : WR_HOST, .type = WR_F64};
  wr_csr *A = NULL; /* each step has a matrix of its own, which the plan holds as long as it needs it */
  wr_plan *plan = NULL;
  wr_result result;
  double u[N], c[STEPS] = {1, 10, 100, 1000}, pi = acos(-1);
  wr_status status;
  for (int i = 0; i < N; i++) u[i] = sin(pi * (i + 1) / (N + 1)) + sin(3 * pi * (i + 1) / (N + 1));
  TRY(wr_env_open(&env));
  for (int k = 0; k < STEPS; k++) {
    TRY(wr_csr_create(N, N, 3 * N - 2, 1, &A));
    fill(A, c[k]);
    if (k == 0) TRY(wr_plan_create(wr_backend_default(env.place), NULL, A, &env, &plan));
    TRY(k == 0 ? wr_plan_prepare(plan) : wr_plan_update_values(plan, A));
    TRY(step(A, plan, &env, u, &result));
    wr_csr_free(A), A = NULL;
    printf("c %g  %s  middle %.9e\n", c[k], wr_outcome_title(result.outcome), u[N / 2]);
  }
done:
  if (status != WR_OK) fprintf(stderr, "new_values: %s\n", wr_status_message());
  wr_plan_destroy(plan);
  wr_csr_free(A);
  wr_env_close(&env);
  return wr_status_exit_code(status);
}
