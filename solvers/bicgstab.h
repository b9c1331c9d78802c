/* BiCGSTAB (van der Vorst 1992), right preconditioned, with all scalars where the vectors are. */
#ifndef WR_BICGSTAB_H
#define WR_BICGSTAB_H

#include "solvers/solver.h"
#include "solvers/system.h"
#include "spmv/spmv.h"

typedef struct wr_bicgstab_options {
  double tolerance;    /* stop at ||r|| <= max(tolerance * ||b||, the system's absolute) */
  int64_t iterations;  /* at most                                                       */
  int64_t check_every; /* iterations between two looks at the residual; 0: see wr_iteration_every */
  int no_graph;        /* 1: the host asks for every iteration                          */
  int no_resident;     /* 1: a device repeats them as a graph, also for small systems   */
} wr_bicgstab_options;

typedef struct wr_bicgstab {
  const wr_system *system;
  wr_plan *plan; /* of system->matrix */
  wr_env *env;
  wr_vec b, r, p[2], shadow; /* p of this and of the last iteration if apart, else all in p[0]                    */
  wr_vec s;                  /* if apart; else s is in r between the two halves of an iteration                   */
  int apart;                 /* 1: p and s are not where what they are made of is: a resident loop then makes them */
                             /* within the products that follow. Elsewhere it would just cost memory              */
  wr_vec x, d;               /* the iterate is x + d: x as of the last start, d what was added since. So rounding */
                             /* d's many updates costs digits of d alone, which a refinement needs                */
  wr_vec v[2], t;            /* A p of this and of the last iteration, A s: the three buffers that applies rotate */
  wr_vec snapshot;           /* the iterate of the least residual so far                                         */
  wr_vec bank;               /* scalars */
  double *room;              /* [n] on the host, for a shadow made of signs */
  struct wr_iteration *loop;
} wr_bicgstab;

/* Allocates the vectors and uploads b. */
wr_status wr_bicgstab_open(wr_bicgstab *s, const wr_system *system, wr_plan *plan, wr_env *env);
void wr_bicgstab_close(wr_bicgstab *s); /* a zeroed one is fine */

/* Iterates from the system's guess. Not converging and breaking down are in the result; the iterate is then the best one
 * seen. Errors: WR_EDEVICE and the like. */
wr_status wr_bicgstab_solve(wr_bicgstab *s, const wr_bicgstab_options *options, const wr_monitor *monitor,
                            wr_result *result);

/* `count` multiplies as in the iterations, for their times; after a solve whose answer is not needed any more. Asynchronous. */
wr_status wr_bicgstab_multiply(wr_bicgstab *s, int count);

/* u[n]: the solver's unknown (wr_system_unscale gives x); q[n]: the residual b - A u of the scaled system as the device
 * computed it at the end. Either may be NULL. Waits. */
wr_status wr_bicgstab_download(wr_bicgstab *s, double *u, double *q);

#endif
