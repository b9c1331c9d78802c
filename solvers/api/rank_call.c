/* PageRank of windrow.h. */
#include <inttypes.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>

#include "config/argument.h"
#include "config/clock.h"
#include "config/defaults.h"
#include "config/elements.h"
#include "config/memory.h"
#include "solvers/api/scoring.h"
#include "solvers/api/session.h"
#include "solvers/rank/rank_sets.h"
#include "solvers/report/run.h"
#include "solvers/top.h"

/* One call. */
typedef struct rank_call {
  const char *function;
  wr_matrix *A;
  wr_csr rows; /* of A, with device views of its own */
  wr_session session;
  wr_scoring_options options;
  wr_graph graph;
  wr_plan *plan, *narrow;
  wr_env narrow_env;
  wr_scoring scoring;
  wr_listener listener;
  wr_result found;
  wr_verdict verdict;
  int precision, verify;
  int of_sets; /* 1: ranks many teleport sets */
  int on_device; /* 1: scores, personalize and start are on the device */
  wr_vec there;  /* [n] f64, for their copies */
} rank_call;

enum { F64, F32, MIXED }; /* the words of options->precision */

static wr_status check_options(const char *function, const wr_rank_options *o) {
  if (!(o->damping >= 0 && o->damping < 1))
    return wr_refuse(function, "options->damping is %g; it is 0, for 0.85, or above 0 and below 1", o->damping);
  if (!(o->tolerance >= 0) || isinf(o->tolerance))
    return wr_refuse(function, "options->tolerance is %g; it is finite and 0 or more", o->tolerance);
  if (!(o->time_limit >= 0)) return wr_refuse(function, "options->time_limit is %g; it is 0 or more", o->time_limit);
  if (o->max_iterations < 0)
    return wr_refuse(function, "options->max_iterations is %lld", (long long)o->max_iterations);
  return o->check_every < 0 ? wr_refuse(function, "options->check_every is %lld", (long long)o->check_every) : WR_OK;
}

static wr_status choose(const wr_rank_options *o, rank_call *c) {
  int method, stop;
  PASS(check_options(c->function, o));
  PASS(wr_word_choose(c->function, "options->precision", o->precision, "f64|f32|mixed", &c->precision));
  PASS(wr_word_choose(c->function, "options->method", o->method, "auto|power|chebyshev|idr|gauss-seidel", &method));
  PASS(wr_word_choose(c->function, "options->stop", o->stop, "bound|change", &stop));
  PASS(wr_word_choose(c->function, "options->verify", o->verify, WR_VERIFY_WORDS, &c->verify));
  c->options = (wr_scoring_options){
      .method = (wr_rank_method)method,
      .iterate = {.damping = o->damping > 0 ? o->damping : WR_DAMPING, .tolerance = o->tolerance,
                  .stop_on_change = stop, .iterations = o->max_iterations, .check_every = o->check_every}};
  wr_scoring_complete(&c->options, c->precision == F32 ? WR_F32 : WR_F64);
  if (c->precision == MIXED && (method == WR_RANK_IDR || method == WR_RANK_GAUSS_SEIDEL))
    return wr_refuse(c->function, "options->precision is mixed, which %s has not; power and chebyshev have", o->method);
  return WR_OK;
}

static wr_status open_place(const wr_rank_options *o, rank_call *c) {
  wr_type type = c->precision == F32 ? WR_F32 : WR_F64;
  double bytes = wr_scoring_work(&c->options, type, c->rows.nrows, c->rows.nnz);
  if (c->options.method == WR_RANK_GAUSS_SEIDEL) bytes = 0; /* it is for the CPU */
  if (c->on_device) bytes = INFINITY;
  const wr_place_options place = {.backend = o->backend, .device = o->device, .type = type, .threads = o->threads,
                                  .several = c->of_sets, .deterministic = o->deterministic, .bytes = bytes,
                                  .listener = &c->listener};
  return wr_session_open(c->function, &place, &c->session);
}

/* *to := an array of the caller's, or NULL. */
static wr_status copy_given(rank_call *c, const double *given, const char *what, double **to) {
  wr_env *env = &c->session.env;
  if (given == NULL || !c->on_device) return wr_copy_elements(given, c->rows.nrows, what, to);
  PASS(wr_alloc(to, c->rows.nrows, sizeof **to, what));
  PASS(env->ops->take(env, &c->there, given));
  return env->ops->download(env, &c->there, *to);
}

