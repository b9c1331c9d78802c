#include "solvers/report/report_columns.h"

#include <limits.h>
#include <string.h>

#include "config/text.h"
#include "solvers/report/html.h"
#include "solvers/report/report_text.h"

/* LABEL: labels up to this width stand beside all columns that are shown; longer ones where there is room. */
enum { GAP = 2, LABEL = 20, LEAST_LABEL = 9, LABEL_ROOM = 256 };

typedef struct layout {
  int width[WR_MOST_COLUMNS]; /* 0: not measured; below 0: no room to show it          */
  int label;                  /* of the labels' column                                 */
  int needed;                 /* columns of the stream, to show all those of the table */
  int left_out;               /* columns for which there is no room                    */
} layout;

void wr_cell_prepare(const wr_columns *c, int k, char *text) { wr_text_seconds(c->runs[k].setup, text); }

void wr_cell_memory(const wr_columns *c, int k, char *text) { wr_text_bytes((double)wr_run_memory(&c->runs[k]), text); }

void wr_cell_read(const wr_columns *c, int k, char *text) {
  text[0] = '\0';
  if (c->runs[k].read_bandwidth > 0) wr_run_share(&c->runs[k], text);
}

/* 0 where it was not measured for any run. */
static int column_width(const wr_columns *c, const wr_column *column) {
  char text[WR_CELL_ROOM];
  size_t width = strlen(column->title);
  int filled = 0;
  for (int k = 0; k < c->count; k++) {
    if (!c->runs[k].ran) continue;
    column->cell(c, k, text);
    filled |= text[0] != '\0';
    if (strlen(text) > width) width = strlen(text);
  }
  return filled ? (int)width : 0;
}

/* The widest label that is no wider than `most`. */
static int label_width(const wr_columns *c, int most) {
  char label[LABEL_ROOM];
  int widest = LEAST_LABEL;
  for (int k = 0; k < c->count; k++) {
    if (!c->runs[k].ran) continue;
    int width = (int)strlen(wr_run_label(&c->runs[k], label, sizeof label));
    if (width <= most && width > widest) widest = width;
  }
  return widest;
}

static int worth_least(const wr_column *columns, int count, const layout *l) {
  int least = -1;
  for (int k = 0; k < count; k++)
    if (l->width[k] > 0 && (least < 0 || columns[k].worth < columns[least].worth)) least = k;
  return least;
}

static layout lay_out(const wr_columns *c, const wr_column *columns, int count, int width) {
  layout l = {.label = label_width(c, LABEL)};
  int used = 0;
  for (int k = 0; k < count; k++) {
    l.width[k] = column_width(c, &columns[k]);
    used += l.width[k] > 0 ? GAP + l.width[k] : 0;
  }
  l.needed = l.label + used;
  for (int k; l.label + used > width && (k = worth_least(columns, count, &l)) >= 0; l.left_out++) {
    used -= GAP + l.width[k];
    l.width[k] = -l.width[k];
  }
  l.label = label_width(c, width - used);
  return l;
}

static void print_row(FILE *out, const wr_columns *c, int k, const wr_column *columns, int count, const layout *l) {
  char label[LABEL_ROOM] = "backend", cell[WR_CELL_ROOM];
  wr_line line = {0};
  if (k >= 0) wr_run_label(&c->runs[k], label, sizeof label);
  if ((int)strlen(label) > l->label) {
    wr_text_wrap(out, label, 0, 2);
    label[0] = '\0';
  }
  wr_line_add(&line, "%-*s", l->label, wr_text_fit(label, l->label, 0, (char[LABEL_ROOM]){0}));
  for (int m = 0; m < count; m++) {
    if (l->width[m] <= 0) continue;
    if (k >= 0) columns[m].cell(c, k, cell);
    wr_line_add(&line, "%*s", GAP + l->width[m], k < 0 ? columns[m].title : cell[0] != '\0' ? cell : "-");
  }
  while (line.length > 0 && line.text[line.length - 1] == ' ') line.text[--line.length] = '\0';
  fprintf(out, "%s\n", line.text);
}

/* "not shown in 80 columns: memory, read; 93 columns show all" */
static void print_left_out(FILE *out, const wr_column *columns, int count, const layout *l) {
  wr_line line = {0};
  wr_line_add(&line, "not shown in %d columns:", wr_text_width(out));
  int said = 0;
  for (int k = 0; k < count; k++)
    if (l->width[k] < 0) wr_line_add(&line, "%s %s", said++ ? "," : "", columns[k].title);
  wr_line_add(&line, "; a terminal of %d columns shows all, as does COLUMNS=%d without one", l->needed, l->needed);
  wr_line_print(out, &line, 0, 2);
}

