/* Which rows are which part's: contiguous ones of about equal work. */
#ifndef WR_PARTITION_H
#define WR_PARTITION_H

#include "spmv/parts/comm.h"

WR_C_BEGIN

/* The first row of equal slice number r of n rows, 0 <= r <= size: where the lengths of rows are counted. */
int64_t wr_partition_slice(int64_t n, int r, int size);

/* starts[size + 1] := the first rows of the parts, and n behind them. The work of a row is one step and one for each entry, the
 * steps of the merge path; each part has a row at least. row_ptr[rows of this part's slice + 1]: of the slice, from 0 on.
 * Collective. WR_EUSAGE: fewer rows than parts; WR_ENOMEM. */
wr_status wr_partition_cut(wr_comm *comm, int64_t n, const int64_t *row_ptr, int64_t *starts);

WR_C_END
#endif
