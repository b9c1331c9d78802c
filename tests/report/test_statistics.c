#define _DEFAULT_SOURCE
#include "solvers/report/statistics.h"

#include <errno.h>
#include <stdlib.h>

#include "tests/check.h"

static int memory_is_out;
int posix_memalign(void **block, size_t alignment, size_t size) {
  if (memory_is_out) return ENOMEM;
  *block = aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  return *block ? 0 : ENOMEM;
}

/* The definition in integers: among 2^n equally likely patterns of below and above, [x_j, x_(n+1-j)] misses the median
 * in those with at most j - 1 below, and as many with at most j - 1 above. Largest j that misses at most 1 in 20. */
static int64_t exact_rank(int n) {
  uint64_t binomial[64] = {1}, missed = 0;
  for (int row = 1; row <= n; row++)
    for (int k = row; k > 0; k--) binomial[k] += binomial[k - 1];
  int64_t rank = 1;
  for (int j = 1; j <= (n + 1) / 2; j++) {
    missed += binomial[j - 1];
    if (20 * 2 * missed <= (uint64_t)1 << n) rank = j;
  }
  return rank;
}

static void test_rank_exact(void) {
  CASE("rank against the definition in integers");
  for (int n = 1; n <= 57; n++)
    CHECKF(wr_median_rank(n, 0.95, NULL) == exact_rank(n), "n = %d: %lld, not %lld", n,
           (long long)wr_median_rank(n, 0.95, NULL), (long long)exact_rank(n));
  CHECK(exact_rank(WR_LEAST_SAMPLE) == 1 && exact_rank(9) == 2); /* textbook values: n = 9 is the first with rank 2 */
}

/* The distribution of B(n, 1/2), from n coins; the coverage may be off by one rounding a coin. */
static void test_rank_large(void) {
  enum { MOST = 1200 };
  static long double p[MOST + 2];
  CASE("rank and coverage against the binomial distribution");
  p[0] = 1;
  for (int n = 1; n <= MOST; n++) {
    for (int k = n; k > 0; k--) p[k] = (p[k] + p[k - 1]) / 2;
    p[0] /= 2;
    long double below = 0, covered = 0;
    int64_t rank = 1;
    for (int j = 1; j <= (n + 1) / 2; j++) {
      below += p[j - 1];
      if (j == 1 || 1 - 2 * below >= 0.95L) covered = 1 - 2 * below, rank = j;
    }
    double coverage;
    CHECKF(wr_median_rank(n, 0.95, &coverage) == rank, "n = %d: not %lld", n, (long long)rank);
    CHECKF(fabs(coverage - (double)covered) <= 4 * n * 0x1p-53, "n = %d: coverage %.17g, not %.17Lg", n, coverage,
           covered);
  }
}

/* The normal approximation, within a rank of the truth for large n (continuity correction, Berry-Esseen far
 * below it). */
static void test_rank_huge(void) {
  CASE("rank of large samples");
  for (int64_t n = 10000; n <= 100000000; n *= 10) {
    double expected = (double)n / 2 - 1.959964 * sqrt((double)n) / 2;
    int64_t rank = wr_median_rank(n, 0.95, NULL);
    CHECKF(fabs((double)rank - expected) <= 2, "n = %lld: %lld, not %g", (long long)n, (long long)rank, expected);
  }
}

static unsigned long long state = 88172645463325252u;
static unsigned next_random(void) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (unsigned)(state >> 32);
}

/* 1 if value is the rank-th least of the values: fewer than rank below it, at least rank not above it. */
static int has_rank(const double *values, int n, double value, int64_t rank) {
  int64_t below = 0, not_above = 0;
  for (int k = 0; k < n; k++) {
    below += values[k] < value;
    not_above += values[k] <= value;
  }
  return below < rank && not_above >= rank;
}

/* The median by definition, without sorting. */
static double median_of(const double *values, int n) {
  double low = NAN, high = NAN;
  for (int k = 0; k < n; k++) {
    if (has_rank(values, n, values[k], (n + 1) / 2)) low = values[k];
    if (has_rank(values, n, values[k], n / 2 + 1)) high = values[k];
  }
  return low / 2 + high / 2;
}

static void test_sample(void) {
  CASE("medians and intervals of random samples, with ties, against their definitions");
  double values[100];
  for (int n = 1; n <= 100; n++) {
    for (int k = 0; k < n; k++) values[k] = next_random() % (n % 3 ? 1000000 : 7) / 64.0 - 3;
    double first = values[0];
    wr_sample sample;
    CHECK_OK(wr_sample_get(values, n, &sample));
    int64_t rank = wr_median_rank(n, 0.95, NULL);
    CHECKF(sample.count == n && sample.median == median_of(values, n), "n = %d: %g", n, sample.median);
    CHECKF(has_rank(values, n, sample.low, rank), "n = %d: low %g", n, sample.low);
    CHECKF(has_rank(values, n, sample.high, n + 1 - rank), "n = %d: high %g", n, sample.high);
    CHECKF((sample.confidence >= 0.95) == (n >= WR_LEAST_SAMPLE), "n = %d: %g", n, sample.confidence);
    if (n < WR_LEAST_SAMPLE)
      CHECKF(fabs(sample.confidence - (1 - pow(2, 1 - n))) < 1e-15, "n = %d: %g", n, sample.confidence);
    CHECK(values[0] == first); /* the caller's values keep their order */
  }
}

static void test_odd_ones(void) {
  CASE("no values, infinities, NaN, no memory");
  wr_sample sample = {.count = 7};
  CHECK_OK(wr_sample_get(NULL, 0, &sample));
  CHECK(sample.count == 0 && isnan(sample.median) && isnan(sample.confidence));
  CHECK(isnan(sample.low) && isnan(sample.high));
  double large[] = {1.5e308, 1.7e308};
  CHECK_OK(wr_sample_get(large, 2, &sample));
  CHECK(sample.median == 1.6e308);
  double odd[] = {NAN, 2, INFINITY, NAN, -INFINITY, 1, 3};
  CHECK_OK(wr_sample_get(odd, 7, &sample));
  CHECKF(sample.median == 3 && sample.low == -INFINITY && isnan(sample.high), "%g", sample.median);
  memory_is_out = 1;
  CHECK_FAILS(WR_ENOMEM, wr_sample_get(odd, 7, &sample));
  memory_is_out = 0;
  CHECK(isnan(sample.median) && sample.count == 0);
}

int main(void) {
  test_rank_exact();
  test_rank_large();
  test_rank_huge();
  test_sample();
  test_odd_ones();
  return wr_test_report("statistics");
}
