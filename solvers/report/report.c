#include "solvers/report/report.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "config/text.h"
#include "solvers/report/report_text.h"
#include "solvers/report/sparkline.h"

enum { TEXT_ROOM = 16, LABEL_ROOM = 256, MOST_SIDES = 20 };

/* Prints a labelled paragraph and empties it: "  times     init 0.31 s, ..." */
static void print_labelled(wr_writer *out, const char *label, wr_line *line) {
  wr_writer_item(out, label, line);
  *line = (wr_line){0};
}

/* The same for a text; nothing if it is empty. */
static void print_text(wr_writer *out, const char *label, const char *text) {
  wr_line line = {0};
  wr_line_add(&line, "%s", text);
  if (text[0]) print_labelled(out, label, &line);
}

static void print_problem(wr_writer *out, const wr_problem_facts *problem) {
  wr_line line = {0};
  wr_line_add_problem(&line, problem);
  print_labelled(out, "problem", &line);
}

/* The warning that precedes the outcome, or "". */
static const char *warning(const wr_run *run) {
  int code = wr_run_exit_code(run);
  if (code == wr_status_exit_code(WR_EINTERNAL)) return "WRONG, the verification failed: ";
  return run->result.outcome == WR_CONVERGED && code != 0 ? "NOT ACCURATE ENOUGH: " : "";
}

/* The same of many sets. */
static void print_sets(wr_writer *out, const wr_problem_facts *problem, const wr_run *run) {
  const wr_run_sets *s = &run->sets;
  char first[TEXT_ROOM], second[TEXT_ROOM];
  wr_line line = {0};
  const char *sets = wr_plural(s->count, "set", "sets");
  wr_line_add(
      &line, "%s",
      run->verdict.multiplied_right || run->verdict.level == WR_VERIFY_OFF ? "" : "WRONG, the verification failed: ");
  if (s->converged == s->count)
    wr_line_add(&line, "%" PRId64 " %s converged", s->count, sets);
  else
    wr_line_add(&line, "not converged (%s): %" PRId64 " of %" PRId64 " %s converged",
                wr_outcome_title(run->result.outcome), s->converged, s->count, sets);
  if (s->done < s->count) wr_line_add(&line, ", %" PRId64 " not begun or not finished", s->count - s->done);
  if (s->fewest == s->most)
    wr_line_add(&line, " in %" PRId64 " %s", s->most, wr_plural(s->most, "iteration", "iterations"));
  else
    wr_line_add(&line, " in %" PRId64 " to %" PRId64 " iterations", s->fewest, s->most);
  if (s->worst > 0)
    wr_line_add(&line, ": L1 error <= %s%s (asked for %s%s)", wr_text_bound(run->result.bound, first),
                s->count > 1 ? " each" : "", wr_text_real(problem->tolerance, second),
                run->result.by_change ? " of the last change" : "");
  if (run->verdict.level == WR_VERIFY_OFF) wr_line_add(&line, ", unverified");
  wr_writer_paragraph(out, &line);
  if (s->count == s->converged || s->worst == 0) return;
  line = (wr_line){0};
  wr_line_add(&line, "the largest bound is that of set %" PRId64, s->worst);
  print_labelled(out, "why", &line);
}

