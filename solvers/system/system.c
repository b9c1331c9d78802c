#include "solvers/system.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/argument.h"
#include "config/elements.h"
#include "config/hash.h"
#include "config/memory.h"
#include "solvers/scaling/scaling_steps.h"
#include "spmv/device/vec_argument.h"
#include "spmv/matrix/csr_argument.h"
#include "spmv/matrix/scale.h"
#include "spmv/parts/halo.h"

static double random_element(int64_t seed, int64_t i) {
  return (double)(wr_hash(wr_hash((uint64_t)seed, 0) + (uint64_t)i, 0) >> 11) * 0x1p-53;
}

void wr_hash_shadow(double *v, int64_t n, int64_t seed) {
  for (int64_t i = 0; v && i < n; i++) v[i] = wr_hash_element((uint64_t)seed, i);
}

static wr_status multiply_out(wr_system *s, int random, int64_t seed) {
  const wr_csr *A = s->A;
  PASS(wr_alloc(&s->b, s->n, sizeof *s->b, "the right-hand side"));
#pragma omp parallel for schedule(guided) if (s->n > 1 << 12)
  for (int64_t i = 0; i < s->n; i++) {
    double sum = 0;
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++)
      sum += (A->val ? A->val[k] : 1) * (random ? random_element(seed, wr_csr_column_number(A, A->col[k])) : 1);
    s->b[i] = sum;
  }
  return WR_OK;
}

enum { BLOCK = 1 << 14 }; /* rows of a task of one thread */

static wr_status check_finite(const wr_csr *A, const double *v, const char *what) {
  int64_t bad = v ? wr_first_not_finite(v, A->nrows) : -1;
  if (bad < 0) return WR_OK;
  return wr_fail(WR_EINPUT, "%s: element %lld is %g", what, (long long)(wr_csr_row_number(A, bad) + wr_csr_first(A)),
                 v[bad]);
}

/* Scaling by a power of two changes no digit, and keeps squares of norms like 1e-170 or 1e200 within f64. Squares are added up
 * by blocks of rows, so their sum has the same bits for any number of threads. */
static wr_status scale_to_one(wr_system *s, double atol) {
  wr_status status;
  int64_t count = (s->n + BLOCK - 1) / BLOCK;
  double *squares = NULL, largest = 0, smallest = INFINITY, sum = 0;
  TRY(wr_comm_agree(s->comm, wr_alloc(&squares, count, sizeof *squares, "sums of the right-hand side")));
#pragma omp parallel for schedule(static) reduction(max : largest) reduction(min : smallest) if (s->n > BLOCK)
  for (int64_t i = 0; i < s->n; i++) {
    largest = fmax(largest, fabs(s->b[i]));
    if (s->b[i] != 0) smallest = fmin(smallest, fabs(s->b[i]));
  }
  TRY(wr_comm_max(s->comm, &largest, 1));
  if (largest > 0) frexp(largest, &s->exponent);
  s->exponent = -s->exponent;
  status =
      ldexp(smallest, s->exponent) < DBL_MIN ? wr_copy_elements(s->b, s->n, "the right-hand side", &s->given) : WR_OK;
  TRY(wr_comm_agree(s->comm, status));
  const wr_scale_factor power = wr_scale_of(s->exponent);
#pragma omp parallel for schedule(static) if (s->n > BLOCK)
  for (int64_t k = 0; k < count; k++) {
    double part = 0;
    for (int64_t i = k * BLOCK; i < s->n && i < (k + 1) * BLOCK; i++) {
      s->b[i] = wr_scale_times(power, s->b[i]);
      part += s->b[i] * s->b[i];
    }
    squares[k] = part;
  }
  for (int64_t k = 0; k < count; k++) sum += squares[k];
  TRY(wr_comm_sum(s->comm, &sum, 1));
  s->norm_b = sqrt(sum);
  s->absolute = fmin(ldexp(atol, s->exponent), DBL_MAX); /* an infinite residual is never within it */
done:
  wr_free(squares);
  return status;
}

typedef struct rows_facts {
  double squares, weights, largest, smallest;
  int64_t longest;
} rows_facts;

