#include "solvers/api/solving.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "config/clock.h"
#include "config/defaults.h"
#include "config/elements.h"
#include "config/memory.h"
#include "config/text.h"
#include "solvers/direct.h"
#include "solvers/report/report_text.h"
#include "spmv/matrix/matrix_facts.h"
#include "spmv/parts/halo.h"

/* A method that is named is the plain one, to be compared with that of papers, unless a preconditioner is named as well. */
wr_status wr_solving_choose_precond(const char *text, wr_solving_options *o) {
  wr_status status;
  void *knobs = NULL;
  char name[64];
  o->precond = &wr_precond_none, o->precond_knobs = NULL;
  o->precond_auto = text ? strcmp(text, "auto") == 0 : o->iterate.method == NULL;
  o->precond_text = text ? text : o->precond_auto ? "auto" : "none";
  if (text == NULL || o->precond_auto) return WR_OK;
  const char *colon = strchr(text, ':');
  snprintf(name, sizeof name, "%.*s", (int)strcspn(text, ":"), text);
  TRY(wr_preconditioner_find(name, &o->precond));
  o->precond_knobs = colon ? colon + 1 : NULL;
  TRY(wr_alloc_zeroed(&knobs, 1, o->precond->knobs_size, "knobs"));
  TRY(wr_options_default(o->precond->knobs, knobs));
  TRY(wr_knobs_parse(o->precond->knobs, knobs, o->precond_knobs, o->precond->name));
done:
  if (knobs) wr_options_release(o->precond->knobs, knobs);
  wr_free(knobs);
  return status;
}

void wr_solving_complete(wr_solving_options *o, wr_type type) {
  if (o->iterate.tolerance == 0)
    o->iterate.tolerance = type == WR_F32 ? WR_BICGSTAB_TOLERANCE_F32 : WR_BICGSTAB_TOLERANCE_F64;
  if (o->iterate.iterations == 0) o->iterate.iterations = WR_BICGSTAB_ITERATIONS;
}

double wr_solving_work(const wr_solving_options *o, wr_type of_type, int64_t nrows, int64_t nnz) {
  double type = (double)wr_type_bytes(of_type), n = (double)nrows;
  const wr_method_costs costs = wr_method_costs_of(&wr_method_bicgstab, 0);
  double multiply = (4 + type) * (double)nnz + (8 + 2 * type) * n;
  double step = costs.multiplies * multiply + costs.moved * type * n;
  return step * fmin(ceil(sqrt(n)), (double)o->iterate.iterations);
}

wr_plan_use wr_solving_use(const wr_solving_options *o) {
  double most = wr_method_costs_of(&wr_method_bicgstab, 0).multiplies * (double)o->iterate.iterations;
  return (wr_plan_use){.multiplies = fmin(WR_EXPECTED_MULTIPLIES, most),
                       .resident = !o->iterate.no_graph && !o->iterate.no_resident};
}

/* Whether M is applied in each iteration instead of scaling columns once: it is not diagonal, or conjugate gradients need a
 * symmetric matrix. *positive := what it found, so that the solver need not test it again. */
static int applies_precond(const wr_solving_options *o, const wr_csr *A, int *positive) {
  if (o->precond->diagonal == NULL || A->halo) return 1;
  if (o->iterate.method) return o->iterate.method == &wr_method_cg;
  *positive = wr_is_symmetric_positive(A) ? 1 : -1;
  return *positive > 0;
}

wr_status wr_solving_begin(const wr_solving_options *o, wr_csr *A, double *b, double *guess, int random, int64_t seed,
                           const wr_watch *watch, wr_system *system) {
  int positive = 0;
  const wr_preconditioner *columns = applies_precond(o, A, &positive) ? NULL : o->precond;
  PASS(wr_system_begin(A, b, guess, random, seed, o->scale, columns, o->atol, watch, system));
  system->positive = positive;
  return WR_OK;
}

wr_status wr_solving_finish(wr_system *system, wr_env *device) {
  int is_positive;
  PASS(wr_system_finish(system, device));
  if (system->matrix != system->A) system->positive = 0; /* what was found is of A */
  if (system->comm == NULL) return WR_OK;
  PASS(wr_halo_is_symmetric_positive(system->matrix, &is_positive));
  system->positive = is_positive ? 1 : -1;
  return WR_OK;
}

wr_status wr_solving_open(wr_solving *r, const wr_solving_options *options, wr_system *system, wr_plan *plan,
                          wr_env *env) {
  *r = (wr_solving){
      .options = *options, .system = system, .plan = plan, .env = env, .rounding = wr_rounding_of(env, plan)};
  return wr_bicgstab_open(&r->method, system, plan, env);
}

