/* The reader's policy: the files of tests/data/bad with their verdicts, prefixes of good files, edges of sizes and counts,
 * and lines across the borders of chunks. */
#define _DEFAULT_SOURCE
#include "io/reader.h"

#include <omp.h>
#include <stdlib.h>

#include "config/memory.h"
#include "io/input_text.h"
#include "io/matrix_market.h"
#include "tests/check.h"
#include "tests/io/input_fixture.h"

#define REAL "%%MatrixMarket matrix coordinate real general\n"
#define INTEGER "%%MatrixMarket matrix coordinate integer general\n"

static wr_status read_with(const char *path, int threads, wr_triplets *t, wr_read_facts *facts) {
  wr_read_options options = {.threads = threads};
  return wr_read_triplets(path, &options, t, facts);
}

static wr_status read_text(const char *text, int threads, wr_triplets *t) {
  return read_with(fixture_put("text.mtx", text, strlen(text)), threads, t, NULL);
}

/* The text must be refused, with this behind the file's name. */
static void check_refused(const char *text, const char *why) {
  wr_triplets t;
  char expected[256];
  CHECK_FAILS(WR_EINPUT, read_text(text, 2, &t));
  snprintf(expected, sizeof expected, "text.mtx:%s", why);
  CHECK_MESSAGE(expected);
  CHECK(t.nchunks == 0 && t.chunks == NULL && t.nrows == 0);
}

static int64_t count_of(const wr_triplets *t) {
  int64_t count = 0;
  for (int64_t c = 0; c < t->nchunks; c++) count += t->chunks[c].count;
  return count;
}

/* Entry k in file order: its value, and where it is. */
static double entry(const wr_triplets *t, int64_t k, int32_t *row, int32_t *col) {
  int64_t c = 0;
  for (; k >= t->chunks[c].count; c++) k -= t->chunks[c].count;
  *row = t->chunks[c].row[k];
  *col = t->chunks[c].col[k];
  return t->chunks[c].val != NULL ? t->chunks[c].val[k] : 1;
}

static int value_is(const wr_csr *A, int64_t i, int64_t j, double value) {
  for (int64_t k = A->row_ptr[i - 1]; k < A->row_ptr[i]; k++)
    if (A->col[k] == j - 1) return (A->val != NULL ? A->val[k] : 1) == value;
  return 0;
}

/* What the remarks of some files add to the sum. */
static void check_remark(const char *name, const wr_csr *A) {
  if (strcmp(name, "duplicates.mtx") == 0) CHECK(value_is(A, 1, 1, 7));
  if (strcmp(name, "array_order.mtx") == 0) CHECK(value_is(A, 2, 1, 2) && value_is(A, 1, 2, 3));
  if (strcmp(name, "array_symmetric.mtx") == 0)
    CHECK(value_is(A, 3, 1, 3) && value_is(A, 1, 3, 3) && value_is(A, 2, 2, 4));
  if (strcmp(name, "value_underflow.mtx") == 0) CHECK(value_is(A, 2, 2, 0));
  if (strcmp(name, "value_40_digits.mtx") == 0) CHECK(value_is(A, 2, 2, 1.0 / 3));
  if (strcmp(name, "value_denormal.mtx") == 0)
    CHECK(value_is(A, 1, 1, 0x1p-1074) && value_is(A, 2, 2, -(0x1p-1022 - 0x1p-1074)));
  if (strcmp(name, "explicit_zeros.mtx") == 0)
    CHECK(value_is(A, 1, 1, 0) && value_is(A, 3, 1, 0) && value_is(A, 3, 3, 0));
}

static void check_accepted(const char *name, wr_triplets *t, const char *facts) {
  wr_csr *A;
  long long nrows = 0, ncols = 0, nnz = 0;
  double expected = 0, sum = 0;
  CHECKF(sscanf(facts, "%lld %lld %lld %lf", &nrows, &ncols, &nnz, &expected) == 4, "%s", facts);
  CHECK_OK(wr_csr_assemble(t, WR_DUPLICATES_SUM, &A, NULL));
  if (A == NULL) return;
  for (int64_t k = 0; k < A->nnz; k++) sum += A->val != NULL ? A->val[k] : 1;
  CHECKF(A->nrows == nrows && A->ncols == ncols && A->nnz == nnz && sum == expected, "%s: %lld x %lld, %lld, %.17g",
         name, (long long)A->nrows, (long long)A->ncols, (long long)A->nnz, sum);
  CHECK_OK(wr_csr_check(A));
  check_remark(name, A);
  wr_csr_free(A);
}

