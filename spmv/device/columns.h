/* The epilogue of several vectors (apply.h, vec.h): its check, and the function of the host. */
#ifndef WR_COLUMNS_H
#define WR_COLUMNS_H

#include "spmv/device/apply.h"
#include "spmv/device/env.h"

WR_C_BEGIN

enum { WR_COLUMN_SUMS = 2 * WR_MAX_COLUMNS }; /* the changes of the columns, then their masses */

wr_status wr_epilogue_many_check(const wr_env *env, const wr_epilogue_many *e);
wr_status wr_start_column_check(const wr_env *env, const wr_epilogue_many *e, int c);

/* partials: room for 2 * columns sums for each 1024 rows. */
void wr_host_columns(wr_env *env, const wr_epilogue_many *e, double *partials);

void wr_host_start_column(const wr_epilogue_many *e, int c);

/* On a device, for a multiply that does the rest. begin: Y := the jumps of the entries, whose elements it marks (bit c of the
 * row's byte). The multiply leaves the masses as partial[column][parts]; end adds them up and clears the marks. x is NULL. */
wr_status wr_cuda_ranks_begin(wr_env *env, const wr_epilogue_many *e);
wr_status wr_cuda_ranks_end(wr_env *env, const wr_epilogue_many *e, double *partial, unsigned parts);

WR_C_END
#endif
