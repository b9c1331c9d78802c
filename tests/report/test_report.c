/* Numbers as text, baseline, break-even, exit codes, and the report of one run. */
#define _DEFAULT_SOURCE /* setenv */
#include "solvers/report/report.h"

#include <float.h>
#include <stdint.h>

#include "solvers/report/report_text.h"
#include "tests/check.h"
#include "tests/report/report_fixture.h"

static void test_numbers(void) {
  char text[16];
  CASE("counts");
#define SAYS(call, expected) CHECKF(strcmp(call, expected) == 0, "%s: %s, not %s", #call, text, expected)
#define COUNT(value, expected) SAYS(wr_text_count(value, text), expected)
  COUNT(0, "0");
  COUNT(-5, "-5");
  COUNT(999999, "999999");
  COUNT(1000000, "1.00 M");
  COUNT(1234567, "1.23 M");
  COUNT(999499999, "999 M");
  COUNT(999500000, "1.00 G");
  COUNT(-1234567, "-1.23 M");
  COUNT(INT64_MAX, "9.22 E");
  COUNT(INT64_MIN, "-9.22 E");
  CASE("seconds");
#define SECONDS(value, expected) SAYS(wr_text_seconds(value, text), expected)
  SECONDS(0, "0 s");
  SECONDS(0.000123, "123 us");
  SECONDS(1.5e-9, "1.50 ns");
  SECONDS(0.0009994, "999 us");
  SECONDS(0.0009996, "1.00 ms");
  SECONDS(0.01234, "12.3 ms");
  SECONDS(59.96, "60.0 s");
  SECONDS(1234, "1234 s");
  SECONDS(99999, "99999 s");
  SECONDS(123456, "1.23e5 s");
  SECONDS(-0.5, "-500 ms");
  SECONDS(NAN, "nan");
  SECONDS(INFINITY, "inf");
  SECONDS(-DBL_MAX, "-1.8e308 s");
  CASE("bytes");
#define BYTES(value, expected) SAYS(wr_text_bytes(value, text), expected)
  BYTES(0, "0 B");
  BYTES(512, "512 B");
  BYTES(999.6, "1.00 kB");
  BYTES(1.5e9, "1.50 GB");
  BYTES(1e300, "1e282 EB");
}

static void test_reals(void) {
  char text[16];
  CASE("reals and bounds");
#define REAL(value, expected) SAYS(wr_text_real(value, text), expected)
  REAL(1e-9, "1e-9");
  REAL(6.5432e-10, "6.54e-10");
  REAL(0, "0");
  REAL(0.125, "0.125");
  REAL(1e100, "1e100");
  REAL(1e10, "1e10");
  REAL(NAN, "nan");
  REAL(-INFINITY, "-inf");
#define BOUND(value, expected) SAYS(wr_text_bound(value, text), expected)
  BOUND(1e-9, "1e-9");
  BOUND(8.1201e-10, "8.13e-10");
  BOUND(8.12e-10, "8.12e-10");
  BOUND(9.991e-10, "1e-9");
  BOUND(0, "0");
  BOUND(INFINITY, "inf");
  double value = 1;
  for (int k = 0; k < 2000; k++, value /= 1.37) {
    if (value < 1e-280) value = 1e280;
    double read = strtod(wr_text_bound(value, text), NULL);
    CHECKF(read >= value * (1 - 1e-11) && read <= 1.0101 * value, "%s for %.17g", text, value);
  }
}

