/* Reports of the solver programs, from the records of run.h: one run in words, a table of several, or everything as JSON. */
#ifndef WR_REPORT_H
#define WR_REPORT_H

#include <stdint.h>
#include <stdio.h>

#include "io/output_file.h"
#include "solvers/report/json.h"
#include "solvers/report/run.h"
#include "solvers/report/writer.h"

/* Reports in words go to a writer, as text or as HTML. One run: outcome, iterations, times by phase, verification. verbose adds
 * the plan's line and byte model. */
void wr_report_run(wr_writer *out, const wr_problem_facts *problem, const wr_run *run, int verbose);

/* The comparison: a table as wide as the stream, a row for each run that has a result, the reason why others have none, and
 * one sentence on what it shows. */
void wr_report_table(wr_writer *out, const wr_problem_facts *problem, const wr_run *runs, int count);

/* Prints a line with the run's history as a sparkline, where it was kept, and with is_named the run's label; nothing into a
 * page, which has a figure of it. */
void wr_report_history(wr_writer *out, const wr_problem_facts *problem, const wr_run *run, int is_named);

/* Prints what was seen in the matrix of a run that failed, and what to try next. */
void wr_report_try(wr_writer *out, const wr_run *run);

/* Prints the advice of plans to use another backend, each once, unless that backend is one of the runs. */
void wr_report_advice(wr_writer *out, const wr_run *runs, int count);

/* Prints what plans warn of, each sentence once, as messages of the program: "spmv: yaspmv:tune=quick: FILE is no ...". */
void wr_report_warnings(FILE *out, const char *program, const wr_run *runs, int count);

/* What --check found, in words. */
void wr_report_check(wr_writer *out, const wr_problem_facts *problem, const wr_certificate *certificate,
                     const wr_ledger *process);

/* The same as JSON (schema version 1), as wr_report_json. WR_EOUTPUT. */
wr_status wr_report_check_json(const char *path, const wr_problem_facts *problem, const wr_certificate *certificate,
                               const char *settings_text, const wr_ledger *process);

/* Everything as JSON (schema version 1), settings_text being the effective options. Strings are escaped; non-finite
 * numbers become null. WR_EOUTPUT. */
wr_status wr_report_json(const char *path, const wr_problem_facts *problem, const wr_run *runs, int count,
                         const char *settings_text, const wr_ledger *process);

/* The same as one line of a file of lines, which is flushed. WR_EOUTPUT. */
wr_status wr_report_json_line(wr_output_file *lines, const wr_problem_facts *problem, const wr_run *runs, int count,
                              const char *settings_text, const wr_ledger *process);

/* A line of a problem that could not be had: error says why, and there are no runs. */
wr_status wr_report_json_failure(wr_output_file *lines, const wr_problem_facts *problem, const wr_error *error,
                                 const char *settings_text, const wr_ledger *process);

/* ---- Records that spmv's JSON has, too, as members of the object that is open ---- */

void wr_json_plan(wr_json *json, const wr_run *run, int is_solve);

/* problem: that of a solve, or NULL for single multiplies, which have no result that meets a tolerance. is_doubtful: from
 * wr_run_is_doubtful. */
void wr_json_verdict(wr_json *json, const wr_verdict *verdict, const wr_problem_facts *problem, int is_doubtful);

#endif
