#include "solvers/scaling/equilibrate.h"

#include <math.h>
#include <stddef.h>

#include "config/argument.h"
#include "config/defaults.h"
#include "config/memory.h"
#include "spmv/matrix/csr_argument.h"
#include "spmv/matrix/exponents.h"
#include "spmv/parts/halo.h"

static wr_status find_exponents(const wr_csr *A, int16_t **out) {
  PASS(wr_alloc(out, A->nnz, sizeof **out, "exponents of a matrix"));
#pragma omp parallel for schedule(static) if (A->nnz > 1 << 18)
  for (int64_t k = 0; k < A->nnz; k++) {
    double value = A->val ? A->val[k] : 1;
    (*out)[k] = (int16_t)(value == 0 ? WR_NO_EXPONENT : wr_exponent_of(value));
  }
  return WR_OK;
}

/* Threads raise the same element; the largest one remains, in whatever order they do. */
static void raise_to(int *element, int value) {
  int found = __atomic_load_n(element, __ATOMIC_RELAXED);
  while (value > found && !__atomic_compare_exchange_n(element, &found, value, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
}

/* row_most[nrows], column_most[ncols] := exponents of the largest elements, scaled. */
static void find_largest(const wr_csr *A, const int16_t *exponent, const int *row_exponent, const int *column_exponent,
                         int *row_most, int *column_most) {
  for (int64_t j = 0; j < A->ncols; j++) column_most[j] = WR_NO_EXPONENT;
#pragma omp parallel for schedule(guided) if (A->nnz > 1 << 18)
  for (int64_t i = 0; i < A->nrows; i++) {
    int most = WR_NO_EXPONENT;
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
      if (exponent[k] == WR_NO_EXPONENT) continue;
      int value = exponent[k] + row_exponent[i] + column_exponent[A->col[k]];
      most = value > most ? value : most;
      raise_to(&column_most[A->col[k]], value);
    }
    row_most[i] = most;
  }
}

/* most[ncols] of a part := that over all parts. */
static wr_status join_columns(const wr_csr *A, int *most) {
  wr_status status;
  double *numbers = NULL;
  if (A->halo == NULL) return WR_OK;
  TRY(wr_comm_agree(wr_csr_comm(A), wr_alloc(&numbers, A->ncols, sizeof *numbers, "the columns of all parts")));
  for (int64_t j = 0; j < A->ncols; j++) numbers[j] = most[j];
  TRY(wr_halo_max(A, numbers));
  for (int64_t j = 0; j < A->ncols; j++) most[j] = (int)numbers[j];
done:
  wr_free(numbers);
  return status;
}

/* Brings exponents[n] nearer to the end of the sweeps. Returns 1 if one changed. */
static int move(int *exponents, const int *most, int64_t n) {
  int changed = 0;
  for (int64_t i = 0; i < n; i++) {
    int next = wr_exponent_next(exponents[i], most[i]);
    changed |= next != exponents[i];
    exponents[i] = next;
  }
  return changed;
}

/* *spread := binary digits by which values with these exponents differ at most in all parts. */
static wr_status spread_of(wr_comm *comm, const int *exponents, int64_t n, int *spread) {
  int least = INT16_MAX, most = INT16_MIN;
  for (int64_t i = 0; i < n; i++) {
    if (exponents[i] == WR_NO_EXPONENT) continue;
    least = exponents[i] < least ? exponents[i] : least;
    most = exponents[i] > most ? exponents[i] : most;
  }
  int64_t ends[] = {-least, most};
  PASS(wr_comm_max_counts(comm, ends, 2));
  *spread = ends[1] > -ends[0] ? (int)(ends[1] + ends[0]) : 0;
  return WR_OK;
}

wr_status wr_exponent_spread(const wr_csr *A, int *rows, int *columns) {
  wr_status status;
  int *most = NULL;
  WR_NEED_HOST(A);
  WR_NEED(rows);
  WR_NEED(columns);
  wr_comm *comm = wr_csr_comm(A);
  status = wr_alloc(&most, A->nrows + A->ncols, sizeof *most, "the largest elements of rows and columns");
  TRY(wr_comm_agree(comm, status));
  for (int64_t i = 0; i < A->nrows + A->ncols; i++) most[i] = WR_NO_EXPONENT;
#pragma omp parallel for schedule(guided) if (A->nnz > 1 << 18)
  for (int64_t i = 0; i < A->nrows; i++)
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
      int exponent;
      if (A->val && A->val[k] == 0) continue;
      frexp(A->val ? A->val[k] : 1, &exponent);
      most[i] = exponent > most[i] ? exponent : most[i];
      raise_to(&most[A->nrows + A->col[k]], exponent);
    }
  TRY(join_columns(A, most + A->nrows));
  TRY(spread_of(comm, most, A->nrows, rows));
  TRY(spread_of(comm, most + A->nrows, A->ncols, columns));
done:
  wr_free(most);
  return status;
}

wr_status wr_equilibrate(const wr_csr *A, int *row_exponent, int *column_exponent, int *sweeps) {
  wr_status status;
  int16_t *exponent = NULL;
  int *most = NULL, changed = 1, passes = 0;
  WR_NEED_HOST(A);
  WR_NEED(row_exponent);
  WR_NEED(column_exponent);
  wr_comm *comm = wr_csr_comm(A);
  status = find_exponents(A, &exponent);
  if (status == WR_OK) status = wr_alloc(&most, A->nrows + A->ncols, sizeof *most, "equilibrating a matrix");
  TRY(wr_comm_agree(comm, status));
  for (int64_t i = 0; i < A->nrows; i++) row_exponent[i] = 0;
  for (int64_t j = 0; j < A->ncols; j++) column_exponent[j] = 0;
  while (changed && passes < WR_EQUILIBRATE_SWEEPS) {
    find_largest(A, exponent, row_exponent, column_exponent, most, most + A->nrows);
    TRY(join_columns(A, most + A->nrows));
    int64_t any = move(row_exponent, most, A->nrows);
    any |= move(column_exponent, most + A->nrows, A->ncols);
    TRY(wr_comm_max_counts(comm, &any, 1));
    changed = (int)any, passes++;
  }
  if (sweeps) *sweeps = passes;
done:
  wr_free(exponent);
  wr_free(most);
  return status;
}
