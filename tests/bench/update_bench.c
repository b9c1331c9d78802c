/* What new values of the same pattern cost a plan, beside a preparation: by every backend that runs here, on generated
 * matrices. Milliseconds, the median of ROUNDS:
 *
 *   prepare  wr_plan_prepare, the matrix being where the plan runs already
 *   update   wr_plan_update_values of the plan's own matrix, after its values have changed in place: with their upload
 *   other    the same with a matrix of its own, which the plan was not of before; its upload is that of values, too
 *   upload   of these the upload of values alone: the device view of a matrix that has changed in place
 *
 * usage: update_bench [MATRIX...]     gen:... as programs take them */
#include <stdio.h>
#include <stdlib.h>

#include "data/generate.h"
#include "solvers/report/ledger.h"
#include "solvers/report/statistics.h"
#include "spmv/spmv.h"

enum { ROUNDS = 9 };

static double ms(const double *seconds) {
  wr_sample sample;
  return wr_sample_get(seconds, ROUNDS, &sample) == WR_OK ? sample.median * 1e3 : 0;
}

static void change_values(wr_csr *A, int round) {
#pragma omp parallel for schedule(static)
  for (int64_t k = 0; k < A->nnz; k++) A->val[k] = 1 + (double)((k + round) % 9) / 10;
}

/* Seconds until the device view has A's values as they are now; 0 on the host. */
static wr_status time_upload(wr_csr *A, wr_env *env, double *seconds) {
  wr_csr_view view;
  double begin = wr_clock();
  *seconds = 0;
  if (env->place == WR_HOST) return WR_OK;
  wr_csr_values_changed(A);
  wr_status status = wr_csr_device_view(A, env, &view);
  *seconds = wr_clock() - begin;
  return status;
}

static wr_status time_round(const wr_backend *backend, wr_csr *A, wr_env *env, int round, double times[4]) {
  wr_status status;
  wr_plan *plan = NULL;
  wr_csr *B = NULL;
  double begin;
  TRY(wr_csr_copy(A, &B));
  TRY(time_upload(A, env, &times[3]));
  TRY(wr_plan_create(backend, NULL, A, env, &plan));
  begin = wr_clock();
  TRY(wr_plan_prepare(plan));
  times[0] = wr_clock() - begin;
  change_values(A, round), change_values(B, round + 1);
  begin = wr_clock();
  TRY(wr_plan_update_values(plan, A));
  times[1] = wr_clock() - begin;
  begin = wr_clock();
  TRY(wr_plan_update_values(plan, B));
  times[2] = wr_clock() - begin;
done:
  wr_plan_destroy(plan);
  wr_csr_free(B);
  return status;
}

static void bench(const wr_backend *backend, const char *name, wr_csr *A, wr_env *env) {
  double seconds[4][ROUNDS], times[4];
  wr_status status = time_round(backend, A, env, 0, times); /* a first one, which makes the device view */
  for (int round = 0; round < ROUNDS && status == WR_OK; round++) {
    status = time_round(backend, A, env, round, times);
    for (int k = 0; k < 4; k++) seconds[k][round] = times[k];
  }
  printf("%-28s %-20s %s ", name, backend->name, env->type == WR_F32 ? "f32" : "f64");
  if (status == WR_OK)
    printf("%9.3f %9.3f %9.3f %9.3f\n", ms(seconds[0]), ms(seconds[1]), ms(seconds[2]), ms(seconds[3]));
  else
    printf("%s\n", wr_status_message());
  fflush(stdout);
}

static wr_status bench_matrix(const char *name) {
  wr_status status;
  wr_csr *A = NULL;
  TRY(wr_generate(name, 0, &A));
  if (A->val == NULL) TRY(wr_fail(WR_EUSAGE, "%s is a pattern: it has no values", name));
  change_values(A, 0);
  for (int type = WR_F32; type <= WR_F64; type++)
    for (int k = 0; k < wr_backend_count(); k++) {
      const wr_backend *backend = wr_backend_at(k);
      wr_env env = {.place = backend->place, .type = (wr_type)type};
      if (backend->plan == NULL) continue;
      if (wr_env_open(&env) == WR_OK) bench(backend, name, A, &env);
      wr_env_close(&env);
    }
done:
  wr_csr_free(A);
  return status;
}

int main(int argc, char **argv) {
  static char *usual[] = {"gen:stencil:n=100", "gen:fem:n=49", "gen:band"};
  char **names = argc > 1 ? argv + 1 : usual;
  int count = argc > 1 ? argc - 1 : (int)(sizeof usual / sizeof *usual);
  printf("%-28s %-20s     %9s %9s %9s %9s  ms\n", "matrix", "backend", "prepare", "update", "other", "upload");
  for (int m = 0; m < count; m++) {
    if (bench_matrix(names[m]) == WR_OK) continue;
    fprintf(stderr, "update_bench: %s\n", wr_status_message());
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
