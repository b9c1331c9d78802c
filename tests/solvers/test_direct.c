/* The direct solver: answers against residuals in long double, singular matrices by name, KLU that answers wrong, memory that
 * is refused, interrupts and time limits. Without KLU: the sentence that names it. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <dlfcn.h>
#include <inttypes.h>
#include <sys/resource.h>
#include <time.h>

#include "config/defaults.h"
#include "solvers/direct.h"
#include "solvers/residual.h"
#include "solvers/verify.h"
#include "tests/solvers/ground.h"

#ifndef __has_feature
#define __has_feature(feature) 0
#endif

static wr_direct_options to_tolerance(double tolerance) { return (wr_direct_options){.tolerance = tolerance}; }

#ifndef WR_HAVE_KLU

/* What is not built says so, and computes nothing. */
static void test_absent(void) {
  double x = 7;
  wr_system system;
  wr_direct_facts facts;
  wr_direct_options options = to_tolerance(1e-8);
  wr_csr *A = matrix_of_picture(1, (const double[]){2});
  CASE("a build without KLU");
  SKIP("what the direct solver finds: this build has no KLU");
  CHECK_FAILS(WR_EUNAVAILABLE, wr_direct_check());
  CHECK_MESSAGE("install libsuitesparse-dev");
  CHECK_OK(wr_system_build(A, NULL, NULL, 0, 0, WR_SCALE_NONE, NULL, 0, &system));
  CHECK_FAILS(WR_EUNAVAILABLE, wr_direct_solve(&system, &options, NULL, &x, &facts));
  CHECK(x == 7);
  wr_system_free(&system);
  wr_csr_free(A);
}

int main(void) {
  test_absent();
  return wr_test_report("direct");
}

#else

/* ---- KLU that answers wrong ---- */

static double planted = 1; /* the first element of each solution is multiplied by it */
static _Atomic int slow;   /* 1: the ordering takes a second                         */

/* In place of KLU's own, which it calls: the linker prefers the definition here. */
int64_t klu_l_tsolve(void *symbolic, void *numeric, int64_t rows, int64_t columns, double *x, void *common);
int64_t klu_l_tsolve(void *symbolic, void *numeric, int64_t rows, int64_t columns, double *x, void *common) {
  int64_t (*own)(void *, void *, int64_t, int64_t, double *, void *);
  *(void **)&own = dlsym(RTLD_NEXT, "klu_l_tsolve");
  int64_t status = own ? own(symbolic, numeric, rows, columns, x, common) : 0;
  x[0] *= planted;
  return status;
}

void *klu_l_analyze(int64_t n, int64_t *pointers, int64_t *indices, void *common);
void *klu_l_analyze(int64_t n, int64_t *pointers, int64_t *indices, void *common) {
  void *(*own)(int64_t, int64_t *, int64_t *, void *);
  *(void **)&own = dlsym(RTLD_NEXT, "klu_l_analyze");
  if (slow) nanosleep(&(struct timespec){1, 0}, NULL);
  return own ? own(n, pointers, indices, common) : NULL;
}

/* ---- One solve ---- */

typedef struct trial {
  wr_csr *A;         /* taken over */
  const double *b;   /* [n], or NULL: A times ones */
  wr_scale scale;
  const wr_preconditioner *precond;
  wr_direct_options options;
  wr_monitor monitor;
  double x[600];
  wr_status status;
  wr_direct_facts facts;
} trial;

/* ||b - A x|| / ||b|| in long double, from the matrix and b as given. */
static long double residual_as_given(const trial *t) {
  long double sum = 0, norm = 0;
  for (int64_t i = 0; i < t->A->nrows; i++) {
    long double b = 0, r = 0;
    for (int64_t k = t->A->row_ptr[i]; k < t->A->row_ptr[i + 1]; k++) {
      long double value = t->A->val ? (long double)t->A->val[k] : 1;
      b += t->b ? 0 : value, r -= value * (long double)t->x[t->A->col[k]];
    }
    b = t->b ? (long double)t->b[i] : b;
    sum += (b + r) * (b + r), norm += b * b;
  }
  return norm > 0 ? sqrtl(sum / norm) : sqrtl(sum);
}

static void try_direct(trial *t) {
  wr_system system;
  for (size_t i = 0; i < sizeof t->x / sizeof *t->x; i++) t->x[i] = 7;
  CHECK(t->A->nrows <= 600);
  CHECK_OK(wr_system_build(t->A, given(t->b, t->A->nrows), NULL, 0, 0, t->scale, t->precond, 0, &system));
  t->status = wr_direct_solve(&system, &t->options, &t->monitor, t->x, &t->facts);
  wr_system_free(&system);
}

