/* Loops that are CUDA graphs without conditions, launched by the host again and again: what loop_cuda.cu calls where a device
 * cannot decide by itself. As in vec.h, where nothing else is said; env's device is current. */
#ifndef WR_LOOP_PLAIN_H
#define WR_LOOP_PLAIN_H

#include "spmv/device/cuda_state.h"
#include "spmv/loop/loop.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wr_loop_plain wr_loop_plain;

/* stop, on the device: not 0: somebody wants the loop to end. WR_EUNAVAILABLE: there is no memory for what is put back. */
wr_status wr_loop_plain_open(wr_env *env, const wr_loop_request *request, const unsigned *stop, wr_loop_plain **plain);
wr_status wr_loop_plain_part(wr_env *env, wr_loop_plain *plain);
wr_status wr_loop_plain_close(wr_env *env, wr_loop_plain *plain);
wr_status wr_loop_plain_run(wr_env *env, wr_loop_plain *plain);

/* Sees to it that enough is under way and waits for the oldest of it. *ended: the loop is over, and what it left is asked to be
 * put back. */
wr_status wr_loop_plain_next(wr_env *env, wr_loop_plain *plain, int *ended);

/* Of the loop's bank, on the device: a copy as it was behind the last part that counted. */
const double *wr_loop_plain_bank(const wr_loop_plain *plain);
void wr_loop_plain_free(wr_env *env, wr_loop_plain *plain); /* NULL is fine */

#ifdef __cplusplus
}
#endif
#endif
