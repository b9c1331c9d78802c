/* What a plan holds: for the files that implement the wr_plan functions, and for no other. */
#ifndef WR_PLAN_STATE_H
#define WR_PLAN_STATE_H

#include "spmv/spmv.h"

struct wr_plan {
  const wr_backend *backend;
  wr_csr *A;                 /* held                                                                        */
  int64_t nrows, ncols, nnz; /* of A when the plan was created, which new values must have too              */
  int has_values;            /* likewise: A was no pattern                                                  */
  wr_env *env;
  void *knobs, *state;
  char knobs_text[256];
  wr_plan_info estimate, info; /* as planned; and, after prepare, with exact sizes */
  int prepared;
  uint64_t generation;     /* see wr_plan_generation                                                        */
  wr_vec product;          /* alpha*A*x for backends without beta; else not allocated                       */
  int promised;            /* the last apply had a y_next: the next one must have beta == 0                 */
  uint64_t next_id, next_writes; /* the vector that the backend prepared, as it was then; id 0: none        */
  int timing, paused;      /* whether applies are stamped                                                   */
  int pending;             /* pairs of stamps not yet collected                                             */
  double *seconds;         /* [WR_MAX_TIMES]                                                                */
  int64_t applies;
  double total;
};

/* Frees what prepare has made: the plan is as it was created, and no apply of it has a y_next. */
void wr_plan_unprepare(wr_plan *plan);

#endif
