/* Memory that another card writes while a kernel of this one reads it. Cards of one host reach each other's memory (peer
 * access), also where they belong to different processes (CUDA IPC).
 *
 * A record has a double, or two words, and the round that it is of. It is written and read as two halves of 8 bytes, each of
 * which says the round, so that no fence is needed: a thread that has read a record of its round has the number. Two H200 of a
 * host, or two H100, hand each other a record in 0.62 us, where a flag with release and acquire takes 2.2 us (measured
 * 2026-11-25). Flags are for what does not fit into a record: a part's elements of x.
 *
 * The card that is waited for may have failed, so every wait has an end. */
#ifndef WR_PEER_CUH
#define WR_PEER_CUH

#include <stdint.h>

#include "spmv/kernel/launch.cuh"

#ifdef WR_SIMT
#include <time.h>
#include <unistd.h>
#endif

typedef struct alignas(16) wr_peer_record {
  uint32_t low, round, high, again; /* both halves of what is handed over; again: the round */
} wr_peer_record;

__device__ inline void wr_peer_post(wr_peer_record *record, uint64_t bits, uint32_t round) {
#if !defined(WR_SIMT) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 700
  uint64_t at = __cvta_generic_to_global(record);
  asm volatile("st.relaxed.sys.global.v4.u32 [%0], {%1, %2, %3, %4};"
               :
               : "l"(at), "r"((uint32_t)bits), "r"(round), "r"((uint32_t)(bits >> 32)), "r"(round)
               : "memory");
#else
  volatile wr_peer_record *to = record;
  to->low = (uint32_t)bits, to->high = (uint32_t)(bits >> 32);
  __threadfence();
  to->round = round, to->again = round;
#endif
}

/* false: nothing of this round has arrived yet. */
__device__ inline bool wr_peer_read(const wr_peer_record *record, uint32_t round, uint64_t *bits) {
#if !defined(WR_SIMT) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 700
  uint32_t low, first, high, second;
  uint64_t at = __cvta_generic_to_global(record);
  asm volatile("ld.relaxed.sys.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(low), "=r"(first), "=r"(high), "=r"(second)
               : "l"(at)
               : "memory");
#else
  const volatile wr_peer_record *from = record;
  uint32_t first = from->round, second = from->again;
  if (first != round || second != round) return false;
  __threadfence();
  uint32_t low = from->low, high = from->high;
#endif
  *bits = (uint64_t)high << 32 | low;
  return first == round && second == round;
}

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