static wr_status make_graph(const wr_rank_options *o, rank_call *c) {
  wr_status status;
  double *teleport = NULL, *start = NULL;
  wr_env *device = c->session.env.place == WR_CUDA ? &c->session.env : NULL;
  TRY(copy_given(c, o->personalize, "the teleport vector", &teleport));
  TRY(copy_given(c, o->start, "the first guess", &start));
  status = wr_graph_begin(&c->rows, o->links_are_in != 0, teleport, start, &c->graph);
  teleport = start = NULL; /* the graph has taken them over */
  TRY(status);
  if (device) TRY(wr_graph_upload(&c->graph, device));
  TRY(wr_scoring_finish(&c->graph, device));
done:
  wr_free(teleport);
  wr_free(start);
  return status;
}

/* The second plan of mixed precision: the same matrix in f32. */
static wr_status sweep_in_f32(rank_call *c) {
  if (c->precision != MIXED) return WR_OK;
  PASS(wr_env_with_type(&c->session.env, WR_F32, &c->narrow_env));
  PASS(wr_choice_plan(&c->session.choice, c->graph.flow, &c->narrow_env, &c->narrow));
  PASS(wr_plan_prepare(c->narrow));
  return wr_pagerank_sweep_in(&c->scoring.rank.iterated, c->narrow, &c->narrow_env);
}

static wr_status check_arrays(const wr_rank_options *o, const double *scores, rank_call *c) {
  static const char *const names[] = {"scores", "options->personalize", "options->start"};
  const double *const arrays[] = {scores, o->personalize, o->start};
  wr_env *env = &c->session.env;
  if (!c->on_device) return WR_OK;
  PASS(wr_session_check_arrays(c->function, &c->session, 3, arrays, names));
  return env->ops->alloc(env, c->rows.nrows, WR_F64, "copies of scores", &c->there);
}

static wr_status prepare(const wr_rank_options *o, const double *scores, rank_call *c) {
  wr_env *env = &c->session.env;
  PASS(choose(o, c));
  PASS(open_place(o, c));
  PASS(check_arrays(o, scores, c));
  PASS(make_graph(o, c));
  if (c->of_sets) env->need_columns = wr_rank_sets_columns(env);
  const wr_plan_use use = wr_scoring_use(&c->options, &c->graph);
  PASS(wr_session_plan(&c->session, c->graph.flow, &use, &c->listener, &c->plan));
  if (!c->of_sets) PASS(wr_scoring_open(&c->scoring, &c->options, &c->graph, c->plan, env));
  if (!c->of_sets) PASS(sweep_in_f32(c));
  wr_listener_say(&c->listener, "%s on %s: %s", c->session.choice.backend->name, env->device_name,
                  wr_plan_get_info(c->plan)->line);
  return env->ops->wait(env);
}

static wr_status run(rank_call *c, double *scores, const wr_monitor *monitor, wr_rank_result *r) {
  wr_env *env = &c->session.env;
  double begin = wr_clock(), since = begin;
  (void)omp_pause_resource_all(omp_pause_soft); /* its threads would spin for milliseconds and slow down the solve */
  PASS(wr_scoring_run(&c->scoring, monitor, &c->found));
  PASS(env->ops->wait(env));
  r->solve_seconds = wr_clock() - since, since = wr_clock();
  PASS(wr_scoring_answer(&c->scoring, scores));
  r->transfer_seconds = wr_clock() - since, since = wr_clock();
  double full = wr_scoring_verify_seconds(c->rows.nrows, c->rows.nnz, omp_get_max_threads());
  wr_verified level = wr_level_choose(c->verify, full, r->prepare_seconds + since - begin);
  PASS(wr_scoring_verify(&c->scoring, scores, level, WR_VERIFY_SAMPLE_ROWS, &c->verdict));
  r->verify_seconds = wr_clock() - since;
  return wr_scoring_normalise(&c->scoring, scores);
}

static void fill_in(const rank_call *c, wr_rank_result *r) {
  const wr_result *found = &c->found;
  r->outcome = found->outcome;
  r->verified = c->verdict.level != WR_VERIFY_OFF && c->verdict.multiplied_right && c->verdict.met_tolerance;
  r->iterations = found->iterations, r->checked_rows = c->verdict.rows, r->dangling = c->graph.dangling;
  r->bound = found->bound, r->change = found->change;
  snprintf(r->method, sizeof r->method, "%s", found->method);
  snprintf(r->backend, sizeof r->backend, "%s", c->session.choice.backend->name);
  snprintf(r->device, sizeof r->device, "%s", c->session.env.device_name);
  snprintf(r->note, sizeof r->note, "%s", found->note);
  wr_listener_say(&c->listener, "%s", found->choice);
  wr_listener_say(&c->listener, "%s", found->changes);
  wr_listener_say(&c->listener, "%s by %s after %" PRId64 " iterations, bound %.3g%s%s",
                  wr_outcome_title(found->outcome), found->method, found->iterations, found->bound,
                  found->note[0] ? ": " : "", found->note);
}

