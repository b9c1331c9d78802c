/* The run with the least time for a number of multiplies: costs are lines, which cross at known numbers. */
#define _DEFAULT_SOURCE /* setenv */
#include "solvers/report/run.h"
#include "solvers/report/statistics.h"
#include "tests/report/report_fixture.h"

static wr_run ready(void) { return fixture_run(&fixture_cpu_csr, 0, 1, 1); } /* no preparation, 1 s a multiply */

/* The stretches' runs by number, and where they begin: {0, 1, 1, 25} for run 0 from 1 on and run 1 from 25 on. */
static void is(const wr_run *runs, int count, int found, const int64_t *expected) {
  wr_stretch stretches[4];
  int got = wr_suggest(runs, count, stretches);
  CHECKF(got == found, "%d stretches, not %d", got, found);
  for (int k = 0; k < found && k < got; k++)
    CHECKF(stretches[k].run == &runs[expected[2 * k]] && stretches[k].from == expected[2 * k + 1],
           "stretch %d: run %d from %lld", k, (int)(stretches[k].run - runs), (long long)stretches[k].from);
}

static void test_crossings(void) {
  CASE("12.5 s to prepare, half the time a multiply: less time from 25 on");
  wr_run runs[3] = {ready(), fixture_run(&fixture_cusparse, 12.5, 1, 0.5)};
  is(runs, 2, 2, (int64_t[]){0, 1, 1, 25});
  CASE("the order of the list does not matter");
  wr_run other[2] = {runs[1], runs[0]};
  is(other, 2, 2, (int64_t[]){1, 1, 0, 25});
  CASE("the third is faster than the second from (100 - 12.5) / 0.25 on");
  runs[2] = fixture_run(&fixture_cusparse_coo, 100, 1, 0.25);
  is(runs, 3, 3, (int64_t[]){0, 1, 1, 25, 2, 350});
  CASE("the second would pay at 100, but the third does at 80: the second is left out");
  runs[1] = fixture_run(&fixture_cusparse, 50, 1, 0.5), runs[2] = fixture_run(&fixture_cusparse_coo, 60, 1, 0.25);
  is(runs, 3, 2, (int64_t[]){0, 1, 2, 80});
  CASE("two pay at 25: the faster one");
  runs[1] = fixture_run(&fixture_cusparse, 12.5, 1, 0.5), runs[2] = fixture_run(&fixture_cusparse_coo, 18.75, 1, 0.25);
  is(runs, 3, 2, (int64_t[]){0, 1, 2, 25});
}

static void test_first(void) {
  CASE("the first to be prepared is also the fastest: one stretch");
  wr_run runs[2] = {ready(), fixture_run(&fixture_cusparse, 0, 1, 0.5)};
  is(runs, 2, 1, (int64_t[]){1, 1});
  CASE("the first multiply counts: with 10 s more there, a run has the least time from 20 on");
  runs[1].apply_first = 10.5;
  is(runs, 2, 2, (int64_t[]){0, 1, 1, 20});
  CASE("both have their first result at the same time: the faster one");
  runs[1].apply_first = 1;
  is(runs, 2, 1, (int64_t[]){1, 1});
  CASE("slower and later: left out");
  runs[1] = fixture_run(&fixture_cusparse, 3, 1, 2);
  is(runs, 2, 1, (int64_t[]){0, 1});
}

static void test_doubt(void) {
  CASE("1% faster is too little");
  wr_run runs[2] = {ready(), fixture_run(&fixture_cusparse, 1, 1, 0.99)};
  is(runs, 2, 1, (int64_t[]){0, 1});
  CASE("wrong products and runs without a result do not count");
  runs[1] = fixture_run(&fixture_cusparse, 1, 1, 0.5);
  runs[1].verdict.multiplied_right = 0;
  is(runs, 2, 1, (int64_t[]){0, 1});
  runs[0] = fixture_absent(&fixture_cpu_csr, "away");
  is(runs, 2, 0, NULL);
  CASE("runs with too few multiplies for an interval do not count");
  runs[0] = ready();
  runs[0].applies = WR_LEAST_SAMPLE;
  is(runs, 1, 0, NULL);
  runs[0].applies++;
  is(runs, 1, 1, (int64_t[]){0, 1});
  CASE("no run counts");
  is(runs, 0, 0, NULL);
}

int main(void) {
  test_crossings();
  test_first();
  test_doubt();
  return wr_test_report("suggestion");
}
