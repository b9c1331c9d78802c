/* Matrices in parts, which are threads here: the cuts, columns and halos, also beyond 2^32 rows, multiplies of one vector
 * and of several by every backend of the host, transposing, sums, symmetry, and errors of one part. Numbers are small
 * integers, so that all sums are exact in any order. */
#define _DEFAULT_SOURCE /* pthread_barrier_t */
#include <math.h>
#include <stdlib.h>

#include "config/elements.h"
#include "config/hash.h"
#include "config/memory.h"
#include "solvers/scaling/equilibrate.h"
#include "spmv/matrix/matrix_facts.h"
#include "spmv/parts/halo.h"
#include "spmv/parts/part_rows.h"
#include "spmv/parts/partition.h"
#include "spmv/spmv.h"
#include "tests/check.h"
#include "tests/spmv/thread_comm.h"

enum { N = 1000 };

typedef enum shape { BAND, SCATTERED, ALONE } shape;

/* Up to `most` entries in row i, between `reach` columns on either side (SCATTERED: anywhere, ALONE: on the diagonal). */
static wr_csr *whole_matrix(shape kind) {
  wr_csr *A = NULL;
  int64_t count = 0;
  char *taken = calloc(N, 1);
  CHECK_OK(wr_csr_create(N, N, 40 * N, 1, &A));
  for (int64_t i = 0; i < N; i++) {
    int64_t entries = kind == ALONE ? 1 : 1 + (int64_t)(wr_hash(7, (uint64_t)i) % 30);
    memset(taken, 0, N);
    taken[i] = 1;
    for (int64_t k = 1; k < entries; k++) {
      int64_t at = (int64_t)(wr_hash(i, (uint64_t)k) % N), near = i - 20 + at % 41;
      if (kind == SCATTERED) taken[at] = 1;
      if (kind == BAND && near >= 0 && near < N) taken[near] = 1;
    }
    for (int64_t j = 0; j < N; j++)
      if (taken[j]) A->col[count] = (int32_t)j, A->val[count++] = (double)(wr_hash(i, (uint64_t)j) % 7) - 3;
    A->row_ptr[i + 1] = count;
  }
  A->nnz = count;
  free(taken);
  return A;
}

/* What the parts share. */
typedef struct scene scene;
struct scene {
  wr_csr *A;
  int64_t offset; /* the number of row 0 of A in the whole */
  const wr_backend *backend;
  wr_type type;
  const double *x;
  int columns, ld; /* of several vectors at once */
  double *y, sums[MOST_PARTS][2 * WR_MAX_COLUMNS];
  int64_t wrong[MOST_PARTS], whole[MOST_PARTS];
  int symmetric[MOST_PARTS], positive[MOST_PARTS];
  wr_status status[MOST_PARTS];
  char message[MOST_PARTS][200];
  /* Multiplies by a plan of a part with vectors v[3] of its own, which are zeroed before. */
  wr_status (*multiply)(wr_comm *comm, scene *s, wr_csr *part, wr_env *env, wr_plan *plan, wr_vec *v);
};

/* *part := the rows of this part, with the halo. */
static wr_status take_rows(wr_comm *comm, const scene *s, int64_t *starts, wr_csr **part) {
  const wr_csr *A = s->A;
  int64_t first = wr_partition_slice(N, comm->rank, comm->size),
          end = wr_partition_slice(N, comm->rank + 1, comm->size);
  int64_t row_ptr[N + 1], wide[40 * N];
  for (int64_t i = first; i <= end; i++) row_ptr[i - first] = A->row_ptr[i] - A->row_ptr[first];
  PASS(wr_partition_cut(comm, N, row_ptr, starts));
  first = starts[comm->rank], end = starts[comm->rank + 1];
  int64_t entry = A->row_ptr[first], count = A->row_ptr[end] - entry;
  PASS(wr_csr_create(end - first, N, count, 1, part));
  for (int64_t i = first; i <= end; i++) (*part)->row_ptr[i - first] = A->row_ptr[i] - entry;
  for (int64_t k = 0; k < count; k++) {
    wide[k] = s->offset + A->col[entry + k];
    (*part)->col[k] = A->col[entry + k], (*part)->val[k] = A->val[entry + k];
  }
  for (int r = 0; r <= comm->size; r++) starts[r] += s->offset;
  return wr_halo_make(comm, starts, s->offset > 0 ? wide : NULL, *part);
}

/* Each entry of the part is one of the whole, and its columns ascend, as do the rows that each other part gets. */
static int64_t count_wrong(const scene *s, const wr_csr *part) {
  const wr_csr *A = s->A;
  const wr_halo *halo = part->halo;
  int64_t wrong = wr_csr_check(part) != WR_OK;
  for (int r = 0; r < halo->comm->size && !halo->whole; r++)
    for (int64_t k = halo->to[r] + 1; k < halo->to[r + 1]; k++) wrong += halo->send[k] <= halo->send[k - 1];
  for (int64_t i = 0; i < part->nrows; i++) {
    int64_t row = wr_csr_row_number(part, i) - s->offset;
    wrong += part->row_ptr[i + 1] - part->row_ptr[i] != A->row_ptr[row + 1] - A->row_ptr[row];
    for (int64_t k = part->row_ptr[i]; k < part->row_ptr[i + 1]; k++) {
      int64_t at = wr_csr_find(A, row, wr_csr_column_number(part, part->col[k]) - s->offset);
      wrong += at < 0 || A->val[at] != part->val[k];
    }
  }
  return wrong;
}

