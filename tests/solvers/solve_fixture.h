/* One BiCGSTAB run, its residual recomputed in long double, and what must hold of every run whatever its outcome. */
#ifndef WR_TEST_SOLVE_FIXTURE_H
#define WR_TEST_SOLVE_FIXTURE_H

#include "config/defaults.h"
#include "solvers/bicgstab.h"
#include "solvers/verify.h"
#include "tests/solvers/ground.h"

typedef struct solution {
  /* given */
  wr_csr *A;
  const double *b, *guess; /* [n]; NULL: A times ones, 0 */
  int jacobi;             /* 1: columns are scaled by the inverse diagonal                  */
  int applied;            /* 1: Jacobi as a preconditioner that is applied in each iteration */
  const wr_preconditioner *precond; /* applied in each iteration instead; NULL: none        */
  const char *knobs;                /* of precond                                           */
  int scaling;            /* 0: none; else 1 + wr_scale                                     */
  double atol;
  wr_bicgstab_options options;
  wr_monitor monitor;
  /* found */
  wr_plan *plan;            /* while the solve runs */
  wr_result result;
  wr_verdict verdict;
  int is_positive;          /* 1: precond is known to be symmetric positive definite                */
  double *x;                /* [n] of A x = b                                                       */
  double *used_b;           /* [n]                                                                  */
  wr_history history;
  int deterministic;        /* of the plan                                                          */
  double bound;             /* on ||b - A x|| / ||b||, from tolerance and atol                      */
  long double first, final; /* ||b - A x|| / ||b||, of the guess and of the answer, in long double  */
  long double first_slack;  /* by which the device's own residual may differ from it: its rounding, */
  long double final_slack;  /* and that of the matrix and of b                                      */
} solution;

static inline solution solution_of(const ground *g, wr_csr *A) {
  double tolerance = g->env.type == WR_F32 ? WR_BICGSTAB_TOLERANCE_F32 : WR_BICGSTAB_TOLERANCE_F64;
  wr_bicgstab_options options = {.method = &wr_method_bicgstab, .tolerance = tolerance,
                                 .iterations = WR_BICGSTAB_ITERATIONS, .check_every = 1};
  return (solution){.A = A, .options = options};
}

static inline void solution_free(solution *s) {
  free(s->x), free(s->used_b);
  s->x = s->used_b = NULL;
  wr_history_free(&s->history);
}

/* ||b - A x|| / ||b|| for the x that the solver's unknown u stands for; b = 0 counts as 1. *slack: what the device may be off
 * by, row by row as solvers/verify.h says. */
static inline long double residual_of(const wr_system *system, const double *u, wr_rounding rounding,
                                      long double *slack) {
  const wr_csr *A = system->A;
  const int *column = system->scaling.column_exponent;
  long double sum = 0, slack_sum = 0, norm = system->norm_b > 0 ? (long double)system->norm_b : 1;
  for (int64_t i = 0; i < A->nrows; i++) {
    long double r = (long double)system->b[i], size = fabsl(r),
                length = (long double)(A->row_ptr[i + 1] - A->row_ptr[i]);
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
      long double term = (A->val ? (long double)A->val[k] : 1) * (u ? (long double)u[A->col[k]] : 0);
      term = ldexpl(term, (column ? column[A->col[k]] : 0) - system->rhs_exponent);
      if (system->inverse_diagonal) term *= (long double)system->inverse_diagonal[A->col[k]];
      r -= term, size += fabsl(term);
    }
    long double terms = 4 * (long double)rounding.unit + (long double)rounding.term_unit;
    long double row = (terms + (length + 2) * (long double)rounding.sum_unit) * size;
    sum += r * r, slack_sum += row * row;
  }
  *slack = sqrtl(slack_sum) / norm;
  return sqrtl(sum) / norm;
}

/* ||b - A x|| / ||b|| of the problem as it was given. */
static inline long double residual_as_given(const solution *s) {
  const wr_csr *A = s->A;
  long double sum = 0, norm = 0;
  for (int64_t i = 0; i < A->nrows; i++) {
    long double b = (long double)(s->b ? s->b[i] : s->used_b[i]), r = b;
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++)
      r -= (A->val ? (long double)A->val[k] : 1) * (long double)s->x[A->col[k]];
    sum += r * r, norm += b * b;
  }
  return norm > 0 ? sqrtl(sum) / sqrtl(norm) : sqrtl(sum);
}

static inline wr_status solution_find(solution *s, wr_bicgstab *method, const wr_system *system, wr_rounding rounding) {
  wr_status status;
  int64_t n = system->n;
  double *x = s->x, *room = room_for(3 * n, sizeof *room), *u = room, *b = room + n, *q = room + 2 * n;
  double norm = system->norm_b;
  s->bound = norm > 0 ? fmax(s->options.tolerance, system->absolute / norm) : system->absolute;
  s->first = residual_of(system, norm > 0 ? system->guess : NULL, rounding, &s->first_slack);
  TRY(wr_bicgstab_solve(method, &s->options, &s->monitor, &s->result));
  TRY(wr_bicgstab_download(method, x, NULL));
  s->final = residual_of(system, x, rounding, &s->final_slack);
  wr_system_unscale(system, x);
  TRY(wr_bicgstab_last_product(method, u, b, q));
  wr_solved solved = {x, u, b, q, s->result.measure * (norm > 0 ? norm : 1), NULL, s->options.by_backward};
  TRY(wr_verify_system(system, s->options.tolerance, rounding, &solved, WR_VERIFY_FULL, n, &s->verdict));
done:
  free(room);
  return status;
}

