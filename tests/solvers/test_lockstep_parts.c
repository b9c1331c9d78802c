/* Several right-hand sides iterated together in parts, which are threads here: true residuals computed here, columns that end
 * early, and memory that one part lacks, of which all parts have to learn. */
#define _DEFAULT_SOURCE /* pthread_barrier_t */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "config/memory.h"
#include "solvers/lockstep.h"
#include "solvers/system.h"
#include "spmv/parts/halo.h"
#include "spmv/parts/partition.h"
#include "tests/check.h"
#include "tests/spmv/thread_comm.h"

enum { N = 3000, COLUMNS = 5, SIZE = 3, UNCOUPLED = 50 };
static const double tolerance = 1e-8;

/* ---- memory that a thread may lack ---- */

enum { LARGE = 6000 }; /* bytes; vectors of a part are larger, messages of parts smaller */
static _Thread_local long granted = -1; /* large requests of this thread that still succeed; -1: all of them */
static _Thread_local int refused;

/* In place of the C library's; wr_alloc has no other source. */
int posix_memalign(void **block, size_t alignment, size_t size) {
  if (size >= LARGE && granted >= 0 && granted-- == 0) {
    refused = 1;
    return ENOMEM;
  }
  *block = aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  return *block ? 0 : ENOMEM;
}

/* ---- the systems ---- */

/* Rows of the whole: 2 on the diagonal of the first UNCOUPLED rows; of the others 4, beside it lower and upper, and -1/2 at a
 * distance of 60 rows. Then row i is multiplied by 2^(spread (i mod 8)), and the solver scales rows if that is not 1. */
typedef struct scene {
  double lower, upper;
  int spread;
  const wr_method *method;
  const wr_preconditioner *precond;
  long grants; /* granted to part 1 while columns are opened and iterated */
  int was_refused, tells[SIZE];
  wr_status status[SIZE];
  wr_lockstep_end end[COLUMNS];
  int64_t iterations[COLUMNS];
  double x[COLUMNS][N];
} scene;

static double plain_entry(const scene *s, int64_t i, int64_t j) {
  if (i < UNCOUPLED || j < UNCOUPLED) return i == j ? 2 : 0;
  if (i == j) return 4;
  if (j == i - 1 || j == i + 1) return j < i ? s->lower : s->upper;
  return j == i - 60 || j == i + 60 ? -0.5 : 0;
}

static double entry(const scene *s, int64_t i, int64_t j) {
  return ldexp(plain_entry(s, i, j), s->spread * (int)(i % 8));
}

/* Odd columns are 0 but for rows of which each can be solved alone; with a spread, the others but for rows of one size. The
 * sizes of columns differ. */
static double b_at(const scene *s, int64_t i, int64_t c) {
  if (c % 2 == 1 ? i >= UNCOUPLED : s->spread != 0 && i % 8 != c) return 0;
  return ldexp(sin((double)(i * (c + 1))) + 0.1, (int)(100 * c));
}

static wr_status make_rows(wr_comm *comm, const scene *s, wr_csr **part) {
  static const int distance[] = {-60, -1, 0, 1, 60};
  int64_t starts[SIZE + 1], count = 0;
  for (int r = 0; r <= comm->size; r++) starts[r] = wr_partition_slice(N, r, comm->size);
  int64_t first = starts[comm->rank], rows = starts[comm->rank + 1] - first;
  PASS(wr_csr_create(rows, N, 5 * rows, 1, part));
  for (int64_t i = 0; i < rows; i++) {
    for (int k = 0; k < 5; k++) {
      int64_t j = first + i + distance[k];
      if (j < 0 || j >= N || entry(s, first + i, j) == 0) continue;
      (*part)->col[count] = (int32_t)j, (*part)->val[count++] = entry(s, first + i, j);
    }
    (*part)->row_ptr[i + 1] = count;
  }
  (*part)->nnz = count;
  return wr_halo_make(comm, starts, NULL, *part);
}

static wr_status set_side(const scene *s, wr_system *system, int64_t c) {
  double *b;
  PASS(wr_alloc(&b, system->n, sizeof *b, "a right-hand side"));
  for (int64_t i = 0; i < system->n; i++) b[i] = b_at(s, wr_csr_row_number(system->A, i), c);
  return wr_system_set_rhs(system, b, NULL, 0);
}