/* The first line: the outcome, with a warning unless verification confirms it. */
static void print_answer(wr_writer *out, const wr_problem_facts *problem, const wr_run *run, int verbose) {
  const wr_result *result = &run->result;
  wr_line line = {0};
  if (run->sets.count > 0) {
    print_sets(out, problem, run);
    return;
  }
  int broke_off = run->error.status != WR_OK; /* then there may be no answer, even if the iteration converged */
  if (run->side_count > 1) wr_line_add(&line, "%" PRId64 " right-hand sides, the worst: ", run->side_count);
  if (!broke_off) wr_line_add(&line, "%s", warning(run));
  if (broke_off)
    wr_line_add(&line, "BROKE OFF after");
  else if (result->direct.used && result->outcome == WR_CONVERGED)
    wr_line_add(&line, "solved directly, after");
  else if (result->outcome == WR_CONVERGED)
    wr_line_add(&line, "converged in");
  else
    wr_line_add(&line, "not converged (%s) after", wr_outcome_title(result->outcome));
  wr_line_add(&line, " %" PRId64 " %s", result->iterations, wr_plural(result->iterations, "iteration", "iterations"));
  if (result->multiplies_f32 > 0)
    wr_line_add(&line, " (%" PRId64 " in f32, %" PRId64 " in f64)", result->multiplies_f32,
                result->multiplies - result->multiplies_f32);
  int is_usual = problem->measure == WR_MEASURE_L1_ERROR && strcmp(result->method, "power") == 0 && !result->changes[0];
  if (result->method[0] && !is_usual)
    wr_line_add(&line, " of %s", result->changes[0] ? "several methods" : result->method);
  if (result->restarts)
    wr_line_add(&line, ", %d %s", result->restarts, wr_plural(result->restarts, "restart", "restarts"));
  if (result->refinements)
    wr_line_add(&line, ", %d %s from the true residual", result->refinements,
                wr_plural(result->refinements, "continuation", "continuations"));
  wr_line_add(&line, ": ");
  wr_line_add_measure(&line, problem, run);
  if (run->verdict.level == WR_VERIFY_OFF) wr_line_add(&line, ", unverified");
  if (!broke_off && wr_run_is_doubtful(problem, run))
    wr_line_add(&line, ", but "), wr_line_add_doubt(&line, run->verdict.backward_error, problem->tolerance);
  wr_writer_paragraph(out, &line);
  if (result->direct.tried) {
    line = (wr_line){0};
    wr_line_add_direct(&line, problem, &result->direct);
    print_labelled(out, "direct", &line);
  }
  print_text(out, "methods", result->changes);
  if (verbose) print_text(out, "method", result->choice);
  print_text(out, result->outcome == WR_CONVERGED ? "note" : "why", result->note);
}

void wr_report_history(wr_writer *out, const wr_problem_facts *problem, const wr_run *run, int is_named) {
  char text[WR_SPARKLINE_ROOM], first[TEXT_ROOM], last[TEXT_ROOM], label[LABEL_ROOM], name[13];
  const wr_history *history = run->history;
  if (out->is_html || history == NULL || history->count == 0) return;
  const char *what = problem->measure == WR_MEASURE_L1_ERROR ? "change" : "residual";
  fprintf(out->file, "  %-10s%s  from %s", what, wr_sparkline(history, out->has_blocks, text),
          wr_text_real(history->measure[0], first));
  if (history->count > 1) fprintf(out->file, " to %s", wr_text_real(history->measure[history->count - 1], last));
  if (is_named) fprintf(out->file, " (%s)", wr_text_fit(wr_run_label(run, label, sizeof label), 12, 0, name));
  fprintf(out->file, "\n");
}

/* A line for each of several right-hand sides, of many for the first ones. */
static void print_sides(wr_writer *out, const wr_problem_facts *problem, const wr_run *run) {
  char text[TEXT_ROOM];
  wr_line line = {0};
  for (int64_t k = 0; k < run->side_count && k < MOST_SIDES; k++) {
    wr_run one = *run;
    one.result = run->sides[k].result, one.verdict = run->sides[k].verdict;
    wr_line_add(&line, "%" PRId64 ": %s%s in %" PRId64 " %s: ", k + 1, warning(&one),
                wr_outcome_title(one.result.outcome), one.result.iterations,
                wr_plural(one.result.iterations, "iteration", "iterations"));
    wr_line_add_measure(&line, problem, &one);
    wr_line_add(&line, ", %s", wr_text_seconds(run->sides[k].seconds, text));
    print_labelled(out, k == 0 ? "columns" : "", &line);
  }
  if (run->side_count > MOST_SIDES) {
    wr_line_add(&line, "and %" PRId64 " more, which --json has", run->side_count - MOST_SIDES);
    print_labelled(out, "", &line);
  }
  if (run->side_count == 0 || run->together[0] == '\0') return;
  wr_line_add(&line, "%s", run->together);
  print_labelled(out, "", &line);
}

