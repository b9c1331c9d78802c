/* The JSON report: strictly valid for any records, every number read back, errors of writing. */
#define _DEFAULT_SOURCE /* setenv */
#include <float.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "solvers/report/json.h"
#include "solvers/report/report.h"
#include "tests/check.h"
#include "tests/report/json_check.h"
#include "tests/report/report_fixture.h"

static char *read_whole(const char *path) {
  FILE *file = fopen(path, "r");
  if (!file) return calloc(1, 1);
  fseek(file, 0, SEEK_END);
  return fixture_text(file);
}

/* The report as it is written to a file under TMPDIR. */
static char *report(const wr_problem_facts *problem, const wr_run *runs, int count, const char *settings) {
  char path[512];
  wr_ledger process = {.seconds = {[WR_PHASE_INIT] = 0.5, [WR_PHASE_VERIFY] = 0.25}};
  snprintf(path, sizeof path, "%s/windrow-json-%ld", wr_test_folder(), (long)getpid());
  CHECK_OK(wr_report_json(path, problem, runs, count, settings, &process));
  char *text = read_whole(path);
  unlink(path);
  CHECKF(json_valid(text), "%s", text);
  return text;
}

#define CHECK_IS(path, spelling) CHECKF(json_is(text, path, spelling), "%s is %.40s", path, json_at(text, path))
#define CHECK_REAL(path, value) CHECKF(json_is_real(text, path, value), "%s is %.40s", path, json_at(text, path))

static void test_checker(void) {
  CASE("the checker itself");
  static const char *const good[] = {"{}",
                                     " [1, -0.5e+3, \"a\\u00e4\\n\", null, true, false, {\"a\": []}] ", "0", "\"\""};
  static const char *const bad[] = {"", "{", "[1,]", "{\"a\" 1}", "{a: 1}", "01", "1.", ".5", "+1", "nan", "inf", "-",
                                    "1e", "\"\n\"",
                                    "\"\\x\"", "\"\\u12g4\"", "[1 2]", "{\"a\": 1,}", "tru", "1 2", "\"open"};
  for (size_t k = 0; k < sizeof good / sizeof *good; k++) CHECKF(json_valid(good[k]), "%s", good[k]);
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) CHECKF(!json_valid(bad[k]), "%s", bad[k]);
  CHECK(json_is("{\"a\": [1, {\"b\": 2}]}", "a/1/b", "2") && json_is_real("[0.1]", "0", 0.1));
  CHECK(strcmp(json_at("{\"a\": 1}", "b"), "(absent)") == 0 && strcmp(json_at("[1]", "1"), "(absent)") == 0);
}

