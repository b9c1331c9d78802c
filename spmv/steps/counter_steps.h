/* The smallest method: a loop of a given number of rounds, for tests and benchmarks of loops and as a model for new methods. */
#ifndef WR_COUNTER_STEPS_H
#define WR_COUNTER_STEPS_H

#include "spmv/steps/step_math.h"

typedef struct wr_counter_scalars {
  double rounds, limit; /* rounds done; the loop ends when it reaches limit */
  double goes_on;       /* 1 or 0                                           */
  double sum;           /* for a reduction                                  */
} wr_counter_scalars;

WR_STEP void wr_counter_count(wr_counter_scalars *s, wr_step_request *request) {
  s->rounds = s->rounds + 1;
  s->goes_on = wr_step_decide(request, s->rounds < s->limit);
}

#endif