/* ---- a part ---- */

typedef struct part {
  wr_csr *rows, *block;
  wr_system system;
  wr_env env;
  wr_plan *plan;
  wr_precond *precond;
  wr_bicgstab solver;
  wr_lockstep_column column[COLUMNS];
} part;

static wr_status open_part(wr_comm *comm, const scene *s, part *p) {
  double *b;
  wr_status status;
  PASS(make_rows(comm, s, &p->rows));
  PASS(wr_alloc(&b, p->rows->nrows, sizeof *b, "a right-hand side"));
  for (int64_t i = 0; i < p->rows->nrows; i++) b[i] = b_at(s, wr_csr_row_number(p->rows, i), COLUMNS - 1);
  PASS(wr_system_build(p->rows, b, NULL, 0, 0, s->spread ? WR_SCALE_EQUILIBRATE : WR_SCALE_NONE, NULL, 0, &p->system));
  p->env = (wr_env){.type = WR_F64, .threads = 1, .need_columns = WR_MAX_COLUMNS, .comm = comm};
  PASS(wr_env_open(&p->env));
  PASS(wr_plan_create(wr_backend_default(WR_HOST), NULL, p->system.matrix, &p->env, &p->plan));
  PASS(wr_plan_prepare(p->plan));
  PASS(wr_bicgstab_open(&p->solver, &p->system, p->plan, &p->env));
  if (s->precond) {
    PASS(wr_halo_block(p->system.matrix, &p->block));
    status = wr_precond_create(s->precond, NULL, p->block, &p->env, &p->precond);
    PASS(wr_comm_agree(comm, status));
    PASS(wr_bicgstab_precondition(&p->solver, p->precond));
  }
  p->solver.method = s->method;
  return WR_OK;
}

static wr_status iterate(const scene *s, part *p) {
  wr_status status;
  wr_lockstep *l = NULL;
  int is_poor = s->grants >= 0 && p->env.comm->rank == 1;
  long left;
  const wr_bicgstab_options options = {.tolerance = tolerance, .iterations = 500};
  if (is_poor) granted = s->grants;
  TRY(wr_lockstep_open(&p->solver, COLUMNS, &(wr_lockstep_options){.solve = &options}, &l));
  left = granted, granted = -1;
  for (int c = 0; c < COLUMNS; c++) {
    double norm;
    TRY(set_side(s, &p->system, c));
    TRY(wr_bicgstab_load(&p->solver, &norm));
    TRY(wr_lockstep_add(l, norm, &p->column[c]));
  }
  if (is_poor) granted = left;
  TRY(wr_lockstep_run(l, NULL));
done:
  granted = -1;
  wr_lockstep_close(l);
  return status;
}

/* s->x := the part's rows of what was found. */
static wr_status keep(scene *s, part *p) {
  double *x = NULL;
  wr_status status;
  TRY(wr_alloc(&x, p->system.n, sizeof *x, "a solution"));
  for (int c = 0; c < COLUMNS; c++) {
    if (p->env.comm->rank == 0) s->end[c] = p->column[c].end, s->iterations[c] = p->column[c].iterations;
    if (p->column[c].end != WR_LOCKSTEP_MET) continue;
    TRY(set_side(s, &p->system, c));
    TRY(p->env.ops->download(&p->env, &p->column[c].d, x));
    wr_system_unscale(&p->system, x);
    for (int64_t i = 0; i < p->system.n; i++) s->x[c][wr_csr_row_number(p->rows, i)] = x[i];
  }
done:
  wr_free(x);
  return status;
}

static void solve(wr_comm *comm, void *context) {
  scene *s = context;
  part p = {.env = {.place = WR_HOST}};
  wr_status *status = &s->status[comm->rank];
  refused = 0;
  *status = open_part(comm, s, &p);
  if (*status == WR_OK) *status = iterate(s, &p);
  s->tells[comm->rank] = *status != WR_OK && strstr(wr_status_message(), "out of memory") != NULL;
  if (comm->rank == 1) s->was_refused = refused;
  if (*status == WR_OK) *status = keep(s, &p);
  for (int c = 0; c < COLUMNS; c++) wr_lockstep_column_free(&p.env, &p.column[c]);
  wr_bicgstab_close(&p.solver);
  wr_precond_destroy(p.precond);
  wr_plan_destroy(p.plan);
  wr_env_close(&p.env);
  wr_system_free(&p.system);
  wr_csr_free(p.block);
  wr_csr_free(p.rows);
}