/* The answer meets the tolerance, by the facts and in long double; b as the system has it is rounded, so a little more. */
static void expect_solved(trial *t) {
  try_direct(t);
  CHECKF(t->status == WR_OK, "%s", wr_status_message());
  CHECKF(t->facts.tried && t->facts.outcome == WR_CONVERGED && t->facts.why[0] == '\0', "%s: %s",
         wr_outcome_title(t->facts.outcome), t->facts.why);
  CHECK(t->facts.measure <= t->options.tolerance && !t->facts.singular);
  long double residual = residual_as_given(t);
  CHECKF(residual <= (long double)t->options.tolerance + 1e-13L, "%Lg", residual);
  wr_csr_free(t->A);
}

static trial trial_of(wr_csr *A) { return (trial){.A = A, .scale = WR_SCALE_NONE, .options = to_tolerance(1e-12)}; }

/* ---- Systems ---- */

/* Every diagonal element is 0: row i has entries in the columns before and after it, of different size. */
static wr_csr *without_diagonal(int64_t n) {
  entry *entries = room_for(2 * n, sizeof *entries);
  for (int64_t i = 0; i < n; i++) {
    entries[2 * i] = (entry){i, (i + 1) % n, 2 + (double)(i % 5)};
    entries[2 * i + 1] = (entry){i, (i + n - 1) % n, i % 3 ? 0.5 : -0.25};
  }
  wr_csr *A = matrix_of(n, entries, 2 * n, 1);
  free(entries);
  return A;
}

static void test_solved(void) {
  static const wr_scale scales[] = {WR_SCALE_NONE, WR_SCALE_EQUILIBRATE, WR_SCALE_MATCH, WR_SCALE_AUTO};
  for (size_t k = 0; k < sizeof scales / sizeof *scales; k++) {
    ground_case(NULL, "solved, scaling %d", (int)scales[k]);
    trial t = trial_of(matrix_of_picture(1, (const double[]){-0.5}));
    t.scale = scales[k];
    expect_solved(&t);
    CHECK(t.x[0] == 1 && t.facts.entries == 1 && t.facts.blocks == 1 && t.facts.largest_block == 1);
    t.A = matrix_of_picture(2, (const double[]){0, 3, 5, 0});
    expect_solved(&t);
    CHECK(t.x[0] == 1 && t.x[1] == 1);
    t.A = without_diagonal(511);
    expect_solved(&t);
    t.A = random_matrix(600, 5, 0.01, 1, 42);
    expect_solved(&t);
    CHECKF(t.facts.entries >= 600 && t.facts.bytes >= 16 * t.facts.entries && t.facts.largest_block <= 600,
           "%lld entries, %lld bytes", (long long)t.facts.entries, (long long)t.facts.bytes);
    CHECK(t.facts.seconds > 0 && t.facts.pivots > 0 && t.facts.pivots <= 1);
    t.A = random_matrix(300, 3, 1, 0, 5); /* a pattern */
    t.options.tolerance = 1e-9;
    expect_solved(&t);
  }
  CASE("Jacobi");
  trial t = trial_of(random_matrix(600, 5, 2, 1, 43));
  t.precond = &wr_precond_jacobi;
  expect_solved(&t);
  CASE("a right-hand side");
  double b[3] = {1, -2, 4};
  t = trial_of(matrix_of_picture(3, (const double[]){0, 2, 0, 0, 0, 4, 8, 0, 0}));
  t.b = b;
  expect_solved(&t); /* powers of two: x is exact */
  CHECKF(t.x[0] == 0.5 && t.x[1] == 0.5 && t.x[2] == -0.5, "%g %g %g", t.x[0], t.x[1], t.x[2]);
  CASE("b = 0");
  double zero[2] = {0, 0};
  t = trial_of(matrix_of_picture(2, (const double[]){0, 3, 5, 0}));
  t.b = zero;
  expect_solved(&t);
  CHECK(t.x[0] == 0 && t.x[1] == 0);
}

/* Factors from 1e-200 to 1e200: rows by a power of ten each, and all of the matrix. */
static void test_ranges(void) {
  for (int power = -200; power <= 200; power += 100)
    for (int rows = 0; rows < 2; rows++) {
      ground_case(NULL, "values of 1e%d, rows %d", power, rows);
      trial t = trial_of(random_matrix(60, 4, 3, 1, 9));
      for (int64_t i = 0; i < 60; i++)
        for (int64_t k = t.A->row_ptr[i]; k < t.A->row_ptr[i + 1]; k++)
          t.A->val[k] *= pow(10, rows ? power * (double)i / 60 : power);
      t.scale = WR_SCALE_AUTO;
      expect_solved(&t);
    }
}

/* The Hilbert matrix of order 8 has a condition of 1.5e10: one solve leaves a backward error near f64's, and asking for it is
 * met. */
