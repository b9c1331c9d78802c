/* BiCGSTAB (van der Vorst 1992): one iteration as operations on vectors, which bicgstab.c repeats. */
#include <string.h>

#include "solvers/krylov/method.h"
#include "spmv/steps/bicgstab_steps.h"
#include "spmv/steps/steps.h"

/* Own vectors. P1 and HALF are used while `separate`. V0 and V1: A p of this and of the last iteration, which change places;
 * they and t are the buffers that applies rotate. */
enum { P0, P1, HALF, SHADOW, V0, V1, INVERSE_P, INVERSE_S };

#define SCALAR(s, member) WR_METHOD_SCALAR(s, wr_bicgstab_scalars, member)

/* The vectors of p, for the iteration with the product V0 + i, and of s. */
static wr_vec *direction_at(wr_bicgstab *s, int i) { return &s->own[s->separate ? P0 + i : P0]; }
static wr_vec *half_step(wr_bicgstab *s) { return s->separate ? &s->own[HALF] : &s->r; }

static int uses(const wr_bicgstab *s, int index) {
  if (index == P1 || index == HALF) return s->separate;
  return index <= V1 || (index <= INVERSE_S && s->precond);
}

/* beta = 0, so that p becomes r whatever p and v contain. The shadow is r, or hashes that do not depend on r. */
static wr_status begin(wr_bicgstab *s, const wr_solve_scalars *common, int seed) {
  const wr_vecops *ops = s->env->ops;
  double unit = wr_type_unit(s->env->type);
  wr_vec *shadow = &s->own[SHADOW];
  union {
    wr_bicgstab_scalars c;
    double bank[WR_MAX_SCALARS];
  } room = {.c = {.solve = *common}};
  wr_fused products = {.in = {shadow, &s->r},
                       .reduce = {{WR_DOT, shadow, &s->r, SCALAR(s, rho)}, {WR_NRM2SQ, shadow, NULL, SCALAR(s, ss)}}};
  PASS(seed == 0 ? wr_method_copy(s, shadow, &s->r) : wr_method_hash(s, shadow, seed));
  PASS(ops->upload(s->env, &s->bank, room.bank));
  PASS(ops->fused(s->env, &products));
  PASS(ops->download(s->env, &s->bank, room.bank));
  room.c.noise = unit * unit * room.c.ss, room.c.least_cos2 = 64 * unit * unit;
  return ops->upload(s->env, &s->bank, room.bank);
}

/* v := A M^-1 p, with the sums for alpha and the step that computes it. */
static wr_status first_product(wr_bicgstab *s, int i, const wr_vec *p) {
  wr_epilogue sigma = {
      .reduce = {{WR_DOT, NULL, &s->own[SHADOW], SCALAR(s, sigma)}, {WR_NRM2SQ, NULL, NULL, SCALAR(s, vv)}},
      .then = WR_THEN(bicgstab_after_first_product, &s->bank, NULL)};
  return wr_plan_apply(s->plan,
                       &(wr_apply){.alpha = 1, .x = p, .y = &s->own[V0 + i], .y_next = &s->t, .epilogue = &sigma});
}

/* t := A M^-1 s, with the sums for omega and the step that computes it. */
static wr_status second_product(wr_bicgstab *s, int i, const wr_vec *inverse_s) {
  wr_epilogue omega = {.reduce = {{WR_DOT, NULL, half_step(s), SCALAR(s, ts)}, {WR_NRM2SQ, NULL, NULL, SCALAR(s, tt)}},
                       .then = WR_THEN(bicgstab_after_second_product, &s->bank, NULL)};
  return wr_plan_apply(
      s->plan, &(wr_apply){.alpha = 1, .x = inverse_s, .y = &s->t, .y_next = &s->own[V1 - i], .epilogue = &omega});
}

