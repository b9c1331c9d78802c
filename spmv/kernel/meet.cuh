/* All blocks of a grid wait for each other, in a kernel that WR_LAUNCH_TOGETHER launches.
 *
 *   unsigned round = 0;                          counted by every thread
 *   wr_meet_arrive(arrived);                     thread 0, behind a __syncthreads that ends the block's work
 *   wr_meet_wait(arrived, ++round);              one thread of every warp that goes on before the next __syncthreads
 *   __syncthreads();
 *
 * *arrived is 0 before the launch. What blocks have written before is in L2 then: it is read by __ldcg alone, since the
 * first-level cache keeps what it had, a matrix above all. So there is no acquire, which would empty that cache: a load behind
 * the wait is not issued before the wait's own load has returned, and it goes to where the writes went. */
#ifndef WR_MEET_CUH
#define WR_MEET_CUH

#include "spmv/kernel/spin.cuh"

__device__ inline void wr_meet_arrive(unsigned *arrived) { (void)wr_arrive(arrived); }

/* round: how often each block has arrived. Counts may pass 2^32. */
__device__ inline void wr_meet_wait(const unsigned *arrived, unsigned round) {
  unsigned all = round * gridDim.x;
#ifdef WR_SIMT
  wr_spin_until([&] { return (int)(*(const volatile unsigned *)arrived - all) >= 0; });
#else
  while ((int)(*(const volatile unsigned *)arrived - all) < 0) {} /* a nap would be longer than the wait */
#endif
}

#endif
