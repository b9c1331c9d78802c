/* Matching and equilibration of systems: which one is chosen, the scaled system against A, b and x as given, and solves in
 * which the residual as given decides. */
#define _DEFAULT_SOURCE
#include "tests/solvers/solve_fixture.h"

/* ---- What is chosen ---- */

static wr_csr *diagonally_dominant(int64_t n, uint64_t seed) { return random_matrix(n, 4, 6, 1, seed); }

/* Rows in another order: row i becomes row (i * step + 1) mod n. */
static wr_csr *with_rows_moved(const wr_csr *A, int64_t step) {
  entry *entries = room_for(A->nnz, sizeof *entries);
  for (int64_t i = 0; i < A->nrows; i++)
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++)
      entries[k] = (entry){(i * step + 1) % A->nrows, A->col[k], A->val[k]};
  wr_csr *moved = matrix_of(A->nrows, entries, A->nnz, 1);
  free(entries);
  return moved;
}

/* Rows and columns times powers of two over this range of exponents. */
static void scale(wr_csr *A, int rows, int columns, uint64_t seed) {
  int *column = room_for(A->ncols, sizeof *column);
  for (int64_t j = 0; j < A->ncols; j++) column[j] = (int)((random_in(&seed) - 0.5) * columns);
  for (int64_t i = 0; i < A->nrows; i++) {
    int row = (int)((random_in(&seed) - 0.5) * rows);
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) A->val[k] = ldexp(A->val[k], row + column[A->col[k]]);
  }
  free(column);
}

/* [B C; C' 0], B diagonally dominant: every other unknown of the second half is tied to two of the first. With neighbours on
 * each side, rows of B have as many other elements of the size of the diagonal's. */
static wr_csr *saddle_point(int64_t n, int64_t neighbours) {
  entry *entries = room_for((4 + neighbours) * n, sizeof *entries);
  int64_t count = 0, half = n / 2;
  for (int64_t i = 0; i < half; i++) {
    entries[count++] = (entry){i, i, 4 + (double)(i % 3)};
    for (int64_t j = i - neighbours; j <= i + neighbours; j++)
      if (j != i && j >= 0 && j < half) entries[count++] = (entry){i, j, -3};
  }
  for (int64_t j = half; j < n; j += 1)
    for (int64_t k = 0; k < 2; k++) {
      int64_t i = (2 * (j - half) + k) % half;
      entries[count++] = (entry){i, j, 1 + (double)k};
      entries[count++] = (entry){j, i, 1 + (double)k};
    }
  wr_csr *A = matrix_of(n, entries, count, 1);
  free(entries);
  return A;
}

/* The diagonal is far below the elements next to it, so duals that bring these to 1 grow from row to row, beyond f64. */
static wr_csr *chain(int64_t n) {
  entry *entries = room_for(2 * n, sizeof *entries);
  int64_t count = 0;
  for (int64_t i = 0; i < n; i++) {
    entries[count++] = (entry){i, i, 1e-4};
    if (i + 1 < n) entries[count++] = (entry){i, i + 1, 1};
  }
  wr_csr *A = matrix_of(n, entries, count, 1);
  free(entries);
  return A;
}

/* Takes A over. */
static void expect_choice(wr_csr *A, wr_scale asked, wr_scale done, const char *sentence) {
  wr_scaling s;
  CHECK_OK(wr_scaling_find(A, asked, &s));
  CHECKF(s.done == done, "%d, not %d: '%s'", (int)s.done, (int)done, s.sentence);
  CHECKF(strstr(s.sentence, sentence) && (s.sentence[0] == '\0') == (sentence[0] == '\0'), "'%s' lacks '%s'",
         s.sentence, sentence);
  CHECK((s.row_exponent != NULL) == (done != WR_SCALE_NONE) && (s.column_exponent != NULL) == (s.row_exponent != NULL));
  CHECK((s.row_of != NULL) == (done == WR_SCALE_MATCH));
  wr_scaling_free(&s);
  wr_csr_free(A);
}