static void test_run(const char *text) {
  CASE("a run");
  CHECK_IS("runs/0/label", "\"cusparse:alg=2\"");
  CHECK_IS("runs/0/backend", "\"cusparse\"");
  CHECK_IS("runs/0/source", "null");
  CHECK_IS("runs/0/place", "\"cuda\"");
  CHECK_IS("runs/0/device", "\"NVIDIA H200\"");
  CHECK_IS("runs/0/knobs", "\"alg=2:layout=paper\"");
  CHECK_IS("runs/0/status", "\"WR_OK\"");
  CHECK_IS("runs/0/exit_code", "0");
  CHECK_IS("runs/0/ran", "true");
  CHECK_REAL("runs/0/plan/apply_bytes", 2e12 * 0x1p-8);
  CHECK_IS("runs/0/plan/format_bytes", "1234");
  CHECK_IS("runs/0/plan/borrowed_bytes", "9223372036854775807");
  CHECK_IS("runs/0/plan/deterministic", "true");
  CHECK_REAL("runs/0/ledger/phases/prepare/s", 0.0625);
  CHECK_REAL("runs/0/ledger/phases/upload/hidden_s", 0.125);
  CHECK_IS("runs/0/ledger/phases/verify/in_total", "false");
  CHECK_REAL("runs/0/ledger/end_to_end_s", 1.5625);
  CHECK_REAL("runs/0/ledger/to_verified_s", 1.8125);
  CHECK_REAL("runs/0/setup_s", 0.0625);
  CHECK_IS("runs/0/warm_s", "null");
  CHECK_IS("runs/0/warm_solve_s", "null");
  CHECK_IS("runs/0/apply/count", "55");
  CHECK_REAL("runs/0/apply/median_s", 0x1p-8);
  CHECK_REAL("runs/0/apply/median_low_s", 0.995 * 0x1p-8);
  CHECK_REAL("runs/0/apply/median_high_s", 1.005 * 0x1p-8);
  CHECK_REAL("runs/0/apply/total_s", 55 * 0x1p-8);
  CHECK_REAL("runs/0/apply/read_share", 0.5);
  CHECK_IS("runs/0/result/outcome", "\"converged\"");
  CHECK_IS("runs/0/result/iterations", "54");
  CHECK_REAL("runs/0/result/bound", 8.125e-10);
  CHECK_IS("runs/0/result/order", "null");
  CHECK(strcmp(json_at(text, "runs/0/history"), "(absent)") == 0);
  CHECK(strcmp(json_at(text, "runs/0/order"), "(absent)") == 0);
  CHECK_REAL("runs/0/result/change", 1.4375e-10);
  CHECK_IS("runs/0/verification/backward_error", "null");
  CHECK_IS("runs/0/verification/level", "\"full\"");
  CHECK_IS("runs/0/verification/rows", "281903");
  CHECK_IS("runs/0/verification/met_tolerance", "true");
  CHECK_REAL("runs/0/verification/limit", 1.5e-10);
  CHECK_REAL("runs/0/verification/attainable", 2.5e-13);
  CHECK_IS("runs/0/verification/on_host", "true");
}

static void test_run_history(void) {
  CASE("a history");
  int64_t iterations[] = {1, 16};
  double measures[] = {0.5, NAN};
  const wr_history history = {.count = 2, .iteration = iterations, .measure = measures}, none = {0};
  wr_problem_facts problem = fixture_problem("pagerank");
  wr_run runs[] = {fixture_run(&fixture_cpu_csr, 0.125, 0.25, 0x1p-9),
                   fixture_run(&fixture_reference, 0.125, 0.25, 0x1p-9)};
  problem.keeps_history = 1;
  runs[0].history = &history, runs[1].history = &none;
  char *text = report(&problem, runs, 2, "");
  CHECK_IS("runs/0/history/iteration/0", "1");
  CHECK_IS("runs/0/history/iteration/1", "16");
  CHECK_REAL("runs/0/history/measure/0", 0.5);
  CHECK_IS("runs/0/history/measure/1", "null");
  CHECK(strcmp(json_at(text, "runs/0/history/measure/2"), "(absent)") == 0);
  CHECK(strcmp(json_at(text, "runs/1/history/iteration/0"), "(absent)") == 0);
  CHECK(strcmp(json_at(text, "runs/1/history"), "(absent)") != 0);
  free(text);
}

static void test_others(const char *text) {
  CASE("the others: compared, and absent");
  CHECK_IS("runs/0/comparison/is_baseline", "true");
  CHECK_IS("runs/0/comparison/break_even", "0");
  CHECK_IS("runs/1/comparison/is_baseline", "false");
  CHECK_REAL("runs/1/comparison/speed_up", 2);
  CHECK_IS("runs/1/comparison/faster", "true");
  CHECK_IS("runs/1/comparison/break_even", "32");
  CHECK_IS("runs/1/comparison/difference", "null");
  CHECK_IS("runs/1/verification/level", "\"off\"");
  CHECK_IS("runs/1/apply/read_bandwidth", "null");
  CHECK_IS("runs/2/status", "\"WR_EUNAVAILABLE\"");
  CHECK_IS("runs/2/reason", "\"no card\"");
  CHECK_IS("runs/2/exit_code", "4");
  CHECK_IS("runs/2/ran", "false");
  CHECK(strcmp(json_at(text, "runs/2/result"), "(absent)") == 0);
  CHECK(strcmp(json_at(text, "runs/3"), "(absent)") == 0);
}

