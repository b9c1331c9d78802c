#include "config/elements.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>

#include "tests/check.h"

static double *room_for(int64_t n) {
  double *x = malloc((size_t)(n > 0 ? n : 1) * sizeof *x);
  if (x == NULL) abort();
  return x;
}

static void test_finite(void) {
  static const int64_t sizes[] = {0, 1, 7, 1000, 70000, 300001};
  CASE("the first element that is not finite");
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    int64_t n = sizes[s];
    double *x = room_for(n);
    for (int64_t i = 0; i < n; i++) x[i] = (double)i * 1e300;
    for (int64_t i = 0; i < n; i++) x[i] = isfinite(x[i]) ? x[i] : 1;
    CHECKF(wr_first_not_finite(x, n) == -1, "of %lld", (long long)n);
    for (int64_t at = n - 1; at >= 0; at = at / 3 - (at < 3)) {
      x[at] = at % 2 ? NAN : -INFINITY;
      CHECKF(wr_first_not_finite(x, n) == at, "%lld, not %lld of %lld", (long long)wr_first_not_finite(x, n),
             (long long)at, (long long)n);
    }
    free(x);
  }
}

/* Terms from 2^-30 to 1, where a plain sum is off by thousands of units; long double has 11 bits more. */
static void test_sum(void) {
  static const int64_t sizes[] = {0, 1, 8, 9, 255, 256, 257, 5000, 65535, 65536, 1000003};
  CASE("a sum to a few units");
  uint64_t state = 7;
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    int64_t n = sizes[s];
    double *x = room_for(n);
    long double exact = 0;
    for (int64_t i = 0; i < n; i++) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      x[i] = ldexp((double)(state >> 11) * 0x1p-53, -(int)(state >> 5 & 31));
      exact += (long double)x[i];
    }
    double first = wr_compensated_sum(x, n);
    CHECKF(fabsl((long double)first - exact) <= 4 * 0x1p-53L * exact, "%lld terms: %.17g, not %.20Lg", (long long)n,
           first, exact);
    for (int threads = 1; threads <= 5; threads += 2) {
      omp_set_num_threads(threads);
      double again = wr_compensated_sum(x, n);
      CHECKF(memcmp(&again, &first, sizeof first) == 0, "%lld terms, %d threads", (long long)n, threads);
    }
    free(x);
  }
}

static void test_hard_sum(void) {
  CASE("what a plain sum loses");
  enum { N = 1 << 20 };
  double *x = room_for(N);
  x[0] = 1;
  for (int64_t i = 1; i < N; i++) x[i] = 0x1p-54;
  double expected = 1 + (N - 1) * 0x1p-54;
  CHECKF(fabs(wr_compensated_sum(x, N) - expected) <= 2 * 0x1p-53, "%.17g", wr_compensated_sum(x, N) - 1);
  x[N / 2] = NAN;
  CHECK(isnan(wr_compensated_sum(x, N)));
  free(x);
}

int main(void) {
  test_finite();
  test_sum();
  test_hard_sum();
  return wr_test_report("elements");
}
