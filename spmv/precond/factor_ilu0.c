/* ILU(0) by rows, the IKJ variant (Saad 2003, section 10.3.2). */
#include <math.h>

#include "config/memory.h"
#include "spmv/matrix/csr_argument.h"
#include "spmv/precond/factor_cuda.h"
#include "spmv/precond/ilu.h"

static const char what[] = "the incomplete factorisation";

/* level[place] of each row of one side of the diagonal, place being that of the row in the order; returns how many levels
 * there are. */
static int64_t count_levels(const wr_csr *A, const int32_t *order, const int32_t *place, int is_upper, int32_t *level) {
  int64_t n = A->nrows, count = 0;
  for (int64_t step = 0; step < n; step++) {
    int64_t at = is_upper ? n - 1 - step : step, i = order ? order[at] : at;
    int32_t own = 0;
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
      int64_t j = place ? place[A->col[k]] : A->col[k];
      if ((is_upper ? j > at : j < at) && level[j] >= own) own = level[j] + 1;
    }
    level[at] = own;
    if (own >= count) count = (int64_t)own + 1;
  }
  return count;
}

wr_status wr_ilu0_levels(const wr_csr *A, const int32_t *order, int64_t *lower, int64_t *upper) {
  wr_status status;
  int32_t *level = NULL, *place = NULL;
  WR_NEED_HOST(A);
  WR_NEED(lower);
  WR_NEED(upper);
  WR_REFUSE_IF(A->nrows != A->ncols, "A is %lld x %lld", (long long)A->nrows, (long long)A->ncols);
  TRY(wr_alloc(&level, A->nrows, sizeof *level, "the levels of a matrix"));
  if (order) TRY(wr_alloc(&place, A->nrows, sizeof *place, "the levels of a matrix"));
  for (int64_t at = 0; order && at < A->nrows; at++) place[order[at]] = (int32_t)at;
  *lower = count_levels(A, order, place, 0, level);
  *upper = count_levels(A, order, place, 1, level);
done:
  wr_free(level);
  wr_free(place);
  return status;
}

/* The parts of B below and above the diagonal, and its diagonal in lu->inverse, 0 where it has no element. */
static wr_status split(const wr_csr *B, wr_lu *lu) {
  int64_t n = B->nrows, below = 0, above = 0;
  lu->n = n;
  PASS(wr_alloc(&lu->l_ptr, n + 1, sizeof *lu->l_ptr, what));
  PASS(wr_alloc(&lu->u_ptr, n + 1, sizeof *lu->u_ptr, what));
  PASS(wr_alloc_zeroed(&lu->inverse, n, sizeof *lu->inverse, what));
  for (int64_t i = 0; i < n; i++)
    for (int64_t k = B->row_ptr[i]; k < B->row_ptr[i + 1]; k++) below += B->col[k]<i, above += B->col[k]> i;
  PASS(wr_alloc(&lu->l_col, below, sizeof *lu->l_col, what));
  PASS(wr_alloc(&lu->l_val, below, sizeof *lu->l_val, what));
  PASS(wr_alloc(&lu->u_col, above, sizeof *lu->u_col, what));
  PASS(wr_alloc(&lu->u_val, above, sizeof *lu->u_val, what));
  lu->l_ptr[0] = lu->u_ptr[0] = below = above = 0;
  for (int64_t i = 0; i < n; i++) {
    for (int64_t k = B->row_ptr[i]; k < B->row_ptr[i + 1]; k++) {
      double value = B->val ? B->val[k] : 1;
      if (B->col[k] < i)
        lu->l_col[below] = B->col[k], lu->l_val[below++] = value;
      else if (B->col[k] > i)
        lu->u_col[above] = B->col[k], lu->u_val[above++] = value;
      else
        lu->inverse[i] = value;
    }
    lu->l_ptr[i + 1] = below, lu->u_ptr[i + 1] = above;
  }
  return WR_OK;
}

/* row[j], for the columns j of row i, is where its element is stored; NULL elsewhere. */
static void mark_row(const wr_lu *lu, int64_t i, double *diagonal, double **row) {
  for (int64_t k = lu->l_ptr[i]; k < lu->l_ptr[i + 1]; k++) row[lu->l_col[k]] = diagonal ? &lu->l_val[k] : NULL;
  for (int64_t k = lu->u_ptr[i]; k < lu->u_ptr[i + 1]; k++) row[lu->u_col[k]] = diagonal ? &lu->u_val[k] : NULL;
  row[i] = diagonal;
}

static int is_finite_row(const wr_lu *lu, int64_t i) {
  double sum = 0; /* x - x is 0, or NaN if x is not finite */
  for (int64_t k = lu->l_ptr[i]; k < lu->l_ptr[i + 1]; k++) sum += lu->l_val[k] - lu->l_val[k];
  for (int64_t k = lu->u_ptr[i]; k < lu->u_ptr[i + 1]; k++) sum += lu->u_val[k] - lu->u_val[k];
  return sum == 0;
}

