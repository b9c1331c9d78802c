/* The epilogue of several vectors (apply.h, vec.h): its check, and the function of the host. */
#ifndef WR_COLUMNS_H
#define WR_COLUMNS_H

#include "spmv/device/apply.h"
#include "spmv/device/env.h"

WR_C_BEGIN

enum { WR_COLUMN_SUMS = 2 * WR_MAX_COLUMNS }; /* the changes of the columns, then their masses */

wr_status wr_epilogue_many_check(const wr_env *env, const wr_epilogue_many *e);

/* partials: room for 2 * columns sums for each 1024 rows. */
void wr_host_columns(wr_env *env, const wr_epilogue_many *e, double *partials);

WR_C_END
#endif
