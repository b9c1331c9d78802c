/* A table of runs: a line a run, as many columns as the stream has room for, and below it what did not run and why.
 *
 *   backend  prepare  apply us  solve     total   speed-up
 *   cpu_csr  44.1 us     163.3  6.88 ms  20.2 ms      1.00x
 *   cusparse:alg=2:layout=packed
 *            62.5 ms      39.0  5.00 ms  1.56 s       4.19x
 *   not available: merbit, csr_warp: no CUDA device on this machine */
#ifndef WR_REPORT_COLUMNS_H
#define WR_REPORT_COLUMNS_H

#include "solvers/report/run.h"

enum { WR_CELL_ROOM = 40, WR_MOST_COLUMNS = 16 };

/* What a cell depends on besides its run. */
typedef struct wr_columns {
  const wr_run *runs;    /* [count]                                                            */
  int count;
  const wr_run *base;    /* that others are compared with; NULL: none can be                   */
  int decimals;          /* of the microseconds of a multiply, one for the column so that the points line up */
  const wr_apply_times *times; /* [count] or NULL: what spmv has measured besides */
} wr_columns;

typedef struct wr_column {
  const char *title;
  void (*cell)(const wr_columns *c, int k, char *text); /* text[WR_CELL_ROOM] := that of runs[k]; "": not measured */
  int worth;        /* where there is no room for all columns, those that are worth least go first; they differ */
  const char *note; /* what the column shows, for wr_columns_explain; NULL: the title says it                   */
} wr_column;

/* Prints it. A column of what was not measured for any run is left out; one for which there is no room is, too, and a line
 * says which and how wide the stream would have to be. A label that is too long for its column stands on a line of its own.
 * columns[count], at most WR_MOST_COLUMNS. */
void wr_columns_print(FILE *out, const wr_column *columns, int count, const wr_columns *c);

/* A paragraph with the notes of the columns that wr_columns_print shows. */
void wr_columns_explain(FILE *out, const wr_column *columns, int count, const wr_columns *c);

/* Cells that tables share. */
void wr_cell_prepare(const wr_columns *c, int k, char *text);
void wr_cell_memory(const wr_columns *c, int k, char *text); /* of the backend's own and of the matrix's arrays that it uses */
void wr_cell_read(const wr_columns *c, int k, char *text);

#endif
