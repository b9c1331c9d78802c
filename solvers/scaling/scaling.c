#include "solvers/scaling/scaling.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>

#include "config/argument.h"
#include "config/defaults.h"
#include "config/memory.h"
#include "solvers/scaling/equilibrate.h"
#include "solvers/scaling/matching.h"
#include "solvers/scaling/scaling_steps.h"
#include "spmv/matrix/csr_argument.h"
#include "spmv/matrix/matrix_facts.h"
#include "spmv/matrix/scale.h"
#include "spmv/parts/halo.h"

/* A profile of the values of A, apart from its columns. */
typedef struct profile {
  double largest, smallest; /* |values| other than 0            */
  int64_t zero, first_zero; /* diagonal elements that are 0     */
  int64_t tiny, first_tiny; /* or tiny beside others of the row */
  int finite;
} profile;

static profile profile_of(const wr_csr *A) {
  double largest = 0, smallest = INFINITY;
  int64_t zero = 0, tiny = 0, first_zero = A->nrows, first_tiny = A->nrows;
#pragma omp parallel for schedule(guided) reduction(max : largest) reduction(min : smallest, first_zero, first_tiny) \
    reduction(+ : zero, tiny) if (A->nnz > 1 << 18)
  for (int64_t i = 0; i < A->nrows; i++) {
    double diagonal = 0, most = 0;
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
      double value = A->val ? fabs(A->val[k]) : 1;
      if (A->col[k] == i) diagonal = value;
      if (!(value <= most)) most = isnan(value) ? INFINITY : value;
      if (value > 0 && value < smallest) smallest = value;
    }
    largest = fmax(largest, most);
    if (diagonal == 0) {
      zero++;
      if (i < first_zero) first_zero = i;
    } else if (diagonal < WR_MATCHING_TINY * most) {
      tiny++;
      if (i < first_tiny) first_tiny = i;
    }
  }
  return (profile){largest, smallest, zero, first_zero, tiny, first_tiny, isfinite(largest)};
}

/* *p := the profile of all parts, of which A is one; rows are numbered in the whole. */
static wr_status join_profile(const wr_csr *A, profile *p) {
  wr_comm *comm = wr_csr_comm(A);
  double ends[] = {p->largest, -p->smallest};
  int64_t sums[] = {p->zero, p->tiny};
  int64_t firsts[] = {p->zero ? -wr_csr_row_number(A, p->first_zero) : -INT64_MAX,
                      p->tiny ? -wr_csr_row_number(A, p->first_tiny) : -INT64_MAX};
  if (comm == NULL) return WR_OK;
  PASS(wr_comm_max(comm, ends, 2));
  PASS(wr_comm_sum_counts(comm, sums, 2));
  PASS(wr_comm_max_counts(comm, firsts, 2));
  *p = (profile){ends[0], -ends[1], sums[0], -firsts[0], sums[1], -firsts[1], isfinite(ends[0])};
  return WR_OK;
}

/* 1 if entry (i, j) is there and not 0. */
static int has_entry(const wr_csr *A, int64_t i, int32_t j) {
  int64_t k = wr_csr_find(A, i, j);
  return k >= 0 && (A->val == NULL || A->val[k] != 0);
}

/* *is := 1 if nearly every element other than 0 has one on the other side of the diagonal. Parts look at their own columns. */
static wr_status is_pattern_symmetric(const wr_csr *A, int *is) {
  int64_t count = 0, paired = 0;
#pragma omp parallel for schedule(guided) reduction(+ : count, paired) if (A->nnz > 1 << 18)
  for (int64_t i = 0; i < (A->symmetric ? 0 : A->nrows); i++)
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
      if (A->col[k] == i || A->col[k] >= A->nrows || (A->val && A->val[k] == 0)) continue;
      count++, paired += has_entry(A, A->col[k], (int32_t)i);
    }
  int64_t sums[] = {count, paired};
  PASS(wr_comm_sum_counts(wr_csr_comm(A), sums, 2));
  *is = sums[1] >= sums[0] - sums[0] / 20;
  return WR_OK;
}

/* *is := 1 for a saddle point, as far as a pattern shows it: zeros on a part of the diagonal, and a symmetric pattern. */
static wr_status is_saddle_point(const wr_csr *A, const profile *p, int *is) {
  *is = 0;
  return p->zero <= wr_csr_all_rows(A) / 2 ? is_pattern_symmetric(A, is) : WR_OK;
}