static void end(rank_call *c) {
  wr_scoring_close(&c->scoring);
  wr_plan_destroy(c->narrow);
  wr_plan_destroy(c->plan);
  wr_graph_free(&c->graph);
  if (c->session.env.ops) c->session.env.ops->release(&c->session.env, &c->there);
  wr_csr_device_free(c->rows.device);
  wr_session_close(&c->session);
  wr_matrix_free(c->A);
}

/* Makes the graph and the plan. */
static wr_status begin(const wr_rank_options *o, const wr_matrix *A, const double *scores, rank_call *c,
                       wr_rank_result *r) {
  double begun = wr_clock();
  if (A->csr->nrows != A->csr->ncols)
    return wr_fail(WR_EINPUT, "%s: a graph needs a square matrix, not %" PRId64 " x %" PRId64, c->function,
                   A->csr->nrows, A->csr->ncols);
  c->listener =
      (wr_listener){.progress = o->progress, .log = o->log, .context = o->context, .time_limit = o->time_limit};
  wr_listener_begin(&c->listener);
  c->A = wr_matrix_hold(A, &c->rows);
  PASS(prepare(o, scores, c));
  r->prepare_seconds = wr_clock() - begun;
  return WR_OK;
}

static wr_status rank_once(const wr_rank_options *o, double *scores, rank_call *c, wr_rank_result *r) {
  wr_history *history;
  PASS(wr_trace_begin(o->trace, 0, &history));
  const wr_monitor monitor = wr_listener_monitor(&c->listener, history);
  PASS(run(c, scores, &monitor, r));
  fill_in(c, r);
  if (c->verdict.level == WR_VERIFY_OFF || c->verdict.multiplied_right || c->found.outcome == WR_NON_FINITE)
    return WR_OK;
  return wr_fail(WR_EINTERNAL, "%s: %s has multiplied wrong: the error of a row is %.3g times what rounding explains",
                 c->function, c->session.choice.backend->name, c->verdict.worst_row);
}

/* The same with scores on the device. */
static wr_status rank_there(const wr_rank_options *o, double *scores, rank_call *c, wr_rank_result *r) {
  wr_status status;
  wr_env *env = &c->session.env;
  double *here = NULL;
  TRY(wr_alloc(&here, c->rows.nrows, sizeof *here, "copies of scores"));
  TRY(rank_once(o, here, c, r));
  double begun = wr_clock();
  TRY(env->ops->upload(env, &c->there, here));
  TRY(env->ops->give(env, &c->there, scores));
  r->transfer_seconds += wr_clock() - begun;
done:
  wr_free(here);
  return status;
}

/* ---- many teleport sets ---- */

/* Arrays of the caller's, and what is known of all sets. */
typedef struct set_scores {
  wr_teleport_sets sets;
  int64_t top, *best;
  double *scores, *bounds, change, bound;
  wr_outcome worst;
} set_scores;

static wr_status keep_set(void *context, const wr_set_ranks *found) {
  set_scores *to = context;
  memcpy(to->best + found->set * to->top, found->node, (size_t)found->count * sizeof *to->best);
  memcpy(to->scores + found->set * to->top, found->score, (size_t)found->count * sizeof *to->scores);
  if (to->bounds) to->bounds[found->set] = found->bound;
  to->worst = wr_worse_outcome(to->worst, found->outcome);
  to->bound = fmax(to->bound, found->bound), to->change = fmax(to->change, found->change);
  return WR_OK;
}

/* The sets whose bounds the host computes again. */
static int64_t count_checks(const rank_call *c, int64_t sets) {
  enum { AUTO, FULL }; /* of WR_VERIFY_WORDS */
  if (c->verify == AUTO) return wr_scoring_checked_sets(c->rows.nrows, c->rows.nnz, sets);
  return c->verify == FULL ? sets : 0;
}

static wr_status rank_sets(set_scores *to, rank_call *c, wr_rank_result *r) {
  const wr_pagerank_options *o = &c->options.iterate;
  const wr_rank_sets_options options = {.damping = o->damping, .tolerance = o->tolerance, .iterations = o->iterations,
                                        .stop_on_change = o->stop_on_change, .check_every = o->check_every,
                                        .top = to->top, .checks = count_checks(c, to->sets.count)};
  const wr_monitor monitor = wr_listener_monitor(&c->listener, NULL);
  wr_rank_sets_facts facts;
  double begun = wr_clock();
  for (int64_t k = 0; k < to->sets.count * to->top; k++) to->best[k] = -1, to->scores[k] = 0;
  for (int64_t k = 0; to->bounds && k < to->sets.count; k++) to->bounds[k] = INFINITY;
  PASS(wr_rank_sets(&c->graph, c->plan, &c->session.env, &to->sets, &options, &monitor, keep_set, to, &facts));
  wr_outcome outcome = facts.ended == WR_CONVERGED ? to->worst : facts.ended;
  c->found = (wr_result){.outcome = outcome, .iterations = facts.iterations,
                         .bound = facts.done < to->sets.count ? INFINITY : to->bound, .change = to->change,
                         .method = "power"};
  fill_in(c, r);
  r->solve_seconds = wr_clock() - begun;
  r->verified = facts.checked > 0 && facts.refuted == 0 && r->outcome == WR_CONVERGED;
  if (facts.refuted == 0) return WR_OK;
  return wr_fail(WR_EINTERNAL,
                 "%s: %s has multiplied wrong: %" PRId64 " of %" PRId64 " sets have a larger error than their bound",
                 c->function, c->session.choice.backend->name, facts.refuted, facts.checked);
}

