#include "solvers/system.h"

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "config/argument.h"
#include "config/memory.h"
#include "solvers/power.h"
#include "spmv/matrix/csr_argument.h"

/* SplitMix64's finaliser (Steele, Lea, Flood 2014): a fixed scrambling of 64 bits. */
static uint64_t scramble(uint64_t z) {
  z += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

static double random_element(int64_t seed, int64_t i) {
  return (double)(scramble(scramble((uint64_t)seed) + (uint64_t)i) >> 11) * 0x1p-53;
}

void wr_hash_shadow(double *v, int64_t n, int64_t seed) {
  for (int64_t i = 0; v && i < n; i++) {
    double element = random_element(seed, i);
    v[i] = element < 0.5 ? element - 1 : element;
  }
}

static wr_status multiply_out(wr_system *s, int random, int64_t seed) {
  const wr_csr *A = s->A;
  wr_status status = wr_alloc(&s->b, s->n, sizeof *s->b, "the right-hand side");
  if (status != WR_OK) return status;
#pragma omp parallel for schedule(guided) if (s->n > 1 << 12)
  for (int64_t i = 0; i < s->n; i++) {
    double sum = 0;
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++)
      sum += (A->val ? A->val[k] : 1) * (random ? random_element(seed, A->col[k]) : 1);
    s->b[i] = sum;
  }
  return WR_OK;
}

static wr_status check_finite(const double *v, int64_t n, const char *what) {
  for (int64_t i = 0; v && i < n; i++)
    if (!isfinite(v[i])) return wr_fail(WR_EINPUT, "%s: element %lld is %g", what, (long long)i + 1, v[i]);
  return WR_OK;
}

/* Scaling by a power of two changes no digit, and keeps squares of norms like 1e-170 or 1e200 within f64. */
static void scale_to_one(wr_system *s, double atol) {
  double largest = 0, sum = 0;
  for (int64_t i = 0; i < s->n; i++) largest = fmax(largest, fabs(s->b[i]));
  if (largest > 0) frexp(largest, &s->exponent);
  s->exponent = -s->exponent;
  for (int64_t i = 0; i < s->n; i++) {
    s->b[i] = ldexp(s->b[i], s->exponent);
    sum += s->b[i] * s->b[i];
  }
  s->norm_b = sqrt(sum);
  s->absolute = ldexp(atol, s->exponent);
}

typedef struct rows_facts {
  double squares, largest, smallest;
  int64_t longest;
} rows_facts;

enum { BLOCK = 1 << 14 }; /* rows of a task of one thread */

static rows_facts measure_rows(const wr_csr *m, int64_t first, int64_t stop) {
  rows_facts f = {.smallest = INFINITY};
  for (int64_t i = first; i < stop; i++) {
    double sum = 0;
    for (int64_t k = m->row_ptr[i]; k < m->row_ptr[i + 1]; k++) {
      double size = m->val ? fabs(m->val[k]) : 1;
      sum += size;
      f.largest = fmax(f.largest, size);
      if (size > 0) f.smallest = fmin(f.smallest, size);
    }
    f.squares += sum * sum;
    if (f.longest < m->row_ptr[i + 1] - m->row_ptr[i]) f.longest = m->row_ptr[i + 1] - m->row_ptr[i];
  }
  return f;
}

