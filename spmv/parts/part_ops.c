/* A part's sums are made complete by devices that reach each other's memory, or else by the host: then the step behind them
 * runs after that, as an operation of its own, and no loop runs on a device by itself. */
#include "spmv/parts/part_ops.h"

#include "config/argument.h"
#include "config/memory.h"
#include "spmv/device/apply.h"
#include "spmv/device/columns.h"
#include "spmv/device/fused_many.h"
#include "spmv/device/peers.h"

/* env->ops points to `ops`, the first member. */
typedef struct part_ops {
  wr_vecops ops;
  const wr_vecops *of_place;
  int asked;       /* 1: whether devices can exchange is known */
  wr_peers *peers; /* NULL: the host exchanges                 */
  int64_t n, room; /* vectors of n elements get so much room ... */
  int made;        /* ... and this number                      */
} part_ops;

static part_ops *own_of(const wr_env *env) { return (part_ops *)(uintptr_t)env->ops; }
static const wr_vecops *inner(const wr_env *env) { return own_of(env)->of_place; }

/* The element of a bank as a vector. */
static wr_vec element(wr_scalar s) {
  wr_vec v = *s.bank;
  v.n = 1, v.data = (double *)s.bank->data + s.index;
  return v;
}

/* By the host. Each of these sums := that over all parts. */
static wr_status complete(wr_env *env, const wr_reduction *reduce, int most) {
  double sums[WR_FUSED_REDUCTIONS];
  int count = 0;
  for (int r = 0; r < most; r++)
    if (reduce[r].kind != WR_NO_REDUCTION) {
      wr_vec scalar = element(reduce[r].into);
      PASS(inner(env)->download(env, &scalar, &sums[count++]));
    }
  if (count == 0) return WR_OK;
  PASS(wr_comm_sum(env->comm, sums, count));
  count = 0;
  for (int r = 0; r < most; r++)
    if (reduce[r].kind != WR_NO_REDUCTION) {
      wr_vec scalar = element(reduce[r].into);
      PASS(inner(env)->upload(env, &scalar, &sums[count++]));
      reduce[r].into.bank->writes++;
    }
  return WR_OK;
}

/* Where `when` is 0, sums stay as they are, complete. Vectors of hashes differ from part to part. */
static wr_status fused(wr_env *env, const wr_fused *f) {
  WR_NEED(f);
  wr_fused mine = *f;
  double when = 1;
  mine.then = (wr_then){0};
  mine.hashes += (uint64_t)env->comm->rank << 40;
  env->then_done = 0;
  PASS(inner(env)->fused(env, &mine));
  if (own_of(env)->peers) {
    PASS(wr_peers_sum(own_of(env)->peers, env, f->reduce, WR_FUSED_REDUCTIONS, f->when, &f->then));
    return wr_then_run(env, &f->then);
  }
  if (f->when.bank) {
    wr_vec scalar = element(f->when);
    PASS(inner(env)->download(env, &scalar, &when));
  }
  if (when != 0) PASS(complete(env, f->reduce, WR_FUSED_REDUCTIONS));
  return wr_then_run(env, &f->then);
}

static wr_status epilogue(wr_env *env, const wr_apply *apply) {
  WR_REFUSE_IF(apply == NULL || apply->y == NULL, "the request is NULL or has no y");
  if (apply->epilogue == NULL) return WR_OK;
  wr_epilogue mine = *apply->epilogue;
  wr_apply request = *apply;
  mine.then = (wr_then){0}, request.epilogue = &mine;
  env->then_done = 0;
  PASS(inner(env)->epilogue(env, &request));
  return wr_part_ops_sum(env, mine.reduce, WR_MAX_REDUCTIONS, &apply->epilogue->then);
}

static wr_status recast(wr_env *env, const wr_recast *r) {
  WR_NEED(r);
  PASS(inner(env)->recast(env, r));
  wr_reduction sum = {.kind = r->sum.bank ? WR_SUM : WR_NO_REDUCTION, .into = r->sum};
  return wr_part_ops_sum(env, &sum, 1, &(wr_then){0});
}

static wr_status alloc(wr_env *env, int64_t n, wr_type type, const char *what, wr_vec *v) {
  const part_ops *own = own_of(env);
  PASS(inner(env)->alloc(env, n == own->n ? n + own->room : n, type, what, v));
  v->n = n, v->room = n == own->n ? own->made : 0;
  return WR_OK;
}

/* What waits for the device learns whether the device has waited in vain. */
static wr_status download(wr_env *env, const wr_vec *v, double *values) {
  PASS(wr_peers_await(own_of(env)->peers, env));
  PASS(inner(env)->download(env, v, values));
  return wr_peers_check(own_of(env)->peers);
}

static wr_status wait(wr_env *env) {
  PASS(wr_peers_await(own_of(env)->peers, env));
  PASS(inner(env)->wait(env));
  PASS(wr_peers_count_waiting(own_of(env)->peers, env));
  return wr_peers_check(own_of(env)->peers);
}

static wr_status loop_poll(wr_env *env, struct wr_loop *loop, const wr_vec *bank, double *scalars, int *ended) {
  PASS(inner(env)->loop_poll(env, loop, bank, scalars, ended));
  if (*ended) PASS(wr_peers_count_waiting(own_of(env)->peers, env));
  return wr_peers_check(own_of(env)->peers);
}

static wr_status loop_open(wr_env *env, const struct wr_loop_request *request, struct wr_loop **loop) {
  return wr_peers_loop_open(own_of(env)->peers, env, inner(env), request, loop);
}

static wr_status loop_close(wr_env *env, struct wr_loop *loop) {
  return wr_peers_loop_close(own_of(env)->peers, env, inner(env), loop);
}

