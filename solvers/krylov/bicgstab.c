#include "solvers/bicgstab.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "config/argument.h"
#include "config/defaults.h"
#include "config/elements.h"
#include "config/memory.h"
#include "solvers/iteration.h"
#include "solvers/krylov/bicgstab_judge.h"
#include "solvers/krylov/method.h"
#include "solvers/lockstep.h"
#include "spmv/device/vec_argument.h"
#include "spmv/matrix/matrix_facts.h"
#include "spmv/parts/comm.h"
#include "spmv/plan_argument.h"
#include "spmv/steps/bicgstabl_steps.h"

enum {
  MOST_RESCUES = 3, /* times that options.review is asked where the solve fails */
  SNAPSHOT_ROUNDS = 16, /* iterations between two snapshots at least                             */
  PATIENCE = 200, CHANGE_PATIENCE = 1000, /* iterations without a gain; more where another method would go on */
  FEW_ITERATIONS = 1000, LAST_ITERATIONS = 64 /* of which a method gets all, even if another, or another M, could go on */
};

/* What the host keeps from one check of the residual to the next. */
typedef struct progress {
  const wr_bicgstab_options *options;
  const wr_monitor *monitor;
  wr_result *result;
  double scalars[WR_MAX_SCALARS]; /* the bank, as downloaded last; the first ones are a wr_solve_scalars */
  double bound;             /* on ||b - A x||                                                           */
  double target;            /* on ||r||: the bound, halved with every refinement, since the true        */
                            /* residual has rounding on top of r                                        */
  double true_norm;         /* of the answer, once settled                                              */
  int settled;              /* x is the answer, t its residual                                          */
  double guess_norm;        /* residual of the guess, whether or not it was replaced by 0               */
  double first_norm;        /* residual of what load_guess loads: the guess, 0, or 0 beside a base      */
  double snapshot_norm;     /* ||r|| of the snapshot                                                    */
  int snapshot_is_start;    /* the snapshot is the iterate of the last start                            */
  int64_t start_iteration;  /* of the last start                                                        */
  double restart_norm;      /* ||r|| at the last restart                                                */
  int poor_restarts;        /* in a row                                                                 */
  int fresh;                /* no restart since the start or a refinement                               */
  double last_true;         /* twice the true residual of the start, then that of the last refinement   */
  int may_change;           /* 1: another method may go on where this one gets no further               */
  int64_t multiplies;       /* of earlier methods                                                       */
  char changes[480];        /* what was said about these changes                                        */
  double last_backward;     /* the backward error at the last refinement; infinity before               */
  double last_round;        /* that this method may take: c.last may be sooner, for a review            */
  double review_round;      /* of the next review; infinity: none                                       */
  double origin_norm;       /* residual of the first start                                              */
  double least;             /* norm of a residual seen at a review                                      */
  int rescues;              /* how often `review` was asked where the solve failed                      */
} progress;

static int most_scalars(void) {
  int most = 0;
  for (int k = 0; k < wr_method_count(); k++)
    if (wr_method_at(k)->scalars > most) most = wr_method_at(k)->scalars;
  return most;
}

wr_status wr_bicgstab_place_rhs(wr_bicgstab *s) {
  const wr_system *system = s->system;
  const wr_scale_factor power = wr_scale_of(system->exponent);
  if (s->weight.id && s->weight_exponent != system->rhs_exponent)
    PASS(s->env->ops->upload(s->env, &s->weight, system->row_weight));
  s->weight_exponent = system->rhs_exponent;
  if (system->there == NULL || system->scaling.done != WR_SCALE_NONE || power.unit == 0)
    return s->env->ops->upload(s->env, &s->b, system->rhs);
  return s->env->ops->recast(s->env, &(wr_recast){.in = {system->there}, .c = {power.unit}, .out = &s->b});
}

wr_status wr_bicgstab_open(wr_bicgstab *s, const wr_system *system, wr_plan *plan, wr_env *env) {
  wr_status status;
  WR_NEED(s);
  *s = (wr_bicgstab){0};
  WR_REFUSE_IF(system == NULL || system->matrix == NULL, "system is %s", system ? "not built" : "NULL");
  WR_NEED_OPEN(env);
  WR_NEED_OK(wr_plan_check_match(plan, system->matrix, env, __func__));
  *s = (wr_bicgstab){.system = system, .plan = plan, .env = env, .weight_exponent = INT_MIN};
  s->method = &wr_method_bicgstab;
  wr_vec *const vectors[] = {&s->b, &s->x, &s->d, &s->r, &s->t, &s->snapshot};
  for (size_t k = 0; k < sizeof vectors / sizeof vectors[0]; k++)
    TRY(env->ops->alloc(env, system->n, env->type, "a vector of the solver", vectors[k]));
  TRY(wr_method_place(s));
  TRY(env->ops->alloc(env, most_scalars(), WR_F64, "scalars", &s->bank));
  TRY(wr_iteration_open(env, &s->loop));
  if (system->row_weight) TRY(env->ops->alloc(env, system->n, env->type, "the weights of rows", &s->weight));
  TRY(wr_bicgstab_place_rhs(s));
done:
  if (status != WR_OK) wr_bicgstab_close(s);
  return status;
}