static void test_tuner(void) {
  CASE("a tuner");
  wr_run runs[] = {fixture_run(&fixture_cpu_csr, 0.125, 0.25, 0x1p-9),
                   fixture_run(&fixture_cusparse, 0.125, 0.25, 0x1p-9),
                   fixture_run(&fixture_reference, 0.125, 0.25, 0x1p-9)};
  wr_problem_facts problem = fixture_problem("bicgstab");
  runs[0].info.tuning = (wr_tuning){.knobs = "width=2", .tried = 3, .seconds = 0.5, .multiply_seconds = 0x1p-7};
  runs[1].info.tuning = (wr_tuning){.knobs = "width=3", .from = "/a \"b\"", .warning = "1 damaged line"};
  char *text = report(&problem, runs, 3, "");
  CHECK_IS("runs/0/plan/tuner/knobs", "\"width=2\"");
  CHECK_IS("runs/0/plan/tuner/from", "null");
  CHECK_IS("runs/0/plan/tuner/configurations", "3");
  CHECK_REAL("runs/0/plan/tuner/s", 0.5);
  CHECK_REAL("runs/0/plan/tuner/multiply_s", 0x1p-7);
  CHECK_REAL("runs/0/plan/tuner/multiplies", 64);
  CHECK_IS("runs/0/plan/tuner/warning", "\"\"");
  CHECK_IS("runs/1/plan/tuner/from", "\"/a \\\"b\\\"\"");
  CHECK_IS("runs/1/plan/tuner/configurations", "0");
  CHECK_IS("runs/1/plan/tuner/multiply_s", "null");
  CHECK_REAL("runs/1/plan/tuner/multiplies", 0);
  CHECK_IS("runs/1/plan/tuner/warning", "\"1 damaged line\"");
  CHECK_IS("runs/2/plan/tuner", "null");
  free(text);
}

static void test_direct(void) {
  CASE("a direct solver");
  wr_run runs[] = {fixture_run(&fixture_cpu_csr, 0.125, 0.25, 0x1p-9),
                   fixture_run(&fixture_cusparse, 0.125, 0.25, 0x1p-9)};
  wr_problem_facts problem = fixture_problem("bicgstab");
  runs[0].result.direct = (wr_direct_facts){.tried = 1, .used = 1, .outcome = WR_CONVERGED, .after = WR_BREAKDOWN,
                                            .entries = 4480200, .blocks = 7, .largest_block = 3, .bytes = 71680000,
                                            .refinements = 1, .seconds = 0.5, .pivots = 0.25, .measure = 0x1p-50,
                                            .backward = 0x1p-52};
  char *text = report(&problem, runs, 2, "");
  CHECK_IS("runs/0/result/direct/by", "\"KLU\"");
  CHECK_IS("runs/0/result/direct/outcome", "\"converged\"");
  CHECK_IS("runs/0/result/direct/used", "true");
  CHECK_IS("runs/0/result/direct/after", "\"breakdown\"");
  CHECK_IS("runs/0/result/direct/entries", "4480200");
  CHECK_IS("runs/0/result/direct/blocks", "7");
  CHECK_IS("runs/0/result/direct/largest_block", "3");
  CHECK_IS("runs/0/result/direct/bytes", "71680000");
  CHECK_REAL("runs/0/result/direct/factorise_s", 0.5);
  CHECK_REAL("runs/0/result/direct/pivot_ratio", 0.25);
  CHECK_IS("runs/0/result/direct/refinements", "1");
  CHECK_REAL("runs/0/result/direct/measure", 0x1p-50);
  CHECK_REAL("runs/0/result/direct/backward_error", 0x1p-52);
  CHECK_IS("runs/0/result/direct/why", "\"\"");
  CHECK_IS("runs/1/result/direct", "null");
  free(text);
  runs[0].result.direct.outcome = WR_BREAKDOWN, runs[0].result.direct.entries = 0, runs[0].result.direct.singular = 1;
  SET_TEXT(runs[0].result.direct.why, "singular");
  text = report(&problem, runs, 2, "");
  CHECK_IS("runs/0/result/direct/measure", "null");
  CHECK_IS("runs/0/result/direct/pivot_ratio", "null");
  CHECK_IS("runs/0/result/direct/singular", "true");
  CHECK_IS("runs/0/result/direct/why", "\"singular\"");
  free(text);
}

