/* Vectors to files and back, and the shortest text of a number. */
#define _DEFAULT_SOURCE
#include "io/vector_file.h"

#include <fcntl.h>
#include <float.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "config/memory.h"
#include "tests/check.h"
#include "tests/io/input_fixture.h"

static uint64_t random_state = 7;

static uint64_t random_bits(void) { /* splitmix64 */
  uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return z ^ z >> 31;
}

static int same_bits(double a, double b) { return memcmp(&a, &b, sizeof a) == 0; }

static void test_text_forms(void) {
  CASE("texts of numbers");
  static const struct {
    double value;
    const char *text;
  } forms[] = {{0, "0"},
               {-0.0, "-0"},
               {1, "1"},
               {-12.5, "-12.5"},
               {0.1, "0.1"},
               {100, "100"},
               {1e-5, "0.00001"},
               {1.25e-6, "1.25e-6"},
               {1e16, "10000000000000000"},
               {1e17, "1e17"},
               {1e22, "1e22"},
               {1e23, "1e23"},
               {5e-324, "5e-324"},
               {-2.2250738585072014e-308, "-2.2250738585072014e-308"},
               {DBL_MAX, "1.7976931348623157e308"},
               {1.0 / 3, "0.3333333333333333"},
               {2.0 / 3, "0.6666666666666666"},
               {9007199254740993.0, "9007199254740992"},
               {0x1p-44, "5.684341886080802e-14"}, /* nearest 16 digits: ...801, which is the double below */
               {0x1.fffffffffffffp-1, "0.9999999999999999"},
               {INFINITY, "inf"},
               {-INFINITY, "-inf"},
               {NAN, "nan"}};
  for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
    char text[32];
    int length = wr_number_text(forms[i].value, text);
    CHECKF(strcmp(text, forms[i].text) == 0, "%s, not %s", text, forms[i].text);
    CHECKF(length == (int)strlen(text), "%s: length %d", text, length);
  }
}

/* The significant digits of a text as a number, without zeros at the end; *count: how many. */
static uint64_t significant(const char *text, int *count) {
  uint64_t digits = 0;
  for (; *text != 0 && *text != 'e'; text++)
    if (*text >= '0' && *text <= '9') digits = digits * 10 + (uint64_t)(*text - '0');
  while (digits != 0 && digits % 10 == 0) digits /= 10;
  *count = 0;
  for (uint64_t rest = digits; rest > 0; rest /= 10) ++*count;
  return digits;
}

/* Is there a decimal of count digits that reads back? The nearest one below, at and above are all that could. */
static int some_reads_back(double value, int count) {
  char text[64];
  snprintf(text, sizeof text, "%.*e", count - 1, value);
  int power = atoi(strchr(text, 'e') + 1) - (count - 1);
  uint64_t digits = 0;
  for (const char *at = text; *at != 'e'; at++)
    if (*at != '.') digits = digits * 10 + (uint64_t)(*at - '0');
  for (int step = -1; step <= 1; step++) {
    snprintf(text, sizeof text, "%" PRIu64 "e%d", digits + (uint64_t)step, power);
    if (strtod(text, NULL) == value) return 1;
  }
  return 0;
}

static void check_shortest(double value) {
  char text[32], nearest[64];
  int count, nearest_count;
  wr_number_text(value, text);
  CHECKF(same_bits(strtod(text, NULL), value), "%a is written as %s", value, text);
  uint64_t digits = significant(text, &count);
  if (count > 1) CHECKF(!some_reads_back(value, count - 1), "%s has more digits than it needs", text);
  snprintf(nearest, sizeof nearest, "%.*e", count - 1, value);
  if (strtod(nearest, NULL) == value)
    CHECKF(significant(nearest, &nearest_count) == digits, "%s is not the nearest: %s", text, nearest);
}

static void test_shortest(void) {
  CASE("shortest text");
  for (int exponent = -1074; exponent < 1024; exponent++) {
    check_shortest(ldexp(1, exponent));
    if (exponent > -1022) check_shortest(nextafter(ldexp(1, exponent), 0));
  }
  for (int i = 0; i < 20000; i++) {
    uint64_t bits = random_bits() & INT64_MAX;
    double value;
    if (i % 4 == 1) bits &= UINT64_C(0x000fffffffffffff);
    memcpy(&value, &bits, sizeof value);
    if (i % 4 == 2) value = (double)(bits % 1000000) / 1000;
    if (isfinite(value) && value > 0) check_shortest(value);
  }
}

enum { N = 3000 };

static void make_values(double *values) {
  for (int i = 0; i < N; i++) {
    uint64_t bits = random_bits();
    memcpy(&values[i], &bits, sizeof bits);
    if (!isfinite(values[i])) values[i] = 0.1 * i;
  }
  values[0] = -0.0;
  values[1] = DBL_MAX;
  values[2] = -0x1p-1074;
}

static void check_equal(const double *values, const double *expected, int64_t n) {
  int64_t wrong = 0;
  for (int64_t i = 0; i < n; i++) wrong += !same_bits(values[i], expected[i]);
  CHECKF(wrong == 0, "%lld of %lld values differ", (long long)wrong, (long long)n);
}

