/* --deterministic, for whole solves: the same bits from run to run, on the host with any number of threads, by every backend
 * that takes it. Iterates, histories, and how many iterations there were. */
#include <omp.h>

#include "solvers/pagerank.h"
#include "tests/solvers/solve_fixture.h"

enum { RUNS = 3, NODES = 40000 };

/* The results of a solve. */
typedef struct outcome {
  double *values; /* [n] */
  wr_history history;
  wr_result result;
} outcome;

static void outcome_free(outcome *o) {
  free(o->values);
  wr_history_free(&o->history);
}

/* Opens an env and a plan for --deterministic; NULL if the backend refuses that, with a reason. */
static wr_plan *open_plan(const ground *g, wr_csr *A, int threads, wr_env *env) {
  wr_plan *plan = NULL;
  *env = (wr_env){.place = g->env.place, .type = g->env.type, .threads = threads, .deterministic = 1};
  CHECK_OK(wr_env_open(env));
  wr_status status = wr_plan_create(g->backend, NULL, A, env, &plan);
  if (status == WR_OK) status = wr_plan_prepare(plan);
  CHECKF(status == WR_OK || status == WR_EUNAVAILABLE, "%s", wr_status_message());
  if (status == WR_OK && wr_plan_get_info(plan)->deterministic) return plan;
  CHECKF(status != WR_OK, "%s takes --deterministic and says that it does not keep to it", g->backend->name);
  wr_plan_destroy(plan);
  wr_env_close(env);
  return NULL;
}

static int solve_system(const ground *g, wr_csr *A, int threads, outcome *o) {
  wr_env env;
  wr_system system = {0};
  wr_bicgstab method = {0};
  wr_bicgstab_options options = solution_of(g, A).options;
  CHECK_OK(wr_system_build(A, NULL, NULL, 0, 0, WR_SCALE_NONE, &wr_precond_jacobi, 0, &system));
  wr_plan *plan = open_plan(g, system.matrix, threads, &env);
  if (plan) {
    o->values = room_for(A->nrows, sizeof *o->values);
    CHECK_OK(wr_bicgstab_open(&method, &system, plan, &env));
    CHECK_OK(wr_bicgstab_solve(&method, &options, &(wr_monitor){.history = &o->history}, &o->result));
    CHECK_OK(wr_bicgstab_download(&method, o->values, NULL));
    wr_bicgstab_close(&method);
    wr_plan_destroy(plan);
    wr_env_close(&env);
  }
  wr_system_free(&system);
  return plan != NULL;
}

static int rank_graph(const ground *g, wr_csr *links, int threads, outcome *o) {
  wr_env env;
  wr_graph graph = {0};
  wr_pagerank method = {0};
  wr_pagerank_options options = {.damping = 0.85, .tolerance = 1e-5, .iterations = 1000};
  CHECK_OK(wr_graph_build(links, 0, NULL, NULL, &graph));
  wr_plan *plan = open_plan(g, graph.flow, threads, &env);
  if (plan) {
    o->values = room_for(graph.n, sizeof *o->values);
    CHECK_OK(wr_pagerank_open(&method, &graph, plan, &env));
    CHECK_OK(wr_pagerank_solve(&method, &options, &(wr_monitor){.history = &o->history}, &o->result));
    CHECK_OK(wr_pagerank_download(&method, o->values));
    wr_pagerank_close(&method);
    wr_plan_destroy(plan);
    wr_env_close(&env);
  }
  wr_graph_free(&graph);
  return plan != NULL;
}

static void check_same(const outcome *a, const outcome *b, int64_t n) {
  const wr_history *p = &a->history, *q = &b->history;
  CHECKF(a->result.outcome == WR_CONVERGED && a->result.iterations > 3, "%s after %lld iterations",
         wr_outcome_title(a->result.outcome), (long long)a->result.iterations);
  CHECKF(a->result.iterations == b->result.iterations && p->count == q->count, "%lld iterations, then %lld",
         (long long)a->result.iterations, (long long)b->result.iterations);
  CHECKF(memcmp(a->values, b->values, (size_t)n * sizeof *a->values) == 0, "other values");
  if (p->count != q->count) return;
  CHECKF(memcmp(p->measure, q->measure, (size_t)p->count * sizeof *p->measure) == 0, "another history");
}

typedef int (*solve)(const ground *g, wr_csr *A, int threads, outcome *o);

static void run_all(ground *g, wr_csr *A, solve once, const char *what) {
  static const int threads[RUNS] = {1, 2, 5};
  outcome first = {0};
  ground_case(g, "%s", what);
  for (int run = 0; run < RUNS; run++) {
    outcome next = {0};
    omp_set_num_threads(threads[run]);
    if (!once(g, A, threads[run], run == 0 ? &first : &next)) break;
    if (run > 0) check_same(&first, &next, A->nrows);
    outcome_free(&next);
  }
  outcome_free(&first);
}

static void test_backend(ground *g) {
  wr_csr *A = random_matrix(NODES, 6, 3, 1, 17), *links = random_matrix(NODES, 5, 0, 0, 18);
  run_all(g, A, solve_system, "a system");
  run_all(g, links, rank_graph, "a graph");
  wr_csr_free(A);
  wr_csr_free(links);
}

int main(void) {
  on_every_ground(test_backend);
  return wr_test_report("deterministic");
}
