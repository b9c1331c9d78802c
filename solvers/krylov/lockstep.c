#include "solvers/lockstep.h"

#include <math.h>
#include <string.h>

#include "config/memory.h"
#include "solvers/krylov/method.h"
#include "spmv/parts/comm.h"
#include "spmv/steps/bicgstab_steps.h"
#include "spmv/steps/cg_steps.h"
#include "spmv/steps/steps.h"

/* Arrays of columns. Conjugate gradients use the first four, Q being A p; BiCGSTAB has v there. The last two only with M: M^-1
 * p and M^-1 s of BiCGSTAB; conjugate gradients have M^-1 r in the first, unless M is diagonal. */
enum { R, P, D, Q, SHADOW, T, INVERSE_P, INVERSE_S, ARRAYS };
enum { DEVICE_EVERY = 4 }; /* iterations between two checks on a device, for which it waits 10 us */

#define STRIDE WR_SCALAR_COUNT(wr_bicgstab_scalars)
_Static_assert(sizeof(wr_cg_scalars) <= sizeof(wr_bicgstab_scalars), "the scalars of a column");

struct wr_lockstep {
  wr_bicgstab *s;
  wr_lockstep_options o;
  const wr_vec *inverse; /* [n] the diagonal of M^-1; NULL: M is 1, or factors */
  wr_precond *factors;   /* M that is not diagonal, or NULL   */
  wr_vec one, inverse_one; /* [n] a column, and M^-1 of it, with factors */
  const wr_vec *weight;  /* &weights, or NULL                 */
  wr_vec weights;        /* [n] of the rows, as they are with the b of the first column */
  int rhs_exponent, weights_are_cut; /* of the system with that b */
  int is_cg, count, ld, used;
  int64_t every;
  wr_vec v[ARRAYS], bank;
  double scalars[WR_MAX_COLUMNS * STRIDE];
  wr_lockstep_column *at[WR_MAX_COLUMNS]; /* by place in the arrays; NULL: it has ended */
};

static int is_used(const wr_lockstep *l, int array) {
  if (array == INVERSE_P && l->is_cg) return l->factors != NULL;
  if (array >= INVERSE_P) return !l->is_cg && (l->inverse || l->factors);
  return array <= Q || !l->is_cg;
}

static int width_for(int columns) {
  int ld = 1;
  while (ld < columns) ld *= 2;
  return ld;
}

static wr_status allocate(wr_bicgstab *s, int count, const wr_lockstep_options *options, wr_lockstep **out) {
  wr_lockstep *l;
  PASS(wr_alloc_zeroed(out, 1, sizeof *l, "several right-hand sides"));
  l = *out;
  l->s = s, l->o = *options, l->count = count, l->ld = width_for(count);
  l->inverse = wr_precond_inverse(s->precond), l->is_cg = s->method == &wr_method_cg;
  l->factors = l->inverse ? NULL : s->precond, l->weight = s->weight.id ? &l->weights : NULL;
  l->every = options->solve->check_every ? options->solve->check_every : s->env->place == WR_CUDA ? DEVICE_EVERY : 1;
  PASS(s->env->ops->alloc(s->env, WR_MAX_COLUMNS * STRIDE, WR_F64, "scalars", &l->bank));
  for (int k = 0; k < ARRAYS; k++)
    if (is_used(l, k))
      PASS(s->env->ops->alloc(s->env, s->system->n * l->ld, s->env->type, "several right-hand sides", &l->v[k]));
  if (l->weight) PASS(s->env->ops->alloc(s->env, s->system->n, s->env->type, "the weights of rows", &l->weights));
  for (int k = 0; k < 2 && l->factors; k++)
    PASS(s->env->ops->alloc(s->env, s->system->n, s->env->type, "a right-hand side", k ? &l->inverse_one : &l->one));
  return WR_OK;
}

wr_status wr_lockstep_open(wr_bicgstab *s, int count, const wr_lockstep_options *options, wr_lockstep **out) {
  *out = NULL;
  wr_status status = wr_comm_agree(s->system->comm, allocate(s, count, options, out));
  if (status == WR_OK) return WR_OK;
  wr_lockstep_close(*out);
  *out = NULL;
  return status;
}