static void test_backward(void) {
  double picture[64];
  CASE("the backward error");
  for (int i = 0; i < 8; i++)
    for (int j = 0; j < 8; j++) picture[8 * i + j] = 1 / (1 + (double)(i + j));
  trial t = trial_of(matrix_of_picture(8, picture));
  t.options = (wr_direct_options){.tolerance = 1e-15, .by_backward = 1};
  expect_solved(&t);
  CHECKF(t.facts.backward <= 1e-15, "%g", t.facts.backward);
  CASE("a tolerance that f64 does not attain");
  t = trial_of(random_matrix(200, 5, 3, 1, 3));
  t.options.tolerance = 1e-30;
  try_direct(&t);
  CHECK_OK(t.status);
  CHECKF(t.facts.outcome == WR_STAGNATED && t.facts.measure < 1e-14 && t.facts.measure > 1e-30, "%g", t.facts.measure);
  CHECKF(strstr(t.facts.why, "the residual stays at") != NULL, "%s", t.facts.why);
  CHECK(residual_as_given(&t) < 1e-13L); /* x is the best that was found */
  wr_csr_free(t.A);
}

/* ---- What has no solution ---- */

/* Takes A over. row: that the facts name, from 0; -1: none. */
static void expect_singular(wr_csr *A, const char *why, int64_t row) {
  trial t = trial_of(A);
  try_direct(&t);
  CHECK_OK(t.status);
  CHECKF(t.facts.outcome == WR_BREAKDOWN && strstr(t.facts.why, why) != NULL, "%s: %s",
         wr_outcome_title(t.facts.outcome), t.facts.why);
  CHECK(t.facts.singular);
  CHECKF(t.facts.row == row, "row %lld", (long long)t.facts.row);
  CHECK(t.x[0] == 7);
  wr_csr_free(t.A);
}

static void test_singular(void) {
  CASE("structurally singular");
  expect_singular(matrix_of_picture(3, (const double[]){1, 0, 0, 2, 0, 0, 3, 4, 5}),
                  "structurally singular: no more than 2 of its 3 rows", -1);
  expect_singular(matrix_of_picture(2, (const double[]){0, 0, 0, 0}), "no more than 0 of its 2 rows", -1);
  wr_csr *A = matrix_of_picture(2, (const double[]){1, 1, 1, 1});
  A->val[2] = A->val[3] = 0; /* entries with the value 0 count as none */
  expect_singular(A, "no more than 1 of its 2 rows", -1);
  CASE("singular");
  expect_singular(matrix_of_picture(2, (const double[]){1, 2, 2, 4}), "no pivot other than 0 was left; row 2 is", 1);
  double picture[25] = {4, 1, 0, 0, 0, 1, 4, 1, 0, 0, 0, 1, 4, 0, 0, 0, 0, 0, 8, 2, 0, 0, 0, 4, 1};
  trial t = trial_of(matrix_of_picture(5, picture));
  try_direct(&t);
  CHECK_OK(t.status);
  CHECKF(t.facts.outcome == WR_BREAKDOWN && t.facts.row >= 3, "row %lld: %s", (long long)t.facts.row, t.facts.why);
  wr_csr_free(t.A);
}

/* A wrong solution is found out by the residual: it is never called solved, whatever refinement makes of it. */
static void test_planted(void) {
  static const double factors[] = {-1, 3, 1e6, 0};
  for (size_t k = 0; k < sizeof factors / sizeof *factors; k++) {
    ground_case(NULL, "KLU's answers are wrong by a factor of %g", factors[k]);
    planted = factors[k];
    trial t = trial_of(random_matrix(50, 4, 3, 1, 17));
    try_direct(&t);
    CHECK_OK(t.status);
    CHECKF(t.facts.outcome == WR_STAGNATED && t.facts.measure > 1e-3, "%s: %g", wr_outcome_title(t.facts.outcome),
           t.facts.measure);
    wr_csr_free(t.A);
  }
  planted = 1.001; /* refinement mends it, step by step */
  CASE("refinement");
  trial t = trial_of(random_matrix(50, 4, 3, 1, 17));
  expect_solved(&t);
  CHECKF(t.facts.refinements >= 3 && t.facts.refinements <= WR_DIRECT_REFINEMENTS, "%d", t.facts.refinements);
  planted = (double)NAN;
  CASE("an answer that is not finite");
  t = trial_of(random_matrix(50, 4, 3, 1, 17));
  try_direct(&t);
  CHECK_OK(t.status);
  CHECK(t.facts.outcome == WR_NON_FINITE && strstr(t.facts.why, "beyond f64") != NULL);
  wr_csr_free(t.A);
  planted = 1;
}

