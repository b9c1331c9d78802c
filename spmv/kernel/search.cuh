/* Binary searches: for a column in a row, and for the row of an entry. */
#ifndef WR_SEARCH_CUH
#define WR_SEARCH_CUH

#include <stdint.h>

#include "spmv/kernel/launch.cuh"

/* The first of a row's entries low..high - 1 with column j or a larger one; high if there is none. P: int32_t or int64_t. */
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

/* The row, or slice, of entry k: the last one that begins at or before k, so that empty ones are skipped; 0 = offset[0] <= k <
 * offset[count]. The time does not depend on lengths of rows. Threads of a warp with neighbouring k mostly read the same
 * offsets. P: int32_t or int64_t. */
template <typename P>
static __device__ inline int64_t wr_find_row(const P *offset, int64_t count, int64_t k) {
  int64_t low = 0, high = count; /* offset[low] <= k < offset[high] */
  while (high - low > 1) {
    int64_t middle = low + (high - low) / 2;
    if (offset[middle] <= k)
      low = middle;
    else
      high = middle;
  }
  return low;
}

#endif
