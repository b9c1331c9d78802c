/* Times one multiply by each of several backends on one matrix. The measurements of all backends alternate, so that other load
 * on the machine affects all of them alike, and every result is compared with sums that the host computes. There are three
 * times: hot (of a batch of multiplies), cold (of a single multiply, after twice the size of the last-level cache was
 * overwritten), and that of the first apply of a new plan. Results are wr_run records, as of solves, for wr_faster,
 * wr_break_even and so on. */
#ifndef WR_APPLY_TIME_H
#define WR_APPLY_TIME_H

#include <signal.h>

#include "solvers/api/choice.h"

enum { WR_APPLY_BATCHES = 31, WR_APPLY_PREPARATIONS = 3 };
#define WR_APPLY_BATCH_SECONDS 1e-3 /* so long that the 1 us of a device's stamp does not matter */
#define WR_APPLY_SECONDS "2"        /* a backend with batches that take longer together is timed in fewer */

typedef struct wr_apply_settings {
  int64_t batches;      /* so many hot and so many cold times of each backend                                   */
  double batch_seconds; /* a hot batch lasts at least so long                                                   */
  double seconds;       /* a backend that was timed for longer gets no more batches than an interval needs, and one with
                         * batches that each take longer gets one. 0: as many as an interval needs of each          */
  int64_t vectors;      /* multiplied at once, up to WR_MAX_COLUMNS; 0 and 1: one, as in a solver                */
  int64_t preparations; /* at most so many, for a median; fewer for a format that takes long                    */
  int cold;             /* 1: cold times too                                                                    */
  wr_verified verify;   /* off, sample or full                                                                  */
  int64_t verify_rows;  /* of a sample: so many rows, spread evenly                                             */
  const volatile sig_atomic_t *interrupted; /* or NULL. Once it is not 0 no round begins, and results so far are kept */
} wr_apply_settings;

/* Opens env, with its settings filled in, and measures its read bandwidth. If it does not open, place->error says why. */
void wr_apply_place_open(wr_apply_place *place, wr_env env);
void wr_apply_place_close(wr_apply_place *place); /* a zeroed one is fine */

/* Times y = A x in `type` by choices[count] at places[2] (by wr_place), or of several vectors Y = A X by wr_plan_apply_many,
 * into runs[count] and times[count]. Of several, times and run.info.apply_bytes are those of all together. run.setup is the
 * time from creating the plan to the end of its preparation, the upload of the matrix left out; run.applies is one more
 * than the hot batches. A backend that cannot run or breaks off has its error in its run. The matrix keeps its device view.
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
