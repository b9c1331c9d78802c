/* Systems in parts, which are threads here, as the program solves them: rows matched to columns, equilibration, and --precond
 * auto, all parts of which decide alike also where one of them fails. Residuals are computed from the whole matrix. */
#define _DEFAULT_SOURCE /* pthread_barrier_t */
#include "solvers/api/solving.h"
#include "spmv/parts/halo.h"
#include "tests/solvers/solve_fixture.h"
#include "tests/spmv/thread_comm.h"

enum { NOWHERE = -1 };

/* What the parts share. */
typedef struct scene {
  const wr_csr *A; /* whole */
  wr_scale scale;
  int64_t iterations; /* 0: those of the program; -1: nothing is solved           */
  int poor;           /* the part that has no memory once it iterates, ...        */
  int size;
  int64_t starts[MOST_PARTS + 1];
  /* found: of each part, and of the whole */
  wr_status status[MOST_PARTS];
  char message[MOST_PARTS][300];
  wr_result result[MOST_PARTS];
  wr_run_precond report[MOST_PARTS];
  wr_auto_precond chosen[MOST_PARTS]; /* its pointers are of no use */
  wr_scale done[MOST_PARTS];
  char sentence[MOST_PARTS][240];
  int64_t *row_of;
  int *row_exponent, *column_exponent; /* [n] */
  double *x;
} scene;

static scene scene_of(const wr_csr *A, wr_scale scale, int size) {
  scene s = {.A = A, .scale = scale, .poor = NOWHERE, .size = size};
  int64_t n = A->nrows;
  for (int r = 0; r <= size; r++) s.starts[r] = r * n / size;
  s.row_of = room_for(n, sizeof *s.row_of), s.x = room_for(n, sizeof *s.x);
  s.row_exponent = room_for(2 * n, sizeof *s.row_exponent), s.column_exponent = s.row_exponent + n;
  return s;
}

static void scene_free(scene *s) { free(s->row_of), free(s->x), free(s->row_exponent); }

static wr_status take_rows(wr_comm *comm, const scene *s, wr_csr **part) {
  const wr_csr *A = s->A;
  int64_t first = s->starts[comm->rank], rows = s->starts[comm->rank + 1] - first, begin = A->row_ptr[first];
  PASS(wr_csr_create(rows, A->ncols, A->row_ptr[first + rows] - begin, 1, part));
  for (int64_t i = 0; i <= rows; i++) (*part)->row_ptr[i] = A->row_ptr[first + i] - begin;
  memcpy((*part)->col, A->col + begin, (size_t)(*part)->nnz * sizeof *A->col);
  memcpy((*part)->val, A->val + begin, (size_t)(*part)->nnz * sizeof *A->val);
  return wr_halo_make(comm, s->starts, NULL, *part);
}

static void keep_scaling(scene *s, int rank, const wr_system *system) {
  int64_t first = s->starts[rank];
  s->done[rank] = system->scaling.done;
  snprintf(s->sentence[rank], sizeof s->sentence[rank], "%s", system->scaling.sentence);
  for (int64_t j = 0; j < system->n; j++) s->row_of[first + j] = first + wr_system_row(system, j);
  if (system->scaling.done == WR_SCALE_NONE) return;
  memcpy(s->row_exponent + first, system->scaling.row_exponent, (size_t)system->n * sizeof(int));
  memcpy(s->column_exponent + first, system->scaling.column_exponent, (size_t)system->n * sizeof(int));
}

/* ... for this; set before the parts begin. */
static const char *refused;
static wr_status (*allocate)(wr_env *env, int64_t n, wr_type type, const char *what, wr_vec *v);

static wr_status refuse(wr_env *env, int64_t n, wr_type type, const char *what, wr_vec *v) {
  if (strcmp(what, refused) == 0) return wr_fail(WR_ENOMEM, "out of memory: %s, as the test asks for", what);
  return allocate(env, n, type, what, v);
}

