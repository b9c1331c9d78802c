#include "solvers/pagerank.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "config/elements.h"
#include "config/memory.h"
#include "solvers/iteration.h"
#include "solvers/order.h"
#include "spmv/steps/pagerank_steps.h"
#include "spmv/steps/steps.h"

/* A scalar of the solver by its name. */
#define SCALAR(p, member) ((wr_scalar){&(p)->bank, WR_SCALAR_INDEX(wr_pagerank_scalars, member)})
#include "spmv/device/vec_argument.h"
#include "spmv/plan_argument.h"

/* *by_row := by_page in the order of the flow's rows: by_page itself, or *memory, which is to be freed. */
static wr_status arrange(const wr_graph *g, const double *by_page, const double **by_row, double **memory) {
  wr_status status = WR_OK;
  *by_row = by_page, *memory = NULL;
  if (g->order == NULL) return WR_OK;
  TRY(wr_alloc(memory, g->n, sizeof **memory, "a vector in the order of hubs"));
  wr_graph_arrange(g, by_page, *memory);
  *by_row = *memory;
done:
  return status;
}

wr_status wr_pagerank_open(wr_pagerank *p, const wr_graph *graph, wr_plan *plan, wr_env *env) {
  wr_status status;
  const double *scale;
  double *memory = NULL;
  WR_NEED(p);
  *p = (wr_pagerank){0};
  WR_REFUSE_IF(graph == NULL || graph->flow == NULL, "graph is %s", graph ? "not finished" : "NULL");
  WR_NEED_OPEN(env);
  WR_NEED_OK(wr_plan_check_match(plan, graph->flow, env, __func__));
  *p = (wr_pagerank){.graph = graph, .plan = plan, .env = env};
  for (int i = 0; i < WR_PAGERANK_VECTORS; i++)
    TRY(env->ops->alloc(env, graph->n, env->type, "ranks by out-degree", &p->x[i]));
  TRY(env->ops->alloc(env, WR_SCALAR_COUNT(wr_pagerank_scalars), WR_F64, "scalars", &p->bank));
  TRY(arrange(graph, graph->scale, &scale, &memory));
  TRY(env->ops->compact(env, graph->n, scale, "inverse out-degrees", &p->scale));
  TRY(wr_iteration_open(env, &p->loop));
  if (graph->teleport) {
    TRY(env->ops->alloc(env, graph->n, env->type, "the teleport vector", &p->teleport));
    TRY(wr_graph_place(graph, env, graph->teleport, &p->teleport));
  }
done:
  wr_free(memory);
  if (status != WR_OK) wr_pagerank_close(p);
  return status;
}

void wr_pagerank_close(wr_pagerank *p) {
  if (p == NULL || p->env == NULL) return;
  wr_iteration_close(p->loop);
  wr_vec *const vectors[] = {&p->x[0], &p->x[1], &p->x[2], &p->scale, &p->teleport, &p->degrees, &p->bank};
  for (size_t v = 0; v < sizeof vectors / sizeof vectors[0]; v++) p->env->ops->release(p->env, vectors[v]);
  *p = (wr_pagerank){0};
}

/* A bound on what rounding adds to the L1 error. Each step: 4u, for the product with d, the sum with the teleport,
 * 1 / out-degree and the product with that, and term_unit for the terms of the multiply. Once: 2^-53 for the product with the
 * out-degree that makes the rank of the answer. */
static double rounding_of(const wr_pagerank *p, const wr_pagerank_options *o) {
  double step = 4 * wr_type_unit(p->env->type) + wr_plan_get_info(p->plan)->term_unit;
  return step / (1 - o->damping) + wr_type_unit(WR_F64);
}

/* By which a change is multiplied to bound the error. The power method's answer is one step better than what was changed. */
static double rate_of(const wr_pagerank_options *o) {
  return (o->method == WR_PAGERANK_POWER ? o->damping : 1) / (1 - o->damping);
}