static void test_round_trip(void) {
  CASE("written and read back");
  static double values[N];
  make_values(values);
  const char *path = fixture_path("vector.mtx");
  CHECK_OK(wr_vector_write(path, WR_VECTOR_MTX, NULL, N, 1, values, "scores of a graph\nsecond line\r\n"));
  double *back;
  CHECK_OK(wr_vector_read(path, &(wr_vector_need){.n = N, .whose = "the test"}, &back));
  if (back != NULL) check_equal(back, values, N);
  wr_free(back);
  static const char begin[] =
      "%%MatrixMarket matrix array real general\n% scores of a graph\n% second line\n3000 1\n-0\n";
  fixture_text text = fixture_read(path);
  CHECKF(text.count > sizeof begin && memcmp(text.bytes, begin, sizeof begin - 1) == 0, "%.120s", text.bytes);
  CHECK(text.count > 0 && text.bytes[text.count - 1] == '\n');
  fixture_free(&text);
  CHECK_FAILS(WR_EINPUT, wr_vector_read(path, &(wr_vector_need){.n = N + 1, .whose = "the matrix's 3001 rows"}, &back));
  CHECK_MESSAGE("3000");
  CHECK_MESSAGE("the matrix's 3001 rows");
  CHECK(back == NULL);
}

static void test_standard_output(void) {
  CASE("standard output");
  const char *path = fixture_path("stdout.mtx");
  double values[2] = {0.5, -3}, *back;
  fflush(stdout);
  int saved = dup(STDOUT_FILENO), file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  CHECK(saved >= 0 && file >= 0 && dup2(file, STDOUT_FILENO) >= 0);
  wr_status status = wr_vector_write("-", WR_VECTOR_MTX, NULL, 2, 1, values, NULL);
  fflush(stdout);
  CHECK(dup2(saved, STDOUT_FILENO) >= 0);
  close(saved);
  close(file);
  CHECKF(status == WR_OK, "%s", wr_status_message());
  CHECK_OK(wr_vector_read(path, &(wr_vector_need){.n = 2, .whose = "the test"}, &back));
  if (back != NULL) check_equal(back, values, 2);
  wr_free(back);
}

static void test_not_written(void) {
  CASE("not written");
  double values[3] = {1, NAN, 2};
  const char *path = fixture_path("kept.mtx");
  fixture_put("kept.mtx", "older", 5);
  CHECK_FAILS(WR_ENUMERIC, wr_vector_write(path, WR_VECTOR_MTX, NULL, 3, 1, values, NULL));
  CHECK_MESSAGE("value 2");
  CHECK_FAILS(WR_EUSAGE, wr_vector_write(path, WR_VECTOR_MTX, NULL, 0, 1, values, NULL));
  values[1] = 0;
  fixture_text text = fixture_read(path);
  CHECK(text.count == 5 && memcmp(text.bytes, "older", 5) == 0);
  fixture_free(&text);
  CHECK_FAILS(WR_EOUTPUT, wr_vector_write(fixture_folder(), WR_VECTOR_MTX, NULL, 3, 1, values, NULL));
  CHECK_FAILS(WR_EOUTPUT, wr_vector_write(fixture_path("absent/vector.mtx"), WR_VECTOR_MTX, NULL, 3, 1, values, NULL));
  CHECK_MESSAGE("absent/vector.mtx");
  if (access("/dev/full", W_OK) == 0) {
    CHECK_FAILS(WR_EOUTPUT, wr_vector_write("/dev/full", WR_VECTOR_MTX, NULL, 3, 1, values, NULL));
    static double many[20000];
    CHECK_FAILS(WR_EOUTPUT, wr_vector_write("/dev/full", WR_VECTOR_MTX, NULL, 20000, 1, many, NULL));
  } else {
    SKIP("there is no /dev/full");
  }
}

static void check_read(const char *text, int64_t n, const double *expected) {
  double *values;
  const char *path = fixture_put("read.mtx", text, strlen(text));
  wr_status status = wr_vector_read(path, &(wr_vector_need){.n = n, .whose = "the test"}, &values);
  CHECKF(status == WR_OK, "%s: %s", text, wr_status_message());
  if (status == WR_OK) check_equal(values, expected, n);
  wr_free(values);
}

static void check_refused(const char *text, int64_t n, const char *why) {
  double *values;
  CHECK_FAILS(WR_EINPUT, wr_vector_read(fixture_put("read.mtx", text, strlen(text)),
                                        &(wr_vector_need){.n = n, .whose = "the test"}, &values));
  CHECK_MESSAGE(why);
  CHECK(values == NULL);
}

