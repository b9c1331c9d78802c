/* The progress line: its text, how often it is drawn, and that it is erased at the end. */
#define _GNU_SOURCE /* posix_openpt */
#include "solvers/program/progress.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/check.h"

static void test_line(void) {
  CASE("a measure that falls by 10 every 100 iterations, 100 iterations a second");
  wr_progress progress = {.begin = {.time = 1000}, .drawn_at = 1000};
  char text[WR_PROGRESS_WIDTH + 1] = "";
  for (int k = 1; k <= 400; k++) wr_progress_line(&progress, 1000 + 0.01 * k, k, pow(10, -0.01 * k), 1e-7, text);
  int iteration = 0;
  double measure = 0, target = 0, rate = 0, left = 0;
  int read = sscanf(text, "iteration %d   %lf -> %lf   %lf it/s   about %lf s left", &iteration, &measure, &target,
                    &rate, &left);
  CHECKF(read == 5 && iteration > 385 && iteration <= 400, "%s", text);
  CHECKF(fabs(measure / pow(10, -0.01 * iteration) - 1) < 0.005 && target == 1e-7, "%s", text); /* three digits */
  CHECKF(rate >= 99 && rate <= 100, "%s", text);                                                /* rounded down */
  double exact = 7 - 0.01 * iteration; /* decades to fall, at one a second */
  CHECKF(left >= exact - 1e-6 && left <= exact + 1 + 1e-6, "%s: not %g", text, exact);
}

static void test_slowing(void) {
  CASE("after a fast beginning the rate of the later iterations counts");
  wr_progress progress = {.begin = {.time = 0}, .drawn_at = 0};
  char text[WR_PROGRESS_WIDTH + 1] = "";
  for (int k = 1; k <= 400; k++) {
    progress.drawn_at = -1;
    wr_progress_line(&progress, 0.01 * k, k, k <= 10 ? pow(10, -0.5 * k) : pow(10, -5 - 0.01 * (k - 10)), 1e-12, text);
  }
  /* 3.1 decades are left, at one a second */
  CHECKF(strncmp(text, "iteration 400 ", 14) == 0 && strstr(text, "about 4 s left"), "%s", text);
}

static void test_pace(void) {
  CASE("at most ten lines a second, none before a tenth of a second has passed");
  wr_progress progress = {.begin = {.time = 5}, .drawn_at = 5};
  char text[WR_PROGRESS_WIDTH + 1];
  int drawn = 0;
  for (int k = 1; k <= 999; k++) {
    int now = wr_progress_line(&progress, 5 + 0.001 * k, k, 1, 0.5, text);
    CHECKF(!now || k >= 100, "drawn after %d ms", k);
    drawn += now;
  }
  CHECKF(drawn >= 8 && drawn <= 9, "%d lines", drawn);
}

/* The line for a solve with `measure` after `seconds` and `before` at half that time. */
static const char *line_at(double before, double measure, double target, double seconds, int64_t iteration) {
  static char text[WR_PROGRESS_WIDTH + 1];
  wr_progress progress = {.begin = {.time = 0}, .drawn_at = -1};
  wr_progress_line(&progress, seconds / 2, iteration / 2 > 0 ? iteration / 2 : 1, before, target, text);
  text[0] = '\0';
  progress.drawn_at = -1;
  wr_progress_line(&progress, seconds, iteration, measure, target, text);
  return text;
}

static void test_time_left(void) {
  CASE("time left");
#define SAYS(line, part) CHECKF(strstr(line, part) != NULL, "%s", line)
#define SILENT(line) CHECKF(strstr(line, "left") == NULL && strstr(line, "it/s") != NULL, "%s", line)
  SAYS(line_at(1e-1, 1e-2, 1e-4, 40, 100), "about 40 s left"); /* a decade took 20 s, two are left */
  SAYS(line_at(1e-1, 1e-2, 1e-4, 400, 100), "about 7 min left");
  SAYS(line_at(1e-1, 1e-2, 1e-4, 36000, 100), "about 10 h left");
  SILENT(line_at(1e-1, 1e-2, 1e-4, 4e9, 100));
  SILENT(line_at(1e-2, 1e-2, 1e-4, 40, 100)); /* constant */
  SILENT(line_at(1e-3, 1e-2, 1e-4, 40, 100)); /* grows */
  SILENT(line_at(NAN, 1e-2, 1e-4, 40, 100));
  SILENT(line_at(1e-1, NAN, 1e-4, 40, 100));
  SILENT(line_at(1e-1, INFINITY, 1e-4, 40, 100));
  SILENT(line_at(1e-1, 1e-2, 0, 40, 100)); /* the target is never met */
  SAYS(line_at(1e-1, 1e-5, 1e-4, 40, 100), "about 0 s left");
}

static void test_extremes(void) {
  CASE("the text fits 79 columns for all numbers");
  static const double odd[] = {0, 1, -1, 1e-320, 1e300, NAN, INFINITY, 1.23456e-123};
  enum { ODD = sizeof odd / sizeof *odd };
  for (int a = 0; a < ODD; a++)
    for (int b = 0; b < ODD; b++)
      for (int c = 0; c < ODD; c++) {
        const char *text = line_at(odd[a], odd[b], odd[c], 3.5, INT64_MAX);
        CHECKF(strlen(text) > 20 && strlen(text) <= WR_PROGRESS_WIDTH, "%s", text);
      }
}

