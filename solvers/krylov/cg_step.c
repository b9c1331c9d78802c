/* The conjugate gradient method (Hestenes and Stiefel 1952): one iteration as operations on vectors, which bicgstab.c repeats.
 * */
#include "solvers/krylov/method.h"
#include "spmv/steps/cg_steps.h"
#include "spmv/steps/steps.h"

/* Own vectors. P1 is used while `separate`. Q0 and Q1: A p of this and of the last iteration, which change places, so that each
 * is dead while the other is computed. */
enum { P0, P1, Q0, Q1, Z };

#define SCALAR(s, member) WR_METHOD_SCALAR(s, wr_cg_scalars, member)

static int uses(const wr_bicgstab *s, int index) {
  return index == P1 ? s->separate : index <= Q1 || (index == Z && s->precond);
}

/* The vector of p, for the iteration with the product Q0 + i. */
static wr_vec *direction_at(wr_bicgstab *s, int i) { return &s->own[s->separate ? P0 + i : P0]; }

/* z := M^-1 r with (z, r), then the step; without M z is r, and nothing is done. */
static wr_status precondition(wr_bicgstab *s, wr_then then) {
  wr_precond_request request = {
      .r = &s->r, .z = &s->own[Z], .reduce = {{WR_DOT, NULL, &s->r, SCALAR(s, rz_next)}}, .then = then};
  return s->precond ? wr_precond_apply(s->precond, &request) : WR_OK;
}

/* beta = 0, so that p becomes z. */
static wr_status begin(wr_bicgstab *s, const wr_solve_scalars *common, int seed) {
  const wr_vecops *ops = s->env->ops;
  union {
    wr_cg_scalars c;
    double bank[WR_MAX_SCALARS];
  } room = {.c = {.solve = *common, .is_preconditioned = s->precond != NULL}};
  wr_fused norm = {.in = {&s->r}, .reduce = {{WR_NRM2SQ, &s->r, NULL, SCALAR(s, rz)}}};
  (void)seed;
  PASS(ops->upload(s->env, &s->bank, room.bank));
  PASS(ops->fused(s->env, &norm));
  PASS(precondition(s, (wr_then){0}));
  PASS(ops->download(s->env, &s->bank, room.bank));
  if (s->precond) room.c.rz = room.c.rz_next;
  if (!(room.c.rz > 0)) room.c.solve.breakdown = WR_CG_PRECONDITIONER;
  return ops->upload(s->env, &s->bank, room.bank);
}

/* One iteration, with A p in Q0 + i. A is the matrix, and all else are vectors of n:
 *
 *   operation                          reads     writes
 *   p = z + beta p                     z p       p
 *   q = A p, with a sum                A p       q
 *   d += alpha p, r -= alpha q, a sum  d p r q   d r
 *   z = M^-1 r, with a sum             its own
 *
 * These are 11 vectors besides the multiply, without snapshots. */
static wr_status step(void *solver, int i) {
  wr_bicgstab *s = solver;
  wr_vec *p = direction_at(s, i), *q = &s->own[Q0 + i];
  wr_then then = WR_THEN(cg_after_update, &s->bank, &s->loop->log), none = {0};
  wr_epilogue curvature = {.reduce = {{WR_DOT, NULL, p, SCALAR(s, pq)}},
                           .then = WR_THEN(cg_after_product, &s->bank, NULL)};
  wr_fused find_p = {.in = {s->precond ? &s->own[Z] : &s->r, direction_at(s, 1 - i)},
                     .out = {p},
                     .c = {{{.factor = 1}, {1, SCALAR(s, beta)}}}};
  wr_fused update = {.in = {&s->d, p, &s->r, q},
                     .out = {&s->d, &s->r},
                     .c = {{{.factor = 1}, {1, SCALAR(s, alpha)}}, {[2] = {.factor = 1}, [3] = {-1, SCALAR(s, alpha)}}},
                     .reduce = {{WR_NRM2SQ, &s->r, NULL, WR_SOLVE_SCALAR(s, rr)}},
                     .then = s->precond ? none : then};
  wr_method_add_weighted(s, &update, &s->r, WR_SOLVE_SCALAR(s, weighted_rr));
  PASS(s->env->ops->fused(s->env, &find_p));
  PASS(wr_plan_apply(s->plan,
                     &(wr_apply){.alpha = 1, .x = p, .y = q, .y_next = &s->own[Q1 - i], .epilogue = &curvature}));
  PASS(s->env->ops->fused(s->env, &update));
  PASS(precondition(s, then));
  return wr_method_snapshot(s);
}

static void left(wr_bicgstab *s, int i, const wr_vec **vectors) {
  vectors[0] = direction_at(s, 1 - i);
  if (s->precond) vectors[1] = &s->own[Z];
}

static wr_method_costs costs(const wr_bicgstab *s) {
  return (wr_method_costs){.multiplies = 1, .moved = 11 + (s->weight.id != 0)};
}

static const char *const breakdowns[] = {
    [WR_CG_CURVATURE - 1] = "(p, A p) is not positive: the matrix is not positive definite",
    [WR_CG_PRECONDITIONER - 1] = "(r, M^-1 r) is not positive: the preconditioner is not positive definite",
};

const wr_method wr_method_cg = {
    .name = "cg",
    .summary = "conjugate gradients: one multiply an iteration, for symmetric positive definite matrices",
    .source = "Hestenes and Stiefel, J. Res. Natl. Bur. Stand. 49 (1952)",
    .scalars = WR_SCALAR_COUNT(wr_cg_scalars),
    .phases = 2,
    .next = &wr_method_bicgstab,
    .fits_or_not = 1,
    .breakdowns = breakdowns,
    WR_METHOD_FUNCTIONS,
};
