/* Adds up the parts of sums that a launch has left (wr_sums_leave, wr_sums_leave_warp), by a small kernel. For multiplies whose
 * kernels have many instances: the steps behind the sums have more code than a multiply, and stand once here. */
#ifndef WR_LEFT_SUMS_CUH
#define WR_LEFT_SUMS_CUH

#include "spmv/kernel/sums.cuh"

/* Reserves env's workspace for `parts` parts and those of the small kernel; to be called once, before the first launch.
 * WR_ENOMEM. */
wr_status wr_left_sums_reserve(wr_env *env, int64_t parts);

/* Asynchronous: completes sums of which the launch before has left `parts` parts, and runs the step behind them. WR_EDEVICE. */
wr_status wr_left_sums_launch(wr_env *env, wr_sums sums, int64_t parts);

#endif
