#include "solvers/report/sparkline.h"

#include <math.h>
#include <string.h>

enum { HEIGHTS = 8 };

/* log10 of the largest measure of a stretch: -inf if all are 0, NaN if one is not finite. */
static double largest(const double *measure, int64_t from, int64_t to) {
  double most = 0;
  for (int64_t k = from; k < to; k++) {
    if (!isfinite(measure[k])) return NAN;
    most = fmax(most, fabs(measure[k]));
  }
  return log10(most);
}

char *wr_sparkline(const wr_history *history, int has_blocks, char text[WR_SPARKLINE_ROOM]) {
  static const char *const blocks[HEIGHTS] = {"\u2581", "\u2582", "\u2583", "\u2584",
                                              "\u2585", "\u2586", "\u2587", "\u2588"};
  static const char *const signs[HEIGHTS] = {".", ":", "-", "=", "+", "*", "#", "@"};
  double heights[WR_SPARKLINE_WIDTH], least = INFINITY, most = -INFINITY;
  int64_t count = history->count, width = count < WR_SPARKLINE_WIDTH ? count : WR_SPARKLINE_WIDTH;
  for (int64_t k = 0; k < width; k++) {
    heights[k] = largest(history->measure, k * count / width, (k + 1) * count / width);
    if (!isfinite(heights[k])) continue;
    least = fmin(least, heights[k]);
    most = fmax(most, heights[k]);
  }
  char *end = text;
  for (int64_t k = 0; k < width; k++) {
    double share = most > least ? (heights[k] - least) / (most - least) : 0.5;
    int height = isfinite(heights[k]) ? (int)fmin(HEIGHTS * share, HEIGHTS - 1) : 0;
    const char *sign = isnan(heights[k]) ? "?" : has_blocks ? blocks[height] : signs[height];
    size_t bytes = strlen(sign);
    memcpy(end, sign, bytes);
    end += bytes;
  }
  *end = '\0';
  return text;
}
