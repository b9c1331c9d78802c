/* Records: 8 bytes and the round that they are of, which one thread hands to another through memory. A record is written and
 * read as two halves of 8 bytes, each of which says the round, so a thread that has read a record of its round has what it
 * holds. The memory is zeroed before the first round, which is 1. */
#ifndef WR_RECORD_CUH
#define WR_RECORD_CUH

#include <stdint.h>

#include "spmv/kernel/launch.cuh"

typedef struct alignas(16) wr_record {
  uint32_t low, round, high, again; /* both halves of what is handed over; again: the round */
} wr_record;

/* BETWEEN_CARDS: to a thread of another card, without an order with other accesses. Else to one of this card, after everything
 * that this thread has written. */
template <bool BETWEEN_CARDS>
__device__ inline void wr_record_post(wr_record *record, uint64_t bits, uint32_t round) {
#if !defined(WR_SIMT) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 700
  uint64_t at = __cvta_generic_to_global(record);
  uint32_t low = (uint32_t)bits, high = (uint32_t)(bits >> 32);
  if (BETWEEN_CARDS)
    asm volatile("st.relaxed.sys.global.v4.u32 [%0], {%1, %2, %3, %2};"
                 :
                 : "l"(at), "r"(low), "r"(round), "r"(high)
                 : "memory");
  else
    asm volatile("st.release.gpu.global.v4.u32 [%0], {%1, %2, %3, %2};"
                 :
                 : "l"(at), "r"(low), "r"(round), "r"(high)
                 : "memory");
#else
  volatile wr_record *to = record;
  __threadfence();
  to->low = (uint32_t)bits, to->high = (uint32_t)(bits >> 32);
  __threadfence();
  to->round = round, to->again = round;
#endif
}

/* false: nothing of this round has arrived yet. */
template <bool BETWEEN_CARDS>
__device__ inline bool wr_record_read(const wr_record *record, uint32_t round, uint64_t *bits) {
#if !defined(WR_SIMT) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 700
  uint32_t low, first, high, second;
  uint64_t at = __cvta_generic_to_global(record);
  if (BETWEEN_CARDS)
    asm volatile("ld.relaxed.sys.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(low), "=r"(first), "=r"(high), "=r"(second)
                 : "l"(at)
                 : "memory");
  else
    asm volatile("ld.relaxed.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(low), "=r"(first), "=r"(high), "=r"(second)
                 : "l"(at)
                 : "memory");
#else
  const volatile wr_record *from = record;
  uint32_t first = from->round, second = from->again;
  if (first != round || second != round) return false;
  __threadfence();
  uint32_t low = from->low, high = from->high;
#endif
  *bits = (uint64_t)high << 32 | low;
  return first == round && second == round;
}

#endif
