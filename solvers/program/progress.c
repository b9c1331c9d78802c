#define _DEFAULT_SOURCE /* fileno */
#include "solvers/program/progress.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "config/clock.h"
#include "solvers/report/report_text.h"

static const double interval = 0.1; /* seconds between two drawings */

void wr_progress_begin(wr_progress *progress, FILE *out) {
  double now = wr_clock();
  wr_progress_mark begin = {.time = now};
  *progress = (wr_progress){.out = out, .shown = isatty(fileno(out)), .drawn_at = now, .begin = begin};
}

void wr_progress_keep(wr_progress_mark *from, wr_progress_mark *last, wr_progress_mark now) {
  if (last->iteration == 0) *from = *last = now;
  if (now.iteration < 2 * last->iteration) return;
  *from = *last;
  *last = now;
}

double wr_progress_left(const wr_progress_mark *from, const wr_progress_mark *now, double target) {
  double fallen = log(from->measure / now->measure), to_fall = log(now->measure / target);
  if (!(fallen > 0) || !isfinite(fallen) || !isfinite(to_fall)) return -1;
  return fmax(to_fall, 0) * (now->time - from->time) / fallen;
}

static void left_text(double seconds, char *text, size_t size) {
  if (seconds < 0 || !(seconds < 100 * 3600.0))
    text[0] = '\0';
  else if (seconds < 90)
    snprintf(text, size, "   about %.0f s left", ceil(seconds));
  else if (seconds < 90 * 60)
    snprintf(text, size, "   about %.0f min left", seconds / 60);
  else
    snprintf(text, size, "   about %.0f h left", seconds / 3600);
}

int wr_progress_line(wr_progress *progress, double now, int64_t iteration, double measure, double target, char *text) {
  wr_progress_mark mark = {.time = now, .iteration = iteration, .measure = measure};
  char at[16], to[16], left[32], speed[16];
  wr_progress_keep(&progress->from, &progress->last, mark);
  if (now - progress->drawn_at < interval) return 0;
  progress->drawn_at = now;
  double rate = (double)(iteration - progress->begin.iteration) / (now - progress->begin.time);
  left_text(wr_progress_left(&progress->from, &mark, target), left, sizeof left);
  snprintf(text, WR_PROGRESS_WIDTH + 1, "iteration %" PRId64 "   %s -> %s   %s it/s%s", iteration,
           wr_text_real(measure, at), wr_text_real(target, to),
           rate < 10 || rate > 1e12 ? wr_text_real(rate, speed) : wr_text_count((int64_t)rate, speed), left);
  return 1;
}

int wr_progress_stage_line(wr_progress *progress, double now, const char *what, double share, char *text) {
  char done[16] = "";
  if (progress->what == NULL || strcmp(what, progress->what) != 0) progress->what = what, progress->since = now;
  if (now - progress->drawn_at < interval) return 0;
  progress->drawn_at = now;
  if (share >= 0 && share <= 1) snprintf(done, sizeof done, "   %.0f%%", floor(100 * share));
  snprintf(text, WR_PROGRESS_WIDTH + 1, "%.48s%s   %.1f s", what, done, now - progress->since);
  return 1;
}

static void draw(wr_progress *progress, const char *text) {
  int before = progress->drawn;
  progress->drawn = fprintf(progress->out, "\r%s", text) - 1;
  if (progress->drawn < before) fprintf(progress->out, "%*s", before - progress->drawn, "");
  fflush(progress->out);
}

void wr_progress_prepare(void *context, const char *what, double share) {
  wr_progress *progress = context;
  char text[WR_PROGRESS_WIDTH + 1];
  if (progress->shown && wr_progress_stage_line(progress, wr_clock(), what, share, text)) draw(progress, text);
}

void wr_progress_show(void *context, int64_t iteration, double measure, double target) {
  wr_progress *progress = context;
  char text[WR_PROGRESS_WIDTH + 1];
  if (progress->shown && wr_progress_line(progress, wr_clock(), iteration, measure, target, text)) draw(progress, text);
}

void wr_progress_end(wr_progress *progress) {
  if (progress->drawn > 0) {
    fprintf(progress->out, "\r%*s\r", progress->drawn, "");
    fflush(progress->out);
  }
  progress->drawn = 0;
}
