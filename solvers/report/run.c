#include "solvers/report/run.h"

#include <math.h>

#include "config/defaults.h"

int64_t wr_run_memory(const wr_run *run) {
  int64_t bytes;
  return __builtin_add_overflow(run->info.extra_bytes, run->info.borrowed_bytes, &bytes) ? INT64_MAX : bytes;
}

int wr_run_answered(const wr_run *run) { return run->ran && run->error.status == WR_OK; }

int wr_run_counts(const wr_run *run) {
  return wr_run_answered(run) && wr_run_exit_code(run) != wr_status_exit_code(WR_EINTERNAL);
}

const wr_run *wr_baseline(const wr_run *runs, int count) {
  const wr_run *best = NULL, *first = NULL;
  for (int i = 0; i < count; i++) {
    const wr_run *run = &runs[i];
    if (!wr_run_counts(run)) continue;
    if (!first) first = run;
    if (!(run->backend->caps & WR_CAP_VENDOR)) continue;
    if (!best || wr_ledger_end_to_end(&run->ledger) < wr_ledger_end_to_end(&best->ledger)) best = run;
  }
  return best ? best : first;
}

int64_t wr_break_even(const wr_run *run, const wr_run *base) {
  double cost =
      (run->setup - base->setup) + ((run->apply_first - run->apply_median) - (base->apply_first - base->apply_median));
  double gain = base->apply_median - run->apply_median;
  if (!isfinite(cost) || !isfinite(gain)) return -1;
  if (gain > 0) {
    double multiplies = ceil(cost / gain);
    if (multiplies >= 0x1p63) return -1;
    return multiplies > 0 ? (int64_t)multiplies : 0;
  }
  return cost - gain * (double)run->applies <= 0 && (cost < 0 || gain == 0) ? 0 : -1;
}

static int has_interval(const wr_run *run) { return run->applies > WR_LEAST_SAMPLE; }

int wr_faster(const wr_run *a, const wr_run *b) {
  return has_interval(a) && has_interval(b) && a->apply_high > 0 && b->apply_low > 1.02 * a->apply_high;
}

int wr_run_exit_code(const wr_run *run) {
  if (run->error.status != WR_OK) return wr_status_exit_code(run->error.status);
  if (!run->ran) return wr_status_exit_code(WR_EUNAVAILABLE);
  int code = wr_outcome_exit_code(run->result.outcome);
  const wr_verdict *verdict = &run->verdict;
  if (run->result.outcome == WR_NON_FINITE || run->result.outcome == WR_INTERRUPTED) return code;
  if (verdict->level == WR_VERIFY_OFF) return code;
  if (!verdict->multiplied_right) return wr_status_exit_code(WR_EINTERNAL);
  return code == 0 && !verdict->met_tolerance ? wr_outcome_exit_code(WR_MAX_ITERATIONS) : code;
}

int wr_backward_is_large(double backward_error, double tolerance) {
  return !(backward_error <= fmax(WR_DOUBTFUL_BACKWARD, tolerance));
}

/* A residual above ||b||: x runs off where the matrix is singular, until rounding A x hides b. */
int wr_verdict_is_doubtful(const wr_verdict *verdict, double tolerance, int by_backward) {
  return wr_backward_is_large(verdict->backward_error, tolerance) ||
         (by_backward && verdict->measure > fmax(1, verdict->limit));
}

int wr_run_is_doubtful(const wr_problem_facts *problem, const wr_run *run) {
  const wr_verdict *verdict = &run->verdict;
  if (problem->measure != WR_MEASURE_RESIDUAL || verdict->level == WR_VERIFY_OFF || wr_run_exit_code(run) != 0)
    return 0;
  return wr_verdict_is_doubtful(verdict, problem->tolerance, run->result.by_backward);
}

int wr_certificate_exit_code(const wr_certificate *c) { return c->met ? 0 : wr_outcome_exit_code(WR_MAX_ITERATIONS); }

int wr_certificate_is_doubtful(const wr_problem_facts *problem, const wr_certificate *c) {
  const wr_verdict verdict = {.measure = c->is_relative ? c->measure : 0, .limit = c->limit,
                              .backward_error = c->backward};
  return problem->measure == WR_MEASURE_RESIDUAL && c->met &&
         wr_verdict_is_doubtful(&verdict, problem->tolerance, c->by_backward);
}

