/* Vector operations on the host: a team of threads over blocks of a fixed size, so that the order of every sum depends on the
 * length alone. A block's result is accumulated term by term in f64 arrays that fit L1. */
#define _DEFAULT_SOURCE /* _SC_AVPHYS_PAGES */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "config/clock.h"
#include "config/hash.h"
#include "config/memory.h"
#include "config/text.h"
#include "config/wide.h"
#include "spmv/device/apply.h"
#include "spmv/device/columns.h"
#include "spmv/device/epilogue_host.h"
#include "spmv/device/fused_many.h"
#include "spmv/device/pieces.h"
#include "spmv/device/processors.h"
#include "spmv/device/team.h"
#include "spmv/device/vec_argument.h"
#include "spmv/steps/step_math.h"

enum { BLOCK = 1024, SERIAL_BELOW = 16 * BLOCK }; /* elements; shorter vectors are done by the calling thread */

typedef struct host_state {
  wr_team *team;
  double *partials; /* [capacity][WR_FUSED_REDUCTIONS], a row for each block, and WR_COLUMN_SUMS more */
  int64_t capacity;
  double stamps[WR_STAMPS]; /* seconds of the monotonic clock */
} host_state;

/* hashes[count] := the bits of the operation's hashed vectors from index `first` on, if it has any. */
static void find_hashes(const wr_fused *f, int64_t first, int64_t count, uint64_t *hashes) {
  const wr_reduction *any = f->reduce;
  while (any < f->reduce + WR_FUSED_REDUCTIONS && any->kind != WR_DOT_HASH) any++;
  if (any == f->reduce + WR_FUSED_REDUCTIONS) return;
  uint64_t key = wr_hash_key(WR_HASH_LANES * f->hashes);
  for (int64_t i = 0; i < count; i++) hashes[i] = wr_hash(key, (uint64_t)(first + i));
}

#define T float
#define NAME(x) x##_f32
#include "spmv/device/vec_host_type.h"
#undef T
#undef NAME
#define T double
#define NAME(x) x##_f64
#include "spmv/device/vec_host_type.h"
#undef T
#undef NAME

wr_team *wr_env_team(const wr_env *env) { return ((const host_state *)env->state)->team; }

static void close_host(wr_env *env) {
  host_state *state = env->state;
  wr_team_close(state->team);
  wr_free(state->partials);
  wr_free(state);
  env->state = NULL;
}

/* Sets device_name to the number of threads, and the least number that the team has used. */
static void describe(wr_env *env) {
  const wr_team *team = wr_env_team(env);
  int threads = wr_team_threads(team), least = wr_team_least_threads(team);
  int used = snprintf(env->device_name, sizeof env->device_name, "CPU, %d %s", threads,
                      wr_plural(threads, "thread", "threads"));
  if (least < threads)
    snprintf(env->device_name + used, sizeof env->device_name - (size_t)used,
             " (at times %d: other processes kept the rest from running)", least);
}

static wr_status open_host(wr_env *env) {
  wr_status status;
  host_state *state;
  TRY(wr_alloc_zeroed(&env->state, 1, sizeof(host_state), "the host's vector operations"));
  state = env->state;
  status = wr_team_open(env->threads > 0 ? env->threads : wr_default_threads(), !env->deterministic, &state->team);
  if (status != WR_OK)
    close_host(env);
  else
    describe(env);
done:
  return status;
}

static int64_t blocks_of(int64_t n) { return n / BLOCK + (n % BLOCK != 0); }

/* partials are reserved when a vector is allocated, so a longer vector of another env is refused. */
static wr_status check_length(const host_state *state, int64_t n) {
  if (blocks_of(n) <= state->capacity) return WR_OK;
  return wr_fail(WR_EUSAGE, "a vector of %lld elements was allocated by another environment", (long long)n);
}

/* work(context, b) for each block b of a vector of n elements. */
static void for_blocks(wr_env *env, int64_t n, void (*work)(void *context, int64_t block), void *context) {
  wr_team_for(n < SERIAL_BELOW ? NULL : wr_env_team(env), blocks_of(n), work, context);
}

