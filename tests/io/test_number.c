/* Text to number: the forms that are numbers and those that are not, rounding at its hardest places, and strtod as the
 * judge of many random ones. */
#include "io/number.h"

#include <float.h>
#include <inttypes.h>
#include <stdlib.h>

#include "config/memory.h"
#include "io/decimal.h"
#include "tests/check.h"

static uint64_t random_state = 1;

static uint64_t random_bits(void) { /* splitmix64 */
  uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return z ^ z >> 31;
}

static int same_bits(double a, double b) { return memcmp(&a, &b, sizeof a) == 0; }

/* In a block of just its length, so that a byte read too far is a byte outside. */
static wr_number_status real_of(const char *text, size_t length, double *value) {
  char *token;
  CHECK_OK(wr_alloc(&token, (int64_t)length, 1, "a test"));
  memcpy(token, text, length);
  wr_number_status status = wr_number_real(token, token + length, value);
  wr_free(token);
  return status;
}

static void check_real(const char *text, double expected) {
  double value = -77;
  wr_number_status status = real_of(text, strlen(text), &value);
  CHECKF(status == WR_NUMBER_OK && same_bits(value, expected), "'%.60s' is %a (status %d), not %a", text, value,
         (int)status, expected);
}

static void check_real_fails(const char *text, wr_number_status expected) {
  double value;
  wr_number_status status = real_of(text, strlen(text), &value);
  CHECKF(status == expected, "'%.60s': status %d, not %d", text, (int)status, (int)expected);
}

static void test_forms(void) {
  CASE("forms of a number");
  static const struct {
    const char *text;
    double value;
  } forms[] = {
      {"0", 0},           {"-0", -0.0},         {"+1.5", 1.5},      {".25", 0.25},         {"2.", 2},
      {"3.E0", 3},        {"1D+05", 1e5},       {"-2.5d-1", -0.25}, {"1e5", 1e5},          {"1E5", 1e5},
      {"1e-5", 1e-5},     {"+.5e+1", 5},        {"-.5e0", -0.5},    {"00012", 12},         {"0.000", 0},
      {"1e0000005", 1e5}, {"000e-999999", 0},   {"0e999999", 0},    {"-0.0e99", -0.0},     {"12345678", 12345678},
      {"123456789", 123456789.0},               {"1234567.8901234567e1", 12345678.901234567},
      {"0.17894386746670321E+00", 0.17894386746670321},             {"9007199254740991", 9007199254740991.0},
      {"1e-400", 0},      {"-1e-400", -0.0},    {"1e-99999999999999999999999", 0},
  };
  for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) check_real(forms[i].text, forms[i].value);
}

static void test_no_numbers(void) {
  CASE("no numbers");
  static const char *const bad[] = {
      "",    "+",    "-",        ".",    "+.",    "e5",    ".e5",   "1e",    "1e+", "1d-",   "nan", "NaN", "inf", "/1",
      ":1",  "-Inf", "infinity", "0x10", "0x1p3", "1.2.3", "1e5.0", "1e5e5", "1,5", "1_000", "--1", "+-1", " 1",  "1 ",
      "1\n", "two",  "1f",       "1e 5", "1L",    "0b1",   "1e0x1", "$1",    "1:",  "1/",    "\xe2\x88\x92\x31"};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) check_real_fails(bad[i], WR_NUMBER_BAD);
  double value;
  CHECK(real_of("1\0", 2, &value) == WR_NUMBER_BAD);
  CHECK(real_of("\0", 1, &value) == WR_NUMBER_BAD);
}