static void set_diagonal(wr_csr *A, int64_t i, double value) {
  for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++)
    if (A->col[k] == i) A->val[k] = value;
}

static void test_choice(void) {
  CASE("a large diagonal");
  expect_choice(diagonally_dominant(500, 3), WR_SCALE_AUTO, WR_SCALE_NONE, "");
  expect_choice(diagonally_dominant(500, 3), WR_SCALE_NONE, WR_SCALE_NONE, "");
  expect_choice(diagonally_dominant(500, 3), WR_SCALE_EQUILIBRATE, WR_SCALE_EQUILIBRATE, "equilibrated");
  expect_choice(diagonally_dominant(500, 3), WR_SCALE_MATCH, WR_SCALE_MATCH, "(0 moved) and scaled to a diagonal of 1");
  CASE("rows moved");
  wr_csr *A = diagonally_dominant(500, 3);
  expect_choice(with_rows_moved(A, 7), WR_SCALE_AUTO, WR_SCALE_MATCH, " diagonal elements are 0, the first in row 1");
  CASE("tiny diagonal elements");
  set_diagonal(A, 17, 1e-5), set_diagonal(A, 401, 1e-200);
  expect_choice(A, WR_SCALE_AUTO, WR_SCALE_MATCH, "2 diagonal elements are tiny beside the row, the first in row 18");
  CASE("rows of different size");
  A = diagonally_dominant(500, 3);
  scale(A, 40, 0, 5);
  expect_choice(A, WR_SCALE_AUTO, WR_SCALE_EQUILIBRATE, "differ by up to 2^3");
  CASE("columns of different size, each with its diagonal element the largest of its row");
  A = matrix_of_picture(3, (const double[]){1, 0, 0, 1e-9, 1e7, 0, 0, 0, 1e7});
  expect_choice(A, WR_SCALE_AUTO, WR_SCALE_EQUILIBRATE, "differ by up to 2^23");
  CASE("a saddle point with a diagonal block");
  expect_choice(saddle_point(200, 0), WR_SCALE_AUTO, WR_SCALE_MATCH,
                "100 diagonal elements are 0, the first in row 101");
  CASE("a saddle point");
  expect_choice(saddle_point(200, 3), WR_SCALE_AUTO, WR_SCALE_EQUILIBRATE,
                "100 diagonal elements are 0, the first in row 101, in a symmetric pattern");
  CASE("a scaling beyond f64");
  expect_choice(chain(3000), WR_SCALE_AUTO, WR_SCALE_MATCH, "and equilibrated: 2999 diagonal elements are tiny");
  CASE("structurally singular");
  A = matrix_of_picture(4, (const double[]){0, 1, 0, 0, 2, 3, 4, 5, 0, 6, 0, 0, 0, 7, 0, 0});
  expect_choice(A, WR_SCALE_AUTO, WR_SCALE_EQUILIBRATE,
                "its structural rank is 2 less than its rows, and row 3 and 1 other have elements in 1 column only");
  A = matrix_of_picture(3, (const double[]){1, 2, 3, 0, 0, 0, 4, 5, 6});
  expect_choice(A, WR_SCALE_MATCH, WR_SCALE_EQUILIBRATE,
                "is 1 less than its rows, and row 2 has no element other than 0");
  CASE("values that are not finite, and none");
  A = diagonally_dominant(20, 3);
  set_diagonal(A, 2, (double)INFINITY);
  expect_choice(A, WR_SCALE_MATCH, WR_SCALE_NONE, "");
  A = diagonally_dominant(20, 3);
  set_diagonal(A, 2, (double)NAN);
  expect_choice(A, WR_SCALE_EQUILIBRATE, WR_SCALE_NONE, "");
  A = NULL;
  if (wr_csr_create(3, 3, 0, 1, &A) != WR_OK) abort();
  expect_choice(A, WR_SCALE_MATCH, WR_SCALE_NONE, "");
}

/* ---- The scaled system ---- */

/* With a matrix, a right-hand side and an unknown of powers of two, all of it is exact: matrix u = rhs where A x = b, rows of a
 * residual come back by their weights, and x comes back from u. */