static wr_status loop_run(wr_env *env, struct wr_loop *loop) {
  return wr_peers_loop_run(own_of(env)->peers, env, inner(env), loop);
}

static void loop_free(wr_env *env, struct wr_loop *loop) {
  if (loop) wr_peers_loop_free(own_of(env)->peers, env, inner(env), loop);
}

/* By the host: the masses and changes of all columns at once. */
static wr_status epilogue_many(wr_env *env, const wr_epilogue_many *e) {
  double found[WR_COLUMN_SUMS], sums[WR_COLUMN_SUMS], *mass = found + WR_MAX_COLUMNS;
  PASS(inner(env)->epilogue_many(env, e));
  PASS(inner(env)->download(env, e->sums, found));
  for (int c = 0; c < e->columns; c++) sums[c] = mass[c], sums[e->columns + c] = found[c];
  PASS(wr_comm_sum(env->comm, sums, e->x ? 2 * e->columns : e->columns));
  for (int c = 0; c < e->columns; c++) mass[c] = sums[c], found[c] = sums[e->columns + c];
  return inner(env)->upload(env, e->sums, found);
}

static wr_status start_column(wr_env *env, const wr_epilogue_many *e, int c) {
  wr_reduction mass = {.kind = WR_SUM, .into = {e ? e->sums : NULL, WR_MAX_COLUMNS + c}};
  PASS(inner(env)->start_column(env, e, c));
  return complete(env, &mass, 1);
}

enum { BANK_ROOM = WR_MAX_COLUMNS * 256 }; /* scalars of columns */

/* By the host, on which the steps run, too. */
static wr_status fused_many(wr_env *env, const wr_fused_many *f) {
  double bank[BANK_ROOM], sums[WR_MANY_SUMS * WR_MAX_COLUMNS];
  int count = 0;
  PASS(wr_fused_many_check(env, f));
  if (f->bank && f->bank->n > BANK_ROOM)
    return wr_fail(WR_EUSAGE, "fused operation of columns: a bank of %lld scalars, in parts %d at most",
                   (long long)f->bank->n, (int)BANK_ROOM);
  wr_fused_many mine = *f;
  mine.step = NULL;
  PASS(inner(env)->fused_many(env, &mine));
  if (f->sum[0].u == NULL && f->step == NULL) return WR_OK;
  PASS(inner(env)->download(env, f->bank, bank));
  for (int s = 0; s < WR_MANY_SUMS && f->sum[s].u; s++)
    for (int c = 0; c < f->columns; c++) sums[count++] = bank[f->sum[s].into + c * f->stride];
  if (count > 0) PASS(wr_comm_sum(env->comm, sums, count));
  for (int k = 0; k < count; k++) bank[f->sum[k / f->columns].into + k % f->columns * f->stride] = sums[k];
  wr_host_many_step(f, bank);
  return inner(env)->upload(env, f->bank, bank);
}

wr_status wr_part_ops_open(wr_env *env, const wr_vecops *of_place) {
  part_ops *own;
  PASS(wr_alloc_zeroed(&own, 1, sizeof *own, "the operations of a part"));
  own->of_place = of_place, own->ops = *of_place;
  own->ops.fused = fused, own->ops.epilogue = epilogue, own->ops.recast = recast;
  own->ops.epilogue_many = epilogue_many, own->ops.start_column = start_column, own->ops.fused_many = fused_many;
  own->ops.loop_open = NULL, own->ops.loop_rows = NULL, own->ops.loop_decide = NULL, own->ops.loop_part = NULL;
  own->ops.loop_close = NULL, own->ops.loop_run = NULL, own->ops.loop_poll = NULL, own->ops.loop_stop = NULL;
  own->ops.loop_free = NULL;
  env->ops = &own->ops;
  return WR_OK;
}

void wr_part_ops_close(wr_env *env) {
  wr_peers_close(own_of(env)->peers);
  wr_free(own_of(env));
}

wr_status wr_part_ops_connect(wr_env *env, wr_peers **peers) {
  part_ops *own = own_of(env);
  *peers = own->peers;
  if (own->asked || env->place == WR_HOST) return WR_OK;
  PASS(wr_peers_open(env, &own->peers));
  own->asked = 1, *peers = own->peers;
  if (own->peers == NULL) return WR_OK;
  own->ops.download = download, own->ops.wait = wait, own->ops.alloc = alloc;
  if (own->of_place->loop_open == NULL || wr_peers_exchange(own->peers) == WR_EXCHANGE_NCCL) return WR_OK;
  own->ops.loop_open = loop_open, own->ops.loop_close = loop_close, own->ops.loop_run = loop_run;
  own->ops.loop_poll = loop_poll, own->ops.loop_free = loop_free;
  own->ops.loop_decide = own->of_place->loop_decide, own->ops.loop_part = own->of_place->loop_part;
  own->ops.loop_stop = own->of_place->loop_stop;
  return WR_OK;
}

void wr_part_ops_inner(const wr_env *env, wr_env *inner_env) {
  *inner_env = *env;
  inner_env->ops = inner(env), inner_env->comm = NULL;
}

wr_status wr_part_ops_sum(wr_env *env, const wr_reduction *reduce, int most, const wr_then *then) {
  if (own_of(env)->peers) return wr_peers_sum(own_of(env)->peers, env, reduce, most, (wr_scalar){0}, then);
  return complete(env, reduce, most);
}

wr_status wr_part_ops_make_room(wr_env *env, int64_t n, int64_t room, int *least) {
  part_ops *own = own_of(env);
  int64_t grows = own->n != n || own->room < room;
  PASS(wr_comm_max_counts(env->comm, &grows, 1));
  if (own->n != n || own->room < room) own->room = room;
  if (grows) own->made++;
  own->n = n, *least = own->made;
  return WR_OK;
}