/* Row i := row i less multiples of the rows of U above it, at the places that row i has. Returns the entries used. */
static int64_t eliminate(const wr_lu *lu, int64_t i, double *const *row) {
  int64_t used = 0;
  for (int64_t k = lu->l_ptr[i]; k < lu->l_ptr[i + 1]; k++) {
    int64_t above = lu->l_col[k];
    double factor = lu->l_val[k] *= lu->inverse[above];
    for (int64_t e = lu->u_ptr[above]; e < lu->u_ptr[above + 1]; e++) {
      double *at = row[lu->u_col[e]];
      if (at) *at -= factor * lu->u_val[e];
    }
    used += lu->u_ptr[above + 1] - lu->u_ptr[above];
  }
  return used;
}

static wr_status factorise(const wr_csr *B, double least, const wr_watch *watch, wr_lu *lu, wr_ilu_shifts *shifts) {
  wr_status status;
  double **row = NULL;
  int64_t used = 0;
  TRY(wr_alloc_zeroed(&row, B->nrows, sizeof *row, what));
  for (int64_t i = 0; i < lu->n; i++) {
    if (used >= WR_ILU_STRIDE) TRY(wr_watch_check_at(watch, what, (double)i / (double)lu->n));
    if (used >= WR_ILU_STRIDE) used = 0;
    mark_row(lu, i, &lu->inverse[i], row);
    used += eliminate(lu, i, row) + 1;
    mark_row(lu, i, NULL, row);
    if (!is_finite_row(lu, i)) TRY(wr_ilu_refuse_row(B, lu, i));
    double pivot = lu->inverse[i];
    TRY(wr_ilu_set_pivot(B, least, i, &pivot, lu, shifts));
  }
done:
  wr_free(row);
  return status;
}

/* Nanoseconds. The host's are measured (one core, generated systems, 2026-11: 0.5 to 1.5 an update). The device's are
 * estimates: a warp that takes 32 updates waits for about five loads, one after another; an entry goes there and back. */
static const double entry_ns = 5, update_ns = 1, step_ns = 1500, transfer_ns = 8;

/* *pays := whether a device is expected to be faster. Its time is that of the longest chain of rows that wait for each
 * other. */
static wr_status compare_places(const wr_lu *lu, int *pays) {
  wr_status status;
  int64_t *chain = NULL, longest = 0; /* [n] steps of warps one after another, up to the end of row i */
  double updates = 0;
  TRY(wr_alloc(&chain, lu->n, sizeof *chain, what));
  for (int64_t i = 0; i < lu->n; i++) {
    int64_t before = 0, steps = 1;
    for (int64_t k = lu->l_ptr[i]; k < lu->l_ptr[i + 1]; k++) {
      int64_t above = lu->l_col[k], length = lu->u_ptr[above + 1] - lu->u_ptr[above];
      if (chain[above] > before) before = chain[above];
      steps += 1 + length / 32, updates += (double)length;
    }
    chain[i] = before + steps;
    if (chain[i] > longest) longest = chain[i];
  }
  double entries = (double)(lu->l_ptr[lu->n] + lu->u_ptr[lu->n] + lu->n);
  *pays = step_ns * (double)longest + transfer_ns * entries < entry_ns * entries + update_ns * updates;
done:
  wr_free(chain);
  return status;
}

/* The device makes elements that overflow infinite or NaN; a pivot that is infinite has the inverse 0. */
static wr_status factorise_on_device(const wr_csr *B, double least, wr_env *env, wr_lu *lu, wr_ilu_shifts *shifts) {
  int64_t first;
  PASS(wr_ilu0_cuda(lu, least, env, &shifts->count, &first));
  if (first >= 0) shifts->first_row = wr_lu_row(lu, first);
  for (int64_t i = 0; i < lu->n; i++)
    if (!is_finite_row(lu, i) || !isfinite(lu->inverse[i]) || lu->inverse[i] == 0) PASS(wr_ilu_refuse_row(B, lu, i));
  return WR_OK;
}

wr_status wr_ilu0(const wr_csr *B, double least, const wr_watch *watch, wr_lu *lu, wr_ilu_shifts *shifts) {
  WR_NEED(lu);
  WR_NEED(shifts);
  *shifts = (wr_ilu_shifts){.first_row = -1};
  WR_NEED_HOST(B);
  WR_REFUSE_IF(B->nrows != B->ncols, "B is %lld x %lld", (long long)B->nrows, (long long)B->ncols);
  WR_REFUSE_IF(!(least > 0 && least < 1), "least is %g; it is in (0, 1)", least);
  PASS(split(B, lu));
  return factorise(B, least, watch, lu, shifts);
}

wr_status wr_ilu0_at(const wr_csr *B, double least, wr_ilu_at at, wr_env *env, wr_lu *lu, wr_ilu_shifts *shifts) {
  wr_status status;
  int on_device = env->place == WR_CUDA && at == WR_ILU_AT_DEVICE;
  *shifts = (wr_ilu_shifts){.first_row = -1};
  TRY(split(B, lu));
  if (at == WR_ILU_AT_AUTO && env->place == WR_CUDA) TRY(compare_places(lu, &on_device));
  if (on_device) status = factorise_on_device(B, least, env, lu, shifts);
  if (on_device && status == WR_ENOMEM && at == WR_ILU_AT_AUTO) on_device = 0; /* lu is as split left it */
  if (!on_device) status = factorise(B, least, env->watch, lu, shifts);
done:
  return status;
}