static void test_order(void) {
  CASE("order");
  wr_run runs[] = {fixture_run(&fixture_cpu_csr, 0.125, 0.25, 0x1p-9),
                   fixture_run(&fixture_cusparse, 0.125, 0.25, 0x1p-9)};
  wr_problem_facts problem = fixture_problem("pagerank");
  problem.measure = WR_MEASURE_L1_ERROR;
  runs[0].order = (wr_run_order){1, 10, 7, 2};
  runs[0].result.bound = 0x1p-20;
  runs[1].result.order = (wr_order_facts){.asked = 10, .proven = 9, .reviews = 4, .spared = 61};
  char *text = report(&problem, runs, 2, "");
  CHECK_IS("runs/0/order/ranks", "10");
  CHECK_IS("runs/0/order/proven_ranks", "7");
  CHECK_IS("runs/0/order/ties", "2");
  CHECK_REAL("runs/0/order/bound", 0x1p-20);
  CHECK_IS("runs/1/result/order/ranks", "10");
  CHECK_IS("runs/1/result/order/proven_ranks", "9");
  CHECK_IS("runs/1/result/order/reviews", "4");
  CHECK_IS("runs/1/result/order/spared_multiplies", "61");
  CHECK(strcmp(json_at(text, "runs/1/order"), "(absent)") == 0);
  free(text);
}

static void test_backward(void) {
  CASE("backward error, advice");
  wr_run runs[] = {fixture_run(&fixture_cpu_csr, 0.125, 0.25, 0x1p-9),
                   fixture_run(&fixture_cusparse, 0.125, 0.25, 0x1p-9)};
  wr_problem_facts problem = fixture_problem("bicgstab");
  runs[0].verdict.backward_error = 0.75, runs[0].verdict.backward_row = 16, runs[0].verdict.backward_rows = 10000;
  SET_TEXT(runs[0].advice.seen, "symmetric");
  SET_TEXT(runs[0].advice.remedy, "a \"remedy\"");
  SET_TEXT(runs[0].advice.command, "bicgstab --output 'x y' A.mtx");
  SET_TEXT(runs[0].advice.other, "a direct solver");
  runs[1].result.by_backward = 1, runs[1].result.backward = 1e-12;
  char *text = report(&problem, runs, 2, "");
  CHECK_IS("exit_code", "0");
  CHECK_REAL("runs/0/verification/backward_error", 0.75);
  CHECK_IS("runs/0/verification/backward_row", "17");
  CHECK_IS("runs/0/verification/backward_rows", "10000");
  CHECK_IS("runs/0/verification/doubtful", "true");
  CHECK_IS("runs/0/result/backward", "null");
  CHECK_IS("runs/0/advice/seen", "\"symmetric\"");
  CHECK_IS("runs/0/advice/remedy", "\"a \\\"remedy\\\"\"");
  CHECK_IS("runs/0/advice/command", "\"bicgstab --output 'x y' A.mtx\"");
  CHECK_IS("runs/0/advice/other", "\"a direct solver\"");
  CHECK_REAL("runs/1/result/backward", 1e-12);
  CHECK_IS("runs/1/verification/backward_error", "null"); /* of no row is it known */
  CHECK_IS("runs/1/verification/backward_row", "null");
  CHECK_IS("runs/1/verification/doubtful", "false");
  CHECK(strcmp(json_at(text, "runs/1/advice"), "(absent)") == 0);
  free(text);
}

