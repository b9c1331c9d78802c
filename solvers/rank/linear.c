#include "solvers/rank/linear.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "config/argument.h"
#include "config/memory.h"
#include "solvers/krylov/method.h"
#include "spmv/steps/idr_steps.h"
#include "spmv/device/vec_argument.h"
#include "spmv/plan_argument.h"

enum {
  MULTIPLIES = WR_IDR_S + 1, SETTLING = 3, /* of an iteration; at most, of finding the best iterate after some */
  SNAPSHOT_ROUNDS = 16, /* iterations between two snapshots at least        */
  PATIENCE = 60,        /* iterations without a gain that end a start        */
  MOST_RESTARTS = 6, MOST_REVIEW = 8 /* iterations between two looks at the L1 norm */
};

struct wr_rank_linear {
  wr_bicgstab s; /* first: the loop's solver. Its matrix is I - d P^T                                   */
  wr_system system; /* n and the norm alone                                                              */
  const wr_graph *graph;
  wr_vec scale;     /* wide; 0: dangling                                                                 */
  wr_vec scaled;    /* scale * the vector that is multiplied                                              */
  wr_vec sums;      /* a bank: a wr_rank_linear_sums                                                     */
  double damping;
  double ratio;     /* change of a step / ||q||_2, when both were known last                             */

  int64_t residuals; /* multiplies for true residuals                                                    */
};

/* Sums over a residual q and an iterate y. */
typedef struct linear_sums {
  double size, sum;        /* ||q||_1, sum(q)           */
  double square;           /* (q, q)                    */
  double iterate, update;  /* sum(y), in two parts      */
  double dangling, all;    /* of the ranks of the start */
  double one;
} linear_sums;

#define SUM(l, member) ((wr_scalar){&(l)->sums, WR_SCALAR_INDEX(linear_sums, member)})

double wr_rank_linear_bytes(const wr_graph *graph, const wr_plan *plan, const wr_env *env) {
  if (graph == NULL || plan == NULL || env == NULL) return 0;
  wr_method_costs costs = wr_method_costs_of(&wr_method_idr, 0);
  enum { SCALING = 3, SHIFT = 1 }; /* scaled = scale * x; y += x */
  double vectors = (double)costs.moved / costs.multiplies + SCALING + SHIFT;
  return wr_plan_get_info(plan)->apply_bytes + vectors * (double)(graph->n * wr_type_bytes(env->type));
}

/* scaled := scale * x */
static wr_status scale(wr_rank_linear *l, const wr_vec *x) {
  wr_fused f = {.in = {x}, .times = &l->scale, .out = {&l->scaled}, .c = {{{.factor = 1}}}};
  return l->s.env->ops->fused(l->s.env, &f);
}

/* y := (I - d P^T) x */
static wr_status multiply(void *context, const wr_vec *x, wr_vec *y, wr_vec *y_next) {
  wr_rank_linear *l = context;
  wr_bicgstab *s = &l->s;
  wr_epilogue e = {.shift = WR_SOLVE_SCALAR(s, one), .shift_dir = x};
  wr_apply apply = {.alpha = -l->damping, .x = &l->scaled, .y = y, .y_next = y_next, .epilogue = &e};
  PASS(scale(l, x));
  return wr_plan_apply(s->plan, &apply);
}

