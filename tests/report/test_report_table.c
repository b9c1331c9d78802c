/* The comparison: cells, marks, the summary, and the columns that fit the width of the stream, which no line exceeds. */
#define _DEFAULT_SOURCE /* setenv */
#include <float.h>
#include <stdint.h>

#include "solvers/report/report.h"
#include "tests/check.h"
#include "tests/report/report_fixture.h"

static char *table_of(const wr_problem_facts *problem, const wr_run *runs, int count) {
  FILE *file = tmpfile();
  wr_report_table(&(wr_writer){.file = file}, problem, runs, count);
  char *text = fixture_text(file);
  CHECKF(fixture_lines_fit(text), "%s", text);
  return text;
}

static char *table(const wr_run *runs, int count) {
  wr_problem_facts problem = fixture_problem("pagerank");
  return table_of(&problem, runs, count);
}

/* The words of the line that begins with this name, single blanks between; "" if there is none. */
static const char *row(const char *text, const char *name) {
  static char words[256];
  words[0] = '\0';
  for (const char *line = text; *line; line += strcspn(line, "\n") + 1) {
    if (strncmp(line, name, strlen(name)) != 0 || line[strlen(name)] != ' ') continue;
    snprintf(words, sizeof words, "%.*s", (int)strcspn(line, "\n"), line);
    return fixture_flat(words);
  }
  return words;
}

#define CHECK_ROW(text, name, expected) \
  CHECKF(strcmp(row(text, name), expected) == 0, "'%s' of\n%s", row(text, name), text)

static void test_cells(void) {
  CASE("a table");
  fixture_set_width(100);
  wr_run runs[] = {
      fixture_run(&fixture_reference, 0, 11, 0.2),
      fixture_run(&fixture_cusparse, 0.0625, 0.5, 0x1p-8),
      fixture_run(&fixture_cpu_csr, 0.125, 0.242, 0x1p-9),
      fixture_absent(&fixture_cusparse_coo, "this build has no CUDA: install nvcc 12.4 or newer and build again, then "
                                            "it will be there, and the list of backends shows it as available"),
  };
  SET_TEXT(runs[1].knobs, "alg=2:layout=paper");
  runs[0].difference = 0;
  runs[1].difference = 3.125e-15;
  runs[2].difference = 2e-15;
  runs[0].info.extra_bytes = 0, runs[0].info.borrowed_bytes = 40000000;
  runs[2].read_bandwidth = 0;
  char *text = table(runs, 4);
  CHECK_ROW(text, "reference", "reference 0 s 200000 54 11.0 s 12.0 s 40.0 MB 50% 0.02x never");
  CHECK_ROW(text, "cusparse:alg=2", "cusparse:alg=2 62.5 ms 3906 54 500 ms 1.56 s 1.50 GB 50% 1.00x -");
  /* (1/8 - 1/16) / (1/256 - 1/512) = 32 */
  CHECK_ROW(text, "cpu_csr", "cpu_csr 125 ms 1953 54 242 ms 1.37 s 1.50 GB - 2.00x 32 of 55");
  CHECK_LACKS(text, "\ncusparse_coo ");
  CHECK_LACKS(text, "not shown");
  CASE("the lines below");
  fixture_flat(text);
  CHECK_HAS(text, "pagerank to 1e-9 on web.mtx in f64: coordinate pattern general, 281903 x 281903, 2.31 M nonzeros ");
  CHECK_HAS(text,
            " not available: cusparse_coo: this build has no CUDA: install nvcc 12.4 or newer and build again, then "
            "it will be there, and the list of backends shows it as available ");
  CHECK_HAS(text, "answers differ by at most 3.13e-15 (L1 norm), cusparse:alg=2's from reference's ");
  CHECK_HAS(text, "baseline: cusparse:alg=2, the cusparse format with the least total ");
  CHECK_HAS(text, "cpu_csr gave its verified answer first: 1.37 s end to end, 1.1x ahead of cusparse:alg=2; its "
                  "multiply is faster: 1.95 ms against 3.91 ms of cusparse:alg=2. ");
  CHECK_LACKS(text, "unverified");
  CHECK_LACKS(text, "! ");
  free(text);
}

