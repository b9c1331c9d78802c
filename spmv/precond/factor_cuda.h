/* ILU(0) on a device, by levels: with the bits of the host's (ilu.h). */
#ifndef WR_FACTOR_CUDA_H
#define WR_FACTOR_CUDA_H

#include "spmv/device/env.h"
#include "spmv/precond/lu.h"

WR_C_BEGIN

/* lu := ILU(0) of the matrix that lu holds: its parts below and above the diagonal, and its diagonal in lu->inverse (0 where it
 * has no element). The values are f64 whatever env's type is. A pivot u_ii is small if not |u_ii| >= least * max |a_ij| over
 * row i; it becomes what ilu.h says, with the sign of u_ii (NaN: without one).
 * *shifted: how many; *first: the smallest row of the factors with one, -1: none. Elements that overflow become infinite or
 * NaN; the caller looks for them. WR_ENOMEM; WR_EUNAVAILABLE: ended by env->watch. */
wr_status wr_ilu0_cuda(wr_lu *lu, double least, wr_env *env, int64_t *shifted, int64_t *first);

WR_C_END
#endif
