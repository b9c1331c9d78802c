/* The state of an open device env (wr_env.state), and declarations that the CUDA sources of this folder share. */
#ifndef WR_CUDA_STATE_H
#define WR_CUDA_STATE_H

#include <cuda_runtime_api.h>
#include <stdint.h>

#include "spmv/device/apply.h"
#include "spmv/device/env.h"
#include "spmv/loop/loop.h"

WR_C_BEGIN

/* Memory in which the thread blocks of a launch leave their sums. One for each env, since its stream runs one launch at a
 * time. */
typedef struct wr_workspace {
  double *partial;   /* [WR_FUSED_REDUCTIONS][max_blocks] on the device             */
  unsigned *arrived; /* [1] on the device: number of finished blocks; 0 between launches */
  int64_t max_blocks;
} wr_workspace;

/* A pinned buffer through which copies go. `free` is recorded behind the last copy: then the buffer may be filled again. */
typedef struct wr_stage {
  char *room;
  cudaEvent_t free;
} wr_stage;

enum { WR_STAGES = 4, WR_STAGE_BYTES = 2 << 20, WR_SMALL_STAGE_BYTES = 4096 };

/* What the steps that decide about a loop set, as given to the kernels recorded in it: conditions of the graph
 * (cudaGraphConditionalHandle), of which that of the WHILE node is the first, or a word. */
typedef struct wr_go {
  int conditions;               /* number of conditions; 0: none                             */
  int sets_going;               /* 1: the step sets *going, for a loop without conditions    */
  unsigned long long condition[WR_MAX_PARTS];
  const unsigned *stop;         /* on the device; not 0: the next step that decides ends it */
  int *going;
} wr_go;

/* A block of device memory that an env has allocated. */
typedef struct wr_block {
  void *at;
  int64_t bytes;
  int64_t freed; /* 0: in use. Else it is spare; a larger number was freed later */
} wr_block;

enum { WR_ALLOWED = 32 };

typedef struct wr_cuda_state {
  cudaStream_t stream;
  int processors;     /* multiprocessors of the device: 132 on an H200 */
  int early;          /* 1: the card supports early launches (kernel/launch.cuh) and the code was compiled for them */
  int foreign;        /* 1: the last kernel was a library's, so the next launch of windrow's is not early */
  const void *allowed[WR_ALLOWED]; /* kernels that wr_allow_shared has let have their memory */
  int nallowed;
  wr_workspace workspace;
  wr_stage small;           /* for banks of scalars: WR_SMALL_STAGE_BYTES */
  wr_stage ring[WR_STAGES]; /* for the rest: WR_STAGE_BYTES each          */
  int next_stage;
  wr_go go;                 /* while a loop is recorded */
  wr_block *blocks;         /* [nblocks], allocated for block_room: blocks in use, and spare ones */
  int nblocks, block_room;
  int64_t frees;
  cudaEvent_t stamps[WR_STAMPS]; /* NULL until used */
} wr_cuda_state;

/* All stages, in one block of pinned memory, which begins with the small one: the driver takes a millisecond to pin anything,
 * however small. */
wr_status wr_stages_open(wr_cuda_state *state);
void wr_stages_close(wr_cuda_state *state); /* frees also what a failed wr_stages_open has left */

/* Frees spare blocks with cudaFree; all: those in use, too. */
void wr_blocks_drop(wr_cuda_state *state, int all);

/* Makes env's device the calling thread's; WR_EUSAGE when env is not open on a device. */
wr_status wr_cuda_enter(const wr_env *env);

/* The same for operations that a resident loop cannot record: WR_EUNAVAILABLE while one is recorded. */
wr_status wr_cuda_enter_now(const wr_env *env);

/* Multiprocessors of the device on which env is open; 1 while it is not. */
static inline int64_t wr_cuda_processors(const wr_env *env) {
  return env->state ? ((const wr_cuda_state *)env->state)->processors : 1;
}

/* The number of blocks for a launch with work for `wanted` blocks: at least one, at most `each` a multiprocessor. The number
 * decides the order of sums over blocks, so their last bits may differ between cards with different numbers of
 * multiprocessors. */
static inline unsigned wr_cuda_grid(const wr_env *env, int64_t wanted, int64_t each) {
  int64_t most = each * wr_cuda_processors(env);
  return (unsigned)(wanted < 1 ? 1 : wanted < most ? wanted : most);
}

/* *workspace := the workspace of env, for kernels that end in wr_sums_finish, for at least max_blocks blocks. Backends call it
 * in prepare for a larger grid; the workspace then at least doubles. The old one stays until env is closed, since
 * recorded launches may use it. WR_ENOMEM. */
wr_status wr_workspace_reserve(wr_env *env, int64_t max_blocks, wr_workspace *workspace);

/* WR_OK if v is an allocated vector at env's place, else WR_EUSAGE. role: what v is, for the message. */
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
wr_status wr_cuda_recast(wr_env *env, const wr_recast *r);
wr_status wr_cuda_maxima(wr_env *env, const wr_vec *v, const wr_vec *scale, int64_t length, wr_vec *to);
wr_status wr_cuda_pick(wr_env *env, const wr_vec *v, int64_t length, const wr_vec *pieces, wr_vec *to);
wr_status wr_cuda_copy_column(wr_env *env, const wr_vec *from, int64_t from_ld, int64_t from_column, wr_vec *to,
                              int64_t to_ld, int64_t to_column);
wr_status wr_cuda_move_column(wr_env *env, wr_vec *from, int64_t ld, int64_t column, wr_vec *to);
wr_status wr_cuda_epilogue_many(wr_env *env, const struct wr_epilogue_many *e);
wr_status wr_cuda_start_column(wr_env *env, const struct wr_epilogue_many *e, int c);
wr_status wr_cuda_fused_many(wr_env *env, const wr_fused_many *f);

WR_C_END
#endif
