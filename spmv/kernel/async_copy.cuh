/* Asynchronous copies of data that a kernel reads once: bulk copies from global to shared memory that run while the block
 * computes, and loads that do not displace other data in L1. Each function in PTX has a version without, for cards before sm_90
 * and for builds that run kernels on the CPU.
 *
 * One thread starts a copy, all wait for it. A barrier counts phases from 0; the k-th use of a stage waits for parity k & 1:
 *
 *   WR_SHARED(wr_copy_barrier, arrived, 2);                              one for each stage
 *   if (threadIdx.x == 0) wr_copy_barrier_init(&arrived[0]), wr_copy_barrier_init(&arrived[1]);
 *   __syncthreads();
 *   thread 0, when every thread has read the stage's old contents (__syncthreads):
 *     wr_copy_expect(&arrived[s], bytes of all copies of this phase);
 *     wr_copy_bulk(stage_col, col + k0, col_bytes, &arrived[s]);
 *     wr_copy_bulk(stage_val, val + k0, val_bytes, &arrived[s]);
 *   every thread: wr_copy_wait(&arrived[s], k & 1);                      now the stage may be read, and written
 *
 * Scattered elements are copied one by one by the lanes, without waiting in between:
 *
 *   each lane, for any number:  wr_copy_element_if(wanted, stage + i, x + col[i]);
 *   then:                       wr_copy_elements_wait(); __syncwarp();   now the warp may read what its lanes copied
 *
 * The block must wait for every copy before it ends. Facts: PTX ISA, "mbarrier", "cp.async.bulk", proxies. */
#ifndef WR_ASYNC_COPY_CUH
#define WR_ASYNC_COPY_CUH

#include <stdint.h>
#include <string.h>

#include "spmv/kernel/launch.cuh"

/* Addresses and sizes of bulk copies are multiples of this; so a copy begins at the multiple below the first byte needed and
 * ends at the one above the last, which the padding of device arrays allows. */
constexpr unsigned WR_COPY_BYTES = 16;

/* In shared memory; accessed by the functions below alone. */
typedef struct wr_copy_barrier {
  uint64_t word;
} wr_copy_barrier;

#if defined(WR_SIMT)

inline void wr_copy_barrier_init(wr_copy_barrier *barrier) { simt_bulk_init(&barrier->word); }
inline void wr_copy_expect(wr_copy_barrier *barrier, unsigned bytes) { simt_bulk_expect(&barrier->word, bytes); }
inline void wr_copy_bulk(void *to, const void *from, unsigned bytes, wr_copy_barrier *barrier) {
  if (bytes) simt_bulk_copy(to, from, bytes, &barrier->word);
}
inline void wr_copy_wait(wr_copy_barrier *barrier, unsigned parity, SIMT_HERE) {
  simt_bulk_wait(&barrier->word, parity, {file, line, "wr_copy_wait"});
}

#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900

__device__ inline unsigned wr_shared_address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

/* By one thread; the others may use the barrier after a __syncthreads. */
__device__ inline void wr_copy_barrier_init(wr_copy_barrier *barrier) {
  unsigned at = wr_shared_address(barrier);
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1; fence.mbarrier_init.release.cluster;" : : "r"(at) : "memory");
}

/* Begins a phase of `bytes` bytes, less than 2^20; 0 ends it at once. The copy engine accesses memory through the async proxy:
 * the fence orders accesses of threads to the stage before the last __syncthreads ahead of the engine's writes. */
__device__ inline void wr_copy_expect(wr_copy_barrier *barrier, unsigned bytes) {
  unsigned at = wr_shared_address(barrier);
  asm volatile("fence.proxy.async.shared::cta; mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
               :
               : "r"(at), "r"(bytes)
               : "memory");
}

/* Starts a copy of bytes (a multiple of 16, as are both addresses; 0 copies nothing) from global to shared memory, as part of
 * the phase that this thread has begun. The data are read once, so L2 evicts their lines first. */
__device__ inline void wr_copy_bulk(void *to, const void *from, unsigned bytes, wr_copy_barrier *barrier) {
  unsigned stage = wr_shared_address(to), at = wr_shared_address(barrier);
  uint64_t stream = __cvta_generic_to_global(from), once;
  if (bytes == 0) return;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(once));
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], %4;"
      :
      : "r"(stage), "l"(stream), "r"(bytes), "r"(at), "l"(once)
      : "memory");
}

/* Waits until the phase of this parity is over: all its bytes are in shared memory, visible to the caller. */
__device__ inline void wr_copy_wait(wr_copy_barrier *barrier, unsigned parity) {
  unsigned over, at = wr_shared_address(barrier);
  do {
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                 : "=r"(over)
                 : "r"(at), "r"(parity)
                 : "memory");
  } while (!over);
}

#else

/* Without PTX: the thread that starts a copy does it. word: finished phases in the upper half, missing bytes in the lower
 * one. */
__device__ inline void wr_copy_count(wr_copy_barrier *barrier, uint64_t bytes_to_come, uint64_t phases_over) {
  if (bytes_to_come == 0) phases_over++;
  *(volatile uint64_t *)&barrier->word = phases_over << 32 | bytes_to_come;
}