static void test_certificate(void) {
  CASE("--check");
  char path[512];
  wr_ledger process = {.seconds = {[WR_PHASE_INIT] = 0.5}};
  wr_problem_facts problem = fixture_problem("bicgstab");
  wr_certificate c = {.x = "x \"y\".mtx", .measure = 0.5, .error = 0x1p-50, .limit = 0.25, .attainable = 0x1p-40,
                      .backward = (double)INFINITY, .backward_row = 6, .by_backward = 1, .is_relative = 1};
  snprintf(path, sizeof path, "%s/windrow-json-%ld", wr_test_folder(), (long)getpid());
  CHECK_OK(wr_report_check_json(path, &problem, &c, "check = \"x\"\n", &process));
  char *text = read_whole(path);
  unlink(path);
  CHECKF(json_valid(text), "%s", text);
  CHECK_IS("schema", "1");
  CHECK_IS("exit_code", "2");
  CHECK_IS("settings", "\"check = \\\"x\\\"\\n\"");
  CHECK_REAL("process/phases/init/s", 0.5);
  CHECK_IS("check/x", "\"x \\\"y\\\".mtx\"");
  CHECK_IS("check/met_tolerance", "false");
  CHECK_IS("check/stop", "\"backward\"");
  CHECK_IS("check/relative", "true");
  CHECK_REAL("check/measure", 0.5);
  CHECK_REAL("check/measure_error", 0x1p-50);
  CHECK_REAL("check/limit", 0.25);
  CHECK_REAL("check/attainable", 0x1p-40);
  CHECK_IS("check/backward_error", "null");
  CHECK_IS("check/backward_row", "7");
  CHECK_IS("check/doubtful", "false");
  CHECK(strcmp(json_at(text, "runs"), "(absent)") == 0);
  free(text);
  CHECK_FAILS(WR_EOUTPUT, wr_report_check_json("/nowhere/at/all", &problem, &c, "", &process));
}

static void test_scores(void) {
  CASE("--check of scores");
  char path[512];
  wr_ledger process = {.seconds = {[WR_PHASE_INIT] = 0.5}};
  wr_problem_facts problem = fixture_problem("pagerank");
  problem.measure = WR_MEASURE_L1_ERROR;
  wr_certificate c = {.x = "s.tsv", .measure = 0.5, .error = 0x1p-50, .limit = 0.25, .by_change = 1,
                      .scores = {.damping = 0.75, .sum = 3, .bound = (double)INFINITY, .nodes = 9, .proven = 4,
                                 .ties = 3, .normalised = 1, .order_bound = 0x1p-20, .worst = 77, .worst_score = 0.125,
                                 .worst_change = -0.0625, .reading = "damping 0.5", .reading_damping = 0.5,
                                 .reading_factor = 3, .reading_bound = 0x1p-30}};
  snprintf(path, sizeof path, "%s/windrow-json-%ld", wr_test_folder(), (long)getpid());
  CHECK_OK(wr_report_check_json(path, &problem, &c, "", &process));
  char *text = read_whole(path);
  unlink(path);
  CHECKF(json_valid(text), "%s", text);
  CHECK_IS("exit_code", "2");
  CHECK_IS("check/scores", "\"s.tsv\"");
  CHECK_IS("check/met_tolerance", "false");
  CHECK_IS("check/stop", "\"change\"");
  CHECK_REAL("check/measure", 0.5);
  CHECK_REAL("check/measure_error", 0x1p-50);
  CHECK_REAL("check/limit", 0.25);
  CHECK_IS("check/bound", "null");
  CHECK_REAL("check/damping", 0.75);
  CHECK_REAL("check/sum", 3);
  CHECK_IS("check/nodes", "9");
  CHECK_IS("check/proven_ranks", "4");
  CHECK_IS("check/ties", "3");
  CHECK_REAL("check/order_bound", 0x1p-20);
  CHECK_IS("check/order_normalised", "true");
  CHECK_IS("check/worst_node", "77");
  CHECK_REAL("check/worst_score", 0.125);
  CHECK_REAL("check/worst_change", -0.0625);
  CHECK_IS("check/meaning/text", "\"damping 0.5\"");
  CHECK_REAL("check/meaning/damping", 0.5);
  CHECK_REAL("check/meaning/factor", 3);
  CHECK_REAL("check/meaning/bound", 0x1p-30);
  free(text);
}