static void check_system(wr_csr *A, wr_scale asked, int jacobi) {
  int64_t n = A->nrows;
  wr_system s;
  double *b = room_for(3 * n, sizeof *b), *x = b + n, *rows = x + n;
  int64_t off = 0;
  for (int64_t i = 0; i < n; i++)
    b[i] = ldexp(1 + (double)(i % 5), (int)(i % 11) - 5), x[i] = ldexp(i % 2 ? 1 : -1, (int)(i % 7));
  CHECK_OK(wr_system_build(A, given(b, n), given(x, n), 0, 0, asked, jacobi ? &wr_precond_jacobi : NULL, 0.5, &s));
  CHECK(s.matrix != A && s.owns_matrix && s.A == A && s.rhs != s.b && s.row_weight);
  CHECK_OK(wr_csr_check(s.matrix));
  double most = 0, norm = 0;
  int divided = jacobi || asked == WR_SCALE_MATCH; /* by the diagonal */
  CHECK((s.inverse_diagonal != NULL) == divided);
  for (int64_t j = 0; j < n; j++) {
    int64_t i = wr_system_row(&s, j);
    double weight = ldexp(1, -s.rhs_exponent - s.scaling.row_exponent[i]);
    off += s.row_weight[j] != weight || s.rhs[j] * weight != s.b[i] || ldexp(s.b[i], -s.exponent) != b[i];
    most = fmax(most, fabs(s.rhs[j])), norm += s.b[i] * s.b[i];
    off += s.matrix->row_ptr[j + 1] - s.matrix->row_ptr[j] != A->row_ptr[i + 1] - A->row_ptr[i];
    for (int64_t k = 0; k < A->row_ptr[i + 1] - A->row_ptr[i]; k++) {
      int64_t to = s.matrix->row_ptr[j] + k, column = s.matrix->col[to];
      double value = ldexp(A->val[A->row_ptr[i] + k], s.scaling.row_exponent[i] + s.scaling.column_exponent[column]);
      off += column != A->col[A->row_ptr[i] + k];
      off += s.matrix->val[to] != (divided ? value * s.inverse_diagonal[column] : value);
      off += divided && column == j && fabs(s.matrix->val[to] - 1) > 0x1p-52;
    }
  }
  CHECKF(off == 0, "%lld numbers differ from what A, b and the exponents give", (long long)off);
  CHECKF(most >= 0.5 && most < 1, "largest element of rhs: %g", most);
  CHECKF(fabs(s.norm_b - sqrt(norm)) <= 1e-14 * s.norm_b && s.absolute == ldexp(0.5, s.exponent), "%g", s.norm_b);
  CHECK_OK(wr_system_scale_rows(&s, s.b, rows));
  CHECK(memcmp(rows, s.rhs, (size_t)n * sizeof *rows) == 0);
  memcpy(rows, s.guess, (size_t)n * sizeof *rows);
  wr_system_unscale(&s, rows);
  for (int64_t i = 0, wrong = 0; i < n; i++) {
    wrong += !(fabs(rows[i] - x[i]) <= (divided ? 0x1p-50 : 0) * fabs(x[i]));
    if (i == n - 1) CHECKF(wrong == 0, "%lld elements of the guess do not come back", (long long)wrong);
  }
  wr_system_free(&s);
  wr_system_free(&s);
  free(b);
}

static void test_systems(void) {
  static const wr_scale scales[] = {WR_SCALE_EQUILIBRATE, WR_SCALE_MATCH};
  wr_csr *A = diagonally_dominant(300, 9);
  for (int k = 0; k < 4; k++) {
    wr_csr *moved = k % 2 ? with_rows_moved(A, 11) : diagonally_dominant(300, 10);
    ground_case(NULL, "a scaled system, %s, rows %s", k / 2 ? "match" : "equilibrate", k % 2 ? "moved" : "in place");
    scale(moved, 50, 60, 21);
    check_system(moved, scales[k / 2], 0);
    if (k != 1) check_system(moved, scales[k / 2], 1); /* equilibrated, the moved rows have zeros on the diagonal */
    wr_csr_free(moved);
  }
  wr_csr_free(A);
}

