/* How BiCGSTAB ends: the half step, checks that are far apart, the most iterations, an interruption, stagnation; and that a
 * second solve begins anew. */
#define _DEFAULT_SOURCE
#include "tests/solvers/solve_fixture.h"

/* If the half step meets the tolerance, the second product is not used: alpha = 1/2 solves this at once, omega being 0/0. */
static void test_half_step(ground *g) {
  wr_csr *A = matrix_of_picture(3, (const double[]){2, 0, 0, 0, 2, 0, 0, 0, 2});
  for (int64_t every = 1; every <= 3; every++) {
    solution s = solution_of(g, A);
    s.options.check_every = every;
    ground_case(g, "half step, a check every %lld", (long long)every);
    expect_outcome(g, &s, WR_CONVERGED);
    CHECKF(s.result.iterations == 1 && s.result.restarts == 0, "%lld iterations, %d restarts",
           (long long)s.result.iterations, s.result.restarts);
    CHECKF(s.x[0] == 1 && s.x[1] == 1 && s.x[2] == 1 && s.result.measure == 0, "(%g, %g, %g)", s.x[0], s.x[1], s.x[2]);
    solution_free(&s);
  }
  wr_csr_free(A);
}

/* Iterations after the end, up to the next check, change nothing: the answer has the same bits, and they are not counted. */
static void test_check_every(ground *g) {
  wr_csr *A = random_matrix(3000, 6, 4, 1, 31);
  solution first = solution_of(g, A);
  ground_case(g, "a check every iteration");
  expect_outcome(g, &first, WR_CONVERGED);
  static const int64_t distances[] = {2, 3, 4, 5, 6, 7, 100, 1000000};
  for (size_t k = 0; k < sizeof distances / sizeof *distances; k++) {
    solution s = solution_of(g, A);
    s.options.check_every = distances[k];
    s.options.iterations = first.result.iterations + (k < 6 ? 50 : 150);
    ground_case(g, "a check every %lld iterations", (long long)distances[k]);
    expect_outcome(g, &s, WR_CONVERGED);
    check_same_run(&s, &first);
    CHECKF(s.history.count <= first.history.count / distances[k] + 51, "%lld checks", (long long)s.history.count);
    solution_free(&s);
  }
  solution_free(&first);
  wr_csr_free(A);
}

/* A solve takes exactly the iterations of its limit, and then returns its best iterate. */
static void test_max_iterations(ground *g) {
  wr_csr *A = random_matrix(3000, 6, 4, 1, 31);
  for (int64_t most = 1; most <= 5; most++)
    for (int64_t every = 1; every <= 4; every += 3) {
      solution s = solution_of(g, A);
      s.options.iterations = most, s.options.check_every = every;
      ground_case(g, "at most %lld iterations, a check every %lld", (long long)most, (long long)every);
      expect_outcome(g, &s, WR_MAX_ITERATIONS);
      CHECKF(s.result.iterations == most && s.final < 1, "%lld, residual %.3Lg", (long long)s.result.iterations,
             s.final);
      CHECK(!s.verdict.met_tolerance);
      solution_free(&s);
    }
  wr_csr_free(A);
}

typedef struct stopper {
  int64_t at, calls;
  volatile sig_atomic_t flag;
} stopper;

static void stop_at(void *context, int64_t iteration, double measure, double target) {
  stopper *s = context;
  s->calls++;
  CHECKF(measure > target && target > 0, "%g, target %g", measure, target);
  if (iteration >= s->at) s->flag = 1;
}

static void test_interrupted(ground *g) {
  wr_csr *A = random_matrix(3000, 6, 4, 1, 31);
  stopper stop = {.at = 3};
  solution s = solution_of(g, A);
  s.monitor = (wr_monitor){.progress = stop_at, .context = &stop, .interrupted = &stop.flag};
  s.options.no_graph = 1; /* a device that repeats the iterations by itself shows progress by time */
  ground_case(g, "interrupted");
  expect_outcome(g, &s, WR_INTERRUPTED);
  CHECKF(s.result.iterations == 3 && stop.calls == 3 && s.final < 1, "%lld, residual %.3Lg",
         (long long)s.result.iterations, s.final);
  solution_free(&s);
  wr_csr_free(A);
}

typedef struct clockwork {
  int64_t at;
  wr_monitor *monitor;
} clockwork;

static void expire_at(void *context, int64_t iteration, double measure, double target) {
  clockwork *c = context;
  CHECKF(measure > target && target > 0, "%g, target %g", measure, target);
  if (iteration >= c->at) c->monitor->deadline = 1e-9; /* of a clock that began long ago */
}