static wr_status solve_part(wr_comm *comm, scene *s, wr_csr *part, wr_env *env, wr_system *system, wr_plan **plan,
                            wr_solving *solving) {
  int rank = comm->rank;
  const wr_backend *backend;
  const wr_monitor monitor = {.comm = comm};
  wr_solving_options options = {.scale = s->scale, .iterate.iterations = s->iterations > 0 ? s->iterations : 0};
  PASS(wr_solving_choose_precond(NULL, &options));
  wr_solving_complete(&options, WR_F64);
  PASS(wr_solving_begin(&options, part, NULL, NULL, 0, 0, NULL, system));
  PASS(wr_solving_finish(system, NULL));
  keep_scaling(s, rank, system);
  if (s->iterations < 0) return WR_OK;
  PASS(wr_backend_find("cpu_csr", &backend));
  PASS(wr_comm_agree(comm, wr_plan_create(backend, NULL, system->matrix, env, plan)));
  PASS(wr_comm_agree(comm, wr_plan_prepare(*plan)));
  PASS(wr_comm_agree(comm, wr_solving_open(solving, &options, system, *plan, env)));
  PASS(wr_comm_agree(comm, wr_solving_precondition(solving, &monitor, &s->report[rank])));
  if (rank == s->poor) allocate = env->ops->alloc, ((wr_vecops *)(uintptr_t)env->ops)->alloc = refuse; /* its own table */
  PASS(wr_solving_run(solving, &monitor, &s->result[rank]));
  s->chosen[rank] = solving->chosen;
  return wr_solving_answer(solving, s->x + s->starts[rank]);
}

static void work(wr_comm *comm, void *context) {
  scene *s = context;
  int rank = comm->rank;
  wr_csr *part = NULL;
  wr_env env = {.type = WR_F64, .threads = 1, .deterministic = 1, .comm = comm};
  wr_system system = {0};
  wr_plan *plan = NULL;
  wr_solving solving = {0};
  omp_set_num_threads(1);
  s->status[rank] = wr_comm_agree(comm, wr_env_open(&env));
  if (s->status[rank] == WR_OK) s->status[rank] = take_rows(comm, s, &part);
  if (s->status[rank] == WR_OK) s->status[rank] = solve_part(comm, s, part, &env, &system, &plan, &solving);
  if (s->status[rank] != WR_OK) snprintf(s->message[rank], sizeof *s->message, "%s", wr_status_message());
  wr_solving_close(&solving);
  wr_plan_destroy(plan);
  wr_system_free(&system);
  wr_csr_free(part);
  wr_env_close(&env);
}

/* ||b - A x|| / ||b|| for b = A times ones. */
static double residual(const scene *s) {
  const wr_csr *A = s->A;
  long double squares = 0, of_b = 0;
  for (int64_t i = 0; i < A->nrows; i++) {
    long double r = 0, b = 0;
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++)
      r += (long double)A->val[k] * (1 - (long double)s->x[A->col[k]]), b += (long double)A->val[k];
    squares += r * r, of_b += b * b;
  }
  return (double)sqrtl(squares / of_b);
}

/* Solves, or scales alone; all parts have done the same. */
static void run(scene *s) {
  in_parts(s->size, work, s);
  for (int r = 0; r < s->size; r++) {
    const wr_result *a = &s->result[0], *b = &s->result[r];
    CHECKF(s->status[r] == WR_OK, "part %d of %d: %s", r, s->size, s->message[r]);
    CHECKF(s->done[r] == s->done[0] && strcmp(s->sentence[r], s->sentence[0]) == 0, "'%s', not '%s'", s->sentence[r],
           s->sentence[0]);
    CHECKF(a->outcome == b->outcome && a->iterations == b->iterations && a->multiplies == b->multiplies &&
               strcmp(a->changes, b->changes) == 0,
           "part %d: %lld iterations, '%s', not %lld, '%s'", r, (long long)b->iterations, b->changes,
           (long long)a->iterations, a->changes);
    const wr_auto_precond *c = &s->chosen[0], *d = &s->chosen[r];
    CHECKF(c->state == d->state && c->worth == d->worth && c->share == d->share && !c->jacobi == !d->jacobi &&
               !c->ilu == !d->ilu && !c->ilut == !d->ilut && c->is_refused == d->is_refused &&
               c->has_no_ilut == d->has_no_ilut,
           "part %d has chosen otherwise: '%s', not '%s'", r, s->report[r].line, s->report[0].line);
  }
  if (s->iterations >= 0 && s->status[0] == WR_OK && s->result[0].outcome == WR_CONVERGED)
    CHECKF(residual(s) <= WR_BICGSTAB_TOLERANCE_F64, "converged with a residual of %g", residual(s));
}