void wr_bicgstab_close(wr_bicgstab *s) {
  if (s == NULL || s->env == NULL) return;
  wr_iteration_close(s->loop);
  wr_vec *const vectors[] = {&s->b, &s->x, &s->d, &s->r, &s->t, &s->weight, &s->snapshot, &s->bank,
                           &s->begun.d};
  for (size_t k = 0; k < sizeof vectors / sizeof vectors[0]; k++) s->env->ops->release(s->env, vectors[k]);
  for (int k = 0; k < WR_METHOD_VECTORS; k++) s->env->ops->release(s->env, &s->own[k]);
  double *const rooms[] = {s->room, s->base, s->rhs, s->u, s->residual};
  for (size_t k = 0; k < sizeof rooms / sizeof rooms[0]; k++) wr_free(rooms[k]);
  *s = (wr_bicgstab){0};
}

wr_status wr_bicgstab_precondition(wr_bicgstab *s, wr_precond *precond) {
  WR_REFUSE_IF(s == NULL || s->env == NULL, "s is %s", s ? "not open" : "NULL");
  WR_REFUSE_IF(precond && wr_precond_size(precond) != s->system->n, "precond is of %lld rows, the system of %lld",
               (long long)wr_precond_size(precond), (long long)s->system->n);
  s->precond = precond;
  return wr_method_place(s);
}

static wr_solve_scalars *scalars_of(progress *g) { return (wr_solve_scalars *)g->scalars; }

/* *square := (t, t), where that is not the square of the norm that the tolerance is about. */
static wr_status find_plain_square(wr_bicgstab *s, double *square) {
  double bank[WR_MAX_SCALARS];
  wr_fused f = {.in = {&s->t}, .reduce = {{WR_NRM2SQ, &s->t, NULL, WR_SOLVE_SCALAR(s, qq)}}};
  if (s->weight.id == 0) return WR_OK;
  PASS(s->env->ops->fused(s->env, &f));
  PASS(s->env->ops->download(s->env, &s->bank, bank));
  *square = ((const wr_solve_scalars *)bank)->qq;
  return WR_OK;
}

static wr_status set_up_loop(wr_bicgstab *s, const progress *g);

/* 1: if this method gets no further, the same may go on with another M; ... */
static int may_change_precond(const progress *g) { return g->options->review && g->rescues < MOST_RESCUES; }

/* ... or so, or another method. */
static int may_follow(const progress *g) { return g->may_change || may_change_precond(g); }

wr_solve_scalars wr_method_scalars(const wr_bicgstab *s, double norm, double target, int may_change, int64_t every) {
  double unit = wr_type_unit(s->env->type), square = norm * norm;
  return (wr_solve_scalars){.rr = square,
                            .weighted_rr = square,
                            .is_weighted = s->weight.id != 0,
                            .bound = target * target,
                            .largest = 1 / (unit * unit),
                            .huge = DBL_MAX,
                            .one = 1,
                            .every = (double)every,
                            .log_room = WR_LOG_ROOM,
                            .enough = 0.01,
                            .gap = SNAPSHOT_ROUNDS,
                            .gain_rr = square,
                            .gain = 0.81,
                            .patience = may_change ? CHANGE_PATIENCE : PATIENCE,
                            .yields = may_change || !s->method->knows_noise};
}

double wr_method_share(const wr_method *method, int may_change, int may_change_precond, double left) {
  int may_end_early = may_change_precond || (may_change && !method->fits_or_not);
  return may_end_early && left >= (may_change_precond ? LAST_ITERATIONS : FEW_ITERATIONS) ? floor(left / 2) : left;
}

/* Restarts from x, with d = 0 and r := t, its true residual of this norm. seed: of wr_method.begin. */
static wr_status begin(wr_bicgstab *s, progress *g, double norm, int seed) {
  const wr_solve_scalars before = *scalars_of(g);
  if (s->method->hashes && s->seed != seed) { /* the loop that was recorded has other hashes */
    s->seed = seed;
    PASS(set_up_loop(s, g));
  }
  wr_solve_scalars c = wr_method_scalars(s, norm, g->target, g->may_change, s->loop->every);
  c.steps = c.gain_step = before.steps, c.rounds = before.rounds, c.period = s->loop->period;
  c.snapshot_rr = g->snapshot_norm * g->snapshot_norm, c.snapshot_round = before.rounds + SNAPSHOT_ROUNDS;
  PASS(find_plain_square(s, &c.rr));
  /* The share of a method that has begun elsewhere is of all iterations. */
  double begun = c.steps > 0 && c.steps == (double)s->begun.iterations ? c.steps : 0;
  double left = (double)g->options->iterations - c.steps + begun;
  left = wr_method_share(s->method, g->may_change, may_change_precond(g), left) - begun;
  if (begun > 0) left = fmax(left, 1);
  g->last_round = c.rounds + left;
  c.last = fmin(g->last_round, fmax(g->review_round, c.rounds + 1)), c.last_part = c.last - s->loop->unroll;
  PASS(wr_method_copy(s, &s->r, &s->t));
  PASS(s->method->begin(s, &c, seed));
  PASS(s->env->ops->download(s->env, &s->bank, g->scalars));
  g->start_iteration = (int64_t)c.steps;
  wr_iteration_begin(s->loop);
  return WR_OK;
}

