/* Exchanges between cards by NCCL, on one host or on several: for parts that do not reach each other's memory. libnccl.so.2 is
 * loaded at the first call, so that neither a build nor a process that needs none of it depends on it. */
#ifndef WR_NCCL_EXCHANGE_H
#define WR_NCCL_EXCHANGE_H

#include "spmv/device/env.h"
#include "spmv/parts/comm.h"

WR_C_BEGIN

typedef struct wr_nccl wr_nccl;

/* *nccl := connects the cards of all parts of env->comm. Collective. WR_EUNAVAILABLE: a part has no libnccl; WR_EDEVICE: what
 * NCCL says; WR_ENOMEM. After an error all parts have the same one. */
wr_status wr_nccl_open(wr_env *env, wr_nccl **nccl);
void wr_nccl_close(wr_nccl *nccl); /* not collective; NULL is fine */

/* In the order of env's stream, asynchronous; all parts make the same calls. Memory is on the device.
 *
 * all[size * bytes] := the bytes of each part, by rank. */
wr_status wr_nccl_gather(wr_nccl *nccl, wr_env *env, const void *from, int64_t bytes, void *all);

/* Sends send[size] to the other parts and receives receive[size] from them, as wr_comm's begin and end. */
wr_status wr_nccl_swap(wr_nccl *nccl, wr_env *env, const wr_parcel *send, const wr_parcel *receive);

/* Waits for env's stream, at most comm->patience seconds. WR_EDEVICE: NCCL has failed, or another part has stopped; then
 * nothing is waited for any more. Not collective. */
wr_status wr_nccl_wait(wr_nccl *nccl, wr_env *env);

WR_C_END
#endif
