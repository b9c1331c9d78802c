/* The table of apply_bench: a row a backend, at most 100 columns.
 *
 *   gen:web in f64: generated pattern, 3000000 x 3000000, 49.6 M nonzeros; values made up
 *   backend         prepare first us hot us  +-  cold us GB/s read memory speed-up  pays at
 */
#ifndef WR_APPLY_TABLE_H
#define WR_APPLY_TABLE_H

#include <math.h>
#include <string.h>

#include "solvers/apply_time.h"
#include "solvers/report_text.h"

enum { CELL_ROOM = 24, LABEL_ROOM = 256, LEAST_LABEL = 9 };

typedef struct apply_table {
  const wr_problem_facts *facts;
  const wr_run *runs; /* [count] */
  const wr_apply_times *times;
  int count, cold; /* cold: show that column */
} apply_table;

static void microseconds(double seconds, char *cell) {
  double us = 1e6 * seconds;
  snprintf(cell, CELL_ROOM, "%.*f", us < 99.995 ? 2 : us < 9999.95 ? 1 : 0, us);
}

static void prepare_cell(const apply_table *t, int k, char *cell) { wr_text_seconds(t->runs[k].setup, cell); }
static void first_cell(const apply_table *t, int k, char *cell) { microseconds(t->runs[k].apply_first, cell); }
static void hot_cell(const apply_table *t, int k, char *cell) { microseconds(t->runs[k].apply_median, cell); }

/* The wider side of the median's interval. */
static void interval_cell(const apply_table *t, int k, char *cell) {
  const wr_sample *hot = &t->times[k].hot;
  double wider = fmax(hot->high - hot->median, hot->median - hot->low) / hot->median;
  snprintf(cell, CELL_ROOM, "-");
  if (hot->count >= WR_LEAST_SAMPLE && hot->median > 0) snprintf(cell, CELL_ROOM, "%.1f%%", 100 * wider);
}

static void cold_cell(const apply_table *t, int k, char *cell) {
  snprintf(cell, CELL_ROOM, "-");
  if (t->times[k].cold.count > 0) microseconds(t->times[k].cold.median, cell);
}

static void rate_cell(const apply_table *t, int k, char *cell) {
  const wr_run *run = &t->runs[k];
  double rate = run->apply_median > 0 ? run->info.apply_bytes / run->apply_median * 1e-9 : 0;
  snprintf(cell, CELL_ROOM, "%.*f", rate < 99.95 ? 1 : 0, rate);
}

static void read_cell(const apply_table *t, int k, char *cell) { wr_run_share(&t->runs[k], cell); }

static void memory_cell(const apply_table *t, int k, char *cell) {
  wr_text_bytes((double)t->runs[k].info.extra_bytes, cell);
}

static int is_wrong(const wr_run *run) { return run->ran && !wr_run_counts(run); }

/* "1.25x": faster or slower beyond doubt; "1.01x =": not. */
static void speed_cell(const apply_table *t, int k, char *cell) {
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

static void pays_cell(const apply_table *t, int k, char *cell) {
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
  void (*cell)(const apply_table *t, int k, char *cell); /* cell: [CELL_ROOM] */
} apply_column;

static const apply_column apply_columns[] = {
    {"prepare", prepare_cell}, {"first us", first_cell}, {"hot us", hot_cell}, {"+-", interval_cell},
    {"cold us", cold_cell},    {"GB/s", rate_cell},      {"read", read_cell},  {"memory", memory_cell},
    {"speed-up", speed_cell},  {"pays at", pays_cell},
};
enum { APPLY_COLUMNS = sizeof apply_columns / sizeof *apply_columns };

static int is_shown(const apply_table *t, int c) { return t->cold || apply_columns[c].cell != cold_cell; }

static int column_width(const apply_table *t, int c) {
  char cell[CELL_ROOM];
  size_t width = strlen(apply_columns[c].title);
  for (int k = 0; k < t->count; k++) {
    if (!t->runs[k].ran) continue;
    apply_columns[c].cell(t, k, cell);
    if (strlen(cell) > width) width = strlen(cell);
  }
  return (int)width;
}

static int label_width(const apply_table *t) {
  char label[LABEL_ROOM];
  size_t width = LEAST_LABEL;
  for (int k = 0; k < t->count; k++) {
    size_t length = strlen(wr_run_label(&t->runs[k], label, sizeof label));
    if (length > width) width = length;
  }
  return (int)width;
}

/* k < 0: the headings. */
static void print_row(FILE *out, const apply_table *t, int k, const int *widths, int label_room, int gap) {
  char label[LABEL_ROOM], text[LABEL_ROOM], cell[CELL_ROOM];
  wr_line line = {0};
  const char *name = k < 0 ? "backend" : wr_run_label(&t->runs[k], label, sizeof label);
  wr_line_add(&line, "%-*s", label_room, wr_text_fit(name, label_room, 0, text));
  for (int c = 0; c < APPLY_COLUMNS; c++) {
    if (!is_shown(t, c)) continue;
    if (k >= 0) apply_columns[c].cell(t, k, cell);
    wr_line_add(&line, "%*s", gap + widths[c], k < 0 ? apply_columns[c].title : cell);
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

static void print_notes(FILE *out, const apply_table *t) {
  char label[LABEL_ROOM], worst[16];
  for (int k = 0; k < t->count; k++) {
    if (!is_wrong(&t->runs[k])) continue;
    wr_line line = {0};
    wr_line_add(&line, "WRONG: %s: its largest error is %s times the rounding bound of its row",
                wr_run_label(&t->runs[k], label, sizeof label), wr_text_bound(t->runs[k].verdict.worst_row, worst));
    wr_line_print(out, &line, 0, 2);
  }
}

static void print_apply_table(FILE *out, const apply_table *t) {
  int widths[APPLY_COLUMNS], used = 0, shown = 0, wanted = label_width(t);
  for (int c = 0; c < APPLY_COLUMNS; c++)
    if (is_shown(t, c)) used += widths[c] = column_width(t, c), shown++;
  int gap = used + 2 * shown + wanted <= WR_REPORT_WIDTH ? 2 : 1, room = WR_REPORT_WIDTH - used - gap * shown;
  if (wanted > room) wanted = room > LEAST_LABEL ? room : LEAST_LABEL;
  wr_line line = {0};
  wr_line_add_problem(&line, t->facts);
  wr_line_print(out, &line, 0, 2);
  print_row(out, t, -1, widths, wanted, gap);
  for (int k = 0; k < t->count; k++)
    if (t->runs[k].ran)
      print_row(out, t, k, widths, wanted, gap);
    else
      print_absent(out, &t->runs[k], wanted);
  print_notes(out, t);
  fputc('\n', out);
  fflush(out);
}

#endif
