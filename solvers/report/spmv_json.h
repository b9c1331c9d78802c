/* The JSON of spmv: one object; times are seconds (_s), sizes bytes, what was not measured is null (docs/json.md). */
#ifndef WR_SPMV_JSON_H
#define WR_SPMV_JSON_H

#include "solvers/report/json.h"
#include "solvers/report/spmv_table.h"

/* All that stands before the matrices; their array is left open. settings: the effective options; places: [2], by wr_place. */
void wr_spmv_json_begin(wr_json *json, const char *settings, const wr_apply_place *places);

/* One matrix in one precision. */
void wr_spmv_json_matrix(wr_json *json, const wr_spmv_table *table);

/* One that could not be had or used: status, with the sentence of wr_status_message, says why. */
void wr_spmv_json_failure(wr_json *json, const wr_problem_facts *facts, wr_status status);

void wr_spmv_json_end(wr_json *json, int exit_code);

#endif