static void test_break_even(void) {
  CASE("break-even by hand");
  static const struct {
    double setup, first, median; /* of the run */
    double base_setup, base_first, base_median;
    int64_t applies, expected;
  } cases[] = {
      {10, 1, 1, 0, 2, 2, 50, 10},              /* 10 more to prepare, 1 less an apply                                */
      {10, 1, 1, 0, 3, 3, 50, 5},               /* 10 / 2                                                             */
      {11, 1, 1, 0, 3, 3, 50, 6},               /* 5.5, the next whole multiply                                       */
      {10, 4, 1, 0, 3, 3, 50, 7},               /* (10 + 3) / 2 = 6.5: the first apply is 3 above the median          */
      {10, 1, 1, 0, 7, 3, 50, 3},               /* (10 - 4) / 2: the baseline's first is 4 above                      */
      {1, 1, 1, 4, 2, 2, 50, 0},                /* cheaper in both                                                    */
      {4, 1, 1, 4, 2, 2, 50, 0},                /* equal to prepare, cheaper to apply                                 */
      {4, 2, 2, 4, 2, 2, 50, 0},                /* equal in both: never costs more                                    */
      {3, 2, 2, 4, 2, 2, 50, 0},                /* t == t0, cheaper to prepare                                        */
      {5, 2, 2, 4, 2, 2, 50, -1},               /* t == t0, dearer to prepare                                         */
      {5, 3, 3, 4, 2, 2, 50, -1},               /* dearer in both                                                     */
      {4, 3, 3, 4, 2, 2, 50, -1},               /* equal to prepare, dearer to apply                                  */
      {4, 3, 3, 4, 2, 2, 0, -1},                /* the same before any apply                                          */
      {0, 3, 3, 60, 2, 2, 50, 0},               /* 60 less to prepare, 1 more an apply: less in all after 50 ...      */
      {0, 3, 3, 50, 2, 2, 50, 0},               /* ... equal after 50 ...                                             */
      {0, 3, 3, 49, 2, 2, 50, -1},              /* ... more in all after 50                                           */
      {1e300, 1, 1, 0, 1.0 + 1e-10, 1.0 + 1e-10, 50, -1}, /* more multiplies than can be counted                      */
      {NAN, 1, 1, 0, 2, 2, 50, -1},             {0, 1, 1, 0, INFINITY, INFINITY, 50, -1},
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    wr_run run = {.setup = cases[k].setup, .apply_first = cases[k].first, .apply_median = cases[k].median,
                  .applies = cases[k].applies};
    wr_run base = {.setup = cases[k].base_setup, .apply_first = cases[k].base_first,
                   .apply_median = cases[k].base_median};
    CHECKF(wr_break_even(&run, &base) == cases[k].expected, "case %zu: %lld", k, (long long)wr_break_even(&run, &base));
  }
}

static void test_baseline(void) {
  CASE("baseline");
  wr_run runs[5] = {
      fixture_absent(&fixture_reference, "no"),         fixture_run(&fixture_cpu_csr, 0, 1, 1e-3),
      fixture_run(&fixture_cusparse, 0.5, 4, 1e-4),     fixture_run(&fixture_cusparse_coo, 0, 3, 2e-4),
      fixture_run(&fixture_reference, 0, 0.1, 1e-2),
  };
  CHECK(wr_baseline(runs, 5) == &runs[3]); /* the cusparse format with the least total, not the fastest of all */
  runs[3].ledger.seconds[WR_PHASE_UPLOAD] = 2;
  CHECK(wr_baseline(runs, 5) == &runs[2]);
  runs[2].ledger.seconds[WR_PHASE_VERIFY] = 100; /* in no total */
  CHECK(wr_baseline(runs, 5) == &runs[2]);
  runs[2].ran = 0;
  runs[2].error.status = WR_EUNAVAILABLE;
  CHECK(wr_baseline(runs, 5) == &runs[3]);
  runs[3].error.status = WR_EDEVICE; /* broke off after a result */
  CHECK(wr_baseline(runs, 5) == &runs[1]);
  runs[1].verdict.multiplied_right = 0;
  CHECK(wr_baseline(runs, 5) == &runs[4]);
  CHECK(wr_baseline(runs, 1) == NULL && wr_baseline(NULL, 0) == NULL);
}

static void test_faster(void) {
  CASE("faster by more than 2% and the intervals");
  wr_run a = {.applies = 7, .apply_low = 90, .apply_median = 95, .apply_high = 100};
  wr_run b = {.applies = 7, .apply_low = 103, .apply_median = 110, .apply_high = 120};
  CHECK(wr_faster(&a, &b) && !wr_faster(&b, &a) && !wr_faster(&a, &a));
  b.apply_low = 101.5; /* apart, but by less than 2% */
  CHECK(!wr_faster(&a, &b));
  b.apply_low = 103;
  a.applies = 6; /* no 95% interval from the five after the first */
  CHECK(!wr_faster(&a, &b));
  a.applies = 7;
  b.applies = 6;
  CHECK(!wr_faster(&a, &b));
  b.applies = 7;
  a.apply_high = NAN;
  CHECK(!wr_faster(&a, &b));
  a.apply_high = 0; /* not measured */
  CHECK(!wr_faster(&a, &b));
}

/* The rule of the header for one run, as a table of cases. */
static int expected_code(const wr_run *run) {
  switch (run->error.status) {
    case WR_EUSAGE: return 1;
    case WR_EINPUT: return 3;
    case WR_EUNAVAILABLE: return 4;
    case WR_ENUMERIC: return 5;
    case WR_ENOMEM: return 6;
    case WR_EINTERNAL: return 7;
    case WR_EOUTPUT: return 8;
    case WR_EDEVICE: return 9;
    case WR_OK: break;
  }
  if (!run->ran) return 4;
  int failed = run->verdict.level != WR_VERIFY_OFF && !run->verdict.multiplied_right;
  switch (run->result.outcome) {
    case WR_INTERRUPTED: return 130;
    case WR_NON_FINITE: return 5;
    case WR_BREAKDOWN: return failed ? 7 : 5;
    case WR_MAX_ITERATIONS:
    case WR_TIME_LIMIT:
    case WR_STAGNATED: return failed ? 7 : 2;
    case WR_NOT_SOLVED: return 7;
    case WR_CONVERGED: break;
  }
  if (failed) return 7;
  return run->verdict.level != WR_VERIFY_OFF && !run->verdict.met_tolerance ? 2 : 0;
}

