#include "solvers/rank/rank_sets.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/defaults.h"
#include "config/elements.h"
#include "config/memory.h"
#include "solvers/candidates.h"
#include "solvers/pagerank.h"
#include "solvers/scores.h"
#include "solvers/top.h"
#include "spmv/device/columns.h"
#include "spmv/device/vec_argument.h"
#include "spmv/parts/halo.h"
#include "spmv/plan_argument.h"

int wr_rank_sets_columns(const wr_env *env) {
  if (env == NULL) return 0;
  return env->type == WR_F32 || env->place == WR_CUDA ? 8 : 4;
}

/* ---- Arguments ---- */

static wr_status check_options(const wr_rank_sets_options *o, const char *function) {
  if (o == NULL) return wr_refuse(function, "options is NULL");
  if (!(o->damping >= 0 && o->damping < 1))
    return wr_refuse(function, "options->damping is %g; it is in [0, 1)", o->damping);
  if (!(o->tolerance > 0) || isinf(o->tolerance))
    return wr_refuse(function, "options->tolerance is %g; it is finite and above 0", o->tolerance);
  if (o->iterations < 1) return wr_refuse(function, "options->iterations is %lld", (long long)o->iterations);
  if (o->check_every < 0) return wr_refuse(function, "options->check_every is %lld", (long long)o->check_every);
  if (o->columns != 0 && o->columns != 1 && o->columns != 2 && o->columns != 4 && o->columns != 8)
    return wr_refuse(function, "options->columns is %d; it is 0, 1, 2, 4 or 8", o->columns);
  if (o->top < 0) return wr_refuse(function, "options->top is %lld", (long long)o->top);
  if (o->checks < 0) return wr_refuse(function, "options->checks is %lld", (long long)o->checks);
  return WR_OK;
}

/* One set; seen[n]: the number of the last set, from 1, that had a page. */
static wr_status check_set(const wr_teleport_sets *sets, int64_t set, int64_t n, int64_t *seen) {
  int64_t first = sets->first[set], end = sets->first[set + 1];
  double largest = 0;
  if (end <= first) return wr_fail(WR_EINPUT, "teleport set %lld has no page", (long long)set + 1);
  for (int64_t p = first; p < end; p++) {
    double weight = sets->weight ? sets->weight[p] : 1;
    int64_t page = sets->page[p];
    if (page < 0 || page >= n)
      return wr_fail(WR_EINPUT, "teleport set %lld: there is no page %lld", (long long)set + 1, (long long)page);
    if (seen[page] == set + 1)
      return wr_fail(WR_EINPUT, "teleport set %lld has page %lld twice", (long long)set + 1, (long long)page);
    if (!(weight >= 0 && isfinite(weight)))
      return wr_fail(WR_EINPUT, "teleport set %lld has the weight %g; weights are finite and not negative",
                     (long long)set + 1, weight);
    seen[page] = set + 1;
    largest = fmax(largest, weight);
  }
  if (largest > 0) return WR_OK;
  return wr_fail(WR_EINPUT, "teleport set %lld: all weights are 0", (long long)set + 1);
}

/* *longest := the largest number of pages of a set, 1 at least. */
static wr_status check_sets(const wr_teleport_sets *sets, int64_t n, int64_t *longest) {
  wr_status status;
  int64_t *seen = NULL;
  *longest = 1;
  TRY(wr_alloc_zeroed(&seen, n, sizeof *seen, "teleport sets"));
  for (int64_t k = 0; k < sets->count; k++) {
    TRY(check_set(sets, k, n, seen));
    int64_t length = sets->first[k + 1] - sets->first[k];
    if (length > *longest) *longest = length;
  }
done:
  wr_free(seen);
  return status;
}

/* ---- A batch ---- */

/* A column of the batch. */
typedef struct column {
  int64_t set;    /* -1: none                          */
  int64_t sweeps; /* of this set                       */
  double least;   /* the least change before the window */
  double window_least;
  int64_t window; /* the sweep behind which it began   */
} column;

/* A set that has ended, and what is kept of its column. */
typedef struct ended_set {
  wr_set_ranks found;
  wr_vec one;    /* [n] the column; of `aside`       */
  double *value; /* [room] of its teleport vector    */
} ended_set;