static void forget_together(wr_solving *r) {
  for (int k = 0; r->env && k < WR_MAX_COLUMNS; k++) wr_lockstep_column_free(r->env, &r->together[k]);
}

void wr_solving_close(wr_solving *r) {
  forget_together(r);
  wr_bicgstab_close(&r->method);
  wr_precond_destroy(r->precond);
  wr_auto_end(&r->chosen);
  wr_free(r->x);
  *r = (wr_solving){0};
}

/* "..., 3 small pivots were shifted, the first in row 17", rows being those of A as given; pivots of all parts. */
static wr_status describe_precond(const wr_system *system, const wr_precond_info *info, wr_run_precond *precond) {
  wr_line line = {0};
  int64_t shifted = info->shifted, first = INT64_MIN;
  if (shifted > 0) first = -wr_csr_row_number(system->A, wr_system_row(system, info->first_shifted));
  PASS(wr_comm_sum_counts(system->comm, &shifted, 1));
  PASS(wr_comm_max_counts(system->comm, &first, 1));
  wr_line_add(&line, "%s", info->line);
  if (shifted > 0)
    wr_line_add(&line, "; %" PRId64 " small %s, the first in row %" PRId64, shifted,
                wr_plural(shifted, "pivot was shifted", "pivots were shifted"), wr_csr_first(system->A) - first);
  snprintf(precond->line, sizeof precond->line, "%.*s", (int)sizeof precond->line - 1, line.text);
  precond->bytes = info->extra_bytes, precond->apply_bytes = info->apply_bytes;
  return WR_OK;
}

/* Conjugate gradients take a preconditioner that is symmetric positive definite. */
static wr_status check_method(const wr_solving *r, const char *name) {
  if (r->options.iterate.method != &wr_method_cg || wr_precond_is_diagonal(r->precond) ||
      wr_precond_get_info(r->precond)->is_positive)
    return WR_OK;
  return wr_fail(WR_EUSAGE,
                 "--method cg needs a preconditioner that is symmetric positive definite, and --precond %s is none for "
                 "this matrix; leave out --method",
                 name);
}

/* A diagonal one that is part of the system's matrix is not applied. */
wr_status wr_solving_precondition(wr_solving *r, const wr_monitor *monitor, wr_run_precond *precond) {
  wr_status status;
  const wr_preconditioner *of = r->options.precond;
  wr_watch watch = wr_monitor_watch(monitor);
  if (r->options.function) {
    snprintf(precond->name, sizeof precond->name, "a function");
    PASS(wr_precond_of_function(r->options.function, r->options.function_context, r->system->n, r->env, &r->precond));
    return wr_bicgstab_precondition(&r->method, r->precond);
  }
  if (r->options.precond_auto) return wr_auto_begin(&r->chosen, r->system, r->env, precond);
  if (of->prepare == NULL || (of->diagonal && r->system->inverse_diagonal)) return WR_OK;
  PASS(wr_csr_host(r->system->matrix, r->env)); /* a device may have scaled it */
  r->env->watch = &watch;
  status = wr_precond_create(of, r->options.precond_knobs, r->system->matrix, r->env, &r->precond);
  r->env->watch = NULL;
  if (status == WR_OK) status = check_method(r, of->name);
  if (status == WR_OK) status = wr_bicgstab_precondition(&r->method, r->precond);
  status = wr_comm_agree(r->system->comm, status);
  snprintf(precond->name, sizeof precond->name, "%s", r->options.precond_text);
  if (status == WR_EUNAVAILABLE && wr_monitor_ends(monitor)) { /* the solve ends at its first check */
    snprintf(precond->line, sizeof precond->line, "%s, and no preconditioner is applied", wr_status_message());
    wr_precond_destroy(r->precond), r->precond = NULL; /* another part may have failed */
    return wr_bicgstab_precondition(&r->method, NULL);
  }
  PASS(status);
  return describe_precond(r->system, wr_precond_get_info(r->precond), precond);
}

/* After wr_system_set_rhs: what follows is with the new right-hand side and guess, and with the same preconditioner. What the
 * method has found out about the matrix stays true. */
static wr_status renew(wr_solving *r) {
  if (r->method.symmetric_for != 0 && r->system->positive == 0) r->system->positive = r->method.symmetric ? 1 : -1;
  wr_bicgstab_close(&r->method);
  PASS(wr_bicgstab_open(&r->method, r->system, r->plan, r->env));
  return r->precond ? wr_bicgstab_precondition(&r->method, r->precond) : WR_OK;
}

