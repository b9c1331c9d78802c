#include "solvers/program/calibrate.h"

#include "config/defaults.h"
#include "config/memory.h"
#include "config/user_cache.h"
#include "data/generate.h"
#include "solvers/program/apply_time.h"
#include "solvers/program/expected_runs.h"
#include "solvers/program/made_values.h"
#include "solvers/program/process.h"
#include "solvers/report/statistics.h"
#include "spmv/choose/calibration.h"
#include "spmv/choose/choose.h"
#include "spmv/choose/cost_model.h"

/* Of each kind that backends differ on: few and many entries a row, blocks, diagonals, hubs. */
static const char *const matrices[] = {"gen:stencil:n=60", "gen:fem:n=20", "gen:road:side=512", "gen:web:n=60000",
                                       "gen:rmat:scale=15"};
enum { MATRICES = sizeof matrices / sizeof *matrices, BATCHES = 7 };
static const double seconds_each = 0.1;

/* Measured by expected times of one backend. */
typedef struct ratios {
  const wr_backend *backend;
  int count, prepared; /* of them; preparing is expected to take no time where there is nothing to build */
  double multiply[MATRICES], prepare[MATRICES];
} ratios;

typedef struct bench {
  wr_apply_place *places;
  wr_env *env;
  ratios found[2][2][WR_MOST_CANDIDATES]; /* by type and by values or none */
  wr_run expected[WR_MAX_RUNS], runs[WR_MAX_RUNS];
  wr_apply_times times[WR_MAX_RUNS];
  wr_choice choices[WR_MOST_CANDIDATES];
  int count; /* choices to be freed */
} bench;

static void free_choices(bench *b) { wr_choices_free(b->choices, &b->count); }

static void note(ratios *r, const wr_run *expected, const wr_run *run) {
  if (run->error.status != WR_OK || !(run->apply_median > 0) || !(expected->apply_median > 0)) return;
  r->multiply[r->count++] = run->apply_median / expected->apply_median;
  if (expected->setup > 0 && run->setup > 0) r->prepare[r->prepared++] = run->setup / expected->setup;
}

/* A in one type: what is expected of each candidate, and what it takes. */
static wr_status time_type(bench *b, wr_csr *A, wr_type type) {
  wr_status status;
  ratios *found = b->found[type][A->val != NULL];
  int candidates, is_calibrated, timed[WR_MOST_CANDIDATES];
  const wr_apply_settings how = {.batches = BATCHES, .batch_seconds = WR_APPLY_BATCH_SECONDS, .seconds = seconds_each,
                                 .preparations = WR_APPLY_PREPARATIONS, .verify = WR_VERIFY_OFF,
                                 .interrupted = wr_process_interrupted()};
  b->env->type = type;
  TRY(wr_expected_runs(A, b->env, NULL, b->expected, b->times, &candidates, &is_calibrated));
  for (int k = 0; k < candidates; k++) {
    found[k].backend = b->expected[k].backend;
    if (!b->expected[k].ran) continue;
    timed[b->count] = k;
    TRY(wr_choice_parse("--calibrate", b->expected[k].backend->name, &b->choices[b->count]));
    b->count++;
  }
  TRY(wr_apply_time(A, type, b->places, b->choices, b->count, &how, b->runs, b->times));
  for (int k = 0; k < b->count; k++) note(&found[timed[k]], &b->expected[timed[k]], &b->runs[k]);
done:
  free_choices(b);
  return status;
}

static wr_status time_matrix(bench *b, const char *name) {
  wr_status status;
  wr_csr *A = NULL;
  if (*wr_process_interrupted()) return wr_fail(WR_EUNAVAILABLE, "--calibrate was interrupted: nothing is kept");
  TRY(wr_generate(name, 0, &A));
  for (int valued = 1; valued >= 0; valued--) {
    wr_csr_forget_device(A);
    if (valued && A->val == NULL) TRY(wr_make_values(A));
    if (!valued) wr_free(A->val), A->val = NULL;
    for (int type = WR_F32; type <= WR_F64; type++) TRY(time_type(b, A, (wr_type)type));
  }
done:
  wr_csr_free(A);
  return status;
}

static double within_range(double factor) {
  return factor < WR_LEAST_FACTOR ? WR_LEAST_FACTOR : factor > WR_MOST_FACTOR ? WR_MOST_FACTOR : factor;
}

static wr_status keep(bench *b, const char *path, wr_type type, int valued, const ratios *r, FILE *text) {
  wr_sample multiply, prepare;
  if (r->count == 0) return WR_OK; /* it multiplies none of the matrices, or in another build */
  PASS(wr_sample_get(r->multiply, r->count, &multiply));
  PASS(wr_sample_get(r->prepare, r->prepared, &prepare));
  const wr_calibration factors = {within_range(multiply.median), r->prepared > 0 ? within_range(prepare.median) : 1};
  b->env->type = type;
  PASS(wr_calibration_store(path, b->env, r->backend, valued, &factors));
  if (text)
    fprintf(text, "%-20s %s %-8s %8.3g %8.3g\n", r->backend->name, type == WR_F32 ? "f32" : "f64",
            valued ? "values" : "pattern", factors.multiply, factors.prepare);
  return WR_OK;
}

/* Tries to write the file before anything is timed: the factors of `reference` are those that it has always. */
static wr_status check_file(const char *path, const wr_env *env) {
  const wr_backend *reference;
  PASS(wr_backend_find("reference", &reference));
  return wr_calibration_store(path, env, reference, 1, &(wr_calibration){1, 1});
}

wr_status wr_calibrate(wr_apply_place places[2], wr_place place, FILE *text) {
  wr_status status;
  int is_known = 0;
  bench *b = NULL;
  char path[WR_USER_CACHE_ROOM];
  wr_env *env = &places[place].env;
  const char *class = place == WR_CUDA ? wr_cost_device(env->device_name, &is_known) : "";
  if (is_known) {
    if (text)
      fprintf(text, "%s: the model has the times of an %s; there is nothing to measure\n", env->device_name, class);
    return WR_OK;
  }
  TRY(wr_user_cache_path(WR_CALIBRATION_FILE, path));
  TRY(wr_user_cache_make(path));
  TRY(check_file(path, env));
  TRY(wr_alloc_zeroed(&b, 1, sizeof *b, "a calibration"));
  b->places = places, b->env = env;
  for (int k = 0; k < MATRICES; k++) TRY(time_matrix(b, matrices[k]));
  if (text) fprintf(text, "%s: times by those that the model expects\n", env->device_name);
  if (text) fprintf(text, "%-33s %8s %8s\n", "backend", "multiply", "prepare");
  for (int valued = 1; valued >= 0; valued--)
    for (int type = WR_F32; type <= WR_F64; type++)
      for (int k = 0; k < WR_MOST_CANDIDATES; k++)
        TRY(keep(b, path, (wr_type)type, valued, &b->found[type][valued][k], text));
  if (text) fprintf(text, "kept in %s, for -k auto and spmv --advise\n", path);
done:
  wr_free(b);
  return status;
}
