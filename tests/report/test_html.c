#define _DEFAULT_SOURCE /* open_memstream */
#include "solvers/report/html.h"

#include <stdlib.h>
#include <string.h>

#include "config/text.h"
#include "solvers/report/chart.h"
#include "solvers/report/writer.h"
#include "tests/check.h"

static char *written; /* by the last call; freed by the next one */

static FILE *stream(void) {
  static size_t size;
  free(written);
  written = NULL;
  return open_memstream(&written, &size);
}

static const char *escaped(const char *text) {
  FILE *file = stream();
  wr_html_text(file, text);
  fclose(file);
  return written;
}

static void test_text(void) {
  CASE("text");
  CHECK(strcmp(escaped(""), "") == 0);
  CHECK(strcmp(escaped("a <b> & \"c\" 'd'"), "a &lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;") == 0);
  CHECK(strcmp(escaped("gr\u00fc\u00df \u20ac \U0001F600"), "gr\u00fc\u00df \u20ac \U0001F600") == 0);
  CHECK(strcmp(escaped("a\nb\tc\x1b[0m\x7f"), "a&#x240A;b&#x2409;c&#x241B;[0m&#x2421;") == 0);
  CHECK(strcmp(escaped("\xff\xc3(\xe2\x82"), "&#xFFFD;&#xFFFD;(&#xFFFD;&#xFFFD;") == 0); /* no UTF-8, also cut off */
  CHECK(strcmp(escaped("\xc0\xbc\xed\xa0\x80"), "&#xFFFD;&#xFFFD;&#xFFFD;&#xFFFD;&#xFFFD;") == 0); /* overlong, surrogate */
  CHECK(strcmp(escaped("\xc2\x85\u202e\u2066\u2028\ufffe\ufdd0\U0001ffff"),
               "&#xFFFD;&#xFFFD;&#xFFFD;&#xFFFD;&#xFFFD;&#xFFFD;&#xFFFD;") == 0);
}

static const char *sentence(const char *text) {
  FILE *file = stream();
  wr_html_sentence(file, text);
  fclose(file);
  return written;
}

static void test_sentence(void) {
  CASE("sentences");
  CHECK(strcmp(sentence(""), "") == 0);
  CHECK(strcmp(sentence(" a  <b> "), " a  &lt;b&gt; ") == 0);
  CHECK(strcmp(sentence("(asked for 1e-8)"), "(asked for <span class=\"whole\">1e-8)</span>") == 0);
  const char *longer = "a-name-that-is-longer-than-a-line-of-a-telephone";
  CHECK(strcmp(sentence(longer), longer) == 0);
  /* not cut within a character */
  const char *accents = "\u00e4\u00f6\u00fc\u00e4\u00f6\u00fc\u00e4\u00f6\u00fc\u00e4\u00f6x\u00fc\u00e4\u00f6\u00fc";
  CHECK(strcmp(sentence(accents), accents) == 0);
}

static void test_print(void) {
  CASE("formatted text that is too long");
  char text[5001];
  memset(text, '<', sizeof text - 1);
  text[sizeof text - 1] = '\0';
  FILE *file = stream();
  wr_html_print(file, "%s", text);
  fclose(file);
  CHECK(strlen(written) == 4000 * strlen("&lt;"));
}

/* The same calls as text and as HTML. */
static void write_all(wr_writer *writer) {
  wr_line line = {0};
  wr_line_add(&line, "a < b");
  wr_writer_paragraph(writer, &line);
  wr_writer_item(writer, "times", &line);
  wr_writer_item(writer, "", &line);
  wr_writer_command(writer, "x > y");
  wr_writer_gap(writer);
  wr_writer_paragraph(writer, &line);
  wr_writer_end(writer);
  wr_writer_end(writer);
}

static void test_writer(void) {
  CASE("a writer");
  wr_writer text = {.file = stream()};
  write_all(&text);
  fclose(text.file);
  CHECK(strcmp(written, "a < b\n  times     a < b\n            a < b\n            x > y\n\na < b\n") == 0);
  wr_writer page = {.file = stream(), .is_html = 1};
  write_all(&page);
  fclose(page.file);
  CHECK(strcmp(written, "<p>a &lt; b</p>\n<dl>\n<dt>times</dt><dd>a &lt; b</dd>\n<dd>a &lt; b</dd>\n"
                        "<dd><code>x &gt; y</code></dd>\n</dl>\n<p>a &lt; b</p>\n") == 0);
}

/* Axes have the values between their ends, also for ranges that are a point, or all of double. */
static void test_axes(void) {
  CASE("axes");
  static const double values[] = {1e-300, 1e-10, 0.3, 1, 10, 999, 1e5, 1e300};
  for (size_t a = 0; a < sizeof values / sizeof *values; a++)
    for (size_t b = a; b < sizeof values / sizeof *values; b++) {
      wr_axis axis = wr_axis_log("", values[a], values[b]);
      CHECK(axis.to >= axis.from + 1 && axis.from == (int)axis.from && axis.to == (int)axis.to);
      CHECK(values[a] >= 0.999 * __builtin_pow(10, axis.from) && values[b] <= 1.001 * __builtin_pow(10, axis.to));
      const wr_chart chart = {.file = stream(), .x = wr_axis_linear("x", values[b]), .y = axis};
      wr_chart_begin(&chart, "a chart");
      wr_chart_end(&chart);
      fclose(chart.file);
      int ticks = 0;
      for (const char *at = written; (at = strstr(at, "class=\"tick\"")); at++) ticks++;
      CHECK(ticks >= 3 && ticks <= 16 && strstr(written, "nan") == NULL && strstr(written, "inf") == NULL);
    }
}

int main(void) {
  test_text();
  test_sentence();
  test_print();
  test_writer();
  test_axes();
  free(written);
  return wr_test_report("html");
}
