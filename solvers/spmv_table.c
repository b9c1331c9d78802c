#include "solvers/spmv_table.h"

#include <math.h>
#include <string.h>

#include "solvers/report_text.h"
#include "solvers/sectors.h"
#include "solvers/suggestion.h"

enum { CELL_ROOM = 24, LABEL_ROOM = 256, LEAST_LABEL = 9 };

static void microseconds(double seconds, char *cell) {
  double us = 1e6 * seconds;
  snprintf(cell, CELL_ROOM, "%.*f", us < 99.995 ? 2 : us < 9999.95 ? 1 : 0, us);
}

static void prepare_cell(const wr_spmv_table *t, int k, char *cell) { wr_text_seconds(t->runs[k].setup, cell); }
static void first_cell(const wr_spmv_table *t, int k, char *cell) { microseconds(t->runs[k].apply_first, cell); }
static void hot_cell(const wr_spmv_table *t, int k, char *cell) { microseconds(t->runs[k].apply_median, cell); }

/* The wider side of the median's interval. */
static void interval_cell(const wr_spmv_table *t, int k, char *cell) {
  const wr_sample *hot = &t->times[k].hot;
  double wider = fmax(hot->high - hot->median, hot->median - hot->low) / hot->median;
  snprintf(cell, CELL_ROOM, "-");
  if (hot->count >= WR_LEAST_SAMPLE && hot->median > 0) snprintf(cell, CELL_ROOM, "%.1f%%", 100 * wider);
}

static void cold_cell(const wr_spmv_table *t, int k, char *cell) {
  snprintf(cell, CELL_ROOM, "-");
  if (t->times[k].cold.count > 0) microseconds(t->times[k].cold.median, cell);
}

static void bytes_cell(const wr_spmv_table *t, int k, char *cell) { wr_text_bytes(t->runs[k].info.apply_bytes, cell); }

static void rate_cell(const wr_spmv_table *t, int k, char *cell) {
  const wr_run *run = &t->runs[k];
  double rate = run->apply_median > 0 ? run->info.apply_bytes / run->apply_median * 1e-9 : 0;
  snprintf(cell, CELL_ROOM, "%.*f", rate < 99.95 ? 1 : 0, rate);
}

static void read_cell(const wr_spmv_table *t, int k, char *cell) { wr_run_share(&t->runs[k], cell); }

static void memory_cell(const wr_spmv_table *t, int k, char *cell) {
  wr_text_bytes((double)t->runs[k].info.extra_bytes, cell);
}

static int is_wrong(const wr_run *run) { return run->ran && !wr_run_counts(run); }

/* "1.25x": faster or slower beyond doubt; "1.01x =": not. */
static void speed_cell(const wr_spmv_table *t, int k, char *cell) {
  const wr_run *base = wr_apply_base(t->runs, t->count), *run = &t->runs[k];
  wr_apply_standing standing = wr_apply_compare(run, base);
  snprintf(cell, CELL_ROOM, "%s", is_wrong(run) ? "WRONG" : "-");
  if (!standing.known) return;
  double ratio = standing.speed_up;
  snprintf(cell, CELL_ROOM, "%.*fx%s",
           ratio < 0.0995  ? 3
           : ratio < 9.995 ? 2
           : ratio < 99.95 ? 1
                           : 0,
           ratio,
           run == base                          ? "  "
           : standing.faster || standing.slower ? "  "
                                                : " =");
}

static void pays_cell(const wr_spmv_table *t, int k, char *cell) {
  char count[16];
  const wr_run *base = wr_apply_base(t->runs, t->count), *run = &t->runs[k];
  wr_apply_standing standing = wr_apply_compare(run, base);
  snprintf(cell, CELL_ROOM, "-");
  if (!standing.known || run == base || !(standing.faster || standing.slower)) return;
  if (standing.pays_at >= 0)
    snprintf(cell, CELL_ROOM, "%s", wr_text_count(standing.pays_at, count));
  else if (standing.ahead_until > 0)
    snprintf(cell, CELL_ROOM, "to %s", wr_text_count(standing.ahead_until, count));
  else
    snprintf(cell, CELL_ROOM, "never");
}

