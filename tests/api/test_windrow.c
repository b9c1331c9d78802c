/* The flat interface, as a user calls it: answers against sums computed here, what may not change between versions, and
 * what is said about wrong data. Wrong arguments are in tests/solvers/arguments_api.h. */
#include "solvers/api/windrow.h"
#include "spmv/spmv.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/api/true_residual.h"
#include "tests/check.h"

/* Where the solves of this round compute: "cpu", or "cuda". */
static const char *device;

/* 1 if a backend of that name computes where solves do by default. */
static int is_there(const char *backend) {
  const wr_backend *found = NULL;
  return wr_backend_find(backend, &found) == WR_OK && (found->place == WR_HOST) == (strcmp(device, "cpu") == 0);
}

/* ---- a system ---- */

enum { N = 400, MOST = 5 * N };

/* Rows with the entries -1, 4 + i % 3, -1.5, and one far away, so that the matrix is not symmetric. */
typedef struct arrays {
  int32_t ptr[N + 1], col[MOST], row[MOST];
  int64_t ptr64[N + 1], col64[MOST], row64[MOST];
  double val[MOST];
  int64_t count;
} arrays;

static void add(arrays *a, int i, int j, double value) {
  a->row[a->count] = i, a->col[a->count] = j, a->val[a->count] = value;
  a->row64[a->count] = i, a->col64[a->count] = j;
  a->count++;
}

static void fill(arrays *a) {
  a->count = a->ptr[0] = 0, a->ptr64[0] = 0;
  for (int i = 0; i < N; i++) {
    if (i > 0) add(a, i, i - 1, -1);
    add(a, i, i, 4 + i % 3);
    if (i + 1 < N) add(a, i, i + 1, -1.5);
    if (i + 20 < N) add(a, i, i + 20, 0.25);
    a->ptr[i + 1] = (int32_t)a->count, a->ptr64[i + 1] = a->count;
  }
}

static void right_side(double *b, int64_t n, double scale, int variant) {
  for (int64_t i = 0; i < n; i++) b[i] = scale * sin(1 + variant + 0.37 * (double)i);
}

static wr_matrix *given_matrix(void) {
  static arrays a;
  wr_matrix *A = NULL;
  fill(&a);
  CHECK_OK(wr_matrix_new_csr(N, N, a.ptr, a.col, a.val, &A));
  return A;
}

/* ---- matrices ---- */

static void test_matrices(void) {
  static arrays a;
  wr_matrix *A[4];
  int32_t row[MOST + 1], col[MOST + 1];
  double val[MOST + 1];
  CASE("a matrix from arrays of 32 and 64 bits, in rows and in any order");
  fill(&a);
  for (int64_t k = 0; k < a.count; k++) { /* backwards, and the first entry in two parts */
    int64_t to = a.count - 1 - k;
    row[to] = a.row[k], col[to] = a.col[k], val[to] = k == 0 ? a.val[k] - 1 : a.val[k];
  }
  row[a.count] = a.row[0], col[a.count] = a.col[0], val[a.count] = 1;
  CHECK_OK(wr_matrix_new_csr(N, N, a.ptr, a.col, a.val, &A[0]));
  CHECK_OK(wr_matrix_new_csr64(N, N, a.ptr64, a.col64, a.val, &A[1]));
  CHECK_OK(wr_matrix_new_coo(N, N, a.count + 1, row, col, val, 0, &A[2]));
  CHECK_OK(wr_matrix_new_coo64(N, N, a.count, a.row64, a.col64, a.val, 0, &A[3]));
  for (int m = 0; m < 4; m++) {
    CHECK(wr_matrix_rows(A[m]) == N && wr_matrix_columns(A[m]) == N && wr_matrix_entries(A[m]) == a.count);
    CHECK(memcmp(wr_matrix_row_ptr(A[m]), a.ptr64, sizeof a.ptr64) == 0);
    CHECK(memcmp(wr_matrix_col(A[m]), a.col, (size_t)a.count * sizeof *a.col) == 0);
    CHECK(memcmp(wr_matrix_val(A[m]), a.val, (size_t)a.count * sizeof *a.val) == 0);
    wr_matrix_free(A[m]);
  }
  CASE("entries without values: repeated ones count as often as they occur, or once");
  row[0] = row[1] = 0, col[0] = col[1] = 1;
  CHECK_OK(wr_matrix_new_coo(2, 3, 2, row, col, NULL, 0, &A[0]));
  CHECK_OK(wr_matrix_new_coo(2, 3, 2, row, col, NULL, 1, &A[1]));
  CHECK_OK(wr_matrix_new_coo(2, 3, 0, NULL, NULL, NULL, 0, &A[2]));
  CHECK(wr_matrix_entries(A[0]) == 1 && wr_matrix_val(A[0]) && wr_matrix_val(A[0])[0] == 2);
  CHECK(wr_matrix_entries(A[1]) == 1 && wr_matrix_val(A[1]) == NULL && wr_matrix_columns(A[1]) == 3);
  CHECK(wr_matrix_entries(A[2]) == 0 && wr_matrix_row_ptr(A[2])[2] == 0);
  for (int m = 0; m < 3; m++) wr_matrix_free(A[m]);
}

