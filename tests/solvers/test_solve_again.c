/* A solver that solves more than once: with other options, and with new values of its matrix. Every solve must have the results
 * of a newly opened solver, and a device records its loop again only if the old one cannot be used. */
#define _DEFAULT_SOURCE
#include "solvers/iteration.h"
#include "tests/solvers/rank_fixture.h"
#include "tests/solvers/solve_fixture.h"

/* The resident loop of a plan without plain rows is a graph; on the host there is no loop. */
static int has_loops(const ground *g) { return g->env.ops->loop_open != NULL; }

/* ---- BiCGSTAB ---- */

typedef struct solver {
  ground *g;
  wr_csr *A;
  double *b;
  wr_system system;
  wr_plan *plan;
  wr_bicgstab method;
} solver;

/* The right-hand side is given, so that new values of the matrix do not change it. */
static solver solver_open(ground *g, wr_csr *A) {
  solver s = {.g = g, .A = A, .b = room_for(A->nrows, sizeof *s.b)};
  uint64_t seed = 17;
  for (int64_t i = 0; i < A->nrows; i++) s.b[i] = 1 + random_in(&seed);
  CHECK_OK(wr_system_build(A, given(s.b, A->nrows), NULL, 0, 0, WR_SCALE_NONE, 0, 0, &s.system));
  s.plan = ground_plan(g, s.system.matrix);
  return s;
}

static void solver_close(solver *s) {
  wr_bicgstab_close(&s->method);
  wr_plan_destroy(s->plan);
  wr_system_free(&s->system);
  free(s->b);
}

/* Solves with the open solver and with a new one, and compares. Returns how many loops the open one has recorded. */
static int64_t solve_as_first(solver *s, wr_bicgstab_options options) {
  solution again = solution_of(s->g, s->A), first = again;
  int64_t n = s->A->nrows;
  again.b = first.b = s->b;
  again.options = first.options = options;
  solution_run(s->g, &first);
  again.x = room_for(n, sizeof *again.x), again.monitor.history = &again.history;
  again.deterministic = first.deterministic;
  int64_t before = s->g->testing.recordings;
  CHECK_OK(solution_find(&again, &s->method, &s->system, wr_rounding_of(&s->g->env, s->plan)));
  int64_t recordings = s->g->testing.recordings - before;
  check_solution(&again), check_solution(&first);
  CHECKF(again.result.outcome == first.result.outcome && again.result.repeats.by == first.result.repeats.by &&
             again.result.multiplies == first.result.multiplies && again.history.count == first.history.count,
         "%s by %d, %lld multiplies, %lld checks; by a solver of its own %s by %d, %lld, %lld",
         wr_outcome_title(again.result.outcome), (int)again.result.repeats.by, (long long)again.result.multiplies,
         (long long)again.history.count, wr_outcome_title(first.result.outcome), (int)first.result.repeats.by,
         (long long)first.result.multiplies, (long long)first.history.count);
  check_same_run(&again, &first);
  solution_free(&again), solution_free(&first);
  return recordings;
}

/* 21 iterations, of which no option takes more or less. The same options twice record one loop at most, and need none if they
 * are those of the solve before. */
static void test_options(ground *g) {
  static const wr_bicgstab_options options[] = {
      {.check_every = 8},
      {.check_every = 1},
      {.check_every = 8, .no_resident = 1},
      {.check_every = 1, .no_resident = 1},
      {.check_every = 3, .no_resident = 1},
      {.check_every = 1, .no_graph = 1},
      {.check_every = 1},
  };
  wr_csr *A = random_matrix(100, 5, 2.2, 1, 31);
  solver s = solver_open(g, A);
  CHECK_OK(wr_bicgstab_open(&s.method, &s.system, s.plan, &g->env));
  for (size_t k = 0; k < sizeof options / sizeof *options && s.plan; k++) {
    wr_bicgstab_options o = options[k];
    o.method = &wr_method_bicgstab;
    o.tolerance = 1e-30, o.iterations = 21;
    ground_case(g, "options %d", (int)k);
    int64_t recordings = solve_as_first(&s, o);
    CHECKF(recordings <= 1, "%lld loops were recorded", (long long)recordings);
    CHECKF(k > 0 || (recordings > 0) == has_loops(g), "%lld loops were recorded", (long long)recordings);
    recordings = solve_as_first(&s, o);
    CHECKF(recordings == 0, "the same options recorded %lld loops", (long long)recordings);
  }
  solver_close(&s);
  wr_csr_free(A);
}

/* Factors that keep the matrix easy to solve, whether or not wr_system_build scales it. */
static void change_values(wr_csr *A, int turn) {
  for (int64_t k = 0; k < A->nnz; k++) A->val[k] *= 1 + (double)((k + turn) % 3) / 8;
}

