/* wr_scaling_find in two steps, of which the second may use a device. */
#ifndef WR_SCALING_STEPS_H
#define WR_SCALING_STEPS_H

#include "solvers/scaling/scaling.h"

/* As wr_scaling_find, but the exponents of an equilibration are left NULL. A may be a part: then it is collective, and all
 * parts choose the same. */
wr_status wr_scaling_choose(const wr_csr *A, wr_scale scale, const wr_watch *watch, wr_scaling *scaling);

/* 1 if only wr_scaling_equilibrate completes it. */
static inline int wr_scaling_is_open(const wr_scaling *scaling) {
  return scaling->done == WR_SCALE_EQUILIBRATE && scaling->row_exponent == NULL;
}

/* Finds the exponents of an open scaling of A: on device, which A is uploaded to if it is not there, or on the host if device
 * is NULL, lacks the memory or cannot hold a value of A. Both give the same if wr_csr_equilibrate_device does
 * (spmv/matrix/scale.h). On failure the scaling stays open. WR_ENOMEM, WR_EDEVICE. */
wr_status wr_scaling_equilibrate(wr_csr *A, struct wr_env *device, wr_scaling *scaling);

#endif
