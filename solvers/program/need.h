/* The host memory that a run holds for each row of its matrix even if the row is empty, besides the row pointer: at least.
 * A header can name 2^31 rows in 60 bytes; with these figures a program knows before it touches memory that they do not fit
 * (solvers/program/source.h). test_need holds them against what is allocated. */
#ifndef WR_NEED_H
#define WR_NEED_H

#include "solvers/program/settings.h"

/* Bytes a row. on_host: 1 if a backend of the run computes on the CPU. */
int64_t wr_pagerank_row_bytes(const wr_settings *settings, int on_host);
int64_t wr_bicgstab_row_bytes(const wr_settings *settings, int on_host);

/* Of spmv: bytes a row of the product, and bytes a column of the matrix. type: the narrower one that is timed. */
int64_t wr_spmv_row_bytes(const wr_settings *settings, wr_type type, int on_host);
int64_t wr_spmv_column_bytes(wr_type type, int on_host);

#endif
