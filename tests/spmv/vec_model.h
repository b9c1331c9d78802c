/* What the tests of vector operations share: vectors with random contents, and plain models in long double that an
 * operation's results are compared with, within the bound of its rounding errors. */
#ifndef WR_VEC_MODEL_H
#define WR_VEC_MODEL_H

#include <stdint.h>
#include <stdlib.h>

#include "config/hash.h"
#include "spmv/spmv.h"
#include "tests/check.h"

enum { BANK = 16, FIELD = 15, MOST_VECTORS = FIELD + 3 };

static uint64_t random_state = 88172645463325252u;

/* In [-1, 1), with all 53 bits in use. */
static inline double random_value(void) {
  random_state ^= random_state << 13, random_state ^= random_state >> 7, random_state ^= random_state << 17;
  return (double)(random_state >> 11) * 0x1p-52 - 1;
}

static inline int random_below(int n) { return (int)((random_value() + 1) / 2 * n) % n; }

static inline double *host_array(int64_t n) {
  double *values = malloc((size_t)n * sizeof *values);
  if (values == NULL) abort(); /* out of memory */
  return values;
}

static inline double as_stored(wr_type type, double value) { return type == WR_F32 ? (double)(float)value : value; }

static inline wr_vec new_vec(wr_env *env, int64_t n, wr_type type) {
  wr_vec v;
  CHECK_OK(env->ops->alloc(env, n, type, "a test", &v));
  return v;
}

static inline double *contents(wr_env *env, const wr_vec *v) {
  double *values = host_array(v->n);
  CHECK_OK(env->ops->download(env, v, values));
  return values;
}

/* Every third element is 0 if `holes`, as masks and scales have them. */
static inline wr_vec random_vec(wr_env *env, int64_t n, wr_type type, int holes) {
  wr_vec v = new_vec(env, n, type);
  double *values = host_array(n);
  for (int64_t i = 0; i < n; i++) values[i] = holes && i % 3 == 1 ? 0 : random_value();
  CHECK_OK(env->ops->upload(env, &v, values));
  free(values);
  return v;
}

static inline wr_vec constant_vec(wr_env *env, int64_t n, wr_type type, double value) {
  wr_vec v = new_vec(env, n, type);
  CHECK_OK(env->ops->fill(env, &v, value));
  return v;
}

/* ---- The model of a fused operation ---- */

/* Everything that an operation names, as it was before and is after. */
typedef struct picture {
  const wr_vec *vec[MOST_VECTORS];
  double *before[MOST_VECTORS], *after[MOST_VECTORS];
  uint64_t writes[MOST_VECTORS];
  int count;
} picture;

static inline int find(const picture *p, const wr_vec *v) {
  for (int k = 0; k < p->count; k++)
    if (p->vec[k] == v) return k;
  return -1;
}

static inline void add_vec(picture *p, wr_env *env, const wr_vec *v) {
  if (v == NULL || find(p, v) >= 0) return;
  p->vec[p->count] = v;
  p->writes[p->count] = v->writes;
  p->before[p->count] = contents(env, v);
  p->after[p->count++] = NULL;
}

static inline void look_again(picture *p, wr_env *env) {
  for (int k = 0; k < p->count; k++) p->after[k] = contents(env, p->vec[k]);
}

static inline void forget(picture *p) {
  for (int k = 0; k < p->count; k++) {
    free(p->before[k]);
    free(p->after[k]);
  }
  p->count = 0;
}

static inline double coefficient(const picture *p, const wr_coefficient *c) {
  return c->scalar.bank ? c->factor * p->before[find(p, c->scalar.bank)][c->scalar.index] : c->factor;
}