static double *scalar_at(wr_scalar s) { return (double *)s.bank->data + s.index; }

/* Elements [block * BLOCK, end_of(n, block)) are a block's. */
static int64_t end_of(int64_t n, int64_t block) { return n - block * BLOCK < BLOCK ? n : (block + 1) * BLOCK; }

static void release(wr_env *env, wr_vec *v) {
  (void)env;
  if (v == NULL) return;
  wr_free(v->data);
  memset(v, 0, sizeof *v);
}

/* Partials for vectors of n elements. The old ones are freed only after the new ones are allocated, so a failure leaves
 * operations on shorter vectors usable. */
static wr_status reserve_partials(host_state *state, int64_t n) {
  double *partials = NULL;
  if (blocks_of(n) <= state->capacity) return WR_OK;
  PASS(wr_alloc(&partials, blocks_of(n) * WR_FUSED_REDUCTIONS + WR_COLUMN_SUMS, sizeof *partials, "partial sums"));
  wr_free(state->partials);
  state->partials = partials;
  state->capacity = blocks_of(n);
  return WR_OK;
}

/* The last block includes the padding. */
static void clear_block(void *vector, int64_t b) {
  const wr_vec *v = vector;
  size_t size = (size_t)wr_type_bytes(v->type), first = (size_t)b * BLOCK * size;
  size_t padded = ((size_t)v->n * size + WR_ALIGNMENT - 1) / WR_ALIGNMENT * WR_ALIGNMENT;
  size_t last = end_of(v->n, b) == v->n ? padded : first + BLOCK * size;
  memset((char *)v->data + first, 0, last - first);
}

/* Reserves partials, so that operations do not allocate. */
static wr_status alloc(wr_env *env, int64_t n, wr_type type, const char *what, wr_vec *v) {
  WR_NEED(v);
  memset(v, 0, sizeof *v);
  WR_NEED_OPEN(env);
  WR_NEED(what);
  WR_REFUSE_IF((unsigned)type > WR_F64, "type is %d", (int)type);
  if (n < 1)
    return wr_fail(WR_EUSAGE, "a vector of %lld %s for %s", (long long)n, wr_plural(n, "element", "elements"), what);
  PASS(reserve_partials(env->state, n));
  PASS(wr_alloc(&v->data, n, (size_t)wr_type_bytes(type), what));
  v->n = n, v->type = type, v->place = WR_HOST, v->id = wr_vec_new_id(), v->writes = 1;
  for_blocks(env, n, clear_block, v);
  return WR_OK;
}

static wr_status check_host_vec(const wr_vec *v) {
  if (v == NULL || v->id == 0 || v->place != WR_HOST)
    return wr_fail(WR_EUSAGE, "the vector is not allocated on the host");
  return WR_OK;
}

/* Arguments of a copy into a vector (from) or out of it (to). from NULL: all elements get `value`. */
typedef struct copying {
  const wr_vec *v;
  const double *from;
  double *to;
  double value;
} copying;

static void upload_block(void *context, int64_t b) {
  const copying *c = context;
  int64_t end = end_of(c->v->n, b);
  if (c->v->type == WR_F32)
    for (int64_t i = b * BLOCK; i < end; i++) ((float *)c->v->data)[i] = (float)(c->from ? c->from[i] : c->value);
  else
    for (int64_t i = b * BLOCK; i < end; i++) ((double *)c->v->data)[i] = c->from ? c->from[i] : c->value;
}

static void download_block(void *context, int64_t b) {
  const copying *c = context;
  int64_t end = end_of(c->v->n, b);
  if (c->v->type == WR_F32)
    for (int64_t i = b * BLOCK; i < end; i++) c->to[i] = (double)((const float *)c->v->data)[i];
  else
    for (int64_t i = b * BLOCK; i < end; i++) c->to[i] = ((const double *)c->v->data)[i];
}

