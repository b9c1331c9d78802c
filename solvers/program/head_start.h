/* -d auto: a solve begins on the CPU while a device is being opened. What a device would gain is found from the iterations so
 * far: how long each takes, and how fast the measure falls. */
#ifndef WR_HEAD_START_H
#define WR_HEAD_START_H

#include "solvers/program/progress.h"
#include "spmv/matrix/csr.h"
#include "spmv/device/vec.h"

typedef struct wr_head_start {
  double opening;              /* s that opening a device takes, as expected                            */
  double move, iteration;      /* s: of going over to it; of an iteration there                         */
  double usual;                /* iterations that such a solve takes                                    */
  wr_progress_mark from, last; /* as in wr_progress                                                     */
  wr_progress_mark timed;      /* since then iterations are timed                                       */
} wr_head_start;

/* For a solve with A that begins now and usually takes so many iterations. Of A the sizes are read, and whether there are
 * values. */
void wr_head_start_begin(wr_head_start *h, const wr_csr *A, wr_type type, double usual, double opening, double now);

/* The device has been opened: what iterations took before, beside that, does not count any more. */
void wr_head_start_opened(wr_head_start *h, wr_progress_mark now);

/* After an iteration, of which `now` has the number, the time and the measure. */
void wr_head_start_keep(wr_head_start *h, wr_progress_mark now);

/* Behind that: the iterations that the solve is expected to take yet. The measure is expected to fall by the same factor in
 * each, as since they were half as many; but no more are expected than usual, or than there were so far, since residuals stand
 * still for long and then fall at once. */
double wr_head_start_left(const wr_head_start *h, wr_progress_mark now, double target);

/* The seconds by which it ends sooner if it goes over to a device that costs `wait` seconds besides: those until it is open and
 * those of closing it, unless it is open already. 0 or less: it ends later, or there were too few iterations to tell. */
double wr_head_start_gain(const wr_head_start *h, wr_progress_mark now, double target, double wait);

#endif
