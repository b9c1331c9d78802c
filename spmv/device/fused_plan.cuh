/* What a fused operation asks for, as its kernels are launched for it (fused_kernel.cuh). */
#ifndef WR_FUSED_PLAN_CUH
#define WR_FUSED_PLAN_CUH

#include "spmv/device/fused.cuh"

/* The vectors that a request reads, by slot, and its numbers of outputs and sums. */
typedef struct wr_fused_plan {
  const wr_vec *in[wr_wide::SLOTS];
  int slot_of[WR_MAX_INPUTS]; /* of f->in[k]; -1: it is not read */
  int nin, nout, nsums, has_times, has_hashes;
} wr_fused_plan;

/* Launches the operation, or records it in a resident loop. n: elements of a vector. */
wr_status wr_fused_launch_f32(wr_env *env, const wr_fused_plan *p, const wr_fused *f, int64_t n);
wr_status wr_fused_launch_f64(wr_env *env, const wr_fused_plan *p, const wr_fused *f, int64_t n);

#endif
