#include "io/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/decimal.h"
#include "io/scan.h"

/* ---- from text ---- */

/* A power beyond which every number over- or underflows, however many digits stand before or behind its point. */
#define HUGE_POWER INT64_C(100000000000000000)

enum {
  WORD_DIGITS = 19,  /* as many fit 64 bits                                                                */
  KEPT_DIGITS = 800  /* a point halfway between two doubles has at most 767; what follows is zero or not */
};

/* *number := *number * 10^count + the digits at `at` (modulo 2^64); returns where the first other character is. */
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

/* The leading digits of a longer number; its point may stand anywhere. */
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

/* By strtod. Its decimal point depends on the locale, so it gets an integer and an exponent. */
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

/* More digits than a word holds: if the first 19 and their successor round to the same double, so does every number between. */
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

int wr_number_vanished(const char *text, const char *end, double value) {
  if (value != 0) return 0;
  for (; text < end && strchr("+-.0", *text) && *text != '\0'; text++) continue;
  return text < end && *text >= '1' && *text <= '9';
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

/* ---- to text ---- */

/* The shortest digits that read back to the same double, nearest to it where there are several of that length. */
typedef struct shortest {
  uint64_t digits;
  int power; /* value ~ digits * 10^power */
} shortest;

static int reads_back(uint64_t digits, int power, double value) {
  double back;
  char text[40];
  wr_decimal_rounding rounding = wr_decimal_round(digits, power, &back);
  if (rounding != WR_UNDECIDED) return rounding == WR_ROUNDED && back == value;
  int length = snprintf(text, sizeof text, "%llue%d", (unsigned long long)digits, power);
  return wr_number_real(text, text + length, &back) == WR_NUMBER_OK && back == value;
}

/* `count` digits that read back, if there are any. The nearest ones do if others do, except at a power of two: there the
 * doubles below lie closer together than those above, so that the nearest digits may be too far below the value, and the
 * next ones above it not too far. */
static int try_count(double value, int count, shortest *s) {
  int exponent;
  s->digits = wr_decimal_digits(value, count, &s->power);
  if (reads_back(s->digits, s->power, value)) return 1;
  if (frexp(value, &exponent) != 0.5 || !reads_back(s->digits + 1, s->power, value)) return 0;
  s->digits++;
  return 1;
}

/* No two decimals of up to 15 digits are the same normal double. So the 15 digits that read back, if any do, are the only
 * ones, and shorter ones are they less their zeros. Denormals hold fewer digits, and are tried from one digit on. */
static shortest find_shortest(double value) {
  shortest s = {.digits = 0};
  int least = value < 2.2250738585072014e-308 ? 1 : 15;
  for (int count = least; count < 17; count++) {
    if (!try_count(value, count, &s)) continue;
    for (; s.digits % 10 == 0; s.digits /= 10) s.power++;
    return s;
  }
  s.digits = wr_decimal_digits(value, 17, &s.power);
  return s;
}

static char *put_zeros(char *at, int count) {
  for (int i = 0; i < count; i++) *at++ = '0';
  return at;
}

static char *put_digits(char *at, const char *digits, int count) {
  memcpy(at, digits, (size_t)count);
  return at + count;
}

static char *put_exponent(char *at, int exponent) {
  *at++ = 'e';
  if (exponent < 0) *at++ = '-', exponent = -exponent;
  if (exponent >= 100) *at++ = (char)('0' + exponent / 100);
  if (exponent >= 10) *at++ = (char)('0' + exponent / 10 % 10);
  *at++ = (char)('0' + exponent % 10);
  return at;
}

/* 0.000125, 12.5, 12500 for exponents (of the first digit) from -5 to 16; else 1.25e-6 */
static char *put_number(char *at, const char *digits, int count, int exponent) {
  if (exponent < -5 || exponent > 16) {
    *at++ = digits[0];
    if (count > 1) *at++ = '.';
    return put_exponent(put_digits(at, digits + 1, count - 1), exponent);
  }
  if (exponent < 0) {
    *at++ = '0', *at++ = '.';
    return put_digits(put_zeros(at, -exponent - 1), digits, count);
  }
  int whole = exponent + 1;
  if (count <= whole) return put_zeros(put_digits(at, digits, count), whole - count);
  at = put_digits(at, digits, whole);
  *at++ = '.';
  return put_digits(at, digits + whole, count - whole);
}

int wr_number_text(double value, char *text) {
  char *at = text, digits[20];
  if (isnan(value)) return (int)(put_digits(text, "nan", 4) - text) - 1;
  if (signbit(value)) *at++ = '-';
  value = fabs(value);
  if (isinf(value)) return (int)(put_digits(at, "inf", 4) - text) - 1;
  if (value == 0) {
    memcpy(at, "0", 2);
    return (int)(at + 1 - text);
  }
  shortest s = find_shortest(value);
  int first = sizeof digits;
  for (uint64_t rest = s.digits; rest > 0; rest /= 10) digits[--first] = (char)('0' + rest % 10);
  int count = (int)sizeof digits - first;
  at = put_number(at, digits + first, count, s.power + count - 1);
  *at = 0;
  return (int)(at - text);
}