wr_status wr_rank_linear_open(const wr_graph *graph, wr_plan *plan, wr_env *env, wr_rank_linear **linear) {
  wr_status status;
  wr_rank_linear *l = NULL;
  WR_NEED(linear);
  *linear = NULL;
  WR_REFUSE_IF(graph == NULL || graph->flow == NULL, "graph is %s", graph ? "not finished" : "NULL");
  WR_NEED_OPEN(env);
  WR_NEED_OK(wr_plan_check_match(plan, graph->flow, env, __func__));
  TRY(wr_alloc_zeroed(&l, 1, sizeof *l, "a solver"));
  l->system = (wr_system){.n = graph->n, .n_all = graph->n_all, .comm = graph->comm, .norm_b = 1};
  l->graph = graph;
  wr_bicgstab *s = &l->s;
  *s = (wr_bicgstab){.system = &l->system, .plan = plan, .env = env, .method = &wr_method_idr, .multiply = multiply,
                     .context = l};
  wr_vec *const vectors[] = {&s->b, &s->x, &s->d, &s->r, &s->t, &s->snapshot, &l->scale, &l->scaled};
  for (size_t k = 0; k < sizeof vectors / sizeof vectors[0]; k++)
    TRY(env->ops->alloc(env, graph->n, env->type, "a vector of the solver", vectors[k]));
  TRY(wr_method_place(s));
  TRY(env->ops->alloc(env, wr_method_idr.scalars, WR_F64, "scalars", &s->bank));
  TRY(env->ops->alloc(env, WR_SCALAR_COUNT(linear_sums), WR_F64, "scalars", &l->sums));
  TRY(wr_iteration_open(env, &s->loop));
  TRY(wr_graph_place(graph, env, graph->scale, &l->scale));
  if (graph->teleport)
    TRY(wr_graph_place(graph, env, graph->teleport, &s->b));
  else
    TRY(env->ops->fill(env, &s->b, 1 / (double)graph->n_all));
  *linear = l, l = NULL;
done:
  wr_rank_linear_close(l);
  return status;
}

void wr_rank_linear_close(wr_rank_linear *l) {
  if (l == NULL) return;
  wr_env *env = l->s.env;
  wr_vec *const own[] = {&l->scale, &l->scaled, &l->sums};
  for (size_t k = 0; k < sizeof own / sizeof own[0]; k++) env->ops->release(env, own[k]);
  wr_bicgstab_close(&l->s);
  wr_free(l);
}

/* ---- The change of a step ---- */

static wr_status read_sums(wr_rank_linear *l, linear_sums *sums) {
  return l->s.env->ops->download(l->s.env, &l->sums, (double *)sums);
}

/* The change of a step from y / sum(y) for a y with this residual, or INFINITY where the sum is not positive. */
static double change_of(const linear_sums *sums) {
  double sum = sums->iterate + sums->update;
  double change = (sums->size + fabs(sums->sum)) / sum;
  return sum > 0 && isfinite(change) ? change : INFINITY;
}

/* After iterations: of the iterate x + d, by the residual r that they update. Overwrites t. */
static wr_status look(wr_rank_linear *l, double *change) {
  wr_bicgstab *s = &l->s;
  linear_sums sums;
  wr_fused f = {.in = {&s->r, &s->x, &s->d},
                .out = {&s->t}, /* zeros */
                .reduce = {{WR_L1DIFF, &s->r, &s->t, SUM(l, size)},
                           {WR_SUM, &s->r, NULL, SUM(l, sum)},
                           {WR_NRM2SQ, &s->r, NULL, SUM(l, square)},
                           {WR_SUM, &s->x, NULL, SUM(l, iterate)},
                           {WR_SUM, &s->d, NULL, SUM(l, update)}}};
  PASS(s->env->ops->fused(s->env, &f));
  PASS(read_sums(l, &sums));
  *change = change_of(&sums);
  if (sums.square > 0 && isfinite(*change)) l->ratio = *change / sqrt(sums.square);
  return WR_OK;
}