/* Output o, element i: the exact sum of what is read, and what its rounding errors are proportional to. */
static inline long double model_output(const picture *p, const wr_fused *f, int o, int64_t i, long double *size) {
  long double sum = 0;
  *size = 0;
  for (int k = 0; k < WR_MAX_INPUTS; k++) {
    if (f->c[o][k].factor == 0) continue;
    long double term = (long double)coefficient(p, &f->c[o][k]) * (long double)p->before[find(p, f->in[k])][i];
    if (k == 0 && f->times) term *= (long double)p->before[find(p, f->times)][i];
    sum += term, *size += fabsl(term);
  }
  for (int q = 0; q < o; q++) {
    const wr_coefficient *c = &f->c[o][WR_MAX_INPUTS + q];
    if (c->factor == 0) continue;
    long double term = (long double)coefficient(p, c) * (long double)p->after[find(p, f->out[q])][i];
    sum += term, *size += fabsl(term);
  }
  return sum;
}

static inline void check_output(const picture *p, const wr_fused *f, int o) {
  const wr_vec *out = f->out[o];
  int64_t bad = -1;
  for (int64_t i = 0; i < out->n && bad < 0; i++) {
    long double size, exact = model_output(p, f, o, i, &size), got = (long double)p->after[find(p, out)][i];
    long double bound = 1.001L * (wr_type_unit(out->type) * fabsl(exact) + (WR_FUSED_TERMS + 3) * 0x1p-53L * size);
    if (!(fabsl(got - exact) <= bound)) bad = i;
  }
  CHECKF(bad < 0, "output %d of %lld: element %lld is %.17g", o, (long long)out->n, (long long)bad,
         p->after[find(p, out)][bad < 0 ? 0 : bad]);
  CHECKF(out->writes > p->writes[find(p, out)], "output %d: %llu writes", o, (unsigned long long)out->writes);
}

static inline long double model_term(wr_reduction_kind kind, long double u, long double z) {
  switch (kind) {
    case WR_DOT:
    case WR_DOT_HASH: return u * z;
    case WR_NRM2SQ: return u * u;
    case WR_L1DIFF: return fabsl(u - z);
    case WR_SUM: return u;
    case WR_SUM_UNSCALED: return z == 0 ? u : 0;
    case WR_NRM2SQ_SCALED: return u * z * (u * z);
    case WR_L1DIFF_UNSCALED: /* of epilogues: check_epilogue_rows */
    case WR_NO_REDUCTION: break;
  }
  return 0;
}

/* u and z as they are after the operation. hash: of the vector that WR_DOT_HASH takes. The bound holds for any order of the
 * sum. */
static inline void check_reduction(const picture *p, const wr_reduction *r, const wr_vec *u, const wr_vec *z,
                                   uint64_t hash) {
  if (r->kind == WR_NO_REDUCTION) return;
  const double *u_values = p->after[find(p, u)];
  const double *z_values = wr_reduction_reads_z(r->kind) ? p->after[find(p, z)] : u_values;
  long double exact = 0, size = 0;
  for (int64_t i = 0; i < u->n; i++) {
    double second = r->kind == WR_DOT_HASH ? wr_hash_element(hash, i) : z_values[i];
    long double term = model_term(r->kind, (long double)u_values[i], (long double)second);
    exact += term, size += fabsl(term);
  }
  long double got = (long double)p->after[find(p, r->into.bank)][r->into.index];
  long double bound = 1.001L * (long double)(u->n + 2) * 0x1p-53L * size;
  CHECKF(fabsl(got - exact) <= bound, "reduction %d over %lld: %.17Lg, not %.17Lg +- %.3Lg", (int)r->kind,
         (long long)u->n, got, exact, bound);
  CHECK(r->into.bank->writes > p->writes[find(p, r->into.bank)]);
}

static inline int is_output(const wr_fused *f, const wr_vec *v) {
  int found = 0;
  for (int o = 0; o < WR_MAX_OUTPUTS; o++) found |= v == f->out[o];
  for (int r = 0; r < WR_FUSED_REDUCTIONS; r++)
    found |= f->reduce[r].kind != WR_NO_REDUCTION && f->reduce[r].into.bank == v;
  return found;
}

