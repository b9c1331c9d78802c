/* Pairwise covering: a short list of settings in which every pair of values of any two parameters occurs together. */
#ifndef WR_COVERING_H
#define WR_COVERING_H

#include "config/status.h"

enum { COVERING_PARAMETERS = 8 };

typedef struct covering {
  int count, capacity;
  int (*row)[COVERING_PARAMETERS]; /* [count][parameters] a value of each, sorted by the first parameter, then the second... */
} covering;

/* Parameter p takes the values 0..levels[p]-1. Deterministic. WR_ENOMEM. */
wr_status covering_make(const int *levels, int parameters, covering *c);
void covering_free(covering *c);

#endif
