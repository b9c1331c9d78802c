/* What the model of -k auto expects, in the form of runs, so that tables, CSV and JSON show it as they show measured times. */
#ifndef WR_EXPECTED_RUNS_H
#define WR_EXPECTED_RUNS_H

#include "solvers/report/run.h"

/* runs[*count] and times[*count] := the candidates of -k auto at env's place, the default backend first, with expected times of
 * preparing and of a multiply and the estimates of a plan; a candidate that refuses A has its reason. Nothing is timed:
 * times have no batches. Both have room for WR_MAX_RUNS. calibration: as of wr_plan_use; *is_calibrated := whether it
 * counts, and why it does not is a warning of the first run. Errors: as wr_plans_expect. */
wr_status wr_expected_runs(wr_csr *A, wr_env *env, const char *calibration, wr_run *runs, wr_apply_times *times,
                           int *count, int *is_calibrated);

#endif