static void check_verdict(const char *name, const char *verdict, const char *line, const char *facts, int threads) {
  char path[600], begin[700];
  wr_triplets t;
  snprintf(path, sizeof path, "tests/data/bad/%s", name);
  snprintf(begin, sizeof begin, "%s:%s%s ", path, *line == '-' ? "" : line, *line == '-' ? "" : ":");
  wr_status status = read_with(path, threads, &t, NULL);
  if (strcmp(verdict, "accept") == 0) {
    CHECKF(status == WR_OK, "%s: %s", name, wr_status_message());
    if (status == WR_OK) check_accepted(name, &t, facts);
  } else {
    CHECKF(status == WR_EINPUT && strncmp(wr_status_message(), begin, strlen(begin)) == 0, "%s: %s: %s", name,
           wr_status_name(status), wr_status_message());
    CHECK(t.chunks == NULL);
  }
  wr_triplets_free(&t);
}

static int is_gzip(const char *name) { return strstr(name, ".gz") != NULL || strcmp(name, "gzip_content.mtx") == 0; }

static void test_verdicts(void) {
  CASE("tests/data/bad");
  char line[512], *field[4];
  int files = 0;
  FILE *table = fopen("tests/data/bad/EXPECTED.tsv", "r");
  CHECKF(table != NULL, "tests/data/bad/EXPECTED.tsv is missing: run from the repository's root");
  if (table == NULL) return;
  while (fgets(line, sizeof line, table) != NULL) {
    int fields = 0;
    for (char *at = line; fields < 4 && at != NULL; fields++) {
      field[fields] = at;
      at = strchr(at, '\t');
      if (at != NULL) *at++ = 0;
    }
    if (fields < 4 || strcmp(field[0], "file") == 0) continue;
    files++;
#ifndef WR_HAVE_ZLIB
    if (is_gzip(field[0])) {
      SKIP("%s: built without zlib", field[0]);
      continue;
    }
#else
    CHECK(is_gzip(field[0]) == (strstr(field[0], "gz") != NULL));
#endif
    for (int threads = 1; threads <= 3; threads++) check_verdict(field[0], field[1], field[2], field[3], threads);
  }
  fclose(table);
  CHECKF(files == 60, "%d files", files);
}

/* How many lines are not blank. */
static int64_t full_lines(const char *from) {
  int64_t count = 0;
  for (const char *at = from; *at != 0;) {
    size_t length = strcspn(at, "\n");
    count += strspn(at, " \t\r") < length;
    at += length + (at[length] != 0);
  }
  return count;
}

/* A prefix may be accepted only with all its entries, and only the last number of the last line may differ from the
 * whole's, as a missing last digit cannot be noticed. */
static void check_prefix(const char *text, const char *body, size_t length, int64_t nnz, const wr_triplets *whole) {
  wr_triplets t;
  char prefix[512];
  memcpy(prefix, text, length);
  prefix[length] = 0;
  wr_status status = read_text(prefix, 1, &t);
  if (status != WR_OK) {
    CHECKF(status == WR_EINPUT && t.chunks == NULL, "%zu bytes: %s", length, wr_status_message());
    return;
  }
  CHECKF(length >= (size_t)(body - text) && full_lines(prefix + (body - text)) == nnz, "%zu bytes of %s", length, text);
  CHECK(count_of(&t) == nnz);
  for (int64_t k = 0; k < nnz; k++) {
    int32_t i, j, row, col;
    double value = entry(&t, k, &i, &j), expected = entry(whole, k, &row, &col);
    CHECK(i == row && (k == nnz - 1 || (j == col && value == expected)));
  }
  wr_triplets_free(&t);
}

static void test_prefixes(void) {
  CASE("cut at every byte");
  static const char *const texts[] = {
      REAL "% c\n\n3 4 3\n1 1 1.25\n\n 3 4 -2e1 \n2 2 7\n\n",
      "%%MatrixMarket matrix coordinate pattern symmetric\r\n30 30 2\r\n20 10\r\n 30\t12\r\n",
      "%%MatrixMarket matrix coordinate integer skew-symmetric\n30 30 2\n20 10 5\n30 12 1234567890",
      "%%MatrixMarket matrix array real general\n2 2\n1.5\n2\n3\n4.25\n",
      "%%MatrixMarket matrix array integer symmetric\n2 2\n15\n2\n345678901\n"};
  for (size_t n = 0; n < sizeof texts / sizeof texts[0]; n++) {
    const char *text = texts[n], *body;
    wr_triplets whole;
    mm_header h;
    int64_t line;
    CHECK_OK(mm_parse_header("text", text, text + strlen(text), &h, &body, &line));
    CHECK_OK(read_text(text, 1, &whole));
    for (size_t length = 0; length < strlen(text); length++) check_prefix(text, body, length, h.nnz, &whole);
    wr_triplets_free(&whole);
  }
}

