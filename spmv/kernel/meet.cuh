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

#include "spmv/kernel/record.cuh"
#include "spmv/kernel/spin.cuh"

/* ---- A barrier at which each block hands a number to all others ----
 *
 *   wr_meet_post(&records[blockIdx.x], value, round);     one thread, behind a __syncthreads that ends the block's work
 *   while (!wr_meet_read(&records[k], round, &value)) {}  of every block k
 *
 * A thread that has read all records of a round is behind the barrier, and has the numbers without a further load. Rounds count
 * from 1 and use two arrays in turn, which are zeroed before the launch. */
__device__ inline void wr_meet_post(wr_record *record, double value, unsigned round) {
  wr_record_post<false>(record, (uint64_t)__double_as_longlong(value), round);
}

/* false: the block has not posted its number of this round yet. */
__device__ inline bool wr_meet_read(const wr_record *record, unsigned round, double *value) {
  uint64_t bits = 0;
  bool is_there = wr_record_read<false>(record, round, &bits);
  *value = __longlong_as_double((long long)bits);
  return is_there;
}

/* ---- A barrier alone ---- */

__device__ inline void wr_meet_arrive(unsigned *arrived) { (void)wr_arrive(arrived); }

/* round: how often each block has arrived. The count may wrap around at 2^32. */
__device__ inline void wr_meet_wait(const unsigned *arrived, unsigned round) {
  unsigned all = round * gridDim.x;
  wr_spin_busily([&] { return (int)(*(const volatile unsigned *)arrived - all) >= 0; });
}

#endif
