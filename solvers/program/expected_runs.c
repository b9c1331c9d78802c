#include "solvers/program/expected_runs.h"

#include <stdio.h>

#include "spmv/choose/choose.h"

/* So many that wr_faster compares the runs. */
enum { AS_IF_APPLIED = 1000 };

wr_status wr_expected_runs(wr_csr *A, wr_env *env, const char *calibration, wr_run *runs, wr_apply_times *times,
                           int *count, int *is_calibrated) {
  wr_error warning;
  wr_expected expected[WR_MOST_CANDIDATES];
  PASS(wr_plans_expect(A, env, calibration, expected, count, &warning));
  *is_calibrated = *count > 0 && expected[0].is_calibrated;
  for (int k = 0; k < *count; k++) {
    const wr_expected *e = &expected[k];
    runs[k] = (wr_run){.backend = e->backend, .info = e->info, .error = e->refusal};
    times[k] = (wr_apply_times){.vectors = 1};
    if (k == 0) runs[k].chosen.warning = warning;
    snprintf(runs[k].device_name, sizeof runs[k].device_name, "%s", env->device_name);
    if (e->refusal.status != WR_OK) continue;
    runs[k].ran = 1, runs[k].setup = e->prepare, runs[k].applies = AS_IF_APPLIED;
    runs[k].apply_first = runs[k].apply_median = runs[k].apply_low = runs[k].apply_high = e->multiply;
  }
  return WR_OK;
}