void wr_lockstep_close(wr_lockstep *l) {
  if (l == NULL) return;
  for (int k = 0; k < ARRAYS; k++) l->s->env->ops->release(l->s->env, &l->v[k]);
  wr_vec *const others[] = {&l->bank, &l->one, &l->inverse_one, &l->weights};
  for (int k = 0; k < 4; k++) l->s->env->ops->release(l->s->env, others[k]);
  wr_free(l);
}

void wr_lockstep_column_free(wr_env *env, wr_lockstep_column *column) {
  env->ops->release(env, &column->d);
  wr_history_free(&column->history);
  *column = (wr_lockstep_column){0};
}

/* *unit := what 1 in the units of the system's b is in those of l->weights, which hold for the first column. Another right-hand
 * side has weights that differ by one power of two, unless some were cut off: then *is_alone := 1. */
static wr_status find_unit(wr_lockstep *l, double *unit, int *is_alone) {
  const wr_system *system = l->s->system;
  *unit = 1, *is_alone = 0;
  if (l->weight == NULL) return WR_OK;
  if (l->used == 0) {
    l->rhs_exponent = system->rhs_exponent, l->weights_are_cut = system->weights_are_cut;
    return wr_method_copy(l->s, &l->weights, &l->s->weight);
  }
  *is_alone = l->weights_are_cut && system->rhs_exponent != l->rhs_exponent;
  *unit = ldexp(1, system->rhs_exponent - l->rhs_exponent);
  return WR_OK;
}

wr_status wr_lockstep_add(wr_lockstep *l, double norm, wr_lockstep_column *column) {
  wr_bicgstab *s = l->s;
  const wr_bicgstab_options *o = l->o.solve;
  const wr_system *system = s->system;
  double bound = fmax(o->tolerance * system->norm_b, system->absolute), unit;
  *column = (wr_lockstep_column){.end = WR_LOCKSTEP_ALONE, .review = INFINITY};
  int is_trusted = wr_bicgstab_trusts_guess(s, norm, bound), is_alone;
  if (!(system->norm_b > 0) || !isfinite(norm) || norm <= bound || !is_trusted || o->iterations < 1) return WR_OK;
  PASS(find_unit(l, &unit, &is_alone));
  if (is_alone) return WR_OK;
  norm *= unit, bound *= unit;
  column->norm_b = unit * system->norm_b, column->bound = bound, column->first = norm;
  if (l->o.goes_on && o->first_review > 0) column->review = (double)o->first_review;
  column->end = WR_LOCKSTEP_GOING;
  wr_solve_scalars c = wr_method_scalars(s, norm, bound, l->o.may_change, l->every);
  c.last = wr_method_share(s->method, l->o.may_change, l->o.may_change_precond, (double)o->iterations);
  memcpy(l->scalars + l->used * STRIDE, &c, sizeof c);
  PASS(s->env->ops->copy_column(s->env, &s->t, 1, 0, &l->v[R], l->ld, l->used));
  l->at[l->used++] = column;
  return WR_OK;
}

/* ---- Operations ---- */

#define CG(member) WR_SCALAR_INDEX(wr_cg_scalars, member)
#define BICGSTAB(member) WR_SCALAR_INDEX(wr_bicgstab_scalars, member)

static wr_status run_fused(wr_lockstep *l, wr_fused_many f) {
  f.columns = l->used, f.ld = l->ld, f.bank = &l->bank, f.stride = STRIDE;
  return l->s->env->ops->fused_many(l->s->env, &f);
}

/* With the sums behind it. A device multiplies the columns behind the last one, too, which are 0: its kernels take whole rows,
 * and can then take the sums in their pass. */
static wr_status multiply(wr_lockstep *l, int x, int y, wr_fused_many sums) {
  int columns = l->s->env->place == WR_CUDA ? l->ld : l->used;
  sums.columns = l->used, sums.ld = l->ld, sums.bank = &l->bank, sums.stride = STRIDE;
  return wr_plan_apply_many(
      l->s->plan,
      &(wr_apply_many){
          .columns = columns, .alpha = 1, .x = &l->v[x], .y = &l->v[y], .ldx = l->ld, .ldy = l->ld, .sums = &sums});
}

