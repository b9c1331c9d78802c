/* How PageRank ends: checks that are far apart, the most iterations, the change in place of the bound, an interruption,
 * stagnation; f32 against f64; a second solve; the sum of the scores. */
#define _DEFAULT_SOURCE
#include "tests/solvers/graph_cases.h"
#include "tests/solvers/rank_fixture.h"

/* A run ends at the first check at which the tolerance is met, at every distance of checks. */
static void test_check_every(ground *g) {
  wr_csr *links = random_graph();
  int64_t needed = 0;
  for (int64_t every = 1; every <= 7; every++) {
    ranking r = ranking_of(g, links);
    r.options.check_every = every;
    ground_case(g, "a check every %lld iterations", (long long)every);
    run_and_check(g, &r);
    if (every == 1) needed = r.result.iterations;
    CHECKF(r.result.iterations == (needed + every - 1) / every * every, "%lld iterations where %lld do",
           (long long)r.result.iterations, (long long)needed);
    ranking_free(&r);
  }
  wr_csr_free(links);
}

static void test_iterations_end(ground *g) {
  wr_csr *links = random_graph();
  for (int64_t every = 1; every <= 3; every += 2) {
    ranking r = ranking_of(g, links);
    r.options.iterations = 5, r.options.check_every = every;
    ground_case(g, "at most 5 iterations, a check every %lld", (long long)every);
    run_and_check(g, &r);
    CHECKF(r.result.outcome == WR_MAX_ITERATIONS && r.result.iterations == 5, "%s after %lld",
           wr_outcome_title(r.result.outcome), (long long)r.result.iterations);
    CHECK(!r.verdict.met_tolerance);
    ranking_free(&r);
  }
  wr_csr_free(links);
}

/* stop_on_change: the change itself is compared with the tolerance, as other programs do. */
static void test_stop_on_change(ground *g) {
  wr_csr *links = random_graph();
  ranking r = ranking_of(g, links), by_bound = r;
  ground_case(g, "stop by change");
  r.options.stop_on_change = 1;
  run_and_check(g, &r);
  ranking_run(g, &by_bound);
  CHECKF(r.result.iterations < by_bound.result.iterations, "%lld, by bound %lld", (long long)r.result.iterations,
         (long long)by_bound.result.iterations);
  ranking_free(&r), ranking_free(&by_bound);
  wr_csr_free(links);
}

typedef struct stopper {
  int64_t at;
  volatile sig_atomic_t flag;
  int64_t calls;
  double target;
} stopper;

static void stop_at(void *context, int64_t iteration, double measure, double target) {
  stopper *s = context;
  s->calls++;
  s->target = target;
  CHECKF(measure > 0, "%g", measure);
  if (iteration >= s->at) s->flag = 1;
}

static void test_interrupted(ground *g) {
  wr_csr *links = random_graph();
  ranking r = ranking_of(g, links);
  stopper s = {.at = 4};
  r.monitor = (wr_monitor){.progress = stop_at, .context = &s, .interrupted = &s.flag};
  r.options.no_graph = 1; /* a device that repeats the iterations by itself shows progress by time */
  ground_case(g, "interrupted");
  run_and_check(g, &r);
  CHECKF(r.result.outcome == WR_INTERRUPTED && r.result.iterations == 4, "%s after %lld",
         wr_outcome_title(r.result.outcome), (long long)r.result.iterations);
  CHECKF(s.calls == 4 && s.target == r.options.tolerance, "%lld calls", (long long)s.calls);
  ranking_free(&r);
  wr_csr_free(links);
}

typedef struct clockwork {
  int64_t at;
  wr_monitor *monitor;
} clockwork;

static void expire_at(void *context, int64_t iteration, double measure, double target) {
  clockwork *c = context;
  CHECKF(measure > 0 && target > 0, "%g, target %g", measure, target);
  if (iteration >= c->at) c->monitor->deadline = 1e-9; /* of a clock that began long ago */
}

