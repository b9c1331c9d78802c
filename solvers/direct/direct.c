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

/* What refinement keeps from step to step, all [n]. */
typedef struct refinement {
  double *u;         /* the solver's unknown, the sum of all corrections            */
  double *right;     /* a right-hand side, then the correction that it has          */
  double *candidate; /* u as an unknown of A x = b                                  */
  double *residual;  /* of candidate                                                */
} refinement;

static wr_status open_refinement(refinement *r, int64_t n) {
  wr_status status;
  TRY(wr_alloc(&r->u, n, sizeof *r->u, "a direct solve"));
  TRY(wr_alloc(&r->right, n, sizeof *r->right, "a direct solve"));
  TRY(wr_alloc(&r->candidate, n, sizeof *r->candidate, "a direct solve"));
  TRY(wr_alloc(&r->residual, n, sizeof *r->residual, "a direct solve"));
done:
  return status;
}

static void close_refinement(refinement *r) {
  wr_free(r->u);
  wr_free(r->right);
  wr_free(r->candidate);
  wr_free(r->residual);
}

static int is_met(const wr_system *s, const wr_direct_options *o, const wr_residual *found) {
  double most = found->norm + found->error;
  if (!isfinite(most)) return 0;
  return most <= s->absolute || (o->by_backward ? found->backward <= o->tolerance : most <= o->tolerance * s->norm_b);
}

static void note_residual(const wr_system *s, const wr_residual *found, wr_direct_facts *facts) {
  facts->measure = (found->norm + found->error) / (s->norm_b > 0 ? s->norm_b : 1);
  facts->backward = found->backward;
}

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
             "; row %" PRId64 " is, but for rounding, a combination of others", facts->row + 1);
  } else if (facts->outcome == WR_TIME_LIMIT) {
    snprintf(facts->why, sizeof facts->why, "the time limit has passed");
  } else if (facts->outcome == WR_INTERRUPTED) {
    snprintf(facts->why, sizeof facts->why, "it was interrupted");
  }
}

/* x := the best of the iterates. Goes on while a step halves the residual, or the backward error where that decides. */
static wr_status refine(const wr_system *s, const wr_direct_options *o, wr_klu_factors *factors, refinement *r,
                        double *x, wr_direct_facts *facts) {
  wr_status status = WR_OK;
  size_t bytes = (size_t)s->n * sizeof *x;
  double best = INFINITY, last = INFINITY;
  facts->outcome = WR_NON_FINITE;
  memcpy(r->right, s->rhs, bytes);
  memset(r->u, 0, bytes);
  for (int step = 0; step <= WR_DIRECT_REFINEMENTS; step++) {
    wr_residual found;
    TRY(wr_klu_solve(factors, r->right));
    for (int64_t i = 0; i < s->n; i++) r->u[i] += r->right[i];
    memcpy(r->candidate, r->u, bytes);
    wr_system_unscale(s, r->candidate);
    TRY(wr_residual_find(s, r->candidate, r->residual, &found));
    double measure = o->by_backward ? found.backward : found.norm + found.error;
    int met = is_met(s, o, &found);
    if (measure < best || met) {
      best = measure, facts->outcome = met ? WR_CONVERGED : WR_STAGNATED, facts->refinements = step;
      memcpy(x, r->candidate, bytes);
      note_residual(s, &found, facts);
    }
    if (met || !(measure <= last / 2)) break;
    last = measure;
    TRY(wr_system_scale_rows(s, r->residual, r->right));
  }
done:
  return status;
}

wr_status wr_direct_solve(const wr_system *system, const wr_direct_options *options, const wr_monitor *monitor,
                          double *x, wr_direct_facts *facts) {
  wr_status status;
  wr_klu_factors *factors = NULL;
  refinement r = {0};
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
  if (factors) {
    TRY(open_refinement(&r, system->n));
    TRY(refine(system, options, factors, &r, x, facts));
  }
  explain(system, facts);
done:
  close_refinement(&r);
  wr_klu_free(factors);
  return status;
}
