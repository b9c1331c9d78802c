/* Loops: operations that were recorded once and that a device repeats by itself. */
#ifndef WR_LOOP_H
#define WR_LOOP_H

#include "spmv/device/vec.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { WR_MAX_LEFT = 5 };

/* What a loop is to be. A driver without conditional graph nodes runs a few parts beyond the end before the host has learnt of
 * it: `bank` and `left` are then restored from copies, and whatever else these parts have written is not read again. */
typedef struct wr_loop_request {
  int parts;          /* 1 or 2                              */
  int resident;       /* 1: the loop is to be resident       */
  const wr_vec *bank; /* of all scalars                      */
  const wr_vec *left[2][WR_MAX_LEFT]; /* by part: the vectors that it leaves to what follows, without the log; NULLs last */
} wr_loop_request;

/* The first part, the second part, the first again, and so on, or the only part again and again, until a step that decides says
 * at the end of a part that the loop ends.
 *
 *   loop_open(env, &request, &loop);  operations are recorded from here on and not done: no upload, download, wait or stamp
 *   ... the first part, at its end a step that decides; such a step elsewhere stands after loop_decide(env, loop, 0)
 *   loop_part(env, loop);             if there is a second one
 *   ... the second part, likewise
 *   loop_close(env, loop);
 *   loop_run(env, loop);              asynchronous, as often as needed
 *   do { loop_poll(env, loop, &bank, scalars, &ended); } while (!ended);
 *   loop_free(env, loop);             after a failure of any of these, too
 *
 * A resident loop is one kernel that does fused operations and, in place of applies, products with plain rows (loop_rows). On a
 * small system that takes half to two thirds of the time. It adds sums in another order. */
typedef struct wr_loop wr_loop;

#ifdef __cplusplus
}
#endif
#endif
