/* bicgstab: solves a square, general linear system. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "config/defaults.h"
#include "config/memory.h"
#include "config/text.h"
#include "io/vector_file.h"
#include "solvers/bicgstab.h"
#include "solvers/direct.h"
#include "solvers/api/auto_precond.h"
#include "solvers/program/need.h"
#include "solvers/program/program.h"
#include "solvers/report/report_text.h"
#include "solvers/verify.h"
#include "spmv/matrix/matrix_facts.h"

typedef struct problem {
  wr_system system;
  const wr_settings *settings;
  int positive; /* 1: A is symmetric with a positive diagonal; -1: it is not; 0: not tested */
} problem;

/* A solve in progress. */
typedef struct solving {
  wr_bicgstab method;
  const wr_settings *settings;
  wr_system *system;
  wr_env *env;
  wr_bicgstab_options options;
  wr_rounding rounding;
  wr_precond *precond; /* applied in each iteration; NULL: none, or part of the system's matrix */
  wr_auto_precond chosen; /* of --precond auto */
  double *x;   /* [n] by the fallback; NULL: the answer is the iterate */
  double norm; /* of the final residual, as the device computed it, of the scaled system */
} solving;

static void complete(wr_settings *s) {
  if (s->tolerance == 0) s->tolerance = s->precision == WR_F32 ? WR_BICGSTAB_TOLERANCE_F32 : WR_BICGSTAB_TOLERANCE_F64;
  if (s->iterations == 0) s->iterations = WR_BICGSTAB_ITERATIONS;
  if (s->precond_text == NULL) /* so that reports have it; without memory they lack it */
    (void)wr_option_set(wr_bicgstab_table, s, "precond", s->precond_auto ? "auto" : "none", "--precond");
}

/* Multiplies and vectors of BiCGSTAB's iterations; as many iterations as a square grid of so many points has on a side. */
static double work(const wr_settings *s, int64_t nrows, int64_t nnz) {
  double type = (double)wr_type_bytes((wr_type)s->precision), n = (double)nrows;
  const wr_method_costs costs = wr_method_costs_of(&wr_method_bicgstab, 0);
  double multiply = (4 + type) * (double)nnz + (8 + 2 * type) * n;
  double step = costs.multiplies * multiply + costs.moved * type * n;
  return step * fmin(ceil(sqrt(n)), (double)s->iterations) * (double)s->repeat;
}

/* Adds to the remark where b is from and how the matrix was scaled. */
static void describe(const wr_settings *s, const wr_system *system, wr_problem_facts *facts) {
  wr_line line = {0};
  int64_t below = s->precision == WR_F32 ? wr_system_below_f32(system) : 0;
  wr_line_add(&line, "%s%sb = %.100s", facts->remark, facts->remark[0] ? "; " : "",
              s->rhs          ? s->rhs
              : s->rhs_random ? "A times random numbers"
                              : "A times ones");
  if (system->scaling.sentence[0]) wr_line_add(&line, "; %s", system->scaling.sentence);
  if (system->matrix_exponent != 0) wr_line_add(&line, "; A scaled by 2^%d", system->matrix_exponent);
  if (below > 0)
    wr_line_add(&line, "; f32 holds %" PRId64 " value%s below 1.2e-38 with few digits or as 0", below,
                below == 1 ? "" : "s");
  snprintf(facts->remark, sizeof facts->remark, "%.*s", (int)sizeof facts->remark - 1, line.text);
}

/* Whether M is applied in each iteration instead of scaling columns once: it is not diagonal, or conjugate gradients need a
 * symmetric matrix. Keeps what it found in p, so that the solver need not test it again. */
static int applies_precond(const wr_settings *s, const wr_csr *A, problem *p) {
  if (wr_preconditioner_at(s->precond)->diagonal == NULL) return 1;
  if (s->method > 0) return wr_method_at(s->method - 1) == &wr_method_cg;
  if (s->precond > 0) p->positive = wr_is_symmetric_positive(A) ? 1 : -1;
  return p->positive > 0;
}

