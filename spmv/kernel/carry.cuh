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

static __device__ inline double wr_carry_receive(uint64_t *carry) {
  uint64_t bits = WR_CARRY_NOTHING;
  double sum;
  wr_spin_until([&] { return (bits = *(const volatile uint64_t *)carry) != WR_CARRY_NOTHING; });
  *(volatile uint64_t *)carry = WR_CARRY_NOTHING;
  memcpy(&sum, &bits, sizeof sum);
  return sum;
}

#endif
