/* bicgstab: solves a square, general linear system. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "config/defaults.h"
#include "config/elements.h"
#include "config/memory.h"
#include "io/vector_file.h"
#include "solvers/api/solving.h"
#include "solvers/program/comm_mpi.h"
#include "solvers/program/need.h"
#include "solvers/program/program.h"
#include "solvers/report/report_text.h"
#include "spmv/matrix/matrix_facts.h"
#include "spmv/parts/halo.h"

typedef struct problem {
  wr_system system;
  const wr_settings *settings;
  int64_t sides, guesses; /* right-hand sides, 1 or more; first guesses: 0, 1 for all of them, or as many */
  double *b, *x;          /* [sides][n] and [guesses][n]; NULL where there is one side, which the system has */
} problem;

static wr_solving_options options_of(const wr_settings *s) {
  wr_solving_options options = {.atol = s->atol,
                                .scale = s->check ? WR_SCALE_NONE : (wr_scale)s->scale,
                                .precond = wr_preconditioner_at(s->check ? 0 : s->precond),
                                .precond_text = s->precond_text,
                                .precond_knobs = s->precond_knobs,
                                .precond_auto = s->precond_auto,
                                .fallback_direct = s->fallback == WR_FALLBACK_DIRECT};
  options.iterate = (wr_bicgstab_options){.tolerance = s->tolerance,
                                          .iterations = s->iterations,
                                          .check_every = s->check_every,
                                          .no_graph = s->no_graph,
                                          .no_resident = s->no_resident,
                                          .by_backward = s->stop == WR_STOP_BACKWARD,
                                          .method = wr_method_at(s->method - 1),
                                          .l = (int)s->ell};
  return options;
}

static void complete(wr_settings *s) {
  wr_solving_options options = options_of(s);
  wr_solving_complete(&options, (wr_type)s->precision);
  s->tolerance = options.iterate.tolerance, s->iterations = options.iterate.iterations;
  if (s->precond_text == NULL) /* so that reports have it; without memory they lack it */
    (void)wr_option_set(wr_bicgstab_table, s, "precond", s->precond_auto ? "auto" : "none", "--precond");
}

static wr_status in_parts(const wr_settings *s) {
  if (s->fallback != WR_FALLBACK_NONE)
    return wr_fail(WR_EUNAVAILABLE, "--fallback direct is for one process, not for several");
  return WR_OK;
}

static double work(const wr_settings *s, int64_t nrows, int64_t nnz) {
  const wr_solving_options options = options_of(s);
  return wr_solving_work(&options, (wr_type)s->precision, nrows, nnz) * (double)s->repeat;
}

static wr_plan_use use_of(const wr_settings *s, const void *system) {
  const wr_solving_options options = options_of(s);
  wr_plan_use use = wr_solving_use(&options);
  (void)system;
  use.multiplies *= (double)s->repeat;
  return use;
}

static double usual(const wr_settings *s, const void *system) {
  (void)s;
  return fmax(WR_EXPECTED_MULTIPLIES, sqrt((double)((const wr_system *)system)->A->nrows));
}

/* Adds to the remark where b is from and how the matrix was scaled. */
static void describe(const wr_settings *s, const wr_system *system, int64_t count, wr_problem_facts *facts) {
  wr_line line = {0};
  int64_t below = s->precision == WR_F32 ? wr_system_below_f32(system) : 0;
  wr_line_add(&line, "%s%sb = %.100s", facts->remark, facts->remark[0] ? "; " : "",
              s->rhs          ? s->rhs_files[0]
              : s->rhs_random ? "A times random numbers"
                              : "A times ones");
  if (s->rhs_count > 1)
    wr_line_add(&line, " and %" PRId64 " more file%s", s->rhs_count - 1, s->rhs_count == 2 ? "" : "s");
  if (count > 1) wr_line_add(&line, ", %" PRId64 " columns", count);
  if (system->scaling.sentence[0]) wr_line_add(&line, "; %s", system->scaling.sentence);
  if (system->matrix_exponent != 0) wr_line_add(&line, "; A scaled by 2^%d", system->matrix_exponent);
  if (below > 0)
    wr_line_add(&line, "; f32 holds %" PRId64 " value%s below 1.2e-38 with few digits or as 0", below,
                below == 1 ? "" : "s");
  snprintf(facts->remark, sizeof facts->remark, "%.*s", (int)sizeof facts->remark - 1, line.text);
}

static const char *name_of_sides(const wr_settings *s) { return s->rhs_count == 1 ? s->rhs : "--rhs-file"; }

/* What is for one right-hand side. */
static wr_status check_sides(const wr_settings *s, const problem *p) {
  const char *other = wr_first_given((const wr_given[]){
      {"check", s->check != NULL}, {"history", s->history != NULL}, {"repeat", s->repeat > 1}, {NULL, 0}});
  if (other)
    return wr_fail(WR_EUSAGE, "--%s is for one right-hand side: %s has %lld", other, name_of_sides(s),
                   (long long)p->sides);
  if (p->guesses == 0 || p->guesses == 1 || p->guesses == p->sides) return WR_OK;
  return wr_fail(WR_EINPUT,
                 "%s has %lld first guesses, and %s %lld right-hand sides: it must be as many, or one for all",
                 s->guess, (long long)p->guesses, name_of_sides(s), (long long)p->sides);
}

