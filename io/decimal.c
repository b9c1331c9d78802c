#include "io/decimal.h"

#include <float.h>
#include <stdio.h>
#include <string.h>

__extension__ typedef unsigned __int128 uint128;

/* 10^power lies in [m, m + error] * 2^exponent, m = high * 2^64 + low, the top bit of high set. error is 0 (exact) for
 * powers 0 to 55, else a few units of m. */
typedef struct approximation {
  uint64_t high, low;
  int exponent;
  int error;
} approximation;

enum { POWER_MIN = -343, POWER_MAX = 343 };

/* 5^(28 a) for a = -13..12: the leading 128 bits, cut off. Exact for a = 0 and 1. */
static const uint64_t coarse[26][2] = {
    {0xe1afa13afbd14d6d, 0x82189c09a3a1ec21}, {0xe3e27a444d8d98b7, 0xfd1b1b2308169b25},
    {0xe61acf033d1a45df, 0x6fb92487298e33bd}, {0xe858ad248f5c22c9, 0xd1b3400f8f9cff68},
    {0xea9c227723ee8bcb, 0x465e15a979c1cadc}, {0xece53cec4a314ebd, 0xa4f8bf5635246428},
    {0xef340a98172aace4, 0x86fb897116c87c34}, {0xf18899b1bc3f8ca1, 0xdc44e6c3cb279ac1},
    {0xf3e2f893dec3f126, 0x5a89dba3c3efccfa}, {0xf64335bcf065d37d, 0x4d4617b5ff4a16d5},
    {0xf8a95fcf88747d94, 0x75a44c6397ce912a}, {0xfb158592be068d2e, 0xeed6e2f0f0d56712},
    {0xfd87b5f28300ca0d, 0x8bca9d6e188853fc}, {0x8000000000000000, 0x0000000000000000},
    {0x813f3978f8940984, 0x4000000000000000}, {0x82818f1281ed449f, 0xbff8f10e7a8921a4},
    {0x83c7088e1aab65db, 0x792667c6da79e0fa}, {0x850fadc09923329e, 0x03e2cf6bc604ddb0},
    {0x865b86925b9bc5c2, 0x0b8a2392ba45a9b2}, {0x87aa9aff79042286, 0x90fb44d2f05d0842},
    {0x88fcf317f22241e2, 0x441fece3bdf81f03}, {0x8a5296ffe33cc92f, 0x82bd6b70d99aaa6f},
    {0x8bab8eefb6409c1a, 0x1ad089b6c2f7548e}, {0x8d07e33455637eb2, 0xdb0b487b6423e1e8},
    {0x8e679c2f5e44ff8f, 0x570f09eaa7ea7648}, {0x8fcac257558ee4e6, 0x213a4f0aa5e8a7b1},
};

/* 5^b for b = 0..27, shifted until the top bit is set: exact. */
static const uint64_t fine[28] = {
    0x8000000000000000, 0xa000000000000000, 0xc800000000000000, 0xfa00000000000000, 0x9c40000000000000,
    0xc350000000000000, 0xf424000000000000, 0x9896800000000000, 0xbebc200000000000, 0xee6b280000000000,
    0x9502f90000000000, 0xba43b74000000000, 0xe8d4a51000000000, 0x9184e72a00000000, 0xb5e620f480000000,
    0xe35fa931a0000000, 0x8e1bc9bf04000000, 0xb1a2bc2ec5000000, 0xde0b6b3a76400000, 0x8ac7230489e80000,
    0xad78ebc5ac620000, 0xd8d726b7177a8000, 0x878678326eac9000, 0xa968163f0a57b400, 0xd3c21bcecceda100,
    0x84595161401484a0, 0xa56fa5b99019a5c8, 0xcecb8f27f4200f3a,
};

static const double exact_powers[23] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                        1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* floor(log2(10^power)), for |power| < 365 */
static int log2_of_power(int power) {
  int scaled = 217706 * power;
  return scaled >= 0 ? scaled >> 16 : -((-scaled + 65535) >> 16);
}

/* The product of a coarse and a fine power, cut to 128 bits. Three cuts of less than one unit each: of the coarse one (its
 * unit is at most two units of the product), and of the product. power: POWER_MIN..POWER_MAX. */
static approximation power_of_ten(int power) {
  const uint64_t *c = coarse[(power + 13 * 28) / 28];
  uint64_t f = fine[(power + 13 * 28) % 28];
  uint128 low = (uint128)c[1] * f;
  uint128 product = (uint128)c[0] * f + (low >> 64);
  if ((uint64_t)(product >> 127) == 0) product = product << 1 | (uint64_t)low >> 63;
  int exact = power >= 0 && power <= 55;
  return (approximation){.high = (uint64_t)(product >> 64),
                         .low = (uint64_t)product,
                         .exponent = log2_of_power(power) - 127,
                         .error = exact ? 0 : 3};
}

