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

/* On devices that reach each other's memory (spmv/device/peers.h): from here on sums are exchanged there, and loops run. The
 * first call for an env tries it; later ones, and those for a copy of it with another type, return the same. *peers NULL: the
 * host exchanges, on the CPU and where the devices cannot. Collective. WR_ENOMEM */
struct wr_peers;
wr_status wr_part_ops_connect(wr_env *env, struct wr_peers **peers);

/* *inner := env with the operations of its place, in which sums are those of this part. It is not closed, and env must outlive
 * it. */
void wr_part_ops_inner(const wr_env *env, wr_env *inner);

/* Sums of this part alone, of `reduce`, := those over all parts; then the step, unless the caller is to run it
 * (wr_then_run). */
wr_status wr_part_ops_sum(wr_env *env, const wr_reduction *reduce, int most, const wr_then *then);

/* Where devices exchange: vectors of n elements that are allocated from here on have room for `room` elements behind them, so
 * that a halo can be put there. *least: the least number that `room` of such a vector has, the same in all parts.
 * Collective. */
wr_status wr_part_ops_make_room(wr_env *env, int64_t n, int64_t room, int *least);

WR_C_END
#endif
