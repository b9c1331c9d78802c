/* A linear system and a graph as programs, as solvers/program/compare.h takes them, with methods of the library. A test that
 * includes this header defines `passing`. */
#ifndef WR_TEST_TWO_PROGRAMS_H
#define WR_TEST_TWO_PROGRAMS_H

#include "solvers/api/scoring.h"
#include "solvers/api/solving.h"
#include "solvers/program/compare.h"

/* The monitor with which a solve under env runs, where it was given this one. */
static wr_monitor passing(const wr_monitor *monitor, const wr_env *env);

static wr_csr *system_matrix(void *problem) { return ((wr_system *)problem)->matrix; }

static wr_solving_options solving_options = {
    .iterate = {.tolerance = 1e-10, .iterations = 1000, .method = &wr_method_bicgstab}, .precond = &wr_precond_none};

static wr_status open_solving(void *problem, const wr_settings *s, wr_plan *plan, wr_env *env, void *solve) {
  (void)s;
  return wr_solving_open(solve, &solving_options, problem, plan, env);
}

static wr_status run_solving(void *solve, const wr_monitor *monitor, wr_result *result) {
  const wr_monitor own = passing(monitor, ((wr_solving *)solve)->env);
  return wr_solving_run(solve, &own, result);
}

static wr_status answer_solving(void *solve, double *x) { return wr_solving_answer(solve, x); }
static wr_status verify_solving(void *solve, const double *x, wr_verified level, int64_t rows, wr_verdict *verdict) {
  return wr_solving_verify(solve, x, level, rows, verdict);
}
static wr_status multiply_solving(void *solve, int count) {
  return wr_bicgstab_multiply(&((wr_solving *)solve)->method, count);
}
static wr_status resume_solving(void *problem, const double *x) { return wr_system_set_guess(problem, x); }
static void stop_solving(void *solve) { wr_solving_close(solve); }

static const wr_program system_program = {.name = "a system", .values = "x", .solve_size = sizeof(wr_solving),
                                          .matrix = system_matrix, .start = open_solving, .run = run_solving,
                                          .multiply = multiply_solving, .verify = verify_solving,
                                          .answer = answer_solving, .resume = resume_solving, .stop = stop_solving};

static wr_csr *graph_matrix(void *problem) { return ((wr_graph *)problem)->flow; }

static wr_scoring_options scoring_options = {
    .iterate = {.damping = 0.9, .tolerance = 1e-10, .iterations = 1000}, .method = WR_RANK_AUTO};

static wr_status open_scoring(void *problem, const wr_settings *s, wr_plan *plan, wr_env *env, void *solve) {
  (void)s;
  return wr_scoring_open(solve, &scoring_options, problem, plan, env);
}

static wr_status run_scoring(void *solve, const wr_monitor *monitor, wr_result *result) {
  const wr_monitor own = passing(monitor, ((wr_scoring *)solve)->rank.iterated.env);
  return wr_scoring_run(solve, &own, result);
}

static wr_status answer_scoring(void *solve, double *x) { return wr_scoring_answer(solve, x); }
static wr_status verify_scoring(void *solve, const double *x, wr_verified level, int64_t rows, wr_verdict *verdict) {
  return wr_scoring_verify(solve, x, level, rows, verdict);
}
static wr_status multiply_scoring(void *solve, int count) {
  return wr_pagerank_multiply(&((wr_scoring *)solve)->rank.iterated, count);
}
static wr_status resume_scoring(void *problem, const double *x) { return wr_graph_set_start(problem, x); }
static void stop_scoring(void *solve) { wr_scoring_close(solve); }

static const wr_program graph_program = {.name = "a graph", .values = "scores", .solve_size = sizeof(wr_scoring),
                                         .matrix = graph_matrix, .start = open_scoring, .run = run_scoring,
                                         .multiply = multiply_scoring, .verify = verify_scoring,
                                         .answer = answer_scoring, .resume = resume_scoring, .stop = stop_scoring};

#endif
