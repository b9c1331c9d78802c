/* BiCGSTAB on systems made here, on every backend in both types: whatever the outcome, the residual is recomputed in long
 * double and must be the reported one. How it ends and breaks down: test_bicgstab_end.c, test_breakdown.c. */
#define _DEFAULT_SOURCE
#include "tests/solvers/solve_fixture.h"

/* Nonsymmetric and diagonally dominant: condition below 3. */
static wr_csr *easy(int64_t n) { return random_matrix(n, 5, 10, 1, 77); }

static wr_csr *diagonal(int64_t n, double (*value)(int64_t)) {
  entry *entries = room_for(n, sizeof *entries);
  for (int64_t i = 0; i < n; i++) entries[i] = (entry){i, i, value(i)};
  wr_csr *A = matrix_of(n, entries, n, 1);
  free(entries);
  return A;
}

static double one(int64_t i) { return (double)(i >= 0); }
static double graded(int64_t i) { return i % 3 == 0 ? -2 : (double)(i % 5 + 1); }
static double steam(int64_t i) { return i % 2 ? -3e9 : 5e-3; }

static double *random_vector(int64_t n, double scale, uint64_t seed) {
  double *v = room_for(n, sizeof *v);
  for (int64_t i = 0; i < n; i++) v[i] = scale * (2 * random_in(&seed) - 1);
  return v;
}

/* ||x - y|| / ||y||, y NULL: ones */
static long double distance_to(const double *x, const double *y, int64_t n) {
  long double sum = 0, norm = 0;
  for (int64_t i = 0; i < n; i++) {
    long double expected = y ? (long double)y[i] : 1, off = (long double)x[i] - expected;
    sum += off * off, norm += expected * expected;
  }
  return sqrtl(sum / norm);
}

static void test_simple_matrices(ground *g) {
  struct {
    const char *name;
    wr_csr *A;
    int64_t most; /* iterations: twice what exact arithmetic needs; for the last two, where 1/4 a step is sure */
  } all[] = {{"identity", diagonal(100, one), 1},
             {"1 x 1", diagonal(1, graded), 1},
             {"diagonal with six values", diagonal(300, graded), 12},
             {"easy", easy(2000), 30},
             {"with several chunks", easy(20000), 30}};
  for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
    solution s = solution_of(g, all[k].A);
    ground_case(g, "%s", all[k].name);
    expect_outcome(g, &s, WR_CONVERGED);
    CHECKF(s.result.iterations <= all[k].most, "%lld iterations", (long long)s.result.iterations);
    CHECKF(s.result.restarts == 0 && s.result.refinements == 0, "%d restarts, %d refinements", s.result.restarts,
           s.result.refinements);
    long double far = distance_to(s.x, NULL, s.A->nrows);
    CHECKF(far <= 3 * (long double)s.bound, "%.3Lg from the solution", far);
    solution_free(&s);
    wr_csr_free(all[k].A);
  }
}

/* A pattern is a matrix of ones: here a cycle with the diagonal, 3 x 3, which is not singular. */
static void test_pattern(ground *g) {
  wr_csr *A = matrix_of(3, (entry[]){{0, 0, 1}, {0, 1, 1}, {1, 1, 1}, {1, 2, 1}, {2, 2, 1}, {2, 0, 1}}, 6, 0);
  const double b[] = {1, -2, 4};
  solution s = solution_of(g, A);
  ground_case(g, "pattern");
  s.b = b;
  expect_outcome(g, &s, WR_CONVERGED);
  s.jacobi = 1;
  expect_outcome(g, &s, WR_CONVERGED);
  solution_free(&s);
  wr_csr_free(A);
}

/* Laplacian of a path with free ends: ones are its null space. */
static wr_csr *free_path(int64_t n) {
  entry *entries = room_for(3 * n, sizeof *entries);
  int64_t count = 0;
  for (int64_t i = 0; i < n; i++) {
    entries[count++] = (entry){i, i, i == 0 || i == n - 1 ? 1 : 2};
    if (i > 0) entries[count++] = (entry){i, i - 1, -1};
    if (i < n - 1) entries[count++] = (entry){i, i + 1, -1};
  }
  wr_csr *A = matrix_of(n, entries, count, 1);
  free(entries);
  return A;
}

