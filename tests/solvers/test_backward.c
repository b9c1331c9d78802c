/* Stopping by the componentwise backward error, which is recomputed here in long double: rows of very different norm, where a
 * small residual says nothing of x; singular and inconsistent systems; b = 0; an absolute tolerance; small random systems. */
#define _DEFAULT_SOURCE
#include "tests/solvers/solve_fixture.h"

enum { N = 60 };

/* A diagonally dominant matrix with its rows scaled by powers of ten from 1 to 1e-4: rows that are that small hardly show in
 * ||b - A x||. */
static wr_csr *scaled_rows(uint64_t seed) {
  wr_csr *A = random_matrix(N, 4, 4, 1, seed);
  for (int64_t i = 0; i < N; i++)
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) A->val[k] *= pow(10, -(double)(i % 5));
  return A;
}

/* Relative to x = ones. */
static double error_of(const solution *s) {
  double worst = 0;
  for (int64_t i = 0; i < s->A->nrows; i++) worst = fmax(worst, fabs(s->x[i] - 1));
  return worst;
}

/* What a backward error allows: A (x - ones) is at most backward * (|A||x| + |A| ones). Where the other entries of a row add
 * up to q < 1 of its diagonal element, the inverse of A times the diagonal has norm 1 / (1 - q) at most (Varah 1975). */
static double error_bound(const solution *s, double backward) {
  const wr_csr *A = s->A;
  double q = 0, largest = 0;
  for (int64_t i = 0; i < A->nrows; i++) {
    double diagonal = 0, others = 0;
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
      if (A->col[k] == i)
        diagonal = fabs(A->val[k]);
      else
        others += fabs(A->val[k]);
    }
    q = fmax(q, others / diagonal), largest = fmax(largest, fabs(s->x[i]));
  }
  CHECKF(q < 0.9, "%g of the diagonal: the bound shows little", q);
  return backward * (1 + q) * (1 + largest) / (1 - q);
}

/* By the residual the plain solve ends with an x that is wrong in its first digits, by the backward error with one that is
 * right. Jacobi's preconditioner undoes the scaling, so that both are right. */
static void test_scaled_rows(ground *g) {
  wr_csr *A = scaled_rows(5);
  for (int jacobi = 0; jacobi < 3; jacobi++) {
    solution by_residual = solution_of(g, A), s = solution_of(g, A);
    s.jacobi = by_residual.jacobi = jacobi == 1, s.applied = by_residual.applied = jacobi == 2;
    s.options.tolerance = by_residual.options.tolerance = 1e-6, s.options.by_backward = 1;
    s.options.iterations = 2000;
    ground_case(g, "rows from 1 to 1e-4, %s", jacobi == 0 ? "plain" : jacobi == 1 ? "Jacobi" : "Jacobi, applied");
    solution_run(g, &by_residual);
    long double slack, backward = backward_as_given(&by_residual, &slack);
    CHECKF(by_residual.result.outcome == WR_CONVERGED && (jacobi || backward > 1e-4),
           "%s, backward error %Lg: this shows little", wr_outcome_title(by_residual.result.outcome), backward);
    CHECKF(!by_residual.result.by_backward && by_residual.verdict.backward_rows == N &&
               fabsl((long double)by_residual.verdict.backward_error - backward) <= slack,
           "%g", by_residual.verdict.backward_error);
    solve_and_check(g, &s);
    int solved = s.result.outcome == WR_CONVERGED;
    CHECKF(solved || (!jacobi && g->env.type == WR_F32), "%s, %g", wr_outcome_title(s.result.outcome),
           s.result.backward);
    double bound = error_bound(&s, s.result.backward + 0x1p-50); /* b is A times ones but for the rounding of sums */
    CHECKF(!solved || error_of(&s) <= bound, "an error of %g, the bound is %g", error_of(&s), bound);
    CHECKF(jacobi || error_of(&by_residual) > 1e-3, "by the residual an error of %g: this shows little",
           error_of(&by_residual));
    solution_free(&s);
    solution_free(&by_residual);
  }
  wr_csr_free(A);
}

