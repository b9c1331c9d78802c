/* A plan that becomes that of another backend between two iterations (wr_plan_swap, wr_monitor.rest): with loops of the
 * host, and with those that a device repeats, at checks in all phases of the buffers. Vectors that nothing has prepared are
 * full of NaN, so that a plan which takes one for prepared does not converge. */
#define _DEFAULT_SOURCE
#include "data/generate.h"
#include "spmv/plan_argument.h"
#include "tests/solvers/graph_cases.h"
#include "tests/solvers/rank_fixture.h"
#include "tests/solvers/solve_fixture.h"

typedef struct change {
  ground *g;
  wr_plan *const *plan;
  const wr_backend *to;
  int64_t at; /* iteration from which on it is due */
  int due, rests;
} change;

static void look(void *context, int64_t iteration, double measure, double target) {
  change *c = context;
  (void)measure, (void)target;
  c->due = c->rests == 0 && iteration >= c->at;
}

static void rest(void *context) {
  change *c = context;
  uint64_t values, before = wr_plan_generation(*c->plan);
  wr_plan *other = NULL;
  wr_csr *A = (wr_csr *)(uintptr_t)wr_plan_matrix(*c->plan, &values);
  c->rests++, c->due = 0;
  CHECK_OK(wr_plan_create(c->to, NULL, A, &c->g->env, &other));
  CHECK_OK(wr_plan_prepare(other));
  CHECK_OK(wr_plan_swap(*c->plan, other));
  CHECK(wr_plan_backend(*c->plan) == c->to && wr_plan_generation(*c->plan) != before);
  CHECK(wr_plan_generation(other) == before);
  wr_plan_destroy(other);
}

static wr_monitor changing(change *c) {
  return (wr_monitor){.progress = look, .context = c, .rest = rest, .rest_due = &c->due};
}

/* How iterations are repeated, and whether each check is the host's, so that the change surely comes. */
typedef struct way {
  const char *name;
  int no_graph, no_conditions, late, is_sure;
} way;

static const way ways[] = {{"by the host", 1, 0, 0, 1},
                           {"by the host, then a graph", 0, 0, 1, 1},
                           {"a plain loop", 0, 1, 0, 0},
                           {"a graph", 0, 0, 0, 0}};

/* A solve may end before, or at a device's first check. */
static void check_rests(const change *c, const way *by, int64_t iterations) {
  CHECKF(c->rests == 1 || (c->rests == 0 && (!by->is_sure || iterations <= c->at)), "%d", c->rests);
}

static const wr_backend *other_than(const wr_backend *backend) {
  const wr_backend *to = NULL;
  CHECK_OK(wr_backend_find(backend->place == WR_HOST ? "cpu_bsr" : "csr_thread", &to));
  return to;
}

/* Of 5 points on a plane, symmetric. */
static wr_csr *grid_matrix(void) {
  wr_csr *A = NULL;
  CHECK_OK(wr_generate("gen:stencil:n=20,points=5,convection=0", 0, &A));
  if (A == NULL) abort();
  return A;
}

static void test_solves(ground *g, const way *by) {
  static const wr_method *const methods[] = {&wr_method_cg, &wr_method_bicgstab, &wr_method_bicgstabl, &wr_method_idr};
  wr_csr *A = random_matrix(400, 5, 2.2, 1, 31), *B = grid_matrix();
  for (int m = 0; m < 4; m++)
    for (int64_t at = 1; at <= 6; at += at > 1 ? 4 : 1) {
      solution s = solution_of(g, m == 0 ? B : A);
      change c = {.g = g, .plan = &s.plan, .to = other_than(g->backend), .at = at};
      s.options.method = methods[m], s.options.no_graph = by->no_graph, s.options.no_resident = 1;
      s.monitor = changing(&c);
      ground_case(g, "%s from iteration %lld, %s", wr_method_name(methods[m]), (long long)at, by->name);
      solution_run(g, &s);
      CHECKF(s.result.outcome == WR_CONVERGED, "%s", s.result.note);
      check_solution(&s);
      check_rests(&c, by, s.result.iterations);
      solution_free(&s);
    }
  wr_csr_free(A);
  wr_csr_free(B);
}

static void test_ranks(ground *g, const way *by) {
  wr_csr *links = undirected();
  for (int chebyshev = 0; chebyshev < 2; chebyshev++)
    for (int64_t at = 1; at <= 3; at++) {
      ranking r = ranking_of(g, links);
      change c = {.g = g, .plan = &r.plan, .to = other_than(g->backend), .at = at};
      r.options.method = chebyshev ? WR_PAGERANK_CHEBYSHEV : WR_PAGERANK_POWER, r.options.damping = 0.9;
      r.options.no_graph = by->no_graph, r.options.no_resident = 1;
      r.monitor = changing(&c);
      ground_case(g, "%s from iteration %lld, %s", chebyshev ? "Chebyshev" : "power", (long long)at, by->name);
      ranking_run(g, &r);
      exact_ranks exact = exact_ranks_of(&r);
      CHECKF(r.result.outcome == WR_CONVERGED, "%s", r.result.note);
      check_ranking(g, &r, &exact);
      check_rests(&c, by, r.result.iterations);
      free(exact.score);
      ranking_free(&r);
    }
  wr_csr_free(links);
}

/* A resident loop does not multiply by the plan, which stays. */
static void test_resident(ground *g) {
  wr_csr *A = random_matrix(400, 5, 2.2, 1, 31);
  solution s = solution_of(g, A);
  change c = {.g = g, .plan = &s.plan, .to = other_than(g->backend), .at = 0};
  s.monitor = changing(&c);
  ground_case(g, "a resident loop");
  solution_run(g, &s);
  check_solution(&s);
  CHECK(s.result.outcome == WR_CONVERGED && (s.result.repeats.by != WR_BY_KERNEL || c.rests == 0));
  solution_free(&s);
  wr_csr_free(A);
}

static void test_all(ground *g) {
  int count = g->env.place == WR_CUDA ? 4 : 1;
  for (int w = 0; w < count; w++) {
    g->testing.no_conditions = ways[w].no_conditions, g->testing.late_loops = ways[w].late;
    test_solves(g, &ways[w]);
    test_ranks(g, &ways[w]);
  }
  g->testing.no_conditions = g->testing.late_loops = 0;
  test_resident(g);
}

int main(void) {
  on_default_grounds(test_all);
  return wr_test_report("plan_swap");
}
