#include "solvers/pagerank.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "config/elements.h"
#include "config/memory.h"
#include "solvers/iteration.h"
#include "solvers/mixed.h"
#include "solvers/order.h"
#include "solvers/pagerank_parts.h"
#include "spmv/parts/comm.h"
#include "spmv/steps/steps.h"

#include "spmv/device/vec_argument.h"
#include "spmv/plan_argument.h"

/* *by_row := by_page in the order of the flow's rows: by_page itself, or *memory, which is to be freed. */
static wr_status arrange(const wr_graph *g, const double *by_page, const double **by_row, double **memory) {
  *by_row = by_page, *memory = NULL;
  if (g->order == NULL) return WR_OK;
  PASS(wr_alloc(memory, g->n, sizeof **memory, "a vector in the order of hubs"));
  wr_graph_arrange(g, by_page, *memory);
  *by_row = *memory;
  return WR_OK;
}

/* All parts stop by the same numbers. */
static wr_status agree_units(wr_pagerank *p) {
  const wr_plan_info *info = wr_plan_get_info(p->plan);
  double units[] = {info->term_unit, info->sum_unit};
  PASS(wr_comm_max(p->graph->comm, units, 2));
  p->term_unit = units[0], p->sum_unit = units[1];
  return WR_OK;
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
    p->direction = &p->teleport;
  }
done:
  wr_free(memory);
  if (graph) status = wr_comm_agree(graph->comm, status);
  if (status == WR_OK) status = agree_units(p);
  if (status != WR_OK) wr_pagerank_close(p);
  return status;
}

void wr_pagerank_close(wr_pagerank *p) {
  if (p == NULL || p->env == NULL) return;
  wr_mixed_close(p->mixed);
  wr_iteration_close(p->loop);
  wr_vec *const vectors[] = {&p->x[0], &p->x[1], &p->x[2], &p->scale, &p->teleport, &p->degrees, &p->bank};
  for (size_t v = 0; v < sizeof vectors / sizeof vectors[0]; v++) p->env->ops->release(p->env, vectors[v]);
  *p = (wr_pagerank){0};
}

wr_status wr_pagerank_sweep_in(wr_pagerank *p, wr_plan *plan, wr_env *env) {
  WR_REFUSE_IF(p == NULL || p->env == NULL, "p is %s", p ? "not open" : "NULL");
  WR_NEED_OPEN(env);
  WR_REFUSE_IF(p->env->type != WR_F64 || env->type != WR_F32, "env is not of f32, or p not of f64");
  WR_REFUSE_IF(env->state != p->env->state, "env does not share the memory of p's");
  WR_REFUSE_IF(p->mixed, "p sweeps in f32 already");
  WR_NEED_OK(wr_plan_check_match(plan, p->graph->flow, env, __func__));
  return wr_mixed_open(p, plan, env, &p->mixed);
}

/* A bound on what rounding adds to the L1 error. Each step: 4u, for the product with d, the sum with the teleport,
 * 1 / out-degree and the product with that, and term_unit for the terms of the multiply. Once: 2^-53 for the product with the
 * out-degree that makes the rank of the answer. */
double wr_pagerank_rounding(const wr_pagerank *p, const wr_pagerank_options *o) {
  double step = 4 * wr_type_unit(p->env->type) + p->term_unit;
  return step / (1 - o->damping) + wr_type_unit(WR_F64);
}

/* By which a change is multiplied to bound the error. The power method's answer is one step better than what was changed. */
static double rate_of(const wr_pagerank_options *o) {
  return (o->method == WR_PAGERANK_POWER ? o->damping : 1) / (1 - o->damping);
}

/* The change at which to stop. */
static double target_change(const wr_pagerank_options *o, double rounding) {
  if (o->stop_on_change) return o->tolerance;
  double target = wr_pagerank_target_bound(o->tolerance, rounding);
  if (o->method != WR_PAGERANK_POWER) return target * (1 - o->damping);
  return o->damping > 0 ? target * (1 - o->damping) / o->damping : DBL_MAX;
}

/* The change at which the solve ends, or the order is looked at first. */
static double first_target(const wr_pagerank *p, const wr_pagerank_options *o, const wr_order_watch *watch) {
  double rounding = wr_pagerank_rounding(p, o), last = target_change(o, rounding);
  if (watch->ranks == 0 || !(o->damping > 0)) return last;
  return fmax(last, (wr_order_first_bound(watch) - rounding) / rate_of(o));
}