/* That -k auto went on with another backend, and why. */
static void print_changed(wr_writer *out, const wr_run *run) {
  char took[TEXT_ROOM], expected[TEXT_ROOM], to_prepare[TEXT_ROOM], prepared[TEXT_ROOM];
  const wr_run_changed *changed = &run->changed;
  wr_line line = {0};
  if (changed->to == NULL) return;
  if (changed->from)
    wr_line_add(&line, "from %s to %s after %" PRId64 " iterations: ", changed->from->name, changed->to->name,
                changed->iterations);
  else
    wr_line_add(&line, "%s could not go on after %" PRId64 " iterations (%s), though ", changed->to->name,
                changed->iterations, changed->failure.text);
  wr_line_add(&line, "%" PRId64 " multiplies had been taken where %.0f were expected, and %.0f more were likely; ",
              changed->multiplies, run->chosen.multiplies, changed->left);
  wr_line_add(&line, "each took %s, by %s it should take %s after %s to prepare",
              wr_text_seconds(changed->multiply, took), changed->to->name,
              wr_text_seconds(changed->to_multiply, expected), wr_text_seconds(changed->to_prepare, to_prepare));
  if (changed->from) wr_line_add(&line, ", which took %s", wr_text_seconds(changed->took, prepared));
  print_labelled(out, "changed", &line);
}

/* What -k auto expected beside what the run took. */
static void print_choice(wr_writer *out, const wr_run *run) {
  char expected[TEXT_ROOM], took[TEXT_ROOM];
  const wr_chosen *chosen = &run->chosen;
  wr_line line = {0};
  print_text(out, "choice", chosen->line);
  wr_line_add(&line, "%.0f multiplies, %" PRId64 " taken; to prepare %s, %s taken with the choice", chosen->multiplies,
              run->result.multiplies, wr_text_seconds(chosen->prepare, expected), wr_text_seconds(run->setup, took));
  double multiply = run->changed.from ? run->changed.multiply : run->apply_median;
  if (multiply > 0)
    wr_line_add(&line, "; a multiply %s, %s taken", wr_text_seconds(chosen->multiply, expected),
                wr_text_seconds(multiply, took));
  print_labelled(out, "expected", &line);
}

static void print_backend(wr_writer *out, const wr_problem_facts *problem, const wr_run *run, int verbose) {
  char label[LABEL_ROOM], text[TEXT_ROOM], more[TEXT_ROOM];
  const wr_plan_info *info = &run->info;
  wr_line line = {0};
  wr_line_add(&line, "%s", wr_run_label(run, label, sizeof label));
  if (run->device_name[0]) wr_line_add(&line, " on %s", run->device_name);
  wr_line_add(&line, ", epilogue %s", run->fused_epilogue ? "fused" : "separate");
  if (run->result.repeats.by == WR_BY_KERNEL)
    wr_line_add(&line, "; one kernel for all iterations, with its own copy of the matrix");
  print_labelled(out, "backend", &line);
  line = (wr_line){0};
  if (wr_line_add_tuning(&line, &info->tuning)) print_labelled(out, "tuner", &line);
  print_text(out, "device", problem->place);
  print_changed(out, run);
  if (info->better) print_text(out, "advice", info->advice);
  if (!verbose) return;
  line = (wr_line){0};
  if (run->chosen.backend) print_choice(out, run);
  print_text(out, "plan", info->line);
  wr_line_add(&line, "a multiply moves %s", wr_text_bytes(info->apply_bytes, text));
  if (run->apply_median > 0) wr_line_add(&line, ", %s/s", wr_text_bytes(info->apply_bytes / run->apply_median, text));
  if (run->apply_median > 0 && run->read_bandwidth > 0)
    wr_line_add(&line, " (%s; the memory gives %s/s)", wr_run_share(run, more),
                wr_text_bytes(run->read_bandwidth, text));
  if (run->result.iteration_bytes > 0)
    wr_line_add(&line, "; an iteration moves %s", wr_text_bytes(run->result.iteration_bytes, text));
  wr_line_add(&line, "; the format has %s", wr_text_bytes((double)info->format_bytes, text));
  wr_line_add(&line, "; memory: %s of the backend's own, %s of the matrix's arrays",
              wr_text_bytes((double)info->extra_bytes, text), wr_text_bytes((double)info->borrowed_bytes, more));
  wr_line_add(&line, "; %s", info->deterministic ? "deterministic" : "not deterministic");
  print_labelled(out, "bytes", &line);
}

