/* Memory that another card writes while a kernel of this one reads it. Cards of one host reach each other's memory (peer
 * access), also where they belong to different processes (CUDA IPC).
 *
 * Records (record.cuh) need no fence: two H200 of a host, or two H100, hand each other one in 0.62 us, where a flag with
 * release and acquire takes 2.2 us (measured 2026-11-25). Flags are for elements of x that are too many to travel in twice
 * their bytes.
 *
 * The card that is waited for may have failed, so every wait has an end. */
#ifndef WR_PEER_CUH
#define WR_PEER_CUH

#include <stdint.h>

#include "spmv/kernel/record.cuh"

#ifdef WR_SIMT
#include <time.h>
#include <unistd.h>
#endif

/* A count that one card writes and another reads. release: after everything that this thread, or threads that it has waited
 * for by __syncthreads or a count, have written; acquire: before everything that this thread, and later kernels, read. */
__device__ inline void wr_peer_release(uint32_t *count, uint32_t value) {
#if !defined(WR_SIMT) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 700
  uint64_t at = __cvta_generic_to_global(count);
  asm volatile("fence.acq_rel.sys;\n\tst.relaxed.sys.global.u32 [%0], %1;" : : "l"(at), "r"(value) : "memory");
#else
  __threadfence();
  *(volatile uint32_t *)count = value;
#endif
}

__device__ inline uint32_t wr_peer_acquire(const uint32_t *count) {
  uint32_t value;
#if !defined(WR_SIMT) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 700
  uint64_t at = __cvta_generic_to_global(count);
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
#else
  value = *(const volatile uint32_t *)count;
  __threadfence();
#endif
  return value;
}

/* The same without an order with other accesses. */
__device__ inline void wr_peer_put(uint32_t *count, uint32_t value) { *(volatile uint32_t *)count = value; }
__device__ inline uint32_t wr_peer_get(const uint32_t *count) { return *(const volatile uint32_t *)count; }

/* A clock in nanoseconds. */
__device__ inline uint64_t wr_peer_clock() {
#ifdef WR_SIMT
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
#elif defined(__CUDA_ARCH__)
  uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
#else
  return 0;
#endif
}

/* Waits until is_done() for at most so many nanoseconds; false: that was not enough. The other card works on its own, so the
 * threads of this one need not take turns. */
template <class Condition>
__device__ inline bool wr_peer_wait(uint64_t patience, Condition is_done) {
  uint64_t begin = wr_peer_clock();
  for (unsigned tries = 1; !is_done(); tries++) {
#ifdef WR_SIMT
    usleep(20);
#endif
    if (tries % 1024 == 0 && wr_peer_clock() - begin > patience) return false;
  }
  return true;
}

#endif