static void test_limits(void) {
  CASE("largest and least");
  check_real("1.7976931348623157e308", DBL_MAX);
  check_real("-1.7976931348623157e308", -DBL_MAX);
  check_real("1.7976931348623158e308", DBL_MAX);
  check_real("17976931348623157e292", DBL_MAX);
  check_real_fails("1.7976931348623159e308", WR_NUMBER_OVERFLOW);
  check_real_fails("1e309", WR_NUMBER_OVERFLOW);
  check_real_fails("-1e400", WR_NUMBER_OVERFLOW);
  check_real_fails("1e99999999999999999999999", WR_NUMBER_OVERFLOW);
  check_real_fails("123456789012345678901234567890e290", WR_NUMBER_OVERFLOW);
  check_real("4.9406564584124654e-324", 0x1p-1074);
  check_real("2.4703282292062328e-324", 0x1p-1074); /* just above half of it */
  check_real("2.4703282292062327e-324", 0);         /* just below             */
  check_real("-2.2250738585072009e-308", -(0x1p-1022 - 0x1p-1074));
  check_real("2.2250738585072011e-308", 0x1p-1022 - 0x1p-1074);
  check_real("2.2250738585072012e-308", 0x1p-1022);
  check_real("2.2250738585072014e-308", DBL_MIN);
}

/* Numbers halfway between two doubles go to the even one; the least excess decides otherwise. */
static void test_halfway(void) {
  CASE("halfway");
  check_real("9007199254740993", 9007199254740992.0);
  check_real("9007199254740995", 9007199254740996.0);
  check_real("9007199254740993.0000000000000000000000000001", 9007199254740994.0);
  check_real("4503599627370497.5", 4503599627370498.0);
  check_real("4503599627370496.5", 4503599627370496.0);
  check_real("0.500000000000000055511151231257827021181583404541015625", 0.5);
  check_real("0.500000000000000166533453693773481063544750213623046875", 0.5 + 0x1p-52);
  check_real("1234567890123456789012345678901234567890", 1.2345678901234568e+39);
  char text[1200];
  static const char half[] = "1.00000000000000011102230246251565404236316680908203125"; /* 1 + 2^-53 */
  check_real(half, 1);
  memcpy(text, half, sizeof half - 1);
  memset(text + sizeof half - 1, '0', 1000);
  memcpy(text + sizeof half - 1 + 1000, "1", 2);
  check_real(text, 1 + 0x1p-52);
  text[sizeof half - 1 + 1000] = '0';
  check_real(text, 1);
}

static void test_long(void) {
  CASE("many digits and exponents that undo them");
  enum { ZEROS = 20000 };
  char *text;
  CHECK_OK(wr_alloc(&text, ZEROS + 64, 1, "a test"));
  memset(text, '0', ZEROS + 64);
  text[1] = '.';
  snprintf(text + ZEROS, 64, "15e%d", ZEROS);
  check_real(text, 15); /* 0.0...015 with ZEROS digits behind the point, times 10^ZEROS */
  memset(text, '0', ZEROS + 64);
  text[0] = '7';
  snprintf(text + ZEROS, 64, "e-%d", ZEROS - 1);
  check_real(text, 7);
  memset(text, '3', ZEROS);
  snprintf(text + ZEROS, 64, "e-%d", ZEROS);
  check_real(text, 1.0 / 3);
  wr_free(text);
}

static void check_against_strtod(const char *text) {
  double value = 0, expected = strtod(text, NULL);
  wr_number_status status = wr_number_real(text, text + strlen(text), &value);
  if (isinf(expected))
    CHECKF(status == WR_NUMBER_OVERFLOW, "'%s' does not overflow", text);
  else
    CHECKF(status == WR_NUMBER_OK && same_bits(value, expected), "'%s' is %a, not %a", text, value, expected);
}

static void test_random(void) {
  CASE("as strtod");
  char text[160];
  for (int i = 0; i < 60000; i++) {
    uint64_t bits = random_bits();
    double value;
    memcpy(&value, &bits, sizeof value);
    if (isfinite(value)) {
      snprintf(text, sizeof text, "%.*e", (int)(random_bits() % 25), value);
      check_against_strtod(text);
    }
    snprintf(text, sizeof text, "%" PRIu64 ".%" PRIu64 "e%d", random_bits() >> random_bits() % 64,
             random_bits() >> random_bits() % 64, (int)(random_bits() % 720) - 360);
    check_against_strtod(text);
    snprintf(text, sizeof text, "%" PRIu64 "e%d", random_bits(), (int)(random_bits() % 720) - 360);
    check_against_strtod(text);
    value = ldexp((double)(bits >> 11) + 0.5, -(int)(bits % 64));
    snprintf(text, sizeof text, "%.*f", (int)(random_bits() % 100), value);
    check_against_strtod(text);
  }
  for (int power = -400; power <= 400; power++) {
    snprintf(text, sizeof text, "1e%d", power);
    check_against_strtod(text);
    snprintf(text, sizeof text, "18446744073709551615e%d", power);
    check_against_strtod(text);
  }
}

