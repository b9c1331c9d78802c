#include "solvers/report/ledger.h"

#include <stdlib.h>
#include <time.h>

#include "tests/check.h"

/* Waits until the clock changes, so that no phase is empty. */
static void spend(void) {
  double begin = wr_clock();
  while (wr_clock() == begin) {}
}

/* The ledger's stamps determine the time of each phase: phases meet without a gap, exactly. */
static void test_exclusive(void) {
  CASE("phases are exclusive and without gaps");
  static const wr_phase way[] = {WR_PHASE_READ, WR_PHASE_ASSEMBLE, WR_PHASE_SOLVE,    WR_PHASE_VERIFY, WR_PHASE_SOLVE,
                                 WR_PHASE_SOLVE, WR_PHASE_WRITE,   WR_PHASE_DOWNLOAD, WR_PHASE_CALIBRATE};
  enum { STEPS = sizeof way / sizeof *way };
  double expected[WR_PHASE_COUNT] = {0};
  wr_ledger ledger;
  memset(&ledger, 0x55, sizeof ledger);
  wr_ledger_begin(&ledger, WR_PHASE_UPLOAD);
  double first = ledger.since, before = first;
  wr_phase phase = WR_PHASE_UPLOAD;
  for (int step = 0; step <= STEPS; step++) {
    spend();
    if (step < STEPS)
      wr_ledger_enter(&ledger, way[step]);
    else
      wr_ledger_stop(&ledger);
    CHECKF(ledger.since > before, "step %d took no time", step);
    expected[phase] += ledger.since - before;
    before = ledger.since;
    if (step < STEPS) phase = way[step];
  }
  double sum = 0;
  for (int p = 0; p < WR_PHASE_COUNT; p++) {
    CHECKF(ledger.seconds[p] == expected[p], "%s: %.17g, not %.17g", wr_phase_title((wr_phase)p), ledger.seconds[p],
           expected[p]);
    CHECKF(ledger.hidden[p] == 0, "%s", wr_phase_title((wr_phase)p));
    sum += ledger.seconds[p];
  }
  /* each difference of two stamps is rounded once, each sum once: all are below the stamps themselves */
  double elapsed = before - first;
  CHECKF(fabs(sum - elapsed) <= 4 * STEPS * 0x1p-52 * before, "sum %.17g, elapsed %.17g", sum, elapsed);
}

static void test_stopped(void) {
  CASE("time between stop and enter is in no phase");
  wr_ledger ledger;
  wr_ledger_begin(&ledger, WR_PHASE_READ);
  double begin = ledger.since;
  spend();
  wr_ledger_stop(&ledger);
  double stopped = ledger.since;
  CHECK(!ledger.running);
  CHECK(ledger.seconds[WR_PHASE_READ] == stopped - begin);
  spend();
  wr_ledger_stop(&ledger);
  CHECK(ledger.seconds[WR_PHASE_READ] == stopped - begin);
  spend();
  wr_ledger_enter(&ledger, WR_PHASE_WRITE);
  double entered = ledger.since;
  CHECK(entered > stopped && ledger.running && ledger.phase == WR_PHASE_WRITE);
  CHECK(ledger.seconds[WR_PHASE_READ] == stopped - begin && ledger.seconds[WR_PHASE_WRITE] == 0);
  spend();
  wr_ledger_stop(&ledger);
  CHECK(ledger.seconds[WR_PHASE_WRITE] == ledger.since - entered);
}

static void test_totals(void) {
  CASE("totals: all but verify and calibrate, in the places of the list that their names fix");
  for (int p = 0; p < WR_PHASE_COUNT; p++) {
    wr_ledger ledger = {.seconds = {0}};
    ledger.seconds[p] = 3;
    ledger.hidden[p] = 100;
    int outside = p == WR_PHASE_VERIFY || p == WR_PHASE_CALIBRATE;
    CHECKF(wr_ledger_end_to_end(&ledger) == (outside ? 0 : 3), "%s", wr_phase_title((wr_phase)p));
    CHECKF(wr_ledger_to_verified(&ledger) == (p == WR_PHASE_CALIBRATE ? 0 : 3), "%s", wr_phase_title((wr_phase)p));
    CHECKF(wr_phase_counted((wr_phase)p) == !outside, "%s", wr_phase_title((wr_phase)p));
  }
  CHECK(strcmp(wr_phase_title(WR_PHASE_INIT), "init") == 0);
  CHECK(strcmp(wr_phase_title(WR_PHASE_CALIBRATE), "calibrate") == 0);
}