typedef struct batch {
  const wr_graph *graph;
  wr_plan *plan;
  wr_env *env;
  const wr_teleport_sets *sets;
  wr_rank_sets_options o;
  int width, used; /* columns of the arrays; those that are multiplied: on the host fewer at the end                    */
  int64_t next;    /* the next set of the queue                                                                       */
  int now;         /* x[now] has the ranks                                                                            */
  int64_t room;    /* entries of a column                                                                             */
  wr_vec x[2];     /* [n * width] ranks by out-degree, row-major                                                      */
  wr_env own;      /* on a device, a stream of its own, by which what is found for a set is fetched while sweeps go on */
  wr_env *aside;   /* that, or on the host env                                                                        */
  ended_set ended[WR_MAX_COLUMNS]; /* [ended_count] since the last check                                              */
  int ended_count;
  wr_vec one;      /* [n] a column that is moved; on the host alone                                                   */
  wr_vec scale;    /* [n] 1 / out-degree, as of pagerank.h                                                            */
  wr_vec lengths;  /* [n] by x: links into a page, with weights out of it, too, times what makes x its rank           */
  wr_vec rows, values, sums, marks; /* of wr_epilogue_many; marks on a device alone                                   */
  wr_vec reach;    /* [1] the sum of lengths and a column                                                             */
  double *row_of, *value_of; /* [WR_MAX_COLUMNS * room] rows and values                                               */
  double sum[WR_COLUMN_SUMS]; /* sums, as of the last check                                                           */
  int32_t *place;  /* [pages of all parts] the row of a page, -1: of another part; NULL: its number                   */
  column at[WR_MAX_COLUMNS];
  double rounding; /* of the bound, but for sums of rows; relative error of a change                                  */
  double sum_unit; /* of the sums of rows */
  double sum_error, target;
  wr_candidates best; /* on a device */
  double *by_row, *by_page; /* [n] or NULL: a column downloaded                                                       */
  int64_t *node;   /* [top] */
  double *score;   /* [top] */
  wr_graph plain;  /* on the host without an order, for checks; flow NULL: not made                                   */
  double *jumps;   /* [n] likewise: a dense teleport vector                                                           */
  wr_rank_sets_facts *facts;
} batch;

static void close_batch(batch *b) {
  wr_vec *const vectors[] = {&b->x[0], &b->x[1], &b->one, &b->scale, &b->lengths, &b->rows, &b->values, &b->sums,
                             &b->marks};
  void *const arrays[] = {b->row_of, b->value_of, b->place, b->by_row, b->by_page, b->node, b->score, b->jumps};
  for (size_t v = 0; v < sizeof vectors / sizeof *vectors; v++) b->env->ops->release(b->env, vectors[v]);
  for (size_t a = 0; a < sizeof arrays / sizeof *arrays; a++) wr_free(arrays[a]);
  wr_candidates_close(&b->best);
  for (int k = 0; k < WR_MAX_COLUMNS; k++) {
    wr_free(b->ended[k].value);
    if (b->aside) b->aside->ops->release(b->aside, &b->ended[k].one);
  }
  if (b->aside) b->aside->ops->release(b->aside, &b->reach);
  wr_env_close(&b->own);
  wr_graph_free(&b->plain);
}

/* The epilogue whose y is x[k]. */
static wr_epilogue_many epilogue_of(batch *b, int k) {
  return (wr_epilogue_many){.columns = b->used,
                            .y = &b->x[k],
                            .ldy = b->width,
                            .scale = &b->scale,
                            .room = b->room,
                            .rows = &b->rows,
                            .values = &b->values,
                            .sums = &b->sums,
                            .marks = b->marks.id ? &b->marks : NULL};
}