static inline picture take_picture(wr_env *env, const wr_fused *f) {
  picture p = {.count = 0};
  for (int k = 0; k < WR_MAX_INPUTS; k++) add_vec(&p, env, f->in[k]);
  add_vec(&p, env, f->times);
  for (int o = 0; o < WR_MAX_OUTPUTS; o++) {
    add_vec(&p, env, f->out[o]);
    for (int k = 0; k < WR_FUSED_TERMS; k++) add_vec(&p, env, f->c[o][k].scalar.bank);
  }
  for (int r = 0; r < WR_FUSED_REDUCTIONS; r++) add_vec(&p, env, f->reduce[r].into.bank);
  return p;
}

/* Runs the operation and compares all that it may and may not change. */
static inline void run_fused(wr_env *env, const wr_fused *f) {
  picture p = take_picture(env, f);
  CHECK_OK(env->ops->fused(env, f));
  look_again(&p, env);
  for (int o = 0; o < WR_MAX_OUTPUTS; o++)
    if (f->out[o]) check_output(&p, f, o);
  for (int r = 0, lane = 0; r < WR_FUSED_REDUCTIONS; r++) {
    check_reduction(&p, &f->reduce[r], f->reduce[r].of, f->reduce[r].z, WR_HASH_LANES * f->hashes + (uint64_t)lane);
    lane += f->reduce[r].kind == WR_DOT_HASH;
  }
  for (int k = 0; k < p.count; k++)
    if (!is_output(f, p.vec[k]))
      CHECKF(memcmp(p.before[k], p.after[k], (size_t)p.vec[k]->n * sizeof(double)) == 0, "vector %d has changed", k);
  forget(&p);
}

/* Vectors of one length and type, and a bank of scalars. */
typedef struct field {
  wr_vec v[FIELD], bank; /* v[5] has zeros */
  int count;             /* vectors that are allocated */
} field;

static inline field new_field_of(wr_env *env, int64_t n, wr_type type, int count) {
  field t = {.count = count};
  for (int k = 0; k < count; k++) t.v[k] = random_vec(env, n, type, k == 5);
  t.bank = random_vec(env, BANK, WR_F64, 0);
  return t;
}

static inline field new_field(wr_env *env, int64_t n, wr_type type) { return new_field_of(env, n, type, 6); }

static inline void free_field(wr_env *env, field *t) {
  for (int k = 0; k < t->count; k++) env->ops->release(env, &t->v[k]);
  env->ops->release(env, &t->bank);
}

static inline wr_coefficient times_scalar(double factor, wr_vec *bank, int index) {
  return (wr_coefficient){factor, {bank, index}};
}

/* ---- The model of an epilogue ---- */

/* The elements, and WR_L1DIFF_UNSCALED, whose u is known here alone. */
static inline void check_epilogue_rows(const picture *p, const wr_apply *a) {
  const wr_epilogue *e = a->epilogue;
  const double *y = p->before[find(p, a->y)], *new_y = p->after[find(p, a->y)];
  wr_type type = a->y->type;
  double shift = e->shift.bank ? p->before[find(p, e->shift.bank)][e->shift.index] : 0;
  double relaxation = e->relax_from ? p->before[find(p, e->relaxation.bank)][e->relaxation.index] : 1;
  long double change = 0, change_bound = 0;
  const wr_reduction *of_change = NULL;
  int64_t bad = 0;
  for (int r = 0; r < WR_MAX_REDUCTIONS; r++)
    if (e->reduce[r].kind == WR_L1DIFF_UNSCALED) of_change = &e->reduce[r];
  for (int64_t i = 0; i < a->y->n; i++) {
    double scale = e->scale ? p->before[find(p, e->scale)][i] : 1;
    double direction = e->shift_dir ? p->before[find(p, e->shift_dir)][i] : 1;
    long double term = e->adds_dir ? (long double)shift + direction : (long double)shift * direction;
    long double exact = (long double)y[i] + term,
                terms = e->adds_dir ? fabsl((long double)shift) + fabs(direction) : fabsl(term);
    long double size = fabsl((long double)y[i]) + terms, bound, divisor = scale != 0 ? (long double)scale : 1;
    if (e->scales_y) exact *= divisor, size *= fabsl(divisor);
    bound = 1.001L * (wr_type_unit(type) * fabsl(exact) + 4 * 0x1p-53L * size);
    if (of_change) {
      long double distance = fabsl(exact - (long double)p->before[find(p, of_change->z)][i]);
      change += distance / divisor;
      change_bound += (bound + 1.001L * (long double)(a->y->n + 5) * 0x1p-53L * (distance + bound)) / fabsl(divisor);
    }
    if (e->relax_from) {
      long double from = p->before[find(p, e->relax_from)][i];
      exact = from + (long double)relaxation * (exact - from);
      size = fabsl(from) + fabsl((long double)relaxation) * (size + fabsl(from));
      bound = 1.001L * (wr_type_unit(type) * fabsl(exact) + 8 * 0x1p-53L * size);
    }
    bad += !(fabsl((long double)new_y[i] - exact) <= bound);
    if (!e->scaled) continue;
    double product = scale * new_y[i];
    bad += p->after[find(p, e->scaled)][i] != as_stored(type, product);
  }
  CHECKF(bad == 0, "%lld of %lld rows are wrong", (long long)bad, (long long)a->y->n);
  if (!e->shift.bank && !e->scales_y && !e->relax_from) CHECK(memcmp(y, new_y, (size_t)a->y->n * sizeof *y) == 0);
  if (of_change) {
    long double got = (long double)p->after[find(p, of_change->into.bank)][of_change->into.index];
    CHECKF(fabsl(got - change) <= change_bound, "change over %lld: %.17Lg, not %.17Lg +- %.3Lg", (long long)a->y->n,
           got, change, change_bound);
  }
}