static void test_values(void) {
  CASE("the whole report");
  wr_run runs[] = {fixture_run(&fixture_cusparse, 0.0625, 0.5, 0x1p-8),
                   fixture_run(&fixture_cpu_csr, 0.125, 0.25, 0x1p-9),
                   fixture_absent(&fixture_cusparse_coo, "no card")};
  runs[0].verdict.attainable = 2.5e-13, runs[0].verdict.on_host = 1;
  SET_TEXT(runs[0].knobs, "alg=2:layout=paper");
  SET_TEXT(runs[0].device_name, "NVIDIA H200");
  runs[0].info.borrowed_bytes = INT64_MAX;
  runs[0].ledger.hidden[WR_PHASE_UPLOAD] = 0.125;
  runs[1].difference = NAN;
  runs[1].read_bandwidth = 0;
  runs[1].verdict.level = WR_VERIFY_OFF;
  wr_problem_facts problem = fixture_problem("pagerank");
  problem.nnz = (INT64_C(1) << 53) + 1; /* no double is this number */
  problem.tolerance = 0.1;
  SET_TEXT(problem.remark, "undirected");
  char *text = report(&problem, runs, 3, "damping = 0.85\nbackend = \"a,b\"\n");
  CHECK_IS("schema", "1");
  CHECK_IS("program", "\"pagerank\"");
  CHECK_IS("exit_code", "0");
  CHECK_IS("settings", "\"damping = 0.85\\nbackend = \\\"a,b\\\"\\n\"");
  CHECK_IS("problem/nnz", "9007199254740993");
  CHECK_IS("problem/nrows", "281903");
  CHECK_REAL("problem/tolerance", 0.1);
  CHECK_IS("problem/has_values", "false");
  CHECK_IS("problem/kind", "\"coordinate pattern general\"");
  CHECK_IS("problem/remark", "\"undirected\"");
  CHECK_REAL("process/phases/init/s", 0.5);
  CHECK_REAL("process/end_to_end_s", 0.5);
  CHECK_REAL("process/to_verified_s", 0.75);
  CHECK_REAL("clocks/wall_s", 0.75);
  CHECK(strtod(json_at(text, "clocks/processor_s"), NULL) > 0);
  CHECK(strtol(json_at(text, "machine/cores"), NULL, 10) >= 1);
  CHECK(strtod(json_at(text, "machine/memory_bytes"), NULL) > 1e6);
  CHECK(strlen(json_at(text, "versions/compiler")) > 3 && *json_at(text, "versions/cuda") == '"');
  const char *date = json_at(text, "clocks/date");
  CHECKF(date[0] == '"' && date[5] == '-' && date[11] == 'T' && date[20] == 'Z', "%.30s", date);
  for (int phase = 0; phase < WR_PHASE_COUNT; phase++) {
    char path[64];
    snprintf(path, sizeof path, "runs/0/ledger/phases/%s/s", wr_phase_title((wr_phase)phase));
    CHECK_REAL(path, runs[0].ledger.seconds[phase]);
  }
  test_run(text);
  test_others(text);
  free(text);
}