/* New values in place, and as another matrix with the same pattern. The solver multiplies with the values that the plan got. */
static void test_new_values(ground *g, int no_resident) {
  enum { TURNS = 3 };
  wr_csr *A = random_matrix(60, 5, 10, 1, 31), *others[TURNS] = {NULL};
  solver s = solver_open(g, A);
  wr_bicgstab_options options = {.method = &wr_method_bicgstab, .tolerance = g->env.type == WR_F32 ? 1e-5 : 1e-10,
                                 .iterations = 100,
                                 .check_every = 1,
                                 .no_resident = no_resident};
  CHECK_OK(wr_bicgstab_open(&s.method, &s.system, s.plan, &g->env));
  for (int turn = 0; turn < TURNS && s.plan; turn++) {
    ground_case(g, "new values, turn %d%s", turn, no_resident ? ", not resident" : "");
    solve_as_first(&s, options);
    change_values(s.system.matrix, turn);
    if (s.system.matrix != A) change_values(A, turn);
    CHECK_OK(wr_csr_copy(s.system.matrix, &others[turn]));
    wr_csr_values_changed(s.system.matrix); /* for the plan of the solver to compare with */
    CHECK_OK(wr_plan_update_values(s.plan, turn % 2 ? others[turn] : s.system.matrix));
  }
  if (s.plan) solve_as_first(&s, options);
  solver_close(&s);
  wr_csr_free(A); /* before those that share its indices on a device */
  for (int turn = 0; turn < TURNS; turn++) wr_csr_free(others[turn]);
}

/* ---- PageRank ---- */

/* One solve of an open method, checked against an independent answer. */
static void rank_and_check(ground *g, ranking *r, wr_pagerank *method, const wr_graph *graph, wr_plan *plan) {
  exact_ranks exact = exact_ranks_of(r);
  wr_history_free(&r->history);
  r->monitor.history = &r->history;
  r->sum_unit = wr_plan_get_info(plan)->sum_unit > 0x1p-53 ? wr_plan_get_info(plan)->sum_unit : 0;
  r->term_unit = wr_plan_get_info(plan)->term_unit;
  r->longest = longest_row(graph->flow);
  CHECK_OK(ranking_solve(r, method, graph, wr_rounding_of(&g->env, plan)));
  check_ranking(g, r, &exact);
  free(exact.score);
}

static void test_damping(ground *g) {
  static const wr_pagerank_options options[] = {
      {.damping = 0.85, .check_every = 1},
      {.damping = 0.5, .check_every = 1},
      {.damping = 0.5, .check_every = 4, .no_resident = 1},
      {.damping = 0.9, .check_every = 4, .no_resident = 1},
  };
  wr_csr *links = random_matrix(60, 4, 0, 0, 5);
  wr_graph graph = {0};
  wr_pagerank method = {0};
  CHECK_OK(wr_graph_build(links, 0, NULL, NULL, &graph));
  wr_plan *plan = ground_plan(g, graph.flow);
  CHECK_OK(wr_pagerank_open(&method, &graph, plan, &g->env));
  for (size_t k = 0; k < sizeof options / sizeof *options && plan; k++) {
    ranking r = ranking_of(g, links);
    double tolerance = r.options.tolerance;
    r.options = options[k], r.options.tolerance = tolerance, r.options.iterations = 20000;
    r.scores = room_for(links->nrows, sizeof *r.scores);
    for (int time = 0; time < 2; time++) {
      int64_t before = g->testing.recordings, expected = time == 0 && has_loops(g);
      ground_case(g, "ranks with options %d", (int)k);
      rank_and_check(g, &r, &method, &graph, plan);
      CHECKF(g->testing.recordings - before == expected, "%lld loops were recorded",
             (long long)(g->testing.recordings - before));
    }
    ranking_free(&r);
  }
  wr_pagerank_close(&method);
  wr_plan_destroy(plan);
  wr_graph_free(&graph);
  wr_csr_free(links);
}

/* New weights: the weights of each page's links are permuted, in the links and, divided by out-weights, in the flow. */
static void test_new_weights(ground *g) {
  wr_csr *links = random_matrix(60, 4, 0, 1, 6);
  wr_graph graph = {0}, changed = {0};
  wr_pagerank method = {0};
  for (int64_t k = 0; k < links->nnz; k++) links->val[k] = fabs(links->val[k]);
  CHECK_OK(wr_graph_build(links, 0, NULL, NULL, &graph));
  wr_plan *plan = ground_plan(g, graph.flow);
  CHECK_OK(wr_pagerank_open(&method, &graph, plan, &g->env));
  ranking r = ranking_of(g, links);
  r.scores = room_for(links->nrows, sizeof *r.scores);
  for (int turn = 0; turn < 3 && plan; turn++) {
    ground_case(g, "ranks with new weights, turn %d", turn);
    rank_and_check(g, &r, &method, &graph, plan);
    for (int64_t i = 0; i < links->nrows; i++)
      for (int64_t k = links->row_ptr[i]; k + 1 < links->row_ptr[i + 1]; k++) {
        double first = links->val[k];
        links->val[k] = links->val[k + 1], links->val[k + 1] = first;
      }
    CHECK_OK(wr_graph_build(links, 0, NULL, NULL, &changed));
    CHECK(changed.flow->nnz == graph.flow->nnz);
    memcpy(graph.flow->val, changed.flow->val, (size_t)changed.flow->nnz * sizeof *changed.flow->val);
    wr_graph_free(&changed);
    CHECK_OK(wr_plan_update_values(plan, graph.flow));
  }
  ranking_free(&r);
  wr_pagerank_close(&method);
  wr_plan_destroy(plan);
  wr_graph_free(&graph);
  wr_csr_free(links);
}

/* Which solves record a loop depends only on whether the backend has plain rows, so a few backends are enough. */
static void test_recordings(ground *g) {
  test_options(g);
  test_damping(g);
  if (!has_loops(g)) return;
  g->testing.no_conditions = 1;
  test_options(g);
}

static void test_values(ground *g) {
  test_new_values(g, 0);
  if (has_loops(g)) test_new_values(g, 1);
  test_new_weights(g);
}

int main(void) {
  on_default_grounds(test_recordings);
  on_every_ground(test_values);
  return wr_test_report("solve_again");
}
