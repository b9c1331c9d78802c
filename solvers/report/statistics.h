/* The median of repeated timings and its confidence interval, without an assumption about their distribution. */
#ifndef WR_STATISTICS_H
#define WR_STATISTICS_H

#include <stdint.h>

#include "config/status.h"

/* Fewer values than this have no 95% interval: the interval is then from the least to the greatest, with a confidence of
 * 1 - 2^(1-n). */
enum { WR_LEAST_SAMPLE = 6 };

typedef struct wr_sample {
  int64_t count;
  double median;     /* mean of the middle two for an even count                                */
  double low, high;  /* values of the sample: the true median lies between them ...             */
  double confidence; /* ... with this probability: at least 0.95 from WR_LEAST_SAMPLE values on */
} wr_sample;

/* 1-based rank j of the interval [j-th least, j-th greatest] of count values: the narrowest with a coverage of at least
 * `confidence`, or 1. The number of values below the true median is binomial (count, 1/2), so the coverage is
 * P(j <= B <= count - j) (David, Nagaraja: Order Statistics, 3rd edition, section 7.1). *coverage may be NULL. */
int64_t wr_median_rank(int64_t count, double confidence, double *coverage);

/* sample := median and 95% interval of values[count], in any order. A NaN counts as greater than everything. No
 * values: NaN throughout. WR_ENOMEM. */
wr_status wr_sample_get(const double *values, int64_t count, wr_sample *sample);

#endif
