/* BiCGSTAB(l) (Sleijpen and Fokkema 1993): one iteration as operations on vectors, which bicgstab.c repeats. */
#include "solvers/krylov/method.h"
#include "spmv/steps/bicgstabl_steps.h"
#include "spmv/steps/steps.h"

/* Own vectors: the shadow; u_0; u_1 of this and of the last iteration, which change places; u_2 to u_l; r_1 to r_l. With M:
 * what the iteration adds to M d, and M^-1 times a vector. r_0 is s->r. */
enum { SHADOW, U0, U1, U2 = U1 + 2, R1 = U2 + WR_MOST_L - 1, ADDED = R1 + WR_MOST_L, INVERSE };

#define SCALAR(s, member) WR_METHOD_SCALAR(s, wr_bicgstabl_scalars, member)

static wr_vec *search(wr_bicgstab *s, int j, int phase) {
  return &s->own[j == 0 ? U0 : j == 1 ? U1 + phase : U2 + j - 2];
}
static wr_vec *residual(wr_bicgstab *s, int j) { return j == 0 ? &s->r : &s->own[R1 + j - 1]; }

static int uses(const wr_bicgstab *s, int index) {
  if (index >= ADDED) return index <= INVERSE && s->precond;
  return index < U2 + s->l - 1 || (index >= R1 && index < R1 + s->l);
}

/* beta = 0, so that u_0 becomes r_0. */
static wr_status begin(wr_bicgstab *s, const wr_solve_scalars *common, int seed) {
  const wr_vecops *ops = s->env->ops;
  double unit = wr_type_unit(s->env->type);
  union {
    wr_bicgstabl_scalars c;
    double bank[WR_MAX_SCALARS];
  } room = {.c = {.solve = *common, .l = s->l, .least_cos2 = 64 * unit * unit}};
  wr_vec *shadow = &s->own[SHADOW];
  wr_fused product = {.in = {shadow, &s->r}, .reduce = {{WR_DOT, shadow, &s->r, SCALAR(s, rho)}}};
  PASS(seed == 0 ? wr_method_copy(s, shadow, &s->r) : wr_method_hash(s, shadow, seed));
  PASS(ops->upload(s->env, &s->bank, room.bank));
  return ops->fused(s->env, &product);
}

/* y := A M^-1 x, and with a step (shadow, y) before it. */
static wr_status multiply(wr_bicgstab *s, const wr_vec *x, wr_vec *y, wr_vec *y_next, wr_scalar into, wr_then then) {
  wr_epilogue e = {.reduce = {{then.step ? WR_DOT : WR_NO_REDUCTION, NULL, &s->own[SHADOW], into}}, .then = then};
  PASS(wr_method_precondition(s, x, INVERSE, &x));
  return wr_plan_apply(s->plan, &(wr_apply){.alpha = 1, .x = x, .y = y, .y_next = y_next, .epilogue = &e});
}

static const wr_scalar one = {NULL, 0};

/* (r_i, r_j), and gamma_j. */
static wr_scalar gram_at(wr_bicgstab *s, int i, int j) {
  return (wr_scalar){&s->bank, WR_SCALAR_INDEX(wr_bicgstabl_scalars, gram) + i * (WR_MOST_L + 1) + j};
}
static wr_scalar gamma_at(wr_bicgstab *s, int j) {
  return (wr_scalar){&s->bank, WR_SCALAR_INDEX(wr_bicgstabl_scalars, gamma) + j};
}

/* Output o of f := what the iteration adds to d, plus alpha u_0; with M, what it adds to M d. is_first: nothing was added yet.
 * */
static void add_search(wr_bicgstab *s, wr_fused *f, int o, int is_first, int phase) {
  f->out[o] = s->precond ? &s->own[ADDED] : &s->d;
  if (!s->precond || !is_first) wr_method_add_term(f, o, f->out[o], 1, one);
  wr_method_add_term(f, o, search(s, 0, phase), 1, SCALAR(s, alpha));
}

