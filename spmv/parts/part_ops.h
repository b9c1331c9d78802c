/* Vector operations of a part: those of its place, with every sum being that over all parts. */
#ifndef WR_PART_OPS_H
#define WR_PART_OPS_H

#include "spmv/device/env.h"
#include "spmv/parts/comm.h"

WR_C_BEGIN

/* env->ops := a table of env's own for env->comm, made of that of its place. wr_env_open calls it, and wr_env_close the other.
 * WR_ENOMEM */
wr_status wr_part_ops_open(wr_env *env, const wr_vecops *of_place);
void wr_part_ops_close(wr_env *env);

WR_C_END
#endif