/* The row that is named has the largest error, the first of several. */
static void test_row(ground *g) {
  wr_csr *A = matrix_of_picture(4, (const double[]){1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1});
  static const double b[] = {1, 2, 3, 4}, x[] = {1, 1.5, 3, 2};
  wr_system system;
  wr_residual found;
  ground_case(g, "the row of the backward error");
  CHECK_OK(wr_system_build(A, given(b, 4), NULL, 0, 0, WR_SCALE_NONE, NULL, 0, &system));
  CHECK_OK(wr_residual_find(&system, x, NULL, &found));
  CHECKF(found.backward_row == 3 && fabs(found.backward - 1. / 3) < 1e-15, "row %lld, %g",
         (long long)found.backward_row, found.backward);
  CHECK_OK(wr_residual_find(&system, b, NULL, &found));
  CHECKF(found.backward_row == 0 && found.backward == 0, "row %lld, %g", (long long)found.backward_row, found.backward);
  CHECK_OK(wr_residual_find(&system, (const double[]){1, 2, 1e308, NAN}, NULL, &found));
  CHECKF(found.backward_row == 3 && isinf(found.backward) && isinf(found.norm), "%g", found.backward);
  wr_system_free(&system);
  wr_csr_free(A);
}

typedef struct diagonal_case {
  double diagonal[2], b[2], x[2];
  double norm, backward; /* of b - A x */
} diagonal_case;

/* The residual of a diagonal matrix where numbers in the units of b are at an end of f64. */
static void test_extremes(ground *g) {
  static const diagonal_case cases[] = {
      {{1e200, 1e-150}, {1e200, 1e-150}, {1, 7}, 0, 0.75},          /* b_2 is below 2^-1074 of b_1            */
      {{1e200, 1e-150}, {1e200, 1e-150}, {1, 0}, 0, 1},
      {{1e160, 1e-160}, {1e160, 1e-160}, {1, 1.0625}, 6.25e-162, 1. / 33},  /* b_2 is denormal in the units of b_1    */
      {{2, 3}, {1e250, 1e-100}, {0.5e250, 0}, 0, 1},
      {{1, 1}, {1, 1}, {1e200, 1}, 1e200, 1},                       /* squares of residuals overflow          */
      {{1, 1}, {1, 0}, {1 + 0x1p-52, 0x1p-560}, 0x1p-52, 1},        /* ... or underflow                       */
      {{1, 1}, {1, 0}, {1, 0x1p-560}, 0x1p-560, 1},
      {{1, 1}, {1, 1}, {1 + 0x1p-52, 1 + 0x1p-52}, 0x1p-52 * 1.4142135623730951, 0x1p-53},
      {{0x1p-540, 0x1p-540}, {0, 0}, {1, 1}, 0x1p-540 * 1.4142135623730951, 1},
      {{1e200, 1e200}, {1, 1}, {1e200, 1e200}, (double)INFINITY, 1}, /* the norm is beyond f64                */
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    const diagonal_case *c = &cases[k];
    wr_csr *A = matrix_of_picture(2, (const double[]){c->diagonal[0], 0, 0, c->diagonal[1]});
    wr_system system;
    wr_residual found;
    double q[2];
    ground_case(g, "extremes, case %zu", k);
    CHECK_OK(wr_system_build(A, given(c->b, 2), NULL, 0, 0, WR_SCALE_NONE, NULL, 0, &system));
    CHECK_OK(wr_residual_find(&system, c->x, q, &found));
    double norm = ldexp(c->norm, system.exponent);
    CHECKF(found.norm == norm || fabs(found.norm - norm) <= 0x1p-50 * norm + 0x1p-1074, "norm %g", found.norm);
    CHECKF(fabs(found.backward - c->backward) <= 0x1p-50 * c->backward, "backward error %g", found.backward);
    CHECK(!wr_residual_meets(&system, &found, 0x1p-60, 1));
    wr_system_free(&system);
    wr_csr_free(A);
  }
}

/* Elements of x that are in no row have to be finite, too. */
static void test_finite(ground *g) {
  wr_csr *A = matrix_of(2, (entry[]){{0, 0, 1}, {1, 0, 1}}, 2, 1);
  static const double b[] = {1, 1}, x[] = {1, NAN};
  wr_system system;
  wr_residual found;
  ground_case(g, "NaN in x, where A has an empty column");
  CHECK_OK(wr_system_build(A, given(b, 2), NULL, 0, 0, WR_SCALE_NONE, NULL, 1, &system));
  CHECK_OK(wr_residual_find(&system, x, NULL, &found));
  CHECKF(isinf(found.norm) && isinf(found.backward) && found.backward_row == 1, "%g, %g, row %lld", found.norm,
         found.backward, (long long)found.backward_row);
  CHECK(!wr_residual_meets(&system, &found, 1, 0) && !wr_residual_meets(&system, &found, 1, 1));
  wr_system_free(&system);
  wr_csr_free(A);
}