/* u_i = r_i - beta u_i for i <= j. Before, the alpha u_0 of the last j is added. */
static wr_status find_search(wr_bicgstab *s, int j, int phase) {
  wr_fused f = {0}, first = {0};
  for (int i = 0; i <= j; i++) {
    f.out[i] = search(s, i, phase);
    wr_method_add_term(&f, i, residual(s, i), 1, one), wr_method_add_term(&f, i, f.out[i], -1, SCALAR(s, beta));
  }
  if (j >= WR_MAX_OUTPUTS - 1) {
    add_search(s, &first, 0, j == 1, phase);
    PASS(s->env->ops->fused(s->env, &first));
  } else if (j > 0) {
    add_search(s, &f, j + 1, j == 1, phase);
  }
  return s->env->ops->fused(s->env, &f);
}

/* r_i -= alpha u_i+1 for i <= j, with the norm of r_0. */
static wr_status update_residuals(wr_bicgstab *s, int j, int phase) {
  wr_fused f = {.reduce = {{WR_NRM2SQ, &s->r, NULL, SCALAR(s, bb)}}};
  for (int i = 0; i <= j; i++) {
    f.out[i] = residual(s, i);
    wr_method_add_term(&f, i, f.out[i], 1, one),
        wr_method_add_term(&f, i, search(s, i + 1, phase), -1, SCALAR(s, alpha));
  }
  wr_method_add_weighted(s, &f, &s->r, SCALAR(s, weighted_bb));
  return s->env->ops->fused(s->env, &f);
}

/* The sums of the normal equations, as many in a pass as fit, then gamma. */
static wr_status find_gamma(wr_bicgstab *s) {
  wr_fused f = {0};
  int count = 0, left = s->l * (s->l + 3) / 2;
  for (int j = 1; j <= s->l; j++)
    for (int i = 0; i <= j; i++) {
      const wr_vec *const operands[] = {residual(s, i), residual(s, j)};
      for (int k = 0; k < 2; k++) wr_method_add_term(&f, 0, operands[k], 0, one);
      f.reduce[count++] = (wr_reduction){WR_DOT, operands[0], operands[1], gram_at(s, i, j)};
      left--;
      if (count < WR_FUSED_REDUCTIONS && left > 0) continue;
      if (left == 0) f.then = WR_THEN(bicgstabl_after_gram, &s->bank, NULL);
      PASS(s->env->ops->fused(s->env, &f));
      f = (wr_fused){0}, count = 0;
    }
  return WR_OK;
}

/* 1: the last operation of an iteration would have too many inputs: d, shadow, weight, and all u_j and r_j. */
static int finds_d_first(const wr_bicgstab *s) { return s->weight.id != 0 && 2 * (s->l + 1) + 3 > WR_MAX_INPUTS; }

/* d += alpha u_0 + sum gamma_j r_j-1;  u_0 -= sum gamma_j u_j;  r_0 -= sum gamma_j r_j. With M, d += M^-1 times all that the
 * iteration has added. */
static wr_status update(wr_bicgstab *s, int phase) {
  wr_then then = WR_THEN(bicgstabl_after_update, &s->bank, &s->loop->log);
  wr_fused f = {.reduce = {{WR_NRM2SQ, &s->r, NULL, WR_SOLVE_SCALAR(s, rr)},
                           {WR_DOT, &s->r, &s->own[SHADOW], SCALAR(s, rho_next)}}};
  wr_fused first = {0}, *of_d = finds_d_first(s) ? &first : &f;
  int u = of_d == &f, r = u + 1;
  add_search(s, of_d, 0, s->l == 1, phase);
  for (int j = 1; j <= s->l; j++) wr_method_add_term(of_d, 0, residual(s, j - 1), 1, gamma_at(s, j));
  if (of_d == &first) PASS(s->env->ops->fused(s->env, &first));
  f.out[u] = search(s, 0, phase), f.out[r] = &s->r;
  wr_method_add_term(&f, u, f.out[u], 1, one), wr_method_add_term(&f, r, f.out[r], 1, one);
  for (int j = 1; j <= s->l; j++) {
    wr_method_add_term(&f, u, search(s, j, phase), -1, gamma_at(s, j));
    wr_method_add_term(&f, r, residual(s, j), -1, gamma_at(s, j));
  }
  wr_method_add_term(&f, u, &s->own[SHADOW], 0, one);
  wr_method_add_weighted(s, &f, &s->r, WR_SOLVE_SCALAR(s, weighted_rr));
  if (!s->precond) f.then = then;
  PASS(s->env->ops->fused(s->env, &f));
  if (s->precond) {
    const wr_vec *added;
    wr_fused find_d = {.out = {&s->d}};
    PASS(wr_method_precondition(s, &s->own[ADDED], INVERSE, &added));
    wr_method_add_term(&find_d, 0, &s->d, 1, one), wr_method_add_term(&find_d, 0, added, 1, one);
    find_d.then = then;
    PASS(s->env->ops->fused(s->env, &find_d));
  }
  return WR_OK;
}