static void test_wrong_matrices(void) {
  static arrays a;
  wr_matrix *A = NULL;
  double values[2] = {1, (double)NAN};
  const int32_t row[2] = {0, 1}, beyond[2] = {0, 2}, negative[2] = {-1, 0};
  CASE("arrays that are no matrix");
  fill(&a);
  a.col[3] = N;
  CHECK_FAILS(WR_EINPUT, wr_matrix_new_csr(N, N, a.ptr, a.col, a.val, &A));
  CHECK_MESSAGE("wr_matrix_new_csr: col[3], in row 1, is 400; columns are from 0 to 399");
  a.col[3] = -1;
  CHECK_FAILS(WR_EINPUT, wr_matrix_new_csr(N, N, a.ptr, a.col, a.val, &A));
  a.col64[1] = 0;
  CHECK_FAILS(WR_EINPUT, wr_matrix_new_csr64(N, N, a.ptr64, a.col64, a.val, &A));
  CHECK_MESSAGE("row 0 has column 0 behind column 0: columns ascend within a row; wr_matrix_new_coo sorts");
  fill(&a);
  a.ptr[5] = 2;
  CHECK_FAILS(WR_EINPUT, wr_matrix_new_csr(N, N, a.ptr, a.col, a.val, &A));
  CHECK_MESSAGE("row_ptr[5] is 2, less than the one before it");
  a.ptr64[0] = 1;
  CHECK_FAILS(WR_EINPUT, wr_matrix_new_csr64(N, N, a.ptr64, a.col64, a.val, &A));
  CHECK_MESSAGE("row_ptr[0] is 1, not 0");
  a.ptr64[0] = 0, a.col64[7] = INT64_C(1) << 40;
  CHECK_FAILS(WR_EINPUT, wr_matrix_new_csr64(N, N, a.ptr64, a.col64, a.val, &A));
  CHECK_FAILS(WR_EINPUT, wr_matrix_new_coo(2, 2, 2, row, row, values, 0, &A));
  CHECK_MESSAGE("wr_matrix_new_coo: val[1] is nan");
  CHECK_FAILS(WR_EINPUT, wr_matrix_new_coo(2, 2, 2, row, beyond, NULL, 0, &A));
  CHECK_MESSAGE("col[1] is 2; columns are from 0 to 1");
  CHECK_FAILS(WR_EINPUT, wr_matrix_new_coo(2, 2, 2, negative, row, NULL, 0, &A));
  CHECK_MESSAGE("row[0] is -1; rows are from 0 to 1");
  CHECK(A == NULL);
}

static void write_file(const char *path, const char *text) {
  FILE *file = fopen(path, "w");
  CHECKF(file != NULL, "%s cannot be written", path);
  if (file == NULL) return;
  fputs(text, file);
  fclose(file);
}

/* This test may run several times at once. */
static void name_file(char *path, size_t room) {
  snprintf(path, room, "%s/test_windrow.%ld", getenv("BUILD") ? getenv("BUILD") : "build", (long)getpid());
}

/* The choices for edge lists, each with a list that is another matrix, or none, without it. */
static void test_read_lists(void) {
  static const struct {
    const char *text, *columns, *ids, *separator, *header, *id; /* id of row 1 */
    int64_t rows;
  } lists[] = {
      {"07 7\n7 9\n", NULL, NULL, NULL, NULL, "9", 2},
      {"07 7\n7 9\n", NULL, "names", NULL, NULL, "7", 3},
      {"a,b c,d\n", NULL, NULL, "comma", "no", NULL, 0}, /* a third column that is no value */
      {"a,b c\n", NULL, NULL, "comma", "no", "b c", 2},
      {"a,b c\n", NULL, NULL, "blank", NULL, "c", 2},
      {"a;b\n", NULL, NULL, "semicolon", "no", "b", 2},
      {"a\tb c\n", NULL, NULL, "tab", "no", "b c", 2},
      {"from,to\na,b\n", NULL, NULL, "comma", "yes", "b", 2},
      {"from,to\na,b\n", NULL, NULL, "comma", "no", "b", 4},
      {"from to\n1 2\n", NULL, "numbers", NULL, "no", NULL, 0}, /* names, which are refused then */
      {"n,from,to\n1,a,b\n", "to,from", NULL, NULL, "yes", "b", 2},
  };
  wr_read_choice choice;
  char path[4096], id[16];
  name_file(path, sizeof path);
  CASE("reading: choices for edge lists");
  for (size_t k = 0; k < sizeof lists / sizeof *lists; k++) {
    wr_matrix *A = NULL;
    write_file(path, lists[k].text);
    WR_INIT(choice);
    choice.format = "edges", choice.columns = lists[k].columns;
    choice.ids = lists[k].ids, choice.separator = lists[k].separator, choice.header = lists[k].header;
    wr_status status = wr_read_as(path, &choice, &A);
    CHECKF((status == WR_OK) == (lists[k].rows > 0) && wr_matrix_rows(A) == lists[k].rows, "list %zu: %lld rows; %s", k,
           (long long)wr_matrix_rows(A), status == WR_OK ? "" : wr_status_message());
    if (lists[k].id) {
      CHECK_OK(wr_matrix_id(A, 1, id, sizeof id));
      CHECKF(strcmp(id, lists[k].id) == 0, "list %zu: %s", k, id);
    }
    wr_matrix_free(A);
  }
  CASE("reading: a choice of a caller that knows no ids, separator and header");
  wr_matrix *A = NULL;
  write_file(path, "from,to\na,b\n");
  choice = (wr_read_choice){.size = offsetof(wr_read_choice, ids), .format = "edges", .header = "never", .ids = "none"};
  CHECK_OK(wr_read_as(path, &choice, &A));
  CHECK(wr_matrix_rows(A) == 2);
  wr_matrix_free(A);
  CASE("reading: a choice for edge lists, of what is none");
  WR_INIT(choice);
  choice.ids = "names";
  CHECK_FAILS(WR_EUSAGE, wr_read_as("gen:web", &choice, &A));
  CHECK_MESSAGE("are for an edge list only");
  remove(path);
}

