#include "solvers/scores.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "config/argument.h"
#include "config/memory.h"
#include "spmv/parts/halo.h"

/* Nodes of a block: the sums of blocks are added in order, whatever the number of threads. */
enum { BLOCK = 1 << 14 };

static int64_t blocks_of(int64_t n) { return (n + BLOCK - 1) / BLOCK; }

static int64_t end_of(int64_t block, int64_t n) { return (block + 1) * BLOCK < n ? (block + 1) * BLOCK : n; }

/* A sum of f64 numbers and the errors of its additions (Sum2 of Ogita, Rump and Oishi 2005): high + low differs from the exact
 * sum of m terms by at most u |sum| + (m u)^2 sum |terms|. */
typedef struct sum {
  double high, low;
} sum;

static inline void add(sum *s, double x) {
  double next = s->high + x, part = next - s->high;
  s->low += (s->high - (next - part)) + (x - part);
  s->high = next;
}

static inline double total_of(sum s) { return s.high + s.low; }

static inline void add_sum(sum *s, sum other) {
  add(s, other.high);
  add(s, other.low);
}

/* sums[count] := those of all parts, added by rank. */
static wr_status join_sums(wr_comm *comm, sum *sums, int count) {
  wr_status status;
  sum *all = NULL;
  if (comm == NULL) return WR_OK;
  TRY(wr_comm_agree(comm, wr_alloc(&all, (int64_t)comm->size * count, sizeof *all, "sums of parts")));
  TRY(comm->ops->gather(comm, "sums of scores", sums, count * (int64_t)sizeof *sums, all));
  memcpy(sums, all, (size_t)count * sizeof *sums);
  for (int64_t k = count; k < (int64_t)comm->size * count; k++) add_sum(&sums[k % count], all[k]);
done:
  wr_free(all);
  return status;
}

/* Where rank flows: along the links of a graph or against them, by their weights or by their number. */
typedef struct flow {
  const wr_csr *links;   /* row i has the links to node i; by_columns: those out of it           */
  const wr_graph *graph;
  const double *val;     /* [nnz] weights; NULL: 1 each                                          */
  const double *out;     /* sum of weights of the links out of a node; NULL: what the graph has  */
  int is_divided;        /* each weight is divided by the sum of those out of the same node      */
  int by_columns;
} flow;

static inline double out_weight(const flow *f, int64_t i) {
  return f->out ? f->out[i] : wr_graph_out_weight(f->graph, i);
}

/* What link k gets of the share of the node that it leaves. */
static inline double part_of(const flow *f, int64_t k, int64_t node) {
  if (f->val == NULL) return 1;
  return f->is_divided ? f->val[k] : f->out[node] == 0 ? 0 : f->val[k] / f->out[node];
}

static double teleport_of(const wr_graph *g, int64_t i) { return g->teleport ? g->teleport[i] : 1 / (double)g->n_all; }

/* x[] := what each node, of which links leave that are in the part, gives to them: without weights to each, else to all. */
static void make_shares(const flow *f, const double *scores, double *x) {
  int64_t n = f->by_columns ? f->links->nrows : f->links->ncols;
  int weighted = f->val != NULL;
#pragma omp parallel for schedule(static) if (n > BLOCK)
  for (int64_t i = 0; i < n; i++) {
    double w = out_weight(f, i);
    x[i] = w == 0 ? 0 : weighted ? scores[i] : scores[i] / w;
  }
}

/* What node i gets by its links. */
static inline sum gather(const flow *f, const double *x, int64_t i) {
  const wr_csr *m = f->links;
  sum s = {0, 0};
  for (int64_t k = m->row_ptr[i]; k < m->row_ptr[i + 1]; k++) add(&s, part_of(f, k, m->col[k]) * x[m->col[k]]);
  return s;
}

/* ---- The certificate ---- */

/* Sums over the nodes of a block. */
typedef struct block_facts {
  sum scores, dangling, residual;
  double error;   /* what rounding adds, in u                              */
  double reached; /* sum over links of the score of the node that they leave */
  double largest; /* |q|                                                   */
  int64_t worst;
} block_facts;

