/* Several right-hand sides in one call against the same ones alone: outcomes, residuals computed here, and what must not depend
 * on the columns beside. */
#include <stdlib.h>

#include "solvers/api/windrow.h"
#include "tests/api/true_residual.h"
#include "tests/check.h"

static const char *device;

/* ---- columns ---- */

static double random_number(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (double)(int64_t)(*state >> 11) / 0x1p52 - 1;
}

/* Column j of n rows: 1 is 0, 2 is 3 times column 0, 3 and 4 are of very different scales, 5 is a unit vector, the others are
 * random. */
static void fill_column(double *b, int64_t n, int64_t j) {
  uint64_t state = j == 2 ? 17 : 17 + 1000 * (uint64_t)j;
  double scale = j == 2 ? 3 : j == 3 ? 1e200 : j == 4 ? 1e-150 : 1;
  for (int64_t i = 0; i < n; i++) b[i] = scale * random_number(&state);
  for (int64_t i = 0; i < n && j == 1; i++) b[i] = 0;
  for (int64_t i = 0; i < n && j == 5; i++) b[i] = i == n / 2;
}

static char said[4096];
static void listen(void *context, const char *sentence) {
  (void)context;
  snprintf(said, sizeof said, "%s", sentence);
}

typedef struct solved {
  int64_t n, count;
  double *b, *x;
  wr_solve_result *r;
  wr_status status;
} solved;

static void solved_free(solved *s) { free(s->b), free(s->x), free(s->r); }

/* Columns `first` and following in one call, or one by one. */
static solved solve(const wr_matrix *A, const wr_solve_options *options, int64_t first, int64_t count, int alone) {
  wr_solver *solver = NULL;
  wr_solve_options o = *options;
  solved s = {.n = wr_matrix_rows(A), .count = count};
  o.log = listen, said[0] = '\0';
  s.b = malloc((size_t)(s.n * count) * sizeof(double)), s.x = calloc((size_t)(s.n * count), sizeof(double));
  s.r = calloc((size_t)count, sizeof *s.r);
  for (int64_t j = 0; j < count; j++) fill_column(s.b + j * s.n, s.n, first + j), WR_INIT(s.r[j]);
  CHECK_OK(wr_solver_new(A, &o, &solver));
  if (!alone && solver) s.status = wr_solver_solve_many(solver, count, s.b, s.n, s.x, s.n, s.r);
  for (int64_t j = 0; alone && solver && j < count; j++)
    CHECK_OK(wr_solver_solve(solver, s.b + j * s.n, NULL, s.x + j * s.n, &s.r[j]));
  wr_solver_free(solver);
  return s;
}

/* Where a column alone has converged, it does so beside others, and the residual computed here is as small. Where it has not,
 * it has another outcome only if it has converged. */
static void compare(const wr_matrix *A, const solved *many, const solved *alone, double tolerance) {
  CHECK(many->status == WR_OK);
  for (int64_t j = 0; j < many->count; j++) {
    const wr_solve_result *a = &alone->r[j], *r = &many->r[j];
    CHECKF(r->outcome == a->outcome || r->outcome == WR_CONVERGED, "column %d: %s, alone %s", (int)j,
           wr_outcome_title(r->outcome), wr_outcome_title(a->outcome));
    if (r->outcome != WR_CONVERGED) continue;
    double found = residual(A, many->b + j * many->n, many->x + j * many->n);
    CHECKF(r->verified && found <= tolerance * (1 + 1e-6), "column %d: residual %g", (int)j, found);
  }
}

/* ---- tests ---- */

typedef struct example {
  const char *name, *method, *precond, *together; /* together: part of what is said */
} example;