/* lengths without weights: those of the flow's rows, which times ones has. The scale must be there. */
static wr_status multiply_lengths(batch *b) {
  wr_status status;
  const wr_vecops *ops = b->env->ops;
  wr_vec ones = {0};
  TRY(wr_comm_agree(b->graph->comm, ops->alloc(b->env, b->graph->n, b->env->type, "ones", &ones)));
  TRY(ops->fill(b->env, &ones, 1));
  TRY(wr_plan_apply(b->plan, &(wr_apply){.alpha = 1, .x = &ones, .y = &b->lengths}));
  TRY(ops->recast(b->env, &(wr_recast){.in = {&b->lengths}, .c = {1}, .over = &b->scale, .out = &b->lengths}));
done:
  ops->release(b->env, &ones);
  return status;
}

/* lengths with weights: of the links of the matrix as parsed, so that the flow may be on a device alone. */
static wr_status place_lengths(batch *b) {
  wr_status status;
  const wr_graph *g = b->graph;
  const wr_csr *m = g->links;
  double *by_page = NULL;
  if (m->val == NULL) return multiply_lengths(b);
  TRY(wr_comm_agree(g->comm, wr_alloc_zeroed(&by_page, m->ncols, sizeof *by_page, "lengths of rows")));
  for (int64_t k = 0; k < m->nnz; k++) by_page[m->col[k]] += 1;
  if (g->comm) TRY(wr_halo_sum(m, by_page));
  for (int64_t i = 0; i < m->nrows; i++) by_page[i] += (double)(m->row_ptr[i + 1] - m->row_ptr[i]);
  for (int64_t i = 0; i < g->n; i++) by_page[i] *= wr_graph_rank(g, i, 1);
  TRY(wr_graph_place(g, b->env, by_page, &b->lengths));
done:
  wr_free(by_page);
  return status;
}

static wr_status place_scale(batch *b) {
  wr_status status;
  const wr_graph *g = b->graph;
  double *by_row = NULL;
  if (g->order) {
    TRY(wr_alloc(&by_row, g->n, sizeof *by_row, "inverse out-degrees"));
    wr_graph_arrange(g, g->scale, by_row);
    TRY(wr_alloc(&b->place, g->n, sizeof *b->place, "an order of nodes"));
    for (int64_t k = 0; k < g->n; k++) b->place[g->order[k]] = (int32_t)k;
  }
  if (g->comm) {
    TRY(wr_alloc(&b->place, g->n_all, sizeof *b->place, "the rows of nodes"));
    for (int64_t i = 0; i < g->n_all; i++) b->place[i] = -1;
    for (int64_t i = 0; i < g->n; i++) b->place[wr_csr_row_number(g->links, i)] = (int32_t)i;
  }
  TRY(b->env->ops->compact(b->env, g->n, by_row ? by_row : g->scale, "inverse out-degrees", &b->scale));
done:
  wr_free(by_row);
  return status;
}

/* Bounds on rounding, as docs/ranking.md has them. A step: 4 u for the elements, as in pagerank.c, and for sums over columns as
 * many additions in a chain as verification allows (verify.h), of dangling ranks; 16 * 2^-53 for v. */
static wr_status find_rounding(batch *b) {
  const wr_graph *g = b->graph;
  double d = b->o.damping, u = wr_type_unit(b->env->type);
  double chain = (2048 + (double)g->n_all / 512 + (g->comm ? g->comm->size : 0)) * 0x1p-53;
  double least = b->env->type == WR_F32 ? (double)FLT_MIN : DBL_MIN;
  double links = (double)(wr_csr_all_entries(g->links) + 4 * g->n_all);
  double units[] = {wr_plan_get_info(b->plan)->term_unit, wr_plan_get_info(b->plan)->sum_unit};
  PASS(wr_comm_max(g->comm, units, 2));
  double step = 4 * u + units[0] + 16 * 0x1p-53 + chain;
  b->sum_unit = fmax(units[1], wr_type_unit(WR_F64));
  b->rounding = (1.001 * step + links * least) / (1 - d);
  b->sum_error = 1 + chain + 4 * u;
  double target = wr_pagerank_target_bound(b->o.tolerance, b->rounding);
  b->target = b->o.stop_on_change ? b->o.tolerance : d > 0 ? target * (1 - d) / d / b->sum_error : DBL_MAX;
  return WR_OK;
}

