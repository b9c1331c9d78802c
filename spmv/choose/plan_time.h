/* The time of a multiply by each of two plans, for -k auto:measure=1. */
#ifndef WR_PLAN_TIME_H
#define WR_PLAN_TIME_H

#include "spmv/spmv.h"

WR_C_BEGIN

/* seconds[k] := of one multiply of A by plans[k], both prepared under env: the least of five batches of at least 1 ms each,
 * those of the two plans in turn. A multiply that takes longer is a batch, so a slow one is done 14 times in all.
 * Adds three vectors while it runs: WR_ENOMEM. Otherwise the errors of wr_plan_apply. */
wr_status wr_plans_time(const wr_csr *A, wr_env *env, wr_plan *const plans[2], double seconds[2]);

WR_C_END
#endif
