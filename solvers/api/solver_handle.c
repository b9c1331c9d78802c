/* Linear systems of windrow.h. */
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>

#include "config/argument.h"
#include "config/clock.h"
#include "config/defaults.h"
#include "config/elements.h"
#include "config/memory.h"
#include "solvers/api/session.h"
#include "solvers/api/solving.h"
#include "solvers/direct.h"
#include "solvers/report/report_text.h"
#include "spmv/matrix/matrix_facts.h"

struct wr_solver {
  wr_matrix *A;
  wr_csr rows; /* of A, with device views of its own */
  wr_session session;
  wr_solving_options options;
  wr_system system;
  wr_plan *plan;
  wr_solving solving;
  wr_run_precond precond;
  wr_listener listener;
  wr_precondition_function *function; /* M of the caller's; NULL: none */
  double *r, *z;                      /* [n] its arguments                                     */
  const char *returned;               /* what M returned first, in this solve, that no M does; NULL: nothing */
  wr_vec given;                       /* [n] f64, for b and x on a device; not allocated before */
  double *fetched;                    /* [n] b, and then x, of given                           */
  const double *x0;                   /* [n] of the options                                    */
  int verify;                         /* of WR_VERIFY_WORDS                                    */
  double prepare_seconds;
  int threads;
};

/* ---- options ---- */

static wr_status check_options(const char *function, const wr_solve_options *o) {
  if (!(o->tolerance >= 0) || isinf(o->tolerance))
    return wr_refuse(function, "options->tolerance is %g; it is finite and 0 or more", o->tolerance);
  if (!(o->atol >= 0) || isinf(o->atol))
    return wr_refuse(function, "options->atol is %g; it is finite and 0 or more", o->atol);
  if (!(o->time_limit >= 0)) return wr_refuse(function, "options->time_limit is %g; it is 0 or more", o->time_limit);
  if (o->max_iterations < 0)
    return wr_refuse(function, "options->max_iterations is %lld", (long long)o->max_iterations);
  if (wr_method_costs_of(&wr_method_bicgstabl, o->ell).stored == 0)
    return wr_refuse(function, "options->ell is %d; 0 stands for 2", o->ell);
  if (o->check_every < 0) return wr_refuse(function, "options->check_every is %lld", (long long)o->check_every);
  if (o->precondition && o->precond && strcmp(o->precond, "none") != 0)
    return wr_refuse(function, "options->precond is '%.40s' besides options->precondition; one of them is applied",
                     o->precond);
  if (o->precondition && o->scale && strcmp(o->scale, "none") != 0)
    return wr_refuse(function,
                     "options->scale is '%.40s'; with options->precondition, which is for A as given, it is none",
                     o->scale);
  return WR_OK;
}

static wr_status choose(const char *function, const wr_solve_options *o, wr_type type, wr_solver *s) {
  int method, scale, fallback, stop;
  PASS(wr_word_choose(function, "options->method", o->method, "auto|bicgstab|bicgstabl|idr|cg", &method));
  PASS(wr_word_choose(function, "options->scale", o->scale, "auto|none|equilibrate|match", &scale));
  PASS(wr_word_choose(function, "options->fallback", o->fallback, "none|direct", &fallback));
  PASS(wr_word_choose(function, "options->stop", o->stop, "residual|backward", &stop));
  PASS(wr_word_choose(function, "options->verify", o->verify, WR_VERIFY_WORDS, &s->verify));
  if (fallback) PASS(wr_direct_check());
  wr_solving_options *to = &s->options;
  to->iterate = (wr_bicgstab_options){.method = wr_method_at(method - 1), .l = o->ell, .tolerance = o->tolerance,
                                      .iterations = o->max_iterations, .check_every = o->check_every,
                                      .by_backward = stop};
  to->atol = o->atol, to->scale = (wr_scale)scale, to->fallback_direct = fallback;
  const char *precond = o->precondition ? "none" : o->precond;
  wr_status status = wr_solving_choose_precond(precond, to);
  if (status != WR_OK) return wr_fail(status, "%s: options->precond: %s", function, wr_status_message());
  wr_solving_complete(to, type);
  if (o->tolerance == 0 && o->atol > 0) to->iterate.tolerance = 0;
  s->function = o->precondition;
  if (s->function) to->scale = WR_SCALE_NONE, to->iterate.no_graph = to->iterate.no_resident = 1;
  return WR_OK;
}

/* ---- M of the caller's ---- */