static void test_scan(void) {
  CASE("where a number ends");
  static const struct {
    const char *text;
    int length;
  } ends[] = {{"1.5 7", 3}, {"12\n", 2}, {"-3e2\t", 4}, {"1.5.5", 3}, {"7x", 1}, {"1234567890123 4", 13}, {"2.-1", 2}};
  double value;
  const char *stop;
  for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
    const char *text = ends[i].text;
    CHECK(wr_number_scan(text, text + strlen(text), &value, &stop) == WR_NUMBER_OK);
    CHECKF(stop - text == ends[i].length, "'%s' stops at %d", text, (int)(stop - text));
  }
  const char *digits = "12345678901234567890";
  CHECK(wr_number_real(digits, digits + 3, &value) == WR_NUMBER_OK && value == 123);
  CHECK(wr_number_real(digits, digits + 8, &value) == WR_NUMBER_OK && value == 12345678);
  CHECK(wr_number_real(digits, digits + 9, &value) == WR_NUMBER_OK && value == 123456789);
}

static void check_integer(const char *text, wr_number_status expected, int64_t number) {
  int64_t value = -77;
  wr_number_status status = wr_number_integer(text, text + strlen(text), &value);
  CHECKF(status == expected, "'%s': status %d, not %d", text, (int)status, (int)expected);
  if (status == WR_NUMBER_OK) CHECKF(value == number, "'%s' is %lld", text, (long long)value);
}

static void test_integer(void) {
  CASE("integers");
  check_integer("0", WR_NUMBER_OK, 0);
  check_integer("-0", WR_NUMBER_OK, 0);
  check_integer("+17", WR_NUMBER_OK, 17);
  check_integer("-17", WR_NUMBER_OK, -17);
  check_integer("0000000000000000000000000000042", WR_NUMBER_OK, 42);
  check_integer("9223372036854775807", WR_NUMBER_OK, INT64_MAX);
  check_integer("-9223372036854775808", WR_NUMBER_OK, INT64_MIN);
  check_integer("9223372036854775808", WR_NUMBER_OVERFLOW, 0);
  check_integer("-9223372036854775809", WR_NUMBER_OVERFLOW, 0);
  check_integer("18446744073709551617", WR_NUMBER_OVERFLOW, 0); /* 2^64 + 1 */
  check_integer("99999999999999999999999999", WR_NUMBER_OVERFLOW, 0);
  check_integer("99999999999999999999999999x", WR_NUMBER_BAD, 0);
  static const char *const bad[] = {"", "+", "-", "1.", "1.0", "1e3", "0x1", "1 ", " 1", "one", "--1", "1-", "1,000"};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) check_integer(bad[i], WR_NUMBER_BAD, 0);
}

/* Digits of a double, against printf's, also of values with digits that end in halves. */
static void test_digits(void) {
  CASE("digits of a double");
  char expected[64], found[64];
  for (int i = 0; i < 60000; i++) {
    uint64_t bits = random_bits() & INT64_MAX;
    double value;
    memcpy(&value, &bits, sizeof value);
    if (i % 3 == 0) value = ldexp((double)(bits >> 11), -(int)(bits % 70));
    if (!isfinite(value) || value == 0) continue;
    int count = 1 + (int)(random_bits() % 17), power;
    uint64_t digits = wr_decimal_digits(value, count, &power);
    snprintf(expected, sizeof expected, "%.*e", count - 1, value);
    snprintf(found, sizeof found, "%" PRIu64 "e%d", digits, power);
    CHECKF((int)strcspn(found, "e") == count && strtod(found, NULL) == strtod(expected, NULL),
           "%d digits of %a: %s, not %s", count, value, found, expected);
  }
}

int main(void) {
  test_forms();
  test_no_numbers();
  test_limits();
  test_halfway();
  test_long();
  test_random();
  test_scan();
  test_integer();
  test_digits();
  return wr_test_report("number");
}