static void look(wr_comm *comm, void *context) {
  scene *s = context;
  wr_csr *part = NULL;
  int64_t starts[MOST_PARTS + 1];
  double *x = NULL;
  s->status[comm->rank] = take_rows(comm, s, starts, &part);
  if (s->status[comm->rank] != WR_OK) return;
  s->wrong[comm->rank] = count_wrong(s, part), s->whole[comm->rank] = part->halo->whole;
  s->status[comm->rank] = wr_halo_is_symmetric_positive(part, &s->positive[comm->rank]);
  if (s->status[comm->rank] == WR_OK) s->status[comm->rank] = wr_halo_is_symmetric(part, &s->symmetric[comm->rank]);
  if (wr_halo_extend(part, s->x + (part->halo->first - s->offset), &x) != WR_OK) s->wrong[comm->rank]++;
  for (int64_t j = 0; x && j < part->ncols; j++)
    s->wrong[comm->rank] += x[j] != s->x[wr_csr_column_number(part, j) - s->offset];
  wr_csr_free(part);
  wr_free(x);
}

static void test_columns(void) {
  double x[N];
  for (int64_t i = 0; i < N; i++) x[i] = (double)i;
  for (int kind = BAND; kind <= ALONE; kind++) {
    wr_csr *A = whole_matrix((shape)kind);
    for (int size = 1; size <= 7; size += 2)
      for (int64_t offset = 0; offset <= INT64_C(1) << 33; offset += INT64_C(1) << 33) {
        scene s = {.A = A, .offset = offset, .x = x};
        CASE("columns and halo");
        in_parts(size, look, &s);
        for (int r = 0; r < size; r++) {
          CHECKF(s.status[r] == WR_OK && s.wrong[r] == 0, "shape %d, part %d of %d: %lld wrong", kind, r, size,
                 (long long)s.wrong[r]);
          CHECKF(s.whole[r] == (kind == SCATTERED && size > 1), "shape %d: whole %d", kind, (int)s.whole[r]);
        }
      }
    wr_csr_free(A);
  }
}

/* y = 2 A x + 3 y and its sums, on a part that has its rows. */
static wr_status multiply_part(wr_comm *comm, scene *s, wr_csr *part, wr_env *env, wr_plan *plan, wr_vec *v) {
  const double bank[] = {0, 0};
  int64_t n = part->nrows, first = part->halo->first;
  wr_vec *x = &v[0], *y = &v[1], *sums = &v[2];
  PASS(env->ops->alloc(env, n, env->type, "x", x));
  PASS(env->ops->alloc(env, n, env->type, "y", y));
  PASS(env->ops->alloc(env, 2, WR_F64, "sums", sums));
  PASS(env->ops->upload(env, x, s->x + first));
  PASS(env->ops->upload(env, y, s->x + first));
  PASS(env->ops->upload(env, sums, bank));
  wr_epilogue e = {.reduce = {{WR_DOT, NULL, x, {sums, 0}}}};
  PASS(wr_plan_prepare(plan));
  PASS(wr_plan_apply(plan, &(wr_apply){.alpha = 2, .beta = 3, .x = x, .y = y, .epilogue = &e}));
  PASS(env->ops->fused(env, &(wr_fused){.in = {y}, .reduce = {{WR_SUM, y, NULL, {sums, 1}}}}));
  PASS(env->ops->download(env, y, s->y + first));
  return env->ops->download(env, sums, s->sums[comm->rank]);
}

static void multiply(wr_comm *comm, void *context) {
  scene *s = context;
  wr_csr *part = NULL;
  wr_plan *plan = NULL;
  int64_t starts[MOST_PARTS + 1];
  wr_vec v[3] = {{0}};
  wr_env env = {.type = s->type, .threads = 2, .need_beta = 1, .need_columns = s->columns, .comm = comm};
  wr_status *status = &s->status[comm->rank];
  s->wrong[comm->rank] = 0;
  *status = take_rows(comm, s, starts, &part);
  if (*status == WR_OK) *status = wr_env_open(&env);
  if (*status == WR_OK) *status = wr_comm_agree(comm, wr_plan_create(s->backend, NULL, part, &env, &plan));
  if (*status == WR_OK) *status = s->multiply(comm, s, part, &env, plan, v);
  if (*status != WR_OK) snprintf(s->message[comm->rank], sizeof *s->message, "%.199s", wr_status_message());
  for (int k = 0; k < 3; k++)
    if (v[k].id) env.ops->release(&env, &v[k]);
  wr_plan_destroy(plan);
  wr_env_close(&env);
  wr_csr_free(part);
}

/* Returns 1 if the backend takes the parts. */
static int check_backend(scene *s, int size) {
  const wr_csr *A = s->A;
  double dot = 0, sum = 0;
  int64_t wrong = 0;
  memset(s->y, 0, N * sizeof *s->y);
  in_parts(size, multiply, s);
  if (s->status[0] == WR_EUNAVAILABLE) return 0;
  for (int64_t i = 0; i < N; i++) {
    double y = 3 * s->x[i];
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) y += 2 * A->val[k] * s->x[A->col[k]];
    wrong += s->y[i] != y;
    dot += y * s->x[i], sum += y;
  }
  CHECKF(wrong == 0, "%s, %d parts: %lld rows are wrong (%s)", s->backend->name, size, (long long)wrong, s->message[0]);
  for (int r = 0; r < size; r++)
    CHECKF(s->status[r] == WR_OK && s->sums[r][0] == dot && s->sums[r][1] == sum,
           "%s, part %d of %d: sums %g and %g, not %g and %g (%s)", s->backend->name, r, size, s->sums[r][0],
           s->sums[r][1], dot, sum, s->message[r]);
  return 1;
}

static void test_multiply(void) {
  double x[N], y[N];
  for (int64_t i = 0; i < N; i++) x[i] = (double)(wr_hash(3, (uint64_t)i) % 7);
  for (int kind = BAND; kind <= ALONE; kind++) {
    wr_csr *A = whole_matrix((shape)kind);
    int taken = 0;
    CASE("multiply");
    for (int b = 0; b < wr_backend_count(); b++) {
      const wr_backend *backend = wr_backend_at(b);
      for (int type = WR_F32; type <= WR_F64 && backend->plan && backend->place == WR_HOST; type++) {
        scene s = {.A = A, .backend = backend, .type = (wr_type)type, .x = x, .y = y, .multiply = multiply_part};
        for (int size = 1; size <= 5; size += 2) taken += check_backend(&s, size);
      }
    }
    CHECKF(taken >= 12, "%d cases", taken); /* cpu_csr and reference in both types */
    wr_csr_free(A);
  }
}