static void test_exit_code_of_one(void) {
  CASE("exit code of one run, every case");
  for (int status = WR_OK; status <= WR_EDEVICE; status++)
    for (int ran = 0; ran < 2; ran++)
      for (int outcome = WR_CONVERGED; outcome <= WR_INTERRUPTED; outcome++)
        for (int level = WR_VERIFY_OFF; level <= WR_VERIFY_FULL; level++)
          for (int verdict = 0; verdict < 4; verdict++) {
            wr_run run = {.backend = &fixture_reference, .error.status = (wr_status)status, .ran = ran};
            run.result.outcome = (wr_outcome)outcome;
            run.verdict = (wr_verdict){
                .level = (wr_verified)level, .multiplied_right = verdict & 1, .met_tolerance = verdict >> 1};
            CHECKF(wr_run_exit_code(&run) == expected_code(&run) && wr_report_exit_code(&run, 1) == expected_code(&run),
                   "status %d ran %d outcome %d level %d verdict %d: %d", status, ran, outcome, level, verdict,
                   wr_run_exit_code(&run));
          }
}

/* A run with this exit code. */
static wr_run run_with_code(int code) {
  wr_run run = fixture_run(&fixture_reference, 0, 1, 1);
  static const struct {
    int code;
    wr_status status;
  } statuses[] = {{1, WR_EUSAGE}, {3, WR_EINPUT},  {4, WR_EUNAVAILABLE}, {5, WR_ENUMERIC},
                  {6, WR_ENOMEM}, {7, WR_EINTERNAL}, {8, WR_EOUTPUT},      {9, WR_EDEVICE}};
  for (size_t k = 0; k < sizeof statuses / sizeof *statuses; k++)
    if (statuses[k].code == code) run.error.status = statuses[k].status;
  if (code == 4) run.ran = 0;
  if (code == 2) run.result.outcome = WR_STAGNATED;
  if (code == 130) run.result.outcome = WR_INTERRUPTED;
  return run;
}

static void test_exit_code_of_several(void) {
  CASE("exit code of several runs: every triple");
  static const int worst_first[] = {130, 7, 9, 5, 6, 8, 3, 1, 2, 0, 4};
  enum { CODES = sizeof worst_first / sizeof *worst_first };
  for (int a = 0; a < CODES; a++)
    for (int b = 0; b < CODES; b++)
      for (int c = 0; c < CODES; c++) {
        wr_run runs[] = {run_with_code(worst_first[a]), run_with_code(worst_first[b]), run_with_code(worst_first[c])};
        int worst = a < b ? a : b;
        if (c < worst) worst = c;
        CHECKF(wr_report_exit_code(runs, 3) == worst_first[worst], "%d %d %d: %d", worst_first[a], worst_first[b],
               worst_first[c], wr_report_exit_code(runs, 3));
      }
  CHECK(wr_report_exit_code(NULL, 0) == 4);
}

static char *report(const char *program, const wr_run *run, int verbose) {
  wr_problem_facts problem = fixture_problem(program);
  FILE *file = tmpfile();
  wr_report_run(&(wr_writer){.file = file}, &problem, run, verbose);
  char *text = fixture_text(file);
  CHECKF(fixture_lines_fit(text), "%s", text);
  CHECKF(strchr(text, '\n') - text >= 20, "no first line: %s", text);
  return fixture_flat(text);
}