int wr_worse_exit_code(int a, int b) {
  static const int worst_first[] = {130, 7, 9, 5, 6, 8, 3, 1, 2, 4, 0};
  for (size_t rank = 0; rank < sizeof worst_first / sizeof *worst_first; rank++)
    if (a == worst_first[rank] || b == worst_first[rank]) return worst_first[rank];
  return a;
}

wr_outcome wr_worse_outcome(wr_outcome a, wr_outcome b) {
  int code = wr_outcome_exit_code(a);
  return wr_worse_exit_code(code, wr_outcome_exit_code(b)) == code ? a : b;
}

int wr_report_exit_code(const wr_run *runs, int count) {
  int worst = -1, not_available = wr_status_exit_code(WR_EUNAVAILABLE);
  for (int i = 0; i < count; i++) {
    int code = wr_run_exit_code(&runs[i]);
    if (code != not_available) worst = worst < 0 ? code : wr_worse_exit_code(worst, code);
  }
  return worst < 0 ? not_available : worst;
}

const wr_run *wr_apply_base(const wr_run *runs, int count) {
  for (int k = 0; k < count; k++)
    if (wr_run_counts(&runs[k]) && runs[k].apply_median > 0) return &runs[k];
  return NULL;
}

wr_apply_standing wr_apply_compare(const wr_run *run, const wr_run *base) {
  wr_apply_standing standing = {.pays_at = -1};
  if (base == NULL || !wr_run_counts(run) || !(run->apply_median > 0)) return standing;
  standing.known = 1;
  standing.speed_up = base->apply_median / run->apply_median;
  standing.faster = wr_faster(run, base);
  standing.slower = wr_faster(base, run);
  standing.has_intervals = has_interval(run) && has_interval(base);
  if (run->apply_median < base->apply_median)
    standing.pays_at = wr_break_even(run, base);
  else
    standing.ahead_until = wr_break_even(base, run); /* from there on base takes less time */
  return standing;
}

int wr_apply_is_worth(const wr_run *run, const wr_run *base, double multiplies) {
  wr_apply_standing standing = wr_apply_compare(run, base);
  if (!standing.known || run == base || !(standing.faster || standing.slower)) return 0;
  if (standing.pays_at >= 0) return (double)standing.pays_at <= multiplies;
  return standing.slower && (double)standing.ahead_until > multiplies;
}

static double first_result(const wr_run *run) { return run->setup + run->apply_first; }

/* The first apply is in no interval. */
static int is_timed(const wr_run *run) { return wr_run_counts(run) && run->apply_median > 0 && has_interval(run); }

static const wr_run *soonest(const wr_run *runs, int count) {
  const wr_run *best = NULL;
  for (int k = 0; k < count; k++) {
    if (!is_timed(&runs[k])) continue;
    double sooner = best ? first_result(best) - first_result(&runs[k]) : 1;
    if (sooner > 0 || (sooner == 0 && runs[k].apply_median < best->apply_median)) best = &runs[k];
  }
  return best;
}

/* The run that first takes less time than this one, *at := from which number of multiplies on; NULL: none. */
static const wr_run *successor(const wr_run *runs, int count, const wr_run *current, int64_t *at) {
  const wr_run *next = NULL;
  for (int k = 0; k < count; k++) {
    if (!is_timed(&runs[k]) || !wr_faster(&runs[k], current)) continue;
    int64_t pays = wr_break_even(&runs[k], current);
    if (pays < 0) continue;
    if (next == NULL || pays < *at || (pays == *at && runs[k].apply_median < next->apply_median))
      next = &runs[k], *at = pays;
  }
  return next;
}

int wr_suggest(const wr_run *runs, int count, wr_stretch *stretches) {
  int found = 0;
  int64_t from = 1;
  for (const wr_run *run = soonest(runs, count); run != NULL; run = successor(runs, count, run, &from)) {
    if (found > 0 && from <= stretches[found - 1].from) from = stretches[--found].from; /* the run before is never the best */
    stretches[found++] = (wr_stretch){run, from};
  }
  return found;
}

double wr_parts_busy(const wr_part_facts *parts, int64_t count) {
  double waited = 0, solve = 0;
  for (int64_t k = 0; k < count; k++) waited += parts[k].waited, solve += parts[k].solve;
  return solve > 0 ? fmax(0, 1 - waited / solve) : (double)NAN;
}
