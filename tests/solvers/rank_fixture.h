/* One PageRank run, the same ranks by an independent power method in long double, and what must hold of every run. */
#ifndef WR_TEST_RANK_FIXTURE_H
#define WR_TEST_RANK_FIXTURE_H

#include "config/defaults.h"
#include "solvers/pagerank.h"
#include "solvers/verify.h"
#include "tests/solvers/ground.h"

typedef struct ranking {
  /* given */
  wr_csr *links;
  int edges_in;
  const double *teleport, *start; /* [n] or NULL */
  int reversed;                   /* 1: rows and columns of the flow are in descending order of the pages */
  wr_pagerank_options options;
  wr_monitor monitor;
  /* found */
  wr_plan *plan;                  /* while the solve runs */
  wr_result result;
  wr_verdict verdict;
  double *scores;                 /* [n] normalised */
  wr_history history;
  int deterministic;              /* of the plan    */
  double sum_unit;                /* of the plan, where it is more than f64's */
  double term_unit;               /* of the plan */
  double longest;                 /* entries of a row of the flow */
} ranking;

static inline ranking ranking_of(const ground *g, wr_csr *links) {
  double tolerance = g->env.type == WR_F32 ? WR_PAGERANK_TOLERANCE_F32 : WR_PAGERANK_TOLERANCE_F64;
  wr_pagerank_options options = {.damping = 0.85, .tolerance = tolerance, .iterations = 20000, .check_every = 1};
  return (ranking){.links = links, .options = options};
}

static inline void ranking_free(ranking *r) {
  free(r->scores);
  wr_history_free(&r->history);
  r->scores = NULL;
}

/* 1 if a backend rounds so much in f32 that the tolerance cannot be certified: sums of long rows by a vendor's, or the terms of
 * blocks. What such a run says of its error is true, and that is all. */
static inline int is_held_up(const ranking *r) {
  double rounding = (4 * wr_type_unit(WR_F32) + r->term_unit) / (1 - r->options.damping);
  return r->sum_unit > 0 || (r->term_unit > 0 && rounding > 0.9 * r->options.tolerance); /* wr_pagerank_target_bound */
}

static inline double longest_row(const wr_csr *m) {
  int64_t longest = 0;
  for (int64_t i = 0; i < m->nrows; i++)
    if (m->row_ptr[i + 1] - m->row_ptr[i] > longest) longest = m->row_ptr[i + 1] - m->row_ptr[i];
  return (double)longest;
}

/* A plan in f32 beside that of a ground in f64. */
typedef struct narrow_plan {
  wr_env env;
  wr_plan *plan;
} narrow_plan;

/* From now on method sweeps in f32. */
static inline void narrow_open(ground *g, narrow_plan *narrow, wr_csr *flow, wr_pagerank *method) {
  CHECK_OK(wr_env_with_type(&g->env, WR_F32, &narrow->env));
  CHECK_OK(wr_plan_create(g->backend, NULL, flow, &narrow->env, &narrow->plan));
  CHECK_OK(wr_plan_prepare(narrow->plan));
  CHECK_OK(wr_pagerank_sweep_in(method, narrow->plan, &narrow->env));
}

/* Solves and verifies with an opened method, and fills in the results. */
static inline wr_status ranking_solve(ranking *r, wr_pagerank *method, const wr_graph *graph, wr_rounding rounding) {
  wr_status status;
  int64_t n = graph->n;
  double change, dangling, *ranks = room_for(n, sizeof *ranks), *step = room_for(n, sizeof *step);
  double *after = room_for(n, sizeof *after);
  TRY(wr_pagerank_solve(method, &r->options, &r->monitor, &r->result));
  TRY(wr_pagerank_download(method, r->scores));
  TRY(wr_pagerank_normalise(r->scores, n, &r->options, r->result.rounding));
  TRY(wr_pagerank_download(method, ranks));
  TRY(wr_pagerank_step(method, &r->options, step, &change, &dangling));
  TRY(wr_pagerank_download(method, after));
  CHECKF(memcmp(after, ranks, (size_t)n * sizeof *ranks) == 0, "the step changed the ranks");
  TRY(wr_verify_pagerank(graph, r->options.damping, r->options.tolerance, r->options.stop_on_change, rounding, ranks,
                         step, change, dangling, WR_VERIFY_FULL, n, &r->verdict));
done:
  free(ranks);
  free(step);
  free(after);
  return status;
}

