#include "solvers/system.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "config/argument.h"
#include "config/memory.h"
#include "spmv/csr_argument.h"

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

void wr_hash_signs(double *v, int64_t n, int64_t seed) {
  for (int64_t i = 0; v && i < n; i++) v[i] = random_element(seed, i) < 0.5 ? -1 : 1;
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

static wr_status invert_diagonal(wr_system *s) {
  const wr_csr *A = s->A;
  wr_status status = wr_alloc(&s->inverse_diagonal, s->n, sizeof *s->inverse_diagonal, "the preconditioner");
  if (status != WR_OK) return status;
  for (int64_t i = 0; i < s->n; i++) {
    double d = 0;
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++)
      if (A->col[k] == i) d = A->val ? A->val[k] : 1;
    s->inverse_diagonal[i] = 1 / d;
    if (d == 0 || !isfinite(1 / d))
      return wr_fail(WR_EINPUT, "--precond jacobi: the diagonal element of row %lld is %g; use --precond none",
                     (long long)i + 1, d);
  }
  return WR_OK;
}

static wr_status scale_columns(wr_system *s) {
  wr_status status;
  const wr_csr *A = s->A;
  TRY(wr_csr_create(A->nrows, A->ncols, A->nnz, 1, &s->matrix));
  s->owns_matrix = 1;
  for (int64_t i = 0; i <= A->nrows; i++) s->matrix->row_ptr[i] = A->row_ptr[i];
#pragma omp parallel for schedule(static) if (A->nnz > 1 << 14)
  for (int64_t k = 0; k < A->nnz; k++) {
    s->matrix->col[k] = A->col[k];
    s->matrix->val[k] = (A->val ? A->val[k] : 1) * s->inverse_diagonal[A->col[k]];
  }
done:
  return status;
}

wr_status wr_system_build(wr_csr *A, double *b, double *guess, int random, int64_t seed, int jacobi, double atol,
                          wr_system *system) {
  wr_system nowhere; /* so that b and guess are freed without a system, too */
  wr_status status = system ? WR_OK : wr_refuse(__func__, "system is NULL");
  if (system == NULL) system = &nowhere;
  *system = (wr_system){.A = A, .matrix = A, .b = b, .guess = guess};
  TRY(status);
  TRY(wr_csr_check_host(A, "A", __func__));
  if (!(atol >= 0) || isinf(atol)) TRY(wr_refuse(__func__, "atol is %g; it is finite and 0 or more", atol));
  system->n = A->nrows;
  if (A->nrows != A->ncols)
    TRY(wr_fail(WR_EINPUT, "a linear system needs a square matrix, not %lld x %lld", (long long)A->nrows,
                (long long)A->ncols));
  if (b == NULL) TRY(multiply_out(system, random, seed));
  TRY(check_finite(system->b, system->n, b ? "the right-hand side" : "the right-hand side A times x"));
  TRY(check_finite(guess, system->n, "the first guess"));
  scale_to_one(system, atol);
  if (jacobi) {
    TRY(invert_diagonal(system));
    TRY(scale_columns(system));
  }
  for (int64_t i = 0; guess && i < system->n; i++) {
    guess[i] = ldexp(guess[i], system->exponent);
    if (jacobi) guess[i] /= system->inverse_diagonal[i];
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
  int fits = abs(system->exponent) <= 1000; /* 2^-exponent is a number then, and a product with it rounds as ldexp does */
  double unit = fits ? ldexp(1, -system->exponent) : 1;
#pragma omp parallel for schedule(static) if (system->n > 100000)
  for (int64_t i = 0; i < system->n; i++) {
    if (system->inverse_diagonal) x[i] *= system->inverse_diagonal[i];
    x[i] = fits ? x[i] * unit : ldexp(x[i], -system->exponent);
  }
}