/* What is wrong with z = M r, r being finite and not 0; NULL: nothing. */
static const char *find_fault(const wr_solver *s) {
  int64_t n = s->system.n, k = 0, bad = wr_first_not_finite(s->z, n);
  if (bad >= 0) return wr_first_not_finite(s->r, n) >= 0 ? NULL : isnan(s->z[bad]) ? "nan" : "inf";
  while (k < n && s->z[k] == 0) k++;
  if (k < n) return NULL;
  for (k = 0; k < n && s->r[k] == 0;) k++;
  return k < n ? "0" : NULL;
}

/* Through arrays of the host, at either place; then the sums that the request has, with z multiplied by 1. */
static wr_status apply_function(void *context, wr_env *env, const wr_precond_request *request) {
  wr_solver *s = context;
  PASS(env->ops->download(env, request->r, s->r));
  wr_fail(WR_OK, NULL);
  wr_status status = s->function(s->listener.context, s->system.n, s->r, s->z);
  if (status != WR_OK)
    return wr_status_message()[0] ? status
                                  : wr_fail(status, "options->precondition returned %s", wr_status_name(status));
  if (s->returned == NULL) s->returned = find_fault(s);
  PASS(env->ops->upload(env, request->z, s->z));
  wr_fused f = {.in = {request->z, request->r}, .out = {request->z}, .c = {{{.factor = 1}, {.factor = 0}}},
                .then = request->then};
  for (int k = 0; k < WR_MAX_REDUCTIONS; k++) {
    f.reduce[k] = request->reduce[k];
    if (f.reduce[k].kind != WR_NO_REDUCTION && f.reduce[k].of == NULL) f.reduce[k].of = request->z;
  }
  return env->ops->fused(env, &f);
}

static wr_status take_function(wr_solver *s) {
  if (s->function == NULL) return WR_OK;
  PASS(wr_alloc(&s->r, s->system.n, sizeof *s->r, "a preconditioner's arguments"));
  PASS(wr_alloc(&s->z, s->system.n, sizeof *s->z, "a preconditioner's arguments"));
  s->solving.options.function = apply_function, s->solving.options.function_context = s;
  return WR_OK;
}

/* ---- preparing ---- */

static wr_status build(const char *function, const wr_solve_options *o, const wr_matrix *A, wr_type type,
                       wr_solver *s) {
  double *zeros = NULL;
  const wr_monitor monitor = wr_listener_monitor(&s->listener, NULL);
  const wr_watch watch = wr_monitor_watch(&monitor);
  s->A = wr_matrix_hold(A, &s->rows);
  PASS(choose(function, o, type, s));
  const wr_place_options place = {.backend = o->backend, .device = o->device, .type = type, .threads = o->threads,
                                  .deterministic = o->deterministic, .listener = &s->listener,
                                  .bytes = wr_solving_work(&s->options, type, s->rows.nrows, s->rows.nnz)};
  PASS(wr_session_open(function, &place, &s->session));
  wr_env *env = &s->session.env, *device = env->place == WR_CUDA ? env : NULL;
  PASS(wr_csr_check_range(&s->rows, type == WR_F32));
  PASS(wr_alloc_zeroed(&zeros, s->rows.nrows, sizeof *zeros, "the right-hand side"));
  PASS(wr_solving_begin(&s->options, &s->rows, zeros, NULL, 0, 0, &watch, &s->system));
  if (device) PASS(wr_system_upload(&s->system, device));
  PASS(wr_solving_finish(&s->system, device));
  if (s->session.choice.backend->apply_many) env->need_columns = WR_MAX_COLUMNS;
  const wr_plan_use use = wr_solving_use(&s->options);
  PASS(wr_session_plan(&s->session, s->system.matrix, &use, &s->listener, &s->plan));
  PASS(wr_solving_open(&s->solving, &s->options, &s->system, s->plan, env));
  PASS(take_function(s));
  return wr_solving_precondition(&s->solving, &monitor, &s->precond);
}

static void describe(const wr_solver *s) {
  const wr_env *env = &s->session.env;
  wr_listener_say(&s->listener, "%s on %s: %s", s->session.choice.backend->name, env->device_name,
                  wr_plan_get_info(s->plan)->line);
  wr_listener_say(&s->listener, "%s", s->system.scaling.sentence);
  if (s->precond.line[0]) wr_listener_say(&s->listener, "%s: %s", s->precond.name, s->precond.line);
}

