/* Advice after a solve that failed, or whose answer has a large backward error: what was seen in the matrix, and what to try
 * next, as a command line. Each remedy is a row of the table in advice.c: an option, the value to give it, the values from
 * which that is a step forward, and when it may help. No remedy leads back to a value that another one has left. So following
 * the advice again and again comes to the end of the list, which is a solver of another kind. */
#ifndef WR_ADVICE_H
#define WR_ADVICE_H

#include "config/option.h"
#include "solvers/report/run.h"
#include "spmv/matrix/matrix_facts.h"

typedef struct wr_advice_case {
  const wr_option *options;       /* of the program                                                              */
  const void *settings;           /* as the user gave them, before defaults that depend on the method are filled in */
  int64_t settings_size;          /* bytes                                                                       */
  const void *effective;          /* the same with these defaults; NULL: settings has none that depend           */
  const char *program, *operand;  /* "bicgstab", "A.mtx"                                                         */
  int64_t iterations;             /* the limit that held                                                         */
  const wr_problem_facts *problem;
  const wr_run *run;
  const wr_matrix_facts *matrix;
  int has_direct;                 /* 1: this build has a direct solver                                            */
} wr_advice_case;

/* 1 if the run has an answer with shortcomings for which there may be advice: it stopped by itself and failed, or the backward
 * error is large. */
int wr_advice_is_due(const wr_problem_facts *problem, const wr_run *run);

/* advice := what was seen and what to try. WR_ENOMEM */
wr_status wr_advice_find(const wr_advice_case *c, wr_advice *advice);

#endif
