/* Sums over blocks (spmv/blocks/bsr_format.h), in f64 whatever the type: compiled for the common block sizes, with loops for
 * the others. The schedules that use the sums are in cpu_bsr_tasks.h. */
#ifndef WR_CPU_BSR_KERNEL_H
#define WR_CPU_BSR_KERNEL_H

#include <stdint.h>

#include "spmv/blocks/bsr_format.h"

/* x as a kernel reads it. If the last block column reaches past the end of x, `end` is read in its place. */
typedef struct cpu_bsr_x {
  const void *data; /* [ncols] of the matrix's type                                         */
  const void *end;  /* [c]: the last block column's part of x, then zeros; NULL: not needed */
} cpu_bsr_x;

/* buffer[WR_BSR_MAX_SIDE]: memory for `end`. */
cpu_bsr_x wr_cpu_bsr_x(const wr_bsr *b, const void *x, double *buffer);

typedef struct cpu_bsr_kernel {
  int r, c;
  /* sum[count * r] := the products of block rows first..first+count-1, r rows each. */
  void (*rows)(const wr_bsr *b, cpu_bsr_x x, int64_t first, int64_t count, double *sum);
  /* sum[r] := the products of blocks [first, last), all of one block row. */
  void (*range)(const wr_bsr *b, cpu_bsr_x x, int64_t first, int64_t last, double *sum);
} cpu_bsr_kernel;

cpu_bsr_kernel wr_cpu_bsr_kernel(const wr_bsr *b);

/* The same; a sum that is NaN is computed again without padding. */
void wr_cpu_bsr_rows(const cpu_bsr_kernel *kernel, const wr_bsr *b, cpu_bsr_x x, int64_t first, int64_t count,
                     double *sum);
void wr_cpu_bsr_range(const cpu_bsr_kernel *kernel, const wr_bsr *b, cpu_bsr_x x, int64_t first, int64_t last,
                      double *sum);

/* row_ptr[i]: blocks before block row i. */
static inline int64_t wr_cpu_bsr_before(const wr_bsr *b, int64_t i) {
  return b->wide ? ((const int64_t *)b->row_ptr)[i] : ((const int32_t *)b->row_ptr)[i];
}

#endif