enum { WEIGHT_EXPONENT = 120 }; /* of a weight at most, so that f32 holds it */
#define MOST_WEIGHT 0x1p120

static rows_facts measure_rows(const wr_system *s, int64_t first, int64_t stop) {
  const wr_csr *m = s->matrix;
  rows_facts f = {.smallest = INFINITY};
  for (int64_t i = first; i < stop; i++) {
    double sum = 0, weight = s->row_weight ? s->row_weight[i] : 1;
    for (int64_t k = m->row_ptr[i]; k < m->row_ptr[i + 1]; k++) {
      double size = m->val ? fabs(m->val[k]) : 1;
      sum += size;
      f.largest = fmax(f.largest, size);
      if (size > 0) f.smallest = fmin(f.smallest, size);
    }
    f.squares += weight < MOST_WEIGHT ? (weight * sum) * (weight * sum) : INFINITY; /* cut off: see scale_rhs */
    f.weights += weight * weight;
    if (f.longest < m->row_ptr[i + 1] - m->row_ptr[i]) f.longest = m->row_ptr[i + 1] - m->row_ptr[i];
  }
  return f;
}

/* f := the facts of the rows of all parts. */
static wr_status join_facts(wr_comm *comm, rows_facts *f) {
  double sums[] = {f->squares, f->weights}, most[] = {f->largest, -f->smallest};
  PASS(wr_comm_sum(comm, sums, 2));
  PASS(wr_comm_max(comm, most, 2));
  PASS(wr_comm_max_counts(comm, &f->longest, 1));
  f->squares = sums[0], f->weights = sums[1], f->largest = most[0], f->smallest = -most[1];
  return WR_OK;
}

/* The members for bounds on rounding, from matrix: the same for any number of threads. */
static wr_status measure_matrix(wr_system *s) {
  wr_status status;
  int64_t count = (s->n + BLOCK - 1) / BLOCK;
  rows_facts *blocks = NULL, all = {.smallest = INFINITY};
  TRY(wr_comm_agree(s->comm, wr_alloc(&blocks, count, sizeof *blocks, "sums of a matrix")));
#pragma omp parallel for schedule(dynamic) if (s->n > BLOCK)
  for (int64_t k = 0; k < count; k++)
    blocks[k] = measure_rows(s, k * BLOCK, (k + 1) * BLOCK < s->n ? (k + 1) * BLOCK : s->n);
  for (int64_t k = 0; k < count; k++) {
    all.squares += blocks[k].squares, all.weights += blocks[k].weights;
    all.largest = fmax(all.largest, blocks[k].largest), all.smallest = fmin(all.smallest, blocks[k].smallest);
    if (all.longest < blocks[k].longest) all.longest = blocks[k].longest;
  }
  TRY(join_facts(s->comm, &all));
  s->row_norm = sqrt(all.squares), s->weight_norm = sqrt(all.weights), s->longest_row = all.longest;
  if (s->matrix_exponent != 0) goto done; /* values that underflow when scaled count, too */
  s->largest = all.largest, s->smallest = isfinite(all.smallest) ? all.smallest : 0;
done:
  wr_free(blocks);
  return status;
}

/* The exponent that brings the largest |value| of A to [1/2, 1), or 0 where A can stay as it is. */
static int choose_exponent(const wr_system *s) {
  int exponent = 0;
  if (s->largest == 0 || !isfinite(s->largest)) return 0;
  frexp(s->largest, &exponent);
  return abs(exponent) <= WR_SYSTEM_RANGE ? 0 : -exponent;
}

static wr_status invert_diagonal(wr_system *s, wr_scale scale, const wr_preconditioner *precond) {
  char reason[300];
  PASS(wr_alloc(&s->inverse_diagonal, s->n, sizeof *s->inverse_diagonal, "the preconditioner"));
  wr_status status = precond->diagonal(s->matrix, NULL, s->inverse_diagonal);
  if (status != WR_EINPUT) return status;
  snprintf(reason, sizeof reason, "%s", wr_status_message());
  if (s->scaling.done != WR_SCALE_NONE)
    status = wr_fail(status, "%s; the matrix was %s", reason, s->scaling.sentence);
  else if (scale == WR_SCALE_NONE)
    status = wr_fail(status, "%s, or --scale match, which reorders rows", reason);
  return status;
}

