/* Decisions by the size of a problem, which is known before it is read: whether to open a GPU, and how many threads to use.
 * Sizes decide and not measured times, so that the same command does the same each time. */
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

/* WR_HOST if wr_cpu_seconds is less than opening a GPU takes; why := a sentence that says so and how to use the GPU
 * nevertheless. Else WR_CUDA, and why := "". */
wr_place wr_place_for(double bytes, int threads, char *why, size_t size);

/* How many of `threads` are to read, assemble and verify so many entries. */
int wr_threads_for(int64_t nnz, int threads);

#endif
