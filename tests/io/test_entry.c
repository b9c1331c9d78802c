/* Lines of entries: whatever the fast parser takes, the careful one takes too and reads as the same; usual lines are taken
 * by the fast one. And files of many chunks: lines across their borders, and which of several defects is reported. */
#define _DEFAULT_SOURCE
#include "io/entry.h"

#include <inttypes.h>
#include <stdlib.h>

#include "io/reader.h"
#include "tests/check.h"
#include "tests/io/input_fixture.h"

static uint64_t random_state = 3;

static uint64_t random_bits(void) { /* splitmix64 */
  uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return z ^ z >> 31;
}

static int below(int64_t limit) { return (int)(random_bits() % (uint64_t)limit); }

/* One entry read by the fast parser, out of a block that ends where the text does. 1 if it took the line. */
static int scan_one(const wr_entry_format *f, const char *text, size_t length, wr_entry *entry, size_t *taken) {
  int32_t row = -1, col = -1;
  double val = 1;
  wr_triplet_chunk chunk = {.capacity = 1, .row = &row, .col = &col, .val = f->pattern ? NULL : &val};
  char *block = malloc(length + (length == 0));
  memcpy(block, text, length);
  *taken = (size_t)(wr_entries_scan(f, block, block + length, &chunk) - block);
  free(block);
  *entry = (wr_entry){.row = row, .col = col, .value = val};
  return (int)chunk.count;
}

static int same_entry(const wr_entry *a, const wr_entry *b) {
  return a->row == b->row && a->col == b->col && memcmp(&a->value, &b->value, sizeof a->value) == 0;
}

/* Both parsers on one line. Returns 1 if the fast one took it. */
static int compare(const wr_entry_format *f, const char *text, size_t length) {
  wr_entry fast, careful;
  size_t taken;
  wr_input_line line = wr_line_at(text, text + length);
  int took = scan_one(f, text, length, &fast, &taken);
  CHECKF(took == (taken > 0), "'%.*s'", (int)length, text);
  if (!took) return 0;
  CHECKF(!wr_line_is_blank(&line) && wr_entry_parse(f, &line, "line", &careful) == WR_OK, "'%.*s': %s", (int)length,
         text, wr_status_message());
  CHECKF(taken == (size_t)(line.next - text) && same_entry(&fast, &careful), "'%.*s': %lld %lld %a, not %lld %lld %a",
         (int)length, text, (long long)fast.row, (long long)fast.col, fast.value, (long long)careful.row,
         (long long)careful.col, careful.value);
  CHECKF(!careful.is_inexact, "'%.*s'", (int)length, text);
  return 1;
}

static wr_entry_format random_format(void) {
  wr_entry_format f = {.coordinate = below(4) != 0};
  f.nonnegative = below(4) == 0;
  f.nrows = 1 + below(30);
  f.ncols = 1 + below(30);
  f.symmetry = (wr_symmetry)below(3);
  f.pattern = f.coordinate && f.symmetry != WR_SKEW_SYMMETRIC && below(3) == 0;
  f.integer = !f.pattern && below(3) == 0;
  if (below(3) == 0) f.nrows = f.ncols = INT32_MAX;
  return f;
}

/* A line that is nearly always right for the format, in one of many spellings. */
static int random_line(const wr_entry_format *f, char *text, size_t room) {
  static const char *const blanks[] = {" ", " ", "\t", "  ", " \t "};
  static const char *const ends[] = {"\n", "\n", "\r\n", " \n", "\t\r\n"};
  static const char *const formats[] = {"%.3g", "%.17g", "%.13e", "%f", "%.0f.", "%+g", "%.25e", "%E"};
  double value = (double)(int64_t)random_bits();
  value /= (double)(1 + random_bits() % 1000000000);
  int64_t number = (int64_t)random_bits();
  number >>= below(64);
  int row = 1 + below(f->nrows), col = 1 + below(f->ncols), used = 0;
  if (below(8) == 0) text[used++] = ' ';
  if (f->coordinate) {
    used += snprintf(text + used, room - (size_t)used, "%s%d", below(20) == 0 ? "00" : "", row);
    used += snprintf(text + used, room - (size_t)used, "%s%d", blanks[below(5)], col);
    if (!f->pattern) used += snprintf(text + used, room - (size_t)used, "%s", blanks[below(5)]);
  }
  if (f->integer)
    used += snprintf(text + used, room - (size_t)used, "%" PRId64, number);
  else if (!f->pattern)
    used += snprintf(text + used, room - (size_t)used, formats[below(8)], value);
  return used + snprintf(text + used, room - (size_t)used, "%s", ends[below(5)]);
}

