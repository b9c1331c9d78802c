#include "solvers/report/figures.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "config/memory.h"
#include "solvers/report/chart.h"
#include "solvers/report/html.h"
#include "solvers/report/matrix_picture.h"
#include "solvers/report/report_text.h"
#include "spmv/parts/halo.h"

enum { TEXT_ROOM = 16, LABEL_ROOM = 256, MOST_POINTS = 4000, LEAST_POINTS = 60, LEVELS = 7 };

static void end_figure(FILE *file, const wr_line *caption) {
  fputs("<figcaption>", file);
  wr_html_sentence(file, caption->text);
  fputs("</figcaption>\n</figure>\n", file);
}

static void write_label(FILE *file, const wr_run *run) {
  char label[LABEL_ROOM];
  wr_html_text(file, wr_run_label(run, label, sizeof label));
}

/* The key of each run that is drawn, numbered as its curve is. */
static void write_legend(FILE *file, const wr_run *runs, int count, int (*is_drawn)(const wr_run *)) {
  char label[LABEL_ROOM];
  wr_legend_begin(file);
  for (int k = 0; k < count; k++)
    if (is_drawn(&runs[k])) wr_legend_add(file, k, wr_run_label(&runs[k], label, sizeof label));
  wr_legend_end(file);
}

static int most_points(int curves) { return MOST_POINTS / curves > LEAST_POINTS ? MOST_POINTS / curves : LEAST_POINTS; }

/* ---- convergence ---- */

/* The measure in the history at which a solve meets the tolerance; 0: not known. PageRank's bound on the error is a multiple of
 * the change of a step, and rounding. */
static double level_of(const wr_problem_facts *problem, const wr_run *run) {
  const wr_result *r = &run->result;
  if (problem->measure == WR_MEASURE_RESIDUAL) return r->by_backward ? 0 : problem->tolerance;
  if (r->by_change) return problem->tolerance;
  double factor = (r->bound - r->rounding) / r->change, level = (problem->tolerance - r->rounding) / factor;
  return factor > 0 && level > 0 && isfinite(level) ? level : 0;
}

static int has_history(const wr_run *run) { return run->ran && run->history != NULL && run->history->count > 0; }

typedef struct range {
  int curves, gaps;
  double least, most; /* of positive measures; most = 0: there is none */
  int64_t last;       /* iteration                                    */
} range;

static range find_range(const wr_run *runs, int count) {
  range r = {.least = INFINITY};
  for (int k = 0; k < count; k++) {
    if (!has_history(&runs[k])) continue;
    const wr_history *h = runs[k].history;
    for (int64_t m = 0; m < h->count; m++) {
      if (!isfinite(h->measure[m])) r.gaps = 1;
      if (!(h->measure[m] > 0) || !isfinite(h->measure[m])) continue;
      r.least = fmin(r.least, h->measure[m]);
      r.most = fmax(r.most, h->measure[m]);
    }
    if (h->iteration[h->count - 1] > r.last) r.last = h->iteration[h->count - 1];
    r.curves++;
  }
  return r;
}

static void describe_convergence(wr_line *line, const wr_problem_facts *problem, const wr_run *run, const range *r,
                                 double level) {
  char first[TEXT_ROOM], last[TEXT_ROOM], text[TEXT_ROOM];
  const wr_history *h = run->history;
  int is_change = problem->measure == WR_MEASURE_L1_ERROR;
  wr_line_add(line, "%s by iteration, from %s to %s at iteration %" PRId64 ", on a logarithmic scale.",
              is_change ? "L1 change of the scores" : "||b - A x|| / ||b||", wr_text_real(h->measure[0], first),
              wr_text_real(h->measure[h->count - 1], last), h->iteration[h->count - 1]);
  if (is_change && level > 0 && !run->result.by_change)
    wr_line_add(line, " The error bound is %s or less where the change is below the dashed line, %s.",
                wr_text_real(problem->tolerance, text), wr_text_real(level, first));
  else if (level > 0)
    wr_line_add(line, " The dashed line is the tolerance, %s.", wr_text_real(level, text));
  else
    wr_line_add(line, " The tolerance, %s, is compared with another measure than the one that is drawn.",
                wr_text_real(problem->tolerance, text));
  if (r->gaps) wr_line_add(line, " The curve is interrupted where it is not a finite number.");
  if (r->curves > 1)
    wr_line_add(line, " These numbers are of the first curve, which is the widest where curves lie on one another.");
  if (h->count > most_points(r->curves))
    wr_line_add(line, " Of %" PRId64 " checks the first, least, greatest and last of each of %d stretches are drawn.",
                h->count, most_points(r->curves) / 4);
}

