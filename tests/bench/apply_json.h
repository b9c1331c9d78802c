/* The JSON of apply_bench: one object; times are seconds (_s), sizes bytes, what was not measured is null. */
#ifndef WR_APPLY_JSON_H
#define WR_APPLY_JSON_H

#include <math.h>
#include <string.h>
#include <time.h>

#include "solvers/apply_time.h"
#include "solvers/json.h"
#include "solvers/machine.h"
#include "solvers/report_text.h"

enum { APPLY_SCHEMA = 1 };

static void json_places(wr_json *json, const wr_apply_place *places) {
  static const char *const names[] = {[WR_HOST] = "host", [WR_CUDA] = "cuda"};
  wr_json_begin(json, "places", '[');
  for (int p = 0; p < 2; p++) {
    wr_json_begin(json, NULL, '{');
    wr_json_text(json, "place", names[p]);
    wr_json_text(json, "status", wr_status_name(places[p].status));
    wr_json_text(json, "reason", places[p].reason[0] ? places[p].reason : NULL);
    wr_json_text(json, "device", places[p].env.device_name[0] ? places[p].env.device_name : NULL);
    wr_json_real(json, "read_bandwidth", places[p].read_bandwidth > 0 ? places[p].read_bandwidth : NAN);
    wr_json_end(json, '}');
  }
  wr_json_end(json, ']');
}

/* All that stands before the matrices; their array is left open. */
static void json_head(wr_json *json, const char *settings, const wr_apply_place *places) {
  time_t now = time(NULL);
  struct tm date;
  char text[32] = "";
  if (gmtime_r(&now, &date)) strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &date);
  wr_json_begin(json, NULL, '{');
  wr_json_integer(json, "schema", APPLY_SCHEMA);
  wr_json_text(json, "program", "apply_bench");
  wr_json_text(json, "date", text);
  wr_machine_write(json);
  wr_json_text(json, "settings", settings);
  json_places(json, places);
  wr_json_begin(json, "matrices", '[');
}

static void json_tail(wr_json *json, int exit_code) {
  wr_json_end(json, ']');
  wr_json_integer(json, "exit_code", exit_code);
  wr_json_end(json, '}');
}

static void json_sample(wr_json *json, const char *name, const wr_sample *sample, int64_t repeat) {
  if (sample->count == 0) {
    wr_json_null(json, name);
    return;
  }
  wr_json_begin(json, name, '{');
  wr_json_real(json, "median_s", sample->median);
  wr_json_real(json, "median_low_s", sample->low);
  wr_json_real(json, "median_high_s", sample->high);
  wr_json_real(json, "confidence", sample->confidence);
  wr_json_integer(json, "count", sample->count);
  wr_json_integer(json, "multiplies_each", repeat);
  wr_json_end(json, '}');
}

static void json_plan(wr_json *json, const wr_run *run) {
  wr_json_begin(json, "plan", '{');
  wr_json_real(json, "apply_bytes", run->info.apply_bytes);
  wr_json_integer(json, "format_bytes", run->info.format_bytes);
  wr_json_integer(json, "extra_bytes", run->info.extra_bytes);
  wr_json_integer(json, "borrowed_bytes", run->info.borrowed_bytes);
  wr_json_boolean(json, "deterministic", run->info.deterministic);
  wr_json_text(json, "line", run->info.line);
  wr_json_end(json, '}');
}

static void json_times(wr_json *json, const wr_run *run, const wr_apply_times *times) {
  wr_json_integer(json, "preparations", times->preparations);
  wr_json_real(json, "prepare_s", run->setup);
  wr_json_real(json, "prepare_once_s", times->setup_once);
  wr_json_real(json, "first_s", run->apply_first);
  wr_json_real(json, "first_once_s", times->first_once);
  json_sample(json, "hot", &times->hot, times->repeat);
  json_sample(json, "cold", &times->cold, 1);
  wr_json_boolean(json, "y_next", times->dual);
  double rate = run->info.apply_bytes / run->apply_median;
  wr_json_real(json, "bytes_per_s", rate);
  wr_json_real(json, "read_share", run->read_bandwidth > 0 ? rate / run->read_bandwidth : NAN);
}

