/* Lines in a text: runs of them, their numbers, words, and quotes of them in messages. */
#define _DEFAULT_SOURCE
#include "io/input_text.h"

#include "tests/check.h"
#include "tests/io/input_fixture.h"

static void check_line(const char *text, const char *line, size_t step) {
  wr_input_line found = wr_line_at(text, text + strlen(text));
  CHECKF((size_t)(found.end - found.begin) == strlen(line) && memcmp(found.begin, line, strlen(line)) == 0, "'%s'",
         text);
  CHECKF((size_t)(found.next - text) == step, "'%s': next after %d", text, (int)(found.next - text));
}

static void test_lines(void) {
  CASE("lines and words");
  check_line("abc\ndef", "abc", 4);
  check_line("abc\r\ndef", "abc", 5);
  check_line("abc\r\r\n", "abc\r", 6);
  check_line("a\rc\n", "a\rc", 4);
  check_line("abc", "abc", 3);
  check_line("abc\r", "abc", 4);
  check_line("\n\n", "", 1);
  check_line("", "", 0);
  const char *at = " \tone  two\t", *line_end = at + strlen(at), *word, *word_end;
  CHECK(wr_line_word(&at, line_end, &word, &word_end) && word_end - word == 3 && memcmp(word, "one", 3) == 0);
  CHECK(wr_line_word(&at, line_end, &word, &word_end) && word_end - word == 3 && memcmp(word, "two", 3) == 0);
  CHECK(!wr_line_word(&at, line_end, &word, &word_end) && !wr_line_word(&at, line_end, &word, &word_end));
  const char *real = "ReaLly";
  CHECK(wr_word_is(real, real, "") && !wr_word_is(real, real, "r"));
  CHECK(wr_word_is(real, real + 4, "real") && !wr_word_is(real, real + 4, "really") &&
        !wr_word_is(real, real + 5, "real"));
}

static void check_number(const char *bytes, int64_t offset, int64_t expected) {
  wr_text text;
  int64_t number = -1;
  CHECK_OK(wr_text_open(fixture_put("lines", bytes, strlen(bytes)), NULL, &text));
  CHECK_OK(wr_text_line_number(&text, offset, &number));
  CHECKF(number == expected, "line %lld at %lld, not %lld", (long long)number, (long long)offset, (long long)expected);
  wr_text_close(&text);
}

static void test_numbers(void) {
  CASE("numbers of lines");
  static const int64_t numbers[] = {1, 1, 1, 1, 2, 2, 2, 2, 3, 4, 4, 4, 4, 5}; /* of every place, and of the end */
  for (int64_t k = 0; k < 14; k++) check_number("one\ntwo\n\nfour", k, numbers[k]);
  check_number("one\n", 4, 2);
  check_number("", 0, 1);
  enum { MANY = 3 << 20 }; /* more than is read at a time */
  char *many = malloc(MANY + 1);
  for (int64_t k = 0; k < MANY; k++) many[k] = k % 7 == 3 || k % 11 == 0 ? '\n' : 'x';
  many[MANY] = 0;
  int64_t line = 1;
  for (int64_t k = 0; k < MANY - 1; k++) line += many[k] == '\n';
  check_number(many, MANY - 1, line);
  free(many);
}

/* Every run of every short text of newlines and letters, from a file and from memory, against a plain search. */
static void check_runs(const wr_text *text, const char *bytes) {
  wr_lines lines = {.capacity = 0};
  for (int64_t from = 0; from <= text->size; from++) {
    for (int64_t to = from; to <= text->size + 1; to++) {
      int64_t begin = from, end = 0;
      while (begin < to && begin < text->size && begin > 0 && bytes[begin - 1] != '\n') begin++;
      int none = begin >= to || begin >= text->size;
      for (int64_t k = begin; !none && k < text->size && (k < to || bytes[k - 1] != '\n'); k++) end = k + 1;
      CHECK_OK(wr_text_lines(text, from, to, &lines));
      CHECKF(none ? lines.begin == lines.end : lines.offset == begin && lines.end - lines.begin == end - begin,
             "'%s' [%d, %d): %d + %d, not [%d, %d)", bytes, (int)from, (int)to, (int)lines.offset,
             (int)(lines.end - lines.begin), (int)begin, (int)end);
    }
  }
  wr_lines_free(&lines);
}

static void test_runs(void) {
  CASE("runs of lines");
  for (int pattern = 0; pattern < 1 << 7; pattern++) {
    char bytes[8] = "";
    wr_text text;
    int length = 1 + pattern % 7;
    for (int k = 0; k < length; k++) bytes[k] = pattern >> k & 1 ? '\n' : 'a';
    CHECK_OK(wr_text_open(fixture_put("runs", bytes, (size_t)length), NULL, &text));
    check_runs(&text, bytes);
    wr_text_close(&text);
    wr_text memory = {.name = "memory", .size = length, .memory = bytes, .held = length, .file = -1};
    check_runs(&memory, bytes);
  }
}

static void test_quotes(void) {
  CASE("quotes and places");
  char quote[WR_QUOTE], where[WR_WHERE];
  const char *odd = "a\tb\x80\n", *longer = "0123456789012345678901234567890123456789012345678901234567890123456789";
  CHECKF(strcmp(wr_quote(odd, odd + 5, quote), "a\\x09b\\x80\\x0a") == 0, "%s", quote);
  CHECKF(strncmp(wr_quote(longer, longer + 70, quote), longer, 40) == 0 && strlen(quote) < 50, "%s", quote);
  CHECK(strcmp(quote + strlen(quote) - 3, "...") == 0);
  char every[60];
  memset(every, 1, sizeof every);
  CHECK(strlen(wr_quote(every, every + sizeof every, quote)) < WR_QUOTE);
  CHECK(strcmp(wr_where("a.mtx", 5000000000, where), "a.mtx:5000000000") == 0);
  char name[2000];
  memset(name, 'n', sizeof name - 1);
  memcpy(name + sizeof name - 5, ".mtx", 5);
  wr_where(name, 17, where);
  CHECKF(strncmp(where, "...nnn", 6) == 0 && strcmp(where + strlen(where) - 7, ".mtx:17") == 0, "%s", where);
}

int main(void) {
  fixture_begin();
  test_lines();
  test_numbers();
  test_runs();
  test_quotes();
  fixture_end();
  return wr_test_report("input_line");
}
