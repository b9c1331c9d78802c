#include "solvers/mixed.h"

#include <math.h>

#include "config/memory.h"
#include "solvers/pagerank_parts.h"

/* A sweep rounds each element of z a few times, and its result by errors that (I - d P^T)^-1 may enlarge by 1 / (1 - d). */
double wr_mixed_floor(double damping) { return 8 * wr_type_unit(WR_F32) / (1 - damping); }

/* Compact scales are integers, whatever the type. */
static wr_status place_scale(wr_mixed *m, const wr_pagerank *wide) {
  wr_pagerank *p = &m->sweeps;
  m->shares_scale = wide->scale.reciprocal_bytes > 0 && wide->scale.reciprocal_bytes <= wr_type_bytes(WR_F32);
  if (m->shares_scale) {
    p->scale = wide->scale, p->scale.type = WR_F32;
    return WR_OK;
  }
  PASS(p->env->ops->alloc(p->env, wide->graph->n, WR_F32, "inverse out-degrees", &p->scale));
  return p->env->ops->recast(p->env, &(wr_recast){.in = {&wide->scale}, .c = {1}, .out = &p->scale});
}

wr_status wr_mixed_open(const wr_pagerank *wide, wr_plan *plan, wr_env *env, wr_mixed **mixed) {
  wr_status status;
  wr_mixed *m = NULL;
  *mixed = NULL;
  TRY(wr_alloc_zeroed(&m, 1, sizeof *m, "a solver"));
  wr_pagerank *p = &m->sweeps;
  *p = (wr_pagerank){.graph = wide->graph, .plan = plan, .env = env};
  for (int k = 0; k < WR_PAGERANK_VECTORS; k++)
    TRY(env->ops->alloc(env, wide->graph->n, WR_F32, "corrections by out-degree", &p->x[k]));
  TRY(env->ops->alloc(env, wide->graph->n, WR_F32, "a residual", &p->teleport));
  TRY(env->ops->alloc(env, WR_SCALAR_COUNT(wr_pagerank_scalars), WR_F64, "scalars", &p->bank));
  TRY(place_scale(m, wide));
  for (int k = 0; k < 2; k++) TRY(wr_iteration_open(env, &m->loops[k]));
  *mixed = m, m = NULL;
done:
  wr_mixed_close(m);
  return status;
}

void wr_mixed_close(wr_mixed *m) {
  if (m == NULL) return;
  for (int k = 0; k < 2; k++) wr_iteration_close(m->loops[k]);
  if (m->shares_scale) m->sweeps.scale = (wr_vec){0};
  m->sweeps.loop = NULL;
  wr_pagerank_close(&m->sweeps);
  wr_free(m);
}

void wr_mixed_begin(wr_mixed *m) {
  m->multiplies = m->most = 0, m->bytes = 0, m->repeats = (wr_repeats){0};
  for (int k = 0; k < 2; k++) m->loops[k]->taken = 0;
}

/* By which x is divided to make ranks; NULL: by nothing. */
static const wr_vec *divisor_of(const wr_pagerank *p) { return p->graph->links->val ? NULL : &p->scale; }

/* 1: (1) of mixed.h is solved, 0: (2). */
static int counts_dangling(const wr_pagerank *wide, const wr_correction *c) {
  return c->options->method == WR_PAGERANK_POWER && (c->change == 0 || wide->direction == NULL);
}

/* The direction is v, and so is the first z, in x[0]. */
static wr_status place_first(wr_pagerank *p, const wr_vec *v) {
  const wr_vecops *ops = p->env->ops;
  if (v == NULL) return ops->fill(p->env, &p->x[0], 1 / (double)p->graph->n_all);
  PASS(ops->recast(p->env, &(wr_recast){.in = {v}, .c = {1}, .out = &p->teleport}));
  return ops->recast(p->env, &(wr_recast){.in = {v}, .c = {1}, .out = &p->x[0]});
}

/* The direction is rho / ||rho||_1, of the last step in f64, from x[before] to x[now], and so is the first z. */
static wr_status place_later(wr_pagerank *p, const wr_pagerank *wide, double change, int before) {
  const wr_vecops *ops = p->env->ops;
  wr_recast subtract = {.in = {&wide->x[wide->now], &wide->x[before]},
                        .c = {1 / change, -1 / change},
                        .over = divisor_of(wide),
                        .out = &p->teleport};
  wr_fused copy = {.in = {&p->teleport}, .out = {&p->x[0]}, .c = {{{.factor = 1}}}};
  PASS(ops->recast(p->env, &subtract));
  return ops->fused(p->env, &copy);
}