static wr_status open_aside(batch *b) {
  const wr_env *env = b->env;
  if (env->place == WR_HOST || env->comm) return b->aside = b->env, WR_OK; /* only env adds up the sums of all parts */
  b->own = (wr_env){.place = env->place, .device = env->device, .type = env->type, .threads = env->threads,
                    .deterministic = env->deterministic, .testing = env->testing};
  PASS(wr_env_open(&b->own));
  b->aside = &b->own;
  return WR_OK;
}

/* Whether a device finds the best nodes. In parts each host finds its own, and the first one the best of these. */
static int uses_candidates(const batch *b) { return b->env->place == WR_CUDA && b->graph->comm == NULL; }

static wr_status allocate(batch *b) {
  const wr_vecops *ops = b->env->ops;
  int64_t n = b->graph->n, top = b->o.top;
  for (int k = 0; k < 2; k++) PASS(ops->alloc(b->env, n * b->width, b->env->type, "ranks of several sets", &b->x[k]));
  PASS(open_aside(b));
  PASS(ops->alloc(b->env, WR_MAX_COLUMNS * b->room, WR_F64, "teleport sets", &b->rows));
  PASS(ops->alloc(b->env, WR_MAX_COLUMNS * b->room, WR_F64, "teleport sets", &b->values));
  PASS(ops->alloc(b->env, WR_COLUMN_SUMS, WR_F64, "sums of columns", &b->sums));
  if (b->env->place == WR_HOST) PASS(ops->alloc(b->env, n, b->env->type, "ranks of a set", &b->one));
  if (b->env->place == WR_CUDA) PASS(ops->alloc(b->env, n / 8 + 1, WR_F64, "marks of rows", &b->marks));
  PASS(ops->alloc(b->aside, 1, WR_F64, "a sum", &b->reach));
  PASS(wr_alloc(&b->row_of, WR_MAX_COLUMNS * b->room, sizeof *b->row_of, "teleport sets"));
  PASS(wr_alloc_zeroed(&b->value_of, WR_MAX_COLUMNS * b->room, sizeof *b->value_of, "teleport sets"));
  PASS(wr_alloc(&b->node, top, sizeof *b->node, "the best nodes"));
  PASS(wr_alloc(&b->score, top, sizeof *b->score, "the best nodes"));
  for (int64_t k = 0; k < WR_MAX_COLUMNS * b->room; k++) b->row_of[k] = -1;
  for (int c = 0; c < WR_MAX_COLUMNS; c++) b->at[c].set = -1;
  PASS(ops->alloc(b->env, n, b->env->type, "lengths of rows", &b->lengths));
  PASS(place_scale(b));
  return uses_candidates(b) ? wr_candidates_open(&b->best, b->graph, b->aside, top) : WR_OK;
}

static wr_status open_batch(batch *b) {
  if (b->o.top > b->graph->n_all) b->o.top = b->graph->n_all;
  PASS(wr_comm_agree(b->graph->comm, allocate(b)));
  PASS(find_rounding(b));
  return place_lengths(b);
}

/* ---- The queue ---- */

/* The entries of column c := those of a set, of sum 1 also where the sum of weights overflows; set -1: none. */
static void load_set(batch *b, int c, int64_t set) {
  const wr_teleport_sets *s = b->sets;
  int64_t first = set < 0 ? 0 : s->first[set], count = set < 0 ? 0 : s->first[set + 1] - first;
  double *row = b->row_of + c * b->room, *value = b->value_of + c * b->room, largest = 0, sum;
  b->at[c] = (column){.set = set, .least = DBL_MAX, .window_least = DBL_MAX};
  for (int64_t k = 0; k < count; k++) largest = fmax(largest, s->weight ? s->weight[first + k] : 1);
  for (int64_t k = 0; k < count; k++) {
    int64_t page = s->page[first + k];
    row[k] = b->place ? b->place[page] : (double)page;
    value[k] = (s->weight ? s->weight[first + k] : 1) / largest;
  }
  sum = wr_compensated_sum(value, count);
  for (int64_t k = 0; k < count; k++) value[k] /= sum;
  for (int64_t k = count; k < b->room; k++) row[k] = -1, value[k] = 0;
}