/* ---- several vectors at once ---- */

/* Element (i, c) of X, and of Y before the multiply. */
static double x_at(int64_t i, int64_t c) { return (double)(wr_hash(3 + (uint64_t)c, (uint64_t)i) % 7); }

enum { SUM_XY, SUM_YY, STEPPED, STRIDE };

static void add_sums(double *scalars, wr_step_request *request) {
  (void)request;
  scalars[STEPPED] = scalars[SUM_XY] + scalars[SUM_YY];
}

/* Y = 2 A X + 3 Y, its sums and a step for each column. s->wrong counts written elements behind the columns, wrong steps, and a
 * request that is not refused. */
static wr_status multiply_columns(wr_comm *comm, scene *s, wr_csr *part, wr_env *env, wr_plan *plan, wr_vec *v) {
  static const wr_step step = {.name = "add_sums", .scalars = STRIDE, .run = add_sums};
  double values[N * WR_MAX_COLUMNS], scalars[WR_MAX_COLUMNS * STRIDE] = {0};
  int64_t n = part->nrows, ld = s->ld;
  wr_vec *x = &v[0], *y = &v[1], *bank = &v[2];
  PASS(env->ops->alloc(env, n * ld, env->type, "x", x));
  PASS(env->ops->alloc(env, n * ld, env->type, "y", y));
  PASS(env->ops->alloc(env, WR_MAX_COLUMNS * STRIDE, WR_F64, "sums", bank));
  for (int64_t i = 0; i < n; i++)
    for (int64_t c = 0; c < ld; c++) values[i * ld + c] = x_at(wr_csr_row_number(part, i), c);
  PASS(env->ops->upload(env, x, values));
  PASS(env->ops->upload(env, y, values));
  PASS(env->ops->upload(env, bank, scalars));
  const wr_fused_many sums = {.columns = s->columns, .ld = s->ld, .in = {x, y}, .bank = bank, .stride = STRIDE,
                              .sum = {{x, y, 0, SUM_XY}, {y, y, 0, SUM_YY}}, .step = &step};
  wr_apply_many request = {.columns = s->columns, .alpha = 2, .beta = 3, .x = x, .y = y, .ldx = ld, .ldy = ld,
                           .sums = &sums};
  PASS(wr_plan_prepare(plan));
  PASS(wr_plan_apply_many(plan, &request));
  wr_vec wide = *x;
  wide.n = n * (WR_MAX_COLUMNS + 1), request.x = &wide, request.ldx = WR_MAX_COLUMNS + 1;
  s->wrong[comm->rank] += wr_plan_apply_many(plan, &request) != WR_EUSAGE;
  PASS(env->ops->download(env, y, values));
  PASS(env->ops->download(env, bank, scalars));
  for (int64_t i = 0; i < n; i++)
    for (int64_t c = 0; c < ld; c++) {
      int64_t row = wr_csr_row_number(part, i);
      if (c < s->columns)
        s->y[row * ld + c] = values[i * ld + c];
      else
        s->wrong[comm->rank] += values[i * ld + c] != x_at(row, c);
    }
  for (int c = 0; c < s->columns; c++) {
    const double *of = scalars + c * STRIDE;
    s->sums[comm->rank][2 * c] = of[SUM_XY], s->sums[comm->rank][2 * c + 1] = of[SUM_YY];
    s->wrong[comm->rank] += of[STEPPED] != of[SUM_XY] + of[SUM_YY];
  }
  return WR_OK;
}

static int check_columns(scene *s, int size) {
  const wr_csr *A = s->A;
  double xy[WR_MAX_COLUMNS] = {0}, yy[WR_MAX_COLUMNS] = {0};
  int64_t wrong = 0;
  memset(s->y, 0, (size_t)(N * s->ld) * sizeof *s->y);
  in_parts(size, multiply, s);
  if (s->status[0] == WR_EUNAVAILABLE) return 0;
  for (int64_t i = 0; i < N; i++)
    for (int c = 0; c < s->columns; c++) {
      double y = 3 * x_at(i, c);
      for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) y += 2 * A->val[k] * x_at(A->col[k], c);
      wrong += s->y[i * s->ld + c] != y;
      xy[c] += x_at(i, c) * y, yy[c] += y * y;
    }
  CHECKF(wrong == 0, "%s, %d parts: %lld elements are wrong (%s)", s->backend->name, size, (long long)wrong,
         s->message[0]);
  for (int r = 0; r < size; r++) {
    CHECKF(s->status[r] == WR_OK && s->wrong[r] == 0, "%s, part %d of %d: %lld wrong (%s)", s->backend->name, r, size,
           (long long)s->wrong[r], s->message[r]);
    for (int c = 0; c < s->columns; c++)
      CHECKF(s->sums[r][2 * c] == xy[c] && s->sums[r][2 * c + 1] == yy[c],
             "%s, part %d of %d, column %d: sums %g and %g, not %g and %g", s->backend->name, r, size, c,
             s->sums[r][2 * c], s->sums[r][2 * c + 1], xy[c], yy[c]);
  }
  return 1;
}

