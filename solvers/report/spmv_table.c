#include "solvers/report/spmv_table.h"

#include <math.h>
#include <string.h>

#include "config/text.h"
#include "solvers/report/report.h"
#include "solvers/report/report_columns.h"
#include "solvers/report/report_text.h"
#include "solvers/report/sectors.h"

enum { LABEL_ROOM = 256 };

const char *wr_spmv_family(const char *source, char family[WR_FAMILY_ROOM]) {
  int is_generated = strncmp(source, "gen:", 4) == 0;
  snprintf(family, WR_FAMILY_ROOM, "%.*s", is_generated ? (int)strcspn(source + 4, ":") : 0, source + 4 * is_generated);
  return family;
}

static void microseconds(double seconds, char *cell) {
  double us = 1e6 * seconds;
  snprintf(cell, WR_CELL_ROOM, "%.*f", us < 99.995 ? 2 : us < 9999.95 ? 1 : 0, us);
}

static void first_cell(const wr_columns *c, int k, char *cell) { microseconds(c->runs[k].apply_first, cell); }
static void hot_cell(const wr_columns *c, int k, char *cell) { microseconds(c->runs[k].apply_median, cell); }

/* The wider side of the median's interval. */
static void interval_cell(const wr_columns *c, int k, char *cell) {
  const wr_sample *hot = &c->times[k].hot;
  double wider = fmax(hot->high - hot->median, hot->median - hot->low) / hot->median;
  snprintf(cell, WR_CELL_ROOM, "-");
  if (hot->count >= WR_LEAST_SAMPLE && hot->median > 0) snprintf(cell, WR_CELL_ROOM, "%.1f%%", 100 * wider);
}

static void cold_cell(const wr_columns *c, int k, char *cell) {
  cell[0] = '\0';
  if (c->times[k].cold.count > 0) microseconds(c->times[k].cold.median, cell);
}

static void vector_cell(const wr_columns *c, int k, char *cell) {
  cell[0] = '\0';
  if (c->times[k].vectors > 1) microseconds(c->runs[k].apply_median / (double)c->times[k].vectors, cell);
}

static void bytes_cell(const wr_columns *c, int k, char *cell) { wr_text_bytes(c->runs[k].info.apply_bytes, cell); }

static void rate_cell(const wr_columns *c, int k, char *cell) {
  const wr_run *run = &c->runs[k];
  double rate = run->apply_median > 0 ? run->info.apply_bytes / run->apply_median * 1e-9 : 0;
  snprintf(cell, WR_CELL_ROOM, "%.*f", rate < 99.95 ? 1 : 0, rate);
}

static int is_wrong(const wr_run *run) { return run->ran && !wr_run_counts(run); }

/* "1.25x": faster or slower by wr_faster; "1.01x =": neither; "1.01x ?": unknown, of too few batches. */
static void speed_cell(const wr_columns *c, int k, char *cell) {
  const wr_run *run = &c->runs[k];
  wr_apply_standing standing = wr_apply_compare(run, c->base);
  snprintf(cell, WR_CELL_ROOM, "%s", is_wrong(run) ? "WRONG" : "-");
  if (!standing.known) return;
  double ratio = standing.speed_up;
  int decimals = ratio < 0.0995 ? 3 : ratio < 9.995 ? 2 : ratio < 99.95 ? 1 : 0;
  int is_clear = run == c->base || standing.faster || standing.slower;
  snprintf(cell, WR_CELL_ROOM, "%.*fx%s", decimals, ratio, is_clear ? "  " : standing.has_intervals ? " =" : " ?");
}

static void pays_cell(const wr_columns *c, int k, char *cell) {
  char count[16];
  const wr_run *run = &c->runs[k];
  wr_apply_standing standing = wr_apply_compare(run, c->base);
  snprintf(cell, WR_CELL_ROOM, "-");
  if (!standing.known || run == c->base || !(standing.faster || standing.slower)) return;
  if (standing.pays_at >= 0)
    snprintf(cell, WR_CELL_ROOM, "%s", wr_text_count(standing.pays_at, count));
  else if (standing.ahead_until > 0)
    snprintf(cell, WR_CELL_ROOM, "to %s", wr_text_count(standing.ahead_until, count));
  else
    snprintf(cell, WR_CELL_ROOM, "never");
}

/* s of a multiply less than the baseline's; -: it takes more. */
static void saves_cell(const wr_columns *c, int k, char *cell) {
  wr_apply_standing standing = wr_apply_compare(&c->runs[k], c->base);
  cell[0] = '\0';
  if (c->multiplies <= 0) return;
  snprintf(cell, WR_CELL_ROOM, "-");
  if (standing.known && standing.faster) microseconds(c->base->apply_median - c->runs[k].apply_median, cell);
}

