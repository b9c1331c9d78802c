/* The check that public functions make of an argument that is a plan; for other arguments see config/argument.h. */
#ifndef WR_PLAN_ARGUMENT_H
#define WR_PLAN_ARGUMENT_H

#include "spmv/spmv.h"

/* WR_OK, or WR_EUSAGE in the name of `function` when plan is NULL, or was not made for env or for a matrix of A's sizes. */
wr_status wr_plan_check_match(const wr_plan *plan, const wr_csr *A, const wr_env *env, const char *function);

#endif
