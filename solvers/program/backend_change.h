/* -k auto in mid-run: a solve that takes more multiplies than were expected goes on with another backend where that saves time.
 * The solver keeps its plan, in which the backends are swapped (wr_plan_swap), so that no iteration is lost. */
#ifndef WR_BACKEND_CHANGE_H
#define WR_BACKEND_CHANGE_H

#include "solvers/report/run.h"

typedef struct wr_backend_change {
  /* set by the program */
  wr_plan *plan;             /* of A under env; its applies are timed */
  wr_csr *A;
  wr_env *env;
  const wr_chosen *chosen;   /* by which plan's backend was chosen    */
  wr_ledger *ledger;         /* of the run, in the phase solve        */
  wr_run_changed *changed;
  /* its own */
  int due;                   /* wr_monitor.rest_due                                              */
  int is_over;               /* 1: there was a change, or an attempt                             */
  int64_t iterations;        /* by the plan, at the last look                                    */
  double per_iteration;      /* multiplies                                                       */
  double left;               /* multiplies that are expected to be left at least                 */
  double multiply;           /* s of one by the plan, the mean                                   */
  wr_expected expected[WR_MOST_CANDIDATES];
  int count;                 /* 0: nothing has been expected yet */
} wr_backend_change;

/* After a check, from wr_monitor.progress: so many iterations were done by the plan, and so many are left by the rate of the
 * last ones. Of these no more are counted than were done, so that a rate that misleads costs no more than it might save. */
void wr_backend_change_look(wr_backend_change *b, int64_t iterations, double left);

/* wr_monitor.rest, with a wr_backend_change: prepares the backend that is expected to take the least time for what is left, and
 * swaps it in, if that saves WR_CHANGE_SHARE of that time and WR_CHANGE_SECONDS. One that cannot be prepared changes nothing.
 * At most one attempt is made. */
void wr_backend_change_rest(void *change);

#endif
