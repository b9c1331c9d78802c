/* Values that are reciprocals of whole numbers, as those numbers. */
#include <math.h>

#include "spmv/device/vec.h"

/* The number whose reciprocal the value is, 0 for 0; beyond 2^32: there is none. */
static double whole_of(double value) {
  if (value == 0) return 0;
  double whole = nearbyint(1 / value);
  return whole >= 1 && whole < 0x1p32 && 1 / whole == value ? whole : 0x1p40;
}

int wr_whole_bytes(const double *values, int64_t n) {
  double most = 0;
#pragma omp parallel for reduction(max : most) schedule(static) if (n > 100000)
  for (int64_t i = 0; i < n; i++) {
    double whole = values[i] >= 0 ? whole_of(values[i]) : 0x1p40;
    if (whole > most) most = whole;
  }
  return most < 0x1p8 ? 1 : most < 0x1p16 ? 2 : most < 0x1p32 ? 4 : 0;
}

void wr_whole_pack(const double *values, int64_t n, int bytes, void *room) {
#pragma omp parallel for schedule(static) if (n > 100000)
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
