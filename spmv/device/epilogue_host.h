/* The epilogue on the host, as kernel/epilogue.cuh on a device. Host backends call it for each block of rows while the sums are
 * in cache; for backends without WR_CAP_EPILOGUE it is a separate pass. */
#ifndef WR_FINISH_HOST_H
#define WR_FINISH_HOST_H

#include "spmv/device/apply.h"

enum { WR_FINISH_ROWS = 512 }; /* of one call at most: three f64 vectors of so many elements stay in L1 */

/* The reduction of u[count], and of z[count] for the kinds that need it. */
double wr_reduce_host(wr_reduction_kind kind, const double *u, const double *z, int64_t count);

/* Rows first..first+count-1: y = sum (f64, alpha and beta applied; rounded once), then the epilogue of the request. Adds the
 * rows' terms of the reductions to partial[WR_MAX_REDUCTIONS]. sum may be changed. */
void wr_finish_rows_host(const wr_apply *request, int64_t first, int64_t count, double *sum, double *partial);

/* Stores the reductions of a request: the sums of partials[count][WR_MAX_REDUCTIONS] in the order of count. */
void wr_finish_reductions_host(const wr_apply *request, const double *partials, int64_t count);

#endif