static void test_converged(void) {
  CASE("a converged PageRank");
  wr_run run = fixture_run(&fixture_cusparse, 0.002, 0.0142, 210e-6);
  SET_TEXT(run.knobs, "alg=2:layout=paper");
  SET_TEXT(run.device_name, "NVIDIA H200");
  run.warm = 0.015;
  run.ledger.hidden[WR_PHASE_UPLOAD] = 0.125;
  char *text = report("pagerank", &run, 0);
  CHECKF(strncmp(text, "converged in 54 iterations: L1 error <= 8.13e-10 (asked for 1e-9), last change 1.44e-10 ",
                 88) == 0,
         "%s", text);
  CHECK_HAS(text, "web.mtx in f64: coordinate pattern general, 281903 x 281903, 2.31 M nonzeros ");
  CHECK_HAS(text, "cusparse:alg=2 on NVIDIA H200, epilogue separate ");
  CHECK_HAS(text, "in full, on the host: 281903 rows multiplied right (largest error 0.125 of its rounding bound)");
  CHECK_HAS(text, "6e-11, 1.5e-10 is allowed");
  CHECK_HAS(text, "read 1.00 s, upload 0 s (and 125 ms hidden), prepare 2.00 ms, solve 14.2 ms (55 multiplies "
                  "11.6 ms, median 210 us), verify 250 ms ");
  CHECK_HAS(text, "end to end 1.02 s, to verified answer 1.27 s; a second solve, warm: 15.0 ms ");
  CHECK_LACKS(text, "advice");
  free(text);
  CASE("verbose, with advice to use another backend");
  SET_TEXT(run.info.line, "two lanes a row");
  SET_TEXT(run.info.advice, "bsr_unrolled reads less: blocks of 3 x 3");
  run.info.better = "bsr_unrolled";
  text = report("pagerank", &run, 1);
  CHECK_HAS(text, "two lanes a row ");
  CHECK_HAS(text, "advice bsr_unrolled reads less: blocks of 3 x 3 ");
  CHECK_HAS(text, "a multiply moves 420 MB, 2.00 TB/s (50%; the memory gives 4.00 TB/s); the format has 1.23 kB; "
                  "memory: 1.50 GB of the backend's own, 0 B of the matrix's arrays; deterministic");
  free(text);
  CASE("tuned, and found in a cache");
  SET_TEXT(run.info.tuning.knobs, "width=2:tile=8");
  run.info.tuning.tried = 4, run.info.tuning.seconds = 0.0052, run.info.tuning.multiply_seconds = 1e-4;
  text = report("pagerank", &run, 0);
  CHECK_HAS(text, "tuner width=2:tile=8; 4 configurations timed in 5.20 ms, as long as 52 multiplies of 100 us ");
  free(text);
  run.info.tuning.tried = 1;
  text = report("pagerank", &run, 0);
  CHECK_HAS(text, "tuner width=2:tile=8; 1 configuration timed in 5.20 ms, ");
  free(text);
  run.info.tuning = (wr_tuning){.knobs = "width=2", .from = "/home/user/tuned"};
  text = report("pagerank", &run, 0);
  CHECK_HAS(text, "tuner width=2; from /home/user/tuned ");
  CHECK_LACKS(text, "timed in");
  free(text);
  run.info.tuning = (wr_tuning){.knobs = ""};
  text = report("pagerank", &run, 1);
  CHECK_LACKS(text, "tuner");
  free(text);
  CASE("stopped by the change");
  run.result = (wr_result){.iterations = 1, .measure = 9e-10, .change = 9e-10, .bound = 5.1e-9,
                             .by_change = 1};
  text = report("pagerank", &run, 0);
  CHECK_HAS(text, "converged in 1 iteration: last change 9e-10 (asked for 1e-9), L1 error <= 5.1e-9 ");
  free(text);
  CASE("stopped by the order");
  run.result = (wr_result){.iterations = 30,
                           .measure = 9e-5,
                           .change = 2e-5,
                           .bound = 9.5e-5,
                           .order = {.asked = 10, .proven = 10, .reviews = 3, .spared = 61}};
  text = report("pagerank", &run, 0);
  CHECK_HAS(text, "in 30 iterations: the order of the first 10 is proven, L1 error <= 9.5e-5; for 1e-9 it would take "
                  "about 61 more, last change 2e-5 ");
  free(text);
  run.result.order.proven = 4, run.result.order.spared = 0;
  text = report("pagerank", &run, 0);
  CHECK_HAS(text, "the order of the first 10 is not proven (of 4 it is), L1 error <= 9.5e-5 (asked for 1e-9), last ");
  free(text);
  run.result.order.crowded = 2;
  text = report("pagerank", &run, 0);
  CHECK_HAS(text, "(of 4 it is), in 2 of 3 tests too many nodes had about the same score, L1 error <= 9.5e-5 (asked ");
  free(text);
}