/* Fails with the first value of matrix that has become infinite by being divided by a diagonal element. */
static wr_status check_scaled(const wr_system *s, const char *precond) {
  const wr_csr *A = s->A, *m = s->matrix;
  for (int64_t j = 0; j < m->nrows; j++) {
    int64_t i = wr_system_row(s, j), offset = A->row_ptr[i] - m->row_ptr[j];
    for (int64_t k = m->row_ptr[j]; k < m->row_ptr[j + 1]; k++) {
      double value = A->val ? A->val[k + offset] : 1;
      if (isfinite(m->val[k]) || !isfinite(value)) continue;
      return wr_fail(WR_EINPUT,
                     "--precond %s: the value %g of row %lld divided by the diagonal element of its column %lld "
                     "is beyond f64; use --precond none",
                     precond, value, (long long)(i + wr_csr_first(A)), (long long)(m->col[k] + wr_csr_first(A)));
    }
  }
  return WR_OK;
}

/* matrix := 2^matrix_exponent A or R P A C, a copy. */
static wr_status copy_matrix(wr_system *s) {
  const wr_csr *A = s->A;
  const wr_scaling *scaling = &s->scaling;
  wr_csr *m = NULL;
  PASS(wr_csr_create(A->nrows, A->ncols, A->nnz, 1, &m));
  m->halo = wr_halo_hold(A->halo), m->from_zero = A->from_zero;
  s->matrix = m, s->owns_matrix = 1;
  for (int64_t j = 0; j < s->n; j++) {
    int64_t i = wr_system_row(s, j);
    m->row_ptr[j + 1] = m->row_ptr[j] + A->row_ptr[i + 1] - A->row_ptr[i];
  }
  const wr_scale_factor power = wr_scale_of(s->matrix_exponent);
#pragma omp parallel for schedule(guided) if (A->nnz > 1 << 14)
  for (int64_t j = 0; j < s->n; j++) {
    int64_t i = wr_system_row(s, j), to = m->row_ptr[j];
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++, to++) {
      double value = A->val ? A->val[k] : 1;
      m->col[to] = A->col[k];
      m->val[to] = scaling->done == WR_SCALE_NONE
                       ? wr_scale_times(power, value)
                       : ldexp(value, scaling->row_exponent[i] + scaling->column_exponent[A->col[k]]);
    }
  }
  return WR_OK;
}

/* matrix := matrix D^-1. */
static wr_status scale_columns(wr_system *s, const char *precond) {
  wr_csr *m = s->matrix;
#pragma omp parallel for schedule(static) if (m->nnz > 1 << 14)
  for (int64_t k = 0; k < m->nnz; k++) m->val[k] *= s->inverse_diagonal[m->col[k]];
  return check_scaled(s, precond);
}

/* 1 if R A R is symmetric as A is. */
static int keeps_symmetry(const wr_system *s) {
  const wr_scaling *scaling = &s->scaling;
  return s->A->symmetric && scaling->done == WR_SCALE_EQUILIBRATE &&
         memcmp(scaling->row_exponent, scaling->column_exponent, (size_t)s->n * sizeof(int)) == 0;
}

/* rhs, its exponent and the weights of rows. Weights that f32 could not hold are cut off, and the norm of matrix then
 * becomes infinite, so that no norm of weighted rows is trusted. */