static void end_with(wr_result *result, wr_outcome outcome, const char *note) {
  result->outcome = outcome;
  snprintf(result->note, sizeof result->note, "%s", note);
}

/* After a signal or at the time limit, x being the best iterate so far. */
static void end_early(wr_result *result, int outcome) {
  const char *at_limit = result->iterations > 0 ? "the time limit has passed; the answer is the best iterate so far"
                                                : "the time limit had passed before the first iteration";
  end_with(result, (wr_outcome)outcome, outcome == WR_TIME_LIMIT ? at_limit : "");
}

/* x := the first guess and what has been added to it elsewhere, or 0 if there is a base, or if b = 0, which has the solution
 * 0. */
static wr_status load_guess(wr_bicgstab *s) {
  int starts = s->system->norm_b > 0 && !s->from_zero && !s->refined, given = starts && s->system->guess;
  PASS(given ? s->env->ops->upload(s->env, &s->x, s->system->guess) : s->env->ops->fill(s->env, &s->x, 0));
  if (!starts || s->begun.d.id == 0) return WR_OK;
  wr_fused add = {.in = {&s->x, &s->begun.d}, .out = {&s->x}, .c = {{{.factor = 1}, {.factor = 1}}}};
  return s->env->ops->fused(s->env, &add);
}

wr_status wr_bicgstab_load(wr_bicgstab *s, double *norm) {
  const wr_solve_scalars scalars = {.one = 1};
  double bank[WR_MAX_SCALARS] = {0};
  memcpy(bank, &scalars, sizeof scalars);
  s->from_zero = s->refined = 0;
  PASS(wr_bicgstab_place_rhs(s));
  PASS(s->env->ops->upload(s->env, &s->bank, bank));
  *norm = s->system->norm_b;
  if (s->system->guess == NULL) return wr_method_copy(s, &s->t, &s->b); /* x = 0 */
  PASS(load_guess(s));
  return wr_bicgstab_true_residual(s, &s->x, norm);
}

int wr_bicgstab_trusts_guess(const wr_bicgstab *s, double norm, double bound) {
  double unit = wr_type_unit(s->env->type);
  return s->system->guess == NULL || norm <= s->system->norm_b || (isfinite(norm) && 10 * unit * norm <= bound);
}

typedef enum origin { CURRENT, SNAPSHOT, GUESS } origin;

/* x := the one of iterate, snapshot and guess with the smallest true residual, the guess only if both others are worse;
 * t := the residual of x, *norm := its norm. A residual that is not finite is worse than any. *from: which one it is. */
static wr_status choose_better(wr_bicgstab *s, const progress *g, double *norm, origin *from) {
  double current, saved;
  PASS(wr_method_settle_iterate(s));
  PASS(wr_bicgstab_true_residual(s, &s->x, &current));
  PASS(wr_bicgstab_true_residual(s, &s->snapshot, &saved));
  *from = current < saved ? CURRENT : SNAPSHOT;
  *norm = *from == CURRENT ? current : saved;
  if (!(*norm <= g->first_norm)) *from = GUESS;
  if (*from == SNAPSHOT) PASS(wr_method_copy(s, &s->x, &s->snapshot));
  if (*from == GUESS) PASS(load_guess(s));
  if (*from != SNAPSHOT) PASS(wr_bicgstab_true_residual(s, &s->x, norm)); /* t is the snapshot's residual */
  return WR_OK;
}

/* x := the guess if its residual is smaller than the true one of x, *norm. t := the residual of x. */
static wr_status compare_with_guess(wr_bicgstab *s, progress *g, double *norm) {
  if (*norm <= g->first_norm) return WR_OK;
  PASS(load_guess(s));
  PASS(wr_bicgstab_true_residual(s, &s->x, norm));
  return wr_bicgstab_judge(s, g->bound, norm);
}

/* Restarts from x; norm is that of its true residual. If the rounding of the device's residual, in t, could matter, the host
 * computes the residual, and the solver goes on with a correction that removes it. */
static wr_status go_on_from(wr_bicgstab *s, progress *g, double norm, int seed) {
  if (s->on_host) {
    PASS(wr_bicgstab_refine(s));
    g->first_norm = norm;
  } else {
    PASS(wr_method_copy(s, &s->snapshot, &s->x));
  }
  g->snapshot_norm = g->restart_norm = norm, g->snapshot_is_start = 1;
  return begin(s, g, norm, seed);
}

/* *met := 1 if x, *norm being judged, meets the tolerance. For the backward error the host computes the residual, too. */
static wr_status find_met(wr_bicgstab *s, const progress *g, double *norm, int *met) {
  *met = *norm <= g->bound;
  if (!g->options->by_backward || !isfinite(*norm)) return WR_OK;
  if (!s->on_host) PASS(wr_bicgstab_judge_on_host(s, norm));
  *met = wr_residual_meets(s->system, &s->found, g->options->tolerance, 1);
  return WR_OK;
}