/* With scales_y: x[now] has ranks, which are scaled. In any case: the dangling mass of x[now], and the shift for it. */
static wr_status find_dangling(wr_pagerank *p, int scales_y) {
  wr_epilogue e = {.scale = &p->scale,
                   .scales_y = scales_y,
                   .reduce = {{WR_SUM_UNSCALED, NULL, NULL, WR_PAGERANK_SCALAR(p, dangling)}},
                   .then = WR_THEN(pagerank_find_shift, &p->bank, NULL)};
  p->env->then_done = 0;
  PASS(p->env->ops->epilogue(p->env, &(wr_apply){.y = &p->x[p->now], .epilogue = &e}));
  return wr_then_run(p->env, &e.then);
}

wr_status wr_pagerank_begin(wr_pagerank *p) { return find_dangling(p, 1); }

/* *sum := of v over the pages with links, or those without, of all parts; v NULL: of 1 / n each. */
static wr_status mass_of(const wr_graph *g, const double *v, int with_links, double *sum) {
  double correction = 0;
  *sum = 0;
  if (v == NULL) {
    *sum = (double)(with_links ? g->n_all - g->dangling : g->dangling) / (double)g->n_all;
    return WR_OK;
  }
  for (int64_t i = 0; i < g->n; i++) {
    if ((g->scale[i] != 0) != with_links) continue;
    double term = v[i] - correction, next = *sum + term;
    correction = (next - *sum) - term, *sum = next;
  }
  return wr_comm_sum(g->comm, sum, 1);
}

/* For Chebyshev's method. A page without links is isolated, so its rank is jump * v_i where the mass m of all such pages
 * satisfies jump = d m + 1 - d, m = jump * alone, alone being the sum of their v_i. Ranks that begin there stay, and the sum of
 * all ranks stays 1 if it begins so: the others are multiplied by 1 - m = (1 - alone) / (1 - d alone), divided by the sum of
 * theirs. The others begin at the teleport where the guess gives them nothing. */
typedef struct isolated {
  double jump, rest;   /* by which the ranks of pages without links, and all others, are multiplied */
  const double *start; /* [n] ranks of the others before that; NULL: 1 / n each                     */
} isolated;

static wr_status find_isolated(const wr_graph *g, double damping, isolated *by) {
  double others, given, alone;
  *by = (isolated){.start = g->start ? g->start : g->teleport};
  PASS(mass_of(g, g->teleport, 1, &others));
  PASS(mass_of(g, by->start, 1, &given));
  PASS(mass_of(g, g->teleport, 0, &alone));
  double share = 1 - damping * alone;
  if (!(given > 1e-100)) by->start = g->teleport, given = others;
  by->jump = (1 - damping) / share, by->rest = given > 0 ? others / share / given : 0;
  return WR_OK;
}