/* Gives columns without a set, which are 0, the next ones: each begins at its teleport vector, scaled. */
static wr_status fill_columns(batch *b) {
  const wr_vecops *ops = b->env->ops;
  int is_new[WR_MAX_COLUMNS] = {0}, any = 0;
  for (int c = 0; c < b->used && b->next < b->sets->count; c++)
    if (b->at[c].set < 0) load_set(b, c, b->next++), is_new[c] = any = 1;
  if (!any) return WR_OK;
  PASS(ops->upload(b->env, &b->rows, b->row_of));
  PASS(ops->upload(b->env, &b->values, b->value_of));
  wr_epilogue_many e = epilogue_of(b, b->now);
  e.plus = 1;
  for (int c = 0; c < b->used; c++)
    if (is_new[c]) PASS(ops->start_column(b->env, &e, c));
  return WR_OK;
}

/* On the host, where a column has the same bits whatever the number of columns: once the queue is empty, those without a set
 * are no longer multiplied; the last ones take their places. */
static wr_status narrow(batch *b) {
  const wr_vecops *ops = b->env->ops;
  int before = b->used;
  if (b->env->place != WR_HOST || b->next < b->sets->count) return WR_OK;
  PASS(ops->download(b->env, &b->sums, b->sum)); /* with the masses of columns that have just begun */
  for (int c = 0; c < b->used; c++) {
    while (b->used > c && b->at[b->used - 1].set < 0) b->used--;
    if (c >= b->used || b->at[c].set >= 0) continue;
    int last = b->used - 1;
    column moved = b->at[last];
    load_set(b, c, moved.set);
    b->at[c] = moved, b->at[last].set = -1;
    b->sum[c] = b->sum[last], b->sum[WR_MAX_COLUMNS + c] = b->sum[WR_MAX_COLUMNS + last];
    PASS(ops->move_column(b->env, &b->x[b->now], b->width, last, &b->one));
    PASS(ops->copy_column(b->env, &b->one, 1, 0, &b->x[b->now], b->width, c));
  }
  if (b->used == before || b->used == 0) return WR_OK;
  PASS(ops->upload(b->env, &b->rows, b->row_of));
  PASS(ops->upload(b->env, &b->values, b->value_of));
  return ops->upload(b->env, &b->sums, b->sum);
}

/* ---- Sweeps ---- */

static wr_status sweep(batch *b, int measures) {
  double d = b->o.damping;
  wr_vec *x = &b->x[b->now], *y = &b->x[1 - b->now];
  wr_epilogue_many e = epilogue_of(b, 1 - b->now);
  e.ldx = b->width, e.x = measures ? x : NULL, e.times = d, e.plus = 1 - d;
  PASS(wr_plan_apply_many(b->plan, &(wr_apply_many){.columns = b->used, .alpha = d, .x = x, .y = y, .ldx = b->width,
                                                    .ldy = b->width, .ranks = &e}));
  b->now = 1 - b->now, b->facts->multiplies++;
  return WR_OK;
}

/* Whether a column is done after a check, and how. */
static int is_done(const batch *b, column *at, double change, wr_outcome *outcome) {
  double tiny = 1000 * wr_type_unit(b->env->type);
  *outcome = WR_CONVERGED;
  if (!isfinite(change)) return *outcome = WR_NON_FINITE, 1;
  if (change <= b->target) return 1;
  at->window_least = fmin(at->window_least, change);
  if (at->sweeps - at->window >= WR_SETS_WINDOW) { /* as in wr_pagerank_find_stall */
    double hardly = (1 + pow(b->o.damping, (double)(at->sweeps - at->window))) / 2;
    if (hardly * at->least < at->window_least && at->window_least < tiny) return *outcome = WR_STAGNATED, 1;
    at->least = fmin(at->least, at->window_least), at->window_least = DBL_MAX, at->window = at->sweeps;
  }
  *outcome = WR_MAX_ITERATIONS;
  return at->sweeps >= b->o.iterations;
}

/* ---- What is found for a set ---- */