static wr_status make_solver(const char *function, const wr_matrix *A, const wr_solve_options *options,
                             wr_solver **out) {
  wr_status status;
  wr_solve_options o;
  wr_solver *s = NULL;
  int precision, before = 0;
  double begin = wr_clock();
  *out = NULL;
  TRY(wr_matrix_check(function, A));
  TRY(wr_struct_take(function, "options", options, &o, sizeof o));
  TRY(check_options(function, &o));
  TRY(wr_word_choose(function, "options->precision", o.precision, "f64|f32", &precision));
  if (A->csr->nrows != A->csr->ncols)
    TRY(wr_fail(WR_EINPUT, "%s: a linear system needs a square matrix, not %lld x %lld", function,
                (long long)A->csr->nrows, (long long)A->csr->ncols));
  TRY(wr_alloc_zeroed(&s, 1, sizeof *s, "a solver"));
  s->listener = (wr_listener){.progress = o.progress, .log = o.log, .context = o.context, .trace = o.trace,
                              .time_limit = o.time_limit};
  wr_listener_begin(&s->listener);
  s->x0 = o.x0;
  TRY(wr_threads_enter(function, "options->threads", A->csr->nnz, &o.threads, &before));
  s->threads = o.threads;
  TRY(build(function, &o, A, precision == 1 ? WR_F32 : WR_F64, s));
  describe(s);
  s->prepare_seconds = wr_clock() - begin;
  *out = s, s = NULL;
done:
  wr_threads_leave(before);
  wr_solver_free(s);
  return status;
}

wr_status wr_solver_new(const wr_matrix *A, const wr_solve_options *options, wr_solver **solver) {
  WR_NEED(solver);
  PASS(make_solver(__func__, A, options, solver));
  if (!(*solver)->listener.stopped) return WR_OK;
  wr_solver_free(*solver), *solver = NULL;
  return wr_fail(WR_EUNAVAILABLE, "%s: options->progress has ended it", __func__);
}

void wr_solver_free(wr_solver *s) {
  if (s == NULL) return;
  wr_solving_close(&s->solving);
  if (s->session.env.ops) s->session.env.ops->release(&s->session.env, &s->given);
  wr_plan_destroy(s->plan);
  wr_system_free(&s->system);
  wr_csr_device_free(s->rows.device);
  wr_session_close(&s->session);
  wr_matrix_free(s->A);
  wr_free(s->r);
  wr_free(s->z);
  wr_free(s->fetched);
  wr_free(s);
}

/* ---- solving ---- */

static wr_status set_rhs(wr_solver *s, const double *b, const double *x0) {
  wr_status status;
  double *own_b = NULL, *own_x0 = NULL;
  TRY(wr_copy_elements(b, s->system.n, "the right-hand side", &own_b));
  TRY(wr_copy_elements(x0, s->system.n, "the first guess", &own_x0));
  status = wr_system_set_rhs(&s->system, own_b, own_x0, s->options.atol);
  own_b = own_x0 = NULL; /* the system has taken them over */
  TRY(status);
  TRY(wr_check_empty_rows(&s->rows, b, s->options.iterate.tolerance, s->options.atol));
done:
  wr_free(own_b);
  wr_free(own_x0);
  return status;
}

/* The right-hand sides of a call, and the first guess of a single one. */
typedef struct columns {
  wr_solver *solver;
  int64_t count, ldb;
  const double *b, *x0; /* x0 is on the host */
  int on_device;        /* b and x are on the device */
} columns;

/* The host checks the answer, and so gets b, too. */
static wr_status fetch(wr_solver *s, const double *from, double *to) {
  const wr_vecops *ops = s->session.env.ops;
  PASS(ops->take(&s->session.env, &s->given, from));
  return ops->download(&s->session.env, &s->given, to);
}

static wr_status set_column(void *of, int64_t j) {
  const columns *c = of;
  wr_solver *s = c->solver;
  const double *b = c->b + j * c->ldb;
  if (c->on_device) {
    PASS(fetch(s, b, s->fetched));
    b = s->fetched;
  }
  PASS(set_rhs(s, b, c->x0 ? c->x0 : s->x0));
  s->system.there = c->on_device ? &s->given : NULL;
  return WR_OK;
}

/* After the answer was verified on the host. */
static wr_status give_answer(wr_solver *s, double *x) {
  s->system.there = NULL;
  PASS(wr_solving_place_answer(&s->solving, s->fetched, &s->given));
  return s->session.env.ops->give(&s->session.env, &s->given, x);
}