static wr_status write_all(wr_env *env, wr_vec *v, const double *from, double value) {
  PASS(check_host_vec(v));
  v->writes++;
  for_blocks(env, v->n, upload_block, &(copying){.v = v, .from = from, .value = value});
  return WR_OK;
}

static wr_status upload(wr_env *env, wr_vec *v, const double *values) {
  WR_NEED(values);
  return write_all(env, v, values, 0);
}

static wr_status fill(wr_env *env, wr_vec *v, double value) { return write_all(env, v, NULL, value); }

static wr_status download(wr_env *env, const wr_vec *v, double *values) {
  PASS(check_host_vec(v));
  WR_NEED(values);
  for_blocks(env, v->n, download_block, &(copying){.v = v, .to = values});
  return WR_OK;
}

/* Every address that a process may use is the host's. */
static wr_status check_address(wr_env *env, const void *address, const char *role) {
  WR_NEED_OPEN(env);
  WR_NEED(role);
  return address ? WR_OK : wr_fail(WR_EUSAGE, "%s is NULL", role);
}

static wr_status take(wr_env *env, wr_vec *v, const double *address) {
  PASS(check_host_vec(v));
  WR_REFUSE_IF(v->type != WR_F64, "v is not f64");
  return upload(env, v, address);
}

static wr_status give(wr_env *env, const wr_vec *v, double *address) {
  PASS(check_host_vec(v));
  WR_REFUSE_IF(v->type != WR_F64, "v is not f64");
  return download(env, v, address);
}

static wr_status compact(wr_env *env, int64_t n, const double *values, const char *what, wr_vec *v) {
  WR_NEED(v);
  memset(v, 0, sizeof *v);
  WR_NEED_OPEN(env);
  WR_NEED(values);
  PASS(alloc(env, n, env->type, what, v));
  return upload(env, v, values);
}

/* The coefficients' values before the operation, which may write to the same bank. */
static void read_coefficients(const wr_fused *f, double c[WR_MAX_OUTPUTS][WR_FUSED_TERMS]) {
  for (int o = 0; o < WR_MAX_OUTPUTS && f->out[o]; o++)
    for (int k = 0; k < WR_FUSED_TERMS; k++) {
      c[o][k] = f->c[o][k].factor;
      if (c[o][k] != 0 && f->c[o][k].scalar.bank) c[o][k] *= *scalar_at(f->c[o][k].scalar);
    }
}

static int64_t length_of(const wr_fused *f) {
  if (f->in[0]) return f->in[0]->n;
  return f->times ? f->times->n : f->out[0]->n;
}

static wr_type type_of(const wr_fused *f) {
  if (f->in[0]) return f->in[0]->type;
  return f->times ? f->times->type : f->out[0]->type;
}

/* A fused operation and the values of its coefficients. */
typedef struct computing {
  const wr_fused *f;
  int64_t n;
  double c[WR_MAX_OUTPUTS][WR_FUSED_TERMS];
  double *partials;
} computing;

static void compute_block(void *context, int64_t b) {
  computing *job = context;
  (type_of(job->f) == WR_F32 ? fused_block_f32 : fused_block_f64)(
      job->f, job->c, b * BLOCK, end_of(job->n, b) - b * BLOCK, job->partials + b * WR_FUSED_REDUCTIONS);
}

/* A fused operation without its step. */
static void compute_fused(wr_env *env, const wr_fused *f) {
  host_state *state = env->state;
  computing job = {.f = f, .n = length_of(f), .partials = state->partials};
  int64_t nblocks = blocks_of(job.n);
  read_coefficients(f, job.c);
  for_blocks(env, job.n, compute_block, &job);
  for (int o = 0; o < WR_MAX_OUTPUTS; o++)
    if (f->out[o]) f->out[o]->writes++;
  for (int r = 0; r < WR_FUSED_REDUCTIONS; r++) {
    if (f->reduce[r].kind == WR_NO_REDUCTION) continue;
    double sum = 0;
    for (int64_t b = 0; b < nblocks; b++) sum += state->partials[b * WR_FUSED_REDUCTIONS + r];
    *scalar_at(f->reduce[r].into) = sum;
    f->reduce[r].into.bank->writes++;
  }
}

