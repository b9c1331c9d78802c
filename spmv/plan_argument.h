/* What other rooms use of plans besides spmv.h: the check of an argument that is a plan, and plans with parsed knobs. */
#ifndef WR_PLAN_ARGUMENT_H
#define WR_PLAN_ARGUMENT_H

#include "spmv/spmv.h"

/* WR_OK, or WR_EUSAGE in the name of `function` when plan is NULL, or was not made for env or for a matrix of A's sizes. */
wr_status wr_plan_check_match(const wr_plan *plan, const wr_csr *A, const wr_env *env, const char *function);

/* The matrix whose values a plan has, or had when it was prepared last. *values := a number, unique in the process, that
 * changes when they may have changed (update_values, another prepare); 0: the plan was not prepared yet. */
const wr_csr *wr_plan_matrix(const wr_plan *plan, uint64_t *values);

/* wr_plan_create with knobs[backend->knobs_size], parsed already, which the plan copies. The other arguments are trusted. */
wr_status wr_plan_create_parsed(const wr_backend *backend, const void *knobs, wr_csr *A, wr_env *env, wr_plan **plan);

#endif