/* The change at which to stop. The bound has a part for rounding, which is taken off the tolerance if half of it is left. */
static double target_change(const wr_pagerank_options *o, double rounding) {
  if (o->stop_on_change) return o->tolerance;
  double target = rounding > o->tolerance / 2 ? o->tolerance : o->tolerance - rounding;
  if (o->method != WR_PAGERANK_POWER) return target * (1 - o->damping);
  return o->damping > 0 ? target * (1 - o->damping) / o->damping : DBL_MAX;
}

/* The change at which the solve ends, or the order is looked at first. */
static double first_target(const wr_pagerank *p, const wr_pagerank_options *o, const wr_order_watch *watch) {
  double rounding = rounding_of(p, o), last = target_change(o, rounding);
  if (watch->ranks == 0 || !(o->damping > 0)) return last;
  return fmax(last, (wr_order_first_bound(watch) - rounding) / rate_of(o));
}

/* With scales_y: x[now] has ranks, which are scaled. In any case: the dangling mass of x[now], and the shift for it. */
static wr_status find_dangling(wr_pagerank *p, int scales_y) {
  wr_status status;
  wr_epilogue e = {.scale = &p->scale,
                   .scales_y = scales_y,
                   .reduce = {{WR_SUM_UNSCALED, NULL, NULL, SCALAR(p, dangling)}},
                   .then = WR_THEN(pagerank_find_shift, &p->bank, NULL)};
  p->env->then_done = 0;
  TRY(p->env->ops->epilogue(p->env, &(wr_apply){.y = &p->x[p->now], .epilogue = &e}));
  TRY(wr_then_run(p->env, &e.then));
done:
  return status;
}

/* The sum of v over the pages with links, or those without, v NULL: of 1 / n each. */
static double mass_of(const wr_graph *g, const double *v, int with_links) {
  double sum = 0, correction = 0;
  if (v == NULL) return (double)(with_links ? g->n - g->dangling : g->dangling) / (double)g->n;
  for (int64_t i = 0; i < g->n; i++) {
    if ((g->scale[i] != 0) != with_links) continue;
    double term = v[i] - correction, next = sum + term;
    correction = (next - sum) - term, sum = next;
  }
  return sum;
}

/* For Chebyshev's method. A page without links is isolated, so its rank is jump * v_i where the mass m of all such pages
 * satisfies jump = d m + 1 - d, m = jump * alone, alone being the sum of their v_i. Ranks that begin there stay, and the sum of
 * all ranks stays 1 if it begins so: the others are multiplied by 1 - m = (1 - alone) / (1 - d alone), divided by the sum of
 * theirs. The others begin at the teleport where the guess gives them nothing. */
typedef struct isolated {
  double jump, rest;   /* by which the ranks of pages without links, and all others, are multiplied */
  const double *start; /* [n] ranks of the others before that; NULL: 1 / n each                     */
} isolated;

static isolated isolated_of(const wr_graph *g, double damping) {
  isolated by = {.start = g->start ? g->start : g->teleport};
  double others = mass_of(g, g->teleport, 1), given = mass_of(g, by.start, 1);
  double share = 1 - damping * mass_of(g, g->teleport, 0);
  if (!(given > 1e-100)) by.start = g->teleport, given = others;
  by.jump = (1 - damping) / share, by.rest = given > 0 ? others / share / given : 0;
  return by;
}

/* x[0] := the guess, as isolated_of has it. */
static wr_status upload_guess(wr_pagerank *p, isolated by) {
  wr_status status;
  const wr_graph *g = p->graph;
  double *ranks = NULL, each = 1 / (double)g->n;
  TRY(wr_alloc(&ranks, g->n, sizeof *ranks, "the first guess"));
  for (int64_t i = 0; i < g->n; i++)
    ranks[i] =
        g->scale[i] != 0 ? by.rest * (by.start ? by.start[i] : each) : by.jump * (g->teleport ? g->teleport[i] : each);
  TRY(wr_graph_place(p->graph, p->env, ranks, &p->x[0]));
done:
  wr_free(ranks);
  return status;
}

/* The same on the device for a start at v, whose scaled ranks are in x[0]; x[1] has those of pages with links alone. */
static wr_status multiply_start(wr_pagerank *p, isolated by) {
  wr_fused f = {.in = {&p->x[0], &p->x[1]},
                .out = {&p->x[0]},
                .c = {{{.factor = by.jump}, {.factor = by.rest - by.jump}}}};
  return p->env->ops->fused(p->env, &f);
}