static inline wr_status ranking_build(const ranking *r, wr_graph *graph) {
  wr_status status;
  int64_t n = r->links->nrows;
  TRY(wr_graph_begin(r->links, r->edges_in, given(r->teleport, n), given(r->start, n), graph));
  if (r->reversed) {
    TRY(wr_alloc(&graph->order, n, sizeof *graph->order, "an order"));
    for (int64_t k = 0; k < n; k++) graph->order[k] = (int32_t)(n - 1 - k);
  }
  TRY(wr_graph_finish(graph, NULL));
done:
  return status;
}

/* A whole run, from the matrix to the verdict. */
static inline void ranking_run(ground *g, ranking *r) {
  wr_graph graph = {0};
  wr_pagerank method = {0};
  int64_t n = r->links->nrows;
  ranking_free(r);
  ground_threads(n);
  r->scores = room_for(n, sizeof *r->scores);
  r->monitor.history = &r->history;
  CHECK_OK(ranking_build(r, &graph));
  if (graph.flow == NULL) return;
  wr_plan *plan = ground_plan(g, graph.flow);
  r->plan = plan;
  if (plan) {
    wr_rounding rounding = wr_rounding_of(&g->env, plan);
    r->deterministic = wr_plan_get_info(plan)->deterministic;
    r->sum_unit = wr_plan_get_info(plan)->sum_unit > 0x1p-53 ? wr_plan_get_info(plan)->sum_unit : 0;
    r->term_unit = wr_plan_get_info(plan)->term_unit;
    r->longest = longest_row(graph.flow);
    CHECK_OK(wr_pagerank_open(&method, &graph, plan, &g->env));
    CHECK_OK(ranking_solve(r, &method, &graph, rounding));
    wr_pagerank_close(&method);
  }
  wr_plan_destroy(plan);
  wr_graph_free(&graph);
}

/* ---- The independent answer ---- */

typedef struct exact_ranks {
  int64_t n;
  long double *score; /* [n], sum 1                                         */
  long double error;  /* L1, bound by the last change and by its rounding   */
} exact_ranks;

static inline long double weight_of(const wr_csr *links, int64_t k) {
  return links->val ? (long double)links->val[k] : 1.0L;
}

static inline long double *out_weights(const ranking *r) {
  const wr_csr *m = r->links;
  long double *out = room_for(m->nrows, sizeof *out);
  for (int64_t i = 0; i < m->nrows; i++)
    for (int64_t k = m->row_ptr[i]; k < m->row_ptr[i + 1]; k++) out[r->edges_in ? m->col[k] : i] += weight_of(m, k);
  return out;
}

static inline long double jump_to(const ranking *r, long double teleport_sum, int64_t i) {
  return r->teleport ? (long double)r->teleport[i] / teleport_sum : 1.0L / (long double)r->links->nrows;
}

/* next := d (P^T now + dangling mass * v) + (1 - d) v; returns the L1 change. */
static inline long double exact_step(const ranking *r, const long double *out, const long double *now,
                                     long double *next) {
  const wr_csr *m = r->links;
  long double d = (long double)r->options.damping, dangling = 0, teleport_sum = 0, change = 0;
  for (int64_t i = 0; i < m->nrows; i++) {
    next[i] = 0;
    if (out[i] == 0) dangling += now[i];
    if (r->teleport) teleport_sum += (long double)r->teleport[i];
  }
  for (int64_t i = 0; i < m->nrows; i++)
    for (int64_t k = m->row_ptr[i]; k < m->row_ptr[i + 1]; k++) {
      int64_t from = r->edges_in ? m->col[k] : i, to = r->edges_in ? i : m->col[k];
      if (out[from] > 0) next[to] += weight_of(m, k) / out[from] * now[from];
    }
  for (int64_t i = 0; i < m->nrows; i++) {
    next[i] = d * next[i] + (d * dangling + (1 - d)) * jump_to(r, teleport_sum, i);
    change += fabsl(next[i] - now[i]);
  }
  return change;
}

