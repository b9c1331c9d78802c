/* The JSON of spmv: one object; times in seconds (_s), sizes in bytes, null for what was not measured (docs/json.md). */
#ifndef WR_SPMV_JSON_H
#define WR_SPMV_JSON_H

#include "solvers/report/json.h"
#include "solvers/report/spmv_table.h"

/* Writes the members before the matrices and begins their array. settings: the effective options; places: [2], by wr_place. */
void wr_spmv_json_begin(wr_json *json, const char *settings, const wr_apply_place *places);

/* One matrix in one precision. */
void wr_spmv_json_matrix(wr_json *json, const wr_spmv_table *table);

/* A matrix that could not be loaded or timed: status, and the sentence of wr_status_message, say why. */
void wr_spmv_json_failure(wr_json *json, const wr_problem_facts *facts, wr_status status);

void wr_spmv_json_end(wr_json *json, int exit_code);

#endif
