/* How much a multiply by plain rows (WR_CAP_PLAIN_ROWS) asks of the second-level cache, in 32-byte sectors, the unit of ncu's
 * lts__t_sectors_op_read: on irregular matrices it is these, not bytes of memory, that the time follows.
 *
 * Streams are exact: each array (columns, values, and what says where rows end) is read once, from its aligned begin. x is a
 * model: a warp takes 32 consecutive entries of the matrix, whatever their rows, and asks for each sector of x among them once;
 * no first-level cache keeps a sector from one warp's gather to the next. y is written, not read. */
#ifndef WR_SECTORS_H
#define WR_SECTORS_H

#include "spmv/spmv.h"

enum { WR_SECTOR_BYTES = 32, WR_GATHER_ENTRIES = 32 };

int64_t wr_sectors_of_x(const wr_csr *A, wr_type type);

/* info: of a plan for A whose format is A's columns, its values if it has some, and what tells rows. */
int64_t wr_sectors_of_streams(const wr_csr *A, wr_type type, const wr_plan_info *info);

#endif