/* The verification of programs finds an answer that was changed after the direct solver had found it. */
static void test_verified(void) {
  wr_system system;
  wr_direct_facts facts;
  wr_verdict verdict;
  double x[50], zero[50] = {0};
  const wr_direct_options options = to_tolerance(1e-10);
  wr_csr *A = random_matrix(50, 4, 3, 1, 18);
  CASE("a changed answer");
  CHECK_OK(wr_system_build(A, NULL, NULL, 0, 0, WR_SCALE_NONE, NULL, 0, &system));
  CHECK_OK(wr_direct_solve(&system, &options, NULL, x, &facts));
  const wr_solved solved = {x, zero, system.rhs, system.rhs, facts.measure * system.norm_b, NULL, 0};
  for (int change = 0; change < 2; change++) {
    CHECK_OK(
        wr_verify_system(&system, 1e-10, (wr_rounding){0x1p-53, 0x1p-53, 0}, &solved, WR_VERIFY_FULL, 0, &verdict));
    CHECKF(verdict.multiplied_right && verdict.met_tolerance == !change, "%d: %g", change, verdict.measure);
    x[31] += 1e-6;
  }
  wr_system_free(&system);
  wr_csr_free(A);
}

/* ---- What ends it early ---- */

static double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* KLU is left to itself; its thread frees what it has, which the address sanitizer sees. */
static void test_early_end(void) {
  static const volatile sig_atomic_t interrupted = 2;
  for (int late = 0; late < 2; late++) {
    trial t = trial_of(random_matrix(50, 4, 3, 1, 17));
    slow = late;
    ground_case(NULL, "an interrupt, slow %d", late);
    t.monitor.interrupted = &interrupted;
    try_direct(&t);
    CHECK_OK(t.status);
    CHECKF(t.facts.outcome == WR_INTERRUPTED && t.x[0] == 7, "%s", wr_outcome_title(t.facts.outcome));
    ground_case(NULL, "a time limit, slow %d", late);
    t.monitor = (wr_monitor){.deadline = seconds_now() + (late ? 0.05 : 0)};
    try_direct(&t);
    CHECK_OK(t.status);
    CHECKF(t.facts.outcome == WR_TIME_LIMIT && strstr(t.facts.why, "time limit") != NULL, "%s",
           wr_outcome_title(t.facts.outcome));
    wr_csr_free(t.A);
  }
  slow = 1;
  CASE("a time limit that is not reached");
  trial t = trial_of(random_matrix(50, 4, 3, 1, 17));
  t.monitor.deadline = seconds_now() + 1e6;
  expect_solved(&t);
  slow = 0;
  nanosleep(&(struct timespec){1, 500000000}, NULL); /* till the threads that were left have ended */
}

/* The factors of a dense 600 x 600 matrix take 5.8 MB. With less and less address space there comes a size that does not
 * suffice, which is an error and no crash. */
static void test_memory(void) {
  CASE("memory that is refused");
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || __has_feature(address_sanitizer) || \
    __has_feature(thread_sanitizer)
  SKIP("a sanitizer needs address space without a limit");
#else
  struct rlimit before, now;
  int64_t pages = 0;
  double *picture = room_for(600 * 600, sizeof *picture);
  for (int i = 0; i < 360000; i++) picture[i] = i % 601 == 0 ? 600 : 1 + i % 7;
  trial t = trial_of(matrix_of_picture(600, picture));
  free(picture);
  FILE *sizes = fopen("/proc/self/statm", "r");
  int known = sizes && fscanf(sizes, "%" SCNd64, &pages) == 1;
  if (sizes) fclose(sizes);
  CHECK(getrlimit(RLIMIT_AS, &before) == 0);
  now = before;
  /* Room for the copy of the matrix, 5.8 MB, a stack and an arena of the thread, and not for the factors besides. */
  for (int64_t room = 96 << 20, refused = 0; known && !refused && room > 0; room -= 2 << 20) {
    now.rlim_cur = (rlim_t)(pages * sysconf(_SC_PAGESIZE) + room);
    CHECK(setrlimit(RLIMIT_AS, &now) == 0);
    try_direct(&t);
    CHECK(setrlimit(RLIMIT_AS, &before) == 0);
    refused = t.status != WR_OK;
    if (!refused) continue;
    CHECKF(t.status == WR_ENOMEM, "%s: %s", wr_status_name(t.status), wr_status_message());
    CHECK_MESSAGE("out of memory");
  }
  CHECK(t.status == WR_ENOMEM || !known);
  expect_solved(&t);
#endif
}

int main(void) {
  CHECK_OK(wr_direct_check());
  test_solved();
  test_ranges();
  test_backward();
  test_singular();
  test_planted();
  test_verified();
  test_early_end();
  test_memory();
  return wr_test_report("direct");
}

#endif
