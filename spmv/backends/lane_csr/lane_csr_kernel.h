/* The multiply with interleaved rows, as C sees it. */
#ifndef WR_LANE_CSR_KERNEL_H
#define WR_LANE_CSR_KERNEL_H

#include "spmv/backends/lane_csr/lane_csr_format.h"
#include "spmv/spmv.h"

WR_C_BEGIN

enum { WR_LANE_HUB_BYTES = 208 << 10 }; /* of shared memory that hubs may take, on a multiprocessor with 227 KB for a block */

typedef struct wr_lane_plan {
  wr_lane_csr format;
  double *head;  /* [shares] the share's part of the row that ends first in it and began before it (lane_csr_turns.cuh) */
  double *tail;  /* [shares] the sum of the row that is open at the share's end                                         */
  uint64_t *carry; /* [shares of a multiply alone] the sum of the row that is open at the share's end, passed on within the */
                   /* kernel (carry.cuh); NULL: a second kernel adds tails up                                             */
  unsigned *ticket; /* [1] with carry: thread blocks that have taken a number; 0 between launches */
  unsigned *turns; /* [1] turns that thread blocks took after their first ones; 0 between launches */
  void *hub_x;   /* [hubs] of the format's type: the hubs' elements of x, gathered by each multiply  */
  void *far_x;   /* [far] of the format's type: the staged elements of x, gathered by each multiply  */
  int columns;   /* the most of several vectors (apply_many); 0: none                                */
  double *many_head, *many_tail; /* [chunks * columns] the same for several vectors                   */
} wr_lane_plan;

/* Whether a multiply completes all rows, and the sums of its epilogue, in one kernel: each warp has few chunks, and no row goes
 * over so many that waiting for them takes longer than a second kernel. */
int wr_lane_is_alone(const wr_env *env, const wr_lane_csr *c);

/* Allocates what a plan needs besides its format and prepares its kernels. may_be_alone: 0: a second kernel completes the rows
 * of several chunks in any case. WR_ENOMEM, WR_EDEVICE. */
wr_status wr_lane_plan_open(wr_env *env, int may_be_alone, wr_lane_plan *p);
void wr_lane_plan_close(wr_env *env, wr_lane_plan *p); /* frees the format too; also of a zeroed one */
int64_t wr_lane_plan_bytes(const wr_env *env, const wr_lane_plan *p); /* bytes that it allocated, the format included */

/* Bytes of shared memory that hubs may have on env's device: WR_LANE_HUB_BYTES, or less where a block cannot have so much. */
int64_t wr_lane_hub_bytes(const wr_env *env);

/* Asynchronous: y = alpha*A*x + beta*y and the epilogue of a checked request. WR_EDEVICE. */
wr_status wr_lane_csr_launch(wr_env *env, const wr_lane_plan *p, const wr_apply *request);
/* For each type; compact: values of f64 in fewer bytes. */
wr_status wr_lane_csr_launch_f32(wr_env *env, const wr_lane_plan *p, const wr_apply *request);
wr_status wr_lane_csr_launch_f64(wr_env *env, const wr_lane_plan *p, const wr_apply *request);

wr_status wr_lane_csr_launch_compact(wr_env *env, const wr_lane_plan *p, const wr_apply *request);

/* The same for several vectors (lane_csr_many_kernel.cu). */
wr_status wr_lane_csr_many_launch(wr_env *env, const wr_lane_plan *p, const wr_apply_many *request);

WR_C_END
#endif
