/* Linear systems made ready: the right-hand side, its scale, the preconditioner, and the way back to the unknowns of
 * A x = b. */
#define _DEFAULT_SOURCE
#include "solvers/system.h"
#include "tests/solvers/ground.h"

static wr_csr *three(void) { return matrix_of_picture(3, (const double[]){4, 1, 0, 0, -2, 1, 1, 0, 0.5}); }

static double largest_of(const double *v, int64_t n) {
  double largest = 0;
  for (int64_t i = 0; i < n; i++) largest = fmax(largest, fabs(v[i]));
  return largest;
}

/* b is multiplied by a power of two, so that its largest element is in [1/2, 1): no digit changes. */
static void test_scale(void) {
  static const double scales[] = {1, 3e-170, 7e200, 1.7e308, 5e-324, 1e-310};
  wr_csr *A = three();
  for (size_t k = 0; k < sizeof scales / sizeof *scales; k++) {
    const double b[] = {scales[k], -scales[k] / 4, 0};
    wr_system s;
    long double norm = 0;
    ground_case(NULL, "b of %g", scales[k]);
    CHECK_OK(wr_system_build(A, given(b, 3), NULL, 0, 0, WR_SCALE_NONE, 0, scales[k] / 8, &s));
    CHECKF(largest_of(s.b, 3) >= 0.5 && largest_of(s.b, 3) < 1, "largest %g", largest_of(s.b, 3));
    for (int i = 0; i < 3; i++) {
      CHECKF(ldexp(s.b[i], -s.exponent) == b[i], "b[%d] = %g * 2^-%d", i, s.b[i], s.exponent);
      norm += (long double)s.b[i] * (long double)s.b[i];
    }
    CHECKF(fabsl((long double)s.norm_b - sqrtl(norm)) <= 4 * 0x1p-53L * sqrtl(norm), "norm %.17g", s.norm_b);
    CHECKF(s.absolute == ldexp(scales[k] / 8, s.exponent), "atol %g", s.absolute);
    CHECK(s.matrix == A && !s.owns_matrix && s.guess == NULL && s.inverse_diagonal == NULL);
    int exponent = s.exponent < 1000 ? s.exponent : 1000; /* 2^1000: what is beyond f64 cannot come back */
    double x[] = {ldexp(1, exponent), ldexp(-2, exponent), 0}, first = ldexp(1, exponent - s.exponent);
    wr_system_unscale(&s, x);
    CHECKF(x[0] == first && x[1] == -2 * first && x[2] == 0, "(%g, %g, %g)", x[0], x[1], x[2]);
    wr_system_free(&s);
    wr_system_free(&s);
  }
  wr_csr_free(A);
}

static void test_zero_b(void) {
  wr_csr *A = three();
  wr_system s;
  ground_case(NULL, "b = 0");
  CHECK_OK(wr_system_build(A, given((const double[]){0, 0, 0}, 3), NULL, 0, 0, WR_SCALE_NONE, 0, 0.25, &s));
  CHECKF(s.exponent == 0 && s.norm_b == 0 && s.absolute == 0.25, "exponent %d, norm %g", s.exponent, s.norm_b);
  wr_system_free(&s);
  wr_csr_free(A);
}

/* b made here: A times ones, or times numbers in [0, 1) that depend on the seed alone. */
static void test_made_b(void) {
  enum { N = 5000 };
  wr_csr *A = random_matrix(N, 4, 3, 1, 41);
  wr_system ones, random, again, other;
  ground_case(NULL, "b = A times x");
  CHECK_OK(wr_system_build(A, NULL, NULL, 0, 0, WR_SCALE_NONE, 0, 0, &ones));
  CHECK_OK(wr_system_build(A, NULL, NULL, 1, 5, WR_SCALE_NONE, 0, 0, &random));
  CHECK_OK(wr_system_build(A, NULL, NULL, 1, 5, WR_SCALE_NONE, 0, 0, &again));
  CHECK_OK(wr_system_build(A, NULL, NULL, 1, 6, WR_SCALE_NONE, 0, 0, &other));
  int64_t off = 0, differ = 0;
  for (int64_t i = 0; i < N; i++) {
    long double exact = 0, size = 0;
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++)
      exact += (long double)A->val[k], size += fabsl((long double)A->val[k]);
    long double got = (long double)ldexp(ones.b[i], -ones.exponent);
    off += !(fabsl(got - exact) <= (long double)(A->row_ptr[i + 1] - A->row_ptr[i]) * 0x1p-53L * size);
    differ += random.b[i] != other.b[i];
  }
  CHECKF(off == 0, "%lld rows of A times ones are off", (long long)off);
  CHECKF(differ > N / 2, "%lld elements depend on the seed", (long long)differ);
  CHECK(memcmp(random.b, again.b, N * sizeof *again.b) == 0 && random.exponent == again.exponent);
  wr_system_free(&ones), wr_system_free(&random), wr_system_free(&again), wr_system_free(&other);
  wr_csr_free(A);
  A = matrix_of(4, (entry[]){{0, 0, 1}, {1, 1, 1}, {2, 2, 1}, {3, 3, 1}}, 4, 0); /* b shows x itself */
  CHECK_OK(wr_system_build(A, NULL, NULL, 1, 1, WR_SCALE_NONE, 0, 0, &random));
  for (int i = 0; i < 4; i++) {
    double x = ldexp(random.b[i], -random.exponent);
    CHECKF(x >= 0 && x < 1, "x[%d] = %g", i, x);
  }
  wr_system_free(&random);
  wr_csr_free(A);
}

