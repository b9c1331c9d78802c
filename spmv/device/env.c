/* Opening and closing an env; ids of vectors; the checks of arguments that both tables of vector operations use. */
#include <stdatomic.h>
#include <string.h>

#include "config/hash.h"
#include "spmv/device/env.h"
#include "spmv/device/vec_argument.h"
#include "spmv/parts/part_ops.h"

wr_status wr_env_check_open(const wr_env *env, const char *name, const char *function) {
  if (env == NULL) return wr_refuse(function, "%s is NULL", name);
  if (env->ops == NULL) return wr_refuse(function, "%s is not open (wr_env_open)", name);
  return WR_OK;
}

wr_status wr_env_open(wr_env *env) {
  WR_NEED(env);
  WR_REFUSE_IF((unsigned)env->place > WR_CUDA, "env->place is %d", (int)env->place);
  WR_REFUSE_IF((unsigned)env->type > WR_F64, "env->type is %d", (int)env->type);
  WR_REFUSE_IF(env->threads < 0, "env->threads is %d", env->threads);
  const wr_vecops *ops = env->place == WR_CUDA ? &wr_vecops_cuda : &wr_vecops_host;
  env->ops = NULL;
  wr_status status = ops->open(env);
  if (status != WR_OK) return status;
  env->ops = ops;
  if (env->comm) status = wr_part_ops_open(env, ops);
  if (status != WR_OK) ops->close(env), env->ops = NULL;
  return status;
}

void wr_env_close(wr_env *env) {
  if (env == NULL || env->ops == NULL) return;
  env->ops->close(env);
  if (env->comm) wr_part_ops_close(env);
  env->ops = NULL;
}

wr_status wr_env_with_type(const wr_env *env, wr_type type, wr_env *other) {
  WR_NEED(other);
  *other = (wr_env){0};
  WR_NEED_OPEN(env);
  WR_REFUSE_IF((unsigned)type > WR_F64, "type is %d", (int)type);
  *other = *env;
  other->type = type;
  return WR_OK;
}

uint64_t wr_vec_new_id(void) {
  static _Atomic uint64_t last; /* one counter a process makes ids unique in it */
  return atomic_fetch_add(&last, 1) + 1;
}

/* All vectors must have the length and type of the first one given. */
static wr_status check_vec(const wr_env *env, const wr_vec *v, const wr_vec **first, const char *role) {
  if (v == NULL) return WR_OK;
  if (v->id == 0 || v->data == NULL) return wr_fail(WR_EUSAGE, "fused operation: %s is not allocated", role);
  if (v->place != env->place) return wr_fail(WR_EUSAGE, "fused operation: %s is at another place", role);
  if (v->reciprocal_bytes) return wr_fail(WR_EUSAGE, "fused operation: %s is a compact vector", role);
  if (*first == NULL) *first = v;
  if (v->n != (*first)->n || v->type != (*first)->type)
    return wr_fail(WR_EUSAGE, "fused operation: %s has %lld elements of %d bytes where others have %lld of %d", role,
                   (long long)v->n, (int)wr_type_bytes(v->type), (long long)(*first)->n,
                   (int)wr_type_bytes((*first)->type));
  return WR_OK;
}

static wr_status check_scalar(const wr_env *env, const wr_fused *f, wr_scalar s) {
  if (s.bank == NULL) return WR_OK;
  if (s.bank->place != env->place || s.bank->type != WR_F64 || s.index < 0 || s.index >= s.bank->n)
    return wr_fail(WR_EUSAGE, "scalar %d is not in a bank of f64 at this place (which has %lld)", s.index,
                   (long long)s.bank->n);
  for (int o = 0; o < WR_MAX_OUTPUTS; o++)
    if (s.bank == f->out[o]) return wr_fail(WR_EUSAGE, "fused operation: a bank of scalars is also an output");
  return WR_OK;
}

static int is_among(const wr_fused *f, const wr_vec *v) {
  int found = v == f->times;
  for (int k = 0; k < WR_MAX_INPUTS; k++) found |= v == f->in[k];
  for (int o = 0; o < WR_MAX_OUTPUTS; o++) found |= v == f->out[o];
  return v != NULL && found;
}

static wr_status check_reduction(const wr_env *env, const wr_fused *f, const wr_reduction *r) {
  if (r->kind == WR_NO_REDUCTION) return WR_OK;
  if ((unsigned)r->kind > WR_DOT_HASH)
    return wr_fail(WR_EUSAGE, "fused operation: %d is no kind of reduction", r->kind);
  if (!is_among(f, r->of) || (wr_reduction_reads_z(r->kind) && !is_among(f, r->z)))
    return wr_fail(WR_EUSAGE, "fused operation: a reduction's vector is neither input nor output");
  if (r->into.bank == NULL) return wr_fail(WR_EUSAGE, "fused operation: a reduction has no bank for its result");
  return check_scalar(env, f, r->into);
}

