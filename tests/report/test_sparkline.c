#include "solvers/report/sparkline.h"

#include <math.h>
#include <string.h>

#include "solvers/report/writer.h"
#include "tests/check.h"

enum { MOST = 10000 };

static int64_t iterations[MOST];
static double measures[MOST];

static const char *line_of(int64_t count, int has_blocks, char *text) {
  const wr_history history = {.count = count, .iteration = iterations, .measure = measures};
  return wr_sparkline(&history, has_blocks, text);
}

static void test_heights(void) {
  CASE("heights");
  char text[WR_SPARKLINE_ROOM];
  CHECK(strcmp(line_of(0, 0, text), "") == 0);
  measures[0] = 3;
  CHECK(strlen(line_of(1, 0, text)) == 1 && text[0] != '?');
  for (int k = 0; k < 8; k++) measures[k] = pow(10, -k); /* a decade a height */
  CHECK(strcmp(line_of(8, 0, text), "@#*+=-:.") == 0);
  CHECK(strcmp(line_of(8, 1, text), "\u2588\u2587\u2586\u2585\u2584\u2583\u2582\u2581") == 0);
  for (int k = 0; k < 8; k++) measures[k] = pow(10, 40 * k); /* a residual that grows, beyond 1e200 */
  CHECK(strcmp(line_of(8, 0, text), ".:-=+*#@") == 0);
  for (int k = 0; k < 5; k++) measures[k] = 0.5;
  line_of(5, 0, text);
  CHECK(strlen(text) == 5 && strspn(text, (char[]){text[0], '\0'}) == 5);
}

static void test_odd_measures(void) {
  CASE("measures without a logarithm");
  char text[WR_SPARKLINE_ROOM];
  const double odd[] = {1, NAN, 1e-3, INFINITY, 0, 1e-7};
  memcpy(measures, odd, sizeof odd);
  CHECK(strcmp(line_of(6, 0, text), "@?=?..") == 0 || strcmp(line_of(6, 0, text), "@?+?..") == 0);
  measures[0] = measures[1] = 0;
  CHECK(strcmp(line_of(2, 0, text), "..") == 0);
  measures[0] = NAN;
  CHECK(strcmp(line_of(1, 1, text), "?") == 0);
}

/* Each character stands for the largest of its 250 measures: one peak is one high character. */
static void test_width(void) {
  CASE("10 000 measures");
  char text[WR_SPARKLINE_ROOM];
  for (int k = 0; k < MOST; k++) measures[k] = 1e-9;
  measures[7 * MOST / WR_SPARKLINE_WIDTH + 3] = 1;
  line_of(MOST, 0, text);
  CHECK(strlen(text) == WR_SPARKLINE_WIDTH);
  for (int k = 0; k < WR_SPARKLINE_WIDTH; k++) CHECK(text[k] == (k == 7 ? '@' : '.'));
  CHECK(strlen(line_of(MOST, 1, text)) == 3 * WR_SPARKLINE_WIDTH);
  CHECK(strlen(line_of(41, 0, text)) == WR_SPARKLINE_WIDTH);
}

/* What is written to a file is ASCII, whatever the locale is. */
static void test_writer(void) {
  CASE("a file has no block characters");
  FILE *file = tmpfile();
  CHECK(file != NULL);
  if (file == NULL) return;
  CHECK(!wr_writer_of_text(file).has_blocks);
  fclose(file);
}

int main(void) {
  test_heights();
  test_odd_measures();
  test_width();
  test_writer();
  return wr_test_report("sparkline");
}
