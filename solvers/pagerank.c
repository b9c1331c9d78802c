#include "solvers/pagerank.h"

#include <math.h>
#include <string.h>

#include "config/memory.h"

/* The scalars of the bank. */
enum { CHANGE, DANGLING, SHIFT, DAMPING, REST, WEIGHT, SCALARS };

/* shift = (d * dangling + (1 - d)) * weight: what teleporting gives to each page, or to each unit of the teleport vector. */
static const wr_scalar_op make_shift[] = {
    {WR_S_MUL, SHIFT, DAMPING, DANGLING, 0},
    {WR_S_ADD, SHIFT, SHIFT, REST, 0},
    {WR_S_MUL, SHIFT, SHIFT, WEIGHT, 0},
};
enum { MAKE_SHIFT = sizeof make_shift / sizeof make_shift[0] };

wr_status wr_pagerank_open(wr_pagerank *p, const wr_graph *graph, wr_plan *plan, wr_env *env) {
  wr_status status;
  *p = (wr_pagerank){.graph = graph, .plan = plan, .env = env};
  for (int i = 0; i < 2; i++) {
    TRY(env->ops->alloc(env, graph->n, env->type, "ranks", &p->r[i]));
    TRY(env->ops->alloc(env, graph->n, env->type, "scaled ranks", &p->x[i]));
  }
  TRY(env->ops->alloc(env, graph->n, env->type, "inverse out-degrees", &p->scale));
  TRY(env->ops->alloc(env, SCALARS, WR_F64, "scalars", &p->bank));
  TRY(env->ops->upload(env, &p->scale, graph->scale));
  if (graph->teleport) {
    TRY(env->ops->alloc(env, graph->n, env->type, "the teleport vector", &p->teleport));
    TRY(env->ops->upload(env, &p->teleport, graph->teleport));
  }
done:
  if (status != WR_OK) wr_pagerank_close(p);
  return status;
}

void wr_pagerank_close(wr_pagerank *p) {
  if (p->env == NULL) return;
  wr_vec *const vectors[] = {&p->r[0], &p->r[1], &p->x[0], &p->x[1], &p->scale, &p->teleport, &p->bank};
  for (size_t v = 0; v < sizeof vectors / sizeof vectors[0]; v++) p->env->ops->release(p->env, vectors[v]);
  *p = (wr_pagerank){0};
}

/* r := the start, x := scale * r, and the first shift. */
static wr_status start(wr_pagerank *p, const wr_pagerank_options *o) {
  wr_status status;
  wr_env *env = p->env;
  const wr_graph *g = p->graph;
  double scalars[SCALARS] = {[DAMPING] = o->damping, [REST] = 1 - o->damping};
  scalars[WEIGHT] = g->teleport ? 1 : 1 / (double)g->n;
  wr_fused first = {.in = {&p->r[0]},
                    .times = &p->scale,
                    .out = {&p->x[0]},
                    .c = {{{.factor = 1}}},
                    .reduce = {{WR_SUM_UNSCALED, &p->r[0], &p->scale, {&p->bank, DANGLING}}}};
  p->now = 0;
  wr_plan_forget(p->plan);
  TRY(env->ops->upload(env, &p->bank, scalars));
  if (g->start || g->teleport)
    TRY(env->ops->upload(env, &p->r[0], g->start ? g->start : g->teleport));
  else
    TRY(env->ops->fill(env, &p->r[0], 1 / (double)g->n));
  TRY(env->ops->fused(env, &first));
  TRY(env->ops->scalars(env, &p->bank, make_shift, MAKE_SHIFT));
done:
  return status;
}

/* One step from r[now], x[now] into the others. What it moves beyond the multiply's matrix, x and y, in vectors of n: reads
 * scale, the old r and, if personalised, the teleport; writes the next x. */
static wr_status step(wr_pagerank *p, double damping, int prepare_next) {
  int now = p->now, next = 1 - now;
  wr_epilogue epilogue = {.shift = {&p->bank, SHIFT},
                          .shift_dir = p->teleport.id ? &p->teleport : NULL,
                          .scale = &p->scale,
                          .scaled = &p->x[next],
                          .reduce = {{WR_L1DIFF, NULL, &p->r[now], {&p->bank, CHANGE}},
                                     {WR_SUM_UNSCALED, NULL, NULL, {&p->bank, DANGLING}}}};
  wr_apply apply = {.alpha = damping, .x = &p->x[now], .y = &p->r[next], .epilogue = &epilogue};
  if (prepare_next) apply.y_next = &p->r[now]; /* the old ranks are dead once the change is measured */
  return wr_plan_apply(p->plan, &apply);
}

/* The changes of the last ten iterations, and the least of those before them. */
enum { WINDOW = 10 };
typedef struct changes {
  int64_t iteration[WINDOW];
  double change[WINDOW];
  int count;
  double least_before;
} changes;

static void remember(changes *c, int64_t iteration, double change) {
  while (c->count > 0 && (c->count == WINDOW || c->iteration[0] <= iteration - WINDOW)) {
    c->least_before = fmin(c->least_before, c->change[0]);
    c->count--;
    memmove(c->iteration, c->iteration + 1, (size_t)c->count * sizeof *c->iteration);
    memmove(c->change, c->change + 1, (size_t)c->count * sizeof *c->change);
  }
  c->iteration[c->count] = iteration, c->change[c->count] = change;
  c->count++;
}

/* Exact steps shrink the change by d at least; when ten of them did not even come half way of that, and the change is as
 * small as rounding, then rounding is what is left. */
