#include "solvers/rank/gauss_seidel.h"

#include <math.h>

#include "config/argument.h"
#include "config/memory.h"
#include "config/elements.h"
#include "solvers/rank/components.h"
#include "solvers/rank/inner_system.h"

enum {
  DENSE = 32,           /* nodes up to which a component is solved as a dense system: 11 000 multiplications at most */
  LOOK_EVERY = 1 << 12, /* components between two looks at the monitor                                               */
  PASSES = 4            /* over all components, each with a smaller target                                           */
};

/* A solve in progress. */
typedef struct walk {
  const wr_graph *graph;
  const wr_gauss_seidel_options *options;
  const wr_monitor *monitor;
  wr_components components;
  wr_inner_system inner;
  double *y;           /* [n] of (1) in gauss_seidel.h                                                          */
  double *x;           /* [n] what a node gives to a link of weight 1; 0 while its component is not solved      */
  const double *guess; /* [n] or NULL                                                                           */
  double target;       /* of the L1 norm of the residual of (1), divided by the sum of y                        */
  double links;        /* looked at                                                                             */
  double done;         /* bounds on residuals of the components that are solved                                 */
  double sum;          /* of their y                                                                            */
  int interrupted;
  wr_gauss_seidel_found *found;
} walk;

static double weight_of(const wr_csr *flow, int64_t e) { return flow->val ? flow->val[e] : 1; }

/* What row `node` has on its right, and in *self what it gives to itself by a link of its own. */
static double right_of(const walk *w, int64_t node, double *self) {
  const wr_csr *flow = w->graph->flow;
  double sum = 0, v = w->graph->teleport ? w->graph->teleport[node] : 1 / (double)w->graph->n;
  *self = 0;
  for (int64_t e = flow->row_ptr[node]; e < flow->row_ptr[node + 1]; e++) {
    sum += weight_of(flow, e) * w->x[flow->col[e]];
    if (flow->col[e] == node) *self = weight_of(flow, e) * w->graph->scale[node];
  }
  return v + w->options->damping * sum;
}

static void keep(walk *w, int64_t node, double y) {
  w->y[node] = y, w->x[node] = w->graph->scale[node] * y;
  w->sum += y;
}

static void solve_single(walk *w, int64_t node) {
  double self, right = right_of(w, node, &self);
  keep(w, node, right / (1 - w->options->damping * self));
}

/* By LU factors without pivoting: each column of I - d P^T is diagonally dominant, so no element grows beyond twice the
 * largest, and no difference is taken but on the diagonal. */
static void solve_dense(walk *w, int64_t first, int64_t m) {
  const wr_csr *flow = w->graph->flow;
  const int32_t *node = w->components.node + first;
  double a[DENSE][DENSE] = {{0}}, y[DENSE], self;
  for (int64_t i = 0; i < m; i++) {
    y[i] = right_of(w, node[i], &self);
    a[i][i] = 1;
    for (int64_t e = flow->row_ptr[node[i]]; e < flow->row_ptr[node[i] + 1]; e++) {
      int64_t j = w->components.place[flow->col[e]] - first;
      if (j < 0 || weight_of(flow, e) == 0) continue;
      a[i][j] -= w->options->damping * weight_of(flow, e) * w->graph->scale[flow->col[e]];
    }
  }
  for (int64_t k = 0; k < m; k++)
    for (int64_t i = k + 1; i < m; i++) {
      if (a[i][k] == 0) continue;
      double factor = a[i][k] / a[k][k];
      for (int64_t j = k + 1; j < m; j++) a[i][j] -= factor * a[k][j];
      y[i] -= factor * y[k];
    }
  for (int64_t i = m - 1; i >= 0; i--) {
    for (int64_t j = i + 1; j < m; j++) y[i] -= a[i][j] * y[j];
    y[i] /= a[i][i];
  }
  for (int64_t i = 0; i < m; i++) keep(w, node[i], y[i]);
}

/* With residuals s of (1), an exact step changes y / sum(y) by (s - sum(s) v) / sum(y), at most 2 ||s|| / sum(y). */
static double change_of(const walk *w, double residual) { return 2 * residual / fmax(1, w->sum); }

static void tell(void *context, double residual, int64_t sweeps) {
  const walk *w = context;
  double multiplies = (w->links + (double)sweeps * (double)w->inner.links) / fmax(1, (double)w->graph->flow->nnz);
  wr_monitor_show(w->monitor, (int64_t)multiplies, w->options->scale * change_of(w, w->done + residual),
                  w->options->target);
}

/* The residual may be the target's share: by nine tenths in proportion to y, of which the guess gives the sum nearly, and by a
 * tenth in proportion to the nodes. So the norm of all residuals is about target * sum(y) at most, as sum(y) >= 1. */
static void solve_by_sweeps(walk *w, int64_t component) {
  wr_inner_system *s = &w->inner;
  const wr_components *c = &w->components;
  double sum, nnz = fmax(1, (double)w->graph->flow->nnz);
  wr_inner_begin(s, component, w->x);
  sum = wr_inner_guess(s, component, w->guess);
  double target = w->target * (0.9 * sum + 0.1 * (double)s->m / (double)w->graph->n);
  double left = w->interrupted ? 1 : ((double)w->options->multiplies * nnz - w->links) / fmax(1, (double)s->links);
  wr_inner_end end = wr_inner_solve(s, target, (int64_t)fmin(fmax(left, 1), 1e15), w->monitor, tell, w);
  if (end.interrupted) w->interrupted = end.interrupted;
  for (int64_t k = 0; k < s->m; k++) {
    int64_t node = c->node[c->first[component] + k];
    w->y[node] = s->x[k] / w->graph->scale[node], w->x[node] = s->x[k];
    w->sum += w->y[node];
  }
  w->done += end.residual;
  w->links += (double)s->sweeps * (double)s->links;
  w->found->bytes += (double)s->sweeps * ((double)s->links * (w->graph->flow->val ? 12 : 4) + 72.0 * (double)s->m);
  if (s->m == w->found->largest) w->found->sweeps += (double)s->sweeps;
}

