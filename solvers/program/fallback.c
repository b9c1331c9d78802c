#include "solvers/program/fallback.h"

#include <math.h>
#include <stdio.h>

#include "config/memory.h"
#include "solvers/direct.h"

wr_status wr_fallback(const wr_settings *s, const wr_system *system, const wr_monitor *monitor, wr_result *result,
                      double **x) {
  wr_status status;
  wr_direct_facts facts = {.tried = 1};
  const wr_direct_options options = {.tolerance = s->tolerance, .by_backward = s->stop == WR_STOP_BACKWARD};
  *x = NULL;
  if (s->fallback != WR_FALLBACK_DIRECT || result->outcome == WR_CONVERGED || result->outcome == WR_INTERRUPTED)
    return WR_OK;
  status = wr_alloc(x, system->n, sizeof **x, "the solution");
  if (status == WR_OK) status = wr_direct_solve(system, &options, monitor, *x, &facts);
  if (status == WR_ENOMEM) {
    facts.outcome = WR_BREAKDOWN;
    snprintf(facts.why, sizeof facts.why, "%s", wr_status_message());
    status = WR_OK;
  }
  TRY(status);
  facts.after = result->outcome;
  result->direct = facts;
  int is_better = facts.outcome == WR_STAGNATED && (facts.measure < result->measure || !isfinite(result->measure));
  if (facts.outcome == WR_CONVERGED || is_better) { /* the answer is now the direct solver's */
    result->direct.used = 1;
    result->outcome = facts.outcome;
    result->measure = facts.measure;
    result->by_backward = options.by_backward, result->backward = facts.backward;
    result->note[0] = '\0';
    return WR_OK;
  }
  if (facts.outcome == WR_INTERRUPTED) result->outcome = WR_INTERRUPTED;
done:
  wr_free(*x);
  *x = NULL;
  return status;
}
