#include "solvers/mixed.h"

#include <float.h>
#include <math.h>

#include "config/memory.h"
#include "solvers/pagerank_parts.h"

/* A sweep rounds each element of z a few times, and its result by errors that (I - d P^T)^-1 may enlarge by 1 / (1 - d). */
double wr_mixed_floor(double damping) { return 8 * wr_type_unit(WR_F32) / (1 - damping); }

/* Compact scales are integers, whatever the type. */
static wr_status place_scale(wr_mixed *m, const wr_pagerank *wide) {
  wr_status status = WR_OK;
  wr_pagerank *p = &m->sweeps;
  m->shares_scale = wide->scale.reciprocal_bytes > 0 && wide->scale.reciprocal_bytes <= wr_type_bytes(WR_F32);
  if (m->shares_scale) {
    p->scale = wide->scale, p->scale.type = WR_F32;
    return WR_OK;
  }
  TRY(p->env->ops->alloc(p->env, wide->graph->n, WR_F32, "inverse out-degrees", &p->scale));
  TRY(p->env->ops->recast(p->env, &(wr_recast){.in = {&wide->scale}, .c = {1}, .out = &p->scale}));
done:
  return status;
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
  m->multiplies = m->most = 0, m->bytes = 0, m->by = WR_BY_HOST;
  for (int k = 0; k < 2; k++) m->loops[k]->taken = 0;
}

/* The right-hand side of (1) for the first correction is (1 - d) v, and the first z is v. */
static wr_status begin_first(wr_mixed *m, const wr_pagerank *wide, const wr_correction *c, wr_pagerank_scalars *s) {
  wr_status status;
  wr_pagerank *p = &m->sweeps;
  const wr_vec *v = wide->direction;
  wr_epilogue scaled = {.scale = &p->scale, .scales_y = 1};
  s->rest = 1 - c->options->damping, s->weight = v ? 1 : 1 / (double)p->graph->n;
  if (v) {
    TRY(p->env->ops->recast(p->env, &(wr_recast){.in = {v}, .c = {1}, .out = &p->teleport}));
    TRY(p->env->ops->recast(p->env, &(wr_recast){.in = {v}, .c = {1}, .out = &p->x[0]}));
  } else {
    TRY(p->env->ops->fill(p->env, &p->x[0], 1 / (double)p->graph->n));
  }
  TRY(p->env->ops->epilogue(p->env, &(wr_apply){.y = &p->x[0], .epilogue = &scaled}));
done:
  return status;
}

/* For a later one it is rho / ||rho||_1, of the last step from x[before] to x[now] in f64, and the first z is the same. */
static wr_status begin_later(wr_mixed *m, const wr_pagerank *wide, const wr_correction *c, int before,
                             wr_pagerank_scalars *s) {
  wr_status status;
  wr_pagerank *p = &m->sweeps;
  wr_recast subtract = {.in = {&wide->x[wide->now], &wide->x[before]}, .c = {1 / c->change, -1 / c->change}};
  s->rest = 1, s->weight = 1;
  subtract.out = &p->x[0];
  TRY(p->env->ops->recast(p->env, &subtract));
  subtract.out = &p->teleport, subtract.over = p->graph->links->val ? NULL : &wide->scale;
  TRY(p->env->ops->recast(p->env, &subtract));
done:
  return status;
}

wr_status wr_mixed_correct(wr_mixed *m, wr_pagerank *wide, const wr_correction *c, wr_corrected *found) {
  wr_status status;
  wr_pagerank *p = &m->sweeps;
  const wr_pagerank_options *o = c->options;
  int now = wr_pagerank_after(wide->now), before = wr_pagerank_after(now), is_first = c->change == 0;
  double d = o->damping, unit = is_first ? 1 : c->change;
  p->loop = m->loops[is_first && wide->direction == NULL ? 0 : 1];
  p->direction = is_first && wide->direction == NULL ? NULL : &p->teleport;
  wr_iteration *loop = p->loop;
  wr_pagerank_set_loop(p, o, c->monitor, unit);
  TRY(wr_iteration_every(loop, o->check_every));
  wr_iteration_begin(loop);
  *found = (wr_corrected){0};
  wr_pagerank_scalars s = wr_pagerank_scalars_of(p, o);
  s.damping = 0, s.steps = c->steps, s.limit = c->limit, s.last_part = s.limit - loop->unroll;
  s.target = fmax(0.8 * c->target / unit, wr_mixed_floor(d));
  s.tiny = fmax(s.tiny, 100 * wr_type_unit(WR_F32) / (1 - d));
  TRY(is_first ? begin_first(m, wide, c, &s) : begin_later(m, wide, c, before, &s));
  s.shift = s.rest * s.weight;
  TRY(p->env->ops->upload(p->env, &p->bank, (double *)&s));
  loop->taken = is_first ? 0 : 1; /* with ranks at hand, a signal ends it at once */
  int64_t taken = loop->taken;
  TRY(wr_iteration_go(loop, (double *)&s, &found->interrupted));
  taken = loop->taken - taken;
  wr_plan_forget(p->plan);
  found->steps = s.steps - c->steps;
  found->is_cut = found->interrupted != 0 || (s.converged == 0 && s.stalled == 0 && !(s.steps < s.limit));
  m->multiplies += taken, m->bytes += (double)taken * wr_pagerank_step_bytes(p);
  if (taken > m->most) m->most = taken, m->by = loop->by;
  if (found->steps < 1) return WR_OK;
  double sum = fmax(1 - d * unit * s.dangling / (1 - d), (1 - d) / 2);
  wr_recast add = {.in = {&p->x[(int64_t)found->steps % WR_PAGERANK_VECTORS]}, .c = {unit / sum}, .out = &wide->x[now]};
  if (!is_first) add.in[1] = &wide->x[before], add.c[1] = 1 / sum;
  TRY(p->env->ops->recast(p->env, &add));
done:
  return status;
}