static void test_parsers(void) {
  CASE("two parsers");
  static const char odd[] = "0123456789 .-+eEdD\t\r\n%x\0";
  int taken = 0, taken_odd = 0;
  enum { LINES = 60000 };
  for (int k = 0; k < LINES; k++) {
    wr_entry_format f = random_format();
    char text[256];
    int length = random_line(&f, text, sizeof text);
    taken += compare(&f, text, (size_t)length);
    for (int change = below(3); change >= 0; change--) {
      int at = below(length);
      text[at] = odd[below((int)sizeof odd - 1)];
    }
    taken_odd += compare(&f, text, (size_t)(below(4) == 0 ? 1 + below(length) : length));
  }
  CHECKF(taken > LINES / 4, "the fast parser took just %d lines", taken);
  CHECKF(taken_odd > LINES / 50, "the fast parser took just %d changed lines", taken_odd);
}

/* Lines as programs write them must be read by the fast parser. */
static void test_usual_lines(void) {
  CASE("usual lines");
  static const wr_entry_format real = {.coordinate = 1, .nrows = 9999999, .ncols = 9999999};
  static const wr_entry_format pattern = {.coordinate = 1, .pattern = 1, .nrows = 9999999, .ncols = 9999999};
  static const wr_entry_format integer = {.coordinate = 1, .integer = 1, .nrows = 9999999, .ncols = 9999999};
  static const wr_entry_format array = {.nrows = 99, .ncols = 1};
  static const struct {
    const wr_entry_format *format;
    const char *text;
    wr_entry entry;
  } lines[] = {{&real, "1 1 1\n", {0, 0, 1, 0}},
               {&real, "2 1  1.6287119000000e+04\n", {1, 0, 16287.119, 0}},
               {&real, "131 1 0.17894386746670321E+00\r\n", {130, 0, 0.17894386746670321, 0}},
               {&real, "9999999\t9999998 -1.5 \n", {9999998, 9999997, -1.5, 0}},
               {&pattern, "12345 7\n", {12344, 6, 1, 0}},
               {&integer, "  3   4   -5\n", {2, 3, -5, 0}},
               {&array, " 0.0000000000000e+00\n", {0, 0, 0, 0}},
               {&array, "-2.3401143219373e-13\n", {0, 0, -2.3401143219373e-13, 0}}};
  for (size_t k = 0; k < sizeof lines / sizeof lines[0]; k++) {
    wr_entry entry;
    size_t taken;
    int took = scan_one(lines[k].format, lines[k].text, strlen(lines[k].text), &entry, &taken);
    CHECKF(took && same_entry(&entry, &lines[k].entry), "%s", lines[k].text);
  }
}

enum { ENTRIES = 4000, SIZE = 100000 };

typedef struct many {
  int32_t row[ENTRIES], col[ENTRIES];
  double val[ENTRIES];
  char *text; /* lines of 6 to 60 characters, more than a hundred thousand in all; or wider ones */
  size_t length;
  int wider; /* by how many blanks at the end of each: so that a part is read in several runs */
} many;

enum { WIDER = 800 };

/* `shift` blanks on a line of their own come first and move all others across the chunks' borders. */
static void write_many(many *m, int shift, int64_t declared) {
  char *at = m->text;
  at += snprintf(at, 200, "%%%%MatrixMarket matrix coordinate real general\n%d %d %" PRId64 "\n", SIZE, SIZE, declared);
  at += snprintf(at, 200, "%*s\n", shift, "");
  random_state = 11;
  for (int k = 0; k < ENTRIES; k++) {
    int width = 1 + below(12), shorter = below(17), fewer = below(64), blank = below(9) == 0;
    m->row[k] = below(SIZE);
    m->col[k] = below(SIZE) >> shorter;
    m->val[k] = (double)(random_bits() >> fewer);
    at += snprintf(at, 200, "%d %*d %.17g", m->row[k] + 1, width, m->col[k] + 1, m->val[k]);
    at += snprintf(at, WIDER + 2, "%*s\n", m->wider, "");
    if (blank) at += snprintf(at, 200, " \t\n");
  }
  m->length = (size_t)(at - m->text);
}

static int is_same(const many *m, const wr_triplets *t) {
  int64_t k = 0;
  for (int64_t c = 0; c < t->nchunks; c++) {
    const wr_triplet_chunk *chunk = &t->chunks[c];
    for (int64_t n = 0; n < chunk->count; n++, k++) {
      if (k >= ENTRIES || chunk->row[n] != m->row[k] || chunk->col[n] != m->col[k] || chunk->val[n] != m->val[k])
        return 0;
    }
  }
  return k == ENTRIES;
}