/* ---- Several right-hand sides ---- */

/* Why right-hand sides are not iterated together, or that they are. The method must be chosen. */
static void find_why_alone(wr_solving *r) {
  const wr_bicgstab *s = &r->method;
  const char *backend = wr_plan_backend(r->plan)->name;
  char *why = r->why_alone;
  size_t size = sizeof r->why_alone;
  why[0] = '\0';
  if (wr_exchange_is_direct(wr_plan_get_info(r->plan)->exchange))
    snprintf(why, size, "GPUs that exchange with each other multiply one vector at a time");
  else if (wr_plan_backend(r->plan)->apply_many == NULL || r->env->need_columns < 2)
    snprintf(why, size, "%s multiplies one vector at a time", backend);
  else if (s->method != &wr_method_cg && s->method != &wr_method_bicgstab)
    snprintf(why, size, "%s iterates one at a time", wr_method_name(s->method));
}

/* Loads right-hand sides from `first` on and iterates them. One that is refused is so again when it is solved. */
static wr_status iterate_together(wr_solving *r, const wr_sides *sides, int64_t first, int count,
                                  const wr_monitor *monitor) {
  wr_status status;
  wr_lockstep *l = NULL;
  const wr_lockstep_options options = {.solve = &r->options.iterate,
                                       .may_change = r->options.iterate.method == NULL,
                                       .may_change_precond = r->options.precond_auto,
                                       .keeps_history = monitor && monitor->history,
                                       .goes_on = r->options.precond_auto ? wr_auto_goes_on : NULL,
                                       .context = &r->chosen};
  TRY(wr_lockstep_open(&r->method, count, &options, &l));
  for (int k = 0; k < count; k++) {
    double norm;
    status = sides->set(sides->of, first + k);
    if (status == WR_EINPUT || status == WR_EUSAGE) continue;
    TRY(status);
    TRY(wr_bicgstab_load(&r->method, &norm));
    TRY(wr_lockstep_add(l, norm, &r->together[k]));
  }
  TRY(wr_lockstep_run(l, monitor));
  for (int k = 0; k < count; k++) r->shared += r->together[k].d.id != 0, r->alone += r->together[k].d.id == 0;
done:
  wr_lockstep_close(l);
  return status;
}

/* Without memory for it, right-hand sides are solved one after the other. */
static wr_status begin_together(wr_solving *r, const wr_sides *sides, int64_t first, const wr_monitor *monitor) {
  int64_t left = sides->count - first;
  int count = left < WR_MAX_COLUMNS ? (int)left : WR_MAX_COLUMNS;
  r->first_side = first;
  forget_together(r);
  if (count < 2 || wr_monitor_ends(monitor)) return WR_OK;
  if (r->options.precond_auto) PASS(wr_auto_solve(&r->chosen, monitor, &r->options.iterate, &r->method));
  wr_method_choose(&r->method, &r->options.iterate);
  find_why_alone(r);
  if (r->why_alone[0]) return WR_OK;
  wr_status status = iterate_together(r, sides, first, count, monitor);
  if (status != WR_ENOMEM) return status;
  snprintf(r->why_alone, sizeof r->why_alone, "there is no memory for vectors of %d", count);
  forget_together(r);
  return WR_OK;
}

wr_status wr_solving_side(wr_solving *r, const wr_sides *sides, int64_t side, const wr_monitor *monitor,
                          double *moved) {
  double begin = wr_clock();
  *moved = 0;
  if (side % WR_MAX_COLUMNS == 0) {
    PASS(begin_together(r, sides, side, monitor));
    PASS(r->env->ops->wait(r->env));
    int64_t left = sides->count - side;
    double seconds = wr_clock() - begin;
    r->share = seconds / (double)(left < WR_MAX_COLUMNS ? left : WR_MAX_COLUMNS);
    *moved = -seconds;
  }
  *moved += r->share;
  PASS(sides->set(sides->of, side));
  PASS(wr_comm_agree(r->system->comm, renew(r)));
  wr_lockstep_column *column = &r->together[side - r->first_side];
  if (column->d.id == 0) return WR_OK;
  r->method.begun = (wr_bicgstab_begun){column->d, column->iterations, column->multiplies};
  column->d = (wr_vec){0};
  for (int64_t k = 0; monitor && monitor->history && k < column->history.count; k++)
    PASS(wr_history_add(monitor->history, column->history.iteration[k], column->history.measure[k]));
  return WR_OK;
}

