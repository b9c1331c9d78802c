/* The multiply with sliced DIA, as C sees it. */
#ifndef WR_SLICED_DIA_KERNEL_H
#define WR_SLICED_DIA_KERNEL_H

#include "spmv/backends/sliced_dia/sliced_dia_format.h"
#include "spmv/spmv.h"

WR_C_BEGIN

/* Reserves the sums of a launch in env's workspace; to be called once, before the first launch. WR_ENOMEM. */
wr_status wr_sliced_dia_reserve(wr_env *env);

/* Asynchronous: y = alpha*A*x + beta*y and the epilogue of a checked request. WR_EDEVICE. */
wr_status wr_sliced_dia_launch(wr_env *env, const wr_sliced_dia *d, const wr_apply *request);

WR_C_END
#endif