/* x[0] := the start, scaled; the scalars and the first shift. */
static wr_status start(wr_pagerank *p, const wr_pagerank_options *o, const wr_order_watch *watch,
                       wr_pagerank_scalars *scalars) {
  wr_status status;
  wr_env *env = p->env;
  const wr_graph *g = p->graph;
  double unit = wr_type_unit(env->type);
  int is_chebyshev = o->method == WR_PAGERANK_CHEBYSHEV, is_apart = is_chebyshev && g->dangling > 0;
  isolated by = is_apart ? isolated_of(g, o->damping) : (isolated){.jump = 1 - o->damping, .rest = 1};
  *scalars = (wr_pagerank_scalars){0};
  scalars->damping = is_chebyshev ? 0 : o->damping, scalars->rest = is_chebyshev ? by.jump : 1 - o->damping;
  scalars->relaxation = 1, scalars->omega = 2, scalars->quarter = is_chebyshev ? o->damping * o->damping / 4 : 0;
  scalars->weight = g->teleport ? 1 : 1 / (double)g->n;
  scalars->limit = (double)o->iterations, scalars->every = (double)p->loop->every;
  scalars->last_part = scalars->limit - p->loop->unroll;
  scalars->target = first_target(p, o, watch);
  scalars->least = scalars->window_least = scalars->huge = DBL_MAX;
  scalars->window_length = 10, scalars->hardly = (1 + pow(o->damping, 10)) / 2, scalars->tiny = 1000 * unit;
  scalars->log_room = WR_LOG_ROOM;
  p->now = 0;
  TRY(env->ops->upload(env, &p->bank, (double *)scalars));
  if (o->start)
    TRY(env->ops->fused(env, &(wr_fused){.in = {o->start}, .out = {&p->x[0]}, .c = {{{.factor = 1}}}}));
  else if (g->start && is_apart)
    TRY(upload_guess(p, by));
  else if (g->start || g->teleport)
    TRY(wr_graph_place(g, env, g->start ? g->start : g->teleport, &p->x[0]));
  else
    TRY(env->ops->fill(env, &p->x[0], 1 / (double)g->n));
  if (is_apart && !g->start && !o->start) {
    wr_epilogue linked = {.scale = &p->scale, .scaled = &p->x[1]};
    TRY(env->ops->epilogue(env, &(wr_apply){.y = &p->x[0], .epilogue = &linked}));
  }
  TRY(find_dangling(p, 1));
  if (is_apart && !g->start && !o->start) TRY(multiply_start(p, by));
done:
  return status;
}

static int after(int k) { return (k + 1) % WR_PAGERANK_VECTORS; }

/* The vector that has the answer. */
static int answer_after(const wr_pagerank_options *o, double steps) {
  double behind = o->method == WR_PAGERANK_CHEBYSHEV ? 1 : 0;
  return (int)((int64_t)fmax(steps - behind, 0) % WR_PAGERANK_VECTORS);
}

/* One step from x[now] to the next vector, then a step on the scalars; follows: another one comes. P is the matrix, and all
 * else are vectors of n:
 *
 *   operation                                    reads                        writes
 *   next x = scale (d P^T x + ...), two sums     P x scale, the teleport      next x
 *   Chebyshev's: relaxed from the last but one   that besides
 *
 * x is read twice, for the links and for the change of each page, and counts once. scale has one or two bytes an element if
 * these hold all out-degrees; the teleport is read if there is one. tests/bench/traffic.py compares this with what ncu counts.
 *
 * A backend may clear the vector that the next step writes while it writes this one (y_next), when x is still gathered: so
 * three vectors take turns, and what is where repeats every three steps. Chebyshev's method relaxes from y_k-1, element by
 * element before it is cleared.
 *
 *   step k    x[0]          x[1]          x[2]
 *   0         y_k           y_k+1         y_k-1, cleared
 *   1         y_k-1, cleared y_k          y_k+1
 *   2         y_k+1         y_k-1, cleared y_k
 *
 * Behind step k the power method's answer is y_k+1, and Chebyshev's y_k, of which the change is the residual. */