/* 1 if another correction may help: the last one has halved the true residual, or the backward error that is to be small. Then
 * target := what ||r|| is to meet next. */
static int may_refine(const wr_bicgstab *s, progress *g, double norm) {
  int by_backward = g->options->by_backward && norm <= g->bound;
  int most = g->options->by_backward ? WR_BICGSTAB_BACKWARD_REFINEMENTS : WR_BICGSTAB_REFINEMENTS;
  int is_better = norm <= g->last_true / 2 || (by_backward && s->found.backward <= g->last_backward / 2);
  if (!isfinite(norm) || !is_better || g->result->refinements >= most) return 0;
  g->last_true = norm;
  if (by_backward) { /* about as much smaller as the backward error is to be, but no more than an f32 correction may reach */
    g->last_backward = s->found.backward;
    g->target = fmin(g->target, norm) * fmin(fmax(g->options->tolerance / s->found.backward / 2, 1e-3), 0.1);
  } else {
    g->target /= 2;
  }
  return 1;
}

static const char drifted[] = "the true residual is larger than that of the iteration";

/* 1 if the true residual, computed on the host, is larger than rounding makes it at x: updates that were much larger in between
 * have taken digits of it (Sleijpen and van der Vorst 1996), so that another start may go further. */
static int has_drifted(const wr_bicgstab *s, const progress *g, double norm) {
  int is_number = isfinite(norm) && s->beyond < 0 && s->below < 0;
  return is_number && norm > g->bound && (norm > g->first_norm || norm > wr_bicgstab_rounded(s));
}

static wr_status restart(wr_bicgstab *s, progress *g, const char *cause, int *end);

/* The true residual, t, of the iterate, x, has this norm as the device computed it: it decides whether the solve has converged.
 * *end := 1 if the solve is over. */
static wr_status question(wr_bicgstab *s, progress *g, double norm, int *end) {
  int met;
  PASS(wr_bicgstab_judge(s, g->bound, &norm));
  if (norm > g->bound && !s->on_host) PASS(wr_bicgstab_judge_on_host(s, &norm));
  PASS(find_met(s, g, &norm, &met));
  *end = 1;
  if (met) {
    end_with(g->result, WR_CONVERGED, "");
  } else if (may_refine(s, g, norm)) {
    g->poor_restarts = 0, g->fresh = 1;
    g->result->refinements++;
    PASS(go_on_from(s, g, norm, 0));
    *end = 0;
  } else {
    wr_bicgstab_explain_stagnation(s, norm, g->result);
    if (g->options->by_backward && g->result->outcome == WR_STAGNATED && s->below < 0)
      wr_bicgstab_explain_backward(s, norm <= g->bound, g->result);
    if (has_drifted(s, g, norm)) {
      *end = 0;
      PASS(restart(s, g, drifted, end));
      if (!*end) end_with(g->result, WR_MAX_ITERATIONS, "");
      return WR_OK;
    }
    PASS(compare_with_guess(s, g, &norm));
  }
  if (*end) g->settled = 1, g->true_norm = norm;
  return WR_OK;
}

/* Goes on by the method and the preconditioner that s has from here on, from x, the norm of its residual being known. last: the
 * method before, by whose iterations there were so many multiplies; joint and cause: why, behind the name of the method. */
static wr_status go_on_changed(wr_bicgstab *s, progress *g, double norm, const wr_method *last, int64_t multiplies,
                               const char *joint, const char *cause) {
  size_t used = strlen(g->changes);
  if (used == 0) used = (size_t)snprintf(g->changes, sizeof g->changes, "%s", last->name);
  if (used < sizeof g->changes)
    snprintf(g->changes + used, sizeof g->changes - used, "; from iteration %.0f on %s%s%s", scalars_of(g)->steps,
             s->method->name, joint, cause);
  g->multiplies += multiplies;
  s->loop->taken = 0;
  g->poor_restarts = 0, g->fresh = 1;
  PASS(set_up_loop(s, g));
  return go_on_from(s, g, norm, 0);
}

/* Goes on with the next method from x, the norm of its residual being known; *changed := 0 and nothing is done if there is no
 * memory for its vectors. cause: why the last one did not go on. */
static wr_status change_method(wr_bicgstab *s, progress *g, double norm, const char *cause, int *changed) {
  const wr_method *last = s->method;
  s->method = last->next;
  wr_status status = wr_comm_agree(s->system->comm, wr_method_place(s));
  *changed = status != WR_ENOMEM;
  if (status == WR_ENOMEM) s->method = last, g->may_change = 0;
  if (status != WR_OK) return *changed ? status : WR_OK;
  s->seed = 0;
  g->may_change = s->method->next != NULL;
  return go_on_changed(s, g, norm, last, last->costs(s).multiplies * s->loop->taken, ", as ", cause);
}

