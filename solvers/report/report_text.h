/* Words of the reports: numbers, paragraphs, names of runs, and phrases about a run or a problem. */
#ifndef WR_REPORT_TEXT_H
#define WR_REPORT_TEXT_H

#include <stdio.h>

#include "config/status.h"
#include "solvers/report/run.h"

/* Numbers in three digits, for reports: 1234567 -> "1.23 M" (999999 and below in full); 0.000123 -> "123 us"; 1.5e9 ->
 * "1.50 GB"; 1e-09 -> "1e-9". A number beyond the largest unit has an exponent, NaN is "nan". text has room for 16.
 * Return text. wr_text_bound rounds up, so that the text of a bound is a bound too. */
char *wr_text_count(int64_t value, char *text);
char *wr_text_seconds(double value, char *text);
char *wr_text_bytes(double value, char *text);
char *wr_text_real(double value, char *text);
char *wr_text_bound(double value, char *text);

/* A paragraph to which text is added; text that does not fit is left out. */
typedef struct wr_line {
  size_t length;
  char text[4096];
} wr_line;

void wr_line_add(wr_line *line, const char *format, ...) WR_PRINTF(2, 3);

/* Prints the paragraph as wr_text_wrap does. */
void wr_line_print(FILE *out, const wr_line *line, int at, int indent);

/* Share of the read bandwidth that an apply reaches, by the bytes of its format: "74%"; "from cache" if it is above 100%, so
 * that some bytes came from a cache; "-" if one of the two was not measured. */
char *wr_run_share(const wr_run *run, char *text);

/* name in at most `width` bytes: a longer one loses its end, or with keep_end its beginning, to "..". UTF-8 characters
 * stay whole, control characters become '?'. text has room for width + 1. Returns text. */
char *wr_text_fit(const char *name, int width, int keep_end, char *text);

/* text[size] := the run as -k names it, without knobs at their defaults: "merbit:sigma=9". Returns text. */
char *wr_run_label(const wr_run *run, char *text, size_t size);

/* Adds the measure by which the solve stopped: "L1 error <= 8.13e-10 (asked for 1e-9), last change 1.44e-10",
 * "||b - A x|| = 6.5e-9 ||b|| (asked for 1e-8)". */
void wr_line_add_measure(wr_line *line, const wr_problem_facts *problem, const wr_run *run);

/* Adds "LU factors by KLU: 1204 entries, 2.1 times those of the matrix, ...", or why they did not suffice. */
void wr_line_add_direct(wr_line *line, const wr_problem_facts *problem, const wr_direct_facts *facts);

/* Adds "the backward error is 0.66: x may be useless", or where that is small what else makes an answer doubtful. */
void wr_line_add_doubt(wr_line *line, double backward_error, double tolerance);

/* Adds the configuration that a tuner chose, and what that took, or the file that had it. Returns 0, and adds nothing, where
 * nothing was tuned. */
int wr_line_add_tuning(wr_line *line, const wr_tuning *tuning);

/* Prints a command from column `indent` on, at most as wide as the stream: lines end with a backslash, so that a shell takes
 * them as one. They are broken at blanks that are not in quotes, and within a word that is wider than a line and has none. */
void wr_command_print(FILE *out, const char *command, int indent);

/* "graph.mtx in f64: coordinate pattern general, 281903 x 281903, 2.31 M nonzeros; remark" */
void wr_line_add_problem(wr_line *line, const wr_problem_facts *problem);

#endif
