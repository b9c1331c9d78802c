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

/* ---- A barrier at which each block hands a number to all others ----
 *
 *   wr_meet_post(&records[blockIdx.x], value, round);     one thread, behind a __syncthreads that ends the block's work
 *   while (!wr_meet_read(&records[k], round, &value)) {}  of every block k
 *
 * A thread that has read all records of a round is behind the barrier, and has the numbers without a further load. Rounds count
 * from 1 and use two arrays in turn, which are zeroed before the launch. A record is read and written by halves of 8 bytes, and
 * each half says which round it is of. */
typedef struct alignas(16) wr_meet_record {
  uint32_t low, round, high, again; /* both halves of a double; again: the round */
} wr_meet_record;

__device__ inline void wr_meet_post(wr_meet_record *record, double value, unsigned round) {
  uint64_t bits = (uint64_t)__double_as_longlong(value);
#if !defined(WR_SIMT) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 700
  uint64_t at = __cvta_generic_to_global(record);
  asm volatile("st.release.gpu.global.v4.u32 [%0], {%1, %2, %3, %2};"
               :
               : "l"(at), "r"((uint32_t)bits), "r"(round), "r"((uint32_t)(bits >> 32))
               : "memory");
#else
  volatile wr_meet_record *to = record;
  __threadfence();
  to->low = (uint32_t)bits, to->high = (uint32_t)(bits >> 32);
  __threadfence();
  to->round = round, to->again = round;
#endif
}

/* false: the block has not posted its number of this round yet. */
__device__ inline bool wr_meet_read(const wr_meet_record *record, unsigned round, double *value) {
#if !defined(WR_SIMT) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 700
  uint32_t low, first, high, second;
  uint64_t at = __cvta_generic_to_global(record);
  asm volatile("ld.relaxed.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(low), "=r"(first), "=r"(high), "=r"(second)
               : "l"(at)
               : "memory");
#else
  const volatile wr_meet_record *from = record;
  uint32_t first = from->round, second = from->again;
  if (first != round || second != round) return false;
  __threadfence();
  uint32_t low = from->low, high = from->high;
#endif
  *value = __longlong_as_double((long long)((uint64_t)high << 32 | low));
  return first == round && second == round;
}

/* ---- A barrier alone ---- */

__device__ inline void wr_meet_arrive(unsigned *arrived) { (void)wr_arrive(arrived); }

/* round: how often each block has arrived. The count may wrap around at 2^32. */
__device__ inline void wr_meet_wait(const unsigned *arrived, unsigned round) {
  unsigned all = round * gridDim.x;
  wr_spin_busily([&] { return (int)(*(const volatile unsigned *)arrived - all) >= 0; });
}

#endif