static void test_apply_units(void) {
  CASE("one precision for the column of applies");
  wr_run runs[] = {fixture_run(&fixture_reference, 0, 1, 12.25e-6), fixture_run(&fixture_cpu_csr, 0, 1, 1.5e-6)};
  char *text = table(runs, 2);
  CHECK_HAS(row(text, "reference"), " 12.25 54 ");
  CHECK_HAS(row(text, "cpu_csr"), " 1.50 54 ");
  free(text);
  runs[0].apply_median = 1.234e-4;
  text = table(runs, 2);
  CHECK_HAS(row(text, "reference"), " 123.4 54 ");
  CHECK_HAS(row(text, "cpu_csr"), " 1.5 54 ");
  free(text);
  runs[0].apply_median = 0;
  text = table(runs, 2);
  CHECK_HAS(row(text, "reference"), " - 54 1.00 s 2.00 s 1.50 GB - - -");
  CHECK_HAS(row(text, "cpu_csr"), " 1.50 54 1.00 s 2.00 s 1.50 GB 50% - -");
  free(text);
}

static void test_advice(void) {
  CASE("advice, each once, unless the better backend is one of the runs");
  wr_run runs[] = {fixture_run(&fixture_reference, 0, 1, 0.001), fixture_run(&fixture_cpu_csr, 0, 1.01, 0.00102)};
  char *text = fixture_flat(table(runs, 2));
  CHECK_LACKS(text, "instead of");
  free(text);
  for (int k = 0; k < 2; k++)
    SET_TEXT(runs[k].info.advice, "merbit reads less: everything"), runs[k].info.better = "merbit";
  text = fixture_flat(table(runs, 2));
  CHECK_HAS(text, "instead of reference: merbit reads less: everything ");
  CHECK_LACKS(text, "instead of cpu_csr");
  free(text);
  SET_TEXT(runs[1].info.advice, "reference reads less: nothing");
  runs[1].info.better = "reference";
  text = fixture_flat(table(runs, 2));
  CHECK_HAS(text, "instead of reference: merbit reads less: everything ");
  CHECK_LACKS(text, "instead of cpu_csr");
  free(text);
}

static void test_warnings(void) {
  CASE("warnings of plans, each once");
  wr_run runs[] = {fixture_run(&fixture_reference, 0, 1, 0.001), fixture_run(&fixture_cpu_csr, 0, 1.01, 0.00102),
                   fixture_run(&fixture_cusparse, 0, 1, 0.001)};
  for (int k = 1; k < 3; k++) SET_TEXT(runs[k].info.tuning.warning, "FILE is no tuning cache");
  FILE *out = tmpfile();
  wr_report_warnings(out, "spmv", runs, 3);
  char *text = fixture_text(out);
  CHECKF(strcmp(text, "spmv: cpu_csr: FILE is no tuning cache\n") == 0, "'%s'", text);
  free(text);
}

static void test_doubt(void) {
  CASE("multiplies and totals that do not differ enough");
  wr_run runs[] = {fixture_run(&fixture_reference, 0, 1, 0.001), fixture_run(&fixture_cpu_csr, 0, 1.01, 0.00102)};
  char *text = table(runs, 2);
  fixture_flat(text);
  CHECK_HAS(text, "reference gave its verified answer first: 2.00 s end to end, level with cpu_csr (within 2%); the "
                  "multiplies of reference and cpu_csr are too close to call (1.00 ms, 1.02 ms). ");
  CHECK_HAS(text, "baseline: reference, the first of the list that can be compared (no cusparse format can) ");
  CHECK_LACKS(text, "faster");
  free(text);
  CASE("the fastest multiply is not of the fastest run");
  runs[1].apply_median = 0.5e-3;
  runs[1].apply_high = 0.6e-3;
  text = fixture_flat(table(runs, 2));
  CHECK_HAS(text, "; the multiply of cpu_csr is faster: 500 us against 1.00 ms of reference. ");
  free(text);
  runs[1].applies = 3; /* too few for an interval */
  text = table(runs, 2);
  CHECK_LACKS(text, "faster");
  free(text);
}

