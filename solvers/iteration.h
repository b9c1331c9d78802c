/* The loop of a solver whose scalars are stored where its vectors are. Iterations follow each other until a program of scalars
 * says that the host is to check the residual. If possible a device repeats them by itself (wr_loop), without waiting for the
 * host; else the host requests each iteration and waits at every check. Both do the same operations in the same order.
 *
 * A device repeats two halves of `unroll` iterations each, or one half if unroll is even, since buffers swap roles after every
 * iteration. Deciding whether another half follows takes the device 4 us, several times the launch of a kernel; so the further
 * apart checks are, the further apart are these decisions. On a small system, where launches take most of an iteration, one
 * kernel does all iterations (a resident loop), and a decision costs nothing. It adds up sums in another order, so
 * env->deterministic rules it out. Without conditional nodes the host launches a few halves ahead, and the surplus
 * is undone (loop_plain.cu). */
#ifndef WR_ITERATION_H
#define WR_ITERATION_H

#include "solvers/solver.h"
#include "spmv/spmv.h"

/* Indices of the scalars that this loop uses in the solver's bank. The program of scalars at the end of an iteration counts it
 * and finds out whether a check is due (every `every` iterations, and at the last one allowed). At a check it appends steps and
 * measure to the log. It ends with WR_S_GO, which is 0 if the check needs the host, if the log is full, or behind last_half. */
typedef struct wr_iteration_scalars {
  int rounds;    /* iterations                                                              */
  int last;      /* the last one allowed, counted like rounds                               */
  int last_half; /* the last one behind which WR_S_GO may be 1: last - unroll, set by the solver */
  int steps;     /* iterations that counted                                                 */
  int measure;   /* of the last iteration: ||r||^2, or the change                           */
  int stop;      /* 1: the check needs the host                                             */
  int logged;    /* numbers in the log, two for each check                                  */
} wr_iteration_scalars;

enum { WR_LOG_ROOM = 8192 }; /* numbers that the log takes */

/* What a recorded loop depends on: when one of these changes it must be recorded anew. Scalars of the bank and elements of
 * vectors may change between runs. The vectors that `step` uses keep their memory while the loop is open. */
typedef struct wr_iteration_key {
  uint64_t generation; /* of the plan        */
  double constant;     /* of the solver      */
  int resident, unroll, period;
} wr_iteration_key;

typedef struct wr_iteration {
  wr_env *env;
  /* given before begin */
  wr_plan *plan;
  void *solver;
  wr_status (*step)(void *solver, int half);        /* requests one iteration; half: 0, 1, 0, ...: which buffers it uses */
  double (*measure)(const void *solver, double of); /* from a logged measure to that of the history                      */
  wr_iteration_scalars at;
  wr_vec *bank;
  const wr_vec *left[2][WR_MAX_LEFT]; /* vectors that an iteration passes to the next, by the latter's half; NULLs last */
  double constant;           /* a number that `step` puts into requests itself, instead of a scalar of the bank: when it     */
                             /* changes, the loop is recorded anew                                                           */
  int host_only;             /* no wr_loop                           */
  int no_resident;           /* no resident one                      */
  const wr_monitor *monitor;
  double scale, target;      /* monitor->progress gets scale * measure, and its target              */
  /* by wr_iteration_every */
  int64_t every;    /* iterations between two checks               */
  int unroll;       /* recorded in each half; a divisor of `every` */
  int period;       /* rare work, such as a snapshot, is done in iterations whose number this divides: 2, or unroll */
  int ends_period;  /* 1: the iteration that is requested may be such a one */
  /* its own */
  wr_vec log;
  wr_loop *loop;
  wr_iteration_key recorded; /* what the loop was recorded for                                       */
  int64_t recordings;        /* loops that were recorded                                             */
  uint64_t refused;          /* the plan's generation for which there can be no resident loop; 0: there is none */
  int resident;     /* 1: the loop is resident, or is to be recorded so                            */
  double *room;     /* [WR_LOG_ROOM] on the host                                                   */
  int half;         /* of the next iteration                                                       */
  int warm;         /* the buffers of the next iteration are prepared as a recorded one needs them */
  int64_t since;    /* iterations requested since the last check                                   */
  int64_t taken;    /* iterations in all since it was opened                                       */
  wr_repeated by;   /* how the last iterations were repeated                                       */
} wr_iteration;

wr_status wr_iteration_open(wr_env *env, wr_iteration **it); /* WR_ENOMEM */
void wr_iteration_close(wr_iteration *it);                   /* NULL is fine */

/* 1 if wr_iteration_every will try to record a resident loop. To be called once the members given before begin are set. */
int wr_iteration_may_be_resident(const wr_iteration *it);

/* Sets the distance of two checks, before begin, once the members given before it are set; frees a loop whose wr_iteration_key
 * has changed; and records a resident loop, if one is possible and there is none.
 * 0: 1, or 8 for an apply so short that the device's decisions would cost more than seven surplus iterations. WR_ENOMEM */
wr_status wr_iteration_every(wr_iteration *it, int64_t every);

/* Declares the contents of all buffers undefined, and the next iteration the first. */
void wr_iteration_begin(wr_iteration *it);

/* scalars: the contents of the bank, with stop and logged 0. Iterates until stop is 1 or a signal interrupts (*interrupted :=
 * 1); then scalars := the bank, and logged is 0 in both. Every check has been added to the history. */
wr_status wr_iteration_go(wr_iteration *it, double *scalars, int *interrupted);

#endif