/* A deadline that has passed leaves the start with no bound on its error, one that passes later the ranks of then. */
static void test_deadline(ground *g) {
  wr_csr *links = random_graph();
  ranking r = ranking_of(g, links);
  ground_case(g, "a deadline that has passed");
  r.monitor.deadline = 1e-9;
  ranking_run(g, &r);
  CHECK(r.verdict.multiplied_right && !r.verdict.met_tolerance && r.result.multiplies == 0);
  CHECKF(r.result.outcome == WR_TIME_LIMIT && r.result.iterations == 0 && isinf(r.result.bound), "%s, bound %g",
         wr_outcome_title(r.result.outcome), r.result.bound);
  CHECKF(strstr(r.result.note, "before the first iteration") != NULL, "'%s'", r.result.note);
  ground_case(g, "a deadline that passes at the fourth iteration");
  clockwork clock = {.at = 4, .monitor = &r.monitor};
  r.monitor = (wr_monitor){.progress = expire_at, .context = &clock, .deadline = 1e300};
  r.options.no_graph = 1;
  run_and_check(g, &r);
  CHECKF(r.result.outcome == WR_TIME_LIMIT && r.result.iterations == 4 && isfinite(r.result.bound), "%s after %lld",
         wr_outcome_title(r.result.outcome), (long long)r.result.iterations);
  CHECKF(strstr(r.result.note, "has passed") != NULL, "'%s'", r.result.note);
  r.monitor = (wr_monitor){.deadline = 1e300};
  run_and_check(g, &r);
  CHECKF(r.result.outcome == WR_CONVERGED || is_held_up(&r), "%s", wr_outcome_title(r.result.outcome));
  ranking_free(&r);
  wr_csr_free(links);
}

/* Iterations until such a run has ended by itself: the change falls by the damping factor until it is 1000 units, and then at
 * least by `hardly` in each window of 10, or has stalled, down to the tolerance. */
static int64_t most_iterations(const ranking *r, double unit) {
  double d = r->options.damping, tiny = 1000 * unit, hardly = (1 + pow(d, 10)) / 2;
  double falls = ceil(log(tiny / 2) / log(d)), windows = ceil(log(r->options.tolerance * (1 - d) / tiny) / log(hardly));
  return (int64_t)(falls + 10 * (windows + 2)) + r->options.check_every;
}

/* A tolerance below rounding: the run stagnates and ends before its limit, and its bound is true. */
static void test_stagnation(ground *g) {
  wr_csr *const all[] = {random_graph(), weighted(), undirected(), hub_graph()};
  for (int k = 0; k < 4; k++) {
    exact_ranks exact = {0};
    int64_t first = 0;
    for (int64_t every = 1; every <= 4; every += 3) {
      ranking r = ranking_of(g, all[k]);
      r.options.tolerance = wr_type_unit(g->env.type) / 1000, r.options.check_every = every;
      ground_case(g, "graph %d, a tolerance below rounding, a check every %lld", k, (long long)every);
      run_and_compare(g, &r, &exact);
      CHECKF(r.result.outcome == WR_STAGNATED, "%s after %lld", wr_outcome_title(r.result.outcome),
             (long long)r.result.iterations);
      const char *why = r.result.measure > r.options.tolerance ? "from becoming smaller" : "are for rounding";
      CHECKF(strstr(r.result.note, why) != NULL, "'%s'", r.result.note);
      CHECKF(r.result.change < 1000 * wr_type_unit(g->env.type), "the change is %g", r.result.change);
      if (every == 1) first = r.result.iterations;
      /* A window or two later; but where sums vary from run to run, rounding stops the change now here, now there. */
      int64_t most = r.deterministic ? first + 24 : most_iterations(&r, wr_type_unit(g->env.type));
      CHECKF(r.result.iterations <= most, "%lld iterations, %lld with a check at each", (long long)r.result.iterations,
             (long long)first);
      ranking_free(&r);
    }
    free(exact.score);
    wr_csr_free(all[k]);
  }
}

/* The answer in f32 differs from that in f64 by its bound at most. The bound is within the default tolerance if rows are summed
 * in f64. */