static inline wr_scale scale_of(int scaling) { return scaling > 0 ? (wr_scale)(scaling - 1) : WR_SCALE_NONE; }

/* A whole run, from the matrix to the verdict. */
static inline void solution_run(ground *g, solution *s) {
  wr_system system = {0};
  wr_bicgstab method = {0};
  int64_t n = s->A->nrows;
  solution_free(s);
  ground_threads(n);
  s->x = room_for(n, sizeof *s->x), s->used_b = room_for(n, sizeof *s->used_b);
  s->monitor.history = &s->history;
  CHECK_OK(wr_system_build(s->A, given(s->b, n), given(s->guess, n), 0, 0, scale_of(s->scaling),
                           s->jacobi ? &wr_precond_jacobi : NULL, s->atol, &system));
  if (system.matrix == NULL) return;
  for (int64_t i = 0; i < n; i++) s->used_b[i] = ldexp(system.b[i], -system.exponent);
  wr_plan *plan = ground_plan(g, system.matrix);
  s->plan = plan;
  if (plan) {
    wr_rounding rounding = wr_rounding_of(&g->env, plan);
    s->deterministic = wr_plan_get_info(plan)->deterministic;
    CHECK_OK(wr_bicgstab_open(&method, &system, plan, &g->env));
    wr_precond *precond = NULL;
    if (s->applied || s->precond) {
      const wr_preconditioner *of = s->precond ? s->precond : &wr_precond_jacobi;
      CHECK_OK(wr_precond_create(of, s->knobs, system.matrix, &g->env, &precond));
    }
    s->is_positive = precond && wr_precond_get_info(precond)->is_positive;
    CHECK_OK(wr_bicgstab_precondition(&method, precond));
    CHECK_OK(solution_find(s, &method, &system, rounding));
    wr_bicgstab_close(&method);
    wr_precond_destroy(precond);
  }
  wr_plan_destroy(plan);
  wr_system_free(&system);
}

/* ---- What must hold ---- */

/* With a check at each iteration, no restart and no refinement: the first residual within the bound is the last one. */
static inline void check_end_of_history(const solution *s) {
  const wr_history *h = &s->history;
  int64_t early = 0;
  if (s->options.check_every != 1 || s->options.by_backward || s->result.restarts > 0 || s->result.refinements > 0 ||
      h->count == 0)
    return;
  for (int64_t k = 0; k + 1 < h->count; k++) early += h->measure[k] <= s->bound * (1 - 0x1p-50);
  CHECKF(early == 0, "it went on %lld times from a residual within the bound", (long long)early);
  double last = h->measure[h->count - 1];
  CHECKF(s->result.outcome != WR_CONVERGED || last <= s->bound * (1 + 0x1p-50),
         "converged with a last residual of %g, asked for %g", last, s->bound);
}

static inline void check_solution_history(const solution *s) {
  const wr_history *h = &s->history;
  int64_t backwards = 0;
  for (int64_t k = 1; k < h->count; k++) backwards += h->iteration[k] < h->iteration[k - 1];
  CHECKF(backwards == 0, "%lld steps back in the history", (long long)backwards);
  CHECKF(h->count == 0 ? s->result.iterations == 0 : h->iteration[h->count - 1] == s->result.iterations,
         "%lld entries, %lld iterations", (long long)h->count, (long long)s->result.iterations);
  check_end_of_history(s);
}

/* The largest |b - A x| / (|A||x| + |b|) of a row of the problem as it was given. *slack: by how much that of wr_residual may
 * differ: both sums are rounded here in long double, and |A||x| + |b| is summed there in f64. */
static inline long double backward_as_given(const solution *s, long double *slack) {
  const wr_csr *A = s->A;
  long double worst = 0;
  int64_t longest = 0;
  for (int64_t i = 0; i < A->nrows; i++) {
    long double b = (long double)(s->b ? s->b[i] : s->used_b[i]), r = b, size = fabsl(b);
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
      long double term = (A->val ? (long double)A->val[k] : 1) * (long double)s->x[A->col[k]];
      r -= term, size += fabsl(term);
    }
    if (size > 0 && fabsl(r) / size > worst) worst = fabsl(r) / size;
    if (A->row_ptr[i + 1] - A->row_ptr[i] > longest) longest = A->row_ptr[i + 1] - A->row_ptr[i];
  }
  *slack = ((long double)longest + 3) * (0x1p-63L + 0x1p-53L * worst);
  return worst;
}