static const example examples[] = {
    {"gen:fem:n=4", NULL, NULL, "iterated together"},
    {"gen:fem:n=4", "bicgstab", "jacobi", "iterated together"},
    {"gen:stencil:n=9", NULL, NULL, "iterated together"},
    {"gen:stencil:n=9,convection=0", NULL, NULL, "iterated together"},
    {"gen:stencil:n=9,convection=0", "cg", "jacobi", "iterated together"},
    {"gen:stencil:n=9,convection=0", NULL, "none", "iterated together"},
    {"gen:aniso:n=24,ratio=100", NULL, NULL, "iterated together"},
    {"gen:jump:n=20", NULL, NULL, "iterated together"},
    {"gen:jump:n=20", "bicgstab", "jacobi", "iterated together"},
    {"gen:convect:n=24", NULL, NULL, "iterated together"},
    {"gen:convect:n=24,scheme=central", NULL, NULL, "iterated together"},
    {"gen:convect:n=24,scheme=central,flow=vortex", NULL, "none", "iterated together"},
    {"gen:circuit:n=300", NULL, NULL, "iterated together"},
    {"gen:circuit:n=300", "bicgstab", "ilut", "iterated together"},
    {"gen:fem:n=4", "idr", NULL, "one after the other, as idr"},
    {"gen:fem:n=4", NULL, "ilu0", "iterated together"},
    {"gen:stencil:n=9,convection=0", "cg", "ilu0", "iterated together"},
    {"gen:convect:n=24", "bicgstab", "ilu0:factors=f32", "iterated together"},
    {"gen:convect:n=24", "bicgstabl", "ilu0", "one after the other, as bicgstabl"},
};

static const example of_device[] = {
    {"gen:fem:n=2", NULL, NULL, "iterated together"},
    {"gen:stencil:n=5,convection=0", "cg", "jacobi", "iterated together"},
    {"gen:convect:n=10", "bicgstab", "jacobi", "iterated together"},
    {"gen:fem:n=2", "idr", NULL, "one after the other, as idr"},
    {"gen:convect:n=10", "bicgstab", "ilu0", "iterated together"},
    {"gen:stencil:n=5,convection=0", "cg", "ilu0", "iterated together"},
    {"gen:circuit:n=100", "bicgstab", NULL, "iterated together"},
};

/* Whose multiply takes the sums behind it in its own pass. */
static const example of_lane_csr[] = {
    {"gen:convect:n=10", "bicgstab", "jacobi", "iterated together"},
    {"gen:stencil:n=5,convection=0", "cg", "none", "iterated together"},
    {"gen:circuit:n=100", "bicgstab", NULL, "iterated together"},
};

static void test_example(const example *e, const char *precision, const char *backend) {
  static char text[160];
  double tolerance = strcmp(precision, "f32") == 0 ? 1e-5 : 1e-8;
  wr_matrix *A = NULL;
  snprintf(text, sizeof text, "%s %s: %s, %s, %s", device, precision, e->name, e->method ? e->method : "auto",
           e->precond ? e->precond : "auto");
  CASE(text);
  const wr_solve_options o = {.size = sizeof o, .device = device, .backend = backend, .precision = precision,
                              .method = e->method, .precond = e->precond, .tolerance = tolerance,
                              .max_iterations = 2000};
  CHECK_OK(wr_read(e->name, &A));
  if (A == NULL) return;
  solved many = solve(A, &o, 0, 9, 0);
  CHECKF(strstr(said, e->together) != NULL, "said: %s", said);
  solved alone = solve(A, &o, 0, 9, 1);
  compare(A, &many, &alone, tolerance);
  solved_free(&many), solved_free(&alone);
  wr_matrix_free(A);
}

/* 1, 2, 3, 9 and 20 columns; on the CPU a column has the same bits in each of them if it is iterated with others at all. */
static void test_counts(void) {
  static const int64_t counts[] = {1, 2, 3, 9, 20};
  wr_matrix *A = NULL;
  CASE("numbers of columns");
  const wr_solve_options o = {.size = sizeof o, .device = device};
  int most = strcmp(device, "cpu") == 0 ? 5 : 4;
  CHECK_OK(wr_read(most == 5 ? "gen:stencil:n=10" : "gen:stencil:n=4", &A));
  solved all = solve(A, &o, 0, counts[most - 1], 0);
  for (int k = 0; k < most; k++) {
    solved some = solve(A, &o, 0, counts[k], 0), alone = solve(A, &o, 0, counts[k], 1);
    compare(A, &some, &alone, 1e-8);
    int is_shared = counts[k] > 1 && strcmp(device, "cpu") == 0;
    for (int64_t j = 0; is_shared && j < counts[k] && j < 8; j++) {
      CHECK(memcmp(some.x + j * some.n, all.x + j * all.n, (size_t)all.n * sizeof(double)) == 0);
      CHECK(some.r[j].iterations == all.r[j].iterations);
    }
    solved_free(&some), solved_free(&alone);
  }
  solved_free(&all);
  wr_matrix_free(A);
}