/* x[0] := the guess, as find_isolated has it. */
static wr_status upload_guess(wr_pagerank *p, isolated by) {
  wr_status status;
  const wr_graph *g = p->graph;
  double *ranks = NULL, each = 1 / (double)g->n_all;
  TRY(wr_comm_agree(g->comm, wr_alloc(&ranks, g->n, sizeof *ranks, "the first guess")));
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

/* By which a step multiplies the error at least. */
static double promised_rate(const wr_pagerank_options *o) {
  double d = o->damping;
  return o->method == WR_PAGERANK_POWER ? d : d / (1 + sqrt(1 - d * d));
}

wr_pagerank_scalars wr_pagerank_scalars_of(const wr_pagerank *p, const wr_pagerank_options *o) {
  wr_pagerank_scalars s = {0};
  s.relaxation = 1, s.omega = 2;
  s.quarter = o->method == WR_PAGERANK_CHEBYSHEV ? o->damping * o->damping / 4 : 0;
  s.limit = (double)o->iterations, s.every = (double)p->loop->every;
  s.last_part = s.limit - p->loop->unroll;
  s.least = s.window_least = s.huge = DBL_MAX;
  s.window_length = 10, s.hardly = (1 + pow(o->damping, 10)) / 2, s.tiny = 1000 * wr_type_unit(p->env->type);
  if (o->method == WR_PAGERANK_CHEBYSHEV) /* a window reduces the error to e^-12, though not the L1 norm of each change */
    s.window_length = fmax(10, ceil(-12 / log(promised_rate(o)))), s.hardly = 0.5, s.tiny = s.huge;
  s.log_room = WR_LOG_ROOM;
  return s;
}

/* 1 if pages without links are to have their final ranks from the start on. */
static int is_apart(const wr_pagerank *p, const wr_pagerank_options *o) {
  return o->method == WR_PAGERANK_CHEBYSHEV && p->graph->dangling > 0;
}

/* *scalars := those of iterations in the type of p, of which `steps` have been done, but for the shift; *by: if is_apart. */
static wr_status first_scalars(const wr_pagerank *p, const wr_pagerank_options *o, const wr_order_watch *watch,
                               double steps, wr_pagerank_scalars *scalars, isolated *by) {
  wr_pagerank_scalars s = wr_pagerank_scalars_of(p, o);
  int is_chebyshev = o->method == WR_PAGERANK_CHEBYSHEV, begins_apart = is_apart(p, o);
  *by = (isolated){.jump = 1 - o->damping};
  if (begins_apart) PASS(find_isolated(p->graph, o->damping, by));
  s.steps = steps;
  s.damping = is_chebyshev ? 0 : o->damping;
  s.rest = by->jump;
  s.weight = p->graph->teleport ? 1 : 1 / (double)p->graph->n_all;
  s.target = first_target(p, o, watch);
  *scalars = s;
  return WR_OK;
}

/* x[0] := the start, scaled; the scalars and the first shift. */
static wr_status start(wr_pagerank *p, const wr_pagerank_options *o, const wr_order_watch *watch, double steps,
                       wr_pagerank_scalars *scalars) {
  wr_env *env = p->env;
  const wr_graph *g = p->graph;
  int begins_apart = is_apart(p, o);
  isolated by;
  PASS(first_scalars(p, o, watch, steps, scalars, &by));
  p->now = 0, p->begun = steps;
  PASS(env->ops->upload(env, &p->bank, (double *)scalars));
  if (o->start)
    PASS(env->ops->fused(env, &(wr_fused){.in = {o->start}, .out = {&p->x[0]}, .c = {{{.factor = 1}}}}));
  else if (g->start && begins_apart)
    PASS(upload_guess(p, by));
  else if (g->start || g->teleport)
    PASS(wr_graph_place(g, env, g->start ? g->start : g->teleport, &p->x[0]));
  else
    PASS(env->ops->fill(env, &p->x[0], 1 / (double)g->n_all));
  if (begins_apart && !g->start && !o->start) {
    wr_epilogue linked = {.scale = &p->scale, .scaled = &p->x[1]};
    PASS(env->ops->epilogue(env, &(wr_apply){.y = &p->x[0], .epilogue = &linked}));
  }
  PASS(find_dangling(p, 1));
  if (begins_apart && !g->start && !o->start) PASS(multiply_start(p, by));
  return WR_OK;
}

static int after(int k) { return wr_pagerank_after(k); }

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
  wr_epilogue epilogue = {.shift = WR_PAGERANK_SCALAR(p, shift),
                          .shift_dir = p->direction,
                          .adds_dir = p->adds_direction,
                          .scale = &p->scale,
                          .scales_y = 1,
                          .reduce = {{WR_L1DIFF_UNSCALED, NULL, &p->x[now], WR_PAGERANK_SCALAR(p, change)},
                                     {WR_SUM_UNSCALED, NULL, NULL, WR_PAGERANK_SCALAR(p, dangling)}},
                          .then = then};
  wr_apply apply = {.alpha = damping, .x = &p->x[now], .y = &p->x[next], .epilogue = &epilogue,
                    .feeds_next = follows};
  if (relaxes) epilogue.relax_from = &p->x[after(next)], epilogue.relaxation = WR_PAGERANK_SCALAR(p, relaxation);
  if (follows) apply.y_next = &p->x[after(next)];
  return wr_plan_apply(p->plan, &apply);
}

double wr_pagerank_step_bytes(const wr_pagerank *p) {
  int64_t type = wr_type_bytes(p->env->type), scale = p->scale.reciprocal_bytes ? p->scale.reciprocal_bytes : type,
          teleport = p->direction ? type : 0, before = p->method == WR_PAGERANK_CHEBYSHEV ? type : 0;
  double apply = wr_plan_get_info(p->plan)->apply_bytes; /* with its x and y */
  return apply + (double)(p->graph->n * (scale + teleport + before));
}