/* A deadline that has passed leaves the guess, one that passes during the iterations the best iterate, a far one no trace. */
static void test_deadline(ground *g) {
  wr_csr *A = random_matrix(3000, 6, 4, 1, 31);
  solution free_run = solution_of(g, A), s = solution_of(g, A);
  ground_case(g, "a deadline that has passed");
  s.monitor.deadline = 1e-9;
  expect_outcome(g, &s, WR_TIME_LIMIT);
  CHECKF(s.result.iterations == 0 && fabsl(s.final - 1) <= 1e-12L &&
             strstr(s.result.note, "before the first iteration"),
         "%lld, '%s'", (long long)s.result.iterations, s.result.note);
  CHECK(wr_outcome_exit_code(s.result.outcome) == 2 && !s.verdict.met_tolerance);
  ground_case(g, "a deadline that passes at the third iteration");
  clockwork clock = {.at = 3, .monitor = &s.monitor};
  s.monitor = (wr_monitor){.progress = expire_at, .context = &clock, .deadline = 1e300};
  s.options.no_graph = 1;
  expect_outcome(g, &s, WR_TIME_LIMIT);
  CHECKF(s.result.iterations == 3 && s.final < 1 && strstr(s.result.note, "has passed; the answer is the best iterate"),
         "%lld, residual %.3Lg, '%s'", (long long)s.result.iterations, s.final, s.result.note);
  ground_case(g, "a far deadline");
  s.monitor = (wr_monitor){.deadline = 1e300};
  s.options.no_graph = 0;
  expect_outcome(g, &free_run, WR_CONVERGED);
  expect_outcome(g, &s, WR_CONVERGED);
  check_same_run(&s, &free_run);
  ground_case(g, "a signal and a deadline");
  volatile sig_atomic_t flag = 1;
  s.options.tolerance = 1e-300; /* so that a device does not end the solve before the host checks */
  s.monitor = (wr_monitor){.deadline = 1e-9, .interrupted = &flag};
  expect_outcome(g, &s, WR_INTERRUPTED);
  solution_free(&s);
  solution_free(&free_run);
  wr_csr_free(A);
}

/* A tolerance that the rounding of x to f64 does not allow: the solve is refined while that helps and then stagnates, near what
 * f64 can hold. This does not depend on the stored type, since each refinement solves for a residual computed on the host. */
static void test_stagnation(ground *g) {
  const double unit = wr_type_unit(WR_F64);
  for (int64_t every = 1; every <= 5; every += 4) {
    wr_csr *A = random_matrix(2000, 5, 10, 1, 77);
    solution s = solution_of(g, A);
    s.options.tolerance = unit / 100, s.options.check_every = every;
    ground_case(g, "a tolerance below rounding, a check every %lld", (long long)every);
    expect_outcome(g, &s, WR_STAGNATED);
    CHECKF(s.result.refinements >= 1, "%d refinements", s.result.refinements);
    CHECKF(strstr(s.result.note, "attains here") && strstr(s.result.note, "a larger tolerance would help"), "'%s'",
           s.result.note);
    CHECKF(s.final <= 20 * (long double)unit, "%.3Lg", s.final);
    solution_free(&s);
    wr_csr_free(A);
  }
}

/* Convection at an angle to a grid of side x side, with more than half of upwinding. The residual of BiCGSTAB grows by 1e18 on
 * its way to the outflow. */
static wr_csr *convection(int64_t side) {
  const double diffusion = 0.1, speed[2] = {0.76, 0.64};
  int64_t n = side * side, count = 0;
  entry *entries = room_for(5 * n, sizeof *entries);
  for (int64_t i = 0; i < n; i++) {
    const int64_t place[2] = {i / side, i % side}, step[2] = {side, 1};
    entries[count++] = (entry){i, i, 4 * diffusion + 0.6 * (speed[0] + speed[1])};
    for (int d = 0; d < 2; d++) {
      if (place[d] > 0) entries[count++] = (entry){i, i - step[d], -diffusion - 0.8 * speed[d]};
      if (place[d] < side - 1) entries[count++] = (entry){i, i + step[d], -diffusion + 0.2 * speed[d]};
    }
  }
  wr_csr *A = matrix_of(n, entries, count, 1);
  free(entries);
  return A;
}

/* The residual that BiCGSTAB updates meets the tolerance, the true one is far larger than the first: another method goes on
 * from the best iterate, and if none may, BiCGSTAB itself. */