static int stops(void *context, int64_t iteration, double measure, double target) {
  (void)measure, (void)target;
  return iteration >= *(int64_t *)context;
}

/* Iterations that end early, and the residuals by iteration. */
static void test_ends(void) {
  wr_matrix *A = NULL;
  wr_trace *trace = NULL;
  int64_t last = 6;
  CASE("a limit of iterations");
  CHECK_OK(wr_read(strcmp(device, "cpu") == 0 ? "gen:stencil:n=12" : "gen:stencil:n=8", &A));
  CHECK_OK(wr_trace_new(&trace));
  wr_solve_options o = {.size = sizeof o, .device = device, .method = "bicgstab", .max_iterations = 5};
  solved s = solve(A, &o, 0, 4, 0);
  for (int j = 0; j < 4; j++) CHECK(s.r[j].outcome == (j == 1 ? WR_CONVERGED : WR_MAX_ITERATIONS));
  for (int j = 0; j < 4; j++) CHECK(s.r[j].iterations == (j == 1 ? 0 : 5));
  solved_free(&s);
  CASE("a time limit");
  o.max_iterations = 0, o.time_limit = 1e-9;
  s = solve(A, &o, 0, 4, 0);
  for (int j = 0; j < 4; j++) CHECK(s.r[j].outcome == (j == 1 ? WR_CONVERGED : WR_TIME_LIMIT));
  solved_free(&s);
  CASE("a progress function that ends it");
  o.time_limit = 0, o.progress = stops, o.context = &last, o.check_every = 1;
  s = solve(A, &o, 0, 4, 0);
  for (int j = 0; j < 4; j++) CHECK(s.r[j].outcome == (j == 1 ? WR_CONVERGED : WR_INTERRUPTED));
  CHECK(s.r[0].iterations >= last && s.r[0].residual < 1);
  solved_free(&s);
  CASE("residuals by iteration");
  o.progress = NULL, o.trace = trace;
  s = solve(A, &o, 0, 3, 0);
  for (int j = 0; j < 3; j++) {
    const int64_t *iteration;
    const double *measure;
    int64_t count = wr_trace_get(trace, j, &iteration, &measure);
    CHECK(j == 1 ? count == 0 : count > 2);
    if (j == 1 || count < 3) continue;
    CHECK(iteration[0] == 1 && iteration[count - 1] == s.r[j].iterations && measure[count - 1] <= 1e-8);
  }
  solved_free(&s);
  wr_trace_free(trace);
  wr_matrix_free(A);
}

/* Rows of very different sizes, each column in rows of one size: residuals by iteration, which the iteration is stopped by, are
 * in the units of the column's own right-hand side. */
