/* The loop of a solver with scalars stored where its vectors are: iterations follow each other until a step on the scalars
 * sets `stop`, which asks the host to act. If possible the device repeats the iterations by itself (spmv/loop/loop.h) and the
 * host waits for the end only; otherwise the host asks for each iteration and waits at every check, that is every
 * so many iterations, when it reads the scalars. Both do the same operations in the same order.
 *
 * A device repeats parts of `unroll` iterations each, as many as it takes until the buffers, which change places with every
 * iteration, are where they were: with two phases two parts, or one if unroll is even. A decision of the device whether to go
 * on takes 4 us, several times a kernel launch; so where checks are further apart, decisions are, too. The iterations of a
 * small system consist mainly of launches; they run in one kernel that stays on the device (a resident loop), in which a
 * decision costs nothing. Its sums are added in another order, so there is none with env->deterministic. Where the driver does
 * not let a device decide, the host launches a few parts ahead, and the effect of those after the end is undone
 * (loop_plain.cu). A loop that is not resident is recorded only when the host has asked for some iterations, as recording
 * takes longer than a short solve gains by it. */
#ifndef WR_ITERATION_H
#define WR_ITERATION_H

#include "solvers/solver.h"
#include "spmv/loop/loop.h"
#include "spmv/spmv.h"

/* The scalars of the solver's bank that this loop reads, by their index. The step at the end of an iteration counts it, finds
 * out whether the host checks after it (every so many iterations, and after the last one allowed), and in that case adds the
 * steps and the measure to the log. It decides that the loop ends where it sets `stop`, where the log is full, and after
 * last_part. */
typedef struct wr_iteration_scalars {
  int rounds;    /* iterations                                                              */
  int last;      /* the last one allowed, counted like rounds                               */
  int last_part; /* the last one after which another part fits: last - unroll, set by the solver */
  int steps;     /* iterations that counted                                                 */
  int measure;   /* what the last iteration left to compare with the tolerance: ||r||^2, or the change */
  int stop;      /* 1: the host has to act                                                  */
  int logged;    /* numbers in the log, two for each check                                  */
} wr_iteration_scalars;

/* These by their names in the struct of a solver's scalars. */
#define WR_ITERATION_SCALARS(scalars, rounds, last, last_part, steps, measure, stop, logged)             \
  {WR_SCALAR_INDEX(scalars, rounds), WR_SCALAR_INDEX(scalars, last),    WR_SCALAR_INDEX(scalars, last_part), \
   WR_SCALAR_INDEX(scalars, steps),  WR_SCALAR_INDEX(scalars, measure), WR_SCALAR_INDEX(scalars, stop),      \
   WR_SCALAR_INDEX(scalars, logged)}

enum { WR_LOG_ROOM = 8192 }; /* numbers that the log takes */

/* All that a recorded loop was made for. Scalars of the bank and elements of vectors may be others whenever it runs; these may
 * not. The vectors that `step` works on keep their memory as long as the loop is open. */
typedef struct wr_iteration_key {
  uint64_t generation; /* of the plan        */
  double constant;     /* of the solver      */
  int variant;         /* likewise           */
  int resident, unroll, period;
} wr_iteration_key;

typedef struct wr_iteration {
  wr_env *env;
  /* set by the solver before wr_iteration_begin */
  wr_plan *plan;
  void *solver;
  int phases;  /* iterations after which the buffers are where they were: 1 to WR_MAX_PARTS */
  wr_status (*step)(void *solver, int phase);       /* asks for one iteration; phase 0, 1, ..., phases - 1, 0, ...: which */
                                                    /* buffers it uses                                                    */
  double (*measure)(const void *solver, double of); /* a measure from the log in the unit that users see                   */
  wr_iteration_scalars at;
  wr_vec *bank;
  const wr_vec *left[WR_MAX_PARTS][WR_MAX_LEFT]; /* by the phase of the next iteration: the vectors that it needs from the */
                                                 /* last; NULLs last                                                       */
  double constant;      /* a number that `step` puts into its requests and that is no scalar of the bank: when it changes, a */
                        /* loop is recorded anew                                                                            */
  int variant;          /* likewise, which operations `step` asks for                                                       */
  int host_only;        /* 1: without loops on the device                                                                    */
  int no_resident;      /* 1: without resident loops                                                                         */
  const wr_monitor *monitor;
  double scale, target; /* monitor->progress is called with scale * measure and this target                                  */
  int counts;           /* what it and the history count for an iteration: 1, as open sets it, or multiplies                 */
  /* set by wr_iteration_every */
  int64_t every;    /* iterations between two checks                                             */
  int unroll;       /* iterations in a recorded part; a divisor of `every`                       */
  int period;       /* rare operations, as snapshots, are asked for once in so many iterations: phases, or unroll           */
  int ends_period;  /* 1: the iteration that is asked for is such a one                          */
  /* its own */
  wr_vec log;
  wr_loop *loop;
  wr_iteration_key recorded; /* what the loop was recorded for                                                     */
  uint64_t refused;          /* the generation of the plan for which no resident loop is possible, with ...       */
  double refused_constant;   /* ... this constant; 0: none known                                                  */
  int resident;     /* 1: the loop is resident, or will be when it is recorded                   */
  double *room;     /* [WR_LOG_ROOM] the log, on the host                                        */
  int phase;        /* of the next iteration                                                     */
  int warm;         /* 1: the buffers of the next iteration are prepared as a recorded one needs them */
  int64_t since;    /* iterations asked for since the last check                                 */
  int64_t taken;    /* iterations in all since the solver was opened                             */
  wr_repeats repeats; /* since the solver set it to 0                                            */
} wr_iteration;

wr_status wr_iteration_open(wr_env *env, wr_iteration **it); /* WR_ENOMEM */
void wr_iteration_close(wr_iteration *it);                   /* NULL is fine */

/* 1 if wr_iteration_every would record a resident loop, unless recording then finds that it cannot. Call it when all members
 * that the solver sets are set. */
int wr_iteration_may_be_resident(const wr_iteration *it);

/* Sets the number of iterations between two checks, when all members that the solver sets are set and before begin; frees a
 * loop that was recorded for something else (wr_iteration_key); records a resident loop, if one is possible and there is none.
 * every 0: the default, which is 1, or 8 where an apply is so short that a decision of the device would take a large share of
 * the time, and up to seven iterations after the end cost next to nothing. WR_ENOMEM */
wr_status wr_iteration_every(wr_iteration *it, int64_t every);

/* Before a start or restart: the contents of the buffers are void, and the next iteration is the first. */
void wr_iteration_begin(wr_iteration *it);

/* scalars: the bank as it is, with stop and logged 0. Iterates until stop is 1 (*interrupted := 0), or the monitor's flag is
 * set or its deadline has passed (*interrupted := the outcome, WR_INTERRUPTED or WR_TIME_LIMIT); scalars := the bank then, with
 * logged 0 in both. A call after the deadline does not iterate. Every check has been added to the history. */
wr_status wr_iteration_go(wr_iteration *it, double *scalars, int *interrupted);

#endif