/* With by_backward: the reported backward error is the true one, and the outcome agrees with it or with atol. */
static inline void check_backward(const solution *s) {
  const wr_result *result = &s->result;
  long double slack, backward = backward_as_given(s, &slack), norm = residual_as_given(s);
  double tolerance = s->options.tolerance;
  CHECKF(result->by_backward && fabsl((long double)result->backward - backward) <= slack, "%.17g, in truth %.17Lg",
         result->backward, backward);
  int met = result->backward <= tolerance || (s->atol > 0 && norm <= (long double)s->bound);
  CHECKF((result->outcome == WR_CONVERGED) == met, "%s with a backward error of %g, residual %Lg",
         wr_outcome_title(result->outcome), result->backward, norm);
  CHECKF(s->verdict.met_tolerance == met && s->verdict.backward_error == result->backward, "%d, %g",
         s->verdict.met_tolerance, s->verdict.backward_error);
  CHECKF(s->verdict.multiplied_right, "largest error %g of its bound", s->verdict.worst_row);
}

/* The reported residual is the true one, and the outcome agrees with it. */
static inline void check_outcome(const solution *s) {
  const wr_result *result = &s->result;
  long double off = fabsl((long double)result->measure - s->final);
  int converged = result->outcome == WR_CONVERGED;
  CHECKF(off <= s->final_slack * (1 + 1e-6L), "residual %.17g, in truth %.17Lg (slack %.3Lg)", result->measure,
         s->final, s->final_slack);
  CHECKF(s->options.by_backward || converged == (result->measure <= s->bound * (1 + 0x1p-50)), "%s with %g of %g",
         wr_outcome_title(result->outcome), result->measure, s->bound);
  if (s->options.by_backward) check_backward(s);
  CHECKF(!converged || s->verdict.met_tolerance, "%g of %g", s->verdict.measure, s->verdict.limit);
  int told = s->guess && strstr(result->note, "the first guess was replaced") != NULL;
  CHECKF(!converged || told || result->note[0] == '\0', "'%s'", result->note);
  CHECKF(s->verdict.multiplied_right, "largest error %g of its bound", s->verdict.worst_row);
  long double as_given = residual_as_given(s);
  long double norm_slack = (long double)s->A->nrows * 0x1p-53L * s->final; /* the system's ||b|| is summed in f64 */
  CHECKF(fabsl(as_given - s->final) <= s->final_slack * (1 + 1e-6L) + norm_slack,
         "residual of A x = b as given: %.17Lg, not %.17Lg", as_given, s->final);
  CHECKF(s->final <= s->first + s->first_slack + s->final_slack, "worse than the guess: %.3Lg, first %.3Lg", s->final,
         s->first);
}

/* For any problem: the answer is finite and no worse than the guess, and the outcome agrees with the residual. */
static inline void check_solution(const solution *s) {
  const wr_result *result = &s->result;
  int64_t n = s->A->nrows, bad = 0;
  for (int64_t i = 0; i < n; i++) bad += !isfinite(s->x[i]);
  CHECKF(bad == 0, "%lld elements of the answer are not finite (%s)", (long long)bad,
         wr_outcome_title(result->outcome));
  CHECKF(result->iterations >= 0 && result->iterations <= s->options.iterations, "%lld", (long long)result->iterations);
  CHECKF(result->restarts >= 0 && result->restarts <= WR_BICGSTAB_RESTARTS, "%d", result->restarts);
  int most = s->options.by_backward ? WR_BICGSTAB_BACKWARD_REFINEMENTS : WR_BICGSTAB_REFINEMENTS;
  CHECKF(result->refinements >= 0 && result->refinements <= most, "%d", result->refinements);
  check_solution_history(s);
  if (bad == 0) check_outcome(s);
}

static inline void solve_and_check(ground *g, solution *s) {
  solution_run(g, s);
  check_solution(s);
}

/* Solves, checks, and compares the outcome with this one. */
static inline void expect_outcome(ground *g, solution *s, wr_outcome outcome) {
  solve_and_check(g, s);
  CHECKF(s->result.outcome == outcome, "%s, not %s: %.3g after %lld, %d restarts, '%s'",
         wr_outcome_title(s->result.outcome), wr_outcome_title(outcome), s->result.measure,
         (long long)s->result.iterations, s->result.restarts, s->result.note);
}

/* Two runs whose difference must have no effect: the same number of iterations, and the same bits. Nothing is compared if the
 * plan is not deterministic. */
static inline void check_same_run(const solution *a, const solution *b) {
  if (!a->deterministic) return;
  CHECKF(a->result.iterations == b->result.iterations && a->result.restarts == b->result.restarts,
         "%lld iterations and %d restarts, not %lld and %d", (long long)a->result.iterations, a->result.restarts,
         (long long)b->result.iterations, b->result.restarts);
  CHECKF(memcmp(a->x, b->x, (size_t)a->A->nrows * sizeof *a->x) == 0, "other bits after %lld iterations",
         (long long)a->result.iterations);
}

#endif
