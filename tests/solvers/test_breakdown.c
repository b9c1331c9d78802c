/* BiCGSTAB where the method breaks down: rho and sigma vanish, alpha explodes, numbers overflow on the way. Each
 * ends with a finite answer no worse than the guess and with an outcome that the recomputed residual bears out; where a
 * restart is known to help, it does. */
#define _DEFAULT_SOURCE
#include "tests/solvers/solve_fixture.h"

typedef struct small_system {
  const char *name;
  int64_t n;
  double A[16], b[4];
  int first;    /* steps made when it breaks down at first: 0 where alpha is refused, else 1; -1: it does not */
  int recovers; /* 1: a restart must solve it; 0: it need not                                                */
  int type;     /* WR_F32, WR_F64, or -1: both                                                               */
} small_system;

static const small_system systems[] = {
    /* b = e1 and a first row that is e1 too: (shadow, A s) = 0, so rho is 0 after the first step. */
    {"rho vanishes", 3, {2, 0, 0, 1, 3, 0, 0, 1, 4}, {1, 0, 0}, 1, 1, -1},
    /* (b, A b) = 0 for every b, which another shadow mends; and (A s, s) = 0 for every s, for which alpha stands in. */
    {"skew-symmetric 2 x 2", 2, {0, 1, -1, 0}, {1, 0}, 0, 1, -1},
    {"skew-symmetric 4 x 4", 4, {0, 1, 2, 0, -1, 0, 0, 3, -2, 0, 0, 1, 0, -3, -1, 0}, {1, 2, 3, 4}, 0, 1, -1},
    /* A permutation: sigma is 0 for this b, and not for others. */
    {"sigma vanishes", 3, {0, 1, 0, 0, 0, 1, 1, 0, 0}, {1, 0, 0}, 0, 1, -1},
    /* After alpha = 1 the residual is (0, -1/2), and A maps it onto the first axis. */
    {"omega vanishes", 2, {1, 1, 0.5, 0}, {1, 0}, -1, 1, -1},
    /* sigma = 1e-40: alpha would be 1e40. */
    {"alpha explodes", 2, {1e-40, 1, 1, 0}, {1, 0}, 0, 1, WR_F64},
    {"alpha explodes", 2, {1e-20, 1, 1, 0}, {1, 0}, 0, 1, WR_F32},
    /* alpha = 1e20 is allowed; beta would be 1e40. */
    {"beta explodes", 2, {1e-20, 1, 1, 1}, {1, 0}, 1, 1, WR_F64},
    /* alpha = 1e14 is allowed; alpha A b overflows f32. */
    {"s overflows", 2, {1e-14, 1e25, 1, 0}, {1, 0}, 1, 0, WR_F32},
    /* A p would overflow f32 itself, and (A p, A p) overflow f64, or underflow, were the matrix not scaled. */
    {"A p would overflow", 2, {3e38, 3e38, 3e38, -3e38}, {1.9, 1.9}, -1, 1, -1},
    {"sums would overflow", 2, {2e200, 1e200, 1e200, 3e200}, {1, 2}, -1, 1, -1},
    {"sums would underflow", 2, {2e-200, 1e-200, 1e-200, 3e-200}, {1, 2}, -1, 1, -1},
};
enum { SYSTEMS = sizeof systems / sizeof *systems };

static void test_system(ground *g, const small_system *system) {
  if (system->type >= 0 && system->type != (int)g->env.type) return;
  wr_csr *A = matrix_of_picture(system->n, system->A);
  for (int64_t every = 1; every <= 7; every++) {
    solution s = solution_of(g, A);
    s.b = system->b, s.options.check_every = every, s.options.iterations = 1000;
    ground_case(g, "%s, a check every %lld", system->name, (long long)every);
    solve_and_check(g, &s);
    const char *title = wr_outcome_title(s.result.outcome);
    CHECKF((s.result.restarts > 0) == (system->first >= 0), "%d restarts (%s)", s.result.restarts, title);
    if (system->first >= 0)
      CHECKF(s.history.iteration[0] == system->first, "%lld steps at first", (long long)s.history.iteration[0]);
    if (system->recovers)
      CHECKF(s.result.outcome == WR_CONVERGED, "%s, '%s'", title, s.result.note);
    else if (s.result.outcome != WR_CONVERGED)
      CHECKF((s.result.outcome == WR_BREAKDOWN || s.result.outcome == WR_NON_FINITE) && s.result.note[0], "%s, '%s'",
             title, s.result.note);
    CHECKF(s.result.iterations < 1000, "%lld iterations of a %lld x %lld system", (long long)s.result.iterations,
           (long long)system->n, (long long)system->n);
    solution_free(&s);
  }
  wr_csr_free(A);
}

/* The notes on a matrix that restarts cannot solve, and on one whose values lie too far apart for squares of norms. */
static void test_notes(ground *g) {
  static const struct {
    const char *name;
    double A[4], b[2];
    const char *note;
  } expected[] = {{"zero matrix", {0, 0, 0, 0}, {1, 0}, "breakdown: A p vanished"},
                  {"values of 1e-30 and 1e308", {1e308, 0, 0, 1e-30}, {1, 1}, "matrix range from 1e-30 to 1e+308"}};
  for (size_t k = 0; k < sizeof expected / sizeof *expected; k++) {
    wr_csr *A = matrix_of_picture(2, expected[k].A);
    solution s = solution_of(g, A);
    s.b = expected[k].b;
    ground_case(g, "the note: %s", expected[k].name);
    expect_outcome(g, &s, WR_BREAKDOWN);
    CHECKF(strstr(s.result.note, expected[k].note) != NULL, "'%s'", s.result.note);
    solution_free(&s);
    wr_csr_free(A);
  }
}