typedef struct apply_column {
  const char *title;
  void (*cell)(const wr_spmv_table *t, int k, char *cell); /* cell: [CELL_ROOM] */
} apply_column;

static const apply_column apply_columns[] = {
    {"prepare", prepare_cell}, {"first us", first_cell}, {"hot us", hot_cell}, {"+-", interval_cell},
    {"cold us", cold_cell},    {"bytes", bytes_cell},    {"GB/s", rate_cell},  {"read", read_cell},
    {"memory", memory_cell},   {"speed-up", speed_cell}, {"pays at", pays_cell},
};
enum { APPLY_COLUMNS = sizeof apply_columns / sizeof *apply_columns };

static int column_width(const wr_spmv_table *t, int c) {
  char cell[CELL_ROOM];
  size_t width = strlen(apply_columns[c].title);
  for (int k = 0; k < t->count; k++) {
    if (!t->runs[k].ran) continue;
    apply_columns[c].cell(t, k, cell);
    if (strlen(cell) > width) width = strlen(cell);
  }
  return (int)width;
}

static int label_width(const wr_spmv_table *t) {
  char label[LABEL_ROOM];
  size_t width = LEAST_LABEL;
  for (int k = 0; k < t->count; k++) {
    size_t length = strlen(wr_run_label(&t->runs[k], label, sizeof label));
    if (length > width) width = length;
  }
  return (int)width;
}

/* Columns that are shown, their widths, and what is left for labels. */
typedef struct layout {
  int width[APPLY_COLUMNS]; /* 0: not shown */
  int label, gap;
} layout;

/* GB/s is bytes / hot: where labels need the room, it goes. */
static layout lay_out(const wr_spmv_table *t) {
  layout l = {.label = label_width(t)};
  int used = 0, shown = 0;
  for (int c = 0; c < APPLY_COLUMNS; c++)
    if (t->cold || apply_columns[c].cell != cold_cell) used += l.width[c] = column_width(t, c), shown++;
  for (int c = 0; c < APPLY_COLUMNS; c++)
    if (apply_columns[c].cell == rate_cell && used + shown + l.label > WR_REPORT_WIDTH)
      used -= l.width[c], l.width[c] = 0, shown--;
  l.gap = used + 2 * shown + l.label <= WR_REPORT_WIDTH ? 2 : 1;
  int room = WR_REPORT_WIDTH - used - l.gap * shown;
  if (l.label > room) l.label = room > LEAST_LABEL ? room : LEAST_LABEL;
  return l;
}

/* k < 0: the headings. */
static void print_row(FILE *out, const wr_spmv_table *t, int k, const layout *l) {
  char label[LABEL_ROOM], text[LABEL_ROOM], cell[CELL_ROOM];
  wr_line line = {0};
  const char *name = k < 0 ? "backend" : wr_run_label(&t->runs[k], label, sizeof label);
  wr_line_add(&line, "%-*s", l->label, wr_text_fit(name, l->label, 0, text));
  for (int c = 0; c < APPLY_COLUMNS; c++) {
    if (l->width[c] == 0) continue;
    if (k >= 0) apply_columns[c].cell(t, k, cell);
    wr_line_add(&line, "%*s", l->gap + l->width[c], k < 0 ? apply_columns[c].title : cell);
  }
  while (line.length > 0 && line.text[line.length - 1] == ' ') line.text[--line.length] = '\0';
  fprintf(out, "%.*s\n", WR_REPORT_WIDTH, line.text);
}

static void print_absent(FILE *out, const wr_run *run, int label_room) {
  char label[LABEL_ROOM], text[LABEL_ROOM];
  wr_line line = {0};
  fprintf(out, "%-*s  ", label_room, wr_text_fit(wr_run_label(run, label, sizeof label), label_room, 0, text));
  wr_line_add(&line, "%s: %s", run->status == WR_EUNAVAILABLE ? "not available" : "broke off", run->reason);
  wr_line_print(out, &line, label_room + 2, label_room + 2);
}