static void test_drift(ground *g) {
  if (g->env.place != WR_HOST || g->env.type != WR_F64) return; /* 700 iterations of 10 000 rows */
  wr_csr *A = convection(100);
  for (int alone = 0; alone < 2; alone++) {
    solution s = solution_of(g, A);
    if (!alone) s.options.method = NULL;
    ground_case(g, "a true residual that stays behind, %s", alone ? "one method" : "any method");
    expect_outcome(g, &s, WR_CONVERGED);
    CHECKF(s.result.note[0] == '\0', "'%s'", s.result.note);
    CHECKF(alone || s.result.restarts == 0 || strstr(s.result.changes, "the true residual is larger"),
           "%d restarts, '%s'", s.result.restarts,
           s.result.changes); /* compensated sums keep the digits, so that nothing happens */
    solution_free(&s);
  }
  wr_csr_free(A);
}

/* Conjugate gradients take as many iterations as a chain has links, more than half of those allowed, and no other method goes
 * on. */
static void test_all_iterations(ground *g) {
  enum { N = 1200 };
  if (g->env.place != WR_HOST || g->env.type != WR_F64) return;
  entry *entries = room_for(3 * N, sizeof *entries);
  double b[N] = {1};
  int64_t count = 0;
  for (int64_t i = 0; i < N; i++)
    for (int64_t j = i > 0 ? i - 1 : 0; j < N && j <= i + 1; j++) entries[count++] = (entry){i, j, j == i ? 2 : -1};
  wr_csr *A = matrix_of(N, entries, count, 1);
  solution s = solution_of(g, A);
  s.b = b, s.options.method = NULL, s.options.iterations = 2000;
  ground_case(g, "conjugate gradients beyond half of the iterations");
  expect_outcome(g, &s, WR_CONVERGED);
  CHECKF(s.result.iterations > 1000 && s.result.changes[0] == '\0', "%lld iterations, '%s'",
         (long long)s.result.iterations, s.result.changes);
  solution_free(&s);
  wr_csr_free(A);
  free(entries);
}

/* Values and vectors in f32, and an answer that f32 could not hold: half of x is no number of f32. */
static void test_beyond_stored_type(ground *g) {
  if (g->env.type != WR_F32) return;
  wr_csr *A = random_matrix(2000, 5, 10, 1, 77);
  solution s = solution_of(g, A);
  s.options.tolerance = 1e-13;
  ground_case(g, "1e-13 with f32");
  expect_outcome(g, &s, WR_CONVERGED);
  CHECKF(s.final <= 1e-13L && s.result.refinements >= 1, "%.3Lg, %d refinements", s.final, s.result.refinements);
  solution_free(&s);
  wr_csr_free(A);
}

/* A second solve with the same opened problem begins anew. */
static void test_again(ground *g) {
  enum { N = 3000 };
  wr_csr *A = random_matrix(N, 6, 4, 1, 31);
  wr_system system;
  wr_bicgstab method;
  double *x[3];
  wr_result results[3];
  wr_bicgstab_options options = solution_of(g, A).options;
  ground_case(g, "solved again");
  CHECK_OK(wr_system_build(A, NULL, NULL, 0, 0, WR_SCALE_NONE, 0, 0, &system));
  wr_plan *plan = ground_plan(g, system.matrix);
  CHECK_OK(wr_bicgstab_open(&method, &system, plan, &g->env));
  for (int k = 0; k < 3; k++) {
    g->testing.poison = k == 1;
    x[k] = room_for(N, sizeof **x);
    CHECK_OK(wr_bicgstab_solve(&method, &options, &(wr_monitor){0}, &results[k]));
    CHECK_OK(wr_bicgstab_download(&method, x[k], NULL));
    CHECKF(results[k].outcome == WR_CONVERGED, "%s", wr_outcome_title(results[k].outcome));
  }
  g->testing.poison = 1;
  if (wr_plan_get_info(plan)->deterministic)
    for (int k = 1; k < 3; k++)
      CHECKF(results[k].iterations == results[0].iterations && memcmp(x[k], x[0], N * sizeof **x) == 0, "run %d", k);
  for (int k = 0; k < 3; k++) free(x[k]);
  wr_bicgstab_close(&method);
  wr_bicgstab_close(&method);
  wr_plan_destroy(plan);
  wr_system_free(&system);
  wr_csr_free(A);
}

static void test_all(ground *g) {
  test_half_step(g);
  test_check_every(g);
  test_max_iterations(g);
  test_deadline(g);
  test_interrupted(g);
  test_drift(g);
  test_all_iterations(g);
  test_stagnation(g);
  test_beyond_stored_type(g);
  test_again(g);
}

int main(void) {
  on_every_ground(test_all);
  return wr_test_report("bicgstab_end");
}