/* Columns of `to` := M^-1 of those of `from`, by factors: all at once where they can. */
static wr_status precondition(wr_lockstep *l, int from, int to) {
  const wr_vecops *ops = l->s->env->ops;
  int done;
  if (l->factors == NULL) return WR_OK;
  PASS(wr_precond_apply_many(l->factors, l->ld, &l->v[from], &l->v[to], &done));
  for (int c = 0; c < l->used && !done; c++) {
    if (l->at[c] == NULL) continue;
    PASS(ops->copy_column(l->s->env, &l->v[from], l->ld, c, &l->one, 1, 0));
    PASS(wr_precond_apply(l->factors, &(wr_precond_request){.r = &l->one, .z = &l->inverse_one}));
    PASS(ops->copy_column(l->s->env, &l->inverse_one, 1, 0, &l->v[to], l->ld, c));
  }
  return WR_OK;
}

/* The square of the norm of r in the rows as given, where those of the system are scaled. */
static wr_fused_many weighing(const wr_lockstep *l, int into) {
  const wr_vec *r = &l->v[R];
  return (wr_fused_many){.in = {r}, .times = l->weight, .sum = {{r, r, 2, into}}};
}

/* One iteration of conjugate gradients; d is completed by the next one, or by `complete`. A is the matrix; all else are k
 * vectors of n, but for M^-1, which is one:
 *
 *   operation                         reads      writes
 *   d += alpha p, p = M^-1 r + beta p r p d M^-1 p d
 *   q = A p                           A p        q
 *   (p, q)                            p q
 *   r -= alpha q, one or two sums     r q M^-1   r
 *
 * These are 10 k vectors besides the multiply, and 2 k more of the multiply. With factors z = M^-1 r has an array of its own,
 * and (r, z) is a pass; so is the norm of r where rows have weights. */
static wr_status step_cg(wr_lockstep *l) {
  const wr_vec *r = &l->v[R], *p = &l->v[P], *q = &l->v[Q], *z = l->factors ? &l->v[INVERSE_P] : r;
  wr_fused_many find_p = {.in = {z, p, &l->v[D]},
                          .out = {&l->v[D], &l->v[P]},
                          .c = {{{0}, {1, CG(alpha)}, {1, 0}}, {{1, 0}, {1, CG(beta)}}},
                          .times = l->inverse, .times_first = l->inverse != NULL};
  wr_fused_many curvature = {.in = {p, q}, .sum = {{p, q, 0, CG(pq)}}, .step = &wr_step_cg_after_product};
  wr_fused_many update = {.in = {r, q},
                          .out = {&l->v[R]},
                          .c = {{{1, 0}, {-1, CG(alpha)}}},
                          .times = l->inverse,
                          .sum = {{r, r, 0, CG(solve.rr)}, {l->inverse ? r : NULL, r, 1, CG(rz_next)}}};
  wr_fused_many product = {.in = {r, z}, .sum = {{r, z, 0, CG(rz_next)}}};
  wr_fused_many weighted = weighing(l, CG(solve.weighted_rr));
  wr_fused_many *last = l->weight ? &weighted : l->factors ? &product : &update;
  last->step = &wr_step_cg_after_update;
  PASS(run_fused(l, find_p));
  PASS(multiply(l, P, Q, curvature));
  PASS(run_fused(l, update));
  PASS(precondition(l, R, INVERSE_P));
  if (l->factors) PASS(run_fused(l, product));
  return l->weight ? run_fused(l, weighted) : WR_OK;
}

/* One iteration of BiCGSTAB, s overwriting r:
 *
 *   operation                         reads        writes
 *   p = r + beta (p - omega v)        r p v        p        and M^-1 p
 *   v = A M^-1 p                      A p          v
 *   (shadow, v), (v, v)               shadow v
 *   s = r - alpha v, (s, s)           r v          s        and M^-1 s
 *   t = A M^-1 s                      A s          t
 *   (t, s), (t, t)                    t s
 *   d += ..., r = ..., with two sums  d p s t shadow  d r   and s besides M^-1 s
 *
 * These are 18 k vectors besides the multiplies, 21 k and two with M, and 4 k more of the multiplies; where a multiply takes
 * the sums behind it in its pass, 2 k fewer. Where rows have weights, the norm of r is a pass, and that of s is taken with s.
 */
