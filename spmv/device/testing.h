/* What tests alone ask of an env, and what it counts for them: wr_env.testing, NULL everywhere else. Not installed. */
#ifndef WR_TESTING_H
#define WR_TESTING_H

#include <stdint.h>

typedef struct wr_testing {
  int poison;         /* 1: each y_next with undefined contents is filled with NaN, and freed device memory is not kept */
  int no_conditions;  /* 1: loops as with a driver without conditional nodes in graphs                                  */
  int late_loops;     /* 1: loops are recorded after as many iterations as without tests, not at once                   */
  int hasty;          /* 1: -k auto changes its backend in mid-run for savings of any few seconds                       */
  int no_forms;       /* 1: resident loops are run as if no step had a form (resident_form.cuh)                         */
  int64_t recordings; /* += 1 for each loop that was recorded                                                           */
  int known_steps;    /* := steps with a form, of the resident loop that was recorded last                             */
} wr_testing;

#endif