static void test_read(void) {
  wr_matrix *A = NULL;
  wr_read_choice choice;
  char id[16], path[4096];
  int64_t i;
  CASE("reading: a generator, ids of an edge list, what cannot be read");
  CHECK_OK(wr_read("gen:stencil:n=4", &A));
  CHECK(wr_matrix_rows(A) == 64);
  CHECK_OK(wr_matrix_id(A, 63, id, sizeof id));
  CHECK(strcmp(id, "64") == 0);
  wr_matrix_free(A);
  name_file(path, sizeof path);
  write_file(path, "100 7 1\n7 35 2\n7 35 3\n");
  WR_INIT(choice);
  choice.format = "edges";
  choice.columns = "2,1";
  CHECK_OK(wr_read_as(path, &choice, &A));
  CHECK(wr_matrix_rows(A) == 3 && wr_matrix_entries(A) == 2); /* 7, 35, 100; 35 -> 7 twice */
  CHECK(wr_matrix_row_ptr(A)[1] == 1 && wr_matrix_col(A)[0] == 2);
  CHECK_OK(wr_matrix_id(A, 1, id, sizeof id));
  CHECK(strcmp(id, "35") == 0);
  CHECK_OK(wr_matrix_find(A, "100", &i));
  CHECK(i == 2);
  CHECK_OK(wr_matrix_find(A, "8", &i));
  CHECK(i == -1);
  CHECK_OK(wr_matrix_find(A, "seven", &i));
  CHECK(i == -1);
  wr_matrix_free(A);
  write_file(path, "a likes \"b c\"\n\"b c\" likes d\n");
  choice.columns = "1,3";
  CHECK_OK(wr_read_as(path, &choice, &A));
  CHECK(wr_matrix_rows(A) == 3 && wr_matrix_entries(A) == 2);
  CHECK_OK(wr_matrix_id(A, 1, id, sizeof id));
  CHECK(strcmp(id, "b c") == 0);
  CHECK_FAILS(WR_EUSAGE, wr_matrix_id(A, 1, id, 3));
  CHECK_OK(wr_matrix_find(A, "d", &i));
  CHECK(i == 2);
  CHECK_OK(wr_matrix_find(A, "1", &i));
  CHECK(i == -1);
  wr_matrix_free(A);
  remove(path);
  CHECK_FAILS(WR_EINPUT, wr_read("/nonexistent/A.mtx", &A));
  CHECK(A == NULL);
  CHECK_MESSAGE("/nonexistent/A.mtx");
  CHECK_FAILS(WR_EUSAGE, wr_read("gen:no_such_family", &A));
}

/* ---- solving ---- */

static void test_solve(void) {
  static arrays a;
  double b[N], x[3][N];
  wr_solve_result r;
  wr_matrix *A = given_matrix();
  wr_solve_options o = {.size = sizeof o, .device = device, .deterministic = 1};
  CASE("one call, and the same from arrays");
  fill(&a);
  right_side(b, N, 1, 0);
  WR_INIT(r);
  CHECK_OK(wr_solve(A, b, x[0], &o, &r));
  CHECK(r.status == WR_OK && r.outcome == WR_CONVERGED && r.verified && r.bound == 1e-8 && r.size == sizeof r);
  CHECKF(residual(A, b, x[0]) <= 1e-8, "%g", residual(A, b, x[0]));
  CHECKF(fabs(r.residual - residual(A, b, x[0])) <= 1e-14 + 1e-6 * r.residual, "%g", r.residual);
  CHECK(is_there(r.backend) && r.method[0] != '\0' && r.device[0] != '\0' && r.iterations > 0);
  CHECK(r.total_seconds > 0 && r.total_seconds >= r.prepare_seconds + r.solve_seconds && r.checked_rows == N);
  CHECK_OK(wr_solve_csr(N, a.ptr, a.col, a.val, b, x[1], &o, &r));
  CHECK_OK(wr_solve_csr64(N, a.ptr64, a.col64, a.val, b, x[2], &o, &r));
  CHECK(memcmp(x[0], x[1], sizeof b) == 0 && memcmp(x[0], x[2], sizeof b) == 0);
  CASE("the answer may take the place of the right-hand side");
  memcpy(x[1], b, sizeof b);
  CHECK_OK(wr_solve(A, x[1], x[1], &o, &r));
  CHECK(memcmp(x[0], x[1], sizeof b) == 0);
  wr_matrix_free(A);
}

/* Each choice in turn, on the same system. */
static void test_choices(void) {
  static const wr_solve_options choices[] = {
      {.method = "bicgstab"}, {.method = "bicgstabl", .ell = 3}, {.method = "idr"}, {.precond = "none"},
      {.precond = "jacobi"}, {.precond = "ilu0"}, {.precond = "ilut:fill=3:drop=1e-2"}, {.scale = "equilibrate"},
      {.scale = "match"}, {.scale = "none", .precond = "jacobi", .method = "idr"}, {.precision = "f32"},
      {.precision = "f32", .tolerance = 1e-10}, {.backend = "reference"}, {.backend = "cpu_csr"},
      {.stop = "backward", .tolerance = 1e-12}, {.verify = "full"}, {.deterministic = 1}, {.threads = 1},
      {.tolerance = 1e-12, .check_every = 4}};
  double b[N], x[N];
  wr_solve_result r;
  wr_matrix *A = given_matrix();
  CASE("each choice of method, preconditioner, scaling, precision");
  right_side(b, N, 1e-3, 3);
  for (size_t k = 0; k < sizeof choices / sizeof *choices; k++) {
    wr_solve_options o = choices[k];
    o.size = sizeof o;
    if (o.backend == NULL) o.device = device;
    WR_INIT(r);
    CHECK_OK(wr_solve(A, b, x, &o, &r));
    double tolerance = o.tolerance > 0 ? o.tolerance : o.precision ? 1e-5 : 1e-8;
    if (o.stop) tolerance = 1e-9; /* a backward error of 1e-12 leaves at most that, with cond(A) < 20 */
    CHECKF(r.outcome == WR_CONVERGED && r.verified, "choice %zu: %s, verified %d", k, wr_outcome_title(r.outcome),
           r.verified);
    CHECKF(residual(A, b, x) <= tolerance, "choice %zu: %g", k, residual(A, b, x));
    if (o.method) CHECKF(strcmp(r.method, o.method) == 0, "%s by %s", o.method, r.method);
    if (o.precond && strcmp(o.precond, "none") != 0 && o.precond[0] == 'i')
      CHECKF(strcmp(r.precond, o.precond) == 0, "%s, not %s", r.precond, o.precond);
  }
  wr_solve_options off = {.size = sizeof off, .device = device, .verify = "off"};
  CHECK_OK(wr_solve(A, b, x, &off, &r));
  CHECK(!r.verified && r.checked_rows == 0 && r.outcome == WR_CONVERGED);
  CASE("what ends a solve early");
  wr_solve_options few = {.size = sizeof few, .device = device, .max_iterations = 2, .tolerance = 1e-14};
  CHECK_OK(wr_solve(A, b, x, &few, &r));
  CHECK(r.outcome == WR_MAX_ITERATIONS && r.iterations == 2 && !r.verified);
  CHECKF(fabs(r.residual - residual(A, b, x)) <= 1e-12, "%g", r.residual);
  wr_solve_options brief = {.size = sizeof brief, .device = device, .time_limit = 1e-9, .tolerance = 1e-14};
  CHECK_OK(wr_solve(A, b, x, &brief, &r));
  CHECK(r.outcome == WR_TIME_LIMIT);
  CASE("atol alone, and a first guess");
  wr_solve_options atol = {.size = sizeof atol, .device = device, .atol = 1e-7};
  CHECK_OK(wr_solve(A, b, x, &atol, &r));
  double norm = 0;
  for (int i = 0; i < N; i++) norm += b[i] * b[i];
  CHECK(r.outcome == WR_CONVERGED && fabs(r.bound - 1e-7 / sqrt(norm)) < 1e-9 * r.bound);
  CHECK(residual(A, b, x) * sqrt(norm) <= 1e-7);
  wr_solve_options again = {.size = sizeof again, .device = device, .x0 = x, .tolerance = 1e-3};
  CHECK_OK(wr_solve(A, b, x, &again, &r));
  CHECK(r.outcome == WR_CONVERGED && r.iterations == 0);
  wr_matrix_free(A);
}