static void test_columns_at_once(void) {
  static const int shapes[][2] = {{1, 1}, {2, 2}, {3, 4}, {8, 8}}; /* columns, elements of a row */
  static double y[N * WR_MAX_COLUMNS];
  for (int kind = BAND; kind <= ALONE; kind++) {
    wr_csr *A = whole_matrix((shape)kind);
    int taken = 0;
    CASE("several vectors at once");
    for (int b = 0; b < wr_backend_count(); b++) {
      const wr_backend *backend = wr_backend_at(b);
      for (int type = WR_F32; type <= WR_F64 && backend->plan && backend->place == WR_HOST; type++)
        for (int k = 0; k < 4; k++) {
          scene s = {.A = A, .backend = backend, .type = (wr_type)type, .y = y, .columns = shapes[k][0],
                     .ld = shapes[k][1], .multiply = multiply_columns};
          for (int size = 1; size <= 5; size += 2) taken += check_columns(&s, size);
        }
    }
    CHECKF(taken >= 48, "%d cases", taken); /* cpu_csr and reference in both types */
    wr_csr_free(A);
  }
}

/* ---- sums of teleport sets ---- */

enum { SETS = 3, ENTRIES_OF_SET = 2, BEFORE = 5, TIMES = 2, PLUS = 1 };

/* Row of entry e of set c, and its value; every third row is of a page without links. */
static int64_t entry_row(int64_t c, int64_t e) { return e == 0 ? 36 * c + 12 : N - 1 - c; }
static double entry_value(int64_t c, int64_t e) { return (double)(c + 2 * e + 1); }
static double scale_of(int64_t i) { return i % 3 != 0; }

static double jump_of(int64_t i, int64_t c) {
  double sum = 0;
  for (int64_t e = 0; e < ENTRIES_OF_SET; e++)
    if (entry_row(c, e) == i) sum += entry_value(c, e);
  return sum;
}

/* v: y, x, scale, rows, values, sums. s->sums of a part: masses and changes behind a sweep, the mass of a set that begins, and
 * the change of a sweep that measures none. */
static wr_status sum_sets(wr_comm *comm, scene *s, wr_env *env, wr_vec *v) {
  int64_t first = wr_partition_slice(N, comm->rank, comm->size),
          n = wr_partition_slice(N, comm->rank + 1, comm->size) - first, ld = 4;
  double values[5][N * 4] = {{0}}, sums[2 * WR_MAX_COLUMNS] = {0}, *of = s->sums[comm->rank];
  const int64_t lengths[] = {n * ld, n * ld, n, WR_MAX_COLUMNS * ENTRIES_OF_SET, WR_MAX_COLUMNS * ENTRIES_OF_SET};
  for (int64_t i = 0; i < n; i++) {
    values[2][i] = scale_of(first + i);
    for (int64_t c = 0; c < SETS; c++)
      values[0][i * ld + c] = x_at(first + i, c), values[1][i * ld + c] = x_at(first + i, c + 1);
  }
  for (int64_t k = 0; k < SETS * ENTRIES_OF_SET; k++) {
    int64_t row = entry_row(k / ENTRIES_OF_SET, k % ENTRIES_OF_SET) - first;
    values[3][k] = row >= 0 && row < n ? (double)row : -1;
    values[4][k] = entry_value(k / ENTRIES_OF_SET, k % ENTRIES_OF_SET);
  }
  for (int k = 0; k < 5; k++) {
    PASS(env->ops->alloc(env, lengths[k], k < 3 ? env->type : WR_F64, "a test", &v[k]));
    PASS(env->ops->upload(env, &v[k], values[k]));
  }
  for (int c = 0; c < SETS; c++) sums[c] = sums[WR_MAX_COLUMNS + c] = BEFORE;
  PASS(env->ops->alloc(env, 2 * WR_MAX_COLUMNS, WR_F64, "sums", &v[5]));
  PASS(env->ops->upload(env, &v[5], sums));
  wr_epilogue_many e = {.columns = SETS, .y = &v[0], .ldy = ld, .x = &v[1], .ldx = ld, .scale = &v[2],
                        .room = ENTRIES_OF_SET, .rows = &v[3], .values = &v[4], .times = TIMES, .plus = PLUS,
                        .sums = &v[5]};
  PASS(env->ops->epilogue_many(env, &e));
  PASS(env->ops->download(env, &v[5], sums));
  for (int c = 0; c < SETS; c++) of[c] = sums[WR_MAX_COLUMNS + c], of[SETS + c] = sums[c];
  PASS(env->ops->fill(env, &v[0], 0));
  PASS(env->ops->start_column(env, &e, 1));
  PASS(env->ops->download(env, &v[5], sums));
  of[2 * SETS] = sums[WR_MAX_COLUMNS + 1];
  e.x = NULL;
  PASS(env->ops->epilogue_many(env, &e));
  PASS(env->ops->download(env, &v[5], sums));
  of[2 * SETS + 1] = sums[0];
  return WR_OK;
}

static void sum_sets_of_part(wr_comm *comm, void *context) {
  scene *s = context;
  wr_vec v[6] = {{0}};
  wr_env env = {.type = s->type, .threads = 2, .comm = comm};
  s->status[comm->rank] = wr_env_open(&env);
  if (s->status[comm->rank] == WR_OK) s->status[comm->rank] = sum_sets(comm, s, &env, v);
  for (int k = 0; k < 6; k++)
    if (v[k].id) env.ops->release(&env, &v[k]);
  wr_env_close(&env);
}

static void test_sets(void) {
  double wanted[2 * SETS + 2] = {0};
  CASE("sums of teleport sets");
  for (int64_t i = 0; i < N; i++)
    for (int64_t c = 0; c < SETS; c++) {
      double y = x_at(i, c) + (TIMES * BEFORE + PLUS) * jump_of(i, c);
      wanted[SETS + c] += fabs(y - x_at(i, c + 1));
      if (scale_of(i) != 0) continue;
      wanted[c] += y;
      if (c == 1) wanted[2 * SETS] += PLUS * jump_of(i, c);
    }
  wanted[2 * SETS + 1] = wanted[SETS];
  CHECK(wanted[2 * SETS] > 0);
  for (int type = WR_F32; type <= WR_F64; type++)
    for (int size = 1; size <= 7; size += 3) {
      scene s = {.type = (wr_type)type};
      in_parts(size, sum_sets_of_part, &s);
      for (int r = 0; r < size; r++) {
        CHECK(s.status[r] == WR_OK);
        for (int k = 0; k < 2 * SETS + 2; k++)
          CHECKF(s.sums[r][k] == wanted[k], "part %d of %d: sum %d is %g, not %g", r, size, k, s.sums[r][k], wanted[k]);
      }
    }
}