/* Rounds from now on that have about so many multiplies. */
static double rounds_of(const wr_bicgstab *s, int64_t multiplies) {
  return ceil(fmax(1, (double)multiplies / s->method->costs(s).multiplies));
}

/* The method for M from here on: conjugate gradients where M, too, is known to be positive definite. */
static void choose_method(wr_bicgstab *s, progress *g);

/* Asks options->review. *changed := 1 if another M is to be used from here on, with s->method chosen for it. */
static wr_status review(wr_bicgstab *s, progress *g, int fails, int *changed, wr_bicgstab_review *at) {
  wr_solve_scalars *c = scalars_of(g);
  *changed = 0;
  g->review_round = INFINITY;
  g->least = fmin(fmin(g->least, sqrt(c->gain_rr)), fmin(sqrt(wr_solve_measure(c)), g->snapshot_norm));
  *at = (wr_bicgstab_review){.multiplies = g->multiplies + s->method->costs(s).multiplies * s->loop->taken,
                           .first = g->origin_norm, .least = g->least, .target = g->target,
                           .fails = fails, .precond = s->precond, .next = -1};
  PASS(g->options->review(g->options->review_context, at));
  *changed = at->precond != s->precond;
  if (at->next >= 0) g->review_round = c->rounds + rounds_of(s, at->next);
  return WR_OK;
}

/* Goes on with another M from x, the norm of its residual being known; *changed := 0 and nothing is done if there is no memory
 * for the vectors that it takes. */
static wr_status change_precond(wr_bicgstab *s, progress *g, double norm, const wr_bicgstab_review *at, int *changed) {
  const wr_method *last = s->method;
  wr_precond *before = s->precond;
  int could_change = g->may_change;
  int64_t multiplies = last->costs(s).multiplies * s->loop->taken;
  s->precond = at->precond;
  choose_method(s, g);
  if (at->method && g->options->method == NULL) s->method = at->method, g->may_change = at->method->next != NULL;
  wr_status status = wr_comm_agree(s->system->comm, wr_method_place(s));
  *changed = status != WR_ENOMEM;
  if (status == WR_ENOMEM) {
    s->method = last, s->precond = before, g->may_change = could_change;
    return WR_OK;
  }
  PASS(status);
  if (at->next >= 0) g->review_round = scalars_of(g)->rounds + rounds_of(s, at->next);
  return go_on_changed(s, g, norm, last, multiplies, "", at->cause);
}

/* At the end of a solve that has not converged, x being the best iterate, and the norm of its residual known: asks for
 * another M. *changed := 1: the solve goes on with it. */
static wr_status rescue(wr_bicgstab *s, progress *g, double norm, int *changed) {
  wr_bicgstab_review at;
  *changed = 0;
  if (g->options->review == NULL || g->rescues >= MOST_RESCUES || !isfinite(norm)) return WR_OK;
  g->rescues++;
  PASS(review(s, g, 1, changed, &at));
  if (*changed) PASS(change_precond(s, g, norm, &at, changed));
  return WR_OK;
}

/* After a breakdown: restarts from the better iterate, unless the last restarts did not reduce the residual; then another
 * method goes on, if it may. */
static wr_status restart(wr_bicgstab *s, progress *g, const char *cause, int *end) {
  origin from;
  double norm, steps = scalars_of(g)->steps;
  int met, fresh = g->fresh; /* the phase before the first restart is not judged */
  int is_stalled = scalars_of(g)->stalled != 0 || cause == drifted;
  int is_spent = is_stalled && scalars_of(g)->rounds >= g->last_round;
  g->fresh = 0;
  g->result->restarts++;
  PASS(choose_better(s, g, &norm, &from));
  PASS(wr_bicgstab_judge(s, g->bound, &norm));
  if (norm > g->first_norm) from = GUESS;
  PASS(compare_with_guess(s, g, &norm));
  int moved = from == CURRENT ? (int64_t)steps > g->start_iteration : from == SNAPSHOT && !g->snapshot_is_start;
  if (!fresh) g->poor_restarts = norm <= g->restart_norm / 2 ? 0 : g->poor_restarts + 1;
  int is_over = g->result->restarts > WR_BICGSTAB_RESTARTS || g->poor_restarts >= 2 || !isfinite(norm);
  PASS(find_met(s, g, &norm, &met));
  if (g->may_change && isfinite(norm) && !met && (is_over || is_stalled || s->method->fits_or_not)) {
    int changed;
    PASS(change_method(s, g, norm, cause, &changed));
    if (changed) return WR_OK;
  }
  if ((is_over || is_spent) && !met) {
    int changed;
    PASS(rescue(s, g, norm, &changed));
    if (changed) return WR_OK;
  }
  *end = is_over || met;
  if (!*end) {
    PASS(go_on_from(s, g, norm, moved ? 0 : g->result->restarts));
    return WR_OK;
  }
  g->settled = 1, g->true_norm = norm;
  if (met)
    end_with(g->result, WR_CONVERGED, "");
  else if (cause != drifted) /* else the result says already how it stagnated */
    end_with(g->result, isfinite(norm) ? WR_BREAKDOWN : WR_NON_FINITE, cause);
  if (g->result->restarts > WR_BICGSTAB_RESTARTS) g->result->restarts = WR_BICGSTAB_RESTARTS;
  return WR_OK;
}

