#include <math.h>

#include "io/output_file.h"
#include "solvers/report/machine.h"
#include "solvers/report/report.h"
#include "solvers/report/report_text.h"

enum { SCHEMA = 1, LABEL_ROOM = 256 };

static void write_ledger(wr_json *json, const char *name, const wr_ledger *ledger) {
  wr_json_begin(json, name, '{');
  wr_json_begin(json, "phases", '{');
  for (int phase = 0; phase < WR_PHASE_COUNT; phase++) {
    wr_json_begin(json, wr_phase_title((wr_phase)phase), '{');
    wr_json_real(json, "s", ledger->seconds[phase]);
    wr_json_real(json, "hidden_s", ledger->hidden[phase]);
    wr_json_boolean(json, "in_total", wr_phase_counted((wr_phase)phase));
    wr_json_integer(json, "peak_bytes", ledger->peak[phase]);
    wr_json_end(json, '}');
  }
  wr_json_end(json, '}');
  wr_json_real(json, "end_to_end_s", wr_ledger_end_to_end(ledger));
  wr_json_real(json, "to_verified_s", wr_ledger_to_verified(ledger));
  wr_json_end(json, '}');
}

/* The date, the wall-clock time since the process began, and the processor time of all its threads. */
static void write_clocks(wr_json *json, const wr_ledger *process) {
  double wall = 0;
  for (int phase = 0; phase < WR_PHASE_COUNT; phase++) wall += process->seconds[phase];
  if (process->running) wall += wr_clock() - process->since;
  wr_json_begin(json, "clocks", '{');
  wr_json_now(json, "date");
  wr_json_real(json, "wall_s", wall);
  wr_json_real(json, "processor_s", wr_processor_clock());
  wr_json_end(json, '}');
}

/* null where one process has all rows. */
static void write_parts(wr_json *json, const wr_problem_facts *problem) {
  if (!wr_json_begin_if(json, "parts", '[', problem->part_count > 0)) return;
  for (int64_t k = 0; k < problem->part_count; k++) {
    const wr_part_facts *part = &problem->parts[k];
    wr_json_begin(json, NULL, '{');
    wr_json_integer(json, "rows", part->rows);
    wr_json_integer(json, "nnz", part->entries);
    wr_json_integer(json, "halo", part->halo);
    wr_json_integer(json, "sent", part->sent);
    wr_json_real(json, "waited_s", part->waited);
    wr_json_real(json, "waited_halo_s", part->waited_halo);
    wr_json_real(json, "solve_s", part->solve);
    wr_json_end(json, '}');
  }
  wr_json_end(json, ']');
}

static void write_problem(wr_json *json, const wr_problem_facts *problem) {
  wr_json_begin(json, "problem", '{');
  wr_json_text(json, "source", problem->source);
  wr_json_text(json, "kind", problem->kind);
  wr_json_integer(json, "nrows", problem->nrows);
  wr_json_integer(json, "ncols", problem->ncols);
  wr_json_integer(json, "nnz", problem->nnz);
  wr_json_integer(json, "bytes", problem->bytes);
  wr_json_boolean(json, "has_values", problem->has_values);
  wr_json_text(json, "precision", problem->precision);
  wr_json_real(json, "tolerance", problem->tolerance);
  wr_json_text(json, "remark", problem->remark);
  write_parts(json, problem);
  wr_json_end(json, '}');
}

/* null where nothing was tuned. */
static void write_tuning(wr_json *json, const wr_tuning *tuning) {
  int timed = tuning->from == NULL && tuning->multiply_seconds > 0;
  if (!wr_json_begin_if(json, "tuner", '{', tuning->knobs[0] != '\0')) return;
  wr_json_text(json, "knobs", tuning->knobs);
  wr_json_text(json, "from", tuning->from);
  wr_json_integer(json, "configurations", tuning->tried);
  wr_json_real(json, "s", tuning->seconds);
  wr_json_real(json, "multiply_s", timed ? tuning->multiply_seconds : NAN);
  wr_json_real(json, "multiplies", timed ? tuning->seconds / tuning->multiply_seconds : 0);
  wr_json_text(json, "warning", tuning->warning);
  wr_json_end(json, '}');
}

