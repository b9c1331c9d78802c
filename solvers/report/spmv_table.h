/* The results of spmv for one matrix in one precision, and their table: a row a backend, no wider than the stream.
 *
 *   gen:web in f64: generated pattern, 3.00 M x 3.00 M, 49.6 M nonzeros; values made up
 *   rows: 0 to 1224 entries, 16.5 on average, 300 k empty; bandwidth 3.00 M
 *   backend    prepare  first us  hot us    +-  cold us   bytes  GB/s  read   memory  speed-up  pays at
 *   ...
 *   least time: for 1 to 12 multiplies cusparse, from 13 on merbit
 */
#ifndef WR_SPMV_TABLE_H
#define WR_SPMV_TABLE_H

#include <stdio.h>

#include "solvers/report/run.h"
#include "solvers/report/row_statistics.h"

typedef struct wr_spmv_table {
  const wr_problem_facts *facts;
  const wr_csr *A;
  wr_type type;
  const wr_row_statistics *rows;
  const wr_run *runs; /* [count] */
  const wr_apply_times *times; /* [count] */
  int count;
  int64_t x_sectors; /* wr_sectors_of_x; -1: not counted */
  int verbose;       /* 1: show each plan's line         */
} wr_spmv_table;

void wr_spmv_table_print(FILE *out, const wr_spmv_table *table);

#endif