static void test_no_terminal(void) {
  CASE("no terminal, no progress");
  FILE *file = tmpfile();
  wr_progress progress;
  wr_progress_begin(&progress, file);
  CHECK(!progress.shown);
  progress.drawn_at -= 10;
  wr_progress_show(&progress, 5, 1e-3, 1e-9);
  wr_progress_end(&progress);
  CHECK(fflush(file) == 0 && ftell(file) == 0);
  fclose(file);
}

/* The terminal's line after these bytes, up to `size`. */
static void play(const char *bytes, char *line, int size) {
  int column = 0;
  memset(line, ' ', (size_t)size);
  for (; *bytes; bytes++)
    if (*bytes == '\r')
      column = 0;
    else if (column < size)
      line[column++] = *bytes;
}

static void test_drawing(void) {
  CASE("a line is redrawn in place and erased at the end");
  char bytes[2000], line[101] = "", alone[100];
  FILE *file = tmpfile();
  wr_progress progress;
  wr_progress_begin(&progress, file);
  progress.shown = 1;
  progress.drawn_at -= 10;
  wr_progress_show(&progress, 123456789, 1.25e-123, 1e-129);
  long first = ftell(file);
  progress.drawn_at -= 10;
  wr_progress_show(&progress, 7, 0.5, 0.25);
  long second = ftell(file);
  wr_progress_end(&progress);
  long third = ftell(file);
  wr_progress_end(&progress);
  CHECK(ftell(file) == third); /* erased once */
  rewind(file);
  bytes[fread(bytes, 1, sizeof bytes - 1, file)] = '\0';
  fclose(file);
  CHECK(first > 20 && second > first && third > second && strchr(bytes, '\n') == NULL);
  bytes[first] = '\0'; /* in place of a \r */
  play(bytes, line, sizeof alone);
  CHECKF(strncmp(line, "iteration 123456789 ", 20) == 0, "%s", line);
  bytes[first] = '\r';
  bytes[second] = '\0';
  play(bytes, line, sizeof alone);
  play(bytes + first, alone, sizeof alone);
  CHECKF(strncmp(line, "iteration 7 ", 12) == 0 && memcmp(line, alone, sizeof alone) == 0, "%s", line);
  bytes[second] = '\r';
  play(bytes, line, sizeof alone);
  CHECKF(strspn(line, " ") == sizeof alone, "%s", line);
}

static void test_terminal(void) {
  CASE("a terminal is recognised");
  int master = posix_openpt(O_RDWR | O_NOCTTY);
  const char *name = master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0 ? ptsname(master) : NULL;
  FILE *terminal = name ? fopen(name, "w") : NULL;
  if (terminal) {
    wr_progress progress;
    wr_progress_begin(&progress, terminal);
    CHECK(progress.shown == 1);
    fclose(terminal);
  } else {
    SKIP("this machine gives no pseudo-terminal");
  }
  if (master >= 0) close(master);
}

static void test_preparing(void) {
  CASE("what is prepared, how much of it is done, and since when");
  wr_progress progress = {.drawn_at = 5};
  char text[WR_PROGRESS_WIDTH + 1] = "";
  CHECK(!wr_progress_stage_line(&progress, 5.05, "matching rows", 0, text)); /* too early */
  CHECK(wr_progress_stage_line(&progress, 6.05, "matching rows", 0.429, text));
  CHECKF(strcmp(text, "matching rows   42%   1.0 s") == 0, "%s", text);
  CHECK(!wr_progress_stage_line(&progress, 6.1, "the order", -1, text)); /* a stage counts its own seconds */
  CHECK(wr_progress_stage_line(&progress, 8.6, "the order", -1, text));
  CHECKF(strcmp(text, "the order   2.5 s") == 0, "%s", text);
  CHECK(wr_progress_stage_line(&progress, 9, "the order", NAN, text) && strcmp(text, "the order   2.9 s") == 0);
  const char *longest =
      "a name that is longer than any name of a preparation in this program, and goes on and on and on";
  CHECK(wr_progress_stage_line(&progress, 1e9, longest, 1, text) && strlen(text) <= WR_PROGRESS_WIDTH);
  CASE("preparations on a terminal alone, erased at the end");
  FILE *file = tmpfile();
  wr_progress_begin(&progress, file);
  progress.drawn_at -= 10;
  wr_progress_prepare(&progress, "matching rows", 0.5);
  CHECK(fflush(file) == 0 && ftell(file) == 0);
  progress.shown = 1;
  wr_progress_prepare(&progress, "matching rows", 0.5);
  CHECK(fflush(file) == 0 && ftell(file) > 20 && progress.drawn > 0);
  wr_progress_end(&progress);
  CHECK(progress.drawn == 0);
  fclose(file);
}

int main(void) {
  test_line();
  test_slowing();
  test_pace();
  test_time_left();
  test_extremes();
  test_no_terminal();
  test_drawing();
  test_preparing();
  test_terminal();
  return wr_test_report("progress");
}
