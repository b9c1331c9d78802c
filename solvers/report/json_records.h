/* Records of run.h that both JSON reports have, as members of the object that is open. */
#ifndef WR_JSON_RECORDS_H
#define WR_JSON_RECORDS_H

#include "solvers/report/json.h"
#include "solvers/report/run.h"

void wr_json_plan(wr_json *json, const wr_run *run, int is_solve);

/* problem: that of a solve, or NULL for single multiplies, which have no result that meets a tolerance. is_doubtful: from
 * wr_run_is_doubtful. */
void wr_json_verdict(wr_json *json, const wr_verdict *verdict, const wr_problem_facts *problem, int is_doubtful);

#endif
