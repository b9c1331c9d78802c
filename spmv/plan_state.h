/* The members of a plan. Included only by the files that implement the wr_plan functions. */
#ifndef WR_PLAN_STATE_H
#define WR_PLAN_STATE_H

#include "spmv/spmv.h"

struct wr_plan {
  const wr_backend *backend;
  wr_csr *A;                 /* held                                                                        */
  int64_t nrows, ncols, nnz; /* of A when the plan was created; a matrix with new values must have the same */
  int has_values;            /* likewise: 0 if A was a pattern                                              */
  wr_env *env;
  void *knobs, *state;
  char knobs_text[256];
  wr_plan_info estimate, info; /* from the backend's plan; info has exact sizes after prepare */
  int prepared;
  uint64_t generation;     /* see wr_plan_generation                                                        */
  wr_vec product;          /* alpha*A*x for backends without beta; else not allocated                       */
  int promised;            /* 1: the last apply had a y_next, so the next one must have beta == 0           */
  uint64_t next_id, next_writes; /* id and write count of the vector that the backend prepared; id 0: none  */
  int timing, paused;      /* whether applies are stamped                                                   */
  int pending;             /* pairs of stamps not yet collected                                             */
  double *seconds;         /* [WR_MAX_TIMES]                                                                */
  int64_t applies;
  double total;
};

/* Frees what prepare has allocated and resets the plan to its state after wr_plan_create. */
void wr_plan_unprepare(wr_plan *plan);

#endif
