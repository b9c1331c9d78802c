#include "solvers/program/backend_change.h"

#include <math.h>
#include <omp.h>

#include "config/defaults.h"
#include "config/user_cache.h"
#include "spmv/device/testing.h"

/* By how much this device, as it is loaded now, takes longer than the model expects. */
static double slowness(const wr_backend_change *b) { return b->multiply / b->chosen->multiply; }

/* s that a change is to save at least. */
static double worth(const wr_backend_change *b) {
  return b->env->testing && b->env->testing->hasty ? 0 : WR_CHANGE_SECONDS;
}

/* The candidate that takes least for the multiplies that are left, if that saves enough; else NULL. One that rounds more than
 * the plan cannot take its place. */
static const wr_expected *find_better(const wr_backend_change *b) {
  const wr_expected *best = NULL;
  const wr_plan_info *now = wr_plan_get_info(b->plan);
  double here = b->left * b->multiply, least = fmin((1 - WR_CHANGE_SHARE) * here, here - worth(b));
  for (int k = 0; k < b->count; k++) {
    const wr_expected *e = &b->expected[k];
    int may = e->refusal.status == WR_OK && e->backend != wr_plan_backend(b->plan) &&
              e->info.sum_unit <= now->sum_unit && e->info.term_unit <= now->term_unit;
    double there = slowness(b) * wr_expected_total(e, b->left);
    if (may && there < least) best = e, least = there;
  }
  return best;
}

void wr_backend_change_look(wr_backend_change *b, int64_t iterations, double left) {
  wr_plan_times times = wr_plan_get_times(b->plan);
  b->due = 0;
  if (b->is_over || iterations < WR_JUDGED_ITERATIONS || times.applies == 0) return;
  double done = (double)iterations, ratio = (double)times.applies / done;
  b->iterations = iterations, b->multiply = times.total / (double)times.applies;
  b->per_iteration = b->env->place == WR_HOST ? ratio : fmax(b->per_iteration, ratio); /* a device's loop times none */
  b->left = fmin(left, done) * b->per_iteration;
  if (done * b->per_iteration + b->left <= b->chosen->multiplies) return;
  b->due = b->count > 0 ? find_better(b) != NULL : b->left * b->multiply > worth(b);
}

static wr_status expect(wr_backend_change *b) {
  wr_error warning; /* the same as of the choice before the solve */
  char path[WR_USER_CACHE_ROOM];
  const char *calibration = wr_user_cache_path(WR_CALIBRATION_FILE, path) == WR_OK ? path : NULL;
  return wr_plans_expect(b->A, b->env, calibration, b->expected, &b->count, &warning);
}

static wr_status change_to(wr_backend_change *b, const wr_expected *e) {
  wr_status status;
  wr_plan *plan = NULL;
  const wr_backend *before = wr_plan_backend(b->plan);
  *b->changed = (wr_run_changed){.to = e->backend, .iterations = b->iterations,
                                 .multiplies = llround(b->per_iteration * (double)b->iterations), .left = b->left,
                                 .multiply = b->multiply, .to_multiply = slowness(b) * (e->multiply + e->epilogue),
                                 .to_prepare = slowness(b) * (e->prepare + e->first)};
  TRY(wr_plan_create(e->backend, NULL, b->A, b->env, &plan));
  TRY(wr_plan_prepare(plan));
  TRY(wr_plan_swap(b->plan, plan));
  b->changed->from = before;
  status = wr_plan_time_start(b->plan);
done:
  wr_plan_destroy(plan);
  return status;
}

void wr_backend_change_rest(void *change) {
  wr_backend_change *b = change;
  wr_status status = WR_OK;
  double begin = wr_clock();
  b->due = 0;
  wr_ledger_enter(b->ledger, WR_PHASE_PREPARE);
  if (b->count == 0) status = expect(b);
  const wr_expected *better = status == WR_OK ? find_better(b) : NULL;
  if (better) status = wr_error_keep(&b->changed->failure, change_to(b, better));
  b->is_over = better != NULL || status != WR_OK;
  b->changed->took = better ? wr_clock() - begin : 0;
  (void)omp_pause_resource_all(omp_pause_soft); /* its threads would spin for milliseconds and slow down the solve */
  wr_ledger_enter(b->ledger, WR_PHASE_SOLVE);
}