void wr_figure_convergence(FILE *file, const wr_problem_facts *problem, const wr_run *runs, int count) {
  range r = find_range(runs, count);
  char text[TEXT_ROOM];
  int first = 0;
  if (r.curves == 0) return;
  while (!has_history(&runs[first])) first++;
  double level = level_of(problem, &runs[first]);
  if (r.most == 0) r.least = r.most = 1; /* a solve that began at its solution */
  const char *what = problem->measure == WR_MEASURE_L1_ERROR ? "change of a step, L1 norm" : "relative residual";
  const wr_chart chart = {.file = file,
                          .x = wr_axis_linear("iteration", (double)r.last),
                          .y = wr_axis_log(what, level > 0 ? fmin(r.least, level) : r.least, fmax(r.most, level)),
      .curves = count};
  fputs("<h2>Convergence</h2>\n<figure>\n", file);
  wr_line caption = {0}, tolerance = {0};
  describe_convergence(&caption, problem, &runs[first], &r, level);
  if (r.curves > 1) write_legend(file, runs, count, has_history);
  wr_chart_begin(&chart, caption.text);
  wr_line_add(&tolerance, "tolerance %s", wr_text_real(problem->tolerance, text));
  if (level > 0) wr_chart_level(&chart, level, tolerance.text);
  for (int k = 0; k < count; k++)
    if (has_history(&runs[k]))
      wr_chart_curve(&chart, runs[k].history->iteration, runs[k].history->measure, runs[k].history->count, k,
                     most_points(r.curves));
  wr_chart_end(&chart);
  end_figure(file, &caption);
}

/* ---- time by phase ---- */

/* Unverified answers have no time of verification. */
static double seconds_of(const wr_run *run, int phase) {
  if (phase == WR_PHASE_VERIFY && run->verdict.level == WR_VERIFY_OFF) return 0;
  return run->ledger.seconds[phase];
}

/* Of the phases up to the verified answer, or with verification off up to the answer. */
static double length_of(const wr_run *run) {
  int is_checked = run->verdict.level != WR_VERIFY_OFF;
  return is_checked ? wr_ledger_to_verified(&run->ledger) : wr_ledger_end_to_end(&run->ledger);
}

/* Names stand in segments that have at least 3.2% of the narrowest page a letter. */
static void write_bar(FILE *file, const wr_run *run, double longest) {
  char text[TEXT_ROOM];
  double at = 0;
  fputs("<svg class=\"bar\" role=\"img\"><title>Time by phase: ", file);
  write_label(file, run);
  fputs("</title>\n", file);
  for (int phase = 0; phase < WR_PHASE_COUNT; phase++) {
    double share = 100 * seconds_of(run, phase) / longest;
    const char *title = wr_phase_title((wr_phase)phase);
    if (!(share > 0) || phase == WR_PHASE_CALIBRATE) continue;
    fprintf(file, "<g><title>%s %s</title><rect class=\"p%d\" x=\"%.4g%%\" width=\"%.4g%%\" height=\"100%%\"/>", title,
            wr_text_seconds(seconds_of(run, phase), text), phase, at, share);
    if (share > 3.2 * (double)strlen(title))
      fprintf(file, "<text x=\"%.4g%%\" y=\"50%%\" dy=\"4\" text-anchor=\"middle\">%s</text>", at + share / 2, title);
    fputs("</g>\n", file);
    at += share;
  }
  fputs("</svg>\n", file);
}