/* t := b - (I - d P^T) y, the true residual; *square := (t, t); *change. */
static wr_status find_residual(wr_rank_linear *l, const wr_vec *y, double *square, double *change) {
  wr_bicgstab *s = &l->s;
  linear_sums sums;
  wr_epilogue e = {.shift = SUM(l, one), .shift_dir = &s->b, .reduce = {{WR_L1DIFF, NULL, y, SUM(l, size)}}};
  wr_fused subtract = {.in = {&s->t, y},
                       .out = {&s->t},
                       .c = {{{.factor = 1}, {.factor = -1}}},
                       .reduce = {{WR_SUM, &s->t, NULL, SUM(l, sum)},
                                  {WR_NRM2SQ, &s->t, NULL, SUM(l, square)},
                                  {WR_SUM, y, NULL, SUM(l, iterate)}}};
  PASS(scale(l, y));
  wr_plan_forget(s->plan);
  PASS(wr_plan_apply(s->plan, &(wr_apply){.alpha = l->damping, .x = &l->scaled, .y = &s->t, .epilogue = &e}));
  PASS(s->env->ops->fused(s->env, &subtract));
  PASS(read_sums(l, &sums));
  sums.update = 0;
  l->residuals++;
  *square = sums.square, *change = change_of(&sums);
  if (*square > 0 && isfinite(*change)) l->ratio = *change / sqrt(*square);
  return WR_OK;
}

/* ---- Starts ---- */

/* What the host keeps of a solve. */
typedef struct progress {
  const wr_rank_linear_options *options;
  wr_rank_linear_found *found;
  union {
    wr_solve_scalars c;
    double bank[WR_MAX_SCALARS];
  };
  double best;        /* change of a step from x, the iterate of the last start */
  int poor;           /* starts in a row that did not halve the change          */
  int64_t rounds;     /* all that are allowed                                    */
} progress;

/* From logged ||q||^2 to the change of a step. */
static double estimated(const void *solver, double square) {
  const wr_rank_linear *l = solver;
  return l->ratio * sqrt(square);
}

static wr_status iterate(void *solver, int phase) { return wr_method_idr.step(&((wr_rank_linear *)solver)->s, phase); }

/* The recorded operations contain d and which vectors of hashes are used. */
static wr_status set_up_loop(wr_rank_linear *l, const wr_rank_linear_options *o, const wr_monitor *monitor, int seed) {
  wr_bicgstab *s = &l->s;
  wr_iteration *loop = s->loop;
  s->seed = seed;
  loop->plan = s->plan, loop->solver = l, loop->phases = s->method->phases, loop->step = iterate;
  loop->measure = estimated, loop->bank = &s->bank;
  loop->at =
      (wr_iteration_scalars)WR_ITERATION_SCALARS(wr_solve_scalars, rounds, last, last_part, steps, rr, stop, logged);
  loop->host_only = o->no_graph, loop->no_resident = o->no_resident, loop->monitor = monitor;
  loop->constant = seed ? -o->damping : o->damping;
  loop->scale = o->scale, loop->target = o->target, loop->counts = MULTIPLIES;
  PASS(wr_iteration_every(loop, 1));
  for (int phase = 0; phase < loop->phases; phase++) {
    const wr_vec *left[WR_MAX_LEFT] = {&s->d, &s->r, &s->snapshot};
    s->method->left(s, phase, left + 3);
    memcpy(loop->left[phase], left, sizeof left);
  }
  return WR_OK;
}

/* Starts at x, t being its residual with this norm squared. */
static wr_status begin(wr_rank_linear *l, progress *g, double square) {
  wr_bicgstab *s = &l->s;
  double unit = wr_type_unit(s->env->type), rounds = g->c.rounds, steps = g->c.steps;
  double surely = g->options->change / (2 * sqrt((double)l->graph->n_all)); /* sum(y) being 1 or more */
  wr_solve_scalars c = {.rr = square, .weighted_rr = square, .bound = surely * surely, .largest = 1 / (unit * unit),
                        .huge = DBL_MAX, .one = 1, .steps = steps, .rounds = rounds, .every = 1,
                        .log_room = WR_LOG_ROOM, .snapshot_rr = square, .enough = 0.01, .gap = SNAPSHOT_ROUNDS,
                        .snapshot_round = rounds + SNAPSHOT_ROUNDS, .period = s->loop->period, .gain_rr = square,
                        .gain_step = steps, .gain = 0.81, .patience = PATIENCE, .yields = 1};
  c.last = rounds + 1, c.last_part = c.last - s->loop->unroll;
  PASS(wr_method_copy(s, &s->r, &s->t));
  PASS(wr_method_copy(s, &s->snapshot, &s->x));
  PASS(s->env->ops->fill(s->env, &s->d, 0));
  PASS(s->method->begin(s, &c, s->seed));
  PASS(s->env->ops->download(s->env, &s->bank, g->bank));
  wr_iteration_begin(s->loop);
  return WR_OK;
}