/* The members for bounds on rounding, from matrix: the same for any number of threads. */
static wr_status measure_matrix(wr_system *s) {
  wr_status status;
  int64_t count = (s->n + BLOCK - 1) / BLOCK;
  rows_facts *blocks = NULL, all = {.smallest = INFINITY};
  TRY(wr_alloc(&blocks, count, sizeof *blocks, "sums of a matrix"));
#pragma omp parallel for schedule(dynamic) if (s->n > BLOCK)
  for (int64_t k = 0; k < count; k++)
    blocks[k] = measure_rows(s->matrix, k * BLOCK, (k + 1) * BLOCK < s->n ? (k + 1) * BLOCK : s->n);
  for (int64_t k = 0; k < count; k++) {
    all.squares += blocks[k].squares;
    all.largest = fmax(all.largest, blocks[k].largest), all.smallest = fmin(all.smallest, blocks[k].smallest);
    if (all.longest < blocks[k].longest) all.longest = blocks[k].longest;
  }
  s->row_norm = sqrt(all.squares), s->longest_row = all.longest;
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

static wr_status invert_diagonal(wr_system *s, const wr_preconditioner *scaling) {
  wr_status status = wr_alloc(&s->inverse_diagonal, s->n, sizeof *s->inverse_diagonal, "the preconditioner");
  return status == WR_OK ? scaling->diagonal(s->A, NULL, s->inverse_diagonal) : status;
}

/* Fails with the first value of matrix that has become infinite by being divided by a diagonal element. */
static wr_status check_scaled(const wr_system *s, const char *scaling) {
  const wr_csr *A = s->A, *m = s->matrix;
  for (int64_t i = 0; i < m->nrows; i++)
    for (int64_t k = m->row_ptr[i]; k < m->row_ptr[i + 1]; k++) {
      double value = A->val ? A->val[k] : 1;
      if (isfinite(m->val[k]) || !isfinite(value)) continue;
      return wr_fail(WR_EINPUT,
                     "--precond %s: the value %g of row %lld divided by the diagonal element of its column %lld "
                     "is beyond f64; use --precond none",
                     scaling, value, (long long)i + 1, (long long)m->col[k] + 1);
    }
  return WR_OK;
}

/* matrix := A D^-1 or 2^matrix_exponent A, a copy. */
static wr_status scale_matrix(wr_system *s, const char *scaling) {
  wr_status status;
  const wr_csr *A = s->A;
  const wr_scale_factor power = wr_scale_of(s->matrix_exponent);
  TRY(wr_csr_create(A->nrows, A->ncols, A->nnz, 1, &s->matrix));
  s->owns_matrix = 1;
  for (int64_t i = 0; i <= A->nrows; i++) s->matrix->row_ptr[i] = A->row_ptr[i];
#pragma omp parallel for schedule(static) if (A->nnz > 1 << 14)
  for (int64_t k = 0; k < A->nnz; k++) {
    double value = A->val ? A->val[k] : 1;
    s->matrix->col[k] = A->col[k];
    s->matrix->val[k] = s->inverse_diagonal ? value * s->inverse_diagonal[A->col[k]] : wr_scale_times(power, value);
  }
  TRY(check_scaled(s, scaling ? scaling : "none"));
done:
  return status;
}

int64_t wr_system_below_f32(const wr_system *s) {
  if (s == NULL || s->A == NULL) return 0;
  const wr_csr *A = s->A, *m = s->matrix;
  int64_t count = 0;
  if (ldexp(s->smallest, s->matrix_exponent) >= (double)FLT_MIN) return 0;
  for (int64_t k = 0; m->val && k < m->nnz; k++)
    count += (A->val == NULL || A->val[k] != 0) && fabs(m->val[k]) < (double)FLT_MIN;
  return count;
}

wr_status wr_system_build(wr_csr *A, double *b, double *guess, int random, int64_t seed,
                          const wr_preconditioner *scaling, double atol, wr_system *system) {
  wr_system nowhere; /* so that b and guess are freed if system is NULL, too */
  wr_status status = system ? WR_OK : wr_refuse(__func__, "system is NULL");
  if (system == NULL) system = &nowhere;
  *system = (wr_system){.A = A, .matrix = A, .b = b, .guess = guess};
  TRY(status);
  TRY(wr_csr_check_host(A, "A", __func__));
  if (!(atol >= 0) || isinf(atol)) TRY(wr_refuse(__func__, "atol is %g; it is finite and 0 or more", atol));
  if (scaling && scaling->diagonal == NULL) TRY(wr_refuse(__func__, "scaling, %s, is not diagonal", scaling->name));
  system->n = A->nrows;
  if (A->nrows != A->ncols)
    TRY(wr_fail(WR_EINPUT, "a linear system needs a square matrix, not %lld x %lld", (long long)A->nrows,
                (long long)A->ncols));
  if (b == NULL) TRY(multiply_out(system, random, seed));
  TRY(check_finite(system->b, system->n, b ? "the right-hand side" : "the right-hand side A times x"));
  TRY(check_finite(guess, system->n, "the first guess"));
  scale_to_one(system, atol);
  TRY(measure_matrix(system));
  if (scaling)
    TRY(invert_diagonal(system, scaling));
  else
    system->matrix_exponent = choose_exponent(system);
  if (scaling || system->matrix_exponent != 0) {
    TRY(scale_matrix(system, scaling ? scaling->name : NULL));
    TRY(measure_matrix(system));
  }
  for (int64_t i = 0; guess && i < system->n; i++) {
    guess[i] = ldexp(guess[i], system->exponent - system->matrix_exponent);
    if (scaling) guess[i] /= system->inverse_diagonal[i];
  }
done:
  if (status != WR_OK) wr_system_free(system);
  return status;
}

void wr_system_free(wr_system *system) {
  if (system == NULL) return;
  if (system->owns_matrix) wr_csr_free(system->matrix);
  wr_free(system->b);
  wr_free(system->guess);
  wr_free(system->inverse_diagonal);
  *system = (wr_system){0};
}

void wr_system_unscale(const wr_system *system, double *x) {
  if (system == NULL || x == NULL) return;
  const wr_scale_factor power = wr_scale_of(system->matrix_exponent - system->exponent);
#pragma omp parallel for schedule(static) if (system->n > 100000)
  for (int64_t i = 0; i < system->n; i++) {
    if (system->inverse_diagonal) x[i] *= system->inverse_diagonal[i];
    x[i] = wr_scale_times(power, x[i]);
  }
}
