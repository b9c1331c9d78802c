#define _DEFAULT_SOURCE /* clock_gettime */
#include "config/clock.h"

#include <time.h>

static double read_clock(clockid_t clock) {
  struct timespec now;
  if (clock_gettime(clock, &now) != 0) return 0;
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double wr_clock(void) { return read_clock(CLOCK_MONOTONIC); }

double wr_processor_clock(void) { return read_clock(CLOCK_PROCESS_CPUTIME_ID); }