/* x := ranks / (d m + 1 - d), where m is the rank of dangling pages, and ranks have the sum 1: y, if they are the scores. */
static wr_status load(wr_rank_linear *l, const wr_vec *ranks) {
  wr_bicgstab *s = &l->s;
  linear_sums sums = {.one = 1};
  PASS(s->env->ops->upload(s->env, &l->sums, (double *)&sums));
  wr_reduction of_all = {WR_SUM, ranks, NULL, SUM(l, all)};
  wr_fused add = {.in = {ranks, &l->scale}, .reduce = {{WR_SUM_UNSCALED, ranks, &l->scale, SUM(l, dangling)}, of_all}};
  wr_fused copy = {.in = {ranks}, .out = {&s->x}};
  PASS(s->env->ops->fused(s->env, &add));
  PASS(read_sums(l, &sums));
  copy.c[0][0].factor = 1 / (l->damping * sums.dangling + (1 - l->damping));
  if (!(sums.all > 0) || !isfinite(sums.all)) copy.c[0][0].factor = 0;
  return s->env->ops->fused(s->env, &copy);
}

/* After iterations that ended: x := the better one of iterate and snapshot, by true residuals; t := its residual. A snapshot is
 * the x of the last start, or better. */
static wr_status settle(wr_rank_linear *l, progress *g, double *square, double *change) {
  wr_bicgstab *s = &l->s;
  double saved;
  PASS(wr_method_settle_iterate(s));
  PASS(find_residual(l, &s->x, square, change));
  if (*change < g->best / 2) return WR_OK;
  PASS(find_residual(l, &s->snapshot, square, &saved));
  if (saved < *change) {
    PASS(wr_method_copy(s, &s->x, &s->snapshot));
    *change = saved;
  } else {
    PASS(find_residual(l, &s->x, square, change));
  }
  return WR_OK;
}

/* ---- A solve ---- */

/* Iterations until the L1 norm is looked at again: as many as the change needs at the mean rate since the start, but fewer, as
 * the rate varies. */
static double next_look(const progress *g, double begun, double change) {
  double done = g->c.rounds - begun, gained = log(g->best / change), left = log(change / g->options->change);
  double needed = gained > 0 ? floor(0.7 * left * done / gained) : 1;
  return fmin(fmax(needed, 1), MOST_REVIEW);
}

typedef enum ending { MET, BROKEN, STALLED, USED_UP, ENDED } ending;

/* Iterates from x until the change is met by the residual that the iterations update, or something else ends them. */
static wr_status run(wr_rank_linear *l, progress *g, ending *how) {
  wr_bicgstab *s = &l->s;
  double begun = g->c.rounds, change;
  int interrupted = 0;
  for (;;) {
    if (g->c.rounds >= (double)g->rounds) {
      *how = USED_UP;
      break;
    }
    PASS(wr_iteration_go(s->loop, g->bank, &interrupted));
    PASS(look(l, &change));
    *how = change <= g->options->change ? MET : interrupted ? ENDED : g->c.done != 0 ? BROKEN : STALLED;
    if (*how == ENDED) g->found->interrupted = interrupted;
    if (*how != STALLED || g->c.stalled != 0) break;
    g->c.last = fmin(g->c.rounds + next_look(g, begun, change), (double)g->rounds);
    g->c.last_part = g->c.last - s->loop->unroll, g->c.stop = 0;
    PASS(s->env->ops->upload(s->env, &s->bank, g->bank));
  }
  return WR_OK;
}

