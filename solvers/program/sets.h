/* The sets of pagerank --seeds: what was found for each, and how it is printed and written. */
#ifndef WR_SETS_H
#define WR_SETS_H

#include <stdio.h>

#include "io/ids.h"
#include "io/set_file.h"
#include "solvers/program/settings.h"
#include "solvers/rank/rank_sets.h"
#include "solvers/report/run.h"

/* What is kept of a set. */
typedef struct wr_kept_set {
  int is_done;     /* 0: the program ended before it; all else is 0 */
  wr_outcome outcome;
  int64_t iterations;
  double change, bound, checked;
  int64_t count;
  int64_t *node;   /* [count] from 0 */
  double *score;   /* [count]        */
} wr_kept_set;

typedef struct wr_kept_sets {
  wr_set_list list;
  wr_kept_set *kept; /* [list.count] */
} wr_kept_sets;

/* Reads the file of --seeds. */
wr_status wr_sets_open(const wr_settings *settings, const wr_vector_need *need, wr_kept_sets *sets);
void wr_sets_close(wr_kept_sets *sets); /* a zeroed one is fine */

/* Ranks all sets of the graph with a prepared plan, keeps what is found, and fills in the run's sets, result and verdict. */
wr_status wr_sets_run(wr_kept_sets *sets, const wr_graph *graph, const wr_settings *settings, wr_plan *plan,
                      wr_env *env, const wr_monitor *monitor, wr_run *run);

/* Prints a line for each node: set, rank, score, bound, node. */
void wr_sets_print(FILE *out, const wr_kept_sets *sets, const wr_ids *ids);

/* Writes --output, or --format to standard output: lines of set, rank, id, score and bound, or a line of JSON for each set.
 * WR_EOUTPUT. */
wr_status wr_sets_write(const wr_kept_sets *sets, const wr_settings *settings, const wr_ids *ids);

#endif