static void test_wrong_systems(void) {
  const int32_t ptr[3] = {0, 2, 2}, col[2] = {0, 1};
  const double val[2] = {1, 2};
  double b[3] = {1, 0, 0}, x[3] = {7, 7, 7}, guess[2] = {0, (double)NAN};
  wr_solve_result r;
  wr_matrix *A = NULL;
  CASE("systems without an answer, and numbers that are none");
  WR_INIT(r);
  CHECK_OK(wr_matrix_new_csr(2, 3, ptr, col, val, &A));
  CHECK_FAILS(WR_EINPUT, wr_solve(A, b, x, NULL, &r));
  CHECK_MESSAGE("wr_solve: a linear system needs a square matrix, not 2 x 3");
  CHECK(r.status == WR_EINPUT && r.outcome == WR_NOT_SOLVED && strcmp(r.note, wr_status_message()) == 0);
  WR_INIT(r);
  CHECK_FAILS(WR_EUSAGE, wr_solve(A, NULL, x, NULL, &r));
  CHECK(r.status == WR_EUSAGE && r.outcome == WR_NOT_SOLVED && strstr(r.note, "b is NULL") != NULL);
  WR_INIT(r);
  CHECK_FAILS(WR_EUSAGE, wr_solver_solve(NULL, b, NULL, x, &r));
  CHECK(r.status == WR_EUSAGE && r.outcome == WR_NOT_SOLVED);
  WR_INIT(r);
  CHECK_FAILS(WR_EUSAGE, wr_solver_solve_many(NULL, 1, b, 3, x, 3, &r));
  CHECK(r.status == WR_EUSAGE && r.outcome == WR_NOT_SOLVED);
  WR_INIT(r);
  CHECK_FAILS(WR_EUSAGE, wr_solve_csr(0, ptr, col, val, b, x, NULL, &r));
  CHECK(r.status == WR_EUSAGE && r.outcome == WR_NOT_SOLVED);
  wr_matrix_free(A);
  b[1] = (double)NAN;
  CHECK_FAILS(WR_EINPUT, wr_solve_csr(2, ptr, col, val, b, x, NULL, &r));
  CHECK_MESSAGE("the right-hand side: element 1 is nan");
  CHECK(r.outcome == WR_NOT_SOLVED);
  b[1] = 1;
  CHECK_FAILS(WR_EINPUT, wr_solve_csr(2, ptr, col, val, b, x, NULL, &r)); /* row 1 is empty */
  wr_solve_options o = {.size = sizeof o, .x0 = guess};
  b[1] = 0;
  CHECK_FAILS(WR_EINPUT, wr_solve_csr(2, ptr, col, val, b, x, &o, &r));
  CHECK_MESSAGE("the first guess: element 1 is nan");
  CHECK(x[0] == 7 && x[1] == 7);
  CASE("x that may be useless");
  const int32_t each_ptr[3] = {0, 1, 2};
  const double uneven[2] = {1e300, 1}, of_ones[2] = {1e300, 1};
  CHECK_OK(wr_solve_csr(2, each_ptr, col, uneven, of_ones, x, NULL, &r));
  CHECKF(r.outcome == WR_CONVERGED && r.doubtful && strstr(r.note, "the backward error is ") != NULL &&
             strstr(r.note, ": x may be useless") != NULL,
         "%s, x2 = %g", r.note, x[1]);
  CHECK_OK(wr_solve_csr(2, each_ptr, col, uneven, of_ones, x, &(wr_solve_options){.size = sizeof o, .stop = "backward"},
                        &r));
  CHECKF(r.outcome == WR_CONVERGED && !r.doubtful && r.note[0] == '\0' && x[1] > 1 - 1e-7 && x[1] < 1 + 1e-7, "%s, %g",
         r.note, x[1]);
  CASE("one unknown, and values far from 1");
  for (double value = 1e-200; value < 1e201; value *= 1e100) {
    const int32_t one_ptr[2] = {0, 1}, one_col[1] = {0};
    b[0] = 3;
    CHECK_OK(wr_solve_csr(1, one_ptr, one_col, &value, b, x, NULL, &r));
    CHECKF(r.outcome == WR_CONVERGED && fabs(x[0] * value / 3 - 1) <= 1e-8, "%g: x is %g", value, x[0]);
  }
  CASE("a singular matrix is an outcome");
  const int32_t two_ptr[3] = {0, 2, 4}, two_col[4] = {0, 1, 0, 1};
  const double ones[4] = {1, 1, 1, 1};
  b[0] = 1, b[1] = 2;
  CHECK_OK(wr_solve_csr(2, two_ptr, two_col, ones, b, x, NULL, &r));
  CHECK(r.outcome != WR_CONVERGED && !r.verified && r.note[0] != '\0');
}

/* ---- one matrix, several right-hand sides ---- */

