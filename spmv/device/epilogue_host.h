/* The epilogue on the host: the twin of kernel/epilogue.cuh, used by host backends row block by row block while the sums are
 * in cache, and by the separate pass for those that do not fuse it. */
#ifndef WR_FINISH_HOST_H
#define WR_FINISH_HOST_H

#include "spmv/apply.h"

enum { WR_FINISH_ROWS = 512 }; /* most rows of one call: three vectors of them stay in the first cache */

/* The one place where the host adds up a reduction: u[count], and z[count] for the kinds that need it. */
double wr_reduce_host(wr_reduction_kind kind, const double *u, const double *z, int64_t count);

/* Rows first..first+count-1: y = sum (f64, alpha and beta applied; rounded once), then the epilogue of the request. What the
 * rows add to the reductions is added to partial[WR_MAX_REDUCTIONS]. sum may be changed. */
void wr_finish_rows_host(const wr_apply *request, int64_t first, int64_t count, double *sum, double *partial);

/* Stores the reductions of a request from partials [count][WR_MAX_REDUCTIONS], summed in that order. */
void wr_finish_reductions_host(const wr_apply *request, const double *partials, int64_t count);

#endif
