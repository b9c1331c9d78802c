#define _DEFAULT_SOURCE
#include "solvers/solver.h"

#include <errno.h>
#include <stdlib.h>

#include "config/memory.h"
#include "tests/check.h"

/* Replaces the C library's, so that one chosen allocation fails; -1: none does. */
static int allocations_left = -1, allocations;
int posix_memalign(void **block, size_t alignment, size_t size) {
  allocations++;
  if (allocations_left == 0) return ENOMEM;
  if (allocations_left > 0) allocations_left--;
  *block = aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  return *block ? 0 : ENOMEM;
}

static void test_outcomes(void) {
  static const struct {
    wr_outcome outcome;
    const char *title;
    int exit_code;
  } expected[] = {
      {WR_CONVERGED, "converged", 0},   {WR_MAX_ITERATIONS, "max-iterations", 2}, {WR_TIME_LIMIT, "time-limit", 2},
      {WR_STAGNATED, "stagnated", 2},   {WR_BREAKDOWN, "breakdown", 5},           {WR_NON_FINITE, "non-finite", 5},
      {WR_INTERRUPTED, "interrupted", 130}, {WR_NOT_SOLVED, "not-solved", 7},
  };
  CASE("outcomes");
  CHECK(WR_CONVERGED == 0); /* a zeroed result */
  for (size_t k = 0; k < sizeof expected / sizeof *expected; k++) {
    CHECKF(strcmp(wr_outcome_title(expected[k].outcome), expected[k].title) == 0, "%s", expected[k].title);
    CHECKF(wr_outcome_exit_code(expected[k].outcome) == expected[k].exit_code, "%s", expected[k].title);
  }
}

/* Entry k of the test histories. */
static int64_t iteration_of(int64_t k) { return 3 * k + ((int64_t)1 << 40); }
static double measure_of(int64_t k) { return 1.0 / (double)(k + 3); }

static void check_entries(const wr_history *history, int64_t count) {
  int64_t wrong = 0;
  CHECKF(history->count == count, "%lld entries", (long long)history->count);
  for (int64_t k = 0; k < history->count; k++)
    wrong += history->iteration[k] != iteration_of(k) || history->measure[k] != measure_of(k);
  CHECKF(wrong == 0, "%lld entries of %lld are wrong", (long long)wrong, (long long)count);
}

static void test_history(void) {
  CASE("a history keeps its entries while it grows");
  allocations = 0; /* libraries may have had some before */
  wr_history history = {0};
  for (int64_t k = 0; k < 1000; k++) CHECK_OK(wr_history_add(&history, iteration_of(k), measure_of(k)));
  check_entries(&history, 1000);
  CHECKF(allocations < 40, "%d allocations", allocations); /* it doubles: not one for each entry */
  wr_history_free(&history);
  CHECK(history.count == 0 && history.capacity == 0 && !history.iteration && !history.measure);
  wr_history_free(&history);
  CHECK_OK(wr_history_add(&history, iteration_of(0), measure_of(0)));
  check_entries(&history, 1);
  wr_history_free(&history);
}

/* Every allocation fails once; the history stays as it was and can go on. */
static void test_no_memory(void) {
  CASE("a history without memory");
  for (int failing = 0; failing < 2; failing++) {
    wr_history history = {0};
    for (int64_t k = 0; k < 500; k++) {
      if (history.count == history.capacity) {
        int64_t count = history.count;
        allocations_left = failing;
        CHECK_FAILS(WR_ENOMEM, wr_history_add(&history, iteration_of(k), measure_of(k)));
        allocations_left = -1;
        CHECK_MESSAGE("history");
        check_entries(&history, count);
      }
      CHECK_OK(wr_history_add(&history, iteration_of(k), measure_of(k)));
    }
    check_entries(&history, 500);
    wr_history_free(&history);
  }
}

int main(void) {
  test_outcomes();
  test_history();
  test_no_memory();
  return wr_test_report("solver");
}