/* A matrix that needs no scaling stays the same one, and so does its right-hand side. */
static void test_nothing(void) {
  wr_csr *A = diagonally_dominant(300, 9);
  wr_system s;
  CASE("nothing to scale");
  CHECK_OK(wr_system_build(A, NULL, NULL, 0, 0, WR_SCALE_AUTO, NULL, 0, &s));
  CHECK(s.matrix == A && s.rhs == s.b && s.row_weight == NULL && s.rhs_exponent == 0 && s.scaling.sentence[0] == '\0');
  wr_system_free(&s);
  wr_csr_free(A);
}

static void test_symmetric(void) {
  wr_system s;
  CASE("a symmetric matrix, equilibrated");
  wr_csr *A = matrix_of_picture(3, (const double[]){1e8, 3, 0, 3, 1, 2e-5, 0, 2e-5, 1e-9});
  A->symmetric = 1;
  CHECK_OK(wr_system_build(A, NULL, NULL, 0, 0, WR_SCALE_EQUILIBRATE, NULL, 0, &s));
  CHECK(s.matrix->symmetric && s.matrix->val[1] == s.matrix->val[2] && s.matrix->val[4] == s.matrix->val[5]);
  wr_system_free(&s);
  CHECK_OK(wr_system_build(A, NULL, NULL, 0, 0, WR_SCALE_EQUILIBRATE, &wr_precond_jacobi, 0, &s));
  CHECK(!s.matrix->symmetric);
  wr_system_free(&s);
  wr_csr_free(A);
}

/* Zeros on the diagonal: Jacobi runs on matched rows; without matching the message says what would help. */
static void test_jacobi(void) {
  wr_system s;
  CASE("jacobi with zeros on the diagonal");
  wr_csr *A = matrix_of_picture(3, (const double[]){0, 2, 0, 0, 0, 3, 4, 1, 0});
  CHECK_OK(wr_system_build(A, NULL, NULL, 0, 0, WR_SCALE_AUTO, &wr_precond_jacobi, 0, &s));
  wr_system_free(&s);
  CHECK_FAILS(WR_EINPUT, wr_system_build(A, NULL, NULL, 0, 0, WR_SCALE_NONE, &wr_precond_jacobi, 0, &s));
  CHECK_MESSAGE("the diagonal element of row 1 is 0; use --precond none, or --scale match");
  wr_csr_free(A);
  A = matrix_of_picture(3, (const double[]){0, 2, 0, 0, 0, 0, 4, 1, 0});
  CHECK_FAILS(WR_EINPUT, wr_system_build(A, NULL, NULL, 0, 0, WR_SCALE_AUTO, &wr_precond_jacobi, 0, &s));
  CHECK_MESSAGE("row 2 has no element other than 0");
  wr_csr_free(A);
}

/* ---- Solves ---- */

static const char *const scale_names[] = {"none", "auto", "none", "equilibrate", "match"};
enum {
  LEFT = 0,
  OF_AUTO = 1 + WR_SCALE_AUTO,
  OF_EQUILIBRATE = 1 + WR_SCALE_EQUILIBRATE,
  OF_MATCH = 1 + WR_SCALE_MATCH
};

static void solve(ground *g, wr_csr *A, const double *b, int scaling, int jacobi, const char *name,
                  wr_outcome outcome) {
  solution s = solution_of(g, A);
  s.scaling = scaling, s.jacobi = jacobi, s.b = b;
  ground_case(g, "%s, %s, %s", name, scale_names[scaling], jacobi ? "jacobi" : "no preconditioner");
  expect_outcome(g, &s, outcome);
  solution_free(&s);
}

/* Every scaling and preconditioner on a system that any of them solves: b is given, so that rows weigh differently. */
static void test_all(ground *g) {
  enum { N = 400 };
  wr_csr *A = diagonally_dominant(N, 33);
  double b[N];
  for (int64_t i = 0; i < N; i++) b[i] = 1 + (double)(i % 13);
  scale(A, 8, 6, 35);
  for (int scaling = LEFT; scaling <= OF_MATCH; scaling++)
    for (int jacobi = 0; jacobi < 2; jacobi++) solve(g, A, b, scaling, jacobi, "a dominant diagonal", WR_CONVERGED);
  wr_csr_free(A);
}