static void print_wrong(FILE *out, const wr_spmv_table *t) {
  char label[LABEL_ROOM], worst[16];
  for (int k = 0; k < t->count; k++) {
    if (!is_wrong(&t->runs[k])) continue;
    wr_line line = {0};
    wr_line_add(&line, "WRONG: %s: its largest error is %s times the rounding bound of its row",
                wr_run_label(&t->runs[k], label, sizeof label), wr_text_bound(t->runs[k].verdict.worst_row, worst));
    wr_line_print(out, &line, 0, 2);
  }
}

/* "web in f64: ..., 3.00 M x 3.00 M, 49.6 M nonzeros", "rows: 0 to 7231 entries, 16.5 on average, ..." */
static void print_heading(FILE *out, const wr_spmv_table *t) {
  char least[16], most[16], mean[16], empty[16], bandwidth[16];
  wr_line problem = {0}, rows = {0};
  wr_line_add_problem(&problem, t->facts);
  wr_line_print(out, &problem, 0, 2);
  wr_line_add(&rows, "rows: %s to %s entries, %s on average, %s empty; bandwidth %s",
              wr_text_count(t->rows->least, least), wr_text_count(t->rows->most, most),
              wr_text_real(t->rows->mean, mean), t->rows->empty ? wr_text_count(t->rows->empty, empty) : "none",
              wr_text_count(t->rows->bandwidth, bandwidth));
  wr_line_print(out, &rows, 0, 2);
}

/* "least time: cusparse for 1 to 12 multiplies, merbit from 13 on" */
static void print_suggestion(FILE *out, const wr_spmv_table *t) {
  char label[LABEL_ROOM], from[16], to[16];
  wr_stretch stretches[WR_MAX_RUNS];
  wr_line line = {0};
  int found = wr_suggest(t->runs, t->count, stretches), able = 0;
  for (int k = 0; k < t->count; k++) able += wr_run_counts(&t->runs[k]);
  if (able < 2 || found == 0) return;
  wr_line_add(&line, "least time:");
  for (int k = 0; k < found; k++) {
    const char *name = wr_run_label(stretches[k].run, label, sizeof label);
    int64_t first = stretches[k].from, last = k + 1 < found ? stretches[k + 1].from - 1 : 0;
    wr_line_add(&line, "%s", k ? ", " : " ");
    if (found == 1)
      wr_line_add(&line, "%s for any number of multiplies", name);
    else if (k + 1 == found)
      wr_line_add(&line, "from %s on %s", wr_text_count(first, from), name);
    else if (first == last)
      wr_line_add(&line, "for %s multipl%s %s", wr_text_count(first, from), first == 1 ? "y" : "ies", name);
    else
      wr_line_add(&line, "for %s to %s multiplies %s", wr_text_count(first, from), wr_text_count(last, to), name);
  }
  wr_line_print(out, &line, 0, 2);
}

static void print_sectors(FILE *out, const wr_spmv_table *t) {
  char label[LABEL_ROOM], total[16], stream[16], x[16];
  wr_line line = {0};
  int found = 0;
  if (t->x_sectors < 0) return;
  for (int k = 0; k < t->count; k++) {
    const wr_run *run = &t->runs[k];
    if (!run->ran || !wr_sectors_apply(run->backend)) continue;
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
  wr_line_print(out, &line, 0, 2);
}

static void print_plans(FILE *out, const wr_spmv_table *t) {
  char label[LABEL_ROOM];
  for (int k = 0; k < t->count; k++) {
    if (!t->runs[k].ran || t->runs[k].info.line[0] == '\0') continue;
    wr_line line = {0};
    wr_line_add(&line, "%s: %s", wr_run_label(&t->runs[k], label, sizeof label), t->runs[k].info.line);
    wr_line_print(out, &line, 0, 2);
  }
}

void wr_spmv_table_print(FILE *out, const wr_spmv_table *t) {
  layout l = lay_out(t);
  print_heading(out, t);
  print_row(out, t, -1, &l);
  for (int k = 0; k < t->count; k++)
    if (t->runs[k].ran)
      print_row(out, t, k, &l);
    else
      print_absent(out, &t->runs[k], l.label);
  print_wrong(out, t);
  print_suggestion(out, t);
  print_sectors(out, t);
  wr_report_advice(out, t->runs, t->count);
  if (t->verbose) print_plans(out, t);
  fputc('\n', out);
  fflush(out);
}