static void test_singular(ground *g) {
  enum { N = 40 };
  wr_csr *A = free_path(N);
  double b[N] = {0};
  b[3] = 1, b[30] = -1; /* its sum is 0: there are solutions */
  solution s = solution_of(g, A);
  s.b = b;
  ground_case(g, "singular, consistent");
  expect_outcome(g, &s, WR_CONVERGED);
  b[7] = 1; /* the part along ones, 1/sqrt(N) of norm, stays whatever x is */
  ground_case(g, "singular, inconsistent");
  solve_and_check(g, &s);
  CHECKF(s.result.outcome != WR_CONVERGED, "residual %g", s.result.measure);
  CHECKF(s.final >= 0.999L / sqrtl(3.0L * N), "%.3Lg is less than can be", s.final);
  solution_free(&s);
  wr_csr_free(A);
  A = matrix_of(N, NULL, 0, 1);
  s = solution_of(g, A);
  s.b = b;
  ground_case(g, "zero matrix");
  solve_and_check(g, &s);
  CHECKF(s.result.outcome != WR_CONVERGED && s.result.measure == 1, "%s, %g", wr_outcome_title(s.result.outcome),
         s.result.measure);
  solution_free(&s);
  wr_csr_free(A);
}

static void test_zero_right_hand_side(ground *g) {
  wr_csr *A = easy(50);
  double zero[50] = {0}, guess[50];
  for (int i = 0; i < 50; i++) guess[i] = i;
  solution s = solution_of(g, A);
  s.b = zero, s.guess = guess;
  ground_case(g, "b = 0");
  expect_outcome(g, &s, WR_CONVERGED);
  CHECKF(s.result.iterations == 0, "%lld iterations", (long long)s.result.iterations);
  for (int i = 0; i < 50; i++) CHECKF(s.x[i] == 0, "x[%d] = %g", i, s.x[i]);
  solution_free(&s);
  wr_csr_free(A);
}

static void test_guess(ground *g) {
  enum { N = 500 };
  wr_csr *A = easy(N);
  double *ones = room_for(N, sizeof *ones), *far = random_vector(N, 1e6, 5);
  for (int i = 0; i < N; i++) ones[i] = 1;
  solution s = solution_of(g, A);
  ground_case(g, "exact guess");
  s.guess = ones;
  expect_outcome(g, &s, WR_CONVERGED);
  CHECKF(s.result.iterations == 0 && memcmp(s.x, ones, N * sizeof *ones) == 0, "%lld", (long long)s.result.iterations);
  ground_case(g, "exact guess, preconditioned");
  s.jacobi = 1;
  expect_outcome(g, &s, WR_CONVERGED);
  CHECKF(s.result.iterations == 0, "%lld", (long long)s.result.iterations);
  ground_case(g, "guess far away");
  s.jacobi = 0, s.guess = far;
  expect_outcome(g, &s, WR_CONVERGED);
  CHECKF(distance_to(s.x, NULL, N) <= 3 * (long double)s.bound, "%.3Lg", distance_to(s.x, NULL, N));
  solution_free(&s);
  free(ones), free(far);
  wr_csr_free(A);
}

/* In the units of a tiny b, these guesses and absolute tolerances are beyond f64: x = 0 meets the tolerance. */
static void test_tiny_rhs(ground *g) {
  wr_csr *A = matrix_of_picture(2, (const double[]){2, 1, 0, 3}), *empty = matrix_of(2, (entry[]){{0, 0, 2}}, 1, 1);
  wr_csr *const matrices[] = {A, A, empty};
  static const double guess[] = {0, 1}, b[][2] = {{1e-310, 0}, {1e-290, 0}, {1e-310, 0}}, atol[] = {10, 1e21, 1};
  for (int k = 0; k < 3; k++) {
    solution s = solution_of(g, matrices[k]);
    ground_case(g, "b = %g, atol = %g", b[k][0], atol[k]);
    s.b = b[k], s.guess = guess, s.atol = atol[k];
    solution_run(g, &s);
    CHECKF(s.result.outcome == WR_CONVERGED && s.verdict.multiplied_right && s.verdict.met_tolerance, "%s, %s",
           wr_outcome_title(s.result.outcome), s.result.note);
    CHECKF(s.x[0] == 0 && s.x[1] == 0, "x = %g, %g", s.x[0], s.x[1]);
    solution_free(&s);
  }
  wr_csr_free(A);
  wr_csr_free(empty);
}

