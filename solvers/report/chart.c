#include "solvers/report/chart.h"

#include <math.h>

#include "solvers/report/html.h"
#include "solvers/report/report_text.h"

enum { TICKS = 6, UNITS = 10000, COLOURS = 8, DASHES = 4, WIDTHS = 4, TEXT_ROOM = 16 };

wr_axis wr_axis_linear(const char *title, double most) { return (wr_axis){.title = title, .to = most > 0 ? most : 1}; }

wr_axis wr_axis_log(const char *title, double least, double most) {
  wr_axis axis = {.title = title, .is_log = 1, .from = floor(log10(least) + 1e-9), .to = ceil(log10(most) - 1e-9)};
  if (axis.to <= axis.from) axis.to = axis.from + 1;
  return axis;
}

/* 0 to 1 along the axis. */
static double place(const wr_axis *axis, double value) {
  double at = axis->is_log ? (value > 0 ? log10(value) : axis->from) : value;
  return fmin(fmax((at - axis->from) / (axis->to - axis->from), 0), 1);
}

/* The distance of ticks: 1, 2 or 5 times a power of ten, of decades a whole number. */
static double tick_step(const wr_axis *axis) {
  double least = (axis->to - axis->from) / TICKS, power = pow(10, floor(log10(least)));
  double step = least <= power ? power : least <= 2 * power ? 2 * power : least <= 5 * power ? 5 * power : 10 * power;
  return step < 1 ? 1 : step;
}

static void tick_text(const wr_axis *axis, double at, char *text) {
  if (!axis->is_log)
    wr_text_count((int64_t)at, text);
  else if (at >= 0 && at < 4)
    snprintf(text, TEXT_ROOM, "%.0f", pow(10, at));
  else
    snprintf(text, TEXT_ROOM, "1e%.0f", at);
}

static void write_ticks(const wr_chart *c, const wr_axis *axis, int is_y) {
  char text[TEXT_ROOM];
  double step = tick_step(axis);
  for (double at = ceil(axis->from / step) * step; at <= axis->to + 1e-9 * step; at += step) {
    double share = 100 * (at - axis->from) / (axis->to - axis->from);
    tick_text(axis, at, text);
    if (is_y)
      fprintf(c->file,
              "<line class=\"grid\" x1=\"0\" x2=\"100%%\" y1=\"%.4g%%\" y2=\"%.4g%%\"/>"
              "<text class=\"tick\" x=\"-6\" y=\"%.4g%%\" dy=\"4\" text-anchor=\"end\">%s</text>\n",
              100 - share, 100 - share, 100 - share, text);
    else
      fprintf(c->file,
              "<line class=\"grid\" x1=\"%.4g%%\" x2=\"%.4g%%\" y1=\"100%%\" y2=\"0\"/>"
              "<text class=\"tick\" x=\"%.4g%%\" y=\"100%%\" dy=\"18\" text-anchor=\"middle\">%s</text>\n",
              share, share, share, text);
  }
}

void wr_chart_begin(const wr_chart *c, const char *title) {
  fputs("<div class=\"plot\"><svg class=\"chart\" role=\"img\"><title>", c->file);
  wr_html_text(c->file, title);
  fputs("</title>\n", c->file);
  write_ticks(c, &c->x, 0);
  write_ticks(c, &c->y, 1);
  fputs("<text class=\"axis\" x=\"-44\" y=\"-12\">", c->file);
  wr_html_text(c->file, c->y.title);
  fputs("</text><text class=\"axis\" x=\"100%\" y=\"100%\" dy=\"38\" text-anchor=\"end\">", c->file);
  wr_html_text(c->file, c->x.title);
  fputs("</text>\n", c->file);
}

/* A pen that writes a path of whole units, relative to where it is. */
typedef struct pen {
  FILE *file;
  int is_down, x, y;
} pen;

static void draw_to(pen *p, const wr_chart *c, double x, double y) {
  if (!isfinite(y) || !isfinite(x)) {
    p->is_down = 0;
    return;
  }
  int to_x = (int)(UNITS * place(&c->x, x) + 0.5), to_y = (int)(UNITS * (1 - place(&c->y, y)) + 0.5);
  if (p->is_down)
    fprintf(p->file, "l%d %d", to_x - p->x, to_y - p->y);
  else
    fprintf(p->file, "M%d %dh0", to_x, to_y); /* a point alone is a dot by its round cap */
  p->is_down = 1, p->x = to_x, p->y = to_y;
}

/* The first, least, greatest and last of points from..to-1, in their order; a gap if one of them is not finite. */
static void draw_stretch(pen *p, const wr_chart *c, const int64_t *x, const double *y, int64_t from, int64_t to) {
  int64_t least = from, most = from, gap = -1;
  for (int64_t k = from; k < to; k++) {
    if (!isfinite(y[k])) gap = k;
    if (y[k] < y[least] || !isfinite(y[least])) least = k;
    if (y[k] > y[most] || !isfinite(y[most])) most = k;
  }
  int64_t keep[5] = {from, least < most ? least : most, least < most ? most : least, to - 1, gap};
  for (int k = 0; k < 5; k++)
    if (keep[k] >= 0 && (k == 0 || k == 4 || keep[k] > keep[k - 1])) draw_to(p, c, (double)x[keep[k]], y[keep[k]]);
}

/* 0: thin, to WIDTHS - 1. */
static int width_of(const wr_chart *c, int number) {
  int above = c->curves - 1 - number;
  return above < 0 ? 0 : above < WIDTHS ? above : WIDTHS - 1;
}

void wr_chart_curve(const wr_chart *c, const int64_t *x, const double *y, int64_t count, int number, int most) {
  pen p = {.file = c->file};
  fprintf(c->file,
          "<svg viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\" width=\"100%%\" height=\"100%%\">"
          "<path class=\"curve c%d d%d w%d\" vector-effect=\"non-scaling-stroke\" d=\"",
          UNITS, UNITS, number % COLOURS, number / COLOURS % DASHES, count == 1 ? 2 : width_of(c, number));
  int64_t stretches = most / 4;
  for (int64_t k = 0; count <= most && k < count; k++) draw_to(&p, c, (double)x[k], y[k]);
  for (int64_t k = 0; count > most && k < stretches; k++)
    draw_stretch(&p, c, x, y, k * count / stretches, (k + 1) * count / stretches);
  fputs("\"/></svg>\n", c->file);
}

void wr_chart_level(const wr_chart *c, double y, const char *text) {
  double at = 100 * (1 - place(&c->y, y));
  fprintf(c->file,
          "<line class=\"level\" x1=\"0\" x2=\"100%%\" y1=\"%.4g%%\" y2=\"%.4g%%\"/>"
          "<text class=\"level-text\" x=\"4\" y=\"%.4g%%\" dy=\"%d\">",
          at, at, at, at > 90 ? -5 : 15);
  wr_html_text(c->file, text);
  fputs("</text>\n", c->file);
}

void wr_chart_end(const wr_chart *c) { fputs("</svg></div>\n", c->file); }

void wr_legend_begin(FILE *file) { fputs("<ul class=\"legend\">\n", file); }

void wr_legend_add(FILE *file, int number, const char *label) {
  fprintf(file,
          "<li><svg class=\"key\" width=\"34\" height=\"10\" aria-hidden=\"true\">"
          "<path class=\"curve c%d d%d\" d=\"M2 5h30\"/></svg> ",
          number % COLOURS, number / COLOURS % DASHES);
  wr_html_text(file, label);
  fputs("</li>\n", file);
}

void wr_legend_end(FILE *file) { fputs("</ul>\n", file); }