static void add_multiply_check(wr_line *line, const wr_verdict *verdict) {
  char text[TEXT_ROOM];
  wr_text_bound(verdict->worst_row, text);
  if (verdict->multiplied_right)
    wr_line_add(line, "multiplied right (largest error %s of its rounding bound)", text);
  else
    wr_line_add(line, "MULTIPLIED WRONG: the largest error is %s times its rounding bound, a defect of windrow", text);
}

static void print_verdict(wr_writer *out, const wr_problem_facts *problem, const wr_run *run) {
  const wr_verdict *verdict = &run->verdict;
  int is_residual = problem->measure == WR_MEASURE_RESIDUAL;
  char measure[TEXT_ROOM], limit[TEXT_ROOM], error[TEXT_ROOM];
  wr_line line = {0};
  if (run->sets.count > 0) {
    wr_line_add(&line, "bounds by the last sweep, with all rounding; the host found ");
    if (run->sets.refuted > 0)
      wr_line_add(&line, "%" PRId64 " of %" PRId64 " WRONG, a defect of windrow", run->sets.refuted, run->sets.checked);
    else
      wr_line_add(&line, "those of %" PRId64 " of %" PRId64 " %s right", run->sets.checked, run->sets.count,
                  wr_plural(run->sets.count, "set", "sets"));
    print_labelled(out, "verified", &line);
    return;
  }
  switch (verdict->level) {
    case WR_VERIFY_OFF: wr_line_add(&line, "no: this answer was not checked (--verify off)"); break;
    case WR_VERIFY_DEVICE: wr_line_add(&line, "on the device alone: "); break;
    case WR_VERIFY_SAMPLE: wr_line_add(&line, "on the device, and on the host in a sample: "); break;
    case WR_VERIFY_FULL: wr_line_add(&line, "in full, on the host: "); break;
  }
  if (verdict->level != WR_VERIFY_OFF) {
    if (verdict->rows > 0) {
      wr_line_add(&line, "%" PRId64 " %s ", verdict->rows, wr_plural(verdict->rows, "row", "rows"));
      add_multiply_check(&line, verdict);
      wr_line_add(&line, "; ");
    } else if (!verdict->multiplied_right) {
      add_multiply_check(&line, verdict);
      wr_line_add(&line, "; ");
    }
    const char *what = !is_residual ? "an exact step changes the scores by"
                       : verdict->on_host && verdict->level != WR_VERIFY_FULL
                           ? "true residual, by the host over all rows,"
                           : "true residual";
    wr_line_add(&line, "%s %s", what, wr_text_real(verdict->measure, measure));
    if (!run->result.by_backward) wr_line_add(&line, ", %s is allowed", wr_text_real(verdict->limit, limit));
    if (!verdict->met_tolerance && !run->result.by_backward) wr_line_add(&line, ": TOO MUCH");
    if (is_residual && verdict->backward_rows > 0)
      wr_line_add(&line, "; backward error %s, that of row %" PRId64 "%s", wr_text_real(verdict->backward_error, error),
                  verdict->backward_row + 1, verdict->backward_rows < problem->nrows ? " of the sample" : "");
    if (run->result.by_backward)
      wr_line_add(&line, ", %s is allowed%s", wr_text_real(problem->tolerance, limit),
                  verdict->met_tolerance ? "" : ": TOO MUCH");
  }
  print_labelled(out, "verified", &line);
}

static double iteration_seconds(const wr_repeats *repeats) { return repeats->seconds / (double)repeats->iterations; }

/* " (52 multiplies 11.5 ms, median 210 us; an iteration 225 us)", behind the solve phase. */
static void add_applies(wr_line *line, const wr_run *run) {
  char total[TEXT_ROOM], median[TEXT_ROOM], each[TEXT_ROOM];
  if (run->applies <= 0 || !(run->apply_median > 0)) return;
  wr_line_add(line, " (%" PRId64 " %s%s", run->applies, wr_plural(run->applies, "multiply", "multiplies"),
              run->result.multiplies_f32 > 0 ? " in f32"
              : run->changed.from            ? " since the change"
                                             : "");
  if (run->apply_total > 0) wr_line_add(line, " %s", wr_text_seconds(run->apply_total, total));
  const char *of = run->result.repeats.by == WR_BY_KERNEL ? "the backend's own"
                   : run->timed_afterwards                ? "each"
                                                          : "median";
  if (run->applies > 1 || !(run->apply_total > 0))
    wr_line_add(line, ", %s %s", of, wr_text_seconds(run->apply_median, median));
  if (run->result.repeats.iterations > 0)
    wr_line_add(line, "; an iteration %s", wr_text_seconds(iteration_seconds(&run->result.repeats), each));
  wr_line_add(line, ")");
}