static void test_bicgstab(void) {
  CASE("BiCGSTAB that stagnated");
  wr_run run = fixture_run(&fixture_cpu_csr, 0, 2, 1e-3);
  run.result = (wr_result){.outcome = WR_STAGNATED, .iterations = 80, .measure = 6.5e-7, .restarts = 1,
                           .refinements = 3, .note = "this precision attains no more"};
  run.verdict.met_tolerance = 0;
  run.verdict.backward_error = 2.5e-14, run.verdict.backward_row = 11, run.verdict.backward_rows = 281903;
  char *text = report("bicgstab", &run, 0);
  CHECK_HAS(text, "not converged (stagnated) after 80 iterations, 1 restart, 3 continuations from the true residual: ");
  CHECK(strncmp(text, "not", 3) == 0);
  CHECK_HAS(text, "||b - A x|| = 6.5e-7 ||b|| (asked for 1e-9)");
  CHECK_HAS(text, "this precision attains no more ");
  CHECK_HAS(text, "is allowed: TOO MUCH; backward error 2.5e-14, that of row 12 ");
  CHECK_HAS(text, " why this precision");
  free(text);
  CASE("BiCGSTAB, the host's residual in place of the device's");
  run.result.outcome = WR_CONVERGED;
  SET_TEXT(run.result.note, "the guess was replaced");
  run.verdict.measure = 7.5e-10, run.verdict.on_host = 1;
  text = report("bicgstab", &run, 0);
  CHECK_HAS(text, "||b - A x|| = 7.5e-10 ||b|| (asked for 1e-9)");
  CHECK_HAS(text, " note the guess was replaced ");
  free(text);
}

/* The limit is 1e-3 or the tolerance, whichever is larger, and an answer that was not checked has none. */
static void test_backward_error(void) {
  wr_problem_facts problem = fixture_problem("bicgstab");
  wr_run run = fixture_run(&fixture_cpu_csr, 0, 2, 1e-3);
  CASE("a large backward error");
  run.verdict.backward_error = 0.66, run.verdict.backward_row = 168, run.verdict.backward_rows = 281903;
  char *text = report("bicgstab", &run, 0);
  CHECKF(strncmp(text, "converged in 54", 15) == 0, "%s", text);
  CHECK_HAS(text, "(asked for 1e-9), but the backward error is 0.66: x may be useless ");
  CHECK_HAS(text, "; backward error 0.66, that of row 169 ");
  CHECK(wr_run_exit_code(&run) == 0);
  free(text);
  run.verdict.backward_rows = 10;
  text = report("bicgstab", &run, 0);
  CHECK_HAS(text, "; backward error 0.66, that of row 169 of the sample ");
  free(text);
  static const struct {
    double error, tolerance;
    int doubtful;
  } cases[] = {{1e-3, 1e-9, 0}, {1.01e-3, 1e-9, 1}, {1, 1e-9, 1}, {(double)INFINITY, 1e-9, 1}, {(double)NAN, 1e-9, 1},
               {0.05, 0.1, 0},  {0.05, 0.01, 1},    {0, 1e-9, 0}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    wr_certificate certificate = {.met = 1, .backward = cases[k].error};
    run.verdict.backward_error = cases[k].error, problem.tolerance = cases[k].tolerance;
    CHECKF(wr_run_is_doubtful(&problem, &run) == cases[k].doubtful, "%g", cases[k].error);
    CHECKF(wr_certificate_is_doubtful(&problem, &certificate) == cases[k].doubtful, "%g", cases[k].error);
    certificate.met = 0;
    CHECK(!wr_certificate_is_doubtful(&problem, &certificate));
  }
  run.verdict.backward_error = 1, problem.tolerance = 1e-9;
  problem.measure = WR_MEASURE_L1_ERROR;
  CHECK(!wr_run_is_doubtful(&problem, &run));
  problem.measure = WR_MEASURE_RESIDUAL, run.verdict.level = WR_VERIFY_OFF;
  CHECK(!wr_run_is_doubtful(&problem, &run));
  run.verdict.level = WR_VERIFY_FULL, run.result.outcome = WR_STAGNATED;
  CHECK(!wr_run_is_doubtful(&problem, &run));
  CASE("stopped by the backward error");
  run.result.outcome = WR_CONVERGED, run.result.by_backward = 1, run.result.backward = 3e-10;
  run.verdict.backward_error = 3e-10, run.verdict.backward_rows = 281903;
  text = report("bicgstab", &run, 0);
  CHECK_HAS(text, "converged in 54 iterations: backward error 3e-10 (asked for 1e-9), ||b - A x|| = 8.13e-10 ||b|| ");
  CHECK_HAS(text, "true residual 6e-11; backward error 3e-10, that of row 169, 1e-9 is allowed ");
  free(text);
  static const struct {
    double measure, limit;
    int is_relative, doubtful;
  } residuals[] = {{1, 1e-9, 1, 0}, {1.01, 1e-9, 1, 1}, {1.38e15, 1e-9, 1, 1}, {5, 10, 1, 0}, {11, 10, 1, 1},
                   {5, 0, 0, 0}};
  problem = fixture_problem("bicgstab");
  for (size_t k = 0; k < sizeof residuals / sizeof *residuals; k++) {
    wr_certificate certificate = {.met = 1, .backward = 3e-10, .by_backward = 1, .measure = residuals[k].measure,
                                  .limit = residuals[k].limit, .is_relative = residuals[k].is_relative};
    run.verdict.measure = residuals[k].measure, run.verdict.limit = residuals[k].limit;
    CHECKF(wr_certificate_is_doubtful(&problem, &certificate) == residuals[k].doubtful, "%g", certificate.measure);
    if (!residuals[k].is_relative) continue; /* b = 0 is solved by x = 0 */
    CHECKF(wr_run_is_doubtful(&problem, &run) == residuals[k].doubtful, "%g", certificate.measure);
    run.result.by_backward = 0;
    CHECK(!wr_run_is_doubtful(&problem, &run));
    run.result.by_backward = 1;
  }
  run.verdict.measure = 1.38e15, run.verdict.on_host = 1;
  text = report("bicgstab", &run, 0);
  CHECK_HAS(text, "||b - A x|| = 1.38e15 ||b||, but x = 0 has a smaller residual: x may be useless ");
  free(text);
  run.verdict.met_tolerance = 0;
  text = report("bicgstab", &run, 0);
  CHECK_HAS(text, "1e-9 is allowed: TOO MUCH ");
  free(text);
}

