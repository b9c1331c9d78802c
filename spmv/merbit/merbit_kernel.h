/* The multiply of MERBIT: a kernel for all rows but those that thread blocks share, and one for these. */
#ifndef WR_MERBIT_KERNEL_H
#define WR_MERBIT_KERNEL_H

#include "spmv/merbit/merbit_format.h"
#include "spmv/spmv.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  WR_MERBIT_WARPS = 8,      /* tiles of a thread block                                                      */
  WR_MERBIT_KERNEL_SIGMA = 22 /* largest: products and sums of a block stay within 48 KB of shared memory   */
};

/* A row is shared when it begins in one thread block's part of the path and ends in another's. */
typedef struct wr_merbit_plan {
  wr_merbit_format format;
  wr_csr_view view; /* borrowed: row_ptr, columns, values                                                    */
  int64_t blocks;   /* of the multiply                                                                       */
  int32_t *origin;  /* [blocks] the block where the first row that ends in this one begins; itself: not shared */
  double *head;     /* [blocks] of that row, what this block adds up                                          */
  double *tail;     /* [blocks] of the row that is open at its end, likewise                                  */
  double *sums;     /* [WR_MAX_REDUCTIONS] reductions over rows that are not shared                           */
} wr_merbit_plan;

int64_t wr_merbit_blocks(const wr_merbit_format *shape);

/* Allocates and fills what comes beside the format, and the workspace that the reductions of the launches need. The format
 * and the view are there. WR_ENOMEM, WR_EDEVICE. */
wr_status wr_merbit_plan_open(wr_env *env, wr_merbit_plan *plan);
void wr_merbit_plan_close(wr_env *env, wr_merbit_plan *plan); /* the format too; a zeroed one is fine */

/* y = alpha*A*x + beta*y and the epilogue of a checked request, on env's stream. WR_EDEVICE. */
wr_status wr_merbit_launch(wr_env *env, const wr_merbit_plan *plan, const wr_apply *request);

#ifdef __cplusplus
}
#endif
#endif