static void test_borders(many *m) {
  CASE("borders of chunks");
  for (int shift = 0; shift < 80; shift++) {
    wr_triplets t;
    wr_read_options options = {.threads = 1 + shift % 5};
    m->wider = shift < 70 ? 0 : WIDER - shift;
    write_many(m, shift, ENTRIES);
    CHECK_OK(wr_read_triplets(fixture_put("many.mtx", m->text, m->length), &options, &t, NULL));
    CHECKF(t.nchunks > 4 && is_same(m, &t), "%lld chunks, moved by %d", (long long)t.nchunks, shift);
    wr_triplets_free(&t);
  }
  m->wider = 0;
}

/* Line n of the text. */
static char *line_of(many *m, int n) {
  char *at = m->text;
  while (--n > 0) at = strchr(at, '\n') + 1;
  return at;
}

static void check_defect(many *m, int line) {
  for (int threads = 1; threads <= 4; threads++) {
    wr_triplets t;
    char where[64];
    wr_read_options options = {.threads = threads};
    snprintf(where, sizeof where, "many.mtx:%d: ", line);
    CHECK_FAILS(WR_EINPUT, wr_read_triplets(fixture_put("many.mtx", m->text, m->length), &options, &t, NULL));
    CHECK_MESSAGE(where);
    CHECK(t.chunks == NULL);
  }
}

static void test_earliest(many *m) {
  CASE("the defect on the earliest line");
  for (int k = 0; k < 20; k++) {
    int first = 4 + below(ENTRIES - 10), second = first + 1 + below(ENTRIES - first - 2);
    write_many(m, 0, ENTRIES);
    *line_of(m, second) = 'x';
    *line_of(m, first) = 'y';
    check_defect(m, first);
  }
  write_many(m, 0, ENTRIES + 1);
  int lines = 0;
  for (size_t k = 0; k < m->length; k++) lines += m->text[k] == '\n';
  check_defect(m, lines + 1); /* too few, after the last line */
  *line_of(m, 50) = 'x';
  check_defect(m, 50);
}

/* More entries than declared: the first one too many, unless a defect comes before it. */
static void test_surplus(many *m) {
  CASE("too many entries");
  for (int declared = 0; declared < ENTRIES; declared += 211) {
    m->wider = declared % 4 == 0 ? WIDER : 0;
    write_many(m, 0, declared);
    int seen = 0, line = 4;
    for (const char *at = line_of(m, line);; line++, at = strchr(at, '\n') + 1) {
      wr_input_line here = wr_line_at(at, m->text + m->length);
      seen += !wr_line_is_blank(&here);
      if (seen > declared) break;
    }
    check_defect(m, line);
    *line_of(m, 4) = 'x'; /* too: itself one too many when none is declared */
    check_defect(m, 4);
  }
  m->wider = 0;
}

/* Values of an array get their places from their number, chunk by chunk. */
static void test_arrays(many *m) {
  CASE("arrays of many chunks");
  static const struct {
    const char *kind;
    int n;
    wr_symmetry symmetry;
  } kinds[] = {
      {"general", 150, WR_GENERAL}, {"symmetric", 211, WR_SYMMETRIC}, {"skew-symmetric", 212, WR_SKEW_SYMMETRIC}};
  for (int k = 0; k < 3; k++) {
    int n = kinds[k].n;
    char *at =
        m->text + snprintf(m->text, 200, "%%%%MatrixMarket matrix array integer %s\n%d %d\n", kinds[k].kind, n, n);
    for (int j = 0; j < n; j++)
      for (int i = k == 0 ? 0 : j + k - 1; i < n; i++) at += snprintf(at, 200, "%d\n", i * 1000 + j);
    wr_triplets t;
    wr_read_options options = {.threads = 3};
    int64_t count = 0, wrong = 0;
    CHECK_OK(wr_read_triplets(fixture_put("many.mtx", m->text, (size_t)(at - m->text)), &options, &t, NULL));
    CHECKF(t.nchunks > 4 && t.symmetry == kinds[k].symmetry, "%lld chunks", (long long)t.nchunks);
    for (int64_t c = 0; c < t.nchunks; c++)
      for (int64_t e = 0; e < t.chunks[c].count; e++, count++)
        wrong += t.chunks[c].val[e] != t.chunks[c].row[e] * 1000.0 + t.chunks[c].col[e];
    CHECKF(wrong == 0, "%s: %lld of %lld values are in a wrong place", kinds[k].kind, (long long)wrong,
           (long long)count);
    wr_triplets_free(&t);
  }
}

int main(void) {
  static many m;
  fixture_begin();
  m.text = malloc((size_t)ENTRIES * (WIDER + 100));
  test_parsers();
  test_usual_lines();
  test_borders(&m);
  test_earliest(&m);
  test_surplus(&m);
  test_arrays(&m);
  free(m.text);
  fixture_end();
  return wr_test_report("entry");
}
