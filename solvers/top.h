/* The greatest elements of a vector. */
#ifndef WR_TOP_H
#define WR_TOP_H

#include <stdint.h>

#include "config/status.h"

/* best[count] := the indices of the greatest elements of x[n], greatest first, ties by index; count <= n. One pass with a heap
 * of `count`. */
void wr_top(const double *x, int64_t n, int64_t count, int64_t *best);

/* *ranks := the greatest number of ranks such that each of the greatest elements of x[n], which are >= 0, up to there exceeds
 * the next one by more than `gap`; n: all do. WR_ENOMEM. */
wr_status wr_top_separated(const double *x, int64_t n, double gap, int64_t *ranks);

#endif