/* by_page := the scores of a column. */
static wr_status download_scores(batch *b, const wr_vec *one) {
  const wr_graph *g = b->graph;
  if (b->by_page == NULL) PASS(wr_alloc(&b->by_page, g->n, sizeof *b->by_page, "scores of a set"));
  if (g->order && b->by_row == NULL) PASS(wr_alloc(&b->by_row, g->n, sizeof *b->by_row, "scores of a set"));
  PASS(b->aside->ops->download(b->aside, one, g->order ? b->by_row : b->by_page));
  if (g->order) wr_graph_restore(g, b->by_row, b->by_page);
#pragma omp parallel for schedule(static) if (g->n > 100000)
  for (int64_t i = 0; i < g->n; i++) b->by_page[i] = wr_graph_rank(g, i, b->by_page[i]);
  return WR_OK;
}

/* The best nodes of a column among those that this process has, in b->node and b->score; has_scores: by_page has its scores. */
static wr_status find_own_best(batch *b, const wr_vec *one, int has_scores, int64_t *count) {
  int64_t top = b->o.top < b->graph->n ? b->o.top : b->graph->n;
  *count = 0;
  if (top == 0) return WR_OK;
  if (uses_candidates(b)) PASS(wr_candidates_find(&b->best, one, &b->scale));
  if (uses_candidates(b) && b->best.count >= top) {
    memcpy(b->node, b->best.node, (size_t)top * sizeof *b->node);
    memcpy(b->score, b->best.score, (size_t)top * sizeof *b->score);
  } else {
    if (!has_scores) PASS(download_scores(b, one));
    wr_top(b->by_page, b->graph->n, top, b->node);
    for (int64_t k = 0; k < top; k++) b->score[k] = b->by_page[b->node[k]];
  }
  while (*count < top && b->score[*count] > 0) ++*count;
  return WR_OK;
}

typedef struct scored_node {
  int64_t node; /* of all parts */
  double score;
} scored_node;

/* The order of wr_top. */
static int compare_nodes(const void *a, const void *b) {
  const scored_node *left = a, *right = b;
  if (left->score != right->score) return left->score > right->score ? -1 : 1;
  return left->node < right->node ? -1 : left->node > right->node;
}

/* b->node and b->score := the best of the `count` ones that each part has there; in the first part, elsewhere *count := 0. */
static wr_status join_best(batch *b, int64_t *count) {
  wr_status status;
  wr_comm *comm = b->graph->comm;
  scored_node *own = NULL, *all = NULL;
  int64_t *counts = NULL, total = 0; /* of elements for each part, and from each */
  status = wr_alloc(&own, *count, sizeof *own, "the best nodes of a part");
  if (status == WR_OK) status = wr_alloc_zeroed(&counts, 2 * comm->size, sizeof *counts, "the best nodes of a part");
  TRY(wr_comm_agree(comm, status));
  for (int64_t k = 0; k < *count; k++)
    own[k] = (scored_node){wr_csr_row_number(b->graph->links, b->node[k]), b->score[k]};
  counts[0] = *count;
  TRY(wr_comm_swap(comm, "the best nodes of parts", own, counts, sizeof *own, &all, counts + comm->size));
  for (int r = 0; r < comm->size; r++) total += counts[comm->size + r];
  qsort(all, (size_t)total, sizeof *all, compare_nodes);
  *count = total < b->o.top ? total : b->o.top;
  for (int64_t k = 0; k < *count; k++) b->node[k] = all[k].node, b->score[k] = all[k].score;
done:
  wr_free(own);
  wr_free(all);
  wr_free(counts);
  return status;
}

static wr_status find_best(batch *b, const wr_vec *one, int has_scores, wr_set_ranks *found) {
  found->node = b->node, found->score = b->score;
  PASS(wr_comm_agree(b->graph->comm, find_own_best(b, one, has_scores, &found->count)));
  return b->graph->comm && b->o.top > 0 ? join_best(b, &found->count) : WR_OK;
}

/* Set k of m checked ones, spread evenly with both ends: is this set one of them? */
static int is_checked(const batch *b, int64_t set) {
  int64_t m = b->o.checks, count = b->sets->count;
  if (m == 0) return 0;
  if (m >= count) return 1;
  if (m == 1) return set == 0;
  int64_t k = (int64_t)((double)set * (double)(m - 1) / (double)(count - 1) + 0.5);
  return (int64_t)((double)k * (double)(count - 1) / (double)(m - 1)) == set;
}

