/* Loops of a CUDA device: the members of wr_vecops (loop_cuda.cu). */
#ifndef WR_LOOP_CUDA_H
#define WR_LOOP_CUDA_H

#include "spmv/apply.h"
#include "spmv/device/env.h"
#include "spmv/loop/loop.h"
#include "spmv/matrix/csr.h"

WR_C_BEGIN

wr_status wr_cuda_loop_open(wr_env *env, const wr_loop_request *request, wr_loop **loop);
wr_status wr_cuda_loop_rows(wr_env *env, const struct wr_csr_view *A, int64_t nnz, const struct wr_apply *request);
wr_status wr_cuda_loop_decide(wr_env *env, wr_loop *loop, int decides);
wr_status wr_cuda_loop_part(wr_env *env, wr_loop *loop);
wr_status wr_cuda_loop_close(wr_env *env, wr_loop *loop);
wr_status wr_cuda_loop_run(wr_env *env, wr_loop *loop);
wr_status wr_cuda_loop_poll(wr_env *env, wr_loop *loop, const wr_vec *bank, double *scalars, int *ended);
wr_status wr_cuda_loop_stop(wr_env *env, wr_loop *loop);
void wr_cuda_loop_free(wr_env *env, wr_loop *loop);

WR_C_END
#endif