/* How the GPUs of several processes exchange numbers; null of one process, and on the CPU. */
static void write_exchange(wr_json *json, wr_exchange way) {
  static const char *const names[] = {[WR_EXCHANGE_AUTO] = NULL, [WR_EXCHANGE_PEERS] = "peers",
                                      [WR_EXCHANGE_NCCL] = "nccl", [WR_EXCHANGE_HOSTS] = "hosts"};
  wr_json_text(json, "exchange", names[way]);
}

void wr_json_plan(wr_json *json, const wr_run *run, int is_solve) {
  const wr_plan_info *info = &run->info;
  wr_json_begin(json, "plan", '{');
  wr_json_real(json, "apply_bytes", info->apply_bytes);
  wr_json_integer(json, "format_bytes", info->format_bytes);
  wr_json_integer(json, "extra_bytes", info->extra_bytes);
  wr_json_integer(json, "borrowed_bytes", info->borrowed_bytes);
  wr_json_integer(json, "memory_bytes", wr_run_memory(run));
  wr_json_boolean(json, "deterministic", info->deterministic);
  if (is_solve) wr_json_boolean(json, "fused_epilogue", run->fused_epilogue);
  if (is_solve) write_exchange(json, info->exchange);
  wr_json_text(json, "line", info->line);
  wr_json_text(json, "better", info->better ? info->better : "");
  wr_json_text(json, "advice", info->advice);
  write_tuning(json, &info->tuning);
  wr_json_end(json, '}');
}

static void write_apply(wr_json *json, const wr_run *run) {
  wr_json_begin(json, "apply", '{');
  wr_json_integer(json, "count", run->applies);
  wr_json_positive(json, "total_s", run->apply_total);
  wr_json_positive(json, "median_s", run->apply_median);
  wr_json_positive(json, "median_low_s", run->apply_low);
  wr_json_positive(json, "median_high_s", run->apply_high);
  wr_json_positive(json, "first_s", run->apply_first);
  wr_json_boolean(json, "timed_apart", run->timed_afterwards);
  wr_json_positive(json, "read_bandwidth", run->read_bandwidth);
  int known = run->read_bandwidth > 0 && run->apply_median > 0;
  wr_json_real(json, "read_share", known ? run->info.apply_bytes / run->apply_median / run->read_bandwidth : NAN);
  wr_json_end(json, '}');
}

/* null where no direct solver was asked for, or needed. */
static void write_direct(wr_json *json, const wr_direct_facts *facts) {
  int factorised = facts->entries > 0, refined = facts->outcome == WR_CONVERGED || facts->outcome == WR_STAGNATED;
  if (!wr_json_begin_if(json, "direct", '{', facts->tried)) return;
  wr_json_text(json, "by", "KLU");
  wr_json_text(json, "outcome", wr_outcome_title(facts->outcome));
  wr_json_boolean(json, "used", facts->used);
  wr_json_boolean(json, "singular", facts->singular);
  wr_json_text(json, "after", wr_outcome_title(facts->after));
  wr_json_integer(json, "entries", facts->entries);
  wr_json_integer(json, "blocks", facts->blocks);
  wr_json_integer(json, "largest_block", facts->largest_block);
  wr_json_integer(json, "bytes", facts->bytes);
  wr_json_real(json, "factorise_s", facts->seconds);
  wr_json_real(json, "pivot_ratio", factorised ? facts->pivots : NAN);
  wr_json_integer(json, "refinements", facts->refinements);
  wr_json_real(json, "measure", refined ? facts->measure : NAN);
  wr_json_real(json, "backward_error", refined ? facts->backward : NAN);
  wr_json_text(json, "why", facts->why);
  wr_json_end(json, '}');
}

/* Of a solve that was to end when an order is proven; else null. */
static void write_stop_order(wr_json *json, const wr_order_facts *order) {
  if (!wr_json_begin_if(json, "order", '{', order->asked > 0)) return;
  wr_json_integer(json, "ranks", order->asked);
  wr_json_integer(json, "proven_ranks", order->proven);
  wr_json_integer(json, "reviews", order->reviews);
  wr_json_integer(json, "crowded_reviews", order->crowded);
  wr_json_integer(json, "spared_multiplies", order->spared);
  wr_json_end(json, '}');
}

/* Only for the run that gave the answer. */
static void write_order(wr_json *json, const wr_run *run) {
  if (!run->order.known) return;
  wr_json_begin(json, "order", '{');
  wr_json_integer(json, "ranks", run->order.ranks);
  wr_json_integer(json, "proven_ranks", run->order.proven);
  wr_json_integer(json, "ties", run->order.ties);
  wr_json_real(json, "bound", run->result.bound);
  wr_json_end(json, '}');
}