static inline exact_ranks exact_ranks_of(const ranking *r) {
  int64_t n = r->links->nrows;
  long double *out = out_weights(r), *now = room_for(n, sizeof *now), *next = room_for(n, sizeof *next);
  long double d = (long double)r->options.damping, change = 1, sum = 0;
  for (int64_t i = 0; i < n; i++) now[i] = 1.0L / (long double)n;
  for (int k = 0; k < 10000 && change > 1e-18L; k++) {
    change = exact_step(r, out, now, next);
    long double *swap = now;
    now = next, next = swap;
  }
  for (int64_t i = 0; i < n; i++) sum += now[i];
  for (int64_t i = 0; i < n; i++) now[i] /= sum;
  free(next);
  free(out);
  return (exact_ranks){n, now, (change * d + (long double)(n + 8) * 0x1p-63L) / (1 - d)};
}

/* The same from (I - d P^T) y = v, by elimination in long double, which takes the same time for every damping. It is stable
 * without pivots, as the matrix is dominated by its diagonal in each column. The error is bounded by what a step of the power
 * method changes. */
static inline exact_ranks dense_ranks(const ranking *r) {
  const wr_csr *m = r->links;
  int64_t n = m->nrows;
  long double d = (long double)r->options.damping, sum = 0, teleport_sum = 0;
  long double *out = out_weights(r), *A = room_for(n * n, sizeof *A), *y = room_for(n, sizeof *y);
  long double *next = room_for(n, sizeof *next);
  for (int64_t i = 0; i < n; i++) teleport_sum += r->teleport ? (long double)r->teleport[i] : 0;
  for (int64_t i = 0; i < n; i++) A[i * n + i] = 1, y[i] = jump_to(r, teleport_sum, i);
  for (int64_t i = 0; i < n; i++)
    for (int64_t k = m->row_ptr[i]; k < m->row_ptr[i + 1]; k++) {
      int64_t from = r->edges_in ? m->col[k] : i, to = r->edges_in ? i : m->col[k];
      if (out[from] > 0) A[to * n + from] -= d * weight_of(m, k) / out[from];
    }
  for (int64_t k = 0; k < n; k++)
    for (int64_t i = k + 1; i < n; i++) {
      long double factor = A[i * n + k] / A[k * n + k];
      for (int64_t j = k; j < n && factor != 0; j++) A[i * n + j] -= factor * A[k * n + j];
      y[i] -= factor * y[k];
    }
  for (int64_t i = n; i-- > 0;) {
    for (int64_t j = i + 1; j < n; j++) y[i] -= A[i * n + j] * y[j];
    y[i] /= A[i * n + i];
  }
  for (int64_t i = 0; i < n; i++) sum += y[i];
  for (int64_t i = 0; i < n; i++) y[i] /= sum;
  long double change = exact_step(r, out, y, next);
  free(out), free(A), free(next);
  return (exact_ranks){n, y, (change + (long double)(n + 8) * 0x1p-63L) / (1 - d)};
}

/* ---- What must hold ---- */

/* Each step shrinks the change by the damping at least, except for the rounding of both steps. That rounding is the amount by
 * which verification lets a step exceed the tolerance. */
static inline void check_history(const ranking *r) {
  const wr_history *h = &r->history;
  const wr_pagerank_options *o = &r->options;
  CHECKF(h->count > 0 && h->iteration[h->count - 1] == r->result.iterations, "%lld entries", (long long)h->count);
  if (h->count == 0) return;
  CHECK(h->measure[h->count - 1] == r->result.change);
  double rounding = 2 * (r->verdict.limit - (o->stop_on_change ? o->tolerance : (1 - o->damping) * o->tolerance));
  int64_t misplaced = 0, growing = 0;
  int is_power = o->method == WR_PAGERANK_POWER;
  for (int64_t k = 0; k < h->count; k++) {
    int64_t at = (k + 1) * o->check_every;
    misplaced += h->iteration[k] != (at < o->iterations ? at : o->iterations);
    if (is_power && k > 0 && h->measure[k] > o->damping * h->measure[k - 1] + rounding) growing++;
  }
  CHECKF(misplaced == 0, "%lld checks at other iterations than every %lld", (long long)misplaced,
         (long long)o->check_every);
  CHECKF(growing == 0, "%lld changes shrank by less than the damping", (long long)growing);
}

