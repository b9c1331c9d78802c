/* The name that a mistyped one was meant to be. */
#ifndef WR_CLOSEST_H
#define WR_CLOSEST_H

#include "config/status.h"

WR_C_BEGIN

/* The candidate (of count) closest to word by edit distance, or NULL if none is close (more than a third of the letters
 * wrong). */
const char *wr_closest(const char *word, const char *const *candidates, int count);

WR_C_END
#endif