/* A solve that is measured by its residual has no last change and no bound on the error; others have no backward error. */
static void write_result(wr_json *json, const wr_result *result, wr_measure measure) {
  static const char *const repeated[] = {"host", "graph", "kernel"};
  wr_json_begin(json, "result", '{');
  wr_json_text(json, "outcome", wr_outcome_title(result->outcome));
  wr_json_integer(json, "iterations", result->iterations);
  wr_json_integer(json, "multiplies", result->multiplies);
  if (measure == WR_MEASURE_L1_ERROR) wr_json_integer(json, "multiplies_f32", result->multiplies_f32);
  wr_json_real(json, "iteration_bytes", result->iteration_bytes);
  wr_json_real(json, "measure", result->measure);
  wr_json_real(json, "change", measure == WR_MEASURE_L1_ERROR ? result->change : NAN);
  wr_json_real(json, "backward", result->by_backward ? result->backward : NAN);
  wr_json_real(json, "bound", measure == WR_MEASURE_L1_ERROR ? result->bound : NAN);
  if (measure == WR_MEASURE_L1_ERROR) write_stop_order(json, &result->order);
  wr_json_text(json, "repeated_by", repeated[result->repeats.by]);
  wr_json_integer(json, "repeated_iterations", result->repeats.iterations);
  wr_json_real(json, "repeated_s", result->repeats.seconds);
  wr_json_integer(json, "restarts", result->restarts);
  wr_json_integer(json, "refinements", result->refinements);
  wr_json_text(json, "method", result->method);
  wr_json_text(json, "method_changes", result->changes);
  if (measure == WR_MEASURE_L1_ERROR) wr_json_text(json, "method_choice", result->choice);
  if (measure == WR_MEASURE_RESIDUAL) write_direct(json, &result->direct);
  wr_json_text(json, "note", result->note);
  wr_json_end(json, '}');
}

/* Only for a run that kept its history. */
static void write_history(wr_json *json, const wr_history *history) {
  if (!history) return;
  wr_json_begin(json, "history", '{');
  wr_json_begin(json, "iteration", '[');
  for (int64_t at = 0; at < history->count; at++) wr_json_integer(json, NULL, history->iteration[at]);
  wr_json_end(json, ']');
  wr_json_begin(json, "measure", '[');
  for (int64_t at = 0; at < history->count; at++) wr_json_real(json, NULL, history->measure[at]);
  wr_json_end(json, ']');
  wr_json_end(json, '}');
}

void wr_json_verdict(wr_json *json, const wr_verdict *verdict, const wr_problem_facts *problem, int is_doubtful) {
  static const char *const levels[] = {
      [WR_VERIFY_OFF] = "off", [WR_VERIFY_DEVICE] = "device", [WR_VERIFY_SAMPLE] = "sample", [WR_VERIFY_FULL] = "full"};
  wr_json_begin(json, "verification", '{');
  wr_json_text(json, "level", levels[verdict->level]);
  if (verdict->level != WR_VERIFY_OFF) {
    wr_json_integer(json, "rows", verdict->rows);
    wr_json_boolean(json, "multiplied_right", verdict->multiplied_right);
    wr_json_real(json, "worst_row", verdict->worst_row);
  }
  if (verdict->level != WR_VERIFY_OFF && problem) {
    wr_json_boolean(json, "met_tolerance", verdict->met_tolerance);
    wr_json_real(json, "measure", verdict->measure);
    wr_json_real(json, "limit", verdict->limit);
    wr_json_boolean(json, "on_host", verdict->on_host);
    int is_known = problem->measure == WR_MEASURE_RESIDUAL && verdict->backward_rows > 0;
    wr_json_positive(json, "attainable", verdict->attainable);
    wr_json_real(json, "backward_error", is_known ? verdict->backward_error : NAN);
    wr_json_count(json, "backward_row", is_known ? verdict->backward_row + 1 : -1);
    wr_json_integer(json, "backward_rows", verdict->backward_rows);
    wr_json_boolean(json, "doubtful", is_doubtful);
  }
  wr_json_end(json, '}');
}

