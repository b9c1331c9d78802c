/* spmv --calibrate: how the times of this device differ from what the model of -k auto expects. */
#ifndef WR_CALIBRATE_H
#define WR_CALIBRATE_H

#include <stdio.h>

#include "solvers/report/run.h"

/* Times the candidates of -k auto at that open place on five generated matrices of 0.6 to 5 million entries, with values and
 * without, in f32 and f64, and keeps the medians of measured by expected times in the user's cache folder; prints them to text
 * (NULL: nowhere). A GPU that the model's table knows is not measured: text then says so. A signal ends it before the next
 * matrix, with WR_EUNAVAILABLE and nothing kept. WR_EOUTPUT: the file cannot be written. WR_EINPUT: it is none of windrow's.
 * WR_EUNAVAILABLE: there is no cache folder. WR_ENOMEM. */
wr_status wr_calibrate(wr_apply_place places[2], wr_place place, FILE *text);

#endif
