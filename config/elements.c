#include "config/elements.h"

#include <math.h>

#include "config/memory.h"

enum { PARALLEL_FROM = 1 << 16, PARTS = 256, LANES = 8 }; /* of a sum: parts for the threads, lanes for the pipeline */

int64_t wr_first_not_finite(const double *x, int64_t n) {
  int found = 0;
#pragma omp parallel for reduction(| : found) schedule(static) if (n >= PARALLEL_FROM)
  for (int64_t i = 0; i < n; i++) found |= !isfinite(x[i]);
  for (int64_t i = 0; found && i < n; i++)
    if (!isfinite(x[i])) return i;
  return -1;
}

wr_status wr_copy_elements(const double *x, int64_t n, const char *what, double **copy) {
  *copy = NULL;
  if (x == NULL) return WR_OK;
  PASS(wr_alloc(copy, n, sizeof **copy, what));
  double *to = *copy;
#pragma omp parallel for schedule(static) if (n >= PARALLEL_FROM)
  for (int64_t i = 0; i < n; i++) to[i] = x[i];
  return WR_OK;
}

/* The correction is a variable of its own, so that operations happen in the order in which they are written. */
typedef struct sum {
  double value, correction;
} sum;

static sum add(sum s, double x) {
  double y = x - s.correction, next = s.value + y;
  return (sum){next, (next - s.value) - y};
}

/* Each addition waits for the one before it; of several lanes they overlap. */
static sum sum_part(const double *x, int64_t n) {
  sum lanes[LANES] = {{0}}, total = {0};
  int64_t i = 0;
  for (; i + LANES <= n; i += LANES)
    for (int lane = 0; lane < LANES; lane++) lanes[lane] = add(lanes[lane], x[i + lane]);
  for (; i < n; i++) total = add(total, x[i]);
  for (int lane = 0; lane < LANES; lane++) total = add(add(total, -lanes[lane].correction), lanes[lane].value);
  return total;
}

double wr_compensated_sum(const double *x, int64_t n) {
  sum parts[PARTS], total = {0};
#pragma omp parallel for schedule(static) if (n >= PARALLEL_FROM)
  for (int p = 0; p < PARTS; p++) {
    int64_t first = n / PARTS * p + (p < n % PARTS ? p : n % PARTS), count = n / PARTS + (p < n % PARTS);
    parts[p] = sum_part(x + first, count);
  }
  for (int p = 0; p < PARTS; p++) total = add(add(total, -parts[p].correction), parts[p].value);
  return total.value;
}
