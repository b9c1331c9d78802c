/* Words of the reports: numbers, paragraphs, names of runs, and phrases about a run or a problem. */
#ifndef WR_REPORT_TEXT_H
#define WR_REPORT_TEXT_H

#include <stdio.h>

#include "config/status.h"
#include "solvers/report/run.h"

/* Numbers for people, in three digits: 1234567 -> "1.23 M" (999999 and below in full); 0.000123 -> "123 us"; 1.5e9 ->
 * "1.50 GB"; 1e-09 -> "1e-9". What does not fit the largest unit has an exponent, NaN is "nan". text has room for 16.
 * Return text. wr_text_bound rounds up, so that what is printed is a bound too. */
char *wr_text_count(int64_t value, char *text);
char *wr_text_seconds(double value, char *text);
char *wr_text_bytes(double value, char *text);
char *wr_text_real(double value, char *text);
char *wr_text_bound(double value, char *text);

/* A paragraph that grows; what does not fit is left out. */
typedef struct wr_line {
  size_t length;
  char text[4096];
} wr_line;

void wr_line_add(wr_line *line, const char *format, ...) WR_PRINTF(2, 3);

/* Prints the paragraph as wr_text_wrap does. */
void wr_line_print(FILE *out, const wr_line *line, int at, int indent);

/* Share of the read bandwidth that an apply reaches by the format's own bytes: "74%"; "from cache" where it is more than
 * the memory gives, so that some of them came from a cache; "-" where one was not measured. */
char *wr_run_share(const wr_run *run, char *text);

/* name in at most `width` bytes: a longer one loses its end, or with keep_end its beginning, to "..". UTF-8 characters
 * stay whole, control characters become '?'. text has room for width + 1. Returns text. */
char *wr_text_fit(const char *name, int width, int keep_end, char *text);

/* What -k would take for this run: "merbit:sigma=9", knobs at their defaults left out. Returns text. */
char *wr_run_label(const wr_run *run, char *text, size_t size);

/* The measure that the solve stopped by: "L1 error <= 8.13e-10 (asked for 1e-9), last change 1.44e-10",
 * "||b - A x|| = 6.5e-9 ||b|| (asked for 1e-8)". */
void wr_line_add_measure(wr_line *line, const wr_problem_facts *problem, const wr_run *run);

/* "graph.mtx in f64: coordinate pattern general, 281903 x 281903, 2.31 M nonzeros; remark" */
void wr_line_add_problem(wr_line *line, const wr_problem_facts *problem);

#endif