static inline void run_epilogue(wr_env *env, const wr_apply *a) {
  const wr_epilogue *e = a->epilogue;
  const wr_vec *const named[] = {a->y,      a->y_next,     e->shift_dir,          e->scale,
                                 e->scaled, e->shift.bank, e->reduce[0].into.bank, e->relax_from,
                                 e->relaxation.bank};
  picture p = {.count = 0};
  for (size_t k = 0; k < sizeof named / sizeof *named; k++) add_vec(&p, env, named[k]);
  for (int r = 0; r < WR_MAX_REDUCTIONS; r++) add_vec(&p, env, e->reduce[r].z);
  CHECK_OK(env->ops->epilogue(env, a));
  look_again(&p, env);
  check_epilogue_rows(&p, a);
  for (int r = 0; r < WR_MAX_REDUCTIONS; r++) {
    wr_reduction reduce = e->reduce[r];
    if (reduce.kind == WR_NO_REDUCTION || reduce.kind == WR_L1DIFF_UNSCALED) continue;
    const wr_vec *z = reduce.kind == WR_SUM_UNSCALED ? e->scale : reduce.z;
    reduce.into.bank->writes = p.writes[find(&p, reduce.into.bank)] + 1; /* the checked apply counts these */
    check_reduction(&p, &reduce, a->y, z, 0);
  }
  for (int k = 0; k < p.count; k++)
    if (p.vec[k] != a->y && p.vec[k] != e->scaled && p.vec[k] != e->reduce[0].into.bank)
      CHECK(memcmp(p.before[k], p.after[k], (size_t)p.vec[k]->n * sizeof(double)) == 0);
  forget(&p);
}

/* ---- The places ---- */

/* Opens a place and tests its table; skips a device that is not there, unless the tests were asked to need one. */
static inline void with_place(wr_env env, const char *name, void (*test)(wr_env *env)) {
  CASE(name);
  wr_status status = wr_env_open(&env);
  if (status != WR_OK && env.place == WR_CUDA && getenv("WR_NEED_GPU") == NULL) {
    CHECKF(status == WR_EUNAVAILABLE, "%s: %s", wr_status_name(status), wr_status_message());
    SKIP("%s", wr_status_message());
    return;
  }
  CHECKF(status == WR_OK, "%s", wr_status_message());
  if (status != WR_OK) return;
  CHECK(env.device_name[0] != 0);
  test(&env);
  wr_env_close(&env);
  wr_env_close(&env);
}

/* A test that every length goes through. */
static const int64_t lengths[] = {1, 2, 31, 32, 33, 1000, 1000007};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

#endif