static void test_solver(void) {
  static const char *const preconds[] = {NULL, "none", "jacobi", "ilu0", "ilut"};
  static const char *const scales[] = {NULL, "none", "equilibrate", "match"};
  static const double sizes[] = {1, 1e-150, 1e150, 0, 3};
  double b[N], x[N];
  CASE("a prepared system, of which the matrix is freed before");
  for (int k = 0; k < 20; k++) {
    wr_solve_options o = {.size = sizeof o, .device = device, .precond = preconds[k % 5], .scale = scales[k / 5]};
    wr_solver *s = NULL;
    wr_matrix *A = given_matrix(), *same = given_matrix();
    CHECK_OK(wr_solver_new(A, &o, &s));
    wr_matrix_free(A);
    for (int j = 0; j < 5; j++) {
      wr_solve_result r;
      WR_INIT(r);
      right_side(b, N, sizes[j], j);
      CHECK_OK(wr_solver_solve(s, b, NULL, x, &r));
      CHECKF(r.outcome == WR_CONVERGED && r.verified && residual(same, b, x) <= 1e-8, "%s, %s, %g: %s, %g",
             preconds[k % 5] ? preconds[k % 5] : "auto", scales[k / 5] ? scales[k / 5] : "auto", sizes[j],
             wr_outcome_title(r.outcome), residual(same, b, x));
    }
    wr_solver_free(s);
    wr_matrix_free(same);
  }
}

static void test_solver_guess(void) {
  double b[N], x[N];
  wr_solver *s = NULL;
  wr_solve_result r;
  wr_matrix *A = given_matrix();
  CASE("a first guess for each call; a failure leaves the solver usable");
  wr_solve_options o = {.size = sizeof o, .device = device};
  WR_INIT(r);
  CHECK_OK(wr_solver_new(A, &o, &s));
  right_side(b, N, 1, 0);
  CHECK_OK(wr_solver_solve(s, b, NULL, x, &r));
  CHECK_OK(wr_solver_solve(s, b, x, x, &r));
  CHECK(r.iterations == 0 && r.outcome == WR_CONVERGED);
  b[7] = (double)INFINITY;
  CHECK_FAILS(WR_EINPUT, wr_solver_solve(s, b, NULL, x, &r));
  CHECK(r.status == WR_EINPUT);
  right_side(b, N, 1, 5);
  CHECK_OK(wr_solver_solve(s, b, NULL, x, &r));
  CHECK(r.status == WR_OK && residual(A, b, x) <= 1e-8);
  wr_solver_free(s);
  wr_matrix_free(A);
}

enum { COLUMNS = 4, LD = N + 3 };

/* With results of a caller whose struct is longer than the library's. */
typedef struct longer_result {
  wr_solve_result known;
  char more[24];
} longer_result;

static void test_many(void) {
  static double b[COLUMNS * LD], x[COLUMNS * LD];
  longer_result r[COLUMNS];
  wr_solver *s = NULL;
  wr_trace *trace = NULL;
  wr_matrix *A = given_matrix();
  CASE("several right-hand sides at once, of which one fails");
  CHECK_OK(wr_trace_new(&trace));
  wr_solve_options o = {.size = sizeof o, .device = device, .trace = trace};
  CHECK_OK(wr_solver_new(A, &o, &s));
  for (int j = 0; j < COLUMNS; j++) right_side(b + j * LD, LD, 1 + j, j), x[j * LD + N] = 7;
  b[2 * LD + 5] = (double)NAN;
  memset(r, 7, sizeof r);
  r[0].known.size = sizeof *r;
  CHECK_FAILS(WR_EINPUT, wr_solver_solve_many(s, COLUMNS, b, LD, x, LD, &r[0].known));
  CHECK_MESSAGE("element 5 is nan");
  for (int j = 0; j < COLUMNS; j++) {
    CHECK(r[j].known.size == sizeof *r && r[j].more[0] == 7 && x[j * LD + N] == 7);
    CHECK(r[j].known.status == (j == 2 ? WR_EINPUT : WR_OK));
    if (j == 2) CHECK(strstr(r[j].known.note, "element 5 is nan") != NULL && wr_trace_get(trace, j, NULL, NULL) == 0);
    CHECK(j != 2 || (r[j].known.outcome == WR_NOT_SOLVED && !r[j].known.verified));
    if (j == 2) continue;
    CHECK(r[j].known.outcome == WR_CONVERGED && r[j].known.verified && residual(A, b + j * LD, x + j * LD) <= 1e-8);
    CHECK(wr_trace_get(trace, j, NULL, NULL) > 0);
  }
  CHECK(wr_trace_get(trace, COLUMNS, NULL, NULL) == 0);
  wr_solver_free(s);
  wr_trace_free(trace);
  wr_matrix_free(A);
}

/* ---- structs that grow ---- */

typedef struct longer_options {
  wr_solve_options known;
  int64_t more;
} longer_options;

static void test_sizes(void) {
  double b[N], x[N];
  longer_options later;
  wr_solve_options earlier = {.size = offsetof(wr_solve_options, atol), .tolerance = 1e-3, .atol = -1, .threads = -5};
  wr_solve_result r;
  wr_matrix *A = given_matrix();
  right_side(b, N, 1, 0);
  CASE("options of an older caller: what it does not know has its default");
  WR_INIT(r);
  CHECK_OK(wr_solve(A, b, x, &earlier, &r));
  CHECK(r.bound == 1e-3 && r.outcome == WR_CONVERGED);
  CASE("results of an older caller: nothing behind its struct is written");
  memset(&r, 7, sizeof r);
  r.size = offsetof(wr_solve_result, residual);
  CHECK_OK(wr_solve(A, b, x, NULL, &r));
  CHECK(r.outcome == WR_CONVERGED && r.size == offsetof(wr_solve_result, residual));
  const char *behind = (const char *)&r + offsetof(wr_solve_result, residual);
  int touched = 0;
  for (size_t k = 0; k < sizeof r - offsetof(wr_solve_result, residual); k++) touched += behind[k] != 7;
  CHECK(touched == 0);
  CASE("options of a newer caller: taken if what is not known here is 0");
  memset(&later, 0, sizeof later);
  later.known.size = sizeof later, later.known.tolerance = 1e-3;
  WR_INIT(r);
  CHECK_OK(wr_solve(A, b, x, &later.known, &r));
  CHECK(r.bound == 1e-3);
  later.more = 1;
  CHECK_FAILS(WR_EUSAGE, wr_solve(A, b, x, &later.known, &r));
  CHECK_MESSAGE("options has members that windrow " WR_VERSION " does not know");
  wr_matrix_free(A);
}

