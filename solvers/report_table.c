#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "solvers/report.h"
#include "solvers/report_text.h"

enum { TEXT_ROOM = 16, CELL_ROOM = 40, LABEL_ROOM = 256, GAP = 2, LEAST_LABEL = 9 };

/* What the cells depend on besides their run. */
typedef struct context {
  const wr_problem_facts *problem;
  const wr_run *runs;
  int count;
  const wr_run *base;
  int apply_decimals; /* of the microseconds, one for the column so that the points line up */
} context;

static void prepare_cell(const context *c, const wr_run *run, char *text) {
  (void)c;
  wr_text_seconds(run->setup, text);
}

static void write_word(const char *word, char *text) { snprintf(text, CELL_ROOM, "%s", word); }

static void apply_cell(const context *c, const wr_run *run, char *text) {
  double microseconds = 1e6 * run->apply_median;
  if (!(microseconds > 0))
    write_word("-", text);
  else if (microseconds < 1e8)
    snprintf(text, CELL_ROOM, "%.*f", c->apply_decimals, microseconds);
  else
    wr_text_real(microseconds, text);
}

static void iterations_cell(const context *c, const wr_run *run, char *text) {
  (void)c;
  wr_text_count(run->result.iterations, text);
}

static void solve_cell(const context *c, const wr_run *run, char *text) {
  (void)c;
  wr_text_seconds(run->ledger.seconds[WR_PHASE_SOLVE], text);
}

/* '*': nobody checked the answer; '!': it is not what was asked for. */
static char mark(const wr_run *run) {
  if (wr_run_exit_code(run) != 0) return '!';
  return run->verdict.level == WR_VERIFY_OFF ? '*' : ' ';
}

static void total_cell(const context *c, const wr_run *run, char *text) {
  char seconds[TEXT_ROOM];
  (void)c;
  snprintf(text, CELL_ROOM, "%s%c", wr_text_seconds(wr_ledger_end_to_end(&run->ledger), seconds), mark(run));
}

static void memory_cell(const context *c, const wr_run *run, char *text) {
  (void)c;
  wr_text_bytes((double)run->info.extra_bytes, text);
}

static void read_cell(const context *c, const wr_run *run, char *text) {
  (void)c;
  wr_run_share(run, text);
}

/* A multiply that is wrong has no speed-up. */
static int comparable(const context *c, const wr_run *run) {
  return c->base && wr_run_counts(run) && run->apply_median > 0 && c->base->apply_median > 0 &&
         isfinite(run->apply_median) && isfinite(c->base->apply_median);
}

static void ratio_text(double ratio, char *text) {
  char real[TEXT_ROOM];
  if (ratio >= 9999.5 || ratio < 0.01)
    snprintf(text, CELL_ROOM, "%sx", wr_text_real(ratio, real));
  else
    snprintf(text, CELL_ROOM, "%.*fx", ratio < 9.995 ? 2 : ratio < 99.95 ? 1 : 0, ratio);
}

static void speed_cell(const context *c, const wr_run *run, char *text) {
  if (comparable(c, run))
    ratio_text(c->base->apply_median / run->apply_median, text);
  else
    write_word("-", text);
}

/* Under the heading "pays at": "41 of 238". */
static void break_even_cell(const context *c, const wr_run *run, char *text) {
  char at[TEXT_ROOM], of[TEXT_ROOM];
  int64_t multiplies = run == c->base || !comparable(c, run) ? -2 : wr_break_even(run, c->base);
  if (multiplies == -2)
    write_word("-", text);
  else if (multiplies == -1)
    write_word("never", text);
  else
    snprintf(text, CELL_ROOM, "%s of %s", wr_text_count(multiplies, at), wr_text_count(run->applies, of));
}

typedef struct column {
  const char *title;
  void (*cell)(const context *c, const wr_run *run, char *text); /* text: [CELL_ROOM] */
} column;

/* Behind the backend's name. total has a place for its mark. */
static const column columns[] = {
    {"prepare", prepare_cell}, {"apply us", apply_cell}, {"iter", iterations_cell}, {"solve", solve_cell},
    {"total ", total_cell},    {"memory", memory_cell},  {"read", read_cell},       {"speed-up", speed_cell},
    {"pays at", break_even_cell},
};
enum { COLUMNS = sizeof columns / sizeof *columns };

static int widest_cell(const context *c, const column *of) {
  size_t width = strlen(of->title);
  char text[CELL_ROOM];
  for (int i = 0; i < c->count; i++) {
    if (!c->runs[i].ran) continue;
    of->cell(c, &c->runs[i], text);
    if (strlen(text) > width) width = strlen(text);
  }
  return (int)width;
}