typedef enum kind { GENERAL, SYMMETRIC, POSITIVE } kind;

/* Of a chain of N rows, 2 on the diagonal and -1 beside it; one element changed. */
static kind kind_with(int64_t row, int64_t column, double value, int size) {
  wr_csr *A = NULL;
  int64_t count = 0;
  double x[N] = {0};
  CHECK_OK(wr_csr_create(N, N, 3 * N, 1, &A));
  for (int64_t i = 0; i < N; i++) {
    for (int64_t j = i - 1; j <= i + 1; j++)
      if (j >= 0 && j < N) A->col[count] = (int32_t)j, A->val[count++] = j == i ? 2 : -1;
    A->row_ptr[i + 1] = count;
  }
  A->nnz = count;
  A->val[wr_csr_find(A, row, column)] = value;
  scene s = {.A = A, .x = x};
  in_parts(size, look, &s);
  for (int r = 0; r < size; r++)
    CHECK(s.status[r] == WR_OK && s.symmetric[r] == s.symmetric[0] && s.positive[r] == s.positive[0]);
  CHECK(s.symmetric[0] == wr_is_symmetric(A) && s.positive[0] == wr_is_symmetric_positive(A));
  wr_csr_free(A);
  return s.positive[0] ? POSITIVE : s.symmetric[0] ? SYMMETRIC : GENERAL;
}

static void test_symmetry(void) {
  CASE("symmetry");
  for (int size = 1; size <= 4; size++) {
    CHECK(kind_with(0, 0, 2, size) == POSITIVE);
    CHECK(kind_with(17, 18, -1 - 1e-13, size) == POSITIVE); /* but for rounding */
    CHECK(kind_with(N / 2, N / 2, 0, size) == SYMMETRIC);
    CHECK(kind_with(N / 4, N / 4, -2, size) == SYMMETRIC);
    for (int64_t i = 0; i + 1 < N; i += i % 250 > 245 || i % 250 < 3 ? 1 : 30) { /* the parts meet near 250, 500, 750 */
      CHECKF(kind_with(i, i + 1, -2, size) == GENERAL, "row %lld, %d parts", (long long)i, size);
      CHECKF(kind_with(i + 1, i, 0, size) == GENERAL, "row %lld, %d parts", (long long)i, size);
    }
  }
}

/* ---- the transposed matrix ---- */

/* Rows of this part, of equal slices, without a halo. */
static wr_status take_slice(const wr_comm *comm, const wr_csr *A, int64_t *starts, wr_csr **part) {
  for (int r = 0; r <= comm->size; r++) starts[r] = wr_partition_slice(N, r, comm->size);
  int64_t first = starts[comm->rank], rows = starts[comm->rank + 1] - first, entry = A->row_ptr[first];
  PASS(wr_csr_create(rows, N, A->row_ptr[first + rows] - entry, A->val != NULL, part));
  for (int64_t i = 0; i <= rows; i++) (*part)->row_ptr[i] = A->row_ptr[first + i] - entry;
  memcpy((*part)->col, A->col + entry, (size_t)(*part)->nnz * sizeof *A->col);
  if (A->val) memcpy((*part)->val, A->val + entry, (size_t)(*part)->nnz * sizeof *A->val);
  return WR_OK;
}

/* s->x: the sums over the columns of s->A, which is the transposed matrix. */
static wr_status transpose_part(wr_comm *comm, scene *s, const wr_csr *before, wr_csr **part, double **sums) {
  int64_t starts[MOST_PARTS + 1], most;
  PASS(take_slice(comm, before, starts, part));
  PASS(wr_part_transpose(comm, starts, part));
  most = (*part)->nrows + (*part)->nnz;
  PASS(wr_comm_max_counts(comm, &most, 1));
  s->whole[comm->rank] = most;
  PASS(wr_halo_make(comm, starts, NULL, *part));
  s->wrong[comm->rank] = s->A->val ? count_wrong(s, *part) : wr_csr_check(*part) != WR_OK;
  PASS(wr_alloc_zeroed(sums, (*part)->ncols, sizeof **sums, "sums"));
  for (int64_t k = 0; k < (*part)->nnz; k++) (*sums)[(*part)->col[k]] += (*part)->val ? (*part)->val[k] : 1;
  PASS(wr_halo_sum(*part, *sums));
  for (int64_t j = 0; j < (*part)->ncols; j++)
    s->wrong[comm->rank] += (*sums)[j] != s->x[wr_csr_column_number(*part, j)];
  return WR_OK;
}

typedef struct turning {
  scene s;
  const wr_csr *before;
} turning;

static void transpose(wr_comm *comm, void *context) {
  turning *t = context;
  wr_csr *part = NULL;
  double *sums = NULL;
  t->s.status[comm->rank] = transpose_part(comm, &t->s, t->before, &part, &sums);
  wr_csr_free(part);
  wr_free(sums);
}