static void test_scaled_rows(const char *method, int iterations, const char *precision, double accuracy) {
  enum { ROWS = 48, COLUMNS = 4, ENTRIES = 3 * ROWS - 2 };
  int32_t row[ENTRIES], col[ENTRIES];
  double val[ENTRIES], b[COLUMNS * ROWS] = {0}, x[COLUMNS * ROWS];
  int count = 0, is_cg = strcmp(method, "cg") == 0;
  wr_matrix *A = NULL;
  wr_solver *solver = NULL;
  wr_trace *trace = NULL;
  wr_solve_result r[COLUMNS];
  CASE("columns in rows of very different sizes");
  for (int i = 0; i < ROWS; i++) {
    for (int j = i - 1; j <= i + 1; j++) {
      if (j < 0 || j >= ROWS) continue;
      int size = 4 * (i % COLUMNS) + (is_cg ? 4 * (j % COLUMNS) : 0); /* conjugate gradients: a symmetric A */
      row[count] = i, col[count] = j, val[count++] = ldexp(j == i ? 64 : j < i || is_cg ? -1 : -0.5, size);
    }
    b[i % COLUMNS * ROWS + i] = 1 + i;
  }
  CHECK(count == ENTRIES);
  CHECK_OK(wr_matrix_new_coo(ROWS, ROWS, ENTRIES, row, col, val, 0, &A));
  CHECK_OK(wr_trace_new(&trace));
  const wr_solve_options o = {.size = sizeof o, .device = device, .method = method, .precision = precision,
                              .trace = trace, .scale = "equilibrate", .precond = "none", .max_iterations = iterations,
                              .check_every = 1};
  CHECK_OK(wr_solver_new(A, &o, &solver));
  for (int repeat = 0; repeat < 2; repeat++) { /* the solver has seen other right-hand sides before, or none */
    for (int j = 0; j < COLUMNS; j++) WR_INIT(r[j]);
    CHECK_OK(wr_solver_solve_many(solver, COLUMNS, b, ROWS, x, ROWS, r));
    for (int j = 0; j < COLUMNS; j++) {
      const int64_t *iteration;
      const double *measure;
      int64_t seen = wr_trace_get(trace, j, &iteration, &measure);
      double found = residual(A, b + j * ROWS, x + j * ROWS);
      CHECKF(seen == iterations && found < 1 && fabs(measure[seen - 1] - found) <= accuracy * found,
             "column %d: %d checks, the last %g, and %g", j, (int)seen, seen > 0 ? measure[seen - 1] : 0, found);
    }
  }
  wr_solver_free(solver);
  wr_trace_free(trace);
  wr_matrix_free(A);
}

/* A matrix that is singular has columns that cannot converge beside those that do. */
static void test_singular(void) {
  enum { ROWS = 60 };
  int32_t row[ROWS], col[ROWS];
  double val[ROWS], b[2 * ROWS] = {0}, x[2 * ROWS];
  wr_matrix *A = NULL;
  wr_solver *solver = NULL;
  wr_solve_result r[2];
  CASE("a column that cannot converge");
  for (int i = 0; i < ROWS; i++) row[i] = i, col[i] = i, val[i] = i == 7 ? 1e-300 : 1 + i;
  for (int i = 0; i < ROWS; i++) b[i] = i != 7, b[ROWS + i] = i == 7 ? 1e20 : 1;
  CHECK_OK(wr_matrix_new_coo(ROWS, ROWS, ROWS, row, col, val, 0, &A));
  const wr_solve_options o = {.size = sizeof o, .device = device, .method = "bicgstab", .scale = "none",
                              .precond = "none"};
  CHECK_OK(wr_solver_new(A, &o, &solver));
  WR_INIT(r[0]), WR_INIT(r[1]);
  CHECK_OK(wr_solver_solve_many(solver, 2, b, ROWS, x, ROWS, r));
  CHECK(r[0].outcome == WR_CONVERGED && residual(A, b, x) <= 1e-8);
  CHECK(r[1].outcome != WR_CONVERGED);
  wr_solver_free(solver);
  wr_matrix_free(A);
}

static void test_at(const char *place) {
  device = place;
  int is_device = strcmp(place, "cuda") == 0; /* whose kernels may run on the CPU: a few examples, of 27 to 500 rows */
  for (size_t k = 0; is_device && k < sizeof of_device / sizeof *of_device; k++) {
    test_example(&of_device[k], "f64", NULL);
    test_example(&of_device[k], "f32", NULL);
  }
  for (size_t k = 0; is_device && k < sizeof of_lane_csr / sizeof *of_lane_csr; k++) {
    test_example(&of_lane_csr[k], "f64", "lane_csr");
    test_example(&of_lane_csr[k], "f32", "lane_csr");
  }
  for (size_t k = 0; !is_device && k < sizeof examples / sizeof *examples; k++) {
    test_example(&examples[k], "f64", NULL);
    test_example(&examples[k], "f32", NULL);
  }
  test_counts();
  test_ends();
  test_scaled_rows("bicgstab", 1, "f64", 1e-9);
  test_scaled_rows("cg", 2, "f64", 1e-9);
  test_scaled_rows("bicgstab", 1, "f32", 1e-3);
  test_singular();
}

int main(void) {
  test_at("cpu");
  CASE("on a GPU");
  if (wr_backend_check("merbit") == WR_OK)
    test_at("cuda");
  else
    SKIP("%s", wr_status_message());
  return wr_test_report("test_sides");
}
