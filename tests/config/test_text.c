/* The width of a stream, paragraphs, reasons said once, nouns. */
#define _DEFAULT_SOURCE /* setenv, open_memstream, posix_openpt */
#define _XOPEN_SOURCE 700
#include "config/text.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "tests/check.h"

/* The paragraph of a text; the caller frees it. */
static char *wrapped(const char *text, int at, int indent) {
  char *written = NULL;
  size_t size;
  FILE *out = open_memstream(&written, &size);
  wr_text_wrap(out, text, at, indent);
  fclose(out);
  return written;
}

/* A stream onto a terminal of so many columns; NULL where the system gives none. */
static FILE *terminal(int columns, int *leader) {
  *leader = posix_openpt(O_RDWR | O_NOCTTY);
  if (*leader < 0 || grantpt(*leader) != 0 || unlockpt(*leader) != 0) return NULL;
  struct winsize size = {.ws_row = 24, .ws_col = (unsigned short)columns};
  FILE *out = fopen(ptsname(*leader), "w");
  if (out == NULL || ioctl(fileno(out), TIOCSWINSZ, &size) != 0) return NULL;
  return out;
}

static void test_width(void) {
  static const struct {
    const char *columns;
    int width;
  } cases[] = {{"100", 100}, {"80", 80},       {"79", 80},    {"1", 80},          {"0", 80},
               {"", 80},     {"-200", 80},     {"1e2", 80},   {" 90", 80},        {"90 ", 80},
               {"200", 200}, {"10000", 10000}, {"10001", 80}, {"99999999999", 80}};
  CASE("COLUMNS, where the stream is no terminal");
  FILE *file = tmpfile();
  unsetenv("COLUMNS");
  CHECK(wr_text_width(file) == 80);
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    setenv("COLUMNS", cases[k].columns, 1);
    CHECKF(wr_text_width(file) == cases[k].width, "'%s': %d", cases[k].columns, wr_text_width(file));
  }
  fclose(file);
  CASE("a terminal");
  static const int columns[][2] = {{120, 120}, {80, 80}, {40, 80}, {500, 500}, {0, 200}}; /* 0: it does not know */
  setenv("COLUMNS", "200", 1);
  for (size_t k = 0; k < sizeof columns / sizeof *columns; k++) {
    int leader;
    FILE *out = terminal(columns[k][0], &leader);
    if (out == NULL) {
      SKIP("this system has no pseudo terminals");
      break;
    }
    CHECKF(wr_text_width(out) == columns[k][1], "%d columns: %d", columns[k][0], wr_text_width(out));
    fclose(out);
    close(leader);
  }
  unsetenv("COLUMNS");
}

/* Where the first of the lines ends when this text follows 70 letters. */
static size_t first_line(const char *tail) {
  char text[200];
  for (int k = 0; k < 70; k++) text[k] = (char)('a' + k % 26);
  snprintf(text + 70, sizeof text - 70, "%s", tail);
  char *written = wrapped(text, 0, 2);
  size_t length = strcspn(written, "\n");
  CHECKF(length <= 80 && strncmp(written + length, "\n  ", 3) == 0, "%s", written);
  free(written);
  return length;
}

static void test_breaks(void) {
  CASE("lines end at blanks, and not between a number and its unit");
  CHECK(first_line(" end 15.0 milliseconds") == 70);
  CHECK(first_line(", 15.0 milliseconds") == 71);
  CHECK(first_line(" word longer") == 75);
  CHECK(first_line(" words are cut") == 80);
  CHECK(first_line(" a 123 x 123") == 70);
  CHECK(first_line("; 123 x 123") == 71);
  CHECK(first_line(" max 12 more") == 70);
  CHECK(first_line(" max: 12 more") == 75);
  CHECK(first_line(" in [0, 1e10]") == 73);
  CHECK(first_line(" in (0, 1e10]") == 73);
  CHECK(first_line(" is 0, 1e10 at") == 76);
  CHECK(first_line(" in f64 always") == 77);
  CHECK(first_line(" so norm_b = A times ones") == 73);
  CHECK(first_line(" error <= 1 of all") == 70);
  CHECK(first_line(" (1e-9 atoms most") == 70);
  CASE("only a word wider than a line is broken");
  CHECK(first_line("_no_blank_for_long") == 80);
  CHECK(first_line("_a:blank_for_long") == 73);
  CHECK(first_line("_no_bl\xC3\xA4nk_for_long") == 80);
  CHECK(first_line("_no_blan\xC3\xA4_for_long") == 80);
  CHECK(first_line("_no_blank\xC3\xA4_for_long") == 79);
  char *text = wrapped("short /a/path/that/is/as/long/as/a/line/and/has/to/stand/on/its/own/line/a/b/c/d/e", 0, 2);
  CHECKF(strncmp(text, "short\n  /a/path", 15) == 0 && strchr(text + 6, '\n')[1] == '\0', "%s", text);
  free(text);
  CASE("a paragraph that goes on in a line begun before");
  text = wrapped("forty_letters_forty_letters_forty_letter", 41, 40);
  CHECKF(strcmp(text, "\n                                        forty_letters_forty_letters_forty_letter\n") == 0,
         "%s", text);
  free(text);
}