static void sum_scores(const flow *f, const double *scores, int64_t block, block_facts *b) {
  *b = (block_facts){.largest = -1};
  for (int64_t i = block * BLOCK; i < end_of(block, f->graph->n); i++) {
    add(&b->scores, scores[i]);
    if (out_weight(f, i) == 0) add(&b->dangling, scores[i]);
  }
}

/* Rounding, for scores >= 0, with a = d (what links give) and b = jump v; u is 2^-53. Relative errors of a: 1 u of a share x
 * (with weights 2 u, of the weight and of its product with the score, besides the out-weight's), 1 u and (m u)^2 of the sum of
 * m terms, 1 u of the product with d. Of b: the dangling mass 1 u, jump 3 u with it, v 5 u (two divisions, and its sum), their
 * product 1 u. a + b adds 1 u; the difference with the score 1 u of q, as does the sum of all |q|. In all below 6 u a + 11 u b
 * + 2 u |q|; with 8, 16 and 3 there is room for the products of errors, and for the rounding of this bound itself. The
 * out-weight of a node with weights is a plain sum of m terms, off by m u: over all its links that is m u times its score, and
 * over all nodes `reached`, the sum of scores over links, times d u. What underflows is off by less than DBL_MIN times a score
 * or 1. */
static void judge_block(const flow *f, double damping, double jump, const double *scores, const double *x,
                        int64_t block, block_facts *b) {
  const wr_csr *m = f->links;
  for (int64_t i = block * BLOCK; i < end_of(block, f->graph->n); i++) {
    double length = (double)(m->row_ptr[i + 1] - m->row_ptr[i]), linked = damping * total_of(gather(f, x, i));
    double jumped = jump * teleport_of(f->graph, i), q = (linked + jumped) - scores[i];
    double size = isnan(q) ? INFINITY : fabs(q);
    if (f->val)
      for (int64_t k = m->row_ptr[i]; k < m->row_ptr[i + 1]; k++) b->reached += fabs(scores[m->col[k]]);
    add(&b->residual, fabs(q));
    b->error += (8 + 2 * length * length * 0x1p-53) * fabs(linked) + 16 * fabs(jumped) + 3 * fabs(q);
    if (size > b->largest) b->largest = size, b->worst = i;
  }
}

static wr_status check_arguments(const wr_graph *graph, double damping, const double *scores, const char *function) {
  if (graph == NULL || graph->flow == NULL || graph->flow->row_ptr == NULL)
    return wr_refuse(function, "graph is %s", graph == NULL ? "NULL" : "not finished on the host");
  if (!(damping >= 0 && damping < 1)) return wr_refuse(function, "damping is %g; it is in [0, 1)", damping);
  if (scores == NULL) return wr_refuse(function, "scores is NULL");
  return WR_OK;
}

static wr_status check_scores(const wr_graph *graph, const double *scores) {
  int64_t n = graph->n, bad = n;
#pragma omp parallel for reduction(min : bad) schedule(static) if (n > BLOCK)
  for (int64_t i = 0; i < n; i++)
    if (!(scores[i] >= 0 && isfinite(scores[i])) && i < bad) bad = i;
  if (bad == n) return WR_OK;
  return wr_fail(WR_EINPUT, "score %lld is %g; scores are finite and not negative",
                 (long long)wr_csr_row_number(graph->links, bad) + 1, scores[bad]);
}

/* The node that a step changes most. */
typedef struct worst {
  int64_t node; /* its number in the file            */
  double size;  /* |q|, or INFINITY; -1: of no node  */
  double residual, score;
} worst;

/* That of a part: node i of it, where |q| is `size`. */
static worst worst_at(const flow *f, double damping, double jump, const double *scores, const double *x, int64_t i,
                      double size) {
  worst found = {.node = -1, .size = size};
  if (size < 0) return found;
  found.node = wr_csr_row_number(f->links, i), found.score = scores[i];
  found.residual = (damping * total_of(gather(f, x, i)) + jump * teleport_of(f->graph, i)) - scores[i];
  return found;
}