static void expect_line(const scene *s, const char *text) {
  for (int r = 0; r < s->size; r++)
    CHECKF(strstr(s->report[r].line, text), "part %d of %d: '%s' lacks '%s'", r, s->size, s->report[r].line, text);
}

/* ---- the preconditioner ---- */

static void test_start(int size) {
  wr_csr *A = convection_on(20, 0, 0);
  scene s = scene_of(A, WR_SCALE_NONE, size);
  CASE("a symmetric system");
  run(&s);
  CHECK(s.result[0].outcome == WR_CONVERGED && strcmp(s.result[0].method, "cg") == 0);
  expect_line(&s, "none to begin with");
  CASE("a diagonal that differs by 2.5 in all, and less in each part");
  for (int64_t i = 0; i < A->nrows; i++) A->val[wr_csr_find(A, i, i)] = i < A->nrows / 2 ? 4 : 10;
  run(&s);
  CHECK(s.result[0].outcome == WR_CONVERGED);
  expect_line(&s, "jacobi to begin with, as the diagonal varies by 2.5");
  scene_free(&s);
  wr_csr_free(A);
}

/* Every fifth row of a part of 2500 is none of the sample of 2048. */
static void test_refused_start(int size) {
  wr_csr *A = convection_on(50 * (int64_t)sqrt(size), 0.1, 0);
  scene s = scene_of(A, WR_SCALE_NONE, size);
  CASE("one part has a diagonal element of 0");
  for (int64_t i = 0; i < A->nrows; i++) A->val[wr_csr_find(A, i, i)] = (double)(4 + i % 7);
  s.iterations = 20;
  run(&s);
  expect_line(&s, "jacobi to begin with");
  A->val[wr_csr_find(A, s.starts[1] + 5, s.starts[1] + 5)] = 0;
  run(&s);
  expect_line(&s, "none to begin with");
  A->val[wr_csr_find(A, s.starts[1], s.starts[1])] = 0; /* of the sample */
  run(&s);
  expect_line(&s, "none to begin with");
  scene_free(&s);
  wr_csr_free(A);
}

static void test_factors(int size) {
  wr_csr *A = convection_on(40, 4, 0);
  scene s = scene_of(A, WR_SCALE_NONE, size);
  CASE("a system that needs factors");
  run(&s);
  CHECK(s.result[0].outcome == WR_CONVERGED && strstr(s.result[0].changes, "idr with ilu0"));
  expect_line(&s, "; ilu0 from multiply ");
  expect_line(&s, size == 2 ? "block Jacobi of 2 parts, in part " : "block Jacobi of 3 parts, in part ");
  CASE("the last part has no memory for the vectors that factors take");
  s.poor = size - 1, s.iterations = 3000, refused = "a vector of the solver";
  run(&s);
  expect_line(&s, "; but with none all the same, as there is no memory for its vectors");
  CHECK(strstr(s.result[0].changes, "ilu0") == NULL);
  CASE("the last part has no memory to check the factors");
  refused = "a check of the factors";
  run(&s);
  expect_line(&s, "; no ilu0: out of memory: a check of the factors");
  CHECK(strstr(s.result[0].changes, "ilu0") == NULL);
  CASE("the factors of the last part are beyond f64");
  s.poor = NOWHERE, s.iterations = 1000;
  for (int64_t i = A->nrows - 1, k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) A->val[k] = A->col[k] == i ? 1e-310 : 0;
  run(&s);
  expect_line(&s, "no ilu0: the incomplete factors are beyond f64 in row ");
  CHECK(strstr(s.result[0].changes, "ilu0") == NULL);
  scene_free(&s);
  wr_csr_free(A);
}

