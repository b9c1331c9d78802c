/* The multiply with BCCOO: one kernel for all rows with blocks; a second one for rows without blocks and for sums of the
 * epilogue, or for combining slices. */
#ifndef WR_YASPMV_KERNEL_H
#define WR_YASPMV_KERNEL_H

#include "spmv/backends/yaspmv/yaspmv_format.h"
#include "spmv/spmv.h"

WR_C_BEGIN

/* On a device. */
typedef struct wr_bccoo_plan {
  wr_bccoo format;
  int early_check;  /* 1: warps in which each lane ends a row leave out the scan                                             */
  int all_sums;     /* 1: a sum for each block is kept in shared memory (strategy 1); 0: one for each row                    */
  unsigned *ticket; /* [1] thread blocks that have taken a number; 0 between launches                                        */
  uint64_t *carry;  /* [grid][r] what a thread block leaves open of a block row; WR_CARRY_NOTHING between launches           */
  double *sliced;   /* [slices][all_rows * r] sums of slices, if there is more than one; rows without blocks stay 0          */
} wr_bccoo_plan;

/* Blocks of r x c that a lane multiplies at a time: as many as the registers allow. */
#define WR_BCCOO_BATCH(r, c) ((r) * (c) == 1 ? 8 : (r) * (c) <= 4 ? 4 : (r) * (c) <= 9 ? 2 : 1)

/* The same for lanes of `tile` blocks, which it divides; 0: no kernel multiplies such lanes. For blocks of 1 x 1 there are
 * kernels with 6, 7 and 9, too, so that a lane may have whole rows of the usual lengths; flags of such a lane are one word. */
static inline int wr_bccoo_batch(int r, int c, int tile) {
  if (tile % WR_BCCOO_BATCH(r, c) == 0) return WR_BCCOO_BATCH(r, c);
  if (r * c > 1 || tile > 32) return 0;
  return tile % 9 == 0 ? 9 : tile % 7 == 0 ? 7 : tile % 6 == 0 ? 6 : 0;
}

/* Roundings of a term in f32: its product, and additions within a row of a block. */
static inline int wr_bccoo_terms(int c) { return c + 1; }

/* Allocates what the plan needs besides its format. Waits. WR_ENOMEM, WR_EDEVICE. */
wr_status wr_bccoo_plan_open(wr_env *env, wr_bccoo_plan *p);
void wr_bccoo_plan_close(wr_env *env, wr_bccoo_plan *p); /* frees the format too; also of a zeroed one */
int64_t wr_bccoo_plan_bytes(const wr_bccoo_plan *p);     /* bytes on the device, the format included */

/* y = alpha*A*x + beta*y and the epilogue of a checked request, on env's stream. WR_EDEVICE. */
wr_status wr_bccoo_launch(wr_env *env, const wr_bccoo_plan *p, const wr_apply *request);

wr_status wr_bccoo_launch_f32(wr_env *env, const wr_bccoo_plan *p, const wr_apply *request);
wr_status wr_bccoo_launch_f64(wr_env *env, const wr_bccoo_plan *p, const wr_apply *request);

WR_C_END
#endif