static const char used_up[] = "its multiplies were used up";

/* Whether another start, from x with this change, may help; counts it. */
static int may_restart(progress *g, ending how, double change) {
  static const char *const causes[] = {
      [MET] = "its residual and the true one differ", [BROKEN] = "it broke down", [STALLED] = "it made no progress",
      [USED_UP] = used_up};
  if (how == ENDED) return 0;
  g->found->why = isfinite(change) ? causes[how] : "it diverged";
  g->poor = change <= g->best / 2 ? 0 : g->poor + 1;
  if (how == USED_UP || g->poor >= 2 || g->found->restarts >= MOST_RESTARTS) return 0;
  g->found->restarts++;
  return 1;
}

/* ranks := x / sum(x), x being settled. */
static wr_status give(wr_rank_linear *l, double change, wr_vec *ranks) {
  linear_sums sums;
  wr_fused sum = {.in = {&l->s.x}, .reduce = {{WR_SUM, &l->s.x, NULL, SUM(l, iterate)}}};
  wr_fused divide = {.in = {&l->s.x}, .out = {ranks}};
  if (!isfinite(change)) return WR_OK;
  PASS(l->s.env->ops->fused(l->s.env, &sum));
  PASS(read_sums(l, &sums));
  divide.c[0][0].factor = 1 / sums.iterate;
  return l->s.env->ops->fused(l->s.env, &divide);
}

wr_status wr_rank_linear_solve(wr_rank_linear *l, const wr_rank_linear_options *o, const wr_monitor *monitor,
                               wr_vec *ranks, wr_rank_linear_found *found) {
  static const wr_monitor none = {0};
  wr_status status;
  double square, change;
  WR_NEED(l);
  WR_NEED(o);
  WR_NEED(ranks);
  WR_NEED(found);
  WR_REFUSE_IF(!(o->damping > 0 && o->damping < 1), "options->damping is %g; it is in (0, 1)", o->damping);
  WR_REFUSE_IF(!(o->change > 0), "options->change is %g; it is above 0", o->change);
  WR_REFUSE_IF(o->multiplies < 0, "options->multiplies is %lld", (long long)o->multiplies);
  wr_bicgstab *s = &l->s;
  if (monitor == NULL) monitor = &none;
  *found = (wr_rank_linear_found){.change = INFINITY, .first = INFINITY};
  progress g = {.options = o, .found = found};
  l->damping = o->damping, l->residuals = 0, s->loop->taken = 0, s->loop->repeats = (wr_repeats){0};
  TRY(load(l, ranks));
  TRY(find_residual(l, &s->x, &square, &change));
  found->first = g.best = change;
  for (int seed = 0; isfinite(change) && change > o->change; seed = 1 - seed) {
    ending how;
    int64_t room = o->multiplies - s->loop->taken * MULTIPLIES - l->residuals - SETTLING;
    if (room < MULTIPLIES) {
      found->why = used_up;
      break;
    }
    g.rounds = (int64_t)g.c.rounds + room / MULTIPLIES;
    TRY(set_up_loop(l, o, monitor, seed));
    TRY(begin(l, &g, square));
    TRY(run(l, &g, &how));
    TRY(settle(l, &g, &square, &change));
    if (change <= o->change || !may_restart(&g, how, change)) break;
    g.best = change;
  }
  found->met = change <= o->change, found->change = change;
  if (found->met) found->why = NULL;
  TRY(give(l, change, ranks));
  found->multiplies = s->loop->taken * MULTIPLIES + l->residuals, found->repeats = s->loop->repeats;
  found->bytes = (double)found->multiplies * wr_rank_linear_bytes(l->graph, s->plan, s->env);
done:
  wr_plan_forget(s->plan);
  return status;
}