/* *found := the worst of all parts; of the same |q|, the first one in the file. */
static wr_status join_worst(wr_comm *comm, worst *found) {
  wr_status status;
  worst *all = NULL;
  if (comm == NULL) return WR_OK;
  TRY(wr_comm_agree(comm, wr_alloc(&all, comm->size, sizeof *all, "the worst nodes of parts")));
  TRY(comm->ops->gather(comm, "the worst nodes of parts", found, sizeof *found, all));
  *found = all[0];
  for (int r = 1; r < comm->size; r++)
    if (all[r].size > found->size || (all[r].size == found->size && all[r].node < found->node)) *found = all[r];
done:
  wr_free(all);
  return status;
}

wr_status wr_scores_certify(const wr_graph *graph, double damping, const double *scores, wr_score_bound *found) {
  wr_status status;
  double *x = NULL, *all = NULL;
  block_facts *facts = NULL;
  WR_NEED_OK(check_arguments(graph, damping, scores, __func__));
  WR_NEED(found);
  int64_t n = graph->n, count = blocks_of(n);
  wr_comm *comm = graph->comm;
  flow f = {.links = graph->flow, .graph = graph, .val = graph->flow->val, .is_divided = 1};
  sum of_scores[2] = {{0, 0}, {0, 0}}, residual = {0, 0}; /* of all, and of dangling nodes */
  double largest = -1;
  int64_t place = 0; /* of the node that has it */
  status = check_scores(graph, scores);
  if (status == WR_OK) status = wr_alloc(&x, f.links->ncols, sizeof *x, "shares of scores");
  if (status == WR_OK) status = wr_alloc(&facts, count, sizeof *facts, "sums of a residual");
  TRY(wr_comm_agree(comm, status));
  if (comm) TRY(wr_halo_extend(graph->links, scores, &all));
  if (comm) scores = all;
  make_shares(&f, scores, x);
#pragma omp parallel for schedule(static) if (n > BLOCK)
  for (int64_t b = 0; b < count; b++) sum_scores(&f, scores, b, &facts[b]);
  for (int64_t b = 0; b < count; b++)
    add_sum(&of_scores[0], facts[b].scores), add_sum(&of_scores[1], facts[b].dangling);
  TRY(join_sums(comm, of_scores, 2));
  double jump = damping * total_of(of_scores[1]) + (1 - damping), sums[2] = {0, 0}; /* of errors, and of scores reached */
#pragma omp parallel for schedule(dynamic) if (n > BLOCK)
  for (int64_t b = 0; b < count; b++) judge_block(&f, damping, jump, scores, x, b, &facts[b]);
  *found = (wr_score_bound){.sum = total_of(of_scores[0])};
  for (int64_t b = 0; b < count; b++) {
    add_sum(&residual, facts[b].residual);
    sums[0] += facts[b].error, sums[1] += facts[b].reached;
    if (facts[b].largest > largest) largest = facts[b].largest, place = facts[b].worst;
  }
  worst most = worst_at(&f, damping, jump, scores, x, place, largest);
  TRY(join_sums(comm, &residual, 1));
  TRY(wr_comm_sum(comm, sums, 2));
  TRY(join_worst(comm, &most));
  int64_t links = wr_csr_all_entries(graph->flow);
  double least = (double)(links + 4 * graph->n_all + 4) * DBL_MIN * fmax(1, found->sum);
  found->residual = total_of(residual);
  found->rounding = (sums[0] + 2 * damping * sums[1]) * 0x1p-53 + least;
  found->bound = (found->residual + found->rounding) / (1 - damping) * (1 + 0x1p-50);
  found->worst = most.node, found->worst_score = most.score, found->worst_residual = most.residual;
  if (!isfinite(found->bound) || !isfinite(found->sum)) found->residual = found->rounding = found->bound = INFINITY;
done:
  wr_free(x);
  wr_free(all);
  wr_free(facts);
  return status;
}

/* ---- Other definitions ---- */

/* What becomes of the rank of dangling nodes. */
typedef enum fate { JUMPS, SPREAD, KEPT, DROPPED, FATES } fate;

/* A definition, as a map that is linear in the scores y and in d: y = v + d (g - v), g being y after a step with d = 1. It is
 * applied to scores with the sum 1. */
typedef struct definition {
  const flow *flow;
  const double *y, *gathered; /* [n] the scores, and what links give */
  double dangling;            /* the mass of dangling nodes          */
  int uniform;                /* 1: the teleport vector is ignored   */
  fate fate;
} definition;

