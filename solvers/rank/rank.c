#include "solvers/rank/rank.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "config/argument.h"
#include "config/defaults.h"
#include "config/memory.h"
#include "solvers/pagerank_parts.h"
#include "solvers/rank/gauss_seidel.h"
#include "solvers/rank/linear.h"
#include "spmv/device/vec_argument.h"
#include "spmv/parts/comm.h"
#include "spmv/plan_argument.h"

static const char *const names[] = {"auto", "power", "chebyshev", "idr", "gauss-seidel"};

static int is_method(wr_rank_method method) { return (int)method >= 0 && method <= WR_RANK_GAUSS_SEIDEL; }

const char *wr_rank_method_name(wr_rank_method method) { return is_method(method) ? names[method] : ""; }

wr_status wr_rank_open(wr_ranking *rank, const wr_graph *graph, wr_plan *plan, wr_env *env) {
  WR_NEED(rank);
  *rank = (wr_ranking){0};
  WR_REFUSE_IF(graph == NULL || graph->flow == NULL, "graph is %s", graph ? "not finished" : "NULL");
  WR_NEED_OPEN(env);
  WR_NEED_OK(wr_plan_check_match(plan, graph->flow, env, __func__));
  return wr_pagerank_open(&rank->iterated, graph, plan, env);
}

void wr_rank_close(wr_ranking *rank) {
  if (rank == NULL || rank->iterated.env == NULL) return;
  wr_env *env = rank->iterated.env;
  wr_rank_linear_close(rank->linear);
  env->ops->release(env, &rank->ranks);
  wr_pagerank_close(&rank->iterated);
  *rank = (wr_ranking){0};
}

/* ---- Parts of a solve ---- */

/* Some iterations by one method after others. */
typedef struct parts {
  wr_ranking *rank;
  const wr_pagerank_options *options;
  wr_monitor monitor;        /* the caller's, which counts the iterations of parts so far, too */
  wr_result *result;         /* of the last part; of all at the end */
  int64_t iterations, multiplies, multiplies_f32; /* of all parts so far */
  double bytes;              /* that these moved */
  int64_t most;              /* multiplies of the part that had the most, ... */
  wr_repeats repeats;        /* ... and how they were repeated */
  wr_rank_method method;     /* of the last part */
  int restarts;
  char changes[sizeof((wr_result *)0)->changes];
} parts;

/* Counts what a part has done. */
static void count(parts *g, int64_t iterations, int64_t multiplies, double bytes, wr_repeats repeats) {
  if (multiplies > g->most) g->most = multiplies, g->repeats = repeats;
  g->iterations += iterations, g->multiplies += multiplies, g->bytes += bytes;
  g->monitor.before += iterations;
}

static int64_t left(const parts *g) { return g->options->iterations - g->iterations; }

static void say_change(parts *g, wr_rank_method next, const char *format, ...) WR_PRINTF(3, 4);

/* Adds to result.changes that `next` goes on, and why. */
static void say_change(parts *g, wr_rank_method next, const char *format, ...) {
  va_list arguments;
  size_t used = strlen(g->changes), room = sizeof g->changes;
  if (used == 0) used = (size_t)snprintf(g->changes, room, "%s", names[g->method]);
  if (used < room)
    used += (size_t)snprintf(g->changes + used, room - used, "; from iteration %lld on %s, as ",
                             (long long)g->iterations + 1, names[next]);
  va_start(arguments, format);
  if (used < room) vsnprintf(g->changes + used, room - used, format, arguments);
  va_end(arguments);
  g->method = next;
}

/* At most `most` steps from start, or from the graph's. */
static wr_status run_steps(parts *g, wr_pagerank_method method, const wr_vec *start, int64_t most,
                           const wr_monitor *monitor) {
  wr_pagerank_options options = *g->options;
  options.method = method, options.start = start, options.iterations = most;
  wr_status status = wr_pagerank_solve(&g->rank->iterated, &options, monitor, g->result);
  if (status != WR_OK) return status;
  count(g, g->result->iterations, g->result->multiplies, g->result->iteration_bytes * (double)g->result->multiplies,
        g->result->repeats);
  g->multiplies_f32 += g->result->multiplies_f32;
  return WR_OK;
}

/* The one step that certifies rank->ranks, also where a signal or the time limit has ended what made them: `ended` is 0 or that
 * outcome. */
static wr_status certify(parts *g, int ended) {
  wr_monitor quiet = {.history = g->monitor.history, .before = g->monitor.before};
  wr_status status = run_steps(g, WR_PAGERANK_POWER, &g->rank->ranks, 1, &quiet);
  if (status != WR_OK || !ended || g->result->outcome != WR_MAX_ITERATIONS) return status;
  g->result->outcome = (wr_outcome)ended;
  if (ended == WR_TIME_LIMIT)
    snprintf(g->result->note, sizeof g->result->note,
             "the time limit has passed; the scores are those of the last iteration");
  return status;
}

