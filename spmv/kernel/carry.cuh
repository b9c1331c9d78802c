/* Sums that warps or thread blocks pass on within a kernel. A sum is its own flag: one 64-bit word, WR_CARRY_NOTHING between
 * launches, is written by one thread and then read and reset by one other. Nothing else passes between the two, so the accesses
 * need no order among each other, only to be single and uncached (volatile: relaxed, in L2). A release and an acquire, which
 * empty the first-level cache of x, are not needed. The reset is seen by the next launch, as it begins after this one has
 * ended. The thread that gives must have begun, or be sure to begin, while the other waits. */
#ifndef WR_CARRY_CUH
#define WR_CARRY_CUH

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "spmv/kernel/spin.cuh"

constexpr uint64_t WR_CARRY_NOTHING = UINT64_MAX; /* all bytes 0xff, for cudaMemset */

static __device__ inline void wr_carry_give(uint64_t *carry, double sum) {
  uint64_t bits = 0x7ff8000000000000u; /* one NaN for all, none of which is WR_CARRY_NOTHING */
  if (!isnan(sum)) memcpy(&bits, &sum, sizeof bits);
  *(volatile uint64_t *)carry = bits;
}

/* The sum at `carry`, where `bits` were read before. */
static __device__ inline double wr_carry_await(uint64_t *carry, uint64_t bits) {
  double sum;
  if (bits == WR_CARRY_NOTHING)
    wr_spin_until([&] { return (bits = *(const volatile uint64_t *)carry) != WR_CARRY_NOTHING; });
  *(volatile uint64_t *)carry = WR_CARRY_NOTHING;
  memcpy(&sum, &bits, sizeof sum);
  return sum;
}

static __device__ inline double wr_carry_receive(uint64_t *carry) {
  return wr_carry_await(carry, *(const volatile uint64_t *)carry);
}

/* The sum of carry[k] for k = first, first + step, ... before end, in this order, with AT_ONCE loads in flight. */
template <int AT_ONCE>
static __device__ inline double wr_carry_receive_every(uint64_t *carry, int first, int end, int step) {
  double sum = 0;
  for (int k = first; k < end; k += AT_ONCE * step) {
    uint64_t bits[AT_ONCE];
#pragma unroll
    for (int n = 0; n < AT_ONCE; n++)
      bits[n] = k + n * step < end ? *(const volatile uint64_t *)(carry + k + n * step) : 0;
#pragma unroll
    for (int n = 0; n < AT_ONCE; n++)
      if (k + n * step < end) sum += wr_carry_await(carry + k + n * step, bits[n]);
  }
  return sum;
}

#endif