/* "ilu0, 12.3 ms: ILU(0): 1234 entries ...", and with verbose its bytes */
static void print_precond(wr_writer *out, const wr_run_precond *precond, int verbose) {
  char text[TEXT_ROOM];
  wr_line line = {0};
  if (precond->name[0] == '\0') return;
  wr_line_add(&line, "%s, %s of preparation", precond->name, wr_text_seconds(precond->seconds, text));
  if (precond->line[0]) wr_line_add(&line, "; %s", precond->line);
  if (verbose && precond->bytes > 0) wr_line_add(&line, "; memory: %s", wr_text_bytes((double)precond->bytes, text));
  if (verbose && precond->bytes > 0)
    wr_line_add(&line, "; applying it moves %s", wr_text_bytes(precond->apply_bytes, text));
  print_labelled(out, "precond", &line);
}

/* "of the host, at most: 1.07 GB until the matrix was assembled, 1.30 GB in the whole run" */
static void print_memory(wr_writer *out, const wr_run *run) {
  char rows[TEXT_ROOM], all[TEXT_ROOM];
  wr_line line = {0};
  int64_t until_rows = wr_ledger_peak(&run->ledger, WR_PHASE_ASSEMBLE),
          peak = wr_ledger_peak(&run->ledger, WR_PHASE_CALIBRATE);
  if (until_rows <= 0 || peak <= 0) return;
  wr_line_add(&line, "of the host, at most: %s until the matrix was assembled, %s in the whole run",
              wr_text_bytes((double)until_rows, rows), wr_text_bytes((double)peak, all));
  print_labelled(out, "memory", &line);
}

static void print_times(wr_writer *out, const wr_run *run) {
  const char *separator = "", *mark = run->verdict.level == WR_VERIFY_OFF ? " (unverified)" : "";
  char text[TEXT_ROOM];
  wr_line line = {0};
  for (int phase = 0; phase < WR_PHASE_COUNT; phase++) {
    double seconds = run->ledger.seconds[phase], hidden = run->ledger.hidden[phase];
    if (seconds <= 0 && hidden <= 0) continue;
    if (phase == WR_PHASE_VERIFY && run->verdict.level == WR_VERIFY_OFF) continue;
    wr_line_add(&line, "%s%s %s", separator, wr_phase_title((wr_phase)phase), wr_text_seconds(seconds, text));
    if (hidden > 0) wr_line_add(&line, " (and %s hidden)", wr_text_seconds(hidden, text));
    if (phase == WR_PHASE_SOLVE) add_applies(&line, run);
    separator = ", ";
  }
  print_labelled(out, "times", &line);
  wr_line_add(&line, "end to end %s%s", wr_text_seconds(wr_ledger_end_to_end(&run->ledger), text), mark);
  if (run->verdict.level != WR_VERIFY_OFF)
    wr_line_add(&line, ", to verified answer %s", wr_text_seconds(wr_ledger_to_verified(&run->ledger), text));
  if (run->warm > 0) wr_line_add(&line, "; a second solve, warm: %s", wr_text_seconds(run->warm, text));
  print_labelled(out, "", &line);
}

void wr_report_try(wr_writer *out, const wr_run *run) {
  const wr_advice *advice = &run->advice;
  wr_line line = {0};
  print_text(out, "seen", advice->seen);
  wr_line_add(&line, "%s%s", advice->remedy, advice->command[0] ? ":" : "");
  if (advice->remedy[0]) print_labelled(out, "try", &line);
  if (advice->command[0]) wr_writer_command(out, advice->command);
  print_text(out, "or", advice->other);
}