/* jumps := these values at the pages of a set, as far as this part has them; value NULL: 0. */
static void set_jumps(batch *b, int64_t set, const double *value) {
  int64_t first = b->sets->first[set], end = b->sets->first[set + 1];
  for (int64_t p = first; p < end; p++) {
    int64_t page = b->sets->page[p], own = b->graph->comm ? b->place[page] : page;
    if (own >= 0) b->jumps[own] = value ? value[p - first] : 0;
  }
}

/* The host's own bound of the scores in by_page, from the links. value: of the teleport vector. */
static wr_status check_bound(batch *b, const double *value, wr_set_ranks *found) {
  wr_status status = WR_OK;
  const wr_graph *g = b->graph;
  wr_score_bound bound;
  int is_plain = g->order == NULL && g->flow->row_ptr != NULL;
  if (!is_plain && b->plain.flow == NULL) TRY(wr_graph_build(g->links, g->edges_in, NULL, NULL, &b->plain));
  if (b->jumps == NULL) status = wr_alloc_zeroed(&b->jumps, g->n, sizeof *b->jumps, "a teleport vector");
  TRY(wr_comm_agree(g->comm, status));
  set_jumps(b, found->set, value);
  wr_graph by_set = is_plain ? *g : b->plain;
  by_set.teleport = b->jumps;
  TRY(wr_scores_certify(&by_set, b->o.damping, b->by_page, &bound));
  found->checked = bound.bound;
  found->is_refuted = !(bound.bound <= found->bound * (1 + 1e-6) + 2 * bound.rounding / (1 - b->o.damping));
  b->facts->checked++, b->facts->refuted += found->is_refuted;
done:
  if (b->jumps) set_jumps(b, found->set, NULL);
  return status;
}

/* The bound on the error of a column. */
static wr_status find_bound(batch *b, const wr_vec *one, double change, double *bound) {
  const wr_vecops *ops = b->aside->ops;
  double reach, rate = b->o.damping / (1 - b->o.damping);
  wr_fused f = {.in = {one, &b->lengths}, .reduce = {{WR_DOT, one, &b->lengths, {&b->reach, 0}}}};
  PASS(ops->fused(b->aside, &f));
  PASS(ops->download(b->aside, &b->reach, &reach));
  *bound = change * b->sum_error * rate + b->rounding + 1.001 * b->sum_unit * (reach + 2) / (1 - b->o.damping);
  return WR_OK;
}

/* Takes the set out of column c, which becomes 0. The stream of the batch has nothing left to do. */
static wr_status end_column(batch *b, int c, wr_outcome outcome) {
  column *at = &b->at[c];
  ended_set *e = &b->ended[b->ended_count];
  if (e->value == NULL) PASS(wr_alloc(&e->value, b->room, sizeof *e->value, "a teleport set"));
  if (e->one.id == 0) PASS(b->aside->ops->alloc(b->aside, b->graph->n, b->env->type, "ranks of a set", &e->one));
  memcpy(e->value, b->value_of + c * b->room, (size_t)b->room * sizeof *e->value);
  e->found = (wr_set_ranks){.set = at->set, .outcome = outcome, .iterations = at->sweeps, .change = b->sum[c]};
  PASS(b->aside->ops->move_column(b->aside, &b->x[b->now], b->width, c, &e->one));
  at->set = -1, b->ended_count++;
  return WR_OK;
}

static wr_status finish_set(batch *b, ended_set *e, wr_status (*done)(void *context, const wr_set_ranks *found),
                            void *context) {
  wr_set_ranks *found = &e->found;
  int is_one = is_checked(b, found->set) && found->outcome != WR_NON_FINITE;
  PASS(find_bound(b, &e->one, found->change, &found->bound));
  if (found->outcome == WR_CONVERGED && !b->o.stop_on_change && found->bound > b->o.tolerance)
    found->outcome = WR_STAGNATED;
  if (!isfinite(found->bound)) found->bound = INFINITY;
  if (is_one) PASS(wr_comm_agree(b->graph->comm, download_scores(b, &e->one)));
  if (is_one) PASS(check_bound(b, e->value, found));
  if (found->outcome != WR_NON_FINITE) PASS(find_best(b, &e->one, is_one, found));
  b->facts->done++, b->facts->iterations += found->iterations;
  return wr_comm_agree(b->graph->comm, done(context, found));
}

