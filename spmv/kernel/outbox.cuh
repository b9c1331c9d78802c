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

typedef struct wr_outbox {
  int parts;                   /* to which elements go                                 */
  int uses_records;            /* elements travel as records of the round behind their exchange */
  const uint32_t *exchange;    /* the number of the next one                           */
  const wr_outbox_word *words; /* [elements / 32, rounded up][parts]                   */
  void *to[WR_MOST_OTHERS][2]; /* where elements of even and of odd exchanges go to each part, in the order of their numbers */
} wr_outbox;

/* Elements as bits of a record. */
static __device__ inline uint64_t wr_bits_of(double value) { return (uint64_t)__double_as_longlong(value); }
static __device__ inline uint64_t wr_bits_of(float value) { return (uint64_t)__float_as_uint(value); }

/* The words of element i, one for each part. */
__device__ inline const wr_outbox_word *wr_outbox_words(const wr_outbox &box, int64_t i) {
  return box.words + i / 32 * box.parts;
}

/* Sends element i to all parts that need it. */
template <typename T>
__device__ inline void wr_outbox_put(const wr_outbox &box, int64_t i, T value) {
  enum { AT_ONCE = 4 }; /* loads of words in flight at a time */
  const unsigned bit = (unsigned)(i % 32);
  const uint32_t exchange = *box.exchange;
  const wr_outbox_word *words = wr_outbox_words(box, i);
#pragma unroll 1
  for (int from = 0; from < box.parts; from += AT_ONCE) {
    wr_outbox_word word[AT_ONCE];
#pragma unroll
    for (int k = 0; k < AT_ONCE; k++) word[k] = from + k < box.parts ? words[from + k] : wr_outbox_word{0, 0};
#pragma unroll
    for (int k = 0; k < AT_ONCE; k++) {
      if (!(word[k].needed >> bit & 1)) continue;
      const int64_t place = (int64_t)word[k].before + __popc(word[k].needed & ((1u << bit) - 1));
      void *to = box.to[from + k][exchange % 2];
      if (box.uses_records)
        wr_record_post<true>((wr_record *)to + place, wr_bits_of(value), exchange + 1);
      else
        ((T *)to)[place] = value;
    }
  }
}

#endif
