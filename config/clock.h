/* Time in seconds; 0 if a clock cannot be read. */
#ifndef WR_CLOCK_H
#define WR_CLOCK_H

#include "config/status.h"

WR_C_BEGIN

double wr_clock(void);           /* the monotonic clock, by which durations and deadlines are measured */
double wr_processor_clock(void); /* what the processors have worked for this process                   */

WR_C_END
#endif
