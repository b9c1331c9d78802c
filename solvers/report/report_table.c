#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "config/text.h"
#include "solvers/report/report.h"
#include "solvers/report/report_columns.h"
#include "solvers/report/report_text.h"

enum { TEXT_ROOM = 16, LABEL_ROOM = 256 };

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

/* '*': the answer was not checked; '!': it failed, or did not converge. */
static char mark(const wr_run *run) {
  if (wr_run_exit_code(run) != 0) return '!';
  return run->verdict.level == WR_VERIFY_OFF ? '*' : ' ';
}

static void total_cell(const wr_columns *c, int k, char *text) {
  char seconds[TEXT_ROOM];
  const wr_run *run = &c->runs[k];
  snprintf(text, WR_CELL_ROOM, "%s%c", wr_text_seconds(wr_ledger_end_to_end(&run->ledger), seconds), mark(run));
}

/* 0 for a run that failed or multiplied wrong, which has no speed-up. */
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

/* The columns behind the backend's name. The title of total has room for the mark. */
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
  if (run->result.direct.tried) {
    wr_line_add(line, "; ");
    wr_line_add_direct(line, problem, &run->result.direct);
  }
  if (!wrong && run->result.outcome == WR_CONVERGED) wr_line_add(line, "; the verification says: not accurate enough");
}

/* Explains the marks of rows. */
static void print_marks(wr_writer *out, const wr_problem_facts *problem, const wr_run *runs, int count) {
  char label[LABEL_ROOM];
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
    wr_writer_paragraph(out, &line);
  }
  for (int i = 0; i < count; i++) {
    wr_line line = {0};
    if (!wr_run_is_doubtful(problem, &runs[i])) continue;
    wr_line_add(&line, "! %s: meets the tolerance, but ", wr_run_label(&runs[i], label, sizeof label));
    wr_line_add_doubt(&line, runs[i].verdict.backward_error, problem->tolerance);
    wr_writer_paragraph(out, &line);
  }
  for (int i = 0; i < count; i++) {
    wr_line line = {0};
    if (!runs[i].ran || !runs[i].result.direct.used || mark(&runs[i]) == '!') continue;
    wr_line_add(&line, "%s: solved directly: ", wr_run_label(&runs[i], label, sizeof label));
    wr_line_add_direct(&line, problem, &runs[i].result.direct);
    wr_writer_paragraph(out, &line);
  }
  wr_line line = {0};
  wr_line_add(&line, "* unverified: this answer was not checked (--verify off)");
  if (unverified) wr_writer_paragraph(out, &line);
}

/* ---- below the table: a summary, and how to read it ---- */

/* The run with the least positive quantity among those that `counts` accepts, without `except`; NULL: there is none. */
static const wr_run *least(const wr_run *runs, int count, int (*counts)(const wr_run *),
                           double (*quantity)(const wr_run *), const wr_run *except) {
  const wr_run *best = NULL;
  for (int i = 0; i < count; i++) {
    if (&runs[i] == except || !counts(&runs[i]) || !(quantity(&runs[i]) > 0)) continue;
    if (!best || quantity(&runs[i]) < quantity(best)) best = &runs[i];
  }
  return best;
}

static int gave_answer(const wr_run *run) { return wr_run_exit_code(run) == 0; }
static double total(const wr_run *run) { return wr_ledger_end_to_end(&run->ledger); }
static double apply(const wr_run *run) { return run->apply_median; }

/* "cpu_csr gave its verified answer first: 1.23 s end to end, 3.1x ahead of reference" */
static void add_winner(wr_line *line, const wr_run *runs, int count) {
  char label[LABEL_ROOM], other[LABEL_ROOM], text[TEXT_ROOM];
  const wr_run *first = least(runs, count, gave_answer, total, NULL);
  if (!first) {
    wr_line_add(line, "no backend gave an answer that meets the tolerance");
    return;
  }
  const char *kind = first->verdict.level == WR_VERIFY_OFF ? "unverified" : "verified";
  const wr_run *next = least(runs, count, gave_answer, total, first);
  wr_run_label(first, label, sizeof label);
  wr_text_seconds(total(first), text);
  if (!next) {
    wr_line_add(line, "%s alone gave an answer (%s): %s end to end", label, kind, text);
    return;
  }
  double ahead = total(next) / total(first);
  wr_run_label(next, other, sizeof other);
  wr_line_add(line, "%s gave its %s answer first: %s end to end, ", label, kind, text);
  if (ahead < 1.02)
    wr_line_add(line, "level with %s (within 2%%)", other);
  else if (ahead < 9.95)
    wr_line_add(line, "%.*fx ahead of %s", ahead < 1.1 ? 2 : 1, ahead, other);
  else
    wr_line_add(line, "%sx ahead of %s", wr_text_real(ahead, text), other);
}

