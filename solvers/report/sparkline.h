/* A history of residuals as one line of characters. */
#ifndef WR_SPARKLINE_H
#define WR_SPARKLINE_H

#include <stddef.h>

#include "solvers/solver.h"

enum { WR_SPARKLINE_WIDTH = 40, WR_SPARKLINE_ROOM = 3 * WR_SPARKLINE_WIDTH + 1 };

/* text := the measures in at most WR_SPARKLINE_WIDTH characters, each of which stands for an equal stretch of the checks, by
 * its largest measure. There are eight heights, on a logarithmic scale from the least to the largest measure: the block
 * characters U+2581 to U+2588 with has_blocks, else . : - = + * # @. A zero has the least height, and a stretch with a measure
 * that is not finite is a question mark. Returns text, which is "" for an empty history. */
char *wr_sparkline(const wr_history *history, int has_blocks, char text[WR_SPARKLINE_ROOM]);

#endif
