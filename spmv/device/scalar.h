/* Scalars of a method are elements of a bank, an f64 vector at the place of the solve. Operations read their coefficients
 * there and write their sums there, and steps (spmv/steps) compute with them there, so the host need not wait for any. */
#ifndef WR_SCALAR_H
#define WR_SCALAR_H

#include "spmv/steps/step.h"

#ifdef __cplusplus
extern "C" {
#endif

struct wr_vec;

/* One element of a bank. bank NULL: the constant 1 in a coefficient, no result in a reduction. */
typedef struct wr_scalar {
  struct wr_vec *bank;
  int index;
} wr_scalar;

/* factor * (*scalar). If this value is 0, the term is left out, so NaN or Inf in its vector does no harm. If factor is 0, the
 * vector may be NULL. */
typedef struct wr_coefficient {
  double factor;
  wr_scalar scalar;
} wr_coefficient;

/* A step with its bank and log. It runs when the reductions of an operation are in the bank, in the operation's last kernel
 * if that is possible: on a small system a separate kernel would take as long as the operation. step NULL: none. */
typedef struct wr_then {
  const wr_step *step;
  struct wr_vec *bank; /* [step->scalars] or more; the step uses the first ones */
  struct wr_vec *log;  /* f64, of any length; NULL: entries are dropped   */
} wr_then;

#ifdef __cplusplus
}
#endif
#endif
