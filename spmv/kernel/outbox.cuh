/* Elements of a vector that other cards need go to them from the kernel that computes the vector, so that they travel while it
 * runs. An outbox lies on the device; peers_cuda.cu makes it and says when elements may be sent. */
#ifndef WR_OUTBOX_CUH
#define WR_OUTBOX_CUH

#include <stdint.h>

#include "spmv/kernel/record.cuh"

enum { WR_MOST_OTHERS = 15 }; /* cards to which elements go */

/* Of elements [32 w, 32 w + 32): bit b says that a part needs the b-th; `before` counts those before them that it needs. */
typedef struct alignas(8) wr_outbox_word {
  uint32_t needed, before;
} wr_outbox_word;

typedef struct wr_outbox_part {
  const wr_outbox_word *words; /* [elements / 32, rounded up]                       */
  void *to[2];                 /* where elements of even and of odd exchanges go, in the order of their numbers */
} wr_outbox_part;

typedef struct wr_outbox {
  int parts;                /* to which elements go                                 */
  int uses_records;         /* elements travel as records of the round behind their exchange */
  const uint32_t *exchange; /* the number of the next one                           */
  wr_outbox_part part[WR_MOST_OTHERS];
} wr_outbox;

/* Elements as bits of a record. */
static __device__ inline uint64_t wr_bits_of(double value) { return (uint64_t)__double_as_longlong(value); }
static __device__ inline uint64_t wr_bits_of(float value) { return (uint64_t)__float_as_uint(value); }

/* Sends element i to all parts that need it. */
template <typename T>
__device__ inline void wr_outbox_put(const wr_outbox &box, int64_t i, T value) {
  const unsigned bit = (unsigned)(i % 32);
#pragma unroll 1
  for (int r = 0; r < box.parts; r++) {
    const wr_outbox_word word = box.part[r].words[i / 32];
    if (!(word.needed >> bit & 1)) continue;
    const int64_t place = (int64_t)word.before + __popc(word.needed & ((1u << bit) - 1));
    const uint32_t exchange = *box.exchange;
    void *to = box.part[r].to[exchange % 2];
    if (box.uses_records)
      wr_record_post<true>((wr_record *)to + place, wr_bits_of(value), exchange + 1);
    else
      ((T *)to)[place] = value;
  }
}

#endif