static wr_status scale_rhs(wr_system *s) {
  const int *exponents = s->scaling.row_exponent;
  int64_t is_cut = 0; /* in any part */
  int most = INT_MIN;
  wr_status status = wr_alloc(&s->rhs, s->n, sizeof *s->rhs, "the right-hand side");
  if (status == WR_OK) status = wr_alloc(&s->row_weight, s->n, sizeof *s->row_weight, "the weights of rows");
  PASS(wr_comm_agree(s->comm, status));
#pragma omp parallel for schedule(static) reduction(max : most) if (s->n > BLOCK)
  for (int64_t i = 0; i < s->n; i++) {
    int exponent;
    if (s->b[i] == 0) continue;
    frexp(s->b[i], &exponent);
    if (exponent + exponents[i] > most) most = exponent + exponents[i];
  }
  int64_t most_of_all = most;
  PASS(wr_comm_max_counts(s->comm, &most_of_all, 1));
  s->rhs_exponent = most_of_all == INT_MIN ? 0 : (int)-most_of_all;
  PASS(wr_system_scale_rows(s, s->b, s->rhs));
#pragma omp parallel for schedule(static) reduction(max : is_cut) if (s->n > BLOCK)
  for (int64_t j = 0; j < s->n; j++) {
    int exponent = -(s->rhs_exponent + exponents[wr_system_row(s, j)]);
    if (abs(exponent) > WEIGHT_EXPONENT) is_cut = 1;
    s->row_weight[j] = ldexp(1, exponent > WEIGHT_EXPONENT    ? WEIGHT_EXPONENT
                                : exponent < -WEIGHT_EXPONENT ? -WEIGHT_EXPONENT
                                                              : exponent);
  }
  PASS(wr_comm_max_counts(s->comm, &is_cut, 1));
  s->weights_are_cut = is_cut != 0;
  return WR_OK;
}

int64_t wr_system_below_f32(const wr_system *s) {
  if (s == NULL || s->A == NULL) return 0;
  const wr_csr *A = s->A, *m = s->matrix;
  int64_t count = 0;
  if (ldexp(s->smallest, s->matrix_exponent) >= (double)FLT_MIN) return 0;
  for (int64_t j = 0; m->val && j < m->nrows; j++) {
    int64_t offset = A->row_ptr[wr_system_row(s, j)] - m->row_ptr[j];
    for (int64_t k = m->row_ptr[j]; k < m->row_ptr[j + 1]; k++)
      count += (A->val == NULL || A->val[k + offset] != 0) && fabs(m->val[k]) < (double)FLT_MIN;
  }
  return count;
}

/* guess := the solver's unknown for it. */
static void scale_guess(wr_system *s) {
  const int *columns = s->scaling.done != WR_SCALE_NONE ? s->scaling.column_exponent : NULL;
#pragma omp parallel for schedule(static) if (s->n > BLOCK)
  for (int64_t i = 0; i < (s->guess ? s->n : 0); i++) {
    s->guess[i] = ldexp(s->guess[i], s->exponent + s->rhs_exponent - (columns ? columns[i] : 0));
    if (s->inverse_diagonal) s->guess[i] /= s->inverse_diagonal[i];
  }
}

/* All that follows the choice of a scaling. */
static wr_status complete(wr_system *s) {
  const wr_preconditioner *precond = s->precond;
  int is_scaled = s->scaling.done != WR_SCALE_NONE;
  if (is_scaled) {
    PASS(scale_rhs(s));
    PASS(wr_comm_agree(s->comm, copy_matrix(s)));
    int64_t loses_symmetry = precond != NULL || !keeps_symmetry(s);
    PASS(wr_comm_max_counts(s->comm, &loses_symmetry, 1));
    s->matrix->symmetric = !loses_symmetry;
  }
  PASS(measure_matrix(s));
  if (precond)
    PASS(invert_diagonal(s, s->asked, precond));
  else if (!is_scaled)
    s->matrix_exponent = choose_exponent(s);
  if (precond || s->matrix_exponent != 0) {
    if (!is_scaled) PASS(wr_comm_agree(s->comm, copy_matrix(s)));
    if (precond) PASS(scale_columns(s, precond->name));
    PASS(measure_matrix(s));
  }
  if (!is_scaled) s->rhs = s->b, s->rhs_exponent = -s->matrix_exponent;
  scale_guess(s);
  return WR_OK;
}