static int widest_label(const context *c) {
  size_t width = LEAST_LABEL;
  char label[LABEL_ROOM];
  for (int i = 0; i < c->count; i++) {
    size_t length = strlen(wr_run_label(&c->runs[i], label, sizeof label));
    if (length > width) width = length;
  }
  return (int)width;
}

/* A row as a line of its own, so that one that is too long whatever was done is cut and not broken. */
static void print_row(FILE *out, const context *c, const wr_run *run, int label_width, const int *widths) {
  char label[LABEL_ROOM], text[LABEL_ROOM], cell[CELL_ROOM];
  wr_line line = {0};
  wr_text_fit(run ? wr_run_label(run, label, sizeof label) : "backend", label_width, 0, text);
  wr_line_add(&line, "%-*s", label_width, text);
  for (int k = 0; k < COLUMNS; k++) {
    if (run) columns[k].cell(c, run, cell);
    wr_line_add(&line, "%*s", GAP + widths[k], run ? cell : columns[k].title);
  }
  fprintf(out, "%s\n", wr_text_fit(line.text, WR_REPORT_WIDTH, 0, (char[WR_REPORT_WIDTH + 1]){0}));
}

static void print_absent(FILE *out, const wr_run *run, int label_width) {
  char label[LABEL_ROOM], text[LABEL_ROOM];
  wr_line line = {0};
  fprintf(out, "%-*s  ", label_width, wr_text_fit(wr_run_label(run, label, sizeof label), label_width, 0, text));
  wr_line_add(&line, "%s: %s", run->status == WR_EUNAVAILABLE ? "not available" : "broke off", run->reason);
  wr_line_print(out, &line, label_width + GAP, label_width + GAP);
}

static void print_rows(FILE *out, const context *c) {
  int widths[COLUMNS], room = WR_REPORT_WIDTH, label_width = widest_label(c);
  for (int k = 0; k < COLUMNS; k++) room -= GAP + (widths[k] = widest_cell(c, &columns[k]));
  if (room < LEAST_LABEL) room = LEAST_LABEL;
  if (label_width > room) label_width = room;
  print_row(out, c, NULL, label_width, widths);
  for (int i = 0; i < c->count; i++) {
    if (c->runs[i].ran)
      print_row(out, c, &c->runs[i], label_width, widths);
    else
      print_absent(out, &c->runs[i], label_width);
  }
}

/* "max-iterations, L1 error <= 1.2e-6 (asked for 1e-9); note" */
static void add_shortcoming(wr_line *line, const context *c, const wr_run *run) {
  int wrong = wr_run_exit_code(run) == wr_status_exit_code(WR_EINTERNAL);
  wr_line_add(line, "%s, ", wrong ? "multiplied wrong, a defect of windrow" : wr_outcome_title(run->result.outcome));
  wr_line_add_measure(line, c->problem, run);
  if (run->result.note[0]) wr_line_add(line, "; %s", run->result.note);
  if (!wrong && run->result.outcome == WR_CONVERGED) wr_line_add(line, "; the verification says: not accurate enough");
}

/* Why a row bears its mark. */
static void print_marks(FILE *out, const context *c) {
  char label[LABEL_ROOM];
  int unverified = 0;
  for (int i = 0; i < c->count; i++) {
    const wr_run *run = &c->runs[i];
    wr_line line = {0};
    if (!run->ran) continue;
    unverified |= mark(run) == '*';
    if (mark(run) != '!') continue;
    wr_line_add(&line, "! %s: ", wr_run_label(run, label, sizeof label));
    if (run->status == WR_OK)
      add_shortcoming(&line, c, run);
    else
      wr_line_add(&line, "broke off: %s", run->reason);
    wr_line_print(out, &line, 0, 2);
  }
  if (unverified) fprintf(out, "* unverified: nobody checked this answer\n");
}

void wr_report_table(FILE *out, const wr_problem_facts *problem, const wr_run *runs, int count) {
  context c = {.problem = problem, .runs = runs, .count = count, .base = wr_baseline(runs, count)};
  char tolerance[TEXT_ROOM];
  double slowest = 0;
  for (int i = 0; i < count; i++)
    if (runs[i].ran && runs[i].apply_median > slowest) slowest = runs[i].apply_median;
  c.apply_decimals = slowest < 1e-4 ? 2 : slowest < 1e-2 ? 1 : 0;
  wr_line line = {0};
  wr_line_add(&line, "%s to %s on ", problem->program, wr_text_real(problem->tolerance, tolerance));
  wr_line_add_problem(&line, problem);
  wr_line_print(out, &line, 0, 2);
  fputc('\n', out);
  print_rows(out, &c);
  fputc('\n', out);
  print_marks(out, &c);
  wr_report_summary(out, problem, runs, count);
}
