/* How much a multiply by plain rows (WR_CAP_PLAIN_ROWS) reads from the second-level cache, in sectors of 32 bytes, as ncu's
 * lts__t_sectors_op_read counts them. On irregular matrices the time is proportional to these and not to bytes of memory.
 *
 * The count of streams is exact: each array (columns, values, row pointers or the like) is read once, from its aligned begin.
 * That of x is a model: a warp takes 32 consecutive entries of the matrix, whatever their rows, and reads each sector of x
 * that they use once; the first-level cache keeps no sector from one warp's gather to the next. y is written and not read. */
#ifndef WR_SECTORS_H
#define WR_SECTORS_H

#include "spmv/spmv.h"

enum { WR_SECTOR_BYTES = 32, WR_GATHER_ENTRIES = 32 };

int64_t wr_sectors_of_x(const wr_csr *A, wr_type type);

/* info: of a plan for A with a format of A's columns, its values if it has some, and the limits of rows. */
int64_t wr_sectors_of_streams(const wr_csr *A, wr_type type, const wr_plan_info *info);

/* Of the arrays of plain rows: columns, values if A has some, row pointers. */
int64_t wr_plain_format_bytes(const wr_csr *A, wr_type type);

/* What a multiply by plain rows moves at least: these arrays once, and as many x and y as `vectors` says. */
int64_t wr_plain_apply_bytes(const wr_csr *A, wr_type type, int64_t vectors);

#endif
