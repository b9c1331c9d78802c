#include "solvers/order.h"

#include <math.h>

#include "config/memory.h"
#include "solvers/top.h"

double wr_order_gap(double bound) { return bound < 0.5 ? bound / (1 - bound) * (1 + 0x1p-20) : INFINITY; }

/* ---- Ties ---- */

/* The place of a column in a row, or -1. Columns of a row ascend. */
static int64_t find_column(const wr_csr *m, int64_t i, int64_t column) {
  int64_t low = m->row_ptr[i], high = m->row_ptr[i + 1];
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (m->col[middle] < column)
      low = middle + 1;
    else
      high = middle;
  }
  return low < m->row_ptr[i + 1] && m->col[low] == column ? low : -1;
}

static int same_rows(const wr_csr *m, int64_t i, int64_t j) {
  int64_t a = m->row_ptr[i], b = m->row_ptr[j], length = m->row_ptr[i + 1] - a;
  if (m->row_ptr[j + 1] - b != length) return 0;
  for (int64_t k = 0; k < length; k++)
    if (m->col[a + k] != m->col[b + k] || (m->val && m->val[a + k] != m->val[b + k])) return 0;
  return 1;
}

/* Unties a pair of nodes unless row i has an entry for `other`, one of them, that is like its entry k for the other one. */
static void compare_entries(const wr_csr *m, int64_t i, int64_t k, int64_t other, unsigned char *tied) {
  unsigned char is_tied;
#pragma omp atomic read
  is_tied = *tied;
  if (!is_tied) return;
  int64_t found = find_column(m, i, other);
  if (found >= 0 && (m->val == NULL || m->val[found] == m->val[k])) return;
#pragma omp atomic write
  *tied = 0;
}

/* Columns of the links are compared row by row. */
static wr_status compare_columns(const wr_csr *m, const int64_t *nodes, int64_t pairs, unsigned char *tied) {
  wr_status status;
  int64_t *place = NULL; /* [n] of a node in nodes[], from 1 */
  TRY(wr_alloc_zeroed(&place, m->ncols, sizeof *place, "places of nodes"));
  for (int64_t q = 0; q <= pairs; q++) place[nodes[q]] = q + 1;
#pragma omp parallel for schedule(guided) if (m->nnz > 1 << 16)
  for (int64_t i = 0; i < m->nrows; i++)
    for (int64_t k = m->row_ptr[i]; k < m->row_ptr[i + 1]; k++) {
      int64_t q = place[m->col[k]] - 1;
      if (q < 0) continue;
      if (q < pairs) compare_entries(m, i, k, nodes[q + 1], &tied[q]);
      if (q > 0) compare_entries(m, i, k, nodes[q - 1], &tied[q - 1]);
    }
done:
  wr_free(place);
  return status;
}

wr_status wr_order_find_ties(const wr_graph *g, const int64_t *nodes, int64_t pairs, unsigned char *tied) {
  wr_status status = WR_OK;
  int any = 0, has_in_links = g->edges_in || g->links->symmetric || g->symmetric;
  for (int64_t k = 0; k < pairs; k++) {
    int64_t i = nodes[k], j = nodes[k + 1];
    tied[k] = tied[k] && (g->teleport == NULL || g->teleport[i] == g->teleport[j]);
    if (tied[k] && has_in_links) tied[k] = same_rows(g->links, i, j) != 0;
    any |= tied[k];
  }
  if (any && !has_in_links) TRY(compare_columns(g->links, nodes, pairs, tied));
done:
  return status;
}

/* Ties are looked for where scores differ by this part at most, more than rounding makes of equal scores. */
static const double like = 1e-6;

static wr_status find_pairs(const wr_graph *graph, const double *x, const int64_t *best, int64_t ranks, double gap,
                            unsigned char *tied) {
  int64_t pairs = ranks < graph->n ? ranks : graph->n - 1;
  for (int64_t k = 0; k < pairs; k++) {
    double difference = x[best[k]] - x[best[k + 1]];
    tied[k] = difference <= gap && difference <= like * x[best[k]];
  }
  return wr_order_find_ties(graph, best, pairs, tied);
}

/* ---- The order ---- */

wr_order wr_order_of(const double *x, const int64_t *best, int64_t n, int64_t ranks, double gap,
                     const unsigned char *tied) {
  wr_order found = {.ranks = ranks < n ? ranks : n, .least = INFINITY};
  int64_t pairs = found.ranks < n ? found.ranks : n - 1;
  for (int64_t k = 0; k < pairs; k++) {
    double difference = x[best[k]] - x[best[k + 1]];
    int is_tied = tied && tied[k];
    found.ties += is_tied;
    if (!is_tied && !(difference >= found.least)) found.least = difference; /* NaN is the least */
    if (found.settled < k || !(difference > gap || is_tied)) continue;
    found.settled++;
    if (difference > gap) found.proven = found.settled; /* behind a tie may be a node that belongs before it */
  }
  if (found.settled == n - 1) found.settled = found.proven = n; /* none is behind the last one */
  if (found.settled > found.ranks) found.settled = found.ranks;
  if (found.proven > found.ranks) found.proven = found.ranks;
  return found;
}