/* Asks for another M in the course of a solve, and goes on with it from the best iterate; *changed := 0: the iteration goes on
 * as if nothing had been asked. */
static wr_status look_around(wr_bicgstab *s, progress *g, int *end, int *changed) {
  wr_solve_scalars *c = scalars_of(g);
  wr_bicgstab_review at;
  origin from;
  double norm;
  int met;
  PASS(review(s, g, 0, changed, &at));
  if (!*changed) {
    c->last = fmin(g->last_round, g->review_round), c->last_part = c->last - s->loop->unroll;
    return WR_OK;
  }
  PASS(choose_better(s, g, &norm, &from));
  PASS(wr_bicgstab_judge(s, g->bound, &norm));
  PASS(compare_with_guess(s, g, &norm));
  PASS(find_met(s, g, &norm, &met));
  if (met) {
    end_with(g->result, WR_CONVERGED, "");
    g->settled = 1, g->true_norm = norm, *end = 1;
    return WR_OK;
  }
  PASS(change_precond(s, g, norm, &at, changed));
  if (!*changed) {
    PASS(go_on_from(s, g, norm, 0));
    *changed = 1;
  }
  return WR_OK;
}

/* After a check that found neither convergence nor a breakdown. */
static wr_status go_on(wr_bicgstab *s, progress *g, int *end) {
  wr_solve_scalars *c = scalars_of(g);
  if (c->stalled == 0 && c->rounds >= g->review_round && c->rounds < g->last_round) {
    int changed;
    PASS(look_around(s, g, end, &changed));
    if (changed) return WR_OK;
  }
  if (may_follow(g) && c->rounds >= g->last_round && c->steps < (double)g->options->iterations) c->stalled = 1;
  if (c->stalled != 0) {
    PASS(restart(s, g, "the residual does not get smaller", end));
    return WR_OK;
  }
  c->stop = 0;
  return s->env->ops->upload(s->env, &s->bank, g->scalars);
}

/* What the host does at a check at which a step has stopped the iteration. *end := 1 if the solve is over. A new cause of
 * `done` has its case before the last one, which looks up a breakdown. */
static wr_status check(wr_bicgstab *s, progress *g, int *end) {
  wr_solve_scalars *c = scalars_of(g);
  double measure = wr_solve_measure(c);
  if (c->kept != 0) g->snapshot_norm = sqrt(c->kept_rr), g->snapshot_is_start = 0;
  if (c->done == 0) {
    PASS(go_on(s, g, end));
  } else if (!isfinite(c->rr) || !isfinite(measure)) {
    PASS(restart(s, g, "the residual is not finite any more", end));
  } else if (measure <= c->bound) {
    double norm;
    PASS(wr_method_settle_iterate(s));
    PASS(wr_bicgstab_true_residual(s, &s->x, &norm));
    PASS(question(s, g, norm, end));
  } else {
    PASS(restart(s, g, s->method->breakdowns[(int)c->breakdown - 1], end));
  }
  return WR_OK;
}

/* x := the best iterate, which is the answer however the solve ended; t := its residual. */
static wr_status settle(wr_bicgstab *s, progress *g) {
  double norm = g->true_norm;
  origin from;
  int met;
  if (!g->settled) {
    PASS(choose_better(s, g, &norm, &from));
    PASS(wr_bicgstab_judge(s, g->bound, &norm));
    PASS(compare_with_guess(s, g, &norm));
    PASS(find_met(s, g, &norm, &met));
    if (met) end_with(g->result, WR_CONVERGED, "");
  }
  if (g->options->by_backward) {
    if (!s->on_host) PASS(wr_bicgstab_judge_on_host(s, &norm));
    g->result->by_backward = 1, g->result->backward = s->found.backward;
  }
  g->result->measure = s->system->norm_b > 0 ? norm / s->system->norm_b : norm;
  if (!isfinite(norm) && g->result->outcome != WR_NON_FINITE)
    end_with(g->result, WR_NON_FINITE, "no iterate has a finite residual");
  wr_bicgstab_explain(s, g->guess_norm, g->result);
  return WR_OK;
}

/* x := the guess, t := its residual; or x := 0 if its residual is smaller and rounding alone keeps the residual of the guess
 * above the tolerance. */
static wr_status start_from_guess(wr_bicgstab *s, progress *g, double *norm) {
  double zero;
  PASS(load_guess(s));
  PASS(wr_bicgstab_true_residual(s, &s->x, norm));
  g->guess_norm = *norm;
  if (wr_bicgstab_trusts_guess(s, *norm, g->bound)) return WR_OK;
  s->from_zero = 1;
  PASS(load_guess(s));
  PASS(wr_bicgstab_true_residual(s, &s->x, &zero));
  if (isfinite(zero)) {
    *norm = zero;
  } else {
    s->from_zero = 0;
    PASS(load_guess(s));
    PASS(wr_bicgstab_true_residual(s, &s->x, norm));
  }
  return WR_OK;
}