/* Also patterns; a matrix of which all entries are in one column, so that most parts have none; and cuts of equal work. */
static void test_transpose(void) {
  CASE("transposing");
  for (int shapes = BAND; shapes <= ALONE + 2; shapes++) {
    wr_csr *A = whole_matrix(shapes > ALONE ? SCATTERED : (shape)shapes), *T = NULL;
    double x[N] = {0}, *values = A->val;
    if (shapes == ALONE + 1) A->val = NULL;
    if (shapes == ALONE + 2) {
      for (int64_t i = 0; i < N; i++) A->row_ptr[i + 1] = i + 1, A->col[i] = 3;
      A->nnz = N;
    }
    CHECK_OK(wr_csr_transpose(A, &T));
    for (int64_t i = 0; i < N; i++)
      for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) x[i] += A->val ? A->val[k] : 1;
    for (int size = 1; size <= 7; size += 2) {
      turning t = {.s = {.A = T, .x = x}, .before = A};
      in_parts(size, transpose, &t);
      for (int r = 0; r < size; r++) {
        CHECKF(t.s.status[r] == WR_OK && t.s.wrong[r] == 0, "shape %d, part %d of %d: %lld wrong", shapes, r, size,
               (long long)t.s.wrong[r]);
        int64_t most = shapes == ALONE + 2 ? 2 * N : (N + T->nnz) / size + 200; /* a row and its entries more */
        CHECKF(t.s.whole[r] <= most, "shape %d: a part of %lld steps", shapes, (long long)t.s.whole[r]);
      }
    }
    A->val = values;
    wr_csr_free(A);
    wr_csr_free(T);
  }
}

/* ---- rows given to parts by a list ---- */

typedef struct dealing {
  scene s;
  int32_t part[N];
  double all[N]; /* what part 0 collects */
} dealing;

/* s->x is read as from a file, and collected. */
static wr_status deal_part(wr_comm *comm, dealing *d, wr_csr **part, int32_t **numbers, double **x) {
  scene *s = &d->s;
  int64_t starts[MOST_PARTS + 1], *wrong = &s->wrong[comm->rank];
  double *v = NULL;
  PASS(take_slice(comm, s->A, starts, part));
  PASS(wr_part_deal(comm, d->part, starts, part, numbers));
  PASS(wr_halo_make(comm, starts, NULL, *part));
  PASS(wr_comm_agree(comm, wr_halo_keep_numbers((*part)->halo, *numbers)));
  *wrong = s->A->val ? count_wrong(s, *part) : wr_csr_check(*part) != WR_OK;
  s->whole[comm->rank] = (*part)->halo->whole;
  for (int64_t i = 0; i < (*part)->nrows; i++) *wrong += d->part[wr_csr_row_number(*part, i)] != comm->rank;
  PASS(wr_copy_elements(s->x, N, "a vector", &v));
  PASS(wr_halo_take_own(*part, 1, &v));
  PASS(wr_halo_extend(*part, v, x));
  for (int64_t j = 0; j < (*part)->ncols; j++) *wrong += (*x)[j] != s->x[wr_csr_column_number(*part, j)];
  PASS(wr_halo_is_symmetric(*part, &s->symmetric[comm->rank]));
  wr_status status = wr_halo_collect(*part, v, d->all);
  wr_free(v);
  return status;
}

static void deal(wr_comm *comm, void *context) {
  dealing *d = context;
  wr_csr *part = NULL;
  int32_t *numbers = NULL;
  double *x = NULL;
  d->s.status[comm->rank] = deal_part(comm, d, &part, &numbers, &x);
  wr_csr_free(part);
  wr_free(numbers);
  wr_free(x);
}

/* Rows of all parts lie between each other's. */
static void test_deal(void) {
  CASE("rows given to parts by a list");
  for (int shapes = BAND; shapes <= ALONE + 1; shapes++) {
    wr_csr *A = whole_matrix(shapes > ALONE ? SCATTERED : (shape)shapes);
    double x[N], *values = A->val;
    if (shapes == ALONE + 1) A->val = NULL;
    int is_symmetric = wr_is_symmetric(A);
    for (int64_t i = 0; i < N; i++) x[i] = 1.5 * (double)i - 7;
    for (int size = 1; size <= 7; size += 2) {
      dealing d = {.s = {.A = A, .x = x}};
      for (int i = 0; i < N; i++) d.part[i] = (i * i + i / 9) % size;
      for (int r = 0; r < size; r++) d.part[N - 1 - r] = r;
      in_parts(size, deal, &d);
      for (int r = 0; r < size; r++) {
        CHECKF(d.s.status[r] == WR_OK && d.s.wrong[r] == 0, "shape %d, part %d of %d: %lld wrong", shapes, r, size,
               (long long)d.s.wrong[r]);
        CHECK(d.s.symmetric[r] == is_symmetric);
      }
      CHECK(memcmp(d.all, x, sizeof x) == 0);
      d.part[2] = size;
      in_parts(size, deal, &d);
      for (int r = 0; r < size; r++) CHECK(d.s.status[r] == WR_EINPUT);
      for (int i = 0; i < N; i++) d.part[i] = size - 1;
      in_parts(size, deal, &d);
      for (int r = 0; r < size; r++) CHECK(d.s.status[r] == (size == 1 ? WR_OK : WR_EINPUT));
    }
    A->val = values;
    wr_csr_free(A);
  }
}

/* ---- rows of entries in any order ---- */

enum { SIDE = 60, ENTRIES = 1500 };

typedef struct gathering {
  wr_symmetry symmetry;
  int has_values;
  wr_part_assembly how;
  wr_csr *all; /* the rows of the whole */
  int64_t wrong[MOST_PARTS], repeated[MOST_PARTS], all_repeated;
  wr_status status[MOST_PARTS];
} gathering;

/* Threads do not count checks. */
static void must(wr_status status) {
  if (status != WR_OK) abort();
}

