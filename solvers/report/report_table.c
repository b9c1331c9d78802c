#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "solvers/report/report_columns.h"
#include "solvers/report/report_text.h"

enum { TEXT_ROOM = 16 };

static void write_word(const char *word, char *text) { snprintf(text, WR_CELL_ROOM, "%s", word); }

static void apply_cell(const wr_columns *c, int k, char *text) {
  double microseconds = 1e6 * c->runs[k].apply_median;
  if (!(microseconds > 0))
    write_word("-", text);
  else if (microseconds < 1e8)
    snprintf(text, WR_CELL_ROOM, "%.*f", c->decimals, microseconds);
  else
    wr_text_real(microseconds, text);
}

static void iterations_cell(const wr_columns *c, int k, char *text) {
  wr_text_count(c->runs[k].result.iterations, text);
}

static void solve_cell(const wr_columns *c, int k, char *text) {
  wr_text_seconds(c->runs[k].ledger.seconds[WR_PHASE_SOLVE], text);
}

/* '*': the answer was not checked; '!': it is not what was asked for. */
static char mark(const wr_run *run) {
  if (wr_run_exit_code(run) != 0) return '!';
  return run->verdict.level == WR_VERIFY_OFF ? '*' : ' ';
}

static void total_cell(const wr_columns *c, int k, char *text) {
  char seconds[TEXT_ROOM];
  const wr_run *run = &c->runs[k];
  snprintf(text, WR_CELL_ROOM, "%s%c", wr_text_seconds(wr_ledger_end_to_end(&run->ledger), seconds), mark(run));
}

/* A multiply that is wrong has no speed-up. */
static int comparable(const wr_columns *c, const wr_run *run) {
  return c->base && wr_run_counts(run) && run->apply_median > 0 && c->base->apply_median > 0 &&
         isfinite(run->apply_median) && isfinite(c->base->apply_median);
}

static void ratio_text(double ratio, char *text) {
  char real[TEXT_ROOM];
  if (ratio >= 9999.5 || ratio < 0.01)
    snprintf(text, WR_CELL_ROOM, "%sx", wr_text_real(ratio, real));
  else
    snprintf(text, WR_CELL_ROOM, "%.*fx", ratio < 9.995 ? 2 : ratio < 99.95 ? 1 : 0, ratio);
}

static void speed_cell(const wr_columns *c, int k, char *text) {
  if (comparable(c, &c->runs[k]))
    ratio_text(c->base->apply_median / c->runs[k].apply_median, text);
  else
    write_word("-", text);
}

/* Under the heading "pays at": "41 of 238". */
static void break_even_cell(const wr_columns *c, int k, char *text) {
  char at[TEXT_ROOM], of[TEXT_ROOM];
  const wr_run *run = &c->runs[k];
  int64_t multiplies = run == c->base || !comparable(c, run) ? -2 : wr_break_even(run, c->base);
  if (multiplies == -2)
    write_word("-", text);
  else if (multiplies == -1)
    write_word("never", text);
  else
    snprintf(text, WR_CELL_ROOM, "%s of %s", wr_text_count(multiplies, at), wr_text_count(run->applies, of));
}

/* Behind the backend's name. total has a place for its mark. */
static const wr_column columns[] = {
    {"prepare", wr_cell_prepare, 5, NULL},
    {"apply us", apply_cell, 8, "median time of a multiply"},
    {"iter", iterations_cell, 4, NULL},
    {"solve", solve_cell, 7, NULL},
    {"total ", total_cell, 9, NULL},
    {"memory", wr_cell_memory, 1, "of the backend's format and of the matrix's arrays that it uses"},
    {"read", wr_cell_read, 2, "share of the measured read bandwidth (from cache: more than the memory gives)"},
    {"speed-up", speed_cell, 6, "of a multiply, against the baseline"},
    {"pays at", break_even_cell, 3, "multiplies after which the preparation has paid, of those that the solve took"},
};
enum { COLUMNS = sizeof columns / sizeof *columns };

/* "max-iterations, L1 error <= 1.2e-6 (asked for 1e-9); note" */
static void add_shortcoming(wr_line *line, const wr_problem_facts *problem, const wr_run *run) {
  int wrong = wr_run_exit_code(run) == wr_status_exit_code(WR_EINTERNAL);
  wr_line_add(line, "%s, ", wrong ? "multiplied wrong, a defect of windrow" : wr_outcome_title(run->result.outcome));
  wr_line_add_measure(line, problem, run);
  if (run->result.note[0]) wr_line_add(line, "; %s", run->result.note);
  if (!wrong && run->result.outcome == WR_CONVERGED) wr_line_add(line, "; the verification says: not accurate enough");
}

/* Why a row bears its mark. */
static void print_marks(FILE *out, const wr_problem_facts *problem, const wr_run *runs, int count) {
  char label[256];
  int unverified = 0;
  for (int i = 0; i < count; i++) {
    const wr_run *run = &runs[i];
    wr_line line = {0};
    if (!run->ran) continue;
    unverified |= mark(run) == '*';
    if (mark(run) != '!') continue;
    wr_line_add(&line, "! %s: ", wr_run_label(run, label, sizeof label));
    if (run->error.status == WR_OK)
      add_shortcoming(&line, problem, run);
    else
      wr_line_add(&line, "broke off: %s", run->error.text);
    wr_line_print(out, &line, 0, 2);
  }
  if (unverified) fprintf(out, "* unverified: this answer was not checked (--verify off)\n");
}

void wr_report_table(FILE *out, const wr_problem_facts *problem, const wr_run *runs, int count) {
  wr_columns c = {.runs = runs, .count = count, .base = wr_baseline(runs, count)};
  char tolerance[TEXT_ROOM];
  double slowest = 0;
  for (int i = 0; i < count; i++)
    if (runs[i].ran && runs[i].apply_median > slowest) slowest = runs[i].apply_median;
  c.decimals = slowest < 1e-4 ? 2 : slowest < 1e-2 ? 1 : 0;
  wr_line line = {0};
  wr_line_add(&line, "%s to %s on ", problem->program, wr_text_real(problem->tolerance, tolerance));
  wr_line_add_problem(&line, problem);
  wr_line_print(out, &line, 0, 2);
  fputc('\n', out);
  wr_columns_print(out, columns, COLUMNS, &c);
  fputc('\n', out);
  print_marks(out, problem, runs, count);
  wr_report_summary(out, problem, runs, count);
  if (c.base) wr_columns_explain(out, columns, COLUMNS, &c);
}
