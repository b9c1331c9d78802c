/* Loops: operations that are recorded once and that a device repeats without the host. */
#ifndef WR_LOOP_H
#define WR_LOOP_H

#include "spmv/device/vec.h"

WR_C_BEGIN

enum { WR_MAX_PARTS = 3, WR_MAX_LEFT = 12 };

/* The arguments of loop_open. Without conditional graph nodes in the driver, a device runs some surplus parts beyond the end
 * of the loop. `bank` and `left` are then restored from copies that were made at the end; other memory that surplus parts
 * write must not be read later. */
typedef struct wr_loop_request {
  int parts;          /* 1 to WR_MAX_PARTS                   */
  int resident;       /* 1: one kernel that stays resident   */
  const wr_vec *bank; /* all scalars of the recorded steps   */
  int needs_conditions; /* 1: not without conditional nodes, so that no surplus parts run */
  const wr_vec *left[WR_MAX_PARTS][WR_MAX_LEFT]; /* by part: its vectors that are read after the loop, without the log; */
                                                 /* NULLs last                                                          */
} wr_loop_request;

/* A device runs the parts in turn, the first again after the last, until the deciding step at the end of a part ends the
 * loop.
 *
 *   loop_open(env, &request, &loop);  from here on operations are recorded, not done; no upload, download, wait or stamp
 *   ... the first part, at its end a step that decides; before any other such step, loop_decide(env, loop, 0)
 *   loop_part(env, loop);             before each further part
 *   ... that part, likewise
 *   loop_close(env, loop);
 *   loop_run(env, loop);              asynchronous, as often as needed
 *   do { loop_poll(env, loop, &bank, scalars, &ended); } while (!ended);
 *   loop_free(env, loop);             after a failure of any of these, too
 *
 * A resident loop is one kernel that does fused operations and, instead of applies, products with plain rows (loop_rows). On
 * a small system it takes half to two thirds of the time of a graph. Its sums are added in another order. */
typedef struct wr_loop wr_loop;

WR_C_END
#endif
