/* What *converged* means: the true residual of the x that is returned meets the tolerance. Systems on which a residual in plain
 * arithmetic, a bound for rounding, or an answer in scaled units says otherwise; each on every backend. */
#define _DEFAULT_SOURCE
#include "tests/solvers/solve_fixture.h"

typedef struct hard_case {
  const char *name;
  int64_t n;
  double A[9], b[3];
  wr_outcome outcome; /* that it must have, or WR_CONVERGED: any other one                       */
  const char *note;   /* that it must give                                                       */
} hard_case;

/* Singular and inconsistent: no x has a residual below the distance of b from the range of A. */
static const hard_case singular[] = {
    {.name = "singular to rounding",
     .n = 2,
     .A = {1.4267320568177375, 1.8024103068486483, -0.04946939502386516, -0.06249536977774123},
     .b = {1, 0}},
    {.name = "two equal rows", .n = 2, .A = {1, 2, 1, 2}, .b = {1, 0}},
    {.name = "a row that is the sum of two",
     .n = 3,
     .A = {0.1, 0.2, 0.7, 0.3, 0.9, 0.4, 0.4, 1.1, 1.1},
     .b = {1, 1, -1}},
    {.name = "rank one", .n = 3, .A = {1, 1, 1, 2, 2, 2, 3, 3, 3}, .b = {1, 0, 0}},
};

static void test_singular(ground *g) {
  for (size_t k = 0; k < sizeof singular / sizeof *singular; k++)
    for (int jacobi = 0; jacobi < 2; jacobi++) {
      wr_csr *A = matrix_of_picture(singular[k].n, singular[k].A);
      solution s = solution_of(g, A);
      s.b = singular[k].b, s.jacobi = jacobi, s.options.iterations = 500;
      ground_case(g, "%s%s", singular[k].name, jacobi ? ", jacobi" : "");
      solve_and_check(g, &s);
      CHECKF(s.result.outcome != WR_CONVERGED || residual_as_given(&s) <= (long double)s.bound, "residual %.3Lg",
             residual_as_given(&s));
      CHECK(s.verdict.multiplied_right);
      solution_free(&s);
      wr_csr_free(A);
    }
}

/* If only b were scaled, squares of A p would overflow or underflow; with the matrix scaled as well, none does. */
static void test_uniform_scale(ground *g) {
  static const double diagonals[][2] = {
      {1e160, 3e160}, {1e-160, 3e-160}, {1e-310, 3e-310}, {1e300, 2e300}, {1e-60, 3e-60}};
  const double b[] = {1, 1}, large[] = {1e300, 1e300}, small[] = {1e-200, 1e-200};
  for (size_t k = 0; k < sizeof diagonals / sizeof *diagonals; k++) {
    wr_csr *A = matrix_of_picture(2, (const double[]){diagonals[k][0], 0, 0, diagonals[k][1]});
    solution s = solution_of(g, A);
    s.b = diagonals[k][0] >= 1e300 ? large : diagonals[k][0] <= 1e-300 ? small : b;
    ground_case(g, "diagonal of %g", diagonals[k][0]);
    expect_outcome(g, &s, WR_CONVERGED);
    CHECKF(s.result.restarts == 0, "%d restarts", s.result.restarts);
    for (int i = 0; i < 2; i++) {
      double x = s.b[i] / diagonals[k][i];
      CHECKF(fabs(s.x[i] - x) <= 3 * s.bound * x, "x[%d] = %g, not %g", i, s.x[i], x);
    }
    solution_free(&s);
    wr_csr_free(A);
  }
}

static void expect_note(ground *g, const hard_case *c) {
  wr_csr *A = matrix_of_picture(c->n, c->A);
  solution s = solution_of(g, A);
  s.b = c->b;
  ground_case(g, "%s", c->name);
  expect_outcome(g, &s, c->outcome);
  CHECKF(strstr(s.result.note, c->note) != NULL, "'%s'", s.result.note);
  solution_free(&s);
  wr_csr_free(A);
}

/* Answers that f64 cannot hold, though the solver's unknowns, which are scaled, are ordinary numbers. */
static void test_answer_outside_f64(ground *g) {
  static const hard_case cases[] = {
      {"an answer of 1e-330", 1, {1e20}, {1e-310}, WR_STAGNATED, "element 1 of the solution is below"},
      {"an answer of 1e400", 1, {1e-200}, {1e200}, WR_NON_FINITE, "element 1 of the solution is beyond f64"}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) expect_note(g, &cases[k]);
}

/* A guess with a residual so large that its rounding exceeds b. */
static void test_guess_far_off(ground *g) {
  static const double sizes[] = {1e300, 1e30, 1.7e308};
  const double b[] = {1, 2};
  for (int k = 0; k < 3; k++) {
    double guess[] = {sizes[k], -sizes[k]};
    wr_csr *A = matrix_of_picture(2, (const double[]){2, 1, 0, 3});
    solution s = solution_of(g, A);
    s.b = b, s.guess = guess;
    ground_case(g, "a guess of %g", sizes[k]);
    solution_run(g, &s);
    CHECKF(s.result.outcome == WR_CONVERGED, "%s: %s", wr_outcome_title(s.result.outcome), s.result.note);
    CHECKF(strstr(s.result.note, "the first guess was replaced by 0") != NULL, "'%s'", s.result.note);
    CHECKF(residual_as_given(&s) <= (long double)s.bound, "%.3Lg", residual_as_given(&s));
    solution_free(&s);
    wr_csr_free(A);
  }
}

/* A value that f32 holds with few digits, or none: verification must not call the multiply wrong. */
static void test_value_below_f32(ground *g) {
  static const double values[] = {1.23e-42, 1e-45, 1e-60};
  const double b[] = {1, 0};
  for (int k = 0; k < 3; k++) {
    wr_csr *A = matrix_of_picture(2, (const double[]){1e-12, 0, values[k], 1e-12});
    solution s = solution_of(g, A);
    s.b = b;
    ground_case(g, "a value of %g", values[k]);
    expect_outcome(g, &s, WR_CONVERGED);
    solution_free(&s);
    wr_csr_free(A);
  }
}

/* The rounding of x to f32, 69 times ||b|| here, is more than the tolerance allows: x is not rounded to f32. */
static void test_large_row_sums(ground *g) {
  enum { N = 400 };
  wr_csr *A = NULL;
  CHECK_OK(wr_csr_create(N, N, 3 * N - 2, 1, &A));
  int64_t k = 0;
  for (int32_t i = 0; i < N; i++) {
    for (int32_t j = i > 0 ? i - 1 : 0; j < N && j <= i + 1; j++, k++)
      A->col[k] = j, A->val[k] = i == j ? 2 + 1e-3 / 3 : -1;
    A->row_ptr[i + 1] = k;
  }
  double b[N];
  for (int i = 0; i < N; i++) b[i] = 1e-4 * (1 + i % 3) / 3;
  solution s = solution_of(g, A);
  s.b = b;
  ground_case(g, "a solution much larger than b");
  expect_outcome(g, &s, WR_CONVERGED);
  CHECKF(residual_as_given(&s) <= (long double)s.bound, "%.3Lg", residual_as_given(&s));
  solution_free(&s);
  wr_csr_free(A);
}

static void test_all(ground *g) {
  test_singular(g);
  test_uniform_scale(g);
  test_answer_outside_f64(g);
  test_guess_far_off(g);
  test_value_below_f32(g);
  test_large_row_sums(g);
}

int main(void) {
  on_every_ground(test_all);
  return wr_test_report("converged");
}
