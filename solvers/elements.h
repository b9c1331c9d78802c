/* Passes over all elements of an answer on the host, in parallel; results do not depend on the number of threads. */
#ifndef WR_ELEMENTS_H
#define WR_ELEMENTS_H

#include <stdint.h>

/* The first element of x[n] that is not finite; -1: all are. */
int64_t wr_first_not_finite(const double *x, int64_t n);

/* The sum of x[n], compensated (Kahan 1965): for elements of one sign right to some units in the last place, whatever n. */
double wr_compensated_sum(const double *x, int64_t n);

#endif
