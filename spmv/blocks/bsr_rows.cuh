/* What kernels on blocks share: row pointers of either width, division by a constant, sizes of a lane's work. */
#ifndef WR_BSR_ROWS_CUH
#define WR_BSR_ROWS_CUH

#include "spmv/blocks/bsr_format.h"
#include "spmv/kernel/launch.cuh"

/* Blocks before block row i. */
static __device__ inline int64_t wr_bsr_row_at(const void *row_ptr, int wide, int64_t i) {
  return wide ? ((const int64_t *)row_ptr)[i] : ((const int32_t *)row_ptr)[i];
}

/* n / d as n * factor >> shift, for n < 2^31 and d < 2^16. With the least l such that 2^l >= d, factor is 2^(31 + l) / d
 * rounded up. The rounding adds less than n / 2^(31 + l) < 1 / d to the quotient, which leaves its integer part; as 2^l < 2
 * d, factor fits 32 bits. */
struct wr_bsr_divisor {
  uint32_t factor;
  int shift;
};

inline wr_bsr_divisor wr_bsr_divisor_make(int d) {
  wr_bsr_divisor by = {0, 31};
  while (1 << (by.shift - 31) < d) by.shift++;
  by.factor = (uint32_t)((((uint64_t)1 << by.shift) + (uint64_t)d - 1) / (uint64_t)d);
  return by;
}

static __device__ inline unsigned wr_bsr_divide(unsigned n, wr_bsr_divisor by) {
  return (unsigned)((uint64_t)n * by.factor >> by.shift);
}

/* Inner blocks of r x c that a lane multiplies at a time: the power of two for which their values fill about WR_BSR_WORDS
 * registers of 4 bytes. value_size: bytes of a stored value. */
#ifndef WR_BSR_WORDS
#define WR_BSR_WORDS 64
#endif
constexpr int wr_bsr_at_a_time(int r, int c, size_t value_size) {
  int blocks = 8;
  while (blocks > 1 && blocks * r * c * (int)(value_size / 4) > WR_BSR_WORDS) blocks /= 2;
  return blocks;
}

/* About eight: terms of a row that are summed in the vectors' type before they are added to a sum in f64, for blocks of c
 * columns, at_a_time of them together. In f32 that saves most conversions, which take four times as long as a product, at the
 * price of as many roundings; sums of all of a lane's terms would have a systematic error of 1e-6 where terms are alike. */
__host__ __device__ constexpr int wr_bsr_terms(int c, int at_a_time) {
  int blocks = c < 8 ? 8 / c : 1;
  return c * (blocks < at_a_time ? blocks : at_a_time);
}

static __device__ inline bool wr_is_padding(double value) { return wr_is_padding_f64(value); }
static __device__ inline bool wr_is_padding(float value) { return wr_is_padding_f32(value); }

#endif
