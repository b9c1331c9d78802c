/* PageRank scores of a graph as options say, on one backend: the graph, the ranks, the check of the scores. pagerank and
 * wr_rank (windrow.h) are made of these functions. */
#ifndef WR_SCORING_H
#define WR_SCORING_H

#include "spmv/choose/choose.h"
#include "solvers/rank/rank.h"
#include "solvers/verify.h"

typedef struct wr_scoring_options {
  wr_pagerank_options iterate; /* tolerance 0: by precision; iterations 0: by damping and tolerance (wr_scoring_complete) */
  wr_rank_method method;
} wr_scoring_options;

/* Tolerance and iterations, where they are 0. */
void wr_scoring_complete(wr_scoring_options *options, wr_type type);

/* Bytes of matrix and vectors that a solve of such a size is expected to move, those of transposing the links included. */
double wr_scoring_work(const wr_scoring_options *options, wr_type type, int64_t nrows, int64_t nnz);

/* What -k auto chooses a backend for: the steps to the tolerance. graph NULL: it is not known yet. */
wr_plan_use wr_scoring_use(const wr_scoring_options *options, const wr_graph *graph);

/* wr_graph_finish, behind the renumbering that pays on a device; NULL: on the host, whose methods need the pages' numbers. */
wr_status wr_scoring_finish(wr_graph *graph, wr_env *device);

/* A solve in progress. Where the graph is in parts, all functions below but close are collective, and vectors have the part's
 * elements. */
typedef struct wr_scoring {
  wr_ranking rank;
  wr_scoring_options options;
  const wr_graph *graph;
  wr_rounding rounding;
  double rounded; /* of the result */
  double allowed; /* what its measure may be: the tolerance, or more if the order was proven before that was met */
} wr_scoring;

/* graph, plan and env must outlive it. */
wr_status wr_scoring_open(wr_scoring *r, const wr_scoring_options *options, const wr_graph *graph, wr_plan *plan,
                          wr_env *env);
void wr_scoring_close(wr_scoring *r); /* also after open has failed; a zeroed one is fine */

/* Iterates. Any number of times. */
wr_status wr_scoring_run(wr_scoring *r, const wr_monitor *monitor, wr_result *result);

/* x[n] := the scores of the last run, by page, not normalised. */
wr_status wr_scoring_answer(wr_scoring *r, double *x);

/* Checks them, as they were before wr_scoring_normalise, as wr_verify_pagerank does. */
wr_status wr_scoring_verify(wr_scoring *r, const double *x, wr_verified level, int64_t rows, wr_verdict *verdict);

/* Scores of sum 1; those that are not finite stay as they are. */
wr_status wr_scoring_normalise(const wr_scoring *r, double *x);

/* Of so many teleport sets, those whose bounds the host computes again where the user leaves it open: as many as take little
 * time. */
int64_t wr_scoring_checked_sets(int64_t nrows, int64_t nnz, int64_t sets);

/* Seconds that full verification takes. */
double wr_scoring_verify_seconds(int64_t nrows, int64_t nnz, int threads);

#endif