/* d += alpha M^-1 p + omega M^-1 s; r = s - omega t, with (r, r) and (shadow, r). */
static wr_status update(wr_bicgstab *s, const wr_vec *inverse_p, const wr_vec *inverse_s) {
  wr_fused f = {.out = {&s->d, &s->r},
                .reduce = {{WR_NRM2SQ, &s->r, NULL, WR_SOLVE_SCALAR(s, rr)},
                           {WR_DOT, &s->r, &s->own[SHADOW], SCALAR(s, rho_next)}},
                .then = WR_THEN(bicgstab_after_update, &s->bank, &s->loop->log)};
  const wr_vec *half = half_step(s), *const in[] = {&s->d, inverse_p, inverse_s, &s->t, &s->own[SHADOW], half};
  int at_half = s->precond ? 5 : 2; /* s itself is M^-1 s without M */
  memcpy(f.in, in, sizeof *in * (s->precond ? 6 : 5));
  f.c[0][0].factor = 1, f.c[0][1] = (wr_coefficient){1, SCALAR(s, alpha)},
  f.c[0][2] = (wr_coefficient){1, SCALAR(s, omega)};
  f.c[1][at_half].factor = 1, f.c[1][3] = (wr_coefficient){-1, SCALAR(s, omega)};
  wr_method_add_weighted(s, &f, &s->r, WR_SOLVE_SCALAR(s, weighted_rr));
  return s->env->ops->fused(s->env, &f);
}

/* One iteration, with A p in V0 + i. A is the matrix, and all else are vectors of n:
 *
 *   operation                        reads            writes
 *   p = r + beta (p - omega v)       r p v            p
 *   v = A p, with two sums           A p shadow       v
 *   s = r - alpha v, with a sum      r v              s
 *   t = A s, with two sums           A s              t        s once more, from a cache
 *   d += ..., r = ..., with two sums d p s t shadow   d r
 *   where a snapshot is due          x d, then t      t, then snapshot
 *
 * These are 15 vectors besides the multiplies, without snapshots. A preconditioner moves its own bytes twice, and the update
 * then reads M^-1 s, too. tests/bench/traffic.py compares this with what ncu counts. */
static wr_status step(void *solver, int i) {
  wr_bicgstab *s = solver;
  wr_env *env = s->env;
  wr_vec *p = direction_at(s, i), *v = &s->own[V0 + i], *half = half_step(s), *r = &s->r;
  const wr_vec *inverse_p, *inverse_s;
  wr_fused find_p = {.in = {r, direction_at(s, 1 - i), &s->own[V1 - i]}, /* with p and v of the iteration before */
                     .out = {p},
                     .c = {{{.factor = 1}, {1, SCALAR(s, beta)}, {-1, SCALAR(s, beta_omega)}}}};
  wr_fused find_s = {.in = {r, v},
                     .out = {half},
                     .c = {{{.factor = 1}, {-1, SCALAR(s, alpha)}}},
                     .reduce = {{WR_NRM2SQ, half, NULL, SCALAR(s, ss)}}};
  wr_method_add_weighted(s, &find_s, half, SCALAR(s, weighted_ss));
  PASS(env->ops->fused(env, &find_p));
  PASS(wr_method_precondition(s, p, INVERSE_P, &inverse_p));
  PASS(first_product(s, i, inverse_p));
  PASS(env->ops->fused(env, &find_s));
  PASS(wr_method_precondition(s, half, INVERSE_S, &inverse_s));
  PASS(second_product(s, i, inverse_s));
  PASS(update(s, inverse_p, inverse_s));
  return wr_method_snapshot(s);
}

static void left(wr_bicgstab *s, int i, const wr_vec **vectors) {
  vectors[0] = direction_at(s, 1 - i), vectors[1] = &s->own[V1 - i];
}

static wr_method_costs costs(const wr_bicgstab *s) {
  return (wr_method_costs){.multiplies = 2, .moved = 15 + (s->precond != NULL) + 2 * (s->weight.id != 0)};
}

static const char *const breakdowns[] = {
    [WR_BICGSTAB_OVERFLOWS - 1] = "breakdown: ||A p||^2 overflows",
    [WR_BICGSTAB_VANISHES - 1] = "breakdown: A p vanished, or its elements underflow",
    [WR_BICGSTAB_BAD_SIGMA - 1] = "breakdown: (shadow, A p) vanished or alpha exploded",
    [WR_BICGSTAB_BAD_OMEGA - 1] = "breakdown: omega vanished",
    [WR_BICGSTAB_BAD_RHO - 1] = "breakdown: (shadow, r) vanished or beta exploded",
};

const wr_method wr_method_bicgstab = {
    .name = "bicgstab",
    .summary = "BiCGSTAB: two multiplies an iteration, for any square matrix",
    .source = "van der Vorst, SIAM J. Sci. Stat. Comput. 13 (1992)",
    .scalars = WR_SCALAR_COUNT(wr_bicgstab_scalars),
    .phases = 2,
    .next = &wr_method_idr,
    .knows_noise = 1,
    .breakdowns = breakdowns,
    WR_METHOD_FUNCTIONS,
};