/* Against the baseline; null if the run cannot be compared. */
static void write_comparison(wr_json *json, const wr_run *run, const wr_run *base) {
  int comparable = base && wr_run_counts(run) && run->apply_median > 0 && base->apply_median > 0;
  int64_t multiplies = comparable ? wr_break_even(run, base) : -1;
  wr_json_begin(json, "comparison", '{');
  wr_json_boolean(json, "is_baseline", run == base);
  wr_json_positive(json, "speed_up", comparable ? base->apply_median / run->apply_median : 0);
  wr_json_boolean(json, "faster", comparable && wr_faster(run, base));
  wr_json_count(json, "break_even", multiplies);
  wr_json_real(json, "difference", run->difference);
  wr_json_end(json, '}');
}

/* Only for a run for which there is some. */
static void write_advice(wr_json *json, const wr_advice *advice) {
  if (advice->remedy[0] == '\0') return;
  wr_json_begin(json, "advice", '{');
  wr_json_text(json, "seen", advice->seen);
  wr_json_text(json, "remedy", advice->remedy);
  wr_json_text(json, "command", advice->command);
  wr_json_text(json, "other", advice->other);
  wr_json_end(json, '}');
}

/* Only for a run with several right-hand sides. */
static void write_sides(wr_json *json, const wr_problem_facts *problem, const wr_run *run) {
  if (run->side_count == 0) return;
  wr_json_text(json, "together", run->together);
  wr_json_begin(json, "columns", '[');
  for (int64_t k = 0; k < run->side_count; k++) {
    wr_run one = *run;
    one.result = run->sides[k].result, one.verdict = run->sides[k].verdict;
    wr_json_begin(json, NULL, '{');
    wr_json_integer(json, "exit_code", wr_run_exit_code(&one));
    wr_json_real(json, "s", run->sides[k].seconds);
    write_result(json, &one.result, problem->measure);
    wr_json_verdict(json, &one.verdict, problem, wr_run_is_doubtful(problem, &one));
    wr_json_end(json, '}');
  }
  wr_json_end(json, ']');
}

/* Only for a run with sets. */
static void write_sets(wr_json *json, const wr_run_sets *sets) {
  if (sets->count == 0) return;
  wr_json_begin(json, "sets", '{');
  wr_json_integer(json, "count", sets->count);
  wr_json_integer(json, "done", sets->done);
  wr_json_integer(json, "converged", sets->converged);
  wr_json_integer(json, "fewest_iterations", sets->fewest);
  wr_json_integer(json, "most_iterations", sets->most);
  wr_json_integer(json, "largest_bound_set", sets->worst);
  wr_json_integer(json, "checked", sets->checked);
  wr_json_integer(json, "refuted", sets->refuted);
  wr_json_integer(json, "at_once", sets->columns);
  wr_json_end(json, '}');
}

/* Only for a run that applies one. */
static void write_precond(wr_json *json, const wr_run_precond *precond) {
  if (precond->name[0] == '\0') return;
  wr_json_begin(json, "preconditioner", '{');
  wr_json_text(json, "name", precond->name);
  wr_json_text(json, "line", precond->line);
  wr_json_real(json, "prepare_s", precond->seconds);
  wr_json_integer(json, "bytes", precond->bytes);
  wr_json_real(json, "apply_bytes", precond->apply_bytes);
  wr_json_end(json, '}');
}

/* Of -k auto; null where the user named the backend. */
static void write_chosen(wr_json *json, const wr_run *run) {
  const wr_chosen *chosen = &run->chosen;
  if (!wr_json_begin_if(json, "chosen", '{', chosen->backend != NULL)) return;
  wr_json_text(json, "line", chosen->line);
  wr_json_real(json, "multiplies", chosen->multiplies);
  wr_json_real(json, "prepare_s", chosen->prepare);
  wr_json_real(json, "multiply_s", chosen->multiply);
  wr_json_text(json, "second", chosen->second ? chosen->second->name : "");
  wr_json_real(json, "second_total_s", chosen->second_total);
  wr_json_positive(json, "timed_s", chosen->timed);
  wr_json_positive(json, "second_timed_s", chosen->second_timed);
  wr_json_integer(json, "took_multiplies", run->result.multiplies);
  wr_json_real(json, "took_prepare_s", run->setup);
  wr_json_positive(json, "took_multiply_s", run->changed.from ? run->changed.multiply : run->apply_median);
  wr_json_end(json, '}');
}