static void write_cell(FILE *file, const char *title, double seconds, double hidden) {
  char text[TEXT_ROOM];
  fprintf(file, "<td data-label=\"%s\">%s", title, seconds > 0 ? wr_text_seconds(seconds, text) : "-");
  if (hidden > 0) fprintf(file, " (and %s hidden)", wr_text_seconds(hidden, text));
  fputs("</td>", file);
}

static void write_time_table(FILE *file, const wr_run *runs, int count) {
  int has_phase[WR_PHASE_COUNT] = {0}, has_warm = 0, has_verified = 0;
  for (int k = 0; k < count; k++) {
    if (!runs[k].ran) continue;
    for (int phase = 0; phase < WR_PHASE_COUNT; phase++)
      has_phase[phase] |= seconds_of(&runs[k], phase) > 0 || runs[k].ledger.hidden[phase] > 0;
    has_warm |= runs[k].warm > 0;
    has_verified |= runs[k].verdict.level != WR_VERIFY_OFF;
  }
  fputs("<table class=\"stacked\">\n<thead><tr><th scope=\"col\">backend</th>", file);
  for (int phase = 0; phase < WR_PHASE_COUNT; phase++)
    if (has_phase[phase])
      fprintf(file, "<th scope=\"col\"><span><i class=\"swatch p%d\"></i>%s</span></th>", phase,
              wr_phase_title((wr_phase)phase));
  fputs("<th scope=\"col\">end to end</th>", file);
  if (has_verified) fputs("<th scope=\"col\">to verified answer</th>", file);
  if (has_warm) fputs("<th scope=\"col\">second solve, warm</th>", file);
  fputs("</tr></thead>\n<tbody>\n", file);
  for (int k = 0; k < count; k++) {
    if (!runs[k].ran) continue;
    fputs("<tr><th scope=\"row\">", file);
    write_label(file, &runs[k]);
    fputs("</th>", file);
    for (int phase = 0; phase < WR_PHASE_COUNT; phase++)
      if (has_phase[phase])
        write_cell(file, wr_phase_title((wr_phase)phase), seconds_of(&runs[k], phase), runs[k].ledger.hidden[phase]);
    int is_checked = runs[k].verdict.level != WR_VERIFY_OFF;
    write_cell(file, "end to end", wr_ledger_end_to_end(&runs[k].ledger), 0);
    if (has_verified)
      write_cell(file, "to verified answer", is_checked ? wr_ledger_to_verified(&runs[k].ledger) : 0, 0);
    if (has_warm) write_cell(file, "second solve, warm", runs[k].warm, 0);
    fputs("</tr>\n", file);
  }
  fputs("</tbody>\n</table>\n", file);
}

void wr_figure_times(FILE *file, const wr_run *runs, int count) {
  double longest = 0;
  int bars = 0;
  char text[TEXT_ROOM];
  for (int k = 0; k < count; k++) {
    if (!runs[k].ran) continue;
    longest = fmax(longest, length_of(&runs[k]));
    bars++;
  }
  if (!(longest > 0)) return;
  fputs("<h2>Time by phase</h2>\n<figure>\n", file);
  for (int k = 0; k < count; k++) {
    if (!runs[k].ran) continue;
    fputs("<p class=\"bar-name\">", file);
    if (bars > 1) write_label(file, &runs[k]);
    fprintf(file, "%s%s", bars > 1 ? ": " : "", wr_text_seconds(length_of(&runs[k]), text));
    fprintf(file, " to the %sanswer</p>\n", runs[k].verdict.level != WR_VERIFY_OFF ? "verified " : "");
    write_bar(file, &runs[k], longest);
  }
  write_time_table(file, runs, count);
  wr_line caption = {0};
  wr_line_add(&caption,
              "Wall-clock time since the process began; phases follow one another in the order of the table. End to "
              "end is all of them without verify; calibrate is in no total and not drawn.");
  if (bars > 1) wr_line_add(&caption, " Bars have one scale; reading the matrix is in the time of each backend.");
  end_figure(file, &caption);
}

/* ---- break-even ---- */