static void add_part(wr_line *line, const char *before, const wr_part_facts *part) {
  char rows[TEXT_ROOM], entries[TEXT_ROOM], halo[TEXT_ROOM], sent[TEXT_ROOM], elements[TEXT_ROOM], sums[TEXT_ROOM];
  wr_line_add(line,
              "%s%s rows, %s nonzeros, %s elements from others, %s to others, waited %s for elements and %s in sums",
              before, wr_text_count(part->rows, rows), wr_text_count(part->entries, entries),
              wr_text_count(part->halo, halo), wr_text_count(part->sent, sent),
              wr_text_seconds(part->waited_halo, elements), wr_text_seconds(part->waited - part->waited_halo, sums));
}

/* The largest numbers of all parts or, verbose, each part. */
static void print_parts(wr_writer *out, const wr_problem_facts *problem, const wr_run *run, int verbose) {
  wr_line line = {0};
  wr_part_facts most = {0};
  char before[64];
  double in_sums = 0;
  for (int64_t k = 0; k < problem->part_count; k++) {
    const wr_part_facts *part = &problem->parts[k];
    if (part->rows > most.rows) most.rows = part->rows;
    if (part->entries > most.entries) most.entries = part->entries;
    if (part->halo > most.halo) most.halo = part->halo;
    if (part->sent > most.sent) most.sent = part->sent;
    in_sums = fmax(in_sums, part->waited - part->waited_halo);
    most.waited_halo = fmax(most.waited_halo, part->waited_halo);
  }
  if (problem->part_count == 0) return;
  most.waited = most.waited_halo + in_sums;
  snprintf(before, sizeof before, "%" PRId64 " processes, at most ", problem->part_count);
  add_part(&line, before, &most);
  double busy = wr_parts_busy(problem->parts, problem->part_count);
  if (isfinite(busy)) wr_line_add(&line, "; all together at work for %.0f%% of the solve", 100 * busy);
  if (run->ran && run->backend->place == WR_CUDA)
    wr_line_add(&line, "; GPUs exchange %s",
                run->info.exchange == WR_EXCHANGE_PEERS  ? "with each other"
                : run->info.exchange == WR_EXCHANGE_NCCL ? "by NCCL"
                                                         : "by way of their hosts");
  print_labelled(out, "parts", &line);
  for (int64_t k = 0; verbose && k < problem->part_count; k++) {
    line = (wr_line){0};
    snprintf(before, sizeof before, "%" PRId64 ": ", k + 1);
    add_part(&line, before, &problem->parts[k]);
    print_labelled(out, "", &line);
  }
}

void wr_report_run(wr_writer *out, const wr_problem_facts *problem, const wr_run *run, int verbose) {
  wr_line line = {0};
  if (run->ran) {
    print_answer(out, problem, run, verbose);
  } else {
    wr_line_add(&line, "%s: %s", run->error.status == WR_EUNAVAILABLE ? "not available" : "broke off", run->error.text);
    wr_writer_paragraph(out, &line);
  }
  print_problem(out, problem);
  wr_report_history(out, problem, run, 0);
  if (run->ran && run->error.status != WR_OK) print_text(out, "broke off", run->error.text);
  print_parts(out, problem, run, verbose);
  print_backend(out, problem, run, verbose && run->ran);
  print_precond(out, &run->precond, verbose);
  if (run->ran) print_verdict(out, problem, run);
  if (run->ran) print_sides(out, problem, run);
  print_times(out, run);
  if (verbose) print_memory(out, run);
  wr_report_try(out, run);
}

static void print_residual(wr_writer *out, const wr_problem_facts *problem, const wr_certificate *c) {
  const char *unit = c->is_relative ? " ||b||" : "";
  char first[TEXT_ROOM], second[TEXT_ROOM];
  wr_line line = {0};
  wr_line_add(&line, "x %s the tolerance: ", c->met ? "meets" : "does NOT meet");
  if (c->by_backward)
    wr_line_add(&line, "backward error %s (asked for %s), ", wr_text_real(c->backward, first),
                wr_text_real(problem->tolerance, second));
  wr_line_add(&line, "||b - A x|| = %s%s", wr_text_real(c->measure, first), unit);
  if (!c->by_backward) wr_line_add(&line, " (asked for %s)", wr_text_real(c->limit, second));
  if (wr_certificate_is_doubtful(problem, c))
    wr_line_add(&line, ", but "), wr_line_add_doubt(&line, c->backward, problem->tolerance);
  wr_writer_paragraph(out, &line);
  print_problem(out, problem);
  print_text(out, "x", c->x);
  line = (wr_line){0};
  wr_line_add(&line, "%s%s, with an error of at most %s%s", wr_text_real(c->measure, first), unit,
              wr_text_bound(c->error, second), unit);
  print_labelled(out, "residual", &line);
  wr_line_add(&line, "error %s, that of row %" PRId64 ": largest |b - A x| / (|A||x| + |b|)",
              wr_text_real(c->backward, first), c->backward_row + 1);
  print_labelled(out, "backward", &line);
  wr_line_add(&line, "A, b and x, rounded to %s, change the residual by up to %s%s", problem->precision,
              wr_text_bound(c->attainable, first), unit);
  print_labelled(out, "rounding", &line);
}