static const char *plural(int64_t count) { return count == 1 ? "" : "s"; }

/* Why auto matches rows: "3 diagonal elements are 0, the first in row 7". */
static void say_diagonal(const wr_csr *A, const profile *p, char *text, size_t size) {
  if (p->zero > 0)
    snprintf(text, size, "%lld diagonal element%s 0, the first in row %lld", (long long)p->zero,
             p->zero == 1 ? " is" : "s are", (long long)(p->first_zero + wr_csr_first(A)));
  else
    snprintf(text, size, "%lld diagonal element%s tiny beside the row, the first in row %lld", (long long)p->tiny,
             p->tiny == 1 ? " is" : "s are", (long long)(p->first_tiny + wr_csr_first(A)));
}

static wr_status allocate_exponents(const wr_csr *A, wr_scaling *s) {
  PASS(wr_alloc(&s->row_exponent, A->nrows, sizeof *s->row_exponent, "a scaling"));
  return wr_alloc(&s->column_exponent, A->ncols, sizeof *s->column_exponent, "a scaling");
}

static void free_exponents(wr_scaling *s) {
  wr_free(s->row_exponent);
  wr_free(s->column_exponent);
  s->row_exponent = s->column_exponent = NULL;
}

static wr_status equilibrate(const wr_csr *A, wr_scaling *s) {
  PASS(wr_comm_agree(wr_csr_comm(A), allocate_exponents(A, s)));
  return wr_equilibrate(A, s->row_exponent, s->column_exponent, NULL);
}

wr_status wr_scaling_equilibrate(wr_csr *A, struct wr_env *device, wr_scaling *s) {
  wr_status status = WR_OK;
  if (!wr_scaling_is_open(s)) return WR_OK;
  if (device) {
    TRY(allocate_exponents(A, s));
    TRY(wr_csr_equilibrate_device(A, device, s->row_exponent, s->column_exponent, NULL));
  } else {
    TRY(equilibrate(A, s));
  }
done:
  if (status == WR_OK) return WR_OK;
  free_exponents(s);
  return device && (status == WR_ENOMEM || status == WR_ENUMERIC) ? wr_scaling_equilibrate(A, NULL, s) : status;
}

static int spread_of(const int *exponent, int64_t n) {
  int least = exponent[0], most = exponent[0];
  for (int64_t i = 1; i < n; i++) {
    least = exponent[i] < least ? exponent[i] : least;
    most = exponent[i] > most ? exponent[i] : most;
  }
  return most - least;
}

static void say_no_matching(int was_ended, const char *why, wr_scaling *s) {
  snprintf(s->sentence, sizeof s->sentence, "equilibrated, as matching its rows %s%s%s",
           was_ended ? "was ended early" : "takes too long", why[0] ? ": " : "", why);
}

/* 1 if the duals scale much more than the values differ. */
static int is_too_wide(const wr_matching *m, const wr_scaling *s) {
  int rows = spread_of(m->row_exponent, m->n), columns = spread_of(m->column_exponent, m->n);
  int most = spread_of(s->row_exponent, m->n) + spread_of(s->column_exponent, m->n) + WR_MATCHING_DIGITS;
  return rows > most || columns > most;
}

/* Gives rows without a match the columns that are left: the one of the same number, if it is. */
static wr_status place_others(wr_matching *m) {
  wr_status status;
  char *is_placed = NULL;
  int64_t next = 0;
  TRY(wr_alloc_zeroed(&is_placed, m->n, 1, "matching rows"));
  for (int64_t j = 0; j < m->n; j++)
    if (m->row_of[j] >= 0) is_placed[m->row_of[j]] = 1;
  for (int64_t j = 0; j < m->n; j++)
    if (m->row_of[j] < 0 && !is_placed[j]) m->row_of[j] = (int32_t)j, is_placed[j] = 1;
  for (int64_t j = 0; j < m->n; j++) {
    if (m->row_of[j] >= 0) continue;
    while (is_placed[next]) next++;
    m->row_of[j] = (int32_t)next, is_placed[next] = 1;
  }
done:
  wr_free(is_placed);
  return status;
}

/* In parts. Each matches its own rows to its own columns, as many as can be. The duals bound no element in the columns of other
 * parts, so all are equilibrated (docs/decisions.md has what else was tried). */
