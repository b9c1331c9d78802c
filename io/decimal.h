/* Between decimal and binary: what reading and writing numbers share. Internal to io/. */
#ifndef WR_DECIMAL_H
#define WR_DECIMAL_H

#include <stdint.h>

/* 10^power lies in [m, m + error] * 2^exponent, m = high * 2^64 + low, the top bit of high set. error is 0 (exact) for
 * powers 0 to 55, else a few units of m. */
typedef struct wr_power {
  uint64_t high, low;
  int exponent;
  int error;
} wr_power;

#define WR_POWER_MIN (-343)
#define WR_POWER_MAX 343

wr_power wr_power_of_ten(int power); /* WR_POWER_MIN..WR_POWER_MAX */

typedef enum wr_decimal_rounding {
  WR_ROUNDED,  /* the double nearest to the number, ties to even; 0 when it underflows        */
  WR_TOO_BIG,  /* rounds to infinity                                                          */
  WR_UNDECIDED /* a halfway case or a denormal: 128 bits do not decide, an exact method must  */
} wr_decimal_rounding;

/* *value := digits * 10^power, correctly rounded. Any power. */
wr_decimal_rounding wr_decimal_round(uint64_t digits, int64_t power, double *value);

/* A finite value > 0 in `count` (1..17) digits: value ~ d * 10^power, d correctly rounded, 10^(count-1) <= d < 10^count. */
uint64_t wr_decimal_digits(double value, int count, int *power);

#endif