static wr_status step_bicgstab(wr_lockstep *l) {
  wr_vec *v = l->v, *scaled_p = l->inverse ? &v[INVERSE_P] : NULL, *scaled_s = l->inverse ? &v[INVERSE_S] : NULL;
  int has_m = l->inverse || l->factors, x = has_m ? INVERSE_P : P, z = has_m ? INVERSE_S : R;
  wr_fused_many find_p = {.in = {&v[R], &v[P], &v[Q]},
                          .out = {&v[P]}, .scaled = scaled_p, .times = l->inverse,
                          .c = {{{1, 0}, {1, BICGSTAB(beta)}, {-1, BICGSTAB(beta_omega)}}}};
  wr_fused_many after_v = {.in = {&v[SHADOW], &v[Q]},
                           .sum = {{&v[SHADOW], &v[Q], 0, BICGSTAB(sigma)}, {&v[Q], &v[Q], 0, BICGSTAB(vv)}},
                           .step = &wr_step_bicgstab_after_first_product};
  wr_fused_many find_s = {.in = {&v[R], &v[Q]},
                          .out = {&v[R]}, .scaled = scaled_s, .times = l->inverse,
                          .c = {{{1, 0}, {-1, BICGSTAB(alpha)}}},
                          .sum = {{&v[R], &v[R], 0, BICGSTAB(ss)}}};
  wr_fused_many after_t = {.in = {&v[T], &v[R]},
                           .sum = {{&v[T], &v[R], 0, BICGSTAB(ts)}, {&v[T], &v[T], 0, BICGSTAB(tt)}},
                           .step = &wr_step_bicgstab_after_second_product};
  wr_fused_many weighted_s = weighing(l, BICGSTAB(weighted_ss)), weighted_r = weighing(l, BICGSTAB(solve.weighted_rr));
  if (l->weight && !l->inverse) find_s.times = l->weight, find_s.sum[1] = weighted_s.sum[0];
  wr_fused_many update = {.in = {&v[D], &v[x], &v[R], &v[T], &v[SHADOW], has_m ? &v[INVERSE_S] : NULL},
                          .out = {&v[D], &v[R]},
                          .c = {{{1, 0}, {1, BICGSTAB(alpha)}},
                                {[2] = {1, 0}, [3] = {-1, BICGSTAB(omega)}}},
                          .sum = {{&v[R], &v[R], 0, BICGSTAB(solve.rr)}, {&v[R], &v[SHADOW], 0, BICGSTAB(rho_next)}}};
  update.c[0][has_m ? 5 : 2] = (wr_many_coefficient){1, BICGSTAB(omega)};
  *(l->weight ? &weighted_r.step : &update.step) = &wr_step_bicgstab_after_update;
  PASS(run_fused(l, find_p));
  PASS(precondition(l, P, INVERSE_P));
  PASS(multiply(l, x, Q, after_v));
  PASS(run_fused(l, find_s));
  if (l->weight && l->inverse) PASS(run_fused(l, weighted_s));
  PASS(precondition(l, R, INVERSE_S));
  PASS(multiply(l, z, T, after_t));
  PASS(run_fused(l, update));
  return l->weight ? run_fused(l, weighted_r) : WR_OK;
}

/* ---- Starting ---- */

/* The sums of a first residual: (r, r), and for conjugate gradients with M (r, M^-1 r); BiCGSTAB's shadow is r. Then all
 * scalars are there. */