static wr_status open_problem(const wr_settings *s, wr_csr *A, const wr_ids *ids, const wr_watch *watch,
                              wr_problem_facts *facts, void *of) {
  wr_status status = WR_OK;
  problem *p = of;
  double *b = NULL, *guess = NULL;
  wr_vector_need rows = {.n = A->nrows, .whose = "the matrix's rows", .ids = ids};
  if (s->rhs) TRY(wr_vector_read(s->rhs, &rows, &b));
  if (b && !s->check) status = wr_check_empty_rows(A, b, s->tolerance, s->atol);
  if (status != WR_OK) TRY(wr_fail(status, "%s: %s", facts->source, wr_status_message()));
  wr_vector_need unknowns = {.n = A->ncols, .whose = "the matrix's columns", .ids = ids};
  if (s->guess) TRY(wr_vector_read(s->guess, &unknowns, &guess));
  p->settings = s;
  status =
      wr_system_begin(A, b, guess, s->rhs_random, s->rhs_seed, s->check ? WR_SCALE_NONE : (wr_scale)s->scale,
                      s->precond && !s->check && !applies_precond(s, A, p) ? wr_preconditioner_at(s->precond) : NULL,
                      s->atol, watch, &p->system);
  b = guess = NULL; /* the system has taken them over */
done:
  wr_free(b);
  wr_free(guess);
  return status;
}

static wr_status upload(void *of, wr_env *device) { return wr_system_upload(&((problem *)of)->system, device); }

static wr_status finish(void *of, wr_env *device, wr_problem_facts *facts) {
  problem *p = of;
  wr_status status = wr_system_finish(&p->system, device);
  if (status == WR_OK && p->system.matrix == p->system.A) p->system.positive = p->positive;
  if (status == WR_OK) describe(p->settings, &p->system, facts);
  return status;
}

/* Not if columns are scaled by a diagonal preconditioner, or rows are matched by request: the solver then multiplies by another
 * matrix than A. Where A is equilibrated, the device does that to the rows that it has got. */
static int uploads_input(const wr_settings *s, const wr_csr *A, int all_on_device) {
  (void)A;
  return wr_preconditioner_at(s->precond)->diagonal == NULL && s->scale != WR_SCALE_MATCH &&
         (s->scale != WR_SCALE_EQUILIBRATE || all_on_device);
}

static void close_problem(void *of) { wr_system_free(&((problem *)of)->system); }

static wr_csr *matrix(void *of) { return ((problem *)of)->system.matrix; }

static wr_status start_solve(void *of, const wr_settings *s, wr_plan *plan, wr_env *env, void *solve) {
  solving *r = solve;
  r->settings = s, r->system = &((problem *)of)->system;
  r->rounding = wr_rounding_of(env, plan);
  r->options = (wr_bicgstab_options){
      .tolerance = s->tolerance, .iterations = s->iterations, .check_every = s->check_every,
      .no_graph = s->no_graph,
      .no_resident = s->no_resident,
      .by_backward = s->stop == WR_STOP_BACKWARD,
      .method = s->method > 0 ? wr_method_at(s->method - 1) : NULL,
      .l = (int)s->ell};
  r->env = env;
  return wr_bicgstab_open(&r->method, r->system, plan, env);
}

/* "..., 3 small pivots were shifted, the first in row 17", rows being those of A as given. */
static void describe_precond(const wr_system *system, const wr_precond_info *info, wr_run_precond *precond) {
  wr_line line = {0};
  wr_line_add(&line, "%s", info->line);
  if (info->shifted > 0)
    wr_line_add(&line, "; %" PRId64 " small %s, the first in row %" PRId64, info->shifted,
                wr_plural(info->shifted, "pivot was shifted", "pivots were shifted"),
                wr_system_row(system, info->first_shifted) + 1);
  snprintf(precond->line, sizeof precond->line, "%.*s", (int)sizeof precond->line - 1, line.text);
  precond->bytes = info->extra_bytes, precond->apply_bytes = info->apply_bytes;
}