static void worth_cell(const wr_columns *c, int k, char *cell) {
  const wr_run *run = &c->runs[k];
  cell[0] = '\0';
  if (c->multiplies <= 0) return;
  int is_known = wr_apply_compare(run, c->base).known && run != c->base;
  snprintf(cell, WR_CELL_ROOM, "%s", !is_known ? "-" : wr_apply_is_worth(run, c->base, c->multiplies) ? "yes" : "no");
}

/* spmv --help explains them. */
static const wr_column columns[] = {
    {"prepare", wr_cell_prepare, 8, NULL},
    {"first us", first_cell, 4, NULL},
    {"hot us", hot_cell, 11, NULL},
    {"+-", interval_cell, 6, NULL},
    {"a vector", vector_cell, 12, NULL},
    {"cold us", cold_cell, 9, NULL},
    {"bytes", bytes_cell, 3, NULL},
    {"GB/s", rate_cell, 1, NULL},
    {"read", wr_cell_read, 5, NULL},
    {"memory", wr_cell_memory, 2, NULL},
    {"speed-up", speed_cell, 10, NULL},
    {"saves us", saves_cell, 8, NULL},
    {"pays at", pays_cell, 7, NULL},
    {"worth it", worth_cell, 13, NULL},
};
enum { COLUMNS = sizeof columns / sizeof *columns };

/* Of what a model expects. */
static const wr_column expected_columns[] = {
    {"prepare", wr_cell_prepare, 8, NULL},
    {"multiply us", hot_cell, 11, NULL},
    {"bytes", bytes_cell, 3, NULL},
    {"memory", wr_cell_memory, 2, NULL},
    {"saves us", saves_cell, 9, NULL},
    {"pays at", pays_cell, 10, NULL},
    {"worth it", worth_cell, 13, NULL},
};
enum { EXPECTED_COLUMNS = sizeof expected_columns / sizeof *expected_columns };

static void print_wrong(wr_writer *out, const wr_spmv_table *t) {
  char label[LABEL_ROOM], worst[16];
  for (int k = 0; k < t->count; k++) {
    if (!is_wrong(&t->runs[k])) continue;
    wr_line line = {0};
    wr_line_add(&line, "WRONG: %s: its largest error is %s times the rounding bound of its row",
                wr_run_label(&t->runs[k], label, sizeof label), wr_text_bound(t->runs[k].verdict.worst_row, worst));
    wr_writer_paragraph(out, &line);
  }
}

/* "web in f64: ..., 3.00 M x 3.00 M, 49.6 M nonzeros", "rows: 0 to 7231 entries, 16.5 on average, ..." */
static void print_heading(wr_writer *out, const wr_spmv_table *t) {
  char least[16], most[16], mean[16], empty[16], bandwidth[16];
  wr_line problem = {0}, rows = {0};
  wr_line_add_problem(&problem, t->facts);
  if (wr_spmv_vectors(t) > 1) wr_line_add(&problem, "; %d vectors at once", (int)wr_spmv_vectors(t));
  wr_writer_paragraph(out, &problem);
  wr_line_add(&rows, "rows: ");
  if (t->rows->least != t->rows->most) wr_line_add(&rows, "%s to ", wr_text_count(t->rows->least, least));
  wr_line_add(&rows, "%s %s", wr_text_count(t->rows->most, most), wr_plural(t->rows->most, "entry", "entries"));
  if (t->rows->least != t->rows->most)
    wr_line_add(&rows, ", %s on average",
                t->rows->mean < 1000 ? wr_text_real(t->rows->mean, mean) : wr_text_count((int64_t)t->rows->mean, mean));
  wr_line_add(&rows, ", %s empty; matrix bandwidth %s", t->rows->empty ? wr_text_count(t->rows->empty, empty) : "none",
              wr_text_count(t->rows->bandwidth, bandwidth));
  wr_writer_paragraph(out, &rows);
}

/* "advice for 3 solves of 200 multiplies, by a model: nothing was timed" */
static void print_advised(wr_writer *out, const wr_spmv_table *t) {
  char count[16];
  wr_line line = {0};
  if (t->solves == 0) return;
  wr_line_add(&line, "advice for %s %s of %d multiplies, ", wr_text_count(t->solves, count),
              wr_plural(t->solves, "solve", "solves"), WR_EXPECTED_MULTIPLIES);
  if (!t->by_model)
    wr_line_add(&line, "by the times measured");
  else if (t->times_of[0])
    wr_line_add(&line, "by a model of the times of an %s", t->times_of);
  else
    wr_line_add(&line, "by bytes and a usual memory");
  if (t->by_model) wr_line_add(&line, "%s: nothing was timed", t->is_calibrated ? ", calibrated on this device" : "");
  wr_writer_paragraph(out, &line);
}

