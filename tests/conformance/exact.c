#include "tests/conformance/exact.h"

#include <float.h>
#include <math.h>

/* The rounding of long double, which is part of every bound: 2^-64 where it has 64 bits. */
static const long double own_unit = LDBL_EPSILON / 2;

/* The relative error of a sum with n roundings, each at most u, in any order (Higham, Accuracy and Stability of Numerical
 * Algorithms, section 3.1). */
static long double gamma_of(int64_t n, long double u) { return (long double)n * u / (1 - (long double)n * u); }

/* The distance between subnormal numbers: the additional error of underflow. */
static long double least(wr_type type) { return type == WR_F32 ? (double)FLT_TRUE_MIN : DBL_TRUE_MIN; }

double exact_entry(const wr_csr *A, wr_type type, int64_t k) {
  if (A->val == NULL) return 1;
  return type == WR_F32 ? (double)(float)A->val[k] : A->val[k];
}

/* The product of a row of `length` entries passes at most `length` roundings, alpha, beta and the shift add one each, and so
 * do their sums: length + 3 for the product, 3 for the rest. A backend may round each term once more, by term_unit. Scaling y
 * adds one. y is rounded once more when it is stored. */
static exact_value before_relaxing(const exact_apply *e, int64_t i) {
  long double unit = (e->sum_unit > 0 ? (long double)e->sum_unit : 0x1p-53L) + own_unit;
  long double stored = wr_type_unit(e->type), sum = 0, size = 0;
  int64_t length = e->A->row_ptr[i + 1] - e->A->row_ptr[i];
  for (int64_t k = e->A->row_ptr[i]; k < e->A->row_ptr[i + 1]; k++) {
    long double term = (long double)exact_entry(e->A, e->type, k) * e->x[e->A->col[k]];
    sum += term;
    size += fabsl(term);
  }
  long double product = e->alpha * sum;
  long double before = e->beta != 0 ? (long double)e->beta * e->y[i] : 0;
  long double direction = e->direction ? e->direction[i] : 1;
  long double added = e->adds_direction ? (long double)e->shift + direction : (long double)e->shift * direction;
  long double size_added = e->adds_direction ? fabsl((long double)e->shift) + fabsl(direction) : fabsl(added);
  exact_value y = {.value = product + before + added};
  y.bound = (gamma_of(length + 3, unit) * (1 + (long double)e->term_unit) + (long double)e->term_unit) *
                fabsl(e->alpha) * size +
            gamma_of(3, unit) * (fabsl(before) + size_added);
  y.bound += (long double)(length + 4) * (1 + fabsl(e->alpha)) * least(e->type);
  if (e->product_stored) y.bound += stored * (fabsl(product) + y.bound);
  if (e->y_stored) y.bound += stored * (fabsl(product + before) + y.bound);
  if (e->scale && e->scale[i] != 0) {
    long double scale = e->scale[i];
    y.value *= scale;
    y.bound =
        fabsl(scale) * y.bound + (0x1p-53L + own_unit) * (fabsl(y.value) + fabsl(scale) * y.bound) + least(WR_F64);
  }
  return y;
}

/* y as it is rounded to its type. */
static exact_value stored_as(wr_type type, exact_value y) {
  y.bound += (long double)wr_type_unit(type) * (fabsl(y.value) + y.bound) + least(type);
  return y;
}

/* Three roundings: of the difference, the product and the sum. */
exact_value exact_row(const exact_apply *e, int64_t i) {
  exact_value y = before_relaxing(e, i);
  if (e->relax_from) {
    long double from = e->relax_from[i], factor = e->relaxation, size = fabsl(factor) * (fabsl(y.value) + fabsl(from));
    y.value = from + factor * (y.value - from);
    y.bound = fabsl(factor) * y.bound;
    y.bound += gamma_of(3, 0x1p-53L + own_unit) * (size + fabsl(from) + y.bound);
  }
  return stored_as(e->type, y);
}

exact_value exact_change(const exact_apply *e, const double *scale, int of_integers, const double *z) {
  exact_value sum = {0, 0};
  int64_t n = e->A->nrows;
  long double size = 0;
  for (int64_t i = 0; i < n; i++) {
    exact_value y = stored_as(e->type, before_relaxing(e, i));
    long double divisor = scale[i] != 0 ? (long double)scale[i] : 1,
                term = fabsl(y.value - (long double)z[i]) / divisor;
    sum.value += term, size += fabsl(term) + y.bound / fabsl(divisor);
    sum.bound += y.bound / fabsl(divisor);
    if (of_integers)
      sum.bound += 1.001L * (long double)wr_type_unit(e->type) * (fabsl(term) + y.bound / fabsl(divisor));
  }
  sum.bound += (gamma_of(2052 + n / 512, 0x1p-53L) + gamma_of(n + 4, own_unit)) * size + (long double)n * least(WR_F64);
  return sum;
}

exact_value exact_scaled(wr_type type, double scale, double y) {
  long double value = (long double)scale * y;
  return (exact_value){.value = value, .bound = (wr_type_unit(type) + own_unit) * fabsl(value) + least(type)};
}

static long double term_of(wr_reduction_kind kind, long double u, const double *z, int64_t i) {
  switch (kind) {
    case WR_DOT: return u * z[i];
    case WR_NRM2SQ: return u * u;
    case WR_L1DIFF: return fabsl(u - z[i]);
    case WR_SUM: return u;
    case WR_SUM_UNSCALED: return z[i] == 0 ? u : 0;
    case WR_NRM2SQ_SCALED: return u * z[i] * (u * z[i]);
    case WR_L1DIFF_UNSCALED: /* exact_change */
    case WR_DOT_HASH:        /* of fused operations alone */
    case WR_NO_REDUCTION: break;
  }
  return 0;
}

/* Reductions are summed in parts: no number passes more than 2048 + n/512 additions in f64. */
exact_value exact_reduction(wr_reduction_kind kind, const double *u, const double *z, int64_t n) {
  long double sum = 0, size = 0;
  for (int64_t i = 0; i < n; i++) {
    long double term = term_of(kind, u[i], z, i);
    sum += term;
    size += fabsl(term);
  }
  long double roundings = gamma_of(2048 + n / 512, 0x1p-53L) + gamma_of(n + 1, own_unit);
  return (exact_value){.value = sum, .bound = roundings * size + (long double)n * least(WR_F64)};
}

int exact_accepts(exact_value expected, double got) {
  if (isnan(expected.value)) return isnan(got);
  if (isinf(expected.value)) return got == expected.value;
  return fabsl(got - expected.value) <= expected.bound;
}
