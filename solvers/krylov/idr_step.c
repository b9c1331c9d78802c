/* IDR(4) (van Gijzen and Sonneveld 2011): one iteration as operations on vectors, which bicgstab.c repeats. */
#include "solvers/krylov/method.h"
#include "spmv/steps/idr_steps.h"
#include "spmv/steps/steps.h"

/* Own vectors: g_i; u_i; the two results of multiplies that take turns; with M, v and M^-1 v. The p_i are vectors of hashes,
 * which take no memory. */
enum { G = 0, U = G + WR_IDR_S, W = U + WR_IDR_S, V = W + 2, INVERSE };

#define SCALAR(s, member) WR_METHOD_SCALAR(s, wr_idr_scalars, member)

/* Element i of an array of scalars. */
#define SCALAR_AT(s, member, i) ((wr_scalar){&(s)->bank, WR_SCALAR_INDEX(wr_idr_scalars, member) + (i)})

static const wr_scalar one = {NULL, 0};

static int uses(const wr_bicgstab *s, int index) { return index < V || (index <= INVERSE && s->precond); }

/* Adds the sums into[i] = (p_i, v) to f, from its sum number `first` on. */
static void add_shadows(const wr_bicgstab *s, wr_fused *f, int first, const wr_vec *v, wr_scalar into) {
  f->hashes = (uint64_t)s->seed;
  for (int i = 0; i < WR_IDR_S; i++, into.index++) f->reduce[first + i] = (wr_reduction){WR_DOT_HASH, v, NULL, into};
}

/* M := 1 and g_i := u_i := 0, so that u_0 = M^-1 r, which is written here as every iteration leaves the next u_0. */
static wr_status begin(wr_bicgstab *s, const wr_solve_scalars *common, int seed) {
  const wr_vecops *ops = s->env->ops;
  const wr_vec *direction;
  wr_fused sums = {.in = {&s->r}};
  union {
    wr_idr_scalars c;
    double bank[WR_MAX_SCALARS];
  } room = {.c = {.solve = *common, .omega = 1}};
  (void)seed; /* s->seed */
  for (int i = 0; i < WR_IDR_S; i++) {
    room.c.M[i][i] = 1;
    PASS(ops->fill(s->env, &s->own[G + i], 0));
    PASS(ops->fill(s->env, &s->own[U + i], 0));
  }
  add_shadows(s, &sums, 0, &s->r, SCALAR_AT(s, f, 0));
  PASS(wr_method_precondition(s, &s->r, INVERSE, &direction));
  PASS(wr_method_copy(s, &s->own[U], direction));
  PASS(ops->upload(s->env, &s->bank, room.bank));
  return ops->fused(s->env, &sums);
}

/* w := A x, then h_i = (p_i, w), and for x = M^-1 r also (w, r) and (w, w), then the step. */
static wr_status multiply(wr_bicgstab *s, const wr_vec *x, int w, int is_residual, wr_then then) {
  wr_fused sums = {.in = {&s->own[W + w]}, .then = then};
  wr_vec *y = &s->own[W + w], *y_next = &s->own[W + 1 - w];
  PASS(s->multiply ? s->multiply(s->context, x, y, y_next)
                   : wr_plan_apply(s->plan, &(wr_apply){.alpha = 1, .x = x, .y = y, .y_next = y_next}));
  add_shadows(s, &sums, 0, &s->own[W + w], SCALAR_AT(s, h, 0));
  if (is_residual) {
    sums.in[1] = &s->r;
    sums.reduce[WR_IDR_S] = (wr_reduction){WR_DOT, &s->own[W + w], &s->r, SCALAR(s, tr)};
    sums.reduce[WR_IDR_S + 1] = (wr_reduction){WR_NRM2SQ, &s->own[W + w], NULL, SCALAR(s, tt)};
  }
  return s->env->ops->fused(s->env, &sums);
}

