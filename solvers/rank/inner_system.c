#include "solvers/rank/inner_system.h"

#include <math.h>
#include <string.h>

#include "config/memory.h"

/* ---- Memory ---- */

enum { BLOCK_WORK = 1 << 15 }; /* rows and links of a block, some ten microseconds of a sweep */

static int64_t links_into(const wr_graph *g, int64_t node) {
  return g->flow->row_ptr[node + 1] - g->flow->row_ptr[node];
}

wr_status wr_inner_open(const wr_graph *graph, const wr_components *components, double damping, int64_t least,
                        wr_team *team, wr_inner_system *s) {
  wr_status status = WR_OK;
  int64_t rows = 0, links = 0;
  *s = (wr_inner_system){.graph = graph, .components = components, .team = team, .damping = damping};
  for (int64_t c = 0; c < components->count; c++) {
    int64_t size = components->first[c + 1] - components->first[c], into = 0;
    if (size < least) continue;
    for (int64_t k = components->first[c]; k < components->first[c + 1]; k++)
      into += links_into(graph, components->node[k]);
    if (size > rows) rows = size;
    if (into > links) links = into;
  }
  if (rows == 0) return WR_OK;
  TRY(wr_alloc(&s->row_ptr, rows + 1, sizeof *s->row_ptr, "the links within a component"));
  TRY(wr_alloc(&s->col, links, sizeof *s->col, "the links within a component"));
  if (graph->flow->val) TRY(wr_alloc(&s->val, links, sizeof *s->val, "the links within a component"));
  double **const vectors[] = {&s->diagonal, &s->right, &s->weight, &s->x, &s->kept, &s->shadow};
  for (size_t v = 0; v < sizeof vectors / sizeof *vectors; v++)
    TRY(wr_alloc(vectors[v], rows, sizeof **vectors[v], "vectors of a component"));
  TRY(wr_alloc(&s->v, 2 * rows, sizeof *s->v, "vectors of a component"));
  TRY(wr_alloc(&s->t, 2 * rows, sizeof *s->t, "vectors of a component"));
done:
  if (status != WR_OK) wr_inner_close(s);
  return status;
}

void wr_inner_close(wr_inner_system *s) {
  wr_free(s->row_ptr);
  wr_free(s->col);
  double *const vectors[] = {s->val, s->diagonal, s->right, s->weight, s->x, s->kept, s->shadow, s->v, s->t};
  for (size_t v = 0; v < sizeof vectors / sizeof *vectors; v++) wr_free(vectors[v]);
  *s = (wr_inner_system){0};
}

/* ---- The system ---- */

/* Blocks of about the same work, counting all links into their nodes. */
static void cut_into_blocks(wr_inner_system *s, const int32_t *node) {
  int64_t work = 0, done = 0;
  for (int64_t k = 0; k < s->m; k++) work += 1 + links_into(s->graph, node[k]);
  int64_t blocks = work / BLOCK_WORK;
  s->blocks = (int)(blocks < 1 ? 1 : blocks > WR_INNER_BLOCKS ? WR_INNER_BLOCKS : blocks);
  int b = 1;
  s->block[0] = 0;
  for (int64_t k = 0; k < s->m && b < s->blocks; k++) {
    done += 1 + links_into(s->graph, node[k]);
    if ((double)done * s->blocks >= (double)work * b) s->block[b++] = k + 1;
  }
  while (b <= s->blocks) s->block[b++] = s->m;
}

void wr_inner_begin(wr_inner_system *s, int64_t component, const double *given) {
  const wr_graph *g = s->graph;
  const wr_components *c = s->components;
  const wr_csr *flow = g->flow;
  int64_t first = c->first[component], m = s->m = c->first[component + 1] - first, links = 0;
  const int32_t *node = c->node + first;
  cut_into_blocks(s, node);
  for (int64_t k = 0; k < m; k++) s->weight[k] = 0;
  s->row_ptr[0] = 0, s->sweeps = 0;
  for (int b = 0; b < s->blocks; b++)
    for (int64_t k = s->block[b]; k < s->block[b + 1]; k++) {
      int64_t i = node[k];
      double self = 0, outer = 0;
      for (int64_t e = flow->row_ptr[i]; e < flow->row_ptr[i + 1]; e++) {
        int64_t from = flow->col[e], j = c->place[from] - first;
        double w = flow->val ? flow->val[e] : 1;
        if (w == 0) continue; /* no link: the node that it leaves may come later, or dangle */
        if (j == k) {
          self = w;
        } else if (j < 0) {
          outer += w * given[from];
        } else {
          int is_new = j < k && j >= s->block[b];
          if (flow->val) s->val[links] = w;
          s->col[links++] = (uint32_t)(is_new ? j : m + j);
          if (!is_new) s->weight[j] += s->damping * w;
        }
      }
      double v = g->teleport ? g->teleport[i] : 1 / (double)g->n;
      s->right[k] = v + s->damping * outer;
      s->diagonal[k] = g->scale[i] / (1 - s->damping * g->scale[i] * self);
      s->row_ptr[k + 1] = links;
    }
  s->links = links;
}

