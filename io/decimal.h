/* Between decimal and binary: what reading and writing numbers share. Internal to io/. */
#ifndef WR_DECIMAL_H
#define WR_DECIMAL_H

#include <stdint.h>

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