static wr_status match_in_parts(const wr_csr *A, const char *why, const wr_watch *watch, wr_scaling *s) {
  wr_status status;
  wr_comm *comm = wr_csr_comm(A);
  wr_matching m = {0};
  wr_csr *own = NULL;
  char others[80] = "";
  s->done = WR_SCALE_EQUILIBRATE;
  status = wr_halo_block(A, &own);
  if (status == WR_OK) status = wr_matching_find(own, wr_matching_limit(A), watch, &m);
  if (status == WR_OK) status = place_others(&m);
  wr_csr_free(own);
  TRY(wr_comm_agree(comm, status));
  int64_t moved = 0;
  for (int64_t j = 0; j < m.n; j++) moved += m.row_of[j] != j;
  int64_t all[] = {moved, m.deficiency, m.end == WR_MATCHING_GIVEN_UP, m.end == WR_MATCHING_ENDED};
  TRY(wr_comm_sum_counts(comm, all, 4));
  if (all[2] > 0 || all[3] > 0) {
    say_no_matching(all[3] > 0, why, s);
    goto done;
  }
  TRY(equilibrate(A, s));
  s->done = WR_SCALE_MATCH;
  s->row_of = m.row_of, m.row_of = NULL;
  if (all[1] > 0)
    snprintf(others, sizeof others, "; %lld %s none there", (long long)all[1], all[1] == 1 ? "has" : "have");
  snprintf(s->sentence, sizeof s->sentence,
           "rows matched to columns of their own process (%lld moved%s) and equilibrated%s%s", (long long)all[0],
           others, why[0] ? ": " : "", why);
done:
  wr_matching_free(&m);
  return status;
}

static wr_status match(const wr_csr *A, const char *why, const wr_watch *watch, wr_scaling *s) {
  wr_status status;
  wr_matching m = {0};
  if (A->halo) return match_in_parts(A, why, watch, s);
  TRY(wr_matching_find(A, wr_matching_limit(A), watch, &m));
  s->done = WR_SCALE_EQUILIBRATE;
  if (m.end == WR_MATCHING_FOUND) {
    int64_t moved = 0;
    TRY(equilibrate(A, s));
    for (int64_t j = 0; j < m.n; j++) moved += m.row_of[j] != j;
    int too_wide = is_too_wide(&m, s);
    s->done = WR_SCALE_MATCH, s->near_one = !too_wide;
    s->row_of = m.row_of, m.row_of = NULL;
    if (!too_wide) {
      free_exponents(s);
      s->row_exponent = m.row_exponent, s->column_exponent = m.column_exponent;
      m.row_exponent = m.column_exponent = NULL;
    }
    snprintf(s->sentence, sizeof s->sentence, "rows matched to columns (%lld moved) and %s%s%s", (long long)moved,
             too_wide ? "equilibrated" : "scaled to a diagonal of 1", why[0] ? ": " : "", why);
  } else if (m.end == WR_MATCHING_GIVEN_UP || m.end == WR_MATCHING_ENDED) {
    say_no_matching(m.end == WR_MATCHING_ENDED, why, s);
  } else if (m.rows_beside == 0) {
    snprintf(s->sentence, sizeof s->sentence,
             "equilibrated; A is singular: its structural rank is %lld less than its rows, and row %lld has no "
             "element other than 0",
             (long long)m.deficiency, (long long)(m.row + wr_csr_first(A)));
  } else {
    snprintf(s->sentence, sizeof s->sentence,
             "equilibrated; A is singular: its structural rank is %lld less than its rows, and row %lld and %lld "
             "other%s have elements in %lld column%s only",
             (long long)m.deficiency, (long long)(m.row + wr_csr_first(A)), (long long)m.rows_beside,
             plural(m.rows_beside), (long long)m.rows_beside, plural(m.rows_beside));
  }
done:
  wr_matching_free(&m);
  return status;
}

/* Of the rows that the matching moves, the mean of the sums of |other elements| / |diagonal element|, as scaled. */
static wr_status find_moved_excess(const wr_csr *A, const wr_scaling *s, double *excess) {
  double sums[2] = {0}; /* of the excesses, and of the rows */
  for (int64_t j = 0; j < A->nrows; j++) {
    int64_t i = s->row_of[j];
    double diagonal = 0, others = 0;
    if (i == j) continue;
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
      double value = fabs(ldexp(A->val ? A->val[k] : 1, s->row_exponent[i] + s->column_exponent[A->col[k]]));
      if (A->col[k] == j)
        diagonal = value;
      else
        others += value;
    }
    sums[0] += others / diagonal, sums[1]++;
  }
  PASS(wr_comm_sum(wr_csr_comm(A), sums, 2));
  *excess = sums[1] > 0 ? sums[0] / sums[1] : 0;
  return WR_OK;
}

