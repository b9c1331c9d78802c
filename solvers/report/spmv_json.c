#include <math.h>

#include "solvers/report/machine.h"
#include "solvers/report/report.h"
#include "solvers/report/report_text.h"
#include "solvers/report/sectors.h"
#include "spmv/choose/matrix_features.h"
#include "solvers/report/spmv_table.h"

enum { SPMV_SCHEMA = 1 };

static void write_places(wr_json *json, const wr_apply_place *places) {
  static const char *const names[] = {[WR_HOST] = "host", [WR_CUDA] = "cuda"};
  wr_json_begin(json, "places", '[');
  for (int p = 0; p < 2; p++) {
    wr_json_begin(json, NULL, '{');
    wr_json_text(json, "place", names[p]);
    wr_json_text(json, "status", wr_status_name(places[p].error.status));
    wr_json_text(json, "reason", places[p].error.text[0] ? places[p].error.text : NULL);
    wr_json_text(json, "device", places[p].env.device_name[0] ? places[p].env.device_name : NULL);
    wr_json_positive(json, "read_bandwidth", places[p].read_bandwidth);
    wr_json_end(json, '}');
  }
  wr_json_end(json, ']');
}

void wr_spmv_json_begin(wr_json *json, const char *settings, const wr_apply_place *places) {
  wr_json_begin(json, NULL, '{');
  wr_json_integer(json, "schema", SPMV_SCHEMA);
  wr_json_text(json, "program", "spmv");
  wr_json_now(json, "date");
  wr_machine_write(json);
  wr_json_text(json, "settings", settings);
  write_places(json, places);
  wr_json_begin(json, "matrices", '[');
}

void wr_spmv_json_end(wr_json *json, int exit_code) {
  wr_json_end(json, ']');
  wr_json_integer(json, "exit_code", exit_code);
  wr_json_end(json, '}');
}

static void write_sample(wr_json *json, const char *name, const wr_sample *sample, int64_t repeat) {
  if (!wr_json_begin_if(json, name, '{', sample->count > 0)) return;
  wr_json_real(json, "median_s", sample->median);
  wr_json_real(json, "median_low_s", sample->low);
  wr_json_real(json, "median_high_s", sample->high);
  wr_json_real(json, "confidence", sample->confidence);
  wr_json_integer(json, "count", sample->count);
  wr_json_integer(json, "multiplies_each", repeat);
  wr_json_end(json, '}');
}

static void write_times(wr_json *json, const wr_run *run, const wr_apply_times *times) {
  wr_json_integer(json, "preparations", times->preparations);
  wr_json_real(json, "prepare_s", run->setup);
  wr_json_real(json, "prepare_once_s", times->setup_once);
  wr_json_real(json, "first_s", run->apply_first);
  wr_json_real(json, "first_once_s", times->first_once);
  write_sample(json, "hot", &times->hot, times->repeat);
  write_sample(json, "cold", &times->cold, 1);
  wr_json_boolean(json, "y_next", times->dual);
  wr_json_integer(json, "vectors", times->vectors);
  double rate = run->info.apply_bytes / run->apply_median;
  wr_json_real(json, "bytes_per_s", rate);
  wr_json_real(json, "read_share", run->read_bandwidth > 0 ? rate / run->read_bandwidth : NAN);
}

static void write_comparison(wr_json *json, const wr_spmv_table *t, const wr_run *run, const wr_run *base) {
  wr_apply_standing standing = wr_apply_compare(run, base);
  wr_json_begin(json, "comparison", '{');
  wr_json_boolean(json, "is_baseline", run == base);
  wr_json_real(json, "speed_up", standing.known ? standing.speed_up : NAN);
  wr_json_boolean(json, "faster", standing.faster);
  wr_json_boolean(json, "slower", standing.slower);
  int pays = standing.known && run != base;
  wr_json_count(json, "break_even", pays ? standing.pays_at : -1);
  wr_json_count(json, "ahead_until", pays && standing.pays_at < 0 ? standing.ahead_until : -1);
  if (t->solves > 0 && pays) {
    wr_json_real(json, "saves_s", base->apply_median - run->apply_median);
    wr_json_boolean(json, "worth", wr_apply_is_worth(run, base, wr_spmv_multiplies(t)));
  }
  wr_json_end(json, '}');
}

/* Of a multiply that reads plain rows of so many bytes; null for a negative number, and where sectors were not counted. */
static void write_sectors(wr_json *json, const wr_spmv_table *t, int64_t format_bytes) {
  const wr_plan_info info = {.format_bytes = format_bytes};
  if (!wr_json_begin_if(json, "sectors", '{', t->x_sectors >= 0 && format_bytes >= 0)) return;
  wr_json_integer(json, "streams", wr_sectors_of_streams(t->A, t->type, &info));
  wr_json_integer(json, "x", t->x_sectors);
  wr_json_end(json, '}');
}

/* By the model alone. */
static void write_expected(wr_json *json, const wr_run *run) {
  wr_json_begin(json, "expected", '{');
  wr_json_real(json, "prepare_s", run->setup);
  wr_json_real(json, "multiply_s", run->apply_median);
  wr_json_end(json, '}');
}