/* ---- callbacks ---- */

typedef struct heard {
  int calls, most, sentences, fails;
  int64_t last;
  int descends;
} heard;

static int stop_after(void *context, int64_t iteration, double measure, double target) {
  heard *h = context;
  if (iteration < 0) return 0;
  if (iteration < h->last) h->descends = 1;
  h->last = iteration;
  return (void)measure, (void)target, ++h->calls == h->most;
}

static void count_sentences(void *context, const char *sentence) {
  heard *h = context;
  h->sentences += sentence[0] != '\0';
}

static wr_status divide_by_diagonal(void *context, int64_t n, const double *r, double *z) {
  heard *h = context;
  if (h->fails > 0 && ++h->calls == h->fails) return wr_fail(WR_ENUMERIC, "the third call fails");
  if (h->fails < 0) return WR_EDEVICE;
  for (int64_t i = 0; i < n; i++) z[i] = r[i] / (double)(4 + i % 3);
  h->most++;
  return WR_OK;
}

static void test_callbacks(void) {
  double b[N], x[N];
  heard h = {.most = 3};
  wr_solve_result r;
  wr_trace *trace = NULL;
  const int64_t *iterations;
  const double *residuals;
  wr_matrix *A = given_matrix();
  right_side(b, N, 1, 0);
  CHECK_OK(wr_trace_new(&trace));
  CASE("progress may stop a solve; what was found so far is the answer");
  wr_solve_options o = {.size = sizeof o, .device = device, .trace = trace,
                        .progress = stop_after, .log = count_sentences, .context = &h,
                        .check_every = 1, .tolerance = 1e-14};
  WR_INIT(r);
  CHECK_OK(wr_solve(A, b, x, &o, &r));
  int64_t kept = wr_trace_get(trace, 0, &iterations, &residuals);
  CHECK(kept >= 3 && iterations[2] > iterations[0] && residuals[0] > 0 && !h.descends && h.sentences >= 2);
  if (strcmp(device, "cpu") == 0) /* a GPU may have converged before the host looks */
    CHECK(r.outcome == WR_INTERRUPTED && h.calls == 3 && kept == 3 && !r.verified);
  CHECKF(fabs(r.residual - residual(A, b, x)) <= 1e-12 && r.residual < 1, "%g", r.residual);
  CASE("a preconditioner of the caller's: Jacobi's, which takes about as many iterations as the library's");
  o = (wr_solve_options){
      .size = sizeof o, .device = device, .method = "bicgstab", .precond = "jacobi", .scale = "none"};
  CHECK_OK(wr_solve(A, b, x, &o, &r));
  int64_t expected = r.iterations;
  h = (heard){.fails = 0};
  o = (wr_solve_options){
      .size = sizeof o, .device = device, .method = "bicgstab", .precondition = divide_by_diagonal, .context = &h};
  for (int f32 = 0; f32 < 2; f32++) {
    o.precision = f32 ? "f32" : "f64";
    CHECK_OK(wr_solve(A, b, x, &o, &r));
    CHECK(r.outcome == WR_CONVERGED && residual(A, b, x) <= (f32 ? 1e-5 : 1e-8) && h.most >= 2 * r.iterations);
    if (!f32) CHECKF(r.iterations >= expected - 2 && r.iterations <= expected + 2, "%d iterations", (int)r.iterations);
  }
  CASE("one that fails ends the solve with its sentence");
  h = (heard){.fails = 3};
  CHECK_FAILS(WR_ENUMERIC, wr_solve(A, b, x, &o, &r));
  CHECK_MESSAGE("the third call fails");
  h = (heard){.fails = -1};
  CHECK_FAILS(WR_EDEVICE, wr_solve(A, b, x, &o, &r));
  CHECK_MESSAGE("options->precondition returned WR_EDEVICE");
  CASE("it is for A as given, and the only one");
  o.precond = "jacobi";
  CHECK_FAILS(WR_EUSAGE, wr_solve(A, b, x, &o, &r));
  o.precond = NULL, o.scale = "match";
  CHECK_FAILS(WR_EUSAGE, wr_solve(A, b, x, &o, &r));
  wr_trace_free(trace);
  wr_matrix_free(A);
}

/* ---- PageRank ---- */

enum { PAGES = 6 };
static const int32_t from[] = {0, 0, 1, 2, 3, 3, 4}, to[] = {1, 2, 2, 0, 2, 5, 2};
static const double weights[] = {1, 3, 2, 1, 1, 5, 2};
enum { LINKS = sizeof from / sizeof *from };

/* By the power method, long enough to leave nothing but rounding. */
static void plain_ranks(const double *weight, int reversed, double d, const double *v, double *r) {
  double out[PAGES] = {0}, next[PAGES];
  for (int k = 0; k < LINKS; k++) out[reversed ? to[k] : from[k]] += weight ? weight[k] : 1;
  for (int i = 0; i < PAGES; i++) r[i] = v[i];
  for (int step = 0; step < 2000; step++) {
    double lost = 0;
    for (int i = 0; i < PAGES; i++) lost += out[i] == 0 ? r[i] : 0;
    for (int i = 0; i < PAGES; i++) next[i] = (1 - d + d * lost) * v[i];
    for (int k = 0; k < LINKS; k++) {
      int a = reversed ? to[k] : from[k], b = reversed ? from[k] : to[k];
      next[b] += d * r[a] * (weight ? weight[k] : 1) / out[a];
    }
    memcpy(r, next, sizeof next);
  }
}

