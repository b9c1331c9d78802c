#include "solvers/report/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/memory.h"

/* Binomial weights relative to the largest, from the middle outwards, so that nothing overflows for any count. The loop
 * ends at the least count, or where the weights no longer change a sum. */
int64_t wr_median_rank(int64_t count, double confidence, double *coverage) {
  int64_t middle = count / 2;
  double total = 0, weight = 1;
  for (int64_t k = middle; k >= 0 && weight > 1e-20; k--) {
    total += 2 * k == count ? weight : 2 * weight; /* k and count - k weigh the same */
    weight *= (double)k / (double)(count - k + 1);
  }
  int64_t rank = middle + 1;
  double inside = 0; /* P(rank <= B <= count - rank) */
  weight = 1;
  while (rank > 1 && inside < confidence) {
    rank--;
    inside += (2 * rank == count ? weight : 2 * weight) / total;
    weight *= (double)rank / (double)(count - rank + 1);
  }
  if (coverage) *coverage = inside;
  return rank;
}

/* A total order, NaN last, as qsort requires. */
static int ascending(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  if (isnan(a) || isnan(b)) return isnan(a) - isnan(b);
  return (a > b) - (a < b);
}

wr_status wr_sample_get(const double *values, int64_t count, wr_sample *sample) {
  *sample = (wr_sample){.median = NAN, .low = NAN, .high = NAN, .confidence = NAN};
  if (count <= 0) return WR_OK;
  double *sorted = NULL;
  PASS(wr_alloc(&sorted, count, sizeof *sorted, "sorting times"));
  memcpy(sorted, values, (size_t)count * sizeof *sorted);
  qsort(sorted, (size_t)count, sizeof *sorted, ascending);
  int64_t middle = count / 2;
  int64_t rank = wr_median_rank(count, 0.95, &sample->confidence);
  sample->count = count;
  sample->median = count % 2 ? sorted[middle] : sorted[middle - 1] / 2 + sorted[middle] / 2;
  sample->low = sorted[rank - 1];
  sample->high = sorted[count - rank];
  wr_free(sorted);
  return WR_OK;
}