/* Output o: a vector of its own, behind another one unless it is the first, and each of its terms has a vector. */
static wr_status check_output(const wr_env *env, const wr_fused *f, int o) {
  for (int q = 0; q < o && f->out[o]; q++)
    if (f->out[q] == NULL || f->out[q] == f->out[o])
      return wr_fail(WR_EUSAGE, "fused operation: outputs must be different vectors without a gap");
  for (int k = 0; k < WR_FUSED_TERMS; k++) {
    if (f->c[o][k].factor == 0) continue;
    PASS(check_scalar(env, f, f->c[o][k].scalar));
    int present = k < WR_MAX_INPUTS ? f->in[k] != NULL : k - WR_MAX_INPUTS < o;
    if (f->out[o] && !present) return wr_fail(WR_EUSAGE, "fused operation: coefficient %d has no vector", k);
  }
  return WR_OK;
}

wr_status wr_fused_check(const wr_env *env, const wr_fused *f) {
  const wr_vec *first = NULL;
  int hashed = 0;
  WR_NEED_OPEN(env);
  WR_NEED(f);
  for (int k = 0; k < WR_MAX_INPUTS; k++) {
    PASS(check_vec(env, f->in[k], &first, "an input"));
    if (k > 0 && f->in[k] && !f->in[k - 1]) return wr_fail(WR_EUSAGE, "fused operation: inputs have a gap");
  }
  PASS(check_vec(env, f->times, &first, "times"));
  for (int o = 0; o < WR_MAX_OUTPUTS; o++) {
    PASS(check_vec(env, f->out[o], &first, "an output"));
    PASS(check_output(env, f, o));
  }
  for (int r = 0; r < WR_FUSED_REDUCTIONS; r++) {
    PASS(check_reduction(env, f, &f->reduce[r]));
    hashed += f->reduce[r].kind == WR_DOT_HASH;
  }
  if (hashed > WR_HASH_LANES)
    return wr_fail(WR_EUSAGE, "fused operation: %d sums with vectors of hashes; %d at most", hashed, WR_HASH_LANES);
  PASS(check_scalar(env, f, f->when));
  if (f->then.step) PASS(wr_step_check(env, &f->then));
  if (first == NULL) return wr_fail(WR_EUSAGE, "fused operation: no vector at all");
  return WR_OK;
}

wr_status wr_recast_check(const wr_env *env, const wr_recast *r) {
  WR_NEED_OPEN(env);
  WR_NEED(r);
  WR_REFUSE_IF(r->in[0] == NULL, "a recast needs in[0]");
  WR_REFUSE_IF(r->out == NULL && r->sum.bank == NULL, "a recast needs out, or a sum");
  const wr_vec *const vectors[] = {r->in[0], r->in[1], r->over, r->out}, *out = r->out;
  for (int k = 0; k < 4; k++) {
    const wr_vec *v = vectors[k];
    if (v == NULL) continue;
    if (v->id == 0 || v->data == NULL || v->place != env->place)
      return wr_fail(WR_EUSAGE, "recast: a vector is not allocated at this place");
    if (v->n != r->in[0]->n)
      return wr_fail(WR_EUSAGE, "recast: a vector has %lld elements and another one %lld", (long long)v->n,
                     (long long)r->in[0]->n);
    if (v->reciprocal_bytes && k != 2) return wr_fail(WR_EUSAGE, "recast: an input or the result is compact");
    if (out && k < 3 && v->data == out->data && (k == 2 || v->type != out->type))
      return wr_fail(WR_EUSAGE, "recast: the result is also an input of another type, or the divisor");
  }
  const wr_vec *bank = r->sum.bank;
  if (bank && (bank == out || bank->place != env->place || bank->type != WR_F64 || r->sum.index < 0 ||
               r->sum.index >= bank->n))
    return wr_fail(WR_EUSAGE, "recast: the sum is not in a bank of f64 at this place");
  return WR_OK;
}

wr_status wr_then_run(wr_env *env, const wr_then *then) {
  WR_NEED_OPEN(env);
  WR_NEED(then);
  int done = env->then_done;
  env->then_done = 0;
  return then->step == NULL || done ? WR_OK : env->ops->step(env, then);
}

wr_status wr_step_check(const wr_env *env, const wr_then *then) {
  WR_NEED_OPEN(env);
  WR_NEED(then);
  WR_REFUSE_IF(then->step == NULL, "then->step is NULL");
  const wr_vec *bank = then->bank, *log = then->log;
  int n = then->step->scalars;
  if (n < 1 || n > WR_MAX_SCALARS)
    return wr_fail(WR_EUSAGE, "the step %s has %d scalars; it may have 1 to %d", then->step->name, n, WR_MAX_SCALARS);
  if (bank == NULL || bank->place != env->place || bank->type != WR_F64 || bank->n < n)
    return wr_fail(WR_EUSAGE, "the step %s needs a bank of %d f64 at this place", then->step->name, n);
  if (log && (log == bank || log->place != env->place || log->type != WR_F64))
    return wr_fail(WR_EUSAGE, "the log of the step %s is no f64 vector of its own at this place", then->step->name);
  return WR_OK;
}
