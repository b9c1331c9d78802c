#include "solvers/order.h"

#include <math.h>

#include "config/memory.h"
#include "solvers/top.h"

double wr_order_gap(double bound) { return bound < 0.5 ? bound / (1 - bound) * (1 + 0x1p-20) : INFINITY; }

wr_order wr_order_of(const double *x, const int64_t *best, int64_t n, int64_t ranks, double gap) {
  wr_order found = {.ranks = ranks < n ? ranks : n, .least = INFINITY};
  int64_t pairs = found.ranks < n ? found.ranks : n - 1;
  for (int64_t k = 0; k < pairs; k++) {
    double difference = x[best[k]] - x[best[k + 1]];
    if (!(difference >= found.least)) found.least = difference; /* NaN is the least */
    if (difference > gap && found.proven == k) found.proven++;
  }
  if (found.proven == n - 1) found.proven = n; /* none is behind the last one */
  if (found.proven > found.ranks) found.proven = found.ranks;
  return found;
}

wr_status wr_order_watch_open(wr_order_watch *w, int64_t n, int64_t ranks) {
  wr_status status;
  *w = (wr_order_watch){.n = n, .ranks = ranks < n ? ranks : n};
  TRY(wr_alloc(&w->scores, n, sizeof *w->scores, "ranks whose order is looked at"));
  TRY(wr_alloc(&w->best, w->ranks + 1, sizeof *w->best, "the best nodes"));
done:
  if (status != WR_OK) wr_order_watch_close(w);
  return status;
}

void wr_order_watch_close(wr_order_watch *w) {
  wr_free(w->scores);
  wr_free(w->best);
  *w = (wr_order_watch){0};
}

double wr_order_first_bound(const wr_order_watch *w) {
  double ranks = (double)w->ranks;
  return fmin(0.01, 1 / (ranks * (ranks + 1)));
}

int wr_order_review(wr_order_watch *w, double bound, double steps, double change, double *next) {
  if (w->reviews > 0 && steps > w->steps && change < w->change)
    w->rate = pow(change / w->change, 1 / (steps - w->steps));
  w->reviews++, w->steps = steps, w->change = change;
  wr_top(w->scores, w->n, w->ranks < w->n ? w->ranks + 1 : w->n, w->best);
  w->found =
      wr_order_of(w->scores, w->best, w->n, w->ranks, wr_order_gap(bound) * (1 + bound)); /* their sum <= 1 + bound */
  *next = fmin(0.9 * bound, fmax(bound / 32, 0.9 * w->found.least));
  return w->found.proven == w->ranks;
}

int64_t wr_order_spared(const wr_order_watch *w, double target, double rate) {
  double by = w->rate > 0 ? w->rate : rate;
  if (w->reviews == 0 || w->found.proven < w->ranks || !(w->change > target) || !(target > 0) || !(by > 0 && by < 1))
    return 0;
  return (int64_t)fmin(ceil(log(target / w->change) / log(by)), 1e15);
}