/* ---- scaling ---- */

/* The largest element of each row and column is in [1/2, 2), and each row is in one place of its own part. */
static void check_scaled(const scene *s) {
  const wr_csr *A = s->A;
  int64_t n = A->nrows, wrong = 0;
  double *most = room_for(2 * n, sizeof *most);
  int *times = room_for(n, sizeof *times);
  for (int64_t i = 0; i < n; i++)
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
      double value = fabs(ldexp(A->val[k], s->row_exponent[i] + s->column_exponent[A->col[k]]));
      most[i] = fmax(most[i], value), most[n + A->col[k]] = fmax(most[n + A->col[k]], value);
    }
  for (int64_t k = 0; k < 2 * n; k++) wrong += !(most[k] >= 0.5 && most[k] < 2);
  CHECKF(wrong == 0, "%lld rows and columns have no largest element of about 1", (long long)wrong);
  for (int r = 0; r < s->size; r++)
    for (int64_t j = s->starts[r]; j < s->starts[r + 1]; j++) {
      int is_own = s->row_of[j] >= s->starts[r] && s->row_of[j] < s->starts[r + 1];
      if (is_own) times[s->row_of[j]]++;
    }
  for (int64_t i = 0; i < n; i++) wrong += times[i] != 1;
  CHECKF(wrong == 0, "%lld rows are not in one place of their part", (long long)wrong);
  free(most), free(times);
}

/* Row i becomes row moved[i]; rows and columns times powers of two. */
static wr_csr *with_rows_moved(const wr_csr *A, const int64_t *moved) {
  entry *entries = room_for(A->nnz, sizeof *entries);
  for (int64_t i = 0; i < A->nrows; i++)
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++)
      entries[k] = (entry){moved[i], A->col[k], ldexp(A->val[k], (int)(i % 21) - (int)(A->col[k] % 17))};
  wr_csr *B = matrix_of(A->nrows, entries, A->nnz, 1);
  free(entries);
  return B;
}

static void test_matching(int size) {
  wr_csr *A = random_matrix(600, 4, 6, 1, 5);
  int64_t moved[600], wrong = 0;
  scene s = scene_of(A, WR_SCALE_AUTO, size);
  CASE("rows in reverse order in each part");
  for (int r = 0; r < size; r++)
    for (int64_t i = s.starts[r]; i < s.starts[r + 1]; i++) moved[i] = s.starts[r] + s.starts[r + 1] - 1 - i;
  wr_csr *B = with_rows_moved(A, moved);
  s.A = B;
  run(&s);
  check_scaled(&s);
  CHECK(s.done[0] == WR_SCALE_MATCH && s.result[0].outcome == WR_CONVERGED);
  CHECKF(strncmp(s.sentence[0], "rows matched to columns of their own process (600 moved) and equilibrated: ", 75) == 0,
         "%s", s.sentence[0]);
  for (int64_t j = 0; j < 600; j++) wrong += s.row_of[j] != moved[j];
  CHECKF(wrong == 0, "%lld rows are at another place", (long long)wrong);
  s.scale = WR_SCALE_MATCH, s.iterations = -1;
  run(&s);
  CHECK(s.done[0] == WR_SCALE_MATCH && strstr(s.sentence[0], ": ") == NULL);
  wr_csr_free(B);
  scene_free(&s);
  wr_csr_free(A);
}

