#include "solvers/solver.h"

#include <string.h>

#include "config/argument.h"
#include "config/clock.h"
#include "config/memory.h"
#include "spmv/parts/comm.h"

#define TITLE(name, title, exit_code) title,
#define EXIT_CODE(name, title, exit_code) exit_code,
static const char *const titles[] = {WR_OUTCOME_LIST(TITLE)};
static const int exit_codes[] = {WR_OUTCOME_LIST(EXIT_CODE)};

static int is_outcome(wr_outcome outcome) { return (int)outcome >= 0 && outcome <= WR_NOT_SOLVED; }

const char *wr_outcome_title(wr_outcome outcome) { return is_outcome(outcome) ? titles[outcome] : "unknown outcome"; }
int wr_outcome_exit_code(wr_outcome outcome) {
  return is_outcome(outcome) ? exit_codes[outcome] : wr_status_exit_code(WR_EINTERNAL);
}

/* Both arrays are allocated before either is replaced, so that a failure leaves the history as it was. */
static wr_status grow(wr_history *history) {
  wr_status status;
  int64_t capacity = history->capacity < 64 ? 64 : 2 * history->capacity;
  int64_t *iteration = NULL;
  double *measure = NULL;
  TRY(wr_alloc(&iteration, capacity, sizeof *iteration, "the residual history"));
  TRY(wr_alloc(&measure, capacity, sizeof *measure, "the residual history"));
  if (history->count > 0) {
    memcpy(iteration, history->iteration, (size_t)history->count * sizeof *iteration);
    memcpy(measure, history->measure, (size_t)history->count * sizeof *measure);
  }
  wr_free(history->iteration);
  wr_free(history->measure);
  history->iteration = iteration;
  history->measure = measure;
  history->capacity = capacity;
  return WR_OK;
done:
  wr_free(iteration);
  return status;
}

wr_status wr_history_add(wr_history *history, int64_t iteration, double measure) {
  WR_NEED(history);
  if (history->count == history->capacity) PASS(grow(history));
  history->iteration[history->count] = iteration;
  history->measure[history->count] = measure;
  history->count++;
  return WR_OK;
}

void wr_history_free(wr_history *history) {
  if (history == NULL) return;
  wr_free(history->iteration);
  wr_free(history->measure);
  *history = (wr_history){0};
}

int wr_monitor_ends_here(const wr_monitor *monitor) {
  if (monitor == NULL) return 0;
  if (monitor->interrupted && *monitor->interrupted) return WR_INTERRUPTED;
  if (monitor->leaves && *monitor->leaves) return WR_TIME_LIMIT;
  return monitor->deadline > 0 && wr_clock() >= monitor->deadline ? WR_TIME_LIMIT : 0;
}

/* Where the parts cannot agree, the next of their calls says so. */
int wr_monitor_ends(const wr_monitor *monitor) {
  int64_t ends = wr_monitor_ends_here(monitor);
  if (monitor && wr_comm_max_counts(monitor->comm, &ends, 1) != WR_OK) return 0;
  return (int)ends;
}

void wr_monitor_show(const wr_monitor *monitor, int64_t iteration, double measure, double target) {
  if (monitor && monitor->progress) monitor->progress(monitor->context, monitor->before + iteration, measure, target);
}

wr_status wr_monitor_keep(const wr_monitor *monitor, int64_t iteration, double measure) {
  if (monitor == NULL || monitor->history == NULL) return WR_OK;
  return wr_history_add(monitor->history, monitor->before + iteration, measure);
}

int wr_monitor_rests(const wr_monitor *monitor) {
  return monitor && monitor->rest && monitor->rest_due && *monitor->rest_due;
}

static int watch_ends(void *monitor) { return wr_monitor_ends_here(monitor) != 0; }

static void watch_progress(void *monitor, const char *what, double share) {
  const wr_monitor *m = monitor;
  if (m && m->preparing) m->preparing(m->context, what, share);
}

wr_watch wr_monitor_watch(const wr_monitor *monitor) {
  return (wr_watch){watch_ends, (void *)(uintptr_t)monitor, watch_progress};
}
