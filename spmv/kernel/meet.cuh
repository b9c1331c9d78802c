/* Grid barrier: all blocks wait for each other, in a kernel that WR_LAUNCH_TOGETHER launches.
 *
 *   unsigned round = 0;                          grid barriers so far, counted by every thread
 *   wr_meet_arrive(arrived);                     thread 0, behind a __syncthreads that ends the block's work
 *   wr_meet_wait(arrived, ++round);              one thread of every warp that goes on before the next __syncthreads
 *   __syncthreads();
 *
 * *arrived is 0 before the launch. After the barrier, what other blocks have written must be read by __ldcg, from L2: L1 is not
 * invalidated, so that it keeps the matrix. An acquire would invalidate it, and is not needed: a load behind the wait is issued
 * after the wait's own load has returned, and reads L2, where the writes are. */
#ifndef WR_MEET_CUH
#define WR_MEET_CUH

#include "spmv/kernel/spin.cuh"

__device__ inline void wr_meet_arrive(unsigned *arrived) { (void)wr_arrive(arrived); }

/* round: how often each block has arrived. The count may wrap around at 2^32. */
__device__ inline void wr_meet_wait(const unsigned *arrived, unsigned round) {
  unsigned all = round * gridDim.x;
#ifdef WR_SIMT
  wr_spin_until([&] { return (int)(*(const volatile unsigned *)arrived - all) >= 0; });
#else
  while ((int)(*(const volatile unsigned *)arrived - all) < 0) {} /* no __nanosleep: it would take longer than the wait */
#endif
}

#endif
