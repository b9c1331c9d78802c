#include "solvers/krylov/method.h"

#include "config/defaults.h"
#include "config/memory.h"
#include "spmv/steps/bicgstabl_steps.h"
#include "spmv/steps/steps.h"

static const wr_method *const methods[] = {&wr_method_bicgstab, &wr_method_bicgstabl, &wr_method_idr, &wr_method_cg};

int wr_method_count(void) { return (int)(sizeof methods / sizeof *methods); }

const wr_method *wr_method_at(int index) { return index >= 0 && index < wr_method_count() ? methods[index] : NULL; }

const char *wr_method_name(const wr_method *method) { return method ? method->name : ""; }

wr_method_costs wr_method_costs_of(const wr_method *method, int l) {
  const wr_bicgstab plain = {.l = l ? l : WR_BICGSTAB_L};
  if (plain.l < 1 || plain.l > WR_MOST_L) return (wr_method_costs){0};
  if (method == NULL) method = &wr_method_bicgstab;
  wr_method_costs costs = method->costs(&plain);
  costs.stored = 6; /* b, r, t, x, d and the snapshot */
  for (int k = 0; k < WR_METHOD_VECTORS; k++) costs.stored += method->uses(&plain, k);
  return costs;
}

wr_status wr_method_place(wr_bicgstab *s) {
  for (int k = 0; k < WR_METHOD_VECTORS; k++)
    if (s->own[k].id == 0 && s->method->uses(s, k))
      PASS(s->env->ops->alloc(s->env, s->system->n, s->env->type, "a vector of the solver", &s->own[k]));
  return WR_OK;
}

wr_status wr_method_hash(wr_bicgstab *s, wr_vec *v, int64_t seed) {
  if (s->room == NULL) PASS(wr_alloc(&s->room, s->system->n, sizeof *s->room, "a shadow vector"));
  wr_hash_shadow(s->room, s->system->n, seed);
  return s->env->ops->upload(s->env, v, s->room);
}

wr_status wr_method_copy(wr_bicgstab *s, wr_vec *to, const wr_vec *from) {
  wr_fused f = {.in = {from}, .out = {to}, .c = {{{.factor = 1}}}};
  return s->env->ops->fused(s->env, &f);
}

void wr_method_add_term(wr_fused *f, int o, const wr_vec *v, double factor, wr_scalar scalar) {
  int k = 0;
  while (f->in[k] && f->in[k] != v) k++;
  f->in[k] = v;
  f->c[o][k] = (wr_coefficient){factor, scalar};
}

void wr_method_add_weighted(wr_bicgstab *s, wr_fused *f, const wr_vec *r, wr_scalar into) {
  int in = 0, reduction = 0;
  if (s->weight.id == 0) return;
  while (f->in[in]) in++;
  while (f->reduce[reduction].kind != WR_NO_REDUCTION) reduction++;
  f->in[in] = &s->weight;
  f->reduce[reduction] = (wr_reduction){WR_NRM2SQ_SCALED, r, &s->weight, into};
}

wr_status wr_method_precondition(wr_bicgstab *s, const wr_vec *from, int to, const wr_vec **result) {
  *result = s->precond ? &s->own[to] : from;
  return s->precond ? wr_precond_apply(s->precond, &(wr_precond_request){.r = from, .z = &s->own[to]}) : WR_OK;
}

/* to := x + d, the iterate, and its sum. */
static wr_fused collecting(wr_bicgstab *s, wr_vec *to) {
  return (wr_fused){.in = {&s->x, &s->d},
                    .out = {to},
                    .c = {{{.factor = 1}, {.factor = 1}}},
                    .reduce = {{WR_SUM, to, NULL, WR_SOLVE_SCALAR(s, sum_x)}}};
}

wr_status wr_method_settle_iterate(wr_bicgstab *s) {
  wr_fused collect = collecting(s, &s->x);
  PASS(s->env->ops->fused(s->env, &collect));
  return s->env->ops->fill(s->env, &s->d, 0);
}

/* The iterate is first computed in t, which is not in use between iterations. */
wr_status wr_method_snapshot(wr_bicgstab *s) {
  wr_fused collect = collecting(s, &s->t);
  wr_fused keep = {.in = {&s->t}, .out = {&s->snapshot}, .c = {{{.factor = 1}}}, .when = WR_SOLVE_SCALAR(s, keep)};
  if (!s->loop->ends_period) return WR_OK;
  collect.when = WR_SOLVE_SCALAR(s, snap), collect.then = WR_THEN(solve_after_collect, &s->bank, NULL);
  PASS(s->env->ops->fused(s->env, &collect));
  return s->env->ops->fused(s->env, &keep);
}