/* y_k / x_k. */
static double unscaled(const wr_inner_system *s, int64_t node) {
  return s->graph->flow->val ? 1 : wr_graph_out_weight(s->graph, node);
}

double wr_inner_guess(wr_inner_system *s, int64_t component, const double *guess) {
  const int32_t *node = s->components->node + s->components->first[component];
  double *left = s->t, right = 0, sum = 0,
         all = 0; /* left[m]: the sum of a column of the system, of I - d P^T in units of y per x */
  for (int64_t k = 0; k < s->m; k++) {
    left[k] = 1 / s->diagonal[k];
    double y = guess ? guess[node[k]] : s->right[k];
    s->x[k] = y / unscaled(s, node[k]);
    all += y;
  }
  for (int64_t e = 0; e < s->links; e++) {
    int64_t j = s->col[e] < s->m ? s->col[e] : s->col[e] - s->m;
    left[j] -= s->damping * (s->val ? s->val[e] : 1);
  }
  for (int64_t k = 0; k < s->m; k++) right += s->right[k], sum += left[k] * s->x[k];
  double factor = right / sum;
  if (!isfinite(factor * all) || !(factor > 0)) factor = all = 0;
  for (int64_t k = 0; k < s->m; k++) s->x[k] = factor > 0 ? factor * s->x[k] : 0;
  return factor * all;
}

/* ---- Operations, block by block ---- */

static void for_blocks(wr_inner_system *s, void (*work)(void *context, int64_t block)) {
  wr_team_for(s->team, s->blocks, work, s);
}

/* The sums of all blocks, added in their order. */
static double total(const wr_inner_system *s, int which) {
  double sum = 0;
  for (int b = 0; b < s->blocks; b++) sum += s->sums[b].of[which];
  return sum;
}