static wr_status fused(wr_env *env, const wr_fused *f) {
  double when = 0;
  PASS(wr_fused_check(env, f));
  PASS(check_length(env->state, length_of(f)));
  if (f->when.bank == NULL || *scalar_at(f->when) != 0) compute_fused(env, f);
  if (f->when.bank) when = *scalar_at(f->when);
  PASS(wr_then_run(env, &f->then));
  if (f->when.bank && memcmp(&when, scalar_at(f->when), sizeof when) != 0)
    return wr_fail(WR_EUSAGE, "fused operation: its step changes the scalar on which it depends");
  return WR_OK;
}

static wr_status widen(wr_env *env, const wr_vec *from, wr_vec *to) {
  WR_NEED(from);
  WR_NEED(to);
  return fused(env, &(wr_fused){.in = {from}, .out = {to}, .c = {{{.factor = 1}}}});
}

/* request.decides is ignored, as the host has no loops: the solver reads in the bank whether to go on. */
static wr_status run_step(wr_env *env, const wr_then *then) {
  wr_step_request request = {0};
  PASS(wr_step_check(env, then));
  if (then->step->run == NULL) return wr_fail(WR_EUSAGE, "the step %s has no function for the host", then->step->name);
  then->bank->writes++;
  then->step->run(then->bank->data, &request);
  if (then->log == NULL) return WR_OK;
  then->log->writes++;
  wr_step_add_to_log(&request, then->log->data, (double)then->log->n);
  return WR_OK;
}

typedef struct finishing {
  const wr_apply *request;
  double *partials;
} finishing;

static void finish_block(void *context, int64_t b) {
  const finishing *job = context;
  const wr_vec *y = job->request->y;
  int64_t end = end_of(y->n, b);
  double sum[WR_FINISH_ROWS], *partial = job->partials + b * WR_MAX_REDUCTIONS;
  memset(partial, 0, WR_MAX_REDUCTIONS * sizeof *partial);
  for (int64_t i = b * BLOCK; i < end; i += WR_FINISH_ROWS) {
    int64_t count = end - i < WR_FINISH_ROWS ? end - i : WR_FINISH_ROWS;
    for (int64_t k = 0; k < count; k++)
      sum[k] = y->type == WR_F32 ? (double)((float *)y->data)[i + k] : ((double *)y->data)[i + k];
    wr_finish_rows_host(job->request, i, count, sum, partial);
  }
}

static wr_status epilogue(wr_env *env, const wr_apply *request) {
  WR_NEED_OPEN(env);
  WR_REFUSE_IF(request == NULL || request->y == NULL, "the request is NULL or has no y");
  if (request->epilogue == NULL) return WR_OK;
  host_state *state = env->state;
  int64_t n = request->y->n;
  PASS(check_length(state, n));
  for_blocks(env, n, finish_block, &(finishing){request, state->partials});
  wr_finish_reductions_host(request, state->partials, blocks_of(n));
  return WR_OK;
}

static double element(const wr_vec *v, int64_t i) {
  return v->type == WR_F32 ? (double)((const float *)v->data)[i] : ((const double *)v->data)[i];
}

typedef struct recasting {
  const wr_recast *r;
  double *partials; /* of the sum, by block */
} recasting;

static void recast_block(void *context, int64_t b) {
  const recasting *job = context;
  const wr_recast *r = job->r;
  int64_t first = b * BLOCK, count = end_of(r->in[0]->n, b) - first;
  double sum[BLOCK], total = 0;
  for (int64_t i = 0; i < count; i++) sum[i] = r->c[0] * element(r->in[0], first + i);
  for (int64_t i = 0; r->in[1] && i < count; i++) sum[i] += r->c[1] * element(r->in[1], first + i);
  for (int64_t i = 0; r->over && i < count; i++) {
    double over = element(r->over, first + i);
    if (over != 0) sum[i] /= over;
  }
  for (int64_t i = 0; i < count; i++) total += sum[i];
  for (int64_t i = 0; r->out && i < count; i++) {
    if (r->out->type == WR_F32)
      ((float *)r->out->data)[first + i] = (float)sum[i];
    else
      ((double *)r->out->data)[first + i] = sum[i];
  }
  job->partials[b] = total;
}