/* One iteration. For l = 2, A being the matrix and all else vectors of n:
 *
 *   operation                                     reads                     writes
 *   u_0 = r_0 - beta u_0                          r_0 u_0                   u_0
 *   u_1 = A u_0, with a sum                       A u_0 shadow              u_1
 *   r_0 -= alpha u_1, with a sum                  r_0 u_1                   r_0
 *   r_1 = A r_0, with a sum                       A r_0 shadow              r_1
 *   d += alpha u_0, u_i = r_i - beta u_i          d r_0 u_0 r_1 u_1         d u_0 u_1
 *   u_2 = A u_1, with a sum                       A u_1 shadow              u_2
 *   r_i -= alpha u_i+1, with a sum                r_0 u_1 r_1 u_2           r_0 r_1
 *   r_2 = A r_1                                   A r_1                     r_2
 *   five sums                                     r_0 r_1 r_2
 *   d += ..., u_0 -= ..., r_0 -= ..., two sums    d r_0 r_1 r_2 u_0 u_1 u_2 shadow   d u_0 r_0
 *
 * These are 37 vectors besides four multiplies, without snapshots. */
static wr_status step(void *solver, int phase) {
  wr_bicgstab *s = solver;
  for (int j = 0; j < s->l; j++) {
    int is_last = j + 1 == s->l;
    wr_vec *u = search(s, j + 1, phase), *r = residual(s, j + 1);
    PASS(find_search(s, j, phase));
    PASS(multiply(s, search(s, j, phase), u, r, SCALAR(s, sigma), WR_THEN(bicgstabl_after_search, &s->bank, NULL)));
    PASS(update_residuals(s, j, phase));
    PASS(multiply(s, residual(s, j), r, search(s, is_last ? 1 : j + 2, is_last ? 1 - phase : phase),
                  SCALAR(s, rho_next), is_last ? (wr_then){0} : WR_THEN(bicgstabl_after_residual, &s->bank, NULL)));
  }
  PASS(find_gamma(s));
  PASS(update(s, phase));
  return wr_method_snapshot(s);
}

static void left(wr_bicgstab *s, int phase, const wr_vec **vectors) {
  (void)phase;
  vectors[0] = &s->own[U0];
}

/* From the table at step, for any l. */
static wr_method_costs costs(const wr_bicgstab *s) {
  int l = s->l, gram_passes = (l * (l + 3) / 2 + WR_FUSED_REDUCTIONS - 1) / WR_FUSED_REDUCTIONS, count = 0;
  for (int j = 0; j < l; j++) count += 3 * (j + 1) + (j > 0 ? 2 : 0) + 3 * (j + 1) + (j + 1 < l ? 2 : 1);
  count += gram_passes * (l + 1) + 2 * (l + 1) + 2 + 3;
  if (s->precond) count += 3;
  if (finds_d_first(s)) count += l + 1;
  return (wr_method_costs){.multiplies = 2 * l, .moved = count + (s->weight.id != 0) * (l + 1)};
}

static const char *const breakdowns[] = {
    [WR_BICGSTABL_BAD_SIGMA - 1] = "breakdown: (shadow, A u) vanished or overflows",
    [WR_BICGSTABL_BAD_RHO - 1] = "breakdown: (shadow, r) vanished or beta exploded",
    [WR_BICGSTABL_BAD_GAMMA - 1] = "breakdown: the residuals of an iteration are linearly dependent",
};

const wr_method wr_method_bicgstabl = {
    .name = "bicgstabl",
    .summary = "BiCGSTAB(l): 2 l multiplies an iteration, for spectra far from the real axis",
    .source = "Sleijpen and Fokkema, Electron. Trans. Numer. Anal. 1 (1993)",
    .scalars = WR_SCALAR_COUNT(wr_bicgstabl_scalars),
    .phases = 2,
    .breakdowns = breakdowns,
    WR_METHOD_FUNCTIONS,
};
