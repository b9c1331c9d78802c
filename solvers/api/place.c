#include "solvers/api/place.h"

#include <stdio.h>

#include "config/defaults.h"
#include "solvers/report/report_text.h"

double wr_cpu_seconds(double bytes, int threads) {
  int cores = threads < WR_MEMORY_CORES ? threads : WR_MEMORY_CORES;
  return bytes / (WR_CORE_BYTES_PER_SECOND * cores);
}

wr_place wr_place_for(double bytes, int threads, char *why, size_t size) {
  char most[16], opening[16];
  double seconds = wr_cpu_seconds(bytes, threads);
  why[0] = '\0';
  if (!(seconds < WR_DEVICE_OPEN_SECONDS)) return WR_CUDA;
  snprintf(why, size,
           "the CPU: solving should take about %s there, and opening a GPU takes %s; -d cuda uses the GPU nevertheless",
           wr_text_seconds(seconds, most), wr_text_seconds(WR_DEVICE_OPEN_SECONDS, opening));
  return WR_HOST;
}

int wr_threads_for(int64_t nnz, int threads) {
  int64_t worth = 1 + nnz / WR_ENTRIES_PER_THREAD;
  return worth < threads ? (int)worth : threads;
}
