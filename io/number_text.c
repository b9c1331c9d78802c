#include <math.h>
#include <stdio.h>
#include <string.h>

#include "io/decimal.h"
#include "io/number.h"
#include "io/vector_file.h"

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

static void strip_zeros(shortest *s) {
  for (; s->digits % 10 == 0; s->digits /= 10) s->power++;
}

/* No two decimals of up to 15 digits are the same normal double. So the 15 digits that read back, if any do, are the only
 * ones, and shorter ones are they less their zeros. Denormals hold fewer digits, and are tried from one digit on. */
static shortest find_shortest(double value) {
  shortest s = {.digits = 0};
  int least = value < 2.2250738585072014e-308 ? 1 : 15;
  for (int count = least; count < 17; count++) {
    if (!try_count(value, count, &s)) continue;
    strip_zeros(&s);
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