static void test_marks(void) {
  CASE("unverified, not converged, wrong, broken off");
  wr_run runs[] = {fixture_run(&fixture_reference, 0, 1, 0.001), fixture_run(&fixture_cpu_csr, 0, 5, 0.002),
                   fixture_run(&fixture_cusparse, 0, 0.5, 1e-4), fixture_run(&fixture_cusparse_coo, 0, 0.5, 1e-4)};
  runs[0].verdict.level = WR_VERIFY_OFF;
  runs[1].result.outcome = WR_MAX_ITERATIONS;
  SET_TEXT(runs[1].result.note, "the most that were allowed");
  runs[2].verdict.multiplied_right = 0;
  runs[3].error.status = WR_EDEVICE;
  SET_TEXT(runs[3].error.text, "the card fell\noff the bus");
  char *text = table(runs, 4);
  CHECK_HAS(row(text, "reference"), " 2.00 s* ");
  CHECK_HAS(row(text, "cpu_csr"), " 6.00 s! ");
  CHECK_HAS(row(text, "cusparse"), " 1.50 s! ");
  CHECK_HAS(row(text, "cusparse"), " 50% - -");
  CHECK_HAS(row(text, "cusparse_coo"), " 50% - -");
  CHECK_HAS(text, "\n! cusparse_coo: broke off: the card fell off the bus\n");
  CHECK_HAS(text, "\n* unverified: this answer was not checked (--verify off)\n");
  fixture_flat(text);
  CHECK_HAS(text,
            "! cpu_csr: max-iterations, L1 error <= 8.13e-10 (asked for 1e-9), last change 1.44e-10; the most that "
            "were allowed ! ");
  CHECK_HAS(text,
            "! cusparse: multiplied wrong, a defect of windrow, L1 error <= 8.13e-10 (asked for 1e-9), last change "
            "1.44e-10 ! ");
  CHECK_HAS(text, "reference alone gave an answer (unverified): 2.00 s end to end; its multiply is faster: "
                  "1.00 ms against 2.00 ms of cpu_csr. ");
  free(text);
  runs[1].result = (wr_result){.outcome = WR_CONVERGED, .iterations = 54, .measure = 1e-9, .bound = 1e-9};
  runs[1].verdict.met_tolerance = 0;
  text = table(runs, 4);
  CHECK_HAS(fixture_flat(text),
            "! cpu_csr: converged, L1 error <= 1e-9 (asked for 1e-9), last change 0; the verification says: not "
            "accurate enough ");
  free(text);
  CASE("no answer at all");
  wr_run none[] = {fixture_absent(&fixture_cusparse, "no card"), fixture_absent(&fixture_cpu_csr, "no cores")};
  text = table(none, 2);
  CHECK_HAS(text, "no backend gave an answer that meets the tolerance.\n");
  CHECK_LACKS(text, "against");
  CHECK_LACKS(text, "differ");
  free(text);
  CASE("warm times and a difference that is no number");
  runs[0].warm = 0.25;
  runs[1].difference = 1;
  runs[2].difference = NAN;
  text = table(runs, 3);
  CHECK_HAS(text, "a second solve, warm: reference 250 ms\n");
  CHECK_HAS(text, "answers differ by at most nan (L1 norm), cusparse's from reference's\n");
  free(text);
}

static unsigned long long state = 88172645463325252u;
static unsigned pick(unsigned count) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (unsigned)(state >> 33) % count;
}

static double odd_real(void) {
  static const double values[] = {0, -0.0, 1, -1, 1e-9, 1e-320, 1e300, -1e300, DBL_MAX, NAN, INFINITY, -INFINITY,
                                  123456.789, 9.995, 99.95, 999.5, 999499.9, 1e5, 0.00123, 1e9};
  return values[pick(sizeof values / sizeof *values)];
}

static int64_t odd_integer(void) {
  static const int64_t values[] = {0, 1, -1, 7, 54, 999999, 1000000, 999999999, INT32_MAX, INT64_MAX, INT64_MIN};
  return values[pick(sizeof values / sizeof *values)];
}

static void odd_text(char *text, size_t size) {
  static const char *const pieces[] = {"a", " ", "word ", "\n", "\x01", "\xC3\xA4", "\xFF", "\xE2\x82", "%s",
                                       "a_long_word_that_goes_on_", "3 ms", ":", "\t", "\x7F", "\""};
  size_t target = pick(3) ? pick((unsigned)size) : size - 1, length = 0;
  text[0] = '\0';
  for (;;) {
    const char *piece = pieces[pick(sizeof pieces / sizeof *pieces)];
    if (length + strlen(piece) > target) return;
    memcpy(text + length, piece, strlen(piece) + 1);
    length += strlen(piece);
  }
}