/* What a direct solver did after the iterations. */
static void test_direct(void) {
  wr_run run = fixture_run(&fixture_cpu_csr, 0, 2, 1e-3);
  CASE("a direct solver");
  run.result.direct = (wr_direct_facts){.tried = 1, .used = 1, .outcome = WR_CONVERGED, .after = WR_BREAKDOWN,
                                        .entries = 4480200, .blocks = 7, .largest_block = 1, .bytes = 71680000,
                                        .refinements = 1, .seconds = 0.5, .pivots = 0.01};
  char *text = report("bicgstab", &run, 0);
  CHECK_HAS(text, "solved directly, after 54 iterations: ||b - A x|| = ");
  CHECK_HAS(text, " direct LU factors by KLU: 4.48 M entries, ");
  CHECK_HAS(text,
            " times those of the matrix, 7 blocks, the largest of 1 row, 71.7 MB, 500 ms; 1 step of refinement; the "
            "iterations had ended with breakdown ");
  free(text);
  run.result.outcome = WR_STAGNATED, run.verdict.met_tolerance = 0;
  run.result.direct = (wr_direct_facts){.tried = 1, .outcome = WR_BREAKDOWN, .after = WR_STAGNATED};
  SET_TEXT(run.result.direct.why, "the matrix is singular");
  text = report("bicgstab", &run, 0);
  CHECK_HAS(text, "not converged (stagnated) after 54 iterations");
  CHECK_HAS(text,
            " direct LU factors by KLU did not help: the matrix is singular; the iterations had ended with stagnated ");
  free(text);
  run.result.direct.tried = 0;
  text = report("bicgstab", &run, 0);
  CHECK(strstr(text, "KLU") == NULL);
  free(text);
}

/* What to try comes last, and its command is what a shell reads as it was, wherever the lines end. */
static void test_advice(void) {
  wr_run run = fixture_run(&fixture_cpu_csr, 0, 2, 1e-3);
  CASE("advice");
  run.result.outcome = WR_MAX_ITERATIONS;
  SET_TEXT(run.advice.seen, "27 diagonal elements are 0, the first in row 2026");
  SET_TEXT(run.advice.remedy, "vectors and values in f64");
  SET_TEXT(run.advice.command,
           "bicgstab --precision f64 --rhs-file 'a right hand side with blanks.mtx' --max-iterations "
           "1000 --output /tmp/x.mtx --history /tmp/h.csv A.mtx");
  SET_TEXT(run.advice.other, "a direct solver");
  char *text = report("bicgstab", &run, 0);
  CHECK_HAS(text, " seen 27 diagonal elements are 0, the first in row 2026 try vectors and values in f64: bicgstab ");
  CHECK_HAS(text, " --rhs-file 'a right hand side with blanks.mtx' ");
  const char *last = " A.mtx or a direct solver ";
  CHECKF(strlen(text) > strlen(last) && strcmp(text + strlen(text) - strlen(last), last) == 0, "%s", text);
  char joined[2048] = "", *at = strstr(text, "bicgstab --precision");
  for (; at && *at; at++) /* what a shell makes of a backslash at the end of a line; the text is flat here */
    if (strncmp(at, "\\ ", 2) == 0)
      at++;
    else
      snprintf(joined + strlen(joined), 2, "%c", *at);
  CHECKF(strncmp(joined, run.advice.command, strlen(run.advice.command)) == 0, "%s", joined);
  free(text);
}