/* Conjugate gradients take a preconditioner that is symmetric positive definite. */
static wr_status check_method(const solving *r, const char *name) {
  if (r->options.method != &wr_method_cg || wr_precond_is_diagonal(r->precond) ||
      wr_precond_get_info(r->precond)->is_positive)
    return WR_OK;
  return wr_fail(WR_EUSAGE,
                 "--method cg needs a preconditioner that is symmetric positive definite, and --precond %s is none for "
                 "this matrix; leave out --method",
                 name);
}

/* A diagonal one that is part of the system's matrix is not applied. */
static wr_status precondition(void *solve, const wr_settings *s, const wr_monitor *monitor, wr_run_precond *precond) {
  wr_status status;
  solving *r = solve;
  const wr_preconditioner *of = wr_preconditioner_at(s->precond);
  wr_watch watch = wr_monitor_watch(monitor);
  if (s->precond_auto) {
    TRY(wr_auto_begin(&r->chosen, r->system, r->env, precond));
    goto done;
  }
  if (of->prepare == NULL || (of->diagonal && r->system->inverse_diagonal)) return WR_OK;
  TRY(wr_csr_host(r->system->matrix, r->env)); /* a device may have scaled it */
  r->env->watch = &watch;
  status = wr_precond_create(of, s->precond_knobs, r->system->matrix, r->env, &r->precond);
  r->env->watch = NULL;
  snprintf(precond->name, sizeof precond->name, "%s", s->precond_text);
  if (status == WR_EUNAVAILABLE && wr_monitor_ends(monitor)) { /* the solve ends at its first check */
    snprintf(precond->line, sizeof precond->line, "%s, and no preconditioner is applied", wr_status_message());
    return WR_OK;
  }
  TRY(status);
  TRY(check_method(r, of->name));
  TRY(wr_bicgstab_precondition(&r->method, r->precond));
  describe_precond(r->system, wr_precond_get_info(r->precond), precond);
done:
  return status;
}

/* Does what --fallback asks for if result says that the iterations have failed. *x: NULL, or [n] with an answer that takes the
 * place of the iterate, for wr_free: one that meets the tolerance, or has the smaller residual. result: its outcome, measure,
 * note and `direct` are then those of this answer. A factorisation that fails is no error: result->direct says why, and the
 * iterate stays the answer. */