/* Sets up the loop, the vectors and the scalars, also those in the bank. */
static wr_status begin(wr_mixed *m, const wr_pagerank *wide, const wr_correction *c, double unit, int before,
                       wr_pagerank_scalars *s) {
  wr_pagerank *p = &m->sweeps;
  const wr_pagerank_options *o = c->options;
  int is_first = c->change == 0, counts = counts_dangling(wide, c);
  p->loop = m->loops[is_first];
  p->direction = is_first && wide->direction == NULL ? NULL : &p->teleport, p->adds_direction = !is_first;
  wr_pagerank_set_loop(p, o, c->monitor, unit);
  PASS(wr_iteration_every(p->loop, o->check_every));
  wr_iteration_begin(p->loop);
  p->loop->repeats = (wr_repeats){0};
  *s = wr_pagerank_scalars_of(p, o);
  s->damping = counts ? o->damping : 0, s->rest = is_first ? 1 - o->damping : 0;
  s->weight = is_first && p->direction ? 1 : 1 / (double)p->graph->n_all, s->shift = s->rest * s->weight;
  s->steps = c->steps, s->limit = c->limit, s->last_part = s->limit - p->loop->unroll;
  s->target = fmax(0.95 * c->target / unit, wr_mixed_floor(o->damping));
  s->tiny = fmax(s->tiny, 100 * wr_type_unit(WR_F32) / (1 - o->damping));
  PASS(p->env->ops->upload(p->env, &p->bank, (double *)s));
  PASS(is_first ? place_first(p, wide->direction) : place_later(p, wide, c->change, before));
  return wr_pagerank_begin(p);
}

/* wide's x[now] := r + unit * z, divided by its sum, which has to be 1 to within rounding in f64, as the sum of r in x[before]
 * is; without an r: of z alone. Few sweeps may leave any sum but 0; the step that follows finds out what this is worth. */
static wr_status add(wr_mixed *m, wr_pagerank *wide, const wr_vec *z, double unit, int before, int now, int is_first) {
  wr_pagerank *p = &m->sweeps;
  wr_pagerank_scalars s;
  wr_recast sum = {.in = {z}, .c = {unit}, .over = divisor_of(wide), .sum = WR_PAGERANK_SCALAR(p, change)};
  wr_recast result = {.in = {z, is_first ? NULL : &wide->x[before]}, .out = &wide->x[now]};
  PASS(p->env->ops->recast(p->env, &sum));
  PASS(p->env->ops->download(p->env, &p->bank, (double *)&s));
  double all = s.change + (is_first ? 0 : 1);
  result.c[0] = unit / all, result.c[1] = 1 / all;
  return p->env->ops->recast(p->env, &result);
}

wr_status wr_mixed_correct(wr_mixed *m, wr_pagerank *wide, const wr_correction *c, wr_corrected *found) {
  wr_pagerank *p = &m->sweeps;
  wr_pagerank_scalars s;
  int now = wr_pagerank_after(wide->now), before = wr_pagerank_after(now), is_first = c->change == 0;
  double unit = is_first ? 1 : c->change;
  *found = (wr_corrected){0};
  PASS(begin(m, wide, c, unit, before, &s));
  int64_t taken = p->loop->taken = is_first ? 0 : 1; /* where there are ranks, a signal ends the sweeps at once */
  PASS(wr_iteration_go(p->loop, (double *)&s, &found->interrupted));
  wr_plan_forget(p->plan);
  taken = p->loop->taken - taken;
  m->multiplies += taken, m->bytes += (double)taken * wr_pagerank_step_bytes(p);
  if (taken > m->most) m->most = taken, m->repeats = p->loop->repeats;
  found->steps = s.steps - c->steps;
  found->is_cut = s.converged == 0 && s.stalled == 0 && !(s.steps < s.limit);
  if (found->steps < 1) return WR_OK;
  int answer = wr_pagerank_answer(p, found->steps);
  return add(m, wide, &p->x[answer], unit, before, now, is_first);
}