static wr_status place_ranks(wr_ranking *rank) {
  wr_env *env = rank->iterated.env;
  const wr_graph *graph = rank->iterated.graph;
  if (rank->ranks.id) return WR_OK;
  return wr_comm_agree(graph->comm, env->ops->alloc(env, graph->n, env->type, "ranks", &rank->ranks));
}

/* ranks := those of the iterations so far. */
static wr_status hand_over(parts *g) {
  PASS(place_ranks(g->rank));
  return wr_pagerank_ranks(&g->rank->iterated, &g->rank->ranks);
}

/* At most `most` more steps of the power method, but one at least: without one there is no bound on the error. */
static wr_status go_on(parts *g, int64_t most) {
  PASS(hand_over(g));
  PASS(run_steps(g, WR_PAGERANK_POWER, &g->rank->ranks, most < left(g) ? most : left(g), &g->monitor));
  if (g->result->iterations == 0 && g->result->outcome != WR_MAX_ITERATIONS) PASS(certify(g, (int)g->result->outcome));
  return WR_OK;
}

static int is_over(const parts *g) { return g->result->outcome != WR_MAX_ITERATIONS || left(g) <= 0; }

/* ---- IDR ---- */

/* A solve takes three multiplies besides its iterations, and the step that ends it one. */
enum { LEAST_MULTIPLIES = 10, MOST_TRIES = 3 };

static wr_status open_linear(parts *g) {
  const wr_pagerank *p = &g->rank->iterated;
  if (g->rank->linear) return WR_OK;
  return wr_comm_agree(p->graph->comm, wr_rank_linear_open(p->graph, p->plan, p->env, &g->rank->linear));
}

/* From the ranks of the iterations so far. *why: not NULL if the solve is not over and IDR gets no further: a clause. */
static wr_status solve_linear(parts *g, const char **why) {
  wr_ranking *rank = g->rank;
  wr_pagerank *p = &rank->iterated;
  const wr_pagerank_options *o = g->options;
  double change = 0.9 * wr_pagerank_target(p, o);
  *why = NULL; /* is_over, or set below */
  PASS(open_linear(g));
  PASS(hand_over(g));
  for (int tries = 0; *why == NULL && !is_over(g); tries++, change /= 4) {
    wr_rank_linear_found found;
    if (left(g) <= LEAST_MULTIPLIES) {
      *why = "its multiplies were used up";
      break;
    }
    wr_rank_linear_options options = {.damping = o->damping, .change = change, .multiplies = left(g) - 1,
                                      .no_graph = o->no_graph, .no_resident = o->no_resident,
                                      .scale = o->stop_on_change ? 1 : o->damping / (1 - o->damping),
                                      .target = o->tolerance};
    PASS(wr_rank_linear_solve(rank->linear, &options, &g->monitor, &rank->ranks, &found));
    count(g, found.multiplies, found.multiplies, found.bytes, found.repeats);
    g->restarts += found.restarts;
    PASS(certify(g, found.interrupted));
    *why = found.why;
    if (*why == NULL && tries + 1 == MOST_TRIES) *why = "rounding keeps it from the tolerance";
    if (*why == NULL && !is_over(g)) PASS(wr_pagerank_ranks(p, &rank->ranks));
  }
  return WR_OK;
}

/* ---- Gauss-Seidel ---- */

/* 1 if the flow and the vectors are on the host, whole, with the pages' numbers. */
static int is_on_host(const parts *g) {
  const wr_pagerank *p = &g->rank->iterated;
  return p->graph->comm == NULL && p->env->place == WR_HOST && p->graph->flow->row_ptr != NULL &&
         p->graph->order == NULL;
}

/* From the graph's start; *why as in solve_linear. */
static wr_status solve_by_components(parts *g, const char **why) {
  wr_status status;
  wr_ranking *rank = g->rank;
  const wr_pagerank *p = &rank->iterated;
  const wr_pagerank_options *o = g->options;
  wr_gauss_seidel_found found;
  wr_gauss_seidel_options options = {.damping = o->damping, .change = 0.9 * wr_pagerank_target(p, o),
                                     .multiplies = left(g) - 9, /* it may take up to 8 more */
                                     .scale = o->stop_on_change ? 1 : o->damping / (1 - o->damping),
                                     .target = o->tolerance};
  int64_t multiplies;
  double *scores = NULL;
  *why = NULL;
  TRY(place_ranks(rank));
  TRY(wr_alloc(&scores, p->graph->n, sizeof *scores, "scores by components"));
  TRY(wr_gauss_seidel_solve(p->graph, &options, p->graph->start, wr_env_team(p->env), &g->monitor, scores, &found));
  TRY(p->env->ops->upload(p->env, &rank->ranks, scores));
  multiplies = (int64_t)fmin(ceil(found.multiplies), (double)(left(g) - 1));
  count(g, multiplies, multiplies, found.bytes, (wr_repeats){0});
  TRY(certify(g, found.interrupted));
  if (!is_over(g)) *why = found.met ? "rounding keeps it from the tolerance" : "its multiplies were used up";
done:
  wr_free(scores);
  return status;
}

