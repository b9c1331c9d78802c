/* PageRank's step after an iteration as a mere counter, for tests of operations and loops that are no PageRank: it counts
 * `steps` and lets a loop go on until they reach `limit`. `dangling` is free for a sum. */
#ifndef WR_TEST_COUNTING_H
#define WR_TEST_COUNTING_H

#include <math.h>

#include "spmv/steps/pagerank_steps.h"
#include "spmv/steps/steps.h"

/* Never converged, never stalled, a log without an end. */
static inline wr_pagerank_scalars counting_from(double steps, double limit) {
  wr_pagerank_scalars s;
  double *scalars = (double *)&s;
  for (int k = 0; k < WR_SCALAR_COUNT(wr_pagerank_scalars); k++) scalars[k] = 0;
  s.steps = steps, s.limit = limit, s.every = 1, s.target = -1;
  s.huge = s.window_length = s.log_room = s.last_part = INFINITY;
  return s;
}

#endif