static void make_odd(wr_run *run, const wr_backend *backend) {
  double *reals[] = {&run->apply_total, &run->apply_median, &run->apply_low, &run->apply_high, &run->apply_first,
                     &run->setup, &run->warm, &run->read_bandwidth, &run->result.measure, &run->result.change,
                     &run->result.bound, &run->verdict.worst_row, &run->verdict.measure, &run->verdict.limit,
                     &run->verdict.backward_error, &run->difference, &run->info.apply_bytes};
  int64_t *integers[] = {&run->applies, &run->info.format_bytes, &run->info.extra_bytes, &run->info.borrowed_bytes,
                         &run->result.iterations, &run->verdict.rows};
  for (size_t k = 0; k < sizeof reals / sizeof *reals; k++) *reals[k] = odd_real();
  for (size_t k = 0; k < sizeof integers / sizeof *integers; k++) *integers[k] = odd_integer();
  for (int k = 0; k < WR_PHASE_COUNT; k++) run->ledger.seconds[k] = odd_real(), run->ledger.hidden[k] = odd_real();
  run->backend = backend;
  run->ran = pick(4) > 0;
  run->error.status = pick(3) ? WR_OK : (wr_status)pick(WR_EDEVICE + 1);
  run->result.outcome = (wr_outcome)pick(WR_INTERRUPTED + 1);
  run->result.restarts = (int)pick(3);
  run->result.refinements = (int)pick(3);
  run->verdict.level = (wr_verified)pick(WR_VERIFY_FULL + 1);
  run->verdict.multiplied_right = (int)pick(2);
  run->verdict.met_tolerance = (int)pick(2);
  odd_text(run->knobs, sizeof run->knobs);
  odd_text(run->error.text, sizeof run->error.text);
  odd_text(run->device_name, sizeof run->device_name);
  odd_text(run->info.line, sizeof run->info.line);
  odd_text(run->result.note, sizeof run->result.note);
}

static void test_width(void) {
  static const int columns[] = {80, 81, 100, 120, 200};
  CASE("never wider than the stream");
  static char source[5000];
  wr_backend named = {.name = "a_backend_with_a_name_that_is_longer_than_a_line_of_the_table_is_wide_and_then_some",
                      .summary = "s", .place = WR_HOST};
  const wr_backend *const backends[] = {&fixture_reference, &fixture_cusparse, &fixture_cusparse_coo, &named};
  for (int round = 0; round < 3000; round++) {
    wr_run runs[4] = {{0}};
    fixture_set_width(columns[pick(5)]);
    wr_problem_facts problem = fixture_problem(pick(2) ? "pagerank" : "bicgstab");
    odd_text(source, pick(2) ? sizeof source : 40);
    odd_text(problem.kind, sizeof problem.kind);
    odd_text(problem.remark, sizeof problem.remark);
    problem.source = source;
    problem.tolerance = odd_real();
    problem.nrows = odd_integer();
    problem.nnz = odd_integer();
    int count = (int)pick(5);
    for (int k = 0; k < count; k++) make_odd(&runs[k], backends[pick(4)]);
    free(table_of(&problem, runs, count));
    FILE *file = tmpfile();
    if (count > 0) wr_report_run(&(wr_writer){.file = file}, &problem, &runs[0], (int)pick(2));
    char *text = fixture_text(file);
    CHECKF(count == 0 || fixture_lines_fit(text), "%s", text);
    free(text);
  }
}

static void test_long_label(void) {
  CASE("a long list of knobs has a line of its own");
  fixture_set_width(80);
  wr_run runs[] = {fixture_run(&fixture_cusparse, 0, 1, 1e-3), fixture_run(&fixture_cusparse, 0, 1, 1e-3)};
  SET_TEXT(runs[0].knobs, "alg=2:layout=packed:something=that_is_quite_long_and_goes_on:and=on");
  SET_TEXT(runs[1].knobs, "alg=3");
  runs[1].ledger.seconds[WR_PHASE_INIT] = 1; /* so that the first one is the baseline */
  char *text = table(runs, 2);
  CHECK_HAS(text, "\ncusparse:alg=2:layout=packed:something=that_is_quite_long_and_goes_on:and=on\n    ");
  CHECK_HAS(text, "\ncusparse:alg=3  ");
  CHECK_HAS(fixture_flat(text), "cusparse:alg=2:layout=packed:something=that_is_quite_long_and_goes_on:and=on gave");
  free(text);
}

