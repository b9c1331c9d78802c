#include "solvers/order.h"

#include <math.h>
#include <stdlib.h>

#include "config/memory.h"
#include "solvers/top.h"
#include "spmv/parts/halo.h"

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
  int any = 0, has_in_links = g->edges_in || g->links->symmetric || g->symmetric;
  for (int64_t k = 0; k < pairs; k++) {
    int64_t i = nodes[k], j = nodes[k + 1];
    tied[k] = tied[k] && (g->teleport == NULL || g->teleport[i] == g->teleport[j]);
    if (tied[k] && has_in_links) tied[k] = same_rows(g->links, i, j) != 0;
    any |= tied[k];
  }
  if (any && !has_in_links) PASS(compare_columns(g->links, nodes, pairs, tied));
  return WR_OK;
}

/* Ties are looked for where scores differ by this part at most, more than rounding makes of equal scores. */
static const double like = 1e-6;

/* tied[k] := 1 for the pairs that may be tied, of the best scores in order. Returns the number of all pairs. */
static int64_t mark_pairs(const wr_graph *graph, const double *score, int64_t ranks, double gap, unsigned char *tied) {
  int64_t pairs = ranks < graph->n ? ranks : graph->n - 1;
  for (int64_t k = 0; k < pairs; k++) {
    double difference = score[k] - score[k + 1];
    tied[k] = difference <= gap && difference <= like * score[k];
  }
  return pairs;
}

static wr_status find_pairs(const wr_graph *graph, const int64_t *node, const double *score, int64_t ranks, double gap,
                            unsigned char *tied) {
  return wr_order_find_ties(graph, node, mark_pairs(graph, score, ranks, gap, tied), tied);
}

/* ---- The order ---- */

/* *score := x[node[k]] for k < count, to be freed. */
static wr_status gather(const double *x, const int64_t *node, int64_t count, double **score) {
  wr_status status = wr_alloc(score, count, sizeof **score, "scores of the best nodes");
  for (int64_t k = 0; status == WR_OK && k < count; k++) (*score)[k] = x[node[k]];
  return status;
}