static void test_kinds(void) {
  CASE("kinds of vector files");
#define ARRAY "%%MatrixMarket matrix array "
#define COORDINATE "%%MatrixMarket matrix coordinate "
  check_read(ARRAY "real general\n3 1\n1.5\n-2\n0\n", 3, (double[]){1.5, -2, 0});
  check_read(ARRAY "integer general\n1 3\n4\n5\n6\n", 3, (double[]){4, 5, 6});
  check_read(COORDINATE "real general\n4 1 2\n3 1 7.5\n1 1 2\n", 4, (double[]){2, 0, 7.5, 0});
  check_read(COORDINATE "real general\n1 4 2\n1 3 7.5\n1 1 2\n", 4, (double[]){2, 0, 7.5, 0});
  check_read(COORDINATE "real general\n2 1 3\n2 1 1\n1 1 5\n2 1 0.25\n", 2, (double[]){5, 1.25});
  check_read(COORDINATE "pattern general\n3 1 1\n2 1\n", 3, (double[]){0, 1, 0});
  check_read(COORDINATE "real general\n3 1 0\n", 3, (double[]){0, 0, 0});
  check_read(COORDINATE "real general\n2 1 3\n2 1 -0\n1 1 0\n1 1 -3\n", 2, (double[]){-3, -0.0});
  check_read(ARRAY "real general\n1 1\n9\n", 1, (double[]){9});
  check_read(ARRAY "real symmetric\n1 1\n9\n", 1, (double[]){9});
  check_refused(ARRAY "real general\n2 2\n1\n2\n3\n4\n", 4, "2 x 2");
  check_refused(ARRAY "real general\n3 1\n1\n2\n3\n", 2, "3 values, where 2 are needed for the test");
  check_refused(ARRAY "real general\n3 1\n1\nx\n3\n", 3, ":4: ");
  check_refused(COORDINATE "real general\n2 1 2\n2 1 1e308\n2 1 1e308\n", 2, "overflows");
}

static void test_tsv(void) {
  CASE("lines of id and value");
  const int64_t id[] = {0, 7, INT64_MAX};
  const double values[] = {0.5, -1e-300, 0x1p-1074};
  const char *path = fixture_path("out.tsv");
  CHECK_OK(wr_vector_write(path, WR_VECTOR_TSV, &(wr_ids){.count = 3, .id = (int64_t *)id}, 3, 1, values, NULL));
  fixture_text text = fixture_read(path);
  CHECKF(strcmp(text.bytes, "0\t0.5\n7\t-1e-300\n9223372036854775807\t5e-324\n") == 0, "%s", text.bytes);
  fixture_free(&text);
  CHECK_OK(wr_vector_write(path, WR_VECTOR_TSV, &(wr_ids){.count = 3, .first = 99}, 2, 1, values, NULL));
  text = fixture_read(path);
  CHECKF(strcmp(text.bytes, "99\t0.5\n100\t-1e-300\n") == 0, "%s", text.bytes);
  fixture_free(&text);
  CHECK_FAILS(WR_ENUMERIC,
              wr_vector_write(path, WR_VECTOR_TSV, &(wr_ids){.count = 1, .first = 1}, 1, 1, (double[]){NAN}, NULL));
  CHECK_FAILS(WR_EOUTPUT, wr_vector_write(fixture_path("no/out.tsv"), WR_VECTOR_TSV, &(wr_ids){.count = 1, .first = 1},
                                          1, 1, values, NULL));
  text = fixture_read(path);
  CHECKF(strncmp(text.bytes, "99\t", 3) == 0, "an older file was touched: %s", text.bytes);
  fixture_free(&text);
  double *many = malloc(3000 * sizeof *many), sum = 0; /* more than a block of output */
  for (int k = 0; k < 3000; k++) many[k] = 1.0 / 3 + k;
  CHECK_OK(
      wr_vector_write(path, WR_VECTOR_TSV, &(wr_ids){.count = 3000, .first = INT64_MAX - 2999}, 3000, 1, many, NULL));
  text = fixture_read(path);
  char *at = text.bytes;
  for (int k = 0; k < 3000 && *at; k++) {
    sum += strtoll(at, &at, 10) == INT64_MAX - 2999 + k && *at == '\t';
    sum += strtod(at, &at) == many[k] && *at == '\n';
  }
  CHECKF(sum == 6000 && strcmp(at, "\n") == 0, "%g of 6000 are right", sum);
  fixture_free(&text);
  free(many);
}

static void test_no_memory(void) {
  CASE("no memory");
  const char *path = fixture_put("read.mtx", "%%MatrixMarket matrix array real general\n2 1\n1\n2\n", 49);
  double *values = NULL;
  int failures = 0;
  for (int allowed = 0; allowed < 100; allowed++) {
    fixture_fail_after(allowed);
    wr_status status = wr_vector_read(path, &(wr_vector_need){.n = 2, .whose = "the test"}, &values);
    fixture_fail_never();
    if (status == WR_OK) break;
    failures++;
    CHECKF(status == WR_ENOMEM && values == NULL, "%s", wr_status_message());
  }
  CHECKF(failures >= 5 && values != NULL && values[1] == 2, "%d failures", failures);
  wr_free(values);
}

int main(void) {
  fixture_begin();
  test_text_forms();
  test_shortest();
  test_round_trip();
  test_standard_output();
  test_not_written();
  test_kinds();
  test_tsv();
  test_no_memory();
  fixture_end();
  return wr_test_report("vector_file");
}
