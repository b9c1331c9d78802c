/* A second stream beside that of a device env, for work that the env's own need not wait for. Its kernels begin before those of
 * the first stream that wait for room on the device. Both streams may be recorded in a loop together. */
#ifndef WR_SIDE_H
#define WR_SIDE_H

#include "spmv/device/env.h"

WR_C_BEGIN

typedef struct wr_side wr_side;

/* *side := one for env, which must outlive it. WR_ENOMEM, WR_EUNAVAILABLE */
wr_status wr_side_open(const wr_env *env, wr_side **side);
void wr_side_close(wr_side *side); /* NULL is fine */

/* An env with the second stream, and with memory and sums of its own. */
wr_env *wr_side_env(wr_side *side);

/* What is asked of the second stream after a fork begins when all has ended that was asked of env before. What is asked of env
 * after a join begins when all has ended that was asked of the second stream before. Asynchronous. */
wr_status wr_side_fork(wr_side *side, wr_env *env);
wr_status wr_side_join(wr_side *side, wr_env *env);

WR_C_END
#endif