static wr_status start(wr_bicgstab *s, progress *g, int *end) {
  double norm;
  wr_solve_scalars scalars = {
      .one = 1, .steps = (double)s->begun.iterations, .rounds = (double)s->begun.iterations};
  s->from_zero = 0;
  PASS(wr_bicgstab_forget_refinement(s));
  memcpy(g->scalars, &scalars, sizeof scalars);
  PASS(s->env->ops->upload(s->env, &s->bank, g->scalars));
  PASS(s->env->ops->fill(s->env, &s->d, 0));
  PASS(start_from_guess(s, g, &norm));
  PASS(wr_method_copy(s, &s->snapshot, &s->x));
  g->first_norm = g->snapshot_norm = g->origin_norm = norm, g->snapshot_is_start = 1;
  g->restart_norm = norm, g->fresh = 1, g->last_backward = INFINITY;
  g->last_true = norm <= g->bound ? INFINITY : 2 * norm; /* rounding may dominate a norm that small */
  g->result->measure = s->system->norm_b > 0 ? norm / s->system->norm_b : norm;
  if (norm <= g->bound) { /* b = 0, or an exact guess */
    PASS(question(s, g, norm, end));
  } else if (!isfinite(norm)) {
    *end = 1, end_with(g->result, WR_NON_FINITE, "the first residual is not finite");
  } else {
    PASS(begin(s, g, norm, 0));
  }
  return WR_OK;
}

/* From a logged ||r||^2 to ||r|| / ||b||, which the history shows. */
static double relative(const void *solver, double rr) {
  const wr_bicgstab *s = solver;
  return sqrt(rr) / s->system->norm_b;
}

/* What the recorded operations depend on: the preconditioner, the method, l, the seed of hashes, and which vectors BiCGSTAB or
 * CG uses. */
static double constant_of(const wr_bicgstab *s) {
  int method = 0;
  while (wr_method_at(method) != s->method) method++;
  double chosen = ((double)wr_precond_id(s->precond) * wr_method_count() + method) * (WR_MOST_L + 1) + s->l;
  return (chosen * (WR_BICGSTAB_RESTARTS + 2) + s->seed) * 2 + s->separate;
}

/* The loop of s->method. p and s have vectors of their own while it is resident. */
static wr_status set_up_loop(wr_bicgstab *s, const progress *g) {
  wr_iteration *loop = s->loop;
  loop->plan = s->plan, loop->solver = s, loop->phases = s->method->phases, loop->step = s->method->step;
  loop->measure = relative, loop->bank = &s->bank;
  loop->at =
      (wr_iteration_scalars)WR_ITERATION_SCALARS(wr_solve_scalars, rounds, last, last_part, steps, rr, stop, logged);
  if (s->weight.id) loop->at.measure = WR_SCALAR_INDEX(wr_solve_scalars, weighted_rr);
  loop->host_only = g->options->no_graph, loop->no_resident = g->options->no_resident, loop->monitor = g->monitor;
  s->separate = 1, loop->constant = constant_of(s); /* what a resident loop was refused for */
  s->separate = wr_iteration_may_be_resident(loop), loop->constant = constant_of(s);
  PASS(wr_method_place(s));
  PASS(wr_iteration_every(loop, g->options->check_every));
  if (!loop->resident) s->separate = 0, loop->constant = constant_of(s);
  for (int phase = 0; phase < s->method->phases; phase++) { /* a resident loop does not use them */
    const wr_vec *left[WR_MAX_LEFT] = {&s->d, &s->r, &s->snapshot};
    s->method->left(s, phase, left + 3);
    memcpy(loop->left[phase], left, sizeof left);
  }
  loop->target = g->bound / s->system->norm_b, loop->scale = 1;
  return WR_OK;
}

/* 1 if the plan's matrix is symmetric with a positive diagonal. Tested once, and again when its values have changed. */
static int is_symmetric(wr_bicgstab *s) {
  uint64_t values;
  const wr_csr *A = wr_plan_matrix(s->plan, &values);
  int is_first = s->symmetric_for == 0 && A == s->system->matrix;
  if (s->symmetric_for == values) return s->symmetric;
  s->symmetric = is_first && s->system->positive ? s->system->positive > 0 : wr_is_symmetric_positive(A);
  s->symmetric_for = values;
  return s->symmetric;
}

void wr_method_choose(wr_bicgstab *s, const wr_bicgstab_options *o) {
  int may_be_cg = o->method == NULL && (s->precond == NULL || wr_precond_is_diagonal(s->precond) ||
                                        wr_precond_get_info(s->precond)->is_positive); /* else M is not known */
  int64_t is_other = !may_be_cg; /* in any part */
  (void)wr_comm_max_counts(s->system->comm, &is_other, 1);
  may_be_cg = !is_other;
  s->method = o->method ? o->method : may_be_cg && is_symmetric(s) ? &wr_method_cg : &wr_method_bicgstab;
}

