/* Loops as CUDA graphs with conditional nodes, for loop_cuda.cu. The functions are those of wr_vecops (vec.h), called with
 * env's device as the current one. */
#ifndef WR_LOOP_GRAPH_H
#define WR_LOOP_GRAPH_H

#include "spmv/device/cuda_state.h"
#include "spmv/loop/loop.h"

WR_C_BEGIN

typedef struct wr_loop_graph wr_loop_graph;

/* *stop, on the device, not 0: the next step that decides ends the loop. */
wr_status wr_loop_graph_open(wr_env *env, int parts, const unsigned *stop, wr_loop_graph **graph);
void wr_loop_graph_decide(wr_env *env, wr_loop_graph *graph, int decides);
wr_status wr_loop_graph_part(wr_env *env, wr_loop_graph *graph);
wr_status wr_loop_graph_close(wr_env *env, wr_loop_graph *graph);
wr_status wr_loop_graph_run(wr_env *env, wr_loop_graph *graph);
void wr_loop_graph_free(wr_env *env, wr_loop_graph *graph); /* also takes NULL */

WR_C_END
#endif
