/* What a multiply with BCCOO needs besides the format. */
#include "spmv/backends/yaspmv/yaspmv_build.h"
#include "spmv/backends/yaspmv/yaspmv_kernel.h"
#include "spmv/device/check.cuh"
#include "spmv/device/cuda_state.h"
#include "spmv/device/device_memory.h"

constexpr int64_t LAST_BLOCKS = 8; /* at least those of the second kernel, for each multiprocessor */

static int64_t sliced_sums(const wr_bccoo *b) { return b->slices > 1 ? b->slices * b->all_rows * b->r : 0; }

extern "C" wr_status wr_bccoo_plan_open(wr_env *env, wr_bccoo_plan *p) {
  wr_workspace workspace;
  const wr_bccoo *b = &p->format;
  int64_t carries = b->grid * b->r;
  PASS(wr_cuda_enter(env));
  PASS(wr_device_alloc_zeroed(env, &p->ticket, 1, sizeof *p->ticket, "a ticket"));
  PASS(wr_device_alloc(env, &p->carry, carries, sizeof *p->carry, "parts of rows"));
  PASS(WR_CUDA(cudaMemsetAsync(p->carry, 0xff, (size_t)carries * sizeof *p->carry, (cudaStream_t)env->stream)));
  if (b->slices > 1) PASS(wr_device_alloc_zeroed(env, &p->sliced, sliced_sums(b), sizeof *p->sliced, "sums of slices"));
  return wr_workspace_reserve(env, b->grid + LAST_BLOCKS * wr_cuda_processors(env), &workspace);
}

extern "C" void wr_bccoo_plan_close(wr_env *env, wr_bccoo_plan *p) {
  wr_device_free(env, p->ticket);
  wr_device_free(env, p->carry);
  wr_device_free(env, p->sliced);
  wr_bccoo_device_free(env, &p->format);
  p->ticket = NULL, p->carry = NULL, p->sliced = NULL;
}

extern "C" int64_t wr_bccoo_plan_bytes(const wr_bccoo_plan *p) {
  const wr_bccoo *b = &p->format;
  int64_t bytes = wr_bccoo_device_bytes(b) + wr_device_bytes(1, sizeof *p->ticket);
  bytes += wr_device_bytes(b->grid * b->r, sizeof *p->carry);
  return p->sliced ? bytes + wr_device_bytes(sliced_sums(b), sizeof *p->sliced) : bytes;
}

extern "C" wr_status wr_bccoo_launch(wr_env *env, const wr_bccoo_plan *p, const wr_apply *request) {
  wr_status status = wr_cuda_enter(env);
  if (status != WR_OK) return status;
  return env->type == WR_F32 ? wr_bccoo_launch_f32(env, p, request) : wr_bccoo_launch_f64(env, p, request);
}