/* matrix = A D^-1, and u = D x: a guess becomes the solver's unknown, and comes back. */
static void test_jacobi(void) {
  wr_csr *A = three();
  wr_system s;
  const double guess[] = {3, -5, 7}, b[] = {1, 100, 2};
  ground_case(NULL, "jacobi");
  CHECK_OK(wr_system_build(A, given(b, 3), given(guess, 3), 0, 0, WR_SCALE_NONE, &wr_precond_jacobi, 0, &s));
  CHECK(s.matrix != A && s.owns_matrix && s.A == A);
  CHECK_OK(wr_csr_check(s.matrix));
  const double diagonal[] = {4, -2, 0.5};
  for (int i = 0; i < 3; i++) {
    CHECKF(s.inverse_diagonal[i] == 1 / diagonal[i], "%g", s.inverse_diagonal[i]);
    CHECKF(s.guess[i] == ldexp(guess[i] * diagonal[i], s.exponent), "u[%d] = %g", i, s.guess[i]);
  }
  for (int64_t k = 0; k < A->nnz; k++)
    CHECKF(s.matrix->col[k] == A->col[k] && s.matrix->val[k] == A->val[k] / diagonal[A->col[k]], "entry %lld: %g",
           (long long)k, s.matrix->val[k]);
  wr_system_unscale(&s, s.guess);
  CHECK(s.guess[0] == 3 && s.guess[1] == -5 && s.guess[2] == 7);
  wr_system_free(&s);
  CHECK(A->val[0] == 4);
  wr_csr_free(A);
}

static void refuse(wr_csr *A, const double *b, const double *guess, int jacobi, const char *message) {
  wr_system s;
  int64_t n = A->nrows;
  CHECK_FAILS(WR_EINPUT, wr_system_build(A, given(b, n), given(guess, n), 0, 0, WR_SCALE_NONE,
                                         jacobi ? &wr_precond_jacobi : NULL, 0, &s));
  CHECK_MESSAGE(message);
  CHECK(s.matrix == NULL && s.b == NULL && s.guess == NULL && s.inverse_diagonal == NULL);
  wr_system_free(&s);
}

static void test_refusals(void) {
  wr_csr *A = NULL;
  const double good[] = {1, 2, 3}, with_nan[] = {1, NAN, 3}, infinite[] = {1, 2, -INFINITY};
  ground_case(NULL, "refusals");
  CHECK_OK(wr_csr_create(3, 2, 0, 1, &A));
  refuse(A, good, NULL, 0, "3 x 2");
  wr_csr_free(A);
  A = three();
  refuse(A, with_nan, NULL, 0, "the right-hand side: element 2 is nan");
  refuse(A, infinite, good, 0, "element 3 is -inf");
  refuse(A, good, with_nan, 0, "the first guess: element 2 is nan");
  refuse(A, NULL, infinite, 1, "the first guess: element 3 is -inf");
  A->val[2] = 0; /* the middle of the diagonal */
  refuse(A, good, NULL, 1, "row 2 is 0");
  CHECK_MESSAGE("--precond none");
  A->val[2] = 1e-320; /* 1/d overflows */
  refuse(A, good, good, 1, "row 2");
  A->val[2] = 1.7e308, A->val[3] = 1.7e308;
  refuse(A, NULL, NULL, 0, "A times x: element 2 is inf");
  wr_csr_free(A);
  A = matrix_of_picture(2, (const double[]){1e-300, 1, 1e10, 1}); /* 1e10 / 1e-300 overflows */
  refuse(A, good, NULL, 1, "the value 1e+10 of row 2 divided by the diagonal element of its column 1 is beyond f64");
  CHECK_MESSAGE("--precond none");
  wr_csr_free(A);
  A = matrix_of_picture(2, (const double[]){0, 1, 1, 1});
  refuse(A, good, NULL, 1, "row 1 is 0"); /* none is stored */
  wr_csr_free(A);
}

