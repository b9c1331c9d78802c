/* Loops as CUDA graphs without conditions, which the host launches repeatedly, for loop_cuda.cu and drivers without conditional
 * nodes. The functions are those of wr_vecops (vec.h), called with env's device as the current one. */
#ifndef WR_LOOP_PLAIN_H
#define WR_LOOP_PLAIN_H

#include "spmv/device/cuda_state.h"
#include "spmv/loop/loop.h"

WR_C_BEGIN

typedef struct wr_loop_plain wr_loop_plain;

/* *stop, on the device, not 0: the next step that decides ends the loop. WR_EUNAVAILABLE: no memory for the copies. */
wr_status wr_loop_plain_open(wr_env *env, const wr_loop_request *request, const unsigned *stop, wr_loop_plain **plain);
wr_status wr_loop_plain_part(wr_env *env, wr_loop_plain *plain);
wr_status wr_loop_plain_close(wr_env *env, wr_loop_plain *plain);
wr_status wr_loop_plain_run(wr_env *env, wr_loop_plain *plain);

/* Launches until enough launches are in flight, and waits for the oldest. *ended := 1: the loop has ended, no launch is
 * left, and the kernel that restores bank and vectors is launched. */
wr_status wr_loop_plain_next(wr_env *env, wr_loop_plain *plain, int *ended);

/* On the device, a copy of the bank after the last part that was no surplus. */
const double *wr_loop_plain_bank(const wr_loop_plain *plain);
void wr_loop_plain_free(wr_env *env, wr_loop_plain *plain); /* also takes NULL */

WR_C_END
#endif