/* Of a run that the CPU began and a device went on with; null for others. */
static void write_moved(wr_json *json, const wr_run_moved *moved) {
  if (!wr_json_begin_if(json, "moved", '{', moved->backend != NULL)) return;
  wr_json_text(json, "from", moved->backend->name);
  wr_json_integer(json, "iterations", moved->iterations);
  wr_json_integer(json, "multiplies", moved->multiplies);
  wr_json_real(json, "s", moved->seconds);
  wr_json_text(json, "failure", moved->failure.text);
  wr_json_end(json, '}');
}

/* Of a run in which -k auto tried another backend; null for others. */
static void write_changed(wr_json *json, const wr_run_changed *changed) {
  if (!wr_json_begin_if(json, "changed", '{', changed->to != NULL)) return;
  wr_json_text(json, "from", changed->from ? changed->from->name : "");
  wr_json_text(json, "to", changed->to->name);
  wr_json_integer(json, "iterations", changed->iterations);
  wr_json_integer(json, "multiplies", changed->multiplies);
  wr_json_real(json, "left", changed->left);
  wr_json_real(json, "multiply_s", changed->multiply);
  wr_json_real(json, "expected_multiply_s", changed->to_multiply);
  wr_json_real(json, "expected_prepare_s", changed->to_prepare);
  wr_json_real(json, "took_prepare_s", changed->took);
  wr_json_text(json, "failure", changed->failure.text);
  wr_json_end(json, '}');
}

static void write_run(wr_json *json, const wr_problem_facts *problem, const wr_run *run, const wr_run *base) {
  char label[LABEL_ROOM];
  wr_json_begin(json, NULL, '{');
  wr_json_text(json, "label", wr_run_label(run, label, sizeof label));
  wr_json_text(json, "backend", run->backend->name);
  wr_json_text(json, "summary", run->backend->summary);
  wr_json_text(json, "source", run->backend->source);
  wr_json_text(json, "place", run->backend->place == WR_CUDA ? "cuda" : "host");
  wr_json_text(json, "device", run->device_name);
  wr_json_text(json, "knobs", run->knobs);
  wr_json_text(json, "status", wr_status_name(run->error.status));
  wr_json_text(json, "reason", run->error.text);
  wr_json_integer(json, "exit_code", wr_run_exit_code(run));
  write_moved(json, &run->moved);
  write_chosen(json, run);
  write_changed(json, &run->changed);
  wr_json_boolean(json, "ran", run->ran);
  wr_json_plan(json, run, 1);
  write_precond(json, &run->precond);
  write_ledger(json, "ledger", &run->ledger);
  wr_json_real(json, "setup_s", run->setup);
  wr_json_positive(json, "warm_s", run->warm);
  wr_json_positive(json, "warm_solve_s", run->warm_solve);
  if (run->ran) {
    write_apply(json, run);
    write_result(json, &run->result, problem->measure);
    if (problem->keeps_history) write_history(json, run->history);
    wr_json_verdict(json, &run->verdict, problem, wr_run_is_doubtful(problem, run));
    write_order(json, run);
    write_sides(json, problem, run);
    write_sets(json, &run->sets);
    write_comparison(json, run, base);
    write_advice(json, &run->advice);
  }
  wr_json_end(json, '}');
}

/* What a report begins with, whatever the program did. */
static void write_beginning(wr_json *json, const wr_problem_facts *problem, int exit_code, const char *settings_text,
                            const wr_ledger *process) {
  wr_json_begin(json, NULL, '{');
  wr_json_integer(json, "schema", SCHEMA);
  wr_json_text(json, "program", problem->program);
  wr_json_integer(json, "exit_code", exit_code);
  wr_machine_write(json);
  write_clocks(json, process);
  wr_json_text(json, "settings", settings_text);
  write_problem(json, problem);
  write_ledger(json, "process", process);
}

