/* Waiting for another block or thread by polling memory. All kernels use these functions, since tests/simt, which runs
 * threads one after another, has to switch to another thread here. The awaited thread must be running: blocks take their
 * numbers from an atomic counter, so that blocks with smaller numbers have begun. */
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

/* Without sleeping, where even __nanosleep would take longer than the wait. */
template <class Condition>
__device__ inline void wr_spin_busily(Condition is_done) {
#ifdef WR_SIMT
  wr_spin_until(is_done);
#else
  while (!is_done()) {}
#endif
}

/* Increments *count and returns its old value. A thread that gets a larger value and then calls __threadfence sees
 * everything that this thread wrote before. Unlike a __threadfence before an atomicAdd, the release does not invalidate L1,
 * which may hold much of x. */
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