/* Output o of f, behind r at output o - 1, := u_k for k = `first`, that is sum_i c_i u_i + omega v with v = r - sum_i c_i g_i
 * and i from k on. With M it is v, and M^-1 v comes later. */
static void add_direction(wr_bicgstab *s, wr_fused *f, int o, int first) {
  f->out[o] = s->precond ? &s->own[V] : &s->own[U + first];
  for (int i = first; i < WR_IDR_S; i++) {
    if (!s->precond) wr_method_add_term(f, o, &s->own[U + i], 1, SCALAR_AT(s, c, i));
    wr_method_add_term(f, o, &s->own[G + i], -1, s->precond ? SCALAR_AT(s, c, i) : SCALAR_AT(s, omega_c, i));
  }
  f->c[o][WR_MAX_INPUTS + o - 1] = (wr_coefficient){1, s->precond ? one : SCALAR(s, omega)};
}

/* With M: u_k := sum_i c_i u_i + omega M^-1 v, i from k on. */
static wr_status finish_direction(wr_bicgstab *s, int k) {
  const wr_vec *inverse;
  wr_fused f = {.out = {&s->own[U + k]}};
  if (!s->precond) return WR_OK;
  PASS(wr_method_precondition(s, &s->own[V], INVERSE, &inverse));
  wr_method_add_term(&f, 0, inverse, 1, SCALAR(s, omega));
  for (int i = k; i < WR_IDR_S; i++) wr_method_add_term(&f, 0, &s->own[U + i], 1, SCALAR_AT(s, c, i));
  return s->env->ops->fused(s->env, &f);
}

/* g_k = w - sum_i alpha_i g_i and u_k -= sum_i alpha_i u_i over i < k; r -= beta_k g_k, with its norm; then u_k+1, or behind
 * the last direction f_i = (p_i, r). */
static wr_status update(wr_bicgstab *s, int k, int w) {
  wr_fused f = {.out = {&s->own[G + k]}, .reduce = {{WR_NRM2SQ, &s->r, NULL, WR_SOLVE_SCALAR(s, rr)}}};
  int last = k + 1 == WR_IDR_S, r = 1;
  wr_method_add_term(&f, 0, &s->own[W + w], 1, one);
  for (int i = 0; i < k; i++) wr_method_add_term(&f, 0, &s->own[G + i], -1, SCALAR_AT(s, alpha, i));
  if (k > 0) {
    f.out[r] = &s->own[U + k];
    wr_method_add_term(&f, r, &s->own[U + k], 1, one);
    for (int i = 0; i < k; i++) wr_method_add_term(&f, r, &s->own[U + i], -1, SCALAR_AT(s, alpha, i));
    r++;
  }
  f.out[r] = &s->r;
  wr_method_add_term(&f, r, &s->r, 1, one);
  f.c[r][WR_MAX_INPUTS] = (wr_coefficient){-1, SCALAR_AT(s, beta, k)};
  if (last) add_shadows(s, &f, 1, &s->r, SCALAR_AT(s, f, 0));
  if (!last) add_direction(s, &f, r + 1, k + 1);
  wr_method_add_weighted(s, &f, &s->r, WR_SOLVE_SCALAR(s, weighted_rr));
  PASS(s->env->ops->fused(s->env, &f));
  if (!last) PASS(finish_direction(s, k + 1));
  return WR_OK;
}