static void test_add(void) {
  CASE("add");
  wr_ledger sum = {.seconds = {[WR_PHASE_READ] = 1}, .hidden = {[WR_PHASE_UPLOAD] = 2}};
  wr_ledger part = {.seconds = {[WR_PHASE_READ] = 4, [WR_PHASE_VERIFY] = 8}, .hidden = {[WR_PHASE_UPLOAD] = 16}};
  wr_ledger_add(&sum, &part);
  CHECK(sum.seconds[WR_PHASE_READ] == 5 && sum.seconds[WR_PHASE_VERIFY] == 8 && sum.hidden[WR_PHASE_UPLOAD] == 18);
  CHECK(part.seconds[WR_PHASE_READ] == 4 && part.hidden[WR_PHASE_UPLOAD] == 16);
}

static void test_process(void) {
  CASE("the process's ledger begins with the processor time used before");
  clock_t before = clock();
  wr_ledger ledger;
  wr_ledger_begin_process(&ledger);
  double used = ledger.seconds[WR_PHASE_INIT];
  clock_t after = clock();
  double resolution = 1.0 / CLOCKS_PER_SEC; /* clock() rounds down */
  CHECKF(used >= (double)before / CLOCKS_PER_SEC, "%g s", used);
  CHECKF(used <= (double)after / CLOCKS_PER_SEC + resolution, "%g s", used);
  CHECK(ledger.running && ledger.phase == WR_PHASE_INIT);
  double begin = ledger.since;
  spend();
  wr_ledger_enter(&ledger, WR_PHASE_READ);
  CHECK(ledger.seconds[WR_PHASE_INIT] == used + (ledger.since - begin));
}

/* The first test, before the process has freed memory: its peak is what it uses. */
static void test_peak(void) {
  CASE("peak memory when a phase ended");
  enum { MUCH = 64 << 20 };
  wr_ledger ledger, sum = {0};
  wr_ledger_begin(&ledger, WR_PHASE_READ);
  CHECK(wr_ledger_peak(&ledger, WR_PHASE_CALIBRATE) == 0);
  wr_ledger_enter(&ledger, WR_PHASE_ASSEMBLE);
  int64_t before = ledger.peak[WR_PHASE_READ];
  char *room = malloc(MUCH);
  CHECK(room != NULL);
  if (room == NULL) return;
  memset(room, 1, MUCH);
  volatile char *used = room;
  CHECK(used[MUCH / 2] == 1);
  wr_ledger_enter(&ledger, WR_PHASE_SOLVE);
  free(room);
  wr_ledger_stop(&ledger);
  CHECKF(before > 0 && ledger.peak[WR_PHASE_ASSEMBLE] >= before + MUCH - (1 << 20), "%lld, then %lld",
         (long long)before, (long long)ledger.peak[WR_PHASE_ASSEMBLE]);
  CHECK(ledger.peak[WR_PHASE_SOLVE] >= ledger.peak[WR_PHASE_ASSEMBLE] && ledger.peak[WR_PHASE_WRITE] == 0);
  CHECK(wr_ledger_peak(&ledger, WR_PHASE_READ) == before);
  CHECK(wr_ledger_peak(&ledger, WR_PHASE_CALIBRATE) == ledger.peak[WR_PHASE_SOLVE]);
  wr_ledger_add(&sum, &ledger);
  CHECK(memcmp(sum.peak, ledger.peak, sizeof sum.peak) == 0);
}

int main(void) {
  test_peak();
  test_exclusive();
  test_stopped();
  test_totals();
  test_add();
  test_process();
  return wr_test_report("ledger");
}