/* A row of zeros asks for a b of 0 there, in every right-hand side. */
static wr_status check_empty_rows(const wr_settings *s, const wr_csr *A, const problem *p, const double *b,
                                  const char *source) {
  for (int64_t k = 0; b && !s->check && k < p->sides; k++) {
    wr_status status = wr_check_empty_rows(A, b + k * A->nrows, s->tolerance, s->atol);
    if (status != WR_OK && p->sides > 1)
      return wr_fail(status, "%s: right-hand side %lld: %s", source, (long long)k + 1, wr_status_message());
    if (status != WR_OK) return wr_fail(status, "%s: %s", source, wr_status_message());
  }
  return WR_OK;
}

/* Copies of a right-hand side and of its first guess. */
static wr_status copy_side(const problem *p, int64_t n, int64_t side, double **b, double **x) {
  *x = NULL;
  PASS(wr_copy_elements(p->b + side * n, n, "a right-hand side", b));
  if (p->guesses == 0) return WR_OK;
  return wr_copy_elements(p->x + (p->guesses > 1 ? side * n : 0), n, "a first guess", x);
}

/* *b := [*sides][n], those of all files of -b, one behind the other. */
static wr_status read_sides(const wr_settings *s, int64_t n, const wr_ids *ids, int64_t *sides, double **b) {
  wr_status status;
  double **file = NULL; /* [rhs_count] */
  int64_t *columns = NULL;
  *sides = 0;
  TRY(wr_alloc_zeroed(&file, s->rhs_count, sizeof *file, "right-hand sides"));
  TRY(wr_alloc_zeroed(&columns, s->rhs_count, sizeof *columns, "right-hand sides"));
  for (int64_t k = 0; k < s->rhs_count; k++) {
    wr_vector_need rows = {.n = n, .whose = "the matrix's rows", .ids = ids, .columns = &columns[k]};
    TRY(wr_vector_read(s->rhs_files[k], &rows, &file[k]));
    *sides += columns[k];
  }
  if (s->rhs_count == 1) {
    *b = file[0], file[0] = NULL;
    goto done;
  }
  TRY(wr_alloc(b, n * *sides, sizeof **b, "right-hand sides"));
  for (int64_t k = 0, at = 0; k < s->rhs_count; at += n * columns[k++])
    memcpy(*b + at, file[k], (size_t)(n * columns[k]) * sizeof **b);
done:
  for (int64_t k = 0; file && k < s->rhs_count; k++) wr_free(file[k]);
  wr_free(file);
  wr_free(columns);
  return status;
}

static wr_status open_problem(const wr_settings *s, wr_csr *A, const wr_ids *ids, const wr_watch *watch,
                              wr_problem_facts *facts, void *of) {
  wr_status status = WR_OK;
  problem *p = of;
  double *b = NULL, *guess = NULL;
  p->settings = s, p->sides = 1;
  if (s->rhs) TRY(wr_comm_agree(wr_csr_comm(A), read_sides(s, wr_csr_all_rows(A), ids, &p->sides, &b)));
  TRY(wr_halo_take_own(A, p->sides, &b));
  TRY(wr_comm_agree(wr_csr_comm(A), check_empty_rows(s, A, p, b, facts->source)));
  wr_vector_need unknowns = {.n = A->halo ? wr_csr_all_rows(A) : A->ncols, .whose = "the matrix's columns", .ids = ids};
  if (p->sides > 1) unknowns.columns = &p->guesses;
  if (s->guess) TRY(wr_comm_agree(wr_csr_comm(A), wr_vector_read(s->guess, &unknowns, &guess)));
  TRY(wr_halo_take_own(A, p->sides > 1 ? p->guesses : 1, &guess));
  if (p->sides > 1) {
    TRY(check_sides(s, p));
    p->b = b, p->x = guess;
    b = guess = NULL;
    TRY(wr_comm_agree(wr_csr_comm(A), copy_side(p, A->nrows, 0, &b, &guess)));
  }
  const wr_solving_options options = options_of(s);
  status = wr_solving_begin(&options, A, b, guess, s->rhs_random, s->rhs_seed, watch, &p->system);
  b = guess = NULL; /* the system has taken them over */
done:
  wr_free(b);
  wr_free(guess);
  return status;
}

static int64_t sides(const void *of) { return ((const problem *)of)->sides; }

static wr_status set_side(void *of, int64_t side) {
  problem *p = of;
  double *b = NULL, *guess = NULL;
  wr_status status = wr_comm_agree(p->system.comm, copy_side(p, p->system.n, side, &b, &guess));
  if (status == WR_OK) return wr_system_set_rhs(&p->system, b, guess, p->settings->atol);
  wr_free(b);
  wr_free(guess);
  return status;
}