/* Checks the addresses and makes room. */
static wr_status begin_on_device(const char *function, wr_solver *s, const double *b, const double *x0,
                                 const double *x) {
  static const char *const names[] = {"b", "x0", "x"};
  const double *const arrays[] = {b, x0, x};
  wr_env *env = &s->session.env;
  PASS(wr_session_check_arrays(function, &s->session, 3, arrays, names));
  if (s->given.id) return WR_OK;
  if (s->fetched == NULL) PASS(wr_alloc(&s->fetched, s->system.n, sizeof *s->fetched, "copies of b and x"));
  return env->ops->alloc(env, s->system.n, WR_F64, "copies of b and x", &s->given);
}

static void fill_in(const wr_solver *s, const wr_result *found, const wr_verdict *verdict, wr_solve_result *r) {
  double norm_b = s->system.norm_b > 0 ? s->system.norm_b : 1;
  r->outcome = found->outcome;
  r->iterations = found->iterations, r->multiplies = found->multiplies;
  r->checked_rows = verdict->rows, r->on_host = verdict->on_host;
  r->verified = verdict->level != WR_VERIFY_OFF && verdict->multiplied_right && verdict->met_tolerance;
  r->residual = verdict->level != WR_VERIFY_OFF ? verdict->measure : found->measure;
  r->bound = fmax(s->options.iterate.tolerance, s->system.absolute / norm_b);
  r->attainable = verdict->attainable, r->backward = verdict->backward_error;
  r->prepare_seconds = s->prepare_seconds;
  snprintf(r->method, sizeof r->method, "%s", found->direct.used ? "klu" : found->method);
  snprintf(r->backend, sizeof r->backend, "%s", s->session.choice.backend->name);
  snprintf(r->device, sizeof r->device, "%s", s->session.env.device_name);
  snprintf(r->precond, sizeof r->precond, "%s", s->precond.name);
  snprintf(r->note, sizeof r->note, "%s%s%s", found->note, found->note[0] && found->direct.why[0] ? "; " : "",
           found->direct.why);
  r->doubtful = found->outcome == WR_CONVERGED && r->verified &&
                wr_verdict_is_doubtful(verdict, s->options.iterate.tolerance, found->by_backward);
  if (!r->doubtful) return;
  wr_line line = {0};
  wr_line_add_doubt(&line, verdict->backward_error, s->options.iterate.tolerance);
  size_t used = strlen(r->note);
  snprintf(r->note + used, sizeof r->note - used, "%s%s", used > 0 ? "; " : "", line.text);
}

/* For a call that has failed. */
static void fill_in_failure(wr_status status, wr_solve_result *r) {
  r->status = status, r->outcome = WR_NOT_SOLVED, r->verified = r->doubtful = 0;
  snprintf(r->note, sizeof r->note, "%s", wr_status_message());
}

/* The same for one that is refused before it begins. */
static wr_status refused(wr_status status, wr_solve_result *result) {
  wr_solve_result r = {0};
  fill_in_failure(status, &r);
  wr_struct_give(result, &r, sizeof r);
  return status;
}

/* Tells of M where a solve has failed with one that returns what no M does. */
static void blame_function(const wr_solver *s, wr_result *found) {
  char note[sizeof found->note];
  if (s->returned == NULL || found->outcome == WR_CONVERGED) return;
  snprintf(note, sizeof note, "%s", found->note);
  snprintf(found->note, sizeof found->note, "M returned %s for a finite vector other than 0%s%.*s", s->returned,
           note[0] ? "; " : "", (int)sizeof note - 80, note);
}