static void test_edges(void) {
  CASE("edges of sizes, counts and lines");
  check_refused(REAL "2147483648 1 1\n1 1 1\n", "2: more rows than the 2147483647 that a 32-bit");
  check_refused(REAL "1 9223372036854775807 1\n1 1 1\n", "2: more columns than");
  check_refused("%%MatrixMarket matrix array real general\n9223372036854775807 2\n1\n", "2: more values than 64 bits");
  check_refused("%%MatrixMarket matrix array real general\n2000000000 2000000000\n1\n", "4: the file ends after 1 of");
  check_refused(REAL "3 3 9223372036854775807\n1 1 1\n\n\n", "6: the file ends after 1 of 9223372036854775807");
  check_refused(REAL "3 3 2\n1 1 1", "4: the file ends after 1 of 2 entries");
  check_refused(REAL "3 3 0\n\n 1 1 1\n", "4: more entries than the 0");
  check_refused(REAL "3 3 1\n1 1 1\n2 2 x\n", "4: the value is not a number ('x')");
  check_refused(REAL "3 3 1\n1 1 1\n2 2 2\n3 3 x\n", "4: more entries than the 1");
  check_refused(REAL "3 3 1\n1 1 1\n\x1a", "4: the row index is not an integer ('\\x1a')");
  check_refused(REAL "3 3 2\r1 1 1\r2 2 2\r", "2: ");
  check_refused("%%MatrixMarket matrix coordinate real general\r3 3 1\r1 1 1\r", "1: a carriage return");
  check_refused(REAL "3 3 2\n1 1 1\r2 2 2\n", "3: a carriage return");
  check_refused(REAL "3 3 1\n1 1 1\r\r\n", "3: a carriage return");
  check_refused(REAL "3 3 1\n1\v1 1\n", "3: ");
  check_refused("%%MatrixMarket matrix array real general\n2 1\n1 2\n", "3: one word too many ('2')");
  check_refused(INTEGER "2 2 1\n1 1 9223372036854775808\n", "3: the integer is beyond 64 bits (9223372036854775808)");
  check_refused("%%MatrixMarket matrix array real skew-symmetric\n1 1\n0\n", "3: more entries than the 0");
  check_refused("%%MatrixMarket matrix array pattern general\n1 1\n", "1: there is no such kind");
  wr_triplets t;
  CHECK_OK(read_text(INTEGER "2147483647 2147483647 1\n2147483647 +2147483647 9223372036854775807\n", 1, &t));
  int32_t i, j;
  CHECK(entry(&t, 0, &i, &j) == 0x1p63 && i == 2147483646 && j == 2147483646);
  wr_triplets_free(&t);
  CHECK_OK(wr_read_triplets(fixture_path("text.mtx"), NULL, &t, NULL));
  CHECK(count_of(&t) == 1 && t.nrows == 2147483647 && t.symmetry == WR_GENERAL);
  wr_triplets_free(&t);
}

static void test_long_lines(void) {
  CASE("very long lines");
  enum { LONG = 300000 };
  char *text = malloc(LONG + 200);
  wr_triplets t;
  int head = snprintf(text, 200, "%s5 5 2\n3", REAL);
  memset(text + head, ' ', LONG);
  snprintf(text + head + LONG, 100, "4\t2.5\n5 5 1\n");
  CHECK_OK(read_text(text, 3, &t));
  int32_t i = 0, j = 0;
  CHECK(count_of(&t) == 2 && entry(&t, 0, &i, &j) == 2.5 && i == 2 && j == 3);
  CHECK(entry(&t, 1, &i, &j) == 1 && i == 4 && j == 4);
  wr_triplets_free(&t);
  memset(text + head, '7', LONG);
  CHECK_FAILS(WR_EINPUT, read_text(text, 3, &t));
  CHECK_MESSAGE("text.mtx:3: the row index is beyond 64 bits (3777");
  free(text);
}

static void check_nonnegative(const char *text, const char *why) {
  wr_triplets t;
  wr_read_options options = {.nonnegative = 1};
  wr_status status = wr_read_triplets(fixture_put("text.mtx", text, strlen(text)), &options, &t, NULL);
  CHECKF(status == (why ? WR_EINPUT : WR_OK), "%s: %s", text, wr_status_message());
  if (why) CHECK_MESSAGE(why);
  wr_triplets_free(&t);
}

