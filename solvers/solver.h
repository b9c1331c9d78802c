/* What the solvers share: outcomes, the monitor that observes and stops a run, and the result. */
#ifndef WR_SOLVER_H
#define WR_SOLVER_H

#include <signal.h>
#include <stdint.h>

#include "config/status.h"
#include "config/watch.h"
#include "solvers/outcome.h"

/* Residuals by iteration, of those iterations at which they were checked. */
typedef struct wr_history {
  int64_t count, capacity;
  int64_t *iteration; /* [count]                                                         */
  double *measure;    /* [count] BiCGSTAB: ||r|| / ||b||; PageRank: L1 change of a step   */
} wr_history;
wr_status wr_history_add(wr_history *history, int64_t iteration, double measure); /* WR_ENOMEM */
void wr_history_free(wr_history *history);

struct wr_comm;

/* Observes a run and stops it. Each member may be NULL, and so may a pointer to the monitor. */
typedef struct wr_monitor {
  void (*progress)(void *context, int64_t iteration, double measure, double target);
  void *context;
  int64_t before; /* iterations of earlier parts of the solve, which progress and history count, too                   */
  const volatile sig_atomic_t *interrupted; /* read whenever the solver waits                                          */
  double deadline; /* seconds of CLOCK_MONOTONIC, compared whenever the solver waits; once they have passed, the solve */
                   /* ends with its best iterate. 0: none                                                              */
  const int *leaves; /* 1: as if the deadline had passed, for the solve to go on elsewhere; read likewise              */
  void (*rest)(void *context); /* called between two iterations, when the device computes nothing, as long as ... */
  const int *rest_due;         /* ... this is 1, as progress may make it; it may swap the plan (wr_plan_swap)     */
  wr_history *history;
  struct wr_comm *comm; /* of the parts that run together: what ends one of them ends all (spmv/parts/comm.h); NULL: one part */
  void (*preparing)(void *context, const char *what, double share); /* wr_watch.progress, of preparations (config/watch.h) */
} wr_monitor;

/* The outcome of work that has to end early, or 0. A signal wins over the deadline. 0 for NULL. With a comm it is collective,
 * and the same in all parts. */
int wr_monitor_ends(const wr_monitor *monitor);
int wr_monitor_ends_here(const wr_monitor *monitor); /* of this part alone, and not collective */

/* Behind an iteration, monitor->before not counted: calls progress, adds to the history (WR_ENOMEM). Without one, or with
 * monitor NULL, nothing is done. */
void wr_monitor_show(const wr_monitor *monitor, int64_t iteration, double measure, double target);
wr_status wr_monitor_keep(const wr_monitor *monitor, int64_t iteration, double measure);

int wr_monitor_rests(const wr_monitor *monitor); /* 1: rest is to be called. 0 for NULL */

/* A watch for preparations that ends where the monitor ends here, and tells it how far they are; parts agree afterwards. It
 * refers to the monitor, which may be NULL. */
wr_watch wr_monitor_watch(const wr_monitor *monitor);

/* How iterations are repeated: by the host, by the device as a graph of launches, or by one resident kernel. */
typedef enum wr_repeated { WR_BY_HOST, WR_BY_GRAPH, WR_BY_KERNEL } wr_repeated;

/* What a loop has done. The host asks for the first and last iterations of a loop that a device repeats, and those are not
 * timed; nor are checks of the true residual and restarts. */
typedef struct wr_repeats {
  wr_repeated by;     /* BY_HOST: the host asked for all, and the rest is 0                           */
  int64_t iterations; /* that the device repeated, counted as wr_result.iterations                    */
  double seconds;     /* that these took, by the host's clock                                         */
} wr_repeats;

/* What a direct solver did after iterations that failed (direct.h). */
typedef struct wr_direct_facts {
  int tried;             /* 0: nothing, and all else is 0                                            */
  int used;              /* 1: the answer is the direct solver's                                     */
  wr_outcome outcome;    /* of the direct solver                                                     */
  wr_outcome after;      /* of the iterations before it                                              */
  int64_t entries;       /* of both factors, and of the matrix outside of the blocks on its diagonal  */
  int64_t blocks, largest_block; /* of the block triangular form; rows of the largest                */
  int64_t bytes;         /* of memory, at most                                                       */
  int singular;          /* 1: the matrix is, by its pattern or its values                           */
  int64_t row;           /* of A, from 0, at which a pivot was missing; -1: none                     */
  int refinements;       /* steps of iterative refinement                                            */
  double seconds;        /* of ordering and factorisation                                            */
  double pivots;         /* smallest / largest |pivot|                                               */
  double measure, backward; /* of its x: ||b - A x|| / ||b|| (b = 0: ||A x||), componentwise backward error */
  char why[300];         /* x does not meet the tolerance, a sentence; "": it does                    */
} wr_direct_facts;

/* Of a solve that was to end when the order of the first nodes is proven. */
typedef struct wr_order_facts {
  int64_t asked;   /* so many nodes; 0: none, and all else is 0                                      */
  int64_t proven;  /* of the first so many of them the order is proven                               */
  int64_t reviews; /* tests of the order                                                             */
  int64_t crowded; /* of them those in which too many nodes had about the same score for a test      */
  int64_t spared;  /* multiplies that the tolerance would have taken besides, by the rate of the last ones */
} wr_order_facts;

typedef struct wr_result {
  wr_outcome outcome;
  int64_t iterations;  /* BiCGSTAB: those that counted, one that ended after its first half, too; PageRank: multiplies */
  double measure;      /* what was compared with the tolerance last: ||b - Ax|| / ||b||, or the bound */
  double change;       /* PageRank: the last L1 change                                              */
  int by_change;       /* PageRank: 1: the change was compared with the tolerance, not the bound    */
  double bound;        /* PageRank: proven L1 error: change d/(1-d) + rounding                      */
  double rounding;     /* PageRank: the part of bound that is for rounding: (4u + term_unit)/(1-d), for what
                          sums rows in less than f64, sum_i (length of row i) r_i of its units too  */
  wr_order_facts order; /* PageRank                                                                 */
  int64_t multiplies;  /* by the iterations                                                         */
  int64_t multiplies_f32; /* PageRank in mixed precision: so many of these were in f32, the others in f64 */
  double iteration_bytes; /* that an iteration moves at least: its multiplies, and every vector once an operation */
  wr_repeats repeats;  /* by all methods of a linear solve; PageRank: by that with the most multiplies */
  int restarts;        /* BiCGSTAB                                                                  */
  int refinements;     /* BiCGSTAB: continuations from the true residual                            */
  char method[16];     /* the method that ended the solve; "": not known                              */
  char changes[480];   /* which methods went on after which, and why; "": one solved it               */
  char choice[120];    /* PageRank: why this method was chosen; "": it was asked for, or changes says it */
  int by_backward;     /* BiCGSTAB: 1: the backward error was compared with the tolerance           */
  double backward;     /* of the answer, if by_backward: componentwise, by the host over all rows   */
  wr_direct_facts direct; /* linear systems, where a direct solver was asked for                     */
  char note[400];      /* why the solve ended so, and what would help; if it converged "", or what was done
                          otherwise than requested                                                 */
} wr_result;

#endif