/* Entries [first, end) of a file, of which some are repeated, in two chunks. */
static wr_triplets entries_of(const gathering *g, int64_t first, int64_t end) {
  wr_triplets t = {.nrows = SIDE, .ncols = SIDE, .symmetry = g->symmetry, .nchunks = 2};
  must(wr_alloc_zeroed(&t.chunks, 2, sizeof *t.chunks, "chunks"));
  for (int c = 0; c < 2; c++) {
    wr_triplet_chunk *chunk = &t.chunks[c];
    int64_t begin = c == 0 ? first : (first + end) / 2, stop = c == 0 ? (first + end) / 2 : end;
    chunk->count = chunk->capacity = stop - begin;
    must(wr_alloc(&chunk->row, chunk->count, sizeof *chunk->row, "rows"));
    must(wr_alloc(&chunk->col, chunk->count, sizeof *chunk->col, "columns"));
    if (g->has_values) must(wr_alloc(&chunk->val, chunk->count, sizeof *chunk->val, "values"));
    for (int64_t k = 0; k < chunk->count; k++) {
      int32_t i = (int32_t)(wr_hash(1, (uint64_t)(begin + k)) % SIDE),
              j = (int32_t)(wr_hash(2, (uint64_t)(begin + k)) % 20);
      if (g->symmetry != WR_GENERAL && i < j) i = j;
      if (g->symmetry == WR_SKEW_SYMMETRIC && i == j) i = SIDE - 1;
      chunk->row[k] = i, chunk->col[k] = j;
      if (g->has_values) chunk->val[k] = 1 / (double)(1 + (begin + k) % 13);
    }
  }
  return t;
}

static void gather_rows(wr_comm *comm, void *context) {
  gathering *g = context;
  wr_csr *part = NULL;
  int r = comm->rank;
  int64_t starts[MOST_PARTS + 1], first = ENTRIES * r / comm->size, end = ENTRIES * (r + 1) / comm->size;
  wr_triplets t = entries_of(g, first, comm->size == 7 && r == 1 ? first : end);
  g->status[r] = wr_part_assemble(comm, &t, &g->how, starts, &part, &g->repeated[r]);
  if (g->status[r] != WR_OK) return;
  g->wrong[r] = (part->val != NULL) != (g->all->val != NULL) || part->nrows != starts[r + 1] - starts[r];
  for (int64_t i = 0; i < part->nrows && g->wrong[r] == 0; i++) {
    int64_t row = starts[r] + i, length = g->all->row_ptr[row + 1] - g->all->row_ptr[row], at = part->row_ptr[i];
    g->wrong[r] += part->row_ptr[i + 1] - at != length;
    for (int64_t k = 0; k < length && g->wrong[r] == 0; k++, at++) {
      int64_t of_all = g->all->row_ptr[row] + k;
      g->wrong[r] += part->col[at] != g->all->col[of_all] || (part->val && part->val[at] != g->all->val[of_all]);
    }
  }
  wr_csr_free(part);
}

/* The same bits as one part makes of all entries; of seven parts the second has none. */
static void test_assemble(void) {
  CASE("rows of entries in any order");
  for (int n = 0; n < 3 * 2 * 2 * 2 * 3; n++) {
    gathering g = {.symmetry = (wr_symmetry)(n % 3), .has_values = n / 3 % 2 || n % 3 == WR_SKEW_SYMMETRIC,
                   .how = {.transposed = n / 6 % 2, .duplicates = (wr_duplicates)(n / 12 % 2)}};
    int size = n / 24 == 0 ? 1 : n / 24 == 1 ? 3 : 7;
    wr_csr *rows = NULL;
    wr_triplets t = entries_of(&g, 0, ENTRIES);
    if (size == 7) { /* without those of the second part */
      wr_triplets_free(&t);
      t = entries_of(&g, 0, ENTRIES / 7);
      wr_triplets rest = entries_of(&g, ENTRIES * 2 / 7, ENTRIES);
      CHECK_OK(wr_resize(&t.chunks, 4 * (int64_t)sizeof *t.chunks, "chunks"));
      memcpy(t.chunks + 2, rest.chunks, 2 * sizeof *t.chunks), t.nchunks = 4;
      wr_free(rest.chunks);
    }
    CHECK_OK(wr_csr_assemble(&t, g.how.duplicates, &rows, &g.all_repeated));
    wr_triplets_free(&t);
    if (g.how.transposed)
      CHECK_OK(wr_csr_transpose(rows, &g.all));
    else
      CHECK_OK(wr_csr_copy(rows, &g.all));
    in_parts(size, gather_rows, &g);
    for (int r = 0; r < size; r++)
      CHECKF(g.status[r] == WR_OK && g.wrong[r] == 0 && g.repeated[r] == g.all_repeated && g.all_repeated > 0,
             "case %d, part %d of %d: %lld wrong, %lld repeated of %lld", n, r, size, (long long)g.wrong[r],
             (long long)g.repeated[r], (long long)g.all_repeated);
    wr_csr_free(rows);
    wr_csr_free(g.all);
  }
}

/* Rows of which one has nearly all entries. */
typedef struct cutting {
  int64_t n, longest_row, longest;
  int64_t starts[MOST_PARTS + 1];
  wr_status status[MOST_PARTS];
} cutting;

static int64_t length_of(const cutting *c, int64_t i) { return i == c->longest_row ? c->longest : i % 5; }

static void cut(wr_comm *comm, void *context) {
  cutting *c = context;
  int64_t first = wr_partition_slice(c->n, comm->rank, comm->size), rows, row_ptr[N + 1] = {0}, starts[MOST_PARTS + 1];
  rows = wr_partition_slice(c->n, comm->rank + 1, comm->size) - first;
  for (int64_t i = 0; i < rows; i++) row_ptr[i + 1] = row_ptr[i] + length_of(c, first + i);
  c->status[comm->rank] = wr_partition_cut(comm, c->n, row_ptr, starts);
  if (comm->rank == comm->size - 1) memcpy(c->starts, starts, sizeof starts);
}

