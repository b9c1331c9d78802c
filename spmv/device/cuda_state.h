/* What an open device env holds (wr_env.state), and what the CUDA sources of this folder share. */
#ifndef WR_CUDA_STATE_H
#define WR_CUDA_STATE_H

#include <cuda_runtime_api.h>
#include <stdint.h>

#include "spmv/apply.h"
#include "spmv/device/env.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where the blocks of one launch leave their sums. One per env: its stream lets one launch at a time use it. */
typedef struct wr_workspace {
  double *partial;   /* [WR_MAX_REDUCTIONS][max_blocks] on the device               */
  unsigned *arrived; /* [1] on the device: blocks that are done; 0 between launches */
  int64_t max_blocks;
} wr_workspace;

/* A pinned room that copies go through, and the moment from which it may be refilled. */
typedef struct wr_stage {
  char *room;
  cudaEvent_t free;
} wr_stage;

enum { WR_STAGES = 4, WR_STAGE_BYTES = 2 << 20, WR_SMALL_STAGE_BYTES = 4096 };

/* What a step that decides sets while a loop is recorded: conditions of the graph (cudaGraphConditionalHandle), the loop's own
 * first. */
typedef struct wr_go {
  int conditions;               /* 0: none                                                   */
  int tells;                    /* *going is set: for a loop without conditions              */
  unsigned long long condition[2];
  const unsigned *stop;         /* on the device; not 0: the host asks the loop to end     */
  int *going;
} wr_go;

/* A block of device memory that an env has got. */
typedef struct wr_block {
  void *at;
  int64_t bytes;
  int64_t freed; /* when it was freed, counted up, and kept for the next; 0: it is in use */
} wr_block;

typedef struct wr_cuda_state {
  cudaStream_t stream;
  int processors;     /* multiprocessors of the device: 132 on an H200 */
  int early;          /* kernels may be brought in while the one before ends: the card can, and the code waits for it */
  int foreign;        /* a library's kernels were last: the next of ours is not early */
  wr_workspace workspace;
  wr_stage small;           /* for banks of scalars: WR_SMALL_STAGE_BYTES, from the beginning      */
  wr_stage ring[WR_STAGES]; /* for the rest: WR_STAGE_BYTES each, from the first large copy on     */
  int next_stage;
  wr_go go;                 /* while a loop is recorded */
  wr_block *blocks;         /* [nblocks], room for block_room: all that were got and not given back to the device */
  int nblocks, block_room;
  int64_t frees;
  cudaEvent_t stamps[WR_STAMPS]; /* NULL until used */
} wr_cuda_state;

/* Gives spare blocks back to the device; all: those in use, too. */
void wr_blocks_drop(wr_cuda_state *state, int all);

/* Makes env's device the calling thread's; WR_EUSAGE when env is not open on a device. */
wr_status wr_cuda_enter(const wr_env *env);

/* The same for what is done now and not recorded: WR_EUNAVAILABLE while a resident loop is. */
wr_status wr_cuda_enter_now(const wr_env *env);

/* Multiprocessors of the device on which env is open; 1 while it is not. */
static inline int64_t wr_cuda_processors(const wr_env *env) {
  return env->state ? ((const wr_cuda_state *)env->state)->processors : 1;
}

/* The blocks of a launch that has work for `wanted`: at least one, at most `each` for each multiprocessor. A sum whose parts
 * are the blocks' depends on it: its last bits may be others on a card with another number of multiprocessors. */
static inline unsigned wr_cuda_grid(const wr_env *env, int64_t wanted, int64_t each) {
  int64_t most = each * wr_cuda_processors(env);
  return (unsigned)(wanted < 1 ? 1 : wanted < most ? wanted : most);
}

/* The workspace of env, for kernels that end in wr_sums_finish. A grid of more than max_blocks asks for more in prepare:
 * *workspace is at least twice as large then. What was there before stays until env is closed, since recorded launches may use
 * it. WR_ENOMEM. */
wr_status wr_workspace_reserve(wr_env *env, int64_t max_blocks, wr_workspace *workspace);

/* WR_OK when v is an allocated vector of env's device with memory aligned as the contract says. */
wr_status wr_cuda_check_vec(const wr_env *env, const wr_vec *v, const char *role);

/* WR_OK, or WR_EUNAVAILABLE when this build has no code for env's device. */
wr_status wr_cuda_check_image(const wr_env *env);

/* The operations that are kernels: rows of the table wr_vecops_cuda. */
wr_status wr_cuda_fill(wr_env *env, wr_vec *v, double value);
wr_status wr_cuda_fused(wr_env *env, const wr_fused *f);
wr_status wr_cuda_compact(wr_env *env, int64_t n, const double *values, const char *what, wr_vec *v);
wr_status wr_cuda_widen(wr_env *env, const wr_vec *from, wr_vec *to);
wr_status wr_cuda_step(wr_env *env, const wr_then *then);
wr_status wr_cuda_epilogue(wr_env *env, const struct wr_apply *apply);

#ifdef __cplusplus
}
#endif
#endif
