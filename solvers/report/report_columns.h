/* A table of runs: a line a run, as many columns as fit the width of the stream, and below it the runs without a result.
 *
 *   backend  prepare  apply us  solve     total   speed-up
 *   cpu_csr  44.1 us     163.3  6.88 ms  20.2 ms      1.00x
 *   cusparse:alg=2:layout=packed
 *            62.5 ms      39.0  5.00 ms  1.56 s       4.19x
 *   not available: merbit, csr_warp: no CUDA device on this machine */
#ifndef WR_REPORT_COLUMNS_H
#define WR_REPORT_COLUMNS_H

#include "solvers/report/run.h"
#include "solvers/report/writer.h"

enum { WR_CELL_ROOM = 40, WR_MOST_COLUMNS = 16 };

/* The data of all cells. */
typedef struct wr_columns {
  const wr_run *runs;    /* [count]                                                            */
  int count;
  const wr_run *base;    /* the baseline of comparisons; NULL: there is none                   */
  int decimals;          /* of the microseconds of a multiply, the same in all rows so that the points line up */
  const wr_apply_times *times; /* [count] or NULL: further measurements of spmv */
  double multiplies;     /* for which spmv advises; 0: for none                                */
} wr_columns;

typedef struct wr_column {
  const char *title;
  void (*cell)(const wr_columns *c, int k, char *text); /* text[WR_CELL_ROOM] := that of runs[k]; "": not measured */
  int worth;        /* columns of least worth are left out first if not all fit; no two are equal */
  const char *note; /* what the column shows, for wr_columns_explain; NULL: the title says it        */
} wr_column;

/* Prints the table. As text, a column without a value in any run is left out, and so are columns that do not fit; a line names
 * these and the width that shows all. A label that is too long for its column gets a line of its own. As HTML, all columns with
 * a value are there, and a row for each run. columns[count], at most WR_MOST_COLUMNS. */
void wr_columns_print(wr_writer *out, const wr_column *columns, int count, const wr_columns *c);

/* A paragraph with the notes of the columns that wr_columns_print shows. */
void wr_columns_explain(wr_writer *out, const wr_column *columns, int count, const wr_columns *c);

/* Cells that tables share. */
void wr_cell_prepare(const wr_columns *c, int k, char *text);
void wr_cell_memory(const wr_columns *c, int k, char *text); /* the backend's own and the matrix's arrays that it uses */
void wr_cell_read(const wr_columns *c, int k, char *text);

#endif