/* For what it advises; null where that was not asked for. */
static void write_advice(wr_json *json, const wr_spmv_table *t) {
  if (!wr_json_begin_if(json, "advice", '{', t->solves > 0)) return;
  wr_json_integer(json, "solves", t->solves);
  wr_json_real(json, "multiplies", wr_spmv_multiplies(t));
  wr_json_text(json, "by", t->by_model ? "model" : "times");
  wr_json_boolean(json, "calibrated", t->by_model && t->is_calibrated);
  wr_json_text(json, "times_of", t->by_model && t->times_of[0] ? t->times_of : NULL);
  wr_json_end(json, '}');
}

static void write_run(wr_json *json, const wr_spmv_table *t, int k, const wr_run *base) {
  char label[256];
  const wr_run *run = &t->runs[k];
  wr_json_begin(json, NULL, '{');
  wr_json_text(json, "label", wr_run_label(run, label, sizeof label));
  wr_json_text(json, "backend", run->backend->name);
  wr_json_text(json, "knobs", run->knobs);
  wr_json_text(json, "place", run->backend->place == WR_HOST ? "host" : "cuda");
  wr_json_text(json, "status", wr_status_name(run->error.status));
  wr_json_text(json, "reason", run->error.text[0] ? run->error.text : NULL);
  wr_json_boolean(json, "ran", run->ran && !t->by_model);
  if (run->ran && t->by_model) {
    wr_json_plan(json, run, 0);
    write_expected(json, run);
    write_comparison(json, t, run, base);
  } else if (run->ran) {
    wr_json_plan(json, run, 0);
    write_sectors(json, t, run->backend->caps & WR_CAP_PLAIN_ROWS ? run->info.format_bytes : -1);
    write_times(json, run, &t->times[k]);
    wr_json_verdict(json, &run->verdict, NULL, 0);
    write_comparison(json, t, run, base);
  }
  wr_json_end(json, '}');
}

static void write_rows(wr_json *json, const wr_row_statistics *rows) {
  wr_json_begin(json, "rows", '{');
  wr_json_integer(json, "least", rows->least);
  wr_json_real(json, "mean", rows->mean);
  wr_json_integer(json, "most", rows->most);
  wr_json_integer(json, "empty", rows->empty);
  wr_json_integer(json, "bandwidth", rows->bandwidth);
  wr_json_end(json, '}');
}

/* What -k auto looks at; null where sectors were not counted, or there was no memory for it. */
static void write_features(wr_json *json, const wr_spmv_table *t) {
  wr_matrix_features f = {0};
  int is_known = t->x_sectors >= 0 && wr_matrix_features_get(t->A, t->type, &f) == WR_OK;
  if (!wr_json_begin_if(json, "features", '{', is_known)) return;
  wr_json_integer(json, "most", f.most);
  wr_json_real(json, "spread", f.spread);
  wr_json_real(json, "lockstep", f.lockstep);
  wr_json_real(json, "gather", f.gather);
  wr_json_real(json, "row_gather", f.row_gather);
  wr_json_real(json, "tile_gather", f.tile_gather);
  wr_json_real(json, "narrow", f.narrow);
  wr_json_real(json, "hubs", f.hubs);
  wr_json_end(json, '}');
}

static void write_suggestion(wr_json *json, const wr_spmv_table *t) {
  char label[256];
  wr_stretch stretches[WR_MAX_RUNS];
  int found = wr_suggest(t->runs, t->count, stretches);
  wr_json_begin(json, "least_time", '[');
  for (int k = 0; k < found; k++) {
    wr_json_begin(json, NULL, '{');
    wr_json_integer(json, "from", stretches[k].from);
    wr_json_text(json, "label", wr_run_label(stretches[k].run, label, sizeof label));
    wr_json_end(json, '}');
  }
  wr_json_end(json, ']');
}

static void write_facts(wr_json *json, const wr_problem_facts *facts, wr_status status, const char *reason) {
  char family[WR_FAMILY_ROOM];
  wr_json_begin(json, NULL, '{');
  wr_json_text(json, "source", facts->source);
  wr_json_text(json, "family", *wr_spmv_family(facts->source, family) ? family : NULL);
  wr_json_text(json, "precision", facts->precision);
  wr_json_text(json, "status", wr_status_name(status));
  wr_json_text(json, "reason", reason);
  wr_json_text(json, "kind", facts->kind);
  wr_json_integer(json, "nrows", facts->nrows);
  wr_json_integer(json, "ncols", facts->ncols);
  wr_json_integer(json, "nnz", facts->nnz);
  wr_json_boolean(json, "has_values", facts->has_values);
  wr_json_text(json, "remark", facts->remark);
}

void wr_spmv_json_failure(wr_json *json, const wr_problem_facts *facts, const wr_error *error) {
  write_facts(json, facts, error->status, error->text);
  wr_json_begin(json, "runs", '[');
  wr_json_end(json, ']');
  wr_json_end(json, '}');
}

void wr_spmv_json_matrix(wr_json *json, const wr_spmv_table *t) {
  const wr_run *base = wr_apply_base(t->runs, t->count);
  write_facts(json, t->facts, WR_OK, NULL);
  write_rows(json, t->rows);
  wr_json_integer(json, "csr_bytes", wr_plain_apply_bytes(t->A, t->type, wr_spmv_vectors(t)));
  write_sectors(json, t, wr_plain_format_bytes(t->A, t->type));
  write_features(json, t);
  write_suggestion(json, t);
  write_advice(json, t);
  wr_json_begin(json, "runs", '[');
  for (int k = 0; k < t->count; k++) write_run(json, t, k, base);
  wr_json_end(json, ']');
  wr_json_end(json, '}');
}