/* 6 on the diagonal, but for rows 0, 1, 2 and 58, 59 of 60: the first two and the last two have no element in columns of their
 * part, columns 0, 2, 58 and 59 none in its rows. */
static void test_partial_matching(int size) {
  enum { ROWS = 60 };
  entry entries[2 * ROWS] = {{0, 59, 3}, {59, 0, 3}, {1, 58, 4}, {58, 2, 4}, {2, 1, 5}};
  int64_t count = 5;
  for (int64_t i = 3; i < ROWS - 2; i++) {
    entries[count++] = (entry){i, i, 6};
    if (i > 3) entries[count++] = (entry){i, i - 1, 1};
  }
  wr_csr *A = matrix_of(ROWS, entries, count, 1);
  scene s = scene_of(A, WR_SCALE_AUTO, size);
  CASE("rows without an element in the columns of their part");
  run(&s);
  check_scaled(&s);
  CHECK(s.done[0] == WR_SCALE_MATCH && s.result[0].outcome == WR_CONVERGED);
  const char *sentence = "rows matched to columns of their own process (2 moved; 4 have none there) and equilibrated: "
                         "5 diagonal elements are 0, the first in row 1";
  CHECKF(strcmp(s.sentence[0], sentence) == 0, "%s", s.sentence[0]);
  for (int64_t j = 0; j < ROWS; j++)
    CHECKF(s.row_of[j] == (j == 1   ? 2
                           : j == 2 ? 1
                                    : j),
           "row %lld is in place %lld", (long long)s.row_of[j], (long long)j);
  scene_free(&s);
  wr_csr_free(A);
}

/* [B C; C' 0], constraints being in between. The rows of the first half are dominant once they are moved, those of the second
 * are far from that. has_images 0: the second half of B is triangular. */
static wr_csr *saddle_point(int has_images) {
  enum { ROWS = 300, HALF = ROWS / 2 };
  entry *entries = room_for(12 * ROWS, sizeof *entries);
  int64_t count = 0;
  for (int64_t i = 0; i < HALF; i++)
    for (int64_t j = i - 3; j <= i + 3; j++) {
      int is_first = i + j < HALF;
      if (j < 0 || j >= HALF || (j > i && !is_first && !has_images)) continue;
      entries[count++] = (entry){2 * i, 2 * j, is_first ? 1e-3 : i == j ? 50 : -40};
    }
  for (int64_t j = 0; j < HALF; j++)
    for (int64_t k = 0; k < 2; k++) {
      int64_t i = (j + k) % HALF;
      entries[count++] = (entry){2 * i, 2 * j + 1, k ? 1 : 8};
      entries[count++] = (entry){2 * j + 1, 2 * i, k ? 1 : 8};
    }
  wr_csr *A = matrix_of(ROWS, entries, count, 1);
  free(entries);
  return A;
}

static void expect_saddle_point(int size, int has_images, wr_scale done, const char *sentence) {
  wr_csr *A = saddle_point(has_images);
  scene s = scene_of(A, WR_SCALE_AUTO, size);
  s.iterations = -1;
  run(&s);
  check_scaled(&s);
  CHECKF(s.done[0] == done && strstr(s.sentence[0], sentence), "%d: %s", (int)s.done[0], s.sentence[0]);
  scene_free(&s);
  wr_csr_free(A);
}

static void test_saddle_points(int size) {
  CASE("a saddle point");
  expect_saddle_point(size, 1, WR_SCALE_EQUILIBRATE,
                      "equilibrated: 150 diagonal elements are 0, the first in row 2, in a symmetric pattern");
  CASE("a saddle point with an unsymmetric pattern in some parts");
  expect_saddle_point(size, 0, WR_SCALE_MATCH, "rows matched to columns of their own process (");
}

int main(void) {
  test_refused_start(4);
  for (int size = 2; size <= 3; size++) {
    test_start(size);
    test_factors(size);
    test_matching(size);
    test_partial_matching(size);
    test_saddle_points(size);
  }
  return wr_test_report("solve_parts");
}