static wr_status fall_back(const wr_settings *s, const wr_system *system, const wr_monitor *monitor, wr_result *result,
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

static wr_status run(void *solve, const wr_monitor *monitor, wr_result *result) {
  solving *r = solve;
  wr_free(r->x), r->x = NULL;
  if (r->settings->precond_auto) PASS(wr_auto_solve(&r->chosen, monitor, &r->options, &r->method));
  PASS(wr_bicgstab_solve(&r->method, &r->options, monitor, result));
  PASS(fall_back(r->settings, r->system, monitor, result, &r->x));
  r->norm = r->system->norm_b > 0 ? result->measure * r->system->norm_b : result->measure;
  return WR_OK;
}

static wr_status multiply(void *solve, int count) { return wr_bicgstab_multiply(&((solving *)solve)->method, count); }

static wr_status answer(void *solve, double *x) {
  solving *r = solve;
  if (r->x) {
    memcpy(x, r->x, (size_t)r->system->n * sizeof *x);
    return WR_OK;
  }
  wr_status status = wr_bicgstab_download(&r->method, x, NULL);
  if (status == WR_OK) wr_system_unscale(r->system, x);
  return status;
}

static wr_status verify(void *solve, const double *x, wr_verified level, int64_t rows, wr_verdict *verdict) {
  wr_status status;
  solving *r = solve;
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
  const wr_solved solved = {x, u, b, q, r->norm, found, r->options.by_backward};
  TRY(wr_verify_system(r->system, r->options.tolerance, r->rounding, &solved, level, rows, verdict));
  if (r->system->norm_b > 0)
    verdict->measure /= r->system->norm_b, verdict->limit /= r->system->norm_b,
        verdict->attainable /= r->system->norm_b;
done:
  wr_free(buffer);
  return status;
}

/* Rows are independent: 2 to 10 ns an entry and thread (16 threads of a Xeon, 2026-11). */
static double verify_seconds(int64_t nrows, int64_t nnz, int threads) { return 1e-8 * (double)(nrows + nnz) / threads; }

static void stop(void *solve) {
  solving *r = solve;
  wr_bicgstab_close(&r->method);
  wr_precond_destroy(r->precond);
  wr_auto_end(&r->chosen);
  wr_free(r->x);
}

static wr_status check(void *of, const wr_settings *s, const wr_ids *ids, wr_certificate *c) {
  wr_status status;
  const wr_system *system = &((problem *)of)->system;
  const wr_vector_need need = {.n = system->n, .whose = "the matrix's columns", .ids = ids, .complete = 1};
  double *x = NULL, unit = wr_type_unit((wr_type)s->precision);
  wr_residual found;
  TRY(wr_vector_read(s->check, &need, &x));
  TRY(wr_residual_find(system, x, NULL, &found));
  double norm_b = system->norm_b > 0 ? system->norm_b : 1, most = found.norm + found.error;
  *c = (wr_certificate){.x = s->check, .measure = found.norm / norm_b, .error = found.error / norm_b,
                        .limit = fmax(s->tolerance * system->norm_b, system->absolute) / norm_b,
                        .attainable = 2 * unit * found.size / norm_b, .backward = found.backward,
                        .backward_row = found.backward_row, .by_backward = s->stop == WR_STOP_BACKWARD,
                        .is_relative = system->norm_b > 0};
  c->met = isfinite(most) && most / norm_b <= c->limit;
  if (c->by_backward) c->met = isfinite(most) && (found.backward <= s->tolerance || most <= system->absolute);
done:
  wr_free(x);
  return status;
}

/* Relative to b, scaled so that squares do not overflow. */
static double difference(const double *a, const double *b, int64_t n) {
  double largest = 0, distance = 0, norm = 0;
  for (int64_t i = 0; i < n; i++) largest = fmax(largest, fmax(fabs(a[i]), fabs(b[i])));
  if (largest == 0) return 0;
  for (int64_t i = 0; i < n; i++) {
    double d = (a[i] - b[i]) / largest, v = b[i] / largest;
    distance += d * d, norm += v * v;
  }
  return norm > 0 ? sqrt(distance / norm) : INFINITY;
}

int main(int argc, char **argv) {
  static const wr_program program = {
      .name = "bicgstab",
      .text = &wr_bicgstab_text,
      .options = wr_bicgstab_table,
      .measure = WR_MEASURE_RESIDUAL,
      .problem = "a linear system",
      .values = "the solution",
      .problem_size = sizeof(problem),
      .solve_size = sizeof(solving),
      .complete = complete,
      .row_bytes = wr_bicgstab_row_bytes,
      .entry_bytes = wr_bicgstab_entry_bytes,
      .work = work,
      .open = open_problem,
      .upload = upload,
      .finish = finish,
      .uploads_input = uploads_input,
      .close = close_problem,
      .matrix = matrix,
      .start = start_solve,
      .precondition = precondition,
      .run = run,
      .multiply = multiply,
      .answer = answer,
      .verify = verify,
      .verify_seconds = verify_seconds,
      .stop = stop,
      .check = check,
      .difference = difference,
  };
  return wr_program_run(&program, argc, argv);
}
