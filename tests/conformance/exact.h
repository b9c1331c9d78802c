/* The expected results of an apply, computed independently of all backends in long double from the stored numbers, and an
 * error bound for each number in place of one tolerance for all. */
#ifndef WR_EXACT_H
#define WR_EXACT_H

#include <stdint.h>

#include "spmv/spmv.h"

typedef struct exact_value {
  long double value, bound; /* NaN and infinities compare like other values */
} exact_value;

/* One apply as numbers on the host. */
typedef struct exact_apply {
  const wr_csr *A;
  wr_type type;
  double sum_unit, term_unit; /* wr_plan_info's                                                                */
  double alpha, beta, shift, relaxation;
  const double *x;         /* [ncols]                                                                           */
  const double *y;         /* [nrows] before the apply; not read when beta is 0                                 */
  const double *direction; /* [nrows] of the shift, NULL: ones                                                  */
  int adds_direction;      /* 1: it is added to the shift, not multiplied by it                                 */
  const double *scale;     /* [nrows] by which y is multiplied unless it is 0, NULL: not                         */
  const double *relax_from; /* [nrows] NULL: y is not relaxed                                                   */
  int product_stored;      /* 1: alpha*A*x is rounded to the type before beta*y is added (backend without beta) */
  int y_stored;            /* 1: y is rounded to the type before the shift is added (separate epilogue)         */
} exact_apply;

exact_value exact_row(const exact_apply *e, int64_t i);        /* y[i] as expected, before rounding */

/* WR_L1DIFF_UNSCALED from z[nrows]. of_integers: the scale is compact, so divisions are multiplications by integers of which
 * its elements are reciprocals, rounded to the type. */
exact_value exact_change(const exact_apply *e, const double *scale, int of_integers, const double *z);
exact_value exact_scaled(wr_type type, double scale, double y); /* scale * y as expected, before rounding */

/* The reduction of the stored u[n] with z[n] (kinds with one vector do not read z). */
exact_value exact_reduction(wr_reduction_kind kind, const double *u, const double *z, int64_t n);

int exact_accepts(exact_value expected, double got);

/* An entry's value as the type stores it. */
double exact_entry(const wr_csr *A, wr_type type, int64_t k);

#endif