/* A word wider than a line is broken where a shell joins it again, one in quotes is not. */
static void test_wide_words(void) {
  char word[400], command[600], joined[600];
  CASE("words wider than a line");
  for (int length = 60; length < 300; length++) {
    memset(word, 'w', sizeof word);
    word[length] = '\0';
    snprintf(command, sizeof command, "bicgstab --output %s 'a b' A.mtx", word);
    FILE *file = tmpfile();
    wr_command_print(file, command, 12);
    char *text = fixture_text(file), *to = joined;
    CHECKF(fixture_lines_fit(text), "%s", text);
    for (const char *at = text + 12; *at != '\0'; at++) { /* what a shell makes of it, blanks squeezed */
      if (at[0] == '\\' && at[1] == '\n') at += 2;
      if (*at != '\n' && !(*at == ' ' && to > joined && to[-1] == ' ')) *to++ = *at;
      if (*at == '\0') break;
    }
    *to = '\0';
    CHECKF(strcmp(joined, command) == 0, "'%s' is '%s', not '%s'", text, joined, command);
    free(text);
  }
}

static void test_scores(void) {
  wr_problem_facts problem = fixture_problem("pagerank");
  wr_ledger ledger = {.seconds = {[WR_PHASE_READ] = 1}};
  problem.measure = WR_MEASURE_L1_ERROR;
  CASE("--check of scores");
  for (int k = 0; k < 4; k++) {
    wr_certificate c = {.x = "s.tsv", .measure = 1.5e-10, .error = 1.234e-15, .limit = 1e-9, .met = k == 0 || k == 3,
                        .by_change = k == 3,
                        .scores = {.damping = 0.75, .sum = k == 1 ? 3 : 1, .bound = 6.001e-10, .nodes = 9, .proven = 9,
                                   .worst = 77, .worst_score = 0.25, .worst_change = -1e-6}};
    if (k == 2) c.scores.proven = 0;
    if (k == 1) c.scores.normalised = 1, c.scores.order_bound = 1e-12, c.scores.proven = 4, c.scores.ties = 1;
    if (k == 2) snprintf(c.scores.reading, sizeof c.scores.reading, "edges reversed"), c.scores.reading_bound = 2e-11;
    FILE *file = tmpfile();
    wr_report_check(&(wr_writer){.file = file}, &problem, &c, &ledger);
    char *text = fixture_text(file);
    CHECKF(fixture_lines_fit(text), "%s", text);
    fixture_flat(text);
    CHECK(!wr_certificate_is_doubtful(&problem, &c));
    if (k == 0)
      CHECK_HAS(text, "scores meet the tolerance: L1 error <= 6.01e-10 (asked for 1e-9) problem web.mtx in f64");
    if (k == 1)
      CHECK_HAS(text, " sum 3, off 1 by 2 order proven for the first 4 of 9 nodes, of which 1 is equal to the next, "
                      "since the same nodes link to both, by the bound 1e-12 for the ");
    if (k == 2) CHECK_HAS(text, "scores do NOT meet the tolerance: L1 error <= 6.01e-10 (asked for 1e-9) problem ");
    if (k == 2) CHECK_HAS(text, " of their sum, these are scores of another definition: edges reversed times ");
    if (k == 3)
      CHECK_HAS(text, "scores meet the tolerance: a step changes them by 1.5e-10 (asked for 1e-9), L1 error <= ");
    if (k != 1)
      CHECK_HAS(text, k == 2 ? " sum 1 order of the first two of 9 nodes not proven "
                             : " sum 1 order proven for all 9 nodes ");
    CHECK_HAS(text,
              " scores s.tsv residual 1.5e-10 in L1, with an error of at most 1.24e-15; divided by 1 - damping = 0.25");
    CHECKF((strstr(text, "worst node 77: a step changes its score 0.25 by -1e-6, more than any other meaning") !=
            NULL) == !c.met,
           "%s", text);
    free(text);
  }
}

