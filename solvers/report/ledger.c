#define _DEFAULT_SOURCE /* getrusage */
#include "solvers/report/ledger.h"

#include <sys/resource.h>

#define TITLE(name, title, counted) title,
#define COUNTED(name, title, counted) counted,
static const char *const titles[] = {WR_PHASE_LIST(TITLE)};
static const int counted_in_total[] = {WR_PHASE_LIST(COUNTED)};

/* Peak memory of the process in bytes (Linux counts in KiB); 0: unknown. */
static int64_t most_memory(void) {
  struct rusage usage;
  return getrusage(RUSAGE_SELF, &usage) == 0 ? (int64_t)usage.ru_maxrss * 1024 : 0;
}

/* Books the time since the phase began and returns the current time, at which the next phase begins, so that no time is lost or
 * counted twice. */
static double book(wr_ledger *ledger) {
  double now = wr_clock();
  if (ledger->running)
    ledger->seconds[ledger->phase] += now - ledger->since, ledger->peak[ledger->phase] = most_memory();
  return now;
}

void wr_ledger_begin(wr_ledger *ledger, wr_phase phase) {
  *ledger = (wr_ledger){.phase = phase, .since = wr_clock(), .running = 1};
}

void wr_ledger_begin_process(wr_ledger *ledger) {
  wr_ledger_begin(ledger, WR_PHASE_INIT);
  ledger->seconds[WR_PHASE_INIT] = wr_processor_clock();
}

void wr_ledger_enter(wr_ledger *ledger, wr_phase phase) {
  ledger->since = book(ledger);
  ledger->phase = phase;
  ledger->running = 1;
}

void wr_ledger_stop(wr_ledger *ledger) {
  ledger->since = book(ledger);
  ledger->running = 0;
}

void wr_ledger_add(wr_ledger *sum, const wr_ledger *part) {
  for (int phase = 0; phase < WR_PHASE_COUNT; phase++) {
    sum->seconds[phase] += part->seconds[phase];
    sum->hidden[phase] += part->hidden[phase];
    if (part->peak[phase] > sum->peak[phase]) sum->peak[phase] = part->peak[phase];
  }
}

double wr_ledger_end_to_end(const wr_ledger *ledger) {
  double sum = 0;
  for (int phase = 0; phase < WR_PHASE_COUNT; phase++)
    if (counted_in_total[phase]) sum += ledger->seconds[phase];
  return sum;
}

double wr_ledger_to_verified(const wr_ledger *ledger) {
  return wr_ledger_end_to_end(ledger) + ledger->seconds[WR_PHASE_VERIFY];
}

int64_t wr_ledger_peak(const wr_ledger *ledger, wr_phase last) {
  int64_t peak = 0;
  for (int phase = 0; phase <= (int)last; phase++)
    if (ledger->peak[phase] > peak) peak = ledger->peak[phase];
  return peak;
}

const char *wr_phase_title(wr_phase phase) { return titles[phase]; }
int wr_phase_counted(wr_phase phase) { return counted_in_total[phase]; }
