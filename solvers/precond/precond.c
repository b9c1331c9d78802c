#include "solvers/precond.h"

#include <string.h>

#include "config/closest.h"
#include "config/memory.h"
#include "spmv/device/vec_argument.h"
#include "spmv/matrix/csr_argument.h"

struct wr_precond {
  const wr_preconditioner *of;
  wr_env *env;
  int64_t n;
  uint64_t id;
  void *knobs;
  void *state; /* of->state_size, or the context of a function */
  int owns_state;
  wr_precond_info info;
  wr_preconditioner function; /* what `of` is, if it is a function of the caller's */
};

const wr_preconditioner wr_precond_none = {.name = "none", .summary = "no preconditioner", .source = "M = 1"};

static const wr_preconditioner *const all[] = {&wr_precond_none, &wr_precond_jacobi, &wr_precond_ilu0,
                                               &wr_precond_ilut};
enum { COUNT = sizeof all / sizeof *all };

int wr_preconditioner_count(void) { return COUNT; }

const wr_preconditioner *wr_preconditioner_at(int index) { return index >= 0 && index < COUNT ? all[index] : NULL; }

wr_status wr_preconditioner_find(const char *name, const wr_preconditioner **of) {
  const char *names[COUNT], *close;
  WR_NEED(name);
  WR_NEED(of);
  *of = NULL;
  for (int k = 0; k < COUNT; k++) {
    names[k] = all[k]->name;
    if (strcmp(name, names[k]) == 0) *of = all[k];
  }
  if (*of) return WR_OK;
  close = wr_closest(name, names, COUNT);
  return wr_fail(WR_EUSAGE, "there is no preconditioner '%.40s'%s%s%s", name, close ? " (did you mean '" : "",
                 close ? close : "", close ? "'?)" : "");
}

static wr_status allocate(const wr_preconditioner *of, int64_t n, wr_env *env, wr_precond **out) {
  wr_precond *p = NULL;
  PASS(wr_alloc_zeroed(&p, 1, sizeof *p, "a preconditioner"));
  p->of = of, p->env = env, p->n = n, p->id = wr_vec_new_id();
  p->info.apply_bytes = 2 * (double)(n * wr_type_bytes(env->type));
  *out = p;
  return WR_OK;
}

wr_status wr_precond_create(const wr_preconditioner *of, const char *knobs, wr_csr *A, wr_env *env,
                            wr_precond **precond) {
  wr_status status;
  wr_precond *p = NULL;
  WR_NEED(precond);
  *precond = NULL;
  WR_NEED(of);
  WR_NEED_OPEN(env);
  WR_NEED_OK(wr_csr_check_host(A, "A", __func__));
  WR_REFUSE_IF(of->name == NULL || (of->apply == NULL) != (of->prepare == NULL),
               "of lacks its name, or one of prepare and apply");
  if (A->halo == NULL && A->nrows != A->ncols)
    return wr_fail(WR_EUSAGE, "a preconditioner needs a square matrix, not %lld x %lld", (long long)A->nrows,
                   (long long)A->ncols);
  TRY(allocate(of, A->nrows, env, &p));
  TRY(wr_alloc_zeroed(&p->knobs, 1, of->knobs_size, "knobs"));
  TRY(wr_alloc_zeroed(&p->state, 1, of->state_size, "the state of a preconditioner"));
  p->owns_state = 1;
  TRY(wr_options_default(of->knobs, p->knobs));
  TRY(wr_knobs_parse(of->knobs, p->knobs, knobs, of->name));
  if (of->prepare) TRY(of->prepare(p->state, env, A, p->knobs, &p->info));
  TRY(env->ops->wait(env));
  *precond = p, p = NULL;
done:
  wr_precond_destroy(p);
  return status;
}