static void test_rank(void) {
  static const double equal[PAGES] = {1. / 6, 1. / 6, 1. / 6, 1. / 6, 1. / 6, 1. / 6};
  static const double some[PAGES] = {0, 0.75, 0, 0, 0.25, 0}, some_given[PAGES] = {0, 6, 0, 0, 2, 0};
  static const struct {
    wr_rank_options options;
    int weighted;
  } cases[] = {{{.damping = 0}, 0}, {{.damping = 0.5}, 1}, {{.links_are_in = 1}, 1}, {{.personalize = some_given}, 1},
               {{.precision = "f32"}, 0}, {{.precision = "mixed", .tolerance = 1e-12}, 1}, {{.method = "power"}, 0},
               {{.method = "idr", .tolerance = 1e-12}, 1}, {{.method = "gauss-seidel"}, 1}, {{.stop = "change"}, 0},
               {{.start = some_given, .threads = 1, .deterministic = 1, .verify = "full"}, 0},
               {{.backend = "reference", .device = "cpu", .check_every = 2}, 1}};
  CASE("PageRank by each choice, with the bound that it proves");
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    wr_rank_options o = cases[k].options;
    wr_rank_result r;
    wr_matrix *A = NULL;
    double scores[PAGES], exact[PAGES], error = 0, sum = 0;
    o.size = sizeof o;
    if (o.backend == NULL && !(o.method && strcmp(o.method, "gauss-seidel") == 0)) o.device = device;
    WR_INIT(r);
    CHECK_OK(wr_matrix_new_coo(PAGES, PAGES, LINKS, from, to, cases[k].weighted ? weights : NULL, 0, &A));
    CHECK_OK(wr_rank(A, scores, &o, &r));
    plain_ranks(cases[k].weighted ? weights : NULL, o.links_are_in, o.damping > 0 ? o.damping : 0.85,
                o.personalize ? some : equal, exact);
    for (int i = 0; i < PAGES; i++) error += fabs(scores[i] - exact[i]), sum += scores[i];
    CHECKF(r.outcome == WR_CONVERGED && r.verified, "case %zu: %s", k, wr_outcome_title(r.outcome));
    CHECKF(error <= r.bound && fabs(sum - 1) <= 1e-6, "case %zu: error %g, bound %g, sum %g", k, error, r.bound, sum);
    double tolerance = o.tolerance > 0 ? o.tolerance : o.precision ? 1e-5 : 1e-9;
    CHECKF(o.stop || r.bound <= tolerance, "case %zu: bound %g", k, r.bound);
    CHECK(r.dangling == (o.links_are_in ? 2 : 1) && r.method[0] && r.backend[0] && r.total_seconds > 0);
    wr_matrix_free(A);
  }
}

static void test_rank_more(void) {
  double scores[PAGES], wrong[PAGES] = {1, 1, -1, 1, 1, 1};
  int64_t best[3];
  const double negative[LINKS] = {1, 1, -2, 1, 1, 1, 1};
  heard h = {.most = 2};
  wr_rank_result r;
  wr_trace *trace = NULL;
  wr_matrix *A = NULL;
  WR_INIT(r);
  CASE("PageRank: callbacks, the best nodes, what is refused");
  CHECK_OK(wr_trace_new(&trace));
  CHECK_OK(wr_matrix_new_coo(PAGES, PAGES, LINKS, from, to, NULL, 0, &A));
  wr_rank_options o = {.size = sizeof o, .device = device, .trace = trace,
                       .progress = stop_after, .log = count_sentences, .context = &h,
                       .method = "power", .check_every = 1};
  CHECK_OK(wr_rank(A, scores, &o, &r));
  CHECK(h.sentences >= 2 && wr_trace_get(trace, 0, NULL, NULL) >= 2);
  if (strcmp(device, "cpu") == 0)
    CHECK(r.outcome == WR_INTERRUPTED && h.calls == 2 && wr_trace_get(trace, 0, NULL, NULL) == 2);
  CHECK_OK(wr_rank(A, scores, NULL, &r));
  CHECK_OK(wr_rank_best(scores, PAGES, 3, best));
  CHECK(best[0] == 2 && scores[best[0]] >= scores[best[1]] && scores[best[1]] >= scores[best[2]]);
  o = (wr_rank_options){.size = sizeof o, .personalize = wrong};
  CHECK_FAILS(WR_EINPUT, wr_rank(A, scores, &o, &r));
  wrong[2] = (double)NAN;
  CHECK_FAILS(WR_EINPUT, wr_rank(A, scores, &o, &r));
  o = (wr_rank_options){.size = sizeof o, .method = "chebyshev"};
  CHECK_FAILS(WR_EUSAGE, wr_rank(A, scores, &o, &r)); /* not symmetric */
  wr_matrix_free(A);
  CHECK_OK(wr_matrix_new_coo(PAGES, PAGES, LINKS, from, to, negative, 0, &A));
  CHECK_FAILS(WR_EINPUT, wr_rank(A, scores, NULL, &r));
  wr_matrix_free(A);
  CHECK_OK(wr_matrix_new_coo(PAGES, PAGES + 1, LINKS, from, to, NULL, 0, &A));
  CHECK_FAILS(WR_EINPUT, wr_rank(A, scores, NULL, &r));
  CHECK_MESSAGE("wr_rank: a graph needs a square matrix, not 6 x 7");
  wr_matrix_free(A);
  wr_trace_free(trace);
}