/* A second row that is lost in the units of b is not solved, and the outcome does not say that it is. */
static void test_lost_row(ground *g) {
  wr_csr *A = matrix_of_picture(2, (const double[]){2, 0, 0, 3});
  static const double b[] = {1e250, 1e-100};
  solution s = solution_of(g, A);
  s.b = b, s.options.by_backward = 1, s.options.iterations = 50;
  ground_case(g, "b with elements 1e350 apart");
  solution_run(g, &s);
  CHECKF(s.result.outcome != WR_CONVERGED && !s.verdict.met_tolerance && s.verdict.backward_error == 1, "%s, %g",
         wr_outcome_title(s.result.outcome), s.verdict.backward_error);
  solution_free(&s);
  wr_csr_free(A);
}

/* No x solves these: the outcome must not be that one does. */
static void test_inconsistent(ground *g) {
  wr_csr *A = matrix_of_picture(3, (const double[]){1, 1, 0, 1, 1, 0, 0, 0, 2});
  static const double b[] = {1, -1, 2};
  solution s = solution_of(g, A);
  s.b = b, s.options.by_backward = 1, s.options.iterations = 50;
  ground_case(g, "an inconsistent system");
  solution_run(g, &s);
  CHECKF(s.result.outcome != WR_CONVERGED && !s.verdict.met_tolerance, "%s, %g", wr_outcome_title(s.result.outcome),
         s.result.backward);
  CHECK(s.result.by_backward && s.result.backward > 1e-3);
  solution_free(&s);
  wr_csr_free(A);
}

/* b = 0 is solved by 0, and atol is an alternative. */
static void test_ends(ground *g) {
  wr_csr *A = scaled_rows(9);
  double *zero = room_for(N, sizeof *zero);
  solution s = solution_of(g, A);
  ground_case(g, "b = 0");
  s.b = zero, s.options.by_backward = 1, s.options.iterations = 200;
  expect_outcome(g, &s, WR_CONVERGED);
  CHECK(s.result.iterations == 0 && s.result.backward == 0);
  ground_case(g, "an absolute tolerance");
  s.b = NULL, s.atol = 1e-3;
  expect_outcome(g, &s, WR_CONVERGED);
  CHECKF(s.result.backward > s.options.tolerance, "%g: this shows little", s.result.backward);
  ground_case(g, "a tolerance of 0");
  s.atol = 0, s.options.tolerance = 0;
  solve_and_check(g, &s);
  solution_free(&s);
  free(zero);
  wr_csr_free(A);
}

/* Small systems of integers, many of them singular: whatever happens, the outcome agrees with the backward error. */
static void test_small_systems(ground *g) {
  uint64_t seed = 11;
  int converged = 0, refined = 0;
  for (int trial = 0; trial < 600; trial++) {
    double picture[36], scale[6];
    int64_t n = 1 + (int64_t)(6 * random_in(&seed));
    for (int64_t i = 0; i < n; i++) scale[i] = pow(10, -floor(8 * random_in(&seed)) * (trial % 2));
    for (int64_t k = 0; k < n * n; k++) picture[k] = scale[k / n] * (floor(7 * random_in(&seed)) - 3);
    wr_csr *A = matrix_of_picture(n, picture);
    solution s = solution_of(g, A);
    s.options.by_backward = 1, s.options.iterations = 100;
    ground_case(g, "small system %d", trial);
    solution_run(g, &s);
    int finite = 1;
    for (int64_t i = 0; i < n; i++) finite &= isfinite(s.x[i]);
    if (finite) check_backward(&s);
    CHECK(finite || s.result.outcome != WR_CONVERGED);
    converged += s.result.outcome == WR_CONVERGED, refined += s.result.refinements > 0;
    solution_free(&s);
    wr_csr_free(A);
  }
  CHECKF(converged > 100 && refined > 10, "%d converged, %d refined: this shows little", converged, refined);
}

static void body(ground *g) {
  test_scaled_rows(g);
  test_row(g);
  test_extremes(g);
  test_finite(g);
  test_lost_row(g);
  test_inconsistent(g);
  test_ends(g);
}

/* The host's backends are quick enough for all of it, kernels that run on the CPU are not. */
int main(void) {
  const wr_backend *host = wr_backend_default(WR_HOST);
  on_default_grounds(body);
  if (ground_is_wanted(host)) on_backend(host, test_small_systems);
  return wr_test_report("backward");
}
