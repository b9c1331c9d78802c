/* The multiply with coded SELL, as C sees it. */
#ifndef WR_SELL_CODED_KERNEL_H
#define WR_SELL_CODED_KERNEL_H

#include "spmv/backends/sell_coded/sell_coded_format.h"
#include "spmv/spmv.h"

WR_C_BEGIN

/* Reserves the sums of a launch in env's workspace; to be called once, before the first launch. WR_ENOMEM. */
wr_status wr_sell_coded_reserve(wr_env *env);

/* Asynchronous: y = alpha*A*x + beta*y and the epilogue of a checked request. WR_EDEVICE. */
wr_status wr_sell_coded_launch(wr_env *env, const wr_sell_coded *c, const wr_apply *request);

WR_C_END
#endif
