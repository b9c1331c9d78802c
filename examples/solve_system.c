/* Solves A x = b, both held in memory, by BiCGSTAB:  solve_system [cuda]
 * A is heat carried by a wind along a row of cells: cell i depends more on the cell before it than on the one behind. */
#include <math.h>
#include <stdio.h>
#include <windrow/windrow.h>

enum { N = 1000 };

/* b is A times the x with x[i] = i + 1, so that the answer is known. */
static void fill(wr_csr *A, double *b) {
  int64_t k = 0;
  for (int32_t i = 0; i < N; i++) {
    b[i] = 0;
    for (int32_t j = i > 0 ? i - 1 : 0; j < N && j <= i + 1; j++, k++) {
      A->col[k] = j;
      A->val[k] = j < i ? -1.5 : j > i ? -0.5 : 2.5;
      b[i] += A->val[k] * (j + 1);
    }
    A->row_ptr[i + 1] = k;
  }
}

int main(int argc, char **argv) {
  wr_env env = {.place = argc > 1 && argv[1][0] == 'c' ? WR_CUDA : WR_HOST, .type = WR_F64};
  wr_bicgstab_options options = {.tolerance = 1e-12, .iterations = 10000, .check_every = 1};
  wr_csr *A = NULL;
  wr_plan *plan = NULL;
  wr_system system = {0};
  wr_bicgstab solver = {0};
  wr_result result;
  double *b = NULL, *x = NULL, error = 0;
  wr_status status;
  TRY(wr_env_open(&env));
  TRY(wr_csr_create(N, N, 3 * N - 2, 1, &A));
  TRY(wr_alloc(&x, N, sizeof *x, "the answer"));
  TRY(wr_alloc(&b, N, sizeof *b, "the right-hand side"));
  fill(A, b);
  TRY(wr_system_build(A, b, NULL, 0, 0, WR_SCALE_AUTO, 0, 0, &system)); /* the system owns b now */
  TRY(wr_plan_create(wr_backend_default(env.place), NULL, system.matrix, &env, &plan));
  TRY(wr_plan_prepare(plan));
  TRY(wr_bicgstab_open(&solver, &system, plan, &env));
  TRY(wr_bicgstab_solve(&solver, &options, &(wr_monitor){0}, &result));
  TRY(wr_bicgstab_download(&solver, x, NULL));
  wr_system_unscale(&system, x);
  for (int i = 0; i < N; i++) error = fmax(error, fabs(x[i] - (i + 1)));
  printf("%s after %lld iterations, largest error %.1e\n", wr_outcome_title(result.outcome),
         (long long)result.iterations, error);
done:
  if (status != WR_OK) fprintf(stderr, "solve_system: %s\n", wr_status_message());
  wr_bicgstab_close(&solver);
  wr_plan_destroy(plan);
  wr_system_free(&system);
  wr_free(x);
  wr_csr_free(A);
  wr_env_close(&env);
  return wr_status_exit_code(status);
}
