#include "solvers/direct.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "config/argument.h"
#include "config/defaults.h"
#include "config/memory.h"
#include "solvers/direct/klu_factors.h"
#include "solvers/residual.h"

wr_status wr_direct_check(void) { return wr_klu_check(); }

static void explain(const wr_system *s, wr_direct_facts *facts) {
  const double attained = 0x1p-40; /* a ratio of pivots below which few digits of x are certain */
  if (facts->outcome == WR_NON_FINITE)
    snprintf(facts->why, sizeof facts->why, "the factors or the solution are beyond f64");
  else if (facts->outcome == WR_STAGNATED)
    snprintf(
        facts->why, sizeof facts->why,
        "the residual stays at %.3g ||b||, the backward error at %.3g; the smallest pivot is %.3g of the largest: %s",
        facts->measure, facts->backward, facts->pivots,
        facts->pivots < attained ? "the matrix is singular or nearly so" : "a larger tolerance would help");
  else if (facts->outcome == WR_BREAKDOWN && facts->row >= 0) {
    size_t used = strlen(facts->why);
    facts->row = s->scaling.row_of ? s->scaling.row_of[facts->row] : facts->row;
    snprintf(facts->why + used, sizeof facts->why - used,
             "; row %" PRId64 " is, but for rounding, a combination of others", facts->row + wr_csr_first(s->A));
  } else if (facts->outcome == WR_TIME_LIMIT) {
    snprintf(facts->why, sizeof facts->why, "the time limit has passed");
  } else if (facts->outcome == WR_INTERRUPTED) {
    snprintf(facts->why, sizeof facts->why, "it was interrupted");
  }
}

/* x := the best of the iterates. Goes on while a step halves the residual, or the backward error where that decides. */
static wr_status refine(const wr_system *s, const wr_direct_options *o, wr_klu_factors *factors, double *x,
                        wr_direct_facts *facts) {
  wr_status status;
  size_t bytes = (size_t)s->n * sizeof *x;
  double best = INFINITY, last = INFINITY, *room = NULL;
  TRY(wr_alloc(&room, 4 * s->n, sizeof *room, "a direct solve"));
  double *u = room;                /* [n] the solver's unknown, the sum of all corrections  */
  double *right = u + s->n;        /* [n] a right-hand side, then its correction            */
  double *candidate = right + s->n; /* [n] u as an unknown of A x = b                        */
  double *residual = candidate + s->n; /* [n] of candidate                                  */
  facts->outcome = WR_NON_FINITE;
  memcpy(right, s->rhs, bytes);
  memset(u, 0, bytes);
  for (int step = 0; step <= WR_DIRECT_REFINEMENTS; step++) {
    wr_residual found;
    TRY(wr_klu_solve(factors, right));
    for (int64_t i = 0; i < s->n; i++) u[i] += right[i];
    memcpy(candidate, u, bytes);
    wr_system_unscale(s, candidate);
    TRY(wr_residual_find(s, candidate, residual, &found));
    double most = found.norm + found.error, measure = o->by_backward ? found.backward : most;
    int met = wr_residual_meets(s, &found, o->tolerance, o->by_backward);
    if (measure < best || met) {
      best = measure, facts->outcome = met ? WR_CONVERGED : WR_STAGNATED, facts->refinements = step;
      facts->measure = most / (s->norm_b > 0 ? s->norm_b : 1), facts->backward = found.backward;
      memcpy(x, candidate, bytes);
    }
    if (met || !(measure <= last / 2)) break;
    last = measure;
    TRY(wr_system_scale_rows(s, residual, right));
  }
done:
  wr_free(room);
  return status;
}

wr_status wr_direct_solve(const wr_system *system, const wr_direct_options *options, const wr_monitor *monitor,
                          double *x, wr_direct_facts *facts) {
  wr_status status;
  wr_klu_factors *factors = NULL;
  WR_NEED(system);
  WR_REFUSE_IF(system->A == NULL, "system is not built");
  WR_NEED(options);
  WR_REFUSE_IF(!(options->tolerance >= 0) || isinf(options->tolerance),
               "options->tolerance is %g; it is finite and 0 or more", options->tolerance);
  WR_NEED(x);
  WR_NEED(facts);
  *facts = (wr_direct_facts){.tried = 1, .outcome = WR_CONVERGED, .row = -1};
  if (system->n == 0) return WR_OK;
  TRY(wr_klu_factorise(system->matrix, monitor, &factors, facts));
  if (factors) TRY(refine(system, options, factors, x, facts));
  explain(system, facts);
done:
  wr_klu_free(factors);
  return status;
}
