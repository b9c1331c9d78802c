/* The results of spmv for one matrix in one precision: as a table, a row a backend, no wider than the stream; as JSON; as CSV.
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

#include "config/defaults.h"
#include "solvers/report/json.h"
#include "solvers/report/row_statistics.h"
#include "solvers/report/run.h"
#include "solvers/report/writer.h"

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
  int64_t solves;    /* for which it advises, of WR_EXPECTED_MULTIPLIES each; 0: for none */
  int by_model;      /* 1: the runs are those of wr_expected_runs */
  int is_calibrated;    /* by_model: 1: with factors measured on this device */
  const char *times_of; /* by_model: the class of devices that the model's times are of; "": the CPU */
} wr_spmv_table;

/* For which the table advises; 0: it does not. */
static inline double wr_spmv_multiplies(const wr_spmv_table *t) { return (double)t->solves * WR_EXPECTED_MULTIPLIES; }

/* That a multiply takes at once. */
static inline int64_t wr_spmv_vectors(const wr_spmv_table *t) { return t->count > 0 ? t->times[0].vectors : 1; }

void wr_spmv_table_print(wr_writer *out, const wr_spmv_table *table);

/* Adds "least time: cusparse for 1 to 12 multiplies, merbit from 13 on"; returns 0, and adds nothing, unless two can be
 * compared. */
int wr_spmv_add_suggestion(wr_line *line, const wr_spmv_table *table);

enum { WR_FAMILY_ROOM = 64 };

/* family := "road" of gen:road:side=64, and "" of a file. Returns family. */
const char *wr_spmv_family(const char *source, char family[WR_FAMILY_ROOM]);

/* ---- As JSON: one object; times in seconds (_s), sizes in bytes, null for what was not measured (docs/json.md) ---- */

/* Writes the members before the matrices and begins their array. settings: the effective options; places: [2], by wr_place. */
void wr_spmv_json_begin(wr_json *json, const char *settings, const wr_apply_place *places);

/* One matrix in one precision. */
void wr_spmv_json_matrix(wr_json *json, const wr_spmv_table *table);

/* A matrix that could not be loaded or timed: error says why. */
void wr_spmv_json_failure(wr_json *json, const wr_problem_facts *facts, const wr_error *error);

void wr_spmv_json_end(wr_json *json, int exit_code);

/* ---- As CSV: a line of names, then a line for each backend, empty where nothing was measured ---- */

void wr_spmv_csv_begin(FILE *out);
void wr_spmv_csv_matrix(FILE *out, const wr_spmv_table *table);
void wr_spmv_csv_failure(FILE *out, const wr_problem_facts *facts, const wr_error *error);

#endif