static void json_verdict(wr_json *json, const wr_verdict *verdict) {
  static const char *const levels[] = {
      [WR_VERIFY_OFF] = "off", [WR_VERIFY_DEVICE] = "device", [WR_VERIFY_SAMPLE] = "sample", [WR_VERIFY_FULL] = "full"};
  wr_json_begin(json, "verification", '{');
  wr_json_text(json, "level", levels[verdict->level]);
  if (verdict->level != WR_VERIFY_OFF) {
    wr_json_integer(json, "rows", verdict->rows);
    wr_json_boolean(json, "multiplied_right", verdict->multiplied_right);
    wr_json_real(json, "worst_row", verdict->worst_row);
  }
  wr_json_end(json, '}');
}

static void json_comparison(wr_json *json, const wr_run *run, const wr_run *base) {
  wr_apply_standing standing = wr_apply_compare(run, base);
  wr_json_begin(json, "comparison", '{');
  wr_json_boolean(json, "is_baseline", run == base);
  wr_json_real(json, "speed_up", standing.known ? standing.speed_up : NAN);
  wr_json_boolean(json, "faster", standing.faster);
  wr_json_boolean(json, "slower", standing.slower);
  if (standing.known && run != base && standing.pays_at >= 0)
    wr_json_integer(json, "break_even", standing.pays_at);
  else
    wr_json_null(json, "break_even");
  if (standing.known && run != base && standing.pays_at < 0 && standing.ahead_until >= 0)
    wr_json_integer(json, "ahead_until", standing.ahead_until);
  else
    wr_json_null(json, "ahead_until");
  wr_json_end(json, '}');
}

static void json_run(wr_json *json, const wr_run *run, const wr_apply_times *times, const wr_run *base) {
  char label[256];
  wr_json_begin(json, NULL, '{');
  wr_json_text(json, "label", wr_run_label(run, label, sizeof label));
  wr_json_text(json, "backend", run->backend->name);
  wr_json_text(json, "knobs", run->knobs);
  wr_json_text(json, "place", run->backend->place == WR_HOST ? "host" : "cuda");
  wr_json_text(json, "status", wr_status_name(run->status));
  wr_json_text(json, "reason", run->reason[0] ? run->reason : NULL);
  wr_json_boolean(json, "ran", run->ran);
  if (run->ran) {
    json_plan(json, run);
    json_times(json, run, times);
    json_verdict(json, &run->verdict);
    json_comparison(json, run, base);
  }
  wr_json_end(json, '}');
}

/* One matrix in one precision. status not WR_OK: it could not be had or used, and the sentence says why; no runs then. */
static void json_matrix(wr_json *json, const wr_problem_facts *facts, wr_status status, const wr_run *runs,
                        const wr_apply_times *times, int count) {
  wr_json_begin(json, NULL, '{');
  wr_json_text(json, "source", facts->source);
  wr_json_text(json, "precision", facts->precision);
  wr_json_text(json, "status", wr_status_name(status));
  wr_json_text(json, "reason", status == WR_OK ? NULL : wr_status_message());
  wr_json_text(json, "kind", facts->kind);
  wr_json_integer(json, "nrows", facts->nrows);
  wr_json_integer(json, "ncols", facts->ncols);
  wr_json_integer(json, "nnz", facts->nnz);
  wr_json_boolean(json, "has_values", facts->has_values);
  wr_json_text(json, "remark", facts->remark);
  wr_json_begin(json, "runs", '[');
  const wr_run *base = status == WR_OK ? wr_apply_base(runs, count) : NULL;
  for (int k = 0; k < count && status == WR_OK; k++) json_run(json, &runs[k], &times[k], base);
  wr_json_end(json, ']');
  wr_json_end(json, '}');
}

#endif
