#include "solvers/bicgstab_step.h"

#include <string.h>

#include "config/argument.h"
#include "solvers/iteration.h"
#include "spmv/steps/steps.h"

#define SCALAR(s, member) WR_BICGSTAB_SCALAR(s, member)

wr_fused wr_bicgstab_collecting(wr_bicgstab *s, wr_vec *to) {
  return (wr_fused){.in = {&s->x, &s->d},
                    .out = {to},
                    .c = {{{.factor = 1}, {.factor = 1}}},
                    .reduce = {{WR_SUM, to, NULL, SCALAR(s, sum_x)}}};
}

wr_status wr_bicgstab_settle_iterate(wr_bicgstab *s) {
  wr_status status;
  wr_fused collect = wr_bicgstab_collecting(s, &s->x);
  TRY(s->env->ops->fused(s->env, &collect));
  TRY(s->env->ops->fill(s->env, &s->d, 0));
done:
  return status;
}

/* The vectors of p, for the iteration with the product v[i], and of s. */
static wr_vec *direction_at(wr_bicgstab *s, int i) { return &s->p[s->separate ? i : 0]; }
static wr_vec *half_step(wr_bicgstab *s) { return s->separate ? &s->s : &s->r; }

/* M^-1 times a vector: the vector itself without a preconditioner, else `to`. */
static wr_status precondition(wr_bicgstab *s, const wr_vec *from, wr_vec *to, const wr_vec **result) {
  *result = s->precond ? to : from;
  return s->precond ? wr_precond_apply(s->precond, &(wr_precond_request){.r = from, .z = to}) : WR_OK;
}

/* v := A M^-1 p, with the sums for alpha and the step that computes it. */
static wr_status first_product(wr_bicgstab *s, int i, const wr_vec *p, wr_then then) {
  wr_epilogue sigma = {.reduce = {{WR_DOT, NULL, &s->shadow, SCALAR(s, sigma)}, {WR_NRM2SQ, NULL, NULL, SCALAR(s, vv)}},
                       .then = then};
  return wr_plan_apply(s->plan, &(wr_apply){.alpha = 1, .x = p, .y = &s->v[i], .y_next = &s->t, .epilogue = &sigma});
}

/* t := A M^-1 s, with the sums for omega and the step that computes it. */
static wr_status second_product(wr_bicgstab *s, int i, const wr_vec *inverse_s, wr_then then) {
  wr_epilogue omega = {.reduce = {{WR_DOT, NULL, half_step(s), SCALAR(s, ts)}, {WR_NRM2SQ, NULL, NULL, SCALAR(s, tt)}},
                       .then = then};
  return wr_plan_apply(s->plan,
                       &(wr_apply){.alpha = 1, .x = inverse_s, .y = &s->t, .y_next = &s->v[1 - i], .epilogue = &omega});
}

wr_status wr_bicgstab_multiply(wr_bicgstab *s, int count) {
  wr_status status = WR_OK;
  WR_REFUSE_IF(s == NULL || s->env == NULL, "s is %s", s ? "not open" : "NULL");
  WR_REFUSE_IF(count < 0, "count is %d", count);
  wr_plan_forget(s->plan);
  for (int k = 0; k < count; k++)
    TRY(k % 2 == 0 ? first_product(s, k / 2 % 2, direction_at(s, k / 2 % 2), (wr_then){0})
                   : second_product(s, k / 2 % 2, half_step(s), (wr_then){0}));
done:
  wr_plan_forget(s->plan);
  return status;
}

/* snapshot := the iterate, if one is due and all of it is finite. The iterate is first computed in t, which is not in use
 * between iterations. */
