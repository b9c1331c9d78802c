/* Cards that exchange numbers without their hosts. This is for the parts of one solve, one process a card (spmv/parts/comm.h).
 * On one host each card writes into the memory of the others, while a loop runs on all of them. With NCCL, which also works
 * between hosts, the host launches each exchange and does not wait for it.
 *
 * A sum over all parts: a kernel of one block hands the sums of its part to all other cards, waits for theirs, adds all by rank
 * and runs the step behind the sums. So all parts get the same bits, those that wr_comm_sum gives.
 *
 * A halo: a kernel writes the elements of x that other parts need into a buffer of each of them, as records that say their
 * round or, where they are many, as they are with a flag behind them; then it waits for those of the others and puts them
 * behind the part's own elements of x. A buffer may be written again once it has been emptied: each part says with each sum
 * how many exchanges it has done, and once more before it sends.
 *
 * A part that waits for longer than comm->patience goes on without an answer; it then waits for nothing more, and its next
 * call that waits for the device fails. */
#ifndef WR_PEERS_H
#define WR_PEERS_H

#include "spmv/device/env.h"
#include "spmv/parts/halo.h"

WR_C_BEGIN

enum { WR_MOST_PEERS = 16 }; /* cards of a host */

typedef struct wr_peers wr_peers;

/* *peers := for the parts of env->comm, as env->exchange says; NULL: by way of the hosts. Cards do not write into each other's
 * memory if they are not all on one machine, more than WR_MOST_PEERS, or do not reach it. This is a failure if peers were asked
 * for; with WR_EXCHANGE_AUTO they exchange by NCCL or, where that is not installed or fails, by way of the hosts. Collective,
 * as are the calls below. WR_EUNAVAILABLE, WR_EDEVICE: what was asked for is not possible; WR_ENOMEM */
wr_status wr_peers_open(wr_env *env, wr_peers **peers);
void wr_peers_close(wr_peers *peers); /* not collective; NULL is fine */

/* The way that was taken; that of NULL is hosts. Not collective. */
wr_exchange wr_peers_exchange(const wr_peers *peers);

/* Each sum of `reduce`, which has `most`, := that over all parts, where `when` is not 0; then the step. Asynchronous. */
wr_status wr_peers_sum(wr_peers *peers, wr_env *env, const wr_reduction *reduce, int most, wr_scalar when,
                       const wr_then *then);

/* loop_open of the place, for a loop that runs in all parts in as many iterations: it has conditional nodes, and ends where one
 * of the parts wants to stop, which they have agreed on with their last sum. WR_EUNAVAILABLE: there are no such nodes. */
wr_status wr_peers_loop_open(wr_peers *peers, wr_env *env, const wr_vecops *of_place,
                             const struct wr_loop_request *request, struct wr_loop **loop);

/* The members of the place's table behind loop_open, for such loops. */
wr_status wr_peers_loop_close(wr_peers *peers, wr_env *env, const wr_vecops *of_place, struct wr_loop *loop);
wr_status wr_peers_loop_run(wr_peers *peers, wr_env *env, const wr_vecops *of_place, struct wr_loop *loop);
void wr_peers_loop_free(wr_peers *peers, wr_env *env, const wr_vecops *of_place, struct wr_loop *loop);

/* Before a wait for the device: if NCCL exchanges, waits for at most comm->patience seconds. WR_EDEVICE. Not collective. */
wr_status wr_peers_await(wr_peers *peers, wr_env *env);

/* Behind a wait for the device: WR_OK, or WR_EDEVICE: a kernel has waited in vain for another part. Not collective. */
wr_status wr_peers_check(wr_peers *peers);

/* Adds to comm->waited and waited_halo what kernels have waited since the last call. Waits for the device; not collective. */
wr_status wr_peers_count_waiting(wr_peers *peers, wr_env *env);

/* The exchange of a halo, of elements of env's type. */
typedef struct wr_peer_halo wr_peer_halo;
wr_status wr_peer_halo_open(wr_peers *peers, wr_env *env, const wr_halo *halo, wr_peer_halo **h);
void wr_peer_halo_close(wr_peer_halo *h); /* not collective; NULL is fine */

/* wide[own + count] := x[own] and behind it the halo; wide may be x, with room behind it. Asynchronous. ahead: 1: what
 * the multiply behind it gives is exchanged by wr_peer_halo_sum. */
wr_status wr_peer_halo_exchange(wr_peer_halo *h, wr_env *env, const wr_vec *x, wr_vec *wide, int ahead);

/* Behind a multiply whose y will be x of the next one: as wr_peers_sum without `when`; besides, the halo of y comes behind y,
 * where there is room. The next exchange of y has then nothing to do, unless y is written before it. By NCCL the sums alone.
 * sent: 1: the multiply has sent the elements that others need, by the outbox. Collective, but for `sent`. Asynchronous. */
wr_status wr_peer_halo_sum(wr_peer_halo *h, wr_env *env, const wr_reduction *reduce, int most, const wr_then *then,
                           int sent, const wr_vec *y);

/* For the epilogue of that multiply (wr_epilogue). NULL: it does not pay to send from its kernels. Not collective. */
const struct wr_outbox *wr_peer_halo_outbox(const wr_peer_halo *h);

WR_C_END
#endif