static int is_comparable(const wr_run *run) {
  return wr_run_counts(run) && run->apply_median > 0 && isfinite(run->apply_median) && run->apply_first >= 0 &&
         isfinite(run->setup + run->apply_first);
}

static double seconds_a_multiply(const wr_run *run, int64_t multiplies) {
  double k = (double)multiplies;
  return (run->setup + run->apply_first + (k - 1) * run->apply_median) / k;
}

enum { DECADES = 9, STEPS = 8 }; /* of multiplies, and of each decade */

void wr_figure_break_even(FILE *file, const wr_run *runs, int count, int level) {
  int64_t x[DECADES * STEPS + 1];
  double y[DECADES * STEPS + 1], least = INFINITY, most = 0;
  int curves = 0, points = 0, decades = 4;
  for (int k = 0; k < count; k++) curves += is_comparable(&runs[k]);
  if (curves < 2) return;
  for (int k = 0; k < count; k++)
    for (int m = 0; m < count; m++) { /* so that each crossing is in the middle or left of it */
      if (k == m || !is_comparable(&runs[k]) || !is_comparable(&runs[m])) continue;
      double at = (double)wr_break_even(&runs[k], &runs[m]);
      while (decades < DECADES && at > 0 && at > pow(10, decades - 1)) decades++;
    }
  for (int k = 0; k <= decades * STEPS; k++) {
    int64_t next = (int64_t)(pow(10, (double)k / STEPS) + 0.5);
    if (points == 0 || next > x[points - 1]) x[points++] = next;
  }
  for (int k = 0; k < count; k++) {
    if (!is_comparable(&runs[k])) continue;
    double once = 1e3 * seconds_a_multiply(&runs[k], 1), often = 1e3 * seconds_a_multiply(&runs[k], x[points - 1]);
    least = fmin(least, fmin(once, often)); /* a first multiply may be the fastest, by chance */
    most = fmax(most, fmax(once, often));
  }
  if (!(least > 0) || !(most > 0)) return;
  const wr_chart chart = {.file = file,
                          .x = wr_axis_log("multiplies", 1, (double)x[points - 1]),
                          .y = wr_axis_log("ms a multiply, preparation included", least, most)};
  wr_line caption = {0};
  wr_line_add(&caption,
              "(preparation + multiplies) / number of multiplies, in milliseconds, on logarithmic scales. Where two "
              "curves cross, the longer preparation has paid.");
  fprintf(file, "<h%d>Break-even</h%d>\n<figure>\n", level, level);
  write_legend(file, runs, count, is_comparable);
  wr_chart_begin(&chart, caption.text);
  for (int k = 0; k < count; k++) {
    if (!is_comparable(&runs[k])) continue;
    for (int m = 0; m < points; m++) y[m] = 1e3 * seconds_a_multiply(&runs[k], x[m]);
    wr_chart_curve(&chart, x, y, points, k, most_points(curves));
  }
  wr_chart_end(&chart);
  end_figure(file, &caption);
}

/* ---- the matrix ---- */

/* 1 to LEVELS on a logarithmic scale from the least to the greatest count; 0: an empty cell. */
static int level_of_cell(const wr_matrix_picture *p, int64_t count) {
  if (count == 0) return 0;
  if (p->most == p->least) return LEVELS;
  double share = log((double)count / (double)p->least) / log((double)p->most / (double)p->least);
  return 1 + (int)fmin(LEVELS * share, LEVELS - 1);
}

/* The cells of a level as one path of horizontal strips. */
static void write_cells(FILE *file, const wr_matrix_picture *p, int level) {
  int at_row = 0, at_col = 0, begun = 0;
  for (int g = 0; g < p->rows; g++)
    for (int h = 0, end; h < p->cols; h = end) {
      end = h + 1;
      if (level_of_cell(p, p->cell[g][h]) != level) continue;
      while (end < p->cols && level_of_cell(p, p->cell[g][end]) == level) end++;
      if (!begun) fprintf(file, "<path class=\"l%d\" d=\"", level);
      begun = 1;
      fprintf(file, "m%d %dh%dv1h%dz", h - at_col, g - at_row, end - h, h - end);
      at_row = g, at_col = h; /* z goes back to the beginning of the strip */
    }
  if (begun) fputs("\"/>\n", file);
}

