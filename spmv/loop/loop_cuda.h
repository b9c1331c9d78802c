/* Loops of a CUDA device: the members of wr_vecops (loop_cuda.cu), and the two kinds of graphs that these use. */
#ifndef WR_LOOP_CUDA_H
#define WR_LOOP_CUDA_H

#include "spmv/device/cuda_state.h"
#include "spmv/loop/loop.h"

WR_C_BEGIN

wr_status wr_cuda_loop_open(wr_env *env, const wr_loop_request *request, wr_loop **loop);
wr_status wr_cuda_loop_rows(wr_env *env, const struct wr_csr_view *A, int64_t nnz, int side,
                            const struct wr_apply *request);
wr_status wr_cuda_loop_decide(wr_env *env, wr_loop *loop, int decides);
wr_status wr_cuda_loop_part(wr_env *env, wr_loop *loop);
wr_status wr_cuda_loop_close(wr_env *env, wr_loop *loop);
wr_status wr_cuda_loop_run(wr_env *env, wr_loop *loop);
wr_status wr_cuda_loop_poll(wr_env *env, wr_loop *loop, const wr_vec *bank, double *scalars, int *ended);
wr_status wr_cuda_loop_stop(wr_env *env, wr_loop *loop);
void wr_cuda_loop_free(wr_env *env, wr_loop *loop);

/* The functions below are those of wr_vecops (vec.h) and are called with env's device as the current one. */

/* A graph with conditional nodes (loop_graph.cu). */
typedef struct wr_loop_graph wr_loop_graph;

/* *stop, on the device, not 0: the next step that decides ends the loop. */
wr_status wr_loop_graph_open(wr_env *env, int parts, const unsigned *stop, wr_loop_graph **graph);
void wr_loop_graph_decide(wr_env *env, wr_loop_graph *graph, int decides);
wr_status wr_loop_graph_part(wr_env *env, wr_loop_graph *graph);
wr_status wr_loop_graph_close(wr_env *env, wr_loop_graph *graph);
wr_status wr_loop_graph_run(wr_env *env, wr_loop_graph *graph);
void wr_loop_graph_free(wr_env *env, wr_loop_graph *graph); /* also takes NULL */

/* Graphs without conditions, which the host launches repeatedly, for drivers without conditional nodes (loop_plain.cu). */
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
