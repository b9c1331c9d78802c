/* A line on the terminal while a solver runs:
 *   iteration 120   1.2e-6 -> 1e-9   850 it/s   about 3 s left
 * or while something is prepared:
 *   matching rows   42%   1.3 s
 * redrawn in place at most ten times a second and erased at the end; nothing is drawn if out is not a terminal.
 *
 *   wr_progress progress;
 *   wr_progress_begin(&progress, stderr);
 *   wr_monitor monitor = {.progress = wr_progress_show, .preparing = wr_progress_prepare, .context = &progress};
 *   ...
 *   wr_progress_end(&progress);          before anything else is printed there */
#ifndef WR_PROGRESS_H
#define WR_PROGRESS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { WR_PROGRESS_WIDTH = 79 };

/* The state of a solve at one moment. */
typedef struct wr_progress_mark {
  double time; /* seconds */
  int64_t iteration;
  double measure;
} wr_progress_mark;

typedef struct wr_progress {
  FILE *out;
  int shown;             /* 1: out is a terminal                                                       */
  int drawn;             /* characters on the line now                                                 */
  double drawn_at;       /* seconds; at first the begin, so that a short solve draws nothing           */
  wr_progress_mark begin;
  const char *what;        /* a preparation that is under way, and since when, in seconds; NULL: none  */
  double since;
  wr_progress_mark from; /* begin of the interval of the rate: after a quarter to a half of the iterations */
  wr_progress_mark last; /* becomes `from` when the iterations have doubled                            */
} wr_progress;

void wr_progress_begin(wr_progress *progress, FILE *out);
void wr_progress_show(void *progress, int64_t iteration, double measure, double target); /* wr_monitor's */
void wr_progress_prepare(void *progress, const char *what, double share); /* likewise; keeps `what` */
void wr_progress_end(wr_progress *progress);

/* Keeps two marks of a solve, between which its rate is measured: *from is that after a quarter to a half of the iterations,
 * since the first ones often reduce the measure much more. Both begin as zeros. */
void wr_progress_keep(wr_progress_mark *from, wr_progress_mark *last, wr_progress_mark now);

/* Seconds until the measure is at target if it falls as between the two marks; a negative number if it does not fall. */
double wr_progress_left(const wr_progress_mark *from, const wr_progress_mark *now, double target);

/* text[WR_PROGRESS_WIDTH + 1] := the line that show draws at time `now`; returns 0 if it is too early for another one. The time
 * left assumes that the measure decreases by the same factor each second; without a decrease it is left out. */
int wr_progress_line(wr_progress *progress, double now, int64_t iteration, double measure, double target, char *text);

/* Likewise the line of a preparation, of which this share is done; negative: that is not known. */
int wr_progress_stage_line(wr_progress *progress, double now, const char *what, double share, char *text);

#endif