/* What is found for the sets that have ended, while a device makes the sweeps that it was asked for. */
static wr_status finish_sets(batch *b, wr_status (*done)(void *context, const wr_set_ranks *found), void *context) {
  for (int k = 0; k < b->ended_count; k++) PASS(finish_set(b, &b->ended[k], done, context));
  b->ended_count = 0;
  return WR_OK;
}

/* ---- All sets ---- */

static int has_sets(const batch *b) {
  for (int c = 0; c < b->used; c++)
    if (b->at[c].set >= 0) return 1;
  return 0;
}

/* A check: ends the columns that are done, or all of them when something ends the work. */
static wr_status check_columns(batch *b, int64_t sweeps, wr_outcome ended) {
  PASS(b->env->ops->download(b->env, &b->sums, b->sum));
  for (int c = 0; c < b->used; c++) {
    wr_outcome outcome;
    if (b->at[c].set < 0) continue;
    b->at[c].sweeps += sweeps;
    int over = is_done(b, &b->at[c], b->sum[c], &outcome);
    if (over || ended != WR_CONVERGED) PASS(wr_comm_agree(b->graph->comm, end_column(b, c, over ? outcome : ended)));
  }
  return b->ended_count > 0 ? b->aside->ops->wait(b->aside) : WR_OK;
}

static wr_status run(batch *b, const wr_monitor *monitor, wr_status (*done)(void *context, const wr_set_ranks *found),
                     void *context) {
  int64_t every = b->o.check_every > 0 ? b->o.check_every : b->env->place == WR_HOST ? 1 : WR_SETS_CHECK_EVERY;
  PASS(fill_columns(b));
  PASS(narrow(b));
  while (has_sets(b)) {
    for (int64_t k = 1; k <= every; k++) PASS(sweep(b, k == every));
    PASS(finish_sets(b, done, context));
    b->facts->ended = (wr_outcome)wr_monitor_ends(monitor);
    PASS(check_columns(b, every, b->facts->ended));
    if (b->facts->ended != WR_CONVERGED) break;
    if (monitor && monitor->preparing)
      monitor->preparing(monitor->context, "ranking sets", (double)b->facts->done / (double)b->sets->count);
    PASS(fill_columns(b));
    PASS(narrow(b));
  }
  return finish_sets(b, done, context);
}

wr_status wr_rank_sets(const wr_graph *graph, wr_plan *plan, wr_env *env, const wr_teleport_sets *sets,
                       const wr_rank_sets_options *options, const wr_monitor *monitor,
                       wr_status (*done)(void *context, const wr_set_ranks *found), void *context,
                       wr_rank_sets_facts *facts) {
  wr_status status;
  WR_REFUSE_IF(graph == NULL || graph->flow == NULL, "graph is %s", graph ? "not finished" : "NULL");
  WR_NEED_OPEN(env);
  WR_NEED_OK(wr_plan_check_match(plan, graph->flow, env, __func__));
  WR_REFUSE_IF(sets == NULL || sets->count < 0 || (sets->count > 0 && (!sets->first || !sets->page)), "sets is %s",
               sets ? "incomplete" : "NULL");
  WR_NEED_OK(check_options(options, __func__));
  WR_NEED(done);
  WR_NEED(facts);
  int width = options->columns > 0 ? options->columns : wr_rank_sets_columns(env);
  *facts = (wr_rank_sets_facts){.columns = width};
  if (sets->count == 0) return WR_OK;
  batch b = {.graph = graph, .plan = plan, .env = env, .sets = sets, .o = *options, .width = width, .used = width,
             .facts = facts};
  TRY(wr_comm_agree(graph->comm, check_sets(sets, graph->n_all, &b.room)));
  TRY(open_batch(&b));
  TRY(run(&b, monitor, done, context));
done:
  close_batch(&b);
  return status;
}