/* d += sum_i beta_i u_i + omega M^-1 r;  r -= omega t, with its norm; then u_0 of the next iteration. */
static wr_status end(wr_bicgstab *s, const wr_vec *inverse_r, int w) {
  wr_then then = WR_THEN(idr_after_update, &s->bank, &s->loop->log);
  wr_fused f = {.out = {&s->d, &s->r}, .reduce = {{WR_NRM2SQ, &s->r, NULL, WR_SOLVE_SCALAR(s, rr)}}};
  wr_fused find_d = {.out = {&s->d}};
  wr_fused *of_d = s->weight.id && s->precond ? &find_d : &f;
  if (of_d == &find_d) f.out[0] = &s->r, f.out[1] = NULL;
  int r = of_d == &f;
  wr_method_add_term(of_d, 0, &s->d, 1, one);
  wr_method_add_term(of_d, 0, inverse_r, 1, SCALAR(s, omega));
  for (int i = 0; i < WR_IDR_S; i++) wr_method_add_term(of_d, 0, &s->own[U + i], 1, SCALAR_AT(s, beta, i));
  if (of_d == &find_d) PASS(s->env->ops->fused(s->env, &find_d));
  wr_method_add_term(&f, r, &s->r, 1, one), wr_method_add_term(&f, r, &s->own[W + w], -1, SCALAR(s, omega));
  add_direction(s, &f, r + 1, 0);
  wr_method_add_weighted(s, &f, &s->r, WR_SOLVE_SCALAR(s, weighted_rr));
  if (!s->precond) f.then = then;
  PASS(s->env->ops->fused(s->env, &f));
  PASS(finish_direction(s, 0));
  if (s->precond) PASS(s->env->ops->step(s->env, &then));
  return WR_OK;
}

/* One iteration: WR_IDR_S directions, then a residual. A is the matrix, and all else are vectors of n; without M:
 *
 *   operation                                     reads                        writes
 *   for k = 0 to 3:
 *     w = A u_k                                   A u_k                        w
 *     four sums                                   w
 *     g_k, u_k, r, u_k+1, a sum                   w r, g_i and u_i             g_k u_k r u_k+1   for k = 0 not u_k
 *                                                 k = 3: four sums more, of r                    for k = 3 no u_k+1
 *   w = A r                                       A r                          w
 *   six sums                                      w r
 *   d += ..., r -= omega w, u_0, a sum            d r w, all g_i and u_i       d r u_0
 *
 * These are 69 vectors besides five multiplies, without snapshots. */
static wr_status step(void *solver, int phase) {
  wr_bicgstab *s = solver;
  const wr_vec *inverse_r;
  int w = phase; /* an odd number of multiplies: the other vector begins in the next iteration */
  for (int k = 0; k < WR_IDR_S; k++, w = 1 - w) {
    PASS(multiply(s, &s->own[U + k], w, 0, WR_THEN(idr_after_direction, &s->bank, NULL)));
    PASS(update(s, k, w));
  }
  PASS(wr_method_precondition(s, &s->r, INVERSE, &inverse_r));
  PASS(multiply(s, inverse_r, w, 1, WR_THEN(idr_after_residual, &s->bank, NULL)));
  PASS(end(s, inverse_r, w));
  return wr_method_snapshot(s);
}

static void left(wr_bicgstab *s, int phase, const wr_vec **vectors) {
  (void)phase;
  for (int i = 0; i < WR_IDR_S; i++) vectors[i] = &s->own[G + i], vectors[WR_IDR_S + i] = &s->own[U + i];
}

static wr_method_costs costs(const wr_bicgstab *s) {
  return (wr_method_costs){.multiplies = WR_IDR_S + 1,
                           .moved = 69 + (s->precond != NULL) * 27 + (s->weight.id != 0) * (WR_IDR_S + 1)};
}

static const char *const breakdowns[] = {
    [WR_IDR_BAD_PIVOT - 1] = "breakdown: (p, g) vanished or overflows",
    [WR_IDR_BAD_OMEGA - 1] = "breakdown: omega vanished or overflows",
};

const wr_method wr_method_idr = {
    .name = "idr",
    .summary = "IDR(4): five multiplies an iteration, for any square matrix, more robust than BiCGSTAB",
    .source = "van Gijzen and Sonneveld, ACM Trans. Math. Softw. 38 (2011)",
    .scalars = WR_SCALAR_COUNT(wr_idr_scalars),
    .phases = 2,
    .hashes = 1,
    .next = &wr_method_bicgstabl,
    .breakdowns = breakdowns,
    WR_METHOD_FUNCTIONS,
};
