#include "solvers/api/place.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "config/defaults.h"
#include "io/number.h"
#include "solvers/report/report_text.h"

wr_status wr_device_parse(const char *option, const char *text, wr_device *device, int *number) {
  int64_t n = 0;
  *device = strcmp(text, "cpu") == 0 ? WR_DEVICE_CPU : WR_DEVICE_CUDA, *number = 0;
  if (strcmp(text, "auto") == 0) *device = WR_DEVICE_AUTO;
  if (*device != WR_DEVICE_CUDA || strcmp(text, "cuda") == 0) return WR_OK;
  const char *digits = strncmp(text, "cuda:", 5) == 0 ? text + 5 : "";
  if (!(*digits >= '0' && *digits <= '9') || wr_number_integer(digits, digits + strlen(digits), &n) != WR_NUMBER_OK ||
      n > 1023)
    return wr_fail(WR_EUSAGE, "%s: '%s' is none of cpu, cuda, cuda:N, auto", option, text);
  *number = (int)n;
  return WR_OK;
}

wr_verified wr_verified_for(double full_seconds, double run_seconds) {
  return full_seconds <= fmax(WR_VERIFY_SECONDS, WR_VERIFY_SHARE * run_seconds) ? WR_VERIFY_FULL : WR_VERIFY_SAMPLE;
}

double wr_cpu_seconds(double bytes, int threads) {
  int cores = threads < WR_MEMORY_CORES ? threads : WR_MEMORY_CORES;
  return bytes / (WR_CORE_BYTES_PER_SECOND * cores);
}

wr_place wr_place_for(double bytes, int threads, double opening, char *why, size_t size) {
  char most[16], open[16];
  double seconds = wr_cpu_seconds(bytes, threads), around = opening + WR_DEVICE_CLOSE_SECONDS;
  why[0] = '\0';
  if (!(seconds < around)) return WR_CUDA;
  snprintf(why, size,
           "the CPU: solving should take about %s there, and opening and closing a GPU takes %s; -d cuda uses the GPU "
           "nevertheless",
           wr_text_seconds(seconds, most), wr_text_seconds(around, open));
  return WR_HOST;
}

int wr_threads_for(int64_t nnz, int threads) {
  int64_t worth = 1 + nnz / WR_ENTRIES_PER_THREAD;
  return worth < threads ? (int)worth : threads;
}