/* v and g of node i. DROPPED: the rank of dangling nodes is lost in a step, and then all scores are multiplied so that their
 * sum is 1 again: y (1 - d D) = d P^T y + (1 - d) v, and so each node gets back D times its own score. */
static inline void terms(const definition *f, int64_t i, double *v, double *g) {
  const wr_graph *graph = f->flow->graph;
  *v = f->uniform ? 1 / (double)graph->n_all : teleport_of(graph, i);
  *g = f->gathered[i];
  switch (f->fate) {
    case JUMPS: *g += f->dangling * *v; break;
    case SPREAD: *g += f->dangling / (double)graph->n_all; break;
    case KEPT: *g += out_weight(f->flow, i) == 0 ? f->y[i] : 0; break;
    default: *g += f->dangling * f->y[i]; break;
  }
}

/* Dampings that are tried, by rank: that asked for, the one that fits best with 2, 3 and 4 digits, and as it is. */
enum { TRIED = 5 };

typedef struct fit {
  double damping, bound;
  int rank; /* of the damping, as above */
} fit;

/* What a bound is compared with at least: f64's rounding makes smaller ones differ by chance. */
static const double level = 1e-13;

static int is_below(double bound, double other, double factor) { return (bound + level) * factor < other + level; }

/* A definition that fits about as well is taken if its damping is rounder. Without the rank of dangling nodes and normalised in
 * each step, scores are those of JUMPS with another damping, d / (1 - d D), so that this must decide. */
static int is_better(fit a, fit b) {
  return is_below(a.bound, b.bound, 30) || (!is_below(b.bound, a.bound, 30) && a.rank < b.rank);
}

/* *best := the d of the least squares of y - v - d (g - v); -1: any d fits, as g = v. */
static wr_status find_damping(const definition *f, double *sums, double *best) {
  int64_t n = f->flow->graph->n, count = blocks_of(n);
  double all[2] = {0, 0}; /* (y - v) (g - v), and the square of g - v */
#pragma omp parallel for schedule(static) if (n > BLOCK)
  for (int64_t b = 0; b < count; b++) {
    double v, g;
    sums[2 * b] = sums[2 * b + 1] = 0;
    for (int64_t i = b * BLOCK; i < end_of(b, n); i++) {
      terms(f, i, &v, &g);
      sums[2 * b] += (f->y[i] - v) * (g - v), sums[2 * b + 1] += (g - v) * (g - v);
    }
  }
  for (int64_t b = 0; b < count; b++) all[0] += sums[2 * b], all[1] += sums[2 * b + 1];
  PASS(wr_comm_sum(f->flow->graph->comm, all, 2));
  *best = all[1] > 0x1p-80 ? all[0] / all[1] : -1;
  return WR_OK;
}

static wr_status find_fit(const definition *f, double asked, double *sums, fit *found) {
  int64_t n = f->flow->graph->n, count = blocks_of(n);
  double best, all[TRIED] = {0};
  PASS(find_damping(f, sums, &best));
  const double tried[TRIED] = {asked, round(best * 1e2) / 1e2, round(best * 1e3) / 1e3, round(best * 1e4) / 1e4, best};
#pragma omp parallel for schedule(static) if (n > BLOCK)
  for (int64_t b = 0; b < count; b++) {
    double v, g, block[TRIED] = {0};
    for (int64_t i = b * BLOCK; i < end_of(b, n); i++) {
      terms(f, i, &v, &g);
      for (int t = 0; t < TRIED; t++) block[t] += fabs((v - f->y[i]) + tried[t] * (g - v));
    }
    memcpy(sums + TRIED * b, block, sizeof block);
  }
  for (int64_t b = 0; b < count; b++)
    for (int t = 0; t < TRIED; t++) all[t] += sums[TRIED * b + t];
  PASS(wr_comm_sum(f->flow->graph->comm, all, TRIED));
  *found = (fit){asked, all[0] / (1 - asked), 0};
  for (int t = 1; t < TRIED; t++) {
    if (!(tried[t] >= 0 && tried[t] < 1)) continue;
    double bound = all[t] / (1 - tried[t]);
    if (is_below(bound, found->bound, 10)) *found = (fit){tried[t], bound, t};
  }
  return WR_OK;
}

