/* A part's sums are made complete by the host, so the step behind them runs after that, as an operation of its own, and no loop
 * runs on a device by itself. */
#include "spmv/parts/part_ops.h"

#include "config/argument.h"
#include "config/memory.h"
#include "spmv/device/apply.h"

/* env->ops points to `ops`, the first member. */
typedef struct part_ops {
  wr_vecops ops;
  const wr_vecops *of_place;
} part_ops;

static const wr_vecops *inner(const wr_env *env) { return ((const part_ops *)env->ops)->of_place; }

/* The element of a bank as a vector. */
static wr_vec element(wr_scalar s) {
  wr_vec v = *s.bank;
  v.n = 1, v.data = (double *)s.bank->data + s.index;
  return v;
}

/* Each of these sums := that over all parts. */
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
  return complete(env, mine.reduce, WR_MAX_REDUCTIONS);
}

static wr_status recast(wr_env *env, const wr_recast *r) {
  WR_NEED(r);
  PASS(inner(env)->recast(env, r));
  wr_reduction sum = {.kind = r->sum.bank ? WR_SUM : WR_NO_REDUCTION, .into = r->sum};
  return complete(env, &sum, 1);
}

static wr_status epilogue_many(wr_env *env, const wr_epilogue_many *e) {
  (void)env, (void)e;
  return wr_fail(WR_EUNAVAILABLE, "several vectors at once are not iterated in parts");
}

static wr_status fused_many(wr_env *env, const wr_fused_many *f) {
  (void)env, (void)f;
  return wr_fail(WR_EUNAVAILABLE, "several vectors at once are not iterated in parts");
}

wr_status wr_part_ops_open(wr_env *env, const wr_vecops *of_place) {
  part_ops *own;
  PASS(wr_alloc(&own, 1, sizeof *own, "the operations of a part"));
  own->of_place = of_place, own->ops = *of_place;
  own->ops.fused = fused, own->ops.epilogue = epilogue, own->ops.recast = recast;
  own->ops.epilogue_many = epilogue_many, own->ops.fused_many = fused_many;
  own->ops.loop_open = NULL, own->ops.loop_rows = NULL, own->ops.loop_decide = NULL, own->ops.loop_part = NULL;
  own->ops.loop_close = NULL, own->ops.loop_run = NULL, own->ops.loop_poll = NULL, own->ops.loop_stop = NULL;
  own->ops.loop_free = NULL;
  env->ops = &own->ops;
  return WR_OK;
}

void wr_part_ops_close(wr_env *env) { wr_free((void *)(uintptr_t)env->ops); }
