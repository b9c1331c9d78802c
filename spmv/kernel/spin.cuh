/* Waiting for another block or thread by looking at memory: the one way to do it, for whoever runs threads one after another
 * must know that this one waits. What is waited for has to come without this thread's doing: blocks take their numbers
 * from a ticket, so that those before them have begun.
 *
 *   wr_store_release(&flag[k], 1);                                      after what the flag announces
 *   wr_spin_until([&] { return wr_load_acquire(&flag[k - 1]) == 1; });  before what it announces is read
 */
#ifndef WR_SPIN_CUH
#define WR_SPIN_CUH

#include <stdint.h>

#include "spmv/kernel/launch.cuh"

template <class Condition>
__device__ inline void wr_spin_until(Condition is_done) {
#ifdef WR_SIMT
  while (!is_done()) simt_spin({__FILE__, __LINE__, "wr_spin_until"});
  simt_spin_done();
#else
  while (!is_done()) __nanosleep(20);
#endif
}

/* Everything that this thread wrote before is visible to whoever sees the value. */
template <typename T>
__device__ inline void wr_store_release(T *at, T value) {
  __threadfence();
  *(volatile T *)at = value;
}

/* Nothing that this thread reads afterwards is older than the value. */
template <typename T>
__device__ inline T wr_load_acquire(const T *at) {
  T value = *(const volatile T *)at;
  __threadfence();
  return value;
}

/* How many came before: everything that this thread wrote before is visible to whoever is told a larger number and then
 * calls __threadfence. Unlike a __threadfence before an atomicAdd it leaves the first-level cache, which may hold much of x,
 * as it is. */
__device__ inline unsigned wr_arrive(unsigned *count) {
#if !defined(WR_SIMT) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 700
  unsigned before;
  uint64_t at = __cvta_generic_to_global(count);
  asm volatile("atom.add.release.gpu.global.u32 %0, [%1], 1;" : "=r"(before) : "l"(at) : "memory");
  return before;
#else
  __threadfence();
  return atomicAdd(count, 1u);
#endif
}

#endif