static wr_status take_snapshot(wr_bicgstab *s) {
  wr_status status;
  wr_fused collect = wr_bicgstab_collecting(s, &s->t);
  wr_fused keep = {.in = {&s->t}, .out = {&s->snapshot}, .c = {{{.factor = 1}}}, .when = SCALAR(s, keep)};
  collect.when = SCALAR(s, snap), collect.then = WR_THEN(bicgstab_after_collect, &s->bank, NULL);
  TRY(s->env->ops->fused(s->env, &collect));
  TRY(s->env->ops->fused(s->env, &keep));
done:
  return status;
}

/* d += alpha M^-1 p + omega M^-1 s; r = s - omega t, with (r, r) and (shadow, r). */
static wr_status update(wr_bicgstab *s, const wr_vec *inverse_p, const wr_vec *inverse_s) {
  wr_fused f = {.out = {&s->d, &s->r},
                .reduce = {{WR_NRM2SQ, &s->r, NULL, SCALAR(s, rr)}, {WR_DOT, &s->r, &s->shadow, SCALAR(s, rho_next)}},
                .then = WR_THEN(bicgstab_after_update, &s->bank, &s->loop->log)};
  const wr_vec *half = half_step(s), *const in[] = {&s->d, inverse_p, inverse_s, &s->t, &s->shadow, half};
  int at_half = s->precond ? 5 : 2; /* s itself is M^-1 s without M */
  memcpy(f.in, in, sizeof *in * (s->precond ? 6 : 5));
  f.c[0][0].factor = 1, f.c[0][1] = (wr_coefficient){1, SCALAR(s, alpha)},
  f.c[0][2] = (wr_coefficient){1, SCALAR(s, omega)};
  f.c[1][at_half].factor = 1, f.c[1][3] = (wr_coefficient){-1, SCALAR(s, omega)};
  return s->env->ops->fused(s->env, &f);
}

/* One iteration, with A p in v[i]. A is the matrix, and all else are vectors of n:
 *
 *   operation                        reads            writes
 *   p = r + beta (p - omega v)       r p v            p
 *   v = A p, with two sums           A p shadow       v
 *   s = r - alpha v, with a sum      r v              s
 *   t = A s, with two sums           A s              t        s once more, from a cache
 *   d += ..., r = ..., with two sums d p s t shadow   d r
 *   where a snapshot is due          x d, then t      t, then snapshot
 *
 * These are WR_BICGSTAB_VECTORS vectors besides the multiplies, without snapshots. A preconditioner moves its own bytes twice,
 * and the update then reads M^-1 s, too. tests/bench/traffic.py compares this with what ncu counts. */
wr_status wr_bicgstab_step(void *solver, int i) {
  wr_status status;
  wr_bicgstab *s = solver;
  wr_env *env = s->env;
  wr_vec *p = direction_at(s, i), *v = &s->v[i], *half = half_step(s), *r = &s->r;
  const wr_vec *inverse_p, *inverse_s;
  wr_fused find_p = {.in = {r, direction_at(s, 1 - i), &s->v[1 - i]}, /* with p and v of the iteration before */
                     .out = {p},
                     .c = {{{.factor = 1}, {1, SCALAR(s, beta)}, {-1, SCALAR(s, beta_omega)}}}};
  wr_fused find_s = {.in = {r, v},
                     .out = {half},
                     .c = {{{.factor = 1}, {-1, SCALAR(s, alpha)}}},
                     .reduce = {{WR_NRM2SQ, half, NULL, SCALAR(s, ss)}}};
  TRY(env->ops->fused(env, &find_p));
  TRY(precondition(s, p, &s->inverse_p, &inverse_p));
  TRY(first_product(s, i, inverse_p, WR_THEN(bicgstab_after_first_product, &s->bank, NULL)));
  TRY(env->ops->fused(env, &find_s));
  TRY(precondition(s, half, &s->inverse_s, &inverse_s));
  TRY(second_product(s, i, inverse_s, WR_THEN(bicgstab_after_second_product, &s->bank, NULL)));
  TRY(update(s, inverse_p, inverse_s));
  if (s->loop->ends_period) TRY(take_snapshot(s));
done:
  return status;
}