static void test_characters(void) {
  CASE("blanks and control characters");
  char *text = wrapped("  a\tb\nc\x1B  d \x7F ", 0, 2);
  CHECKF(strcmp(text, "a b c   d\n") == 0, "'%s'", text);
  free(text);
  text = wrapped("", 0, 2);
  CHECK(strcmp(text, "\n") == 0);
  free(text);
}

/* Any text: no line is too wide, and the words are those of the text. */
static void test_any(void) {
  CASE("any text in any width");
  static const char *const words[] = {"a", "15", "ms", "x", "word", "/a/long/path/to/somewhere/else", "\xE2\x82\xAC",
                                      ";"};
  unsigned long long state = 88172645463325252u;
  for (int round = 0; round < 2000; round++) {
    char text[600] = "", columns[8], flat[600] = "";
    int indent = round % 40, count = round % 50;
    snprintf(columns, sizeof columns, "%d", 80 + round % 50);
    setenv("COLUMNS", columns, 1);
    for (int k = 0; k < count && strlen(text) < 550; k++) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", k ? " " : "", words[state >> 61]);
    }
    char *written = wrapped(text, indent, indent);
    int width = indent;
    for (char *line = written; *line; line += strcspn(line, "\n") + 1, width = 0)
      CHECKF(width + (int)strcspn(line, "\n") <= 80 + round % 50, "%s", written);
    for (const char *at = written; *at; at++)
      if (*at != ' ' && *at != '\n')
        snprintf(flat + strlen(flat), sizeof flat - strlen(flat), "%c", *at);
      else if (flat[0] && flat[strlen(flat) - 1] != ' ')
        snprintf(flat + strlen(flat), sizeof flat - strlen(flat), " ");
    if (flat[0]) flat[strlen(flat) - 1] = '\0';
    CHECKF(strcmp(flat, text) == 0, "'%s' became '%s'", text, flat);
    free(written);
  }
  unsetenv("COLUMNS");
}

static void test_reasons(void) {
  CASE("a reason is said once");
  static const char *const names[] = {"one", "two", "three", "four"};
  static const char *const reasons[] = {"no card", "not built", "no card", "no card"};
  char *written = NULL;
  size_t size;
  FILE *out = open_memstream(&written, &size);
  wr_text_reasons(out, "not available: ", names, reasons, 4);
  wr_text_reasons(out, "nothing: ", names, reasons, 0);
  fclose(out);
  CHECKF(strcmp(written, "not available: one, three, four: no card\nnot available: two: not built\n") == 0, "%s",
         written);
  free(written);
}

static void test_plural(void) {
  CASE("a count and its noun");
  static const int64_t many[] = {0, 2, 3, 11, 21, 101, 1000000, INT64_MAX, -1, INT64_MIN};
  CHECK(strcmp(wr_plural(1, "entry", "entries"), "entry") == 0);
  for (size_t k = 0; k < sizeof many / sizeof *many; k++)
    CHECK(strcmp(wr_plural(many[k], "entry", "entries"), "entries") == 0);
}

int main(void) {
  test_width();
  test_breaks();
  test_characters();
  test_any();
  test_reasons();
  test_plural();
  return wr_test_report("text");
}