void wr_solving_describe_sides(const wr_solving *r, char *text, size_t size) {
  wr_line line = {0};
  if (r->why_alone[0])
    wr_line_add(&line, "one after the other, as %s", r->why_alone);
  else
    wr_line_add(&line, "iterated together, %d at once at most", (int)WR_MAX_COLUMNS);
  if (r->why_alone[0] == '\0' && r->alone > 0)
    wr_line_add(&line, "; %" PRId64 " of %" PRId64 " then alone, from the beginning", r->alone, r->alone + r->shared);
  snprintf(text, size, "%s", line.text);
}

/* Does what --fallback asks for if result says that the iterations have failed. *x: NULL, or [n] with an answer that takes the
 * place of the iterate, for wr_free: one that meets the tolerance, or has the smaller residual. result: its outcome, measure,
 * note and `direct` are then those of this answer. A factorisation that fails is no error: result->direct says why, and the
 * iterate stays the answer. */
static wr_status fall_back(const wr_solving_options *o, const wr_system *system, const wr_monitor *monitor,
                           wr_result *result, double **x) {
  wr_status status;
  wr_direct_facts facts = {.tried = 1};
  const wr_direct_options options = {.tolerance = o->iterate.tolerance, .by_backward = o->iterate.by_backward};
  *x = NULL;
  if (!o->fallback_direct || result->outcome == WR_CONVERGED || result->outcome == WR_INTERRUPTED) return WR_OK;
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

wr_status wr_solving_run(wr_solving *r, const wr_monitor *monitor, wr_result *result) {
  wr_free(r->x), r->x = NULL;
  if (r->options.precond_auto) PASS(wr_auto_solve(&r->chosen, monitor, &r->options.iterate, &r->method));
  PASS(wr_bicgstab_solve(&r->method, &r->options.iterate, monitor, result));
  PASS(fall_back(&r->options, r->system, monitor, result, &r->x));
  r->norm = r->system->norm_b > 0 ? result->measure * r->system->norm_b : result->measure;
  return WR_OK;
}

wr_status wr_solving_answer(wr_solving *r, double *x) {
  if (r->x) {
    memcpy(x, r->x, (size_t)r->system->n * sizeof *x);
    return WR_OK;
  }
  PASS(wr_bicgstab_download(&r->method, x, NULL));
  wr_system_unscale(r->system, x);
  return WR_OK;
}

wr_status wr_solving_place_answer(wr_solving *r, const double *x, wr_vec *to) {
  const wr_system *s = r->system;
  const wr_scale_factor power = wr_scale_of(-s->exponent - s->rhs_exponent);
  int is_there = r->x == NULL && !r->method.refined && s->scaling.done == WR_SCALE_NONE &&
                 s->inverse_diagonal == NULL && power.unit != 0;
  if (!is_there) return r->env->ops->upload(r->env, to, x);
  return r->env->ops->recast(r->env, &(wr_recast){.in = {&r->method.x}, .c = {power.unit}, .out = to});
}

wr_status wr_solving_verify(wr_solving *r, const double *x, wr_verified level, int64_t rows, wr_verdict *verdict) {
  wr_status status;
  int64_t n = r->system->n;
  double *buffer = NULL;
  wr_residual direct;
  *verdict = (wr_verdict){.level = level};
  if (level == WR_VERIFY_OFF) return WR_OK;
  TRY(wr_alloc(&buffer, 3 * n, sizeof *buffer, "verification"));
  double *u = buffer, *b = buffer + n, *q = buffer + 2 * n;
  TRY(wr_bicgstab_last_product(&r->method, u, b, q));
  const wr_residual *found = r->method.on_host ? &r->method.found : NULL;
  if (r->x) { /* not the residual that the direct solver found, but one of the answer as it is given out */
    TRY(wr_residual_find(r->system, x, NULL, &direct));
    found = &direct;
  }
  const wr_solved solved = {x, u, b, q, r->norm, found, r->options.iterate.by_backward};
  TRY(wr_verify_system(r->system, r->options.iterate.tolerance, r->rounding, &solved, level, rows, verdict));
  if (r->system->norm_b > 0)
    verdict->measure /= r->system->norm_b, verdict->limit /= r->system->norm_b,
        verdict->attainable /= r->system->norm_b;
done:
  wr_free(buffer);
  return status;
}

/* Rows are independent: 2 to 10 ns an entry and thread (16 threads of a Xeon, 2026-11). */
double wr_solving_verify_seconds(int64_t nrows, int64_t nnz, int threads) {
  return 1e-8 * (double)(nrows + nnz) / threads;
}