static void choose_method(wr_bicgstab *s, progress *g) {
  const wr_bicgstab_options *o = g->options;
  wr_method_choose(s, o);
  s->l = o->l ? o->l : WR_BICGSTAB_L, s->seed = 0;
  g->may_change = o->method == NULL;
}

/* Multiplies of all methods, and the bytes of an iteration of the last one. */
static void tell_costs(const wr_bicgstab *s, const progress *g) {
  wr_result *result = g->result;
  wr_method_costs costs = s->method->costs(s);
  double vector = (double)(s->system->n * wr_type_bytes(s->env->type));
  result->repeats = s->loop->repeats, result->multiplies = g->multiplies + costs.multiplies * s->loop->taken;
  result->iteration_bytes = costs.multiplies * wr_plan_get_info(s->plan)->apply_bytes + costs.moved * vector;
  if (s->precond) result->iteration_bytes += costs.multiplies * wr_precond_get_info(s->precond)->apply_bytes;
  snprintf(result->method, sizeof result->method, "%s", s->method->name);
  snprintf(result->changes, sizeof result->changes, "%s", g->changes);
}

wr_status wr_bicgstab_solve(wr_bicgstab *s, const wr_bicgstab_options *options, const wr_monitor *monitor,
                            wr_result *result) {
  static const wr_monitor none = {0};
  wr_status status;
  int end = 0, interrupted = 0;
  WR_REFUSE_IF(s == NULL || s->env == NULL, "s is %s", s ? "not open" : "NULL");
  WR_NEED(options);
  WR_NEED(result);
  WR_REFUSE_IF(!(options->tolerance >= 0) || isinf(options->tolerance),
               "options->tolerance is %g; it is finite and 0 or more", options->tolerance);
  WR_REFUSE_IF(options->iterations < 0, "options->iterations is %lld", (long long)options->iterations);
  WR_REFUSE_IF(options->check_every < 0, "options->check_every is %lld", (long long)options->check_every);
  WR_REFUSE_IF(options->first_review < 0, "options->first_review is %lld", (long long)options->first_review);
  WR_REFUSE_IF(options->l < 0 || options->l > WR_MOST_L, "options->l is %d; it is 1 to %d, or 0", options->l,
               WR_MOST_L);
  progress g = {.options = options, .monitor = monitor ? monitor : &none, .result = result};
  *result = (wr_result){.outcome = WR_MAX_ITERATIONS, .measure = INFINITY, .iterations = s->begun.iterations};
  g.multiplies = s->begun.multiplies;
  choose_method(s, &g);
  g.target = g.bound = fmax(options->tolerance * s->system->norm_b, s->system->absolute);
  g.least = g.review_round = INFINITY;
  if (options->review && options->first_review > 0) g.review_round = rounds_of(s, options->first_review);
  TRY(set_up_loop(s, &g));
  s->loop->taken = 0, s->loop->repeats = (wr_repeats){0};
  TRY(start(s, &g, &end));
  if (s->begun.iterations > 0) interrupted = wr_monitor_ends(g.monitor); /* the first iterations have been elsewhere */
  if (!end && interrupted) end_early(result, interrupted), end = 1;
  while (!end && result->iterations < options->iterations) {
    TRY(wr_iteration_go(s->loop, g.scalars, &interrupted));
    result->iterations = (int64_t)scalars_of(&g)->steps;
    result->measure = relative(s, wr_solve_measure(scalars_of(&g)));
    if (!interrupted) TRY(check(s, &g, &end));
    if (!end && interrupted) end_early(result, interrupted), end = 1;
  }
  tell_costs(s, &g);
  TRY(settle(s, &g));
done:
  wr_plan_forget(s->plan);
  return status;
}

wr_status wr_bicgstab_multiply(wr_bicgstab *s, int count) {
  wr_status status = WR_OK;
  WR_REFUSE_IF(s == NULL || s->env == NULL, "s is %s", s ? "not open" : "NULL");
  WR_REFUSE_IF(count < 0, "count is %d", count);
  wr_vec *const results[] = {&s->t, &s->d};
  wr_epilogue sums = {.reduce = {{WR_DOT, NULL, &s->b, WR_SOLVE_SCALAR(s, sum_x)},
                                 {WR_NRM2SQ, NULL, NULL, WR_SOLVE_SCALAR(s, qq)}}};
  wr_plan_forget(s->plan);
  for (int k = 0; k < count; k++)
    TRY(wr_plan_apply(
        s->plan,
        &(wr_apply){.alpha = 1, .x = &s->r, .y = results[k % 2], .y_next = results[1 - k % 2], .epilogue = &sums}));
done:
  wr_plan_forget(s->plan);
  return status;
}

wr_status wr_bicgstab_download(wr_bicgstab *s, double *u, double *q) {
  WR_REFUSE_IF(s == NULL || s->env == NULL, "s is %s", s ? "not open" : "NULL");
  if (u && s->u)
    memcpy(u, s->u, (size_t)s->system->n * sizeof *u);
  else if (u)
    PASS(s->env->ops->download(s->env, &s->x, u)); /* before the first solve */
  if (q) PASS(s->env->ops->download(s->env, &s->t, q));
  return WR_OK;
}
