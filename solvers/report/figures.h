/* The figures of a page, each with a caption that says what it shows. A figure without data is left out.
 * level: of the heading, 2 for <h2>. */
#ifndef WR_FIGURES_H
#define WR_FIGURES_H

#include <stdio.h>

#include "solvers/report/run.h"
#include "spmv/matrix/csr.h"

/* Residuals, for PageRank changes, by iteration of all runs, with the tolerance. */
void wr_figure_convergence(FILE *file, const wr_problem_facts *problem, const wr_run *runs, int count);

/* The phases of each run one after another, and their numbers in a table. */
void wr_figure_times(FILE *file, const wr_run *runs, int count);

/* Time a multiply, preparation included, by the number of multiplies; of two runs or more that multiplied right. */
void wr_figure_break_even(FILE *file, const wr_run *runs, int count, int level);

/* Nonzeros by place and rows by length. If A is a part, of all parts: collective, and file is NULL in those that write none.
 * WR_ENOMEM */
wr_status wr_figure_matrix(FILE *file, const wr_csr *A, int level);

#endif
