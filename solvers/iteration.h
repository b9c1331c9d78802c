/* The loop of a solver whose scalars live where its vectors do: iterations follow each other until a program there says that
 * the host is to look. A device repeats them by itself where it can (wr_loop: nothing is waited for in between), else the
 * host asks for one after the other and waits at every look. Both do the same operations in the same order.
 *
 * What a device repeats is two halves of `unroll` iterations each, or one if that is even, as buffers change places with
 * every iteration. To decide whether a half follows takes the device 4 us, several times what it takes to launch a kernel:
 * where looks are further apart, so are these decisions. A small system, whose iterations are launches for the most part, is
 * iterated by one kernel that stays on the device (a resident loop); there a decision costs nothing. Its sums are added up in
 * another order, so with env->deterministic there is none. Where the driver lets a device decide nothing, the host asks for a
 * few halves ahead, and those too many are undone (loop_plain.cu). */
#ifndef WR_ITERATION_H
#define WR_ITERATION_H

#include "solvers/solver.h"
#include "spmv/spmv.h"

/* The scalars of the solver's bank that this loop knows, by their index. The program at the end of an iteration counts it,
 * finds out whether this is a look (every so many, or the last one allowed), adds the steps and the measure to the log at a
 * look, and ends with a WR_S_GO that is 0 at a look at which the host has something to see to or the log is full, and behind
 * last_half. */
typedef struct wr_iteration_scalars {
  int rounds;    /* iterations                                                              */
  int last;      /* the last one allowed, counted like rounds                               */
  int last_half; /* the last one behind which WR_S_GO may say 1: last - unroll, by the solver */
  int steps;     /* iterations that counted                                                 */
  int measure;   /* what the last iteration came to                                         */
  int stop;      /* 1: the host is to see to something                                      */
  int logged;    /* numbers in the log, two for each look                                   */
} wr_iteration_scalars;

enum { WR_LOG_ROOM = 8192 }; /* numbers that the log takes */

/* All that a recorded loop was made for. Scalars of the bank and elements of vectors may be others whenever it runs; these may
 * not. The vectors that `step` works on keep their memory as long as the loop is open. */
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
  wr_status (*step)(void *solver, int half);        /* asks for one iteration; half: 0, 1, 0, ...: which buffers it uses */
  double (*measure)(const void *solver, double of); /* a logged measure as users see it                                  */
  wr_iteration_scalars at;
  wr_vec *bank;
  const wr_vec *left[2][WR_MAX_LEFT]; /* what an iteration leaves to the next, by the latter's half; NULLs last */
  double constant;           /* what `step` puts into its requests as a number, and not by a scalar of the bank: when it has */
                             /* changed, a loop that was recorded with the old one is recorded anew                          */
  int host_only;             /* no wr_loop                           */
  int no_resident;           /* no resident one                      */
  const wr_monitor *monitor;
  double scale, target;      /* monitor->progress gets scale * measure, and what that is to come to */
  /* by wr_iteration_every */
  int64_t every;    /* iterations between two looks                */
  int unroll;       /* recorded in each half; a divisor of `every` */
  int period;       /* what is seldom due is looked after in iterations whose number since begin this divides: 2, or unroll */
  int ends_period;  /* the iteration that is asked for may be such a one */
  /* its own */
  wr_vec log;
  wr_loop *loop;
  wr_iteration_key recorded; /* what the loop is for                                                 */
  int64_t recordings;        /* loops that were recorded                                             */
  uint64_t refused;          /* the plan's generation for which there can be no resident loop; 0: there is none */
  int resident;     /* the loop is, or is to be                                                    */
  double *room;     /* [WR_LOG_ROOM] on the host                                                   */
  int half;         /* of the next iteration                                                       */
  int warm;         /* the buffers of the next iteration are prepared as a recorded one needs them */
  int64_t since;    /* iterations asked for since the last look                                    */
  int64_t taken;    /* iterations in all since it was opened                                       */
  wr_repeated by;   /* the last to have asked for iterations                                       */
} wr_iteration;

wr_status wr_iteration_open(wr_env *env, wr_iteration **it); /* WR_ENOMEM */
void wr_iteration_close(wr_iteration *it);                   /* NULL is fine */

/* Whether wr_iteration_every would record a resident loop. 1: unless it turns out that it cannot. When all that is given is. */
int wr_iteration_may_be_resident(const wr_iteration *it);

/* Sets the distance of two looks, before begin, when all that is given is; frees a loop that was recorded for something else
 * (wr_iteration_key); and records a resident loop, if there can be one and is none.
 * 0: 1, but 8 where an apply is over so soon that the device would rather decide less often, and seven iterations too many cost
 * next to nothing. WR_ENOMEM */
wr_status wr_iteration_every(wr_iteration *it, int64_t every);

/* The buffers' contents mean nothing any more, and the next iteration is the first. */
void wr_iteration_begin(wr_iteration *it);

/* scalars: the bank as it is, with stop and logged 0. Iterates until stop is 1 or somebody interrupts
 * (*interrupted := 1); scalars := the bank then, logged is 0 in both. The history has grown by every look. */
wr_status wr_iteration_go(wr_iteration *it, double *scalars, int *interrupted);

#endif