/* One right-hand side, of which the trace gets the same column. */
static wr_status solve_one(const char *function, wr_solver *s, columns *all, int64_t column, double *to,
                           wr_solve_result *r) {
  wr_status status;
  wr_history *history;
  wr_result found;
  wr_verdict verdict = {.level = WR_VERIFY_OFF};
  wr_env *env = &s->session.env;
  int before;
  double begin = wr_clock(), moved, *x = all->on_device ? s->fetched : to;
  const wr_sides sides = {.count = all->count, .set = set_column, .of = all};
  TRY(wr_threads_enter(function, "options->threads", s->rows.nnz, &s->threads, &before));
  TRY(wr_trace_begin(s->listener.trace, column, &history));
  const wr_monitor monitor = wr_listener_monitor(&s->listener, history);
  TRY(wr_solving_side(&s->solving, &sides, column, &monitor, &moved));
  TRY(env->ops->wait(env));
  double since = wr_clock();
  r->transfer_seconds = since - begin + moved - s->solving.share;
  (void)omp_pause_resource_all(omp_pause_soft); /* its threads would spin for milliseconds and slow down the solve */
  s->returned = NULL;
  TRY(wr_solving_run(&s->solving, &monitor, &found));
  blame_function(s, &found);
  TRY(env->ops->wait(env));
  r->solve_seconds = wr_clock() - since + s->solving.share, since = wr_clock();
  TRY(wr_solving_answer(&s->solving, x)); /* b may be x: the system has a copy */
  r->transfer_seconds += wr_clock() - since, since = wr_clock();
  double full = wr_solving_verify_seconds(s->rows.nrows, s->rows.nnz, omp_get_max_threads());
  wr_verified level = wr_level_choose(s->verify, full, since - begin);
  TRY(wr_solving_verify(&s->solving, x, level, WR_VERIFY_SAMPLE_ROWS, &verdict));
  r->verify_seconds = wr_clock() - since, since = wr_clock();
  if (all->on_device) {
    TRY(give_answer(s, to));
    r->transfer_seconds += wr_clock() - since;
  }
  fill_in(s, &found, &verdict, r);
  r->total_seconds = wr_clock() - begin + moved;
  wr_listener_say(&s->listener, "%s", found.changes);
  wr_listener_say(&s->listener, "%s by %s after %lld iterations, residual %.3g%s%s", wr_outcome_title(found.outcome),
                  found.method, (long long)found.iterations, r->residual, found.note[0] ? ": " : "", found.note);
  if (level != WR_VERIFY_OFF && !verdict.multiplied_right && found.outcome != WR_NON_FINITE)
    TRY(wr_fail(WR_EINTERNAL, "%s: %s has multiplied wrong: the error of a row is %.3g times what rounding explains",
                function, s->session.choice.backend->name, verdict.worst_row));
done:
  wr_threads_leave(before);
  if (status != WR_OK) fill_in_failure(status, r);
  return status;
}

static wr_status check_one(const char *function, const wr_solver *s, const double *b, const double *x,
                           const wr_solve_result *result) {
  if (s == NULL) return wr_refuse(function, "solver is NULL");
  if (b == NULL) return wr_refuse(function, "b is NULL");
  if (x == NULL) return wr_refuse(function, "x is NULL");
  return wr_struct_check(function, "result", result);
}

wr_status wr_solver_solve(wr_solver *solver, const double *b, const double *x0, double *x, wr_solve_result *result) {
  wr_solve_result r = {0};
  wr_status status = check_one(__func__, solver, b, x, result);
  if (status != WR_OK) return refused(status, result);
  wr_listener_begin(&solver->listener);
  columns one = {.solver = solver, .count = 1, .b = b, .x0 = x0};
  status = solve_one(__func__, solver, &one, 0, x, &r);
  wr_struct_give(result, &r, sizeof r);
  return status;
}

wr_status wr_solver_solve_device(wr_solver *solver, const double *b, const double *x0, double *x,
                                 wr_solve_result *result) {
  double *guess = NULL;
  wr_solve_result r = {0};
  wr_status status = check_one(__func__, solver, b, x, result);
  if (status == WR_OK) status = begin_on_device(__func__, solver, b, x0, x);
  if (status == WR_OK && x0) status = wr_alloc(&guess, solver->system.n, sizeof *guess, "the first guess");
  if (status == WR_OK && x0) status = fetch(solver, x0, guess);
  if (status != WR_OK) {
    wr_free(guess);
    return refused(status, result);
  }
  wr_listener_begin(&solver->listener);
  columns one = {.solver = solver, .count = 1, .b = b, .x0 = guess, .on_device = 1};
  status = solve_one(__func__, solver, &one, 0, x, &r);
  wr_struct_give(result, &r, sizeof r);
  wr_free(guess);
  return status;
}

static wr_status check_many(const char *function, const wr_solver *s, int64_t count, const double *b, int64_t ldb,
                            const double *x, int64_t ldx, const wr_solve_result *results) {
  if (s == NULL) return wr_refuse(function, "solver is NULL");
  long long n = (long long)s->system.n;
  if (count < 1) return wr_refuse(function, "count is %lld", (long long)count);
  if (b == NULL) return wr_refuse(function, "b is NULL");
  if (x == NULL) return wr_refuse(function, "x is NULL");
  if (ldb < n) return wr_refuse(function, "ldb is %lld, less than the %lld rows", (long long)ldb, n);
  if (ldx < n) return wr_refuse(function, "ldx is %lld, less than the %lld rows", (long long)ldx, n);
  return wr_struct_check(function, "results", results);
}