/* "; its multiply is faster: 120 us against 340 us of reference", or that the difference is within the measuring error */
static void add_fastest_multiply(wr_line *line, const wr_run *runs, int count) {
  char label[LABEL_ROOM], other[LABEL_ROOM], text[TEXT_ROOM], text_other[TEXT_ROOM];
  const wr_run *fastest = least(runs, count, wr_run_counts, apply, NULL);
  const wr_run *next = least(runs, count, wr_run_counts, apply, fastest);
  if (!fastest || !next) return;
  wr_run_label(fastest, label, sizeof label);
  wr_run_label(next, other, sizeof other);
  wr_text_seconds(apply(fastest), text);
  wr_text_seconds(apply(next), text_other);
  if (!wr_faster(fastest, next))
    wr_line_add(line, "; the multiplies of %s and %s are too close to call (%s, %s)", label, other, text, text_other);
  else if (fastest == least(runs, count, gave_answer, total, NULL))
    wr_line_add(line, "; its multiply is faster: %s against %s of %s", text, text_other, other);
  else
    wr_line_add(line, "; the multiply of %s is faster: %s against %s of %s", label, text, text_other, other);
}

/* The greatest distance of an answer from the first run's. */
static void print_difference(wr_writer *out, const wr_problem_facts *problem, const wr_run *runs, int count) {
  char label[LABEL_ROOM], other[LABEL_ROOM], text[TEXT_ROOM];
  const wr_run *first = NULL, *farthest = NULL;
  for (int i = 0; i < count; i++) {
    if (!wr_run_answered(&runs[i])) continue;
    if (!first)
      first = &runs[i];
    else if (!farthest || isnan(runs[i].difference) || runs[i].difference > farthest->difference)
      farthest = &runs[i];
  }
  if (!farthest) return;
  wr_line line = {0};
  wr_line_add(&line, "answers differ by at most %s (%s), %s's from %s's", wr_text_bound(farthest->difference, text),
              problem->measure == WR_MEASURE_L1_ERROR ? "L1 norm" : "relative 2-norm",
              wr_run_label(farthest, label, sizeof label), wr_run_label(first, other, sizeof other));
  wr_writer_paragraph(out, &line);
}

static void print_baseline(wr_writer *out, const wr_run *runs, int count) {
  char label[LABEL_ROOM];
  const wr_run *base = wr_baseline(runs, count);
  if (!base) return;
  wr_line line = {0};
  wr_line_add(&line, "baseline: %s, %s", wr_run_label(base, label, sizeof label),
              base->backend->caps & WR_CAP_VENDOR
                  ? "the cusparse format with the least total"
                  : "the first of the list that can be compared (no cusparse format can)");
  wr_writer_paragraph(out, &line);
}

/* In mixed precision: what the columns about multiplies are of. */
static void print_types(wr_writer *out, const wr_run *runs, int count) {
  char label[LABEL_ROOM];
  wr_line line = {0};
  for (int i = 0; i < count; i++) {
    const wr_result *result = &runs[i].result;
    if (!runs[i].ran || result->multiplies_f32 == 0) continue;
    wr_line_add(&line, "%s %s %" PRId64 " of %" PRId64, line.length ? "," : "times of multiplies are those in f32:",
                wr_run_label(&runs[i], label, sizeof label), result->multiplies_f32, result->multiplies);
  }
  if (line.length) wr_writer_paragraph(out, &line);
}