/* Only the direction of b matters: a power of two changes no bit of the digits. */
static void test_scale_of_b(ground *g) {
  enum { N = 300 };
  static const int exponents[] = {-563, -1000, 498, 900, -36};
  wr_csr *A = easy(N);
  double *b = random_vector(N, 1, 9), *scaled = room_for(N, sizeof *scaled);
  solution plain = solution_of(g, A), s = plain;
  plain.b = b, s.b = scaled;
  ground_case(g, "random b");
  expect_outcome(g, &plain, WR_CONVERGED);
  for (size_t e = 0; e < sizeof exponents / sizeof *exponents; e++) {
    ground_case(g, "b times 2^%d", exponents[e]);
    for (int i = 0; i < N; i++) scaled[i] = ldexp(b[i], exponents[e]);
    expect_outcome(g, &s, WR_CONVERGED);
    for (int i = 0; i < N; i++) s.x[i] = ldexp(s.x[i], -exponents[e]);
    check_same_run(&s, &plain);
  }
  solution_free(&plain), solution_free(&s);
  free(b), free(scaled);
  wr_csr_free(A);
}

/* A power of two on the matrix changes no digit either: values of 1e-17 or 1e19 in f32 are solved as well. */
static void test_scale_of_matrix(ground *g) {
  enum { N = 300 };
  static const int exponents[] = {-60, 60, -300, 300};
  wr_csr *A = easy(N);
  double *b = random_vector(N, 1, 9);
  solution plain = solution_of(g, A), s = plain;
  plain.b = s.b = b;
  ground_case(g, "random b");
  expect_outcome(g, &plain, WR_CONVERGED);
  for (int e = 0; e < (g->env.type == WR_F32 ? 2 : 4); e++) {
    ground_case(g, "A times 2^%d", exponents[e]);
    for (int64_t k = 0; k < A->nnz; k++) A->val[k] = ldexp(A->val[k], exponents[e]);
    wr_csr_forget_device(A);
    expect_outcome(g, &s, WR_CONVERGED);
    for (int64_t k = 0; k < A->nnz; k++) A->val[k] = ldexp(A->val[k], -exponents[e]);
    wr_csr_forget_device(A);
    for (int i = 0; i < N; i++) s.x[i] = ldexp(s.x[i], exponents[e]);
    check_same_run(&s, &plain);
  }
  solution_free(&plain), solution_free(&s);
  free(b);
  wr_csr_free(A);
}

/* Rows of different units: the row of 1e-9 needs an alpha of 1e9, which is not a breakdown. */
static void test_scale_of_rows(ground *g) {
  wr_csr *A = matrix_of_picture(2, (const double[]){1e9, 0, 0, 1e-9});
  const double b[] = {1, 1};
  solution s = solution_of(g, A);
  s.b = b;
  ground_case(g, "rows of 1e9 and 1e-9");
  expect_outcome(g, &s, WR_CONVERGED);
  int sums_in_f32 = g->env.type == WR_F32 && g->env.place == WR_CUDA; /* as in cuSPARSE: its rounding may exceed (shadow, r) */
  CHECKF(s.result.restarts == 0 || sums_in_f32, "%d restarts", s.result.restarts);
  solution_free(&s);
  wr_csr_free(A);
}

/* The largest b there is, and the smallest. */
static void test_extreme_b(ground *g) {
  wr_csr *A = diagonal(2, one);
  const double extremes[][2] = {{1e-170, -3e-170}, {1e150, 1e149}, {1.7e308, -1e308}, {5e-324, 5e-324}, {1, 1e-300}};
  for (size_t k = 0; k < sizeof extremes / sizeof *extremes; k++) {
    solution s = solution_of(g, A);
    s.b = extremes[k];
    ground_case(g, "b = (%g, %g)", extremes[k][0], extremes[k][1]);
    expect_outcome(g, &s, WR_CONVERGED);
    solution_free(&s);
  }
  wr_csr_free(A);
}

