/* What cpu_csr reaches of the machine's read bandwidth, by the bytes that one multiply must move: generated matrices that
 * read x locally, in both precisions, with and without values. Prints a table and writes JSON to the file that is given.
 * usage: cpu_bench [OUT.json] */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/generate.h"
#include "solvers/report/ledger.h"
#include "solvers/report/statistics.h"
#include "spmv/spmv.h"

enum { BATCHES = 31 };

static const char *const matrices[] = {
    "gen:stencil:n=200", "gen:stencil:n=200,points=27", "gen:stencil:n=2000,points=5", "gen:fem:n=49", "gen:band",
    "gen:road",          "gen:web"};

/* Seconds of one multiply: median of batches of 20 ms or more. */
static wr_status time_apply(wr_plan *plan, const wr_apply *apply, wr_sample *sample) {
  wr_status status;
  double seconds[BATCHES];
  TRY(wr_plan_apply(plan, apply));
  double begin = wr_clock();
  TRY(wr_plan_apply(plan, apply));
  int repeat = 1 + (int)(0.02 / (wr_clock() - begin));
  for (int b = 0; b < BATCHES; b++) {
    begin = wr_clock();
    for (int k = 0; k < repeat; k++) TRY(wr_plan_apply(plan, apply));
    seconds[b] = (wr_clock() - begin) / repeat;
  }
  TRY(wr_sample_get(seconds, BATCHES, sample));
done:
  return status;
}

static wr_status bench(const char *name, wr_csr *A, wr_env *env, double bandwidth, FILE *json, int *count) {
  wr_status status;
  const wr_backend *backend;
  wr_plan *plan = NULL;
  wr_vec x = {0}, y = {0};
  wr_sample sample;
  const char *precision = env->type == WR_F32 ? "f32" : "f64";
  TRY(wr_backend_find("cpu_csr", &backend));
  TRY(wr_plan_create(backend, NULL, A, env, &plan));
  TRY(wr_plan_prepare(plan));
  TRY(env->ops->alloc(env, A->ncols, env->type, "x", &x));
  TRY(env->ops->alloc(env, A->nrows, env->type, "y", &y));
  TRY(env->ops->fill(env, &x, 1));
  TRY(time_apply(plan, &(wr_apply){.alpha = 1, .x = &x, .y = &y}, &sample));
  double bytes = wr_plan_get_info(plan)->apply_bytes, share = bytes / sample.median / bandwidth;
  printf("%-28s %s %-7s %9.1f us  %6.1f GB/s  %3.0f%% of %.1f GB/s\n", name, precision, A->val ? "values" : "pattern",
         sample.median * 1e6, bytes / sample.median / 1e9, share * 100, bandwidth / 1e9);
  fprintf(json,
          "%s{\"matrix\": \"%s\", \"precision\": \"%s\", \"values\": %s, \"apply_us\": %.2f, \"low_us\": %.2f, "
          "\"high_us\": %.2f, \"bytes\": %.0f, \"share\": %.4f}",
          (*count)++ ? ",\n  " : "\n  ", name, precision, A->val ? "true" : "false", sample.median * 1e6,
          sample.low * 1e6, sample.high * 1e6, bytes, share);
done:
  env->ops->release(env, &x);
  env->ops->release(env, &y);
  wr_plan_destroy(plan);
  return status;
}

static wr_status bench_all(FILE *json) {
  wr_status status;
  wr_csr *A = NULL;
  wr_env env = {.place = WR_HOST, .type = WR_F64};
  double bandwidth;
  int count = 0;
  TRY(wr_env_open(&env));
  TRY(wr_env_read_bandwidth(&env, INFINITY, &bandwidth));
  fprintf(json, "{\"device\": \"%s\", \"read_bandwidth\": %.0f, \"runs\": [", env.device_name, bandwidth);
  for (size_t m = 0; m < sizeof matrices / sizeof matrices[0]; m++) {
    TRY(wr_generate(matrices[m], 0, &A));
    for (int type = WR_F32; type <= WR_F64; type++) {
      env.type = (wr_type)type;
      TRY(bench(matrices[m], A, &env, bandwidth, json, &count));
    }
    wr_csr_free(A);
    A = NULL;
  }
  fprintf(json, "\n]}\n");
done:
  wr_csr_free(A);
  wr_env_close(&env);
  return status;
}

int main(int argc, char **argv) {
  FILE *json = fopen(argc > 1 ? argv[1] : "/dev/null", "w");
  if (json == NULL || bench_all(json) != WR_OK || fclose(json) != 0) {
    fprintf(stderr, "cpu_bench: %s\n", json ? wr_status_message() : "cannot write the JSON file");
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