static void write_score_facts(wr_json *json, const wr_certificate *c) {
  const wr_score_facts *s = &c->scores;
  wr_json_begin(json, "check", '{');
  wr_json_text(json, "scores", c->x);
  wr_json_boolean(json, "met_tolerance", c->met);
  wr_json_text(json, "stop", c->by_change ? "change" : "bound");
  wr_json_real(json, "measure", c->measure);
  wr_json_real(json, "measure_error", c->error);
  wr_json_real(json, "limit", c->limit);
  wr_json_real(json, "bound", s->bound);
  wr_json_real(json, "damping", s->damping);
  wr_json_real(json, "sum", s->sum);
  wr_json_integer(json, "nodes", s->nodes);
  wr_json_integer(json, "proven_ranks", s->proven);
  wr_json_integer(json, "ties", s->ties);
  wr_json_real(json, "order_bound", s->order_bound);
  wr_json_boolean(json, "order_normalised", s->normalised);
  if (s->worst_name[0])
    wr_json_text(json, "worst_node", s->worst_name);
  else
    wr_json_integer(json, "worst_node", s->worst);
  wr_json_real(json, "worst_score", s->worst_score);
  wr_json_real(json, "worst_change", s->worst_change);
  if (s->reading[0]) {
    wr_json_begin(json, "meaning", '{');
    wr_json_text(json, "text", s->reading);
    wr_json_real(json, "damping", s->reading_damping);
    wr_json_real(json, "factor", s->reading_factor);
    wr_json_real(json, "bound", s->reading_bound);
    wr_json_end(json, '}');
  }
  wr_json_end(json, '}');
}

static void write_residual(wr_json *json, const wr_problem_facts *problem, const wr_certificate *c) {
  wr_json_begin(json, "check", '{');
  wr_json_text(json, "x", c->x);
  wr_json_boolean(json, "met_tolerance", c->met);
  wr_json_text(json, "stop", c->by_backward ? "backward" : "residual");
  wr_json_boolean(json, "relative", c->is_relative);
  wr_json_real(json, "measure", c->measure);
  wr_json_real(json, "measure_error", c->error);
  wr_json_real(json, "limit", c->limit);
  wr_json_real(json, "attainable", c->attainable);
  wr_json_real(json, "backward_error", c->backward);
  wr_json_integer(json, "backward_row", c->backward_row + 1);
  wr_json_boolean(json, "doubtful", wr_certificate_is_doubtful(problem, c));
  wr_json_end(json, '}');
}

wr_status wr_report_check_json(const char *path, const wr_problem_facts *problem, const wr_certificate *c,
                               const char *settings_text, const wr_ledger *process) {
  wr_output_file out;
  PASS(wr_output_open(path, &out));
  wr_json json = {.file = out.file};
  write_beginning(&json, problem, wr_certificate_exit_code(c), settings_text, process);
  if (problem->measure == WR_MEASURE_L1_ERROR)
    write_score_facts(&json, c);
  else
    write_residual(&json, problem, c);
  wr_json_end(&json, '}');
  return wr_output_commit(&out);
}

static void write_report(wr_json *json, const wr_problem_facts *problem, const wr_run *runs, int count,
                         const char *settings_text, const wr_ledger *process) {
  int code = problem->interrupted ? wr_outcome_exit_code(WR_INTERRUPTED) : wr_report_exit_code(runs, count);
  write_beginning(json, problem, code, settings_text, process);
  wr_json_begin(json, "runs", '[');
  for (int i = 0; i < count; i++) write_run(json, problem, &runs[i], wr_baseline(runs, count));
  wr_json_end(json, ']');
  wr_json_end(json, '}');
}

wr_status wr_report_json(const char *path, const wr_problem_facts *problem, const wr_run *runs, int count,
                         const char *settings_text, const wr_ledger *process) {
  wr_output_file out;
  PASS(wr_output_open(path, &out));
  wr_json json = {.file = out.file};
  write_report(&json, problem, runs, count, settings_text, process);
  return wr_output_commit(&out);
}

wr_status wr_report_json_line(wr_output_file *lines, const wr_problem_facts *problem, const wr_run *runs, int count,
                              const char *settings_text, const wr_ledger *process) {
  wr_json json = {.file = lines->file, .one_line = 1};
  write_report(&json, problem, runs, count, settings_text, process);
  return wr_output_flush(lines);
}

wr_status wr_report_json_failure(wr_output_file *lines, const wr_problem_facts *problem, const wr_error *error,
                                 const char *settings_text, const wr_ledger *process) {
  wr_json json = {.file = lines->file, .one_line = 1};
  write_beginning(&json, problem, wr_status_exit_code(error->status), settings_text, process);
  wr_json_text(&json, "status", wr_status_name(error->status));
  wr_json_text(&json, "reason", error->text);
  wr_json_begin(&json, "runs", '[');
  wr_json_end(&json, ']');
  wr_json_end(&json, '}');
  return wr_output_flush(lines);
}