static wr_status step(wr_pagerank *p, double damping, int relaxes, int now, int follows, wr_then then) {
  int next = after(now);
  wr_epilogue epilogue = {.shift = SCALAR(p, shift),
                          .shift_dir = p->teleport.id ? &p->teleport : NULL,
                          .scale = &p->scale,
                          .scales_y = 1,
                          .reduce = {{WR_L1DIFF_UNSCALED, NULL, &p->x[now], SCALAR(p, change)},
                                     {WR_SUM_UNSCALED, NULL, NULL, SCALAR(p, dangling)}},
                          .then = then};
  wr_apply apply = {.alpha = damping, .x = &p->x[now], .y = &p->x[next], .epilogue = &epilogue};
  if (relaxes) epilogue.relax_from = &p->x[after(next)], epilogue.relaxation = SCALAR(p, relaxation);
  if (follows) apply.y_next = &p->x[after(next)];
  return wr_plan_apply(p->plan, &apply);
}

static double bytes_of_step(const wr_pagerank *p) {
  int64_t type = wr_type_bytes(p->env->type), scale = p->scale.reciprocal_bytes ? p->scale.reciprocal_bytes : type,
          teleport = p->teleport.id ? type : 0, before = p->method == WR_PAGERANK_CHEBYSHEV ? type : 0;
  double apply = wr_plan_get_info(p->plan)->apply_bytes; /* with its x and y */
  return apply + (double)(p->graph->n * (scale + teleport + before));
}

static wr_status iterate(void *solver, int phase) {
  wr_pagerank *p = solver;
  int relaxes = p->method == WR_PAGERANK_CHEBYSHEV;
  return step(p, p->damping, relaxes, phase, 1, WR_THEN(pagerank_after_iteration, &p->bank, &p->loop->log));
}

static double as_it_is(const void *solver, double change) {
  (void)solver;
  return change;
}

static void judge(const wr_pagerank_options *o, const wr_pagerank_scalars *scalars, int interrupted,
                  wr_result *result) {
  double rate = rate_of(o);
  result->iterations = (int64_t)scalars->steps, result->change = scalars->change;
  result->bound = result->change * rate + result->rounding;
  result->measure = o->stop_on_change ? result->change : result->change * rate;
  if (!isfinite(result->change))
    result->outcome = WR_NON_FINITE;
  else if (scalars->converged != 0)
    result->outcome = WR_CONVERGED;
  else if (scalars->stalled != 0)
    result->outcome = WR_STAGNATED;
  else if (interrupted)
    result->outcome = (wr_outcome)interrupted;
}

/* If rows are summed in less than f64, the error of a long row exceeds the rounding of its result; it is added at the end. */
static wr_status count_sums(wr_pagerank *p, const wr_pagerank_options *o, wr_result *result) {
  wr_status status = WR_OK;
  double *ranks = NULL, weight = 0, sum_unit = wr_plan_get_info(p->plan)->sum_unit;
  if (!(sum_unit > wr_type_unit(WR_F64)) || !isfinite(result->change)) goto done;
  TRY(wr_alloc(&ranks, p->graph->n, sizeof *ranks, "the ranks"));
  TRY(wr_pagerank_download(p, ranks));
  weight = wr_graph_link_weight(p->graph, ranks);
  result->rounding += sum_unit * weight / (1 - o->damping);
  result->bound += sum_unit * weight / (1 - o->damping);
done:
  wr_free(ranks);
  return status;
}

/* Downloads the ranks and looks at their order. Returns in *target the change at which to look again; as it was: not before the
 * end, because the order is proven or the tolerance is met. */
static wr_status review_order(wr_pagerank *p, const wr_pagerank_options *o, const wr_pagerank_scalars *scalars,
                              wr_order_watch *watch, double *target) {
  wr_status status;
  double next, rounding = rounding_of(p, o), last = target_change(o, rounding),
               sum_unit = wr_plan_get_info(p->plan)->sum_unit;
  TRY(wr_pagerank_download(p, watch->scores));
  if (sum_unit > wr_type_unit(WR_F64))
    rounding += sum_unit * wr_graph_link_weight(p->graph, watch->scores) / (1 - o->damping);
  double bound = scalars->change * rate_of(o) + rounding;
  TRY(wr_order_review(watch, bound, scalars->steps, scalars->change, &next));
  if (next > 0 && scalars->change > last) *target = fmax(last, (next - rounding) / rate_of(o));
done:
  return status;
}