static void test_escapes(void) {
  CASE("escapes");
  static const struct {
    const char *value, *spelling;
  } cases[] = {
      {"", "\"\""},
      {"plain", "\"plain\""},
      {"a\"b\\c/d", "\"a\\\"b\\\\c/d\""},
      {"\n\t\r\b\f\x01\x1f\x7f", "\"\\n\\u0009\\u000d\\u0008\\u000c\\u0001\\u001f\\u007f\""},
      {"\xC3\xA4\xE2\x82\xAC\xF0\x9F\x8C\xBE", "\"\xC3\xA4\xE2\x82\xAC\xF0\x9F\x8C\xBE\""},
      {"\xFF\x80z", "\"\\ufffd\\ufffdz\""},
      {"\xC0\xAF", "\"\\ufffd\\ufffd\""},             /* overlong / */
      {"\xED\xA0\x80", "\"\\ufffd\\ufffd\\ufffd\""}, /* a surrogate */
      {"\xF4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\""}, /* beyond U+10FFFF */
      {"\xE0\x9F\xBF", "\"\\ufffd\\ufffd\\ufffd\""}, /* overlong */
      {"cut \xE2\x82", "\"cut \\ufffd\\ufffd\""},
      {"cut \xF0\x9F\x8C\"", "\"cut \\ufffd\\ufffd\\ufffd\\\"\""},
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    FILE *file = tmpfile();
    wr_json json = {.file = file};
    wr_json_text(&json, NULL, cases[k].value);
    char *text = fixture_text(file);
    CHECKF(json_valid(text) && strcmp(text, cases[k].spelling) == 0, "case %zu: %s", k, text);
    free(text);
  }
}

static void test_lines(void) {
  CASE("the writer: objects as lines, one after the other");
  FILE *file = tmpfile();
  wr_json json = {.file = file, .one_line = 1};
  for (int k = 0; k < 2; k++) {
    wr_json_begin(&json, NULL, '{');
    wr_json_text(&json, "text", "a\nb");
    wr_json_begin(&json, "list", '[');
    for (int number = 0; number < k; number++) wr_json_integer(&json, NULL, number);
    wr_json_end(&json, ']');
    wr_json_end(&json, '}');
  }
  char *text = fixture_text(file);
  CHECKF(strcmp(text, "{\"text\":\"a\\nb\",\"list\":[]}\n{\"text\":\"a\\nb\",\"list\":[0]}\n") == 0, "%s", text);
  free(text);
}

static void test_writer(void) {
  CASE("the writer: nesting, empty things, numbers, null");
  FILE *file = tmpfile();
  wr_json json = {.file = file};
  wr_json_begin(&json, NULL, '{');
  wr_json_begin(&json, "empty", '[');
  wr_json_end(&json, ']');
  wr_json_begin(&json, "nested", '[');
  for (int k = 0; k < 3; k++) {
    wr_json_begin(&json, NULL, '{');
    wr_json_integer(&json, "k\"", k);
    wr_json_end(&json, '}');
  }
  wr_json_end(&json, ']');
  wr_json_integer(&json, "least", INT64_MIN);
  static const double reals[] = {0.1, -0.0, DBL_MAX, DBL_MIN, 5e-324, 1e22, 123456789012345678.0, 1.0 / 3};
  wr_json_begin(&json, "reals", '[');
  for (size_t k = 0; k < sizeof reals / sizeof *reals; k++) wr_json_real(&json, NULL, reals[k]);
  wr_json_real(&json, NULL, NAN);
  wr_json_real(&json, NULL, -INFINITY);
  wr_json_end(&json, ']');
  wr_json_text(&json, "nothing", NULL);
  wr_json_end(&json, '}');
  char *text = fixture_text(file);
  CHECKF(json_valid(text), "%s", text);
  CHECK_IS("empty", "[]");
  CHECK_IS("nested/2/k\\\"", "2");
  CHECK_IS("least", "-9223372036854775808");
  for (size_t k = 0; k < sizeof reals / sizeof *reals; k++) {
    char path[16];
    snprintf(path, sizeof path, "reals/%zu", k);
    CHECK_REAL(path, reals[k]);
  }
  CHECK_IS("reals/8", "null");
  CHECK_IS("reals/9", "null");
  CHECK_IS("nothing", "null");
  free(text);
}

