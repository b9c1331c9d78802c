/* What stands below the table: what it shows, and how to read it. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "solvers/report/report.h"
#include "solvers/report/report_text.h"

enum { TEXT_ROOM = 16, LABEL_ROOM = 256 };

/* The least of a positive quantity among the runs that `counts` accepts, `except` left out; NULL if there is none. */
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

/* "; its multiply is faster, 120 us to 340 us of reference", or that the clock cannot tell */
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

/* Answers are compared with the first one's. */
static void print_difference(FILE *out, const wr_problem_facts *problem, const wr_run *runs, int count) {
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
  wr_line_print(out, &line, 0, 2);
}

static void print_baseline(FILE *out, const wr_run *runs, int count) {
  char label[LABEL_ROOM];
  const wr_run *base = wr_baseline(runs, count);
  if (!base) return;
  wr_line line = {0};
  wr_line_add(&line, "baseline: %s, %s", wr_run_label(base, label, sizeof label),
              base->backend->caps & WR_CAP_VENDOR
                  ? "the cusparse format with the least total"
                  : "the first of the list that can be compared (no cusparse format can)");
  wr_line_print(out, &line, 0, 2);
}

static void print_warm(FILE *out, const wr_run *runs, int count) {
  char label[LABEL_ROOM], text[TEXT_ROOM];
  wr_line line = {0};
  for (int i = 0; i < count; i++) {
    if (!runs[i].ran || !(runs[i].warm > 0)) continue;
    wr_line_add(&line, "%s %s %s",
                line.length ? "," : "a second solve, warm:", wr_run_label(&runs[i], label, sizeof label),
                wr_text_seconds(runs[i].warm, text));
  }
  if (line.length) wr_line_print(out, &line, 0, 2);
}

/* Whether the backend is one of the runs. */
static int is_there(const char *name, const wr_run *runs, int count) {
  for (int i = 0; i < count; i++)
    if (strcmp(runs[i].backend->name, name) == 0) return 1;
  return 0;
}

void wr_report_advice(FILE *out, const wr_run *runs, int count) {
  char label[LABEL_ROOM];
  for (int i = 0; i < count; i++) {
    const wr_plan_info *info = &runs[i].info;
    int said = 0;
    if (info->better == NULL || is_there(info->better, runs, count)) continue;
    for (int k = 0; k < i; k++) said |= strcmp(runs[k].info.advice, info->advice) == 0;
    if (said) continue;
    wr_line line = {0};
    wr_line_add(&line, "instead of %s: %s", wr_run_label(&runs[i], label, sizeof label), info->advice);
    wr_line_print(out, &line, 0, 2);
  }
}

void wr_report_summary(FILE *out, const wr_problem_facts *problem, const wr_run *runs, int count) {
  wr_line line = {0};
  add_winner(&line, runs, count);
  add_fastest_multiply(&line, runs, count);
  wr_line_add(&line, ".");
  wr_line_print(out, &line, 0, 2);
  print_difference(out, problem, runs, count);
  print_warm(out, runs, count);
  wr_report_advice(out, runs, count);
  print_baseline(out, runs, count);
}