static void print_warm(wr_writer *out, const wr_run *runs, int count) {
  char label[LABEL_ROOM], text[TEXT_ROOM];
  wr_line line = {0};
  for (int i = 0; i < count; i++) {
    if (!runs[i].ran || !(runs[i].warm > 0)) continue;
    wr_line_add(&line, "%s %s %s",
                line.length ? "," : "a second solve, warm:", wr_run_label(&runs[i], label, sizeof label),
                wr_text_seconds(runs[i].warm, text));
  }
  if (line.length) wr_writer_paragraph(out, &line);
}

/* 1 if the backend is one of the runs. */
static int is_there(const char *name, const wr_run *runs, int count) {
  for (int i = 0; i < count; i++)
    if (strcmp(runs[i].backend->name, name) == 0) return 1;
  return 0;
}

void wr_report_advice(wr_writer *out, const wr_run *runs, int count) {
  char label[LABEL_ROOM];
  for (int i = 0; i < count; i++) {
    const wr_plan_info *info = &runs[i].info;
    int said = 0;
    if (info->better == NULL || is_there(info->better, runs, count)) continue;
    for (int k = 0; k < i; k++) said |= strcmp(runs[k].info.advice, info->advice) == 0;
    if (said) continue;
    wr_line line = {0};
    wr_line_add(&line, "instead of %s: %s", wr_run_label(&runs[i], label, sizeof label), info->advice);
    wr_writer_paragraph(out, &line);
  }
}

void wr_report_warnings(FILE *out, const char *program, const wr_run *runs, int count) {
  char label[LABEL_ROOM];
  for (int i = 0; i < count; i++) {
    const char *warning = runs[i].info.tuning.warning;
    int said = warning[0] == '\0';
    for (int k = 0; k < i; k++) said |= strcmp(runs[k].info.tuning.warning, warning) == 0;
    if (!said) wr_text_message(out, "%s: %s: %s", program, wr_run_label(&runs[i], label, sizeof label), warning);
    if (runs[i].chosen.warning.text[0]) wr_text_message(out, "%s: -k auto: %s", program, runs[i].chosen.warning.text);
  }
}

static void print_winner(wr_writer *out, const wr_run *runs, int count) {
  wr_line line = {0};
  add_winner(&line, runs, count);
  add_fastest_multiply(&line, runs, count);
  wr_line_add(&line, ".");
  wr_writer_paragraph(out, &line);
}

static void print_summary(wr_writer *out, const wr_problem_facts *problem, const wr_run *runs, int count) {
  if (!out->is_html) print_winner(out, runs, count);
  print_difference(out, problem, runs, count);
  print_types(out, runs, count);
  print_warm(out, runs, count);
  wr_report_advice(out, runs, count);
  print_baseline(out, runs, count);
}

void wr_report_table(wr_writer *out, const wr_problem_facts *problem, const wr_run *runs, int count) {
  wr_columns c = {.runs = runs, .count = count, .base = wr_baseline(runs, count)};
  char tolerance[TEXT_ROOM];
  double slowest = 0;
  for (int i = 0; i < count; i++)
    if (runs[i].ran && runs[i].apply_median > slowest) slowest = runs[i].apply_median;
  if (out->is_html) print_winner(out, runs, count); /* a page begins with the outcome */
  c.decimals = slowest < 1e-4 ? 2 : slowest < 1e-2 ? 1 : 0;
  wr_line line = {0};
  wr_line_add(&line, "%s to %s on ", problem->program, wr_text_real(problem->tolerance, tolerance));
  wr_line_add_problem(&line, problem);
  wr_writer_paragraph(out, &line);
  wr_writer_gap(out);
  wr_columns_print(out, columns, COLUMNS, &c);
  wr_writer_gap(out);
  print_marks(out, problem, runs, count);
  int shown = 0; /* iterates of backends differ by rounding alone: one history stands for all */
  while (shown < count && (runs[shown].history == NULL || runs[shown].history->count == 0)) shown++;
  if (shown < count) wr_report_history(out, problem, &runs[shown], 1);
  print_summary(out, problem, runs, count);
  if (c.base) wr_columns_explain(out, columns, COLUMNS, &c);
  for (int i = 0; i < count; i++) /* all runs have the same matrix; what the first one needs is said */
    if (runs[i].advice.remedy[0]) {
      wr_report_try(out, &runs[i]);
      break;
    }
}