/* After an interruption each larger component is swept once. */
static void pass(walk *w) {
  const wr_components *c = &w->components;
  w->done = w->sum = 0;
  w->found->single = w->found->dense = 0;
  for (int64_t i = 0; i < w->graph->n; i++) w->x[i] = 0;
  for (int64_t b = 0; b < c->count; b++) {
    int64_t first = c->first[b], m = c->first[b + 1] - first;
    if (m == 1)
      solve_single(w, c->node[first]), w->found->single++;
    else if (m <= DENSE)
      solve_dense(w, first, m), w->found->dense++;
    else
      solve_by_sweeps(w, b);
    if (b % LOOK_EVERY == 0 && !w->interrupted) w->interrupted = wr_monitor_ends(w->monitor);
  }
  w->links += (double)w->graph->flow->nnz;
}

/* scores := y / sum(y), and the bound for them. Rounding of dense systems may leave elements below 0. */
static wr_status certify(walk *w, double *scores) {
  int64_t n = w->graph->n;
  double sum;
  for (int64_t i = 0; i < n; i++) scores[i] = fmax(w->y[i], 0);
  sum = wr_compensated_sum(scores, n);
  if (!isfinite(sum) || sum <= 0) return wr_fail(WR_EINTERNAL, "the scores by components have the sum %g", sum);
  for (int64_t i = 0; i < n; i++) scores[i] /= sum;
  w->links += (double)w->graph->flow->nnz;
  return wr_scores_certify(w->graph, w->options->damping, scores, &w->found->bound);
}

static int is_met(const walk *w) { return w->found->bound.residual <= w->options->change; }

/* Passes until the change is met. The first one nearly always suffices: bounds on residuals are larger than residuals. */
static wr_status solve(walk *w, double *scores) {
  w->target = w->options->change;
  for (int k = 0; k < PASSES; k++) {
    pass(w);
    PASS(certify(w, scores));
    if (is_met(w) || w->interrupted || w->links >= (double)w->options->multiplies * (double)w->graph->flow->nnz) break;
    w->target /= 4;
    w->guess = scores;
  }
  return WR_OK;
}

static wr_status check_options(const wr_gauss_seidel_options *o, const char *function) {
  if (o == NULL) return wr_refuse(function, "options is NULL");
  if (!(o->damping >= 0 && o->damping < 1))
    return wr_refuse(function, "options->damping is %g; it is in [0, 1)", o->damping);
  if (!(o->change > 0) || isinf(o->change))
    return wr_refuse(function, "options->change is %g; it is finite and above 0", o->change);
  if (o->multiplies < 0) return wr_refuse(function, "options->multiplies is %lld", (long long)o->multiplies);
  return WR_OK;
}

/* Where there is no time for more: the guess, the teleport or equal scores. */
static wr_status without_solve(walk *w, const double *start, double *scores) {
  int64_t n = w->graph->n;
  const double *from = start ? start : w->graph->teleport;
  for (int64_t i = 0; i < n; i++) w->y[i] = from ? from[i] : 1;
  return certify(w, scores);
}

wr_status wr_gauss_seidel_solve(const wr_graph *graph, const wr_gauss_seidel_options *options, const double *start,
                                wr_team *team, const wr_monitor *monitor, double *scores,
                                wr_gauss_seidel_found *found) {
  wr_status status;
  walk w = {.graph = graph, .options = options, .monitor = monitor, .guess = start, .found = found};
  WR_REFUSE_IF(graph == NULL || graph->flow == NULL || graph->flow->row_ptr == NULL, "graph is %s",
               graph ? "not finished on the host" : "NULL");
  WR_REFUSE_IF(graph->order != NULL, "graph is renumbered");
  WR_NEED_OK(check_options(options, __func__));
  WR_NEED(scores);
  WR_NEED(found);
  *found = (wr_gauss_seidel_found){.bound = {.residual = INFINITY, .bound = INFINITY, .rounding = INFINITY}};
  TRY(wr_alloc(&w.x, graph->n, sizeof *w.x, "scores by components"));
  TRY(wr_alloc(&w.y, graph->n, sizeof *w.y, "scores by components"));
  w.interrupted = wr_monitor_ends(monitor);
  if (!w.interrupted && options->multiplies > 0)
    TRY(wr_components_find(graph->flow, monitor, &w.components, &w.interrupted));
  found->components = w.components.count;
  for (int64_t b = 0; b < w.components.count; b++)
    found->largest = found->largest > w.components.first[b + 1] - w.components.first[b]
                         ? found->largest
                         : w.components.first[b + 1] - w.components.first[b];
  if (w.components.count > 0) {
    TRY(wr_inner_open(graph, &w.components, options->damping, DENSE + 1, team, &w.inner));
    TRY(solve(&w, scores));
  } else {
    TRY(without_solve(&w, start, scores));
  }
  found->met = is_met(&w), found->interrupted = found->met ? 0 : w.interrupted;
  found->multiplies = w.links / fmax(1, (double)graph->flow->nnz);
  TRY(wr_monitor_keep(monitor, (int64_t)ceil(found->multiplies), found->bound.residual));
done:
  wr_inner_close(&w.inner);
  wr_components_free(&w.components);
  wr_free(w.x);
  wr_free(w.y);
  return status;
}