/* Records with non-finite numbers everywhere and any bytes in every text give valid JSON. */
static void test_hostile(void) {
  CASE("records of random bytes and non-finite numbers");
  wr_problem_facts problem = fixture_problem("bicgstab");
  char source[700], settings[700];
  for (int k = 0; k < 699; k++) source[k] = settings[k] = (char)(1 + k % 255);
  source[699] = settings[699] = '\0';
  problem.source = source;
  problem.tolerance = NAN;
  memcpy(problem.remark, source + 100, sizeof problem.remark - 1);
  wr_run runs[2] = {fixture_run(&fixture_cusparse, NAN, INFINITY, NAN),
                    fixture_run(&fixture_reference, -1, -INFINITY, 0)};
  for (int k = 0; k < 2; k++) {
    memcpy(runs[k].error.text, source, sizeof runs[k].error.text - 1);
    memcpy(runs[k].knobs, source, sizeof runs[k].knobs - 1);
    memcpy(runs[k].result.note, source, sizeof runs[k].result.note - 1);
    runs[k].result.measure = runs[k].verdict.worst_row = runs[k].info.apply_bytes = NAN;
    runs[k].read_bandwidth = runs[k].warm = INFINITY;
  }
  char *text = report(&problem, runs, 2, settings);
  CHECK_IS("problem/tolerance", "null");
  CHECK_IS("runs/0/result/measure", "null");
  CHECK_IS("runs/0/apply/median_s", "null");
  CHECK_IS("runs/0/apply/read_bandwidth", "null");
  CHECK_IS("runs/0/ledger/end_to_end_s", "null");
  CHECK_IS("runs/1/comparison/break_even", "null");
  free(text);
  text = report(&problem, runs, 0, NULL);
  CHECK_IS("runs", "[]");
  CHECK_IS("settings", "null");
  CHECK_IS("exit_code", "4");
  free(text);
}

static void test_disk(void) {
  CASE("a full disk, a folder that does not exist");
  wr_problem_facts problem = fixture_problem("pagerank");
  wr_run run = fixture_run(&fixture_reference, 0, 1, 1);
  wr_ledger process = {0};
  CHECK_FAILS(WR_EOUTPUT, wr_report_json("/dev/full", &problem, &run, 1, "", &process));
  CHECK_MESSAGE("/dev/full");
  CHECK_FAILS(WR_EOUTPUT, wr_report_json("tests/no such folder/report.json", &problem, &run, 1, "", &process));
  CHECK_MESSAGE("no such folder");
  CHECK_FAILS(WR_EOUTPUT, wr_report_json("tests", &problem, &run, 1, "", &process));
  CHECK_OK(wr_report_json("/dev/null", &problem, &run, 1, "", &process));
}

/* BiCGSTAB bounds no error and has no last change; PageRank has no backward error. */
static void test_bicgstab(void) {
  CASE("numbers that a method does not have are null");
  wr_run run = fixture_run(&fixture_reference, 0, 1, 1);
  run.verdict.backward_error = 0.25, run.verdict.backward_rows = 281903;
  wr_problem_facts problem = fixture_problem("bicgstab");
  char *text = report(&problem, &run, 1, "");
  CHECK_IS("runs/0/result/bound", "null");
  CHECK_IS("runs/0/result/change", "null");
  CHECK_REAL("runs/0/result/measure", 8.125e-10);
  CHECK_REAL("runs/0/verification/backward_error", 0.25);
  free(text);
}

int main(void) {
  test_checker();
  test_writer();
  test_lines();
  test_escapes();
  test_values();
  test_run_history();
  test_tuner();
  test_direct();
  test_order();
  test_backward();
  test_certificate();
  test_scores();
  test_bicgstab();
  test_hostile();
  test_disk();
  return wr_test_report("report_json");
}
