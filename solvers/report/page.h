/* The page of --report: one file of HTML that needs nothing else, neither scripts nor the network, with inline pictures. It is
 * also well-formed XML. What came from outside is escaped (html.h), and a content security policy forbids scripts and requests.
 *
 *   wr_page_begin(file, &problem, verdict);
 *   wr_page_solve(file, &problem, runs, count);    sections, in the order in which they are written
 *   wr_page_end(file, settings_text);
 */
#ifndef WR_PAGE_H
#define WR_PAGE_H

#include <stdio.h>

#include "solvers/report/run.h"
#include "solvers/report/spmv_table.h"

void wr_page_style(FILE *file); /* the rules of CSS */

/* By a program's exit code: 0 is good, without verification not quite. */
typedef struct wr_page_verdict {
  const char *words; /* "Converged and verified" */
  const char *class; /* good, doubt, bad         */
} wr_page_verdict;

wr_page_verdict wr_page_verdict_of(int exit_code, int is_checked);

/* Writes the head, the title "PROGRAM: TITLE" and the verdict, and leaves the outcome's section open. */
void wr_page_begin(FILE *file, const char *program, const char *title, wr_page_verdict verdict);

void wr_page_outcome_end(FILE *file);

/* Ends the outcome's section with the report in words, and adds figures: convergence, times, and of several runs break-even. */
void wr_page_solve(FILE *file, const wr_problem_facts *problem, const wr_run *runs, int count);

/* Why a problem has no result. */
void wr_page_failure(FILE *file, const wr_problem_facts *problem, const wr_error *error);

/* Of spmv: a heading for a matrix, and its table in one precision, with a sentence on it for the outcome. */
void wr_page_matrix(FILE *file, const char *source);
void wr_page_table(FILE *file, FILE *outcome, const wr_spmv_table *table);

/* Settings, machine, versions, and the end of the page. settings: the effective options, a line each. */
void wr_page_end(FILE *file, const char *settings);

#endif