/* Iterates until the tolerance is met, or with a watch until the order is proven: the target is set higher than the tolerance
 * asks for, and lowered after each review that does not prove the order. */
static wr_status go(wr_pagerank *p, const wr_pagerank_options *o, wr_order_watch *watch, wr_pagerank_scalars *scalars,
                    int *interrupted) {
  wr_status status;
  for (;;) {
    double target = scalars->target;
    TRY(wr_iteration_go(p->loop, (double *)scalars, interrupted));
    if (watch->ranks == 0 || scalars->converged == 0 || *interrupted) break;
    p->now = answer_after(o, scalars->steps);
    TRY(review_order(p, o, scalars, watch, &target));
    if (target == scalars->target) break;
    scalars->target = target, scalars->converged = 0;
    if (!(scalars->steps < scalars->limit)) break;
    scalars->stop = 0;
    TRY(p->env->ops->upload(p->env, &p->bank, (const double *)scalars));
  }
done:
  return status;
}

wr_status wr_pagerank_check(const wr_pagerank_options *o, const char *function) {
  if (o == NULL) return wr_refuse(function, "options is NULL");
  if (o->method != WR_PAGERANK_POWER && o->method != WR_PAGERANK_CHEBYSHEV)
    return wr_refuse(function, "options->method is %d", (int)o->method);
  if (!(o->damping >= 0 && o->damping < 1))
    return wr_refuse(function, "options->damping is %g; it is in [0, 1)", o->damping);
  if (!(o->tolerance > 0) || isinf(o->tolerance))
    return wr_refuse(function, "options->tolerance is %g; it is finite and above 0", o->tolerance);
  if (o->iterations < 0) return wr_refuse(function, "options->iterations is %lld", (long long)o->iterations);
  if (o->check_every < 0) return wr_refuse(function, "options->check_every is %lld", (long long)o->check_every);
  if (o->order < 0) return wr_refuse(function, "options->order is %lld", (long long)o->order);
  return WR_OK;
}

/* The same for p's graph. */
static wr_status check_for(const wr_pagerank *p, const wr_pagerank_options *o, const char *function) {
  wr_status status = wr_pagerank_check(o, function);
  if (status == WR_OK && o->method == WR_PAGERANK_CHEBYSHEV && o->start)
    return wr_refuse(function, "options->start is for the power method");
  if (status == WR_OK && o->method == WR_PAGERANK_CHEBYSHEV && !p->graph->symmetric)
    return wr_refuse(function, "options->method is WR_PAGERANK_CHEBYSHEV, and the graph's links are not symmetric");
  return status;
}

