#include "io/number.h"

#include <stdio.h>
#include <stdlib.h>

#include "io/decimal.h"
#include "io/digits.h"

/* A power beyond which every number over- or underflows, however many digits stand before or behind its point. */
#define HUGE_POWER INT64_C(100000000000000000)

enum {
  WORD_DIGITS = 19,  /* as many fit 64 bits                                                                */
  KEPT_DIGITS = 800  /* a point halfway between two doubles has at most 767; what follows is zero or not */
};

/* *number := *number * 10^count + the digits at `at` (modulo 2^64); the first character that is none is returned. */
static const char *scan_digits(const char *at, const char *end, uint64_t *number) {
  for (;;) {
    uint64_t word = wr_load8(at, end);
    int count = wr_digit_count(word);
    if (count == 0) return at;
    *number = *number * wr_small_power[count] + wr_digit_value(word, count);
    at += count;
    if (count < 8) return at;
  }
}

/* [eEdD][sign]digits; NULL if digits are missing. */
static const char *scan_exponent(const char *at, const char *end, int64_t *power) {
  if (at == end || (*at != 'e' && *at != 'E' && *at != 'd' && *at != 'D')) return at;
  at++;
  int negative = at < end && *at == '-';
  if (at < end && (*at == '-' || *at == '+')) at++;
  const char *first = at;
  int64_t exponent = 0;
  for (; at < end && *at >= '0' && *at <= '9'; at++)
    if (exponent < HUGE_POWER) exponent = exponent * 10 + (*at - '0');
  *power += negative ? -exponent : exponent;
  return at == first ? NULL : at;
}

/* The leading digits of a longer number, whose point may stand anywhere. */
typedef struct long_decimal {
  int64_t dropped;        /* digits left out at the end */
  int exact;              /* 1: they are all zero       */
  int count;
  char text[KEPT_DIGITS]; /* [count] */
} long_decimal;

static void collect(const char *first, const char *stop, int most, long_decimal *d) {
  d->dropped = 0, d->exact = 1, d->count = 0;
  for (const char *at = first; at < stop; at++) {
    if (*at == '.' || (*at == '0' && d->count == 0)) continue;
    if (d->count < most) {
      d->text[d->count++] = *at;
    } else {
      d->dropped++;
      if (*at != '0') d->exact = 0;
    }
  }
}

/* By strtod, whose decimal point depends on the locale: it gets an integer and an exponent. */
static wr_decimal_rounding round_exactly(const char *first, const char *stop, int64_t power, double *value) {
  long_decimal d = {.count = 0};
  collect(first, stop, KEPT_DIGITS, &d);
  power += d.dropped;
  if (power > 100000) return WR_TOO_BIG;
  *value = 0;
  if (power < -100000) return WR_ROUNDED;
  char text[KEPT_DIGITS + 16];
  memcpy(text, d.text, (size_t)d.count);
  int sticky = !d.exact; /* a digit that stands for all that were left out */
  if (sticky) text[d.count] = '1';
  snprintf(text + d.count + sticky, sizeof text - KEPT_DIGITS - 1, "e%d", (int)power - sticky);
  *value = strtod(text, NULL);
  return *value > 1.7976931348623157e308 ? WR_TOO_BIG : WR_ROUNDED;
}

/* More digits than a word holds: if its first 19 and their successor round alike, so does all between. */
static wr_decimal_rounding round_long(const char *first, const char *stop, int64_t power, double *value) {
  long_decimal d = {.count = 0};
  collect(first, stop, WORD_DIGITS, &d);
  uint64_t digits = 0;
  scan_digits(d.text, d.text + d.count, &digits);
  double above = 0;
  wr_decimal_rounding rounding = wr_decimal_round(digits, power + d.dropped, value);
  if (d.exact || rounding == WR_TOO_BIG) return rounding;
  if (wr_decimal_round(digits + 1, power + d.dropped, &above) != rounding || above != *value) return WR_UNDECIDED;
  return rounding;
}

wr_number_status wr_number_scan(const char *text, const char *end, double *value, const char **stop) {
  *stop = text;
  int negative = text < end && *text == '-';
  const char *first = text + (text < end && (*text == '-' || *text == '+'));
  uint64_t digits = 0;
  const char *at = scan_digits(first, end, &digits);
  int64_t count = at - first, power = 0;
  if (at < end && *at == '.') {
    const char *fraction = ++at;
    at = scan_digits(at, end, &digits);
    power = -(at - fraction);
    count += at - fraction;
  }
  const char *last = at;
  if (count == 0 || (at = scan_exponent(at, end, &power)) == NULL) return WR_NUMBER_BAD;
  *stop = at;
  wr_decimal_rounding rounding =
      count <= WORD_DIGITS ? wr_decimal_round(digits, power, value) : round_long(first, last, power, value);
  if (rounding == WR_UNDECIDED) rounding = round_exactly(first, last, power, value);
  if (negative) *value = -*value;
  return rounding == WR_TOO_BIG ? WR_NUMBER_OVERFLOW : WR_NUMBER_OK;
}

wr_number_status wr_number_real(const char *text, const char *end, double *value) {
  const char *stop;
  wr_number_status status = wr_number_scan(text, end, value, &stop);
  return stop != end ? WR_NUMBER_BAD : status;
}

wr_number_status wr_number_integer(const char *text, const char *end, int64_t *value) {
  int negative = text < end && *text == '-';
  if (text < end && (*text == '-' || *text == '+')) text++;
  if (text == end) return WR_NUMBER_BAD;
  uint64_t number = 0, most = (uint64_t)INT64_MAX + (uint64_t)negative;
  int overflow = 0;
  for (; text < end; text++) {
    if (*text < '0' || *text > '9') return WR_NUMBER_BAD;
    uint64_t digit = (uint64_t)(*text - '0');
    if (overflow || number > (most - digit) / 10)
      overflow = 1;
    else
      number = number * 10 + digit;
  }
  if (overflow) return WR_NUMBER_OVERFLOW;
  *value = negative ? (int64_t)(0 - number) : (int64_t)number;
  return WR_NUMBER_OK;
}
