/* How long one multiply takes by each of several backends on one matrix. Their measurements alternate, so that whatever the
 * machine does in the meantime meets all of them alike; every result is checked against sums of the host's own. Three kinds
 * of time: hot (batches of multiplies one after the other), cold (a single multiply after twice the last cache was
 * overwritten) and the first apply of a fresh plan. Results are wr_run records, as whole solves have them, so that
 * wr_faster, wr_break_even and wr_report_exit_code serve here too. */
#ifndef WR_APPLY_TIME_H
#define WR_APPLY_TIME_H

#include <signal.h>

#include "solvers/program/choice.h"
#include "solvers/report/run.h"

enum { WR_APPLY_BATCHES = 31, WR_APPLY_PREPARATIONS = 3 };
#define WR_APPLY_BATCH_SECONDS 1e-3 /* beside it a stamp of a device, about 1 us, is nothing */
#define WR_APPLY_SECONDS "2"        /* who is so slow that batches take longer together has less of them */

typedef struct wr_apply_settings {
  int64_t batches;      /* so many hot and so many cold times of each backend                                   */
  double batch_seconds; /* a hot batch lasts at least so long                                                   */
  double seconds;       /* a backend timed for longer has as many batches as an interval needs, and no more      */
  int64_t preparations; /* at most so many, for a median; those of a slow format are fewer                      */
  int cold;             /* 1: cold times too                                                                    */
  wr_verified verify;   /* off, sample or full                                                                  */
  int64_t verify_rows;  /* of a sample: so many rows, spread evenly                                             */
  const volatile sig_atomic_t *interrupted; /* or NULL. Not 0: no further rounds, what was measured is kept     */
} wr_apply_settings;

/* env: what the caller fills in of it. Opens it and measures its read bandwidth; a place that does not open is no error
 * but a reason. */
void wr_apply_place_open(wr_apply_place *place, wr_env env);
void wr_apply_place_close(wr_apply_place *place); /* a zeroed one is fine */

/* Times y = A x in `type` by choices[count] at places[2] (by wr_place), into runs[count] and times[count]. run.setup is the
 * time from creating the plan to the end of its preparation, the upload of the matrix left out; run.applies is one more
 * than the hot batches. A backend that cannot run, or breaks off, is a run with its reason. A device view stays cached.
 *
 * Each y is checked twice, after the first apply and after the last, both begun with NaN in y: row i must be within
 *   ((length + 3) * sum_unit + term_unit) * sum_j |a_ij x_j| + u |y_i| + 2^-53 |y_i|
 * of the sum in long double, u being the unit of the type (Higham, Accuracy and Stability of Numerical Algorithms, section
 * 3.1), underflow added. In run.verdict, worst_row is the largest error / bound; not finite is infinitely wrong.
 *
 * WR_EUSAGE: a knob that is none. WR_ENUMERIC: a value, or a sum |a||x|, that the type cannot hold. WR_ENOMEM. */
wr_status wr_apply_time(wr_csr *A, wr_type type, wr_apply_place places[2], const wr_choice *choices, int count,
                        const wr_apply_settings *settings, wr_run *runs, wr_apply_times *times);

#endif