__device__ inline void wr_copy_barrier_init(wr_copy_barrier *barrier) { *(volatile uint64_t *)&barrier->word = 0; }

__device__ inline void wr_copy_expect(wr_copy_barrier *barrier, unsigned bytes) {
  wr_copy_count(barrier, bytes, barrier->word >> 32);
}

__device__ inline void wr_copy_bulk(void *to, const void *from, unsigned bytes, wr_copy_barrier *barrier) {
  uint64_t word = *(volatile uint64_t *)&barrier->word;
  if (bytes == 0) return;
#pragma unroll 4
  for (unsigned k = 0; k < bytes / WR_COPY_BYTES; k++)
    static_cast<uint4 *>(to)[k] = static_cast<const uint4 *>(from)[k];
  __threadfence_block(); /* the bytes are visible before the barrier's word */
  wr_copy_count(barrier, (uint32_t)word - bytes, word >> 32);
}

__device__ inline void wr_copy_wait(wr_copy_barrier *barrier, unsigned parity) {
  while ((*(volatile uint64_t *)&barrier->word >> 32 & 1) == parity) {}
  __threadfence_block();
}

#endif

/* *to := *from, from global to shared memory, of 4 or 8 bytes and aligned to them, if `on`; else no access. */
template <typename T>
__device__ inline void wr_copy_element_if(bool on, T *to, const T *from) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "no copy of this size");
#if !defined(WR_SIMT) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  unsigned at = wr_shared_address(to);
  uint64_t source = __cvta_generic_to_global(from);
  asm volatile("{ .reg .pred p; setp.ne.u32 p, %3, 0; @p cp.async.ca.shared.global [%0], [%1], %2; }"
               :
               : "r"(at), "l"(source), "n"((int)sizeof(T)), "r"((unsigned)on)
               : "memory");
#else
  if (on) *to = *from;
#endif
}

/* Waits until all elements that the caller has begun to copy are in shared memory, visible to it. */
__device__ inline void wr_copy_elements_wait(void) {
#if !defined(WR_SIMT) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("cp.async.wait_all;" : : : "memory");
#endif
}

/* *p, of 2, 4, 8 or 16 bytes and aligned to its size, in global memory that is not written while the kernel runs. For
 * data that are read once: they are not kept in L1, which then holds more of x. */
template <typename T>
__device__ inline T wr_load_stream(const T *p) {
  static_assert(sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16, "no load of this size");
#if !defined(WR_SIMT) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 700
  T value;
  uint64_t at = __cvta_generic_to_global(p);
  if constexpr (sizeof(T) == 2) {
    uint16_t bits;
    asm("ld.global.nc.L1::no_allocate.u16 %0, [%1];" : "=h"(bits) : "l"(at));
    memcpy(&value, &bits, sizeof value);
  } else if constexpr (sizeof(T) == 4) {
    uint32_t bits;
    asm("ld.global.nc.L1::no_allocate.u32 %0, [%1];" : "=r"(bits) : "l"(at));
    memcpy(&value, &bits, sizeof value);
  } else if constexpr (sizeof(T) == 8) {
    uint64_t bits;
    asm("ld.global.nc.L1::no_allocate.u64 %0, [%1];" : "=l"(bits) : "l"(at));
    memcpy(&value, &bits, sizeof value);
  } else {
    uint64_t bits[2];
    asm("ld.global.nc.L1::no_allocate.v2.u64 {%0, %1}, [%2];" : "=l"(bits[0]), "=l"(bits[1]) : "l"(at));
    memcpy(&value, bits, sizeof value);
  }
  return value;
#else
  return *p;
#endif
}

/* The same for 4 bytes if `on`, else 0: a predicated load, where nvcc would compile a condition to a branch. */
__device__ inline int32_t wr_load_stream_if(bool on, const int32_t *p) {
#if !defined(WR_SIMT) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 700
  int32_t value = 0;
  asm("{ .reg .pred p; setp.ne.u32 p, %2, 0; @p ld.global.nc.L1::no_allocate.s32 %0, [%1]; }"
      : "+r"(value)
      : "l"(__cvta_generic_to_global(p)), "r"((unsigned)on));
  return value;
#else
  return on ? *p : 0;
#endif
}

/* Prefetches the 128 bytes around an address to L2. No thread waits for it. */
__device__ inline void wr_prefetch(const void *at) {
#if !defined(WR_SIMT) && defined(__CUDA_ARCH__)
  asm volatile("prefetch.global.L2 [%0];" : : "l"(__cvta_generic_to_global(at)));
#else
  (void)at;
#endif
}

/* p, of which the compiler no longer knows how it was computed: then an element's address takes one instruction, not a sum of
 * all that p was made from. */
template <typename T>
static __device__ inline const T *wr_own_address(const T *p) {
#if !defined(WR_SIMT) && defined(__CUDA_ARCH__)
  asm("" : "+l"(p));
#endif
  return p;
}

#endif