static void test_certificate(void) {
  wr_problem_facts problem = fixture_problem("bicgstab");
  wr_ledger ledger = {.seconds = {[WR_PHASE_READ] = 1}};
  wr_certificate c = {.x = "x.mtx", .measure = 6.5e-10, .error = 1.234e-20, .limit = 1e-9, .attainable = 2.3451e-16,
                      .backward = 0.5, .backward_row = 6, .is_relative = 1, .met = 1};
  CASE("--check");
  for (int k = 0; k < 4; k++) {
    c.met = k != 1, c.by_backward = k == 2, c.is_relative = k != 3;
    FILE *file = tmpfile();
    wr_report_check(&(wr_writer){.file = file}, &problem, &c, &ledger);
    char *text = fixture_text(file);
    CHECKF(fixture_lines_fit(text), "%s", text);
    fixture_flat(text);
    CHECK(wr_certificate_exit_code(&c) == (k == 1 ? 2 : 0));
    if (k == 0)
      CHECK_HAS(text, "x meets the tolerance: ||b - A x|| = 6.5e-10 ||b|| (asked for 1e-9), but the backward "
                      "error is 0.5: x may be useless problem web.mtx in f64");
    if (k == 1) CHECK_HAS(text, "x does NOT meet the tolerance: ||b - A x|| = 6.5e-10 ||b|| (asked for 1e-9) problem ");
    if (k == 2)
      CHECK_HAS(text, "x meets the tolerance: backward error 0.5 (asked for 1e-9), ||b - A x|| = 6.5e-10 ||b||");
    if (k == 3) CHECK_HAS(text, "x meets the tolerance: ||b - A x|| = 6.5e-10 (asked for 1e-9)");
    CHECK_HAS(text, " x x.mtx residual 6.5e-10");
    CHECK_HAS(text, ", with an error of at most 1.24e-20"); /* bounds are rounded up */
    CHECK_HAS(text, " error 0.5, that of row 7: ");
    CHECK_HAS(text, " A, b and x, rounded to f64, change the residual by up to 2.35e-16");
    free(text);
  }
}

static void test_doubtful(void) {
  CASE("the first line warns if verification failed");
  wr_run run = fixture_run(&fixture_cpu_csr, 0, 2, 1e-3);
  run.verdict.met_tolerance = 0;
  char *text = report("pagerank", &run, 0);
  CHECKF(strncmp(text, "NOT ACCURATE ENOUGH: converged", 30) == 0, "%s", text);
  free(text);
  run.verdict.multiplied_right = 0;
  run.verdict.worst_row = 3.1e5;
  text = report("pagerank", &run, 0);
  CHECKF(strncmp(text, "WRONG, ", 7) == 0, "%s", text);
  CHECK_HAS(text, "MULTIPLIED WRONG: the largest error is 3.1e5 times its rounding bound");
  free(text);
  run.verdict.level = WR_VERIFY_OFF;
  text = report("pagerank", &run, 0);
  CHECK_HAS(text, "(asked for 1e-9), last change 1.44e-10, unverified ");
  CHECK_HAS(text, "end to end 3.00 s (unverified) ");
  CHECK_LACKS(text, "MULTIPLIED");
  CHECK_LACKS(text, "to verified answer");
  free(text);
  run.error.status = WR_EDEVICE;
  SET_TEXT(run.error.text, "kernel csr_warp: illegal address");
  text = report("pagerank", &run, 0);
  CHECKF(strncmp(text, "BROKE OFF after 54 iterations: ", 31) == 0, "%s", text);
  CHECK_LACKS(text, "converged");
  CHECK_HAS(text, "kernel csr_warp: illegal address ");
  free(text);
  run = fixture_absent(&fixture_cusparse, "built without CUDA\nreally");
  text = report("pagerank", &run, 1);
  CHECKF(strncmp(text, "not available: built without CUDA really ", 41) == 0, "%s", text);
  free(text);
}

static void test_fit(void) {
  char text[64];
  CASE("names are cut at characters");
  CHECK(strcmp(wr_text_fit("short", 5, 0, text), "short") == 0);
  CHECK(strcmp(wr_text_fit("longer", 5, 0, text), "lon..") == 0);
  CHECK(strcmp(wr_text_fit("longer", 5, 1, text), "..ger") == 0);
  CHECK(strcmp(wr_text_fit("a\xC3\xA4"
                           "bcdef",
                           4, 0, text),
               "a..") == 0);
  CHECK(strcmp(wr_text_fit("abcdef\xC3\xA4z", 4, 1, text), "..z") == 0);
  CHECK(strcmp(wr_text_fit("a\nb\x7F", 4, 0, text), "a?b?") == 0);
  CHECK(strcmp(wr_text_fit("\x80\x80\x80\x80\x80\x80\x80", 5, 0, text), "\x80\x80\x80..") == 0);
}

int main(void) {
  test_numbers();
  test_reals();
  test_break_even();
  test_baseline();
  test_faster();
  test_exit_code_of_one();
  test_exit_code_of_several();
  test_converged();
  test_bicgstab();
  test_doubtful();
  test_backward_error();
  test_direct();
  test_advice();
  test_wide_words();
  test_certificate();
  test_scores();
  test_fit();
  return wr_test_report("report");
}