wr_order wr_order_of(const double *score, int64_t n, int64_t ranks, double gap, const unsigned char *tied) {
  wr_order found = {.ranks = ranks < n ? ranks : n, .least = INFINITY};
  int64_t pairs = found.ranks < n ? found.ranks : n - 1;
  for (int64_t k = 0; k < pairs; k++) {
    double difference = score[k] - score[k + 1];
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

/* node[count], score[count]: the best nodes, in order, and of those behind the ranks all that are not apart from the last rank.
 * They are like it, so the ranks are proven if all are tied with it. *nearest: the difference of the first that is not. */
static wr_status test_behind(const wr_graph *graph, const int64_t *node, const double *score, int64_t count,
                             wr_order *order, double *nearest) {
  wr_status status;
  int64_t ranks = order->ranks, pair = 0;
  unsigned char *tied = NULL;
  TRY(wr_alloc(&tied, count, sizeof *tied, "ties of nodes"));
  for (int64_t k = 0; k < count; k++) tied[k] = 1;
  TRY(wr_order_find_ties(graph, node + ranks - 1, count - ranks, tied));
  while (pair < count - ranks && tied[pair]) pair++;
  if (pair == count - ranks)
    order->proven = ranks;
  else
    *nearest = score[ranks - 1] - score[ranks + pair];
done:
  wr_free(tied);
  return status;
}

/* The last of the ranks is tied with the next one: all are proven if each node behind is apart from it, or tied with it. */
static wr_status look_behind(const wr_graph *graph, const double *x, int64_t last, double gap, wr_order *order) {
  wr_status status = WR_OK;
  int64_t n = graph->n, count = 0, *nodes = NULL;
  double nearest = INFINITY, *scores = NULL; /* nearest: of the differences that are neither */
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
    wr_top(x, n, count, nodes);
    TRY(gather(x, nodes, count, &scores));
    TRY(test_behind(graph, nodes, scores, count, order, &nearest));
  }
  order->least = fmin(order->least, nearest);
done:
  wr_free(nodes);
  wr_free(scores);
  return status;
}

wr_status wr_order_find(const wr_graph *graph, const double *x, const int64_t *best, int64_t ranks, double gap,
                        unsigned char *tied, wr_order *order) {
  wr_status status;
  double *score = NULL;
  TRY(gather(x, best, ranks < graph->n ? ranks + 1 : graph->n, &score));
  TRY(find_pairs(graph, best, score, ranks, gap, tied));
  *order = wr_order_of(score, graph->n, ranks, gap, tied);
  if (order->proven < order->ranks && order->settled == order->ranks)
    TRY(look_behind(graph, x, best[order->ranks - 1], gap, order));
done:
  wr_free(score);
  return status;
}

/* Few ranks are settled as a rule: as many are sorted as are needed. Rounding a difference is monotone, so that one that is
 * rounded to more than gap is more than gap. graph NULL: ties are not looked for. */
static wr_status prove(const wr_graph *graph, const double *x, int64_t n, double gap, int64_t *ranks, int64_t *ties) {
  wr_status status;
  int64_t count = 0, *best = NULL;
  unsigned char *tied = NULL;
  double *score = NULL;
  wr_order found = {0};
  do {
    count = count == 0 ? 1 << 10 : count * 32; /* n is below 2^31 */
    if (count > n) count = n;
    int64_t looked = count < n ? count - 1 : n;
    wr_free(best), best = NULL;
    wr_free(tied), tied = NULL;
    wr_free(score), score = NULL;
    TRY(wr_alloc(&best, count, sizeof *best, "the best nodes"));
    TRY(wr_alloc_zeroed(&tied, count, sizeof *tied, "ties of nodes"));
    wr_top(x, n, count, best);
    TRY(gather(x, best, count, &score));
    if (graph) TRY(find_pairs(graph, best, score, looked, gap, tied));
    found = wr_order_of(score, n, looked, gap, tied);
  } while (found.settled == count - 1 && count < n);
  *ranks = found.proven, *ties = 0;
  for (int64_t k = 0; k < found.proven; k++) *ties += tied[k];
done:
  wr_free(best);
  wr_free(tied);
  wr_free(score);
  return status;
}

wr_status wr_order_prove(const wr_graph *graph, const double *x, double gap, int64_t *ranks, int64_t *ties) {
  wr_status status = WR_OK;
  wr_comm *comm = graph->comm;
  double *all = NULL;
  if (comm == NULL) return prove(graph, x, graph->n, gap, ranks, ties);
  *ranks = *ties = 0;
  if (comm->rank == 0) status = wr_alloc(&all, graph->n_all, sizeof *all, "the scores of all parts");
  TRY(wr_comm_agree(comm, status));
  TRY(wr_halo_collect(graph->links, x, all));
  if (comm->rank == 0) status = prove(NULL, all, graph->n_all, gap, ranks, ties);
  TRY(wr_comm_agree(comm, status));
  TRY(wr_comm_sum_counts(comm, ranks, 1));
done:
  wr_free(all);
  return status;
}

/* ---- A solve's reviews ---- */

wr_status wr_order_watch_open(wr_order_watch *w, const wr_graph *graph, wr_env *env, int64_t ranks) {
  wr_status status;
  wr_comm *comm = graph->comm;
  *w = (wr_order_watch){.ranks = ranks < graph->n_all ? ranks : graph->n_all, .n = graph->n_all};
  status = wr_candidates_open(&w->best, graph, env, w->ranks + 1);
  if (status == WR_OK) status = wr_alloc_zeroed(&w->tied, w->ranks, sizeof *w->tied, "ties of nodes");
  if (status == WR_OK && comm)
    status = wr_alloc(&w->of_parts, (comm->size + 1) * (w->ranks + 1), sizeof *w->of_parts, "the best nodes of parts");
  TRY(wr_comm_agree(comm, status));
done:
  if (status != WR_OK) wr_order_watch_close(w);
  return status;
}

void wr_order_watch_close(wr_order_watch *w) {
  wr_candidates_close(&w->best);
  wr_free(w->tied);
  wr_free(w->of_parts);
  *w = (wr_order_watch){0};
}

double wr_order_first_bound(const wr_order_watch *w) {
  double ranks = (double)w->ranks;
  return fmin(0.01, 1 / (ranks * (ranks + 1)));
}

/* The least difference of the last rank to one of the candidates behind it that is neither apart from it nor like it; INFINITY:
 * none. *count := the ranks and those behind them that are not apart. */
static double nearest_of(const wr_candidates *c, int64_t ranks, double gap, int64_t *count) {
  double last = c->score[ranks - 1];
  for (*count = ranks; *count < c->count; ++*count) {
    double difference = last - c->score[*count];
    if (difference > gap) break;
    if (!(difference <= like * last)) return difference >= 0 ? difference : 0; /* 0: NaN */
  }
  return INFINITY;
}

/* As look_behind, among the candidates, of which as many are found as it takes. None are left where there is no room. */
static wr_status look_behind_best(wr_order_watch *w, const wr_vec *x, double gap) {
  wr_candidates *c = &w->best;
  int64_t count;
  double nearest = nearest_of(c, w->ranks, gap, &count), last = c->score[w->ranks - 1];
  double from = last - gap - 0x1p-50 * (gap + fabs(last)); /* differences are rounded */
  if (nearest == INFINITY && from < c->least) {
    PASS(wr_candidates_down_to(c, x, from));
    if (c->count == 0) {
      w->found.least = 0; /* not known */
      return WR_OK;
    }
    nearest = nearest_of(c, w->ranks, gap, &count);
  }
  if (nearest == INFINITY) PASS(test_behind(c->graph, c->node, c->score, count, &w->found, &nearest));
  w->found.least = fmin(w->found.least, nearest);
  return WR_OK;
}

static int greater_first(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  if (isnan(a) || isnan(b)) return isnan(a) - isnan(b);
  return a > b ? -1 : a < b;
}

/* w->found of the greatest scores of all parts, of which this one has score[count]. crowded: 1: this part did not find them.
 * Collective. */
static wr_status find_in_parts(wr_order_watch *w, const double *score, int64_t count, int64_t crowded, double gap) {
  wr_comm *comm = w->best.graph->comm;
  const int64_t wanted = w->ranks + 1;
  double *mine = w->of_parts + comm->size * wanted;
  w->found = (wr_order){.ranks = w->ranks}, w->count = 0;
  PASS(wr_comm_max_counts(comm, &crowded, 1));
  if (crowded) return WR_OK;
  for (int64_t k = 0; k < wanted; k++) mine[k] = k < count ? score[k] : NAN;
  PASS(comm->ops->gather(comm, "the best nodes", mine, wanted * (int64_t)sizeof *mine, w->of_parts));
  qsort(w->of_parts, (size_t)(comm->size * wanted), sizeof *mine, greater_first);
  w->score = w->of_parts, w->count = wanted < w->n ? wanted : w->n;
  w->found = wr_order_of(w->score, w->n, w->ranks, gap, NULL);
  return WR_OK;
}

/* As wr_order_find, of the candidates. To find ties may take a walk over all links: only if the order would be proven if all
 * pairs that may be tied were, or at the end. */
static wr_status find_best(wr_order_watch *w, const wr_vec *x, const wr_vec *scale, double gap, int ends) {
  wr_candidates *c = &w->best;
  int64_t n = w->n, pairs;
  w->found = (wr_order){.ranks = w->ranks}, w->count = 0;
  wr_status status = wr_candidates_find(c, x, scale);
  if (w->of_parts) {
    PASS(wr_comm_agree(w->best.graph->comm, status));
    return find_in_parts(w, c->score, c->count < c->wanted ? c->count : c->wanted, c->wanted > 0 && c->count == 0, gap);
  }
  PASS(status);
  w->score = c->score, w->count = c->count;
  if (c->count == 0) return WR_OK;
  pairs = mark_pairs(c->graph, c->score, w->ranks, gap, w->tied);
  w->found = wr_order_of(c->score, n, w->ranks, gap, w->tied);
  if (w->found.settled < w->ranks && !ends) {
    wr_order without = wr_order_of(c->score, n, w->ranks, gap, NULL);
    w->found.settled = without.settled, w->found.proven = without.proven;
    return WR_OK;
  }
  PASS(wr_order_find_ties(c->graph, c->node, pairs, w->tied));
  w->found = wr_order_of(c->score, n, w->ranks, gap, w->tied);
  if (w->found.proven < w->ranks && w->found.settled == w->ranks) PASS(look_behind_best(w, x, gap));
  w->count = c->count; /* 0, if there was no room to look */
  return WR_OK;
}

/* The next bound is no less than this. The differences of ranks that are not tied are as large in sum as that of the first and
 * the last score, so the least of them is no more than their mean: twice the mean, as the scores are not exact. */
static double least_next(const wr_order_watch *w, double bound) {
  int64_t pairs = w->found.ranks - w->found.ties;
  if (w->count == 0 || pairs < 1) return bound / 32;
  int64_t last = w->ranks < w->n ? w->ranks : w->ranks - 1;
  double mean = (w->score[0] - w->score[last]) / (double)pairs;
  return fmin(bound / 32, fmax(bound / 1024, 2 * mean));
}

static double gap_of(double bound) { return wr_order_gap(bound) * (1 + bound); } /* their sum is at most 1 + bound */

wr_status wr_order_review_all(wr_order_watch *w, const double *x, double bound) {
  wr_status status;
  int64_t n = w->best.graph->n, count = w->best.wanted, *best = NULL;
  double *score = NULL;
  status = wr_alloc(&best, count, sizeof *best, "the best nodes");
  if (status == WR_OK && count > 0) wr_top(x, n, count, best);
  if (w->of_parts) {
    if (status == WR_OK) status = gather(x, best, count, &score);
    TRY(wr_comm_agree(w->best.graph->comm, status));
    TRY(find_in_parts(w, score, count, 0, gap_of(bound)));
  } else {
    TRY(status);
    TRY(wr_order_find(w->best.graph, x, best, w->ranks, gap_of(bound), w->tied, &w->found));
  }
done:
  wr_free(best);
  wr_free(score);
  return status;
}

wr_status wr_order_review(wr_order_watch *w, const wr_vec *x, const wr_vec *scale, double bound, double steps,
                          double change, int ends, double *next) {
  if (w->reviews > 0 && steps > w->steps && change < w->change)
    w->rate = pow(change / w->change, 1 / (steps - w->steps));
  w->reviews += w->reviews == 0 || steps != w->steps, w->steps = steps, w->change = change;
  PASS(find_best(w, x, scale, gap_of(bound), ends));
  w->crowded += w->count == 0;
  *next = w->found.proven == w->ranks ? 0 : fmin(0.9 * bound, fmax(least_next(w, bound), 0.9 * w->found.least));
  return WR_OK;
}

int64_t wr_order_spared(const wr_order_watch *w, double target, double rate) {
  double by = w->rate > 0 ? w->rate : rate;
  if (w->reviews == 0 || w->found.proven < w->ranks || !(w->change > target) || !(target > 0) || !(by > 0 && by < 1))
    return 0;
  return (int64_t)fmin(ceil(log(target / w->change) / log(by)), 1e15);
}
