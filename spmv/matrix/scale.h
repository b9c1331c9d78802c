/* Equilibration on a device, where the rows of a matrix were uploaded while they were read: so neither the sweeps over it nor
 * a second upload are needed. Both functions wait until they are done. WR_ENOMEM, WR_EDEVICE; WR_EUNAVAILABLE without CUDA. */
#ifndef WR_DEVICE_SCALE_H
#define WR_DEVICE_SCALE_H

#include "spmv/matrix/csr.h"

WR_C_BEGIN

/* row_exponent[nrows], column_exponent[ncols], on the host, := those of wr_equilibrate (solvers/scaling/equilibrate.h), bit for
 * bit, from A's view on env's device, which is made if there is none. A is finite and, if env's type is f32, has no value
 * other than 0 below f32's normal range. *sweeps, if not NULL: passes over A. WR_ENUMERIC: a value is beyond env's type. */
wr_status wr_csr_equilibrate_device(wr_csr *A, struct wr_env *env, int *row_exponent, int *column_exponent,
                                    int *sweeps);

/* `to` has on the host A's entries, each times 2^(row_exponent[i] + column_exponent[j]), and no view on env's device. Gives it
 * one that shares the indices of A's view. A's values of env's type leave A's view, so that no plan may borrow them, and are
 * scaled in place; those of a pattern are made. If a scaled value is beyond the normal range of env's type they are dropped,
 * and wr_csr_device_view uploads those of `to`; otherwise they are equal bit for bit, under the same condition on A as above.
 * WR_EUSAGE: `to` has a view, no values, or other sizes. */
wr_status wr_csr_scale_device(wr_csr *A, struct wr_env *env, const int *row_exponent, const int *column_exponent,
                              wr_csr *to);

WR_C_END
#endif
