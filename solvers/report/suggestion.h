/* Which backend to take for how many multiplies: preparation, the first multiply and all later ones together. */
#ifndef WR_SUGGESTION_H
#define WR_SUGGESTION_H

#include "solvers/report/run.h"

/* From so many multiplies on, up to the next stretch, this run takes the least time. */
typedef struct wr_stretch {
  const wr_run *run;
  int64_t from; /* 1 for the first stretch */
} wr_stretch;

/* Into stretches[count], by ascending `from`. It begins with the run that has its first result soonest; another takes over
 * where its preparation has paid (wr_break_even), if it multiplies faster beyond doubt (wr_faster). Returns how many there
 * are: 0 if no run was right and timed often enough for an interval. */
int wr_suggest(const wr_run *runs, int count, wr_stretch *stretches);

#endif