wr_status wr_system_begin(wr_csr *A, double *b, double *guess, int random, int64_t seed, wr_scale scale,
                          const wr_preconditioner *precond, double atol, const wr_watch *watch, wr_system *system) {
  wr_system nowhere; /* so that b and guess are freed if system is NULL, too */
  wr_status status = system ? WR_OK : wr_refuse(__func__, "system is NULL");
  if (system == NULL) system = &nowhere;
  *system = (wr_system){.A = A, .matrix = A, .b = b, .guess = guess, .asked = scale, .precond = precond,
                        .scaling = {.done = WR_SCALE_NONE}};
  TRY(status);
  TRY(wr_csr_check_host(A, "A", __func__));
  if (!(atol >= 0) || isinf(atol)) TRY(wr_refuse(__func__, "atol is %g; it is finite and 0 or more", atol));
  if (scale < WR_SCALE_AUTO || scale > WR_SCALE_MATCH) TRY(wr_refuse(__func__, "scale is %d", (int)scale));
  if (precond && precond->diagonal == NULL) TRY(wr_refuse(__func__, "precond, %s, is not diagonal", precond->name));
  system->n = A->nrows, system->n_all = wr_csr_all_rows(A), system->comm = wr_csr_comm(A);
  if (A->halo && precond) TRY(wr_refuse(__func__, "the columns of a system in parts are not divided by a diagonal"));
  if (A->halo == NULL && A->nrows != A->ncols)
    TRY(wr_fail(WR_EINPUT, "a linear system needs a square matrix, not %lld x %lld", (long long)A->nrows,
                (long long)A->ncols));
  if (b == NULL) status = multiply_out(system, random, seed);
  if (status == WR_OK) status = check_finite(A, system->b, b ? "the right-hand side" : "the right-hand side A times x");
  if (status == WR_OK) status = check_finite(A, guess, "the first guess");
  TRY(wr_comm_agree(system->comm, status));
  TRY(scale_to_one(system, atol));
  TRY(wr_scaling_choose(A, scale, watch, &system->scaling));
  if (precond == NULL && system->scaling.near_one)
    system->precond = &wr_precond_jacobi; /* powers of two leave signs and a factor */
  if (!wr_scaling_is_open(&system->scaling)) TRY(complete(system));
done:
  if (status != WR_OK) wr_system_free(system);
  return status;
}

/* 1 if the device gives what the host does. It rounds to f32 before it scales, which is the same for normal values only.
 * Columns that the preconditioner divides are divided on the host. */
static int device_serves(const wr_system *s, const wr_env *device) {
  return device && device->place == WR_CUDA && s->comm == NULL && s->precond == NULL &&
         wr_scaling_is_open(&s->scaling) && !(device->type == WR_F32 && s->scaling.smallest < (double)FLT_MIN);
}

wr_status wr_system_upload(wr_system *system, wr_env *device) {
  wr_csr_view view;
  WR_REFUSE_IF(system == NULL || system->A == NULL, "system is %s", system ? "not begun" : "NULL");
  wr_status status = device ? wr_env_check_open(device, "device", __func__) : WR_OK;
  TRY(status);
  if (device_serves(system, device)) TRY(wr_csr_device_view(system->matrix, device, &view));
done:
  if (status == WR_OK || status == WR_ENOMEM || status == WR_ENUMERIC) return WR_OK; /* finish works on the host */
  wr_system_free(system);
  return status;
}

/* Without memory or values there, the matrix is uploaded when a plan needs it. */
static wr_status scale_there(wr_system *s, wr_env *device) {
  const wr_scaling *scaling = &s->scaling;
  wr_status status = wr_csr_scale_device(s->A, device, scaling->row_exponent, scaling->column_exponent, s->matrix);
  return status == WR_ENOMEM || status == WR_ENUMERIC ? WR_OK : status;
}

wr_status wr_system_finish(wr_system *system, wr_env *device) {
  WR_REFUSE_IF(system == NULL || system->A == NULL, "system is %s", system ? "not begun" : "NULL");
  wr_status status = device ? wr_env_check_open(device, "device", __func__) : WR_OK;
  TRY(status);
  int there = device_serves(system, device);
  if (wr_scaling_is_open(&system->scaling)) {
    TRY(wr_scaling_equilibrate(system->A, there ? device : NULL, &system->scaling));
    TRY(complete(system));
    if (there) TRY(scale_there(system, device));
  }
  if (device && system->matrix != system->A) wr_csr_forget_device(system->A);
done:
  if (status != WR_OK) wr_system_free(system);
  return status;
}