/* Of both signs, from 1/2 to 1, another sequence for each seed, and the same one every time. */
static void test_hash_shadow(void) {
  enum { N = 100000 };
  double *a = room_for(N, sizeof *a), *b = room_for(N, sizeof *b), *c = room_for(N, sizeof *c);
  ground_case(NULL, "a shadow");
  wr_hash_shadow(a, N, 1), wr_hash_shadow(b, N, 2), wr_hash_shadow(c, N, 1);
  double sum = 0, product = 0, shifted = 0;
  int64_t other = 0;
  for (int64_t i = 0; i < N; i++) {
    other += !(fabs(a[i]) >= 0.5 && fabs(a[i]) <= 1);
    sum += a[i], product += a[i] * b[i], shifted += a[i] * a[(i + 1) % N];
  }
  CHECKF(other == 0, "%lld other numbers", (long long)other);
  double five_sigma = 5 * sqrt(N);
  CHECKF(fabs(sum) < five_sigma && fabs(product) < five_sigma && fabs(shifted) < five_sigma, "sums %g, %g, %g", sum,
         product, shifted);
  CHECK(memcmp(a, c, N * sizeof *a) == 0);
  free(a), free(b), free(c);
}

/* A matrix whose largest value is far from 1 is multiplied by a power of two, in a copy; one that is not stays as it is. */
static void test_scale_of_matrix(void) {
  static const double scales[] = {1e160, 1e-160, 1e308, 2e-323, 1e13, 1e-13};
  const double b[] = {3, 5}, u[] = {0.5, -0.25};
  for (size_t k = 0; k < sizeof scales / sizeof *scales; k++) {
    wr_system s;
    wr_csr *A = matrix_of_picture(2, (const double[]){scales[k], 0, scales[k] / 4, -scales[k] / 2});
    ground_case(NULL, "a matrix of %g", scales[k]);
    CHECK_OK(wr_system_build(A, given(b, 2), given(u, 2), 0, 0, WR_SCALE_NONE, 0, 0, &s));
    CHECK(s.matrix != A && s.owns_matrix && s.A == A && A->val[0] == scales[k]);
    double largest = largest_of(s.matrix->val, s.matrix->nnz);
    CHECKF(largest >= 0.5 && largest < 1, "largest %g", largest);
    CHECKF(s.largest == scales[k] && s.smallest == scales[k] / 4, "%g to %g", s.smallest, s.largest);
    for (int64_t i = 0; i < A->nnz; i++)
      CHECKF(ldexp(s.matrix->val[i], -s.matrix_exponent) == A->val[i], "entry %lld: %g", (long long)i,
             s.matrix->val[i]);
    double x[] = {u[0], u[1]};
    wr_system_unscale(&s, x);
    CHECKF(x[0] == ldexp(u[0], s.matrix_exponent - s.exponent), "%g", x[0]);
    CHECKF(s.guess[0] == ldexp(u[0], s.exponent - s.matrix_exponent), "guess %g", s.guess[0]);
    wr_system_free(&s);
    wr_csr_free(A);
  }
  static const double near[] = {1, 1e12, 1e-12};
  for (size_t k = 0; k < sizeof near / sizeof *near; k++) {
    wr_system s;
    wr_csr *A = matrix_of_picture(2, (const double[]){near[k], 0, 0, 1e-300});
    ground_case(NULL, "a matrix of %g and 1e-300", near[k]);
    CHECK_OK(wr_system_build(A, given(b, 2), NULL, 0, 0, WR_SCALE_NONE, 0, 0, &s));
    CHECK(s.matrix == A && s.matrix_exponent == 0 && s.largest == near[k] && s.smallest == 1e-300);
    CHECK(wr_system_below_f32(&s) == 1);
    wr_system_free(&s);
    wr_csr_free(A);
  }
}

/* What bounds on rounding are made of, by the definitions. */
static void test_measures(void) {
  wr_system s;
  wr_csr *A = three();
  ground_case(NULL, "measures of a matrix");
  CHECK_OK(wr_system_build(A, NULL, NULL, 0, 0, WR_SCALE_NONE, 0, 0, &s));
  CHECKF(fabs(s.row_norm - sqrt(25 + 9 + 2.25)) <= 1e-15 * 6 && s.longest_row == 2, "%.17g, %lld", s.row_norm,
         (long long)s.longest_row);
  CHECK(s.largest == 4 && s.smallest == 0.5 && wr_system_below_f32(&s) == 0);
  wr_system_free(&s);
  wr_csr_free(A);
  A = matrix_of(2, NULL, 0, 1);
  CHECK_OK(wr_system_build(A, NULL, NULL, 0, 0, WR_SCALE_NONE, 0, 0, &s));
  CHECK(s.row_norm == 0 && s.longest_row == 0 && s.largest == 0 && s.smallest == 0 && s.matrix_exponent == 0);
  wr_system_free(&s);
  wr_csr_free(A);
}

int main(void) {
  test_scale();
  test_zero_b();
  test_made_b();
  test_jacobi();
  test_refusals();
  test_hash_shadow();
  test_scale_of_matrix();
  test_measures();
  return wr_test_report("system");
}
