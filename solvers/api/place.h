/* Decisions by the size of a problem, which is known before it is read: whether to open a GPU, and how many threads to use. */
#ifndef WR_PLACE_H
#define WR_PLACE_H

#include <stddef.h>
#include <stdint.h>

#include "solvers/verify.h"
#include "spmv/device/vec.h"

/* Where the user wants to compute. */
typedef enum wr_device { WR_DEVICE_AUTO, WR_DEVICE_CPU, WR_DEVICE_CUDA } wr_device;

/* "auto", "cpu", "cuda", "cuda:N". *number := N, or 0. WR_EUSAGE, in a sentence that begins with option. */
wr_status wr_device_parse(const char *option, const char *text, wr_device *device, int *number);

typedef struct wr_extent {
  int64_t nrows, nnz;
} wr_extent;

/* The most seconds that a solve which moves so many bytes of matrix and vectors takes on so many threads of a CPU. */
double wr_cpu_seconds(double bytes, int threads);

/* WR_HOST if wr_cpu_seconds is less than `opening`, the seconds that opening a GPU takes, and WR_DEVICE_CLOSE_SECONDS; why := a
 * sentence that says so and how to use the GPU nevertheless. Else WR_CUDA, and why := "". */
wr_place wr_place_for(double bytes, int threads, double opening, char *why, size_t size);

/* How many of `threads` are to read, assemble and verify so many entries. */
int wr_threads_for(int64_t nnz, int threads);

/* The level of verification where the user leaves it open: full if that takes little time, or a small share of that of the
 * whole run, else of a sample. */
wr_verified wr_verified_for(double full_seconds, double run_seconds);

#endif
