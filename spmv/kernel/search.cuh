/* Looking for a column in a row. */
#ifndef WR_SEARCH_CUH
#define WR_SEARCH_CUH

#include <stdint.h>

#include "spmv/kernel/launch.cuh"

/* The first of a row's entries low..high - 1 that lies in column j or after; high: none does. P: int32_t or int64_t. */
template <typename P>
static __device__ inline P wr_find_column(const int32_t *col, P low, P high, uint32_t j) {
  while (low < high) {
    P middle = low + (high - low) / 2;
    if ((uint32_t)col[middle] < j)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

#endif