/* The bound's part for rounding: that of the stored type, that of the last product with out-degrees, and that of sums in less
 * than f64, in proportion to the longest row. */
static inline void check_rounding(const ranking *r, double unit) {
  double stored = (4 * unit + r->term_unit) / (1 - r->options.damping) + 0x1p-53,
         sums = r->sum_unit * r->longest / (1 - r->options.damping);
  double rounding = r->result.rounding;
  CHECKF(rounding >= stored && rounding <= stored + 1.001 * sums, "rounding %g, stored %g, sums %g", rounding, stored,
         sums);
  CHECKF(rounding > stored || sums == 0, "rounding %g leaves out the sums", rounding);
}

/* Checks the numbers of the result, and that the scores differ from the independent answer by the printed bound at most. */
static inline void check_ranking(const ground *g, const ranking *r, const exact_ranks *exact) {
  const wr_result *result = &r->result;
  const wr_pagerank_options *o = &r->options;
  double unit = wr_type_unit(g->env.type);
  double rate = (o->method == WR_PAGERANK_POWER ? o->damping : 1) / (1 - o->damping);
  double least = 1, compared = o->stop_on_change ? result->change : result->change * rate;
  long double distance = 0, sum = 0;
  for (int64_t i = 0; i < exact->n; i++) {
    distance += fabsl((long double)r->scores[i] - exact->score[i]);
    sum += (long double)r->scores[i];
    if (!(r->scores[i] >= least)) least = r->scores[i];
  }
  CHECKF(distance <= (long double)result->bound + exact->error, "L1 error %.3Lg, bound %.3g (%s after %lld)", distance,
         result->bound, wr_outcome_title(result->outcome), (long long)result->iterations);
  CHECKF(fabsl(sum - 1) <= (long double)(exact->n + 2) * 0x1p-53L, "the scores have the sum %.18Lg", sum);
  CHECKF(least >= 0, "a score is %g", least);
  double expected = fmin(result->change * rate + result->rounding, 2); /* vectors of sum 1 differ by no more */
  CHECKF(fabs(result->bound - expected) <= 4 * 0x1p-53 * result->bound, "bound %g", result->bound);
  check_rounding(r, unit);
  CHECKF(result->measure == compared, "%g was compared", result->measure);
  double judged = o->stop_on_change ? compared : result->bound;
  CHECKF((result->outcome == WR_CONVERGED) == (judged <= o->tolerance), "%s with %g of %g",
         wr_outcome_title(result->outcome), judged, o->tolerance);
  CHECKF(result->iterations >= 1 && result->iterations <= o->iterations, "%lld", (long long)result->iterations);
  CHECKF(r->verdict.multiplied_right, "largest error %g of its bound", r->verdict.worst_row);
  CHECKF(r->verdict.rows == exact->n, "%lld rows verified", (long long)r->verdict.rows);
  if (result->outcome == WR_CONVERGED)
    CHECKF(r->verdict.met_tolerance, "a step changes %g of %g", r->verdict.measure, r->verdict.limit);
  check_history(r);
}

/* Runs and checks. known: the independent answer, computed here if known->score is NULL; the caller frees it. */
static inline void run_and_compare(ground *g, ranking *r, exact_ranks *known) {
  if (known->score == NULL) *known = exact_ranks_of(r);
  ranking_run(g, r);
  check_ranking(g, r, known);
}

static inline void run_and_check(ground *g, ranking *r) {
  exact_ranks exact = {0};
  run_and_compare(g, r, &exact);
  free(exact.score);
}

/* Greatest difference of two runs' scores in L1. */
static inline double ranking_distance(const ranking *a, const ranking *b) {
  double sum = 0;
  for (int64_t i = 0; i < a->links->nrows; i++) sum += fabs(a->scores[i] - b->scores[i]);
  return sum;
}

#endif