/* Each set against the power method here; the sum over nodes of |score - exact| is at most the bound. */
static void test_rank_many(void) {
  enum { SETS = 11 };
  int64_t first[SETS + 1] = {0}, node[2 * SETS], best[SETS * PAGES];
  double weight[2 * SETS], scores[SETS * PAGES], bounds[SETS];
  wr_rank_result r;
  wr_matrix *A = NULL;
  CASE("PageRank for many teleport sets");
  for (int k = 0; k < SETS; k++) { /* one node, or two */
    int64_t at = first[k];
    node[at] = k % PAGES, weight[at] = 3, first[k + 1] = at + 1;
    if (k % 2) node[at + 1] = (k + 2) % PAGES, weight[at + 1] = k, first[k + 1] = at + 2;
  }
  CHECK_OK(wr_matrix_new_coo(PAGES, PAGES, LINKS, from, to, weights, 0, &A));
  for (int f32 = 0; f32 < 2; f32++) {
    wr_rank_options o = {.size = sizeof o, .device = device, .precision = f32 ? "f32" : NULL, .verify = "full"};
    WR_INIT(r);
    CHECK_OK(wr_rank_many(A, SETS, first, node, weight, PAGES, best, scores, bounds, &o, &r));
    CHECK(r.outcome == WR_CONVERGED && r.verified && r.iterations > 0 && strcmp(r.method, "power") == 0);
    for (int k = 0; k < SETS; k++) {
      double v[PAGES] = {0}, exact[PAGES], sum = 0, error = 0;
      for (int64_t p = first[k]; p < first[k + 1]; p++) sum += weight[p];
      for (int64_t p = first[k]; p < first[k + 1]; p++) v[node[p]] = weight[p] / sum;
      plain_ranks(weights, 0, 0.85, v, exact);
      int is_sorted = 1;
      for (int i = 0; i < PAGES; i++) {
        int64_t place = best[k * PAGES + i];
        if (place < 0) continue; /* a node without a score */
        error += fabs(scores[k * PAGES + i] - exact[place]), exact[place] = 0;
        if (i > 0) is_sorted &= scores[k * PAGES + i] <= scores[k * PAGES + i - 1];
      }
      for (int i = 0; i < PAGES; i++) error += exact[i]; /* of nodes that are not named */
      CHECKF(error <= bounds[k] && bounds[k] <= (f32 ? 1e-5 : 1e-9) && bounds[k] <= r.bound && is_sorted,
             "set %d: error %g, bound %g", k, error, bounds[k]);
    }
  }
  CASE("sets that are none, and a time limit");
  wr_rank_options o = {.size = sizeof o, .device = device};
  node[0] = PAGES;
  CHECK_FAILS(WR_EINPUT, wr_rank_many(A, SETS, first, node, NULL, 2, best, scores, NULL, &o, &r));
  node[0] = 0, first[1] = 0;
  CHECK_FAILS(WR_EINPUT, wr_rank_many(A, SETS, first, node, NULL, 2, best, scores, NULL, &o, &r));
  first[1] = 1, o.time_limit = 1e-9;
  CHECK_OK(wr_rank_many(A, SETS, first, node, NULL, 2, best, scores, bounds, &o, &r));
  CHECK(r.outcome == WR_TIME_LIMIT && !r.verified && isinf(r.bound));
  wr_matrix_free(A);
}

/* ---- multiplying ---- */

static void test_operator(void) {
  static const wr_operator_options choices[] = {{.threads = 0}, {.precision = "f32"}, {.backend = "reference"},
                                                {.backend = "cpu_csr", .deterministic = 1, .threads = 2}};
  const int32_t row[] = {0, 0, 1, 1}, col[] = {0, 2, 1, 2};
  const double val[] = {1, 2, 3, 4}, x[] = {1, 10, 100};
  CASE("y = alpha A x + beta y, rectangular, with values and without");
  for (size_t k = 0; k < sizeof choices / sizeof *choices; k++)
    for (int pattern = 0; pattern < 2; pattern++) {
      wr_operator_options o = choices[k];
      wr_operator *op = NULL;
      wr_matrix *A = NULL;
      double y[2] = {(double)NAN, (double)NAN}, expected[2] = {pattern ? 101 : 201, pattern ? 110 : 430};
      o.size = sizeof o;
      if (o.backend == NULL) o.device = device;
      CHECK_OK(wr_matrix_new_coo(2, 3, 4, row, col, pattern ? NULL : val, 0, &A));
      CHECK_OK(wr_operator_new(A, &o, &op));
      wr_matrix_free(A);
      CHECK_OK(wr_operator_apply(op, 1, x, 0, y));
      CHECKF(y[0] == expected[0] && y[1] == expected[1], "%g %g", y[0], y[1]);
      CHECK_OK(wr_operator_apply(op, 2, x, -1, y));
      CHECKF(y[0] == expected[0] && y[1] == expected[1], "%g %g", y[0], y[1]);
      wr_operator_free(op);
    }
}

/* ---- threads ---- */

static void *solve_in_thread(void *matrix) {
  double b[N], x[N];
  wr_solve_result r;
  right_side(b, N, 1, 0);
  WR_INIT(r);
  long good = 0;
  for (int k = 0; k < 20; k++) good += wr_solve(matrix, b, x, NULL, &r) == WR_OK && r.outcome == WR_CONVERGED;
  return (void *)good;
}

static void test_threads(void) {
  pthread_t threads[3];
  wr_matrix *A = given_matrix();
  CASE("threads that solve with one matrix");
  for (int k = 0; k < 3; k++) CHECK(pthread_create(&threads[k], NULL, solve_in_thread, A) == 0);
  for (int k = 0; k < 3; k++) {
    void *good = NULL;
    CHECK(pthread_join(threads[k], &good) == 0 && (long)good == 20);
  }
  wr_matrix_free(A);
}

static void test_abilities(void) {
  int cpu_csr = 0;
  CASE("what the library can do");
  for (int k = 0; wr_backend_name(k); k++) cpu_csr += strcmp(wr_backend_name(k), "cpu_csr") == 0;
  CHECK(cpu_csr == 1);
  CHECK_OK(wr_backend_check("cpu_csr"));
  wr_status status = wr_backend_check("merbit:sigma=11");
  CHECK(status == WR_OK || (status == WR_EUNAVAILABLE && wr_status_message()[0]));
  CHECK(wr_built_with("cuda") || status == WR_EUNAVAILABLE);
#ifdef WR_HAVE_ZLIB
  CHECK(wr_built_with("zlib"));
#else
  CHECK(!wr_built_with("zlib"));
#endif
#ifdef WR_HAVE_XZ
  CHECK(wr_built_with("xz"));
#else
  CHECK(!wr_built_with("xz"));
#endif
}

/* Those that compute at a place. */
static void test_at(const char *place) {
  device = place;
  test_solve();
  test_choices();
  test_solver();
  test_solver_guess();
  test_many();
  test_callbacks();
  test_rank();
  test_rank_more();
  test_rank_many();
  test_operator();
}

int main(void) {
  test_matrices();
  test_wrong_matrices();
  test_read();
  test_read_lists();
  test_wrong_systems();
  test_sizes();
  test_threads();
  test_abilities();
  test_at("cpu");
  CASE("on a GPU");
  if (wr_backend_check("merbit") == WR_OK)
    test_at("cuda");
  else
    SKIP("%s", wr_status_message());
  return wr_test_report("windrow");
}