/* ---- tests ---- */

static double residual_of(const scene *s, int64_t c) {
  double squares = 0, of_b = 0;
  for (int64_t i = 0; i < N; i++) {
    double r = b_at(s, i, c);
    of_b += ldexp(r, -(int)(100 * c)) * ldexp(r, -(int)(100 * c));
    for (int64_t j = i < 60 ? 0 : i - 60; j <= i + 60 && j < N; j++) r -= entry(s, i, j) * s->x[c][j];
    squares += ldexp(r, -(int)(100 * c)) * ldexp(r, -(int)(100 * c));
  }
  return sqrt(squares / of_b);
}

static void check_columns(const scene *s) {
  for (int c = 0; c < COLUMNS; c++) {
    CHECKF(s->end[c] == WR_LOCKSTEP_MET, "column %d has ended with %d", c, (int)s->end[c]);
    double found = residual_of(s, c); /* beside the rounding of one sum of 6 products a row */
    CHECKF(found <= tolerance * (1 + 1e-6), "column %d: residual %g", c, found);
    CHECKF(c % 2 == 0 ? s->iterations[c] > 2 : s->iterations[c] <= 2, "column %d took %d iterations", c,
           (int)s->iterations[c]);
  }
}

static void test_columns(void) {
  static scene s;
  const wr_preconditioner *const preconds[] = {NULL, &wr_precond_jacobi, &wr_precond_ilu0};
  CASE("right-hand sides together in parts");
  for (int k = 0; k < 6; k++) {
    int is_cg = k % 2;
    s = (scene){.lower = -1, .upper = is_cg ? -1 : -0.3, .method = is_cg ? &wr_method_cg : &wr_method_bicgstab,
                .precond = preconds[k / 2], .grants = -1};
    in_parts(SIZE, solve, &s);
    for (int r = 0; r < SIZE; r++) CHECKF(s.status[r] == WR_OK, "case %d, part %d: status %d", k, r, s.status[r]);
    check_columns(&s);
  }
}

/* Tolerances are about rows as given, and the weights of scaled rows differ from column to column. */
static void test_scaled_rows(void) {
  static scene s;
  CASE("scaled rows in parts");
  s = (scene){.lower = -1, .upper = -0.3, .spread = 2, .method = &wr_method_bicgstab, .grants = -1};
  in_parts(SIZE, solve, &s);
  for (int r = 0; r < SIZE; r++) CHECKF(s.status[r] == WR_OK, "part %d: status %d", r, s.status[r]);
  check_columns(&s);
  CASE("weights of rows beyond 2^120");
  s = (scene){.lower = -1, .upper = -0.3, .spread = 40, .method = &wr_method_bicgstab, .grants = -1};
  in_parts(SIZE, solve, &s);
  for (int r = 0; r < SIZE; r++) CHECKF(s.status[r] == WR_OK, "part %d: status %d", r, s.status[r]);
  CHECK(s.end[2] == WR_LOCKSTEP_ALONE && s.end[4] == WR_LOCKSTEP_ALONE);
}

/* Part 1 lacks memory once, wherever it asks for some. */
static void test_memory(void) {
  static scene s;
  long at = 0;
  CASE("memory that one part lacks");
  for (; at < 100; at++) {
    s = (scene){.lower = -1, .upper = -0.3, .method = &wr_method_bicgstab, .grants = at};
    in_parts(SIZE, solve, &s);
    if (!s.was_refused) break;
    for (int r = 0; r < SIZE; r++)
      CHECKF(s.status[r] == WR_ENOMEM && s.tells[r], "part %d, request %ld: status %d", r, at, s.status[r]);
  }
  CHECKF(at >= 8 && at < 100, "%ld requests", at);
  check_columns(&s);
}

int main(void) {
  test_columns();
  test_scaled_rows();
  test_memory();
  return wr_test_report("test_lockstep_parts");
}