/* Rows moved and scaled, which needs matching; the residual as given has to meet the tolerance, however rows are weighed. */
static void test_moved(ground *g) {
  wr_csr *A = diagonally_dominant(400, 34), *moved = with_rows_moved(A, 3);
  scale(moved, 30, 30, 36);
  for (int jacobi = 0; jacobi < 2; jacobi++) {
    solve(g, moved, NULL, OF_AUTO, jacobi, "rows moved and scaled", WR_CONVERGED);
    solve(g, moved, NULL, OF_MATCH, jacobi, "rows moved and scaled", WR_CONVERGED);
  }
  wr_csr_free(A), wr_csr_free(moved);
}

/* Values of 1e-200 and 1e200, which f32 cannot hold unless rows and columns are scaled. Equilibration leaves diagonal elements
 * of 1e-50, which Jacobi cannot divide by in f32. */
static void test_extreme(ground *g) {
  wr_csr *A = diagonally_dominant(300, 37);
  scale(A, 1300, 0, 38);
  for (int scaling = OF_EQUILIBRATE; scaling <= OF_MATCH; scaling++)
    for (int jacobi = 0; jacobi < 1 + (scaling == OF_MATCH); jacobi++)
      solve(g, A, NULL, scaling, jacobi, "rows of 1e+-200", WR_CONVERGED);
  solve(g, A, NULL, OF_AUTO, 0, "rows of 1e+-200", WR_CONVERGED);
  wr_csr_free(A);
}

/* A permuted diagonal with values over 2^200: matched, with Jacobi, the matrix is the identity, and one step solves it. */
static void test_permuted_diagonal(ground *g) {
  enum { N = 200 };
  entry entries[N];
  double b[N];
  for (int64_t i = 0; i < N; i++) {
    entries[i] = (entry){i, (i * 3 + 1) % N, ldexp(1 + (double)(i % 7) / 8, (int)(i % 41) * 5 - 100)};
    b[i] = entries[i].value * (1 + (double)(i % 3));
  }
  wr_csr *A = matrix_of(N, entries, N, 1);
  for (int scaling = OF_AUTO; scaling <= OF_MATCH; scaling += OF_MATCH - OF_AUTO) {
    solution s = solution_of(g, A);
    s.scaling = scaling, s.jacobi = 1, s.b = b;
    ground_case(g, "a permuted diagonal, %s", scale_names[scaling]);
    expect_outcome(g, &s, WR_CONVERGED);
    CHECKF(s.result.iterations == 1 && s.result.restarts == 0, "%lld iterations", (long long)s.result.iterations);
    double unit = g->env.type == WR_F32 ? 0x1p-23 : 0x1p-50; /* of D^-1, b and x */
    int64_t off = 0;
    for (int64_t i = 0; i < N; i++) {
      double exact = 1 + (double)(i % 3);
      off += !(fabs(s.x[(i * 3 + 1) % N] - exact) <= 4 * unit * exact);
    }
    CHECKF(off == 0, "%lld elements are off", (long long)off);
    solution_free(&s);
  }
  wr_csr_free(A);
}

