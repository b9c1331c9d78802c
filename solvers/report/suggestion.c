#include "solvers/report/suggestion.h"

#include "solvers/report/report_text.h"
#include "solvers/report/statistics.h"

static double first_result(const wr_run *run) { return run->setup + run->apply_first; }

/* The first apply is in no interval. */
static int is_timed(const wr_run *run) {
  return wr_run_counts(run) && run->apply_median > 0 && run->applies > WR_LEAST_SAMPLE;
}

static const wr_run *soonest(const wr_run *runs, int count) {
  const wr_run *best = NULL;
  for (int k = 0; k < count; k++) {
    if (!is_timed(&runs[k])) continue;
    double sooner = best ? first_result(best) - first_result(&runs[k]) : 1;
    if (sooner > 0 || (sooner == 0 && runs[k].apply_median < best->apply_median)) best = &runs[k];
  }
  return best;
}

/* The run that overtakes this one first, *at := from which multiply on; NULL: none. */
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
    if (found > 0 && from <= stretches[found - 1].from) from = stretches[--found].from; /* it was never of use */
    stretches[found++] = (wr_stretch){run, from};
  }
  return found;
}