/* Matching exchanges rows of the two blocks of a saddle point. Where the moved rows then are nearly dominant, as those of
 * circuits, optimisation and networks, that solves it. Where they are not, as those of flows, BiCGSTAB breaks down that solves
 * it with rows where they are (docs/decisions.md). A matrix that may be positive definite stays symmetric, for conjugate
 * gradients. */
static wr_status scale_saddle_point(const wr_csr *A, const profile *p, const char *why, const wr_watch *watch,
                                    wr_scaling *s) {
  int may_be_definite = 0;
  double excess;
  if (p->zero == 0) PASS(wr_halo_is_symmetric_positive(A, &may_be_definite));
  if (!may_be_definite) {
    PASS(match(A, why, watch, s));
    if (s->done != WR_SCALE_MATCH) return WR_OK;
    PASS(find_moved_excess(A, s, &excess));
    if (excess < WR_MATCHING_EXCESS) return WR_OK;
  }
  free_exponents(s);
  wr_free(s->row_of);
  s->row_of = NULL, s->done = WR_SCALE_EQUILIBRATE, s->near_one = 0;
  snprintf(s->sentence, sizeof s->sentence, "equilibrated: %s, in a symmetric pattern", why);
  return WR_OK;
}

/* What auto does. */
static wr_status choose(const wr_csr *A, const profile *p, const wr_watch *watch, wr_scaling *s) {
  char why[120];
  int rows = 0, columns = 0, is_saddle;
  if (p->zero > 0 || p->tiny > 0) {
    say_diagonal(A, p, why, sizeof why);
    PASS(is_saddle_point(A, p, &is_saddle));
    PASS(is_saddle ? scale_saddle_point(A, p, why, watch, s) : match(A, why, watch, s));
  } else if (p->largest * 0x1p-10 > p->smallest) { /* else rows and columns cannot differ by more */
    PASS(wr_exponent_spread(A, &rows, &columns));
    if (rows <= WR_EQUILIBRATE_DIGITS && columns <= WR_EQUILIBRATE_DIGITS) return WR_OK;
    s->done = WR_SCALE_EQUILIBRATE;
    snprintf(s->sentence, sizeof s->sentence, "equilibrated: the largest elements of %s differ by up to 2^%d",
             rows > columns ? "rows" : "columns", rows > columns ? rows : columns);
  }
  return WR_OK;
}

wr_status wr_scaling_choose(const wr_csr *A, wr_scale scale, const wr_watch *watch, wr_scaling *s) {
  wr_status status = WR_OK;
  *s = (wr_scaling){.done = WR_SCALE_NONE};
  if (scale == WR_SCALE_NONE) return WR_OK;
  profile p = profile_of(A);
  TRY(join_profile(A, &p));
  if (!p.finite || p.largest == 0) return WR_OK;
  s->smallest = p.smallest;
  if (scale == WR_SCALE_AUTO) TRY(choose(A, &p, watch, s));
  if (scale == WR_SCALE_MATCH) TRY(match(A, "", watch, s));
  if (scale == WR_SCALE_EQUILIBRATE) {
    s->done = WR_SCALE_EQUILIBRATE;
    snprintf(s->sentence, sizeof s->sentence, "equilibrated");
  }
done:
  if (status != WR_OK) wr_scaling_free(s);
  return status;
}

wr_status wr_scaling_find(const wr_csr *A, wr_scale scale, wr_scaling *s) {
  wr_status status = WR_OK;
  WR_NEED(s);
  *s = (wr_scaling){.done = WR_SCALE_NONE};
  WR_NEED_HOST(A);
  WR_REFUSE_IF(A->nrows != A->ncols, "A is %lld x %lld, not square", (long long)A->nrows, (long long)A->ncols);
  WR_REFUSE_IF(scale < WR_SCALE_AUTO || scale > WR_SCALE_MATCH, "scale is %d", (int)scale);
  TRY(wr_scaling_choose(A, scale, NULL, s));
  if (wr_scaling_is_open(s)) TRY(equilibrate(A, s));
done:
  if (status != WR_OK) wr_scaling_free(s);
  return status;
}

void wr_scaling_free(wr_scaling *s) {
  if (s == NULL) return;
  wr_free(s->row_of);
  free_exponents(s);
  *s = (wr_scaling){.done = WR_SCALE_NONE};
}