static void free_rhs(wr_system *s) {
  if (s->rhs != s->b) wr_free(s->rhs);
  wr_free(s->b);
  wr_free(s->given);
  wr_free(s->guess);
  wr_free(s->row_weight);
  s->rhs = s->b = s->given = s->guess = s->row_weight = NULL;
  s->there = NULL;
}

wr_status wr_system_set_rhs(wr_system *system, double *b, double *guess, double atol) {
  wr_status status = WR_OK;
  if (system == NULL || system->A == NULL || wr_scaling_is_open(&system->scaling))
    TRY(wr_refuse(__func__, "system is %s", system ? "not built" : "NULL"));
  if (b == NULL) TRY(wr_refuse(__func__, "b is NULL"));
  if (!(atol >= 0) || isinf(atol)) TRY(wr_refuse(__func__, "atol is %g; it is finite and 0 or more", atol));
  if (status == WR_OK) status = check_finite(system->A, b, "the right-hand side");
  if (status == WR_OK) status = check_finite(system->A, guess, "the first guess");
  TRY(wr_comm_agree(system->comm, status));
  int before = system->rhs_exponent;
  free_rhs(system);
  system->b = b, system->guess = guess, system->exponent = 0;
  b = guess = NULL;
  TRY(scale_to_one(system, atol));
  if (system->scaling.done == WR_SCALE_NONE) {
    system->rhs = system->b, system->rhs_exponent = -system->matrix_exponent;
  } else {
    TRY(scale_rhs(system));
    if (system->rhs_exponent != before) TRY(measure_matrix(system)); /* its norms are of weighted rows */
  }
  scale_guess(system);
done:
  wr_free(b);
  wr_free(guess);
  return status;
}

wr_status wr_system_set_guess(wr_system *system, const double *x) {
  double *guess;
  if (system == NULL || system->A == NULL || wr_scaling_is_open(&system->scaling))
    return wr_refuse(__func__, "system is %s", system ? "not built" : "NULL");
  WR_NEED(x);
  PASS(check_finite(system->A, x, "the first guess"));
  PASS(wr_copy_elements(x, system->n, "the first guess", &guess));
  wr_free(system->guess);
  system->guess = guess;
  scale_guess(system);
  return WR_OK;
}

wr_status wr_system_build(wr_csr *A, double *b, double *guess, int random, int64_t seed, wr_scale scale,
                          const wr_preconditioner *precond, double atol, wr_system *system) {
  PASS(wr_system_begin(A, b, guess, random, seed, scale, precond, atol, NULL, system));
  return wr_system_finish(system, NULL);
}

void wr_system_free(wr_system *system) {
  if (system == NULL) return;
  if (system->owns_matrix) wr_csr_free(system->matrix);
  free_rhs(system);
  wr_free(system->inverse_diagonal);
  wr_scaling_free(&system->scaling);
  *system = (wr_system){.scaling = {.done = WR_SCALE_NONE}};
}

void wr_system_unscale(const wr_system *system, double *x) {
  if (system == NULL || x == NULL) return;
  const int *columns = system->scaling.column_exponent;
  const wr_scale_factor power = wr_scale_of(-system->exponent - system->rhs_exponent);
#pragma omp parallel for schedule(static) if (system->n > 100000)
  for (int64_t i = 0; i < system->n; i++) {
    if (system->inverse_diagonal) x[i] *= system->inverse_diagonal[i];
    x[i] = columns ? ldexp(x[i], power.exponent + columns[i]) : wr_scale_times(power, x[i]);
  }
}

wr_status wr_system_scale_rows(const wr_system *system, const double *q, double *rows) {
  WR_NEED(system);
  WR_NEED(q);
  WR_NEED(rows);
  WR_REFUSE_IF(system->A == NULL, "system is not built");
  WR_REFUSE_IF(q == rows, "q and rows are one array");
#pragma omp parallel for schedule(static) if (system->n > BLOCK)
  for (int64_t j = 0; j < system->n; j++) {
    int64_t i = wr_system_row(system, j);
    rows[j] = system->scaling.done == WR_SCALE_NONE
                  ? q[j]
                  : ldexp(q[i], system->scaling.row_exponent[i] + system->rhs_exponent);
  }
  return WR_OK;
}