int wr_spmv_add_suggestion(wr_line *line, const wr_spmv_table *t) {
  char label[LABEL_ROOM], from[16], to[16];
  wr_stretch stretches[WR_MAX_RUNS];
  int found = wr_suggest(t->runs, t->count, stretches), able = 0;
  for (int k = 0; k < t->count; k++) able += wr_run_counts(&t->runs[k]);
  if (able < 2 || found == 0) return 0;
  wr_line_add(line, "least time:");
  for (int k = 0; k < found; k++) {
    const char *name = wr_run_label(stretches[k].run, label, sizeof label);
    int64_t first = stretches[k].from, last = k + 1 < found ? stretches[k + 1].from - 1 : 0;
    wr_line_add(line, "%s", k ? ", " : " ");
    if (found == 1)
      wr_line_add(line, "%s for any number of multiplies", name);
    else if (k + 1 == found)
      wr_line_add(line, "from %s on %s", wr_text_count(first, from), name);
    else if (first == last)
      wr_line_add(line, "for %s %s %s", wr_text_count(first, from), wr_plural(first, "multiply", "multiplies"), name);
    else
      wr_line_add(line, "for %s to %s multiplies %s", wr_text_count(first, from), wr_text_count(last, to), name);
  }
  return 1;
}

static void print_sectors(wr_writer *out, const wr_spmv_table *t) {
  char label[LABEL_ROOM], total[16], stream[16], x[16];
  wr_line line = {0};
  int found = 0;
  if (t->x_sectors < 0) return;
  for (int k = 0; k < t->count; k++) {
    const wr_run *run = &t->runs[k];
    if (!run->ran || !(run->backend->caps & WR_CAP_PLAIN_ROWS)) continue;
    int64_t streams = wr_sectors_of_streams(t->A, t->type, &run->info);
    wr_line_add(
        &line, "%s%s %s (streams %s, x %s)", found++ ? ", " : "sectors: ", wr_run_label(run, label, sizeof label),
        wr_text_count(streams + t->x_sectors, total), wr_text_count(streams, stream), wr_text_count(t->x_sectors, x));
  }
  if (found)
    wr_line_add(&line, "; of 32 bytes, read from L2, each stream once and x by a model: the different ones of 32 "
                       "consecutive entries, nothing kept in L1");
  else
    wr_line_add(&line, "sectors: none of these backends reads plain rows on a GPU");
  wr_writer_paragraph(out, &line);
}

static void print_tuning(wr_writer *out, const wr_spmv_table *t) {
  char label[LABEL_ROOM];
  for (int k = 0; k < t->count; k++) {
    wr_line line = {0};
    wr_line_add(&line, "tuner: %s: ", wr_run_label(&t->runs[k], label, sizeof label));
    if (t->runs[k].ran && wr_line_add_tuning(&line, &t->runs[k].info.tuning)) wr_writer_paragraph(out, &line);
  }
}

static void print_plans(wr_writer *out, const wr_spmv_table *t) {
  char label[LABEL_ROOM];
  for (int k = 0; k < t->count; k++) {
    if (!t->runs[k].ran || t->runs[k].info.line[0] == '\0') continue;
    wr_line line = {0};
    wr_line_add(&line, "%s: %s", wr_run_label(&t->runs[k], label, sizeof label), t->runs[k].info.line);
    wr_writer_paragraph(out, &line);
  }
}

void wr_spmv_table_print(wr_writer *out, const wr_spmv_table *t) {
  wr_columns c = {.runs = t->runs, .times = t->times, .count = t->count, .base = wr_apply_base(t->runs, t->count),
                  .multiplies = wr_spmv_multiplies(t)};
  print_heading(out, t);
  print_advised(out, t);
  if (t->by_model)
    wr_columns_print(out, expected_columns, EXPECTED_COLUMNS, &c);
  else
    wr_columns_print(out, columns, COLUMNS, &c);
  print_wrong(out, t);
  wr_line suggestion = {0};
  if (wr_spmv_add_suggestion(&suggestion, t)) wr_writer_paragraph(out, &suggestion);
  print_sectors(out, t);
  wr_report_advice(out, t->runs, t->count);
  print_tuning(out, t);
  if (t->verbose) print_plans(out, t);
  wr_writer_gap(out);
  fflush(out->file);
}
