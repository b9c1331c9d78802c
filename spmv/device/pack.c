#include "spmv/device/pack.h"

#include <math.h>
#include <omp.h>
#include <string.h>

enum { PARALLEL_FROM = 1 << 16, PARTS = 64 }; /* elements from which threads are used; pieces of a copy */

/* A copy of 2 MB takes less time than it takes to wake 64 threads, 8 ms on a virtual machine (2026-11-27), and few threads fill
 * a bus. */
enum { MOST_THREADS = 8 };

static int copy_threads(void) {
  int threads = omp_get_max_threads();
  return threads < MOST_THREADS ? threads : MOST_THREADS;
}

int64_t wr_conversion_host_size(wr_conversion how) { return how == WR_AS_4_BYTES ? 4 : 8; }
int64_t wr_conversion_device_size(wr_conversion how) { return how == WR_AS_8_BYTES ? 8 : 4; }

static void copy(char *to, const char *from, int64_t count, int64_t size) {
  int64_t parts = count >= PARALLEL_FROM ? PARTS : 1;
#pragma omp parallel for num_threads(copy_threads()) schedule(static) if (parts > 1)
  for (int64_t p = 0; p < parts; p++) {
    int64_t first = count / parts * p, last = p + 1 == parts ? count : count / parts * (p + 1);
    memcpy(to + first * size, from + first * size, (size_t)((last - first) * size));
  }
}

static void round_all(float *to, const double *from, int64_t count) {
#pragma omp parallel for num_threads(copy_threads()) schedule(static) if (count >= PARALLEL_FROM)
  for (int64_t i = 0; i < count; i++) to[i] = (float)from[i];
}

static void widen_all(double *to, const float *from, int64_t count) {
#pragma omp parallel for num_threads(copy_threads()) schedule(static) if (count >= PARALLEL_FROM)
  for (int64_t i = 0; i < count; i++) to[i] = (double)from[i];
}

static void narrow_all(int32_t *to, const int64_t *from, int64_t count) {
#pragma omp parallel for num_threads(copy_threads()) schedule(static) if (count >= PARALLEL_FROM)
  for (int64_t i = 0; i < count; i++) to[i] = (int32_t)from[i];
}

static void lengthen_all(int64_t *to, const int32_t *from, int64_t count) {
#pragma omp parallel for num_threads(copy_threads()) schedule(static) if (count >= PARALLEL_FROM)
  for (int64_t i = 0; i < count; i++) to[i] = from[i];
}

void wr_pack_elements(void *room, const void *from, int64_t count, wr_conversion how) {
  if (how == WR_F64_AS_F32)
    round_all(room, from, count);
  else if (how == WR_I64_AS_I32)
    narrow_all(room, from, count);
  else
    copy(room, from, count, wr_conversion_host_size(how));
}

void wr_unpack_elements(void *to, const void *room, int64_t count, wr_conversion how) {
  if (how == WR_F64_AS_F32)
    widen_all(to, room, count);
  else if (how == WR_I64_AS_I32)
    lengthen_all(to, room, count);
  else
    copy(to, room, count, wr_conversion_device_size(how));
}

/* The integer of which value is the reciprocal; 0 for 0; 2^40 if it is the reciprocal of no integer below 2^32. */
static double divisor_of(double value) {
  if (value == 0) return 0;
  double divisor = nearbyint(1 / value);
  return divisor >= 1 && divisor < 0x1p32 && 1 / divisor == value ? divisor : 0x1p40;
}

int wr_reciprocal_bytes(const double *values, int64_t n) {
  double most = 0;
#pragma omp parallel for reduction(max : most) schedule(static) if (n >= PARALLEL_FROM)
  for (int64_t i = 0; i < n; i++) {
    double divisor = values[i] >= 0 ? divisor_of(values[i]) : 0x1p40;
    if (divisor > most) most = divisor;
  }
  return most < 0x1p8 ? 1 : most < 0x1p16 ? 2 : most < 0x1p32 ? 4 : 0;
}

void wr_reciprocal_pack(const double *values, int64_t n, int bytes, void *room) {
#pragma omp parallel for schedule(static) if (n >= PARALLEL_FROM)
  for (int64_t i = 0; i < n; i++) {
    uint32_t divisor = (uint32_t)divisor_of(values[i]);
    if (bytes == 1)
      ((uint8_t *)room)[i] = (uint8_t)divisor;
    else if (bytes == 2)
      ((uint16_t *)room)[i] = (uint16_t)divisor;
    else
      ((uint32_t *)room)[i] = divisor;
  }
}