static void WR_PRINTF(2, 3) say(wr_score_reading *r, const char *format, ...) {
  va_list arguments;
  size_t used = strlen(r->text);
  if (used > 0) used += (size_t)snprintf(r->text + used, sizeof r->text - used, "; ");
  if (used >= sizeof r->text) return;
  va_start(arguments, format);
  vsnprintf(r->text + used, sizeof r->text - used, format, arguments);
  va_end(arguments);
}

static int is_near(double a, double b, double room) { return fabs(a - b) <= 1e-3 * room; }

/* The scale. y has the sum 1, and the file's scores are s y. Where the rank of dangling nodes is lost, each node gets c v by
 * jumps, c = 1 - d as a rule. Such scores have the sum s = d (s - s D) + c, and so c = s (1 - d) + d s D, which makes the
 * equation that of JUMPS for y: the two differ by the scale alone. c / (1 - d) = 1: dangling nodes were ignored; n: moreover
 * each node gets 1 - d, not (1 - d) / n. */
static void say_scale(wr_score_reading *r, const definition *f, double s) {
  double n = (double)f->flow->graph->n_all, d = r->damping, c = s + d * s * f->dangling / (1 - d);
  double off = fabs(s - 1);
  r->factor = 1;
  if (off <= fmax(10 * r->bound, 1e-12)) return;
  if (f->fate == JUMPS && f->dangling > 0 && is_near(c, 1, off))
    say(r, "the rank of dangling nodes is lost");
  else if (f->fate == JUMPS && f->dangling > 0 && is_near(c, n, fabs(s - n)))
    say(r, "each node gets 1 - damping by jumps, not its part of that, and the rank of dangling nodes is lost");
  else
    r->factor = s, say(r, "multiplied by %.6g", s);
}

static void describe(wr_score_reading *r, const definition *f, int reversed, double asked, double s) {
  static const char *const fates[FATES] = {
      [SPREAD] = "the rank of dangling nodes goes to all nodes alike",
      [KEPT] = "dangling nodes keep their rank",
      [DROPPED] = "the rank of dangling nodes is lost, and scores are normalised in each step"};
  r->text[0] = '\0';
  if (r->damping != asked) say(r, "damping %.6g", r->damping);
  if (reversed) say(r, "edges reversed");
  if (f->flow->links->val && f->flow->val == NULL) say(r, "weights ignored");
  if (f->uniform) say(r, "no personalisation");
  if (fates[f->fate]) say(r, "%s", fates[f->fate]);
  say_scale(r, f, s);
}

/* gathered[n] := what each node gets by its links, for scores y. x and gathered have room for all columns. */
static wr_status gather_all(const flow *f, const double *y, double *x, double *gathered) {
  const wr_csr *m = f->links;
  int64_t n = m->nrows;
  make_shares(f, y, x);
  if (!f->by_columns) {
#pragma omp parallel for schedule(dynamic, BLOCK) if (n > BLOCK)
    for (int64_t i = 0; i < n; i++) gathered[i] = total_of(gather(f, x, i));
    return WR_OK;
  }
  for (int64_t j = 0; j < m->ncols; j++) gathered[j] = 0;
  for (int64_t i = 0; i < n; i++) /* one thread: sums depend on their order */
    for (int64_t k = m->row_ptr[i]; k < m->row_ptr[i + 1]; k++) gathered[m->col[k]] += part_of(f, k, i) * x[i];
  return m->halo ? wr_halo_sum(m, gathered) : WR_OK;
}