/* The titles of the columns that are shown. */
static const char *titles(int width, const wr_run *runs, int count) {
  static char words[256];
  fixture_set_width(width);
  char *text = table(runs, count);
  snprintf(words, sizeof words, "%s", row(text, "backend"));
  const char *all = strstr(text, "COLUMNS=");
  CHECKF((all != NULL) == (strstr(words, "memory") == NULL), "%s", text); /* the first to be left out, which a line says */
  if (all) {
    fixture_set_width((int)strtol(all + 8, NULL, 10));
    char *wide = table(runs, count);
    CHECK_LACKS(wide, "not shown");
    CHECK_HAS(row(wide, "backend"), "memory read");
    free(wide);
  }
  free(text);
  return words;
}

static void test_columns(void) {
  CASE("columns by the width of the stream");
  wr_run runs[] = {fixture_run(&fixture_reference, 0, 11, 0.2), fixture_run(&fixture_cusparse, 0.0625, 0.5, 0x1p-8)};
#define TITLES(width, expected) \
  CHECKF(strcmp(titles(width, runs, 2), expected) == 0, "%d columns: %s", width, titles(width, runs, 2))
  TITLES(120, "backend prepare apply us iter solve total memory read speed-up pays at");
  TITLES(80, "backend prepare apply us iter solve total read speed-up pays at");
  SET_TEXT(runs[1].knobs, "alg=2:ab=1"); /* 19, and 61 for the figures */
  TITLES(80, "backend prepare apply us iter solve total speed-up pays at");
  SET_TEXT(runs[1].knobs, "alg=2:abc=1");
  TITLES(80, "backend prepare apply us iter solve total speed-up");
  TITLES(100, "backend prepare apply us iter solve total memory read speed-up pays at");
  SET_TEXT(runs[1].knobs, "alg=2:layout=packed:and=a:long=list");
  TITLES(80, "backend prepare apply us iter solve total read speed-up pays at");
  CASE("a column without a value");
  runs[0].read_bandwidth = runs[1].read_bandwidth = 0;
  TITLES(120, "backend prepare apply us iter solve total memory speed-up pays at");
}

static void test_from_cache(void) {
  CASE("more than the bandwidth of the memory");
  wr_run runs[] = {fixture_run(&fixture_reference, 0, 11, 0.2), fixture_run(&fixture_cusparse, 0.0625, 0.5, 0x1p-8)};
  fixture_set_width(100);
  runs[0].info.apply_bytes *= 6.82; /* 341% */
  runs[1].info.apply_bytes /= 500;  /* 0.1% */
  char *text = table(runs, 2);
  CHECK_HAS(row(text, "reference"), " from cache ");
  CHECK_HAS(row(text, "cusparse"), " <1% ");
  CHECK_LACKS(text, "341");
  free(text);
}

/* The table's rows line up: every row that ran is as long as the heading. */
static void test_alignment(void) {
  CASE("columns line up");
  wr_run runs[] = {fixture_run(&fixture_reference, 0, 11, 0.2), fixture_run(&fixture_cusparse, 0.0125, 0.5, 4e-6),
                   fixture_run(&fixture_cpu_csr, 1e-7, 0.25, 0.002)};
  runs[1].verdict.level = WR_VERIFY_OFF;
  runs[2].applies = 123456789;
  char *text = table(runs, 3);
  const char *line = strstr(text, "\nbackend ");
  size_t length = line ? strcspn(line + 1, "\n") : 0;
  CHECK(line && length > 60);
  for (int k = 0; line && k < 4; k++) {
    CHECKF(strcspn(line + 1, "\n") == length, "row %d:\n%s", k, text);
    line = strchr(line + 1, '\n');
  }
  free(text);
}

int main(void) {
  test_cells();
  test_apply_units();
  test_advice();
  test_warnings();
  test_doubt();
  test_marks();
  test_width();
  test_long_label();
  test_columns();
  test_from_cache();
  test_alignment();
  return wr_test_report("report_table");
}