static wr_status take_side(void *of, void *solve, int64_t side, const wr_monitor *monitor, double *moved) {
  const wr_sides all = {.count = ((const problem *)of)->sides, .set = set_side, .of = of};
  return wr_solving_side(solve, &all, side, monitor, moved);
}

static void describe_sides(const void *solve, char *text, size_t size) { wr_solving_describe_sides(solve, text, size); }

static wr_status upload(void *of, wr_env *device) { return wr_system_upload(&((problem *)of)->system, device); }

static wr_status finish(void *of, wr_env *device, wr_problem_facts *facts) {
  problem *p = of;
  PASS(wr_solving_finish(&p->system, device));
  describe(p->settings, &p->system, p->sides, facts);
  return WR_OK;
}

/* Not if columns are scaled by a diagonal preconditioner, or rows are matched by request: the solver then multiplies by another
 * matrix than A. Where A is equilibrated, the device does that to the rows that it has got. */
static int uploads_input(const wr_settings *s, const wr_csr *A, int all_on_device) {
  (void)A;
  return wr_preconditioner_at(s->precond)->diagonal == NULL && s->scale != WR_SCALE_MATCH &&
         (s->scale != WR_SCALE_EQUILIBRATE || all_on_device);
}

static void close_problem(void *of) {
  problem *p = of;
  wr_system_free(&p->system);
  wr_free(p->b);
  wr_free(p->x);
}

static wr_csr *matrix(void *of) { return ((problem *)of)->system.matrix; }

static wr_status start_solve(void *of, const wr_settings *s, wr_plan *plan, wr_env *env, void *solve) {
  const wr_solving_options options = options_of(s);
  return wr_solving_open(solve, &options, &((problem *)of)->system, plan, env);
}

static wr_status precondition(void *solve, const wr_monitor *monitor, wr_run_precond *precond) {
  return wr_solving_precondition(solve, monitor, precond);
}

static wr_status run(void *solve, const wr_monitor *monitor, wr_result *result) {
  return wr_solving_run(solve, monitor, result);
}

static wr_status multiply(void *solve, int count) {
  return wr_bicgstab_multiply(&((wr_solving *)solve)->method, count);
}

static wr_status answer(void *solve, double *x) { return wr_solving_answer(solve, x); }

static wr_status verify(void *solve, const double *x, wr_verified level, int64_t rows, wr_verdict *verdict) {
  return wr_solving_verify(solve, x, level, rows, verdict);
}

static void stop(void *solve) { wr_solving_close(solve); }

static wr_status resume(void *of, const double *x) { return wr_system_set_guess(&((problem *)of)->system, x); }

static wr_status check(void *of, const wr_settings *s, const wr_ids *ids, wr_certificate *c) {
  wr_status status;
  const wr_system *system = &((problem *)of)->system;
  wr_comm *comm = wr_csr_comm(system->A);
  const wr_vector_need need = {
      .n = wr_csr_all_rows(system->A), .whose = "the matrix's columns", .ids = ids, .complete = 1};
  double *x = NULL, unit = wr_type_unit((wr_type)s->precision);
  wr_residual found;
  TRY(wr_comm_agree(comm, wr_vector_read(s->check, &need, &x)));
  TRY(wr_halo_take_own(system->A, 1, &x));
  TRY(wr_residual_find(system, x, NULL, &found));
  double norm_b = system->norm_b > 0 ? system->norm_b : 1;
  *c = (wr_certificate){.x = s->check,
                        .measure = found.norm / norm_b,
                        .error = found.error / norm_b,
                        .limit = fmax(s->tolerance * system->norm_b, system->absolute) / norm_b,
                        .attainable = 2 * unit * found.size / norm_b,
                        .backward = found.backward,
                        .backward_row = found.backward_row,
                        .by_backward = s->stop == WR_STOP_BACKWARD,
                        .is_relative = system->norm_b > 0};
  c->met = wr_residual_meets(system, &found, s->tolerance, c->by_backward);
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
      .begin_parts = wr_comm_mpi_begin,
      .end_parts = wr_comm_mpi_end,
      .in_parts = in_parts,
      .options = wr_bicgstab_table,
      .measure = WR_MEASURE_RESIDUAL,
      .problem = "a linear system",
      .values = "the solution",
      .problem_size = sizeof(problem),
      .solve_size = sizeof(wr_solving),
      .complete = complete,
      .row_bytes = wr_bicgstab_row_bytes,
      .entry_bytes = wr_bicgstab_entry_bytes,
      .work = work,
      .use = use_of,
      .usual = usual,
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
      .verify_seconds = wr_solving_verify_seconds,
      .stop = stop,
      .check = check,
      .resume = resume,
      .difference = difference,
      .sides = sides,
      .set_side = set_side,
      .take_side = take_side,
      .describe_sides = describe_sides,
  };
  return wr_program_run(&program, argc, argv);
}