static wr_status solve_many(const char *function, columns *all, double *x, int64_t ldx, wr_solve_result *results) {
  wr_error first = {.status = WR_OK};
  wr_solver *solver = all->solver;
  const int64_t count = all->count;
  const size_t size = results->size; /* of the caller's structs, which is their distance */
  wr_listener_begin(&solver->listener);
  for (int64_t j = 0; j < count; j++) {
    wr_solve_result r = {0};
    char *to = (char *)results + (size_t)j * size;
    wr_status status = solve_one(function, solver, all, j, x + j * ldx, &r);
    memcpy(to, &size, sizeof size);
    wr_struct_give(to, &r, sizeof r);
    if (first.status == WR_OK) (void)wr_error_keep(&first, status);
  }
  char text[240];
  wr_solving_describe_sides(&solver->solving, text, sizeof text);
  if (count > 1) wr_listener_say(&solver->listener, "%lld right-hand sides: %s", (long long)count, text);
  return wr_error_raise(&first);
}

wr_status wr_solver_solve_many(wr_solver *solver, int64_t count, const double *b, int64_t ldb, double *x, int64_t ldx,
                               wr_solve_result *results) {
  wr_status status = check_many(__func__, solver, count, b, ldb, x, ldx, results);
  if (status != WR_OK) return refused(status, results);
  return solve_many(__func__, &(columns){.solver = solver, .count = count, .ldb = ldb, .b = b}, x, ldx, results);
}

wr_status wr_solver_solve_many_device(wr_solver *solver, int64_t count, const double *b, int64_t ldb, double *x,
                                      int64_t ldx, wr_solve_result *results) {
  wr_status status = check_many(__func__, solver, count, b, ldb, x, ldx, results);
  if (status == WR_OK) status = begin_on_device(__func__, solver, b, NULL, x);
  if (status != WR_OK) return refused(status, results);
  columns all = {.solver = solver, .count = count, .ldb = ldb, .b = b, .on_device = 1};
  return solve_many(__func__, &all, x, ldx, results);
}

/* ---- in one call ---- */

static wr_status solve(const char *function, const wr_matrix *A, const double *b, double *x,
                       const wr_solve_options *options, wr_solve_result *result) {
  wr_solver *solver = NULL;
  wr_solve_result r = {0};
  if (A == NULL) return refused(wr_refuse(function, "A is NULL"), result);
  if (b == NULL) return refused(wr_refuse(function, "b is NULL"), result);
  if (x == NULL) return refused(wr_refuse(function, "x is NULL"), result);
  PASS(wr_struct_check(function, "result", result));
  double begin = wr_clock();
  wr_status status = make_solver(function, A, options, &solver);
  if (status == WR_OK)
    status = solve_one(function, solver, &(columns){.solver = solver, .count = 1, .b = b}, 0, x, &r);
  else
    fill_in_failure(status, &r);
  r.total_seconds = wr_clock() - begin;
  wr_struct_give(result, &r, sizeof r);
  wr_solver_free(solver);
  return status;
}

wr_status wr_solve(const wr_matrix *A, const double *b, double *x, const wr_solve_options *options,
                   wr_solve_result *result) {
  return solve(__func__, A, b, x, options, result);
}

static wr_status solve_rows(const char *function, int64_t n, wr_integers row_ptr, wr_integers col, const double *val,
                            const double *b, double *x, const wr_solve_options *options, wr_solve_result *result) {
  wr_matrix *A;
  wr_status status =
      n < 1 ? wr_refuse(function, "n is %lld", (long long)n) : wr_matrix_of_rows(function, n, n, row_ptr, col, val, &A);
  if (status != WR_OK) return refused(status, result);
  status = solve(function, A, b, x, options, result);
  wr_matrix_free(A);
  return status;
}

wr_status wr_solve_csr(int64_t n, const int32_t *row_ptr, const int32_t *col, const double *val, const double *b,
                       double *x, const wr_solve_options *options, wr_solve_result *result) {
  return solve_rows(__func__, n, (wr_integers){.narrow = row_ptr}, (wr_integers){.narrow = col}, val, b, x, options,
                    result);
}

wr_status wr_solve_csr64(int64_t n, const int64_t *row_ptr, const int64_t *col, const double *val, const double *b,
                         double *x, const wr_solve_options *options, wr_solve_result *result) {
  return solve_rows(__func__, n, (wr_integers){.wide = row_ptr}, (wr_integers){.wide = col}, val, b, x, options,
                    result);
}
