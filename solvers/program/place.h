/* How large a problem is before it is read, and what follows from that alone: whether a GPU is worth opening for it, and
 * how many threads are worth waking. Decided by sizes and not by timing, so that the same command does the same each time. */
#ifndef WR_PLACE_H
#define WR_PLACE_H

#include <stddef.h>
#include <stdint.h>

#include "spmv/device/vec.h"

typedef struct wr_extent {
  int64_t nrows, nnz;
} wr_extent;

/* The most seconds that a solve which moves so many bytes of matrix and vectors takes on so many threads of a CPU. */
double wr_cpu_seconds(double bytes, int threads);

/* WR_HOST where that is less than opening a GPU takes; why := a sentence with what would take the GPU all the same. Else
 * WR_CUDA, and "". */
wr_place wr_place_for(double bytes, int threads, char *why, size_t size);

/* On how many of `threads` reading, assembling and verifying so many entries is to run. */
int wr_threads_for(int64_t nnz, int threads);

#endif