/* Rows of 1e9 and of 1e-3, as steam2 has them. */
static void test_large_values(ground *g) {
  wr_csr *A = diagonal(200, steam);
  double *b = random_vector(200, 1e9, 3);
  solution s = solution_of(g, A);
  ground_case(g, "values of 1e9");
  s.b = b;
  expect_outcome(g, &s, WR_CONVERGED);
  s.jacobi = 1;
  expect_outcome(g, &s, WR_CONVERGED);
  solution_free(&s);
  free(b);
  wr_csr_free(A);
}

/* Badly scaled columns: Jacobi undoes them; the unknowns come back unscaled. */
static void test_jacobi(ground *g) {
  enum { N = 400 };
  wr_csr *A = easy(N);
  double *b = random_vector(N, 1, 12), *expected = room_for(N, sizeof *expected);
  solution s = solution_of(g, A);
  ground_case(g, "without preconditioner");
  s.b = b;
  expect_outcome(g, &s, WR_CONVERGED);
  memcpy(expected, s.x, N * sizeof *expected);
  ground_case(g, "jacobi");
  s.jacobi = 1;
  expect_outcome(g, &s, WR_CONVERGED);
  /* both residuals are below the bound, and the condition is below 3 */
  CHECKF(distance_to(s.x, expected, N) <= 6 * (long double)s.bound, "%.3Lg", distance_to(s.x, expected, N));
  s.jacobi = 0, s.applied = 1;
  for (int k = 0; k < 3; k++) {
    s.options.no_resident = k > 0, s.options.no_graph = k > 1;
    ground_case(g, "jacobi applied in each iteration%s", k == 0 ? "" : k == 1 ? ", not resident" : ", by the host");
    expect_outcome(g, &s, WR_CONVERGED);
    CHECKF(distance_to(s.x, expected, N) <= 6 * (long double)s.bound, "%.3Lg", distance_to(s.x, expected, N));
  }
  s.jacobi = 1, s.applied = 0, s.options.no_resident = s.options.no_graph = 0;
  expect_outcome(g, &s, WR_CONVERGED);
  for (int64_t k = 0; k < A->nnz; k++) A->val[k] = ldexp(A->val[k], 7 * (A->col[k] % 5) - 14);
  solution scaled = solution_of(g, A);
  scaled.b = b, scaled.jacobi = 1;
  ground_case(g, "jacobi, columns scaled by powers of two");
  expect_outcome(g, &scaled, WR_CONVERGED);
  for (int i = 0; i < N; i++) scaled.x[i] = ldexp(scaled.x[i], 7 * (i % 5) - 14);
  check_same_run(&scaled, &s); /* the scaled matrices have the same bits */
  solution_free(&s), solution_free(&scaled);
  free(b), free(expected);
  wr_csr_free(A);
}

static void test_atol(ground *g) {
  wr_csr *A = easy(200);
  double *b = random_vector(200, 1e-30, 4);
  solution plain = solution_of(g, A), s = plain;
  plain.b = s.b = b;
  ground_case(g, "atol");
  expect_outcome(g, &plain, WR_CONVERGED);
  s.atol = 1e-32; /* ||b|| is about 8e-30: a thousandth of it is enough */
  expect_outcome(g, &s, WR_CONVERGED);
  CHECKF(s.bound > 1e-4 && s.bound < 1e-2, "%g", s.bound);
  CHECKF(s.result.iterations < plain.result.iterations, "%lld, without %lld", (long long)s.result.iterations,
         (long long)plain.result.iterations);
  s.atol = 1;
  expect_outcome(g, &s, WR_CONVERGED);
  CHECKF(s.result.iterations == 0 && s.x[0] == 0, "%lld", (long long)s.result.iterations);
  solution_free(&plain), solution_free(&s);
  free(b);
  wr_csr_free(A);
}

static void test_all(ground *g) {
  test_simple_matrices(g);
  test_pattern(g);
  test_singular(g);
  test_zero_right_hand_side(g);
  test_guess(g);
  test_tiny_rhs(g);
  test_scale_of_b(g);
  test_scale_of_matrix(g);
  test_scale_of_rows(g);
  test_extreme_b(g);
  test_large_values(g);
  test_jacobi(g);
  test_atol(g);
}

int main(void) {
  on_every_ground(test_all);
  return wr_test_report("bicgstab");
}