/* Another method, and the power method after it if it fails, or where `may_lack`: 1, and it lacks memory. */
static wr_status then_power(parts *g, int may_lack) {
  const char *why;
  wr_status status = g->method == WR_RANK_IDR ? solve_linear(g, &why) : solve_by_components(g, &why);
  if (status == WR_ENOMEM && may_lack) why = "there is no memory for it", status = WR_OK;
  PASS(status);
  if (is_over(g)) return WR_OK;
  say_change(g, WR_RANK_POWER, "%s", why);
  return go_on(g, left(g));
}

/* A method that was asked for. IDR begins after a step of the power method. */
static wr_status by_other(parts *g, wr_rank_method method) {
  int may = g->options->damping > 0 && g->options->iterations > LEAST_MULTIPLIES, is_idr = method == WR_RANK_IDR;
  g->method = may ? method : WR_RANK_POWER;
  if (!is_idr && !is_on_host(g))
    return wr_fail(WR_EUNAVAILABLE,
                   "the method gauss-seidel computes on the CPU (-d cpu), and the graph is on a device");
  if (is_idr) PASS(open_linear(g));
  if (is_idr || !may)
    PASS(run_steps(g, WR_PAGERANK_POWER, g->options->start, may ? 1 : g->options->iterations, &g->monitor));
  if (may && !(is_idr && is_over(g))) PASS(then_power(g, 0));
  return WR_OK;
}

/* ---- The choice ---- */

static void say_choice(parts *g, const char *format, ...) WR_PRINTF(2, 3);
static void say_choice(parts *g, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(g->result->choice, sizeof g->result->choice, format, arguments);
  va_end(arguments);
}

/* Steps of the power method that are left at this rate, 0 < rate < 1. */
static double steps_left(const parts *g, double rate) {
  double target = wr_pagerank_target(&g->rank->iterated, g->options);
  return fmax(1, log(target / g->result->change) / log(rate));
}

/* What solves by components take in place of so many steps, in the time of a step; and multiplies of IDR. A Krylov method needs
 * about the square root, where eigenvalues fill an interval. */
static double gauss_seidel_steps(double steps) { return WR_RANK_GS_SETUP + WR_RANK_GS_FACTOR * sqrt(steps); }
static double idr_multiplies(double steps) { return WR_RANK_IDR_FACTOR * sqrt(steps); }

/* Another method for the steps that are left at this rate, if it promises to take less; g->method and result.changes say so.
 * Bytes are those of all parts, so that all choose alike. */
static wr_status choose_other(parts *g, double rate) {
  const wr_pagerank *p = &g->rank->iterated;
  double steps = steps_left(g, rate);
  double moved[] = {g->result->iteration_bytes, wr_rank_linear_bytes(p->graph, p->plan, p->env)};
  PASS(wr_comm_sum(p->graph->comm, moved, 2));
  double bytes = moved[0], ratio = moved[1] / bytes;
  if (steps * bytes < WR_RANK_LEAST_BYTES || left(g) <= LEAST_MULTIPLIES) return WR_OK;
  if (is_on_host(g) && gauss_seidel_steps(steps) < WR_RANK_GAIN * steps)
    say_change(g, WR_RANK_GAUSS_SEIDEL,
               "the change falls by a factor of %.3g a step, which promises %.0f more steps, or by components the time "
               "of %.0f",
               rate, ceil(steps), ceil(gauss_seidel_steps(steps)));
  else if (!is_on_host(g) && idr_multiplies(steps) * ratio < WR_RANK_GAIN * steps)
    say_change(g, WR_RANK_IDR,
               "the change falls by a factor of %.3g a step, which promises %.0f more steps, or %.0f multiplies of "
               "idr, with %.2g times the bytes each",
               rate, ceil(steps), ceil(idr_multiplies(steps)), ratio);
  return WR_OK;
}

/* Steps of the power method, after the first ones. After 8, 16, 32, ... steps the rate of the last half of them predicts how
 * many are left, and another method goes on where it promises to take less. */
static wr_status watch(parts *g) {
  for (int64_t block = WR_RANK_LOOK / 2; !is_over(g) && g->method == WR_RANK_POWER;
       block *= g->iterations > WR_RANK_LOOK / 2 ? 2 : 1) {
    double before = g->result->change;
    int64_t taken = g->iterations;
    PASS(go_on(g, block));
    taken = g->iterations - taken;
    if (is_over(g) || taken < block) break;
    PASS(choose_other(g, fmin(pow(g->result->change / before, 1 / (double)taken), g->options->damping)));
  }
  if (g->method != WR_RANK_POWER) PASS(then_power(g, 1));
  return WR_OK;
}

