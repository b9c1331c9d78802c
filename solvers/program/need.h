/* A lower bound on the host memory that a run takes for each row of its matrix, even an empty one, besides the row pointer. A
 * header of 60 bytes can announce 2^31 rows; by these bounds a program refuses them before it allocates (source.h). test_need
 * compares them with what is allocated. */
#ifndef WR_NEED_H
#define WR_NEED_H

#include "solvers/program/settings.h"

/* Bytes a row. on_host: 1 if a backend of the run computes on the CPU. */
int64_t wr_pagerank_row_bytes(const wr_settings *settings, int on_host);
int64_t wr_bicgstab_row_bytes(const wr_settings *settings, int on_host);

/* Likewise bytes for each entry of the matrix beside its diagonal, besides the matrix: of incomplete factors. */
int64_t wr_bicgstab_entry_bytes(const wr_settings *settings);

/* Of spmv: bytes a row of the product, and bytes a column of the matrix. type: the narrower one that is timed. */
int64_t wr_spmv_row_bytes(const wr_settings *settings, wr_type type, int on_host);
int64_t wr_spmv_column_bytes(wr_type type, int on_host);

#endif