static int stagnated(const changes *c, double damping, double unit) {
  double least = INFINITY;
  for (int i = 0; i < c->count; i++) least = fmin(least, c->change[i]);
  return isfinite(c->least_before) && least > (1 + pow(damping, WINDOW)) / 2 * c->least_before && least < 1000 * unit;
}

/* What the iteration may leave of the tolerance: rounding takes its part first, as long as that is the smaller one. */
static double target(const wr_pagerank_options *o, double unit) {
  double rounding = 4 * unit / (1 - o->damping);
  return o->stop_on_change || rounding > o->tolerance / 2 ? o->tolerance : o->tolerance - rounding;
}

/* What a look at the change says; returns 1 when the iteration ends. */
static int judge(const wr_pagerank_options *o, double unit, const wr_monitor *monitor, changes *seen,
                 wr_result *result) {
  double rate = o->damping / (1 - o->damping);
  result->rounding = 4 * unit / (1 - o->damping);
  result->bound = result->change * rate + result->rounding;
  result->measure = o->stop_on_change ? result->change : result->change * rate;
  remember(seen, result->iterations, result->change);
  if (!isfinite(result->change))
    result->outcome = WR_NON_FINITE;
  else if (result->measure <= target(o, unit))
    result->outcome = WR_CONVERGED;
  else if (stagnated(seen, o->damping, unit))
    result->outcome = WR_STAGNATED;
  else if (monitor->interrupted && *monitor->interrupted)
    result->outcome = WR_INTERRUPTED;
  else
    return 0;
  return 1;
}

/* Where rows are summed in less than f64, a long one may be off by more than its result is rounded; counted at the end. */
static wr_status count_sums(wr_pagerank *p, const wr_pagerank_options *o, wr_result *result) {
  wr_status status = WR_OK;
  double *ranks = NULL, weight = 0, sum_unit = wr_plan_get_info(p->plan)->sum_unit;
  const int64_t *row_ptr = p->graph->flow->row_ptr;
  if (!(sum_unit > wr_type_unit(WR_F64)) || !isfinite(result->change)) goto done;
  TRY(wr_alloc(&ranks, p->graph->n, sizeof *ranks, "the ranks"));
  TRY(wr_pagerank_download(p, ranks));
  for (int64_t i = 0; i < p->graph->n; i++) weight += (double)(row_ptr[i + 1] - row_ptr[i]) * fabs(ranks[i]);
  result->rounding += sum_unit * weight / (1 - o->damping);
  result->bound += sum_unit * weight / (1 - o->damping);
done:
  wr_free(ranks);
  return status;
}

wr_status wr_pagerank_solve(wr_pagerank *p, const wr_pagerank_options *o, const wr_monitor *monitor,
                            wr_result *result) {
  wr_status status;
  double scalars[SCALARS], unit = wr_type_unit(p->env->type);
  changes seen = {.least_before = INFINITY};
  *result = (wr_result){.outcome = WR_MAX_ITERATIONS, .change = INFINITY, .measure = INFINITY, .bound = INFINITY,
                        .by_change = o->stop_on_change};
  TRY(start(p, o));
  for (int64_t k = 1; k <= o->iterations; k++) {
    TRY(step(p, o->damping, 1));
    TRY(p->env->ops->scalars(p->env, &p->bank, make_shift, MAKE_SHIFT));
    p->now = 1 - p->now;
    if (k % o->check_every != 0 && k != o->iterations) continue;
    TRY(p->env->ops->download(p->env, &p->bank, scalars));
    TRY(wr_plan_time_collect(p->plan));
    result->iterations = k, result->change = scalars[CHANGE];
    int end = judge(o, unit, monitor, &seen, result);
    if (monitor->history) TRY(wr_history_add(monitor->history, k, result->change));
    if (monitor->progress) monitor->progress(monitor->context, k, result->measure, o->tolerance);
    if (end) break;
  }
  TRY(count_sums(p, o, result));
done:
  wr_plan_forget(p->plan);
  return status;
}

wr_status wr_pagerank_download(wr_pagerank *p, double *scores) {
  return p->env->ops->download(p->env, &p->r[p->now], scores);
}

wr_status wr_pagerank_step(wr_pagerank *p, const wr_pagerank_options *o, double *scores, double *change,
                           double *dangling) {
  wr_status status;
  double scalars[SCALARS];
  wr_plan_forget(p->plan);
  TRY(p->env->ops->download(p->env, &p->bank, scalars));
  *dangling = scalars[DANGLING];
  TRY(step(p, o->damping, 0)); /* the shift in the bank is that of the current ranks */
  TRY(p->env->ops->download(p->env, &p->r[1 - p->now], scores));
  TRY(p->env->ops->download(p->env, &p->bank, scalars));
  *change = scalars[CHANGE];
done:
  return status;
}

wr_status wr_pagerank_normalise(double *scores, int64_t n, const wr_pagerank_options *o, double rounding) {
  double sum = 0, correction = 0; /* compensated: the sum is compared with 1 to a few units */
  for (int64_t i = 0; i < n; i++) {
    double y = scores[i] - correction, next = sum + y;
    correction = (next - sum) - y;
    sum = next;
  }
  double allowed = fmax(o->tolerance, 25 * rounding);
  if (!(fabs(sum - 1) <= allowed))
    return wr_fail(WR_EINTERNAL, "the scores have the sum %.17g, off 1 by more than %g", sum, allowed);
  for (int64_t i = 0; i < n; i++) scores[i] /= sum;
  return WR_OK;
}