static void test_nonnegative(void) {
  CASE("no negative values");
  check_nonnegative(REAL "2 2 2\n1 1 0\n2 2 -0\n", NULL);
  check_nonnegative(REAL "2 2 2\n1 1 1\n2 2 -1e-300\n", "text.mtx:4: a negative value");
  check_nonnegative("%%MatrixMarket matrix array integer general\n2 1\n1\n-2\n", "text.mtx:4: a negative value");
#define SKEW "%%MatrixMarket matrix coordinate real skew-symmetric\n"
  check_nonnegative(SKEW "2 2 1\n2 1 0\n", NULL);
  check_nonnegative(SKEW "2 2 1\n2 1 3\n", "text.mtx:3: its mirror image");
}

/* The first line with a value that f64 does not hold; 0: none. */
static void test_inexact(void) {
  CASE("values that f64 does not hold");
  static const struct {
    const char *field, *value;
    int64_t line;
  } cases[] = {{"real", "1e-400", 4},           {"real", "-0.00001e-320", 4},   {"real", "4.9e-324", 0},
               {"real", "0e-400", 0},           {"real", "-0.0", 0},            {"real", "9007199254740993", 0},
               {"real", "2e-324", 4},           {"real", "000.100e-400", 4},    {"integer", "9007199254740992", 0},
               {"integer", "9007199254740993", 4},    {"integer", "-9007199254740993", 4},
               {"integer", "9007199254740994", 0},    {"integer", "9223372036854775807", 4},
               {"integer", "-9223372036854775808", 0}, {"integer", "-0", 0}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    char text[200];
    wr_triplets t;
    wr_read_facts facts;
    snprintf(text, sizeof text, "%%%%MatrixMarket matrix coordinate %s general\n2 2 3\n1 1 1\n1 2 %s\n2 2 %s\n",
             cases[k].field, cases[k].value, cases[k].value);
    CHECK_OK(read_with(fixture_put("text.mtx", text, strlen(text)), 2, &t, &facts));
    CHECKF(facts.inexact_line == cases[k].line, "%s: line %lld", cases[k].value, (long long)facts.inexact_line);
    wr_triplets_free(&t);
  }
}

static void test_facts(void) {
  CASE("facts");
  wr_triplets t;
  wr_read_facts facts;
  const char *text = "%%MatrixMarket MATRIX coordinate Pattern symmetric\n3 3 2\n2 1\n3 3\n";
  CHECK_OK(read_with(fixture_put("text.mtx", text, strlen(text)), 2, &t, &facts));
  CHECK(facts.bytes == (int64_t)strlen(text) && facts.stored == 2 && !facts.compressed);
  CHECKF(strcmp(facts.kind, "coordinate pattern symmetric") == 0, "%s", facts.kind);
  CHECK(t.symmetry == WR_SYMMETRIC && t.nchunks > 0 && t.chunks[0].val == NULL);
  wr_triplets_free(&t);
}

/* ---- shares ---- */

enum { MOST_SHARES = 9 };

typedef struct shares {
  int64_t entries[MOST_SHARES];
  int share, count;
} shares;

static wr_status note_entries(void *of, int64_t entries, int64_t *before, int64_t *all) {
  shares *s = of;
  s->entries[s->share] = entries;
  *before = *all = 0;
  for (int k = 0; k < s->count; k++) *before += k < s->share ? s->entries[k] : 0, *all += s->entries[k];
  return WR_OK;
}

static wr_status read_share(const char *path, shares *s, int share, wr_triplets *t) {
  const wr_read_share of = {.index = share, .count = s->count, .join = note_entries, .context = s};
  s->share = share;
  return wr_read_triplets(path, &(wr_read_options){.threads = 2, .share = &of}, t, NULL);
}