/* Jacobi brings each column to a scale of 1, however far apart they lie. */
static void test_jacobi_helps(ground *g) {
  static const double pictures[][4] = {{1e308, 0, 0, 3}, {1e-300, 0, 0, 1e300}, {2e-30, 1, 1e-30, 3}};
  const double b[] = {1, 1};
  for (int k = 0; k < 3; k++) {
    wr_csr *A = matrix_of_picture(2, pictures[k]);
    solution s = solution_of(g, A);
    s.b = b, s.jacobi = 1;
    ground_case(g, "columns of %g and %g, jacobi", pictures[k][0], pictures[k][3]);
    expect_outcome(g, &s, WR_CONVERGED);
    solution_free(&s);
    wr_csr_free(A);
  }
}

/* A NaN or Inf in the matrix, as a caller may build it: the answer is the guess, unchanged. */
static void test_not_finite(ground *g) {
  static const double strange[] = {NAN, INFINITY, -INFINITY};
  const double b[] = {1, 2, 3}, guess[] = {4, 5, 6};
  for (int k = 0; k < 3; k++)
    for (int with_guess = 0; with_guess < 2; with_guess++) {
      wr_csr *A = matrix_of_picture(3, (const double[]){1, 2, 0, 0, 1, 3, 1, 0, 1});
      A->val[2] = strange[k];
      solution s = solution_of(g, A);
      s.b = b, s.guess = with_guess ? guess : NULL;
      ground_case(g, "%g in the matrix%s", strange[k], with_guess ? ", with a guess" : "");
      solution_run(g, &s);
      CHECKF(s.result.outcome == WR_NON_FINITE && s.result.iterations == 0 && s.result.note[0], "%s after %lld, '%s'",
             wr_outcome_title(s.result.outcome), (long long)s.result.iterations, s.result.note);
      for (int i = 0; i < 3; i++) CHECKF(s.x[i] == (with_guess ? guess[i] : 0), "x[%d] = %g", i, s.x[i]);
      CHECK(!s.verdict.met_tolerance);
      solution_free(&s);
      wr_csr_free(A);
    }
}

/* The solution itself is beyond f32 while the residual is not: no element of what is returned may be infinite. */
static void test_answer_overflows(ground *g) {
  if (g->env.type != WR_F32) return;
  wr_csr *A = matrix_of_picture(2, (const double[]){1e-42, 0, 0, 1});
  const double b[] = {1, 1};
  solution s = solution_of(g, A);
  s.b = b;
  ground_case(g, "the solution is beyond the type");
  solve_and_check(g, &s);
  CHECKF(s.result.outcome != WR_CONVERGED, "residual %g", s.result.measure);
  solution_free(&s);
  wr_csr_free(A);
}

/* (r0, r1) = 0 to the last bit after the first step: recovers by a restart. */
static void test_jpwh(ground *g) {
  wr_csr *A = real_matrix("jpwh_991", 1);
  if (A == NULL) return;
  solution s = solution_of(g, A);
  ground_case(g, "jpwh_991");
  solve_and_check(g, &s);
  CHECKF(s.result.outcome == WR_CONVERGED || s.result.outcome == WR_BREAKDOWN, "%s",
         wr_outcome_title(s.result.outcome));
  CHECKF(s.result.restarts >= 1, "%d restarts", s.result.restarts);
  solution_free(&s);
  wr_csr_free(A);
}

/* Small systems of numbers of all sizes, with zeros: however the method ends, its outcome and residual are true. */
static void test_wild(ground *g) {
  uint64_t seed = 4711;
  double reach = g->env.type == WR_F32 ? 30 : 120; /* decades */
  int outcomes[WR_INTERRUPTED + 1] = {0}, restarted = 0;
  for (int trial = 0; trial < 3000; trial++) {
    double picture[16], b[4], guess[4], spread = reach * random_in(&seed) * random_in(&seed);
    int64_t n = 1 + (int64_t)(4 * random_in(&seed));
    for (int k = 0; k < n * n; k++)
      picture[k] = random_in(&seed) < 0.3 ? 0 : (random_in(&seed) - 0.5) * pow(10, spread * (random_in(&seed) - 0.5));
    for (int i = 0; i < n; i++) b[i] = random_in(&seed) - 0.5, guess[i] = random_in(&seed);
    wr_csr *A = matrix_of_picture(n, picture);
    solution s = solution_of(g, A);
    s.b = b, s.guess = trial % 3 == 0 ? guess : NULL, s.options.check_every = 1 + trial % 3, s.options.iterations = 500;
    ground_case(g, "wild system %d", trial);
    solve_and_check(g, &s);
    outcomes[s.result.outcome]++, restarted += s.result.restarts > 0;
    solution_free(&s);
    wr_csr_free(A);
  }
  CHECKF(outcomes[WR_CONVERGED] > 500 && outcomes[WR_BREAKDOWN] > 100 && restarted > 200,
         "%d converged, %d broke down, %d restarted: these show little", outcomes[WR_CONVERGED], outcomes[WR_BREAKDOWN],
         restarted);
}

static void test_all(ground *g) {
  for (int k = 0; k < SYSTEMS; k++) test_system(g, &systems[k]);
  test_notes(g);
  test_jacobi_helps(g);
  test_not_finite(g);
  test_answer_overflows(g);
  test_jpwh(g);
  test_wild(g);
}

int main(void) {
  on_default_grounds(test_all);
  return wr_test_report("breakdown");
}