static wr_status check_sets(const char *function, const wr_rank_options *o) {
  if (o->method && strcmp(o->method, "power") != 0)
    return wr_refuse(function, "options->method is '%.40s'; many sets are ranked by power", o->method);
  if (o->precision && strcmp(o->precision, "mixed") == 0)
    return wr_refuse(function, "options->precision is 'mixed'; many sets are ranked in f64 or f32");
  if (o->personalize) return wr_refuse(function, "options->personalize is not NULL; the sets are where to teleport");
  if (o->start) return wr_refuse(function, "options->start is not NULL; a set starts from its teleport vector");
  return o->trace ? wr_refuse(function, "options->trace is not NULL; of many sets no changes are kept") : WR_OK;
}

/* ---- calls ---- */

/* Of one set of scores, or of many. */
static wr_status rank(const char *function, const wr_matrix *A, double *scores, int on_device, set_scores *sets,
                      const wr_rank_options *options, wr_rank_result *result) {
  wr_status status;
  wr_rank_options o;
  wr_rank_result r = {0};
  rank_call *c = NULL;
  double begun = wr_clock();
  int before = 0;
  PASS(wr_struct_check(function, "result", result));
  status = wr_struct_take(function, "options", options, &o, sizeof o);
  if (status == WR_OK && sets) status = check_sets(function, &o);
  if (status == WR_OK) status = wr_threads_enter(function, "options->threads", A->csr->nnz, &o.threads, &before);
  if (status == WR_OK) status = wr_alloc_zeroed(&c, 1, sizeof *c, "a solve");
  if (status == WR_OK) {
    c->function = function, c->of_sets = sets != NULL, c->on_device = on_device;
    status = begin(&o, A, scores, c, &r);
    if (status == WR_OK)
      status = sets ? rank_sets(sets, c, &r) : (on_device ? rank_there : rank_once)(&o, scores, c, &r);
    r.total_seconds = wr_clock() - begun;
    end(c);
  }
  wr_free(c);
  wr_threads_leave(before);
  if (status != WR_OK) {
    r.status = status, r.outcome = WR_NOT_SOLVED, r.verified = 0;
    snprintf(r.note, sizeof r.note, "%s", wr_status_message());
  }
  wr_struct_give(result, &r, sizeof r);
  return status;
}

wr_status wr_rank(const wr_matrix *A, double *scores, const wr_rank_options *options, wr_rank_result *result) {
  WR_NEED_OK(wr_matrix_check(__func__, A));
  WR_NEED(scores);
  return rank(__func__, A, scores, 0, NULL, options, result);
}

wr_status wr_rank_device(const wr_matrix *A, double *scores, const wr_rank_options *options, wr_rank_result *result) {
  WR_NEED_OK(wr_matrix_check(__func__, A));
  WR_NEED(scores);
  return rank(__func__, A, scores, 1, NULL, options, result);
}

wr_status wr_rank_many(const wr_matrix *A, int64_t sets, const int64_t *first, const int64_t *node,
                       const double *weight, int64_t top, int64_t *best, double *scores, double *bounds,
                       const wr_rank_options *options, wr_rank_result *result) {
  WR_NEED_OK(wr_matrix_check(__func__, A));
  WR_REFUSE_IF(sets < 1, "sets is %" PRId64, sets);
  WR_NEED(first);
  WR_NEED(node);
  WR_REFUSE_IF(top < 1 || top > INT64_MAX / 8 / sets, "top is %" PRId64, top);
  WR_NEED(best);
  WR_NEED(scores);
  set_scores to = {.sets = {sets, first, node, weight}, .top = top, .best = best, .scores = scores, .bounds = bounds,
                   .worst = WR_CONVERGED};
  return rank(__func__, A, NULL, 0, &to, options, result);
}

wr_status wr_rank_best(const double *scores, int64_t n, int64_t count, int64_t *best) {
  WR_NEED(scores);
  WR_REFUSE_IF(n < 1, "n is %lld", (long long)n);
  WR_REFUSE_IF(count < 0 || count > n, "count is %lld; there are %lld scores", (long long)count, (long long)n);
  WR_NEED(best);
  wr_top(scores, n, count, best);
  return WR_OK;
}