/* Rounds the 53 leading bits out of high, of which at most `slack` units are missing (or, when exact, not even the bits of
 * `tail`). 0: the bits do not decide. */
static int round_leading(uint128 high, int drop, int exact, uint64_t tail, int slack, uint64_t *mantissa) {
  uint128 half = (uint128)1 << (drop - 1);
  uint128 rest = high & ((half << 1) - 1);
  *mantissa = (uint64_t)(high >> drop);
  if (exact && rest == half && tail == 0) {
    *mantissa += *mantissa & 1;
    return 1;
  }
  if (exact) {
    *mantissa += rest >= half;
    return 1;
  }
  *mantissa += rest > half;
  return rest > half || rest + (unsigned)slack < half;
}

static wr_decimal_rounding round_wide(uint64_t digits, int power, double *value) {
  approximation p = power_of_ten(power);
  int zeros = __builtin_clzll(digits);
  uint64_t m = digits << zeros;
  uint128 low = (uint128)m * p.low;
  uint128 high = (uint128)m * p.high + (low >> 64); /* m * p is 192 bits; these are the upper 128 */
  int drop = 74 + (int)(high >> 127);
  int exponent = drop + 64 + p.exponent - zeros;
  if (exponent < -1074) return WR_UNDECIDED;
  uint64_t mantissa;
  if (!round_leading(high, drop, p.error == 0, (uint64_t)low, p.error + 1, &mantissa)) return WR_UNDECIDED;
  if (mantissa >> 53 != 0) mantissa >>= 1, exponent++;
  if (exponent > 971) return WR_TOO_BIG;
  uint64_t bits = (uint64_t)(exponent + 1075) << 52 | (mantissa & ((UINT64_C(1) << 52) - 1));
  memcpy(value, &bits, sizeof bits);
  return WR_ROUNDED;
}

/* A product or quotient of two exact doubles is rounded once (Clinger 1990), where doubles are computed as doubles. */
wr_decimal_rounding wr_decimal_round(uint64_t digits, int64_t power, double *value) {
  *value = 0;
  if (digits == 0 || power < POWER_MIN) return WR_ROUNDED; /* below 2^64 * 10^-344: less than half the least denormal */
  if (FLT_EVAL_METHOD == 0 && digits <= UINT64_C(1) << 53 && power >= -22 && power <= 22) {
    double d = (double)digits;
    *value = power < 0 ? d / exact_powers[-power] : d * exact_powers[power];
    return WR_ROUNDED;
  }
  return power > DBL_MAX_10_EXP ? WR_TOO_BIG : round_wide(digits, (int)power, value);
}

/* printf gives all digits. Its decimal point depends on the locale, so digits are picked one by one. */
static uint64_t printed_digits(double value, int count, int *power) {
  char text[64];
  snprintf(text, sizeof text, "%.*e", count - 1, value);
  uint64_t digits = 0;
  const char *at = text;
  for (; *at != 'e'; at++)
    if (*at >= '0' && *at <= '9') digits = digits * 10 + (uint64_t)(*at - '0');
  int exponent = 0;
  for (const char *d = at + 2; *d != 0; d++) exponent = exponent * 10 + (*d - '0');
  *power = (at[1] == '-' ? -exponent : exponent) - (count - 1);
  return digits;
}

/* *digits := value * 10^-power rounded; 0: 128 bits do not decide */
static int scaled_digits(double value, int power, uint64_t *digits) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  uint64_t m = ((bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1) << 52) << 11;
  if (-power < POWER_MIN || -power > POWER_MAX) return 0;
  approximation p = power_of_ten(-power);
  uint128 low = (uint128)m * p.low;
  uint128 high = (uint128)m * p.high + (low >> 64);
  int drop = -((int)(bits >> 52) - 1075 - 11 + p.exponent + 64); /* value * 10^-power = high / 2^drop */
  if (drop < 8 || drop > 127) return 0;
  return round_leading(high, drop, 0, 0, p.error + 1, digits);
}

/* floor(log10(2^exponent)), for |exponent| < 1651 */
static int log10_of_binary(int exponent) {
  return exponent >= 0 ? exponent * 78913 >> 18 : -(-exponent * 78913 >> 18) - 1;
}

/* The first power tried is never too big; one that is would round twice. */
uint64_t wr_decimal_digits(double value, int count, int *power) {
  if (value < DBL_MIN) return printed_digits(value, count, power);
  uint64_t limit = 1, digits = 0, bits;
  for (int i = 0; i < count; i++) limit *= 10;
  memcpy(&bits, &value, sizeof bits);
  *power = log10_of_binary((int)(bits >> 52) - 1023) - (count - 1);
  do {
    if (!scaled_digits(value, *power, &digits)) return printed_digits(value, count, power);
  } while (digits >= limit && (++*power, 1));
  return digits;
}
