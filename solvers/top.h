/* The greatest elements of a vector. */
#ifndef WR_TOP_H
#define WR_TOP_H

#include <stdint.h>

/* best[count] := the indices of the greatest elements of x[n], greatest first, ties by index; count <= n. One pass with a heap
 * of `count`. */
void wr_top(const double *x, int64_t n, int64_t count, int64_t *best);

#endif
