#include "spmv/device/pack.h"

#include <math.h>
#include <string.h>

enum { PARALLEL_FROM = 1 << 16, PARTS = 64 }; /* elements from which waking threads pays; pieces of a plain copy */

int64_t wr_conversion_host_size(wr_conversion how) { return how == WR_AS_4_BYTES ? 4 : 8; }
int64_t wr_conversion_device_size(wr_conversion how) { return how == WR_AS_8_BYTES ? 8 : 4; }

static void copy(char *to, const char *from, int64_t count, int64_t size) {
  int64_t parts = count >= PARALLEL_FROM ? PARTS : 1;
#pragma omp parallel for schedule(static) if (parts > 1)
  for (int64_t p = 0; p < parts; p++) {
    int64_t first = count / parts * p, last = p + 1 == parts ? count : count / parts * (p + 1);
    memcpy(to + first * size, from + first * size, (size_t)((last - first) * size));
  }
}

static void round_all(float *to, const double *from, int64_t count) {
#pragma omp parallel for schedule(static) if (count >= PARALLEL_FROM)
  for (int64_t i = 0; i < count; i++) to[i] = (float)from[i];
}

static void widen_all(double *to, const float *from, int64_t count) {
#pragma omp parallel for schedule(static) if (count >= PARALLEL_FROM)
  for (int64_t i = 0; i < count; i++) to[i] = (double)from[i];
}

static void narrow_all(int32_t *to, const int64_t *from, int64_t count) {
#pragma omp parallel for schedule(static) if (count >= PARALLEL_FROM)
  for (int64_t i = 0; i < count; i++) to[i] = (int32_t)from[i];
}

static void lengthen_all(int64_t *to, const int32_t *from, int64_t count) {
#pragma omp parallel for schedule(static) if (count >= PARALLEL_FROM)
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

/* The number whose reciprocal the value is, 0 for 0; beyond 2^32: there is none. */
static double whole_of(double value) {
  if (value == 0) return 0;
  double whole = nearbyint(1 / value);
  return whole >= 1 && whole < 0x1p32 && 1 / whole == value ? whole : 0x1p40;
}

int wr_whole_bytes(const double *values, int64_t n) {
  double most = 0;
#pragma omp parallel for reduction(max : most) schedule(static) if (n >= PARALLEL_FROM)
  for (int64_t i = 0; i < n; i++) {
    double whole = values[i] >= 0 ? whole_of(values[i]) : 0x1p40;
    if (whole > most) most = whole;
  }
  return most < 0x1p8 ? 1 : most < 0x1p16 ? 2 : most < 0x1p32 ? 4 : 0;
}

void wr_whole_pack(const double *values, int64_t n, int bytes, void *room) {
#pragma omp parallel for schedule(static) if (n >= PARALLEL_FROM)
  for (int64_t i = 0; i < n; i++) {
    uint32_t whole = (uint32_t)whole_of(values[i]);
    if (bytes == 1)
      ((uint8_t *)room)[i] = (uint8_t)whole;
    else if (bytes == 2)
      ((uint16_t *)room)[i] = (uint16_t)whole;
    else
      ((uint32_t *)room)[i] = whole;
  }
}
