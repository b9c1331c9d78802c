/* PageRank for many teleport sets on one prepared plan: for each set the best nodes and a bound on the error of all its scores.
 *
 * The sets are solved in batches, as the columns of one row-major array, by the power method from their teleport vectors: one
 * wr_plan_apply_many a sweep reads the matrix once for all of them. Each column stops by itself, and the next set takes its
 * place. The bound is that of the power method (pagerank.h), d / (1 - d) times the L1 change of the last sweep, and all
 * rounding: of the elements, of the sums of rows and of the sums of columns (docs/ranking.md). */
#ifndef WR_RANK_SETS_H
#define WR_RANK_SETS_H

#include "solvers/graph.h"
#include "solvers/solver.h"
#include "spmv/spmv.h"

/* Teleport sets: of set k the places p from first[k] to first[k + 1] - 1, at least one. */
typedef struct wr_teleport_sets {
  int64_t count;         /* 0 or more                                                               */
  const int64_t *first;  /* [count + 1], ascending from 0                                           */
  const int64_t *page;   /* [first[count]] from 0, none twice in a set                              */
  const double *weight;  /* [first[count]] finite, >= 0, not all 0 in a set; NULL: 1 each. Only ratios matter */
} wr_teleport_sets;

typedef struct wr_rank_sets_options {
  double damping;       /* d, 0 <= d < 1                                                           */
  double tolerance;     /* > 0: compared with the bound on the L1 error of a set's scores          */
  int stop_on_change;   /* 1: with the L1 change of a sweep instead                                */
  int64_t iterations;   /* sweeps of a set, at most; rounded up to a check                         */
  int64_t check_every;  /* sweeps between two checks; 0: 1 on the host, 4 on a device              */
  int columns;          /* sets at once: 1, 2, 4 or 8; 0: wr_rank_sets_columns of the env          */
  int64_t top;          /* nodes of each set, at most                                              */
  int64_t checks;       /* sets, spread evenly, whose bound the host computes again from the links */
} wr_rank_sets_options;

/* What was found for a set. */
typedef struct wr_set_ranks {
  int64_t set;          /* from 0                                                                            */
  wr_outcome outcome;
  int64_t iterations;   /* sweeps                                                                            */
  double change, bound; /* the L1 change of the last sweep; a bound on the L1 error of all scores of the set */
  double checked;       /* the host's bound (scores.h); 0: not computed                                      */
  int is_refuted;       /* 1: that is larger than a device that multiplied right can have left               */
  int64_t count;        /* nodes: `top`, or as many as have a score above 0                                  */
  const int64_t *node;  /* [count] greatest score first, ties by number; valid during the call               */
  const double *score;  /* [count] not normalised: their sum over all nodes is 1 within the bound            */
} wr_set_ranks;

typedef struct wr_rank_sets_facts {
  int64_t done;        /* sets that were handed on; fewer than there are if a signal or the time limit ended it      */
  int64_t multiplies;  /* wr_plan_apply_many                                                                        */
  int64_t iterations;  /* of all sets together                                                                      */
  int columns;
  int64_t checked, refuted;
  wr_outcome ended;    /* WR_CONVERGED: all sets are done; WR_INTERRUPTED or WR_TIME_LIMIT: why not                  */
} wr_rank_sets_facts;

/* The number of sets at once that suits env: 8, but 4 in f64 on the host, where 8 were slower. env->need_columns
 * must have been as many when the plan was prepared. 0 for NULL. */
int wr_rank_sets_columns(const wr_env *env);

/* Calls done(context, ...) for each set when it is finished, which is roughly in their order; a status other than WR_OK ends
 * it, and is returned. plan: of graph->flow, prepared. The teleport vector and first guess of the graph are not used. What is
 * found for a set does not depend on the other sets, in all bits, but on a device on options->columns. WR_EUSAGE; WR_EINPUT
 * names the first set, from 1, that is not as said; WR_ENOMEM, WR_EDEVICE. Collective where the graph is in parts: each part
 * gets all sets, with pages numbered in the whole, and `done` of the first part the best nodes; of others `count` is 0. */
wr_status wr_rank_sets(const wr_graph *graph, wr_plan *plan, wr_env *env, const wr_teleport_sets *sets,
                       const wr_rank_sets_options *options, const wr_monitor *monitor,
                       wr_status (*done)(void *context, const wr_set_ranks *found), void *context,
                       wr_rank_sets_facts *facts);

#endif