static void test_single_precision(ground *g) {
  if (g->env.type != WR_F32) return;
  wr_csr *const all[] = {random_graph(), weighted(), undirected(), hub_graph()};
  ground twin;
  if (!ground_open(&twin, g->backend, WR_F64)) return;
  for (int k = 0; k < 4; k++) {
    ranking single = ranking_of(g, all[k]), fine = ranking_of(&twin, all[k]);
    fine.options.tolerance = 1e-12;
    ground_case(g, "graph %d against f64", k);
    ranking_run(g, &single), ranking_run(&twin, &fine);
    double distance = ranking_distance(&single, &fine);
    CHECKF(distance <= single.result.bound + fine.result.bound, "%g, bound %g", distance, single.result.bound);
    if (single.sum_unit == 0) CHECKF(distance <= single.options.tolerance, "%g", distance);
    ranking_free(&single), ranking_free(&fine);
    wr_csr_free(all[k]);
  }
  wr_env_close(&twin.env);
}

/* A second solve of the same opened problem begins anew, and poisoned buffers change nothing. */
static void test_again(ground *g) {
  wr_csr *links = hub_graph();
  wr_graph graph;
  wr_pagerank method;
  double *scores[3];
  wr_result results[3];
  wr_pagerank_options options = ranking_of(g, links).options;
  ground_case(g, "solved again");
  CHECK_OK(wr_graph_build(links, 0, NULL, NULL, &graph));
  wr_plan *plan = ground_plan(g, graph.flow);
  CHECK_OK(wr_pagerank_open(&method, &graph, plan, &g->env));
  for (int k = 0; k < 3; k++) {
    g->testing.poison = k == 1;
    scores[k] = room_for(BIG, sizeof **scores);
    CHECK_OK(wr_pagerank_solve(&method, &options, &(wr_monitor){0}, &results[k]));
    CHECK_OK(wr_pagerank_download(&method, scores[k]));
  }
  g->testing.poison = 1;
  for (int k = 1; k < 3; k++) {
    CHECKF(results[k].iterations == results[0].iterations, "%lld", (long long)results[k].iterations);
    double distance = 0;
    for (int64_t i = 0; i < BIG; i++) distance += fabs(scores[k][i] - scores[0][i]);
    double allowed = wr_plan_get_info(plan)->deterministic ? 0 : results[0].bound + results[k].bound;
    CHECKF(distance <= allowed, "run %d is off by %g", k, distance);
  }
  for (int k = 0; k < 3; k++) free(scores[k]);
  wr_pagerank_close(&method);
  wr_pagerank_close(&method);
  wr_plan_destroy(plan);
  wr_graph_free(&graph);
  wr_csr_free(links);
}

static void test_normalise(void) {
  wr_pagerank_options options = {.damping = 0.85, .tolerance = 1e-9};
  double good[] = {0.25, 0.25, 0.5 + 1e-10}, bad[] = {0.25, 0.25, 0.5 + 2e-9}, none[] = {0.5, NAN, 0.5};
  ground_case(NULL, "the sum of the scores");
  CHECK_OK(wr_pagerank_normalise(good, 3, &options, 1e-14));
  CHECKF(fabs(good[0] + good[1] + good[2] - 1) <= 3 * 0x1p-53, "%.17g", good[0] + good[1] + good[2]);
  CHECK_FAILS(WR_EINTERNAL, wr_pagerank_normalise(bad, 3, &options, 1e-14));
  CHECK_MESSAGE("1.000000002");
  CHECK_OK(wr_pagerank_normalise(bad, 3, &options, 1e-10)); /* 25 times that is more */
  CHECK_FAILS(WR_EINTERNAL, wr_pagerank_normalise(none, 3, &options, 1e-10));
  double below[] = {-1e-10, 0.5 + 1e-10, 0.5};
  CHECK_OK(wr_pagerank_normalise(below, 3, &options, 1e-14));
  CHECKF(below[0] == 0 && fabs(below[1] + below[2] - 1) <= 2 * 0x1p-53, "%g, %.17g, %.17g", below[0], below[1],
         below[2]);
}

static void test_all(ground *g) {
  test_check_every(g);
  test_iterations_end(g);
  test_stop_on_change(g);
  test_interrupted(g);
  test_deadline(g);
  test_stagnation(g);
  test_single_precision(g);
  test_again(g);
}

int main(void) {
  on_every_ground(test_all);
  test_normalise();
  return wr_test_report("pagerank_end");
}