/* Prints the runs without a result: those that are not available, or those that broke off. */
static void print_absent(FILE *out, const wr_columns *c, int broke_off) {
  static const char *const begin[] = {"not available: ", "broke off: "};
  char labels[WR_MAX_RUNS][LABEL_ROOM];
  const char *names[WR_MAX_RUNS], *reasons[WR_MAX_RUNS];
  int count = 0;
  for (int k = 0; k < c->count && count < WR_MAX_RUNS; k++) {
    const wr_run *run = &c->runs[k];
    if (run->ran || (run->error.status != WR_EUNAVAILABLE) != broke_off) continue;
    names[count] = wr_run_label(run, labels[count], LABEL_ROOM);
    reasons[count++] = run->error.text;
  }
  wr_text_reasons(out, begin[broke_off], names, reasons, count);
}

/* A row that says why there is no result goes across all columns. */
static void write_html_row(FILE *out, const wr_columns *c, int k, const wr_column *columns, int count, const int *shown,
                           int width) {
  char label[LABEL_ROOM], cell[WR_CELL_ROOM];
  const wr_run *run = &c->runs[k];
  fputs("<tr><th scope=\"row\">", out);
  wr_html_text(out, wr_run_label(run, label, sizeof label));
  fputs("</th>", out);
  if (!run->ran) {
    fprintf(out, "<td class=\"reason\" colspan=\"%d\">", width);
    wr_html_print(out, "%s: %s", run->error.status == WR_EUNAVAILABLE ? "not available" : "broke off", run->error.text);
    fputs("</td>", out);
  }
  for (int m = 0; m < count && run->ran; m++) {
    if (!shown[m]) continue;
    columns[m].cell(c, k, cell);
    fprintf(out, "<td data-label=\"%s\">", columns[m].title);
    wr_html_text(out, cell[0] ? cell : "-");
    fputs("</td>", out);
  }
  fputs("</tr>\n", out);
}

static void write_html(FILE *out, const wr_columns *c, const wr_column *columns, int count) {
  int shown[WR_MOST_COLUMNS], width = 0;
  for (int m = 0; m < count; m++) width += shown[m] = column_width(c, &columns[m]) > 0;
  fputs("<table class=\"stacked\">\n<thead><tr><th scope=\"col\">backend</th>", out);
  for (int m = 0; m < count; m++)
    if (shown[m]) fprintf(out, "<th scope=\"col\">%s</th>", columns[m].title);
  if (width == 0) fprintf(out, "<th scope=\"col\">result</th>");
  fputs("</tr></thead>\n<tbody>\n", out);
  for (int k = 0; k < c->count; k++) write_html_row(out, c, k, columns, count, shown, width ? width : 1);
  fputs("</tbody>\n</table>\n", out);
}

void wr_columns_print(wr_writer *writer, const wr_column *columns, int count, const wr_columns *c) {
  FILE *out = writer->file;
  if (writer->is_html) {
    wr_writer_end(writer);
    write_html(out, c, columns, count);
    return;
  }
  layout l = lay_out(c, columns, count, wr_text_width(out));
  int ran = 0;
  for (int k = 0; k < c->count; k++) ran += c->runs[k].ran;
  if (ran > 0) print_row(out, c, -1, columns, count, &l);
  for (int k = 0; k < c->count; k++)
    if (c->runs[k].ran) print_row(out, c, k, columns, count, &l);
  for (int broke_off = 0; broke_off < 2; broke_off++) print_absent(out, c, broke_off);
  if (l.left_out > 0) print_left_out(out, columns, count, &l);
}

void wr_columns_explain(wr_writer *out, const wr_column *columns, int count, const wr_columns *c) {
  layout l = lay_out(c, columns, count, out->is_html ? INT_MAX : wr_text_width(out->file));
  wr_line line = {0};
  for (int k = 0; k < count; k++)
    if (l.width[k] > 0 && columns[k].note)
      wr_line_add(&line, "%s%s: %s", line.length ? "; " : "", columns[k].title, columns[k].note);
  if (line.length) wr_writer_paragraph(out, &line);
}