/* Tries all that a flow leaves open. y: the scores divided by their sum s. */
static wr_status try_flow(const flow *f, int reversed, double asked, const double *y, double s, double *x,
                          double *gathered, double *sums, fit *best, wr_score_reading *reading) {
  int64_t n = f->graph->n, count = blocks_of(n);
  double dangling = 0;
  PASS(gather_all(f, y, x, gathered));
#pragma omp parallel for schedule(static) if (n > BLOCK)
  for (int64_t b = 0; b < count; b++) {
    sums[b] = 0;
    for (int64_t i = b * BLOCK; i < end_of(b, n); i++)
      if (out_weight(f, i) == 0) sums[b] += y[i];
  }
  for (int64_t b = 0; b < count; b++) dangling += sums[b];
  PASS(wr_comm_sum(f->graph->comm, &dangling, 1));
  for (int uniform = 0; uniform <= (f->graph->teleport != NULL); uniform++)
    for (fate k = JUMPS; k < (dangling > 0 ? FATES : SPREAD); k++) {
      if (k == SPREAD && (uniform || f->graph->teleport == NULL)) continue; /* as JUMPS */
      definition tried = {f, y, gathered, dangling, uniform, k};
      fit found;
      PASS(find_fit(&tried, asked, sums, &found));
      if (!is_better(found, *best)) continue;
      *best = found;
      reading->damping = found.damping, reading->bound = found.bound;
      describe(reading, &tried, reversed, asked, s);
    }
  return WR_OK;
}

/* out[columns] := the sums of weights of the links out of each node, in the order of the links. *finite := 0 if one of them is
 * beyond f64, in any part. */
static wr_status sum_weights(const flow *f, double *out, int *finite) {
  const wr_csr *m = f->links;
  int64_t beyond = 0;
  for (int64_t j = 0; j < m->ncols; j++) out[j] = 0;
  for (int64_t i = 0; i < m->nrows; i++)
    for (int64_t k = m->row_ptr[i]; k < m->row_ptr[i + 1]; k++)
      out[f->by_columns ? i : m->col[k]] += f->val ? f->val[k] : 1;
  if (m->halo && !f->by_columns) PASS(wr_halo_sum(m, out));
  for (int64_t i = 0; i < m->nrows; i++) beyond += !isfinite(out[i]);
  PASS(wr_comm_sum_counts(f->graph->comm, &beyond, 1));
  *finite = beyond == 0;
  return WR_OK;
}

wr_status wr_scores_explain(const wr_graph *graph, double damping, const double *scores, const wr_score_bound *asked,
                            wr_score_reading *reading) {
  wr_status status;
  double *y = NULL, *buffer = NULL, *sums = NULL;
  fit best = {.bound = INFINITY, .rank = TRIED};
  WR_NEED_OK(check_arguments(graph, damping, scores, __func__));
  WR_NEED(asked);
  WR_NEED(reading);
  int64_t n = graph->n, columns = graph->links->ncols;
  int one_way = !graph->links->symmetric && !graph->symmetric, finite = 1;
  *reading = (wr_score_reading){.damping = damping, .factor = 1, .bound = INFINITY};
  if (!(asked->sum > 0) || !isfinite(asked->sum)) return WR_OK;
  status = wr_alloc(&buffer, 3 * columns, sizeof *buffer, "sums over links");
  if (status == WR_OK) status = wr_alloc(&sums, TRIED * blocks_of(n), sizeof *sums, "sums of a residual");
  TRY(wr_comm_agree(graph->comm, status));
  double *x = buffer, *gathered = buffer + columns, *out = buffer + 2 * columns;
  TRY(wr_halo_extend(graph->links, scores, &y));
#pragma omp parallel for schedule(static) if (columns > BLOCK)
  for (int64_t j = 0; j < columns; j++) y[j] /= asked->sum;
  for (int back = 0; back <= one_way; back++) {
    const wr_csr *m = back ? graph->links : graph->flow;
    flow f = {.links = m, .graph = graph, .val = m->val, .is_divided = !back, .by_columns = back && graph->edges_in};
    if (back) {
      TRY(sum_weights(&f, out, &finite));
      f.out = out;
    }
    if (!finite) break; /* no such graph */
    TRY(try_flow(&f, back, damping, y, asked->sum, x, gathered, sums, &best, reading));
    if (m->val == NULL) continue;
    f.val = NULL, f.out = out;
    TRY(sum_weights(&f, out, &finite));
    TRY(try_flow(&f, back, damping, y, asked->sum, x, gathered, sums, &best, reading));
  }
  reading->found = reading->text[0] != '\0' && reading->bound <= fmin(asked->bound / 100, 0.01);
done:
  wr_free(y);
  wr_free(buffer);
  wr_free(sums);
  return status;
}