/* The last of the ranks is tied with the next one: all are proven if each node behind is apart from it, or tied with it. */
static wr_status look_behind(const wr_graph *graph, const double *x, int64_t last, double gap, wr_order *order) {
  wr_status status = WR_OK;
  int64_t n = graph->n, ranks = order->ranks, count = 0, *nodes = NULL, pair = 0;
  unsigned char *tied = NULL;
  double nearest = INFINITY; /* of the differences that are neither */
#pragma omp parallel for schedule(static) reduction(+ : count) reduction(min : nearest) if (n > 1 << 16)
  for (int64_t i = 0; i < n; i++) {
    double difference = x[last] - x[i];
    if (difference > gap) continue;
    if (difference <= like * x[last])
      count++; /* the ranks themselves, too */
    else
      nearest = fmin(nearest, difference >= 0 ? difference : 0); /* 0: NaN */
  }
  if (nearest == INFINITY) {
    TRY(wr_alloc(&nodes, count, sizeof *nodes, "nodes of about the same score"));
    TRY(wr_alloc(&tied, count, sizeof *tied, "ties of nodes"));
    wr_top(x, n, count, nodes);
    for (int64_t k = 0; k < count; k++) tied[k] = 1;
    TRY(wr_order_find_ties(graph, nodes + ranks - 1, count - ranks, tied));
    while (pair < count - ranks && tied[pair]) pair++;
    if (pair == count - ranks)
      order->proven = ranks;
    else
      nearest = x[last] - x[nodes[ranks + pair]];
  }
  order->least = fmin(order->least, nearest);
done:
  wr_free(nodes);
  wr_free(tied);
  return status;
}

wr_status wr_order_find(const wr_graph *graph, const double *x, const int64_t *best, int64_t ranks, double gap,
                        unsigned char *tied, wr_order *order) {
  wr_status status;
  TRY(find_pairs(graph, x, best, ranks, gap, tied));
  *order = wr_order_of(x, best, graph->n, ranks, gap, tied);
  if (order->proven < order->ranks && order->settled == order->ranks)
    TRY(look_behind(graph, x, best[order->ranks - 1], gap, order));
done:
  return status;
}

/* Few ranks are settled as a rule: as many are sorted as are needed. Rounding a difference is monotone, so that one that is
 * rounded to more than gap is more than gap. */
wr_status wr_order_prove(const wr_graph *graph, const double *x, double gap, int64_t *ranks, int64_t *ties) {
  wr_status status;
  int64_t n = graph->n, count = 0, *best = NULL;
  unsigned char *tied = NULL;
  wr_order found = {0};
  do {
    count = count == 0 ? 1 << 10 : count * 32; /* n is below 2^31 */
    if (count > n) count = n;
    int64_t looked = count < n ? count - 1 : n;
    wr_free(best), best = NULL;
    wr_free(tied), tied = NULL;
    TRY(wr_alloc(&best, count, sizeof *best, "the best nodes"));
    TRY(wr_alloc_zeroed(&tied, count, sizeof *tied, "ties of nodes"));
    wr_top(x, n, count, best);
    TRY(find_pairs(graph, x, best, looked, gap, tied));
    found = wr_order_of(x, best, n, looked, gap, tied);
  } while (found.settled == count - 1 && count < n);
  *ranks = found.proven, *ties = 0;
  for (int64_t k = 0; k < found.proven; k++) *ties += tied[k];
done:
  wr_free(best);
  wr_free(tied);
  return status;
}

/* ---- A solve's reviews ---- */

wr_status wr_order_watch_open(wr_order_watch *w, const wr_graph *graph, int64_t ranks) {
  wr_status status;
  int64_t n = graph->n;
  *w = (wr_order_watch){.graph = graph, .n = n, .ranks = ranks < n ? ranks : n};
  TRY(wr_alloc(&w->scores, n, sizeof *w->scores, "ranks whose order is looked at"));
  TRY(wr_alloc(&w->best, w->ranks + 1, sizeof *w->best, "the best nodes"));
  TRY(wr_alloc_zeroed(&w->tied, w->ranks, sizeof *w->tied, "ties of nodes"));
done:
  if (status != WR_OK) wr_order_watch_close(w);
  return status;
}

void wr_order_watch_close(wr_order_watch *w) {
  wr_free(w->scores);
  wr_free(w->best);
  wr_free(w->tied);
  *w = (wr_order_watch){0};
}

double wr_order_first_bound(const wr_order_watch *w) {
  double ranks = (double)w->ranks;
  return fmin(0.01, 1 / (ranks * (ranks + 1)));
}

wr_status wr_order_review(wr_order_watch *w, double bound, double steps, double change, double *next) {
  wr_status status;
  double gap = wr_order_gap(bound) * (1 + bound); /* their sum is at most 1 + bound */
  if (w->reviews > 0 && steps > w->steps && change < w->change)
    w->rate = pow(change / w->change, 1 / (steps - w->steps));
  w->reviews++, w->steps = steps, w->change = change;
  wr_top(w->scores, w->n, w->ranks < w->n ? w->ranks + 1 : w->n, w->best);
  TRY(wr_order_find(w->graph, w->scores, w->best, w->ranks, gap, w->tied, &w->found));
  *next = w->found.proven == w->ranks ? 0 : fmin(0.9 * bound, fmax(bound / 32, 0.9 * w->found.least));
done:
  return status;
}

int64_t wr_order_spared(const wr_order_watch *w, double target, double rate) {
  double by = w->rate > 0 ? w->rate : rate;
  if (w->reviews == 0 || w->found.proven < w->ranks || !(w->change > target) || !(target > 0) || !(by > 0 && by < 1))
    return 0;
  return (int64_t)fmin(ceil(log(target / w->change) / log(by)), 1e15);
}