static wr_status iterate(void *solver, int phase) {
  wr_pagerank *p = solver;
  int relaxes = p->method == WR_PAGERANK_CHEBYSHEV;
  return step(p, p->damping, relaxes, phase, 1, WR_THEN(pagerank_after_iteration, &p->bank, &p->loop->log));
}

static double in_unit(const void *solver, double change) { return ((const wr_pagerank *)solver)->unit * change; }

void wr_pagerank_set_loop(wr_pagerank *p, const wr_pagerank_options *o, const wr_monitor *monitor, double unit) {
  wr_iteration *loop = p->loop;
  p->method = o->method, p->damping = o->damping, p->unit = unit;
  loop->plan = p->plan, loop->solver = p, loop->phases = WR_PAGERANK_VECTORS, loop->step = iterate;
  loop->measure = in_unit, loop->bank = &p->bank;
  for (int phase = 0; phase < WR_PAGERANK_VECTORS; phase++) {
    loop->left[phase][0] = &p->x[phase];
    loop->left[phase][1] = o->method == WR_PAGERANK_CHEBYSHEV ? &p->x[after(after(phase))] : NULL;
  }
  loop->at = (wr_iteration_scalars)WR_ITERATION_SCALARS(wr_pagerank_scalars, steps, limit, last_part, steps, change,
                                                        stop, logged);
  loop->host_only = o->no_graph, loop->no_resident = o->no_resident, loop->monitor = monitor;
  loop->scale = unit * (o->stop_on_change ? 1 : rate_of(o)), loop->target = o->tolerance;
  loop->constant = o->damping; /* the alpha of every apply */
  loop->variant = (int)o->method;
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

/* *sums := what is added to the bound if rows are summed in less than f64, since the error of a long row then exceeds the
 * rounding of its result; else 0. Downloads the ranks and walks over the links. */
static wr_status bound_sums(wr_pagerank *p, const wr_pagerank_options *o, double *sums) {
  wr_status status = WR_OK;
  wr_comm *comm = p->graph->comm;
  double *ranks = NULL, weight;
  *sums = 0;
  if (!(p->sum_unit > wr_type_unit(WR_F64))) goto done;
  TRY(wr_comm_agree(comm, wr_alloc(&ranks, p->graph->n, sizeof *ranks, "the ranks")));
  TRY(wr_pagerank_download(p, ranks));
  weight = wr_graph_link_weight(p->graph, ranks);
  TRY(wr_comm_sum(comm, &weight, 1));
  *sums = p->sum_unit * weight / (1 - o->damping);
done:
  wr_free(ranks);
  return status;
}

static wr_status count_sums(wr_pagerank *p, const wr_pagerank_options *o, wr_result *result) {
  double sums = 0;
  if (isfinite(result->change)) PASS(bound_sums(p, o, &sums));
  result->rounding += sums, result->bound += sums;
  return WR_OK;
}

/* A change that is small enough does not meet the tolerance where rounding may have added more than is left of it, unless the
 * order was asked for and is proven. Ranks are divided by their sum at the end, so no error exceeds 2. */
static void judge_bound(const wr_pagerank *p, const wr_pagerank_options *o, wr_result *r) {
  int is_proven =
      r->order.asked > 0 && (r->order.proven >= r->order.asked || r->change > target_change(o, r->rounding));
  if (isfinite(r->change) && r->bound > 2) r->bound = 2;
  if (r->outcome == WR_CONVERGED && !o->stop_on_change && !is_proven && r->bound > o->tolerance)
    r->outcome = WR_STAGNATED;
  if (r->outcome != WR_STAGNATED || r->note[0]) return;
  const char *other = p->env->type == WR_F32 ? ", or f64 or mixed precision," : "";
  if (r->measure > o->tolerance)
    snprintf(r->note, sizeof r->note,
             "rounding keeps the change of a step from becoming smaller: a larger tolerance%s would help", other);
  else
    snprintf(r->note, sizeof r->note, "%.3g of the bound are for rounding: a larger tolerance%s would help",
             r->rounding, other);
}

static wr_status review_all(wr_pagerank *p, wr_order_watch *watch, double bound) {
  wr_status status;
  double *ranks = NULL;
  TRY(wr_comm_agree(p->graph->comm, wr_alloc(&ranks, p->graph->n, sizeof *ranks, "the ranks")));
  TRY(wr_pagerank_download(p, ranks));
  TRY(wr_order_review_all(watch, ranks, bound));
done:
  wr_free(ranks);
  return status;
}

/* Looks at the order of the ranks. Returns in *target the change at which to look again; as it was: not before the end, because
 * the order is proven or the tolerance is met. *sums: of the last order that would be proven but for them, 0 at first. Those of
 * these ranks are bounded only where the order may be proven by the bound with the last ones. */
static wr_status review_order(wr_pagerank *p, const wr_pagerank_options *o, const wr_pagerank_scalars *scalars,
                              wr_order_watch *watch, double *sums, double *target) {
  const wr_vec *x = &p->x[p->now];
  double next, rounding = wr_pagerank_rounding(p, o), last = target_change(o, rounding);
  double bound = scalars->change * rate_of(o) + rounding, assumed = *sums;
  int ends = !(scalars->change > last);
  PASS(wr_order_review(watch, x, &p->scale, bound + assumed, scalars->steps, scalars->change, ends, &next));
  if (next == 0) {
    PASS(bound_sums(p, o, sums));
    if (*sums > assumed)
      PASS(wr_order_review(watch, x, &p->scale, bound + *sums, scalars->steps, scalars->change, ends, &next));
  }
  if (ends && watch->count == 0) {
    PASS(bound_sums(p, o, sums));
    PASS(review_all(p, watch, bound + *sums));
  }
  if (next > 0 && !ends) *target = fmax(last, (next - rounding - *sums) / rate_of(o));
  return WR_OK;
}

/* What a solve works on. */
typedef struct solving {
  wr_pagerank *p;
  wr_pagerank_options o; /* while steps in f64 certify corrections in f32, the method is the power method */
  const wr_monitor *monitor;
  wr_order_watch watch;
  double sums;           /* of the last review (review_order) */
  wr_pagerank_scalars scalars;
  int interrupted;
  int64_t steps;         /* multiplies in f64 that certified corrections */
  wr_result *result;
} solving;

/* With scalars that have met their target: 1 in *over if the tolerance is met, or with a watch the order is proven. Else the
 * target is lowered, which has been set higher than the tolerance asks for. */
static wr_status find_over(solving *g, int *over) {
  double target = g->scalars.target;
  *over = 1;
  if (g->watch.ranks == 0) return WR_OK;
  PASS(review_order(g->p, &g->o, &g->scalars, &g->watch, &g->sums, &target));
  *over = target == g->scalars.target;
  if (!*over) g->scalars.target = target, g->scalars.converged = 0;
  return WR_OK;
}

/* Iterates in the type of p until the end. */
static wr_status go(solving *g) {
  wr_pagerank *p = g->p;
  for (;;) {
    int over;
    PASS(wr_iteration_go(p->loop, (double *)&g->scalars, &g->interrupted));
    p->now = wr_pagerank_answer(p, g->scalars.steps - p->begun);
    if (g->scalars.converged == 0 || g->interrupted) break;
    PASS(find_over(g, &over));
    if (over || g->scalars.stalled != 0 || !(g->scalars.steps < g->scalars.limit)) break;
    g->scalars.stop = 0;
    PASS(p->env->ops->upload(p->env, &p->bank, (const double *)&g->scalars));
  }
  return WR_OK;
}

/* Sets up the loop in the type of p. */
static wr_status set_up(solving *g) {
  wr_pagerank_set_loop(g->p, &g->o, g->monitor, 1);
  PASS(wr_iteration_every(g->p->loop, g->o.check_every));
  wr_iteration_begin(g->p->loop);
  return WR_OK;
}

/* ---- Corrections in f32 ---- */

enum { LEAST_SWEEPS = 3 }; /* fewer are done in f64 */
static const double MOST_FLOOR = 0.1; /* a correction that gains less is of no use */

/* x[now] has other ranks than those of the last step: their dangling mass and shift. */
static wr_status find_shift(solving *g) {
  wr_pagerank *p = g->p;
  wr_pagerank_scalars *s = &g->scalars;
  s->dangling = 0, s->shift = s->rest * s->weight;
  PASS(p->env->ops->upload(p->env, &p->bank, (const double *)s));
  if (p->graph->dangling > 0) PASS(find_dangling(p, 0));
  return WR_OK;
}

/* A step of the power method in f64 from x[now]; now := its result. */
static wr_status certify(solving *g) {
  wr_pagerank *p = g->p;
  const wr_monitor *m = g->monitor;
  wr_plan_forget(p->plan);
  PASS(step(p, g->o.damping, 0, p->now, 0, WR_THEN(pagerank_after_iteration, &p->bank, NULL)));
  PASS(p->env->ops->download(p->env, &p->bank, (double *)&g->scalars));
  p->now = after(p->now), g->steps++;
  PASS(wr_monitor_keep(m, (int64_t)g->scalars.steps, g->scalars.change));
  wr_monitor_show(m, (int64_t)g->scalars.steps, p->loop->scale * g->scalars.change, g->o.tolerance);
  return WR_OK;
}

/* Corrects x[now] in f32, or makes the first ranks. *is_cut := 1: the limit has ended the sweeps. */
static wr_status correct(solving *g, const wr_pagerank_options *asked, int has_ranks, int *is_cut) {
  wr_pagerank *p = g->p;
  wr_pagerank_scalars *s = &g->scalars;
  wr_corrected found;
  wr_correction correction = {.options = asked, .monitor = g->monitor, .change = has_ranks ? s->change : 0,
                              .target = s->target, .steps = s->steps, .limit = s->limit - 1};
  PASS(wr_mixed_correct(p->mixed, p, &correction, &found));
  *is_cut = found.is_cut, g->interrupted = found.interrupted;
  if (found.steps < 1) return WR_OK;
  p->now = after(p->now);
  s->steps += found.steps, s->stop = s->stalled = s->logged = s->window = 0, s->window_least = s->least = s->huge;
  return find_shift(g);
}

/* How corrections ended: with the solve; because too few multiplies are left for another one; or as f32 is of no more use. */
typedef enum ending { OVER, TOO_FEW, LOST } ending;

/* The ending after a step in f64 whose change was `before` the time before; TOO_FEW: it is not over. */
static wr_status judge_correction(solving *g, double before, int is_cut, ending *how) {
  const wr_pagerank_scalars *s = &g->scalars;
  int over = 0;
  *how = OVER;
  if (s->converged != 0) PASS(find_over(g, &over));
  if (over || g->interrupted || !(s->steps < s->limit)) return WR_OK;
  *how = s->change <= before / 2 || is_cut ? TOO_FEW : LOST;
  if (!(s->change < before) && g->steps > 1) g->p->now = after(g->p->now); /* the result of the step before is better */
  if (*how == LOST)
    snprintf(g->result->note, sizeof g->result->note,
             "from multiply %lld on in f64, as a correction in f32 has not halved the change", (long long)s->steps + 1);
  return WR_OK;
}

/* Corrects ranks in f32 and certifies them in f64, in turn. has_ranks: x[now] has some; *finds: likewise, at the end. */
static wr_status go_mixed(solving *g, const wr_pagerank_options *asked, int has_ranks, int *finds, ending *how) {
  wr_pagerank_scalars *s = &g->scalars;
  double before = has_ranks ? (double)INFINITY : 1; /* the last change; that of the first correction is below 1 */
  int is_cut = 0;
  *how = TOO_FEW;
  for (;;) {
    if (has_ranks) {
      PASS(certify(g));
      PASS(judge_correction(g, before, is_cut, how));
      if (*how != TOO_FEW) break;
      before = s->change;
    }
    if (s->limit - s->steps <= LEAST_SWEEPS) break;
    PASS(correct(g, asked, has_ranks, &is_cut));
    has_ranks |= s->steps > 0;
    if (!has_ranks) *how = OVER;
    if (!has_ranks) break;
  }
  *finds = has_ranks && (isfinite(s->change) || g->steps > 1);
  return WR_OK;
}

/* The solve goes on in f64 from x[now]. */
static wr_status start_again(solving *g) {
  wr_pagerank *p = g->p;
  double steps = g->scalars.steps;
  if (p->now != 0)
    PASS(p->env->ops->fused(p->env, &(wr_fused){.in = {&p->x[p->now]}, .out = {&p->x[0]}, .c = {{{.factor = 1}}}}));
  p->now = 0, p->begun = steps;
  isolated by;
  PASS(first_scalars(p, &g->o, &g->watch, steps, &g->scalars, &by));
  PASS(find_shift(g));
  return p->env->ops->download(p->env, &p->bank, (double *)&g->scalars);
}

/* 1 if sweeps in f32 may help. */
static int may_mix(const wr_pagerank *p, const wr_pagerank_options *o) {
  return p->mixed && o->damping > 0 && wr_mixed_floor(o->damping) < MOST_FLOOR && o->iterations > LEAST_SWEEPS;
}

/* All of a solve with corrections in f32. Where pages without links are isolated, Chebyshev's method begins anew in f64, at
 * their final ranks. */
static wr_status solve_mixed(solving *g) {
  wr_pagerank *p = g->p;
  const wr_pagerank_options asked = g->o;
  int has_ranks = asked.start || p->graph->start, finds = has_ranks;
  ending how = OVER;
  g->o.method = WR_PAGERANK_POWER;
  wr_pagerank_set_loop(p, &g->o, g->monitor, 1);
  p->loop->every = p->loop->unroll = 1;
  isolated by;
  PASS(first_scalars(p, &g->o, &g->watch, 0, &g->scalars, &by));
  if (wr_monitor_ends(g->monitor) == WR_TIME_LIMIT) g->interrupted = WR_TIME_LIMIT;
  if (has_ranks) PASS(start(p, &g->o, &g->watch, 0, &g->scalars));
  if (!g->interrupted) PASS(go_mixed(g, &asked, has_ranks, &finds, &how));
  double steps = how == OVER ? 0 : g->scalars.steps;
  if (how == LOST) g->o.method = asked.method;
  if (how == LOST && is_apart(p, &g->o)) finds = 0;
  if (how != OVER) PASS(set_up(g));
  if (!finds)
    PASS(start(p, &g->o, &g->watch, steps, &g->scalars));
  else if (how != OVER)
    PASS(start_again(g));
  if (how != OVER) PASS(go(g));
  return WR_OK;
}

/* ---- A solve ---- */

/* Counts of both types, and how most were repeated. */
static void count_multiplies(const solving *g) {
  const wr_pagerank *p = g->p;
  const wr_mixed *m = p->mixed;
  wr_result *r = g->result;
  int64_t wide = p->loop->taken + g->steps, narrow = m ? m->multiplies : 0;
  r->multiplies = wide + narrow, r->multiplies_f32 = narrow;
  r->repeats = m && m->most > p->loop->taken ? m->repeats : p->loop->repeats;
  r->iteration_bytes = wr_pagerank_step_bytes(p);
  if (narrow > 0) r->iteration_bytes = (r->iteration_bytes * (double)wide + m->bytes) / (double)r->multiplies;
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
  solving g = {.p = p, .o = *o, .monitor = monitor ? monitor : &none, .result = result};
  *result = (wr_result){.outcome = WR_MAX_ITERATIONS, .change = INFINITY, .measure = INFINITY, .bound = INFINITY,
                        .by_change = o->stop_on_change, .rounding = wr_pagerank_rounding(p, o)};
  wr_iteration *loop = p->loop;
  loop->taken = 0, loop->repeats = (wr_repeats){0};
  if (p->mixed) wr_mixed_begin(p->mixed);
  if (o->order > 0) TRY(wr_order_watch_open(&g.watch, p->graph, p->env, o->order));
  if (may_mix(p, o)) {
    TRY(solve_mixed(&g));
  } else {
    if (p->mixed && !(wr_mixed_floor(o->damping) < MOST_FLOOR))
      snprintf(result->note, sizeof result->note, "in f64, as f32 rounds too much at a damping so close to 1");
    TRY(set_up(&g));
    TRY(start(p, &g.o, &g.watch, 0, &g.scalars));
    if (o->iterations > 0) TRY(go(&g));
  }
  if (g.scalars.steps > 0) judge(&g.o, &g.scalars, g.interrupted, result);
  if (g.scalars.steps == 0 && g.interrupted) result->outcome = (wr_outcome)g.interrupted;
  if (result->outcome == WR_TIME_LIMIT)
    snprintf(result->note, sizeof result->note, "the time limit %s",
             g.scalars.steps > 0 ? "has passed; the scores are those of the last iteration"
                                 : "had passed before the first iteration");
  double last = target_change(&g.o, wr_pagerank_rounding(p, o)), promised = promised_rate(o);
  result->order = (wr_order_facts){.asked = g.watch.ranks, .proven = g.watch.found.proven, .reviews = g.watch.reviews,
                                   .crowded = g.watch.crowded, .spared = wr_order_spared(&g.watch, last, promised)};
  count_multiplies(&g);
  TRY(count_sums(p, o, result));
  judge_bound(p, o, result);
done:
  wr_order_watch_close(&g.watch);
  wr_plan_forget(p->plan);
  return status;
}

double wr_pagerank_target(const wr_pagerank *p, const wr_pagerank_options *o) {
  if (p == NULL || p->env == NULL || wr_pagerank_check(o, __func__) != WR_OK) return 0;
  return target_change(o, wr_pagerank_rounding(p, o));
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
  WR_REFUSE_IF(p == NULL || p->env == NULL, "p is %s", p ? "not open" : "NULL");
  WR_NEED(ranks);
  int weighted = p->graph->links->val != NULL;
  if (!weighted && p->degrees.id == 0) PASS(place_degrees(p));
  wr_fused f = {.in = {&p->x[p->now]}, .out = {ranks}, .c = {{{.factor = 1}}}};
  if (!weighted) f.times = &p->degrees;
  return p->env->ops->fused(p->env, &f);
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
  for (int64_t i = 0; i < g->n; i++) scores[i] = wr_graph_rank(g, i, scores[i]);
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
  wr_pagerank *by = p->mixed && p->mixed->multiplies > 0 ? &p->mixed->sweeps : p;
  wr_plan_forget(by->plan);
  for (int k = 0; k < count; k++)
    TRY(step(by, by->damping, by->method == WR_PAGERANK_CHEBYSHEV, k % WR_PAGERANK_VECTORS, 1, (wr_then){0}));
done:
  wr_plan_forget(by->plan);
  return status;
}

wr_status wr_pagerank_step(wr_pagerank *p, const wr_pagerank_options *o, double *scores, double *change,
                           double *dangling) {
  wr_pagerank_scalars scalars;
  WR_REFUSE_IF(p == NULL || p->env == NULL, "p is %s", p ? "not open" : "NULL");
  WR_NEED_OK(check_for(p, o, __func__));
  WR_NEED(scores);
  WR_NEED(change);
  WR_NEED(dangling);
  wr_plan_forget(p->plan);
  PASS(p->env->ops->download(p->env, &p->bank, (double *)&scalars));
  if (p->method == WR_PAGERANK_CHEBYSHEV) { /* else the shift in the bank is that of the current ranks */
    scalars.damping = o->damping, scalars.rest = 1 - o->damping;
    PASS(p->env->ops->upload(p->env, &p->bank, (double *)&scalars));
    PASS(find_dangling(p, 0));
    PASS(p->env->ops->download(p->env, &p->bank, (double *)&scalars));
  }
  *dangling = scalars.dangling;
  PASS(step(p, o->damping, 0, p->now, 0, (wr_then){0}));
  PASS(fetch_ranks(p, &p->x[after(p->now)], scores));
  PASS(p->env->ops->download(p->env, &p->bank, (double *)&scalars));
  *change = scalars.change;
  return WR_OK;
}

wr_status wr_pagerank_normalise_part(wr_comm *comm, double *scores, int64_t n, const wr_pagerank_options *o,
                                     double rounding) {
  double sum = wr_compensated_sum(scores, n), negative = 0; /* it is compared with 1 to within a few roundings */
  double allowed = fmax(o->tolerance, 25 * rounding);
  PASS(wr_comm_sum(comm, &sum, 1));
  if (!(fabs(sum - 1) <= allowed))
    return wr_fail(WR_EINTERNAL, "the scores have the sum %.17g, off 1 by more than %g", sum, allowed);
#pragma omp parallel for schedule(static) reduction(max : negative) if (n > 100000)
  for (int64_t i = 0; i < n; i++) negative = fmax(negative, -scores[i]);
  PASS(wr_comm_max(comm, &negative, 1));
  for (int64_t i = 0; negative > 0 && i < n; i++) scores[i] = fmax(scores[i], 0);
  if (negative > 0) {
    sum = wr_compensated_sum(scores, n);
    PASS(wr_comm_sum(comm, &sum, 1));
  }
#pragma omp parallel for schedule(static) if (n > 100000)
  for (int64_t i = 0; i < n; i++) scores[i] /= sum;
  return WR_OK;
}

wr_status wr_pagerank_normalise(double *scores, int64_t n, const wr_pagerank_options *options, double rounding) {
  WR_NEED_OK(wr_pagerank_check(options, __func__));
  WR_NEED(scores);
  WR_REFUSE_IF(n < 1, "n is %lld", (long long)n);
  WR_REFUSE_IF(!(rounding >= 0), "rounding is %g; it is 0 or more", rounding);
  return wr_pagerank_normalise_part(NULL, scores, n, options, rounding);
}