wr_status wr_pagerank_solve(wr_pagerank *p, const wr_pagerank_options *o, const wr_monitor *monitor,
                            wr_result *result) {
  static const wr_monitor none = {0};
  wr_status status;
  WR_REFUSE_IF(p == NULL || p->env == NULL, "p is %s", p ? "not open" : "NULL");
  WR_NEED_OK(check_for(p, o, __func__));
  WR_NEED(result);
  wr_pagerank_scalars scalars;
  wr_order_watch watch = {0};
  int interrupted = 0;
  wr_iteration *loop = p->loop;
  int is_chebyshev = o->method == WR_PAGERANK_CHEBYSHEV;
  *result = (wr_result){.outcome = WR_MAX_ITERATIONS, .change = INFINITY, .measure = INFINITY, .bound = INFINITY,
                        .by_change = o->stop_on_change, .rounding = rounding_of(p, o)};
  loop->plan = p->plan, loop->solver = p, loop->phases = WR_PAGERANK_VECTORS, loop->step = iterate;
  loop->measure = as_it_is;
  loop->bank = &p->bank;
  for (int phase = 0; phase < WR_PAGERANK_VECTORS; phase++) {
    loop->left[phase][0] = &p->x[phase];
    loop->left[phase][1] = is_chebyshev ? &p->x[after(after(phase))] : NULL;
  }
  loop->at = (wr_iteration_scalars)WR_ITERATION_SCALARS(wr_pagerank_scalars, steps, limit, last_part, steps, change,
                                                        stop, logged);
  loop->host_only = o->no_graph, loop->no_resident = o->no_resident;
  loop->monitor = monitor ? monitor : &none, loop->scale = o->stop_on_change ? 1 : rate_of(o),
  loop->target = o->tolerance;
  p->damping = loop->constant = o->damping; /* the alpha of every apply */
  p->method = o->method, loop->variant = (int)o->method;
  TRY(wr_iteration_every(loop, o->check_every));
  wr_iteration_begin(loop);
  loop->taken = 0, loop->by = WR_BY_HOST;
  if (o->order > 0) TRY(wr_order_watch_open(&watch, p->graph, o->order));
  TRY(start(p, o, &watch, &scalars));
  if (o->iterations > 0) TRY(go(p, o, &watch, &scalars, &interrupted));
  p->now = answer_after(o, scalars.steps);
  if (scalars.steps > 0) judge(o, &scalars, interrupted, result);
  if (scalars.steps == 0 && interrupted) result->outcome = (wr_outcome)interrupted;
  if (result->outcome == WR_TIME_LIMIT)
    snprintf(result->note, sizeof result->note, "the time limit %s",
             scalars.steps > 0 ? "has passed; the scores are those of the last iteration"
                               : "had passed before the first iteration");
  double last = target_change(o, rounding_of(p, o)), d = o->damping;
  double promised = o->method == WR_PAGERANK_POWER ? d : d / (1 + sqrt(1 - d * d)); /* the rate of the method */
  result->order = (wr_order_facts){.asked = watch.ranks, .proven = watch.found.proven, .reviews = watch.reviews,
                                   .spared = wr_order_spared(&watch, last, promised)};
  result->by = loop->by, result->multiplies = loop->taken, result->iteration_bytes = bytes_of_step(p);
  TRY(count_sums(p, o, result));
done:
  wr_order_watch_close(&watch);
  wr_plan_forget(p->plan);
  return status;
}

double wr_pagerank_target(const wr_pagerank *p, const wr_pagerank_options *o) {
  if (p == NULL || p->env == NULL || wr_pagerank_check(o, __func__) != WR_OK) return 0;
  return target_change(o, rounding_of(p, o));
}

/* degrees := by what an element of x is multiplied to make the rank. */
static wr_status place_degrees(wr_pagerank *p) {
  wr_status status;
  const wr_graph *g = p->graph;
  double *degrees = NULL;
  TRY(wr_alloc(&degrees, g->n, sizeof *degrees, "out-degrees"));
#pragma omp parallel for schedule(static) if (g->n > 100000)
  for (int64_t i = 0; i < g->n; i++) degrees[i] = g->scale[i] != 0 ? wr_graph_out_weight(g, i) : 1;
  TRY(p->env->ops->alloc(p->env, g->n, p->env->type, "out-degrees", &p->degrees));
  TRY(wr_graph_place(g, p->env, degrees, &p->degrees));
done:
  wr_free(degrees);
  return status;
}

wr_status wr_pagerank_ranks(wr_pagerank *p, wr_vec *ranks) {
  wr_status status = WR_OK;
  WR_REFUSE_IF(p == NULL || p->env == NULL, "p is %s", p ? "not open" : "NULL");
  WR_NEED(ranks);
  int weighted = p->graph->links->val != NULL;
  if (!weighted && p->degrees.id == 0) TRY(place_degrees(p));
  wr_fused f = {.in = {&p->x[p->now]}, .out = {ranks}, .c = {{{.factor = 1}}}};
  if (!weighted) f.times = &p->degrees;
  TRY(p->env->ops->fused(p->env, &f));
done:
  return status;
}