/* Every method stops by the residual as given; conjugate gradients on a matrix that equilibration leaves symmetric. */
static void test_methods(ground *g) {
  enum { N = 200 };
  wr_csr *A = diagonally_dominant(N, 44), *moved = with_rows_moved(A, 3);
  entry entries[3 * N];
  int64_t count = 0;
  for (int64_t i = 0; i < N; i++) {
    entries[count++] = (entry){i, i, ldexp(2.5, (int)(i % 9) * 6)};
    if (i == 0) continue;
    double value = -ldexp(1, (int)(i % 9) * 3 + (int)((i - 1) % 9) * 3);
    entries[count++] = (entry){i, i - 1, value}, entries[count++] = (entry){i - 1, i, value};
  }
  wr_csr *definite = matrix_of(N, entries, count, 1);
  scale(moved, 12, 12, 45);
  for (int k = 0; k < wr_method_count(); k++) {
    int is_cg = strcmp(wr_method_name(wr_method_at(k)), "cg") == 0;
    for (int scaling = OF_AUTO; scaling <= OF_MATCH; scaling++) {
      if (scaling == 1 + WR_SCALE_NONE || (is_cg && scaling == OF_MATCH)) continue;
      if (!is_cg && scaling == OF_EQUILIBRATE) continue; /* rows stay moved, which no method is sure to solve */
      solution s = solution_of(g, is_cg ? definite : moved);
      s.scaling = scaling, s.options.method = wr_method_at(k);
      ground_case(g, "%s, %s", wr_method_name(wr_method_at(k)), scale_names[scaling]);
      expect_outcome(g, &s, WR_CONVERGED);
      solution_free(&s);
    }
  }
  wr_csr_free(A), wr_csr_free(moved), wr_csr_free(definite);
}

/* Structurally singular: a consistent system is solved, another one is not claimed to be. */
static void test_singular(ground *g) {
  enum { N = 100 };
  wr_csr *A = diagonally_dominant(N, 39);
  double b[N];
  for (int64_t k = A->row_ptr[50]; k < A->row_ptr[51]; k++) A->val[k] = 0;
  solve(g, A, NULL, OF_AUTO, 0, "an empty row, consistent", WR_CONVERGED);
  solve(g, A, NULL, OF_MATCH, 0, "an empty row, consistent", WR_CONVERGED);
  for (int64_t i = 0; i < N; i++) b[i] = 1;
  solution s = solution_of(g, A);
  s.scaling = OF_AUTO, s.b = b;
  ground_case(g, "an empty row, inconsistent");
  solve_and_check(g, &s);
  CHECKF(s.result.outcome != WR_CONVERGED && s.result.measure >= 0.0999, "%s, %g", wr_outcome_title(s.result.outcome),
         s.result.measure);
  solution_free(&s);
  wr_csr_free(A);
}

/* Auto leaves a matrix alone that needs nothing: the same iterations and bits as without. */
static void test_same(ground *g) {
  wr_csr *A = diagonally_dominant(400, 41);
  for (int jacobi = 0; jacobi < 2; jacobi++) {
    solution none = solution_of(g, A), by_choice = solution_of(g, A);
    none.jacobi = by_choice.jacobi = jacobi, by_choice.scaling = OF_AUTO;
    ground_case(g, "nothing to scale");
    expect_outcome(g, &none, WR_CONVERGED);
    expect_outcome(g, &by_choice, WR_CONVERGED);
    check_same_run(&none, &by_choice);
    solution_free(&none), solution_free(&by_choice);
  }
  wr_csr_free(A);
}

/* A first guess is in the units of x as given. */
static void test_guess(ground *g) {
  enum { N = 300 };
  wr_csr *A = diagonally_dominant(N, 42), *moved = with_rows_moved(A, 7);
  double guess[N];
  for (int64_t i = 0; i < N; i++) guess[i] = 1;
  scale(moved, 10, 10, 43);
  solution s = solution_of(g, moved);
  s.scaling = OF_MATCH, s.guess = guess;
  ground_case(g, "the solution as the guess");
  expect_outcome(g, &s, WR_CONVERGED);
  CHECKF(s.result.iterations <= (g->env.type == WR_F32 ? 2 : 0), "%lld iterations", (long long)s.result.iterations);
  solution_free(&s);
  wr_csr_free(A), wr_csr_free(moved);
}

static void on_ground(ground *g) {
  test_all(g);
  test_moved(g);
  test_extreme(g);
  test_permuted_diagonal(g);
  test_methods(g);
  test_singular(g);
  test_same(g);
  test_guess(g);
}

int main(void) {
  test_choice();
  test_systems();
  test_nothing();
  test_symmetric();
  test_jacobi();
  on_every_ground(on_ground);
  return wr_test_report("test_scaling");
}