static void print_scores(wr_writer *out, const wr_problem_facts *problem, const wr_certificate *c) {
  const wr_score_facts *s = &c->scores;
  char first[TEXT_ROOM], second[TEXT_ROOM], node[32];
  wr_line line = {0};
  wr_line_add(&line, "scores %s the tolerance: ", c->met ? "meet" : "do NOT meet");
  if (c->by_change)
    wr_line_add(&line, "a step changes them by %s (asked for %s), ", wr_text_bound(c->measure, first),
                wr_text_real(c->limit, second));
  wr_line_add(&line, "L1 error <= %s", wr_text_bound(s->bound, first));
  if (!c->by_change) wr_line_add(&line, " (asked for %s)", wr_text_real(c->limit, second));
  wr_writer_paragraph(out, &line);
  print_problem(out, problem);
  print_text(out, "scores", c->x);
  line = (wr_line){0};
  wr_line_add(&line, "%s in L1, with an error of at most %s; divided by 1 - damping = %.6g",
              wr_text_real(c->measure, first), wr_text_bound(c->error, second), 1 - s->damping);
  print_labelled(out, "residual", &line);
  wr_line_add(&line, "%.15g", s->sum);
  if (fabs(s->sum - 1) > 1e-14) wr_line_add(&line, ", off 1 by %s", wr_text_real(s->sum - 1, first));
  print_labelled(out, "sum", &line);
  const char *nodes = wr_plural(s->nodes, "node", "nodes");
  if (s->proven == s->nodes)
    wr_line_add(&line, "proven for all %" PRId64 " %s", s->nodes, nodes);
  else if (s->proven > 0)
    wr_line_add(&line, "proven for the first %" PRId64 " of %" PRId64 " %s", s->proven, s->nodes, nodes);
  else
    wr_line_add(&line, "of the first two of %" PRId64 " %s not proven", s->nodes, nodes);
  if (s->ties > 0)
    wr_line_add(&line, ", of which %" PRId64 " %s equal to the next, since the same nodes link to both", s->ties,
                wr_plural(s->ties, "is", "are"));
  if (s->normalised)
    wr_line_add(&line, ", by the bound %s for the scores divided by their sum", wr_text_bound(s->order_bound, first));
  print_labelled(out, "order", &line);
  if (c->met) return;
  line = (wr_line){0};
  snprintf(node, sizeof node, "%" PRId64, s->worst);
  wr_line_add(&line, "node %s: a step changes its score %.6g by %s, more than any other",
              s->worst_name[0] ? s->worst_name : node, s->worst_score, wr_text_real(s->worst_change, first));
  print_labelled(out, "worst", &line);
  if (s->reading[0])
    wr_line_add(&line, "with an L1 error of about %s of their sum, these are scores of another definition: %s",
                wr_text_bound(s->reading_bound, first), s->reading);
  else
    wr_line_add(&line,
                "no other damping, direction, scale or treatment of dangling nodes explains these scores much better");
  print_labelled(out, "meaning", &line);
}

void wr_report_check(wr_writer *out, const wr_problem_facts *problem, const wr_certificate *c,
                     const wr_ledger *process) {
  char first[TEXT_ROOM];
  wr_line line = {0};
  if (problem->measure == WR_MEASURE_L1_ERROR)
    print_scores(out, problem, c);
  else
    print_residual(out, problem, c);
  wr_line_add(&line, "end to end %s", wr_text_seconds(wr_ledger_to_verified(process), first));
  print_labelled(out, "times", &line);
}