static wr_status begin(wr_lockstep *l) {
  wr_vecops const *ops = l->s->env->ops;
  const wr_vec *r = &l->v[R];
  double unit = wr_type_unit(l->s->env->type);
  wr_fused_many sums = {.in = {r}, .times = l->inverse,
                        .sum = {{r, r, 0, CG(rz)}, {l->inverse ? r : NULL, r, 1, CG(rz_next)}}};
  wr_fused_many shadow = {.in = {r}, .out = {&l->v[SHADOW]}, .c = {{{1, 0}}},
                          .sum = {{r, r, 0, BICGSTAB(rho)}}};
  PASS(ops->upload(l->s->env, &l->bank, l->scalars));
  PASS(run_fused(l, l->is_cg ? sums : shadow));
  if (l->is_cg && l->factors) {
    const wr_vec *z = &l->v[INVERSE_P];
    PASS(precondition(l, R, INVERSE_P));
    PASS(run_fused(l, (wr_fused_many){.in = {r, z}, .sum = {{r, z, 0, CG(rz_next)}}}));
  }
  PASS(ops->download(l->s->env, &l->bank, l->scalars));
  for (int c = 0; c < l->used; c++) {
    wr_cg_scalars *cg = (wr_cg_scalars *)(l->scalars + c * STRIDE);
    wr_bicgstab_scalars *b = (wr_bicgstab_scalars *)(l->scalars + c * STRIDE);
    cg->solve.rr = l->is_cg ? cg->rz : b->rho;
    if (l->is_cg) {
      cg->is_preconditioned = l->inverse || l->factors;
      if (cg->is_preconditioned) cg->rz = cg->rz_next;
      if (!(cg->rz > 0)) cg->solve.breakdown = WR_CG_PRECONDITIONER;
    } else {
      b->noise = unit * unit * b->rho, b->least_cos2 = 64 * unit * unit;
    }
  }
  return ops->upload(l->s->env, &l->bank, l->scalars);
}

/* ---- Checks ---- */

static wr_solve_scalars *scalars_of(wr_lockstep *l, int c) { return (wr_solve_scalars *)(l->scalars + c * STRIDE); }

/* How a column is to end after a check. over: the monitor ends the work. An iterate no better than the guess is left. */
static wr_lockstep_end find_end(const wr_lockstep *l, const wr_solve_scalars *a, wr_lockstep_column *at, int over) {
  double square = wr_solve_measure(a);
  if (a->done != 0) return wr_solve_is_enough(a, square) ? WR_LOCKSTEP_MET : WR_LOCKSTEP_ALONE;
  if (a->stalled != 0) return WR_LOCKSTEP_ALONE;
  if (over || !(a->rounds < a->last)) return square <= at->first * at->first ? WR_LOCKSTEP_MET : WR_LOCKSTEP_ALONE;
  double multiplies = a->rounds * (l->is_cg ? 1 : 2);
  if (multiplies < at->review) return WR_LOCKSTEP_GOING;
  wr_bicgstab_review review = {.multiplies = (int64_t)multiplies, .first = at->first,
                               .least = sqrt(fmin(a->gain_rr, square)), .target = at->bound, .next = -1};
  if (!l->o.goes_on(l->o.context, &review)) return WR_LOCKSTEP_ALONE;
  at->review = review.next >= 0 ? multiplies + fmax(1, (double)review.next) : INFINITY;
  return WR_LOCKSTEP_GOING;
}

/* d += alpha p is still to be done by conjugate gradients: for all columns, whether they end now or not. */
static wr_status complete(wr_lockstep *l) {
  wr_fused_many add = {.in = {&l->v[D], &l->v[P]}, .out = {&l->v[D]}, .c = {{{1, 0}, {1, CG(alpha)}}}};
  if (!l->is_cg) return WR_OK;
  PASS(run_fused(l, add));
  for (int c = 0; c < l->used; c++) ((wr_cg_scalars *)scalars_of(l, c))->alpha = 0;
  return WR_OK;
}

static wr_status end_column(wr_lockstep *l, int c, wr_lockstep_end end) {
  wr_env *env = l->s->env;
  wr_lockstep_column *at = l->at[c];
  at->end = end;
  l->at[c] = NULL;
  scalars_of(l, c)->done = 1; /* it stays as it is */
  if (end == WR_LOCKSTEP_ALONE) return WR_OK;
  PASS(env->ops->alloc(env, l->s->system->n, env->type, "a right-hand side", &at->d));
  return env->ops->copy_column(env, &l->v[D], l->ld, c, &at->d, 1, 0);
}

