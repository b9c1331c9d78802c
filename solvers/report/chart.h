/* Charts of curves as SVG in a page: axes, curves, a level. Places are in percent of the plot's width and height, and text has
 * the page's size, so that a chart fits a telephone as it fits paper. */
#ifndef WR_CHART_H
#define WR_CHART_H

#include <stdint.h>
#include <stdio.h>

typedef struct wr_axis {
  const char *title;
  int is_log;
  double from, to; /* log: the exponents of 10, whole numbers */
} wr_axis;

/* From 0 to most; whole decades that have both; both positive and finite. */
wr_axis wr_axis_linear(const char *title, double most);
wr_axis wr_axis_log(const char *title, double least, double most);

typedef struct wr_chart {
  FILE *file;
  wr_axis x, y;
  int curves; /* that may lie on one another: the first of so many is the widest, so that each is seen; 0: all are thin */
} wr_chart;

/* title is what the chart shows, for readers that do not see it. */
void wr_chart_begin(const wr_chart *chart, const char *title);

/* Curve number `number`, from 0, which chooses colour and dashes. Of more than `most` points the first, least, greatest and
 * last one are drawn of each of most / 4 stretches of equally many points, so that no peak is lost. A zero on a logarithmic
 * axis is drawn at its end; a y that is not finite interrupts the curve. */
void wr_chart_curve(const wr_chart *chart, const int64_t *x, const double *y, int64_t count, int number, int most);

void wr_chart_level(const wr_chart *chart, double y, const char *text); /* a dashed line across the chart */
void wr_chart_end(const wr_chart *chart);

/* The list that tells curves apart. */
void wr_legend_begin(FILE *file);
void wr_legend_add(FILE *file, int number, const char *label);
void wr_legend_end(FILE *file);

#endif
