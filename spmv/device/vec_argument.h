/* The check that public functions make of an argument that is an env; for other arguments see config/argument.h. */
#ifndef WR_VEC_ARGUMENT_H
#define WR_VEC_ARGUMENT_H

#include "config/argument.h"
#include "spmv/device/env.h"

WR_C_BEGIN

/* WR_OK, or WR_EUSAGE in the name of `function` when its argument `name`, an env, is NULL or not open. */
wr_status wr_env_check_open(const wr_env *env, const char *name, const char *function);
#define WR_NEED_OPEN(env) WR_NEED_OK(wr_env_check_open((env), #env, __func__))

WR_C_END
#endif