/* d sum_j w_kj x_j of row k; x[2 m]: of this sweep, and before it. Four sums, since an addition waits for the one before. */
static inline double gather(const wr_inner_system *s, const double *x, int64_t k) {
  double sum[4] = {0, 0, 0, 0};
  int64_t e = s->row_ptr[k], end = s->row_ptr[k + 1];
  if (s->val) {
    for (; e + 4 <= end; e += 4)
      for (int lane = 0; lane < 4; lane++) sum[lane] += s->val[e + lane] * x[s->col[e + lane]];
    for (; e < end; e++) sum[0] += s->val[e] * x[s->col[e]];
  } else {
    for (; e + 4 <= end; e += 4)
      for (int lane = 0; lane < 4; lane++) sum[lane] += x[s->col[e + lane]];
    for (; e < end; e++) sum[0] += x[s->col[e]];
  }
  return s->damping * ((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

/* v := a sweep of (1) from p; r := v - p. Sums: a bound on the residual of v, and of what it is when p is right but for the
 * rounding of its elements. */
static void relax_block(void *context, int64_t b) {
  wr_inner_system *s = context;
  double *v = s->v, *p = s->v + s->m, *r = s->t + s->m;
  wr_inner_sums sums = {{0}};
  for (int64_t k = s->block[b]; k < s->block[b + 1]; k++) {
    v[k] = s->diagonal[k] * (s->right[k] + gather(s, v, k));
    r[k] = v[k] - p[k];
    sums.of[0] += s->weight[k] * fabs(r[k]);
    sums.of[1] += s->weight[k] * fabs(v[k]);
  }
  s->sums[b] = sums;
}

/* With M the part of (1) that a sweep inverts and A all of it: output := M^-1 A input, input being behind output. It is input
 * minus a sweep from input without a right-hand side. Sums: (output, input), (output, output), and both with the shadow. */
static void apply_block(void *context, int64_t b) {
  wr_inner_system *s = context;
  double *out = s->output, *in = s->output + s->m;
  wr_inner_sums sums = {{0}};
  for (int64_t k = s->block[b]; k < s->block[b + 1]; k++) out[k] = s->diagonal[k] * gather(s, out, k);
  for (int64_t k = s->block[b]; k < s->block[b + 1]; k++) {
    out[k] = in[k] - out[k];
    sums.of[0] += out[k] * in[k], sums.of[1] += out[k] * out[k];
    sums.of[2] += s->shadow[k] * out[k], sums.of[3] += s->shadow[k] * in[k];
  }
  s->sums[b] = sums;
}

static void apply(wr_inner_system *s, double *pair) {
  s->output = pair;
  for_blocks(s, apply_block);
  s->sweeps++;
}

/* p := r and the shadow := r. Sum: (r, r). */
static void start_block(void *context, int64_t b) {
  wr_inner_system *s = context;
  double *p = s->v + s->m, *r = s->t + s->m, sum = 0;
  for (int64_t k = s->block[b]; k < s->block[b + 1]; k++) p[k] = s->shadow[k] = r[k], sum += r[k] * r[k];
  s->sums[b].of[0] = sum;
}

/* r := r - alpha v. */
static void half_block(void *context, int64_t b) {
  wr_inner_system *s = context;
  const double *v = s->v;
  double *r = s->t + s->m, alpha = s->alpha;
  for (int64_t k = s->block[b]; k < s->block[b + 1]; k++) r[k] -= alpha * v[k];
}

/* x := x + alpha p + omega r, r := r - omega t, p := r + beta (p - omega v). Sum: a bound on the residual after
 * a sweep more. */
static void update_block(void *context, int64_t b) {
  wr_inner_system *s = context;
  const double *v = s->v, *t = s->t;
  double *p = s->v + s->m, *r = s->t + s->m, *x = s->x, sum = 0;
  double alpha = s->alpha, omega = s->omega, beta = s->beta;
  for (int64_t k = s->block[b]; k < s->block[b + 1]; k++) {
    x[k] += alpha * p[k] + omega * r[k];
    r[k] -= omega * t[k];
    p[k] = r[k] + beta * (p[k] - omega * v[k]);
    sum += s->weight[k] * fabs(r[k]);
  }
  s->sums[b].of[0] = sum;
}

/* ---- The solve ---- */

/* A solve in progress. */
typedef struct solve {
  wr_inner_system *s;
  double target;
  int64_t most;
  const wr_monitor *monitor;
  wr_inner_progress *progress;
  void *context;
  int interrupted;
} solve;

static int ends(solve *g, double residual) {
  if (g->progress) g->progress(g->context, residual, g->s->sweeps);
  if (!g->interrupted) g->interrupted = wr_monitor_ends(g->monitor);
  return g->interrupted || g->s->sweeps >= g->most;
}

/* A sweep from x; its result is in v and its step in r. The bound on the residual of v: with y before the sweep, the residual
 * of row k is d sum w_kj (v_j - y_j) over links that used the x before. least: what rounding leaves of it. */
static double relax(wr_inner_system *s, double *least) {
  memcpy(s->v + s->m, s->x, (size_t)s->m * sizeof *s->x);
  for_blocks(s, relax_block);
  s->sweeps++;
  *least = 4 * 0x1p-53 * total(s, 1);
  return total(s, 0);
}

static void take(wr_inner_system *s) { memcpy(s->x, s->v, (size_t)s->m * sizeof *s->x); }

/* After so many iterations of BiCGSTAB that do not bring the residual to 0.9 of the least before, or so many sweeps that hardly
 * make it smaller, it has stagnated. */
enum { PATIENCE = 100 };

/* BiCGSTAB (van der Vorst 1992) on M^-1 A z = r, z being added to x, until the residual of its recurrence meets the target.
 * The caller finds out by how much the true residual differs. (shadow, r) of the next iteration comes from products that are
 * there before r is, so that all vectors are updated at once. */
static void accelerate(solve *g) {
  wr_inner_system *s = g->s;
  for_blocks(s, start_block);
  double rho = total(s, 0), best = INFINITY;
  for (int since = 0; since < PATIENCE; since++) {
    apply(s, s->v);
    double alpha = rho / total(s, 2);
    if (!isfinite(alpha) || alpha == 0) return;
    s->alpha = alpha;
    for_blocks(s, half_block);
    apply(s, s->t);
    double tt = total(s, 1), omega = tt > 0 ? total(s, 0) / tt : 0, next = total(s, 3) - omega * total(s, 2);
    double beta = next / rho * (alpha / omega);
    int last = !isfinite(beta) || beta == 0;
    s->omega = isfinite(omega) ? omega : 0, s->beta = last ? 0 : beta;
    for_blocks(s, update_block);
    double residual = total(s, 0);
    if (!isfinite(residual)) return;
    if (residual < 0.9 * best) best = residual, since = 0;
    if (last || residual <= g->target || ends(g, residual)) return;
    rho = next;
  }
}

wr_inner_end wr_inner_solve(wr_inner_system *s, double target, int64_t most, const wr_monitor *monitor,
                            wr_inner_progress *progress, void *context) {
  solve g = {.s = s, .target = target, .most = most, .monitor = monitor, .progress = progress, .context = context};
  double least, best = INFINITY, residual = relax(s, &least);
  int accelerates = 1, hardly = 0; /* sweeps in a row that made the residual hardly smaller */
  while (residual > fmax(target, least) && hardly < PATIENCE && !ends(&g, residual)) {
    if (accelerates) {
      memcpy(s->kept, s->v, (size_t)s->m * sizeof *s->x);
      double before = residual;
      accelerate(&g);
      residual = relax(s, &least);
      if (!(residual < before)) memcpy(s->x, s->kept, (size_t)s->m * sizeof *s->x), residual = relax(s, &least);
      accelerates = residual < before / 2;
    } else {
      take(s);
      residual = relax(s, &least);
    }
    hardly = residual < best * (1 - 0x1p-20) ? 0 : hardly + 1;
    best = fmin(best, residual);
  }
  take(s);
  return (wr_inner_end){.residual = residual, .interrupted = g.interrupted};
}