/* The shares of a file, in order, are the file's entries; or the first that fails says what the whole file's reader says. */
static void check_shares_of(const char *path, int most) {
  wr_triplets whole;
  char said[256] = "";
  wr_status expected = read_with(path, 2, &whole, NULL);
  if (expected != WR_OK) snprintf(said, sizeof said, "%s", wr_status_message());
  for (int count = 1; count <= most; count++) {
    shares s = {.count = count};
    wr_triplets t;
    wr_status status = WR_OK;
    int64_t at = 0;
    for (int share = 0; share < count; share++) { /* the numbers of entries, as all together know them */
      (void)read_share(path, &s, share, &t);
      wr_triplets_free(&t);
    }
    for (int share = 0; share < count && status == WR_OK; share++) {
      status = read_share(path, &s, share, &t);
      for (int64_t k = 0; expected == WR_OK && status == WR_OK && k < count_of(&t); k++, at++) {
        int32_t i, j, of_i, of_j;
        double value = entry(&t, k, &i, &j), of_value = entry(&whole, at, &of_i, &of_j);
        CHECKF(value == of_value && i == of_i && j == of_j, "%d shares: entry %lld", count, (long long)at);
      }
      wr_triplets_free(&t);
    }
    CHECKF(status == expected, "%d shares: %d instead of %d", count, (int)status, (int)expected);
    if (expected == WR_OK) CHECKF(at == count_of(&whole), "%d shares: %lld entries", count, (long long)at);
    if (expected != WR_OK) CHECK_MESSAGE(said);
  }
  wr_triplets_free(&whole);
}

static void check_shares(const char *text) {
  check_shares_of(fixture_put("text.mtx", text, strlen(text)), MOST_SHARES);
#ifdef WR_HAVE_ZLIB
  check_shares_of(fixture_put_gzip("text.mtx.gz", text, strlen(text)), MOST_SHARES);
#endif
}

#ifdef WR_HAVE_ZLIB

/* Of a compressed text that is longer than what is held of it at the beginning; one line, counted from 0, is another. */
static void check_packed_shares(int declared, int line, const char *other) {
  enum { ENTRIES = 90000, LINE = 32 };
  char *text = malloc((ENTRIES + 4) * LINE), *at = text;
  at += snprintf(at, 4 * LINE, REAL "%d %d %d\n", ENTRIES, ENTRIES, declared);
  for (int k = 0; k < ENTRIES; k++)
    at += k == line ? snprintf(at, LINE, "%s\n", other)
                    : snprintf(at, LINE, "%d %d %d.25\n", k + 1, ENTRIES - k, k % 1000);
  CHECK(at - text > 3 << 19);
  check_shares_of(fixture_put_gzip("text.mtx.gz", text, (size_t)(at - text)), 3);
  free(text);
}

static void test_packed_shares(void) {
  CASE("shares of a long compressed text");
  check_packed_shares(90000, -1, "");
  check_packed_shares(89999, 60001, "");
  check_packed_shares(90000, 60001, "1 2 x");
  check_packed_shares(90000, 89999, "1 2");
  check_packed_shares(90001, -1, "");
  check_packed_shares(60000, -1, "");
}

#else

static void test_packed_shares(void) {}

#endif

static void test_shares(void) {
  CASE("shares");
  check_shares(REAL "4 4 5\n1 1 1\n2 2 2.25\n\n\n3 3 3\n  4 4 4\r\n4 1 -5\n\n");
  check_shares(REAL "4 4 2\n1 1 1\n2 2 2");
  check_shares("%%MatrixMarket matrix array real symmetric\n3 3\n1\n2\n3\n4\n5\n6\n");
  check_shares(REAL "4 4 5\n1 1 1\n2 2 2\n3 3 x\n4 4 4\n5 1 5\n");
  check_shares(REAL "4 4 5\n1 1 1\n2 2 2\n3 3 3\n4 4 4\n");
  check_shares(REAL "4 4 3\n1 1 1\n2 2 2\n3 3 3\n4 4 4\n5 5 x\n");
  check_shares(REAL "4 4 0\n\n\n\n");
}

static void test_no_memory(void) {
  CASE("no memory");
  int failures = 0;
  const char *path = fixture_put("text.mtx", REAL "3 3 2\n1 1 1\n2 2 2\n", strlen(REAL) + 18);
  for (int allowed = 0; allowed < 100; allowed++) {
    wr_triplets t;
    fixture_fail_after(allowed);
    wr_status status = read_with(path, 2, &t, NULL);
    fixture_fail_never();
    if (status == WR_OK) CHECK(count_of(&t) == 2);
    wr_triplets_free(&t);
    if (status == WR_OK) break;
    failures++;
    CHECKF(status == WR_ENOMEM, "%s", wr_status_message());
  }
  CHECKF(failures == 7, "%d failures: the header's lines, parts, chunks, three arrays, a part's lines", failures);
}

int main(void) {
  fixture_begin();
  test_verdicts();
  test_prefixes();
  test_edges();
  test_long_lines();
  test_nonnegative();
  test_facts();
  test_inexact();
  test_shares();
  test_packed_shares();
  test_no_memory();
  fixture_end();
  return wr_test_report("reader");
}