/* Gives the columns that are left narrower arrays where they fit, if these need no more memory. The sums of a column then have
 * the same bits on the host, but not on a device. */
static wr_status narrow(wr_lockstep *l) {
  wr_env *env = l->s->env;
  int left = 0, place[WR_MAX_COLUMNS], ld;
  for (int c = 0; c < l->used; c++)
    if (l->at[c]) place[left++] = c;
  ld = width_for(left);
  if (left == 0 || ld == l->ld || (env->place == WR_CUDA && env->deterministic)) return WR_OK;
  for (int k = 0; k < ARRAYS; k++) {
    wr_vec narrow;
    if (!is_used(l, k)) continue;
    PASS(env->ops->alloc(env, l->s->system->n * ld, env->type, "several right-hand sides", &narrow));
    wr_status status = WR_OK;
    for (int c = 0; c < left && status == WR_OK; c++)
      status = env->ops->copy_column(env, &l->v[k], l->ld, place[c], &narrow, ld, c);
    env->ops->release(env, &l->v[k]);
    l->v[k] = narrow;
    PASS(status);
  }
  for (int c = 0; c < left; c++) {
    memmove(scalars_of(l, c), scalars_of(l, place[c]), STRIDE * sizeof(double));
    l->at[c] = l->at[place[c]];
  }
  l->ld = ld, l->used = left;
  return WR_OK;
}

/* What follows a check at which a column has ended. */
static wr_status end_columns(wr_lockstep *l, const wr_lockstep_end *ends) {
  PASS(complete(l));
  for (int c = 0; c < l->used; c++)
    if (ends[c] != WR_LOCKSTEP_GOING) PASS(end_column(l, c, ends[c]));
  PASS(narrow(l));
  return l->s->env->ops->upload(l->s->env, &l->bank, l->scalars);
}

/* Ends the columns that are done, or all of them, and tells the monitor how far they are. *left: columns that go on. */
static wr_status check(wr_lockstep *l, const wr_monitor *monitor, int *left) {
  wr_lockstep_end ends[WR_MAX_COLUMNS] = {0};
  int ended = 0, over = wr_monitor_ends(monitor) != 0;
  double worst = 0, target = 0;
  int64_t iterations = 0;
  PASS(l->s->env->ops->download(l->s->env, &l->bank, l->scalars));
  *left = 0;
  for (int c = 0; c < l->used; c++) {
    const wr_solve_scalars *a = scalars_of(l, c);
    wr_lockstep_column *at = l->at[c];
    if (at == NULL) continue;
    double measure = sqrt(wr_solve_measure(a)) / at->norm_b;
    at->iterations = iterations = (int64_t)a->steps, at->multiplies = (int64_t)a->rounds * (l->is_cg ? 1 : 2);
    if (l->o.keeps_history) PASS(wr_history_add(&at->history, iterations, measure));
    if (measure > worst) worst = measure, target = at->bound / at->norm_b;
    ends[c] = find_end(l, a, at, over);
    ended += ends[c] != WR_LOCKSTEP_GOING, *left += ends[c] == WR_LOCKSTEP_GOING;
  }
  wr_monitor_show(monitor, iterations, worst, target);
  return ended == 0 ? WR_OK : wr_comm_agree(l->s->system->comm, end_columns(l, ends));
}

wr_status wr_lockstep_run(wr_lockstep *l, const wr_monitor *monitor) {
  wr_status status = WR_OK;
  int left = l->used, paused = wr_plan_time_pause(l->s->plan, 1); /* its times are of multiplies of one column */
  if (left > 0) TRY(begin(l));
  while (left > 0) {
    double rounds = scalars_of(l, 0)->rounds, last = scalars_of(l, 0)->last;
    for (int64_t k = 0; k < l->every && (k == 0 || rounds + (double)k < last); k++)
      TRY(l->is_cg ? step_cg(l) : step_bicgstab(l));
    TRY(check(l, monitor, &left));
  }
done:
  wr_plan_time_pause(l->s->plan, paused);
  return status;
}