static wr_status recast(wr_env *env, const wr_recast *r) {
  host_state *state;
  int64_t n;
  double sum = 0;
  PASS(wr_recast_check(env, r));
  state = env->state, n = r->in[0]->n;
  PASS(check_length(state, n));
  if (r->out) r->out->writes++;
  for_blocks(env, n, recast_block, &(recasting){r, state->partials});
  for (int64_t b = 0; b < blocks_of(n); b++) sum += state->partials[b];
  if (r->sum.bank) *scalar_at(r->sum) = sum, r->sum.bank->writes++;
  return WR_OK;
}

/* Blocks of BLOCK rows have two sums for each of k columns: partials have room for them, as y has n * k elements at least. */
static wr_status epilogue_many(wr_env *env, const wr_epilogue_many *e) {
  PASS(wr_epilogue_many_check(env, e));
  host_state *state = env->state;
  PASS(check_length(state, e->y->n));
  wr_host_columns(env, e, state->partials);
  return WR_OK;
}

static wr_status start_column(wr_env *env, const wr_epilogue_many *e, int c) {
  PASS(wr_start_column_check(env, e, c));
  wr_host_start_column(e, c);
  return WR_OK;
}

static wr_status fused_many(wr_env *env, const wr_fused_many *f) {
  PASS(wr_fused_many_check(env, f));
  host_state *state = env->state;
  PASS(check_length(state, f->in[0]->n));
  wr_host_fused_many(env, f, state->partials);
  return WR_OK;
}

/* All operations are synchronous; only device_name is updated. */
static wr_status wait(wr_env *env) {
  WR_NEED_OPEN(env);
  describe(env);
  return WR_OK;
}

static wr_status stamp(wr_env *env, int slot) {
  WR_NEED_OPEN(env);
  if (slot < 0 || slot >= WR_STAMPS) return wr_fail(WR_EUSAGE, "stamp %d of %d", slot, WR_STAMPS);
  ((host_state *)env->state)->stamps[slot] = wr_clock();
  return WR_OK;
}

static wr_status elapsed(wr_env *env, int from, int to, double *seconds) {
  WR_NEED_OPEN(env);
  WR_NEED(seconds);
  const host_state *state = env->state;
  if (from < 0 || from >= WR_STAMPS || to < 0 || to >= WR_STAMPS)
    return wr_fail(WR_EUSAGE, "stamps %d and %d of %d", from, to, WR_STAMPS);
  *seconds = state->stamps[to] - state->stamps[from];
  return WR_OK;
}

static wr_status memory(wr_env *env, int64_t *free_bytes, int64_t *total_bytes) {
  WR_NEED_OPEN(env);
  WR_NEED(free_bytes);
  WR_NEED(total_bytes);
  int64_t page = sysconf(_SC_PAGESIZE);
  *free_bytes = page * sysconf(_SC_AVPHYS_PAGES);
  *total_bytes = page * sysconf(_SC_PHYS_PAGES);
  return WR_OK;
}

const wr_vecops wr_vecops_host = {
    .name = "host",
    .open = open_host,
    .close = close_host,
    .alloc = alloc,
    .release = release,
    .upload = upload,
    .download = download,
    .fill = fill,
    .check_address = check_address,
    .take = take,
    .give = give,
    .compact = compact,
    .widen = widen,
    .fused = fused,
    .step = run_step,
    .epilogue = epilogue,
    .recast = recast,
    .maxima = wr_host_maxima,
    .pick = wr_host_pick,
    .copy_column = wr_host_copy_column,
    .move_column = wr_host_move_column,
    .epilogue_many = epilogue_many,
    .start_column = start_column,
    .fused_many = fused_many,
    .wait = wait,
    .stamp = stamp,
    .elapsed = elapsed,
    .memory = memory,
};