static void write_spy(FILE *file, const wr_matrix_picture *p) {
  char least[TEXT_ROOM], most[TEXT_ROOM], high[TEXT_ROOM], wide[TEXT_ROOM];
  wr_line caption = {0};
  int cells = p->rows * p->cols, is_coarse = p->rows < p->nrows || p->cols < p->ncols;
  if (is_coarse) {
    wr_line_add(&caption,
                "Where the nonzeros are: %d x %d cells, each of %s x %s elements or one less each way, with %s to %s "
                "nonzeros",
                p->rows, p->cols, wr_text_count((p->nrows + p->rows - 1) / p->rows, high),
                wr_text_count((p->ncols + p->cols - 1) / p->cols, wide), wr_text_count(p->least, least),
                wr_text_count(p->most, most));
    if (p->most > p->least) wr_line_add(&caption, ", stronger where there are more, on a logarithmic scale");
    wr_line_add(&caption, "; %.3g%% of the cells are empty. Row 1 is at the top.", 100.0 * (cells - p->filled) / cells);
  } else {
    wr_line_add(&caption, "Where the nonzeros are: a cell is an element. Row 1 is at the top.");
  }
  fputs("<figure>\n", file);
  fprintf(file, "<svg class=\"spy\" role=\"img\" viewBox=\"-0.5 -0.5 %d %d\" shape-rendering=\"crispEdges\"><title>",
          p->cols + 1, p->rows + 1);
  wr_html_text(file, caption.text);
  fprintf(file, "</title>\n<rect class=\"frame\" width=\"%d\" height=\"%d\" vector-effect=\"non-scaling-stroke\"/>\n",
          p->cols, p->rows);
  for (int level = 1; level <= LEVELS; level++) write_cells(file, p, level);
  fputs("</svg>\n", file);
  end_figure(file, &caption);
}

static void write_lengths(FILE *file, const wr_matrix_picture *p) {
  int64_t most = 1;
  for (int k = 0; k < p->bars; k++) most = p->count[k] > most ? p->count[k] : most;
  fputs("<figure>\n<table class=\"lengths\">\n<thead><tr><th scope=\"col\">nonzeros in a row</th>"
        "<th scope=\"col\">rows</th><th scope=\"col\">share</th></tr></thead>\n<tbody>\n",
        file);
  for (int k = 0; k < p->bars; k++) {
    fprintf(file, "<tr><th scope=\"row\">%" PRId64, p->from[k]);
    if (p->to[k] > p->from[k]) fprintf(file, " to %" PRId64, p->to[k]);
    fprintf(file,
            "</th><td>%" PRId64
            "</td><td class=\"wide\"><svg class=\"length\" role=\"img\"><title>%.3g%% of the rows</title>"
            "<rect width=\"%.4g%%\" height=\"100%%\"/></svg></td></tr>\n",
            p->count[k], 100 * (double)p->count[k] / (double)p->nrows, 100 * (double)p->count[k] / (double)most);
  }
  fputs("</tbody>\n</table>\n", file);
  wr_line caption = {0};
  wr_line_add(&caption, "Rows by their number of nonzeros.");
  end_figure(file, &caption);
}

wr_status wr_figure_matrix(FILE *file, const wr_csr *A, int level) {
  wr_status status;
  wr_matrix_picture *p = NULL;
  TRY(wr_comm_agree(wr_csr_comm(A), wr_alloc(&p, 1, sizeof *p, "the picture of the matrix")));
  TRY(wr_matrix_picture_draw(A, p));
  if (file == NULL) goto done;
  fprintf(file, "<h%d>Matrix</h%d>\n", level, level);
  if (p->rows == 0) fputs("<p>There is no row to draw.</p>\n", file);
  if (p->rows > 0 && p->filled == 0) fputs("<p>The matrix has no nonzeros.</p>\n", file);
  if (p->filled > 0) write_spy(file, p);
  if (p->rows > 0) write_lengths(file, p);
done:
  wr_free(p);
  return status;
}