/* scores[n] := the ranks that belong to x. */
static wr_status fetch_ranks(wr_pagerank *p, const wr_vec *x, double *scores) {
  wr_status status;
  const wr_graph *g = p->graph;
  double *by_row = NULL;
  if (g->order) TRY(wr_alloc(&by_row, g->n, sizeof *by_row, "the ranks"));
  TRY(p->env->ops->download(p->env, x, by_row ? by_row : scores));
  if (by_row) wr_graph_restore(g, by_row, scores);
#pragma omp parallel for schedule(static) if (g->n > 100000)
  for (int64_t i = 0; i < g->n; i++)
    if (!g->links->val && g->scale[i] != 0) scores[i] *= wr_graph_out_weight(g, i);
done:
  wr_free(by_row);
  return status;
}

wr_status wr_pagerank_download(wr_pagerank *p, double *scores) {
  WR_REFUSE_IF(p == NULL || p->env == NULL, "p is %s", p ? "not open" : "NULL");
  WR_NEED(scores);
  return fetch_ranks(p, &p->x[p->now], scores);
}

wr_status wr_pagerank_multiply(wr_pagerank *p, int count) {
  wr_status status = WR_OK;
  WR_REFUSE_IF(p == NULL || p->env == NULL, "p is %s", p ? "not open" : "NULL");
  WR_REFUSE_IF(count < 0, "count is %d", count);
  wr_plan_forget(p->plan);
  for (int k = 0; k < count; k++)
    TRY(step(p, p->damping, p->method == WR_PAGERANK_CHEBYSHEV, k % WR_PAGERANK_VECTORS, 1, (wr_then){0}));
done:
  wr_plan_forget(p->plan);
  return status;
}

wr_status wr_pagerank_step(wr_pagerank *p, const wr_pagerank_options *o, double *scores, double *change,
                           double *dangling) {
  wr_status status;
  wr_pagerank_scalars scalars;
  WR_REFUSE_IF(p == NULL || p->env == NULL, "p is %s", p ? "not open" : "NULL");
  WR_NEED_OK(check_for(p, o, __func__));
  WR_NEED(scores);
  WR_NEED(change);
  WR_NEED(dangling);
  wr_plan_forget(p->plan);
  TRY(p->env->ops->download(p->env, &p->bank, (double *)&scalars));
  if (p->method == WR_PAGERANK_CHEBYSHEV) { /* else the shift in the bank is that of the current ranks */
    scalars.damping = o->damping, scalars.rest = 1 - o->damping;
    TRY(p->env->ops->upload(p->env, &p->bank, (double *)&scalars));
    TRY(find_dangling(p, 0));
    TRY(p->env->ops->download(p->env, &p->bank, (double *)&scalars));
  }
  *dangling = scalars.dangling;
  TRY(step(p, o->damping, 0, p->now, 0, (wr_then){0}));
  TRY(fetch_ranks(p, &p->x[after(p->now)], scores));
  TRY(p->env->ops->download(p->env, &p->bank, (double *)&scalars));
  *change = scalars.change;
done:
  return status;
}

wr_status wr_pagerank_normalise(double *scores, int64_t n, const wr_pagerank_options *o, double rounding) {
  WR_NEED_OK(wr_pagerank_check(o, __func__));
  WR_NEED(scores);
  WR_REFUSE_IF(n < 1, "n is %lld", (long long)n);
  WR_REFUSE_IF(!(rounding >= 0), "rounding is %g; it is 0 or more", rounding);
  double sum = wr_compensated_sum(scores, n); /* it is compared with 1 to within a few roundings */
  double allowed = fmax(o->tolerance, 25 * rounding);
  if (!(fabs(sum - 1) <= allowed))
    return wr_fail(WR_EINTERNAL, "the scores have the sum %.17g, off 1 by more than %g", sum, allowed);
  double negative = 0;
#pragma omp parallel for schedule(static) reduction(min : negative) if (n > 100000)
  for (int64_t i = 0; i < n; i++) negative = fmin(negative, scores[i]);
  for (int64_t i = 0; negative < 0 && i < n; i++) scores[i] = fmax(scores[i], 0);
  if (negative < 0) sum = wr_compensated_sum(scores, n);
#pragma omp parallel for schedule(static) if (n > 100000)
  for (int64_t i = 0; i < n; i++) scores[i] /= sum;
  return WR_OK;
}