/* Chebyshev's recurrence no longer converges, at a change that exceeds the rounding of a step. At a damping near 1 rounding
 * grows in it, but not in the power method. */
static int is_stuck(const parts *g) {
  const wr_result *r = g->result;
  return r->outcome == WR_STAGNATED && r->measure > fmax(g->options->tolerance, r->rounding) && left(g) > 0;
}

/* 1 if no method can meet the tolerance, as rounding alone exceeds it, and Chebyshev's takes long to notice that. */
static int is_out_of_reach(const parts *g) {
  const wr_pagerank_options *o = g->options;
  return o->damping >= WR_RANK_NEAR_1 && !o->stop_on_change && o->order == 0 &&
         wr_pagerank_rounding(&g->rank->iterated, o) > o->tolerance;
}

static wr_status choose(parts *g) {
  const wr_pagerank_options *o = g->options;
  int few = WR_RANK_LOOK / 2;
  int is_symmetric = g->rank->iterated.graph->symmetric && o->start == NULL && !is_out_of_reach(g);
  int is_large = o->damping >= WR_RANK_LARGE_DAMPING;
  int may_watch = o->iterations > few && (is_large || (is_on_host(g) && o->order == 0));
  int watches = may_watch && !is_symmetric;
  g->method = is_symmetric ? WR_RANK_CHEBYSHEV : WR_RANK_POWER;
  PASS(run_steps(g, is_symmetric ? WR_PAGERANK_CHEBYSHEV : WR_PAGERANK_POWER, o->start, watches ? few : o->iterations,
                 &g->monitor));
  if (is_symmetric && is_stuck(g)) {
    say_change(g, WR_RANK_POWER, "rounding keeps it from the tolerance");
    PASS(go_on(g, may_watch ? few : left(g)));
    watches = may_watch;
  }
  if (watches) PASS(watch(g));
  if (is_symmetric)
    say_choice(g, "chebyshev, as each link has its mirror image");
  else if (o->order > 0)
    say_choice(g, "power, whose iterates are reviewed until the order is proven");
  else if (o->iterations <= few)
    say_choice(g, "power, as other methods take more than %d iterations", few);
  else if (!watches)
    say_choice(g, "power, as %s no other method is faster at a damping below %g",
               g->rank->iterated.graph->comm ? "in several processes" : "on a device", WR_RANK_LARGE_DAMPING);
  else if (!g->changes[0])
    say_choice(g, "power, as its steps converge fast enough");
  return WR_OK;
}

/* The result of all parts. */
static void conclude(parts *g) {
  wr_result *r = g->result;
  r->iterations = g->iterations, r->multiplies = g->multiplies, r->restarts = g->restarts;
  r->multiplies_f32 = g->multiplies_f32;
  if (g->multiplies > g->most) /* several parts */
    r->iteration_bytes = g->bytes / (double)g->multiplies, r->repeats = g->repeats;
  snprintf(r->method, sizeof r->method, "%s", names[g->method]);
  snprintf(r->changes, sizeof r->changes, "%s", g->changes);
}

wr_status wr_rank_solve(wr_ranking *rank, wr_rank_method method, const wr_pagerank_options *o,
                        const wr_monitor *monitor, wr_result *result) {
  WR_REFUSE_IF(rank == NULL || rank->iterated.env == NULL, "rank is %s", rank ? "not open" : "NULL");
  WR_REFUSE_IF(!is_method(method), "method is %d", (int)method);
  WR_NEED_OK(wr_pagerank_check(o, __func__));
  WR_NEED(result);
  if (rank->iterated.graph->comm && method == WR_RANK_GAUSS_SEIDEL)
    return wr_fail(WR_EUNAVAILABLE, "the method %s is for a graph that is whole, not for a part of one", names[method]);
  if (method == WR_RANK_CHEBYSHEV && !rank->iterated.graph->symmetric)
    return wr_fail(WR_EUSAGE, "the method chebyshev needs a graph whose links have a mirror image of the same weight");
  parts g = {.rank = rank, .options = o, .result = result, .method = method};
  if (monitor) g.monitor = *monitor;
  if (method == WR_RANK_AUTO)
    PASS(choose(&g));
  else if (method == WR_RANK_IDR || method == WR_RANK_GAUSS_SEIDEL)
    PASS(by_other(&g, method));
  else
    PASS(run_steps(&g, method == WR_RANK_CHEBYSHEV ? WR_PAGERANK_CHEBYSHEV : WR_PAGERANK_POWER, o->start, o->iterations,
                   &g.monitor));
  conclude(&g);
  return WR_OK;
}