wr_status wr_precond_of_function(wr_precond_function *apply, void *context, int64_t n, wr_env *env,
                                 wr_precond **precond) {
  WR_NEED(precond);
  *precond = NULL;
  WR_REFUSE_IF(apply == NULL, "apply is NULL");
  WR_REFUSE_IF(n < 1, "n is %lld", (long long)n);
  WR_NEED_OPEN(env);
  PASS(allocate(NULL, n, env, precond));
  (*precond)->function = (wr_preconditioner){.name = "a function", .apply = apply};
  (*precond)->of = &(*precond)->function, (*precond)->state = context;
  return WR_OK;
}

static wr_status check_vector(const wr_precond *p, const wr_vec *v, const char *name) {
  const wr_env *env = p->env;
  if (v == NULL || v->n != p->n || v->place != env->place || v->type != env->type)
    return wr_fail(WR_EUSAGE, "preconditioner: %s is no vector of %lld %s at its place", name, (long long)p->n,
                   env->type == WR_F32 ? "f32" : "f64");
  return WR_OK;
}

wr_status wr_precond_scale(wr_env *env, const wr_vec *inverse, const wr_precond_request *request) {
  WR_NEED_OPEN(env);
  WR_NEED(request);
  wr_fused f = {
      .in = {request->r}, .times = inverse, .out = {request->z}, .c = {{{.factor = 1}}}, .then = request->then};
  for (int k = 0; k < WR_MAX_REDUCTIONS; k++) {
    f.reduce[k] = request->reduce[k];
    if (f.reduce[k].kind != WR_NO_REDUCTION && f.reduce[k].of == NULL) f.reduce[k].of = request->z;
  }
  return env->ops->fused(env, &f);
}

wr_status wr_precond_apply(wr_precond *p, const wr_precond_request *request) {
  WR_NEED(p);
  WR_NEED(request);
  WR_NEED_OK(check_vector(p, request->r, "r"));
  WR_NEED_OK(check_vector(p, request->z, "z"));
  if (request->r == request->z) return wr_fail(WR_EUSAGE, "preconditioner: r and z are one vector");
  for (int k = 0; k < WR_MAX_REDUCTIONS; k++)
    if (request->reduce[k].kind == WR_DOT_HASH)
      return wr_fail(WR_EUSAGE,
                     "preconditioner: reduction %d is with a vector of hashes, which only fused operations have", k);
  return p->of->apply ? p->of->apply(p->state, p->env, request) : wr_precond_scale(p->env, NULL, request);
}

wr_status wr_precond_apply_many(wr_precond *p, int ld, const wr_vec *r, wr_vec *z, int *done) {
  WR_NEED(p);
  WR_NEED(done);
  *done = 0;
  if (p->of->apply_many == NULL || ld < 2) return WR_OK;
  const wr_vec *const vectors[] = {r, z};
  for (int k = 0; k < 2; k++) {
    const wr_vec *v = vectors[k];
    WR_REFUSE_IF(v == NULL || v->place != p->env->place || v->type != p->env->type || v->n != p->n * ld,
                 "%s is no array of %lld rows of %d at its place", k ? "z" : "r", (long long)p->n, ld);
  }
  return p->of->apply_many(p->state, p->env, ld, r, z, done);
}

void wr_precond_destroy(wr_precond *p) {
  if (p == NULL) return;
  if (p->of->destroy && p->state) p->of->destroy(p->state, p->env);
  if (p->owns_state) wr_free(p->state);
  wr_free(p->knobs);
  wr_free(p);
}

const wr_precond_info *wr_precond_get_info(const wr_precond *p) { return p ? &p->info : NULL; }
int64_t wr_precond_size(const wr_precond *p) { return p ? p->n : 0; }
int wr_precond_is_diagonal(const wr_precond *p) { return p != NULL && p->of->diagonal != NULL; }
const wr_vec *wr_precond_inverse(const wr_precond *p) { return p && p->of->inverse ? p->of->inverse(p->state) : NULL; }
uint64_t wr_precond_id(const wr_precond *p) { return p ? p->id : 0; }