static void test_partition(void) {
  CASE("partition");
  for (int size = 1; size <= MOST_PARTS; size++)
    for (int64_t n = 1; n <= N; n += n < 20 ? 1 : 163)
      for (int64_t longest = 0; longest <= 1000000; longest += 333333) {
        cutting c = {.n = n, .longest_row = n / 3, .longest = longest};
        in_parts(size, cut, &c);
        if (n < size) {
          CHECK(c.status[0] == WR_EUSAGE && c.status[size - 1] == WR_EUSAGE);
          continue;
        }
        int64_t all = 0;
        for (int64_t i = 0; i < n; i++) all += 1 + length_of(&c, i);
        CHECK(c.status[0] == WR_OK && c.starts[0] == 0 && c.starts[size] == n);
        for (int r = 0; r < size; r++) {
          int64_t work = 0, most = all / size + 1 + (longest > 4 ? longest : 4) + size; /* a row more, and a row a part */
          for (int64_t i = c.starts[r]; i < c.starts[r + 1]; i++) work += 1 + length_of(&c, i);
          CHECKF(c.starts[r] < c.starts[r + 1] && work <= most, "n %lld, part %d of %d: %lld of %lld steps",
                 (long long)n, r, size, (long long)work, (long long)all);
        }
      }
}

/* What one process finds, and how much of it the parts find otherwise. */
typedef struct scales {
  scene s;
  int row[N], column[N], rows, columns;
} scales;

static void equilibrate(wr_comm *comm, void *context) {
  scales *c = context;
  wr_csr *part = NULL;
  int64_t starts[MOST_PARTS + 1], *wrong = &c->s.wrong[comm->rank];
  int row[N], column[N], rows = 0, columns = 0;
  wr_status status = take_rows(comm, &c->s, starts, &part);
  if (status == WR_OK) status = wr_equilibrate(part, row, column, NULL);
  if (status == WR_OK) status = wr_exponent_spread(part, &rows, &columns);
  c->s.status[comm->rank] = status;
  if (status != WR_OK) return;
  *wrong = rows != c->rows || columns != c->columns;
  for (int64_t i = 0; i < part->nrows; i++) *wrong += row[i] != c->row[wr_csr_row_number(part, i)];
  for (int64_t j = 0; j < part->ncols; j++) *wrong += column[j] != c->column[wr_csr_column_number(part, j)];
  wr_csr_free(part);
}

/* Rows and columns that differ by up to 2^40. */
static void test_equilibrate(void) {
  for (int form = BAND; form <= ALONE; form++) {
    scales c = {.s = {.A = whole_matrix((shape)form)}};
    wr_csr *A = c.s.A;
    CASE("equilibrating");
    for (int64_t i = 0; i < N; i++)
      for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++)
        A->val[k] = ldexp(A->val[k], (int)(wr_hash(1, (uint64_t)i) % 20 + wr_hash(2, (uint64_t)A->col[k]) % 20));
    CHECK_OK(wr_equilibrate(A, c.row, c.column, NULL));
    CHECK_OK(wr_exponent_spread(A, &c.rows, &c.columns));
    CHECK(c.rows > 10 && c.columns > 10);
    for (int size = 1; size <= 7; size += 2) {
      in_parts(size, equilibrate, &c);
      for (int r = 0; r < size; r++)
        CHECKF(c.s.status[r] == WR_OK && c.s.wrong[r] == 0, "shape %d, part %d of %d: %lld other exponents", form, r,
               size, (long long)c.s.wrong[r]);
    }
    wr_csr_free(A);
  }
}

typedef struct numbers {
  double sum[MOST_PARTS][2], largest[MOST_PARTS];
  int64_t count[MOST_PARTS];
  wr_status agreed[MOST_PARTS], none[MOST_PARTS], column[MOST_PARTS];
  char message[MOST_PARTS][200];
} numbers;

static void exchange_numbers(wr_comm *comm, void *context) {
  numbers *n = context;
  int r = comm->rank;
  double sum[] = {r == 0 ? 1 : 0x1p-53, r}, largest = r == 1 ? NAN : r;
  int64_t count = -r, starts[] = {0, 1, 2, 3};
  wr_csr *part;
  (void)wr_comm_sum(comm, sum, 2);
  memcpy(n->sum[r], sum, sizeof sum);
  (void)wr_comm_max(comm, &largest, 1);
  (void)wr_comm_max_counts(comm, &count, 1);
  n->largest[r] = largest, n->count[r] = count;
  n->none[r] = wr_comm_agree(comm, WR_OK);
  n->agreed[r] = wr_comm_agree(comm, r > 0 ? wr_fail(WR_ENOMEM, "part %d has no memory", r) : WR_OK);
  snprintf(n->message[r], sizeof *n->message, "%.199s", wr_status_message());
  if (wr_csr_create(1, 3, 1, 1, &part) != WR_OK) return;
  part->row_ptr[1] = 1, part->col[0] = r == 2 ? 3 : r, part->val[0] = 1;
  n->column[r] = wr_halo_make(comm, starts, NULL, part);
  wr_csr_free(part);
}

static void test_numbers(void) {
  numbers n;
  CASE("numbers of three parts");
  in_parts(3, exchange_numbers, &n);
  for (int r = 0; r < 3; r++) {
    CHECK(n.sum[r][0] == 1 && n.sum[r][1] == 3); /* by rank: each addend of 2^-53 is lost */
    CHECK(isnan(n.largest[r]) && n.count[r] == 0);
    CHECK(n.none[r] == WR_OK && n.agreed[r] == WR_ENOMEM && strcmp(n.message[r], "part 1 has no memory") == 0);
    CHECK(n.column[r] == WR_EINPUT);
  }
}

int main(void) {
  test_numbers();
  test_partition();
  test_columns();
  test_multiply();
  test_columns_at_once();
  test_sets();
  test_symmetry();
  test_transpose();
  test_deal();
  test_assemble();
  test_equilibrate();
  return wr_test_report("test_parts");
}
